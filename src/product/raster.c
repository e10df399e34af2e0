/* Grid, CRS and metadata of a DEM -> a raw raster to be filled, in memory or in a file. */
// SPDX-License-Identifier: Apache-2.0
#include "product/raster.h"
#include "geo/first_band.h"
#include "geo/gdal_errors.h"
#include "geo/vertical_datum.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <ogr_srs_api.h>
#include <string.h>

/* Horizontal CRS, compound with a vertical one where heights are above a geoid.  Heights above the ellipsoid:
 * EPSG:4326 becomes EPSG:4979; a map projection stays as it is, since GDAL cannot store one with ellipsoidal
 * heights in a GeoTIFF (docs/qgis.md). */
static SdmStatus set_crs(SdmContext *ctx, GDALDatasetH ds, const SdmGrid *grid, int vertical)
{
    SdmStatus st = SDM_OK;
    char *wkt = (char *)(uintptr_t)grid->wkt;
    char name[512];
    OGRSpatialReferenceH flat = OSRNewSpatialReference(NULL), up = OSRNewSpatialReference(NULL),
                         both = OSRNewSpatialReference(NULL);
    OGRErr e = OSRImportFromWkt(flat, &wkt);
    const char *const code = e ? NULL : OSRGetAuthorityCode(flat, NULL);
    if (vertical == SDM_ELLIPSOID && code && strcmp(code, "4326") == 0 && OSRIsGeographic(flat))
        e = OSRImportFromEPSG(flat, 4979);
    if (vertical > SDM_ELLIPSOID) {
        const SdmVerticalDatum *const datum = sdm_vertical_datum(vertical);
        e = e ? e : OSRImportFromEPSG(up, datum->epsg);
        TRY(sdm_format(ctx, name, sizeof name, "%s + %s", e ? "" : OSRGetName(flat), datum->crs));
        e = e ? e : OSRSetCompoundCS(both, name, flat, up);
    }
    OGRSpatialReferenceH srs = vertical > SDM_ELLIPSOID ? both : flat;
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

/* Bytes that a cell takes in all raw rasters and their overviews; divisor of the budget that gives their
 * share. */
enum { CELL_BYTES = 32, MEMORY_SHARE = 8 };

/* A raster whose cells lie in memory of the program's account; GDAL's would be fresh from the system, and
 * slower to touch. */
static SdmStatus create_in_memory(SdmContext *ctx, const SdmRasterSpec *spec, SdmRaster *out)
{
    const SdmGrid *const grid = spec->grid;
    const int bands = spec->bands;
    const GDALDataType type = spec->type;
    const int bytes = GDALGetDataTypeSizeBytes(type);
    const size_t plane = (size_t)(grid->cols * grid->rows) * (size_t)bytes;
    PASS(sdm_alloc_raw(ctx, &out->cells, plane, (size_t)bands, "the raster to write"));
    const SdmSamples s = {out->cells, (int)grid->cols, (int)grid->rows,    bands,
                          type,       bytes,           bytes * grid->cols, (int64_t)plane};
    out->dataset = sdm_wrap_samples(&s);
    return SDM_OK;
}

SdmStatus sdm_raster_create(SdmContext *ctx, const SdmRasterSpec *spec, SdmRaster *out)
{
    static const char *const options[] = {
        "INTERLEAVE=BAND",  "TILED=YES", "BLOCKXSIZE=128", "BLOCKYSIZE=128", "SPARSE_OK=TRUE",
        "BIGTIFF=IF_SAFER", NULL};
    SdmStatus st = SDM_OK;
    SdmGdalErrors errors;
    const SdmGrid *const grid = spec->grid;
    *out = (SdmRaster){0};
    sdm_gdal_errors_begin(&errors);
    if (grid->cols * grid->rows <= spec->memory_bytes / MEMORY_SHARE / CELL_BYTES)
        TRY(create_in_memory(ctx, spec, out));
    else
        out->dataset = GDALCreate(GDALGetDriverByName("GTiff"), spec->path, (int)grid->cols, (int)grid->rows,
                                  spec->bands, spec->type, (char **)(uintptr_t)options);
    if (!out->dataset) {
        st = sdm_fail_write(ctx, spec->path, errors.text);
        goto done;
    }
    double transform[6] = {grid->x0, grid->spacing, 0.0, grid->y0, 0.0, -grid->spacing};
    GDALSetGeoTransform(out->dataset, transform);
    TRY(set_crs(ctx, out->dataset, grid, spec->vertical));
    for (char **m = spec->metadata; m && *m; m++) {
        char *name = NULL;
        const char *const value = CPLParseNameValue(*m, &name);
        GDALSetMetadataItem(out->dataset, name, value, NULL);
        CPLFree(name);
    }
    if (errors.failed)
        st = sdm_fail_write(ctx, spec->path, errors.text);
done:
    sdm_gdal_errors_end(&errors);
    return st;
}

SdmStatus sdm_raster_close(SdmContext *ctx, SdmRaster *raster, const char *path)
{
    SdmGdalErrors errors = {0};
    if (raster->dataset) {
        sdm_gdal_errors_begin(&errors);
        GDALClose(raster->dataset);
        sdm_gdal_errors_end(&errors);
    }
    raster->dataset = NULL;
    sdm_free(&raster->cells);
    return errors.failed ? sdm_fail_write(ctx, path, errors.text) : SDM_OK;
}
