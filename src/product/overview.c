/* A raw raster -> its overviews: each level halves the one before, independent of GDAL's chunks. */
// SPDX-License-Identifier: Apache-2.0
#include "product/raster.h"
#include "geo/gdal_errors.h"

#include <cpl_error.h>
#include <math.h>

enum { ROWS = 256, SMALLEST = 512, MAX_LEVELS = 30 }; /* rows at a time; side that needs no overview */

typedef struct Half { /* one level to the next */
    GDALRasterBandH from, to;
    const void *cells;   /* of `from` where they lie in memory in the type that is asked for, else NULL */
    int pitch;           /* from cell to cell */
    int cols, rows;      /* of `from` */
    double nodata, step; /* step > 0: means are rounded to multiples of it */
} Half;

/* Mean of the cells of a 2 x 2 square that have a value (fewer at the rim), nodata without any. */
static void mean_row(const Half *l, const float *above, const float *below, float *out)
{
    const float none = (float)l->nodata;
    const double inverse = l->step > 0.0 ? 1.0 / l->step : 0.0;
    for (int c = 0; c < l->cols; c += 2) {
        const int next = c + 1 < l->cols ? c + 1 : c;
        const float in[4] = {above[c], below[c], above[next], below[next]};
        const int last = next == c ? 2 : 4;
        double sum = 0.0;
        int n = 0;
        for (int k = 0; k < last; k++) {
            const bool seen = in[k] != none && !isnan(in[k]); /* nodata may be NaN */
            sum += seen ? (double)in[k] : 0.0;
            n += seen;
        }
        const double mean = n ? sum / n : 0.0;
        out[c / 2] = n == 0 ? none : (float)(l->step > 0.0 ? nearbyint(mean * inverse) * l->step : mean);
    }
}

static bool average(const Half *l, float *in, float *out)
{
    const int half = (l->cols + 1) / 2;
    for (int r = 0; r < l->rows; r += ROWS) {
        const int h = l->rows - r < ROWS ? l->rows - r : ROWS, low = (h + 1) / 2;
        const float *const rows = l->cells ? (const float *)l->cells + (size_t)r * (size_t)l->cols : in;
        if (!l->cells && GDALRasterIO(l->from, GF_Read, 0, r, l->cols, h, in, l->cols, h, GDT_Float32, 0, 0) != CE_None)
            return false;
        for (int i = 0; i < low; i++) {
            const float *const above = rows + (size_t)(2 * i) * (size_t)l->cols;
            mean_row(l, above, 2 * i + 1 < h ? above + l->cols : above, out + (size_t)i * (size_t)half);
        }
        if (GDALRasterIO(l->to, GF_Write, 0, r / 2, half, low, out, half, low, GDT_Float32, 0, 0) != CE_None)
            return false;
    }
    return true;
}

/* A mask has no mean: the first cell of each square stands for it. */
static bool first_cells(const Half *l, uint16_t *in)
{
    const int half = (l->cols + 1) / 2;
    for (int r = 0; r < l->rows; r += ROWS) {
        const int h = l->rows - r < ROWS ? l->rows - r : ROWS, low = (h + 1) / 2;
        const size_t row = (size_t)l->cols * (size_t)l->pitch;
        const uint16_t *const rows = l->cells ? (const uint16_t *)l->cells + (size_t)r * row : in;
        if (!l->cells && GDALRasterIO(l->from, GF_Read, 0, r, l->cols, h, in, l->cols, h, GDT_UInt16, 0, 0) != CE_None)
            return false;
        for (int i = 0; i < low; i++)
            for (int c = 0; c < half; c++)
                in[(size_t)i * (size_t)half + (size_t)c] = rows[(size_t)(2 * i) * row + (size_t)(2 * c * l->pitch)];
        if (GDALRasterIO(l->to, GF_Write, 0, r / 2, half, low, in, half, low, GDT_UInt16, 0, 0) != CE_None)
            return false;
    }
    return true;
}

/* The cells of a band, if its raster lies in memory and a loop can take them as they are. */
static const void *cells_of(const SdmRaster *raster, int number, bool first_cell)
{
    const GDALDataType type = GDALGetRasterDataType(GDALGetRasterBand(raster->dataset, number));
    if (raster->cells && first_cell && type == GDT_UInt16)
        return (const uint16_t *)raster->cells + (number - 1);
    return !first_cell && type == GDT_Float32 && GDALGetRasterCount(raster->dataset) == 1 ? raster->cells : NULL;
}

static SdmStatus halve_band(SdmContext *ctx, const SdmCogRequest *request, const SdmRaster *raster, int number)
{
    SdmStatus st = SDM_OK;
    float *in = NULL, *out = NULL;
    int has = 0;
    const GDALRasterBandH band = GDALGetRasterBand(raster->dataset, number);
    const double nodata = GDALGetRasterNoDataValue(band, &has);
    const void *const memory = cells_of(raster, number, request->first_cell);
    Half l = {.from = band, .nodata = has ? nodata : NAN, .step = request->step, .cells = memory,
              .pitch = memory ? GDALGetRasterCount(raster->dataset) : 1};
    const size_t cells = (size_t)GDALGetRasterBandXSize(band) * ROWS;
    TRY(sdm_alloc_raw(ctx, &in, cells, sizeof *in, "rows of an overview"));
    TRY(sdm_alloc_raw(ctx, &out, cells, sizeof *out, "rows of an overview"));
    for (int k = 0; k < GDALGetOverviewCount(band); k++) {
        l.to = GDALGetOverview(band, k);
        l.cols = GDALGetRasterBandXSize(l.from);
        l.rows = GDALGetRasterBandYSize(l.from);
        TRY(sdm_check_stop(ctx));
        if (request->first_cell ? !first_cells(&l, (uint16_t *)(void *)in) : !average(&l, in, out))
            TRY(sdm_fail_write(ctx, request->path, CPLGetLastErrorMsg()));
        l.from = l.to;
        l.cells = NULL;
        l.pitch = 1;
    }
done:
    sdm_free(&in);
    sdm_free(&out);
    return st;
}

SdmStatus sdm_overviews_build(SdmContext *ctx, const SdmRaster *raster, const SdmCogRequest *request)
{
    SdmStatus st = SDM_OK;
    const GDALDatasetH ds = raster->dataset;
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
    for (int b = 1; b <= GDALGetRasterCount(ds); b++)
        TRY(halve_band(ctx, request, raster, b));
done:
    return st;
}
