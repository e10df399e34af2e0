/* Rows of height changes -> how many neighbours agree with each pixel; rows of heights -> smoothed. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "vec.h"

#include <string.h>

sdm_agree_row_fn SDM_NAME(agree_row);
sdm_smooth_row_fn SDM_NAME(smooth_row);

/* The lowest change that agrees with the middle one; an unreachable value if the centre pixel has no
 * change. */
static inline uint16_t lowest_of(int16_t change)
{
    return (uint16_t)(change == SDM_CHANGE_NONE ? 20000 : change - 256);
}

static void agree_pixel(const int16_t *const *row, int half, int width, int x, uint8_t *count)
{
    const uint16_t low = lowest_of(row[half][x]);
    int n = 0;
    for (int j = 0; j <= 2 * half; j++)
        for (int i = x - half < 0 ? 0 : x - half; row[j] && i <= x + half && i < width; i++)
            n += (uint16_t)((uint16_t)row[j][i] - low) <= 512;
    count[x] = (uint8_t)n;
}

/* The same for AGREE pixels whose windows lie in the row. */
#if SDM_VEC == 8
enum { AGREE = 16 };
static inline void agree_many(const int16_t *const *row, int half, int x, uint8_t *count)
{
    const __m256i middle = vi_load(row[half] + x), limit = _mm256_set1_epi16(512);
    const __m256i none = _mm256_cmpeq_epi16(middle, _mm256_set1_epi16(SDM_CHANGE_NONE));
    const __m256i low =
        _mm256_blendv_epi8(_mm256_sub_epi16(middle, _mm256_set1_epi16(256)), _mm256_set1_epi16(20000), none);
    __m256i n = _mm256_setzero_si256();
    for (int j = 0; j <= 2 * half; j++)
        for (int i = -half; row[j] && i <= half; i++) {
            const __m256i above = _mm256_sub_epi16(vi_load(row[j] + x + i), low);
            n = _mm256_sub_epi16(n, _mm256_cmpeq_epi16(_mm256_min_epu16(above, limit), above));
        }
    _mm_storeu_si128((__m128i *)(void *)(count + x),
                     _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi16(n, n), 0xD8)));
}

/* The least of sixteen numbers, compared as unsigned. */
static inline int least_of(__m256i a)
{
    const __m128i half = _mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    return _mm_extract_epi16(_mm_minpos_epu16(half), 0);
}

/* Do all changes in the windows of `count` pixels, AGREE or twice that, lie within 256 of each other, and is
 * none missing?  Nearly everywhere they do; then every pixel of the windows counts. */
static inline bool all_agree(const int16_t *const *row, int half, int x, int count)
{
    const __m256i sign = _mm256_set1_epi16(INT16_MIN);
    __m256i low = _mm256_set1_epi16(INT16_MAX), high = sign;
    for (int j = 0; j <= 2 * half; j++) { /* the vectors together reach all columns: half <= 7 */
        if (!row[j])
            return false;
        const int16_t *const from = row[j] + x - half;
        const __m256i before = vi_load(from), after = vi_load(from + count - AGREE + 2 * half);
        low = _mm256_min_epi16(low, _mm256_min_epi16(before, after));
        high = _mm256_max_epi16(high, _mm256_max_epi16(before, after));
        if (count > AGREE) {
            const __m256i between = vi_load(from + AGREE);
            low = _mm256_min_epi16(low, between);
            high = _mm256_max_epi16(high, between);
        }
    }
    const int least = least_of(_mm256_xor_si256(low, sign)),
              most = UINT16_MAX - least_of(_mm256_xor_si256(high, _mm256_set1_epi16(INT16_MAX)));
    return least > 0 && most - least <= 256; /* 0: SDM_CHANGE_NONE */
}
#else
enum { AGREE = 32 };
static inline void agree_many(const int16_t *const *row, int half, int x, uint8_t *count)
{
    uint16_t low[AGREE], n[AGREE] = {0};
    for (int k = 0; k < AGREE; k++)
        low[k] = lowest_of(row[half][x + k]);
    for (int j = 0; j <= 2 * half; j++)
        for (int i = -half; row[j] && i <= half; i++)
            for (int k = 0; k < AGREE; k++)
                n[k] = (uint16_t)(n[k] + ((uint16_t)((uint16_t)row[j][x + i + k] - low[k]) <= 512));
    for (int k = 0; k < AGREE; k++)
        count[x + k] = (uint8_t)n[k];
}
#endif

#if SDM_VEC != 8 /* where it gains nothing */
static inline bool all_agree(const int16_t *const *row, int half, int x, int count)
{
    (void)row, (void)half, (void)x, (void)count;
    return false;
}
#endif

static inline void agree_block(const int16_t *const *row, int half, int x, uint8_t *count)
{
    if (all_agree(row, half, x, AGREE))
        memset(count + x, (2 * half + 1) * (2 * half + 1), AGREE);
    else
        agree_many(row, half, x, count);
}

void SDM_NAME(agree_row)(const int16_t *const *row, int half, int width, uint8_t *restrict count)
{
    const int end = width - half, last = end - AGREE; /* where the windows do, the last block of pixels */
    int x = 0;
    for (; x < half && x < width; x++)
        agree_pixel(row, half, width, x, count);
    for (int done = AGREE; x < end && last >= half; x += done) {
        const int at = x < last ? x : last; /* the last one once more, what the one before has */
        done = half == 3 && x + AGREE <= last && all_agree(row, 3, x, 2 * AGREE) ? 2 * AGREE : AGREE;
        if (done > AGREE)
            memset(count + x, 7 * 7, 2 * AGREE);
        else if (half == 3) /* the chain's: unrolled */
            agree_block(row, 3, at, count);
        else
            agree_block(row, half, at, count);
    }
    for (x = last >= half ? end : x; x < width; x++)
        agree_pixel(row, half, width, x, count);
}

/* Columns x..x + SDM_VEC - 1 of three rows, weighed 1, 2, 1. */
static inline vf weighed_columns(const float *const row[3], int x)
{
    return vf_add(vf_add(vf_load(row[0] + x), vf_mul(vf_set(2.0f), vf_load(row[1] + x))),
                  vf_load(row[2] + x));
}

static inline float smoothed(const float *a, const float *m, const float *b, int l, int x, int r)
{
    const float p = a[l] + 2.0f * m[l] + b[l], q = a[x] + 2.0f * m[x] + b[x], t = a[r] + 2.0f * m[r] + b[r];
    return (p + 2.0f * q + t) * 0.0625f;
}

void SDM_NAME(smooth_row)(const float *const row[3], int width, float *restrict out)
{
    const float *restrict const a = row[0], *restrict const m = row[1], *restrict const b = row[2];
    const int last = width - 1;
    int x = 1;
    for (; x + SDM_VEC <= last; x += SDM_VEC) { /* by itself clang keeps columns from one round to the next */
        const vf p = weighed_columns(row, x - 1), q = weighed_columns(row, x),
                 t = weighed_columns(row, x + 1);
        vf_store(out + x, vf_mul(vf_add(vf_add(p, vf_mul(vf_set(2.0f), q)), t), vf_set(0.0625f)));
    }
    for (; x < last; x++)
        out[x] = smoothed(a, m, b, x - 1, x, x + 1);
    out[0] = smoothed(a, m, b, 0, 0, last > 0 ? 1 : 0);
    out[last] = smoothed(a, m, b, last > 0 ? last - 1 : 0, last, last);
}
