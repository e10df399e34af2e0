/* The filters that keep discontinuities: median, steps moved to edges of the image, removal of small
 * pieces, means within steps, and gaps beside steps closed, on the places of a block. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/edge_filters.h"

#include "core/vector_loops.h"
#include "matching/filters.h"
#include "matching/pieces.h"

#include <math.h>
#include <string.h>

/* ---- sides of steps ---- */

#define UNKNOWN 1e9f     /* difference to the right view where that has no value */
#define GREY 126.0       /* of 12 bits: what grey values of one side may differ by */
#define MOST_DIFFER 4.0f /* x GREY: of the right view's differences in small windows */
#define DIFFER_NOISE 0.1 /* x GREY: smaller ones tell nothing */
#define CLEAR_GREY 6.25  /* (difference of two sides' mean grey values)^2 over the sum of their variances */
enum {
    SIDE_LEAST = 5, /* pixels of a side */
    SMALL = 3       /* px: side of the windows that are moved about a pixel */
};

/* Pixels of a window on one side of a step: their places, grey values, and what these differ by from the
 * right view's at their places. */
typedef struct Side {
    int count, known;
    float place_px;
    double grey, square, differ;
} Side;

/* A block and the arrays of the filters that move its steps. */
typedef struct StepBlock {
    const SdmEdgeViews *views;
    const SdmEdgeBlock *b;
    uint8_t *inner;    /* 1 where a valid place is within STEP_PX of all eight neighbours' */
    float *low, *high; /* the lowest place of the inner pixels of (2 SIDE_HALF + 1)^2, and minus the
                         * highest */
    float *differ;     /* left minus right value at an inner pixel's place */
    float *out;        /* places */
} StepBlock;

/* Left minus right value of pixel x, y if it lies at place_px; UNKNOWN where the right one has none. */
static inline float difference(const SdmEdgeViews *v, int x, int y, float place_px)
{
    const float at = (float)x + place_px;
    const int whole = (int)at, i = whole - ((float)whole > at); /* floor, without a call */
    const float from = (float)i;
    if (i < -v->before || i + 1 >= v->width + v->after)
        return UNKNOWN;
    const int16_t *const right = v->right + y * v->stride + i, left = v->left[y * v->stride + x];
    if (left == SDM_PIXEL_NODATA || right[0] == SDM_PIXEL_NODATA || right[1] == SDM_PIXEL_NODATA)
        return UNKNOWN;
    return (float)left - ((float)right[0] + (at - from) * (float)(right[1] - right[0]));
}

/* A side's mean grey value and the variance of its grey values. */
static inline double mean_grey(const Side *side)
{
    return side->grey / side->count;
}

static inline double variance_grey(const Side *side)
{
    return side->square / side->count - mean_grey(side) * mean_grey(side);
}

static inline bool clearly_differ(const Side side[2])
{
    const double apart = mean_grey(&side[1]) - mean_grey(&side[0]);
    return apart * apart >= CLEAR_GREY * (variance_grey(&side[0]) + variance_grey(&side[1]) + 1.0);
}

/* Clear inner[] of the pixels of a row whose neighbours at place `to` are not valid or beyond a step. */
SDM_VECTOR_LOOPS static void clear_steps(const float *restrict place, const float *restrict to,
                                         const uint16_t *restrict flags, int count, uint8_t *restrict inner)
{
    for (int x = 0; x < count; x++)
        inner[x] &= (uint8_t)(flags[x] & (uint16_t)(fabsf(to[x] - place[x]) <= STEP_PX));
}

static void mark_inner(const SdmEdgeBlock *b, uint8_t *inner)
{
    _Static_assert(SDM_QA_VALID == 1, "clear_steps() takes the bit for a truth value");
    memset(inner, 0, (size_t)b->width * (size_t)b->height);
    for (int y = 1; y + 1 < b->height; y++) {
        const int i = y * b->width + 1, count = b->width - 2;
        memset(inner + i, 1, (size_t)count);
        for (int k = 0; k < 9; k++) {
            const int to = i + (k / 3 - 1) * b->width + k % 3 - 1;
            clear_steps(b->place_px + i, b->place_px + to, b->flags + to, count, inner + i);
        }
    }
}

