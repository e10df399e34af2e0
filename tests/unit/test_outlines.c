/* Polygons on grids: cells by their centres, CRS, ends of the longitudes, poles, what is no polygon. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/outlines.h"
#include "geo/projector.h"
#include "tests/case.h"

#include <cpl_vsi.h>
#include <gdal_utils.h>

#define NAME "/vsimem/outlines.geojson"
enum { SIDE = 200 };
static uint8_t cell[SIDE * SIDE];

static void write_text(const char *path, const char *text)
{
    GDALAllRegister();
    VSILFILE *const f = VSIFOpenL(path, "wb");
    assert_non_null(f);
    assert_int_equal(VSIFWriteL(text, 1, strlen(text), f), strlen(text));
    VSIFCloseL(f);
}

/* Features as text: {"type": ...} with properties and geometry; crs: EPSG number, 0: none is named. */
static void write_features(const char *features, int crs)
{
    static char text[1 << 16];
    char named[128] = "";
    if (crs)
        snprintf(named, sizeof named,
                 "\"crs\":{\"type\":\"name\",\"properties\":{\"name\":\"urn:ogc:def:crs:EPSG::%d\"}},", crs);
    snprintf(text, sizeof text, "{\"type\":\"FeatureCollection\",%s\"features\":[%s]}", named, features);
    write_text(NAME, text);
}

/* One feature with a geometry: "Polygon", "[[[x, y], ...]]". */
static void write_one(const char *type, const char *places, int crs)
{
    static char text[1 << 15];
    snprintf(text, sizeof text,
             "{\"type\":\"Feature\",\"properties\":{},\"geometry\":{\"type\":\"%s\",\"coordinates\":%s}}",
             type, places);
    write_features(text, crs);
}

static SdmStatus burn(const SdmOutlineSource *source, const SdmOutlineGrid *grid, char *error, size_t size)
{
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    SDM_CLOSED_BY(sdm_outlines_close) SdmOutlines o = {0};
    SdmStatus st = sdm_outlines_open(ctx, source, &o);
    if (!st)
        st = sdm_outlines_burn(ctx, &o, grid, cell);
    snprintf(error, size, "%s", sdm_error(ctx));
    return st;
}

/* SIDE x SIDE square cells from the upper left corner on. */
static SdmOutlineGrid grid_of(const char *crs, double x0, double y0, double size)
{
    return (SdmOutlineGrid){
        .wkt = crs, .transform = {x0, size, 0.0, y0, 0.0, -size}, .cols = SIDE, .rows = SIDE};
}

static void must_burn_of(const SdmOutlineSource *source, const SdmOutlineGrid *grid)
{
    char error[512];
    if (burn(source, grid, error, sizeof error))
        fail_msg("%s", error);
}

static void must_burn(const SdmOutlineGrid *grid)
{
    must_burn_of(&(SdmOutlineSource){.option = "--mask", .path = NAME}, grid);
}

static void refused(const SdmOutlineSource *source, SdmStatus expected, const char *words)
{
    char error[1024];
    const SdmOutlineGrid grid = grid_of("EPSG:32631", 500000, 5000000, 10);
    assert_int_equal(burn(source, &grid, error, sizeof error), expected);
    if (!strstr(error, words))
        fail_msg("'%s' does not say '%s'", error, words);
    assert_null(strchr(error, '\n'));
}

/* Half-open in both axes: polygons side by side share no cell and leave none out. */
TEST(centres_decide)
{
    const SdmOutlineGrid grid = grid_of("EPSG:32631", 500000, 5000000, 10);
    int seen[SIDE * SIDE] = {0};
    for (int k = 0; k < 2; k++) { /* a square with a hole; the hole; edges run through centres */
        write_one(
            "Polygon",
            k ? "[[[500305,4999695],[500605,4999695],[500605,4999395],[500305,4999395],[500305,4999695]]]"
              : "[[[500105,4999895],[501005,4999895],[501005,4998995],[500105,4998995],[500105,4999895]],"
                "[[500305,4999695],[500605,4999695],[500605,4999395],[500305,4999395],[500305,4999695]]]",
            32631);
        must_burn(&grid);
        for (int i = 0; i < SIDE * SIDE; i++)
            seen[i] += cell[i];
    }
    int count = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        assert_true(seen[i] <= 1);
        count += seen[i];
    }
    assert_int_equal(count, 90 * 90);
    write_one("Polygon",
              "[[[500106,4999894],[501004,4999894],[501004,4998996],[500106,4998996],[500106,4999894]]]",
              32631);
    must_burn(&grid);
    count = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double x = 500005.0 + 10.0 * (i % SIDE), y = 4999995.0 - 10.0 * (int)(i / SIDE);
        assert_int_equal(cell[i], x > 500106 && x < 501004 && y < 4999894 && y > 4998996);
        count += cell[i];
    }
    assert_int_equal(count, 89 * 89);
}

