/* Geoid undulation for a window of cells, interpolated between nodes that belong to the whole grid. */
// SPDX-License-Identifier: Apache-2.0
#include "dem/product_inside.h"

#include <math.h>

/* Undulation at cell (col, row) of n positions, given and returned in x, y. */
static SdmStatus at_cells(SdmContext *ctx, SdmProduct *p, size_t n, double *x, double *y,
                          double *undulation_m)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = p->grid.x0 + (x[i] + 0.5) * p->grid.spacing;
        y[i] = p->grid.y0 - (y[i] + 0.5) * p->grid.spacing;
    }
    sdm_projector_inverse(p->projector, n, x, y);
    return sdm_geoid_undulation(ctx, p->geoid, n, x, y, undulation_m);
}

/* One row of cells from the nodes above and below it; on their own where a node is off the projection. */
static SdmStatus fill_row(SdmContext *ctx, SdmProduct *p, int64_t col0, int64_t row, int64_t w,
                          const double *above, const double *below, float *out)
{
    SdmStatus st = SDM_OK;
    const int64_t step = p->geoid_step, first = col0 / step;
    const double ty = (double)(row % step) / (double)step;
    for (int64_t c = 0; c < w; c++) {
        const int64_t i = (col0 + c) / step - first;
        const double tx = (double)((col0 + c) % step) / (double)step;
        const double a = above[i] + ty * (below[i] - above[i]);
        const double b = above[i + 1] + ty * (below[i + 1] - above[i + 1]);
        double n = a + tx * (b - a);
        if (isnan(n)) {
            double x = (double)(col0 + c), y = (double)row;
            TRY(at_cells(ctx, p, 1, &x, &y, &n));
        }
        out[c] = (float)n;
    }
done:
    return st;
}

SdmStatus sdm_geoid_window(SdmContext *ctx, SdmProduct *p, int64_t col0, int64_t row0, int64_t w, int64_t h,
                           float *undulation_m)
{
    SdmStatus st = SDM_OK;
    double *x = NULL, *y = NULL, *node = NULL;
    const int64_t step = p->geoid_step, i0 = col0 / step, j0 = row0 / step;
    const size_t nx = (size_t)((col0 + w - 1) / step - i0 + 2), ny = (size_t)((row0 + h - 1) / step - j0 + 2);
    TRY(sdm_alloc(ctx, &x, nx * ny, sizeof *x, "undulation"));
    TRY(sdm_alloc(ctx, &y, nx * ny, sizeof *y, "undulation"));
    TRY(sdm_alloc(ctx, &node, nx * ny, sizeof *node, "undulation"));
    for (size_t j = 0; j < ny; j++)
        for (size_t i = 0; i < nx; i++) {
            x[j * nx + i] = (double)((i0 + (int64_t)i) * step);
            y[j * nx + i] = (double)((j0 + (int64_t)j) * step);
        }
    TRY(at_cells(ctx, p, nx * ny, x, y, node));
    for (int64_t r = 0; r < h; r++) {
        const size_t j = (size_t)((row0 + r) / step - j0);
        TRY(fill_row(ctx, p, col0, row0 + r, w, node + j * nx, node + (j + 1) * nx, undulation_m + r * w));
    }
done:
    sdm_free(&node);
    sdm_free(&y);
    sdm_free(&x);
    return st;
}
