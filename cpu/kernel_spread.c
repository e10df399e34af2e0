/* Pixels -> points on the ground; points -> sums of the grid cells around them, by integer weights: the order
 * of the points does not matter. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

sdm_ground_points_fn SDM_NAME(ground_points);
sdm_spread_points_fn SDM_NAME(spread_points);

/* ---- pixels -> points ---- */

enum { RUN = 16, TERMS = 10 };

_Static_assert(sizeof(SdmSpreadPoint) == TERMS * sizeof(int32_t),
               "a point is its terms, one after the other");

static inline vi round_half_up(vf x)
{
    return vi_trunc(vf_floor(vf_add(x, vf_set(0.5f))));
}

/* SDM_VEC points, term by term; x: the first one's pixel. */
static inline void ground_terms(const SdmGroundRow *r, int x, int32_t term[TERMS][RUN], int to)
{
    const vi one = vi_set(1), none = vi_zero(), left = vi_load_i16(r->left + x),
             flags = vi_load_u16(r->flags + x);
    const vf h = vf_load(r->h_m + x), t = vf_sub(h, vf_set(r->height0_m)), fv = vf_set((float)r->v * r->inv),
             fu = vf_mul(vf_from(vi_add(vi_set(r->u + x), vi_load(sdm_lane_numbers))), vf_set(r->inv));
    for (int k = 0; k < 2; k++) {
        const float *const a = r->a[k];
        const vf top = vf_add(vf_set(a[0]), vf_mul(fu, vf_set(a[1] - a[0]))),
                 low = vf_add(vf_set(a[2]), vf_mul(fu, vf_set(a[3] - a[2]))),
                 flat = vf_add(top, vf_mul(fv, vf_sub(low, top))),
                 slope = vf_add(vf_set(r->b[k]), vf_mul(t, vf_set(r->c[k])));
        const vi at = round_half_up(vf_mul(vf_add(flat, vf_mul(t, slope)), vf_set(256.0f)));
        vi_store(&term[k][to], vi_add(at, vi_set(r->corner[k])));
    }
    const vi height = round_half_up(vf_mul(h, vf_set(256.0f)));
    const vf error = vf_abs(vf_load(r->ray_error_px + x)),
             known = vf_sel(vf_ge(error, vf_set(0.0f)), error, vf_set(0.0f));
    const vm invalid = vi_eq(vi_and(flags, vi_set(r->valid)), none),
             measured = vi_eq(vi_and(flags, vi_set(r->filled)), none),
             unseen = vi_eq(left, vi_set(SDM_PIXEL_NODATA));
    vi_store(&term[2][to], vi_sel(invalid, none, one));
    vi_store(&term[3][to], vi_sel(invalid, none, height));
    vi_store(&term[4][to], vi_sel(invalid, none, vi_sub(height, vi_set(r->middle))));
    vi_store(&term[5][to], vi_sel(invalid, none, vi_load_u8(r->score + x)));
    vi_store(&term[6][to], vi_sel(invalid, none, round_half_up(vf_mul(known, vf_set(1024.0f)))));
    vi_store(&term[7][to], vi_sel(invalid, none, vi_sel(measured, none, one)));
    vi_store(&term[8][to], vi_sel(unseen, none, one));
    vi_store(&term[9][to], vi_sel(unseen, none, left));
}

typedef int32_t Four __attribute__((vector_size(16)));

/* Terms k .. k + 3 of four points, to where the first one has its term k. */
static inline void turn_four(int32_t (*term)[RUN], int i, int32_t *out)
{
    Four row[4];
    for (int j = 0; j < 4; j++)
        memcpy(&row[j], &term[j][i], sizeof row[j]);
    const Four a = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
               b = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
               c = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
               d = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    const Four point[4] = {
        __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
        __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
    for (int j = 0; j < 4; j++)
        memcpy(out + j * TERMS, &point[j], sizeof point[j]);
}

/* The same of the last two terms. */
static inline void turn_two(int32_t (*term)[RUN], int i, int32_t *out)
{
    Four row[2];
    for (int j = 0; j < 2; j++)
        memcpy(&row[j], &term[j][i], sizeof row[j]);
    const Four point[2] = {__builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
                           __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7)};
    for (int j = 0; j < 4; j++)
        memcpy(out + j * TERMS, (const char *)&point[j / 2] + j % 2 * 8, 8);
}

