/* Both views of a window and the coarse surface -> heights by semi-global matching, block by block. */
// SPDX-License-Identifier: Apache-2.0
#include "core/vector_loops.h"
#include "matching/semi_global_surface.h"

#include "core/math.h"
#include "instruction_set.h"
#include "matching/edge_filters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = SDM_SEMI_GLOBAL_BLOCK,
    OVERLAP = SDM_SEMI_GLOBAL_OVERLAP,
    WORD = SDM_SEMI_GLOBAL_WORD,
    PLANES = 4,     /* bytes of the words of a pixel */
    NEAR = 3,       /* px: side of the smaller word */
    NEAR_PLANE = 3, /* its byte: the nearest pixels count twice, so that windows carry edges less far */
    PATHS = 14,     /* pixels of the overlap for them to settle */
    SLOPE_PLANE = PLANES + 1, /* of bytes of a pixel: after the words and what is written beyond them */
    SLOPE_12 = 32,            /* levels of 12 bits that a step along the row differs by for a cost of 1, */
    SLOPE_MOST = 12,          /* at most */
    MOST = 32 + SLOPE_MOST,   /* bits of the words and that: the largest cost */
    CHANCE = MOST / 2,        /* cost of unrelated words */
    UNSEEN = MOST / 3,        /* of the best of some 50 of them */
    MEMORY_SHARE = 3,         /* of the budget, for blocks in work */
    AREA = 5,                 /* px: side of the areas whose mean costs are searched */
    SLACK = 128,              /* samples and bytes that kernels read and write beyond a row */
    EDGE_12 = 60 /* a step of the left view, of 12 bits, that halves the penalty's way from P2 to P1 */
};
_Static_assert(OVERLAP - PATHS >= SDM_EDGE_FILTERS_REACH + SDM_OFFSET_REACH, "room for paths and filters");

#define PRIOR_ERROR_M 100.0f /* of a prior DEM, at most, besides steps that the base does not show */
#define BASE_HALF_M 20.0     /* half of the window of either mean that makes the base: wider than houses */

/* ---- the base ---- */

typedef struct Base {
    SdmWindow win; /* of the coarse level */
    float *h_m;
    float terrain_m[2]; /* between clouds: lowest and highest terrain of the scene */
} Base;

static void close_base(Base *base)
{
    sdm_free(&base->h_m);
}

/* Means over windows of (2 half + 1)^2 in place, of heights in whole 1/64 m; what lies outside does not
 * count. */
static SdmStatus mean_windows(SdmContext *ctx, const SdmWindow *win, int half, float *h_m)
{
    const int w = win->w, h = win->h;
    SDM_OWNED int64_t *sums = NULL, *column = NULL;
    PASS(sdm_alloc_raw(ctx, &sums, (size_t)w * (size_t)h, sizeof *sums, "the base surface"));
    PASS(sdm_alloc(ctx, &column, (size_t)w, sizeof *column, "the base surface"));
    for (int y = 0; y < h; y++) {
        const float *const in = h_m + (size_t)y * (size_t)w;
        int64_t sum = 0;
        for (int x = -half; x < w; x++) {
            sum += x + half < w ? lrintf(in[x + half] * 64.0f) : 0;
            sum -= x > half ? lrintf(in[x - half - 1] * 64.0f) : 0;
            if (x >= 0)
                sums[(size_t)y * (size_t)w + (size_t)x] = sum;
        }
    }
    for (int y = -half; y < h; y++) {
        const int64_t *const enters = y + half < h ? sums + (size_t)(y + half) * (size_t)w : NULL,
                             *const leaves = y > half ? sums + (size_t)(y - half - 1) * (size_t)w : NULL;
        const int rows = sdm_clamp(y + half, 0, h - 1) - sdm_clamp(y - half, 0, h - 1) + 1;
        for (int x = 0; x < w; x++) {
            const int columns = sdm_clamp(x + half, 0, w - 1) - sdm_clamp(x - half, 0, w - 1) + 1;
            column[x] += (enters ? enters[x] : 0) - (leaves ? leaves[x] : 0);
            if (y >= 0)
                h_m[(size_t)y * (size_t)w + (size_t)x] = (float)((double)column[x] / (64.0 * rows * columns));
        }
    }
    return SDM_OK;
}

static int base_half(double gsd_m, int level)
{
    const int half = (int)lrint(BASE_HALF_M / (gsd_m * (double)(1 << level)));
    return half < 2 ? 2 : half;
}

