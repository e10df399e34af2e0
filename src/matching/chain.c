/* Stages 5 to 7: the coarse-to-fine loop.  Source: Iwata et al. 2011, fig. 1, with the surface as its state.
 */
// SPDX-License-Identifier: Apache-2.0
#include "matching/chain.h"
#include "matching/chain_parts.h"
#include "matching/labels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SEARCH_RANGE = 3, SEARCH_WINDOW = 9,   /* a level's first pass */
    RETRY_RANGE = 5, RETRY_WINDOW = 13,    /* what failed, once more */
    JUMP_RANGE = 16, JUMP_WINDOW = 9,      /* and where jumps are to be expected, at most */
    WORD_ROWS = 4                          /* a census word: 3 rows on each side */
};

/* What a match must reach while searching, and in the end: correlation of two views whose texture is
 * Gaussian.  Each cost's own score for it follows. */
#define MIN_CORRELATION 0.5
#define FINAL_CORRELATION 0.7
#define CENSUS_FINAL_CORRELATION 0.6 /* as few false matches pass (docs/chain.md) */
/* At this correlation noise moves a match over 5 x 5 pixels by 0.2 px (docs/chain.md). */
#define SMALL_CORRELATION 0.8
/* Penalties of semi-global matching and belief propagation, in hundredths of a score (src/matching/labels.h). */
enum { P1 = 20, P2 = 80, BP_WEIGHT = 10, BP_TRUNCATION = 4 };
static const double PI = 3.14159265358979323846;

SdmStatus sdm_match_settings(SdmContext *ctx, const char *cost, const char *cpu_level, float noise_q,
                             SdmMatchSettings *out)
{
    *out = (SdmMatchSettings){.kernels = sdm_kernels_at(cpu_level)};
    if (!out->kernels)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "--cpu-level %s: this processor does not have it; it has %s", cpu_level,
                        sdm_kernels_name("auto"));
    snprintf(out->cost_name, sizeof out->cost_name, "%s", cost);
    out->min_sigma = 1.5f * noise_q;
    out->ray_error_limit_px = 0.25f;
    if (strcmp(cost, "zncc") == 0) {
        out->cost = out->kernels->zncc;
        out->min_score = (float)MIN_CORRELATION;
        out->final_score = (float)FINAL_CORRELATION;
        out->small_score = (float)SMALL_CORRELATION;
    } else if (strcmp(cost, "census") == 0) { /* two signs differ with probability acos(correlation) / pi */
        out->cost = out->kernels->census;
        out->min_score = (float)(2.0 / PI * asin(MIN_CORRELATION));
        out->final_score = (float)(2.0 / PI * asin(CENSUS_FINAL_CORRELATION));
        out->small_score = (float)(2.0 / PI * asin(SMALL_CORRELATION));
    } else if (strcmp(cost, "sad") == 0) { /* mean |difference| = 2 / sqrt(pi) sigma sqrt(1 - correlation) */
        out->cost = out->kernels->sad;
        out->min_score = (float)(1.0 - sqrt(1.0 - MIN_CORRELATION));
        out->final_score = (float)(1.0 - sqrt(1.0 - FINAL_CORRELATION));
        out->small_score = (float)(1.0 - sqrt(1.0 - SMALL_CORRELATION));
        out->score_sigma = SDM_NORM_SIGMA;
        out->norm_floor = 8.0f * out->min_sigma;
        out->min_sigma = SDM_NORM_SIGMA / 8.0f; /* the same texture where that floor holds */
    } else {
        return sdm_fail(ctx, SDM_ERR_USAGE, "--cost %s is not one of zncc, census, sad", cost);
    }
    return sdm_optimizer_settings(ctx, P1, P2, BP_WEIGHT, BP_TRUNCATION, &out->optimizer);
}

int sdm_chain_retry_range(const SdmMatchSettings *s, int level)
{
    const int jump = (int)ceilf(s->discontinuity_px / (float)(1 << level));
    return jump > JUMP_RANGE ? JUMP_RANGE : jump > RETRY_RANGE ? jump : RETRY_RANGE;
}

