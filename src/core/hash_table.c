/* A hash table of numbers, at most half full. */
// SPDX-License-Identifier: Apache-2.0
#include "core/hash_table.h"

SdmStatus sdm_table_open(SdmContext *ctx, size_t most, SdmTable *out)
{
    *out = (SdmTable){.mask = 15};
    while (out->mask < 2 * most)
        out->mask = 2 * out->mask + 1;
    PASS(sdm_alloc(ctx, &out->key, out->mask + 1, sizeof *out->key, "a table"));
    return sdm_alloc(ctx, &out->value, out->mask + 1, sizeof *out->value, "a table");
}

void sdm_table_close(SdmTable *table)
{
    SDM_FREE(&table->key, &table->value);
}

int *sdm_table_at(SdmTable *table, uint64_t key)
{
    key += key == 0;
    size_t at = (size_t)key & table->mask;
    while (table->key[at] && table->key[at] != key)
        at = (at + 1) & table->mask;
    table->key[at] = key;
    return &table->value[at];
}