/* Lowest and highest terrain of columns box[0]..box[2] and rows box[1]..box[3]; false: there is none. */
static bool find_terrain(const SdmSurface *coarse, const int box[4], float range_m[2])
{
    float lo = INFINITY, hi = -INFINITY;
    for (int j = box[1] > 0 ? box[1] : 0; j <= box[3] && j < coarse->win.h; j++)
        for (int i = box[0] > 0 ? box[0] : 0; i <= box[2] && i < coarse->win.w; i++) {
            const size_t at = (size_t)j * (size_t)coarse->win.w + (size_t)i;
            if (coarse->flags[at] & SDM_QA_VALID) {
                lo = fminf(lo, coarse->h_m[at]);
                hi = fmaxf(hi, coarse->h_m[at]);
            }
        }
    if (lo > hi)
        return false;
    range_m[0] = lo;
    range_m[1] = hi;
    return true;
}

/* The base over a part of the coarse surface; other parts give the same heights.  level: the middle height of
 * the terrain in its place. */
static SdmStatus find_base(SdmContext *ctx, const SdmSurface *coarse, double gsd_m, const SdmWindow *part,
                           bool level, Base *out)
{
    const SdmWindow *const all = &coarse->win;
    const int half = base_half(gsd_m, all->level), margin = 2 * half + 2;
    const int64_t u0 = part->u0 - margin > all->u0 ? part->u0 - margin : all->u0,
                  v0 = part->v0 - margin > all->v0 ? part->v0 - margin : all->v0,
                  u1 = part->u0 + part->w + margin, v1 = part->v0 + part->h + margin, eu = all->u0 + all->w,
                  ev = all->v0 + all->h;
    out->win = (SdmWindow){.level = all->level,
                           .u0 = u0,
                           .v0 = v0,
                           .w = (int)((u1 < eu ? u1 : eu) - u0),
                           .h = (int)((v1 < ev ? v1 : ev) - v0)};
    PASS(sdm_alloc_raw(ctx, &out->h_m, (size_t)out->win.w * (size_t)out->win.h, sizeof *out->h_m,
                       "the base surface"));
    for (int y = 0; y < out->win.h; y++)
        memcpy(out->h_m + (size_t)y * (size_t)out->win.w,
               coarse->h_m + (size_t)(v0 - all->v0 + y) * (size_t)all->w + (size_t)(u0 - all->u0),
               (size_t)out->win.w * sizeof *out->h_m);
    find_terrain(coarse, (const int[4]){0, 0, all->w, all->h}, out->terrain_m);
    if (!level) {
        PASS(mean_windows(ctx, &out->win, half, out->h_m));
        return mean_windows(ctx, &out->win, half, out->h_m);
    }
    for (size_t i = 0; i < (size_t)out->win.w * (size_t)out->win.h; i++)
        out->h_m[i] = 0.5f * (out->terrain_m[0] + out->terrain_m[1]);
    return SDM_OK;
}

/* The base at the pixels of a window of level 0, bilinear. */
static void refine_base(SdmContext *ctx, const Base *base, const SdmWindow *win, float *out)
{
    const int l = base->win.level, w = base->win.w, h = base->win.h;
    const float step = 1.0f / (float)(1 << l);
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < win->h; y++) {
        const int64_t v = win->v0 + y - (1 << l) / 2, v0 = v >> l;
        const float fv = ((float)(v - v0 * (1 << l)) + 0.5f) * step;
        const int j0 = sdm_clamp((int)(v0 - base->win.v0), 0, h - 1),
                  j1 = sdm_clamp((int)(v0 - base->win.v0) + 1, 0, h - 1);
        for (int x = 0; x < win->w; x++) {
            const int64_t u = win->u0 + x - (1 << l) / 2, u0 = u >> l;
            const float fu = ((float)(u - u0 * (1 << l)) + 0.5f) * step;
            const int i0 = sdm_clamp((int)(u0 - base->win.u0), 0, w - 1),
                      i1 = sdm_clamp((int)(u0 - base->win.u0) + 1, 0, w - 1);
            const float *const a = base->h_m + (size_t)j0 * (size_t)w, *const b =
                                                                           base->h_m + (size_t)j1 * (size_t)w;
            const float top = a[i0] + fu * (a[i1] - a[i0]), low = b[i0] + fu * (b[i1] - b[i0]);
            out[(size_t)y * (size_t)win->w + (size_t)x] = top + fv * (low - top);
        }
    }
}

/* ---- the range of labels ---- */

