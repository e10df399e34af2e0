/* A table from 64-bit hashes of texts to numbers. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

typedef struct SdmTable {
    uint64_t *key; /* mask + 1, open addressing; 0: free */
    int *value;
    size_t mask;
} SdmTable;

/* most: keys that the table will hold.  *out: closed by the caller, also after a failure. */
SdmStatus sdm_table_open(SdmContext *ctx, size_t most, SdmTable *out);
void sdm_table_close(SdmTable *table);
/* The number of a key, 0 at first; borrowed. */
int *sdm_table_at(SdmTable *table, uint64_t key);
