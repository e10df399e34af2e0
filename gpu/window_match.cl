/* Two views and a surface -> the new surface of a pass, in one walk down a strip: the volume never leaves the
 * chip.
 *
 * A group of 64 items owns SPAN = 256 neighbouring columns, an item four of them.  The rows of the window lie
 * in local memory, round robin, each read once from the images.  Every row that enters or leaves moves the
 * sums of products of each d and pixel, of samples and of squares (left and right), all in registers; then
 * textures, scores, the right pixels' choice and the left ones' go from item to item through local memory. Of
 * the columns the outer `halo` ones on both sides serve only as surroundings: R for the right windows, 2 R
 * for the left-right check.
 *
 * R and W are constants of each kernel, so that all loops over them unroll. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"
#include "update.cl"

#define STRIP_ITEMS 64
#define SPAN (STRIP_ITEMS * COLUMNS)
#define STRIP_PITCH(W, R) ((SPAN + (W) + 2 * (R) + 6) / 4 * 4)
#define MOST_W 13
#define MOST_R 5
#define MOST_D (2 * MOST_R + 1)

typedef struct StripInput {
    GLOBAL const short *left, *right;
    int w, h, shift, x0, y0, y1;
    float least;
} StripInput;

typedef struct StripLocal { /* rows of local memory */
    IN_LOCAL short *left, *right;  /* (W + 1) x STRIP_PITCH: column x0 - W / 2 first; right: x0 - W / 2 - R */
    IN_LOCAL int *mean;            /* SPAN + 2 R, of the right windows; column x0 at R */
    IN_LOCAL float *texture;       /* as mean */
    IN_LOCAL float *score;         /* (2 R + 1) x SPAN */
    IN_LOCAL float *right_best;    /* SPAN: sub-pixel d of right pixels */
    IN_LOCAL int *nodata;          /* W + 1: the last row in this place that has some, of either view */
} StripLocal;

typedef struct StripSums { /* of an item's four pixels */
    uint cost[MOST_D][COLUMNS];
    int sum[2][COLUMNS], bad[2][COLUMNS];
    uint squares[2][COLUMNS];
} StripSums;

/* A sample of each view into its place; is one without data? */
FUNCTION bool strip_put(const StripLocal *m, int place, int l, int r)
{
    m->left[place] = (short)l;
    m->right[place] = (short)r;
    return l == PIXEL_NODATA || r == PIXEL_NODATA;
}

/* Rows of strips that go beyond the views' left or right side: samples beyond are those of the side. */
FUNCTION bool strip_load_edge(const StripInput *in, const StripLocal *m, GLOBAL const short *left,
                              GLOBAL const short *right, int place, const int W, const int R)
{
    bool bad = false;
    NO_UNROLL for (int i = ITEM(0); i < STRIP_PITCH(W, R); i += STRIP_ITEMS) {
        const int x = in->x0 - W / 2 + i;
        bad |= strip_put(m, place + i, left[clamp_index(x, in->w)], right[clamp_index(x - R, in->w)]);
    }
    return bad;
}

/* Row y of both views into their places. */
FUNCTION void strip_load(const StripInput *in, const StripLocal *m, int y, int slot, const int W, const int R)
{
    const int pitch = STRIP_PITCH(W, R), first = in->x0 - W / 2;
    GLOBAL const short *const left = in->left + (long)clamp_index(y, in->h) * in->w;
    GLOBAL const short *const right = in->right + (long)clamp_index(y + in->shift, in->h) * in->w;
    bool bad = false;
    if (first - R < 0 || first + pitch > in->w) {
        bad = strip_load_edge(in, m, left, right, slot * pitch, W, R);
    } else {
        GLOBAL const short *const l = left + first + ITEM(0), *const r = right + first - R + ITEM(0);
        const int place = slot * pitch + ITEM(0);
        UNROLL for (int i = 0; i < pitch; i += STRIP_ITEMS)
            if (i + STRIP_ITEMS <= pitch || ITEM(0) < pitch - i)
                bad |= strip_put(m, place + i, l[i], r[i]);
    }
    if (bad)
        LOCAL_EXCHANGE(&m->nodata[slot], y);
}