typedef bool inside_fn(double lon, double lat);

/* Every cell is what the function of its longitude and latitude says. */
static void check_degrees(const SdmOutlineGrid *grid, inside_fn *inside)
{
    int count = 0;
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *projector = NULL;
    assert_int_equal(sdm_projector_open(NULL, grid->wkt, &projector), SDM_OK);
    must_burn(grid);
    for (int i = 0; i < SIDE * SIDE; i++) { /* their centres */
        double lon = grid->transform[0] + grid->transform[1] * (i % SIDE + 0.5),
               lat = grid->transform[3] + grid->transform[5] * ((int)(i / SIDE) + 0.5);
        sdm_projector_inverse(projector, 1, &lon, &lat);
        if (cell[i] != inside(lon, lat))
            fail_msg("%s: cell %d at %.9f %.9f is %d", grid->wkt, i, lon, lat, cell[i]);
        count += cell[i];
    }
    assert_true(count > SIDE && count < SIDE * SIDE - SIDE);
}

static bool north_of_60(double lon, double lat)
{
    return lat > 60.0 && lon < 90.0;
}

static bool south_of_80(double lon, double lat)
{
    (void)lon;
    return lat < -80.0;
}

static bool about_180(double lon, double lat)
{
    return lat > -16.6 && fabs(lon) > 179.9;
}

static bool west_of_6(double lon, double lat)
{
    (void)lat;
    return lon < -6.0;
}

/* Edges in degrees are straight there: 180 degrees of a parallel are a curve in UTM. */
TEST(long_edges_in_degrees)
{
    SdmOutlineGrid grid = grid_of("EPSG:32633", 400000, 6655000, 30);
    write_one("Polygon", "[[[-90,60],[90,60],[90,90],[-90,90],[-90,60]]]", 0);
    grid.transform[3] = 6654800; /* 60 N passes through it, 90 m lower in the middle */
    check_degrees(&grid, north_of_60);
    grid.transform[1] = 900, grid.transform[5] = -900, grid.transform[0] = 300000,
    grid.transform[3] = 6740000;
    check_degrees(&grid, north_of_60);
}

TEST(ends_of_the_longitudes)
{
    SdmOutlineGrid grid = grid_of("EPSG:32701", 166000, 8170000, 120);
    write_one("MultiPolygon",
              "[[[[179.9,-16.6],[180,-16.6],[180,-10],[179.9,-10],[179.9,-16.6]]],"
              "[[[-180,-16.6],[-179.9,-16.6],[-179.9,-10],[-180,-10],[-180,-16.6]]]]",
              0);
    check_degrees(&grid, about_180);
    write_one("Polygon", "[[[179.9,-16.6],[180.1,-16.6],[180.1,-10],[179.9,-10],[179.9,-16.6]]]", 0);
    check_degrees(&grid, about_180);
    grid = grid_of("EPSG:32630", 235000, 4500000, 120);
    write_one("Polygon", "[[[350,30],[354,30],[354,50],[350,50],[350,30]]]", 0); /* 0..360 */
    check_degrees(&grid, west_of_6);
}

TEST(round_a_pole)
{
    const SdmOutlineGrid grid = grid_of("EPSG:3031", -1500000, 1500000, 15000);
    write_one("Polygon", "[[[-180,-90],[180,-90],[180,-80],[-180,-80],[-180,-90]]]", 0);
    check_degrees(&grid, south_of_80);
}

