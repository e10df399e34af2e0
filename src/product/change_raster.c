/* Cells of a DEM against the reference that corrected its cameras. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"
#include "core/vector_loops.h"
#include "geo/cell_places.h"

#include <math.h>

enum { NODE_STEP = 16, TOGETHER = 128 /* cells of a row */ };

SdmStatus sdm_change_open(SdmContext *ctx, const SdmProductRequest *from, SdmChangeRaster *out)
{
    const SdmGrid *const grid = from->grid;
    const SdmHeightSource source = {.option = "--reference",
                                    .path = from->options->reference,
                                    .datum_option = "--reference-vertical",
                                    .datum = from->options->reference_vertical};
    *out = (SdmChangeRaster){.report = from->reference, .grid = grid};
    if (!from->reference_dem)
        PASS(sdm_height_raster_open(ctx, &source, &out->opened));
    PASS(sdm_heights_on_grid_open(ctx, from->reference_dem ? from->reference_dem : out->opened, grid,
                                  from->lon_deg, from->lat_deg, &out->on_grid));
    PASS(sdm_projector_open(ctx, from->reference->grid.wkt, &out->plane));
    PASS(sdm_alloc(ctx, &out->histogram, 2 * SDM_CHANGE_BINS, sizeof *out->histogram, "differences"));
    return sdm_mean_map_open(ctx, grid->cols, grid->rows, SDM_CHANGE_PREVIEW, &out->map);
}

void sdm_change_close(SdmChangeRaster *c)
{
    sdm_heights_on_grid_close(&c->on_grid);
    sdm_height_raster_close(&c->opened);
    sdm_projector_close(&c->plane);
    sdm_free(&c->histogram);
    sdm_mean_map_close(&c->map);
}

/* ---- rows ---- */

/* Places in the grid of the mask, in its cells.  n->x and n->y are the caller's to free. */
static SdmStatus place_mask(SdmContext *ctx, const SdmChangeRaster *c, const int64_t win[4], SdmPlaceNodes *n)
{
    const SdmGrid *const mask = &c->report->grid;
    PASS(sdm_place_nodes_open(ctx, win, NODE_STEP, n));
    for (size_t i = 0; i < n->nx * n->ny; i++) {
        n->x[i] = c->grid->x0 + n->x[i] * c->grid->spacing;
        n->y[i] = c->grid->y0 - n->y[i] * c->grid->spacing;
    }
    sdm_projector_inverse(c->on_grid.projector, n->nx * n->ny, n->x, n->y);
    sdm_projector_forward(c->plane, n->nx * n->ny, n->x, n->y);
    for (size_t i = 0; i < n->nx * n->ny; i++) {
        n->x[i] = (n->x[i] - mask->x0) / mask->spacing;
        n->y[i] = (mask->y0 - n->y[i]) / mask->spacing;
    }
    return SDM_OK;
}

/* The cell of the mask, of cols x rows, that each place lies in; -1: none. */
SDM_VECTOR_LOOPS static void find_mask_cells(const double *restrict x, const double *restrict y, int n,
                                             int cols, int rows, int32_t *restrict cell)
{
    for (int i = 0; i < n; i++) {
        const int in = (x[i] >= 0.0) & (y[i] >= 0.0) & (x[i] < cols) & (y[i] < rows);
        const double cx = in ? x[i] : 0.0, cy = in ? y[i] : 0.0;
        const int32_t at = (int32_t)cy * cols + (int32_t)cx;
        cell[i] = in ? at : -1;
    }
}

/* Differences in metres, multiples of a step; SDM_NODATA: none. */
SDM_VECTOR_LOOPS static void find_differences(const float *restrict height_m,
                                              const float *restrict reference_m, int n, double step_m,
                                              float *restrict out)
{
    for (int i = 0; i < n; i++) {
        const double d = (double)height_m[i] - (double)reference_m[i],
                     rounded = floor(d / step_m + 0.5) * step_m;
        out[i] = isnan(d) ? SDM_NODATA : (float)rounded;
    }
}

/* Mark the cells that the fit left out, n of a row from column `col` on, at most TOGETHER. */
static void fill_left_out(const SdmChangeRaster *c, const SdmPlaceNodes *nodes, int64_t col, int64_t row,
                          int n, const float *difference_m, float *left_out)
{
    const SdmGrid *const mask = &c->report->grid;
    double x[TOGETHER], y[TOGETHER];
    int32_t at[TOGETHER];
    sdm_cell_places(nodes, col, row, n, x, y);
    find_mask_cells(x, y, n, (int)mask->cols, (int)mask->rows, at);
    for (int i = 0; i < n; i++)
        left_out[i] = difference_m[i] == SDM_NODATA              ? SDM_NODATA
                      : at[i] >= 0 && c->report->left_out[at[i]] ? 1.0f
                                                                 : 0.0f;
}

