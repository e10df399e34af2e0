/* Volume of scores -> new heights with their reasons; along v -> the ray intersection error.  The choice is
 * that of SdmPickRow, the update that of SdmUpdateRow (cpu/kernels.h). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

/* Scores of a row: depth x w. */
typedef struct ScoreRow {
    GLOBAL const float *score;
    int w, dmin, depth;
} ScoreRow;

FUNCTION float score_of(const ScoreRow *r, int x, int k)
{
    return x < 0 || x >= r->w || k < 0 || k >= r->depth ? SCORE_NONE : r->score[(long)k * r->w + x];
}

/* Best k along x + slope * d, the smallest of equals; -1 without any score. */
FUNCTION int best_along(const ScoreRow *r, int x, int slope, float *top)
{
    int best = -1;
    *top = SCORE_NONE;
    for (int k = 0; k < r->depth; k++) {
        const float s = score_of(r, x + slope * (r->dmin + k), k);
        best = s > *top ? k : best;
        *top = s > *top ? s : *top;
    }
    return best;
}

/* Vertex of the parabola through three scores, -0.5..0.5; 0 where it has none. */
FUNCTION float vertex(float before, float at, float after)
{
    const float bend = before - 2.0f * at + after;
    return bend < 0.0f ? between(0.5f * (before - after) / bend, -0.5f, 0.5f) : 0.0f;
}

FUNCTION float own_vertex(float before, float at, float after)
{
    return before > SCORE_NONE && after > SCORE_NONE ? vertex(before, at, after) : 0.0f;
}

/* Sub-pixel d of the right pixel x from its own curve; it has a score. */
FUNCTION float right_sub_pixel(const ScoreRow *r, int x)
{
    float top;
    const int k = best_along(r, x, -1, &top), at = x - (r->dmin + k);
    return (float)(r->dmin + k) + own_vertex(score_of(r, at + 1, k - 1), top, score_of(r, at - 1, k + 1));
}

typedef struct Picked {
    float residual, score, runner_up, mismatch;
    bool edge;
} Picked;

FUNCTION Picked pick_pixel(const ScoreRow *r, int x, int ask_runner_up, int ask_mismatch)
{
    Picked p = {0.0f, SCORE_NONE, SCORE_NONE, 1e9f, false};
    float top;
    const int k = best_along(r, x, 0, &top), d = r->dmin + k;
    if (k < 0)
        return p;
    const float before = score_of(r, x, k - 1), after = score_of(r, x, k + 1);
    const float before2 = score_of(r, x + 1, k - 1), after2 = score_of(r, x - 1, k + 1);
    const bool whole = before > SCORE_NONE && after > SCORE_NONE;
    const bool both = whole && before2 > SCORE_NONE && after2 > SCORE_NONE;
    p.score = top;
    p.edge = r->depth > 1 && (k == 0 || k == r->depth - 1);
    p.residual = (float)d + (both ? vertex(before + before2, top + top, after + after2)
                                  : own_vertex(before, top, after));
    if (ask_mismatch)
        p.mismatch = FABS((float)d + own_vertex(before, top, after) - right_sub_pixel(r, x + d));
    for (int e = 0; ask_runner_up && e < r->depth; e++)
        if (e - k >= 2 || k - e >= 2) {
            const float s = score_of(r, x, e);
            p.runner_up = s > p.runner_up ? s : p.runner_up;
        }
    return p;
}

typedef struct Limits {
    float min_score, min_margin, max_mismatch;
} Limits;

FUNCTION ushort reason_of(const Picked *p, float texture, float share, const Limits *m)
{
    if (texture < 0.0f || (texture > 0.0f && p->score == SCORE_NONE))
        return QA_OUTSIDE;
    if (texture == 0.0f)
        return QA_TEXTURELESS;
    if (p->score < m->min_score)
        return QA_LOW_SCORE;
    if (m->max_mismatch >= 0.0f && p->mismatch > m->max_mismatch)
        return QA_LEFT_RIGHT;
    if ((m->min_margin >= 0.0f && p->edge) ||
        (m->min_margin > 0.0f && p->score - p->runner_up < m->min_margin))
        return QA_AMBIGUOUS;
    return share < 0.1f ? QA_FOLD : QA_VALID;
}

