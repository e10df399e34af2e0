/* Least squares on the processor: statistics of blocks, then the equations of a tile and the steps that solve
 * them.
 *
 * Per pixel the height, in px of residual, is d + x.  The left view L and the warped right view R (with gain
 * and offset of the place) differ by e = L - g R - o, which a move by x changes by -x times the slope of the
 * texture: W x = b with W = slope^2 / s^2 and b = slope e / s^2, s^2 being the mean square of e around.
 * Second differences K (d + x) cost their square times lambda, the inverse of their own mean square around,
 * times the share of the plate's pixels there that both views show.
 * So (W + K' lambda K) x = b - K' lambda K d. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/filters.h"

#include "core/math.h"
#include "core/vector_loops.h"

#include <string.h>

enum { B = SDM_LS_BLOCK, MOST_DIFFERENCE = SDM_LS_MOST_DIFFERENCE };

/* ---- blocks ---- */

/* Parameters of the pixels of each block; inverse and lambda are 0 where fewer than SDM_LS_LEAST pixels
 * around are valid. */
typedef struct Blocks {
    int wide, high, skip_x, skip_y; /* pixels of the first block that lie outside the window */
    SdmLsFit *fit;
} Blocks;

typedef struct Work {
    const SdmKernels *k;
    float px_per_metre;
    const int16_t *left, *right;
    const uint16_t *flags;
    const float *h_m;
    int w, h;
    SdmLsSums *sums;
    Blocks blocks;
    float *out;
} Work;

/* Rows y0 - 1 .. y1 of the blurred heights, each of w. */
static void blur_rows(const Work *w, int y0, int y1, float *blurred)
{
    for (int y = y0 - 1; y <= y1; y++) {
        const float *row[5];
        for (int j = 0; j < 5; j++)
            row[j] =
                w->h_m + (size_t)sdm_clamp(sdm_clamp(y, 0, w->h - 1) + j - 2, 0, w->h - 1) * (size_t)w->w;
        w->k->blur_row(row, w->w, 1, blurred + (size_t)(y - y0 + 1) * (size_t)w->w);
    }
}

/* A row of pixels that begins where a block does; inner: those that have a neighbour on either side. */
typedef struct BlockRow {
    const int16_t *left, *right;
    const uint16_t *flags;
    const float *up, *mid, *low; /* blurred heights */
    int n, inner_from, inner_to;
} BlockRow;

/* Sums by columns of a block, whose pixels do not overflow 32 bits. */
typedef struct Columns {
    int32_t count[B], left[B], right[B], left2[B], right2[B], product[B], rough[B], rough_count[B];
} Columns;

/* All bits where a number is negative, else none. */
static inline int32_t all_bits(int32_t a)
{
    return a >> 31;
}

/* 1: a pixel has a height, of its own samples or set aside: it is a part of the plate. */
static inline int32_t has_height(uint16_t flags)
{
    return (flags & (SDM_QA_VALID | SDM_PIXEL_ASIDE)) != 0;
}

/* n: pixels of the row. */
static inline __attribute__((always_inline)) void sum_pixels(const BlockRow *row, int n, float scale,
                                                             Columns *restrict s)
{
    const int16_t *const left = row->left, *const right = row->right;
    const float *const up = row->up, *const mid = row->mid, *const low = row->low;
    const uint16_t *const flags = row->flags;
    int32_t inner[B];
    for (int i = 0; i < n; i++) { /* by masks: of conditions compilers would make branches */
        const int32_t known = all_bits(SDM_PIXEL_NODATA - left[i]) & all_bits(SDM_PIXEL_NODATA - right[i]),
                      mask = -(flags[i] & SDM_QA_VALID) & known, l = left[i] & mask, r = right[i] & mask;
        s->count[i] += mask & 1;
        s->left[i] += l;
        s->right[i] += r;
        s->left2[i] += l * l;
        s->right2[i] += r * r;
        s->product[i] += l * r;
        inner[i] =
            known & has_height(flags[i]) & all_bits(row->inner_from - 1 - i) & all_bits(i - row->inner_to);
    }
    for (int i = 0; i < n; i++) {
        const float q = (((up[i] + low[i]) + (mid[i - 1] + mid[i + 1])) - 4.0f * mid[i]) * scale;
        const int32_t v =
            (int32_t)(q > -MOST_DIFFERENCE ? q < MOST_DIFFERENCE ? q : MOST_DIFFERENCE : -MOST_DIFFERENCE);
        s->rough[i] += inner[i] ? v * v : 0;
        s->rough_count[i] += inner[i];
    }
}

