/* Validation of a window at full resolution: terrain, score over a larger window, ray intersection error;
 * which filled pixels become heights of the DEM (--fill); the reasons of pixels without data. */
// SPDX-License-Identifier: Apache-2.0
#include "core/vector_loops.h"
#include "matching/validation.h"

#include <math.h>
#include <string.h>

enum {
    HALF = SDM_RAY_ERROR_HALF,
    ROWS = 2 * HALF + 1,
    BESIDE = 16,        /* columns of the sums beyond either end of a row: zeros */
    UNIT = 1024,        /* of a pixel of ray intersection error */
    SATURATED_HALF = 3, /* of a repeat's window, and what the warp reaches further */
    MASKED_HALF = 4     /* of the first match's window */
};

/* Share of the score that is asked for where heights have moved since the views were warped. */
#define MOVED_SCORE 0.97f

typedef struct Validation {
    const SdmMatchInput *in;
    SdmSurface *s;
    const float *ray_error_px;
    const uint8_t *score0; /* over the larger window */
} Validation;

/* |error| up to a pixel, 1/1024 px, in the lower bits, and above them the number of known ones (1 or 0): sums
 * of both in one number, since the window's 121 errors stay below KNOWN. */
enum { KNOWN_BITS = 20, KNOWN = 1 << KNOWN_BITS };

/* Sums of a thread over the columns of the rows y - HALF .. y + HALF, and the terms of each row. */
typedef struct Sums {
    int32_t *column, *four; /* four: of four columns, from each on */
    int32_t *window;        /* of the row that is validated */
    int32_t *row[ROWS];     /* by y modulo ROWS */
    uint8_t *far;           /* 1 or 0: too far from the terrain */
} Sums;

/* Row y takes the place of the row ROWS above it; rows beyond the window's give 0. */
SDM_VECTOR_LOOPS static void move_rows(const Validation *j, int y, const Sums *sums)
{
    const int w = j->s->win.w;
    const bool inside = y >= 0 && y < j->s->win.h;
    const float *restrict const error = j->ray_error_px + (inside ? (size_t)y * (size_t)w : 0);
    int32_t *restrict const sum = sums->column, *restrict const kept = sums->row[(y + ROWS) % ROWS];
    for (int x = 0; x < w && !inside; x++) {
        sum[x] -= kept[x];
        kept[x] = 0;
    }
    for (int x = 0; x < w && inside; x++) {
        const float size = error[x] < 0.0f ? -error[x] : error[x];
        const float most = size < 1.0f ? size : 1.0f; /* NaN: 1 */
        const int32_t is = size >= 0.0f ? -1 : 0, now = ((int32_t)(most * UNIT) + KNOWN) & is;
        sum[x] += now - kept[x];
        kept[x] = now;
    }
}

/* Mark each pixel of a row in sums->window: 1 where the mean error around it is above the limit (1/1024
 * px), 2 where it has an error itself. */
SDM_VECTOR_LOOPS static void find_large_errors(const Sums *sums, const float *restrict error, int w,
                                               float limit)
{
    const int32_t *restrict const in = sums->column;
    int32_t *restrict const four = sums->four, *restrict const out = sums->window;
    _Static_assert(ROWS == 4 + 4 + 3, "the window's columns");
    for (int x = -HALF; x < w; x++)
        four[x] = in[x] + in[x + 1] + in[x + 2] + in[x + 3];
    for (int x = 0; x < w; x++) {
        const int32_t sum = four[x - 5] + four[x - 1] + in[x + 3] + in[x + 4] + in[x + 5];
        out[x] = ((float)(sum & (KNOWN - 1)) > limit * (float)(sum >> KNOWN_BITS) ? 1 : 0) |
                 (error[x] == error[x] ? 2 : 0);
    }
}

