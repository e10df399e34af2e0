/* A layer's file -> its heights at cells of the common grid, by windows; its smooth error at a cell. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa_reasons.h"
#include "coreg/stack_layer.h"
#include "geo/height_raster.h"

#include <cpl_error.h>
#include <gdal.h>
#include <math.h>

enum {
    CHUNK_PIXELS = 2000000, /* of the file, read at once */
    MOST_NODE_CELLS = 16    /* cells of the common grid between nodes of positions, for strides, too */
};

/* The window's cells, as cells of a grid with the window's stride, moved by the shift of the layer. */
typedef struct ShiftedWindow {
    SdmGrid grid;
    int64_t cells[4];
} ShiftedWindow;

static ShiftedWindow shifted_window(const SdmStack *s, const SdmLayer *l, SdmCellWindow w)
{
    ShiftedWindow out = {.grid = s->grid, .cells = {w.col0 / w.stride, w.row0 / w.stride, w.w, w.h}};
    const double edge = 0.5 * (double)w.stride - 0.5, /* from the first cell's centre to that of a stride */
        col = (double)(w.col0 % w.stride) - edge + l->shift_m[0] / s->dx_m,
                 row = (double)(w.row0 % w.stride) - edge - l->shift_m[1] / s->dy_m;
    out.grid.x0 += col * s->grid.spacing;
    out.grid.y0 -= row * s->grid.spacing;
    out.grid.spacing *= (double)w.stride;
    return out;
}

/* Open a raster of a layer over the window; nearest: without means, by its nearest pixels. */
static SdmStatus open_raster(const SdmStack *s, const SdmLayer *l, const SdmHeightSource *source,
                             const ShiftedWindow *w, SdmHeightKernel kernel, SdmHeightRaster **raster,
                             SdmHeightsOnGrid *on)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_height_raster_open(s->ctx, source, raster));
    GDALDatasetH const file = sdm_height_raster_file(*raster);
    if (GDALGetRasterXSize(file) != l->width || GDALGetRasterYSize(file) != l->height)
        return sdm_fail(s->ctx, SDM_ERR_INPUT, "%s: changed while it was stacked (another size)",
                        source->path);
    TRY(sdm_heights_on_grid_open(s->ctx, *raster, &s->grid, l->lon_deg, l->lat_deg, on));
    on->grid = &w->grid;
    on->dx = on->dy = w->grid.spacing;
    sdm_heights_on_grid_set_kernel(on, kernel);
    while (on->step > 1 && on->step * w->grid.spacing > MOST_NODE_CELLS * s->grid.spacing)
        on->step /= 2;
done:
    return st;
}

/* The window of a raster of the layer, some rows at a time. */
static SdmStatus read_raster(const SdmStack *s, const SdmLayer *l, const SdmHeightSource *source,
                             SdmCellWindow window, SdmHeightKernel kernel, float *out)
{
    SdmStatus st = SDM_OK;
    SdmHeightRaster *raster = NULL;
    SdmHeightsOnGrid on = {.raster = NULL};
    const ShiftedWindow w = shifted_window(s, l, window);
    const double pixels = (double)window.stride * l->ratio, row_pixels = (double)window.w * pixels * pixels;
    const int64_t chunk = (int64_t)fmax(CHUNK_PIXELS / fmax(row_pixels, 1.0), 1.0);
    TRY(open_raster(s, l, source, &w, kernel, &raster, &on));
    for (int64_t row = 0; row < window.h; row += chunk) {
        const int64_t rows = chunk < window.h - row ? chunk : window.h - row;
        TRY(sdm_check_stop(s->ctx));
        TRY(sdm_heights_on_grid(s->ctx, &on,
                                (const int64_t[4]){w.cells[0], w.cells[1] + row, w.cells[2], rows}, NULL,
                                out + row * window.w));
    }
done:
    sdm_heights_on_grid_close(&on);
    sdm_height_raster_close(&raster);
    return st;
}

static SdmHeightSource qa_source(const SdmStack *s, const SdmLayer *l, int band)
{
    return (SdmHeightSource){.option = "QA raster",
                             .path = l->qa,
                             .keeps_datum = true,
                             .band = band,
                             .wkt = s->crs ? s->crs[l->crs].wkt : NULL};
}

SdmCellWindow sdm_layer_samples(const SdmStack *s, const SdmLayer *l)
{
    const int64_t step = s->sample_step;
    return (SdmCellWindow){.col0 = l->sample_col0 * step + step / 2,
                           .row0 = l->sample_row0 * step + step / 2,
                           .w = l->sample_cols,
                           .h = l->sample_rows,
                           .stride = step};
}

SdmStatus sdm_layer_read_errors(const SdmStack *s, const SdmLayer *l, SdmCellWindow window, float *error_m)
{
    const SdmHeightSource qa = qa_source(s, l, l->error_band);
    CPLPushErrorHandler(CPLQuietErrorHandler);
    const SdmStatus st = read_raster(s, l, &qa, window, SDM_KERNEL_MEAN, error_m);
    CPLPopErrorHandler();
    return st;
}

SdmStatus sdm_layer_read(const SdmStack *s, const SdmLayer *l, SdmCellWindow window, float *height_m,
                         uint8_t *filled)
{
    SdmStatus st = SDM_OK;
    const SdmHeightSource dem = {.option = "DEM",
                                 .path = l->path,
                                 .datum_option = "--dem-vertical",
                                 .keeps_datum = true,
                                 .declares_voids = true},
                          qa = {.option = "QA raster",
                                .path = l->qa,
                                .keeps_datum = true,
                                .band = l->qa_band,
                                .wkt = s->crs ? s->crs[l->crs].wkt : NULL};
    const size_t n = (size_t)(window.w * window.h);
    float *mask = NULL;
    CPLPushErrorHandler(CPLQuietErrorHandler);
    TRY(read_raster(s, l, &dem, window, SDM_KERNEL_MEAN, height_m));
    for (size_t i = 0; filled && i < n; i++)
        filled[i] = 0;
    if (!filled || !l->qa)
        goto done;
    TRY(sdm_alloc_raw(s->ctx, &mask, n, sizeof *mask, "mask"));
    TRY(read_raster(s, l, &qa, window, SDM_KERNEL_NEAREST, mask));
    for (size_t i = 0; i < n; i++)
        filled[i] = mask[i] > 0.0f && ((unsigned)mask[i] & SDM_QA_FILLED);
done:
    sdm_free(&mask);
    CPLPopErrorHandler();
    return st;
}

double sdm_layer_bias(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row)
{
    if (!l->bias_m)
        return l->tilt_m[0] + l->tilt_m[1] * (double)col + l->tilt_m[2] * (double)row;
    const double cells = (double)(s->bias_step * s->sample_step),
                 first = 0.5 * (double)((s->bias_step - 1) * s->sample_step) + (double)(s->sample_step / 2);
    const double x = fmin(fmax(((double)col - first) / cells - (double)l->bias_col0, 0.0),
                          (double)(l->bias_cols - 1)),
                 y = fmin(fmax(((double)row - first) / cells - (double)l->bias_row0, 0.0),
                          (double)(l->bias_rows - 1));
    const int64_t i = (int64_t)x, j = (int64_t)y, right = i + 1 < l->bias_cols, down = j + 1 < l->bias_rows;
    const float *const at = l->bias_m + j * l->bias_cols + i, *const below = at + down * l->bias_cols;
    const double t = x - (double)i, u = y - (double)j;
    return (1.0 - u) * ((1.0 - t) * (double)at[0] + t * (double)at[right]) +
           u * ((1.0 - t) * (double)below[0] + t * (double)below[right]);
}
