/* A layer's file -> its heights at cells of the common grid, bilinear, by windows; its smooth error at a
 * cell. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa_reasons.h"
#include "coreg/stack_layer.h"
#include "geo/first_band.h"
#include "geo/geodesy.h"

#include <cpl_error.h>
#include <gdal.h>
#include <math.h>

enum {
    CHUNK_PIXELS = 2000000, /* of the file, read at once */
    MAX_PARTS = 16,         /* positions per cell and axis */
    PAD = 3                 /* pixels read around those that are needed */
};

typedef struct Reading { /* a chunk of rows of a window */
    const SdmStack *s;
    const SdmLayer *l;
    SdmCellWindow window;
    GDALDatasetH file, first, qa; /* first: the first band of the file alone */
    GDALRasterBandH band, mask;   /* mask: NULL where every pixel counts that is not nodata */
    double nodata, scale, offset;
    bool has_nodata;
    double *node; /* node_rows x node_cols x 2: column and row of each node in the file, 0 = centre of the
                     first pixel */
    int64_t node_col0, node_row0, node_cols, node_rows; /* in nodes */
    int64_t x0, y0, w, h;                               /* pixels of the file that were read */
    float *pixel;                                       /* h x w, NaN where there is none */
    uint8_t *filled;                                    /* h x w */
    int parts; /* positions per cell and axis whose mean is taken; 1: bilinear alone */
} Reading;

static SdmStatus open_files(Reading *r)
{
    SdmContext *const ctx = r->s->ctx;
    int has = 0;
    r->file = GDALOpenEx(r->l->path, GDAL_OF_RASTER | GDAL_OF_VERBOSE_ERROR, NULL, NULL, NULL);
    if (!r->file || GDALGetRasterXSize(r->file) != r->l->width || GDALGetRasterYSize(r->file) != r->l->height)
        return sdm_fail(ctx, SDM_ERR_INPUT, "DEM %s: changed while it was stacked (%s)", r->l->path,
                        r->file ? "another size" : CPLGetLastErrorMsg());
    r->first = sdm_first_band(r->file);
    if (!r->first)
        return sdm_fail(ctx, SDM_ERR_INPUT, "DEM %s: its first band cannot be read (GDAL: %s)", r->l->path,
                        CPLGetLastErrorMsg());
    GDALRasterBandH const band = r->band = GDALGetRasterBand(r->first, 1);
    r->nodata = GDALGetRasterNoDataValue(band, &has);
    r->has_nodata = has != 0;
    r->scale = GDALGetRasterScale(band, &has);
    r->scale = has ? r->scale : 1.0;
    r->offset = GDALGetRasterOffset(band, &has);
    r->offset = has ? r->offset : 0.0;
    r->mask = sdm_band_mask(band);
    if (r->l->qa)
        r->qa = GDALOpenEx(r->l->qa, GDAL_OF_RASTER | GDAL_OF_VERBOSE_ERROR, NULL, NULL, NULL);
    if (r->l->qa && !r->qa)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: changed while it was stacked (%s)", r->l->qa,
                        CPLGetLastErrorMsg());
    return SDM_OK;
}

/* Positions in the file of the nodes around the window: the centres of every position_step-th cell. */
static SdmStatus find_nodes(Reading *r)
{
    SdmStatus st = SDM_OK;
    const SdmStack *const s = r->s;
    const SdmLayer *const l = r->l;
    const SdmLayerCrs *const crs = &s->crs[l->crs];
    const int64_t step = s->position_step, last_col = r->window.col0 + (r->window.w - 1) * r->window.stride,
                  last_row = r->window.row0 + (r->window.h - 1) * r->window.stride;
    const bool turned = !crs->same && OSRIsGeographic(crs->srs);
    const double middle = l->transform[0] + 0.5 * (double)l->width * l->transform[1] +
                          0.5 * (double)l->height * l->transform[2];
    r->node_col0 = r->window.col0 / step;
    r->node_row0 = r->window.row0 / step;
    r->node_cols = last_col / step - r->node_col0 + 2;
    r->node_rows = last_row / step - r->node_row0 + 2;
    TRY(sdm_alloc(s->ctx, &r->node, (size_t)(r->node_cols * r->node_rows), 2 * sizeof(double), "positions"));
    for (int64_t k = 0; k < r->node_cols * r->node_rows; k++) {
        const double col = (double)((r->node_col0 + k % r->node_cols) * step) + 0.5 + l->shift_m[0] / s->dx_m;
        const double row = (double)((r->node_row0 + k / r->node_cols) * step) + 0.5 - l->shift_m[1] / s->dy_m;
        double x = s->grid.x0 + col * s->grid.spacing, y = s->grid.y0 - row * s->grid.spacing;
        const bool good = crs->same || OCTTransform(crs->from_grid[sdm_thread()], 1, &x, &y, NULL);
        x = turned ? sdm_longitude_near(x, middle) : x; /* the layer may lie past 180 degrees */
        r->node[2 * k] = good ? l->to_pixel[0] + x * l->to_pixel[1] + y * l->to_pixel[2] - 0.5 : (double)NAN;
        r->node[2 * k + 1] =
            good ? l->to_pixel[3] + x * l->to_pixel[4] + y * l->to_pixel[5] - 0.5 : (double)NAN;
    }
done:
    return st;
}

