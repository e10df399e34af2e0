/* Stage 5 on the processor: views of a window of a level, and a pass over it, by strips of rows that threads
 * share. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/cpu_match_pass.h"

#include "core/vector_loops.h"

#include <math.h>

/* ---- an image, the lattice and the surface of a window -> the view of the window ---- */

/* Columns done together; and what is fetched for rows further down, see SdmWarpRow. */
typedef struct Panel {
    SdmRowExtent columns;
    int64_t ahead;
    int fetch_each, fetch_rows; /* in each so many rows */
} Panel;

/* The processor does not prefetch the next row of a panel: it lies in other pages. */
static void fetch_row(const float *surface_m, const int16_t *out, int width)
{
    for (int x = 0; x < width; x += 16)
        __builtin_prefetch(surface_m + x);
    for (int x = 0; x < width; x += 32)
        __builtin_prefetch(out + x, 1);
}

/* Columns of a row of a view, those off its extent as no data. */
static void warp_row(const SdmLevelTask *task, enum SdmSide side, const float *surface_m, int y,
                     const Panel *panel, SdmRowCells *r, int16_t *out)
{
    const SdmRowExtent columns = panel->columns;
    const SdmLevelImage *const src = side == SDM_LEFT ? task->left_source : task->right_source;
    SdmRowExtent extent = sdm_row_extent(task->extent, task->win.w, y);
    extent.x0 = extent.x0 < columns.x0 ? columns.x0 : extent.x0 < columns.x1 ? extent.x0 : columns.x1;
    extent.x1 = extent.x1 > columns.x1 ? columns.x1 : extent.x1 > extent.x0 ? extent.x1 : extent.x0;
    const SdmWindow part = sdm_window_columns(&task->win, extent);
    const size_t row = (size_t)y * (size_t)task->win.w, at = row + (size_t)extent.x0;
    for (int x = columns.x0; x < extent.x0; x++)
        out[row + (size_t)x] = SDM_PIXEL_NODATA;
    for (int x = extent.x1; x < columns.x1; x++)
        out[row + (size_t)x] = SDM_PIXEL_NODATA;
    if (part.w <= 0)
        return;
    if (surface_m && part.w < task->win.w && y + 1 < task->win.h)
        fetch_row(surface_m + at + task->win.w, out + at + task->win.w, part.w);
    sdm_lattice_row(task->lattice, &part, y, side, r);
    const SdmWarpRow in = {.cells = r->cells,
                           .cell_begin = r->begin,
                           .cell_count = r->count,
                           .fraction = r->fraction,
                           .width = part.w,
                           .surface_m = surface_m ? surface_m + at : NULL,
                           .height0_m = (float)task->lattice->height0_m,
                           .source = src->data,
                           .source_stride = src->w,
                           .source_col0 = (int32_t)src->x0,
                           .source_row0 = (int32_t)src->y0,
                           .source_width = (int32_t)src->w,
                           .source_height = (int32_t)src->h,
                           .ahead = panel->ahead,
                           .fetch_each = y % panel->fetch_rows == 0 ? panel->fetch_each : 0};
    task->kernels->warp_row(&in, out + at);
}

/* Where a row of a view runs along the source, it slants a little, so its pieces on one source row are short.
 * For each piece the next row takes another source row, which the processor does not prefetch.
 *
 * Where it runs down the source, each of its pixels is in another line of the cache, so columns are done
 * together whose lines are still there for the next row. */