/* Add a pixel to a side; differ: left minus right value at place p, or UNKNOWN. */
static inline void add_to_side(const SdmEdgeViews *v, int x, int y, float p, float differ, Side *to)
{
    const double grey = v->left[y * v->stride + x];
    to->count++;
    to->place_px += p;
    to->grey += grey;
    to->square += grey * grey;
    to->known += differ != UNKNOWN;
    to->differ += differ != UNKNOWN ? (double)differ : 0.0;
}

/* How little the right view agrees with a side at cols x rows pixels from a pixel on, columns in the
 * direction `by`, 0..MOST_DIFFER each: the least mean of the windows of SMALL x SMALL that hold a pixel,
 * since some of them hold nothing of the other side (shiftable windows, Bobick and Intille 1999); what
 * the side's own pixels differ by is no difference. */
static inline __attribute__((always_inline)) void
find_costs(const StepBlock *s, const Side *side, const int from[2], int by, int cols, int rows, float *out)
{
    enum { MOST_COLS = 9 + 2 * (SMALL - 1), MOST_ROWS = 3 + 2 * (SMALL - 1) };
    const float place_px = side->place_px / (float)side->count, own = (float)(side->differ / side->known);
    float differ[MOST_ROWS][MOST_COLS], mean[MOST_ROWS][MOST_COLS];
    for (int j = 0; j < rows + 2 * (SMALL - 1); j++)
        for (int i = 0; i < cols + 2 * (SMALL - 1); i++) {
            const float d = difference(s->views, from[0] + (i + 1 - SMALL) * by, from[1] + j + 1 - SMALL,
                                       place_px),
                        apart = fabsf(d - own) / (float)GREY;
            differ[j][i] = d != UNKNOWN && apart < MOST_DIFFER ? apart : MOST_DIFFER;
        }
    for (int j = 0; j < rows + SMALL - 1; j++) { /* side by side, each in the order of its pixels */
        float sum[MOST_COLS] = {0};
        for (int k = 0; k < SMALL * SMALL; k++)
            for (int i = 0; i < cols + SMALL - 1; i++)
                sum[i] += differ[j + k / SMALL][i + k % SMALL];
        for (int i = 0; i < cols + SMALL - 1; i++)
            mean[j][i] = sum[i] / (float)(SMALL * SMALL);
    }
    for (int n = 0; n < cols * rows; n++) {
        float least = MOST_DIFFER;
        for (int m = 0; m < SMALL * SMALL; m++) {
            const float at = mean[n / cols + m / SMALL][n % cols + m % SMALL];
            least = at < least ? at : least;
        }
        out[n] = least;
    }
}

/* ---- moves ---- */

#define CLEAR_STEP_PX 2.0f /* between roofs and streets */
#define NO_SLOPE_PX 2.5f   /* where nine tenths of the surface belong to a step's sides, it is no slope */
#define GREY_NOISE 10.0    /* added to the variances of grey values: levels of 12 bits */
#define GREY_MOST 20.0     /* of (difference of two sides' means)^2 over their variances, that counts */
/* what a pixel's side is told by: logarithms of odds, of a regression over simulated towns */
#define ODDS_DIFFER 6.0 /* x the difference of both sides' costs over their sum */
#define ODDS_GREY 1.4   /* x where its grey value lies between the sides' means, -1..1, x their contrast */
#define ODDS_OWN 0.65   /* of the side that it is on */
#define ODDS_LOW 0.28   /* of the lower side */
enum {
    SHARED = 3 /* px: side of the squares whose sides are looked for once */
};
_Static_assert(SHARED / 2 + SIDE_HALF + 1 <= SDM_MOVE_REACH, "the reach of a move");

/* Both sides of a step, the lower place first; two: little lies between them. */
typedef struct Sides {
    Side side[2];
    bool two;
} Sides;

/* The lowest of sign x place among the inner pixels of (2 SIDE_HALF + 1)^2, FAR_PX where there is none.
 * rows: h x w. */
