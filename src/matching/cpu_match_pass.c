/* Stage 5 on the processor: a pass over a window of a level, by strips of rows that threads share. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/cpu_match_pass.h"

#include "core/vector_loops.h"

#include <math.h>

SdmStatus sdm_level_open(SdmContext *ctx, SdmLevelTask *task)
{
    const size_t n = (size_t)task->win.w * (size_t)task->win.h;
    task->left = task->right = NULL;
    PASS(sdm_alloc_raw(ctx, &task->left, n, sizeof *task->left, "the rectified left view"));
    PASS(sdm_alloc_raw(ctx, &task->right, n, sizeof *task->right, "the warped right view"));
    return sdm_warp_view(ctx, task, SDM_LEFT, NULL, task->left);
}

void sdm_level_close(SdmLevelTask *task)
{
    SDM_FREE(&task->left, &task->right);
}

SdmStatus sdm_level_warp(SdmContext *ctx, SdmLevelTask *task, const float *surface_m)
{
    return sdm_warp_view(ctx, task, SDM_RIGHT, surface_m, task->right);
}

/* Shared by the threads of a pass. */
typedef struct Match {
    const SdmLevelTask *task;
    const SdmPass *pass;
    const float *prior;
    bool retry; /* valid pixels keep their heights */
    SdmSurface *out;
    char *scratch; /* a piece of `bytes` for each thread */
    size_t bytes, cost_bytes;
} Match;

/* A thread's consumer of rows of scores. */
typedef struct Consumer {
    const Match *match;
    SdmRowExtent extent; /* of the rows: column 0 of a row of scores is the first of these */
    SdmPickRow pick;
    SdmRowCells cells;
} Consumer;

static void update_heights(void *user, const SdmCostRow *row)
{
    Consumer *const c = user;
    const Match *const m = c->match;
    const SdmLevelTask *const task = m->task;
    const SdmPass *const p = m->pass;
    const int w = row->width;
    const size_t at = (size_t)row->y * (size_t)task->win.w + (size_t)c->extent.x0;
    const SdmWindow part = sdm_window_columns(&task->win, c->extent);
    task->kernels->pick_row(row, &c->pick);
    sdm_lattice_row(task->lattice, &part, row->y, SDM_RIGHT, &c->cells);
    const SdmUpdateRow u = {.width = w,
                            .residual = c->pick.residual,
                            .score = c->pick.score,
                            .runner_up = c->pick.runner_up,
                            .mismatch = c->pick.mismatch,
                            .edge = c->pick.edge,
                            .texture = row->left_texture,
                            .prior = m->prior + at,
                            .du_dh = c->cells.du_dh,
                            .min_score = p->min_score,
                            .min_margin = p->min_margin,
                            .max_mismatch = p->max_mismatch,
                            .not_at_edge = p->min_margin >= 0.0f,
                            .keep_valid = m->retry,
                            .min_quality = sdm_pass_min_quality(p),
                            .h_m = m->out->h_m + at,
                            .flags = m->out->flags + at,
                            .quality = m->out->score + at};
    task->kernels->update_row(&u);
}

/* Scratch of a thread's consumer: 5 rows of floats, a row of bytes, lattice cells. */
static size_t consumer_bytes(int w)
{
    const size_t n = ((size_t)w + 15) / 16 * 16;
    return (n * 5 * sizeof(float) + n + sdm_row_cells_bytes(w) + 127) / 64 * 64;
}

static Consumer consumer_cut(const Match *m, SdmRowExtent extent, char *scratch)
{
    const int w = m->task->win.w;
    const size_t n = ((size_t)w + 15) / 16 * 16;
    float *const f = (float *)(void *)scratch;
    Consumer c = {.match = m, .extent = extent};
    c.pick = (SdmPickRow){.residual = f, .score = f + n, .edge = (uint8_t *)(f + 5 * n)};
    if (m->pass->min_margin > 0.0f) /* the runner-up is never better */
        c.pick.runner_up = f + 2 * n;
    if (m->pass->max_mismatch >= 0.0f) {
        c.pick.right_best = f + 3 * n;
        c.pick.mismatch = f + 4 * n;
    }
    sdm_row_cells_cut(&c.cells, scratch + (n * 5 * sizeof(float) + n + 63) / 64 * 64, w);
    c.cells.cells = NULL; /* of the lattice, only du_dh */
    return c;
}

