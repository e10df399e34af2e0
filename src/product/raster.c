/* Raw rasters beside the output -> Cloud-Optimised GeoTIFFs, through GDAL; every error of GDAL is caught. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product_inside.h"
#include "geo/vertical.h"

#include <cpl_string.h>
#include <ogr_srs_api.h>

/* Horizontal CRS, with the geoid on top where heights count from one. */
static SdmStatus set_crs(SdmContext *ctx, GDALDatasetH ds, const SdmGrid *grid, int vertical)
{
    SdmStatus st = SDM_OK;
    char *wkt = (char *)(uintptr_t)grid->wkt;
    char name[512];
    OGRSpatialReferenceH flat = OSRNewSpatialReference(NULL), up = OSRNewSpatialReference(NULL),
                         both = OSRNewSpatialReference(NULL);
    OGRErr e = OSRImportFromWkt(flat, &wkt);
    if (vertical != SDM_ELLIPSOID) {
        const char *const geoid = vertical == SDM_EGM96 ? "EGM96 height" : "EGM2008 height";
        e = e ? e : OSRImportFromEPSG(up, vertical == SDM_EGM96 ? 5773 : 3855);
        TRY(sdm_format(ctx, name, sizeof name, "%s + %s", e ? "" : OSRGetName(flat), geoid));
        e = e ? e : OSRSetCompoundCS(both, name, flat, up);
    }
    OGRSpatialReferenceH srs = vertical == SDM_ELLIPSOID ? flat : both;
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    if (e || GDALSetSpatialRef(ds, srs) != CE_None)
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                      "the output CRS cannot be stored in a GeoTIFF; give another --t_srs than %.80s...",
                      grid->wkt);
done:
    OSRDestroySpatialReference(both);
    OSRDestroySpatialReference(up);
    OSRDestroySpatialReference(flat);
    return st;
}

static void set_metadata(GDALDatasetH ds, const SdmProduct *p, int vertical)
{
    GDALSetMetadataItem(ds, "AREA_OR_POINT", "Area", NULL);
    GDALSetMetadataItem(ds, "STEREODEM_VERSION", SDM_VERSION, NULL);
    if (p->report.scene_id[0])
        GDALSetMetadataItem(ds, "SCENE_ID", p->report.scene_id, NULL);
    if (p->report.time_utc[0])
        GDALSetMetadataItem(ds, "ACQUISITION_TIME_UTC", p->report.time_utc, NULL);
    if (p->report.scene_kind[0])
        GDALSetMetadataItem(ds, "SCENE_KIND", p->report.scene_kind, NULL);
    if (!p->report.stack || !p->report.stack->datum_unknown)
        GDALSetMetadataItem(ds, "VERTICAL_DATUM", sdm_vertical_name(vertical), NULL);
}

/* Bytes of all raw rasters and their overviews, a cell; and the share of the budget that they may take. */
enum { CELL_BYTES = 28, MEMORY_SHARE = 8 };

/* Small enough to lie in memory until they are compressed? */
static bool fits_memory(SdmContext *ctx, const SdmGrid *grid)
{
    return grid->cols * grid->rows <= sdm_options(ctx)->memory_bytes / MEMORY_SHARE / CELL_BYTES;
}

/* A raster whose cells, pixel by pixel, lie in memory of ours, which GDAL would fetch fresh from the system.
 */
static SdmStatus create_in_memory(SdmContext *ctx, const SdmGrid *grid, int bands, GDALDataType type,
                                  GDALDatasetH *out, void **cells)
{
    SdmStatus st = SDM_OK;
    const size_t size = (size_t)GDALGetDataTypeSizeBytes(type), pixel = size * (size_t)bands;
    TRY(sdm_alloc_raw(ctx, cells, (size_t)(grid->cols * grid->rows), pixel, "the raster to write"));
    *out = GDALCreate(GDALGetDriverByName("MEM"), "", (int)grid->cols, (int)grid->rows, 0, type, NULL);
    if (*out && bands > 1)
        GDALSetMetadataItem(*out, "INTERLEAVE", "PIXEL", "IMAGE_STRUCTURE");
    for (int k = 0; *out && k < bands; k++) {
        char at[40] = "", text[3][80];
        CPLPrintPointer(at, (char *)*cells + (size_t)k * size, (int)sizeof at - 1);
        snprintf(text[0], sizeof text[0], "DATAPOINTER=%s", at);
        snprintf(text[1], sizeof text[1], "PIXELOFFSET=%zu", pixel);
        snprintf(text[2], sizeof text[2], "LINEOFFSET=%zu", pixel * (size_t)grid->cols);
        char *options[] = {text[0], text[1], text[2], NULL};
        if (GDALAddBand(*out, type, options) != CE_None) {
            GDALClose(*out);
            *out = NULL;
        }
    }
done:
    return st;
}

SdmStatus sdm_raster_create(SdmContext *ctx, const SdmProduct *p, int file, const char *path, int bands,
                            GDALDataType type, GDALDatasetH *out, void **cells)
{
    static const char *const options[] = {"INTERLEAVE=PIXEL", "TILED=YES",        "BLOCKXSIZE=512",
                                          "BLOCKYSIZE=512",   "SPARSE_OK=TRUE", "BIGTIFF=IF_SAFER",
                                          NULL};
    SdmStatus st = SDM_OK;
    SdmGdalErrors trap;
    *out = NULL;
    *cells = NULL;
    sdm_gdal_errors_begin(&trap);
    if (fits_memory(ctx, &p->grid))
        TRY(create_in_memory(ctx, &p->grid, bands, type, out, cells));
    else
        *out = GDALCreate(GDALGetDriverByName("GTiff"), path, (int)p->grid.cols, (int)p->grid.rows, bands,
                          type, (char **)(uintptr_t)options);
    GDALDatasetH ds = *out;
    if (!ds) {
        st = sdm_fail_write(ctx, path, trap.text);
        goto done;
    }
    double geo[6] = {p->grid.x0, p->grid.spacing, 0.0, p->grid.y0, 0.0, -p->grid.spacing};
    GDALSetGeoTransform(ds, geo);
    const int vertical = sdm_options(ctx)->vertical;
    TRY(set_crs(ctx, ds, &p->grid, file == SDM_FILE_DEM ? vertical : SDM_ELLIPSOID));
    set_metadata(ds, p, vertical);
    if (trap.failed)
        st = sdm_fail_write(ctx, path, trap.text);
done:
    sdm_gdal_errors_end(&trap);
    return st;
}

SdmStatus sdm_raster_close(SdmContext *ctx, GDALDatasetH *ds, void **cells, const char *path)
{
    SdmGdalErrors trap;
    if (*ds) {
        sdm_gdal_errors_begin(&trap);
        GDALClose(*ds);
        sdm_gdal_errors_end(&trap);
    }
    const bool failed = *ds && trap.failed;
    *ds = NULL;
    sdm_free(cells);
    return failed ? sdm_fail_write(ctx, path, trap.text) : SDM_OK;
}
