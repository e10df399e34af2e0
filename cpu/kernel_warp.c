/* Resample by the lattice: position to 1/256 px, 4 x 4 integer cubic taps; and the 2:1 reduction of the
 * pyramid. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_warp_row_fn SDM_NAME(warp_row);
sdm_half_row_fn SDM_NAME(half_row);
sdm_cost_scratch_fn SDM_NAME(cost_scratch);
enum { CHUNK = 64 };

size_t SDM_NAME(cost_scratch)(int width, int window, int dmin, int dmax)
{
    (void)window;
    return cost_scratch_bytes(width, dmin, dmax);
}

/* Positions of `count` pixels of one cell, in 1/256 px from its origin; kept within +-8e6. */
static void positions(const float c[6], const float *restrict f, const float *restrict surface, float height0,
                      int count, int32_t *restrict out)
{
    for (int i = 0; i < count; i++) {
        const float t = surface ? surface[i] - height0 : 0.0f;
        const float a = c[0] + f[i] * c[1], b = c[2] + f[i] * c[3], q = c[4] + f[i] * c[5];
        float p = (a + t * (b + t * q)) * 256.0f + 0.5f;
        p = p > -8e6f ? p : -8e6f;
        p = p < 8e6f ? p : 8e6f;
        out[i] = (int32_t)floorf(p);
    }
}

static int16_t sample(const SdmWarpRow *in, int32_t col, int32_t row, int px, int py)
{
    if (col < 1 || row < 1 || col + 2 >= in->source_width || row + 2 >= in->source_height)
        return SDM_PIXEL_NODATA;
    const int16_t *p = in->source + (ptrdiff_t)(row - 1) * in->source_stride + (col - 1);
    const int16_t *const wx = sdm_cubic_weights[px], *const wy = sdm_cubic_weights[py];
    uint32_t sum = 0;
    bool nodata = false;
    for (int j = 0; j < 4; j++, p += in->source_stride) {
        const int32_t h = p[0] * wx[0] + p[1] * wx[1] + p[2] * wx[2] + p[3] * wx[3];
        nodata |= (p[0] == SDM_PIXEL_NODATA) | (p[1] == SDM_PIXEL_NODATA) | (p[2] == SDM_PIXEL_NODATA) |
                  (p[3] == SDM_PIXEL_NODATA);
        /* 15 bits x 15 bits; unsigned, since nodata makes it wrap */
        sum += (uint32_t)((h + 1024) >> 11) * (uint32_t)wy[j];
    }
    int32_t value = (int32_t)(sum + (1 << 16)) >> 17;
    value = value > 2047 ? 2047 : value < -2047 ? -2047 : value;
    return nodata ? (int16_t)SDM_PIXEL_NODATA : (int16_t)value;
}

void SDM_NAME(warp_row)(const SdmWarpRow *in, int16_t *out)
{
    int32_t col[CHUNK], row[CHUNK];
    for (int c = 0; c < in->cell_count; c++) {
        const SdmWarpCell *const cell = &in->cells[c];
        const int32_t col0 = cell->origin_col - in->source_col0, row0 = cell->origin_row - in->source_row0;
        for (int x = in->cell_begin[c]; x < in->cell_begin[c + 1]; x += CHUNK) {
            const int left = in->cell_begin[c + 1] - x, count = left < CHUNK ? left : CHUNK;
            const float *const s = in->surface_m ? in->surface_m + x : NULL;
            positions(cell->col, in->fraction + x, s, in->height0_m, count, col);
            positions(cell->row, in->fraction + x, s, in->height0_m, count, row);
            for (int i = 0; i < count; i++)
                out[x + i] =
                    sample(in, col0 + (col[i] >> 8), row0 + (row[i] >> 8), col[i] & 255, row[i] & 255);
        }
    }
}

void SDM_NAME(half_row)(const int16_t *const src[4], int width, int16_t *restrict out)
{
    static const int weight[4] = {1, 3, 3, 1};
    for (int i = 0; i < width; i++) {
        int32_t sum = 0, have = 0;
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++) {
                const int16_t v = src[j][2 * i - 1 + k];
                const int32_t w = weight[j] * weight[k];
                sum += v == SDM_PIXEL_NODATA ? 0 : w * v;
                have += v == SDM_PIXEL_NODATA ? 0 : w;
            }
        if (have == 64) { /* all taps: floor(sum / 64 + 1/2) */
            out[i] = (int16_t)((sum + 32 + (4096 << 6)) / 64 - 4096);
            continue;
        }
        const int32_t weight_sum = have > 32 ? have : 64, num = 2 * sum + weight_sum + 4096 * 2 * weight_sum;
        out[i] = (int16_t)(have > 32 ? num / (2 * weight_sum) - 4096 : SDM_PIXEL_NODATA);
    }
}