/* 1 + du/dh x slope of the prior along u, from the pixels beside x. */
FUNCTION float fold_share(GLOBAL const float *prior, int x, int w, float du_dh)
{
    const bool first = x == 0, last = x + 1 == w;
    const float slope = prior[last ? x : x + 1] - prior[first ? x : x - 1];
    return 1.0f + du_dh * slope * (first || last ? 1.0f : 0.5f); /* as a division by 2 */
}

/* The prior at x + d, between its pixels. */
FUNCTION float prior_at(GLOBAL const float *prior, int x, int w, float d)
{
    const float whole = FLOOR(d);
    const int i = x + (int)whole;
    const float a = prior[clamp_index(i, w)], b = prior[clamp_index(i + 1, w)];
    return i < 0 || i >= w - 1 ? a : a + (d - whole) * (b - a);
}

/* The surface about which was matched, and what comes of it; h x w. */
typedef struct Surface {
    GLOBAL const float *prior;
    GLOBAL const LatticeCell *cell;
    int cols, u2, v2, stride2, step2_log2; /* of the cells, see cell_place() */
    float inv;
    GLOBAL float *h_m;
    GLOBAL ushort *flags;
    GLOBAL uchar *quality;
} Surface;

/* New height, reason and quality of pixel (x, y). */
FUNCTION void update_pixel(const Surface *s, const Limits *limits, Picked p, float texture, int x, int y,
                           int w)
{
    const long row = (long)y * w, at = row + x;
    const float du_dh =
        du_dh_at(s->cell, cell_place(x, y, s->cols, s->u2, s->v2, s->stride2, s->step2_log2), s->inv);
    const ushort reason = reason_of(&p, texture, fold_share(s->prior + row, x, w, du_dh), limits);
    s->flags[at] = reason;
    s->h_m[at] =
        reason == QA_VALID ? prior_at(s->prior + row, x, w, p.residual) + p.residual / du_dh : s->prior[at];
    s->quality[at] = (uchar)(int)(p.score > 0.0f ? p.score * 250.0f + 0.5f : 0.0f);
}

/* Does a VALID pixel keep what it has?  keep: 0 no, below 0 yes, else where its quality is less, with the
 * prior's height. */
FUNCTION bool keeps(const Surface *s, int keep, long at)
{
    if (keep == 0 || !(s->flags[at] & QA_VALID) || (keep > 0 && s->quality[at] >= keep))
        return false;
    if (keep > 0)
        s->h_m[at] = s->prior[at];
    return true;
}

#define SURFACE_ARGUMENTS \
    GLOBAL const float *prior, GLOBAL const LatticeCell *cell, int cols, int u2, int v2, int stride2, \
        int step2_log2, float inv, float min_score, float min_margin, float max_mismatch, \
        int keep, GLOBAL float *h_m, GLOBAL ushort *flags, GLOBAL uchar *quality

/* Rows y_begin..y_end - 1, whose volume this is. */
KERNEL ANY_GROUP_WIDE pick_update(GLOBAL const float *score, GLOBAL const float *texture, int w,
                                  int y_begin, int y_end, int dmin, int depth, SURFACE_ARGUMENTS)
{
    const int x = PLACE(0), y = y_begin + PLACE(1);
    if (x >= w || y >= y_end)
        return;
    const long at = (long)y * w + x;
    const Surface surface = {prior, cell, cols, u2, v2, stride2, step2_log2, inv, h_m, flags, quality};
    if (keeps(&surface, keep, at))
        return;
    const Limits limits = {min_score, min_margin, max_mismatch};
    const ScoreRow r = {score + (long)(y - y_begin) * depth * w, w, dmin, depth};
    update_pixel(&surface, &limits, pick_pixel(&r, x, min_margin > 0.0f, max_mismatch >= 0.0f), texture[at],
                 x, y, w);
}
