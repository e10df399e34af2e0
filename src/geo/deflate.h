/* Bytes <-> a zlib stream. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_DEFLATE_H
#define SDM_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SDM_DEFLATE_WORK = 1 << 19 }; /* bytes of scratch memory */

/* The most bytes that n bytes can take. */
size_t sdm_deflate_bound(size_t n);
/* Compress n bytes into a zlib stream (RFC 1950) by ISA-L, level 1.  out: of sdm_deflate_bound(n) bytes.
 * Returns the number of bytes written, 0 on failure.  Processors may give other streams of the same content.
 */
size_t sdm_deflate(const uint8_t *in, size_t n, uint8_t work[SDM_DEFLATE_WORK], uint8_t *out);
/* A zlib stream of n bytes -> exactly `size` bytes; false: it is damaged, of another size, or no memory. */
bool sdm_inflate(const uint8_t *in, size_t n, uint8_t *out, size_t size);

#endif
