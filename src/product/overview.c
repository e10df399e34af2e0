/* A raw raster -> its overviews: each level halves the one before, independent of GDAL's chunks. */
// SPDX-License-Identifier: Apache-2.0
#include "product/raster.h"
#include "core/vector_loops.h"
#include "geo/gdal_errors.h"

#include <cpl_error.h>
#include <math.h>
#include <string.h>

enum { ROWS = 256, SMALLEST = 512, MAX_LEVELS = 30 }; /* rows at a time; side that needs no overview */

typedef struct Half { /* one level to the next */
    GDALRasterBandH from, to;
    int cols, rows;      /* of `from` */
    double nodata, step; /* step > 0: means are rounded to multiples of it */
    double *sums;        /* of a row: sums, their weights, shares of the three columns; half of cols each */
} Half;

/* The shares that cell k of a level has of the cells 2 k - 1, 2 k and 2 k + 1 of one with n: both span the
 * same ground, so of an odd n each takes n / ((n + 1) / 2) cells. */
static void find_shares(int n, int k, double share[3])
{
    const double half = (n + 1) / 2;
    share[0] = n % 2 ? k / half : 0.0;
    share[1] = 1.0;
    share[2] = n % 2 ? 1.0 - (k + 1) / half : 1.0;
}

/* Add every second cell of a row, times its share, to n sums; cells without a value do not count. */
SDM_VECTOR_LOOPS static void add_cells(const float *restrict in, const double *restrict share,
                                       double row_share, float none, int n, double *restrict sum,
                                       double *restrict weight)
{
    for (int c = 0; c < n; c++) {
        const float v = in[2 * c];
        const double w = row_share * share[c];
        const bool seen = (w > 0.0) & (v != none) & (v == v); /* nodata may be NaN */
        sum[c] += seen ? w * (double)v : 0.0;
        weight[c] += seen ? w : 0.0;
    }
}

/* Means of n sums; step: as of Half. */
SDM_VECTOR_LOOPS static void divide_sums(const double *restrict sum, const double *restrict weight,
                                         double step, float none, int n, float *restrict out)
{
    const double inverse = step > 0.0 ? 1.0 / step : 0.0;
    for (int c = 0; c < n; c++) {
        const double mean = sum[c] / (weight[c] > 0.0 ? weight[c] : 1.0),
                     rounded = step > 0.0 ? nearbyint(mean * inverse) * step : mean;
        out[c] = weight[c] > 0.0 ? (float)rounded : none;
    }
}

/* Means of the cells of 2 x 2 squares, or 3 x 3 by shares, that have a value; nodata without any.
 * row: the one above the square's first, it, and the next; those with a share of 0 are not read. */
static void mean_row(const Half *l, const float *const row[3], const double row_share[3], float *out)
{
    const int half = (l->cols + 1) / 2, odd = l->cols % 2;
    const float none = (float)l->nodata;
    double *const sum = l->sums, *const weight = sum + half;
    const double *const share[3] = {weight + half, weight + 2 * half, weight + 3 * half};
    memset(sum, 0, 2 * (size_t)half * sizeof *sum);
    for (int k = 0; k < 3; k++) {
        if (!(row_share[k] > 0.0))
            continue;
        if (odd)
            add_cells(row[k] + 1, share[0] + 1, row_share[k], none, half - 1, sum + 1, weight + 1);
        add_cells(row[k], share[1], row_share[k], none, half, sum, weight);
        add_cells(row[k] + 1, share[2], row_share[k], none, half - odd, sum, weight);
    }
    divide_sums(sum, weight, l->step, none, half, out);
}

/* The overview's rows of means from h rows of `from`, r and following, and the one before. */
static bool average(const Half *l, int r, int h, float *in, float *out)
{
    const int half = (l->cols + 1) / 2, low = (h + 1) / 2, before = r > 0;
    const size_t w = (size_t)l->cols;
    const int all = h + before;
    if (GDALRasterIO(l->from, GF_Read, 0, r - before, l->cols, all, in, l->cols, all, GDT_Float32, 0, 0) !=
        CE_None)
        return false;
    const float *const rows = in + (before ? w : 0);
    for (int i = 0; i < low; i++) {
        const float *const first = rows + (size_t)(2 * i) * w;
        const bool above = r + 2 * i > 0, below = 2 * i + 1 < h;
        const float *const row[3] = {above ? first - w : NULL, first, below ? first + w : NULL};
        double share[3];
        find_shares(l->rows, r / 2 + i, share);
        mean_row(l, row, share, out + (size_t)i * (size_t)half);
    }
    return GDALRasterIO(l->to, GF_Write, 0, r / 2, half, low, out, half, low, GDT_Float32, 0, 0) == CE_None;
}

