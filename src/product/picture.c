/* Preview of a DEM -> PNG pictures: shaded relief in colours, and a map of what the cells met. */
// SPDX-License-Identifier: Apache-2.0
#include "product/picture.h"

#include <math.h>
#include <string.h>

void sdm_relief_colour(double t, double rgb[3])
{
    static const double stop[][3] = {{64, 122, 103},  {120, 160, 106}, {186, 190, 122}, {222, 203, 150},
                                     {196, 156, 112}, {158, 120, 98},  {190, 176, 168}, {250, 250, 250}};
    const double at = fmin(fmax(t, 0.0), 1.0) * 7.0;
    const int i = (int)fmin(at, 6.0);
    for (int k = 0; k < 3; k++)
        rgb[k] = stop[i][k] + (at - i) * (stop[i + 1][k] - stop[i][k]);
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

SdmStatus sdm_picture_relief(SdmContext *ctx, const SdmDemStats *s, double cell_m, SdmPng *out)
{
    SdmStatus st = SDM_OK;
    const double spacing_m = cell_m * s->factor;
    const double low = sdm_dem_stats_quantile_m(s, 0.01),
                 high = fmax(sdm_dem_stats_quantile_m(s, 0.99), low + 1.0);
    float *h = NULL;
    unsigned char *rgba = NULL;
    TRY(sdm_dem_stats_preview(ctx, s, &h));
    TRY(sdm_alloc(ctx, &rgba, (size_t)s->cols * (size_t)s->rows, 4, "preview"));
    const double stretch = exaggeration(h, s->cols, s->rows, spacing_m);
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int r = 0; r < s->rows; r++)
        for (int c = 0; c < s->cols; c++) {
            const size_t i = (size_t)r * (size_t)s->cols + (size_t)c;
            double rgb[3];
            if (isnan(h[i]))
                continue; /* stays transparent */
            const double light = 0.25 + 1.06 * hillshade(h, s->cols, s->rows, c, r, spacing_m, stretch);
            sdm_relief_colour((h[i] - low) / (high - low), rgb);
            for (int k = 0; k < 3; k++)
                rgba[4 * i + (size_t)k] = (unsigned char)fmin(rgb[k] * light, 255.0);
            rgba[4 * i + 3] = 255;
        }
    TRY(sdm_png_encode(ctx, rgba, s->cols, s->rows, 4, out));
done:
    sdm_free(&rgba);
    sdm_free(&h);
    return st;
}

/* Kinds of the coverage map, the first that holds wins; colours also in the legend of the HTML report. */
const SdmCoverageKind sdm_coverage_kinds[] = {
    {SDM_QA_VALID, {46, 134, 110}},
    {SDM_QA_FILLED, {240, 180, 60}},
    {SDM_QA_SATURATED, {225, 225, 235}},
    {SDM_QA_FOLD, {120, 80, 160}},
    {SDM_QA_TEXTURELESS, {90, 150, 210}},
    {SDM_QA_LEFT_RIGHT, {230, 110, 90}},
    {SDM_QA_LOW_SCORE, {200, 70, 70}},
    {SDM_QA_AMBIGUOUS, {220, 120, 170}},
    {SDM_QA_RAY_ERROR, {150, 60, 100}},
    {SDM_QA_ISOLATED, {130, 100, 70}},
    {SDM_QA_SPARSE, {170, 170, 110}},
    {SDM_QA_OUTSIDE, {40, 44, 52}},
    {0, {40, 44, 52}},
};

static const unsigned char *coverage_colour(unsigned mask, bool filled)
{
    int i = 0;
    if (mask & SDM_QA_VALID)
        return sdm_coverage_kinds[filled ? 1 : 0].rgb;
    for (i = 2; sdm_coverage_kinds[i].bit && !(mask & sdm_coverage_kinds[i].bit); i++)
        ;
    return sdm_coverage_kinds[i].rgb;
}

SdmStatus sdm_picture_coverage(SdmContext *ctx, const SdmDemStats *s, SdmPng *out)
{
    SdmStatus st = SDM_OK;
    const int f =
        (s->cols > s->rows ? s->cols : s->rows) > SDM_PREVIEW_MAX / 2 ? 2 : 1; /* half the preview's size */
    const int cols = (s->cols + f - 1) / f, rows = (s->rows + f - 1) / f;
    unsigned char *rgb = NULL;
    TRY(sdm_alloc(ctx, &rgb, (size_t)cols * (size_t)rows, 3, "coverage map"));
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            const size_t i = (size_t)(r * f) * (size_t)s->cols + (size_t)(c * f);
            const unsigned mask = s->preview_mask[i];
            memcpy(rgb + 3 * ((size_t)r * (size_t)cols + (size_t)c),
                   coverage_colour(mask, mask & SDM_QA_FILLED), 3);
        }
    TRY(sdm_png_encode(ctx, rgb, cols, rows, 3, out));
done:
    sdm_free(&rgb);
    return st;
}
