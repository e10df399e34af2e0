/* Bytes -> a 64-bit hash: checksums of files, fingerprints of their inputs, keys of tables. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Hash of `size` bytes, continued from `seed`: sdm_hash(sdm_hash(s, a, n), b, m) depends on a and b, and on
 * where a ends.  Each word of 8 bytes (then each byte that is left) goes through FNV-1a's step
 * h = (h ^ word) x prime, then h ^= h >> 29, which brings high bits down.  Both steps can be undone, so a
 * change within one word always changes the hash.  The same on every machine whose numbers are
 * little-endian.  Not for cryptography. */
uint64_t sdm_hash(uint64_t seed, const void *data, size_t size);
/* The same of a text and its length; NULL counts as "". */
uint64_t sdm_hash_text(uint64_t seed, const char *text);
