/* The datum of a raster: by its CRS, by the names of products, of VRTs and of VRTs of VRTs, by its cells. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "geo/geoid.h"
#include "geo/vertical_datum.h"
#include "tests/case.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <gdal_utils.h>

static GDALDatasetH make(const char *name, const char *srs, GDALDataType type)
{
    double place[6] = {7.0, 1.0 / 3600.0, 0.0, 46.0, 0.0, -1.0 / 3600.0};
    GDALDatasetH const ds = GDALCreate(GDALGetDriverByName("GTiff"), name, 8, 8, 1, type, NULL);
    GDALSetGeoTransform(ds, place);
    assert_int_equal(GDALSetProjection(ds, srs), CE_None);
    return ds;
}

static SdmDatumFound find(const char *name, const char *srs, GDALDataType type)
{
    char path[200];
    SdmDatumFound found;
    snprintf(path, sizeof path, "/vsimem/datum/%s", name);
    GDALDatasetH const ds = make(path, srs, type);
    sdm_vertical_find(ds, &found);
    GDALClose(ds);
    VSIUnlink(path);
    return found;
}

TEST(names_of_products)
{
    static const struct {
        const char *name;
        int vertical;
    } of[] = {
        {"Copernicus_DSM_COG_10_N45_00_E007_00_DEM.tif", SDM_EGM2008},
        {"Copernicus_DSM_30_S12_00_W077_00_DEM.dt1", SDM_EGM2008},
        {"copernicus_dsm_10.tif", SDM_EGM2008},
        {"GLO-30.tif", SDM_EGM2008},
        {"my_glo90_alps.tif", SDM_EGM2008},
        {"output_COP30.tif", SDM_EGM2008},
        {"N45E007_FABDEM_V1-2.tif", SDM_EGM2008},
        {"N45E007.hgt", SDM_EGM96},
        {"N45E007.SRTMGL1.hgt", SDM_EGM96},
        {"n45_e007_1arc_v3.tif", SDM_EGM96},
        {"srtm_38_03.tif", SDM_EGM96},
        {"NASADEM_HGT_n45e007.tif", SDM_EGM96},
        {"ALPSMLC30_N045E007_DSM.tif", SDM_EGM96},
        {"N045E007_AVE_DSM.tif", SDM_EGM96},
        {"ASTGTMV003_N45E007_dem.tif", SDM_EGM96},
        {"output_SRTMGL1_E.tif", SDM_ELLIPSOID},
        {"output_AW3D30_E.tif", SDM_ELLIPSOID},
        {"TDM1_DEM__30_N45E007_DEM.tif", SDM_ELLIPSOID},
        {"glo30_ellipsoid.tif", SDM_ELLIPSOID},
        {"srtm_to_egm2008.tif", SDM_EGM2008},
        {"USGS_13_n46w007.tif", SDM_VERTICAL_OTHER},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const SdmDatumFound found = find(of[i].name, "EPSG:32632", GDT_Float32);
        if (found.vertical != of[i].vertical || found.by != SDM_DATUM_NAMED || !strstr(found.why, of[i].name))
            fail_msg("%s: datum %d by %d, %s", of[i].name, found.vertical, found.by, found.why);
    }
}

/* What a file declares goes before its name; cells of degrees tell where nothing else does. */
TEST(other_signs)
{
    static const struct {
        const char *name, *srs;
        GDALDataType type;
        int vertical, by;
    } of[] = {
        {"glo30.tif", "EPSG:4326+5773", GDT_Float32, SDM_EGM96, SDM_DATUM_DECLARED},
        {"glo30.tif", "EPSG:4979", GDT_Float32, SDM_ELLIPSOID, SDM_DATUM_DECLARED},
        {"srtm.tif", "EPSG:25832+5783", GDT_Int16, SDM_VERTICAL_OTHER, SDM_DATUM_DECLARED},
        {"tile.tif", "EPSG:4326", GDT_Float32, SDM_EGM2008, SDM_DATUM_ASSUMED},
        {"tile.tif", "EPSG:4326", GDT_Int16, SDM_EGM96, SDM_DATUM_ASSUMED},
        {"tile.tif", "EPSG:32632", GDT_Int16, SDM_VERTICAL_UNKNOWN, SDM_DATUM_ASSUMED},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        SdmDatumFound found = find(of[i].name, of[i].srs, of[i].type);
        if (found.vertical != of[i].vertical || found.by != of[i].by)
            fail_msg("%zu: datum %d by %d, %s", i, found.vertical, found.by, found.why);
        sdm_vertical_give(&found, "--dem-vertical", "auto");
        assert_int_equal(found.by, of[i].by);
        sdm_vertical_give(&found, "--dem-vertical", "egm96");
        assert_true(found.vertical == SDM_EGM96 && found.by == SDM_DATUM_GIVEN);
    }
}