/* Values by a field; later features lie above; empty is 0; other geometries are ignored. */
TEST(values_of_a_field)
{
    const SdmOutlineGrid grid = grid_of("EPSG:32631", 500000, 5000000, 10);
    const SdmOutlineSource source = {.option = "--class", .path = NAME, .field = "class"};
#define SQUARE(value, x0, x1)                                                                                \
    "{\"type\":\"Feature\",\"properties\":{\"Class\":" value                                                 \
    "},\"geometry\":{\"type\":\"Polygon\",\"coordinates\":[[[" x0 ",5000000],[" x1 ",5000000],[" x1          \
    ",4999000],[" x0 ",4999000],[" x0 ",5000000]]]}}"
    write_features(SQUARE("1", "500000", "501000") "," SQUARE("17", "500500", "501000") "," SQUARE(
                       "null", "500900",
                       "501000") ",{\"type\":\"Feature\",\"properties\":{},\"geometry\":{\"type\":\"Point\","
                                 "\"coordinates\":[500500,4999500]}}",
                   32631);
    must_burn_of(&source, &grid);
    assert_int_equal(cell[10], 1);
    assert_int_equal(cell[60], 17);
    assert_int_equal(cell[95], 0);
    assert_int_equal(cell[100], 0);
    must_burn(&grid);
    assert_int_equal(cell[95], 1); /* without the field all are */
    SdmOutlineSource some = {.option = "--mask", .path = NAME, .where = "Class > 1"};
    must_burn_of(&some, &grid);
    assert_int_equal(cell[10], 0);
    assert_int_equal(cell[60], 1);
    some.where = "Class > 99";
    refused(&some, SDM_ERR_INPUT, "--where Class > 99: selects no polygon of --mask " NAME);
    some.where = "klass = 1";
    refused(&some, SDM_ERR_INPUT, "its fields are Class");
    some.where = "Class >";
    refused(&some, SDM_ERR_INPUT, "cannot be applied to --mask");
    write_features(SQUARE("\"ice\"", "500000", "501000"), 32631);
    refused(&source, SDM_ERR_INPUT, "has class 'ice', expected a whole number from 0 to 255");
    write_features(SQUARE("300", "500000", "501000"), 32631);
    refused(&source, SDM_ERR_INPUT, "has class '300'");
}

TEST(what_is_of_no_use)
{
    SdmOutlineSource source = {.option = "--exclude", .path = NAME};
    write_one("LineString", "[[3,45],[3.1,45],[3.1,45.1],[3,45]]", 0);
    refused(&source, SDM_ERR_INPUT, "holds Line String, expected polygons");
    write_one("Point", "[3,45]", 0);
    refused(&source, SDM_ERR_INPUT, "holds Point, expected polygons");
    write_features("", 0);
    refused(&source, SDM_ERR_INPUT, "is empty");
    write_one("Polygon", "[[[30,45],[31,45],[31,46],[30,45]]]", 0);
    refused(&source, SDM_ERR_DATA, "none of its polygons covers the centre of a cell");
    source.may_miss = true;
    const SdmOutlineGrid grid = grid_of("EPSG:32631", 500000, 5000000, 10);
    must_burn_of(&source, &grid);
    write_text("/vsimem/outlines.csv", "id,WKT\n1,\"POLYGON ((3 45,4 45,4 46,3 45))\"\n");
    refused(&(SdmOutlineSource){.option = "--mask", .path = "/vsimem/outlines.csv"}, SDM_ERR_INPUT,
            "has no coordinate reference system");
    write_text("/vsimem/outlines.txt", "nothing");
    refused(&(SdmOutlineSource){.option = "--mask", .path = "/vsimem/outlines.txt"}, SDM_ERR_INPUT,
            "cannot be opened as a raster or as polygons");
    refused(&(SdmOutlineSource){.option = "--mask", .path = "/vsimem/not there.zip"}, SDM_ERR_INPUT,
            "name the file inside");
}

/* A polygon that crosses itself: an odd number of edges; rings that are not closed; a ring of two points. */
TEST(odd_polygons)
{
    const SdmOutlineGrid grid = grid_of("EPSG:32631", 500000, 5000000, 10);
    write_one("MultiPolygon",
              "[[[[500000,5000000],[501000,4999000],[501000,5000000],[500000,4999000],[500000,5000000]]],"
              "[[[500000,4999000],[501000,4999000],[501000,4998000],[500000,4998000]]],"
              "[[[500000,4998500],[501000,4998500]]]]",
              32631);
    must_burn(&grid);
    assert_int_equal(cell[50 * SIDE + 5], 1);
    assert_int_equal(cell[50 * SIDE + 95], 1);
    assert_int_equal(cell[5 * SIDE + 50], 0);
    assert_int_equal(cell[95 * SIDE + 50], 0);
    assert_int_equal(cell[150 * SIDE + 50], 1);
    assert_int_equal(cell[150 * SIDE + 150], 0);
}

