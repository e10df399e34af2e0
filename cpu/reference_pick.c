/* The definition of the kernels that turn rows of scores into heights.  See reference.c. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa_reasons.h"
#include "reference.h"

#include <math.h>

/* ---- pick ---- */

/* Score at (x, d); SDM_SCORE_NONE off the row or the range. */
static float score_of(const SdmCostRow *r, int x, int d)
{
    if (x < 0 || x >= r->width || d < r->dmin || d > r->dmax)
        return SDM_SCORE_NONE;
    return r->score[(ptrdiff_t)(d - r->dmin) * r->pitch + x];
}

/* Best d of a pixel along the line x + slope * d of the volume (slope 0: left pixel, -1: right pixel), the
 * smallest of equals.  False: no score at all. */
static bool best_along(const SdmCostRow *r, int x, int slope, int *best)
{
    float top = SDM_SCORE_NONE;
    for (int d = r->dmin; d <= r->dmax; d++)
        if (score_of(r, x + slope * d, d) > top) {
            top = score_of(r, x + slope * d, d);
            *best = d;
        }
    return top > SDM_SCORE_NONE;
}

/* Vertex of the parabola through three scores one pixel apart, -0.5..0.5; 0 where it has none. */
static float vertex(float before, float at, float after)
{
    const float bend = before - 2.0f * at + after;
    return bend < 0.0f ? fminf(fmaxf(0.5f * (before - after) / bend, -0.5f), 0.5f) : 0.0f;
}

typedef struct Curve { /* scores at d - 1, d, d + 1 on a line of the volume */
    float before, at, after;
} Curve;

static Curve curve_of(const SdmCostRow *r, int x, int slope, int d)
{
    return (Curve){score_of(r, x + slope * (d - 1), d - 1), score_of(r, x + slope * d, d),
                   score_of(r, x + slope * (d + 1), d + 1)};
}

static bool whole(const Curve *c)
{
    return c->before > SDM_SCORE_NONE && c->after > SDM_SCORE_NONE;
}

/* Best d of a pixel plus the vertex of its scores, from this view alone. */
static float sub_pixel(const SdmCostRow *r, int x, int slope, int d)
{
    const Curve c = curve_of(r, x, slope, d);
    return whole(&c) ? (float)d + vertex(c.before, c.at, c.after) : (float)d;
}

/* The same from the sums of the left pixel's scores and the right pixel's, where that one has all three; see
 * SdmPickRow. */
static float sub_pixel_both(const SdmCostRow *r, int x, int d)
{
    const Curve left = curve_of(r, x, 0, d), right = curve_of(r, x + d, -1, d);
    if (!whole(&left) || !whole(&right))
        return sub_pixel(r, x, 0, d);
    return (float)d + vertex(left.before + right.before, left.at + right.at, left.after + right.after);
}

void sdm_reference_pick_row(const SdmCostRow *r, const SdmPickRow *out)
{
    for (int x = 0; x < r->width; x++) {
        int d = 0, back = 0;
        const bool any = best_along(r, x, 0, &d);
        out->residual[x] = any ? sub_pixel_both(r, x, d) : 0.0f;
        out->score[x] = score_of(r, any ? x : -1, d);
        out->edge[x] = any && r->dmax > r->dmin && (d == r->dmin || d == r->dmax);
        if (out->mismatch) {
            out->mismatch[x] = 1e9f;
            if (any && best_along(r, x + d, -1, &back))
                out->mismatch[x] = fabsf(sub_pixel(r, x, 0, d) - sub_pixel(r, x + d, -1, back));
        }
        if (!out->runner_up)
            continue;
        out->runner_up[x] = SDM_SCORE_NONE;
        for (int e = r->dmin; any && e <= r->dmax; e++)
            if (e - d >= 2 || d - e >= 2)
                out->runner_up[x] = fmaxf(out->runner_up[x], score_of(r, x, e));
    }
    for (int x = 0; x < r->width && out->mismatch; x++) {
        int back = 0;
        out->right_best[x] = best_along(r, x, -1, &back) ? sub_pixel(r, x, -1, back) : 0.0f;
    }
}

/* ---- update ---- */

static uint16_t reason_of(const SdmUpdateRow *u, int x)
{
    const float slope = x > 0 && x + 1 < u->width ? (u->prior[x + 1] - u->prior[x - 1])
                        : u->width == 1           ? 0.0f
                        : x > 0                   ? u->prior[x] - u->prior[x - 1]
                                                  : u->prior[1] - u->prior[0];
    const float share = 1.0f + u->du_dh[x] * slope / (x > 0 && x + 1 < u->width ? 2.0f : 1.0f);
    if (u->texture[x] < 0.0f || (u->texture[x] > 0.0f && u->score[x] == SDM_SCORE_NONE))
        return SDM_QA_OUTSIDE;
    if (u->texture[x] == 0.0f)
        return SDM_QA_TEXTURELESS;
    if (u->score[x] < u->min_score)
        return SDM_QA_LOW_SCORE;
    if (u->mismatch != NULL && u->mismatch[x] > u->max_mismatch)
        return SDM_QA_LEFT_RIGHT;
    if ((u->not_at_edge && u->edge[x] != 0) ||
        (u->runner_up != NULL && u->score[x] - u->runner_up[x] < u->min_margin))
        return SDM_QA_AMBIGUOUS;
    return share < 0.1f ? SDM_QA_FOLD : SDM_QA_VALID;
}

void sdm_reference_update_row(const SdmUpdateRow *u)
{
    for (int x = 0; x < u->width; x++) {
        if (u->keep_valid && (u->flags[x] & SDM_QA_VALID) != 0)
            continue;
        if ((u->flags[x] & SDM_QA_VALID) != 0 && u->quality[x] < u->min_quality) {
            u->h_m[x] = u->prior[x];
            continue;
        }
        const float d = u->residual[x], whole = floorf(d);
        const int64_t i = x + (int64_t)whole, last = u->width - 1;
        const float a = u->prior[i < 0      ? 0
                                 : i > last ? last
                                            : i],
                    b = u->prior[i < 0       ? 0
                                 : i >= last ? last
                                             : i + 1];
        const float prior = i < 0 || i >= last ? a : a + (d - whole) * (b - a);
        u->flags[x] = reason_of(u, x);
        u->h_m[x] = u->flags[x] == SDM_QA_VALID ? prior + d / u->du_dh[x] : u->prior[x];
        u->quality[x] = (uint8_t)(fmaxf(u->score[x], 0.0f) * 250.0f + (u->score[x] > 0.0f ? 0.5f : 0.0f));
    }
}