SDM_VECTOR_LOOPS static void sum_row(const BlockRow *row, float scale, Columns *restrict s)
{
    if (row->n == B)
        sum_pixels(row, B, scale, s);
    else
        sum_pixels(row, row->n, scale, s);
}

static void sum_block(const Work *w, int x0, int x1, int y0, int y1, const float *blurred, SdmLsSums *s)
{
    const float scale = SDM_LS_NOISE_UNIT * w->px_per_metre;
    Columns c = {0};
    for (int y = y0; y < y1; y++) {
        const size_t at = (size_t)y * (size_t)w->w + (size_t)x0;
        const float *const mid = blurred + (size_t)(y - y0 + 1) * (size_t)w->w + x0;
        const BlockRow row = {.left = w->left + at,
                              .right = w->right + at,
                              .flags = w->flags + at,
                              .up = mid - w->w,
                              .mid = mid,
                              .low = mid + w->w,
                              .n = x1 - x0,
                              .inner_from = x0 == 0,
                              .inner_to = w->w - 1 - x0};
        sum_row(&row, scale, &c);
    }
    *s = (SdmLsSums){0};
    for (int i = 0; i < B; i++) {
        s->count += c.count[i];
        s->left += c.left[i];
        s->right += c.right[i];
        s->left2 += c.left2[i];
        s->right2 += c.right2[i];
        s->product += c.product[i];
        s->rough += c.rough[i];
        s->rough_count += c.rough_count[i];
    }
}

/* The blocks of row j. */
static void sum_blocks(const Work *w, int j, float *blurred)
{
    const Blocks *const b = &w->blocks;
    const int top = j * B - b->skip_y, y0 = top > 0 ? top : 0, y1 = top + B < w->h ? top + B : w->h;
    blur_rows(w, y0, y1, blurred);
    for (int i = 0; i < b->wide; i++) {
        const int from = i * B - b->skip_x, x0 = from > 0 ? from : 0, x1 = from + B < w->w ? from + B : w->w;
        sum_block(w, x0, x1, y0, y1, blurred, &w->sums[(size_t)j * (size_t)b->wide + (size_t)i]);
    }
}

/* Parameters of a block's pixels, from the 3 x 3 blocks about it. */
static void fit_block(const Work *w, int i, int j)
{
    const Blocks *const b = &w->blocks;
    const size_t at = (size_t)j * (size_t)b->wide + (size_t)i;
    const SdmLsSums *const own = &w->sums[at];
    SdmLsSums s = {0};
    for (int y = j > 0 ? j - 1 : 0; y <= j + 1 && y < b->high; y++)
        for (int x = i > 0 ? i - 1 : 0; x <= i + 1 && x < b->wide; x++) {
            const SdmLsSums *const a = &w->sums[(size_t)y * (size_t)b->wide + (size_t)x];
            s.count += a->count;
            s.left += a->left;
            s.right += a->right;
            s.left2 += a->left2;
            s.right2 += a->right2;
            s.product += a->product;
            s.rough += a->rough >> SDM_LS_ROUGH_SHIFT;
            s.rough_count += a->rough_count;
        }
    b->fit[at] = sdm_ls_fit(&s, (float)own->left, (float)own->right, (float)own->count);
}

/* ---- the equations of a tile ---- */

enum {
    TILE_W = 384,
    TILE_H = 192,
    MARGIN = (SDM_LS_CYCLES * SDM_LS_CYCLE_REACH + 7) / 8 * 8,
    MOST_W = TILE_W + 2 * MARGIN,
    MOST_H = TILE_H + 2 * MARGIN,
    TILE_BYTES = 4 /* of the tiles in work, for a pixel of the window: matching has had more than that */
};

