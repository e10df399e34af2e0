/* Points spread over grid cells by integer weights, so that any order gives the same sums. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

sdm_spread_points_fn SDM_NAME(spread_points);

enum { MOST = 40 }; /* cells that a point reaches on an axis */

/* Cells whose centres lie within the radius of `at`, cut to 0..count - 1: first one and how many, and their
 * weights. */
static inline int near_cells(const SdmSpread *s, int32_t at, int count, int *first, int32_t weight[MOST])
{
    const int lo = (at - s->radius - 128 + 255) >> 8, hi = (at + s->radius - 128) >> 8;
    const int begin = lo < 0 ? 0 : lo, end = hi >= count ? count - 1 : hi;
    *first = begin;
    for (int i = begin; i <= end; i++)
        weight[i - begin] = s->table[abs(i * 256 + 128 - at)];
    return end - begin + 1;
}

/* cell[k] += weight * value[k], 0 <= weight < 2^32. */
#if SDM_VEC == 16
static inline void add_to_cell(int64_t *cell, int64_t weight, const int64_t value[8])
{
    const __m512i sum = _mm512_loadu_si512(cell),
                  product = _mm512_mullo_epi64(_mm512_set1_epi64(weight), _mm512_loadu_si512(value));
    _mm512_storeu_si512(cell, _mm512_add_epi64(sum, product));
}
#elif SDM_VEC == 8
static inline void add_to_cell(int64_t *cell, int64_t weight, const int64_t value[8])
{
    const __m256i w = _mm256_set1_epi64x(weight);
    for (int k = 0; k < 8; k += 4) { /* low and high halves: v w = (v_high w) 2^32 + v_low w, modulo 2^64 */
        const __m256i v = vi_load(value + k), low = _mm256_mul_epu32(v, w);
        const __m256i high = _mm256_slli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(v, 32), w), 32);
        vi_store(cell + k, _mm256_add_epi64(vi_load(cell + k), _mm256_add_epi64(low, high)));
    }
}
#else
static inline void add_to_cell(int64_t *cell, int64_t weight, const int64_t value[8])
{
    for (int k = 0; k < 8; k++)
        cell[k] += weight * value[k];
}
#endif

void SDM_NAME(spread_points)(const SdmSpread *s, const SdmSpreadPoint *points, int count)
{
    for (int n = 0; n < count; n++) {
        const SdmSpreadPoint *const p = &points[n];
        int x0, y0;
        int32_t wx[MOST], wy[MOST];
        const int nx = near_cells(s, p->x, s->cols, &x0, wx), ny = near_cells(s, p->y, s->rows, &y0, wy);
        const int64_t coarse = p->h >> 2, valid = p->valid, seen = p->seen; /* 1/64 m, so that squares fit */
        const int64_t value[8] = {valid,
                                  valid * p->h,
                                  valid * coarse * coarse,
                                  valid * p->score,
                                  valid * p->gap,
                                  valid & p->filled,
                                  seen,
                                  seen * p->image};
        for (int y = 0; y < ny; y++) {
            int64_t *const cell = s->cell + 8 * ((ptrdiff_t)(y0 + y) * s->pitch + x0);
            for (int x = 0; x < nx; x++)
                add_to_cell(cell + 8 * x, (int64_t)wx[x] * wy[y] >> 10, value);
        }
    }
}
