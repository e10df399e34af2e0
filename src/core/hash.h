/* Bytes -> a 64-bit hash: checksums of files, fingerprints of their inputs, keys of tables. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* Hash of `size` bytes, continued from `seed`: sdm_hash(sdm_hash(s, a, n), b, m) depends on a and b, and on
 * where a ends.  Each word of 8 bytes (then each byte that is left) goes through FNV-1a's step
 * h = (h ^ word) x prime, then h ^= h >> 29, which brings high bits down.  Both steps can be undone, so a
 * change within one word always changes the hash.  The same on every machine whose numbers are
 * little-endian.  Not for cryptography. */
uint64_t sdm_hash(uint64_t seed, const void *data, size_t size);
/* The same of a text and its length; NULL counts as "". */
uint64_t sdm_hash_text(uint64_t seed, const char *text);

/* A table from such hashes to numbers. */
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