static SdmCostJob cost_job(const SdmLevelTask *task, const SdmPass *pass, SdmRowExtent extent, int row_begin,
                           int row_end, char *scratch)
{
    return (SdmCostJob){.left = task->left + extent.x0,
                        .right = task->right + extent.x0,
                        .stride = task->win.w,
                        .width = extent.x1 - extent.x0,
                        .height = task->win.h,
                        .row_begin = row_begin,
                        .row_end = row_end,
                        .window = pass->window,
                        .right_shift = task->v_shift,
                        .dmin = -pass->range,
                        .dmax = pass->range,
                        .min_sigma = pass->min_sigma,
                        .scratch = scratch};
}

/* Strips of rows that threads take one by one: where columns are left out, the blocks of these. */
typedef struct Strips {
    int count, y0, rows;
    const SdmRowExtent *extent;
} Strips;

static Strips cut_strips(SdmContext *ctx, const SdmRowExtent *extent, int y0, int y1)
{
    const int threads = sdm_threads(ctx), rows = y1 - y0;
    const int count = extent                 ? (rows + SDM_EXTENT_ROWS - 1) / SDM_EXTENT_ROWS
                      : rows < 128 * threads ? threads
                                             : rows / 128;
    return (Strips){count, y0, rows, extent};
}

static int strip_begin(const Strips *s, int i)
{
    const int by_block = i * SDM_EXTENT_ROWS < s->rows ? i * SDM_EXTENT_ROWS : s->rows;
    return s->y0 + (s->extent ? by_block : (int)((int64_t)s->rows * i / s->count));
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

/* The same for the columns outside the extent. */
static void leave_out(const Match *m, SdmRowExtent extent, int y0, int y1)
{
    const size_t w = (size_t)m->task->win.w;
    for (size_t y = (size_t)y0; y < (size_t)y1; y++) {
        keep_prior(m, y * w, y * w + (size_t)extent.x0);
        keep_prior(m, y * w + (size_t)extent.x1, (y + 1) * w);
    }
}

/* Heights of the rows begin..end - 1 and the columns of the extent. */
static void match_part(const Match *m, SdmRowExtent extent, int begin, int end, char *scratch)
{
    Consumer c = consumer_cut(m, extent, scratch + m->cost_bytes);
    const SdmCostJob job = cost_job(m->task, m->pass, extent, begin, end, scratch);
    if (job.width > 0)
        m->task->cost(&job, update_heights, &c);
}

/* ---- a retry: parts that have pixels to match ---- */

enum {
    RETRY_ROWS = 16,
    RETRY_COLUMNS = 32,
    RETRY_LEAD = 4 /* rows of scores that take as long as the sums that a part begins with */
};

/* Can a retry change a pixel of the rectangle?  Not a valid one, which keeps its height, nor one that has no
 * data in the left view, which has no score with any window. */
SDM_VECTOR_LOOPS static bool has_open(const Match *m, int x0, int x1, int y0, int y1)
{
    uint16_t open = 0;
    for (int y = y0; y < y1 && !open; y++) {
        const size_t row = (size_t)y * (size_t)m->task->win.w;
        const uint16_t *const flags = m->out->flags + row;
        const int16_t *const left = m->task->left + row;
        for (int x = x0; x < x1; x++) { /* of 16 bits and without branches, so that it vectorises */
            const uint16_t off = (flags[x] == SDM_QA_OUTSIDE) & (left[x] == SDM_PIXEL_NODATA);
            open |= (uint16_t)(~(flags[x] | off) & SDM_QA_VALID);
        }
    }
    return open;
}

/* The first columns from x on that have such pixels in the rows y0..y1 - 1, with the columns around on which
 * their matches depend; without columns where no pixel is left.  Pixels of the columns around keep what they
 * have, so it does not matter that their own windows leave the part. */
static SdmRowExtent next_run(const Match *m, SdmRowExtent extent, int x, int y0, int y1)
{
    const int reach = m->pass->window / 2 + SDM_CENSUS_HALF_X + 2 * m->pass->range + 1;
    SdmRowExtent run = {extent.x1, extent.x1};
    for (bool found = false; x < extent.x1 && (!found || x <= run.x1 + reach); x += RETRY_COLUMNS) {
        const int end = x + RETRY_COLUMNS < extent.x1 ? x + RETRY_COLUMNS : extent.x1;
        if (!has_open(m, x, end, y0, y1))
            continue;
        if (!found)
            run.x0 = x - reach > extent.x0 ? x - reach : extent.x0;
        run.x1 = end + reach < extent.x1 ? end + reach : extent.x1;
        found = true;
    }
    return run;
}

/* The time of a strip's parts, in pixels; they are matched if there is scratch memory for it. */
static int64_t match_open(const Match *m, SdmRowExtent extent, int begin, int end, char *scratch)
{
    int64_t pixels = 0;
    for (int y0 = begin; y0 < end; y0 += RETRY_ROWS) {
        const int y1 = y0 + RETRY_ROWS < end ? y0 + RETRY_ROWS : end;
        SdmRowExtent run = next_run(m, extent, extent.x0, y0, y1);
        for (; run.x0 < run.x1; run = next_run(m, extent, run.x1, y0, y1)) {
            pixels += (int64_t)(run.x1 - run.x0) * (y1 - y0 + RETRY_LEAD);
            if (scratch)
                match_part(m, run, y0, y1, scratch);
        }
    }
    return pixels;
}

static void retry_strip(const Match *m, SdmRowExtent extent, int begin, int end, char *scratch)
{
    const int64_t whole = (int64_t)(extent.x1 - extent.x0) * (end - begin + RETRY_LEAD);
    if (match_open(m, extent, begin, end, NULL) < whole)
        match_open(m, extent, begin, end, scratch);
    else
        match_part(m, extent, begin, end, scratch);
}

/* Heights of all rows. */
static void match_rows(SdmContext *ctx, const Match *m)
{
    const SdmLevelTask *const task = m->task;
    const Strips strips = cut_strips(ctx, task->extent, 0, task->win.h);
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 1)
    for (int i = 0; i < strips.count; i++) {
        char *const mine = m->scratch + m->bytes * (size_t)sdm_thread();
        const int begin = strip_begin(&strips, i), end = strip_begin(&strips, i + 1);
        const SdmRowExtent extent = sdm_row_extent(task->extent, task->win.w, begin);
        if (m->retry) {
            retry_strip(m, extent, begin, end, mine);
            continue;
        }
        if (task->extent)
            leave_out(m, extent, begin, end);
        match_part(m, extent, begin, end, mine);
    }
}

