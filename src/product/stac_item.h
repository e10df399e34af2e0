/* A product -> its entry for catalogues: a STAC item (SpatioTemporal Asset Catalog 1.1). */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product/dem_stats.h"
#include "product/output_files.h"
#include "product/qa_raster.h"

typedef struct SdmStacItem {
    const SdmGrid *grid;
    const SdmDemStats *stats; /* with a height at least */
    const SdmQaLayout *qa;
    const double *qa_scale; /* of each of its bands */
    const SdmOutputFiles *files;
    const char *time_utc, *kind;      /* of the scene; NULL: not known */
    const char *first_utc, *last_utc; /* of the heights, where these are of several dates; NULL */
    const char *datum;                /* of the heights; NULL: not known */
} SdmStacItem;

/* The item as JSON, with names of files in its own folder; without a time of the scene it has that of now.
 * *out: freed with cJSON_free(). */
SdmStatus sdm_stac_item(SdmContext *ctx, const SdmStacItem *item, char **out);
