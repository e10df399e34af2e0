/* Preview of a DEM -> PNG pictures: shaded relief in its colours, and a map of the reasons in the cells. */
// SPDX-License-Identifier: Apache-2.0
#include "product/picture.h"
#include "core/stats.h"
#include "geo/gdal_scope.h"
#include "product/qa_raster.h"

#include <math.h>
#include <string.h>

/* Colour of a ramp of stops at equal distances, 0..255, at t = 0 .. 1. */
static void colour_at(const double (*stop)[3], int stops, double t, double rgb[3])
{
    const double at = fmin(fmax(t, 0.0), 1.0) * (stops - 1);
    const int i = (int)fmin(at, stops - 2);
    for (int k = 0; k < 3; k++)
        rgb[k] = stop[i][k] + (at - i) * (stop[i + 1][k] - stop[i][k]);
}

static void round_colour(const double exact[3], unsigned char rgb[3])
{
    for (int k = 0; k < 3; k++)
        rgb[k] = (unsigned char)(exact[k] + 0.5);
}

static void relief_colour(double t, double rgb[3])
{
    /* no white, which is no data on many pages */
    static const double stop[][3] = {{64, 122, 103},  {120, 160, 106}, {186, 190, 122}, {222, 203, 150},
                                     {196, 156, 112}, {158, 120, 98},  {190, 176, 168}, {226, 216, 214}};
    colour_at(stop, 8, t, rgb);
}

void sdm_relief_ramp(double t, unsigned char rgb[3])
{
    double exact[3];
    relief_colour(t, exact);
    round_colour(exact, rgb);
}

void sdm_change_ramp(double t, unsigned char rgb[3])
{
    static const double stop[][3] = {{178, 34, 40}, {246, 246, 242}, {33, 84, 168}};
    double exact[3];
    colour_at(stop, 3, t, exact);
    round_colour(exact, rgb);
}

void sdm_error_ramp(double t, unsigned char rgb[3])
{
    static const double stop[][3] = {{240, 238, 226}, {236, 190, 110}, {196, 84, 62}, {84, 20, 66}};
    double exact[3];
    colour_at(stop, 4, t, exact);
    round_colour(exact, rgb);
}

/* Height at (col, row), or of the pixel itself where there is none. */
static float height_near(const float *h, int cols, int rows, int col, int row, float own)
{
    if (col < 0 || row < 0 || col >= cols || row >= rows)
        return own;
    const float v = h[(size_t)row * (size_t)cols + (size_t)col];
    return isnan(v) ? own : v;
}

/* Light on a facet, 0..1, from the north-west at 45 degrees (Lambert); flat ground has 0.707.
 * h: rows x cols heights in metres, NaN where there is none; stretch: vertical exaggeration. */
static double hillshade(const float *h, int cols, int rows, int col, int row, double spacing_m,
                        double stretch)
{
    const float own = h[(size_t)row * (size_t)cols + (size_t)col];
    const double k = stretch / (2.0 * spacing_m);
    const double gx =
        (height_near(h, cols, rows, col + 1, row, own) - height_near(h, cols, rows, col - 1, row, own)) * k;
    const double gy =
        (height_near(h, cols, rows, col, row - 1, own) - height_near(h, cols, rows, col, row + 1, own)) * k;
    /* light from the north-west, 45 degrees up: (-1/2, 1/2, sqrt(1/2)); normal (-gx, -gy, 1) */
    return fmax(0.0, (0.5 * gx - 0.5 * gy + 0.70710678118654752) / sqrt(1.0 + gx * gx + gy * gy));
}

/* Vertical exaggeration that gives flat country shape and leaves mountains as they are. */
static double exaggeration(const float *h, int cols, int rows, double spacing_m)
{
    double sum = 0.0;
    int64_t n = 0;
    for (int r = 0; r < rows; r += 2)
        for (int c = 0; c + 1 < cols; c += 2) {
            const double d =
                h[(size_t)r * (size_t)cols + (size_t)c] - h[(size_t)r * (size_t)cols + (size_t)c + 1];
            if (!isnan(d)) {
                sum += fabs(d) / spacing_m;
                n++;
            }
        }
    return n && sum > 0.0 ? fmin(fmax(0.15 * (double)n / sum, 1.0), 8.0) : 1.0;
}

