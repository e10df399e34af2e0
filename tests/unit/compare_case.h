/* Rasters that the tests of compare write into memory, and a comparison of two of them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coreg/compare.h"
#include "geo/projector.h"
#include "tests/case.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <gdal.h>

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))
#define DEM "/vsimem/compare_dem.tif"
#define REF "/vsimem/compare_ref.tif"
#define EXTRA "/vsimem/compare_extra.tif"

typedef struct Raster { /* what to write; zeros: no CRS, 30 m cells, one band */
    int cols, rows, epsg, vertical_epsg, bands;
    double x0, y0, cell;
    const float *values;  /* rows x cols; NaN = nodata (-9999) */
    const char *datum;    /* VERTICAL_DATUM */
    double scale, offset; /* metres = value x scale + offset; scale 0: none */
} Raster;

static inline void text_of(const SdmCompareResult *r, char *out, size_t size)
{
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = NULL};
    sdm_compare_text(r, &text);
    snprintf(out, size, "%s", text.data);
}

/* From metres of UTM zone 31 N to degrees. */
static inline void to_degrees(double *x, double *y)
{
    static SdmProjector *projector;
    if (!projector)
        assert_int_equal(sdm_projector_open(NULL, "EPSG:32631", &projector), SDM_OK);
    sdm_projector_inverse(projector, 1, x, y);
}

static inline void write_text(const char *path, const char *text)
{
    GDALAllRegister();
    VSILFILE *const f = VSIFOpenL(path, "wb");
    assert_non_null(f);
    assert_int_equal(VSIFWriteL(text, 1, strlen(text), f), strlen(text));
    VSIFCloseL(f);
}

static inline void write_raster(const char *path, const Raster *r)
{
    GDALAllRegister();
    const int bands = r->bands ? r->bands : 1;
    const double cell = r->cell > 0.0 ? r->cell : 30.0;
    double transform[6] = {r->x0, cell, 0.0, r->y0, 0.0, -cell};
    GDALDatasetH const set =
        GDALCreate(GDALGetDriverByName("GTiff"), path, r->cols, r->rows, bands, GDT_Float32, NULL);
    assert_non_null(set);
    GDALSetGeoTransform(set, transform);
    char crs[64];
    snprintf(crs, sizeof crs, r->vertical_epsg ? "EPSG:%d+%d" : "EPSG:%d", r->epsg, r->vertical_epsg);
    if (r->epsg)
        assert_int_equal(GDALSetProjection(set, crs), CE_None);
    if (r->datum)
        GDALSetMetadataItem(set, "VERTICAL_DATUM", r->datum, NULL);
    const size_t n = (size_t)r->cols * (size_t)r->rows;
    float *const v = malloc(n * sizeof *v);
    for (int b = 1; b <= bands; b++) {
        for (size_t i = 0; i < n; i++)
            v[i] = b > 1 ? 77.0f : isnan(r->values[i]) ? -9999.0f : r->values[i];
        GDALRasterBandH const band = GDALGetRasterBand(set, b);
        GDALSetRasterNoDataValue(band, -9999.0);
        if (r->scale > 0.0) {
            GDALSetRasterScale(band, r->scale);
            GDALSetRasterOffset(band, r->offset);
        }
        assert_int_equal(
            GDALRasterIO(band, GF_Write, 0, 0, r->cols, r->rows, v, r->cols, r->rows, GDT_Float32, 0, 0),
            CE_None);
    }
    free(v);
    GDALClose(set);
}

/* 4 x 3 cells, flat reference at 100 m: every figure is known. */
static const Raster flat_raster = {.cols = 4, .rows = 3, .epsg = 32631, .x0 = 600000, .y0 = 4900000};

static inline void write_flat(const char *path, const float values[12], const char *datum)
{
    Raster r = flat_raster;
    r.values = values;
    r.datum = datum;
    write_raster(path, &r);
}

/* Compare DEM with a reference.  error: the sentence of a failure; NULL: printed. */
static inline SdmStatus run_with(const char *reference, const SdmCompareOptions *opt, SdmCompareResult *out,
                                 char *error, size_t size)
{
    const SdmCompareOptions none = {.model = NULL};
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    const SdmStatus st = sdm_compare_dems(ctx, DEM, reference, opt ? opt : &none, out);
    if (error)
        snprintf(error, size, "%s", sdm_error(ctx));
    else if (st)
        print_error("%s\n", sdm_error(ctx));
    return st;
}

static inline SdmStatus run(const SdmCompareOptions *opt, SdmCompareResult *out, char *error, size_t size)
{
    return run_with(REF, opt, out, error, size);
}

/* The comparison with a reference ends with that status and one sentence that holds the words. */
static inline void refused_with(const char *reference, const SdmCompareOptions *opt, SdmStatus expected,
                                const char *words)
{
    SdmCompareResult r;
    char error[1024];
    assert_int_equal(run_with(reference, opt, &r, error, sizeof error), expected);
    if (!strstr(error, words))
        fail_msg("'%s' does not say '%s'", error, words);
    assert_null(strchr(error, '\n'));
}

static inline void refused(const SdmCompareOptions *opt, SdmStatus expected, const char *words)
{
    refused_with(REF, opt, expected, words);
}

static const float hundred[12] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100};

/* A smooth hill country, metres; x east, y north. */
static inline double terrain(double x, double y)
{
    return 400.0 + 90.0 * sin(x / 310.0) * cos(y / 270.0) + 60.0 * sin((x + 2.0 * y) / 530.0) + 0.05 * x;
}

/* terrain(x + dx, y + dy) + dz at cell centres, with some holes. */
static inline void write_terrain(const char *path, double dx, double dy, double dz, bool holes)
{
    enum { COLS = 160, ROWS = 130 };
    FREED float *const v = malloc((size_t)COLS * ROWS * sizeof *v);
    for (int j = 0; j < ROWS; j++)
        for (int i = 0; i < COLS; i++)
            v[j * COLS + i] = holes && (i * 7 + j * 13) % 29 == 0
                                  ? NAN
                                  : (float)(terrain(30.0 * i + dx, -30.0 * j + dy) + dz);
    const Raster r = {.cols = COLS, .rows = ROWS, .epsg = 32631, .x0 = 600000, .y0 = 4900000, .values = v};
    write_raster(path, &r);
}
