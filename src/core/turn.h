/* Rows of pixels -> columns. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>
#include <string.h>

typedef int16_t SdmEight __attribute__((vector_size(16)));

/* 8 x 8 pixels: rows 0 and 4, 1 and 5 ... interleaved three times. */
static inline void sdm_turn_eight(const int16_t *in, int64_t in_pitch, int16_t *out, int64_t pitch)
{
    SdmEight row[8], next[8];
    for (int i = 0; i < 8; i++)
        memcpy(&row[i], in + i * in_pitch, sizeof *row);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 4; i++) {
            next[2 * i] = __builtin_shufflevector(row[i], row[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            next[2 * i + 1] = __builtin_shufflevector(row[i], row[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        memcpy(row, next, sizeof row);
    }
    for (int i = 0; i < 8; i++)
        memcpy(out + i * pitch, &row[i], sizeof *row);
}

/* out[c * pitch + r] = in[r * in_pitch + c] for h rows of w pixels.  Quick where both fit a cache, and where
 * rows of `in` do not lie a power of two apart. */
static inline void sdm_turn_pixels(const int16_t *in, int64_t in_pitch, int64_t w, int64_t h, int16_t *out,
                                   int64_t pitch)
{
    const int64_t w8 = w / 8 * 8, h8 = h / 8 * 8;
    for (int64_t c = 0; c < w8; c += 8)
        for (int64_t r = 0; r < h8; r += 8)
            sdm_turn_eight(in + r * in_pitch + c, in_pitch, out + c * pitch + r, pitch);
    for (int64_t c = 0; c < w; ++c)
        for (int64_t r = c < w8 ? h8 : 0; r < h; ++r)
            out[c * pitch + r] = in[r * in_pitch + c];
}

/* Parts of w x h pixels that fit the second cache together with what they become, by number. */
enum { SDM_TURN_TILE_W = 64, SDM_TURN_TILE_H = 256 };
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