/* Unknowns x of w x h pixels: (weight + K' lambda K) x = rhs; rows of `pitch`. */
typedef struct Plate {
    int w, h;
    size_t pitch;
    float *weight, *lambda, *rhs, *inverse, *x, *step, *bend; /* inverse: of a bound of the row's absolute
                                                               * sum */
} Plate;

/* Rows of a tile that are the same for some rows, or made anew for each; a pixel x of the tile is at [lead +
 * x]. */
typedef struct Rows {
    int lead, middle_lead; /* pixels of its first block that lie before the tile; of blocks that begin at
                            * middles */
    int block_row;         /* of inverse and lambda */
    float gain[MOST_W + 2 * B], offset[MOST_W + 2 * B], inverse[MOST_W + 2 * B], lambda[MOST_W + 2 * B];
} Rows;

typedef struct Tile {
    int x0, y0; /* of its first pixel with the margin, in the window */
    Plate fine, half;
    float plane[8][MOST_H * MOST_W], quarter[7][MOST_H / 2 * MOST_W / 2];
    Rows rows;
} Tile;

/* Between the values of two blocks, at the pixels of their middles and those between. */
SDM_VECTOR_LOOPS static void spread_block(const float a[2], float *out)
{
    for (int i = 0; i < B; i++)
        out[i] = a[0] + (((float)i + 0.5f) / B) * (a[1] - a[0]);
}

/* Gain and offset of the pixels of row y: bilinear between the middles of blocks. */
static void spread_middles(const Work *w, Tile *t, int y)
{
    const Blocks *const b = &w->blocks;
    Rows *const r = &t->rows;
    const int below = (y + b->skip_y + B / 2) / B, first = (t->x0 + b->skip_x + B / 2) / B;
    const float down = ((float)((y + b->skip_y + B / 2) % B) + 0.5f) / B;
    const size_t up = (size_t)sdm_clamp(below - 1, 0, b->high - 1) * (size_t)b->wide,
                 low = (size_t)sdm_clamp(below, 0, b->high - 1) * (size_t)b->wide;
    float gain[2] = {0.0f, 0.0f}, offset[2] = {0.0f, 0.0f};
    for (int i = 0; i <= (r->middle_lead + t->fine.w - 1) / B + 1; i++) {
        const size_t column = (size_t)sdm_clamp(first - 1 + i, 0, b->wide - 1);
        const SdmLsFit *const a = &b->fit[up + column], *const c = &b->fit[low + column];
        gain[0] = gain[1];
        offset[0] = offset[1];
        gain[1] = a->gain + down * (c->gain - a->gain);
        offset[1] = a->offset + down * (c->offset - a->offset);
        if (i > 0) {
            spread_block(gain, r->gain + (i - 1) * B);
            spread_block(offset, r->offset + (i - 1) * B);
        }
    }
}

/* 1 / noise and lambda of the pixels of row y: their block's. */
static void spread_blocks(const Work *w, Tile *t, int y)
{
    const Blocks *const b = &w->blocks;
    Rows *const r = &t->rows;
    const int row = (y + b->skip_y) / B, first = (t->x0 + b->skip_x) / B;
    if (row == r->block_row)
        return;
    r->block_row = row;
    for (int i = 0; i <= (r->lead + t->fine.w - 1) / B; i++) {
        const size_t at = (size_t)row * (size_t)b->wide + (size_t)(first + i);
        for (int k = 0; k < B; k++) {
            r->inverse[i * B + k] = b->fit[at].inverse;
            r->lambda[i * B + k] = b->fit[at].lambda;
        }
    }
}

/* Rows of pixels, all of which have two neighbours on either side and one above and below. */
typedef struct Views {
    const int16_t *left, *right;
    const uint16_t *flags;
    const float *h_m, *gain, *offset, *inverse;
    ptrdiff_t pitch;
    float px_per_metre;
    int width;
} Views;

/* Slope of a view's texture, times 12, from the two pixels on either side.  Where they have no data, from
 * the next ones alone, and where one of these has none, from the other one. */