/* Pixels of row y whose height cannot be reached from the nearest terrain of the mask. */
static void find_far(const Validation *j, int y, uint8_t *far)
{
    const SdmTerrainMask *const g = j->in->terrain;
    const SdmWindow *const win = &j->s->win;
    const float *const h = j->s->h_m + (size_t)y * (size_t)win->w;
    if (!g)
        return;
    const int64_t v = (win->v0 + y) >> g->win.level;
    for (int x = 0; x < win->w;) { /* by pixels of the mask */
        const int64_t u = (win->u0 + x) >> g->win.level,
                      next = (u + 1) * ((int64_t)1 << g->win.level) - win->u0;
        const int end = next < win->w ? (int)next : win->w;
        const bool known = u < g->win.w && v < g->win.h;
        const int64_t at = known ? v * g->win.w + u : 0;
        const float terrain = g->h_m[at],
                    limit =
                        known ? sdm_terrain_limit((float)g->distance_px[at], j->in->terrain_pixel_m) : -1.0f;
        for (; x < end; x++)
            far[x] = (uint8_t)(fabsf(h[x] - terrain) <= limit ? 0 : 1);
    }
}

SDM_VECTOR_LOOPS static void validate_row(const Validation *j, int y, const Sums *sums)
{
    const int w = j->s->win.w;
    const size_t row = (size_t)y * (size_t)w;
    const uint8_t least = sdm_validation_min_score(j->in->settings), *restrict const fresh = j->score0 + row;
    const uint8_t *restrict const far = sums->far;
    const int32_t *restrict const errors = sums->window;
    uint8_t *restrict const score = j->s->score + row;
    uint16_t *restrict const flags = j->s->flags + row;
    find_large_errors(sums, j->ray_error_px + row, w, j->in->settings->ray_error_limit_px * (float)UNIT);
    for (int x = 0; x < w; x++) { /* in vectors: without branches */
        const uint16_t known = (uint16_t) - (errors[x] >> 1), wide = (uint16_t) - (errors[x] & 1);
        /* without an error, near the edge of the images: the score of the last match */
        const uint16_t q = (uint16_t)((fresh[x] & known) | (score[x] & ~known));
        const uint16_t low = (uint16_t) - (q < least), out = (uint16_t)-far[x],
                       valid = (uint16_t) - (flags[x] & SDM_QA_VALID);
        const uint16_t reason = (uint16_t)((SDM_QA_ISOLATED & out) | (SDM_QA_LOW_SCORE & low & ~out) |
                                           (SDM_QA_RAY_ERROR & wide & ~low & ~out));
        const uint16_t lost = (uint16_t)(valid & (out | low | wide));
        score[x] = (uint8_t)q;
        flags[x] = (uint16_t)((flags[x] & ~lost) | (reason & lost));
    }
}

uint8_t sdm_validation_min_score(const SdmMatchSettings *set)
{
    const float part = sdm_warps_to_validate(set) ? 1.0f : MOVED_SCORE;
    return (uint8_t)(part * set->final_score * 250.0f);
}