SDM_VECTOR_LOOPS static void lowest_around(const SdmEdgeBlock *b, const uint8_t *inner, float sign,
                                           float *restrict rows, float *restrict out)
{
    const int w = b->width, h = b->height;
    for (int i = 0; i < w * h; i++)
        out[i] = inner[i] ? sign * b->place_px[i] : FAR_PX;
    for (int i = 0; i < w * h; i++)
        rows[i] = FAR_PX;
    for (int i = SIDE_HALF; i < w * h - SIDE_HALF; i++) { /* columns at the sides take other rows' and are not
                                                           * used */
        float low = out[i - SIDE_HALF];
        for (int k = 1 - SIDE_HALF; k <= SIDE_HALF; k++)
            low = out[i + k] < low ? out[i + k] : low;
        rows[i] = low;
    }
    for (int y = SIDE_HALF; y + SIDE_HALF < h; y++)
        for (int i = y * w; i < (y + 1) * w; i++) {
            float low = rows[i - SIDE_HALF * w];
            for (int k = 1 - SIDE_HALF; k <= SIDE_HALF; k++)
                low = rows[i + k * w] < low ? rows[i + k * w] : low;
            out[i] = low;
        }
}

static bool is_near(const StepBlock *s, size_t i)
{
    return -s->high[i] - s->low[i] >= CLEAR_STEP_PX;
}

/* The inner pixels around pixel x, y that lie within STEP_PX of the lowest or of the highest place: false if
 * they are few. */
static bool find_sides(const StepBlock *s, int x, int y, Sides *out)
{
    const int w = s->b->width;
    int all = 0;
    Side *const side = out->side;
    const size_t at = (size_t)y * (size_t)w + (size_t)x;
    const float low = s->low[at], high = -s->high[at];
    side[0] = side[1] = (Side){.count = 0};
    for (int v = y - SIDE_HALF; v <= y + SIDE_HALF; v++)
        for (int u = x - SIDE_HALF; u <= x + SIDE_HALF; u++) {
            const int i = v * w + u;
            const float p = s->b->place_px[i];
            const bool is_high = high - p <= STEP_PX;
            all += s->inner[i];
            if (!s->inner[i] || !(is_high || p - low <= STEP_PX))
                continue;
            add_to_side(s->views, u, v, p, s->differ[i], &side[is_high]);
        }
    out->two = high - low >= NO_SLOPE_PX && 10 * (side[0].count + side[1].count) >= 9 * all;
    return side[0].count >= SIDE_LEAST && side[1].count >= SIDE_LEAST;
}

/* How well the right view agrees with either side at SHARED x SHARED pixels. */
typedef struct Agreement {
    bool known;
    float cost[2][SHARED * SHARED]; /* 0..MOST_DIFFER */
} Agreement;

/* Evidence of a pixel's grey value in the left view for the upper side, -GREY_MOST..GREY_MOST. */
static double odds_of_grey(const StepBlock *s, const Side side[2], int x, int y)
{
    const double mean[2] = {mean_grey(&side[0]), mean_grey(&side[1])}, apart = mean[1] - mean[0],
                 grey = s->views->left[y * s->views->stride + x],
                 share = (grey - 0.5 * (mean[0] + mean[1])) / (apart == 0.0 ? 1.0 : apart),
                 contrast = apart * apart /
                            (variance_grey(&side[0]) + variance_grey(&side[1]) + GREY_NOISE * GREY_NOISE);
    return fmax(fmin(share, 1.0), -1.0) * contrast / (1.0 + contrast / GREY_MOST);
}

/* The place of the side that pixel x, y looks like; its own where that may be between them.  n: its number
 * in the agreement. */
