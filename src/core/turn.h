/* Rows of pixels -> columns. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_TURN_H
#define SDM_TURN_H

#include <stdint.h>

/* out[c * pitch + r] = in[r * in_pitch + c] for h rows of w pixels.  Quick where both fit a cache, and where
 * rows of `in` do not lie a power of two apart. */
static inline void sdm_turn_pixels(const int16_t *in, int64_t in_pitch, int64_t w, int64_t h, int16_t *out,
                                   int64_t pitch)
{
    for (int64_t c = 0; c < w; ++c)
        for (int64_t r = 0; r < h; ++r)
            out[c * pitch + r] = in[r * in_pitch + c];
}

#endif