/* Mean of the opaque pixels of f x f, in few colours: a page has to be small, and PNG takes a third for
 * it. */
static void reduce(const unsigned char *rgba, int cols, int rows, int f, unsigned char *out)
{
    enum { STEP = 8 };
    const int across = (cols + f - 1) / f, down = (rows + f - 1) / f;
    for (int i = 0; i < across * down; i++) {
        const int y0 = i / across * f, x0 = i % across * f;
        int sum[3] = {0, 0, 0}, n = 0;
        for (int y = y0; y < y0 + f && y < rows; y++)
            for (int x = x0; x < x0 + f && x < cols; x++) {
                const unsigned char *const p = rgba + 4 * ((size_t)y * (size_t)cols + (size_t)x);
                n += p[3] != 0;
                for (int b = 0; b < 3 && p[3]; b++)
                    sum[b] += p[b];
            }
        for (int b = 0; n && b < 3; b++)
            out[4 * (size_t)i + (size_t)b] = (unsigned char)(sum[b] / n / STEP * STEP + STEP / 2);
        out[4 * (size_t)i + 3] = n ? 255 : 0;
    }
}

/* RGBA pixels, rows x cols, as a picture for the report: at most half as large as the preview may be, in few
 * colours, so that the page stays small. */
static SdmStatus encode_page(SdmContext *ctx, const unsigned char *rgba, int cols, int rows, SdmPng *out)
{
    SDM_OWNED unsigned char *small = NULL;
    const int longest = cols > rows ? cols : rows,
              f = (longest + SDM_PREVIEW_MAX / 2 - 1) / (SDM_PREVIEW_MAX / 2);
    const int across = (cols + f - 1) / f, down = (rows + f - 1) / f;
    PASS(sdm_alloc(ctx, &small, (size_t)across * (size_t)down, 4, "preview"));
    reduce(rgba, cols, rows, f, small);
    return sdm_png_encode(ctx, small, across, down, 4, out);
}

SdmStatus sdm_picture_relief(SdmContext *ctx, const SdmDemStats *s, double cell_m, SdmPng *out, SdmPng *page)
{
    const double spacing_m = cell_m * s->factor;
    const double low = sdm_dem_stats_quantile_m(s, 0.01),
                 high = fmax(sdm_dem_stats_quantile_m(s, 0.99), low + 1.0);
    SDM_OWNED float *h = NULL;
    SDM_OWNED unsigned char *rgba = NULL;
    const size_t n = (size_t)s->cols * (size_t)s->rows;
    PASS(sdm_alloc(ctx, &h, n, sizeof *h, "preview"));
    PASS(sdm_alloc(ctx, &rgba, n, 4, "preview"));
    for (size_t i = 0; i < n; i++)
        h[i] = s->preview_count[i] == 0
                   ? NAN
                   : (float)((double)s->preview_sum[i] / s->preview_count[i] * s->step_m);
    const double stretch = exaggeration(h, s->cols, s->rows, spacing_m);
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int r = 0; r < s->rows; r++)
        for (int c = 0; c < s->cols; c++) {
            const size_t i = (size_t)r * (size_t)s->cols + (size_t)c;
            double rgb[3];
            if (isnan(h[i]))
                continue; /* stays transparent */
            const double light = 0.25 + 1.06 * hillshade(h, s->cols, s->rows, c, r, spacing_m, stretch);
            relief_colour((h[i] - low) / (high - low), rgb);
            for (int k = 0; k < 3; k++)
                rgba[4 * i + (size_t)k] = (unsigned char)fmin(rgb[k] * light, 255.0);
            rgba[4 * i + 3] = 255;
        }
    PASS(sdm_png_encode(ctx, rgba, s->cols, s->rows, 4, out));
    return encode_page(ctx, rgba, s->cols, s->rows, page);
}

