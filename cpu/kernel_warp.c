/* Resample by the lattice: position to 1/256 px, 4 x 4 integer cubic taps; and the 2:1 reduction of the
 * pyramid. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

#ifdef __AVX2__
#include <immintrin.h>
#include <stdalign.h>
#endif

sdm_warp_row_fn SDM_NAME(warp_row);
sdm_half_row_fn SDM_NAME(half_row);
sdm_cost_scratch_fn SDM_NAME(cost_scratch);
enum { CHUNK = 64 };

size_t SDM_NAME(cost_scratch)(int width, int window, int dmin, int dmax)
{
    (void)window;
    return cost_scratch_bytes(width, dmin, dmax);
}

/* Positions of `count` pixels of one cell, in 1/256 px from its origin; kept within +-8e6. */
static void positions(const float c[6], const float *restrict f, const float *restrict surface, float height0,
                      int count, int32_t *restrict out)
{
    for (int i = 0; i < count; i++) {
        const float t = surface ? surface[i] - height0 : 0.0f;
        const float a = c[0] + f[i] * c[1], b = c[2] + f[i] * c[3], q = c[4] + f[i] * c[5];
        float p = (a + t * (b + t * q)) * 256.0f + 0.5f;
        p = p > -8e6f ? p : -8e6f;
        p = p < 8e6f ? p : 8e6f;
        out[i] = (int32_t)floorf(p);
    }
}

static int16_t sample(const SdmWarpRow *in, int32_t col, int32_t row, int px, int py)
{
    if (col < 1 || row < 1 || col + 2 >= in->source_width || row + 2 >= in->source_height)
        return SDM_PIXEL_NODATA;
    const int16_t *p = in->source + (ptrdiff_t)(row - 1) * in->source_stride + (col - 1);
    const int16_t *const wx = sdm_cubic_weights[px], *const wy = sdm_cubic_weights[py];
    uint32_t sum = 0;
    bool nodata = false;
    for (int j = 0; j < 4; j++, p += in->source_stride) {
        const int32_t h = p[0] * wx[0] + p[1] * wx[1] + p[2] * wx[2] + p[3] * wx[3];
        nodata |= (p[0] == SDM_PIXEL_NODATA) | (p[1] == SDM_PIXEL_NODATA) | (p[2] == SDM_PIXEL_NODATA) |
                  (p[3] == SDM_PIXEL_NODATA);
        /* 15 bits x 15 bits; unsigned, since nodata makes it wrap */
        sum += (uint32_t)((h + 1024) >> 11) * (uint32_t)wy[j];
    }
    int32_t value = (int32_t)(sum + (1 << 16)) >> 17;
    value = value > 2047 ? 2047 : value < -2047 ? -2047 : value;
    return nodata ? (int16_t)SDM_PIXEL_NODATA : (int16_t)value;
}

#ifdef __AVX2__
/* Four pixels of a source row of taps, by offsets from `row`. */
static inline __m256i taps4(const int16_t *row, const int32_t *offset)
{
    const __m128i a = _mm_loadl_epi64((const __m128i *)(const void *)(row + offset[0]));
    const __m128i b = _mm_loadl_epi64((const __m128i *)(const void *)(row + offset[1]));
    const __m128i c = _mm_loadl_epi64((const __m128i *)(const void *)(row + offset[2]));
    const __m128i d = _mm_loadl_epi64((const __m128i *)(const void *)(row + offset[3]));
    return _mm256_set_m128i(_mm_unpacklo_epi64(c, d), _mm_unpacklo_epi64(a, b));
}

/* Weights of four phases, 0..255. */
static inline __m256i weights4(const int32_t *phase)
{
    const int32_t at[4] = {4 * phase[0], 4 * phase[1], 4 * phase[2], 4 * phase[3]};
    return taps4(sdm_cubic_weights[0], at);
}

/* Sum of a row's taps in both halves of each 64 bits. */
static inline __m256i row_sum(__m256i taps, __m256i weights)
{
    const __m256i m = _mm256_madd_epi16(taps, weights);
    return _mm256_add_epi32(m, _mm256_shuffle_epi32(m, 0xB1));
}

