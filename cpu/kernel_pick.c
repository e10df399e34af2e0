/* Winner takes all over a row of costs: best and its sub-pixel place, runner-up, left-right check from the
 * one volume. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_pick_row_fn SDM_NAME(pick_row);

/* Vertex of the parabola through three scores, -0.5..0.5; 0 where it has none. */
static inline float bend_vertex(float before, float at, float after)
{
    const float bend = before - 2.0f * at + after;
    if (!(bend < 0.0f))
        return 0.0f;
    const float v = 0.5f * (before - after) / bend;
    return v < -0.5f ? -0.5f : v > 0.5f ? 0.5f : v;
}

/* The same; 0 where a score is missing. */
static inline float vertex(float before, float at, float after)
{
    return before <= SDM_SCORE_NONE || after <= SDM_SCORE_NONE ? 0.0f : bend_vertex(before, at, after);
}

/* Best over d, first one wins a tie; `best` holds d afterwards. */
static void find_best(const SdmCostRow *r, float *restrict score, float *restrict best)
{
    for (int x = 0; x < r->width; x++) {
        score[x] = SDM_SCORE_NONE;
        best[x] = 0.0f;
    }
    for (int d = r->dmin; d <= r->dmax; d++) {
        const float *restrict const s = r->score + (ptrdiff_t)(d - r->dmin) * r->pitch;
        const float fd = (float)d;
        for (int x = 0; x < r->width; x++) {
            const bool wins = s[x] > score[x];
            best[x] = wins ? fd : best[x];
            score[x] = wins ? s[x] : score[x];
        }
    }
}

static void find_runner_up(const SdmCostRow *r, const float *restrict best, float *restrict second)
{
    for (int x = 0; x < r->width; x++)
        second[x] = SDM_SCORE_NONE;
    for (int d = r->dmin; d <= r->dmax; d++) {
        const float *restrict const s = r->score + (ptrdiff_t)(d - r->dmin) * r->pitch;
        const float fd = (float)d;
        for (int x = 0; x < r->width; x++) {
            const float away = fd - best[x];
            const float v = (away > 1.5f) | (away < -1.5f) ? s[x] : SDM_SCORE_NONE;
            second[x] = v > second[x] ? v : second[x];
        }
    }
}

/* Best sub-pixel d of each right pixel x': the scores on the diagonal x' = x + d.  top: scratch, width. */
static void right_winners(const SdmCostRow *r, float *restrict top, float *restrict right)
{
    const int w = r->width, nd = r->dmax - r->dmin + 1;
    for (int x = 0; x < w; x++)
        top[x] = SDM_SCORE_NONE;
    for (int k = 0; k < nd; k++) {
        const int d = r->dmin + k, x0 = d > 0 ? d : 0, x1 = d < 0 ? w + d : w;
        const float *const s = r->score + (ptrdiff_t)k * r->pitch;
        const float fd = (float)d;
        for (int x = x0; x < x1; x++) {
            const bool wins = s[x - d] > top[x];
            right[x] = wins ? fd : right[x];
            top[x] = wins ? s[x - d] : top[x];
        }
    }
    for (int x = 0; x < w; x++) {
        if (top[x] <= SDM_SCORE_NONE)
            continue;
        const int d = (int)right[x], k = d - r->dmin, at = x - d;
        if (k == 0 || k == nd - 1 || at < 1 || at + 1 >= w)
            continue;
        const float *const s = r->score + (ptrdiff_t)k * r->pitch;
        right[x] += vertex(s[at + 1 - r->pitch], s[at], s[at - 1 + r->pitch]);
    }
}

/* Vertex from the curves of both views: of the left pixel and, on the diagonal, of the right pixel it meets.
 */
static inline float vertex_of_both(const float *s, ptrdiff_t pitch, int x, int width)
{
    const float before = x + 1 < width ? s[1 - pitch] : SDM_SCORE_NONE;
    const float after = x > 0 ? s[pitch - 1] : SDM_SCORE_NONE;
    if (before <= SDM_SCORE_NONE || after <= SDM_SCORE_NONE)
        return vertex(s[-pitch], s[0], s[pitch]);
    if (s[-pitch] <= SDM_SCORE_NONE || s[pitch] <= SDM_SCORE_NONE)
        return 0.0f;
    return bend_vertex(s[-pitch] + before, s[0] + s[0], s[pitch] + after);
}

void SDM_NAME(pick_row)(const SdmCostRow *r, const SdmPickRow *o)
{
    const int w = r->width, nd = r->dmax - r->dmin + 1;
    right_winners(r, o->score, o->right_best);
    find_best(r, o->score, o->residual);
    find_runner_up(r, o->residual, o->runner_up);
    for (int x = 0; x < w; x++) {
        const int d = (int)o->residual[x], k = d - r->dmin, met = x + d;
        const bool edge = k == 0 || k == nd - 1, none = o->score[x] <= SDM_SCORE_NONE;
        o->edge[x] = edge && nd > 1 && !none;
        o->mismatch[x] = 1e9f;
        if (none)
            continue;
        const float *const s = r->score + (ptrdiff_t)k * r->pitch + x;
        const float mine = edge ? (float)d : (float)d + vertex(s[-r->pitch], s[0], s[r->pitch]);
        const float apart = mine - o->right_best[met];
        o->mismatch[x] = apart < 0.0f ? -apart : apart;
        if (!edge)
            o->residual[x] += vertex_of_both(s, r->pitch, x, w);
    }
}