static float place_by_looks(const StepBlock *s, const Sides *sides, const Agreement *right, int x, int y,
                            int n)
{
    const Side *const side = sides->side;
    const float own_px = s->b->place_px[(size_t)y * (size_t)s->b->width + (size_t)x],
                place_px[2] = {side[0].place_px / (float)side[0].count,
                               side[1].place_px / (float)side[1].count};
    const bool is_upper = own_px > 0.5f * (place_px[0] + place_px[1]);
    if (!sides->two && !clearly_differ(side))
        return own_px;
    double odds = ODDS_GREY * odds_of_grey(s, side, x, y) + (is_upper ? ODDS_OWN : -ODDS_OWN) - ODDS_LOW;
    if (right->known) {
        const double low = (double)right->cost[0][n], high = (double)right->cost[1][n];
        odds += ODDS_DIFFER * (low - high) / (low + high + DIFFER_NOISE);
    }
    const float place = place_px[odds > 0.0];
    return (odds > 0.0) != is_upper && fabsf(place - own_px) > STEP_PX ? place : own_px;
}

static void find_differences(const StepBlock *s)
{
    for (int y = 0; y < s->b->height; y++)
        for (int x = 0; x < s->b->width; x++) {
            const size_t i = (size_t)y * (size_t)s->b->width + (size_t)x;
            s->differ[i] = s->inner[i] ? difference(s->views, x, y, s->b->place_px[i]) : UNKNOWN;
        }
}

/* Windows carry steps over the edge of a roof; pixels near the step go to the side that they look like.  The
 * sides are looked for once for SHARED x SHARED pixels, around the middle one. */
static SdmStatus move_steps(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)b->width * (size_t)b->height;
    StepBlock s = {.views = views, .b = b};
    TRY(SDM_ALLOC_RAW(ctx, "steps of places", SDM_ARRAY(s.inner, n), SDM_ARRAY(s.out, n), SDM_ARRAY(s.low, n),
                      SDM_ARRAY(s.high, n), SDM_ARRAY(s.differ, n)));
    mark_inner(b, s.inner);
    lowest_around(b, s.inner, 1.0f, s.out, s.low);
    lowest_around(b, s.inner, -1.0f, s.out, s.high);
    find_differences(&s);
    memcpy(s.out, b->place_px, n * sizeof *s.out);
    for (int y = SIDE_HALF - SHARED / 2; y + SHARED / 2 + SIDE_HALF < b->height; y += SHARED)
        for (int x = SIDE_HALF - SHARED / 2; x + SHARED / 2 + SIDE_HALF < b->width; x += SHARED) {
            const int cx = x + SHARED / 2, cy = y + SHARED / 2;
            const size_t first = (size_t)y * (size_t)b->width + (size_t)x;
            Sides sides;
            Agreement right;
            if (!is_near(&s, (size_t)cy * (size_t)b->width + (size_t)cx) || !find_sides(&s, cx, cy, &sides))
                continue;
            right.known = sides.side[0].known >= SIDE_LEAST && sides.side[1].known >= SIDE_LEAST;
            for (int k = 0; k < 2 && right.known; k++)
                find_costs(&s, &sides.side[k], (const int[2]){x, y}, 1, SHARED, SHARED, right.cost[k]);
            for (int k = 0; k < SHARED * SHARED; k++) {
                const size_t i = first + (size_t)(k / SHARED) * (size_t)b->width + (size_t)(k % SHARED);
                if (b->flags[i] & SDM_QA_VALID)
                    s.out[i] = place_by_looks(&s, &sides, &right, x + k % SHARED, y + k / SHARED, k);
            }
        }
    sdm_free(&b->place_px);
    b->place_px = s.out;
    s.out = NULL;
done:
    SDM_FREE(&s.inner, &s.out, &s.low, &s.high, &s.differ);
    return st;
}

/* ---- gaps ---- */

#define TWO_SIDES_PX 3.0f /* between the sides of a gap */
#define HIDDEN_COST 2.0   /* of a side whose ground the right view may not see */
#define AGREES 1.0        /* the right view agrees with a side where right_cost() is at most this */
#define MOST_COST 9.0     /* of one of its terms */
#define MOST_GREY 4096.0
/* what tells the edge beside hidden ground: logarithms of odds, by logistic regression */
#define ENDING_DIFFER 3.5
#define ENDING_COST 0.4 /* of the right view, that tells nothing */
#define ENDING_GREY 2.5
#define ENDING_MOST 5.0   /* as GREY_MOST */
#define ENDING_NOISE 20.0 /* added to the standard deviations: levels of 12 bits */
#define ENDING_NEAR 1.4   /* for the near side: 0.4 of the regression, 1 since it is seen */
enum {
    EXTEND_PX = 8,
    INSIDE = 4,
    OUTSIDE = 5,
    BEYOND = 5 /* px about the edge of the near side, and of what lies beyond */
};

