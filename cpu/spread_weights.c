/* Weights of a point by distance -> those of the three cells that it reaches on an axis. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <stdlib.h>

void sdm_spread_three(const int32_t *table, int32_t radius, uint64_t three[256])
{
    for (int phase = 0; phase < 256; phase++) {
        three[phase] = 0;
        for (int k = 0; k < 3; k++) {
            const uint64_t weight = 8 * (uint64_t)table[abs(phase + radius - 255 - 256 * k)];
            three[phase] |= weight << 16 * k;
        }
    }
}
