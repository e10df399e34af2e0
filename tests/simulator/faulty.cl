/* Kernels with a fault each, which test_simulator.c lets the simulator find; `good` with none. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

/* Each item gives its neighbour a number.  What is wrong: bit 0: no barrier before reading; 1: one item
 * leaves before it; 2: two barriers in two branches; 3: reads behind the end of the local array; 4: reads
 * local memory that nobody wrote; 5: writes behind the end of the buffer; 6: all groups write to the same
 * place; 7: only local memory is ordered; 8: adds without an atomic operation. */
KERNEL GROUP_SIZE(64, 1, 1)
faulty(GLOBAL int *out, int n, int wrong)
{
    LOCAL int held[64], unused[64], total[1];
    const int item = ITEM(0), i = GROUP(0) * 64 + item;
    if (item == 0)
        total[0] = 0;
    held[item] = i;
    if (wrong == 1 << 1 && item == 7)
        return;
    if (wrong == 1 << 2 && item > 31)
        BARRIER();
    else if (wrong != 1)
        BARRIER();
    LOCAL_ADD(&total[0], 1u);
    if (wrong == 1 << 8)
        total[0]++;
    if (i < n) {
        out[i] = held[(item + 1) % 64];
        if (wrong == 1 << 3)
            out[i] = held[item + 1];
        if (wrong == 1 << 4)
            out[i] = unused[item];
        if (wrong == 1 << 5 && i + 1 == n)
            out[i + 1] = 0;
        if (wrong == 1 << 6)
            out[0] = 1;
    }
    if (wrong == 1 << 7)
        BARRIER();
    else
        BARRIER_GLOBAL();
    if (item == 0 && i + 1 < n && wrong != 1 << 6)
        out[i] += out[i + 1];
    BARRIER();
    if (item == 0 && i < n && wrong != 1 << 6)
        out[i] += total[0];
}
