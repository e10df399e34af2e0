/* Bytes -> a zlib stream. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/deflate.h"

#include <isa-l/igzip_lib.h>
#include <string.h>

_Static_assert(ISAL_DEF_LVL1_DEFAULT <= SDM_DEFLATE_WORK, "room for ISA-L's level 1");
enum { PIECE = 1 << 30 }; /* ISA-L counts in 32 bits */

size_t sdm_deflate_bound(size_t n)
{
    return n + n / 16 + 1024; /* what cannot be compressed is stored, in blocks with a head each */
}

static uint32_t piece(size_t left)
{
    return left < PIECE ? (uint32_t)left : PIECE;
}

size_t sdm_deflate(const uint8_t *in, size_t n, uint8_t work[SDM_DEFLATE_WORK], uint8_t *out)
{
    const uint8_t *const in_end = in + n;
    uint8_t *const begin = out, *const out_end = out + sdm_deflate_bound(n);
    struct isal_zstream z;
    memset(&z, 0, sizeof z); /* the stream depends on nothing that lay there before */
    memset(work, 0, ISAL_DEF_LVL1_DEFAULT);
    isal_deflate_init(&z);
    z.level = 1;
    z.level_buf = work;
    z.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    z.gzip_flag = IGZIP_ZLIB;
    do {
        z.next_in = (uint8_t *)(uintptr_t)in;
        z.avail_in = piece((size_t)(in_end - in));
        z.end_of_stream = z.avail_in == (size_t)(in_end - in);
        z.next_out = out;
        z.avail_out = piece((size_t)(out_end - out));
        if (z.avail_out == 0 || isal_deflate(&z) != COMP_OK)
            return 0;
        in = z.next_in;
        out = z.next_out;
    } while (z.internal_state.state != ZSTATE_END);
    return (size_t)(out - begin);
}
