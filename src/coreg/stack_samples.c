/* Layers -> their heights at every n-th cell of the grid (samples), and the residuals of these: sample minus
 * the median of all layers there. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa_reasons.h"
#include "core/stats.h"
#include "coreg/stack_layer.h"
#include "geo/gdal_scope.h"
#include "geo/height_raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a file -> heights at cells of the grid, by windows; its smooth error ---- */

enum {
    CHUNK_PIXELS = 2000000, /* of the file, read at once */
    MOST_NODE_CELLS = 16    /* cells of the common grid between nodes of positions, for strides, too */
};

/* The grid of which a window's cells are every stride-th, moved by the shift of the layer. */
static SdmGrid shifted_grid(const SdmStack *s, const SdmLayer *l, SdmCellWindow w)
{
    SdmGrid out = s->grid;
    const double edge = 0.5 * (double)w.stride - 0.5, /* from the first cell's centre to that of a stride */
        col = (double)(w.col0 % w.stride) - edge + l->shift_m[0] / s->dx_m,
                 row = (double)(w.row0 % w.stride) - edge - l->shift_m[1] / s->dy_m;
    out.x0 += col * s->grid.spacing;
    out.y0 -= row * s->grid.spacing;
    out.spacing *= (double)w.stride;
    return out;
}

/* The window of a raster of the layer, some rows at a time. */
static SdmStatus read_raster(const SdmStack *s, const SdmLayer *l, const SdmHeightSource *source,
                             SdmCellWindow window, SdmHeightKernel kernel, float *out)
{
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *raster = NULL;
    SDM_CLOSED_BY(sdm_heights_on_grid_close) SdmHeightsOnGrid on = {.raster = NULL};
    const SdmGrid grid = shifted_grid(s, l, window);
    const double pixels = (double)window.stride * l->ratio, row_pixels = (double)window.w * pixels * pixels;
    const int64_t chunk = (int64_t)fmax(CHUNK_PIXELS / fmax(row_pixels, 1.0), 1.0);
    PASS(sdm_height_raster_open(s->ctx, source, &raster));
    GDALDatasetH const file = raster->ds;
    if (GDALGetRasterXSize(file) != l->width || GDALGetRasterYSize(file) != l->height)
        return sdm_fail(s->ctx, SDM_ERR_INPUT, "%s: changed while it was stacked (another size)",
                        source->path);
    PASS(sdm_heights_on_grid_open(s->ctx, raster, &s->grid, l->lon_deg, l->lat_deg, &on));
    on.grid = &grid;
    on.dx = on.dy = grid.spacing;
    sdm_heights_on_grid_set_kernel(&on, kernel);
    while (on.step > 1 && on.step * grid.spacing > MOST_NODE_CELLS * s->grid.spacing)
        on.step /= 2;
    for (int64_t row = 0; row < window.h; row += chunk) {
        const int64_t rows = chunk < window.h - row ? chunk : window.h - row;
        PASS(sdm_check_stop(s->ctx));
        const int64_t cells[4] = {window.col0 / window.stride, window.row0 / window.stride + row, window.w,
                                  rows};
        PASS(sdm_heights_on_grid(s->ctx, &on, cells, NULL, out + row * window.w));
    }
    return SDM_OK;
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
    SDM_QUIET;
    return read_raster(s, l, &qa, window, SDM_KERNEL_MEAN, error_m);
}

SdmStatus sdm_layer_median_error(const SdmStack *s, const SdmLayer *l, double *median_m)
{
    SDM_OWNED float *error_m = NULL;
    const int64_t n = l->sample_cols * l->sample_rows;
    *median_m = (double)NAN;
    if (!l->error_band || n == 0)
        return SDM_OK;
    PASS(sdm_alloc(s->ctx, &error_m, (size_t)n, sizeof *error_m, "predicted errors"));
    PASS(sdm_layer_read_errors(s, l, sdm_layer_samples(s, l), error_m));
    const int64_t known = sdm_drop_nan_f32(error_m, n);
    *median_m = known ? sdm_median_f32(error_m, known) : (double)NAN;
    return SDM_OK;
}