int64_t sdm_chain_label_bytes(const SdmMatchSettings *s, int64_t w, int64_t h)
{
    const int retry =
        sdm_chain_retry_range(s, 0); /* at level 0 only for jumps; finer than that nothing is wider */
    return sdm_level_labels_bytes(&s->optimizer, retry > RETRY_RANGE ? retry : SEARCH_RANGE, w, h);
}

int sdm_chain_max_update(const SdmMatchSettings *s, int level)
{
    const int retry = sdm_chain_retry_range(s, level);
    return (retry > SEARCH_RANGE ? retry : SEARCH_RANGE) + 1;
}

int sdm_chain_reach(const SdmMatchSettings *s, int level, int window)
{
    const int clean = SDM_REJECT_HALF + 1; /* with the median */
    const int first = window / 2 + WORD_ROWS + clean;
    const int again = sdm_retry_pass(s, level).window / 2 + WORD_ROWS;
    return (first > again ? first : again) + clean + sdm_fill_far.half + 1; /* smoothing */
}

SdmLevelTask sdm_level_task(const SdmChainInput *in, const SdmWindow *win)
{
    return (SdmLevelTask){.kernels = in->settings->kernels,
                          .cost = in->settings->cost,
                          .lattice = in->lattice,
                          .win = *win,
                          .left_source = &in->left->level[win->level],
                          .right_source = &in->right->level[win->level]};
}

SdmStatus sdm_copy_heights(SdmContext *ctx, const SdmSurface *s, float **out)
{
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    const SdmStatus st = sdm_alloc_raw(ctx, out, n, sizeof **out, "the prior surface");
    if (st != SDM_OK)
        return st;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < s->win.h; y++)
        memcpy(*out + (size_t)y * (size_t)s->win.w, s->h_m + (size_t)y * (size_t)s->win.w,
               (size_t)s->win.w * sizeof **out);
    return SDM_OK;
}

float sdm_metres_per_pixel(const SdmChainInput *in, int level)
{
    const SdmLattice *const lat = in->lattice;
    if (in->settings->discontinuity_px > 0.0f)
        return (float)(1 << level) * (float)SDM_DISCONTINUITY_M / in->settings->discontinuity_px;
    const SdmNode *const n = &lat->node[(size_t)(lat->nv / 2) * (size_t)lat->nu + (size_t)(lat->nu / 2)];
    return (float)(1 << level) / fabsf(n->du_dh);
}

const SdmFill sdm_fill_far = {.half = 16, .least = 60, .else_prior = true},
              sdm_fill_near = {.half = 4, .least = 12};

/* Reject what stands alone, take the median, fill. */
SdmStatus sdm_chain_clean(SdmContext *ctx, const SdmChainInput *in, const float *prior, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    const float tol = sdm_metres_per_pixel(in, s->win.level);
    uint16_t *flags = NULL;
    float *median = NULL;
    const int around = sdm_stage_enter(ctx, 6);
    TRY(sdm_alloc_raw(ctx, &flags, n, sizeof *flags, "flags"));
    TRY(sdm_surface_reject(ctx, in->settings->kernels, s, prior, SDM_REJECT_HALF, tol, SDM_REJECT_SHARE,
                           flags));
    sdm_free(&s->flags);
    s->flags = flags;
    flags = NULL;
    TRY(sdm_alloc_raw(ctx, &median, n, sizeof *median, "the median surface"));
    sdm_surface_median(ctx, in->settings->kernels, s, s->h_m, median);
    sdm_free(&s->h_m);
    s->h_m = median;
    median = NULL;
done:
    sdm_free(&flags);
    sdm_free(&median);
    sdm_stage_leave(ctx, around);
    return st;
}

/* Fill far and, where there is enough, near; flags stay as they are (the pixels are tried again on the next
 * level). */
