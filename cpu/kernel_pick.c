/* A row of scores -> the best residual of each pixel, its sub-pixel position, runner-up and left-right
 * check, all from one volume. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_pick_row_fn SDM_NAME(pick_row);

/* Columns on which vectors depend to both sides. */
static inline int reach_of(const SdmCostRow *r)
{
    return (r->dmax > -r->dmin ? r->dmax : -r->dmin) + 1;
}

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

/* Score at (x, k); none off the row. */
static inline float score_at(const SdmCostRow *r, int x, int k)
{
    return x < 0 || x >= r->width ? SDM_SCORE_NONE : r->score[(ptrdiff_t)k * r->pitch + x];
}

/* Best k along x + slope * d, the first of equal ones; -1 without any score. */
static inline int best_of(const SdmCostRow *r, int x, int slope)
{
    const int nd = r->dmax - r->dmin + 1;
    float top = SDM_SCORE_NONE;
    int best = -1;
    for (int k = 0; k < nd; k++) {
        const float s = score_at(r, x + slope * (r->dmin + k), k);
        best = s > top ? k : best;
        top = s > top ? s : top;
    }
    return best;
}

/* Best sub-pixel d of right pixel x: the scores on the diagonal x = x' + d.  0 without any. */
static void right_pixel(const SdmCostRow *r, int x, float *right)
{
    const int nd = r->dmax - r->dmin + 1, k = best_of(r, x, -1), d = r->dmin + k, at = x - d;
    *right = 0.0f;
    if (k < 0)
        return;
    *right = (float)d;
    if (k > 0 && k < nd - 1)
        *right += vertex(score_at(r, at + 1, k - 1), score_at(r, at, k), score_at(r, at - 1, k + 1));
}

/* Vertex from the scores of both views: of the left pixel and, on the diagonal, of the right pixel it
 * meets. */
static inline float vertex_of_both(float before, float at, float after, float before2, float after2)
{
    if (before2 <= SDM_SCORE_NONE || after2 <= SDM_SCORE_NONE)
        return vertex(before, at, after);
    if (before <= SDM_SCORE_NONE || after <= SDM_SCORE_NONE)
        return 0.0f;
    return bend_vertex(before + before2, at + at, after + after2);
}

static void left_pixel(const SdmCostRow *r, const SdmPickRow *o, int x)
{
    const int nd = r->dmax - r->dmin + 1, k = best_of(r, x, 0), d = r->dmin + k;
    const bool none = k < 0, edge = k == 0 || k == nd - 1;
    o->residual[x] = none ? 0.0f : (float)d;
    o->score[x] = none ? SDM_SCORE_NONE : score_at(r, x, k);
    o->edge[x] = edge && nd > 1;
    if (o->runner_up) {
        o->runner_up[x] = SDM_SCORE_NONE;
        for (int i = 0; i < nd && !none; i++)
            if ((i - k >= 2 || k - i >= 2) && score_at(r, x, i) > o->runner_up[x])
                o->runner_up[x] = score_at(r, x, i);
    }
    if (o->mismatch)
        o->mismatch[x] = 1e9f;
    if (none)
        return;
    const float before = edge ? 0.0f : score_at(r, x, k - 1), after = edge ? 0.0f : score_at(r, x, k + 1);
    if (o->mismatch) {
        const float mine = edge ? (float)d : (float)d + vertex(before, o->score[x], after);
        const float apart = mine - o->right_best[x + d];
        o->mismatch[x] = apart < 0.0f ? -apart : apart;
    }
    if (!edge)
        o->residual[x] +=
            vertex_of_both(before, o->score[x], after, score_at(r, x + 1, k - 1), score_at(r, x - 1, k + 1));
}

static inline vf bend_vertices(vf before, vf at, vf after)
{
    const vf bend = vf_add(vf_sub(before, vf_mul(vf_set(2.0f), at)), after);
    vf v = vf_div(vf_mul(vf_set(0.5f), vf_sub(before, after)), bend);
    v = vf_min(vf_max(v, vf_set(-0.5f)), vf_set(0.5f)); /* no number where there is no bend */
    return vf_only(vf_gt(vf_set(0.0f), bend), v);
}

