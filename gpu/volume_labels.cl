/* Scores of a strip of rows -> costs of their labels; labels -> scores clamped to them.  Scores as
 * gpu/volume.cl writes them, volumes of costs as in gpu/optimize.cl.  As src/matching/level_labels.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "optimize.cl"
#include "update.cl"

#define SCORE_COST 100 /* of a score of 0 and less */

FUNCTION uint score_cost(float score)
{
    const float c = (1.0f - score) * (float)SCORE_COST + 0.5f, kept = c > 0.0f ? c : 0.0f;
    return kept < (float)SCORE_COST ? (uint)(int)kept : (uint)SCORE_COST;
}

/* Rows y_begin..y_end - 1 of the volume. */
KERNEL ANY_GROUP
score_costs(GLOBAL const float *score, int w, int y_begin, int y_end, int depth, GLOBAL uint4 *cost)
{
    const int x = PLACE(0), i = PLACE(1), b = GROUP(2);
    uint c[16];
    bool any = false;
    if (x >= w || y_begin + i >= y_end)
        return;
    const ScoreRow r = {score + (long)i * depth * w, w, 0, depth};
    for (int k = 0; k < depth && !any; k++)
        any = score_of(&r, x, k) > SCORE_NONE;
    for (int k = 0; k < 16; k++)
        c[k] = any ? score_cost(score_of(&r, x, 16 * b + k)) : 0u;
    store_costs(cost + block_at(y_begin + i, b, x, w, (depth + 15) / 16), 16 * b, depth, c);
}

/* Clamp the scores to the label, in place: see sdm_level_labels_clamp(). */
KERNEL ANY_GROUP
clamp_scores(GLOBAL float *score, GLOBAL const ushort *label, int w, int y_begin, int y_end, int depth)
{
    const int x = PLACE(0), i = PLACE(1);
    if (x >= w || y_begin + i >= y_end)
        return;
    GLOBAL float *const s = score + (long)i * depth * w + x;
    const int at = label[(long)(y_begin + i) * w + x];
    float best = SCORE_NONE;
    for (int k = at > 0 ? at - 1 : 0; k <= at + 1 && k < depth; k++)
        best = s[(long)k * w] > best ? s[(long)k * w] : best;
    for (int k = 0; k < depth; k++) {
        const int apart = k < at ? at - k : k - at;
        const float own = s[(long)k * w];
        s[(long)k * w] = apart > 2 ? SCORE_NONE : apart == 2 && own > best ? best : own;
    }
}