/* Values of four pixels, one in the low half of each 64 bits; all ones in `nodata` where a tap has none. */
static inline __m256i sample4(const int16_t *source, ptrdiff_t stride, const int32_t *offset, const int32_t *px,
                              const int32_t *py, __m256i *nodata)
{
    const __m256i none = _mm256_set1_epi16(SDM_PIXEL_NODATA), wx = weights4(px), wy = weights4(py);
    const __m256i r0 = taps4(source, offset), r1 = taps4(source + stride, offset);
    const __m256i r2 = taps4(source + 2 * stride, offset), r3 = taps4(source + 3 * stride, offset);
    const __m256i bad = _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi16(r0, none), _mm256_cmpeq_epi16(r1, none)),
                                        _mm256_or_si256(_mm256_cmpeq_epi16(r2, none), _mm256_cmpeq_epi16(r3, none)));
    *nodata = _mm256_cmpeq_epi64(bad, _mm256_setzero_si256());
    *nodata = _mm256_xor_si256(*nodata, _mm256_set1_epi32(-1));
    /* rows 0 and 2, and rows 1 and 3, share 64 bits; then all four as 16 bits */
    const __m256i half = _mm256_set1_epi32(1024);
    const __m256i even = _mm256_blend_epi32(row_sum(r0, wx), row_sum(r2, wx), 0xAA);
    const __m256i odd = _mm256_blend_epi32(row_sum(r1, wx), row_sum(r3, wx), 0xAA);
    const __m256i a = _mm256_srai_epi32(_mm256_add_epi32(even, half), 11);
    const __m256i b = _mm256_slli_epi32(_mm256_srai_epi32(_mm256_add_epi32(odd, half), 11), 16);
    const __m256i sum = row_sum(_mm256_blend_epi16(a, b, 0xAA), wy);
    return _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(1 << 16)), 17);
}

/* Eight pixels whose taps all lie in the source: col, row in 1/256 px from the source's first pixel. */
static inline void sample8(const SdmWarpRow *in, __m256i col, __m256i row, int16_t *out)
{
    alignas(32) int32_t offset[8], px[8], py[8];
    const __m256i byte = _mm256_set1_epi32(255);
    const __m256i line = _mm256_mullo_epi32(_mm256_srai_epi32(row, 8), _mm256_set1_epi32((int32_t)in->source_stride));
    _mm256_store_si256((__m256i *)(void *)offset, _mm256_add_epi32(line, _mm256_srai_epi32(col, 8)));
    _mm256_store_si256((__m256i *)(void *)px, _mm256_and_si256(col, byte));
    _mm256_store_si256((__m256i *)(void *)py, _mm256_and_si256(row, byte));
    const int16_t *const first = in->source - in->source_stride - 1;
    __m256i none[2];
    const __m256i a = sample4(first, in->source_stride, offset, px, py, &none[0]);
    const __m256i b = sample4(first, in->source_stride, offset + 4, px + 4, py + 4, &none[1]);
    const __m256i both = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
    const __m256i bad = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(none[0]), _mm256_castsi256_ps(none[1]), 0x88));
    __m256i v = _mm256_min_epi32(_mm256_max_epi32(both, _mm256_set1_epi32(-2047)), _mm256_set1_epi32(2047));
    v = _mm256_blendv_epi8(v, _mm256_set1_epi32(SDM_PIXEL_NODATA), bad);
    v = _mm256_permute4x64_epi64(v, 0xD8); /* 0 1 4 5 | 2 3 6 7 of the shuffle, in order */
    _mm_storeu_si128((__m128i *)(void *)out, _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

/* Sample `count` pixels at col, row (1/256 px from the cell's origin col0, row0); gives how many it did, from the first on. */
static int sample_many(const SdmWarpRow *in, int32_t col0, int32_t row0, const int32_t *col, const int32_t *row, int count,
                       int16_t *out)
{
    const int32_t limit = 1 << 22; /* so that positions in 1/256 px fit 32 bits, and offsets */
    if (col0 > limit || col0 < -limit || row0 > limit || row0 < -limit ||
        (int64_t)in->source_height * in->source_stride > INT32_MAX)
        return 0;
    const __m256i c0 = _mm256_set1_epi32(col0 * 256), r0 = _mm256_set1_epi32(row0 * 256), low = _mm256_set1_epi32(255);
    const __m256i right = _mm256_set1_epi32((in->source_width < limit ? in->source_width - 2 : limit) * 256);
    const __m256i bottom = _mm256_set1_epi32((in->source_height < limit ? in->source_height - 2 : limit) * 256);
    int i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i c = _mm256_add_epi32(c0, _mm256_loadu_si256((const __m256i *)(const void *)(col + i)));
        const __m256i r = _mm256_add_epi32(r0, _mm256_loadu_si256((const __m256i *)(const void *)(row + i)));
        const __m256i in_cols = _mm256_and_si256(_mm256_cmpgt_epi32(c, low), _mm256_cmpgt_epi32(right, c));
        const __m256i in_rows = _mm256_and_si256(_mm256_cmpgt_epi32(r, low), _mm256_cmpgt_epi32(bottom, r));
        if (_mm256_movemask_epi8(_mm256_and_si256(in_cols, in_rows)) == -1)
            sample8(in, c, r, out + i);
        else
            for (int k = i; k < i + 8; k++)
                out[k] = sample(in, col0 + (col[k] >> 8), row0 + (row[k] >> 8), col[k] & 255, row[k] & 255);
    }
    return i;
}
#else
static int sample_many(const SdmWarpRow *in, int32_t col0, int32_t row0, const int32_t *col, const int32_t *row, int count,
                       int16_t *out)
{
    (void)in, (void)col0, (void)row0, (void)col, (void)row, (void)count, (void)out;
    return 0;
}
#endif