/* Largest step that the coarse surface does not show, px. */
static float unseen_px(const SdmMatchSettings *set)
{
    return (set->coarse_level <= 2 ? 0.5f : 1.0f) * set->discontinuity_px + 4.0f;
}

/* Widen lo..hi (px) by the coarse pixels of columns i0..i1 and rows j0..j1 of the base; between clouds, where
 * these are often guesses, by all terrain there, or of the scene. */
static void widen_range(const SdmSurface *coarse, const Base *base, const int box[4],
                        const SdmMatchSettings *set, float range[2])
{
    const int du = (int)(base->win.u0 - coarse->win.u0), dv = (int)(base->win.v0 - coarse->win.v0);
    const int there[4] = {box[0] + du, box[1] + dv, box[2] + du, box[3] + dv};
    float terrain_m[2] = {base->terrain_m[0], base->terrain_m[1]};
    if (sdm_hides_clouds(set))
        find_terrain(coarse, there, terrain_m);
    for (int j = box[1] > 0 ? box[1] : 0; j <= box[3] && j < base->win.h; j++)
        for (int i = box[0] > 0 ? box[0] : 0; i <= box[2] && i < base->win.w; i++) {
            const size_t at = (size_t)(dv + j) * (size_t)coarse->win.w + (size_t)(du + i);
            for (int k = 0; k < 2; k++) {
                const float h = sdm_hides_clouds(set) ? terrain_m[k] : coarse->h_m[at],
                            d = (h - base->h_m[(size_t)j * (size_t)base->win.w + (size_t)i]) * set->px_per_m;
                range[0] = d < range[0] ? d : range[0];
                range[1] = d > range[1] ? d : range[1];
            }
        }
}

static int range_of(float px)
{
    return px < (float)SDM_SEMI_GLOBAL_RANGE_MAX ? (int)ceilf(px) : SDM_SEMI_GLOBAL_RANGE_MAX;
}

int sdm_semi_global_likely_range(const SdmMatchSettings *set)
{
    return range_of(set->discontinuity_px + unseen_px(set));
}

SdmStatus sdm_semi_global_range(SdmContext *ctx, const SdmSurface *coarse, SdmMatchSettings *set)
{
    SDM_CLOSED_BY(close_base) Base base = {.h_m = NULL};
    float range[2] = {0.0f, 0.0f};
    PASS(find_base(ctx, coarse, set->pixel_m, &coarse->win, false, &base));
    const int all[4] = {0, 0, base.win.w, base.win.h};
    widen_range(coarse, &base, all, set, range);
    const float most = ceilf(-range[0] > range[1] ? -range[0] : range[1]);
    set->coarse_offset_px = most < 1e6f ? (int)most : 1000000;
    set->label_range_px = range_of(most + unseen_px(set));
    if (set->coarse_offset_px > set->label_range_px)
        sdm_log(
            ctx, SDM_LOG_VERBOSE, 5,
            "heights lie up to %d px from their surroundings; the search reaches %d px, higher ones are lost",
            set->coarse_offset_px, set->label_range_px);
    return SDM_OK;
}

/* ---- a block ---- */

typedef struct Work {
    SdmContext *ctx;
    const SdmMatchInput *in;
    const SdmLevelTask *task;
    const SdmSgmKernels *kernels;
    const SdmSurface *coarse;
    const Base *base;
    const float *base_m; /* h x w, at level 0 */
    SdmSurface *s;
    bool areas;
} Work;

typedef struct Block {
    int x0, y0, x1, y1; /* of the window: wanted */
    int ex, ey;         /* first pixel of the volume */
    SdmVolume v;
    SdmLabels labels;
    SdmEdgeBlock edge; /* the volume's columns and the rows that have labels */
} Block;

/* Samples of a view from column x on; no data off the window. */
static void take_row(const int16_t *view, const SdmWindow *win, int y, int x, int count, int16_t *out)
{
    const int16_t *const row = view + (size_t)sdm_clamp(y, 0, win->h - 1) * (size_t)win->w;
    const int first = sdm_clamp(-x, 0, count), end = sdm_clamp(win->w - x, first, count);
    for (int i = 0; i < first; i++)
        out[i] = SDM_PIXEL_NODATA;
    memcpy(out + first, row + x + first, (size_t)(end - first) * sizeof *out);
    for (int i = end; i < count; i++)
        out[i] = SDM_PIXEL_NODATA;
}

/* Labels that cannot be looked at cost `unseen`.  At CHANCE, pixels that the left view alone sees take wrong
 * labels inside the right one; between clouds, more pixels find theirs.  none: room for a row of the right
 * view. */
