/* Stage 5: a pass over a window of a level. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/level.h"
#include "matching/labels.h"

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

SdmStatus sdm_level_warp(SdmContext *ctx, SdmLevelTask *task, const float *surface_m)
{
    return sdm_warp_view(ctx, task, SDM_RIGHT, surface_m, task->right);
}

/* What a thread needs to consume rows of costs. */
typedef struct Consumer {
    const SdmLevelTask *task;
    const SdmPass *pass;
    SdmSpan span; /* of the rows: column 0 of a row of costs is the first of these */
    const float *prior;
    bool retry; /* valid pixels keep what they have */
    float *h_out;
    uint16_t *flags_out;
    uint8_t *score_out;
    SdmPickRow pick;
    SdmRowCells cells;
    const SdmLevelLabels *labels; /* NULL: the best of each pixel */
    float *near;                  /* scores near the labels */
} Consumer;

/* Scores as they would be for windows of the texture that the cost's scores are made for.
 * texture: 1 / sqrt(sum of squares about the mean) = 1 / (window x sigma). */
static void make_fair(const SdmPass *p, int width, const float *restrict texture, float *restrict score)
{
    const float scale = p->score_sigma * (float)p->window;
    for (int x = 0; x < width; x++) {
        const float fair = 1.0f - (1.0f - score[x]) * scale * texture[x];
        score[x] = score[x] <= SDM_SCORE_NONE ? SDM_SCORE_NONE : fair < -1.0f ? -1.0f : fair;
    }
}

uint8_t sdm_pass_bears(const SdmPass *pass) { return (uint8_t)(pass->bears_score * 250.0f); }

static void consume(void *user, const SdmCostRow *row)
{
    Consumer *const c = user;
    const int w = row->width;
    const size_t at = (size_t)row->y * (size_t)c->task->win.w + (size_t)c->span.x0;
    const SdmWindow part = sdm_window_columns(&c->task->win, c->span);
    const float *const prior = c->prior + at;
    const SdmPass *const p = c->pass;
    if (c->labels) {
        SdmCostRow near = *row;
        near.score = c->near;
        near.pitch = ((ptrdiff_t)w + 15) / 16 * 16;
        sdm_level_labels_keep(c->labels, row, c->near);
        c->task->kernels->pick_row(&near, &c->pick);
    } else {
        c->task->kernels->pick_row(row, &c->pick);
    }
    sdm_lattice_row(c->task->lattice, &part, row->y, SDM_RIGHT, &c->cells);
    if (p->score_sigma > 0.0f) {
        make_fair(p, w, row->left_texture, c->pick.score);
        if (c->pick.runner_up)
            make_fair(p, w, row->left_texture, c->pick.runner_up);
    }
    const SdmUpdateRow u = {.width = w,
                            .residual = c->pick.residual,
                            .score = c->pick.score,
                            .runner_up = c->pick.runner_up,
                            .mismatch = c->pick.mismatch,
                            .edge = c->pick.edge,
                            .texture = row->left_texture,
                            .prior = prior,
                            .du_dh = c->cells.du_dh,
                            .min_score = p->min_score,
                            .min_margin = p->min_margin,
                            .max_mismatch = p->max_mismatch,
                            .not_at_edge = p->min_margin >= 0.0f,
                            .keep_valid = c->retry,
                            .bears = sdm_pass_bears(p),
                            .h_m = c->h_out + at,
                            .flags = c->flags_out + at,
                            .quality = c->score_out + at};
    c->task->kernels->update_row(&u);
}

static bool by_labels(const SdmPass *p) { return p->optimizer && p->optimizer->kind != SDM_OPTIMIZER_LOCAL; }

/* Scratch of a thread's consumer: 5 rows of floats, a row of bytes, lattice cells, scores near the labels. */
static size_t consumer_bytes(const SdmPass *p, int w)
{
    const size_t n = ((size_t)w + 15) / 16 * 16;
    const size_t fixed = (n * 5 * sizeof(float) + n + sdm_row_cells_bytes(w) + 127) / 64 * 64;
    return fixed + (by_labels(p) ? (sdm_level_labels_keep_bytes(w, p->range) + 63) / 64 * 64 : 0);
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
    c->cells.cells = NULL; /* of the lattice, only du_dh */
    c->near =
        (float *)(void *)(scratch + (n * 5 * sizeof(float) + n + sdm_row_cells_bytes(w) + 127) / 64 * 64);
}