/* Bins of the histogram of n cells' differences, -1 for none, and the differences in steps of the preview. */
SDM_VECTOR_LOOPS static void find_bins(const float *restrict difference_m, int n, int32_t *restrict bin,
                                       int32_t *restrict steps)
{
    for (int i = 0; i < n; i++) {
        const double d_m = (double)difference_m[i], at = d_m / SDM_CHANGE_BIN_M + SDM_CHANGE_BINS / 2;
        const double least = at >= 0.0 ? at : 0.0,
                     held = least < SDM_CHANGE_BINS - 1 ? least : SDM_CHANGE_BINS - 1;
        const double above_m = d_m < -1000.0 ? -1000.0 : d_m, held_m = above_m > 1000.0 ? 1000.0 : above_m;
        const int32_t in = (int32_t)held;
        bin[i] = difference_m[i] == SDM_NODATA ? -1 : in;
        steps[i] = (int32_t)floor(held_m / SDM_CHANGE_STEP_M + 0.5);
    }
}

/* Count the differences of a row of w cells for the report. */
static void count_row(SdmChangeRaster *c, int64_t col0, int64_t row, int64_t w, const float *difference_m,
                      const float *left_out)
{
    int32_t bin[TOGETHER], steps[TOGETHER];
    for (int64_t done = 0; done < w; done += TOGETHER) {
        const int n = w - done < TOGETHER ? (int)(w - done) : TOGETHER;
        find_bins(difference_m + done, n, bin, steps);
        for (int i = 0; i < n; i++) {
            if (bin[i] < 0)
                continue;
            c->histogram[(left_out[done + i] > 0.5f ? SDM_CHANGE_BINS : 0) + bin[i]]++;
            sdm_mean_map_add(&c->map, col0 + done + i, row, steps[i]);
        }
    }
}

SdmStatus sdm_change_rows(SdmContext *ctx, SdmChangeRaster *c, const int64_t window[4], const float *height_m,
                          double step_m, float *difference_m, float *left_out)
{
    SdmStatus st = SDM_OK;
    const int64_t w = window[2], h = window[3];
    SdmPlaceNodes n = {0};
    SDM_OWNED float *reference_m = NULL;
    TRY(sdm_alloc_raw(ctx, &reference_m, (size_t)(w * h), sizeof *reference_m, "rows of the reference"));
    TRY(place_mask(ctx, c, window, &n));
    TRY(sdm_heights_on_grid(ctx, &c->on_grid, window, height_m, reference_m));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int64_t r = 0; r < h; r++)
        for (int64_t i = 0; i < w; i += TOGETHER) {
            const int count = w - i < TOGETHER ? (int)(w - i) : TOGETHER;
            const int64_t at = r * w + i;
            find_differences(height_m + at, reference_m + at, count, step_m, difference_m + at);
            fill_left_out(c, &n, window[0] + i, window[1] + r, count, difference_m + at, left_out + at);
        }
    for (int64_t r = 0; r < h; r++)
        count_row(c, window[0], window[1] + r, w, difference_m + r * w, left_out + r * w);
done:
    SDM_FREE(&n.x, &n.y);
    return st;
}

/* ---- what the report says ---- */

int64_t sdm_change_count(const SdmChangeRaster *c, int left_out)
{
    int64_t n = 0;
    for (int i = 0; i < SDM_CHANGE_BINS; i++)
        n += c->histogram[left_out * SDM_CHANGE_BINS + i];
    return n;
}

SdmReferenceSpread sdm_change_spread(const SdmChangeRaster *c, int left_out)
{
    const int64_t *const bin = c->histogram + left_out * SDM_CHANGE_BINS, n = sdm_change_count(c, left_out);
    int64_t sum = 0;
    int middle = 0, reach = 0;
    if (n == 0)
        return (SdmReferenceSpread){NAN, NAN};
    while ((sum += bin[middle]) * 2 < n)
        middle++;
    for (sum = bin[middle]; sum * 2 < n; reach++) {
        const int lo = middle - reach - 1, hi = middle + reach + 1;
        sum += (lo >= 0 ? bin[lo] : 0) + (hi < SDM_CHANGE_BINS ? bin[hi] : 0);
    }
    return (SdmReferenceSpread){(middle + 0.5 - SDM_CHANGE_BINS / 2) * SDM_CHANGE_BIN_M,
                                1.4826 * (reach + 0.25) * SDM_CHANGE_BIN_M};
}
