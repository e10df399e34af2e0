/* self_test: y[i] = a x[i] / (x[i] + b) - a root, and the sum of a group: what a device must be able to do
 * before anything else is asked of it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

KERNEL GROUP_SIZE(64, 1, 1)
sdm_self_test(GLOBAL const float *x, GLOBAL float *y, GLOBAL int *sums, int n, float a, float b, long big)
{
    LOCAL int part[64];
    const int item = ITEM(0), i = GROUP(0) * 64 + item;
    if (i < n)
        y[i] = a * x[i] / (x[i] + b) - SQRT(x[i]);
    part[item] = i < n ? i + (int)(big >> 32) : 0;
    BARRIER();
    if (item == 0 && sums) {
        int sum = 0;
        for (int k = 0; k < 64; k++)
            sum += part[k];
        sums[GROUP(0)] = sum;
    }
}
