/* Validation of a window at full resolution, as src/matching/validation.c: which heights and which filled
 * holes are accepted. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

#define ERROR_HALF 5
#define ERROR_UNIT 1024.0f

/* |error| up to a pixel in 1/1024 px, 0 where it is not known. */
FUNCTION int error_size(float error)
{
    const float size = error < 0.0f ? -error : error;
    return size >= 0.0f ? (int)((size < 1.0f ? size : 1.0f) * ERROR_UNIT) : 0;
}

/* Over the rows y - ERROR_HALF .. y + ERROR_HALF of each column: sums of |error|, and the number of known
 * ones. An item has `rows` rows of a column. */
KERNEL ANY_GROUP
ray_error_columns(GLOBAL const float *error, int w, int h, int rows, GLOBAL int *sum, GLOBAL ushort *count)
{
    const int x = PLACE(0), y0 = GROUP(1) * rows, y1 = y0 + rows < h ? y0 + rows : h;
    int s = 0, n = 0;
    if (x >= w)
        return;
    for (int y = y0 - ERROR_HALF; y < y1 + ERROR_HALF; y++) {
        if (y >= 0 && y < h) {
            const float g = error[(long)y * w + x];
            s += error_size(g);
            n += g == g;
        }
        if (y - ERROR_HALF >= y0) {
            const long out = (long)(y - ERROR_HALF) * w + x;
            const int gone = y - 2 * ERROR_HALF;
            sum[out] = s;
            count[out] = (ushort)n;
            if (gone >= 0) {
                const float g = error[(long)gone * w + x];
                s -= error_size(g);
                n -= g == g;
            }
        }
    }
}

/* sdm_terrain_limit() */
FUNCTION float terrain_limit(float distance_px, float pixel_m)
{
    const float steep_px = distance_px < 5.0f ? distance_px + 1.0f : 6.0f,
                far_px = distance_px < 5.0f ? 0.0f : distance_px - 5.0f;
    const float far_m = pixel_m * far_px < 4000.0f ? pixel_m * far_px : 4000.0f;
    return 80.0f + 1.43f * pixel_m * steep_px + 0.15f * far_m;
}

/* Place of a pixel in the terrain mask; -1: beyond it. */
FUNCTION int terrain_at(int x, int y, int u0, int v0, int level, int terrain_w, int terrain_h)
{
    const int u = (u0 + x) >> level, v = (v0 + y) >> level;
    return u < terrain_w && v < terrain_h ? v * terrain_w + u : -1;
}

/* Flags and scores from the ray intersection errors, the scores over the larger window (score0) and the
 * terrain (terrain_m, distance_px; null: there is none).  limit: mean error, 1/1024 px. */
KERNEL ANY_GROUP
validate(GLOBAL const float *error, GLOBAL const int *sum, GLOBAL const ushort *count,
         GLOBAL const uchar *score0, GLOBAL const float *h_m, int w, int h, int min_score, float limit,
         GLOBAL const float *terrain_m, GLOBAL const ushort *distance_px, int u0, int v0, int level,
         int terrain_w, int terrain_h, float pixel_m, GLOBAL ushort *flags, GLOBAL uchar *score)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= h)
        return;
    const long row = (long)y * w, i = row + x;
    if (error[i] == error[i])
        score[i] = score0[i];
    if (!(flags[i] & QA_VALID))
        return;
    int s = 0, n = 0;
    for (int k = x - ERROR_HALF > 0 ? x - ERROR_HALF : 0; k <= x + ERROR_HALF && k < w; k++) {
        s += sum[row + k];
        n += count[row + k];
    }
    if (score[i] < min_score)
        flags[i] = QA_LOW_SCORE;
    else if ((float)s > limit * (float)n)
        flags[i] = QA_RAY_ERROR;
    if (terrain_m) {
        const int at = terrain_at(x, y, u0, v0, level, terrain_w, terrain_h);
        const float most = at >= 0 ? terrain_limit((float)distance_px[at], pixel_m) : -1.0f;
        if (!(FABS(h_m[i] - terrain_m[at >= 0 ? at : 0]) <= most))
            flags[i] = QA_ISOLATED;
    }
}

/* Filled pixels that both views see, over terrain, become valid and filled. */
KERNEL ANY_GROUP
accept_filled(GLOBAL const uchar *filled, int w, int h, GLOBAL const ushort *distance_px, int u0, int v0,
              int level, int terrain_w, int terrain_h, GLOBAL ushort *flags)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= h)
        return;
    const long i = (long)y * w + x;
    if (!filled[i] || (flags[i] & (QA_OUTSIDE | QA_SATURATED | QA_VALID)))
        return;
    if (distance_px) {
        const int at = terrain_at(x, y, u0, v0, level, terrain_w, terrain_h);
        if (at < 0 || distance_px[at] != 0)
            return;
    }
    flags[i] = QA_VALID | QA_FILLED;
}
