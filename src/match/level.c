/* Stage 5: a pass over a window of a level. */
// SPDX-License-Identifier: Apache-2.0
#include "match/level.h"

#include <math.h>
#include <string.h>

SdmStatus sdm_level_open(SdmContext *ctx, SdmLevelTask *task)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)task->win.w * (size_t)task->win.h;
    task->left = task->right = NULL;
    TRY(sdm_alloc_raw(ctx, &task->left, n, sizeof *task->left, "the rectified left view"));
    TRY(sdm_alloc_raw(ctx, &task->right, n, sizeof *task->right, "the warped right view"));
    TRY(sdm_warp_view(ctx, task, SDM_LEFT, NULL, task->left));
done:
    if (st != SDM_OK)
        sdm_level_close(task);
    return st;
}

void sdm_level_close(SdmLevelTask *task)
{
    sdm_free(&task->left);
    sdm_free(&task->right);
}

SdmStatus sdm_warp_view(SdmContext *ctx, const SdmLevelTask *task, enum SdmSide side, const float *surface_m,
                        int16_t *out)
{
    SdmStatus st = SDM_OK;
    const int w = task->win.w, h = task->win.h, threads = sdm_threads(ctx);
    const SdmLevelImage *const src = side == SDM_LEFT ? task->left_source : task->right_source;
    const size_t bytes = (sdm_row_cells_bytes(w) + 63) / 64 * 64;
    char *scratch = NULL;
    TRY(sdm_alloc(ctx, &scratch, bytes * (size_t)threads, 1, "lattice rows"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        SdmRowCells r;
        sdm_row_cells_cut(&r, scratch + bytes * (size_t)t, w);
        r.du_dh = NULL;
        for (int y = (int)((int64_t)h * t / threads); y < (int)((int64_t)h * (t + 1) / threads); y++) {
            sdm_lattice_row(task->lattice, &task->win, y, side, &r);
            const SdmWarpRow in = {.cells = r.cells, .cell_begin = r.begin, .cell_count = r.count,
                                   .fraction = r.fraction, .width = w,
                                   .surface_m = surface_m ? surface_m + (size_t)y * (size_t)w : NULL,
                                   .height0_m = (float)task->lattice->height0_m, .source = src->data,
                                   .source_stride = src->w, .source_col0 = (int32_t)src->x0,
                                   .source_row0 = (int32_t)src->y0, .source_width = (int32_t)src->w,
                                   .source_height = (int32_t)src->h};
            task->kernels->warp_row(&in, out + (size_t)y * (size_t)w);
        }
    }
done:
    sdm_free(&scratch);
    return st;
}

SdmStatus sdm_level_warp(SdmContext *ctx, SdmLevelTask *task, const float *surface_m)
{
    return sdm_warp_view(ctx, task, SDM_RIGHT, surface_m, task->right);
}

/* What a thread needs to consume rows of costs. */
typedef struct Consumer {
    const SdmLevelTask *task;
    const SdmPass *pass;
    const float *prior;
    bool retry; /* valid pixels keep what they have */
    float *h_out;
    uint16_t *flags_out;
    uint8_t *score_out;
    SdmPickRow pick;
    SdmRowCells cells;
} Consumer;

static void consume(void *user, const SdmCostRow *row)
{
    Consumer *const c = user;
    const int w = row->width;
    const size_t at = (size_t)row->y * (size_t)w;
    const float *const prior = c->prior + at;
    const SdmPass *const p = c->pass;
    c->task->kernels->pick_row(row, &c->pick);
    sdm_lattice_row(c->task->lattice, &c->task->win, row->y, SDM_RIGHT, &c->cells);
    const SdmUpdateRow u = {.width = w, .residual = c->pick.residual, .score = c->pick.score, .runner_up = c->pick.runner_up,
                            .mismatch = c->pick.mismatch, .edge = c->pick.edge, .texture = row->left_texture,
                            .prior = prior, .du_dh = c->cells.du_dh, .min_score = p->min_score,
                            .min_margin = p->min_margin, .max_mismatch = p->max_mismatch,
                            .not_at_edge = p->min_margin >= 0.0f, .keep_valid = c->retry, .h_m = c->h_out + at,
                            .flags = c->flags_out + at, .quality = c->score_out + at};
    c->task->kernels->update_row(&u);
}

/* Scratch of a thread's consumer: 5 rows of floats, a row of bytes, lattice cells. */
static size_t consumer_bytes(int w)
{
    const size_t n = ((size_t)w + 15) / 16 * 16;
    return (n * 5 * sizeof(float) + n + sdm_row_cells_bytes(w) + 127) / 64 * 64;
}

static void consumer_cut(Consumer *c, char *scratch, int w)
{
    const size_t n = ((size_t)w + 15) / 16 * 16;
    float *const f = (float *)(void *)scratch;
    c->pick = (SdmPickRow){.residual = f, .score = f + n, .edge = (uint8_t *)(f + 5 * n)};
    if (c->pass->min_margin > 0.0f) /* the runner-up is never better */
        c->pick.runner_up = f + 2 * n;
    if (c->pass->max_mismatch >= 0.0f) {
        c->pick.right_best = f + 3 * n;
        c->pick.mismatch = f + 4 * n;
    }
    sdm_row_cells_cut(&c->cells, scratch + (n * 5 * sizeof(float) + n + 63) / 64 * 64, w);
}

static void swap_into(SdmSurface *s, SdmSurface *next)
{
    const SdmSurface old = *s;
    *s = *next;
    *next = old;
}

static SdmStatus match_into(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior, bool retry,
                            SdmSurface *out)
{
    SdmStatus st = SDM_OK;
    const int w = task->win.w, h = task->win.h, threads = sdm_threads(ctx);
    const size_t cost_bytes = (task->kernels->cost_scratch(w, pass->window, -pass->range, pass->range) + 63) / 64 * 64;
    const size_t bytes = cost_bytes + consumer_bytes(w);
    char *scratch = NULL;
    TRY(sdm_check_stop(ctx));
    TRY(sdm_alloc(ctx, &scratch, bytes * (size_t)threads, 1, "cost rows"));
    const int strips = h < 128 * threads ? threads : h / 128;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int i = 0; i < strips; i++) {
        char *const mine = scratch + bytes * (size_t)sdm_thread();
        Consumer c = {.task = task, .pass = pass, .prior = prior, .retry = retry, .h_out = out->h_m,
                      .flags_out = out->flags, .score_out = out->score};
        consumer_cut(&c, mine + cost_bytes, w);
        const SdmCostJob job = {.left = task->left, .right = task->right, .stride = w, .width = w, .height = h,
                                .row_begin = (int)((int64_t)h * i / strips),
                                .row_end = (int)((int64_t)h * (i + 1) / strips), .window = pass->window,
                                .right_shift = task->v_shift, .dmin = -pass->range, .dmax = pass->range, .min_sigma = pass->min_sigma,
                                .scratch = mine};
        task->cost(&job, consume, &c);
    }
done:
    sdm_free(&scratch);
    return st;
}

