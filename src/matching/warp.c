/* Stage 5: an image, the lattice and the surface of a window -> the view of the window. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/cpu_match_pass.h"

#include <math.h>

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
