/* Mean over a box, by running sums of integers. */
// SPDX-License-Identifier: Apache-2.0
#include "surface/surface.h"

static void add_row(const uint16_t *in, int w, int h, int y, int64_t sign, int64_t *col)
{
    if (y < 0 || y >= h)
        return;
    for (int x = 0; x < w; x++)
        col[x] += sign * in[(size_t)y * (size_t)w + (size_t)x];
}

static void mean_row(const int64_t *col, int w, int half, int rows, uint16_t *out)
{
    int64_t sum = 0;
    for (int x = -half; x < w; x++) {
        sum += x + half < w ? col[x + half] : 0;
        sum -= x - half - 1 >= 0 ? col[x - half - 1] : 0;
        if (x < 0)
            continue;
        const int x0 = x < half ? 0 : x - half, x1 = x + half < w ? x + half : w - 1;
        out[x] = (uint16_t)(sum / ((int64_t)rows * (x1 - x0 + 1)));
    }
}

SdmStatus sdm_box_mean(SdmContext *ctx, const uint16_t *in, int w, int h, int half, uint16_t *out)
{
    const int threads = sdm_threads(ctx);
    int64_t *columns = NULL;
    const SdmStatus st = sdm_alloc(ctx, &columns, (size_t)w * (size_t)threads, sizeof *columns, "column sums");
    if (st != SDM_OK)
        return st;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        int64_t *const col = columns + (size_t)w * (size_t)t;
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        for (int y = y0 - half; y < y0 + half; y++)
            add_row(in, w, h, y, 1, col);
        for (int y = y0; y < y1; y++) {
            add_row(in, w, h, y + half, 1, col);
            const int a = y < half ? 0 : y - half, b = y + half < h ? y + half : h - 1;
            mean_row(col, w, half, b - a + 1, out + (size_t)y * (size_t)w);
            add_row(in, w, h, y - half, -1, col);
        }
    }
    sdm_free(&columns);
    return SDM_OK;
}