/* A GeoPackage of two layers, a zipped shapefile. */
TEST(layers_and_archives)
{
    const SdmOutlineGrid grid = grid_of("EPSG:32631", 500000, 5000000, 10);
    write_one("Polygon", "[[[500000,5000000],[501000,5000000],[501000,4999000],[500000,5000000]]]", 32631);
    GDALDatasetH const from = GDALOpenEx(NAME, GDAL_OF_VECTOR, NULL, NULL, NULL);
    GDALDatasetH const to =
        GDALCreate(GDALGetDriverByName("GPKG"), "/vsimem/outlines.gpkg", 0, 0, 0, GDT_Unknown, NULL);
    if (!to)
        skip();
    assert_non_null(GDALDatasetCopyLayer(to, GDALDatasetGetLayer(from, 0), "glaciers", NULL));
    GDALClose(to);
    SdmOutlineSource source = {.option = "--mask", .path = "/vsimem/outlines.gpkg", .layer = "any"};
    must_burn_of(&source, &grid); /* the only layer needs no name */
    GDALDatasetH const more = GDALOpenEx(source.path, GDAL_OF_VECTOR | GDAL_OF_UPDATE, NULL, NULL, NULL);
    assert_non_null(GDALDatasetCopyLayer(more, GDALDatasetGetLayer(from, 0), "lakes", NULL));
    GDALClose(more);
    refused(&source, SDM_ERR_INPUT,
            "--layer any: --mask /vsimem/outlines.gpkg has no such layer; it has glaciers, lakes");
    source.layer = NULL;
    refused(&source, SDM_ERR_INPUT, "(glaciers, lakes); name one with --layer");
    source.layer = "lakes";
    must_burn_of(&source, &grid);
    assert_int_equal(cell[5 * SIDE + 50], 1);
    source.where = "nothing = 1"; /* SQLite tells it late */
    refused(&source, SDM_ERR_INPUT, "cannot be applied to --mask");
    GDALClose(from);
    static const char *const part[] = {"shp", "shx", "dbf", "prj"};
    GDALVectorTranslateOptions *const options =
        GDALVectorTranslateOptionsNew((char *[]){(char[]){"-f"}, (char[]){"ESRI Shapefile"}, NULL}, NULL);
    GDALDatasetH in = GDALOpenEx(NAME, GDAL_OF_VECTOR, NULL, NULL, NULL);
    GDALClose(GDALVectorTranslate("/vsimem/outlines.shp", NULL, 1, &in, options, NULL));
    GDALVectorTranslateOptionsFree(options);
    GDALClose(in);
    for (int i = 0; i < 4; i++) {
        char a[64], b[64];
        snprintf(a, sizeof a, "/vsimem/outlines.%s", part[i]);
        snprintf(b, sizeof b, "/vsizip//vsimem/outlines.zip/outlines.%s", part[i]);
        vsi_l_offset size;
        GByte *const data = VSIGetMemFileBuffer(a, &size, FALSE);
        VSILFILE *const f = VSIFOpenL(b, "wb");
        assert_non_null(f);
        assert_int_equal(VSIFWriteL(data, 1, (size_t)size, f), size);
        VSIFCloseL(f);
    }
    must_burn_of(&(SdmOutlineSource){.option = "--mask", .path = "/vsimem/outlines.zip"}, &grid);
    assert_int_equal(cell[5 * SIDE + 50], 1);
    assert_int_equal(cell[95 * SIDE + 50], 0);
}

TEST(every_allocation_may_fail)
{
    const SdmOutlineGrid grid = grid_of("EPSG:32633", 400000, 6654800, 30);
    char error[512];
    write_one("Polygon", "[[[-90,60],[90,60],[90,90],[-90,90],[-90,60]]]", 0);
    EACH_ALLOCATION_FAILS(
        burn(&(SdmOutlineSource){.option = "--mask", .path = NAME}, &grid, error, sizeof error), , 2, 1);
}

RUN_TESTS(NULL, NULL)
