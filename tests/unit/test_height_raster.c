/* Heights of a raster over the cells of a grid: in degrees, where the ends of the raster lie within it; and the
 * same for the reference of a scene, compare and stack. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "coreg/stack_layer.h"
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

static const SdmHeightSource heights = {
    .option = "--reference", .path = FILE_NAME, .datum_option = "--reference-vertical", .datum = "ellipsoid"};

static void write_degrees(double west_deg, int cols)
{
    enum { ROWS = 100 };
    double transform[6] = {west_deg, CELL_DEG, 0.0, NORTH_DEG, 0.0, -CELL_DEG};
    FREED float *const v = malloc((size_t)cols * ROWS * sizeof *v);
    GDALAllRegister();
    GDALDatasetH const ds =
        GDALCreate(GDALGetDriverByName("GTiff"), FILE_NAME, cols, ROWS, 1, GDT_Float32, NULL);
    assert_int_equal(GDALSetProjection(ds, "EPSG:4326"), CE_None);
    assert_int_equal(GDALSetGeoTransform(ds, transform), CE_None);
    for (int i = 0; i < cols * ROWS; i++)
        v[i] = (float)ground(west_deg + (i % cols + 0.5) * CELL_DEG, NORTH_DEG - (i / cols + 0.5) * CELL_DEG);
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Write, 0, 0, cols, ROWS, v, cols, ROWS, GDT_Float32, 0, 0),
        CE_None);
    GDALClose(ds);
}

/* All cells that lie in the raster have its heights, and no others have any. */
static void check_cells(double west_deg, int raster_cols, double lon_deg, double tr)
{
    enum { COLS = 90, ROWS = 60 };
    static float height_m[COLS * ROWS];
    SdmOptions opt = default_options();
    SdmGrid grid;
    double x = lon_deg, y = -17.0;
    opt.tr = tr;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&opt);
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *raster = NULL;
    SDM_CLOSED_BY(sdm_heights_on_grid_close) SdmHeightsOnGrid on = {0};
    assert_int_equal(sdm_grid_choose(ctx, &opt, lon_deg, y, 0.5 * tr, &grid), SDM_OK);
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *projector = NULL;
    assert_int_equal(sdm_projector_open(ctx, grid.wkt, &projector), SDM_OK);
    sdm_projector_forward(projector, 1, &x, &y);
    grid.x0 = x - 0.5 * COLS * tr, grid.y0 = y + 0.5 * ROWS * tr, grid.cols = COLS, grid.rows = ROWS;
    write_degrees(west_deg, raster_cols);
    assert_int_equal(sdm_height_raster_open(ctx, &heights, &raster), SDM_OK);
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

/* ---- one height at one place, whoever asks ---- */

enum { SIDE = 80, INNER = 60, FIRST = 10 };
static const double UTM_X = 500000.0, UTM_Y = 4649000.0, CELL_M = 10.0, NONE = -4000.0;

static double hill(double x, double y)
{
    return 700.0 + 90.0 * sin((x - UTM_X) / 110.0) + 60.0 * cos((y - UTM_Y) / 90.0) + 0.1 * (x - UTM_X);
}

/* How a file stores the hill. */
typedef struct Storage {
    const char *name, *point;
    double scale, offset, across, down, turn_deg; /* across, down: signs of a step of a column and of a row */
} Storage;

static void hill_transform(const Storage *k, double t[6])
{
    const double c = cos(k->turn_deg * SDM_DEG), s = sin(k->turn_deg * SDM_DEG), half = 0.5 * SIDE * CELL_M;
    t[1] = k->across * CELL_M * c;
    t[2] = k->down * CELL_M * s;
    t[4] = k->across * CELL_M * s;
    t[5] = -k->down * CELL_M * c;
    t[0] = UTM_X + half - 0.5 * SIDE * (t[1] + t[2]);
    t[3] = UTM_Y - half - 0.5 * SIDE * (t[4] + t[5]);
}

static void write_hill(const Storage *k, const char *unit)
{
    static float v[SIDE * SIDE];
    double t[6];
    hill_transform(k, t);
    GDALAllRegister();
    GDALDatasetH const ds =
        GDALCreate(GDALGetDriverByName("GTiff"), FILE_NAME, SIDE, SIDE, 1, GDT_Float32, NULL);
    GDALRasterBandH const band = GDALGetRasterBand(ds, 1);
    assert_int_equal(GDALSetProjection(ds, "EPSG:32631"), CE_None);
    if (k->point)
        GDALSetMetadataItem(ds, "AREA_OR_POINT", k->point, NULL);
    assert_int_equal(GDALSetGeoTransform(ds, t), CE_None);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double col = i % SIDE + 0.5, row = i / SIDE + 0.5;
        const double h = hill(t[0] + col * t[1] + row * t[2], t[3] + col * t[4] + row * t[5]);
        v[i] =
            i % SIDE == SIDE / 2 && i / SIDE == SIDE / 3 ? (float)NONE : (float)((h - k->offset) / k->scale);
    }
    GDALSetRasterNoDataValue(band, NONE);
    GDALSetRasterScale(band, k->scale);
    GDALSetRasterOffset(band, k->offset);
    if (unit)
        GDALSetRasterUnitType(band, unit);
    assert_int_equal(GDALRasterIO(band, GF_Write, 0, 0, SIDE, SIDE, v, SIDE, SIDE, GDT_Float32, 0, 0),
                     CE_None);
    GDALClose(ds);
}