/* Pixels first..end - 1 of a row have no match, those before and after them have one. */
typedef struct Gap {
    int y, first, end;
    Side side[2]; /* of the pixel before and of the one after */
    bool clear;   /* their grey values differ clearly */
    int hides;    /* the side that hides ground of the other one from the right view; -1: neither */
} Gap;

/* Cost of a pixel on a side by its grey value in the left view. */
static double grey_cost(const StepBlock *s, const Side *side, int x, int y)
{
    const double apart = s->views->left[y * s->views->stride + x] - mean_grey(side);
    return fmin(apart * apart / (variance_grey(side) + GREY * GREY), MOST_COST);
}

/* The same by the right view, at the place that the side gives. */
static double right_cost(const StepBlock *s, const Side *side, int x, int y)
{
    const float d = difference(s->views, x, y, side->place_px / (float)side->count);
    const double apart =
        side->known >= SIDE_LEAST && d != UNKNOWN ? (double)d - side->differ / side->known : MOST_GREY;
    return fmin(apart * apart / (GREY * GREY), MOST_COST);
}

/* The inner pixels around x, y that lie within STEP_PX of its place: false if they are few. */
static bool find_side(const StepBlock *s, int x, int y, Side *out)
{
    const int w = s->b->width, h = s->b->height;
    const float own_px = s->b->place_px[y * w + x];
    *out = (Side){.count = 0};
    for (int v = y > SIDE_HALF ? y - SIDE_HALF : 0; v <= y + SIDE_HALF && v < h; v++)
        for (int u = x > SIDE_HALF ? x - SIDE_HALF : 0; u <= x + SIDE_HALF && u < w; u++) {
            const float p = s->b->place_px[v * w + u];
            if (!s->inner[v * w + u] || fabsf(p - own_px) > STEP_PX)
                continue;
            add_to_side(s->views, u, v, p, difference(s->views, u, v, p), out);
        }
    return out->count >= SIDE_LEAST;
}

/* Does the gap lie at a step, both of whose sides are known?  Then fill its sides in. */
static bool is_at_step(const StepBlock *s, Gap *g)
{
    const int row = g->y * s->b->width;
    const float step_px = s->b->place_px[row + g->first - 1] - s->b->place_px[row + g->end];
    if (!(fabsf(step_px) >= TWO_SIDES_PX))
        return false;
    for (int x = g->first; x < g->end; x++)
        if (s->b->flags[row + x] & (SDM_QA_OUTSIDE | SDM_QA_SATURATED | SDM_PIXEL_MASKED))
            return false;
    if (!find_side(s, g->first - 1, g->y, &g->side[0]) || !find_side(s, g->end, g->y, &g->side[1]))
        return false;
    g->clear = clearly_differ(g->side);
    /* the right view sees left pixel u at u + place, so that n pixels vanish where places fall by n */
    g->hides = step_px > 0.0f && (float)(g->end - g->first) <= step_px + TWO_SIDES_PX
                   ? s->views->px_per_m < 0.0f
                   : -1;
    return true;
}

/* Does a pixel of the gap look like side k, and does the right view agree? */
static bool is_of_side(const StepBlock *s, const Gap *g, int x, int k)
{
    const Side *const own = &g->side[k], *const other = &g->side[!k];
    const double grey = s->views->left[g->y * s->views->stride + x], right = right_cost(s, own, x, g->y);
    if (right > AGREES)
        return false;
    if (g->clear)
        return fabs(grey - mean_grey(own)) < fabs(grey - mean_grey(other));
    return grey_cost(s, own, x, g->y) + 2.0 * right <
           grey_cost(s, other, x, g->y) + (g->hides == k ? HIDDEN_COST : 2.0 * right_cost(s, other, x, g->y));
}