/* Best of a line of scores and its neighbours: those of left pixels (slope 0) or right pixels (slope -1). */
typedef struct Winner {
    vf score, d, before, after;
    vf before2, after2; /* of left pixels: on the diagonal through the winner */
    vm inner;           /* has both neighbours in the range; else they may be those of an earlier winner */
} Winner;

/* ends: pixels may meet others that are off the row, whose scores are none; else the caller knows that they
 * do not. */
static inline __attribute__((always_inline)) Winner winner_of(const SdmCostRow *r, int x, int slope, int nd,
                                                              bool ends)
{
    const ptrdiff_t step = r->pitch + slope;
    const float *at = r->score + x + slope * r->dmin;
    const vf none = vf_set(SDM_SCORE_NONE), one = vf_set(1.0f);
    const vf column = vf_from(vi_add(vi_set(x), vi_load(sdm_lane_numbers)));
    const vm has_left = vf_gt(column, vf_set(0.0f)), has_right = vf_gt(vf_set((float)(r->width - 1)), column);
    const vm never = vf_gt(none, none);
    Winner w = {none, vf_set(0.0f), none, none, none, none, never};
    vm won = never; /* the previous label was the best so far */
    vf last = none, last2 = none, d = vf_set((float)r->dmin);
    for (int k = 0; k < nd; k++, at += step) {
        vf s = vf_load(at);
        if (ends && slope) {
            const vf met = vf_sub(column, d);
            s = vf_sel(vm_and(vf_gt(met, vf_set(-1.0f)), vf_gt(vf_set((float)r->width), met)), s, none);
        }
        const vm wins = vf_gt(s, w.score);
        if (k > 1) { /* of the labels with both neighbours */
            w.after = vf_sel(won, s, w.after);
            if (slope == 0) {
                const vf beside = vf_load(at - 1);
                w.after2 = vf_sel(won, ends ? vf_sel(has_left, beside, none) : beside, w.after2);
            }
        }
        if (k > 0 && k < nd - 1) {
            w.before = vf_sel(wins, last, w.before);
            if (slope == 0)
                w.before2 = vf_sel(wins, last2, w.before2);
        }
        if (slope == 0 && k < nd - 1) {
            last2 = vf_load(at + 1);
            last2 = ends ? vf_sel(has_right, last2, none) : last2;
        }
        w.d = vf_sel(wins, d, w.d);
        w.score = vf_max(s, w.score);
        won = wins;
        last = s;
        d = vf_add(d, one); /* whole numbers: exact */
    }
    w.inner = vm_and(vf_gt(w.score, none),
                     vm_and(vf_gt(w.d, vf_set((float)r->dmin)), vf_gt(vf_set((float)r->dmax), w.d)));
    return w;
}

/* d plus the vertex of the winner's own scores. */
static inline vf sub_pixels(const Winner *w)
{
    const vf none = vf_set(SDM_SCORE_NONE);
    const vm whole = vm_and(w->inner, vm_and(vf_gt(w->before, none), vf_gt(w->after, none)));
    return vf_add(w->d, vf_only(whole, bend_vertices(w->before, w->score, w->after)));
}

/* Best score at least two labels from the winner. */
static inline vf runner_up(const SdmCostRow *r, int x, vf winner)
{
    const vf none = vf_set(SDM_SCORE_NONE);
    vf second = none;
    for (int k = 0; k <= r->dmax - r->dmin; k++) {
        const vf away = vf_abs(vf_sub(vf_set((float)(r->dmin + k)), winner));
        const vf v = vf_sel(vf_gt(away, vf_set(1.5f)), vf_load(r->score + k * r->pitch + x), none);
        second = vf_sel(vf_gt(v, second), v, second);
    }
    return second;
}

