/* A row of samples -> bytes, or census words as planes of bytes. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_kernels.h"
#include "simd.h"

extern sdm_pair_words_fn SDM_NAME(pair_words);
extern sdm_pair_bytes_fn SDM_NAME(pair_bytes);

/* Byte `plane` of LANES words from pixel x on. */
VEC v8 word_bytes(const int16_t *const *rows, int x, int width, int height, int plane)
{
    const int middle = width * height / 2, bits = width * height - 1;
    const int16_t *const at = rows[height / 2] + x + width / 2;
    const v16 centre[2] = {v16_load(at), v16_load(at + VL)};
    v16 out[2] = {v16_set(0), v16_set(0)};
    for (int bit = 8 * plane; bit < 8 * plane + 8 && bit < bits; bit++) {
        const int place = bit < middle ? bit : bit + 1;
        const int16_t *const near = rows[place / width] + x + place % width;
        for (int half = 0; half < 2; half++)
            out[half] = v16_or(out[half],
                               v16_darker(v16_load(near + half * VL), centre[half], v16_set(1 << bit % 8)));
    }
    return v8_from_lows(out[0], out[1]);
}

void SDM_NAME(pair_words)(const int16_t *const *rows, int width, int word_width, int word_height,
                          uint8_t *out, ptrdiff_t plane)
{
    const int planes = (word_width * word_height + 6) / 8;
    for (int x = 0; x < width; x += LANES)
        for (int p = 0; p < planes; p++)
            v8_store(out + p * plane + x, word_bytes(rows, x, word_width, word_height, p));
}

void SDM_NAME(pair_bytes)(const int16_t *samples, int count, uint8_t *out)
{
    for (int i = 0; i < count; i++)
        out[i] = (uint8_t)samples[i];
}