/* Pixels that the window needs -> x0, y0, w, h; false when it lies outside the file. */
static bool find_pixels(Reading *r)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < 2 * r->node_cols * r->node_rows; k++) {
        low[k & 1] = fmin(low[k & 1], r->node[k]); /* fmin and fmax ignore NaN */
        high[k & 1] = fmax(high[k & 1], r->node[k]);
    }
    const double pad = PAD + r->l->ratio;
    const double x0 = fmax(floor(low[0] - pad), 0.0),
                 x1 = fmin(ceil(high[0] + pad), (double)(r->l->width - 1));
    const double y0 = fmax(floor(low[1] - pad), 0.0),
                 y1 = fmin(ceil(high[1] + pad), (double)(r->l->height - 1));
    if (!(x1 >= x0) || !(y1 >= y0))
        return false;
    r->x0 = (int64_t)x0;
    r->y0 = (int64_t)y0;
    r->w = (int64_t)(x1 - x0) + 1;
    r->h = (int64_t)(y1 - y0) + 1;
    return true;
}

static SdmStatus read_band(Reading *r, GDALRasterBandH band, const char *path, GDALDataType type, void *out)
{
    const int w = (int)r->w, h = (int)r->h;
    if (band && GDALRasterIO(band, GF_Read, (int)r->x0, (int)r->y0, w, h, out, w, h, type, 0, 0) == CE_None)
        return SDM_OK;
    return sdm_fail(r->s->ctx, SDM_ERR_INPUT, "%s: cannot be read, it may be damaged (GDAL: %s)", path,
                    CPLGetLastErrorMsg());
}

static SdmStatus read_pixels(Reading *r)
{
    SdmStatus st = SDM_OK;
    uint16_t *mask = NULL;
    const size_t n = (size_t)(r->w * r->h);
    const float nodata = (float)r->nodata;
    TRY(sdm_alloc(r->s->ctx, &r->pixel, n, sizeof *r->pixel, "pixels"));
    TRY(sdm_alloc(r->s->ctx, &r->filled, n, sizeof *r->filled, "pixels"));
    TRY(read_band(r, r->band, r->l->path, GDT_Float32, r->pixel));
    if (r->mask)
        TRY(read_band(r, r->mask, r->l->path, GDT_Byte, r->filled));
    for (size_t i = 0; i < n; i++) {
        const float v = r->pixel[i];
        const double h = (double)v * r->scale + r->offset;
        const bool none = (r->has_nodata && v == nodata) || (r->mask && !r->filled[i]) || !(fabs(h) <= 1e5);
        r->pixel[i] = none ? NAN : (float)h;
        r->filled[i] = 0;
    }
    if (r->qa) {
        TRY(sdm_alloc(r->s->ctx, &mask, n, sizeof *mask, "mask"));
        TRY(read_band(r, GDALGetRasterBand(r->qa, r->l->qa_band), r->l->qa, GDT_UInt16, mask));
        for (size_t i = 0; i < n; i++)
            r->filled[i] = (mask[i] & SDM_QA_FILLED) != 0;
    }
done:
    sdm_free(&mask);
    return st;
}

/* Value of the pixel at an integer position. */
static double on_pixel(const Reading *r, double x, double y, double *filled)
{
    const int64_t i = (int64_t)x - r->x0, j = (int64_t)y - r->y0;
    if (i < 0 || j < 0 || i >= r->w || j >= r->h)
        return NAN;
    *filled = r->filled[j * r->w + i];
    return (double)r->pixel[j * r->w + i];
}

/* Bilinear height at a position in pixels, NaN where pixels are missing.  One missing pixel of four is
 * extrapolated by the plane through the others, so that holes do not grow.  *filled: weight of filled pixels,
 * 0..1. */
