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

/* The arithmetic of known_answers.h: in is 64 x 4, out 64 x 9. */
KERNEL GROUP_SIZE(64, 1, 1)
sdm_known_answers(GLOBAL const float *in, GLOBAL float *out)
{
    const int item = ITEM(0);
    const float a = in[4 * item], b = in[4 * item + 1], c = in[4 * item + 2], d = in[4 * item + 3];
    GLOBAL float *const y = out + 9 * item;
    y[0] = a * b + c;
    y[1] = a * b - c * d;
    y[2] = a / b;
    y[3] = SQRT(a);
    y[4] = 1.0f / SQRT(a);
    y[5] = (a * 0x1p-100f) * (b * 0x1p-30f);
    y[6] = RINT((float)(item - 32) + 0.5f);
    y[7] = (float)(item * 33554467 + 1);
    y[8] = (float)((long)item * 140737488355349L + 3);
}

#ifdef HAVE_DOUBLES
/* The same in doubles: out is 64 x 3. */
KERNEL GROUP_SIZE(64, 1, 1)
sdm_known_doubles(GLOBAL const float *in, GLOBAL double *out)
{
    const int item = ITEM(0);
    const double a = (double)in[4 * item] * 1.1, b = (double)in[4 * item + 1] * 0.7;
    GLOBAL double *const y = out + 3 * item;
    y[0] = a * b + (double)in[4 * item + 2];
    y[1] = a / b;
    y[2] = (double)(float)(a * b);
}
#endif
