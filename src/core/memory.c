/* The one allocation module: checked sizes, 64-byte alignment, charged to the context's account. */
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE /* madvise */
#include "core/context.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct Header { /* stands in the 64 bytes before the block */
    SdmContext *ctx;
    int64_t bytes;
    size_t total; /* with the header */
} Header;
enum { ALIGN = 64, LARGE = 8 << 20, LARGE_PAGE = 2 << 20 };

static atomic_llong fail_at; /* tests: counts down to the allocation that fails */

void sdm_alloc_fail_at(int64_t n)
{
    atomic_store(&fail_at, n);
}

static bool fails_now(void)
{
    return atomic_load_explicit(&fail_at, memory_order_relaxed) > 0 && atomic_fetch_sub(&fail_at, 1) == 1;
}

static void charge(SdmContext *ctx, int64_t bytes)
{
    if (!ctx)
        return;
    const int64_t now = __atomic_add_fetch(&ctx->bytes_now, bytes, __ATOMIC_RELAXED);
    int64_t peak = __atomic_load_n(&ctx->bytes_peak, __ATOMIC_RELAXED);
    while (now > peak && !__atomic_compare_exchange_n(&ctx->bytes_peak, &peak, now, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED))
        ;
}

/* A block of `total` bytes; large ones begin on a large page, where the system gives them on request. */
static char *take_block(size_t total)
{
#ifdef MADV_HUGEPAGE
    if (total >= LARGE) {
        const size_t whole = (total + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        char *const block = aligned_alloc(LARGE_PAGE, whole);
        if (block)
            (void)madvise(block, whole, MADV_HUGEPAGE); /* a wish: small pages do as well */
        return block;
    }
#endif
    return aligned_alloc(ALIGN, total);
}

/* A spare block of at least `total` bytes, but not much more; NULL: none. */
static char *take_spare(SdmContext *ctx, size_t *total)
{
    char *found = NULL;
    if (!ctx || *total < LARGE)
        return NULL;
#pragma omp critical(sdm_spare)
    for (int i = 0; i < SDM_SPARES && !found; i++) {
        SdmSpare *const s = &ctx->spare[i];
        if (s->block && s->bytes >= *total && s->bytes - *total <= *total / 8) {
            found = s->block;
            *total = s->bytes;
            for (int k = i; k < SDM_SPARES; k++) /* close the gap */
                ctx->spare[k] = k + 1 < SDM_SPARES ? ctx->spare[k + 1] : (SdmSpare){0};
        }
    }
    return found;
}

/* Keep a block for later; the ones that wait longest give way.  False: it is not kept. */
static bool keep_spare(SdmContext *ctx, char *block, size_t total)
{
    const size_t limit = ctx ? (size_t)ctx->options.memory_bytes / 8 : 0;
    if (total < LARGE || total > limit)
        return false;
#pragma omp critical(sdm_spare)
    {
        size_t sum = total, kept = 0;
        SdmSpare rest[SDM_SPARES + 1];
        rest[kept++] = (SdmSpare){block, total}; /* the newest first */
        for (int i = 0; i < SDM_SPARES && ctx->spare[i].block; i++) {
            sum += ctx->spare[i].bytes;
            if (kept < SDM_SPARES && sum <= limit)
                rest[kept++] = ctx->spare[i];
            else
                free(ctx->spare[i].block);
        }
        for (size_t i = 0; i < SDM_SPARES; i++)
            ctx->spare[i] = i < kept ? rest[i] : (SdmSpare){0};
    }
    return true;
}

void sdm_spares_free(SdmContext *ctx)
{
    for (int i = 0; i < SDM_SPARES; i++) {
        free(ctx->spare[i].block);
        ctx->spare[i] = (SdmSpare){0};
    }
}

static SdmStatus allocate(SdmContext *ctx, void *out, size_t count, size_t size, bool zeroed,
                          const char *what)
{
    void **const slot = out;
    size_t bytes, total;
    *slot = NULL;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)(2 * ALIGN), &total))
        return sdm_fail(ctx, SDM_ERR_MEMORY, "%s: %zu x %zu bytes is more than this machine can address",
                        what, count, size);
    total = total / ALIGN * ALIGN;
    const bool fails = fails_now();
    char *block = fails ? NULL : take_spare(ctx, &total);
    if (!block && !fails) {
        block = take_block(total);
        if (!block && ctx) { /* the spares may be what is missing */
            sdm_spares_free(ctx);
            block = take_block(total);
        }
    }
    if (!block)
        return sdm_fail(ctx, SDM_ERR_MEMORY,
                        "out of memory: %s needs %zu MiB; give a smaller --memory or --tile", what,
                        (bytes >> 20) + 1);
    if (zeroed)
        memset(block, 0, total);
    *(Header *)(void *)block = (Header){.ctx = ctx, .bytes = (int64_t)bytes, .total = total};
    charge(ctx, (int64_t)bytes);
    *slot = block + ALIGN;
    return SDM_OK;
}

SdmStatus sdm_alloc(SdmContext *ctx, void *out, size_t count, size_t size, const char *what)
{
    return allocate(ctx, out, count, size, true, what);
}

SdmStatus sdm_alloc_raw(SdmContext *ctx, void *out, size_t count, size_t size, const char *what)
{
    return allocate(ctx, out, count, size, false, what);
}

void sdm_free(void *p)
{
    void **const slot = p;
    if (!slot || !*slot)
        return;
    char *const block = (char *)*slot - ALIGN;
    const Header *const h = (const Header *)(const void *)block;
    charge(h->ctx, -h->bytes);
    if (!keep_spare(h->ctx, block, h->total))
        free(block);
    *slot = NULL;
}

int64_t sdm_memory_peak(const SdmContext *ctx)
{
    return ctx->bytes_peak;
}