/* What the threads of a pass share. */
typedef struct Match {
    const SdmLevelTask *task;
    const SdmPass *pass;
    const float *prior;
    bool retry;
    SdmSurface *out;
    char *scratch; /* a piece of `bytes` for each thread */
    size_t bytes, cost_bytes;
} Match;

static SdmCostJob cost_job(const Match *m, SdmSpan span, int row_begin, int row_end, char *scratch)
{
    const SdmLevelTask *const task = m->task;
    return (SdmCostJob){.left = task->left + span.x0,
                        .right = task->right + span.x0,
                        .stride = task->win.w,
                        .width = span.x1 - span.x0,
                        .height = task->win.h,
                        .row_begin = row_begin,
                        .row_end = row_end,
                        .window = m->pass->window,
                        .right_shift = task->v_shift,
                        .dmin = -m->pass->range,
                        .dmax = m->pass->range,
                        .min_sigma = m->pass->min_sigma,
                        .scratch = scratch};
}

/* Strips of rows that threads take one by one: where columns are left out, the blocks that these belong to.
 */
typedef struct Strips {
    int count, y0, rows;
    const SdmSpan *span;
} Strips;

static Strips cut_strips(SdmContext *ctx, const SdmSpan *span, int y0, int y1)
{
    const int threads = sdm_threads(ctx), rows = y1 - y0;
    const int count = span                   ? (rows + SDM_SPAN_ROWS - 1) / SDM_SPAN_ROWS
                      : rows < 128 * threads ? threads
                                             : rows / 128;
    return (Strips){count, y0, rows, span};
}

static int strip_begin(const Strips *s, int i)
{
    const int by_block = i * SDM_SPAN_ROWS < s->rows ? i * SDM_SPAN_ROWS : s->rows;
    return s->y0 + (s->span ? by_block : (int)((int64_t)s->rows * i / s->count));
}

/* Pixels from..end - 1 of the window keep their prior. */
static void keep_prior(const Match *m, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        m->out->h_m[i] = m->prior[i];
        m->out->flags[i] = SDM_QA_OUTSIDE;
        m->out->score[i] = 0;
    }
}

/* What lies outside the columns that matter. */
static void leave_out(const Match *m, SdmSpan span, int y0, int y1)
{
    const size_t w = (size_t)m->task->win.w;
    for (size_t y = (size_t)y0; y < (size_t)y1; y++) {
        keep_prior(m, y * w, y * w + (size_t)span.x0);
        keep_prior(m, y * w + (size_t)span.x1, (y + 1) * w);
    }
}

/* Rows y0..y1 - 1: their costs into `costs` (not NULL), or their heights, by labels if there are any. */
static void match_rows(SdmContext *ctx, const Match *m, int y0, int y1, const SdmLevelLabels *labels,
                       SdmLevelLabels *costs)
{
    const Strips strips = cut_strips(ctx, m->task->span, y0, y1);
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 1)
    for (int i = 0; i < strips.count; i++) {
        char *const mine = m->scratch + m->bytes * (size_t)sdm_thread();
        const int begin = strip_begin(&strips, i), end = strip_begin(&strips, i + 1);
        const SdmSpan span = sdm_span_of(m->task->span, m->task->win.w, begin);
        Consumer c = {.task = m->task, .pass = m->pass, .span = span, .prior = m->prior, .retry = m->retry,
                      .h_out = m->out->h_m, .flags_out = m->out->flags, .score_out = m->out->score,
                      .labels = labels};
        consumer_cut(&c, mine + m->cost_bytes, m->task->win.w);
        if (m->task->span && !m->retry)
            leave_out(m, span, begin, end);
        const SdmCostJob job = cost_job(m, span, begin, end, mine);
        if (job.width > 0)
            m->task->cost(&job, costs ? sdm_level_labels_cost : consume, costs ? (void *)costs : (void *)&c);
    }
}

/* All rows by labels, a band after the other. */
static SdmStatus match_by_labels(SdmContext *ctx, const Match *m)
{
    SdmStatus st = SDM_OK;
    const int h = m->task->win.h;
    SdmLevelLabels labels = {0};
    TRY(sdm_level_labels_open(ctx, m->task, m->pass, &labels));
    for (int y0 = 0; y0 < h; y0 += SDM_LABELS_BAND) {
        const int y1 = y0 + SDM_LABELS_BAND < h ? y0 + SDM_LABELS_BAND : h;
        labels.begin = y0;
        labels.end = y1;
        labels.y0 = y0 > SDM_OVERLAP ? y0 - SDM_OVERLAP : 0;
        labels.y1 = y1 + SDM_OVERLAP < h ? y1 + SDM_OVERLAP : h;
        match_rows(ctx, m, labels.y0, labels.y1, NULL, &labels);
        TRY(sdm_level_labels_choose(ctx, m->task, m->pass->optimizer, &labels));
        match_rows(ctx, m, y0, y1, &labels, NULL);
    }
done:
    sdm_level_labels_close(&labels);
    return st;
}

