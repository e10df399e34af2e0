/* Memory of a graphics card that several processes share, for stand-ins of drivers.  SDM_CARD=FILE: two numbers of 64 bits,
 * the bytes that the card has and those that are taken; all processes that name it share them, and a test may change them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Card {
    int64_t bytes;
    _Atomic int64_t taken;
} Card;

/* NULL: there is no such file; memory is as usual. */
static Card *card(void)
{
    static Card *_Atomic mapped;
    const char *const path = getenv("SDM_CARD");
    if (mapped || !path)
        return mapped;
    const int fd = open(path, O_RDWR);
    void *const p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(Card), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        abort();
    close(fd);
    mapped = p;
    return mapped;
}

/* 0: there is not so much left. */
static int card_take(int64_t bytes)
{
    Card *const c = card();
    if (!c || atomic_fetch_add(&c->taken, bytes) + bytes <= c->bytes)
        return 1;
    atomic_fetch_sub(&c->taken, bytes);
    return 0;
}

static void card_give(int64_t bytes)
{
    if (card())
        atomic_fetch_sub(&card()->taken, bytes);
}