SdmStatus sdm_chain_complete(SdmContext *ctx, const SdmChainInput *in, const float *prior, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const int around = sdm_stage_enter(ctx, 7);
    TRY(sdm_surface_fill(ctx, in->settings->kernels, s, prior, &sdm_fill_far, NULL));
    TRY(sdm_surface_fill(ctx, in->settings->kernels, s, prior, &sdm_fill_near, NULL));
done:
    sdm_stage_leave(ctx, around);
    return st;
}

SdmPass sdm_search_pass(const SdmMatchSettings *set, int range, int window)
{
    return (SdmPass){.window = window, .range = range, .min_score = set->min_score, .min_margin = 0.0f,
                     .max_mismatch = 0.7f, .min_sigma = set->min_sigma, .score_sigma = set->score_sigma,
                     .optimizer = &set->optimizer};
}

SdmPass sdm_retry_pass(const SdmMatchSettings *set, int level)
{
    const int range = sdm_chain_retry_range(set, level);
    return sdm_search_pass(set, range, range > RETRY_RANGE ? JUMP_WINDOW : RETRY_WINDOW);
}

bool sdm_level_retries(const SdmMatchSettings *set, int level)
{
    return level > 0 || sdm_chain_retry_range(set, level) > RETRY_RANGE;
}

int sdm_level_team(SdmContext *ctx, const SdmWindow *win)
{
    return sdm_team_enter(ctx, (int64_t)win->w * win->h * SDM_PASS_UNITS);
}

SdmStatus sdm_chain_level_in(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, int range,
                             int window, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = in->settings;
    const SdmPass first = sdm_search_pass(set, range, window), second = sdm_retry_pass(set, s->win.level);
    float *prior = NULL;
    TRY(sdm_copy_heights(ctx, s, &prior));
    TRY(sdm_level_warp(ctx, task, s->h_m));
    TRY(sdm_level_match(ctx, task, &first, prior, s));
    TRY(sdm_chain_clean(ctx, in, prior, s));
    if (sdm_level_retries(set, s->win.level)) {
        TRY(sdm_level_retry(ctx, task, &second, prior, s));
        TRY(sdm_chain_clean(ctx, in, prior, s));
    }
    TRY(sdm_chain_complete(ctx, in, prior, s));
    if (s->win.level > 0)
        TRY(sdm_surface_smooth(ctx, in->settings->kernels, s));
done:
    sdm_free(&prior);
    return st;
}

SdmStatus sdm_chain_level(SdmContext *ctx, const SdmChainInput *in, int range, int window, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    SdmLevelTask task = sdm_level_task(in, &s->win);
    task.span = s->span;
    const int team = sdm_level_team(ctx, &s->win);
    TRY(sdm_level_open(ctx, &task));
    TRY(sdm_chain_level_in(ctx, in, &task, range, window, s));
done:
    sdm_level_close(&task);
    sdm_team_leave(ctx, team);
    return st;
}

SdmStatus sdm_chain_rematch(SdmContext *ctx, const SdmChainInput *in, int range, int window, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const SdmPass pass = sdm_search_pass(in->settings, range, window);
    SdmLevelTask task = sdm_level_task(in, &s->win);
    float *prior = NULL;
    const int team = sdm_level_team(ctx, &s->win);
    TRY(sdm_level_open(ctx, &task));
    TRY(sdm_copy_heights(ctx, s, &prior));
    TRY(sdm_level_warp(ctx, &task, prior));
    TRY(sdm_level_retry(ctx, &task, &pass, prior, s));
    TRY(sdm_chain_clean(ctx, in, prior, s));
    TRY(sdm_chain_complete(ctx, in, prior, s));
done:
    sdm_free(&prior);
    sdm_level_close(&task);
    sdm_team_leave(ctx, team);
    return st;
}

/* Heights and scores of `fresh` where both surfaces are valid and it matches no worse. */
static void take_better(const SdmSurface *fresh, int threads, SdmSurface *s)
{
    const size_t w = (size_t)s->win.w;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int y = 0; y < s->win.h; y++)
        for (size_t i = (size_t)y * w; i < (size_t)(y + 1) * w; i++)
            if (fresh->flags[i] & s->flags[i] & SDM_QA_VALID && fresh->score[i] >= s->score[i]) {
                s->h_m[i] = fresh->h_m[i];
                s->score[i] = fresh->score[i];
            }
}