SDM_VECTOR_LOOPS static void set_unseen(const SdmVolume *v, const int16_t *left, const int16_t *right,
                                        int unseen, uint8_t *none, uint8_t *out)
{
    const int width = v->width, labels = v->labels;
    bool holes = false;
    for (int x = 0; x < width; x++)
        holes |= left[x] == SDM_PIXEL_NODATA;
    for (int x = 0; x < width + labels; x++) {
        none[x] = right[x] == SDM_PIXEL_NODATA ? UINT8_MAX : 0;
        holes |= none[x] != 0;
    }
    for (int x = 0; x < width && holes; x++) {
        uint8_t *restrict const cost = out + (size_t)x * (size_t)v->pitch;
        const uint8_t *restrict const off = none + x, all = left[x] == SDM_PIXEL_NODATA ? UINT8_MAX : 0;
        for (int l = 0; l < labels; l++) /* in vectors: without branches */
            cost[l] = (uint8_t)((cost[l] & ~(off[l] | all)) | (unseen & (off[l] | all)));
    }
}

/* Steps of a view along its row, from each pixel's neighbour before it; one pixel wide, so that walls stay
 * where they are, and the same where one view is brighter.  in: samples from pixel -1 on. */
SDM_VECTOR_LOOPS static void find_slopes(const int16_t *restrict in, int count, uint8_t *restrict out)
{
    for (int x = 0; x < count; x++) { /* in vectors: without branches */
        const int step = (in[x + 1] - in[x] + SLOPE_12 / 2) >> 5,
                  known = in[x] != SDM_PIXEL_NODATA && in[x + 1] != SDM_PIXEL_NODATA ? step : 0;
        out[x] = (uint8_t)(128 + (known < -128 ? -128 : known > 127 ? 127 : known));
    }
}
_Static_assert(SLOPE_12 == 1 << 5, "a shift in place of a division, which would round towards 0");

static SdmStatus fill_volume(const Work *w, const Block *b)
{
    const SdmWindow *const win = &w->s->win;
    const SdmVolume *const v = &b->v;
    const int most[2] = {v->width + SLACK, v->width + v->pitch + 2 * SLACK},
              view_x[2] = {b->ex, b->ex + v->first};
    const int16_t *const view[2] = {w->task->left, w->task->right}, *row[2][WORD];
    SDM_OWNED uint8_t *words = NULL, *none = NULL;
    SDM_OWNED int16_t *samples = NULL;
    const size_t pitch = (size_t)(most[0] + most[1] + 2 * SLACK);
    PASS(sdm_alloc(w->ctx, &words, (size_t)(most[0] + most[1]) * (SLOPE_PLANE + 1), 1, "census words"));
    PASS(sdm_alloc(w->ctx, &samples, pitch * WORD, sizeof *samples, "rows of the views"));
    PASS(sdm_alloc_raw(w->ctx, &none, (size_t)most[1], 1, "rows of the views"));
    uint8_t *const word[2] = {words, words + (size_t)most[0] * (SLOPE_PLANE + 1)},
                   *const slope[2] = {word[0] + (size_t)SLOPE_PLANE * (size_t)most[0],
                                      word[1] + (size_t)SLOPE_PLANE * (size_t)most[1]};
    for (int y = 0; y < v->height; y++) {
        for (int side = 0; side < 2; side++) {
            for (int j = 0; j < WORD; j++) {
                int16_t *const to = samples + (size_t)j * pitch + (side ? (size_t)(most[0] + SLACK) : 0);
                take_row(view[side], win, b->ey + y + j - WORD / 2, view_x[side] - WORD / 2,
                         most[side] + WORD, to);
                row[side][j] = to;
            }
            w->kernels->words(row[side], v->width + (side ? v->pitch : 0), WORD, WORD, word[side],
                              most[side]);
            const int16_t *const near[NEAR] = {row[side][1] + 1, row[side][2] + 1, row[side][3] + 1};
            w->kernels->words(near, v->width + (side ? v->pitch : 0), NEAR, NEAR,
                              word[side] + (size_t)NEAR_PLANE * (size_t)most[side], most[side]);
            find_slopes(row[side][WORD / 2] + WORD / 2 - 1, most[side], slope[side]);
        }
        const SdmSgmCosts c = {.width = v->width,
                               .labels = v->labels,
                               .pitch = v->pitch,
                               .planes = PLANES,
                               .left = word[0],
                               .right = word[1],
                               .left_plane = most[0],
                               .right_plane = most[1],
                               .left_value = slope[0],
                               .right_value = slope[1],
                               .difference_max = SLOPE_MOST,
                               .out = v->cost + (size_t)y * (size_t)v->width * (size_t)v->pitch};
        w->kernels->costs(&c);
        set_unseen(v, row[0][WORD / 2] + WORD / 2, row[1][WORD / 2] + WORD / 2,
                   w->in->settings->semi_global ? UNSEEN : CHANCE, none, c.out);
    }
    return SDM_OK;
}