/* The pixels of a gap that look like side k get its place, one after the other. */
static void extend_side(const StepBlock *s, const Gap *g, int k)
{
    const int by = k ? -1 : 1, from = k ? g->end : g->first - 1, row = g->y * s->b->width;
    for (int n = 1; n <= EXTEND_PX; n++) {
        const int x = from + n * by;
        if (x < g->first || x >= g->end || (s->b->flags[row + x] & SDM_QA_VALID) || !is_of_side(s, g, x, k))
            return;
        s->b->place_px[row + x] = s->b->place_px[row + from];
        s->b->flags[row + x] = SDM_QA_VALID;
    }
}

/* ---- the edge of the near side beside ground that it hides ---- */

/* Pixels of a row about the last one of the near side: INSIDE of it, OUTSIDE in the gap. */
typedef struct Ending {
    const Gap *gap;
    Side side;
    int last, by;                  /* column of the last pixel; 1 or -1: the way into the gap */
    double odds[INSIDE + OUTSIDE]; /* that they are of the side, logarithms */
} Ending;

/* Column of pixel n of odds. */
static int ending_column(const Ending *e, int n)
{
    return e->last + (n + 1 - INSIDE) * e->by;
}

/* Mean grey value and standard deviation of what lies beyond the edge: the far end of the gap. */
static void grey_beyond(const StepBlock *s, const Ending *e, double *mean, double *deviation)
{
    const SdmEdgeViews *const v = s->views;
    const int width = e->gap->end - e->gap->first, near = SMALL,
              from = width > near + BEYOND ? width - BEYOND
                     : width > near        ? near
                                           : width,
              to = width > near ? width : width + 2;
    double sum = 0.0, squares = 0.0;
    int count = 0;
    for (int j = -2; j <= 2; j++)
        for (int i = from; i <= to; i++, count++) {
            const double grey = v->left[(e->gap->y + j) * v->stride + e->last + i * e->by];
            sum += grey;
            squares += grey * grey;
        }
    *mean = sum / count;
    *deviation = sqrt(fmax(squares / count - *mean * *mean, 0.0));
}

static void find_ending_odds(const StepBlock *s, Ending *e)
{
    float cost[INSIDE + OUTSIDE];
    double beyond, deviation;
    find_costs(s, &e->side, (const int[2]){ending_column(e, 0), e->gap->y}, e->by, INSIDE + OUTSIDE, 1, cost);
    grey_beyond(s, e, &beyond, &deviation);
    const double near = mean_grey(&e->side), apart = beyond - near,
                 spread = sqrt(fmax(variance_grey(&e->side), 0.0)) + deviation + ENDING_NOISE,
                 contrast = apart * apart / (spread * spread);
    for (int n = 0; n < INSIDE + OUTSIDE; n++) {
        const double grey = s->views->left[e->gap->y * s->views->stride + ending_column(e, n)],
                     share = (grey - 0.5 * (near + beyond)) / (apart == 0.0 ? 1.0 : apart);
        e->odds[n] =
            ENDING_DIFFER * (ENDING_COST - (double)cost[n]) / (ENDING_COST + DIFFER_NOISE + (double)cost[n]) -
            ENDING_GREY * fmax(fmin(share, 1.0), -1.0) * contrast / (1.0 + contrast / ENDING_MOST) +
            ENDING_NEAR;
    }
}

/* The near side, of the pixels SIDE_HALF before its end: false if they are few or not of one place. */
static bool find_ending(const StepBlock *s, const Gap *g, Ending *e)
{
    const SdmEdgeBlock *const b = s->b;
    const int k = g->hides, row = g->y * b->width, margin = INSIDE + 2 * SIDE_HALF;
    *e = (Ending){.gap = g, .last = k ? g->end : g->first - 1, .by = k ? -1 : 1};
    const int from = e->last - SIDE_HALF * e->by;
    return g->y >= SMALL && g->y + SMALL < b->height && e->last >= margin && e->last + margin < b->width &&
           (b->flags[row + from] & SDM_QA_VALID) && (b->flags[row + e->last] & SDM_QA_VALID) &&
           fabsf(b->place_px[row + from] - b->place_px[row + e->last]) <= STEP_PX &&
           find_side(s, from, g->y, &e->side) && e->side.known >= SIDE_LEAST;
}