/* Sums of one view over the row's part of the four windows; v: W + 3 samples. */
FUNCTION void strip_view(StripSums *s, const int side, const int *v, const int W, int sign)
{
    int sum = 0;
    uint squares = 0;
    UNROLL for (int i = 0; i < W + COLUMNS - 1; i++) {
        const int old = i >= W ? v[i - W] : 0;
        sum += v[i] - old;
        squares += (uint)(v[i] * v[i]) - (uint)(old * old);
        if (i >= W - 1) {
            s->sum[side][i - W + 1] += sign * sum;
            s->squares[side][i - W + 1] += (uint)sign * squares;
        }
    }
}

/* The same for the samples without data. */
FUNCTION void strip_nodata(StripSums *s, const int side, const int *v, const int W, int sign)
{
    int bad = 0;
    UNROLL for (int i = 0; i < W + COLUMNS - 1; i++) {
        bad += (v[i] == PIXEL_NODATA) - (i >= W && v[i >= W ? i - W : 0] == PIXEL_NODATA);
        if (i >= W - 1)
            s->bad[side][i - W + 1] += sign * bad;
    }
}

/* Four samples of local memory. */
FUNCTION void strip_take(IN_LOCAL const short *from, int *to)
{
    const short4 v = *(IN_LOCAL const short4 *)from;
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

/* Row y of the window enters (sign 1) or leaves (-1). */
FUNCTION void strip_row(StripSums *s, const StripLocal *m, int y, int slot, const int W, const int R,
                        int sign)
{
    int l[MOST_W + 7], r[MOST_W + 2 * MOST_R + 7];
    IN_LOCAL const short *const left = m->left + slot * STRIP_PITCH(W, R) + COLUMNS * ITEM(0);
    IN_LOCAL const short *const right = m->right + slot * STRIP_PITCH(W, R) + COLUMNS * ITEM(0);
    UNROLL for (int i = 0; i < W + 3; i += 4)
        strip_take(left + i, l + i);
    UNROLL for (int i = 0; i < W + 2 * R + 3; i += 4)
        strip_take(right + i, r + i);
    strip_view(s, 0, l, W, sign);
    strip_view(s, 1, r + R, W, sign);
    if (m->nodata[slot] == y) { /* the same for all items of the group */
        strip_nodata(s, 0, l, W, sign);
        strip_nodata(s, 1, r + R, W, sign);
    }
    UNROLL for (int k = 0; k <= 2 * R; k++) {
        uint row = 0;
        UNROLL for (int i = 0; i < W; i++)
            row += product_of(l[i], r[i + k]);
        s->cost[k][0] += (uint)sign * row;
        UNROLL for (int c = 1; c < COLUMNS; c++) {
            row += product_of(l[W + c - 1], r[W + c - 1 + k]) - product_of(l[c - 1], r[c - 1 + k]);
            s->cost[k][c] += (uint)sign * row;
        }
    }
}

typedef struct StripWindow {
    int mean;
    float texture;
} StripWindow;

/* Mean and texture of an item's window c of a view; rows_inside: the window's rows all exist. */
FUNCTION StripWindow strip_window(const StripSums *s, const StripInput *in, const int side, const int c,
                                  bool rows_inside, const int W)
{
    const int x = in->x0 + COLUMNS * ITEM(0) + c;
    const bool whole = rows_inside && x >= W / 2 && x + W / 2 < in->w && s->bad[side][c] == 0;
    const float inverse = 1.0f / (float)(W * W);
    StripWindow o;
    o.mean = pack_mean(s->sum[side][c], W * W, inverse);
    o.texture = whole ? texture_of(o.mean, s->sum[side][c], s->squares[side][c], inverse, in->least) : -1.0f;
    return o;
}

/* Best of a line of scores, the first of equals. */
typedef struct StripBest {
    float top;
    int k; /* -1: no score */
} StripBest;

FUNCTION void strip_see(StripBest *b, int k, float score)
{
    const bool wins = score > b->top;
    b->top = wins ? score : b->top;
    b->k = wins ? k : b->k;
}

/* Scores of pixel c of an item, into local memory; right: the windows that its pixels meet. */
FUNCTION StripBest strip_scores(const StripSums *s, const StripLocal *m, const int c, StripWindow left,
                                const StripWindow *right, const int W, const int R)
{
    const int at = COLUMNS * ITEM(0) + c;
    const float inverse = 1.0f / (float)(W * W);
    StripBest best = {SCORE_NONE, -1};
    UNROLL for (int k = 0; k <= 2 * R; k++) {
        const float texture = right[c + k].texture;
        const float any = zncc_score(s->cost[k][c], left.mean, right[c + k].mean, W * W, inverse,
                                     left.texture, texture);
        const float score = left.texture >= 0.0f && texture >= 0.0f ? any : SCORE_NONE;
        m->score[k * SPAN + at] = score;
        strip_see(&best, k, score);
    }
    return best;
}

/* Score k of the line through `at` with that step from k to k. */
FUNCTION float strip_score(const StripLocal *m, int at, int k, const int R)
{
    return k >= 0 && k <= 2 * R ? m->score[k * SPAN + at] : SCORE_NONE;
}

/* Sub-pixel d of the right pixel `at` of the span, 0 where it has no score.  Near the ends of the span scores
 * of other pixels are met, for what nobody uses. */
FUNCTION float strip_right(const StripLocal *m, int at, const int R)
{
    StripBest best = {SCORE_NONE, -1};
    UNROLL for (int k = 0; k <= 2 * R; k++)
        strip_see(&best, k, m->score[k * SPAN + at - (k - R)]);
    const int d = best.k - R;
    if (best.k < 0)
        return 0.0f;
    return (float)d + own_vertex(strip_score(m, at - d + 1, best.k - 1, R), best.top,
                                 strip_score(m, at - d - 1, best.k + 1, R));
}

/* The choice of pixel `at` of the span from its best and its neighbours' scores. */
FUNCTION Picked strip_pick(const StripLocal *m, int at, StripBest best, const Limits *limits, const int R)
{
    Picked p = {0.0f, SCORE_NONE, SCORE_NONE, 1e9f, false};
    if (best.k < 0)
        return p;
    const int k = best.k, d = k - R;
    const bool inner = k > 0 && k < 2 * R;
    const float before = strip_score(m, at, k - 1, R), after = strip_score(m, at, k + 1, R);
    const float before2 = inner ? m->score[(k - 1) * SPAN + at + 1] : SCORE_NONE;
    const float after2 = inner ? m->score[(k + 1) * SPAN + at - 1] : SCORE_NONE;
    const bool both =
        before > SCORE_NONE && after > SCORE_NONE && before2 > SCORE_NONE && after2 > SCORE_NONE;
    p.score = best.top;
    p.edge = !inner;
    if (limits->max_mismatch >= 0.0f) {
        const float own = own_vertex(before, best.top, after);
        p.residual = (float)d + (both ? vertex(before + before2, best.top + best.top, after + after2) : own);
        p.mismatch = FABS((float)d + own - m->right_best[at + d]);
    } else { /* one vertex is enough */
        const float twice = both ? best.top + best.top : best.top;
        const bool own = before > SCORE_NONE && after > SCORE_NONE;
        p.residual =
            (float)d +
            (own ? vertex(both ? before + before2 : before, twice, both ? after + after2 : after) : 0.0f);
    }
    return p;
}

FUNCTION void strip_walk(const StripInput *in, const StripLocal *m, const Surface *surface,
                         const Limits *limits, int halo, int keep, const int W, const int R)
{
    const int reach = W / 2, first = COLUMNS * ITEM(0);
    int slot = 0; /* of row y - reach */
    StripSums s;
    UNROLL for (int c = 0; c < COLUMNS; c++) {
        UNROLL for (int k = 0; k <= 2 * R; k++)
            s.cost[k][c] = 0;
        UNROLL for (int side = 0; side < 2; side++) {
            s.sum[side][c] = s.bad[side][c] = 0;
            s.squares[side][c] = 0;
        }
    }
    for (int i = ITEM(0); i <= W; i += STRIP_ITEMS)
        m->nodata[i] = -0x7fffffff;
    for (int i = ITEM(0); i < 2 * R; i += STRIP_ITEMS) { /* beyond the span: met by windows that nobody
                                                          * uses */
        const int beyond = i < R ? i : SPAN + i;
        m->mean[beyond] = 0;
        m->texture[beyond] = -1.0f;
    }
    BARRIER();
    for (int i = 0; i < W; i++)
        strip_load(in, m, in->y0 - reach + i, i, W, R);
    BARRIER();
    NO_UNROLL for (int i = 0; i < W - 1; i++)
        strip_row(&s, m, in->y0 - reach + i, i, W, R, 1);
    NO_UNROLL for (int y = in->y0; y < in->y1; y++) {
        const int enters = slot + W - 1 > W ? slot - 2 : slot + W - 1, next = slot > 0 ? slot - 1 : W;
        const int yr = y + in->shift;
        StripWindow left[COLUMNS], met[COLUMNS + 2 * MOST_R];
        StripBest best[COLUMNS];
        float texture[COLUMNS];
        strip_row(&s, m, y + reach, enters, W, R, 1);
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            const StripWindow right = strip_window(&s, in, 1, c, yr >= reach && yr + reach < in->h, W);
            left[c] = strip_window(&s, in, 0, c, y >= reach && y + reach < in->h, W);
            m->mean[first + c + R] = right.mean;
            m->texture[first + c + R] = right.texture;
        }
        BARRIER();
        UNROLL for (int i = 0; i < COLUMNS + 2 * R; i++) {
            met[i].mean = m->mean[first + i];
            met[i].texture = m->texture[first + i];
        }
        UNROLL for (int c = 0; c < COLUMNS; c++)
            best[c] = strip_scores(&s, m, c, left[c], met, W, R);
        UNROLL for (int c = 0; c < COLUMNS; c++)
            texture[c] = left[c].texture;
        BARRIER();
        strip_load(in, m, y + reach + 1, next, W, R);
        if (limits->max_mismatch >= 0.0f)
            UNROLL for (int c = 0; c < COLUMNS; c++)
                m->right_best[first + c] = strip_right(m, first + c, R);
        BARRIER();
        NO_UNROLL
        for (int c = 0; c < COLUMNS; c++) { /* the pixels one by one: together they take too many registers */
            const int at = first + c, x = in->x0 + at;
            const bool mine = at >= halo && at < SPAN - halo && x < in->w;
            if (mine && !keeps(surface, keep, (long)y * in->w + x))
                update_pixel(surface, limits, strip_pick(m, at, best[0], limits, R), texture[0], x, y, in->w);
            UNROLL for (int i = 0; i + 1 < COLUMNS; i++) {
                best[i] = best[i + 1];
                texture[i] = texture[i + 1];
            }
        }
        strip_row(&s, m, y - reach, slot, W, R, -1);
        slot = slot < W ? slot + 1 : 0;
    }
}