static Panel first_panel(const SdmLevelTask *task, enum SdmSide side)
{
    enum {
        SOURCE_ROWS = 112, /* that a panel's row crosses */
        FLAT = 8,          /* columns for a source row from which on a row runs along the source */
        LINE = 32,         /* pixels of a line of the cache */
        DOWN_ROWS = 16,
        DOWN_AHEAD = 48 /* fetched where it runs down: so often, so far */
    };
    const SdmLattice *const lat = task->lattice;
    const SdmWindow *const win = &task->win;
    const int64_t u = (win->u0 + win->w / 2) * ((int64_t)1 << win->level) - lat->u0;
    const int64_t v = (win->v0 + win->h / 2) * ((int64_t)1 << win->level) - lat->v0;
    const SdmNode *const n = lat->node + v / lat->step * lat->nu + u / lat->step, *const below = n + lat->nu;
    const int64_t *const here = side == SDM_LEFT ? n->left : n->right,
                         *const next = side == SDM_LEFT ? n[1].left : n[1].right,
                         *const lower = side == SDM_LEFT ? below->left : below->right;
    const double slope = fabs((double)(next[1] - here[1])) / (SDM_FIX * lat->step); /* rows for a column */
    const int64_t stride = (side == SDM_LEFT ? task->left_source : task->right_source)->w;
    if (slope * FLAT <= 1.0) /* the fourth row of taps of the row below */
        return (Panel){.columns = {0, win->w},
                       .ahead = (lower[1] < here[1] ? -2 : 3) * stride,
                       .fetch_each = LINE / 2,
                       .fetch_rows = 1};
    const int columns = (int)fmin(SOURCE_ROWS / slope, win->w) / 16 * 16 + 16;
    return (Panel){.columns = {0, columns < win->w ? columns : win->w},
                   .ahead = lower[0] < here[0] ? -DOWN_AHEAD : DOWN_AHEAD,
                   .fetch_each = columns < win->w,
                   .fetch_rows = DOWN_ROWS};
}

SdmStatus sdm_warp_view(SdmContext *ctx, const SdmLevelTask *task, enum SdmSide side, const float *surface_m,
                        int16_t *out)
{
    const int w = task->win.w, h = task->win.h, threads = sdm_threads(ctx);
    const Panel first = first_panel(task, side);
    const size_t bytes = (sdm_row_cells_bytes(w) + 63) / 64 * 64;
    SDM_OWNED char *scratch = NULL;
    PASS(sdm_alloc(ctx, &scratch, bytes * (size_t)threads, 1, "lattice rows"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        SdmRowCells r;
        sdm_row_cells_cut(&r, scratch + bytes * (size_t)t, w);
        r.du_dh = NULL;
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        for (int x0 = 0; x0 < w; x0 += first.columns.x1) {
            const int x1 = x0 + first.columns.x1 < w ? x0 + first.columns.x1 : w;
            Panel panel = first;
            panel.columns = (SdmRowExtent){x0, x1};
            for (int y = y0; y < y1; y++)
                warp_row(task, side, surface_m, y, &panel, &r, out);
        }
    }
    return SDM_OK;
}

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

/* ---- a pass ---- */

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

/* Strips of the rows that threads take one by one: where columns are left out, the blocks of these. */
static int count_strips(SdmContext *ctx, const SdmLevelTask *task)
{
    const int threads = sdm_threads(ctx), rows = task->win.h;
    return task->extent           ? (rows + SDM_EXTENT_ROWS - 1) / SDM_EXTENT_ROWS
           : rows < 128 * threads ? threads
                                  : rows / 128;
}

static int strip_begin(const SdmLevelTask *task, int count, int i)
{
    const int rows = task->win.h, by_block = i * SDM_EXTENT_ROWS < rows ? i * SDM_EXTENT_ROWS : rows;
    return task->extent ? by_block : (int)((int64_t)rows * i / count);
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
    const int strips = count_strips(ctx, task);
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 1)
    for (int i = 0; i < strips; i++) {
        char *const mine = m->scratch + m->bytes * (size_t)sdm_thread();
        const int begin = strip_begin(task, strips, i), end = strip_begin(task, strips, i + 1);
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
    const int w = task->win.w, threads = sdm_threads(ctx);
    SdmPass rows = *pass; /* the range is of rows */
    rows.range = 1;
    const size_t bytes = (task->kernels->cost_scratch(w, pass->window, -1, 1) + 63) / 64 * 64;
    SDM_OWNED char *scratch = NULL;
    PASS(sdm_alloc_raw(ctx, &scratch, bytes * (size_t)threads, 1, "cost rows"));
    const int strips = count_strips(ctx, task);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int i = 0; i < strips; i++) {
        char *const mine = scratch + bytes * (size_t)sdm_thread();
        const int begin = strip_begin(task, strips, i), end = strip_begin(task, strips, i + 1);
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