void SDM_NAME(warp_row)(const SdmWarpRow *in, int16_t *out)
{
    int32_t col[CHUNK], row[CHUNK];
    for (int c = 0; c < in->cell_count; c++) {
        const SdmWarpCell *const cell = &in->cells[c];
        const int32_t col0 = cell->origin_col - in->source_col0, row0 = cell->origin_row - in->source_row0;
        for (int x = in->cell_begin[c]; x < in->cell_begin[c + 1]; x += CHUNK) {
            const int left = in->cell_begin[c + 1] - x, count = left < CHUNK ? left : CHUNK;
            const float *const s = in->surface_m ? in->surface_m + x : NULL;
            positions(cell->col, in->fraction + x, s, in->height0_m, count, col);
            positions(cell->row, in->fraction + x, s, in->height0_m, count, row);
            for (int i = sample_many(in, col0, row0, col, row, count, out + x); i < count; i++)
                out[x + i] =
                    sample(in, col0 + (col[i] >> 8), row0 + (row[i] >> 8), col[i] & 255, row[i] & 255);
        }
    }
}

#ifdef __AVX2__
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
    return _mm256_add_epi16(_mm256_add_epi16(r[0], r[3]), _mm256_add_epi16(inner, _mm256_slli_epi16(inner, 1)));
}

/* Blocks of 8 pixels from x on that have all their taps; gives the first that has not, or that is left over. */
static int half_whole(const int16_t *const src[4], int x, int width, int16_t *out)
{
    const __m256i first = _mm256_set1_epi32(3 << 16 | 1), second = _mm256_set1_epi32(1 << 16 | 3);
    for (; x + 8 < width; x += 8) { /* reads 2 x - 1 .. 2 x + 16 */
        __m256i bad = _mm256_setzero_si256();
        const __m256i a = _mm256_madd_epi16(column_sums(src, 2 * x - 1, &bad), first);
        const __m256i b = _mm256_madd_epi16(column_sums(src, 2 * x + 1, &bad), second);
        if (!_mm256_testz_si256(bad, bad))
            break;
        const __m256i v = _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_set1_epi32(32)), 6);
        _mm_storeu_si128((__m128i *)(void *)(out + x), _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
    }
    return x;
}
#else
static int half_whole(const int16_t *const src[4], int x, int width, int16_t *out)
{
    (void)src, (void)width, (void)out;
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
    if (have == 64) /* all taps: floor(sum / 64 + 1/2) */
        return (int16_t)((sum + 32 + (4096 << 6)) / 64 - 4096);
    const int32_t weight_sum = have > 32 ? have : 64, num = 2 * sum + weight_sum + 4096 * 2 * weight_sum;
    return (int16_t)(have > 32 ? num / (2 * weight_sum) - 4096 : SDM_PIXEL_NODATA);
}

void SDM_NAME(half_row)(const int16_t *const src[4], int width, int16_t *restrict out)
{
    for (int i = half_whole(src, 0, width, out); i < width; i = half_whole(src, i, width, out))
        for (int k = 0; k < 8 && i < width; k++, i++)
            out[i] = half_pixel(src, i);
}