/* The likeliest edge: pixels before it are of the near side, those beyond it are hidden. */
static void place_ending(const StepBlock *s, const Ending *e)
{
    const Gap *const g = e->gap;
    const int row = g->y * s->b->width, inside = g->end - g->first;
    const float place_px = s->b->place_px[row + e->last];
    int first = INSIDE - 1, edge;
    while (first > 0 && (s->b->flags[row + ending_column(e, first - 1)] & SDM_QA_VALID) &&
           fabsf(s->b->place_px[row + ending_column(e, first - 1)] - place_px) <= STEP_PX)
        first--;
    const int end = INSIDE + (inside < OUTSIDE ? inside : OUTSIDE);
    double sum = 0.0, most = 0.0;
    edge = first;
    for (int n = first; n < end; n++) {
        sum += e->odds[n];
        edge = sum > most ? n + 1 : edge;
        most = fmax(most, sum);
    }
    for (int n = first; n < end; n++) {
        const int i = row + ending_column(e, n);
        if (n >= edge) {
            s->b->flags[i] = SDM_QA_FOLD;
        } else if (!(s->b->flags[i] & SDM_QA_VALID)) {
            s->b->place_px[i] = place_px;
            s->b->flags[i] = SDM_QA_VALID;
        }
    }
    for (int x = g->first; x < g->end; x++)
        if (!(s->b->flags[row + x] & SDM_QA_VALID))
            s->b->flags[row + x] = SDM_QA_FOLD;
}

/* Windows lose matches beside steps, where the views differ; the pixels that look like the surface beside
 * them are a part of it. */
static SdmStatus close_gaps(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b)
{
    SDM_OWNED uint8_t *inner = NULL;
    PASS(sdm_alloc_raw(ctx, &inner, (size_t)b->width * (size_t)b->height, 1, "steps of places"));
    mark_inner(b, inner);
    const StepBlock s = {.views = views, .b = b, .inner = inner};
    for (int y = 0; y < b->height; y++) {
        Gap g = {.y = y};
        while ((g.first = sdm_next_gap(b->flags + (size_t)y * (size_t)b->width, b->width, &g.end)) >= 0) {
            const bool step = is_at_step(&s, &g);
            Ending e;
            if (step && g.hides >= 0 && find_ending(&s, &g, &e)) {
                find_ending_odds(&s, &e);
                place_ending(&s, &e);
            }
            for (int k = 0; step && g.hides < 0 && k < 2; k++)
                extend_side(&s, &g, k);
        }
    }
    return SDM_OK;
}

/* ---- all filters ---- */

enum { MOVES = 2, MEANS = 2, MEAN_HALF = 3, LEVEL_HALF = 5 };
#define LEVEL_PX 0.2f /* two standard deviations of a match */
/* (base/height)^2 at which the relief of ground within 11 px, which is self-similar, makes as much parallax
 * as noise does */
#define LEVEL_NOISE 0.0225f
_Static_assert((int)SDM_RIDGE_REACH + 1 >= (int)SDM_PIECE_PX, "thin pieces at a line's end do not count");
_Static_assert(1 + MOVES * SDM_MOVE_REACH + MEANS * MEAN_HALF + SDM_RIDGE_REACH + 1 + LEVEL_HALF +
                       SIDE_HALF <=
                   SDM_EDGE_FILTERS_REACH,
               "the reach of the filters");

SdmStatus sdm_edge_block_open(SdmContext *ctx, int width, int height, SdmEdgeBlock *out)
{
    const size_t n = (size_t)width * (size_t)height;
    *out = (SdmEdgeBlock){.width = width, .height = height};
    return SDM_ALLOC_RAW(ctx, "a block of matches", SDM_ARRAY(out->place_px, n), SDM_ARRAY(out->flags, n),
                         SDM_ARRAY(out->score, n));
}

void sdm_edge_block_close(SdmEdgeBlock *b)
{
    SDM_FREE(&b->place_px, &b->flags, &b->score);
}

