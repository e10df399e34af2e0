/* The one allocation module: checked sizes, 64-byte alignment, charged to the context's account. */
// SPDX-License-Identifier: Apache-2.0
#include "core/context.h"
#include "core/system.h"

#include <stdatomic.h>
#include <string.h>

typedef struct Header { /* stands in the 64 bytes before the block */
    SdmContext *ctx;
    int64_t bytes;
    size_t total; /* with the header */
} Header;
enum { ALIGN = 64, LARGE = 2 << 20 };

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

/* Callers pass a T **.  A T * must not be read or written as a void *, but its bytes may be copied: pointers
 * to objects of all types have one representation on every system that this is built for. */
static void *get_pointer(const void *slot)
{
    void *p;
    memcpy(&p, slot, sizeof p);
    return p;
}

static void set_pointer(void *slot, void *p)
{
    memcpy(slot, &p, sizeof p);
}

static SdmStatus allocate(SdmContext *ctx, void *out, size_t count, size_t size, bool zeroed,
                          const char *what)
{
    SdmContext *const payer = ctx && ctx->account ? ctx->account : ctx;
    size_t bytes, total;
    set_pointer(out, NULL);
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)(2 * ALIGN), &total))
        return sdm_fail(ctx, SDM_ERR_MEMORY, "%s: %zu x %zu bytes is more than this machine can address",
                        what, count, size);
    const bool large = total >= LARGE;
    bool cleared = false;
    total = large ? sdm_large_bytes(total) : total / ALIGN * ALIGN;
    char *const block = fails_now() ? NULL
                        : large     ? sdm_large_take(payer, total, &cleared)
                                    : sdm_system_aligned(ALIGN, total);
    if (!block)
        return sdm_fail(ctx, SDM_ERR_MEMORY,
                        "out of memory: %s needs %zu MiB; run and plan take less with a smaller --memory or "
                        "--tile",
                        what, (bytes >> 20) + 1);
    if (zeroed && !cleared)
        memset(block, 0, total);
    *(Header *)(void *)block = (Header){.ctx = payer, .bytes = (int64_t)bytes, .total = total};
    charge(payer, (int64_t)bytes);
    set_pointer(out, block + ALIGN);
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

SdmStatus sdm_alloc_each(SdmContext *ctx, const SdmArray *array, size_t arrays, bool zeroed, const char *what)
{
    for (size_t i = 0; i < arrays; i++)
        PASS(allocate(ctx, array[i].out, array[i].count, array[i].size, zeroed, what));
    return SDM_OK;
}

void sdm_free_each(void *const *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sdm_free(p[i]);
}

void sdm_free(void *p)
{
    char *const given = p ? get_pointer(p) : NULL;
    if (!given)
        return;
    char *const block = given - ALIGN;
    const Header *const h = (const Header *)(const void *)block;
    charge(h->ctx, -h->bytes);
    if (h->total >= LARGE)
        sdm_large_give(h->ctx, block, h->total);
    else
        sdm_system_aligned_free(block);
    set_pointer(p, NULL);
}

int64_t sdm_memory_peak(const SdmContext *ctx)
{
    return ctx->bytes_peak;
}

int64_t sdm_memory_resident(const SdmContext *ctx)
{
    const int64_t since = sdm_system_resident(), before = ctx->resident_before;
    const int64_t most = since > before ? since : before;
    return most > 0 ? most : ctx->bytes_peak;
}

int64_t sdm_memory_resident_since(const SdmContext *ctx)
{
    const int64_t since = sdm_system_resident();
    return since > 0 ? since : ctx->bytes_peak;
}

void sdm_memory_resident_restart(SdmContext *ctx)
{
    ctx->resident_before = sdm_memory_resident(ctx);
    sdm_system_resident_restart();
}
