/* Scores at v - 1, v, v + 1 -> ray intersection error: vertex of the parabola, -2..2; NaN where a score is
 * missing or a good match does not depend on v; 2 where there is neither peak nor match.  As
 * sdm_ray_error_row_fn. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

/* Ray intersection error of a pixel, from its three scores. */
FUNCTION void set_ray_error(float before, float at, float after, GLOBAL float *ray_error_v,
                            GLOBAL uchar *quality)
{
    const float bend = before - 2.0f * at + after;
    const bool all = before > SCORE_NONE && at > SCORE_NONE && after > SCORE_NONE;
    if (all && at > 0.0f && bend < -0.06f)
        *ray_error_v = between(0.5f * (before - after) / bend, -2.0f, 2.0f);
    else
        *ray_error_v = all && at < 0.7f ? 2.0f : AS_FLOAT(0x7fc00000);
    *quality = (uchar)(int)(at > 0.0f ? at * 250.0f + 0.5f : 0.0f);
}

/* Rows y_begin..y_end - 1 of the image, whose volume (depth 3) this is.  quality: 250 x score at v. */
KERNEL ANY_GROUP
ray_error(GLOBAL const float *score, int w, int y_begin, int y_end, GLOBAL float *ray_error_v,
          GLOBAL uchar *quality)
{
    const int x = PLACE(0), y = y_begin + PLACE(1);
    if (x >= w || y >= y_end)
        return;
    const long i = (long)y * w + x;
    GLOBAL const float *const s = score + (long)(y - y_begin) * 3 * w + x;
    set_ray_error(s[0], s[w], s[2 * (long)w], ray_error_v + i, quality + i);
}