SdmStatus sdm_level_match(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, SdmSurface *surface)
{
    SdmStatus st = SDM_OK;
    SdmSurface next = {0};
    TRY(sdm_surface_alloc(ctx, &task->win, &next));
    TRY(match_into(ctx, task, pass, surface->h_m, false, &next));
    swap_into(surface, &next);
done:
    sdm_surface_free(&next);
    return st;
}

SdmStatus sdm_level_retry(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                          SdmSurface *surface)
{
    return match_into(ctx, task, pass, prior, true, surface);
}

typedef struct GapConsumer {
    float *score; /* where the row of scores goes, h x w */
} GapConsumer;

static void keep_scores(void *user, const SdmCostRow *row)
{
    const GapConsumer *const g = user;
    memcpy(g->score + (size_t)row->y * (size_t)row->width, row->score, (size_t)row->width * sizeof(float));
}

static SdmStatus gap_scores(SdmContext *ctx, SdmLevelTask *task, int window, float min_sigma, int shift, float *out)
{
    SdmStatus st = SDM_OK;
    const int w = task->win.w, h = task->win.h, threads = sdm_threads(ctx);
    const size_t bytes = (task->kernels->cost_scratch(w, window, 0, 0) + 63) / 64 * 64;
    char *scratch = NULL;
    TRY(sdm_alloc(ctx, &scratch, bytes * (size_t)threads, 1, "cost rows"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        const SdmCostJob job = {.left = task->left, .right = task->right, .stride = w, .width = w, .height = h,
                                .row_begin = (int)((int64_t)h * t / threads),
                                .row_end = (int)((int64_t)h * (t + 1) / threads), .right_shift = shift,
                                .window = window, .min_sigma = min_sigma, .scratch = scratch + bytes * (size_t)t};
        GapConsumer g = {out};
        task->cost(&job, keep_scores, &g);
    }
done:
    sdm_free(&scratch);
    return st;
}

#define FLAT 0.06f /* second difference of the scores over v below which there is no peak */

SdmStatus sdm_level_gap(SdmContext *ctx, SdmLevelTask *task, int window, float min_sigma, float *gap_v, uint8_t *score0)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)task->win.w * (size_t)task->win.h;
    float *before = NULL, *after = NULL;
    TRY(sdm_alloc(ctx, &before, n, sizeof *before, "scores of the row before"));
    TRY(sdm_alloc(ctx, &after, n, sizeof *after, "scores of the row after"));
    TRY(gap_scores(ctx, task, window, min_sigma, -1, before));
    TRY(gap_scores(ctx, task, window, min_sigma, 1, after));
    TRY(gap_scores(ctx, task, window, min_sigma, 0, gap_v));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (size_t i = 0; i < n; i++) {
        const float at = gap_v[i], bend = before[i] - 2.0f * at + after[i];
        const bool peak = at > 0.0f && bend < -FLAT;
        /* along an edge that runs across the lines every v fits: a good match, but no word on the gap */
        const bool known = before[i] > SDM_SCORE_NONE && after[i] > SDM_SCORE_NONE && at > SDM_SCORE_NONE &&
                           (peak || at < 0.7f);
        const float v = peak ? 0.5f * (before[i] - after[i]) / bend : 2.0f;
        score0[i] = at > 0.0f ? (uint8_t)(at * 250.0f + 0.5f) : 0;
        gap_v[i] = known ? (v < -2.0f ? -2.0f : v > 2.0f ? 2.0f : v) : NAN;
    }
done:
    sdm_free(&before);
    sdm_free(&after);
    return st;
}
