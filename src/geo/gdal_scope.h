/* GDAL: opened with the data that a release carries beside its program or library, ../share/proj and
 * ../share/gdal; its objects and its silence, which end with the scope of a variable; its errors while a file
 * is written. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

#include <cpl_error.h>
#include <cpl_minixml.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <ogr_srs_api.h>

/* For SDM_CLOSED_BY(); NULL: none. */
static inline void sdm_dataset_close(GDALDatasetH const *file)
{
    if (*file)
        GDALClose(*file);
}

static inline void sdm_string_list_free(char **const *list)
{
    CSLDestroy(*list);
}

static inline void sdm_vsi_close(VSILFILE *const *file)
{
    if (*file)
        VSIFCloseL(*file);
}

/* Memory of VSIIngestFile() and the like. */
static inline void sdm_vsi_free(const void *memory /* T ** */)
{
    VSIFree(*(void *const *)memory);
}

static inline void sdm_srs_free(OGRSpatialReferenceH const *srs)
{
    OSRDestroySpatialReference(*srs);
}

static inline void sdm_xml_free(CPLXMLNode *const *root)
{
    CPLDestroyXMLNode(*root);
}

/* GDAL's messages go nowhere until the scope ends; the last one stays readable.  Per thread. */
#define SDM_QUIET __attribute__((unused)) SDM_CLOSED_BY(sdm_quiet_end) const bool quiet = sdm_quiet_begin()
static inline bool sdm_quiet_begin(void)
{
    CPLPushErrorHandler(CPLQuietErrorHandler);
    CPLErrorReset();
    return true;
}

static inline void sdm_quiet_end(const bool *quiet)
{
    if (*quiet)
        CPLPopErrorHandler();
}

/* Folders for PROJ to search: our own, then those that the environment names; NULL: we carry none, PROJ's
 * usual ones serve.  The caller frees the list by CSLDestroy(). */
char **sdm_own_proj_folders(void);

/* GDALAllRegister(), with our own data where we carry them: those that the environment names may be of
 * another GDAL or PROJ (conda, OSGeo4W). */
void sdm_gdal_register(void);

/* GDAL's report in this thread between begin and end, instead of printing it. */
typedef struct SdmGdalErrors {
    bool failed;
    char text[512]; /* the first failure, else the last warning */
} SdmGdalErrors;
void sdm_gdal_errors_begin(SdmGdalErrors *errors); /* errors stays in use until end */
void sdm_gdal_errors_end(SdmGdalErrors *errors);
/* Returns SDM_ERR_IO with a sentence: the file, the reason, the free space of its folder.
 * path: the file, or a temporary one of it, FILE.part-...; why: reason, NULL or "" when unknown. */
SdmStatus sdm_fail_write(SdmContext *ctx, const char *path, const char *why);

/* ---- files and bands ---- */

/* Open a file or an address (https://, s3:// ...), of which only what is needed is read where its server
 * gives parts.  flags: GDAL_OF_...; NULL: GDAL says why. */
GDALDatasetH sdm_open_file(const char *name, unsigned flags);

/* Samples in memory: where each pixel, row and band begins, in bytes. */
typedef struct SdmSamples {
    const void *first;
    int width, height, bands;
    GDALDataType type;
    int64_t pixel_bytes, row_bytes, band_bytes;
} SdmSamples;
/* A raster of GDAL's over them, which stay the caller's; NULL: no memory. */
GDALDatasetH sdm_wrap_samples(const SdmSamples *s);

/* The band that holds the opacity of the others, whatever its type, where the band has no nodata value nor
 * mask of its own; NULL: none.  GDAL itself takes an alpha band as a mask only beside one or three bands, and
 * of bytes or 16 bits. */
GDALRasterBandH sdm_alpha_band(GDALDatasetH file, GDALRasterBandH band);
/* A band alone, as a virtual raster, its alpha band as its mask; the file itself when it has one band; NULL:
 * it cannot be read. */
GDALDatasetH sdm_one_band(GDALDatasetH file, int number);
/* The mask of a band, 0 where it has no value; NULL: all pixels have one, or its nodata value tells them. */
GDALRasterBandH sdm_band_mask(GDALRasterBandH band);

/* Is it one of this program's rasters that holds no heights: NAME_qa.tif, NAME_ortho.tif, NAME_change.tif, a
 * difference? */
bool sdm_is_companion(GDALDatasetH file);
/* Before the first band is taken for heights: SDM_ERR_INPUT where the raster is a companion of a DEM, or an
 * image in colours; a warning where it has other bands beside the first.  role: "DEM", "--reference". */
SdmStatus sdm_check_heights(SdmContext *ctx, const char *role, const char *path, GDALDatasetH file);
