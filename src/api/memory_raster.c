/* A raster in memory -> a name that GDAL opens, for functions and options that take names of files. */
// SPDX-License-Identifier: Apache-2.0
#include "api/face.h"

#include <cpl_vsi.h>
#include <inttypes.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

void sdm_face_remove_rasters(SdmFace *face)
{
    for (int i = 0; i < face->raster_count; i++) {
        VSIUnlink(face->rasters[i]);
        free(face->rasters[i]);
    }
    free(face->rasters);
}

/* A name of its own, kept with the context; NULL: out of memory. */
static char *new_name(SdmFace *f)
{
    char **const more = realloc(f->rasters, (size_t)(f->raster_count + 1) * sizeof *more);
    if (!more)
        return NULL;
    f->rasters = more;
    char *const name = malloc(64);
    if (name) {
        snprintf(name, 64, "/vsimem/stereodem_%" PRIxPTR "_%d.tif", (uintptr_t)f, f->raster_count);
        f->rasters[f->raster_count++] = name;
    }
    return name;
}

static SdmStatus describe(SdmContext *ctx, GDALDatasetH to, const double geotransform[6], const char *crs)
{
    OGRSpatialReferenceH srs = OSRNewSpatialReference(NULL);
    const bool good = OSRSetFromUserInput(srs, crs) == OGRERR_NONE;
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    if (good)
        GDALSetSpatialRef(to, srs);
    OSRDestroySpatialReference(srs);
    GDALSetGeoTransform(to, (double *)(uintptr_t)geotransform);
    return good ? SDM_OK : sdm_fail(ctx, SDM_ERR_USAGE, "found the CRS '%.100s', expected one that GDAL understands", crs);
}

SdmStatus sdm_add_raster(SdmContext *ctx, const SdmRasterShape *shape, const void *samples, const char **name)
{
    SdmStatus st = SDM_OK;
    SdmFace *const f = ctx->face;
    GDALDatasetH from = NULL, to = NULL;
    const SdmImageArray array = {.type = shape->type,
                                 .samples = samples,
                                 .width = shape->width,
                                 .height = shape->height,
                                 .row_bytes = shape->row_bytes,
                                 .has_nodata = !isnan(shape->nodata),
                                 .nodata = shape->nodata};
    *name = NULL;
    GDALAllRegister();
    sdm_quiet_begin();
    TRY(sdm_array_open(ctx, "raster in memory", &array, &from));
    TRY(describe(ctx, from, shape->geotransform, shape->crs ? shape->crs : ""));
    char *const path = new_name(f);
    if (path)
        to = GDALCreateCopy(GDALGetDriverByName("GTiff"), path, from, false, NULL, NULL, NULL);
    if (!to)
        st = sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: a raster of %lld x %lld cells", (long long)shape->width,
                      (long long)shape->height);
    *name = path;
done:
    if (to)
        GDALClose(to);
    if (from)
        GDALClose(from);
    sdm_quiet_end();
    return st;
}