/* Voids that the file does not declare: as of a reference. */
static SdmStatus look_for_voids(const SdmStack *s, SdmLayer *l)
{
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *raster = NULL;
    SDM_CLOSED_BY(sdm_heights_on_grid_close) SdmHeightsOnGrid on = {.raster = NULL};
    const SdmHeightSource dem = {
        .option = "DEM", .path = l->path, .datum_option = "--dem-vertical", .keeps_datum = true};
    PASS(sdm_height_raster_open(s->ctx, &dem, &raster));
    PASS(sdm_heights_on_grid_open(s->ctx, raster, &s->grid, l->lon_deg, l->lat_deg, &on));
    l->hides_voids = raster->hides_voids;
    l->void_value = raster->nodata;
    return SDM_OK;
}

SdmStatus sdm_layer_read(const SdmStack *s, const SdmLayer *l, SdmCellWindow window, float *height_m,
                         uint8_t *filled)
{
    const SdmHeightSource dem = {.option = "DEM",
                                 .path = l->path,
                                 .datum_option = "--dem-vertical",
                                 .keeps_datum = true,
                                 .declares_voids = true,
                                 .void_value = l->hides_voids ? &l->void_value : NULL},
                          qa = qa_source(s, l, l->qa_band);
    const size_t n = (size_t)(window.w * window.h);
    SDM_OWNED float *mask = NULL;
    SDM_QUIET;
    PASS(read_raster(s, l, &dem, window, SDM_KERNEL_MEAN, height_m));
    for (size_t i = 0; filled && i < n; i++)
        filled[i] = 0;
    if (!filled || !l->qa)
        return SDM_OK;
    PASS(sdm_alloc_raw(s->ctx, &mask, n, sizeof *mask, "mask"));
    PASS(read_raster(s, l, &qa, window, SDM_KERNEL_NEAREST, mask));
    for (size_t i = 0; i < n; i++)
        filled[i] = mask[i] > 0.0f && ((unsigned)mask[i] & SDM_QA_FILLED);
    return SDM_OK;
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

enum { MIN_SAMPLES = 1000, MAX_SAMPLES = 40000 };          /* of the median layer, for pairs */
static const double MAX_DIFFERENCES = 2e9;                 /* samples of all pairs */
static const double OUTLIER_NMADS = 3.0, MIN_NMAD_M = 0.1; /* a residual beyond is unstable */

/* First sample at or after a cell; sample k is cell k step + step / 2. */
static int64_t first_sample(int64_t cell, int64_t step)
{
    return (cell - step / 2 + step - 1) / step;
}

/* Choose the cells between samples, so that the work stays bounded for many and for large DEMs. */
static SdmStatus choose_steps(SdmStack *s)
{
    SDM_OWNED double *cells = NULL;
    double pairs = 1.0;
    PASS(sdm_alloc(s->ctx, &cells, (size_t)s->count, sizeof *cells, "sizes of the DEMs"));
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const a = &s->layer[i];
        cells[i] = (double)(a->cols * a->rows);
        for (int j = 0; j < i; j++) {
            const SdmLayer *const b = &s->layer[j];
            pairs += a->col0 < b->col0 + b->cols && b->col0 < a->col0 + a->cols &&
                     a->row0 < b->row0 + b->rows && b->row0 < a->row0 + a->rows;
        }
    }
    const double samples = fmin(fmax(MAX_DIFFERENCES / pairs, MIN_SAMPLES), MAX_SAMPLES);
    const double median_cells = sdm_select_f64(cells, s->count, s->count / 2);
    const int64_t step = (int64_t)fmax(floor(sqrt(median_cells / samples)), 1.0);
    s->pair_step = step > 1 ? 2 : 1; /* smooth errors are found from denser samples than shifts are */
    s->sample_step = (step + 1) / 2;
    s->sample_cols = first_sample(s->grid.cols, s->sample_step);
    s->sample_rows = first_sample(s->grid.rows, s->sample_step);
    return SDM_OK;
}

/* Checksum of samples as they were read: FNV-1a, a height or a flag at a time.  The order of the layers
 * depends on it, and with that the last bits of sums, so it differs from core/hash, which goes by words of 8
 * bytes. */
static uint64_t checksum_of(const float *height_m, const uint8_t *filled, int64_t n)
{
    static const uint64_t prime = UINT64_C(1099511628211);
    uint64_t h = UINT64_C(14695981039346656037);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &height_m[i], sizeof bits);
        h = (h ^ (isnan(height_m[i]) ? 1U : bits)) * prime;
        h = (h ^ filled[i]) * prime;
    }
    return h;
}

