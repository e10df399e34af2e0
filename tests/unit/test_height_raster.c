/* Heights of a raster in degrees over the cells of a grid, where the ends of the raster lie within it. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geodesy.h"
#include "geo/height_raster.h"
#include "tests/case.h"

#include <gdal.h>
#include <ogr_srs_api.h>

#define FILE_NAME "/vsimem/degrees.tif"
static const double CELL_DEG = 0.01, NORTH_DEG = -16.5;

/* Metres at a place; of longitudes that differ by 360 degrees the same. */
static double ground(double lon_deg, double lat_deg)
{
    return 500.0 + 300.0 * sin(3.0 * lon_deg * SDM_DEG) + 200.0 * cos(70.0 * lat_deg * SDM_DEG) +
           100.0 * sin(90.0 * lon_deg * SDM_DEG);
}

static void write_degrees(double west_deg, int cols)
{
    enum { ROWS = 100 };
    double transform[6] = {west_deg, CELL_DEG, 0.0, NORTH_DEG, 0.0, -CELL_DEG};
    float *const v = malloc((size_t)cols * ROWS * sizeof *v);
    GDALAllRegister();
    GDALDatasetH const ds =
        GDALCreate(GDALGetDriverByName("GTiff"), FILE_NAME, cols, ROWS, 1, GDT_Float32, NULL);
    OGRSpatialReferenceH const srs = OSRNewSpatialReference(NULL);
    assert_int_equal(OSRImportFromEPSG(srs, 4326), OGRERR_NONE);
    assert_int_equal(GDALSetSpatialRef(ds, srs), CE_None);
    assert_int_equal(GDALSetGeoTransform(ds, transform), CE_None);
    for (int i = 0; i < cols * ROWS; i++)
        v[i] = (float)ground(west_deg + (i % cols + 0.5) * CELL_DEG, NORTH_DEG - (i / cols + 0.5) * CELL_DEG);
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Write, 0, 0, cols, ROWS, v, cols, ROWS, GDT_Float32, 0, 0),
        CE_None);
    OSRDestroySpatialReference(srs);
    GDALClose(ds);
    free(v);
}

/* All cells that lie in the raster have its heights, and no others have any. */
static void check_cells(double west_deg, int raster_cols, double lon_deg, double tr)
{
    enum { COLS = 90, ROWS = 60 };
    static float height_m[COLS * ROWS];
    SdmOptions opt;
    SdmContext *ctx = NULL;
    SdmGrid grid;
    SdmHeightRaster *raster = NULL;
    SdmHeightsOnGrid on;
    double x = lon_deg, y = -17.0;
    sdm_options_default(&opt);
    opt.tr = tr;
    assert_int_equal(sdm_open(&ctx, &opt), SDM_OK);
    assert_int_equal(sdm_grid_choose(ctx, &opt, lon_deg, y, 0.5 * tr, &grid), SDM_OK);
    SdmProjector *projector = NULL;
    assert_int_equal(sdm_projector_open(ctx, grid.wkt, &projector), SDM_OK);
    sdm_projector_forward(projector, 1, &x, &y);
    grid.x0 = x - 0.5 * COLS * tr, grid.y0 = y + 0.5 * ROWS * tr, grid.cols = COLS, grid.rows = ROWS;
    write_degrees(west_deg, raster_cols);
    const SdmHeightSource source = {"--reference", FILE_NAME, "--reference-vertical", "ellipsoid"};
    assert_int_equal(sdm_height_raster_open(ctx, &source, &raster), SDM_OK);
    assert_int_equal(sdm_heights_on_grid_open(ctx, raster, &grid, lon_deg, -17.0, &on), SDM_OK);
    assert_int_equal(sdm_heights_on_grid(ctx, &on, (int64_t[]){0, 0, COLS, ROWS}, NULL, height_m), SDM_OK);
    for (int i = 0; i < COLS * ROWS; i++) {
        double lon = grid.x0 + (i % COLS + 0.5) * tr, lat = grid.y0 - (i / COLS + 0.5) * tr;
        sdm_projector_inverse(projector, 1, &lon, &lat);
        const double col = (lon - west_deg - 360.0 * floor((lon - west_deg) / 360.0)) / CELL_DEG;
        const bool all_round = raster_cols * CELL_DEG > 359.99, inside = all_round || col < raster_cols;
        if (lat > NORTH_DEG - 2.0 * CELL_DEG || lat < NORTH_DEG - 98.0 * CELL_DEG)
            continue;
        const double edge = fmin(fmin(col, fabs(col - raster_cols)), 360.0 / CELL_DEG - col);
        if (all_round || edge > 2.0)
            assert_int_equal(isnan(height_m[i]), !inside);
        if (inside && (all_round || edge > 2.0))
            assert_true(fabs(height_m[i] - ground(lon, lat)) < 1.5);
    }
    sdm_heights_on_grid_close(&on);
    sdm_height_raster_close(&raster);
    sdm_projector_close(&projector);
    sdm_close(&ctx);
}

TEST(ends_meet_in_the_grid)
{
    check_cells(-180.0, 36000, 179.98, 500.0); /* a mosaic of both sides of the antimeridian */
    check_cells(0.0, 36000, 0.02, 500.0);
    check_cells(-180.0, 36000, 180.0, 4000.0); /* means of cells */
    check_cells(170.0, 2000, -179.9, 500.0);   /* longitudes up to 190 */
}

TEST(edge_lies_in_the_grid)
{
    check_cells(9.0, 1000, 8.97, 500.0);
    check_cells(-1.0, 1000, 9.0, 500.0);
}

RUN_TESTS(NULL, NULL)