/* RUN pixels. */
static inline void ground_run(const SdmGroundRow *r, int x, SdmSpreadPoint *out)
{
    int32_t term[TERMS][RUN];
    for (int to = 0; to < RUN; to += SDM_VEC)
        ground_terms(r, x + to, term, to);
    for (int i = 0; i < RUN; i += 4) {
        int32_t *const p = &out[i].x;
        turn_four(term, i, p);
        turn_four(term + 4, i, p + 4);
        turn_two(term + 8, i, p + 8);
    }
}

void SDM_NAME(ground_points)(const SdmGroundRow *row, int count, SdmSpreadPoint *out)
{
    int x = 0;
    for (; x + RUN <= count; x += RUN)
        ground_run(row, x, out + x);
    if (x == count)
        return;
    float h_m[RUN] = {0}, ray_error_px[RUN] = {0};
    uint16_t flags[RUN] = {0};
    uint8_t score[RUN] = {0};
    int16_t left[RUN] = {0};
    SdmSpreadPoint point[RUN];
    for (int i = 0; x + i < count; i++) {
        h_m[i] = row->h_m[x + i];
        ray_error_px[i] = row->ray_error_px[x + i];
        flags[i] = row->flags[x + i];
        score[i] = row->score[x + i];
        left[i] = row->left[x + i];
    }
    SdmGroundRow end = *row;
    end.h_m = h_m;
    end.ray_error_px = ray_error_px;
    end.flags = flags;
    end.score = score;
    end.left = left;
    end.u += x;
    ground_run(&end, 0, point);
    memcpy(out + x, point, (size_t)(count - x) * sizeof *out);
}

/* ---- points -> cells ---- */

/* Any number of cells, any value. */
static void spread_point(const SdmSpread *s, const SdmSpreadPoint *p)
{
    const int32_t at[2] = {p->x, p->y}, most[2] = {s->cols - 1, s->rows - 1};
    const int64_t square = ((int64_t)p->value[2] * p->value[2] + 128) >> 8;
    int first[2], last[2]; /* of the cells whose centres lie within the radius */
    for (int k = 0; k < 2; k++) {
        const int lo = (at[k] - s->radius + 127) >> 8, hi = (at[k] + s->radius - 128) >> 8;
        first[k] = lo > 0 ? lo : 0;
        last[k] = hi < most[k] ? hi : most[k];
    }
    for (int y = first[1]; y <= last[1]; y++)
        for (int x = first[0]; x <= last[0]; x++) {
            const int64_t weight =
                s->table[abs(x * 256 + 128 - at[0])] * s->table[abs(y * 256 + 128 - at[1])] >> 10;
            int64_t *const cell = s->cell + 8 * ((ptrdiff_t)y * s->pitch + x);
            for (int k = 0; k < 8; k++)
                cell[k] += weight * (k == 2 ? square : p->value[k]);
        }
}

/* The radii in use, 1.125 and 1.5 cells, reach two or three centres (four for one point in 256).  Three cells
 * of 0..count - 1 that hold all that are reached, with their weights, 0 beyond the radius: no branch depends
 * on the place.  false where more are reached, or none. */
static inline bool three_cells(const SdmSpread *s, int32_t at, int count, int *first, int32_t weight[3])
{
    const int reached = (at - s->radius + 127) >> 8, last = reached < count - 3 ? reached : count - 3;
    if (count < 3 || reached < -2 || reached >= count)
        return false;
    *first = last > 0 ? last : 0;
    const int32_t way = at - *first * 256 - 128;
    weight[0] = s->table[abs(way)];
    weight[1] = s->table[abs(way - 256)];
    weight[2] = s->table[abs(way - 512)];
    return (reached + 3) * 256 + 128 - at > s->radius;
}

