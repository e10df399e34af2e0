/* Objects of GDAL, and its silence, that end with the scope of a variable. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

#include <cpl_error.h>
#include <cpl_minixml.h>
#include <cpl_string.h>
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
