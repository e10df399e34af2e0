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

/* The radii in use, 1.125 and 1.5 cells, reach two or three centres (four for one point in 256).  If these
 * lie inside 0..count - 1: how many, and their weights; else 0. */
static inline int few_cells(const SdmSpread *s, int32_t at, int count, int *first, int32_t weight[3])
{
    const int lo = first_near(s, at), hi = last_near(s, at), more = hi - lo == 2;
    const int32_t way = at - lo * 256 - 128; /* from the first centre */
    if (hi - lo < 1 || hi - lo > 2 || lo < 0 || hi >= count)
        return 0;
    *first = lo;
    weight[0] = s->table[abs(way)];
    weight[1] = s->table[abs(way - 256)];
    weight[2] = s->table[more ? 512 - way : 0];
    return 2 + more;
}

/* Of the third value: its square / 256 has 31 bits up to here, 2.9 km from the middle height. */
enum { NARROW = 741454 };

static inline bool is_narrow(const SdmSpreadPoint *p)
{
    return p->value[2] >= -NARROW && p->value[2] <= NARROW;
}

#if SDM_VEC == 16
typedef __m512i Values;

static inline Values load_values(const int32_t value[8])
{
    const __m512i v = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)value));
    const __m512i square = _mm512_add_epi64(_mm512_mul_epi32(v, v), _mm512_set1_epi64(128));
    return _mm512_mask_srli_epi64(v, 1 << 2, square, 8);
}

/* A cell += weight x values. */
static inline void add_narrow(int64_t *cell, int32_t weight, Values v)
{
    const __m512i product = _mm512_mul_epi32(_mm512_set1_epi32(weight), v);
    _mm512_storeu_si512(cell, _mm512_add_epi64(_mm512_loadu_si512(cell), product));
}

static inline void add_to_cell(int64_t *cell, int32_t weight, Values v)
{
    const __m512i product = _mm512_mullo_epi64(_mm512_set1_epi64(weight), v);
    _mm512_storeu_si512(cell, _mm512_add_epi64(_mm512_loadu_si512(cell), product));
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

static inline void add_narrow(int64_t *cell, int32_t weight, Values v)
{
    const __m256i w = _mm256_set1_epi32(weight);
    for (int i = 0; i < 2; i++)
        vi_store(cell + 4 * i, _mm256_add_epi64(vi_load(cell + 4 * i), _mm256_mul_epi32(v.low[i], w)));
}

static inline void add_to_cell(int64_t *cell, int32_t weight, Values v)
{
    const __m256i w = _mm256_set1_epi32(weight);
    /* signed products, except of lane 2: the square exceeds 32 bits and is multiplied as two halves */
    const __m256i square = _mm256_mul_epu32(v.low[0], w),
                  high = _mm256_slli_epi64(_mm256_mul_epu32(v.high, w), 32);
    const __m256i product =
        _mm256_blend_epi32(_mm256_mul_epi32(v.low[0], w), _mm256_add_epi64(square, high), 0x30);
    vi_store(cell, _mm256_add_epi64(vi_load(cell), product));
    vi_store(cell + 4, _mm256_add_epi64(vi_load(cell + 4), _mm256_mul_epi32(v.low[1], w)));
}
#endif

/* Any number of cells, any value. */
static void spread_point(const SdmSpread *s, const SdmSpreadPoint *p)
{
    int x0, y0;
    int32_t wx[MOST], wy[MOST];
    const int nx = near_cells(s, p->x, s->cols, &x0, wx), ny = near_cells(s, p->y, s->rows, &y0, wy);
    const Values v = load_values(p->value);
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++)
            add_to_cell(s->cell + 8 * ((ptrdiff_t)(y0 + y) * s->pitch + x0 + x), wx[x] * wy[y] >> 10, v);
}

typedef struct FewCells { /* two or three columns and rows of them, with their weights */
    int nx, ny;
    int32_t wx[3], wy[3];
} FewCells;

static inline __attribute__((always_inline)) void add_few(int64_t *cell, ptrdiff_t pitch, const FewCells *f,
                                                          const int32_t *value,
                                                          void add(int64_t *, int32_t, Values))
{
    const Values v = load_values(value);
    for (int y = 0; y < f->ny; y++, cell += 8 * pitch) {
        add(cell, f->wx[0] * f->wy[y] >> 10, v);
        add(cell + 8, f->wx[1] * f->wy[y] >> 10, v);
        if (f->nx == 3)
            add(cell + 16, f->wx[2] * f->wy[y] >> 10, v);
    }
}

void SDM_NAME(spread_points)(const SdmSpread *s, const SdmSpreadPoint *points, int count)
{
    for (int n = 0; n < count; n++) {
        const SdmSpreadPoint *const p = &points[n];
        int x0 = 0, y0 = 0;
        FewCells f;
        f.nx = few_cells(s, p->x, s->cols, &x0, f.wx);
        f.ny = few_cells(s, p->y, s->rows, &y0, f.wy);
        int64_t *const cell = s->cell + 8 * ((ptrdiff_t)y0 * s->pitch + x0);
        if (f.nx == 0 || f.ny == 0)
            spread_point(s, p);
        else if (is_narrow(p))
            add_few(cell, s->pitch, &f, p->value, add_narrow);
        else
            add_few(cell, s->pitch, &f, p->value, add_to_cell);
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