typedef struct Taps {
    bool before, after, wide; /* both views have data in the next pixels, in those beyond */
} Taps;

static inline int32_t slope12(const int16_t *v, Taps has)
{
    const int32_t before = has.before ? v[-1] : 2 * v[0] - v[1], after = has.after ? v[1] : 2 * v[0] - v[-1];
    const int32_t wide = has.wide ? v[2] - v[-2] : 2 * (after - before);
    return 8 * (after - before) - wide;
}

static inline int both_known(const Views *v, int x)
{
    return (v->left[x] != SDM_PIXEL_NODATA) & (v->right[x] != SDM_PIXEL_NODATA);
}

/* Weight and right-hand side of a pixel; all: both views have data around it. */
static inline void weigh_pixel(const Views *v, int x, bool all, float *restrict weight, float *restrict rhs)
{
    const Taps has =
        all ? (Taps){true, true, true}
            : (Taps){both_known(v, x - 1), both_known(v, x + 1), both_known(v, x - 2) & both_known(v, x + 2)};
    const int32_t l = slope12(v->left + x, has), r = slope12(v->right + x, has);
    const float stretch = 1.0f + 0.5f * (v->px_per_metre * (v->h_m[x + 1] - v->h_m[x - 1])),
                ramp = stretch < 0.3f   ? 0.3f
                       : stretch > 3.0f ? 3.0f
                                        : stretch;
    const float slope = ((float)l + v->gain[x] * (float)r / ramp) * (1.0f / 24.0f),
                miss = ((float)v->left[x] - v->gain[x] * (float)v->right[x]) - v->offset[x];
    const int known = v->flags[x] & SDM_QA_VALID & (all | (both_known(v, x) & (has.before | has.after)));
    const float use = (float)known;
    weight[x] = use * slope * slope * v->inverse[x];
    rhs[x] = use * slope * miss * v->inverse[x];
}

SDM_VECTOR_LOOPS static void weigh_row(const Views *v, float *restrict weight, float *restrict rhs)
{
    const Views row = *v;
    bool all = true;
    for (int x = -2; x < row.width + 2; x++)
        all &= both_known(&row, x);
    if (all) {
#pragma omp simd
        for (int x = 0; x < row.width; x++)
            weigh_pixel(&row, x, true, weight, rhs);
        return;
    }
#pragma omp simd
    for (int x = 0; x < row.width; x++)
        weigh_pixel(&row, x, false, weight, rhs);
}

/* lambda where the second differences of a pixel are of pixels with data, else 0. */
SDM_VECTOR_LOOPS static void mask_row(const Views *v, const float *restrict lambda, float *restrict out)
{
    const Views row = *v;
    const int pitch = (int)row.pitch;
#pragma omp simd
    for (int x = 0; x < row.width; x++) {
        const int known = both_known(&row, x - pitch) & both_known(&row, x + pitch) & both_known(&row, x) &
                          both_known(&row, x - 1) & both_known(&row, x + 1);
        out[x] = lambda[x] * (float)known;
    }
}

static void set_up_row(const Work *w, Tile *t, int row)
{
    Plate *const p = &t->fine;
    const Rows *const r = &t->rows;
    const int y = t->y0 + row;
    const int x0 = t->x0 < 2 ? 2 - t->x0 : 0, end = w->w - 2 - t->x0 < p->w ? w->w - 2 - t->x0 : p->w;
    const size_t i = (size_t)row * p->pitch, at = (size_t)y * (size_t)w->w + (size_t)(t->x0 + x0);
    memset(p->weight + i, 0, (size_t)p->w * sizeof *p->weight);
    memset(p->rhs + i, 0, (size_t)p->w * sizeof *p->rhs);
    memset(p->lambda + i, 0, (size_t)p->w * sizeof *p->lambda);
    if (y == 0 || y + 1 == w->h || x0 >= end)
        return;
    spread_middles(w, t, y);
    spread_blocks(w, t, y);
    const Views v = {.left = w->left + at,
                     .right = w->right + at,
                     .flags = w->flags + at,
                     .h_m = w->h_m + at,
                     .gain = r->gain + r->middle_lead + x0,
                     .offset = r->offset + r->middle_lead + x0,
                     .inverse = r->inverse + r->lead + x0,
                     .pitch = w->w,
                     .px_per_metre = w->px_per_metre,
                     .width = end - x0};
    weigh_row(&v, p->weight + i + x0, p->rhs + i + x0);
    mask_row(&v, r->lambda + r->lead + x0, p->lambda + i + x0);
}

