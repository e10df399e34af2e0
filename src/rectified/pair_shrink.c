/* Samples -> area means of factor x factor samples. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "rectified/pair_after.h"

static int16_t mean_of(const int16_t *in, ptrdiff_t stride, int factor)
{
    int64_t sum = 0, count = 0;
    for (int y = 0; y < factor; y++)
        for (int x = 0; x < factor; x++) {
            const int16_t v = in[y * stride + x];
            sum += v == SDM_PIXEL_NODATA ? 0 : v;
            count += v != SDM_PIXEL_NODATA;
        }
    if (2 * count < (int64_t)factor * factor)
        return SDM_PIXEL_NODATA;
    const int64_t twice = 2 * sum + count, whole = twice / (2 * count); /* floor(mean + 1/2) */
    return (int16_t)(whole - (twice % (2 * count) < 0));
}

static void shrink_row(const int16_t *in, ptrdiff_t stride, int width, int factor, int16_t *out)
{
    for (int x = 0; x < width; x++)
        out[x] = mean_of(in + (ptrdiff_t)x * factor, stride, factor);
}

void sdm_pair_shrink(SdmContext *ctx, const int16_t *in, ptrdiff_t stride, int width, int height, int factor,
                     int16_t *out)
{
    const int w = width / factor, h = height / factor;
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int y = 0; y < h; y++)
        shrink_row(in + (ptrdiff_t)y * factor * stride, stride, w, factor, out + (ptrdiff_t)y * w);
}