/* A mask has no mean: the first cell of each square stands for it. */
static bool first_cells(const Half *l, int r, int h, uint16_t *in)
{
    const int half = (l->cols + 1) / 2, low = (h + 1) / 2;
    if (GDALRasterIO(l->from, GF_Read, 0, r, l->cols, h, in, l->cols, h, GDT_UInt16, 0, 0) != CE_None)
        return false;
    for (int i = 0; i < low; i++) {
        const uint16_t *const row = in + (size_t)(2 * i) * (size_t)l->cols;
        for (int c = 0; c < half; c++)
            in[(size_t)i * (size_t)half + (size_t)c] = row[2 * c];
    }
    return GDALRasterIO(l->to, GF_Write, 0, r / 2, half, low, in, half, low, GDT_UInt16, 0, 0) == CE_None;
}

/* From level k, 0 being the raster, to the next one, of a band. */
static Half half_of(const SdmCogRequest *request, GDALDatasetH raster, int number, int k, double *sums)
{
    int has = 0;
    const GDALRasterBandH band = GDALGetRasterBand(raster, number),
                          from = k > 0 ? GDALGetOverview(band, k - 1) : band;
    const double nodata = GDALGetRasterNoDataValue(band, &has);
    return (Half){.from = from,
                  .to = GDALGetOverview(band, k),
                  .cols = GDALGetRasterBandXSize(from),
                  .rows = GDALGetRasterBandYSize(from),
                  .nodata = has ? nodata : NAN,
                  .step = request->step,
                  .sums = sums};
}

static void set_column_shares(const Half *l)
{
    const int half = (l->cols + 1) / 2;
    for (int c = 0; c < half; c++) {
        double share[3];
        find_shares(l->cols, c, share);
        for (int k = 0; k < 3; k++)
            l->sums[(2 + k) * half + c] = share[k];
    }
}

static SdmStatus halve_band(SdmContext *ctx, const SdmCogRequest *request, const Half *l, float *in,
                            float *out)
{
    set_column_shares(l);
    for (int r = 0; r < l->rows; r += ROWS) {
        const int h = l->rows - r < ROWS ? l->rows - r : ROWS;
        PASS(sdm_check_stop(ctx));
        if (request->first_cell ? !first_cells(l, r, h, (uint16_t *)(void *)in) : !average(l, r, h, in, out))
            PASS(sdm_fail_write(ctx, request->path, CPLGetLastErrorMsg()));
    }
    return SDM_OK;
}

SdmStatus sdm_overviews_build(SdmContext *ctx, const SdmRaster *raster, const SdmCogRequest *request)
{
    SdmStatus st = SDM_OK;
    const GDALDatasetH ds = raster->dataset;
    float *in = NULL, *out = NULL;
    double *sums = NULL;
    int level[MAX_LEVELS], n = 0;
    const int w = GDALGetRasterXSize(ds), h = GDALGetRasterYSize(ds), longest = w > h ? w : h;
    while (longest >> n > SMALLEST && n < MAX_LEVELS) {
        level[n] = 2 << n;
        n++;
    }
    if (n == 0)
        return SDM_OK;
    if (GDALBuildOverviews(ds, "NONE", n, level, 0, NULL, NULL, NULL) != CE_None) /* allocates them */
        TRY(sdm_fail_write(ctx, request->path, CPLGetLastErrorMsg()));
    TRY(sdm_alloc_raw(ctx, &in, (size_t)w * (ROWS + 1), sizeof *in, "rows of an overview"));
    TRY(sdm_alloc_raw(ctx, &out, (size_t)w * ROWS, sizeof *out, "rows of an overview"));
    TRY(sdm_alloc_raw(ctx, &sums, ((size_t)w + 1) / 2 * 5, sizeof *sums, "a row of an overview"));
    for (int b = 1; b <= GDALGetRasterCount(ds); b++)
        for (int k = 0; k < n && k < GDALGetOverviewCount(GDALGetRasterBand(ds, b)); k++) {
            const Half l = half_of(request, ds, b, k, sums);
            TRY(halve_band(ctx, request, &l, in, out));
        }
done:
    sdm_free(&sums);
    sdm_free(&out);
    sdm_free(&in);
    return st;
}