/* ---- their solution ---- */

/* bend = lambda K x, 0 at the rim. */
SDM_VECTOR_LOOPS static void bend_row(const float *restrict up, const float *restrict mid,
                                      const float *restrict low, const float *restrict lambda, int w,
                                      float *restrict bend)
{
    bend[0] = bend[w - 1] = 0.0f;
    for (int x = 1; x < w - 1; x++)
        bend[x] = lambda[x] * (((up[x] + low[x]) + (mid[x - 1] + mid[x + 1])) - 4.0f * mid[x]);
}

static void flatten_rim(const Plate *p)
{
    if (p->w == 0 || p->h == 0) /* the half grid of a single column or row */
        return;
    memset(p->bend, 0, (size_t)p->w * sizeof *p->bend);
    memset(p->bend + (size_t)(p->h - 1) * p->pitch, 0, (size_t)p->w * sizeof *p->bend);
}

/* The rows of bend that row y is the first to need, y going from 1 to h - 2: when row y is changed
 * afterwards, all that depend on its former x are there. */
static void bend_ahead(const Plate *p, const float *x, int y)
{
    for (int k = y == 1 ? 1 : y + 1; k <= y + 1 && k < p->h - 1; k++) {
        const size_t i = (size_t)k * p->pitch;
        bend_row(x + i - p->pitch, x + i, x + i + p->pitch, p->lambda + i, p->w, p->bend + i);
    }
}

/* rhs -= K bend. */
SDM_VECTOR_LOOPS static void subtract_row(const float *restrict up, const float *restrict mid,
                                          const float *restrict low, int w, float *restrict rhs)
{
    for (int x = 1; x < w - 1; x++)
        rhs[x] -= ((up[x] + low[x]) + (mid[x - 1] + mid[x + 1])) - 4.0f * mid[x];
}

/* A row of a plate: bend with its neighbours above and below, and the fields that a step reads and
 * changes. */
typedef struct PlateRow {
    const float *up, *mid, *low, *rhs, *weight, *inverse;
    float *step, *x;
    int w;
} PlateRow;

/* A step of the Chebyshev iteration of a row: step = keep step + move (rhs - weight x - K bend) inverse, x +=
 * step. */
SDM_VECTOR_LOOPS static void step_row(const PlateRow *row, SdmLsStep k)
{
    const float *restrict const up = row->up, *restrict const mid = row->mid, *restrict const low = row->low,
                                *restrict const rhs = row->rhs, *restrict const weight = row->weight,
                                *restrict const inverse = row->inverse;
    float *restrict const step = row->step, *restrict const x = row->x;
#pragma omp simd /* the compiler does not see by itself that pointers out of a struct do not overlap */
    for (int i = 1; i < row->w - 1; i++) {
        const float residual =
            (rhs[i] - weight[i] * x[i]) - (((up[i] + low[i]) + (mid[i - 1] + mid[i + 1])) - 4.0f * mid[i]);
        step[i] = k.keep * step[i] + k.move * (residual * inverse[i]);
        x[i] += step[i];
    }
}

/* inverse = 1 / (weight + 5/2 (4 lambda + those beside)): the matrix times it has no eigenvalue above
 * 16/5. */
SDM_VECTOR_LOOPS static void bound_row(const float *restrict up, const float *restrict mid,
                                       const float *restrict low, const float *restrict weight, int w,
                                       float *restrict inverse)
{
    inverse[0] = inverse[w - 1] = 0.0f;
    for (int x = 1; x < w - 1; x++)
        inverse[x] =
            1.0f /
            ((weight[x] + 2.5f * (4.0f * mid[x] + ((up[x] + low[x]) + (mid[x - 1] + mid[x + 1])))) + 1e-3f);
}