/* A mean of the places of (2 half + 1)^2 pixels that are within `step` of the pixel's own, which moves by
 * `gain` of the way there. */
typedef struct Mean {
    int half;
    float step, gain;
} Mean;

/* Add the places of a row, moved by one column after the other, that are within the step of `own`. */
SDM_VECTOR_LOOPS static void add_row(const Mean *m, const float *restrict row, const float *restrict own,
                                     int width, float *restrict sum, float *restrict count)
{
    const float step = m->step;
    for (int k = 0; k <= 2 * m->half; k++)
        for (int x = 0; x < width; x++) { /* in vectors: without branches */
            const float d = row[x + k] - own[x], in = fabsf(d) <= step ? 1.0f : 0.0f;
            sum[x] += in * d;
            count[x] += in;
        }
}

static SdmStatus mean_within_steps(SdmContext *ctx, const Mean *m, SdmEdgeBlock *b)
{
    const int half = m->half;
    const size_t w = (size_t)b->width, first = (size_t)half, pitch = w + 2 * first;
    SDM_OWNED float *padded = NULL, *sums = NULL;
    PASS(sdm_alloc_raw(ctx, &padded, pitch * (size_t)b->height, sizeof *padded, "means of places"));
    PASS(sdm_alloc_raw(ctx, &sums, 2 * w, sizeof *sums, "means of places"));
    for (size_t i = 0; i < pitch * (size_t)b->height; i++)
        padded[i] = FAR_PX;
    for (size_t y = 0; y < (size_t)b->height; y++)
        for (size_t x = 0; x < w; x++)
            if (b->flags[y * w + x] & SDM_QA_VALID)
                padded[y * pitch + first + x] = b->place_px[y * w + x];
    for (int y = 0; y < b->height; y++) {
        float *const own = b->place_px + (size_t)y * w;
        const int from = y > half ? y - half : 0, to = y + half < b->height ? y + half : b->height - 1;
        memset(sums, 0, 2 * w * sizeof *sums);
        for (int j = from; j <= to; j++)
            add_row(m, padded + (size_t)j * pitch, own, b->width, sums, sums + w);
        for (size_t x = 0; x < w; x++)
            if (b->flags[(size_t)y * w + x] & SDM_QA_VALID)
                own[x] += m->gain * sums[x] / sums[w + x];
    }
    return SDM_OK;
}

SdmStatus sdm_edge_filters(SdmContext *ctx, const SdmKernels *k, bool edges, const SdmEdgeViews *views,
                           SdmEdgeBlock *b)
{
    const size_t n = (size_t)b->width * (size_t)b->height;
    const float square = views->base_height * views->base_height;
    const Mean noise = {MEAN_HALF, STEP_PX, 1.0f},
               level = {LEVEL_HALF, LEVEL_PX, LEVEL_NOISE / (LEVEL_NOISE + square)};
    SDM_OWNED float *before_px = NULL;
    SdmSurface whole = {.win = {.w = b->width, .h = b->height}, .flags = b->flags, .h_m = b->place_px};
    PASS(sdm_surface_median(ctx, k, &whole));
    for (int i = 0; i < MOVES && edges; i++)
        PASS(move_steps(ctx, views, b));
    const SdmPieces pieces = {b->width, b->height, b->place_px, b->score, b->flags, STEP_PX};
    PASS(sdm_drop_pieces(ctx, &pieces, SDM_PIECE_PX, 0, 0));
    if (edges)
        PASS(sdm_drop_walls(ctx, views, b));
    PASS(sdm_alloc_raw(ctx, &before_px, n, sizeof *before_px, "means of places"));
    memcpy(before_px, b->place_px, n * sizeof *before_px);
    for (int i = 0; i < MEANS; i++)
        PASS(mean_within_steps(ctx, &noise, b));
    if (edges) {
        PASS(sdm_sharpen_ridges(ctx, before_px, views->px_per_m < 0.0f ? -1.0f : 1.0f, b));
        PASS(close_gaps(ctx, views, b));
    }
    return mean_within_steps(ctx, &level, b);
}
