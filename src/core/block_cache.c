/* Large blocks of memory, on large pages.  Freed blocks go to a cache of the context, since the system clears
 * every fresh page.  A block for which no cached one is large enough is made of the pages of several, where
 * the system can move pages (Linux), and of fresh ones. */
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE /* madvise, MAP_ANONYMOUS, mremap */
#include "core/context.h"

#include <stdint.h>
#if SDM_SYSTEM_MAPS
#include <sys/mman.h>
#endif

enum { PAGE = 2 << 20 };

size_t sdm_large_bytes(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

#if defined(__SANITIZE_ADDRESS__) || !SDM_SYSTEM_MAPS /* a sanitizer finds more where no block is reused */

char *sdm_large_take(SdmContext *ctx, size_t bytes, bool *cleared)
{
    (void)ctx;
    *cleared = false;
    return sdm_system_aligned(PAGE, bytes);
}

void sdm_large_give(SdmContext *ctx, char *block, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    sdm_system_aligned_free(block);
}

void sdm_cache_release(SdmContext *ctx)
{
    (void)ctx;
}

#else

/* Fresh memory aligned to a large page: map one page more, then unmap the ends.  The system maps downwards,
 * so blocks lie side by side and can be merged in the cache. */
static char *map_fresh(size_t bytes)
{
    char *const all = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    const size_t before = PAGE - (uintptr_t)all % PAGE;
    char *const block = all + before;
    munmap(all, before);
    if (before < PAGE)
        munmap(block + bytes, PAGE - before);
#ifdef MADV_HUGEPAGE
    (void)madvise(block, bytes, MADV_HUGEPAGE); /* a wish: small pages do as well */
#endif
    return block;
}

/* Bytes that the cache may hold: memory in use and cached memory together stay below the peak of use, or
 * below three quarters of the budget less the program's own memory.  So the cache does not raise the peak of
 * a process beyond its budget, and a loop that frees and allocates the same blocks gets no fresh pages. */
static size_t cache_room(SdmContext *ctx)
{
    enum { OWN = 56 << 20 };
    const int64_t now = __atomic_load_n(&ctx->bytes_now, __ATOMIC_RELAXED),
                  peak = __atomic_load_n(&ctx->bytes_peak, __ATOMIC_RELAXED),
                  share = ctx->memory_bytes / 4 * 3 - OWN, most = peak > share ? peak : share;
    return most > now ? (size_t)(most - now) / PAGE * PAGE : 0;
}

static void remove_cached(SdmContext *ctx, int i)
{
    for (; i < SDM_CACHED_BLOCKS; i++)
        ctx->cached[i] = i + 1 < SDM_CACHED_BLOCKS ? ctx->cached[i + 1] : (SdmCachedBlock){0};
}

/* Cut `bytes` from the front of the smallest cached block that has them; NULL: none has. */
static char *take_cached(SdmContext *ctx, size_t bytes)
{
    char *found = NULL;
    if (!ctx)
        return NULL;
#pragma omp critical(sdm_block_cache)
    {
        int best = -1;
        for (int i = 0; i < SDM_CACHED_BLOCKS && ctx->cached[i].block; i++)
            if (ctx->cached[i].bytes >= bytes && (best < 0 || ctx->cached[i].bytes < ctx->cached[best].bytes))
                best = i;
        if (best >= 0) {
            SdmCachedBlock *const s = &ctx->cached[best];
            found = s->block;
            s->block += bytes;
            s->bytes -= bytes;
            if (s->bytes == 0)
                remove_cached(ctx, best);
        }
    }
    return found;
}

/* Cache a freed block, merged with adjacent cached blocks; unmap the oldest beyond the limit. */
static void cache_block(SdmContext *ctx, SdmCachedBlock fresh, size_t limit)
{
    for (int i = 0; i < SDM_CACHED_BLOCKS && ctx->cached[i].block;) {
        const SdmCachedBlock s = ctx->cached[i];
        const bool below = s.block + s.bytes == fresh.block, above = fresh.block + fresh.bytes == s.block;
        if (below || above) {
            fresh = (SdmCachedBlock){below ? s.block : fresh.block, s.bytes + fresh.bytes};
            remove_cached(ctx, i);
        } else {
            i++;
        }
    }
    SdmCachedBlock rest[SDM_CACHED_BLOCKS] = {fresh}; /* the newest first */
    size_t sum = fresh.bytes;
    int kept = 1;
    for (int i = 0; i < SDM_CACHED_BLOCKS && ctx->cached[i].block; i++) {
        const SdmCachedBlock s = ctx->cached[i];
        if (kept < SDM_CACHED_BLOCKS && sum + s.bytes <= limit) {
            rest[kept++] = s;
            sum += s.bytes;
        } else {
            munmap(s.block, s.bytes);
        }
    }
    if (sum > limit) { /* only after merging: cut the end */
        munmap(rest[0].block + limit, sum - limit);
        rest[0].bytes = limit;
    }
    for (int i = 0; i < SDM_CACHED_BLOCKS; i++)
        ctx->cached[i] = rest[i];
}

/* Move a page to where another one is mapped.  One at a time: of pages that were mapped together all or none
 * move, and what is refused leaves no hole but its own. */
static bool move_page(char *from, char *to)
{
#ifdef MREMAP_FIXED
    return mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
#else
    (void)from, (void)to;
    return false;
#endif
}

/* Move cached pages into a block of fresh ones that nobody has touched; returns how many bytes were moved.
 * *refused: the next page was not, and may be a hole now. */
static size_t gather(SdmContext *ctx, char *block, size_t bytes, bool *refused)
{
    size_t done = 0;
    *refused = false;
#pragma omp critical(sdm_block_cache)
    while (done < bytes && ctx->cached[0].block && !*refused) {
        SdmCachedBlock *const s = &ctx->cached[0];
        *refused = !move_page(s->block, block + done);
        if (*refused)
            continue;
        done += PAGE;
        s->block += PAGE;
        s->bytes -= PAGE;
        if (s->bytes == 0)
            remove_cached(ctx, 0);
    }
    return done;
}

/* Before fresh memory is used: unmap the oldest cached blocks that have no room beside it. */
static void make_room(SdmContext *ctx, size_t bytes)
{
    const size_t room = cache_room(ctx);
#pragma omp critical(sdm_block_cache)
    {
        size_t sum = bytes;
        int kept = 0;
        for (; kept < SDM_CACHED_BLOCKS && ctx->cached[kept].block && sum + ctx->cached[kept].bytes <= room;
             kept++)
            sum += ctx->cached[kept].bytes;
        while (kept < SDM_CACHED_BLOCKS && ctx->cached[kept].block) {
            munmap(ctx->cached[kept].block, ctx->cached[kept].bytes);
            remove_cached(ctx, kept);
        }
    }
}

char *sdm_large_take(SdmContext *ctx, size_t bytes, bool *cleared)
{
    char *block = take_cached(ctx, bytes);
    *cleared = false;
    if (block)
        return block;
    block = map_fresh(bytes);
    if (!block && ctx) { /* perhaps the cache holds the memory that is missing */
        sdm_cache_release(ctx);
        block = map_fresh(bytes);
    }
    *cleared = true;
    if (block && ctx) {
        bool refused;
        const size_t moved = gather(ctx, block, bytes, &refused);
        *cleared = moved == 0;
        if (refused) { /* not here, or no more mappings: all of it fresh */
            munmap(block, moved);
            munmap(block + moved + PAGE, bytes - moved - PAGE);
            sdm_cache_release(ctx);
            block = map_fresh(bytes);
            *cleared = true;
        }
        make_room(ctx, bytes);
    }
    return block;
}

void sdm_large_give(SdmContext *ctx, char *block, size_t bytes)
{
    const size_t limit = ctx ? cache_room(ctx) : 0;
    if (bytes > limit) {
        munmap(block, bytes);
        return;
    }
#pragma omp critical(sdm_block_cache)
    cache_block(ctx, (SdmCachedBlock){block, bytes}, limit);
}

void sdm_cache_release(SdmContext *ctx)
{
#pragma omp critical(sdm_block_cache)
    while (ctx->cached[0].block) {
        munmap(ctx->cached[0].block, ctx->cached[0].bytes);
        remove_cached(ctx, 0);
    }
}

#endif