SdmStatus sdm_validate_pixels(SdmContext *ctx, const SdmMatchInput *in, const float *ray_error_px,
                              const uint8_t *score0, SdmSurface *s)
{
    const int w = s->win.w, h = s->win.h, threads = sdm_threads(ctx);
    const size_t columns = (size_t)w + 2 * BESIDE,
                 bytes = (3 + ROWS) * sizeof(int32_t) * columns + sizeof(int32_t) * BESIDE + columns;
    const Validation j = {in, s, ray_error_px, score0};
    SDM_OWNED char *scratch = NULL;
    PASS(sdm_alloc(ctx, &scratch, (bytes + 64) / 64 * 64 * (size_t)threads, 1,
                   "sums of ray intersection errors"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        char *const mine = scratch + (bytes + 64) / 64 * 64 * (size_t)t;
        Sums sums = {.column = (int32_t *)(void *)mine + BESIDE};
        sums.four = sums.column + columns;
        sums.window = sums.four + columns;
        for (size_t k = 0; k < ROWS; k++)
            sums.row[k] = sums.window + (k + 1) * columns;
        sums.far = (uint8_t *)(sums.row[ROWS - 1] + columns);
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        for (int y = y0 - HALF; y < y0 + HALF; y++)
            move_rows(&j, y, &sums);
        for (int y = y0; y < y1; y++) {
            move_rows(&j, y + HALF, &sums);
            find_far(&j, y, sums.far);
            validate_row(&j, y, &sums);
        }
    }
    return SDM_OK;
}

/* ---- pixels without a match ---- */

/* Is this place terrain on the coarse surface, by a match? */
static bool on_terrain(const SdmMatchInput *in, const SdmWindow *win, size_t i)
{
    const SdmTerrainMask *const g = in->terrain;
    if (!g)
        return true;
    const int64_t u = (win->u0 + (int64_t)(i % (size_t)win->w)) >> g->win.level;
    const int64_t v = (win->v0 + (int64_t)(i / (size_t)win->w)) >> g->win.level;
    return u < g->win.w && v < g->win.h && g->distance_px[v * g->win.w + u] == 0;
}

/* All defects within `half` px of pixel (x, y) of level 0. */
static unsigned defects_around(const SdmPyramid *p, int64_t x, int64_t y, int half)
{
    const SdmLevelImage *const im = &p->level[0];
    unsigned all = 0;
    for (int64_t j = y - half; j <= y + half; j++)
        for (int64_t i = x - half; i <= x + half; i++)
            all |= i >= 0 && j >= 0 && i < im->w && j < im->h ? p->defect[j * im->w + i] : 0U;
    return all;
}

/* Flags of a pixel at an image position (px) of a view; fills: do filled pixels keep their heights? */
static uint16_t judge_place(const SdmPyramid *p, const double at[2], bool fills, uint16_t flags)
{
    const int64_t x = (int64_t)floor(at[p->turned] + 0.5) - p->level[0].x0,
                  y = (int64_t)floor(at[1 - p->turned] + 0.5) - p->level[0].y0;
    const unsigned own = defects_around(p, x, y, 0);
    if (own & SDM_DEFECT_MASKED)
        return (uint16_t)((flags & SDM_QA_VALID) | SDM_PIXEL_MASKED);
    if (own & SDM_DEFECT_BEYOND)
        return SDM_QA_OUTSIDE;
    if (own & SDM_DEFECT_BRIGHT && flags & SDM_QA_VALID) /* of the ground beside it in its window */
        return SDM_QA_ISOLATED;
    if (own & SDM_DEFECT_FILLED && flags & SDM_QA_VALID)
        return fills ? flags | SDM_QA_FILLED : SDM_QA_OUTSIDE;
    if (!(flags & SDM_QA_OUTSIDE))
        return flags;
    return defects_around(p, x, y, SATURATED_HALF) & SDM_DEFECT_SATURATED ? SDM_QA_SATURATED
           : defects_around(p, x, y, MASKED_HALF) & SDM_DEFECT_MASKED     ? SDM_PIXEL_MASKED
                                                                          : flags;
}

void sdm_mark_defects(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s)
{
    const bool fills = in->settings->fill_limit.rise_m > 0.0f;
    if (!in->left->defect && !in->right->defect)
        return;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < s->win.h; y++)
        for (int x = 0; x < s->win.w; x++) {
            const size_t i = (size_t)y * (size_t)s->win.w + (size_t)x;
            const double u = (double)(s->win.u0 + x), v = (double)(s->win.v0 + y);
            double at[2];
            if (in->left->defect) {
                sdm_lattice_left(in->lattice, u, v, at);
                s->flags[i] = judge_place(in->left, at, fills, s->flags[i]);
            }
            if (in->right->defect) {
                sdm_lattice_right(in->lattice, u, v, (double)s->h_m[i], at);
                s->flags[i] = judge_place(in->right, at, fills, s->flags[i]);
            }
        }
}

/* A surface with filled heights, some of which may be accepted. */
typedef struct Filling {
    const SdmMatchInput *in;
    const SdmSurface *s;
    const uint8_t *filled; /* 1: may be accepted */
} Filling;

/* Gaps between hidden clouds are too narrow for the coarse surface. */
static bool can_fill(const Filling *f, size_t i)
{
    const unsigned flags = f->s->flags[i];
    if (flags & (SDM_QA_OUTSIDE | SDM_QA_SATURATED | SDM_PIXEL_MASKED | SDM_QA_VALID))
        return false;
    return sdm_hides_clouds(f->in->settings) ? !(flags & SDM_QA_TEXTURELESS)
                                             : on_terrain(f->in, &f->s->win, i);
}

