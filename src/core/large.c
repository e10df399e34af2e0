/* Large blocks of memory: on large pages, and kept when they are given back, since the system clears every
 * fresh page. */
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "core/context.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 2 << 20 };

size_t sdm_large_bytes(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

#ifdef __SANITIZE_ADDRESS__ /* which sees more of what is wrong when every block is its own */

char *sdm_large_take(SdmContext *ctx, size_t bytes, bool *cleared)
{
    (void)ctx;
    *cleared = false;
    return aligned_alloc(PAGE, bytes);
}

void sdm_large_give(SdmContext *ctx, char *block, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    free(block);
}

void sdm_spares_free(SdmContext *ctx)
{
    (void)ctx;
}

void sdm_ahead_begin(SdmContext *ctx, size_t bytes, SdmAhead *ahead)
{
    (void)ctx;
    *ahead = (SdmAhead){.bytes = bytes};
}

void sdm_ahead_end(SdmContext *ctx, SdmAhead *ahead)
{
    (void)ctx;
    (void)ahead;
}

#else

/* Fresh memory that begins on a large page: one page more than asked for, and what is too much cut off, in
 * front first.  The system maps downwards, so that blocks lie side by side and spares can become one. */
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

/* Bytes that spares may take beside what is in use: together no more than what was in use at its most, or
 * three quarters of the budget less what the program itself takes.  So spares do not raise the peak of a
 * process beyond its budget, and a loop that gives and takes the same blocks gets no fresh pages. */
static size_t room_for_spares(SdmContext *ctx)
{
    enum { OWN = 56 << 20 };
    const int64_t now = __atomic_load_n(&ctx->bytes_now, __ATOMIC_RELAXED),
                  peak = __atomic_load_n(&ctx->bytes_peak, __ATOMIC_RELAXED),
                  share = ctx->options.memory_bytes / 4 * 3 - OWN, most = peak > share ? peak : share;
    return most > now ? (size_t)(most - now) / PAGE * PAGE : 0;
}

static void remove_spare(SdmContext *ctx, int i)
{
    for (; i < SDM_SPARES; i++)
        ctx->spare[i] = i + 1 < SDM_SPARES ? ctx->spare[i + 1] : (SdmSpare){0};
}

/* The front of the smallest spare that is large enough; what it has behind that stays. */
static char *take_spare(SdmContext *ctx, size_t bytes)
{
    char *found = NULL;
    if (!ctx)
        return NULL;
#pragma omp critical(sdm_spare)
    {
        int best = -1;
        for (int i = 0; i < SDM_SPARES && ctx->spare[i].block; i++)
            if (ctx->spare[i].bytes >= bytes && (best < 0 || ctx->spare[i].bytes < ctx->spare[best].bytes))
                best = i;
        if (best >= 0) {
            SdmSpare *const s = &ctx->spare[best];
            found = s->block;
            s->block += bytes;
            s->bytes -= bytes;
            if (s->bytes == 0)
                remove_spare(ctx, best);
        }
    }
    return found;
}

/* Keep a block for later, as one with the spares that it touches; those that wait longest give way. */
static void keep_spare(SdmContext *ctx, SdmSpare fresh, size_t limit)
{
    for (int i = 0; i < SDM_SPARES && ctx->spare[i].block;) {
        const SdmSpare s = ctx->spare[i];
        const bool below = s.block + s.bytes == fresh.block, above = fresh.block + fresh.bytes == s.block;
        if (below || above) {
            fresh = (SdmSpare){below ? s.block : fresh.block, s.bytes + fresh.bytes};
            remove_spare(ctx, i);
        } else {
            i++;
        }
    }
    SdmSpare rest[SDM_SPARES] = {fresh}; /* the newest first */
    size_t sum = fresh.bytes;
    int kept = 1;
    for (int i = 0; i < SDM_SPARES && ctx->spare[i].block; i++) {
        const SdmSpare s = ctx->spare[i];
        if (kept < SDM_SPARES && sum + s.bytes <= limit) {
            rest[kept++] = s;
            sum += s.bytes;
        } else {
            munmap(s.block, s.bytes);
        }
    }
    if (sum > limit) { /* of joined blocks the end goes */
        munmap(rest[0].block + limit, sum - limit);
        rest[0].bytes = limit;
    }
    for (int i = 0; i < SDM_SPARES; i++)
        ctx->spare[i] = rest[i];
}

/* Fresh memory is to come: spares for which there is no room beside it go, those that wait longest first. */
static void make_room(SdmContext *ctx, size_t bytes)
{
    const size_t room = room_for_spares(ctx);
#pragma omp critical(sdm_spare)
    {
        size_t sum = bytes;
        int kept = 0;
        for (; kept < SDM_SPARES && ctx->spare[kept].block && sum + ctx->spare[kept].bytes <= room; kept++)
            sum += ctx->spare[kept].bytes;
        while (kept < SDM_SPARES && ctx->spare[kept].block) {
            munmap(ctx->spare[kept].block, ctx->spare[kept].bytes);
            remove_spare(ctx, kept);
        }
    }
}

char *sdm_large_take(SdmContext *ctx, size_t bytes, bool *cleared)
{
    char *block = take_spare(ctx, bytes);
    *cleared = block == NULL;
    if (!block && ctx)
        make_room(ctx, bytes);
    if (!block)
        block = map_fresh(bytes);
    if (!block && ctx) { /* the spares may be what is missing */
        sdm_spares_free(ctx);
        block = map_fresh(bytes);
    }
    return block;
}

void sdm_large_give(SdmContext *ctx, char *block, size_t bytes)
{
    const size_t limit = ctx ? room_for_spares(ctx) : 0;
    if (bytes > limit) {
        munmap(block, bytes);
        return;
    }
#pragma omp critical(sdm_spare)
    keep_spare(ctx, (SdmSpare){block, bytes}, limit);
}

static void *touch(void *user)
{
    enum { SMALL_PAGE = 4096 };
    SdmAhead *const a = user;
    for (; a->touched < a->bytes && !__atomic_load_n(&a->stop, __ATOMIC_RELAXED); a->touched += PAGE)
        for (size_t i = 0; i < PAGE; i += SMALL_PAGE)
            ((volatile char *)a->block)[a->touched + i] = 0;
    return NULL;
}

void sdm_ahead_begin(SdmContext *ctx, size_t bytes, SdmAhead *a)
{
    const size_t share = (size_t)(ctx->options.memory_bytes / 8);
    *a = (SdmAhead){.bytes = (bytes < share ? bytes : share) / PAGE * PAGE};
    if (a->bytes == 0 || sdm_threads(ctx) < 2)
        return;
    a->block = map_fresh(a->bytes);
    a->begun = a->block && pthread_create(&a->thread, NULL, touch, a) == 0;
    if (a->block && !a->begun)
        munmap(a->block, a->bytes);
}

void sdm_ahead_end(SdmContext *ctx, SdmAhead *a)
{
    if (!a->begun)
        return;
    __atomic_store_n(&a->stop, 1, __ATOMIC_RELAXED);
    pthread_join(a->thread, NULL);
    a->begun = false;
    if (a->touched < a->bytes)
        munmap(a->block + a->touched, a->bytes - a->touched);
    if (a->touched > 0)
        sdm_large_give(ctx, a->block, a->touched);
}

void sdm_spares_free(SdmContext *ctx)
{
#pragma omp critical(sdm_spare)
    while (ctx->spare[0].block) {
        munmap(ctx->spare[0].block, ctx->spare[0].bytes);
        remove_spare(ctx, 0);
    }
}

#endif
