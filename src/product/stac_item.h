/* A product -> its entry for catalogues, a STAC item (SpatioTemporal Asset Catalog 1.1); many of
 * them -> a collection. */
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

/* Items of a folder; begin with zeros. */
typedef struct SdmStacCollection {
    struct cJSON *links; /* owned */
    double box[4];       /* west, south, east, north */
    char first[32], last[32];
    int items;
} SdmStacCollection;

/* Take an item that a file of the folder holds, where it is there. */
void sdm_stac_collect(SdmStacCollection *c, const char *path);
/* Write the collection, unless it has fewer than two items, and free it. */
SdmStatus sdm_stac_collection_close(SdmContext *ctx, SdmStacCollection *c, const char *path);