/* out: sums over AREA pixels of a row of costs; those at its ends count for what lies beyond. */
SDM_VECTOR_LOOPS static void sum_along(const SdmVolume *v, const uint8_t *restrict cost,
                                       uint16_t *restrict out)
{
    const size_t pitch = (size_t)v->pitch;
    memset(out, 0, (size_t)v->width * pitch * sizeof *out);
    for (int x = 0; x < v->width; x++)
        for (int k = -(AREA / 2); k <= AREA / 2; k++) {
            const uint8_t *restrict const from = cost + (size_t)sdm_clamp(x + k, 0, v->width - 1) * pitch;
            uint16_t *restrict const to = out + (size_t)x * pitch;
            for (size_t l = 0; l < pitch; l++)
                to[l] = (uint16_t)(to[l] + from[l]);
        }
}

SDM_VECTOR_LOOPS static void mean_rows(const uint16_t *const row[AREA], size_t count, uint8_t *restrict out)
{
    for (size_t i = 0; i < count; i++) {
        unsigned sum = 0;
        for (int k = 0; k < AREA; k++)
            sum += row[k][i];
        out[i] = (uint8_t)(sum / (AREA * AREA));
    }
}

/* Costs become means over AREA x AREA pixels, which noise moves less where texture is faint, in shadows. */
static SdmStatus mean_costs(SdmContext *ctx, SdmVolume *v)
{
    const size_t count = (size_t)v->width * (size_t)v->pitch;
    SDM_OWNED uint16_t *sums = NULL; /* of row y: y modulo AREA */
    PASS(sdm_alloc_raw(ctx, &sums, AREA * count, sizeof *sums, "mean costs"));
    for (int y = -(AREA / 2); y < v->height; y++) {
        const uint16_t *row[AREA];
        const int next = y + AREA / 2;
        if (next < v->height)
            sum_along(v, v->cost + (size_t)next * count, sums + (size_t)(next % AREA) * count);
        for (int k = 0; k < AREA; k++)
            row[k] = sums + (size_t)(sdm_clamp(y + k - AREA / 2, 0, v->height - 1) % AREA) * count;
        if (y >= 0)
            mean_rows(row, count, v->cost + (size_t)y * count);
    }
    return SDM_OK;
}

/* Labels of the rows wanted -> places (px from the base's) and whether both views agree on them. */
static void take_places(const Work *w, const Block *b)
{
    const SdmVolume *const v = &b->v;
    const SdmEdgeBlock *const e = &b->edge;
    const int first = sdm_clamp(v->begin - SDM_OFFSET_REACH, 0, v->begin), /* rows not wanted have label 0 */
        end = sdm_clamp(v->end + SDM_OFFSET_REACH, v->end, v->height);
    for (int row = first; row < end; row++)
        sdm_label_costs(v, row, &b->labels);
    for (int y = 0; y < e->height; y++) {
        const int row = v->begin + y;
        const size_t at = (size_t)row * (size_t)v->width, out = (size_t)y * (size_t)e->width;
        const int16_t *const view[2] = {w->task->left + (size_t)(b->ey + row) * (size_t)w->s->win.w,
                                        w->task->right + (size_t)(b->ey + row) * (size_t)w->s->win.w};
        sdm_label_offsets(v, w->kernels, &b->labels, row, e->place_px + out);
        for (int x = 0; x < v->width; x++) {
            const int l = b->labels.left[at + (size_t)x], xr = x + v->first + l, wx = b->ex + xr;
            const bool seen = wx >= 0 && wx < w->s->win.w && view[0][b->ex + x] != SDM_PIXEL_NODATA &&
                              view[1][wx] != SDM_PIXEL_NODATA;
            const int other =
                seen && xr >= 0 && xr < v->width ? b->labels.right[at + (size_t)xr] : SDM_LABEL_NONE;
            e->place_px[out + (size_t)x] += (float)(v->first + l);
            e->flags[out + (size_t)x] =
                (uint16_t)(!seen                                            ? SDM_QA_OUTSIDE
                           : other != SDM_LABEL_NONE && abs(other - l) <= 1 ? SDM_QA_VALID
                                                                            : SDM_QA_LEFT_RIGHT);
            const int cost = v->cost[(at + (size_t)x) * (size_t)v->pitch + (size_t)l];
            e->score[out + (size_t)x] = (uint8_t)(cost < CHANCE ? 250 - cost * 500 / MOST : 0);
        }
    }
}

