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