/* check: 0 where no pass asks for the left-right check.  None asks for a margin above 0: that takes a
 * volume. */
#define MATCH_KERNEL(NAME, W, R, CHECK)                                                                     \
    KERNEL GROUP_SIZE(STRIP_ITEMS, 1, 1)                                                                    \
        NAME(GLOBAL const short *left, GLOBAL const short *right, int w, int h, int shift, float least,     \
             int halo, int rows, SURFACE_ARGUMENTS)                                                         \
    {                                                                                                       \
        LOCAL short4 left_rows[((W) + 1) * STRIP_PITCH(W, R) / 4];                                          \
        LOCAL short4 right_rows[((W) + 1) * STRIP_PITCH(W, R) / 4];                                         \
        LOCAL int means[SPAN + 2 * (R)];                                                                    \
        LOCAL float textures[SPAN + 2 * (R)], scores[(2 * (R) + 1) * SPAN], best[SPAN];                     \
        LOCAL int nodata[(W) + 1];                                                                          \
        const int y0 = GROUP(1) * rows;                                                                     \
        const StripInput in = {left,  right,                                                                \
                               w,     h,                                                                    \
                               shift, GROUP(0) * (SPAN - 2 * halo) - halo,                                  \
                               y0,    y0 + rows < h ? y0 + rows : h,                                        \
                               least};                                                                      \
        const StripLocal m = {(IN_LOCAL short *)left_rows,                                                  \
                              (IN_LOCAL short *)right_rows,                                                 \
                              means,                                                                        \
                              textures,                                                                     \
                              scores,                                                                       \
                              best,                                                                         \
                              nodata};                                                                      \
        const Surface surface = {prior, cell, cols, u2, v2, stride2, step2_log2, inv, h_m, flags, quality}; \
        const Limits limits = {min_score, min_margin < 0.0f ? -1.0f : 0.0f,                                 \
                               (CHECK) ? max_mismatch : -1.0f};                                             \
        strip_walk(&in, &m, &surface, &limits, halo, keep, W, R);                                           \
    }

MATCH_KERNEL(match_zncc_5_1, 5, 1, 0)
MATCH_KERNEL(match_zncc_9_3, 9, 3, 1)
MATCH_KERNEL(match_zncc_13_5, 13, 5, 1)