static double bilinear(const Reading *r, double x, double y, double *filled)
{
    *filled = 0.0;
    if (!(x >= -1.0) || !(y >= -1.0) || !(x <= (double)r->l->width) || !(y <= (double)r->l->height))
        return NAN;
    const double near_x = floor(x + 0.5), near_y = floor(y + 0.5);
    x = fabs(x - near_x) < 1e-5 ? near_x : x;
    y = fabs(y - near_y) < 1e-5 ? near_y : y;
    const double t = x - floor(x), u = y - floor(y);
    if (t <= 0.0 && u <= 0.0)
        return on_pixel(r, x, y, filled);
    const double weight[4] = {(1 - t) * (1 - u), t * (1 - u), (1 - t) * u, t * u};
    double v[4], sum = 0.0;
    int missing = 0, last = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t i = (int64_t)floor(x) + (k & 1) - r->x0, j = (int64_t)floor(y) + (k >> 1) - r->y0;
        v[k] = weight[k] > 0.0 && i >= 0 && j >= 0 && i < r->w && j < r->h ? (double)r->pixel[j * r->w + i]
                                                                           : (double)NAN;
        if (weight[k] > 0.0 && isnan(v[k])) {
            missing++;
            last = k;
        } else if (weight[k] > 0.0) {
            *filled += weight[k] * r->filled[j * r->w + i];
        }
    }
    if (missing > 1 || (missing && !(t > 0.0 && u > 0.0)))
        return NAN;
    if (missing)
        v[last] = v[last ^ 1] + v[last ^ 2] - v[last ^ 3];
    for (int k = 0; k < 4; k++)
        sum += weight[k] > 0.0 ? weight[k] * v[k] : 0.0;
    return sum;
}

/* Height of a cell: mean over parts x parts positions, NaN when less than half of them have a height.
 * *filled: half of those or more are filled. */
static float cell_height(const Reading *r, int64_t col, int64_t row, uint8_t *filled)
{
    const int64_t step = r->s->position_step, i = col / step - r->node_col0, j = row / step - r->node_row0;
    const double *const upper = r->node + 2 * (j * r->node_cols + i), *const lower = upper + 2 * r->node_cols;
    const int n = r->parts;
    double sum = 0.0, share = 0.0, at[2];
    int met = 0;
    for (int k = 0; k < n * n; k++) {
        const double s = ((double)(col % step) + ((double)(k % n) + 0.5) / n - 0.5) / (double)step;
        const double t = ((double)(row % step) + ((double)(k / n) + 0.5) / n - 0.5) / (double)step;
        for (int a = 0; a < 2; a++) {
            const double up = upper[a] + s * (upper[a + 2] - upper[a]),
                         down = lower[a] + s * (lower[a + 2] - lower[a]);
            at[a] = up + t * (down - up);
        }
        double part;
        const double h = bilinear(r, at[0], at[1], &part);
        if (!isnan(h)) {
            sum += h;
            share += part;
            met++;
        }
    }
    *filled = met > 0 && 2.0 * share >= met;
    return 2 * met >= n * n && met > 0 ? (float)(sum / met) : NAN;
}

static SdmStatus read_chunk(Reading *r, float *height_m, uint8_t *filled)
{
    SdmStatus st = SDM_OK;
    const SdmCellWindow *const w = &r->window;
    TRY(find_nodes(r));
    const bool inside = find_pixels(r);
    if (inside)
        TRY(read_pixels(r));
    for (int64_t k = 0; k < w->w * w->h; k++) {
        uint8_t one = 0;
        height_m[k] =
            inside ? cell_height(r, w->col0 + k % w->w * w->stride, w->row0 + k / w->w * w->stride, &one)
                   : NAN;
        if (filled)
            filled[k] = one;
    }
done:
    sdm_free(&r->node);
    sdm_free(&r->pixel);
    sdm_free(&r->filled);
    return st;
}

SdmStatus sdm_layer_read(const SdmStack *s, const SdmLayer *l, SdmCellWindow window, float *height_m,
                         uint8_t *filled)
{
    SdmStatus st = SDM_OK;
    Reading r = {.s = s, .l = l, .window = window};
    const double row_pixels =
        (double)(window.w * window.stride) * l->ratio * (double)window.stride * l->ratio;
    const int64_t chunk = (int64_t)fmax(CHUNK_PIXELS / fmax(row_pixels, 1.0), 1.0);
    r.parts = l->ratio > 1.5 ? (int)fmin(ceil(l->ratio - 0.01), MAX_PARTS) : 1;
    CPLPushErrorHandler(CPLQuietErrorHandler);
    CPLErrorReset();
    TRY(open_files(&r));
    for (int64_t row = 0; row < window.h; row += chunk) {
        r.window.row0 = window.row0 + row * window.stride;
        r.window.h = chunk < window.h - row ? chunk : window.h - row;
        TRY(sdm_check_stop(s->ctx));
        TRY(read_chunk(&r, height_m + row * window.w, filled ? filled + row * window.w : NULL));
    }
done:
    if (r.qa)
        GDALClose(r.qa);
    if (r.first && r.first != r.file)
        GDALClose(r.first);
    if (r.file)
        GDALClose(r.file);
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