static void bound_plate(const Plate *p)
{
    if (p->w == 0 || p->h == 0) /* the half grid of a single column or row */
        return;
    memset(p->inverse, 0, (size_t)p->w * sizeof *p->inverse);
    memset(p->inverse + (size_t)(p->h - 1) * p->pitch, 0, (size_t)p->w * sizeof *p->inverse);
    for (int y = 1; y < p->h - 1; y++) {
        const size_t i = (size_t)y * p->pitch;
        bound_row(p->lambda + i - p->pitch, p->lambda + i, p->lambda + i + p->pitch, p->weight + i, p->w,
                  p->inverse + i);
    }
}

/* For eigenvalues between these; the smaller ones are left to the coarser grid. */
void sdm_ls_steps(int count, SdmLsStep *out)
{
    static const float low = 0.15f, high = 3.3f;
    const float middle = 0.5f * (high + low), half = 0.5f * (high - low), sigma = middle / half;
    float rho = 1.0f / sigma;
    for (int k = 0; k < count; k++) {
        const float next = 1.0f / (2.0f * sigma - rho);
        out[k] = (SdmLsStep){.keep = k ? next * rho : 0.0f, .move = k ? 2.0f * next / half : 1.0f / middle};
        rho = k ? next : rho;
    }
}

static void solve(const Plate *p, int steps)
{
    SdmLsStep step[SDM_LS_HALF_STEPS];
    sdm_ls_steps(steps, step);
    flatten_rim(p);
    for (int k = 0; k < steps; k++)
        for (int y = 1; y < p->h - 1; y++) {
            bend_ahead(p, p->x, y);
            const size_t i = (size_t)y * p->pitch;
            const PlateRow row = {.up = p->bend + i - p->pitch,
                                  .mid = p->bend + i,
                                  .low = p->bend + i + p->pitch,
                                  .rhs = p->rhs + i,
                                  .weight = p->weight + i,
                                  .inverse = p->inverse + i,
                                  .step = p->step + i,
                                  .x = p->x + i,
                                  .w = p->w};
            step_row(&row, step[k]);
        }
}

/* Sums of 2 x 2. */
SDM_VECTOR_LOOPS static void halve_row(const float *restrict a, const float *restrict b, float scale, int w,
                                       float *restrict out)
{
    for (int x = 0; x < w; x++)
        out[x] = ((a[2 * x] + a[2 * x + 1]) + (b[2 * x] + b[2 * x + 1])) * scale;
}

static void halve(const float *from, size_t pitch, float scale, const Plate *half, float *to)
{
    for (int y = 0; y < half->h; y++)
        halve_row(from + 2 * (size_t)y * pitch, from + (2 * (size_t)y + 1) * pitch, scale, half->w,
                  to + (size_t)y * half->pitch);
}

/* x += the half plate's, bilinear; near and far: the rows of the half plate around the row. */
SDM_VECTOR_LOOPS static void double_row(const float *restrict near, const float *restrict far, int half_w,
                                        float *restrict x)
{
    for (int i = 1; i < half_w - 1; i++) {
        const float before = 0.75f * near[i - 1] + 0.25f * far[i - 1],
                    here = 0.75f * near[i] + 0.25f * far[i], after = 0.75f * near[i + 1] + 0.25f * far[i + 1];
        x[2 * i] += 0.75f * here + 0.25f * before;
        x[2 * i + 1] += 0.75f * here + 0.25f * after;
    }
}

/* rhs - weight x. */
SDM_VECTOR_LOOPS static void miss_row(const float *restrict rhs, const float *restrict weight,
                                      const float *restrict x, int w, float *restrict out)
{
    for (int i = 0; i < w; i++)
        out[i] = rhs[i] - weight[i] * x[i];
}

