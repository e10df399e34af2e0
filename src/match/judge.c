/* Last word on every pixel of a window at full resolution: terrain, score over a larger window, ray gap. */
// SPDX-License-Identifier: Apache-2.0
#include "match/chain.h"
#include "match/chain_parts.h"

#include <math.h>
#include <string.h>

enum { GAP_WINDOW = 9, GAP_HALF = SDM_JUDGE_GAP_HALF, GAP_UNIT = 1024 };

typedef struct Judge {
    const SdmChainInput *in;
    SdmSurface *s;
    const float *gap_px;
    const uint8_t *score; /* over the larger window */
} Judge;

typedef struct Sums { /* over the columns of the rows y - GAP_HALF .. y + GAP_HALF */
    int32_t *gap, *known; /* |gap| up to a pixel, 1/1024 px; how many are known */
} Sums;

static void add_gaps(const Judge *j, int y, int sign, const Sums *sums)
{
    const int w = j->s->win.w;
    if (y < 0 || y >= j->s->win.h)
        return;
    const float *restrict const gap = j->gap_px + (size_t)y * (size_t)w;
    int32_t *restrict const sum = sums->gap, *restrict const known = sums->known;
    for (int x = 0; x < w; x++) {
        const float size = gap[x] < 0.0f ? -gap[x] : gap[x];
        const bool is = size >= 0.0f; /* not NaN */
        const float most = size < 1.0f ? size : 1.0f;
        sum[x] += is ? sign * (int32_t)(most * GAP_UNIT) : 0;
        known[x] += is ? sign : 0;
    }
}

/* Which pixels of row y cannot have their height, seen from the nearest terrain that the scene is sure of? */
static void far_from_ground(const Judge *j, int y, bool *far)
{
    const SdmGround *const g = j->in->ground;
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
                    limit = known ? sdm_ground_limit((float)g->away[at], j->in->ground_pixel_m) : -1.0f;
        for (; x < end; x++)
            far[x] = !(fabsf(h[x] - ground) <= limit);
    }
}

static void judge_row(const Judge *j, int y, const Sums *sums, const bool *far)
{
    const int w = j->s->win.w;
    const size_t row = (size_t)y * (size_t)w;
    const uint8_t least = sdm_judge_least(j->in->settings);
    const float limit = j->in->settings->gap_limit_px * (float)GAP_UNIT;
    int32_t gap = 0, known = 0;
    for (int x = 0; x < GAP_HALF && x < w; x++) {
        gap += sums->gap[x];
        known += sums->known[x];
    }
    for (int x = 0; x < w; x++) {
        const size_t i = row + (size_t)x;
        const int enters = x + GAP_HALF, leaves = x - GAP_HALF - 1;
        gap += (enters < w ? sums->gap[enters] : 0) - (leaves >= 0 ? sums->gap[leaves] : 0);
        known += (enters < w ? sums->known[enters] : 0) - (leaves >= 0 ? sums->known[leaves] : 0);
        if (!isnan(j->gap_px[i])) /* else the last match's own score, near the edge of the images */
            j->s->score[i] = j->score[i];
        if (!(j->s->flags[i] & SDM_QA_VALID))
            continue;
        if (j->s->score[i] < least)
            j->s->flags[i] = SDM_QA_LOW_SCORE;
        else if ((float)gap > limit * (float)known)
            j->s->flags[i] = SDM_QA_RAY_GAP;
        if (far[x])
            j->s->flags[i] = SDM_QA_ISOLATED;
    }
}

SdmPass sdm_judge_pass(const SdmMatchSettings *set)
{
    return (SdmPass){.window = GAP_WINDOW, .min_sigma = set->min_sigma, .score_sigma = set->score_sigma};
}

uint8_t sdm_judge_least(const SdmMatchSettings *set)
{
    return (uint8_t)(set->final_score * 250.0f);
}

SdmStatus sdm_judge(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    const int w = out->surface.win.w, h = out->surface.win.h, threads = sdm_threads(ctx);
    const size_t columns = (size_t)w, bytes = (2 * sizeof(int32_t) + 1) * columns;
    const SdmPass pass = sdm_judge_pass(in->settings);
    uint8_t *score = NULL;
    char *scratch = NULL;
    TRY(sdm_alloc_raw(ctx, &out->gap_px, columns * (size_t)h, sizeof *out->gap_px, "ray gaps"));
    TRY(sdm_alloc_raw(ctx, &score, columns * (size_t)h, 1, "scores"));
    TRY(sdm_alloc(ctx, &scratch, (bytes + 64) / 64 * 64 * (size_t)threads, 1, "sums of ray gaps"));
    TRY(sdm_level_warp(ctx, task, out->surface.h_m));
    TRY(sdm_level_gap(ctx, task, &pass, out->gap_px, score));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        char *const mine = scratch + (bytes + 64) / 64 * 64 * (size_t)t;
        const Judge j = {in, &out->surface, out->gap_px, score};
        const Sums sums = {(int32_t *)(void *)mine, (int32_t *)(void *)mine + columns};
        bool *const far = (bool *)(sums.known + columns);
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        for (int y = y0 - GAP_HALF; y < y0 + GAP_HALF; y++)
            add_gaps(&j, y, 1, &sums);
        for (int y = y0; y < y1; y++) {
            add_gaps(&j, y + GAP_HALF, 1, &sums);
            far_from_ground(&j, y, far);
            judge_row(&j, y, &sums, far);
            add_gaps(&j, y - GAP_HALF, -1, &sums);
        }
    }
done:
    sdm_free(&score);
    sdm_free(&scratch);
    return st;
}