/* Of the third value: its square / 256 has 31 bits up to here, 2.9 km from the middle height. */
enum { NARROW = 741454 };

static inline bool is_narrow(const SdmSpreadPoint *p)
{
    return p->value[2] >= -NARROW && p->value[2] <= NARROW;
}

/* The values of a narrow point as they are added; a cell += weight x values. */
#if SDM_VEC == 16
typedef __m512i Values;

static inline Values load_values(const int32_t value[8])
{
    const __m512i v = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)value));
    const __m512i square = _mm512_add_epi64(_mm512_mul_epi32(v, v), _mm512_set1_epi64(128));
    return _mm512_mask_srli_epi64(v, 1 << 2, square, 8);
}

static inline void add_to_cell(int64_t *cell, int32_t weight, Values v)
{
    const __m512i product = _mm512_mul_epi32(_mm512_set1_epi32(weight), v);
    _mm512_storeu_si512(cell, _mm512_add_epi64(_mm512_loadu_si512(cell), product));
}
#elif SDM_VEC == 8
typedef struct Values {
    __m256i half[2];
} Values;

static inline Values load_values(const int32_t value[8])
{
    Values v;
    for (int i = 0; i < 2; i++)
        v.half[i] = _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(const void *)(value + 4 * i)));
    const __m256i square = _mm256_add_epi64(_mm256_mul_epi32(v.half[0], v.half[0]), _mm256_set1_epi64x(128));
    v.half[0] = _mm256_blend_epi32(v.half[0], _mm256_srli_epi64(square, 8), 0x30);
    return v;
}

static inline void add_to_cell(int64_t *cell, int32_t weight, Values v)
{
    const __m256i w = _mm256_set1_epi32(weight);
    for (int i = 0; i < 2; i++)
        vi_store(cell + 4 * i, _mm256_add_epi64(vi_load(cell + 4 * i), _mm256_mul_epi32(v.half[i], w)));
}
#else
typedef struct Values {
    int32_t value[8];
} Values;

static inline Values load_values(const int32_t value[8])
{
    Values v;
    memcpy(v.value, value, sizeof v.value);
    v.value[2] = (int32_t)(((int64_t)value[2] * value[2] + 128) >> 8);
    return v;
}

static inline void add_to_cell(int64_t *cell, int32_t weight, Values v)
{
    for (int k = 0; k < 8; k++)
        cell[k] += (int64_t)weight * v.value[k];
}
#endif

/* Add to 3 x 3 cells. */
static inline void add_three(int64_t *cell, ptrdiff_t pitch, const int32_t wx[3], const int32_t wy[3],
                             Values v)
{
    int32_t weight[9];
    for (int k = 0; k < 9; k++)
        weight[k] = wx[k % 3] * wy[k / 3] >> 10;
    for (int y = 0; y < 3; y++, cell += 8 * pitch) {
        add_to_cell(cell, weight[3 * y], v);
        add_to_cell(cell + 8, weight[3 * y + 1], v);
        add_to_cell(cell + 16, weight[3 * y + 2], v);
    }
}

void SDM_NAME(spread_points)(const SdmSpread *s, const SdmSpreadPoint *points, int count)
{
    for (int n = 0; n < count; n++) {
        const SdmSpreadPoint *const p = &points[n];
        int x0, y0;
        int32_t wx[3], wy[3];
        if (three_cells(s, p->x, s->cols, &x0, wx) && three_cells(s, p->y, s->rows, &y0, wy) && is_narrow(p))
            add_three(s->cell + 8 * ((ptrdiff_t)y0 * s->pitch + x0), s->pitch, wx, wy, load_values(p->value));
        else
            spread_point(s, p);
    }
}