static SdmStatus match_into(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                            bool retry, SdmSurface *out)
{
    SdmStatus st = SDM_OK;
    const int w = task->win.w;
    Match m = {.task = task, .pass = pass, .prior = prior, .retry = retry, .out = out};
    m.cost_bytes = (task->kernels->cost_scratch(w, pass->window, -pass->range, pass->range) + 63) / 64 * 64;
    m.bytes = m.cost_bytes + consumer_bytes(pass, w);
    TRY(sdm_check_stop(ctx));
    TRY(sdm_alloc(ctx, &m.scratch, m.bytes * (size_t)sdm_threads(ctx), 1, "cost rows"));
    if (by_labels(pass))
        TRY(match_by_labels(ctx, &m));
    else
        match_rows(ctx, &m, 0, task->win.h, NULL, NULL);
done:
    sdm_free(&m.scratch);
    return st;
}

SdmStatus sdm_level_match(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                          SdmSurface *surface)
{
    return match_into(ctx, task, pass, prior, false, surface);
}

SdmStatus sdm_level_retry(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                          SdmSurface *surface)
{
    return match_into(ctx, task, pass, prior, true, surface);
}

typedef struct GapConsumer {
    const SdmKernels *kernels;
    size_t stride, x0; /* of the arrays' rows; their column that is the costs' first */
    const SdmPass *pass;
    float *scratch;  /* 3 rows; NULL: the scores are taken as they are */
    float *ray_error_v;    /* h x w */
    uint8_t *score0; /* h x w */
} GapConsumer;

static void consume_gaps(void *user, const SdmCostRow *row)
{
    const GapConsumer *const g = user;
    const size_t w = (size_t)row->width, at = (size_t)row->y * g->stride + g->x0;
    const float *score[3] = {row->score, row->score + row->pitch, row->score + 2 * row->pitch};
    for (size_t k = 0; k < 3 && g->scratch; k++) {
        memcpy(g->scratch + k * w, score[k], w * sizeof(float));
        make_fair(g->pass, row->width, row->left_texture, g->scratch + k * w);
        score[k] = g->scratch + k * w;
    }
    g->kernels->ray_error_row(score, row->width, g->ray_error_v + at, g->score0 + at);
}

SdmStatus sdm_level_ray_error(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, float *ray_error_v,
                        uint8_t *score0)
{
    SdmStatus st = SDM_OK;
    const int w = task->win.w, h = task->win.h, threads = sdm_threads(ctx);
    const size_t cost_bytes = (task->kernels->cost_scratch(w, pass->window, -1, 1) + 63) / 64 * 64;
    SdmPass rows = *pass; /* the range is of rows */
    rows.range = 1;
    const size_t bytes = cost_bytes + (3 * sizeof(float) * (size_t)w + 63) / 64 * 64;
    char *scratch = NULL;
    TRY(sdm_alloc(ctx, &scratch, bytes * (size_t)threads, 1, "cost rows"));
    const Strips strips = cut_strips(ctx, task->span, 0, h);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int i = 0; i < strips.count; i++) {
        char *const mine = scratch + bytes * (size_t)sdm_thread();
        const int begin = strip_begin(&strips, i), end = strip_begin(&strips, i + 1);
        const SdmSpan span = sdm_span_of(task->span, w, begin);
        const Match m = {.task = task, .pass = &rows};
        SdmCostJob job = cost_job(&m, span, begin, end, mine);
        job.along_v = true;
        job.right_shift = 0;
        GapConsumer g = {.kernels = task->kernels, .stride = (size_t)w, .x0 = (size_t)span.x0, .pass = pass,
                         .ray_error_v = ray_error_v, .score0 = score0,
                         .scratch = pass->score_sigma > 0.0f ? (float *)(void *)(mine + cost_bytes) : NULL};
        for (size_t k = (size_t)begin * (size_t)w; task->span && k < (size_t)end * (size_t)w; k++) {
            ray_error_v[k] = NAN;
            score0[k] = 0;
        }
        if (job.width > 0)
            task->cost(&job, consume_gaps, &g);
    }
done:
    sdm_free(&scratch);
    return st;
}
