/* Last word on every pixel of a window at full resolution: terrain, score over a larger window, ray gap. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/chain.h"
#include "matching/chain_parts.h"

#include <math.h>
#include <string.h>

enum { GAP_WINDOW = 9, GAP_HALF = SDM_RAY_ERROR_HALF, GAP_ROWS = 2 * GAP_HALF + 1, GAP_UNIT = 1024 };

typedef struct Judge {
    const SdmChainInput *in;
    SdmSurface *s;
    const float *ray_error_px;
    const uint8_t *score; /* over the larger window */
} Judge;

/* |gap| up to a pixel, 1/1024 px, and above it how many are known (1 or 0): sums of both in one number, since
 * the window's 121 gaps stay below KNOWN. */
enum { KNOWN_BITS = 20, KNOWN = 1 << KNOWN_BITS };

/* Of a thread: sums over the columns of the rows y - GAP_HALF .. y + GAP_HALF, and what each row gave. */
typedef struct Sums {
    int32_t *column, *window; /* window: of the row that is judged */
    int32_t *row[GAP_ROWS];   /* by y modulo GAP_ROWS */
    uint8_t *far;             /* 1 or 0: cannot have its height */
} Sums;

/* Row y takes the place of the row GAP_ROWS above it; rows beyond the window's give 0. */
static void move_rows(const Judge *j, int y, const Sums *sums)
{
    const int w = j->s->win.w;
    const bool inside = y >= 0 && y < j->s->win.h;
    const float *restrict const gap = j->ray_error_px + (inside ? (size_t)y * (size_t)w : 0);
    int32_t *restrict const sum = sums->column, *restrict const kept = sums->row[(y + GAP_ROWS) % GAP_ROWS];
    for (int x = 0; x < w && !inside; x++) {
        sum[x] -= kept[x];
        kept[x] = 0;
    }
    for (int x = 0; x < w && inside; x++) {
        const float size = gap[x] < 0.0f ? -gap[x] : gap[x];
        const float most = size < 1.0f ? size : 1.0f; /* NaN: 1 */
        const int32_t is = size >= 0.0f ? -1 : 0, now = ((int32_t)(most * GAP_UNIT) + KNOWN) & is;
        sum[x] += now - kept[x];
        kept[x] = now;
    }
}

/* Of each pixel of a row, to sums->window: 1 where the mean gap around it is above the limit (1/1024 px), 2
 * where it has a gap itself. */
static void find_wide_gaps(const Sums *sums, const float *restrict gap, int w, float limit)
{
    const int32_t *restrict const in = sums->column;
    int32_t *restrict const out = sums->window;
    int32_t sum = 0;
    for (int x = 0; x < GAP_HALF && x < w; x++)
        sum += in[x];
    for (int x = 0; x < w; x++) {
        sum += (x + GAP_HALF < w ? in[x + GAP_HALF] : 0) - (x > GAP_HALF ? in[x - GAP_HALF - 1] : 0);
        out[x] = sum;
    }
    for (int x = 0; x < w; x++)
        out[x] = ((float)(out[x] & (KNOWN - 1)) > limit * (float)(out[x] >> KNOWN_BITS) ? 1 : 0) |
                 (gap[x] == gap[x] ? 2 : 0);
}

/* Which pixels of row y cannot have their height, seen from the nearest terrain that the scene is sure of? */
static void far_from_ground(const Judge *j, int y, uint8_t *far)
{
    const SdmTerrainMask *const g = j->in->terrain;
    const SdmWindow *const win = &j->s->win;
    const float *const h = j->s->h_m + (size_t)y * (size_t)win->w;
    if (!g)
        return;
    const int64_t v = (win->v0 + y) >> g->win.level;
    for (int x = 0; x < win->w;) { /* pixel after pixel of the ground */
        const int64_t u = (win->u0 + x) >> g->win.level,
                      next = (u + 1) * ((int64_t)1 << g->win.level) - win->u0;
        const int end = next < win->w ? (int)next : win->w;
        const bool known = u < g->win.w && v < g->win.h;
        const int64_t at = known ? v * g->win.w + u : 0;
        const float ground = g->h_m[at],
                    limit = known ? sdm_ground_limit((float)g->away[at], j->in->terrain_pixel_m) : -1.0f;
        for (; x < end; x++)
            far[x] = (uint8_t)(fabsf(h[x] - ground) <= limit ? 0 : 1);
    }
}

static void judge_row(const Judge *j, int y, const Sums *sums)
{
    const int w = j->s->win.w;
    const size_t row = (size_t)y * (size_t)w;
    const uint8_t least = sdm_validation_min_score(j->in->settings), *restrict const fresh = j->score + row;
    const uint8_t *restrict const far = sums->far;
    const int32_t *restrict const gaps = sums->window;
    uint8_t *restrict const score = j->s->score + row;
    uint16_t *restrict const flags = j->s->flags + row;
    find_wide_gaps(sums, j->ray_error_px + row, w, j->in->settings->ray_error_limit_px * (float)GAP_UNIT);
    for (int x = 0; x < w; x++) { /* in vectors: without branches */
        const uint16_t known = (uint16_t) - (gaps[x] >> 1), wide = (uint16_t) - (gaps[x] & 1);
        /* without a gap: the last match's own score, near the edge of the images */
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

SdmPass sdm_validation_pass(const SdmMatchSettings *set)
{
    return (SdmPass){.window = GAP_WINDOW, .min_sigma = set->min_sigma, .score_sigma = set->score_sigma};
}

uint8_t sdm_validation_min_score(const SdmMatchSettings *set)
{
    return (uint8_t)(set->final_score * 250.0f);
}

SdmStatus sdm_validate(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    const int w = out->surface.win.w, h = out->surface.win.h, threads = sdm_threads(ctx);
    const size_t columns = (size_t)w, bytes = ((2 + GAP_ROWS) * sizeof(int32_t) + 1) * columns;
    const SdmPass pass = sdm_validation_pass(in->settings);
    uint8_t *score = NULL;
    char *scratch = NULL;
    TRY(sdm_alloc_raw(ctx, &out->ray_error_px, columns * (size_t)h, sizeof *out->ray_error_px, "ray gaps"));
    TRY(sdm_alloc_raw(ctx, &score, columns * (size_t)h, 1, "scores"));
    TRY(sdm_alloc(ctx, &scratch, (bytes + 64) / 64 * 64 * (size_t)threads, 1, "sums of ray gaps"));
    TRY(sdm_level_warp(ctx, task, out->surface.h_m));
    TRY(sdm_level_ray_error(ctx, task, &pass, out->ray_error_px, score));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        char *const mine = scratch + (bytes + 64) / 64 * 64 * (size_t)t;
        const Judge j = {in, &out->surface, out->ray_error_px, score};
        Sums sums = {(int32_t *)(void *)mine, (int32_t *)(void *)mine + columns, {NULL}, NULL};
        for (size_t k = 0; k < GAP_ROWS; k++)
            sums.row[k] = sums.window + (k + 1) * columns;
        sums.far = (uint8_t *)(sums.row[GAP_ROWS - 1] + columns);
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        for (int y = y0 - GAP_HALF; y < y0 + GAP_HALF; y++)
            move_rows(&j, y, &sums);
        for (int y = y0; y < y1; y++) {
            move_rows(&j, y + GAP_HALF, &sums);
            far_from_ground(&j, y, sums.far);
            judge_row(&j, y, &sums);
        }
    }
done:
    sdm_free(&score);
    sdm_free(&scratch);
    return st;
}