SdmStatus sdm_level_match(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                          bool retry, SdmSurface *out)
{
    const int w = task->win.w;
    Match m = {.task = task, .pass = pass, .prior = prior, .retry = retry, .out = out};
    m.cost_bytes = (task->kernels->cost_scratch(w, pass->window, -pass->range, pass->range) + 63) / 64 * 64;
    m.bytes = m.cost_bytes + consumer_bytes(w);
    SDM_OWNED char *scratch = NULL;
    PASS(sdm_check_stop(ctx));
    PASS(sdm_alloc_raw(ctx, &scratch, m.bytes * (size_t)sdm_threads(ctx), 1, "cost rows"));
    m.scratch = scratch;
    match_rows(ctx, &m);
    return SDM_OK;
}

/* ---- ray intersection error ---- */

typedef struct RayErrorConsumer {
    const SdmKernels *kernels;
    size_t stride, x0;  /* of the arrays' rows; their column that is the costs' first */
    float *ray_error_v; /* h x w */
    uint8_t *score0;    /* h x w */
} RayErrorConsumer;

static void find_ray_errors(void *user, const SdmCostRow *row)
{
    const RayErrorConsumer *const g = user;
    const size_t at = (size_t)row->y * g->stride + g->x0;
    const float *const score[3] = {row->score, row->score + row->pitch, row->score + 2 * row->pitch};
    g->kernels->ray_error_row(score, row->width, g->ray_error_v + at, g->score0 + at);
}

SdmStatus sdm_level_ray_error(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, float *ray_error_v,
                              uint8_t *score0)
{
    const int w = task->win.w, h = task->win.h, threads = sdm_threads(ctx);
    SdmPass rows = *pass; /* the range is of rows */
    rows.range = 1;
    const size_t bytes = (task->kernels->cost_scratch(w, pass->window, -1, 1) + 63) / 64 * 64;
    SDM_OWNED char *scratch = NULL;
    PASS(sdm_alloc_raw(ctx, &scratch, bytes * (size_t)threads, 1, "cost rows"));
    const Strips strips = cut_strips(ctx, task->extent, 0, h);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int i = 0; i < strips.count; i++) {
        char *const mine = scratch + bytes * (size_t)sdm_thread();
        const int begin = strip_begin(&strips, i), end = strip_begin(&strips, i + 1);
        const SdmRowExtent extent = sdm_row_extent(task->extent, w, begin);
        SdmCostJob job = cost_job(task, &rows, extent, begin, end, mine);
        job.along_v = true;
        job.right_shift = 0;
        RayErrorConsumer g = {.kernels = task->kernels,
                              .stride = (size_t)w,
                              .x0 = (size_t)extent.x0,
                              .ray_error_v = ray_error_v,
                              .score0 = score0};
        for (size_t k = (size_t)begin * (size_t)w; task->extent && k < (size_t)end * (size_t)w; k++) {
            ray_error_v[k] = NAN;
            score0[k] = 0;
        }
        if (job.width > 0)
            task->cost(&job, find_ray_errors, &g);
    }
    return SDM_OK;
}
