/* Small rasters that the reader's tests write themselves, and the samples they look at. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reading.h"
#include "tests/folder.h"

#include <cpl_conv.h>
#include <cpl_string.h>

#define HDF DATA "aster_small/AST_L1A_00401012001180005_sim.hdf"
#define V003 "AST_L1A_00301012001180005_sim"
#define FOLDER DATA "aster_small/" V003
#define ZIP FOLDER ".zip"

enum { W = 200, H = 150 };
typedef struct Raster {
    int w, h, bands;
    GDALDataType type;
    bool rpc, georef, alpha;
    double nodata; /* NaN = none */
    double fill;   /* all pixels; NaN = a ramp: value(x, y) */
    char **co;
} Raster;
static const Raster PLAIN = {W, H, 1, GDT_Byte, true, false, false, NAN, NAN, NULL};

static inline double value(int x, int y)
{
    return 1 + (x * 7 + y * 13) % 250;
}

static inline void write_raster(const char *path, Raster r)
{
    static const char rpc[] =
        "LINE_OFF=75;SAMP_OFF=100;LAT_OFF=45;LONG_OFF=10;HEIGHT_OFF=500;LINE_SCALE=75;SAMP_SCALE=100;LAT_"
        "SCALE=0.01;"
        "LONG_SCALE=0.02;HEIGHT_SCALE=500;LINE_NUM_COEFF=0 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0;"
        "LINE_DEN_COEFF=1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0;SAMP_NUM_COEFF=0 1 0 0.1 0 0 0 0 0 0 0 0 0 0 "
        "0 0 0 0 0 0;"
        "SAMP_DEN_COEFF=1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
    char **const terms = CSLTokenizeString2(rpc, ";", 0);
    char **co = CSLDuplicate(r.co);
    if (r.alpha)
        co = CSLSetNameValue(co, "ALPHA", "YES");
    GDALAllRegister();
    const GDALDatasetH ds = GDALCreate(GDALGetDriverByName("GTiff"), path, r.w, r.h, r.bands, r.type, co);
    double *const row = malloc(sizeof *row * (size_t)r.w);
    double corner[6] = {500000, 10, 0, 5000000, 0, -10};
    assert_non_null(ds);
    if (r.rpc)
        GDALSetMetadata(ds, terms, "RPC");
    if (r.georef) {
        GDALSetGeoTransform(ds, corner);
        GDALSetProjection(ds, "EPSG:32631");
    }
    for (int b = 1; b <= r.bands; ++b) {
        if (!isnan(r.nodata))
            GDALSetRasterNoDataValue(GDALGetRasterBand(ds, b), r.nodata);
        for (int y = 0; y < r.h; ++y) {
            for (int x = 0; x < r.w; ++x)
                row[x] = r.alpha && b == r.bands ? (x < 10 ? 0 : 255) : isnan(r.fill) ? value(x, y) : r.fill;
            assert_int_equal(GDALRasterIO(GDALGetRasterBand(ds, b), GF_Write, 0, y, r.w, 1, row, r.w, 1,
                                          GDT_Float64, 0, 0),
                             0);
        }
    }
    free(row);
    CSLDestroy(co);
    CSLDestroy(terms);
    GDALClose(ds);
}

static inline void poke(const char *path, int x, int y, double v)
{
    const GDALDatasetH ds = GDALOpen(path, GA_Update);
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Write, x, y, 1, 1, &v, 1, 1, GDT_Float64, 0, 0), 0);
    GDALClose(ds);
}

/* First `keep` bytes of a file (all when 0) to another place. */
static inline void copy_file(const char *from, const char *to, size_t keep)
{
    size_t size;
    FREED char *const bytes = read_path(from, &size);
    put_bytes(to, bytes, keep ? keep : size);
}

/* Names are those in a folder of the program's own. */
FIXTURE(enter_folder)
{
    return make_folder(state) || chdir(folder);
}