static void correct_coarsely(const Plate *p, const Plate *half, float *residual)
{
    flatten_rim(p);
    memset(residual, 0, (size_t)p->w * sizeof *residual);
    memset(residual + (size_t)(p->h - 1) * p->pitch, 0, (size_t)p->w * sizeof *residual);
    for (int y = 1; y < p->h - 1; y++) {
        const size_t i = (size_t)y * p->pitch;
        bend_ahead(p, p->x, y);
        miss_row(p->rhs + i, p->weight + i, p->x + i, p->w, residual + i);
        subtract_row(p->bend + i - p->pitch, p->bend + i, p->bend + i + p->pitch, p->w, residual + i);
    }
    halve(residual, p->pitch, 1.0f, half, half->rhs);
    for (int y = 0; y < half->h; y++)
        memset(half->x + (size_t)y * half->pitch, 0, (size_t)half->w * sizeof *half->x);
    solve(half, SDM_LS_HALF_STEPS);
    for (int y = 2; y < 2 * half->h - 2; y++) {
        const size_t near = (size_t)(y / 2) * half->pitch;
        const float *const far = half->x + (y % 2 ? near + half->pitch : near - half->pitch);
        double_row(half->x + near, far, half->w, p->x + (size_t)y * p->pitch);
    }
}

SDM_VECTOR_LOOPS static void scale_row(const float *restrict in, float scale, int n, float *restrict out)
{
    for (int x = 0; x < n; x++)
        out[x] = in[x] * scale;
}

/* Heights move by at most a pixel. */
SDM_VECTOR_LOOPS static void move_row(const float *restrict h_m, const uint16_t *restrict flags,
                                      const float *restrict px, float px_per_metre, int n,
                                      float *restrict out)
{
    for (int x = 0; x < n; x++) {
        const float moved = (px[x] < -1.0f ? -1.0f : px[x] > 1.0f ? 1.0f : px[x]) / px_per_metre;
        out[x] = h_m[x] + (has_height(flags[x]) ? moved : 0.0f);
    }
}

/* The inside of a tile: columns x0..x1 - 1 and rows y0..y1 - 1 of the window, both first ones even in the
 * frame. */
static void move_tile(const Work *w, int x0, int y0, int x1, int y1, Tile *t)
{
    t->x0 = x0 > MARGIN ? x0 - MARGIN : 0;
    t->y0 = y0 > MARGIN ? y0 - MARGIN : 0;
    t->rows.lead = (t->x0 + w->blocks.skip_x) % B;
    t->rows.middle_lead = (t->x0 + w->blocks.skip_x + B / 2) % B;
    t->rows.block_row = -1;
    Plate *const p = &t->fine, *const half = &t->half;
    float **const fields[] = {&p->weight, &p->lambda, &p->rhs, &p->inverse, &p->x, &p->step, &p->bend},
                  **const halves[] = {&half->weight, &half->lambda, &half->rhs, &half->inverse,
                                      &half->x,      &half->step,   &half->bend};
    p->w = (x1 + MARGIN < w->w ? x1 + MARGIN : w->w) - t->x0;
    p->h = (y1 + MARGIN < w->h ? y1 + MARGIN : w->h) - t->y0;
    p->pitch = MOST_W;
    half->w = p->w / 2;
    half->h = p->h / 2;
    half->pitch = MOST_W / 2;
    for (int i = 0; i < 7; i++) {
        *fields[i] = t->plane[i];
        *halves[i] = t->quarter[i];
    }
    float *const height = t->plane[7], *const residual = height; /* one after the other */
    for (int y = 0; y < p->h; y++) {
        set_up_row(w, t, y);
        scale_row(w->h_m + (size_t)(t->y0 + y) * (size_t)w->w + (size_t)t->x0, w->px_per_metre, p->w,
                  height + (size_t)y * p->pitch);
        memset(p->x + (size_t)y * p->pitch, 0, (size_t)p->w * sizeof *p->x);
    }
    bound_plate(p);
    halve(p->weight, p->pitch, 1.0f, half, half->weight);
    halve(p->lambda, p->pitch, 1.0f / 16.0f, half, half->lambda); /* K over 2 px is 4 times as large, for a
                                                                   * quarter of the pixels */
    bound_plate(half);
    flatten_rim(p);
    for (int y = 1; y < p->h - 1; y++) {
        const size_t i = (size_t)y * p->pitch;
        bend_ahead(p, height, y);
        subtract_row(p->bend + i - p->pitch, p->bend + i, p->bend + i + p->pitch, p->w, p->rhs + i);
    }
    for (int c = 0; c < SDM_LS_CYCLES; c++) {
        correct_coarsely(p, half, residual);
        solve(p, SDM_LS_STEPS);
    }
    for (int y = y0; y < y1; y++) {
        const size_t at = (size_t)y * (size_t)w->w + (size_t)x0;
        move_row(w->h_m + at, w->flags + at, p->x + (size_t)(y - t->y0) * p->pitch + (size_t)(x0 - t->x0),
                 w->px_per_metre, x1 - x0, w->out + at);
    }
}