static SdmEdgeViews views_of(const Work *w, const Block *b)
{
    const size_t at = (size_t)(b->ey + b->v.begin) * (size_t)w->s->win.w + (size_t)b->ex;
    const int last = b->v.first + b->v.labels - 1, most = -b->v.first > last ? -b->v.first : last,
              after = w->s->win.w - b->ex - b->v.width; /* what lies further depends on the window */
    const float *const slant_px = w->in->settings->fill_limit.slant_px,
                       metre_px = fabsf(w->in->settings->px_per_m);
    return (SdmEdgeViews){.left = w->task->left + at,
                          .right = w->task->right + at,
                          .stride = w->s->win.w,
                          .width = b->v.width,
                          .before = b->ex < most ? b->ex : most,
                          .after = after < most ? after : most,
                          .slant = {slant_px[0] / metre_px, slant_px[1] / metre_px},
                          .px_per_m = w->in->settings->px_per_m,
                          .base_height = metre_px * w->in->settings->pixel_m,
                          .base_m = w->base_m + at,
                          .first = b->v.first,
                          .labels = b->v.labels};
}

/* Places of the pixels wanted -> heights: the right pixel x + d was sampled at the base's height there. */
static SdmStatus set_heights(const Work *w, const Block *b)
{
    const int width = w->s->win.w;
    const SdmEdgeBlock *const e = &b->edge;
    const SdmWindow part = sdm_window_columns(&w->s->win, (SdmRowExtent){b->x0, b->x1});
    SdmRowCells cells;
    SDM_OWNED char *scratch = NULL;
    PASS(sdm_alloc(w->ctx, &scratch, sdm_row_cells_bytes(width), 1, "lattice rows"));
    sdm_row_cells_cut(&cells, scratch, width);
    cells.cells = NULL;
    for (int y = b->y0; y < b->y1; y++) {
        const size_t from = (size_t)(y - b->ey - b->v.begin) * (size_t)e->width + (size_t)(b->x0 - b->ex),
                     to = (size_t)y * (size_t)width + (size_t)b->x0;
        sdm_lattice_row(w->task->lattice, &part, y, SDM_RIGHT, &cells);
        for (int x = 0; x < part.w; x++) {
            const float d = e->place_px[from + (size_t)x];
            w->s->h_m[to + (size_t)x] =
                sdm_height_at(w->base_m + (size_t)y * (size_t)width, width, b->x0 + x, d) +
                d / cells.du_dh[x];
            w->s->flags[to + (size_t)x] = e->flags[from + (size_t)x];
            w->s->score[to + (size_t)x] = e->score[from + (size_t)x];
        }
    }
    return SDM_OK;
}

/* Has the prior no height in a part of the window? */
static bool lacks_prior(const SdmMatchInput *in, const SdmWindow *win, const int64_t u[2], const int64_t v[2])
{
    const int64_t u0 = u[0] > win->u0 ? u[0] - win->u0 : 0, v0 = v[0] > win->v0 ? v[0] - win->v0 : 0;
    for (int64_t y = v0; in->prior_m && y < win->h && y < v[1] - win->v0; y++)
        for (int64_t x = u0; x < win->w && x < u[1] - win->u0; x++)
            if (isnan(in->prior_m[y * win->w + x]))
                return true;
    return !in->prior_m;
}

/* First and last label of a block with its overlap, px from the base. */
static void block_range(const Work *w, const int64_t u[2], const int64_t v[2], int range[2])
{
    const int l = w->base->win.level, most = w->in->settings->label_range_px;
    const int box[4] = {(int)((u[0] >> l) - 1 - w->base->win.u0), (int)((v[0] >> l) - 1 - w->base->win.v0),
                        (int)((u[1] >> l) + 1 - w->base->win.u0), (int)((v[1] >> l) + 1 - w->base->win.v0)};
    const float prior_px = w->in->prior_m ? PRIOR_ERROR_M * fabsf(w->in->settings->px_per_m) : 0.0f;
    float found[2] = {-prior_px, prior_px};
    if (lacks_prior(w->in, &w->s->win, u, v))
        widen_range(w->coarse, w->base, box, w->in->settings, found);
    range[0] = sdm_clamp((int)floorf(found[0] - unseen_px(w->in->settings)), -most, 0);
    range[1] = sdm_clamp((int)ceilf(found[1] + unseen_px(w->in->settings)), 0, most);
}

