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

static SdmStatus allocate(SdmContext *ctx, void *out, size_t count, size_t size, bool zeroed, const char *what)
{
    void **const slot = out;
    size_t bytes, total;
    *slot = NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, (size_t)(2 * ALIGN), &total))
        return sdm_fail(ctx, SDM_ERR_MEMORY, "%s: %zu x %zu bytes is more than this machine can address", what,
                        count, size);
    total = total / ALIGN * ALIGN;
    char *const block = fails_now() ? NULL : take_block(total);
    if (!block)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: %s needs %zu MiB; give a smaller --memory or --tile",
                        what, (bytes >> 20) + 1);
    if (zeroed)
        memset(block, 0, total);
    *(Header *)(void *)block = (Header){.ctx = ctx, .bytes = (int64_t)bytes};
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
    free(block);
    *slot = NULL;
}

int64_t sdm_memory_peak(const SdmContext *ctx)
{
    return ctx->bytes_peak;
}
