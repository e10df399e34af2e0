/* Cells of a comparison: gathering by class, slope of the reference. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg_grid.h"

#include <math.h>

SdmStatus sdm_cells_alloc(SdmContext *ctx, SdmCells *c)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)(c->cols * c->rows);
    TRY(sdm_alloc(ctx, &c->dem_m, n, sizeof(float), "DEM heights"));
    TRY(sdm_alloc(ctx, &c->ref_m, n, sizeof(float), "reference heights"));
    TRY(sdm_alloc(ctx, &c->work, n, sizeof(float), "errors"));
    TRY(sdm_alloc(ctx, &c->scratch, n, sizeof(float), "errors"));
    TRY(sdm_alloc(ctx, &c->spline,
                  (size_t)(c->cols + 2 * SDM_SPLINE_PAD) * (size_t)(c->rows + 2 * SDM_SPLINE_PAD),
                  sizeof(float), "spline"));
    TRY(sdm_alloc(ctx, &c->flags, n, 1, "flags"));
    TRY(sdm_alloc(ctx, &c->row_start, (size_t)c->rows + 1, sizeof(int64_t), "rows"));
done:
    return st;
}

void sdm_cells_free(SdmCells *c)
{
    sdm_free(&c->dem_m);
    sdm_free(&c->ref_m);
    sdm_free(&c->work);
    sdm_free(&c->scratch);
    sdm_free(&c->spline);
    sdm_free(&c->flags);
    sdm_free(&c->row_start);
}

int64_t sdm_cells_gather(const SdmCells *c, const float *values, unsigned mask, unsigned want, float *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->rows * c->cols; i++)
        if ((c->flags[i] & mask) == want)
            out[n++] = values[i];
    return n;
}

/* Derivative from a value and its neighbours on one axis, NaN when neither is there. */
static double derivative(double before, double here, double after, double step)
{
    if (isfinite(before) && isfinite(after))
        return (after - before) / (2.0 * step);
    if (isfinite(after))
        return (after - here) / step;
    return (here - before) / step;
}

void sdm_cells_slope(SdmCells *c)
{
    const int64_t w = c->cols, h = c->rows;
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t j = 0; j < h; j++)
        for (int64_t i = 0; i < w; i++) {
            const float *const at = c->ref_m + j * w + i;
            const double here = (double)*at;
            const double gx =
                derivative(i > 0 ? (double)at[-1] : NAN, here, i + 1 < w ? (double)at[1] : NAN, c->dx_m);
            const double gy =
                derivative(j > 0 ? (double)at[-w] : NAN, here, j + 1 < h ? (double)at[w] : NAN, c->dy_m);
            const double slope_deg = atan(hypot(gx, gy)) * 57.295779513082321;
            unsigned bin = 0;
            if (isfinite(slope_deg))
                bin = slope_deg >= 50.0 ? 6 : (unsigned)(slope_deg / 10.0) + 1;
            uint8_t *const flags = c->flags + j * w + i;
            *flags = (uint8_t)((*flags & ~(unsigned)SDM_CELL_SLOPE) | bin << SDM_CELL_SLOPE_SHIFT);
        }
}