SdmStatus sdm_chain_sharpen(SdmContext *ctx, const SdmChainInput *in, int range, int window, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const SdmPass pass = sdm_search_pass(in->settings, range, window);
    SdmLevelTask task = sdm_level_task(in, &s->win);
    SdmSurface fresh = {0};
    float *median = NULL;
    const int team = sdm_level_team(ctx, &s->win);
    TRY(sdm_level_open(ctx, &task));
    TRY(sdm_surface_alloc(ctx, &s->win, &fresh));
    TRY(sdm_level_warp(ctx, &task, s->h_m));
    TRY(sdm_level_match(ctx, &task, &pass, s->h_m, &fresh));
    take_better(&fresh, sdm_threads(ctx), s);
    sdm_surface_free(&fresh);
    sdm_level_close(&task);
    TRY(sdm_alloc_raw(ctx, &median, (size_t)s->win.w * (size_t)s->win.h, sizeof *median, "the median"));
    sdm_surface_median(ctx, in->settings->kernels, s, s->h_m, median);
    sdm_free(&s->h_m);
    s->h_m = median;
    TRY(sdm_surface_smooth(ctx, in->settings->kernels, s)); /* a rough one decorrelates what it stretches */
done:
    sdm_surface_free(&fresh);
    sdm_level_close(&task);
    sdm_team_leave(ctx, team);
    return st;
}

/* Give every pixel a height: from the nearest circle of matches that is large enough. */
SdmStatus sdm_chain_fill_all(SdmContext *ctx, const SdmKernels *k, const float *prior, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SdmSurface wide = *s;
    uint8_t *filled = NULL, *done_before = NULL;
    wide.h_m = NULL;
    const int around = sdm_stage_enter(ctx, 7);
    TRY(sdm_alloc(ctx, &filled, n, 1, "the fill mask"));
    TRY(sdm_alloc(ctx, &done_before, n, 1, "the fill mask"));
    for (int half = 2; half <= 128; half *= 4) {
        TRY(sdm_copy_heights(ctx, s, &wide.h_m));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
        for (size_t i = 0; i < n; i++)
            wide.h_m[i] = s->flags[i] & SDM_QA_VALID ? s->h_m[i] : prior[i];
        const SdmFill fill = {.half = half, .least = 1 + half};
        TRY(sdm_surface_fill(ctx, k, &wide, prior, &fill, filled));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
        for (size_t i = 0; i < n; i++) {
            if (filled[i] && !done_before[i])
                s->h_m[i] = wide.h_m[i];
            done_before[i] |= filled[i];
        }
        sdm_free(&wide.h_m);
    }
done:
    sdm_free(&wide.h_m);
    sdm_free(&filled);
    sdm_free(&done_before);
    sdm_stage_leave(ctx, around);
    return st;
}

SdmStatus sdm_chain_ray_error(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *s, int window,
                        float *ray_error_v)
{
    SdmStatus st = SDM_OK;
    SdmLevelTask task = sdm_level_task(in, &s->win);
    const SdmPass pass = {.window = window, .min_sigma = in->settings->min_sigma,
                          .score_sigma = in->settings->score_sigma};
    uint8_t *score = NULL;
    const int team = sdm_level_team(ctx, &s->win);
    TRY(sdm_level_open(ctx, &task));
    TRY(sdm_alloc(ctx, &score, (size_t)s->win.w * (size_t)s->win.h, 1, "scores"));
    TRY(sdm_level_warp(ctx, &task, s->h_m));
    TRY(sdm_level_ray_error(ctx, &task, &pass, ray_error_v, score));
    for (size_t i = 0; i < (size_t)s->win.w * (size_t)s->win.h; i++)
        if (!(s->flags[i] & SDM_QA_VALID))
            ray_error_v[i] = NAN;
done:
    sdm_free(&score);
    sdm_level_close(&task);
    sdm_team_leave(ctx, team);
    return st;
}
