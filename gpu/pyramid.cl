/* Level of an image -> the next one, half the size: weights (1 3 3 1)/8 in both axes; nodata taps make nodata
 * when their weight is half or more. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

/* Pixel (i, j) of out has its first tap at (2 i + first_x, 2 j + first_y) of in. */
KERNEL ANY_GROUP half_size(GLOBAL const short *in, int in_w, int in_h, int first_x, int first_y,
                                      GLOBAL short *out, int w, int h)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= h)
        return;
    int sum = 0, have = 0;
    UNROLL for (int j = 0; j < 4; j++) {
        const int row = 2 * y + first_y + j;
        UNROLL for (int i = 0; i < 4; i++) {
            const int col = 2 * x + first_x + i;
            const bool inside = row >= 0 && row < in_h && col >= 0 && col < in_w;
            const int v = inside ? in[(long)row * in_w + col] : PIXEL_NODATA;
            const int weight = (j == 1 || j == 2 ? 3 : 1) * (i == 1 || i == 2 ? 3 : 1);
            sum += v == PIXEL_NODATA ? 0 : weight * v;
            have += v == PIXEL_NODATA ? 0 : weight;
        }
    }
    /* floor(sum / have + 1/2), numerators made positive */
    const int mean = have == 64   ? ((sum + 32 + (4096 << 6)) >> 6) - 4096
                     : have > 32 ? (2 * sum + have + 8192 * have) / (2 * have) - 4096
                                 : PIXEL_NODATA;
    out[(long)y * w + x] = (short)mean;
}