static SdmStatus sample_layer(SdmStack *s, SdmLayer *l)
{
    SDM_OWNED uint8_t *filled = NULL;
    const int64_t step = s->sample_step;
    const bool first = !l->sample;
#pragma omp critical(stack_status)
    sdm_progress(s->ctx, 1, s->sampled < s->count ? 0.3 * s->sampled++ / s->count : 0.5, "sample the DEMs");
    l->sample_col0 = first_sample(l->col0, step);
    l->sample_row0 = first_sample(l->row0, step);
    l->sample_cols = first_sample(l->col0 + l->cols, step) - l->sample_col0;
    l->sample_rows = first_sample(l->row0 + l->rows, step) - l->sample_row0;
    const int64_t n = l->sample_cols * l->sample_rows;
    if (first)
        PASS(SDM_ALLOC(s->ctx, "samples", SDM_ARRAY(l->sample, (size_t)n + 1),
                       SDM_ARRAY(l->residual, (size_t)n + 1), SDM_ARRAY(l->unstable, (size_t)n + 1)));
    if (n == 0)
        return SDM_OK;
    PASS(sdm_alloc(s->ctx, &filled, (size_t)n, 1, "samples"));
    if (first)
        PASS(look_for_voids(s, l));
    PASS(sdm_layer_read(s, l, sdm_layer_samples(s, l), l->sample, filled));
    if (first)
        l->checksum = checksum_of(l->sample, filled, n);
    for (int64_t i = 0; i < n; i++) {
        l->sample[i] = filled[i] ? NAN : l->sample[i];
        l->unstable[i] = 0;
    }
    return SDM_OK;
}

/* Convert the samples of a layer from heights above its geoid to heights above the ellipsoid. */
static SdmStatus add_geoid(SdmStack *s, SdmLayer *l, SdmUndulation *u)
{
    SDM_OWNED double *x = NULL, *y = NULL, *n = NULL;
    const size_t count = (size_t)(l->sample_cols * l->sample_rows);
    PASS(SDM_ALLOC(s->ctx, "geoid", SDM_ARRAY(x, count + 1), SDM_ARRAY(y, count + 1),
                   SDM_ARRAY(n, count + 1)));
    for (size_t i = 0; i < count; i++) {
        x[i] =
            (double)((l->sample_col0 + (int64_t)i % l->sample_cols) * s->sample_step + s->sample_step / 2) +
            0.5;
        y[i] =
            (double)((l->sample_row0 + (int64_t)i / l->sample_cols) * s->sample_step + s->sample_step / 2) +
            0.5;
    }
    PASS(sdm_undulation_cells(s->ctx, u, count, x, y, n));
    for (size_t i = 0; i < count; i++)
        l->sample[i] = (float)((double)l->sample[i] + n[i]);
    return SDM_OK;
}

static SdmStatus add_geoids(SdmStack *s)
{
    for (int vertical = SDM_EGM96; vertical <= SDM_EGM2008; vertical++) {
        SDM_CLOSED_BY(sdm_undulation_close) SdmUndulation u = {0};
        for (int i = 0; i < s->count; i++)
            if (s->layer[i].vertical == vertical) {
                if (!u.geoid)
                    PASS(sdm_undulation_open(s->ctx, &s->grid, vertical, &u));
                PASS(add_geoid(s, &s->layer[i], &u));
            }
    }
    return SDM_OK;
}

SdmStatus sdm_stack_each(SdmStack *s, SdmStatus (*step)(SdmStack *s, SdmLayer *l))
{
    int failed = s->count; /* the first layer that did, in their order */
    SdmStatus why = SDM_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int i = 0; i < s->count; i++) {
        bool go;
#pragma omp critical(stack_status)
        go = !why;
        const SdmStatus one = go ? step(s, &s->layer[i]) : SDM_OK;
#pragma omp critical(stack_status)
        if (one && i < failed) {
            failed = i;
            why = one;
        }
    }
    return why;
}

SdmStatus sdm_stack_sample(SdmStack *s)
{
    if (s->sample_step == 0)
        PASS(choose_steps(s));
    PASS(sdm_stack_each(s, sample_layer));
    return add_geoids(s);
}

