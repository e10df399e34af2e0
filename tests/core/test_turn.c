/* Rows of pixels become columns, of any width and height. */
// SPDX-License-Identifier: Apache-2.0
#include "core/turn.h"
#include "tests/case.h"

enum { PITCH = 300, ROWS = 290 };

TEST(turns_every_shape)
{
    static const int64_t size[][2] = {{1, 1}, {7, 9}, {8, 8}, {16, 5}, {31, 257}, {64, 256}, {290, 24}};
    FREED int16_t *const in = malloc(sizeof *in * PITCH * ROWS), *const out =
                                                                     malloc(sizeof *out * PITCH * ROWS);
    assert_true(in && out);
    for (int i = 0; i < PITCH * ROWS; i++)
        in[i] = (int16_t)(i * 31 % 65521 - 32760);
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        const int64_t w = size[k][0], h = size[k][1], pitch = h + 3;
        for (int64_t i = 0; i < w * pitch; i++)
            out[i] = 5;
        sdm_turn_pixels(in, PITCH, w, h, out, pitch);
        for (int64_t c = 0; c < w; c++)
            for (int64_t r = 0; r < pitch; r++)
                assert_int_equal(out[c * pitch + r], r < h ? in[r * PITCH + c] : 5);
    }
}

/* The tiles cover an image, each pixel once. */
TEST(tiles_cover)
{
    enum { W = 2 * SDM_TURN_TILE_W + 3, H = SDM_TURN_TILE_H + 9 };
    static uint8_t times[W * H];
    for (int64_t t = 0; t < sdm_turn_tiles(W, H); t++) {
        const SdmTurnTile tile = sdm_turn_tile(W, H, t);
        for (int64_t y = tile.y; y < tile.y + tile.h; y++)
            for (int64_t x = tile.x; x < tile.x + tile.w; x++)
                times[y * W + x]++;
    }
    for (int i = 0; i < W * H; i++)
        assert_int_equal(times[i], 1);
}

RUN_TESTS(NULL, NULL)
