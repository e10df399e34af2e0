/* Scores at v - 1, v, v + 1 -> ray gap: vertex of the parabola, -2..2; NaN where a score is missing or a good
 * match does not depend on v; 2 where there is neither peak nor match.  As sdm_gap_row_fn. */
// SPDX-License-Identifier: Apache-2.0

/* Rows y_begin..y_end - 1 of the image, whose volume (depth 3) this is.  quality: 250 x score at v. */
KERNEL ANY_GROUP
ray_gap(GLOBAL const float *score, GLOBAL const float *texture, int w, int y_begin, int y_end, float scale,
        GLOBAL float *gap_v, GLOBAL uchar *quality)
{
    const int x = PLACE(0), y = y_begin + PLACE(1);
    if (x >= w || y >= y_end)
        return;
    const long i = (long)y * w + x;
    GLOBAL const float *const s = score + (long)(y - y_begin) * 3 * w + x;
    const float before = fair_score(s[0], scale, texture[i]), at = fair_score(s[w], scale, texture[i]),
                after = fair_score(s[2 * (long)w], scale, texture[i]);
    const float bend = before - 2.0f * at + after;
    const bool all = before > SCORE_NONE && at > SCORE_NONE && after > SCORE_NONE;
    if (all && at > 0.0f && bend < -0.06f)
        gap_v[i] = between(0.5f * (before - after) / bend, -2.0f, 2.0f);
    else
        gap_v[i] = all && at < 0.7f ? 2.0f : AS_FLOAT(0x7fc00000);
    quality[i] = (uchar)(int)(at > 0.0f ? at * 250.0f + 0.5f : 0.0f);
}
