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
    const vf error = vf_abs(vf_load(r->ray_error_px + x)), known = vf_only(vf_ge(error, vf_set(0.0f)), error);
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
#pragma GCC unroll 4
    for (int to = 0; to < RUN; to += SDM_VEC)
        ground_terms(r, x + to, term, to);
#pragma GCC unroll 4
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
static __attribute__((noinline)) void spread_point(const SdmSpread *s, const SdmSpreadPoint *p)
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

/* Limit of the third value: its square / 256 has 31 bits up to here, 2.9 km from the middle height. */
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

/* Where a point is added: to 3 x 3 cells from `cell` on, by the weights of the columns and of the rows. */
typedef struct Place {
    ptrdiff_t cell;
    uint64_t wx, wy;
} Place;

/* Three cells of 0..count - 1 that hold all that are reached on an axis, where those from `from` / 256 on do
 * not all exist; weights of the others are 0.  false: none is reached. */
static inline bool at_rim(const SdmSpread *s, int32_t from, int count, int *first, uint64_t *weights)
{
    const int reached = from >> 8, last = reached < count - 3 ? reached : count - 3;
    if (count < 3 || reached < -2 || reached >= count)
        return false;
    *first = last > 0 ? last : 0;
    const int moved = 16 * (*first - reached);
    *weights = moved < 0 ? s->three[from & 255] << -moved : s->three[from & 255] >> moved;
    return true;
}

static __attribute__((noinline)) bool find_at_rim(const SdmSpread *s, const int32_t from[2], Place *at)
{
    int x, y;
    if (!at_rim(s, from[0], s->cols, &x, &at->wx) || !at_rim(s, from[1], s->rows, &y, &at->wy))
        return false;
    at->cell = (ptrdiff_t)y * s->pitch + x;
    return true;
}

/* The radii in use, 1.125 and 1.5 cells, reach two or three centres on an axis (four for one point in 256).
 * false: more than 3 x 3 cells are reached, or none, or the point is not narrow.  No address of *at is handed
 * on, so that it stays in registers: as a vector, what was just stored in parts would be waited for. */
static inline bool find_place(const SdmSpread *s, const SdmSpreadPoint *p, Place *at)
{
    const int32_t from[2] = {p->x - s->radius + 127, p->y - s->radius + 127}, most = 1023 - 2 * s->radius;
    const int x = from[0] >> 8, y = from[1] >> 8;
    if ((from[0] & 255) >= most || (from[1] & 255) >= most || !is_narrow(p))
        return false;
    if (x < 0 || y < 0 || x >= s->cols - 2 || y >= s->rows - 2) {
        Place rim;
        if (!find_at_rim(s, from, &rim))
            return false;
        *at = rim;
        return true;
    }
    *at = (Place){(ptrdiff_t)y * s->pitch + x, s->three[from[0] & 255], s->three[from[1] & 255]};
    return true;
}

/* Points that reach 3 x 3 cells, each with its first cell and its weights: four a row, of which three
 * count. */
enum { TOGETHER = 64 };
typedef struct Batch {
    int32_t weight[TOGETHER][16];
    ptrdiff_t cell[TOGETHER];
    const int32_t *value[TOGETHER];
    int count;
} Batch;

/* Weights of both axes are multiplied by 8: the upper half of their product counts. */
static inline void set_weights(const Place *at, int32_t weight[16])
{
#ifdef __AVX2__
    const __m256i row = _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4, 5, 4, 5, 4, 5, 4,
                                         5, 6, 7, 6, 7, 6, 7, 6, 7);
    const __m256i all = _mm256_mulhi_epu16(_mm256_set1_epi64x((int64_t)at->wx),
                                           _mm256_shuffle_epi8(_mm256_set1_epi64x((int64_t)at->wy), row));
    _mm256_storeu_si256((__m256i *)(void *)weight, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(all)));
    _mm256_storeu_si256((__m256i *)(void *)(weight + 8),
                        _mm256_cvtepu16_epi32(_mm256_extracti128_si256(all, 1)));
#else
    for (int k = 0; k < 12; k++) {
        const uint32_t wx = at->wx >> 16 * (k % 4) & 65535, wy = at->wy >> 16 * (k / 4) & 65535;
        weight[k] = (int32_t)(wx * wy >> 16);
    }
#endif
}

#if SDM_VEC == 16
static inline void add_sum(int64_t *cell, Values *sum)
{
    _mm512_storeu_si512(cell, _mm512_add_epi64(_mm512_loadu_si512(cell), *sum));
    *sum = _mm512_setzero_si512();
}

/* Add the sums of 3 x 3 cells to these. */
static inline void add_sums(int64_t *cell, ptrdiff_t pitch, Values sum[9])
{
    for (int k = 0; k < 9; k++)
        add_sum(cell + 8 * (k / 3 * pitch + k % 3), &sum[k]);
}

/* Add the sums of the first row to its cells; the others move up. */
static inline void move_down(int64_t *cell, Values sum[9])
{
    for (int k = 0; k < 3; k++) {
        add_sum(cell + 8 * k, &sum[k]);
        sum[k] = sum[k + 3];
        sum[k + 3] = sum[k + 6];
        sum[k + 6] = _mm512_setzero_si512();
    }
}

/* Sums of 3 x 3 cells stay in registers while points reach them: neighbours mostly reach the same ones, or
 * those a row further down, where rows of the frame run along the track.  A cell that was just stored would
 * be waited for. */
static void add_batch(const Batch *b, int64_t *cells, ptrdiff_t pitch)
{
    Values sum[9];
    ptrdiff_t at = b->cell[0];
    for (int k = 0; k < 9; k++)
        sum[k] = _mm512_setzero_si512();
    for (int n = 0; n < b->count; n++) {
        if (b->cell[n] == at + pitch)
            move_down(cells + 8 * at, sum);
        else if (b->cell[n] != at)
            add_sums(cells + 8 * at, pitch, sum);
        at = b->cell[n];
        const Values v = load_values(b->value[n]);
        for (int k = 0; k < 9; k++)
            sum[k] = _mm512_add_epi64(
                sum[k], _mm512_mul_epi32(_mm512_set1_epi32(b->weight[n][k / 3 * 4 + k % 3]), v));
    }
    add_sums(cells + 8 * at, pitch, sum);
}
#else
static void add_batch(const Batch *b, int64_t *cells, ptrdiff_t pitch)
{
    for (int n = 0; n < b->count; n++) {
        const Values v = load_values(b->value[n]);
        int64_t *cell = cells + 8 * b->cell[n];
        for (int y = 0; y < 3; y++, cell += 8 * pitch)
            for (int x = 0; x < 3; x++)
                add_to_cell(cell + 8 * x, b->weight[n][4 * y + x], v);
    }
}
#endif

void SDM_NAME(spread_points)(const SdmSpread *s, const SdmSpreadPoint *points, int count)
{
    Batch b;
    for (int first = 0; first < count; first += TOGETHER) {
        const int end = first + TOGETHER < count ? first + TOGETHER : count;
        int found = 0;
        for (int n = first; n < end; n++) {
            Place at;
            if (find_place(s, &points[n], &at)) {
                set_weights(&at, b.weight[found]);
                b.cell[found] = at.cell;
                b.value[found++] = points[n].value;
            } else {
                spread_point(s, &points[n]);
            }
        }
        b.count = found;
        if (found > 0)
            add_batch(&b, s->cell, s->pitch);
    }
}