static int by_content(const void *a, const void *b)
{
    const SdmLayer *const x = a, *const y = b;
    int order = (x->width > y->width) - (x->width < y->width);
    order = order ? order : (x->height > y->height) - (x->height < y->height);
    for (int k = 0; k < 6 && !order; k++)
        order = (x->transform[k] > y->transform[k]) - (x->transform[k] < y->transform[k]);
    order = order ? order : (x->checksum > y->checksum) - (x->checksum < y->checksum);
    return order ? order : strcmp(x->path, y->path);
}

void sdm_stack_sort(SdmStack *s)
{
    qsort(s->layer, (size_t)s->count, sizeof *s->layer, by_content);
}

int64_t sdm_layer_sample_at(const SdmLayer *l, int64_t col, int64_t row)
{
    const int64_t c = col - l->sample_col0, r = row - l->sample_row0;
    return c < 0 || r < 0 || c >= l->sample_cols || r >= l->sample_rows ? -1 : r * l->sample_cols + c;
}

float sdm_layer_level(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row)
{
    const int64_t at = sdm_layer_sample_at(l, col, row), step = s->sample_step;
    return at < 0 ? NAN
                  : (float)((double)l->sample[at] - l->shift_m[2] -
                            sdm_layer_bias(s, l, col * step + step / 2, row * step + step / 2));
}

/* Residuals of one row of samples, numbered over the whole grid.  here, value: room for an entry of each
 * layer. */
static void residual_row(SdmStack *s, int64_t row, int *here, float *value)
{
    int n = 0;
    int64_t first = INT64_MAX, last = -1;
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const l = &s->layer[i];
        if (row < l->sample_row0 || row >= l->sample_row0 + l->sample_rows)
            continue;
        here[n++] = i;
        first = l->sample_col0 < first ? l->sample_col0 : first;
        last = l->sample_col0 + l->sample_cols > last ? l->sample_col0 + l->sample_cols : last;
    }
    for (int64_t col = first; col < last; col++) {
        int heights = 0;
        for (int k = 0; k < n; k++) {
            SdmLayer *const l = &s->layer[here[k]];
            const int64_t at = sdm_layer_sample_at(l, col, row);
            if (at < 0)
                continue;
            l->residual[at] = sdm_layer_level(s, l, col, row);
            if (!isnan(l->residual[at]))
                value[heights++] = l->residual[at];
        }
        const float median = (float)sdm_median_f32(value, heights);
        for (int k = 0; k < n; k++) {
            SdmLayer *const l = &s->layer[here[k]];
            const int64_t at = sdm_layer_sample_at(l, col, row);
            if (at < 0)
                continue;
            l->residual[at] = heights > 1 ? (float)((double)l->residual[at] - (double)median) : NAN;
            l->unstable[at] = heights > 2; /* may be an outlier: see mark_unstable() */
        }
    }
}

/* NMAD of a layer's residuals.  Outliers among three or more layers (cloud, change, blunder) are unstable. */
static SdmStatus mark_unstable(SdmStack *s, SdmLayer *l)
{
    SDM_OWNED float *value = NULL;
    const int64_t n = l->sample_cols * l->sample_rows;
    PASS(sdm_alloc(s->ctx, &value, (size_t)n + 1, sizeof *value, "samples"));
    memcpy(value, l->residual, (size_t)n * sizeof *value);
    l->residual_count = sdm_drop_nan_f32(value, n);
    l->residual_nmad_m = l->residual_count ? sdm_nmad_f32(value, l->residual_count, NULL) : (double)NAN;
    const double limit_m = OUTLIER_NMADS * fmax(l->residual_nmad_m, MIN_NMAD_M);
    for (int64_t i = 0; i < n; i++)
        l->unstable[i] = l->unstable[i] && fabs((double)l->residual[i]) > limit_m;
    return SDM_OK;
}

SdmStatus sdm_stack_residuals(SdmStack *s)
{
    SDM_OWNED int *here = NULL;
    SDM_OWNED float *value = NULL;
    const size_t room = (size_t)s->count * (size_t)s->threads;
    PASS(SDM_ALLOC(s->ctx, "samples", SDM_ARRAY(here, room), SDM_ARRAY(value, room)));
#pragma omp parallel for schedule(dynamic, 4) num_threads(s->threads)
    for (int64_t row = 0; row < s->sample_rows; row++) {
        const size_t at = (size_t)sdm_thread() * (size_t)s->count;
        residual_row(s, row, here + at, value + at);
    }
    return sdm_stack_each(s, mark_unstable);
}