static inline __attribute__((always_inline)) void left_pixels(const SdmCostRow *r, const SdmPickRow *o, int x,
                                                              int nd, bool ends)
{
    const vf none = vf_set(SDM_SCORE_NONE);
    const Winner w = winner_of(r, x, 0, nd, ends);
    const vm any = vf_gt(w.score, none);
    const vm whole = vm_and(w.inner, vm_and(vf_gt(w.before, none), vf_gt(w.after, none)));
    const vm both = vm_and(vf_gt(w.before2, none), vf_gt(w.after2, none));
    const vf at = vf_sel(both, vf_add(w.score, w.score), w.score);
    const vf before = vf_sel(both, vf_add(w.before, w.before2), w.before),
             after = vf_sel(both, vf_add(w.after, w.after2), w.after);
    vf_store(o->residual + x, vf_add(w.d, vf_only(whole, bend_vertices(before, at, after))));
    vf_store(o->score + x, w.score);
    if (o->runner_up)
        vf_store(o->runner_up + x, vf_sel(any, runner_up(r, x, w.d), none));
    if (o->mismatch) {
        const int reach = reach_of(r);
        const vi met = vi_add(vi_trunc(w.d), vi_load(sdm_lane_numbers));
        const vf right = !ends && 2 * reach == SDM_VEC
                             ? vf_near(o->right_best + x - reach, vi_add(met, vi_set(reach)))
                             : vf_gather(o->right_best + x, met);
        const vf apart = vf_abs(vf_sub(sub_pixels(&w), right));
        vf_store(o->mismatch + x, vf_sel(any, apart, vf_set(1e9f)));
    }
    vi_store_u8(o->edge + x, vi_sel(w.inner, vi_zero(), vi_only(any, vi_set(r->dmax > r->dmin ? 1 : 0))));
}

/* Pixels begin..end - 1 in vectors; nd: labels, which are unrolled where it is a constant. */
static inline __attribute__((always_inline)) void pick_right(const SdmCostRow *r, const SdmPickRow *o,
                                                             int begin, int end, int nd)
{
    const SdmCostRow row = *r; /* else read again after each store */
    float *const best = o->right_best;
    for (int x = begin; x < end; x += SDM_VEC) {
        const Winner right = winner_of(&row, x, -1, nd, false);
        vf_store(best + x, sub_pixels(&right));
    }
}

static inline __attribute__((always_inline)) void pick_left(const SdmCostRow *r, const SdmPickRow *o,
                                                            int begin, int end, int nd)
{
    const SdmCostRow row = *r;
    const SdmPickRow out = *o;
    for (int x = begin; x < end; x += SDM_VEC)
        left_pixels(&row, &out, x, nd, false);
}

/* Pixels begin..end - 1 near an end of a row that is not shorter than a vector, and with the last vector some
 * before them. */
static void pick_end(const SdmCostRow *r, const SdmPickRow *o, int begin, int end, bool left)
{
    const int nd = r->dmax - r->dmin + 1, last = r->width - SDM_VEC;
    for (int k = begin; k < end; k += SDM_VEC) {
        const int x = k < last ? k : last;
        if (left) {
            left_pixels(r, o, x, nd, true);
        } else {
            const Winner right = winner_of(r, x, -1, nd, true);
            vf_store(o->right_best + x, sub_pixels(&right));
        }
    }
}

/* A pixel at a time in short rows, and where no pixel meets that of its own column. */
static void pick_few(const SdmCostRow *r, const SdmPickRow *o, int begin, int end, bool left)
{
    if (r->width >= SDM_VEC && r->dmin <= 0 && r->dmax >= 0) {
        pick_end(r, o, begin, end, left);
        return;
    }
    for (int x = begin; x < end; x++) {
        if (left)
            left_pixel(r, o, x);
        else
            right_pixel(r, x, &o->right_best[x]);
    }
}

#define BY_LABELS(pick)                                                                                      \
    do {                                                                                                     \
        if (nd == 3)                                                                                         \
            pick(r, o, begin, end, 3);                                                                       \
        else if (nd == 7)                                                                                    \
            pick(r, o, begin, end, 7);                                                                       \
        else if (nd == 11)                                                                                   \
            pick(r, o, begin, end, 11);                                                                      \
        else                                                                                                 \
            pick(r, o, begin, end, nd);                                                                      \
    } while (0)

void SDM_NAME(pick_row)(const SdmCostRow *r, const SdmPickRow *o)
{
    const int w = r->width, nd = r->dmax - r->dmin + 1;
    const int reach = reach_of(r);
    const int begin = reach < w ? reach : w; /* begin..end - 1: in vectors */
    const int end = w - 2 * reach > SDM_VEC ? begin + (w - 2 * reach) / SDM_VEC * SDM_VEC : begin;
    if (o->mismatch) {
        pick_few(r, o, 0, begin, false);
        BY_LABELS(pick_right);
        pick_few(r, o, end, w, false);
    }
    pick_few(r, o, 0, begin, true);
    BY_LABELS(pick_left);
    pick_few(r, o, end, w, true);
}
