/* Accesses of kernels to memory -> races.  Kernels are compiled with -fsanitize=thread, which calls these
 * functions before each access; the sanitizer's own library is not there.  Two accesses to a byte of which
 * one is a write are a race where they are of two items of a group with no barrier between that orders such
 * memory, or of two groups of a launch; unless both are atomic.  Besides: what lies in no buffer, and what
 * is read and was never written. */
// SPDX-License-Identifier: Apache-2.0
#include "simulator.h"

#include <stdlib.h>

enum { SEVERAL = 0xffff, ATOMICALLY = 0xfffe, ANOTHER_GROUP = 0xfffd }; /* in place of an item */
enum Access { READ, WRITE, ATOMIC };

extern char __start_sdm_local[], __stop_sdm_local[]; /* the linker's: all local arrays of these kernels */
extern char __executable_start[], etext[], edata[];

void sdm_races_add(const char *name, void *p, size_t bytes, bool local)
{
    if (!sdm_sim.races)
        return;
    if (sdm_sim.count == (int)(sizeof sdm_sim.shared / sizeof *sdm_sim.shared))
        abort();
    sdm_sim.shared[sdm_sim.count++] =
        (SdmShared){name, (uintptr_t)p, (uintptr_t)p + bytes, calloc(bytes, sizeof(SdmTouched)), local};
}

void sdm_races_remove(const void *p)
{
    for (int i = 0; i < sdm_sim.count; i++)
        if (sdm_sim.shared[i].begin == (uintptr_t)p) {
            free(sdm_sim.shared[i].touched);
            sdm_sim.shared[i] = sdm_sim.shared[--sdm_sim.count];
            return;
        }
}

/* NULL: no memory that items share. */
static const SdmShared *find(uintptr_t at)
{
    SdmShared *const list = sdm_sim.shared;
    for (int i = 0; i < sdm_sim.count; i++)
        if (at >= list[i].begin && at < list[i].end) {
            const SdmShared found = list[i];
            list[i] = list[i / 2]; /* those that are asked for often move to the front */
            list[i / 2] = found;
            return &list[i / 2];
        }
    return NULL;
}

void sdm_races_set(const void *p, size_t bytes)
{
    const SdmShared *const s = find((uintptr_t)p);
    for (size_t i = 0; s && i < bytes; i++)
        s->touched[(uintptr_t)p - s->begin + i] = (SdmTouched){.wrote = 1};
}

/* Did `who` do so in interval `when` at the same time as the item at hand? */
static bool at_once(const SdmShared *s, uint32_t when, uint16_t who, enum Access access)
{
    const bool by_another = when == sdm_sim.now[s->local] && who != sdm_sim.item;
    if (who == ATOMICALLY && access == ATOMIC)
        return false;
    return by_another ||
           (!s->local && when >= sdm_sim.launch && (when < sdm_sim.group || who == ANOTHER_GROUP));
}

static void tell(const SdmShared *s, uintptr_t at, const char *what, uint16_t who, void *pc)
{
    char other[40] = "";
    if (who < ANOTHER_GROUP)
        snprintf(other, sizeof other, " (item %d)", (int)who);
    if (s->local)
        sdm_sim_find(pc, "item %d %s in local memory%s", sdm_sim.item, what, other);
    else
        sdm_sim_find(pc, "item %d %s in '%s' at byte %zu%s", sdm_sim.item, what, s->name,
                     (size_t)(at - s->begin), other);
}

/* One byte. */
static void touch(const SdmShared *s, uintptr_t at, enum Access access, void *pc)
{
    SdmTouched *const t = &s->touched[at - s->begin];
    const uint32_t now = sdm_sim.now[s->local];
    if (access == READ && t->read == now && t->reader == sdm_sim.item && t->wrote != now) /* once more */
        return;
    if (at_once(s, t->wrote, t->writer, access))
        tell(s, at,
             access == READ ? "races: reads what another just wrote"
                            : "races: writes what another just wrote",
             t->writer, pc);
    if (access != READ && at_once(s, t->read, t->reader, access))
        tell(s, at, "races: writes what another just read", t->reader, pc);
    if (access != WRITE && (s->local ? t->wrote < sdm_sim.group : t->wrote == 0))
        tell(s, at, "reads what was never written", SEVERAL, pc);
    if (access == READ) {
        const bool foreign =
            !s->local && t->read >= sdm_sim.launch && (t->read < sdm_sim.group || t->reader == ANOTHER_GROUP);
        const bool several = t->read == now && t->reader != sdm_sim.item;
        t->reader = (uint16_t)(foreign ? ANOTHER_GROUP : several ? SEVERAL : sdm_sim.item);
        t->read = now;
    } else {
        t->wrote = now;
        t->writer = (uint16_t)(access == ATOMIC ? ATOMICALLY : sdm_sim.item);
    }
}

static void look(uintptr_t at, size_t bytes, enum Access access, void *pc)
{
    if (!sdm_sim.races || sdm_sim.item < 0 || (at >= sdm_sim.stack_begin && at < sdm_sim.stack_end))
        return;
    const SdmShared *s = find(at);
    if (!s && at >= (uintptr_t)__start_sdm_local && at < (uintptr_t)__stop_sdm_local) {
        sdm_races_add("local memory", __start_sdm_local, (size_t)(__stop_sdm_local - __start_sdm_local),
                      true);
        s = find(at);
    }
    if (!s || at + bytes > s->end) {
        if (access != READ || at < (uintptr_t)__executable_start ||
            at >= (uintptr_t)edata) /* not a constant */
            sdm_sim_find(pc, "item %d is out of bounds", sdm_sim.item);
        return;
    }
    for (size_t i = 0; i < bytes; i++)
        touch(s, at + i, access, pc);
}

void sdm_races_atomic(void *p, size_t bytes, void *pc)
{
    look((uintptr_t)p, bytes, ATOMIC, pc);
}

/* ---- what -fsanitize=thread calls ---- */

#define HOOK(name, bytes, access)                                                                            \
    void name(void *p)                                                                                       \
    {                                                                                                        \
        look((uintptr_t)p, bytes, access, __builtin_return_address(0));                                      \
    }
#define HOOKS(n) HOOK(__tsan_read##n, n, READ) HOOK(__tsan_write##n, n, WRITE)
#define HOOKS_UNALIGNED(n) HOOK(__tsan_unaligned_read##n, n, READ) HOOK(__tsan_unaligned_write##n, n, WRITE)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
HOOKS_UNALIGNED(2)
HOOKS_UNALIGNED(4)
HOOKS_UNALIGNED(8)
HOOKS_UNALIGNED(16)

void __tsan_read_range(void *p, size_t bytes)
{
    look((uintptr_t)p, bytes, READ, __builtin_return_address(0));
}

void __tsan_write_range(void *p, size_t bytes)
{
    look((uintptr_t)p, bytes, WRITE, __builtin_return_address(0));
}

void __tsan_init(void)
{
}