static void as_reference(SdmContext *ctx, const SdmGrid *grid, float *out)
{
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *raster = NULL;
    SDM_CLOSED_BY(sdm_heights_on_grid_close) SdmHeightsOnGrid on = {0};
    assert_int_equal(sdm_height_raster_open(ctx, &heights, &raster), SDM_OK);
    assert_int_equal(sdm_heights_on_grid_open(ctx, raster, grid, NAN, NAN, &on), SDM_OK);
    assert_int_equal(sdm_heights_on_grid(ctx, &on, (int64_t[]){0, 0, grid->cols, grid->rows}, NULL, out),
                     SDM_OK);
}

static void as_compare(SdmContext *ctx, const SdmGrid *grid, float *out)
{
    SDM_CLOSED_BY(sdm_input_raster_close) SdmInputRaster raster = {0};
    assert_int_equal(sdm_input_raster_open(ctx, FILE_NAME, "reference", &raster), SDM_OK);
    const SdmRasterGrid on = {.cols = grid->cols,
                              .rows = grid->rows,
                              .transform = {grid->x0, CELL_M, 0.0, grid->y0, 0.0, -CELL_M},
                              .dem = &raster};
    assert_int_equal(sdm_input_raster_load(ctx, &raster, &on, SDM_KERNEL_MEAN, out), SDM_OK);
}

static void as_stack(SdmContext *ctx, const SdmGrid *grid, float *out)
{
    char path[] = FILE_NAME;
    SdmLayer layer = {
        .path = path, .width = SIDE, .height = SIDE, .ratio = 1.0, .lon_deg = 3.0, .lat_deg = 42.0};
    const SdmStack stack = {
        .ctx = ctx, .threads = 1, .layer = &layer, .count = 1, .grid = *grid, .dx_m = CELL_M, .dy_m = CELL_M};
    const SdmCellWindow window = {.w = grid->cols, .h = grid->rows, .stride = 1};
    assert_int_equal(sdm_layer_read(&stack, &layer, window, out, NULL), SDM_OK);
}

TEST(one_height_at_one_place)
{
    static const Storage storage[] = {{"plain", NULL, 1.0, 0.0, 1.0, 1.0, 0.0},
                                      {"scale and offset", NULL, 0.5, 100.0, 1.0, 1.0, 0.0},
                                      {"PixelIsPoint", "Point", 1.0, 0.0, 1.0, 1.0, 0.0},
                                      {"south up", NULL, 1.0, 0.0, 1.0, -1.0, 0.0},
                                      {"turned", NULL, 1.0, 0.0, 1.0, 1.0, 25.0}};
    static float height_m[3][INNER * INNER];
    SdmGrid grid = {.x0 = UTM_X + FIRST * CELL_M + 3.7,
                    .y0 = UTM_Y - FIRST * CELL_M - 2.3,
                    .spacing = CELL_M,
                    .cols = INNER,
                    .rows = INNER};
    SdmOptions opt = default_options();
    opt.t_srs = "EPSG:32631";
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&opt);
    SdmGrid named;
    assert_int_equal(sdm_grid_choose(ctx, &opt, 3.0, 42.0, 5.0, &named), SDM_OK);
    memcpy(grid.wkt, named.wkt, sizeof grid.wkt);
    for (size_t k = 0; k < sizeof storage / sizeof *storage; k++) {
        int known = 0;
        write_hill(&storage[k], NULL);
        as_reference(ctx, &grid, height_m[0]);
        as_compare(ctx, &grid, height_m[1]);
        as_stack(ctx, &grid, height_m[2]);
        for (int i = 0; i < INNER * INNER; i++) {
            const double truth =
                hill(grid.x0 + (i % INNER + 0.5) * CELL_M, grid.y0 - (i / INNER + 0.5) * CELL_M);
            if (isnan(height_m[1][i]) != isnan(height_m[0][i]) ||
                isnan(height_m[2][i]) != isnan(height_m[0][i]) ||
                fabs((double)height_m[2][i] - (double)height_m[1][i]) > 1e-3)
                fail_msg("%s: compare reads %g m, the stack %g m", storage[k].name, height_m[1][i],
                         height_m[2][i]);
            for (int who = 0; who < 3; who++) /* bicubic, bilinear */
                if (fabs((double)height_m[who][i] - truth) > (who ? 1.0 : 0.5))
                    fail_msg("%s: %g m, expected %g m", storage[k].name, height_m[who][i], truth);
            known += !isnan(height_m[0][i]);
        }
        assert_int_equal(known, INNER * INNER - 4); /* the four cells around the void */
    }
}

TEST_CTX(feet_are_refused)
{
    SDM_CLOSED_BY(sdm_input_raster_close) SdmInputRaster raster = {0};
    SdmHeightRaster *reader = NULL;
    const SdmHeightSource source = {.option = "--dem", .path = FILE_NAME, .datum_option = "--dem-vertical"};
    write_hill(&(Storage){"feet", NULL, 1.0, 0.0, 1.0, 1.0, 0.0}, "US survey foot");
    assert_refused(ctx, sdm_height_raster_open(ctx, &source, &reader), SDM_ERR_INPUT, "give metres");
    assert_int_equal(sdm_input_raster_open(ctx, FILE_NAME, "DEM", &raster), SDM_ERR_INPUT);
}

RUN_TESTS(NULL, NULL)
