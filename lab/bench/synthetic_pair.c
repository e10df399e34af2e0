/* A rectified pair without any file: texture of a few pixels, seen with disparities that change by rows. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_pairs.h"


static uint32_t scramble(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 29)) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)(x >> 40);
}

/* Sum of 3 x 3 random numbers: a grain of about three pixels; 0..255. */
static int grain(int x, int y)
{
    uint32_t sum = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += scramble((uint64_t)(y + j + 8) * 100003u + (uint64_t)(x + i + 100000)) & 255;
    return (int)((sum / 9 + scramble((uint64_t)y * 7919u + (uint64_t)(x + 100000)) % 32 + 3 * (sum & 31)) %
                 256);
}

SdmStatus sdm_synthetic_pair(SdmBench *b, int width, int height, int depth, bool eight_bit,
                             SdmPairImage out[2])
{
    SdmStatus st = SDM_OK;
    for (int side = 0; side < 2; side++) {
        int16_t *data = NULL;
        TRY(sdm_bench_alloc(b, &data, (size_t)width * (size_t)height, sizeof *data));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(b->ctx))
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                /* blocks of 64 rows, each of one disparity in the middle three quarters of the range */
                const int d = depth / 8 + (y / 64 * 5) % (depth - depth / 4 > 0 ? depth - depth / 4 : 1);
                const int v = grain(side ? x + d : x, y);
                data[(ptrdiff_t)y * width + x] = (int16_t)(eight_bit ? v : 16 * v - 2040);
            }
        out[side] = (SdmPairImage){width, height, width, data, eight_bit, NULL};
    }
done:
    return st;
}
