/* A product -> its entry for catalogues, a STAC item (SpatioTemporal Asset Catalog 1.1); many of
 * them -> a collection. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product/product.h"

/* Add the item as JSON, with names of files in its own folder; without a time of the scene it has that of
 * now.  Failures stay in out->st. */
void sdm_stac_item(const SdmProduct *p, SdmText *out);

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
