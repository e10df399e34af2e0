/* Four rows of a level -> a row of half the size. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "vec.h"

sdm_half_row_fn SDM_NAME(half_row);

/* From the sum of all taps: floor(sum / 64 + 1/2). */
static inline int16_t whole_pixel(int32_t sum)
{
    return (int16_t)((sum + 32 + (4096 << 6)) / 64 - 4096);
}

#if SDM_VEC == 8
/* Column sums (1 3 3 1) of 16 pixels of the four rows; `bad` gathers where one has no data. */
static inline __m256i column_sums(const int16_t *const src[4], int x, __m256i *bad)
{
    const __m256i none = _mm256_set1_epi16(SDM_PIXEL_NODATA);
    __m256i r[4];
    for (int j = 0; j < 4; j++) {
        r[j] = _mm256_loadu_si256((const __m256i *)(const void *)(src[j] + x));
        *bad = _mm256_or_si256(*bad, _mm256_cmpeq_epi16(r[j], none));
    }
    const __m256i inner = _mm256_add_epi16(r[1], r[2]);
    return _mm256_add_epi16(_mm256_add_epi16(r[0], r[3]),
                            _mm256_add_epi16(inner, _mm256_slli_epi16(inner, 1)));
}

/* Reduce blocks of 8 pixels from x on that have all their taps; return the first pixel that was not done. */
static int half_whole(const int16_t *const src[4], int x, int width, int16_t *out)
{
    const __m256i first = _mm256_set1_epi32(3 << 16 | 1), second = _mm256_set1_epi32(1 << 16 | 3);
    for (; x + 8 < width; x += 8) { /* reads 2 x - 1 .. 2 x + 16 */
        __m256i bad = _mm256_setzero_si256();
        const __m256i a = _mm256_madd_epi16(column_sums(src, 2 * x - 1, &bad), first);
        const __m256i b = _mm256_madd_epi16(column_sums(src, 2 * x + 1, &bad), second);
        if (!_mm256_testz_si256(bad, bad))
            break;
        const __m256i v =
            _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_set1_epi32(32)), 6);
        _mm_storeu_si128((__m128i *)(void *)(out + x),
                         _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
    }
    return x;
}
#else
/* Column sum of the four rows; `have` turns false where one has no data. */
static inline int32_t column_sum(const int16_t *const src[4], int x, bool *have)
{
    const int32_t none = SDM_PIXEL_NODATA, a = src[0][x], b = src[1][x], c = src[2][x], d = src[3][x];
    if ((a == none) | (b == none) | (c == none) | (d == none))
        *have = false;
    return a + d + 3 * (b + c);
}

/* The same, a pixel at a time: its first two columns are the last two of the pixel before. */
static int half_whole(const int16_t *const src[4], int x, int width, int16_t *out)
{
    bool have = true;
    int32_t outer = column_sum(src, 2 * x - 1, &have), inner = column_sum(src, 2 * x, &have);
    for (; x < width; x++) {
        const int32_t next = column_sum(src, 2 * x + 1, &have), last = column_sum(src, 2 * x + 2, &have);
        if (!have)
            break;
        out[x] = whole_pixel(outer + last + 3 * (inner + next));
        outer = next, inner = last;
    }
    return x;
}
#endif

static int16_t half_pixel(const int16_t *const src[4], int i)
{
    static const int weight[4] = {1, 3, 3, 1};
    int32_t sum = 0, have = 0;
    for (int j = 0; j < 4; j++)
        for (int k = 0; k < 4; k++) {
            const int16_t v = src[j][2 * i - 1 + k];
            const int32_t w = weight[j] * weight[k];
            sum += v == SDM_PIXEL_NODATA ? 0 : w * v;
            have += v == SDM_PIXEL_NODATA ? 0 : w;
        }
    if (have == 64)
        return whole_pixel(sum);
    const int32_t weight_sum = have > 32 ? have : 64, num = 2 * sum + weight_sum + 4096 * 2 * weight_sum;
    return (int16_t)(have > 32 ? num / (2 * weight_sum) - 4096 : SDM_PIXEL_NODATA);
}

void SDM_NAME(half_row)(const int16_t *const src[4], int width, int16_t *restrict out)
{
    for (int i = half_whole(src, 0, width, out); i < width; i = half_whole(src, i, width, out))
        for (int k = 0; k < 8 && i < width; k++, i++)
            out[i] = half_pixel(src, i);
}