static GDALDatasetH build_vrt(const char *to, const char *const *from, int count)
{
    int bad = 0;
    GDALDatasetH const vrt = GDALBuildVRT(to, count, NULL, from, NULL, &bad);
    assert_non_null(vrt);
    GDALFlushCache(vrt);
    return vrt;
}

TEST(sources_of_vrts)
{
    static const char *const tiles[] = {"/vsimem/datum/ASTGTMV003_N45E007_dem.tif",
                                        "/vsimem/datum/ASTGTMV003_N45E008_dem.tif",
                                        "/vsimem/datum/Copernicus_DSM_COG_10_N46_00_E007_00_DEM.tif"};
    static const char *const inner[] = {"/vsimem/datum/inner.vrt"};
    SdmDatumFound found;
    for (int i = 0; i < 3; i++)
        GDALClose(make(tiles[i], "EPSG:4326", GDT_Float32));
    GDALClose(build_vrt(inner[0], tiles, 2));
    GDALDatasetH vrt = build_vrt("/vsimem/datum/outer.vrt", inner, 1);
    sdm_vertical_find(vrt, &found);
    assert_true(found.vertical == SDM_EGM96 && found.by == SDM_DATUM_NAMED);
    GDALClose(vrt);
    vrt = build_vrt("/vsimem/datum/mixed.vrt", tiles, 3);
    sdm_vertical_find(vrt, &found);
    assert_int_equal(found.vertical, SDM_VERTICAL_OTHER);
    assert_non_null(strstr(found.name, "ASTER GDEM"));
    assert_null(sdm_vertical_crs(vrt, &found));
    GDALClose(vrt);
    VSIRmdirRecursive("/vsimem/datum");
}

/* A vertical CRS that PROJ can transform, here by a grid that the CRS names; and one whose grid is missing. */
TEST_CTX(other_vertical_crs)
{
    SdmGeoid *g = NULL, *own;
    const double lon = 7.3, lat = 45.6;
    double n, expected;
    if (sdm_geoid_open_crs(ctx,
                           "+proj=utm +zone=32 +datum=WGS84 +geoidgrids=egm96_15.gtx +vunits=m +type=crs",
                           "--reference a.tif", &g) == SDM_OK) {
        assert_int_equal(sdm_geoid_undulation(ctx, g, 1, &lon, &lat, &n), SDM_OK);
        assert_int_equal(sdm_geoid_open_own(ctx, SDM_EGM96, &own), SDM_OK);
        assert_int_equal(sdm_geoid_undulation(ctx, own, 1, &lon, &lat, &expected), SDM_OK);
        assert_true(n - expected < 0.3 && expected - n < 0.3);
        sdm_geoid_close(&own);
    }
    sdm_geoid_close(&g);
    const SdmDatumFound found = {.vertical = SDM_VERTICAL_OTHER, .epsg = 5728};
    GDALDatasetH const ds = make("/vsimem/swiss.tif", "EPSG:2056", GDT_Float32);
    char *const crs = sdm_vertical_crs(ds, &found);
    assert_non_null(strstr(crs, "LN02"));
    if (sdm_geoid_open_crs(ctx, crs, "--reference swiss.tif", &g) != SDM_OK) {
        assert_non_null(strstr(sdm_error(ctx), "--reference swiss.tif"));
        assert_non_null(strstr(sdm_error(ctx), "gdalwarp"));
    }
    sdm_geoid_close(&g);
    CPLFree(crs);
    GDALClose(ds);
    VSIUnlink("/vsimem/swiss.tif");
}

int main(void)
{
    GDALAllRegister();
    return run_cases(NULL, NULL);
}
