/* Bytes -> a 64-bit hash: FNV-1a by words of 8 bytes. */
// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"

#include <string.h>

static const uint64_t PRIME = UINT64_C(0x100000001b3);

uint64_t sdm_hash(uint64_t seed, const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * PRIME;
        h ^= h >> 29;
    }
    for (; size > 0; size--, p++)
        h = (h ^ *p) * PRIME;
    return h;
}

uint64_t sdm_hash_text(uint64_t seed, const char *text)
{
    const char *const bytes = text ? text : "";
    const size_t size = strlen(bytes);
    return sdm_hash((seed ^ size) * PRIME, bytes, size);
}

/* ---- a table, at most half full ---- */

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
    sdm_free(&table->key);
    sdm_free(&table->value);
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
