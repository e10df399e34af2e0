/* A layout of several arrays -> how much memory they take together, and where each lies in a block of it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One function of the caller takes its arrays one after the other: first from an arena without a block, which
 * measures, then from one with a block of `used` bytes, which hands them out.
 *
 *     SdmArena measured = {NULL, 0};
 *     take_rows(&measured, ...);
 *     TRY(sdm_alloc(ctx, &block, threads, measured.used, "rows"));
 *     SdmArena mine = {block + measured.used * thread, 0};
 *     take_rows(&mine, ...); */
typedef struct SdmArena {
    char *block; /* aligned to 64, borrowed; NULL: only measure */
    size_t used; /* bytes taken so far, a multiple of 64; SIZE_MAX / 64 * 64: more than can be addressed */
} SdmArena;

/* An array of count x size bytes, aligned to 64; NULL from an arena without a block. */
static inline void *sdm_arena_take(SdmArena *arena, size_t count, size_t size)
{
    const size_t most = SIZE_MAX / 64 * 64;
    void *const array = arena->block ? arena->block + arena->used : NULL;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > most - arena->used)
        arena->used = most;
    else
        arena->used += (bytes + 63) / 64 * 64;
    return array;
}
