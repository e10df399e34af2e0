/* Bytes <-> a zlib stream. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/deflate.h"
#include "core/core.h"

#include <isa-l/igzip_lib.h>
#include <string.h>

_Static_assert(ISAL_DEF_LVL1_DEFAULT <= SDM_DEFLATE_WORK, "room for ISA-L's level 1");
enum { PIECE = 1 << 30 }; /* ISA-L counts in 32 bits */

/* The first bytes are a block of their own.  ISA-L 2.30 on x86-64 (igzip_icf_body_h1_gr_bt.asm, label
 * write_first_byte) hashes the third byte of a stream that begins with more than 16 bytes from the register
 * that holds the address of the stream's state; so one stream of some thousand has another match there, and
 * files of equal cells differ.  A stream of at most 16 bytes begins in another routine, which is right. */
enum { FIRST = 16 };

size_t sdm_deflate_bound(size_t n)
{
    return n + n / 16 + 1024; /* what cannot be compressed is stored, in blocks with a head each */
}

static uint32_t piece(size_t left, size_t most)
{
    return (uint32_t)(left < most ? left : most);
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
        z.avail_in = piece((size_t)(in_end - in), z.total_in ? PIECE : FIRST);
        z.flush = z.total_in ? NO_FLUSH : SYNC_FLUSH;
        z.end_of_stream = z.avail_in == (size_t)(in_end - in);
        z.next_out = out;
        z.avail_out = piece((size_t)(out_end - out), PIECE);
        if (z.avail_out == 0 || isal_deflate(&z) != COMP_OK)
            return 0;
        in = z.next_in;
        out = z.next_out;
    } while (z.internal_state.state != ZSTATE_END);
    return (size_t)(out - begin);
}

bool sdm_inflate(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    struct inflate_state *z = NULL;
    if (n > PIECE || size > PIECE || sdm_alloc(NULL, &z, 1, sizeof *z, "a zlib stream") != SDM_OK)
        return false;
    isal_inflate_init(z);
    z->crc_flag = ISAL_ZLIB;
    z->next_in = (uint8_t *)(uintptr_t)in;
    z->avail_in = (uint32_t)n;
    z->next_out = out;
    z->avail_out = (uint32_t)size;
    const bool good =
        isal_inflate(z) == ISAL_DECOMP_OK && z->block_state == ISAL_BLOCK_FINISH && z->avail_out == 0;
    sdm_free(&z);
    return good;
}