/* Statistics of all blocks, and what each gives to its pixels. */
static SdmStatus make_blocks(SdmContext *ctx, Work *w, const SdmWindow *win, int threads)
{
    Blocks *const b = &w->blocks;
    SDM_OWNED float *blurred = NULL;
    b->skip_x = (int)((win->u0 % B + B) % B);
    b->skip_y = (int)((win->v0 % B + B) % B);
    b->wide = (w->w + b->skip_x + B - 1) / B;
    b->high = (w->h + b->skip_y + B - 1) / B;
    const size_t count = (size_t)b->wide * (size_t)b->high, rows = (size_t)(B + 2) * (size_t)w->w;
    PASS(sdm_alloc_raw(ctx, &w->sums, count, sizeof *w->sums, "blocks of the surface"));
    PASS(sdm_alloc_raw(ctx, &blurred, rows * (size_t)threads, sizeof *blurred, "rows of the surface"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int j = 0; j < b->high; j++)
        sum_blocks(w, j, blurred + rows * (size_t)sdm_thread());
    PASS(sdm_alloc_raw(ctx, &b->fit, count, sizeof *b->fit, "blocks of the surface"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int j = 0; j < b->high; j++)
        for (int i = 0; i < b->wide; i++)
            fit_block(w, i, j);
    sdm_free(&w->sums);
    return SDM_OK;
}

static void close_work(Work *w)
{
    SDM_FREE(&w->sums, &w->blocks.fit, &w->out);
}

SdmStatus sdm_surface_least_squares(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, const int16_t *left,
                                    const int16_t *right, float px_per_metre)
{
    const int threads = sdm_threads(ctx), wide = (s->win.w + TILE_W - 1) / TILE_W,
              high = (s->win.h + TILE_H - 1) / TILE_H;
    const int most = 1 + (int)((int64_t)s->win.w * s->win.h * TILE_BYTES / (int64_t)sizeof(Tile));
    const int at_once = wide * high < threads ? wide * high : threads,
              workers = at_once < most ? at_once : most;
    SDM_CLOSED_BY(close_work)
    Work w = {.k = k,
              .px_per_metre = px_per_metre,
              .left = left,
              .right = right,
              .flags = s->flags,
              .h_m = s->h_m,
              .w = s->win.w,
              .h = s->win.h};
    SDM_OWNED Tile *tiles = NULL;
    PASS(make_blocks(ctx, &w, &s->win, threads));
    PASS(sdm_alloc_raw(ctx, &w.out, (size_t)w.w * (size_t)w.h, sizeof *w.out, "the moved surface"));
    PASS(sdm_alloc_raw(ctx, &tiles, (size_t)workers, sizeof *tiles, "tiles of the surface"));
    for (int i = 0; i < workers; i++)
        memset(&tiles[i], 0, sizeof tiles[i]);
#pragma omp parallel for num_threads(workers) schedule(dynamic, 1)
    for (int i = 0; i < wide * high; i++) {
        const int x0 = i % wide * TILE_W, y0 = i / wide * TILE_H;
        move_tile(&w, x0, y0, x0 + TILE_W < w.w ? x0 + TILE_W : w.w, y0 + TILE_H < w.h ? y0 + TILE_H : w.h,
                  &tiles[sdm_thread()]);
    }
    sdm_free(&s->h_m);
    s->h_m = w.out;
    w.out = NULL;
    return SDM_OK;
}