/* Where a block lies, and its volume's shape; u0, v0: its first pixel in the frame. */
static void place_block(const Work *w, int64_t u0, int64_t v0, Block *b)
{
    const SdmWindow *const win = &w->s->win;
    const int overlap = sdm_semi_global_overlap(w->in->settings);
    const int64_t u[2] = {u0 - overlap, u0 + BLOCK + overlap}, v[2] = {v0 - overlap, v0 + BLOCK + overlap};
    const int x = (int)(u0 - win->u0), y = (int)(v0 - win->v0);
    int range[2];
    block_range(w, u, v, range);
    const int wide = overlap + (range[1] > -range[0] ? range[1] : -range[0]);
    *b = (Block){.x0 = sdm_clamp(x, 0, win->w),
                 .y0 = sdm_clamp(y, 0, win->h),
                 .x1 = sdm_clamp(x + BLOCK, 0, win->w),
                 .y1 = sdm_clamp(y + BLOCK, 0, win->h),
                 .ex = sdm_clamp(x - wide, 0, win->w),
                 .ey = sdm_clamp(y - overlap, 0, win->h)};
    const int right = sdm_clamp(x + BLOCK + wide, 0, win->w), low = sdm_clamp(y + BLOCK + overlap, 0, win->h);
    b->v = (SdmVolume){.width = right - b->ex,
                       .height = low - b->ey,
                       .labels = range[1] - range[0] + 1,
                       .first = range[0],
                       .most = MOST,
                       .guide_scale = EDGE_12,
                       .guide_stride = win->w};
    const int more = SDM_EDGE_FILTERS_REACH + SDM_OFFSET_REACH;
    b->v.begin = sdm_clamp(b->y0 - b->ey - more, 0, b->v.height);
    b->v.end = sdm_clamp(b->y1 - b->ey + more, 0, b->v.height);
    b->v.guide = w->task->left + (size_t)b->ey * (size_t)win->w + (size_t)b->ex;
}

static SdmStatus do_block(const Work *w, int64_t u0, int64_t v0)
{
    SdmStatus st = SDM_OK;
    Block b;
    place_block(w, u0, v0, &b);
    const SdmEdgeViews views = views_of(w, &b);
    const size_t n = (size_t)b.v.width * (size_t)b.v.height;
    TRY(sdm_volume_open(w->ctx, &b.v));
    TRY(SDM_ALLOC(w->ctx, "labels", SDM_ARRAY(b.labels.left, n), SDM_ARRAY(b.labels.right, n)));
    TRY(fill_volume(w, &b));
    if (w->areas)
        TRY(mean_costs(w->ctx, &b.v));
    TRY(sdm_optimize(w->ctx, &w->in->settings->sgm, &b.v, &b.labels));
    TRY(sdm_alloc_raw(w->ctx, &b.labels.near, n, 2 * sizeof(uint32_t), "costs about the labels"));
    TRY(sdm_edge_block_open(w->ctx, b.v.width, b.v.end - b.v.begin, &b.edge));
    take_places(w, &b);
    sdm_volume_close(&b.v);
    if (w->in->settings->semi_global && w->in->settings->fill_limit.rise_m > 0.0f)
        TRY(sdm_plain_areas(w->ctx, &views, &b.edge));
    if (w->in->settings->semi_global)
        TRY(sdm_edge_filters(w->ctx, w->in->settings->kernels, w->in->settings->edges, &views, &b.edge));
    TRY(set_heights(w, &b));
done:
    SDM_FREE(&b.labels.left, &b.labels.right, &b.labels.near);
    sdm_volume_close(&b.v);
    sdm_edge_block_close(&b.edge);
    return st;
}

/* Bytes of a block in work. */
static int64_t block_bytes(const SdmMatchSettings *set)
{
    const int labels = 2 * set->label_range_px + 1, h = BLOCK + 2 * sdm_semi_global_overlap(set),
              w = h + 2 * set->label_range_px;
    const int64_t pixels = (int64_t)w * h;
    return pixels * (sdm_volume_pitch(labels) + 4 + SDM_EDGE_BLOCK_BYTES) +
           sdm_sgm_band_bytes(w, labels); /* one at a time */
}

int64_t sdm_semi_global_bytes(const SdmMatchSettings *set)
{
    return set->threads * block_bytes(set);
}