SdmStatus sdm_picture_coverage(SdmContext *ctx, const SdmDemStats *s, SdmPng *out)
{
    const int f =
        (s->cols > s->rows ? s->cols : s->rows) > SDM_PREVIEW_MAX / 2 ? 2 : 1; /* half the preview's size */
    const int cols = (s->cols + f - 1) / f, rows = (s->rows + f - 1) / f;
    SDM_OWNED unsigned char *rgb = NULL;
    PASS(sdm_alloc(ctx, &rgb, (size_t)cols * (size_t)rows, 3, "coverage map"));
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            const size_t i = (size_t)(r * f) * (size_t)s->cols + (size_t)(c * f);
            memcpy(rgb + 3 * ((size_t)r * (size_t)cols + (size_t)c),
                   sdm_qa_reasons[sdm_qa_reason(s->preview_mask[i])].rgb, 3);
        }
    return sdm_png_encode(ctx, rgb, cols, rows, 3, out);
}

SdmStatus sdm_mean_map_open(SdmContext *ctx, int64_t cols, int64_t rows, int longest, SdmMeanMap *out)
{
    const int64_t side = cols > rows ? cols : rows, factor = (side + longest - 1) / longest;
    *out = (SdmMeanMap){.factor = (int)factor,
                        .cols = (int)((cols + factor - 1) / factor),
                        .rows = (int)((rows + factor - 1) / factor)};
    const size_t n = (size_t)out->cols * (size_t)out->rows;
    return SDM_ALLOC(ctx, "map of differences", SDM_ARRAY(out->sum, n), SDM_ARRAY(out->count, n));
}

void sdm_mean_map_close(SdmMeanMap *map)
{
    SDM_FREE(&map->sum, &map->count);
}

void sdm_mean_map_add(SdmMeanMap *map, int64_t col, int64_t row, double value)
{
    const size_t at = (size_t)(row / map->factor) * (size_t)map->cols + (size_t)(col / map->factor);
    map->sum[at] += isnan(value) ? 0.0 : value;
    map->count[at] += !isnan(value);
}

SdmStatus sdm_mean_map_draw(SdmContext *ctx, const SdmMeanMap *map, double low, double high,
                            sdm_ramp_fn *ramp, SdmPng *out)
{
    SDM_OWNED unsigned char *rgba = NULL;
    const size_t n = (size_t)map->cols * (size_t)map->rows;
    PASS(sdm_alloc(ctx, &rgba, n, 4, "map of differences"));
    for (size_t i = 0; i < n; i++)
        if (map->count[i]) { /* else it stays transparent */
            ramp((map->sum[i] / map->count[i] - low) / (high - low), rgba + 4 * i);
            rgba[4 * i + 3] = 255;
        }
    return encode_page(ctx, rgba, map->cols, map->rows, out);
}

enum { BAND_MAP = 240 }; /* pixels of a map's longest side */

SdmStatus sdm_band_map_read(SdmContext *ctx, GDALRasterBandH band, uint16_t nodata, const char *path,
                            SdmBandMap *out)
{
    SdmGdalErrors errors;
    const int width = GDALGetRasterBandXSize(band), height = GDALGetRasterBandYSize(band);
    SDM_OWNED uint16_t *step = NULL;
    SDM_OWNED float *known = NULL;
    int64_t count = 0;
    PASS(sdm_mean_map_open(ctx, width, height, BAND_MAP, &out->map));
    const int cols = out->map.cols, rows = out->map.rows, n = cols * rows;
    PASS(SDM_ALLOC(ctx, "map", SDM_ARRAY(step, (size_t)n), SDM_ARRAY(known, (size_t)n)));
    sdm_gdal_errors_begin(&errors);
    const CPLErr e = GDALRasterIO(band, GF_Read, 0, 0, width, height, step, cols, rows, GDT_UInt16, 0, 0);
    sdm_gdal_errors_end(&errors);
    if (e != CE_None || errors.failed)
        return sdm_fail_write(ctx, path, errors.text);
    for (int i = 0; i < n; i++) {
        out->map.sum[i] = step[i];
        out->map.count[i] = step[i] != nodata;
        if (step[i] != nodata)
            known[count++] = step[i];
    }
    out->median = sdm_quantile_f32(known, count, 0.5);
    out->high = fmax(sdm_quantile_f32(known, count, 0.95), 1.0);
    return SDM_OK;
}

void sdm_band_map_close(SdmBandMap *map)
{
    sdm_mean_map_close(&map->map);
    sdm_png_close(&map->png);
}
