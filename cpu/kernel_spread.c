/* Points -> sums of the grid cells around them, by integer weights: the order of the points does not
 * matter. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

sdm_spread_points_fn SDM_NAME(spread_points);

enum { MOST = 40 }; /* cells that a point reaches on an axis */

/* First and last of the cells whose centres lie within the radius of `at`. */
static inline int first_near(const SdmSpread *s, int32_t at)
{
    return (at - s->radius + 127) >> 8;
}

static inline int last_near(const SdmSpread *s, int32_t at)
{
    return (at + s->radius - 128) >> 8;
}

/* The first and the number of these cells within 0..count - 1, and their weights. */
static inline int near_cells(const SdmSpread *s, int32_t at, int count, int *first, int32_t weight[MOST])
{
    const int lo = first_near(s, at), hi = last_near(s, at);
    const int begin = lo < 0 ? 0 : lo, end = hi >= count ? count - 1 : hi;
    *first = begin;
    for (int i = begin; i <= end; i++)
        weight[i - begin] = s->table[abs(i * 256 + 128 - at)];
    return end - begin + 1;
}

#if SDM_VEC >= 8

/* A radius of 1.5 cells, as for cells of the size of pixels, reaches three centres (four for one point in
 * 256).  If it does and they all lie inside 0..count - 1: their weights, in lanes 0 to 2. */
static inline bool three_cells(const SdmSpread *s, int32_t at, int count, int *first, __m128i *weight)
{
    const int lo = first_near(s, at), hi = last_near(s, at);
    const int32_t way = at - lo * 256 - 128; /* from the first centre, up to the radius */
    if (hi - lo != 2 || lo < 0 || hi >= count)
        return false;
    *first = lo;
    *weight = _mm_setr_epi32(s->table[way], s->table[abs(way - 256)], s->table[512 - way], 0);
    return true;
}

#if SDM_VEC == 16
typedef __m512i Values;

static inline Values load_values(const int32_t value[8])
{
    const __m512i v = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)value));
    const __m512i square = _mm512_add_epi64(_mm512_mul_epi32(v, v), _mm512_set1_epi64(128));
    return _mm512_mask_srli_epi64(v, 1 << 2, square, 8);
}

/* A cell += the weight in lane x x values. */
static inline void add_to_cell(int64_t *cell, __m128i weight, int x, Values v)
{
    const __m512i w =
        _mm512_maskz_permutexvar_epi32(0x5555, _mm512_set1_epi32(x), _mm512_castsi128_si512(weight));
    const __m512i sum = _mm512_loadu_si512(cell);
    _mm512_storeu_si512(cell, _mm512_add_epi64(sum, _mm512_mullo_epi64(w, v)));
}
#else
typedef struct Values {
    __m256i low[2], high; /* high: upper halves of the first four; the others are below 2^31 */
} Values;

static inline Values load_values(const int32_t value[8])
{
    Values v;
    for (int i = 0; i < 2; i++)
        v.low[i] = _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(const void *)(value + 4 * i)));
    const __m256i square = _mm256_add_epi64(_mm256_mul_epi32(v.low[0], v.low[0]), _mm256_set1_epi64x(128));
    v.low[0] = _mm256_blend_epi32(v.low[0], _mm256_srli_epi64(square, 8), 0x30);
    v.high = _mm256_and_si256(_mm256_srli_epi64(v.low[0], 32), _mm256_setr_epi64x(0, 0, -1, 0));
    return v;
}

static inline void add_to_cell(int64_t *cell, __m128i weight, int x, Values v)
{
    const __m256i w = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(weight), _mm256_set1_epi32(x));
    /* signed products, except of lane 2: the square exceeds 32 bits and is multiplied as two halves */
    const __m256i square = _mm256_mul_epu32(v.low[0], w),
                  high = _mm256_slli_epi64(_mm256_mul_epu32(v.high, w), 32);
    const __m256i product =
        _mm256_blend_epi32(_mm256_mul_epi32(v.low[0], w), _mm256_add_epi64(square, high), 0x30);
    vi_store(cell, _mm256_add_epi64(vi_load(cell), product));
    vi_store(cell + 4, _mm256_add_epi64(vi_load(cell + 4), _mm256_mul_epi32(v.low[1], w)));
}
#endif

/* Any number of cells. */
static void spread_point(const SdmSpread *s, const SdmSpreadPoint *p)
{
    int x0, y0;
    int32_t wx[MOST], wy[MOST];
    const int nx = near_cells(s, p->x, s->cols, &x0, wx), ny = near_cells(s, p->y, s->rows, &y0, wy);
    const Values v = load_values(p->value);
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++)
            add_to_cell(s->cell + 8 * ((ptrdiff_t)(y0 + y) * s->pitch + x0 + x),
                        _mm_cvtsi32_si128(wx[x] * wy[y] >> 10), 0, v);
}

void SDM_NAME(spread_points)(const SdmSpread *s, const SdmSpreadPoint *points, int count)
{
    for (int n = 0; n < count; n++) {
        const SdmSpreadPoint *const p = &points[n];
        int x0, y0;
        __m128i wx, wy;
        if (!three_cells(s, p->x, s->cols, &x0, &wx) || !three_cells(s, p->y, s->rows, &y0, &wy)) {
            spread_point(s, p);
            continue;
        }
        const Values v = load_values(p->value);
        int64_t *const cell = s->cell + 8 * ((ptrdiff_t)y0 * s->pitch + x0);
        const __m128i row[3] = {_mm_shuffle_epi32(wy, 0x00), _mm_shuffle_epi32(wy, 0x55),
                                _mm_shuffle_epi32(wy, 0xaa)};
        for (int y = 0; y < 3; y++) {
            const __m128i weight = _mm_srli_epi32(_mm_mullo_epi32(wx, row[y]), 10);
            for (int x = 0; x < 3; x++)
                add_to_cell(cell + 8 * ((ptrdiff_t)y * s->pitch + x), weight, x, v);
        }
    }
}

#else

/* Any number of cells. */
static void spread_point(const SdmSpread *s, const SdmSpreadPoint *p)
{
    int x0, y0;
    int32_t wx[MOST], wy[MOST];
    const int nx = near_cells(s, p->x, s->cols, &x0, wx), ny = near_cells(s, p->y, s->rows, &y0, wy);
    int64_t value[8];
    for (int k = 0; k < 8; k++)
        value[k] = p->value[k];
    value[2] = (value[2] * value[2] + 128) >> 8;
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++) {
            const int64_t weight = (int64_t)wx[x] * wy[y] >> 10;
            int64_t *const cell = s->cell + 8 * ((ptrdiff_t)(y0 + y) * s->pitch + x0 + x);
            for (int k = 0; k < 8; k++)
                cell[k] += weight * value[k];
        }
}

void SDM_NAME(spread_points)(const SdmSpread *s, const SdmSpreadPoint *points, int count)
{
    for (int n = 0; n < count; n++)
        spread_point(s, &points[n]);
}

#endif