int sdm_semi_global_threads(const SdmMatchSettings *set, int threads, int64_t memory_bytes)
{
    const int64_t most = memory_bytes / MEMORY_SHARE / block_bytes(set);
    return memory_bytes == 0 || most >= threads ? threads : most > 1 ? (int)most : 1;
}

/* ---- a window ---- */

/* Can a pixel of the block be asked for? */
static bool is_needed(const SdmMatchInput *in, int64_t u0, int64_t v0)
{
    const SdmFootprint *const foot = in->footprint;
    const int64_t halo = sdm_match_halo(in->settings, 0) - sdm_semi_global_reach(in->settings);
    if (!foot)
        return true;
    const int64_t first = ((v0 - halo) >> foot->level) - foot->v0,
                  last = ((v0 + BLOCK + halo) >> foot->level) - foot->v0, from = (u0 - halo) >> foot->level,
                  to = ((u0 + BLOCK + halo) >> foot->level) + 1;
    for (int64_t i = first > 0 ? first : 0; i <= last && i < foot->rows; i++)
        if (foot->from[i] < foot->to[i] && foot->from[i] < to && foot->to[i] > from)
            return true;
    return false;
}

/* Pixels that nobody asks for keep the base. */
static void leave_out(const Work *w)
{
    const size_t n = (size_t)w->s->win.w * (size_t)w->s->win.h;
    memcpy(w->s->h_m, w->base_m, n * sizeof *w->s->h_m);
    memset(w->s->score, 0, n);
    for (size_t i = 0; i < n; i++)
        w->s->flags[i] = SDM_QA_OUTSIDE;
}

SdmStatus sdm_semi_global_surface(SdmContext *ctx, const SdmMatchInput *in, SdmLevelTask *task,
                                  const SdmSurface *coarse, bool areas, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const SdmWindow *const win = &s->win;
    const int l = coarse->win.level;
    const int around_px = ((BLOCK + OVERLAP) >> l) + 3; /* blocks begin before the window */
    const SdmWindow part = {.level = l,
                            .u0 = (win->u0 >> l) - around_px,
                            .v0 = (win->v0 >> l) - around_px,
                            .w = (win->w >> l) + 2 * around_px,
                            .h = (win->h >> l) + 2 * around_px};
    SDM_CLOSED_BY(close_base) Base base = {.h_m = NULL};
    SDM_OWNED float *base_m = NULL;
    PASS(sdm_alloc_raw(ctx, &base_m, (size_t)win->w * (size_t)win->h, sizeof *base_m, "the base surface"));
    PASS(find_base(ctx, coarse, in->settings->pixel_m, &part, areas, &base));
    refine_base(ctx, &base, win, base_m);
    for (size_t i = 0; in->prior_m && i < (size_t)win->w * (size_t)win->h; i++)
        base_m[i] = isnan(in->prior_m[i]) ? base_m[i] : in->prior_m[i];
    PASS(sdm_level_warp(ctx, task, base_m));
    const Work w = {.ctx = ctx,
                    .in = in,
                    .task = task,
                    .kernels = sdm_cpu_level(in->settings->sgm.cpu_level)->sgm,
                    .coarse = coarse,
                    .base = &base,
                    .base_m = base_m,
                    .s = s,
                    .areas = areas};
    leave_out(&w);
    const int around = sdm_thread_limit_begin(ctx, 1); /* inside a block */
    const int64_t first[2] = {win->u0 / BLOCK, win->v0 / BLOCK};
    const int nu = (int)((win->u0 + win->w - 1) / BLOCK - first[0]) + 1,
              nv = (int)((win->v0 + win->h - 1) / BLOCK - first[1]) + 1;
    int finished = 0;
#pragma omp parallel for num_threads(in->settings->threads) schedule(dynamic, 1)
    for (int i = 0; i < nu * nv; i++) {
        const int64_t u0 = (first[0] + i % nu) * BLOCK, v0 = (first[1] + i / nu) * BLOCK;
        SdmStatus now = SDM_OK, before;
#pragma omp atomic read
        before = st;
        if (before == SDM_OK && is_needed(in, u0, v0))
            now = do_block(&w, u0, v0);
        if (now != SDM_OK) {
#pragma omp atomic write
            st = now;
        }
#pragma omp critical(sdm_semi_global_progress)
        sdm_progress(ctx, 5, (double)++finished / (nu * nv), "level 0");
    }
    sdm_thread_limit_end(ctx, around);
    return st;
}
