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

/* Parts of w x h pixels that fit the second cache together with what they become, by number. */
enum { SDM_TURN_TILE_W = 256, SDM_TURN_TILE_H = 128 };
typedef struct SdmTurnTile {
    int64_t x, y, w, h;
} SdmTurnTile;

static inline int64_t sdm_turn_tiles(int64_t w, int64_t h)
{
    return (w + SDM_TURN_TILE_W - 1) / SDM_TURN_TILE_W * ((h + SDM_TURN_TILE_H - 1) / SDM_TURN_TILE_H);
}

static inline SdmTurnTile sdm_turn_tile(int64_t w, int64_t h, int64_t number)
{
    const int64_t columns = (w + SDM_TURN_TILE_W - 1) / SDM_TURN_TILE_W;
    const int64_t x = number % columns * SDM_TURN_TILE_W, y = number / columns * SDM_TURN_TILE_H;
    return (SdmTurnTile){x, y, w - x < SDM_TURN_TILE_W ? w - x : SDM_TURN_TILE_W,
                         h - y < SDM_TURN_TILE_H ? h - y : SDM_TURN_TILE_H};
}

#endif