/* The first pixel from i on, before end, that is filled; end: none is.  Few are. */
static size_t next_filled(const uint8_t *filled, size_t i, size_t end)
{
    const uint8_t *const found = memchr(filled + i, 1, end - i);
    return found ? (size_t)(found - filled) : end;
}

/* Is the ground at (x, y) within the limit? */
static bool is_gentle(const Filling *f, int x, int y)
{
    const SdmFillLimit *const limit = &f->in->settings->fill_limit;
    const int w = f->s->win.w, h = f->s->win.h;
    const float own = f->s->h_m[(size_t)y * (size_t)w + (size_t)x];
    SdmSlopeSums sums = {0};
    for (int j = y > SDM_SLOPE_HALF ? -SDM_SLOPE_HALF : -y; j <= SDM_SLOPE_HALF && y + j < h; j++)
        for (int i = x > SDM_SLOPE_HALF ? -SDM_SLOPE_HALF : -x; i <= SDM_SLOPE_HALF && x + i < w; i++) {
            const size_t at = (size_t)(y + j) * (size_t)w + (size_t)(x + i);
            if (!(f->s->flags[at] & SDM_QA_VALID) && !f->filled[at])
                continue;
            sdm_slope_add(&sums, i, j, f->s->h_m[at] - own);
        }
    return sdm_slope_within(&sums, limit->rise_m, limit->slant_px[0], limit->slant_px[1]);
}

/* Is a pixel around (x, y) steep that could be filled?  What is left of a steep hole is no better than the
 * rest. */
static bool is_steep_near(const Filling *f, const uint8_t *steep, int x, int y)
{
    const SdmWindow *const win = &f->s->win;
    const int x0 = x > SDM_STEEP_HALF ? x - SDM_STEEP_HALF : 0,
              y0 = y > SDM_STEEP_HALF ? y - SDM_STEEP_HALF : 0;
    for (int j = y0; j <= y + SDM_STEEP_HALF && j < win->h; j++)
        for (int i = x0; i <= x + SDM_STEEP_HALF && i < win->w; i++) {
            const size_t at = (size_t)j * (size_t)win->w + (size_t)i;
            if (f->filled[at] && steep[at])
                return true;
        }
    return false;
}

SdmStatus sdm_accept_filled(SdmContext *ctx, const SdmMatchInput *in, uint8_t *filled, SdmSurface *s)
{
    const Filling f = {in, s, filled};
    const size_t w = (size_t)s->win.w, n = w * (size_t)s->win.h;
    const int h = s->win.h, threads = sdm_threads(ctx);
    const float rise_m = in->settings->fill_limit.rise_m;
    const bool any = isinf(rise_m) || (rise_m > 0.0f && sdm_hides_clouds(in->settings));
    SDM_OWNED uint8_t *steep = NULL; /* of filled pixels alone */
    PASS(sdm_alloc_raw(ctx, &steep, n, 1, "steep pixels"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int y = 0; y < h; y++)
        for (size_t end = (size_t)(y + 1) * w, i = next_filled(filled, end - w, end); i < end;
             i = next_filled(filled, i + 1, end))
            filled[i] = can_fill(&f, i);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int y = 0; y < h; y++) /* each pixel once: all around it ask for it */
        for (size_t end = (size_t)(y + 1) * w, i = next_filled(filled, end - w, end); i < end;
             i = next_filled(filled, i + 1, end))
            steep[i] = !any && !is_gentle(&f, (int)(i % w), y);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int y = 0; y < h; y++)
        for (size_t end = (size_t)(y + 1) * w, i = next_filled(filled, end - w, end); i < end;
             i = next_filled(filled, i + 1, end))
            s->flags[i] = any || !is_steep_near(&f, steep, (int)(i % w), y)
                              ? SDM_QA_VALID | SDM_QA_FILLED
                              : (uint16_t)(s->flags[i] | SDM_QA_FILLED);
    return SDM_OK;
}
