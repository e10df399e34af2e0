/* Geoid undulation for a window of cells, interpolated between nodes that belong to the whole grid. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geoid.h"

#include <math.h>

SdmStatus sdm_undulation_open(SdmContext *ctx, const SdmGrid *grid, int vertical, SdmUndulation *out)
{
    SdmStatus st = SDM_OK;
    *out = (SdmUndulation){.grid = grid};
    if (vertical == SDM_ELLIPSOID)
        return SDM_OK;
    out->step = (int)fmin(fmax(exp2(floor(log2(1000.0 / sdm_grid_spacing_m(grid)))), 1.0), 16.0);
    TRY(sdm_geoid_open(ctx, vertical, &out->geoid));
    TRY(sdm_projector_open(ctx, grid->wkt, &out->projector));
done:
    return st;
}

void sdm_undulation_close(SdmUndulation *u)
{
    sdm_geoid_close(&u->geoid);
    sdm_projector_close(&u->projector);
}

SdmStatus sdm_undulation_cells(SdmContext *ctx, SdmUndulation *u, size_t n, double *x, double *y,
                               double *undulation_m)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = u->grid->x0 + (x[i] + 0.5) * u->grid->spacing;
        y[i] = u->grid->y0 - (y[i] + 0.5) * u->grid->spacing;
    }
    sdm_projector_inverse(u->projector, n, x, y);
    return sdm_geoid_undulation(ctx, u->geoid, n, x, y, undulation_m);
}

/* One row of cells from the nodes above and below it; on their own where a node is off the projection. */
static SdmStatus fill_row(SdmContext *ctx, SdmUndulation *u, int64_t col0, int64_t row, int64_t w,
                          const double *above, const double *below, float *out)
{
    SdmStatus st = SDM_OK;
    const int64_t step = u->step, first = col0 / step;
    const double ty = (double)(row % step) / (double)step;
    for (int64_t c = 0; c < w; c++) {
        const int64_t i = (col0 + c) / step - first;
        const double tx = (double)((col0 + c) % step) / (double)step;
        const double a = above[i] + ty * (below[i] - above[i]);
        const double b = above[i + 1] + ty * (below[i + 1] - above[i + 1]);
        double n = a + tx * (b - a);
        if (isnan(n)) {
            double x = (double)(col0 + c), y = (double)row;
            TRY(sdm_undulation_cells(ctx, u, 1, &x, &y, &n));
        }
        out[c] = (float)n;
    }
done:
    return st;
}

SdmStatus sdm_undulation_window(SdmContext *ctx, SdmUndulation *u, int64_t col0, int64_t row0, int64_t w,
                                int64_t h, float *undulation_m)
{
    SdmStatus st = SDM_OK;
    double *x = NULL, *y = NULL, *node = NULL;
    const int64_t step = u->step, i0 = col0 / step, j0 = row0 / step;
    const size_t nx = (size_t)((col0 + w - 1) / step - i0 + 2), ny = (size_t)((row0 + h - 1) / step - j0 + 2);
    TRY(sdm_alloc(ctx, &x, nx * ny, sizeof *x, "undulation"));
    TRY(sdm_alloc(ctx, &y, nx * ny, sizeof *y, "undulation"));
    TRY(sdm_alloc(ctx, &node, nx * ny, sizeof *node, "undulation"));
    for (size_t j = 0; j < ny; j++)
        for (size_t i = 0; i < nx; i++) {
            x[j * nx + i] = (double)((i0 + (int64_t)i) * step);
            y[j * nx + i] = (double)((j0 + (int64_t)j) * step);
        }
    TRY(sdm_undulation_cells(ctx, u, nx * ny, x, y, node));
    for (int64_t r = 0; r < h; r++) {
        const size_t j = (size_t)((row0 + r) / step - j0);
        TRY(fill_row(ctx, u, col0, row0 + r, w, node + j * nx, node + (j + 1) * nx, undulation_m + r * w));
    }
done:
    sdm_free(&node);
    sdm_free(&y);
    sdm_free(&x);
    return st;
}
