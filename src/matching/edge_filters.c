/* Median, steps moved to edges of the image, removal of small pieces, and means within steps, on the places
 * of a block. */
// SPDX-License-Identifier: Apache-2.0
#include "core/vector_loops.h"
#include "matching/edge_filters.h"

#include "matching/filters.h"
#include "matching/pieces.h"
#include "matching/ridges.h"

#include <math.h>
#include <string.h>

#define STEP_PX 1.0f /* larger ones are discontinuities */
#define FAR_PX 1e6f  /* place of a pixel without a match: differs from all others */
#define CLEAR_STEP_PX 2.0f /* between roofs and streets */
#define NO_SLOPE_PX 2.5f   /* where nine tenths of the surface belong to a step's sides, it is no slope */
#define TWO_SIDES_PX 3.0f  /* between the sides of a gap */
#define CLEAR_GREY 6.25    /* (difference of two sides' mean grey values)^2 over the sum of their variances */
#define HIDDEN_COST 2.0    /* of a side whose ground the right view may not see */
#define AGREES 1.0         /* the right view agrees with a side where right_cost() is at most this */
#define MOST_COST 9.0      /* of one of its terms */
#define GREY 126.0         /* of 12 bits: what grey values of one side may differ by */
#define UNKNOWN 1e9f       /* difference to the right view where that has no value */
#define MOST_GREY 4096.0
#define MOST_DIFFER 4.0f   /* x GREY: of the right view's differences in small windows */
#define DIFFER_NOISE 0.1   /* x GREY: smaller ones tell nothing */
#define GREY_NOISE 10.0    /* added to the variances of grey values: levels of 12 bits */
#define GREY_MOST 20.0     /* of (difference of two sides' means)^2 over their variances, that counts */
/* what a pixel's side is told by: logarithms of odds, of a regression over simulated towns */
#define ODDS_DIFFER 6.0    /* x the difference of both sides' costs over their sum */
#define ODDS_GREY 1.4      /* x where its grey value lies between the sides' means, -1..1, x their contrast */
#define ODDS_OWN 0.65      /* of the side that it is on */
#define ODDS_LOW 0.28      /* of the lower side */
/* what tells the edge beside hidden ground: likewise */
#define ENDING_DIFFER 3.5
#define ENDING_COST 0.4    /* of the right view, that tells nothing */
#define ENDING_GREY 2.5
#define ENDING_MOST 5.0    /* as GREY_MOST */
#define ENDING_NOISE 20.0  /* added to the standard deviations: levels of 12 bits */
#define ENDING_NEAR 1.4    /* for the near side: 0.4 of the regression, 1 since it is seen */
enum { MOVES = 2, MEANS = 2, MEAN_HALF = 3, SHARED = 3, SIDE_HALF = 4, SIDE_LEAST = 5, EXTEND_PX = 8,
       INSIDE = 4, OUTSIDE = 5, BEYOND = 5, /* px about the edge of the near side, and of what lies beyond */
       SMALL = 3,                         /* px: side of the windows that are moved about a pixel, */
       AROUND = SHARED + 2 * (SMALL - 1), /* and of all of them about SHARED x SHARED pixels */
       PLACES = AROUND - SMALL + 1 };
_Static_assert((int)SDM_RIDGE_REACH + 1 >= (int)SDM_PIECE_PX, "thin pieces at a line's end do not count");
_Static_assert(1 + MOVES * (SHARED / 2 + SIDE_HALF + 1) + MEANS * MEAN_HALF + SDM_RIDGE_REACH + 1 +
                       SIDE_HALF <=
                   SDM_EDGE_FILTERS_REACH,
               "the reach of the filters");

SdmStatus sdm_edge_block_open(SdmContext *ctx, int width, int height, SdmEdgeBlock *out)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)width * (size_t)height;
    *out = (SdmEdgeBlock){.width = width, .height = height};
    TRY(sdm_alloc_raw(ctx, &out->place_px, n, sizeof *out->place_px, "a block of matches"));
    TRY(sdm_alloc_raw(ctx, &out->flags, n, sizeof *out->flags, "a block of matches"));
    TRY(sdm_alloc_raw(ctx, &out->score, n, sizeof *out->score, "a block of matches"));
done:
    return st;
}

void sdm_edge_block_close(SdmEdgeBlock *b)
{
    sdm_free(&b->place_px);
    sdm_free(&b->flags);
    sdm_free(&b->score);
}

static SdmStatus median(SdmContext *ctx, const SdmKernels *k, SdmEdgeBlock *b)
{
    SdmSurface s = {.win = {.w = b->width, .h = b->height}, .flags = b->flags, .h_m = b->place_px};
    return sdm_surface_median(ctx, k, &s);
}

/* ---- steps of the places lie where the views step ---- */

/* Pixels of a window on one side of a step: their places, grey values, and what these differ by from the
 * right view's at their places. */
typedef struct Side {
    int count, known;
    float place_px;
    double grey, square, differ;
} Side;

/* Both sides of a step, the lower place first; two: little lies between them. */
typedef struct Sides {
    Side side[2];
    bool two;
} Sides;

/* Of a block, and what moves its steps. */
typedef struct Steps {
    const SdmEdgeViews *views;
    const SdmEdgeBlock *b;
    uint8_t *inner;     /* 1 where a valid place is within STEP_PX of all eight neighbours' */
    float *low, *high;  /* the lowest place of the inner pixels of (2 SIDE_HALF + 1)^2, and minus the
                         * highest */
    float *differ;      /* left minus right value at an inner pixel's place */
    float *out;         /* places */
} Steps;

static void mark_inner(const SdmEdgeBlock *b, uint8_t *inner)
{
    const int w = b->width;
    memset(inner, 0, (size_t)w * (size_t)b->height);
    for (int y = 1; y + 1 < b->height; y++)
        for (int x = 1; x + 1 < w; x++) {
            const int i = y * w + x;
            bool in = true;
            for (int j = -w; j <= w; j += w)
                for (int k = -1; k <= 1; k++)
                    in &= (b->flags[i + j + k] & SDM_QA_VALID) &&
                          fabsf(b->place_px[i + j + k] - b->place_px[i]) <= STEP_PX;
            inner[i] = in;
        }
}

/* The lowest of sign x place among the inner pixels of (2 SIDE_HALF + 1)^2, FAR_PX where there is none.
 * rows: h x w. */
static void lowest_around(const SdmEdgeBlock *b, const uint8_t *inner, float sign, float *restrict rows,
                          float *restrict out)
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

/* Left minus right value of pixel x, y if it lies at place_px; UNKNOWN where the right one has none. */
static float difference(const SdmEdgeViews *v, int x, int y, float place_px)
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

static bool is_near(const Steps *s, size_t i)
{
    return -s->high[i] - s->low[i] >= CLEAR_STEP_PX;
}

/* The inner pixels around pixel x, y that lie within STEP_PX of the lowest or of the highest place: false if
 * they are few. */
static bool find_sides(const Steps *s, int x, int y, Sides *out)
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
            Side *const to = &side[is_high];
            const double grey = s->views->left[v * s->views->stride + u];
            to->count++;
            to->place_px += p;
            to->grey += grey;
            to->square += grey * grey;
            to->known += s->differ[i] != UNKNOWN;
            to->differ += s->differ[i] != UNKNOWN ? (double)s->differ[i] : 0.0;
        }
    out->two = high - low >= NO_SLOPE_PX && 10 * (side[0].count + side[1].count) >= 9 * all;
    return side[0].count >= SIDE_LEAST && side[1].count >= SIDE_LEAST;
}

/* A side's mean grey value and the variance of its grey values. */
static double mean_grey(const Side *side)
{
    return side->grey / side->count;
}

static double variance_grey(const Side *side)
{
    return side->square / side->count - mean_grey(side) * mean_grey(side);
}

static bool clearly_differ(const Side side[2])
{
    const double apart = mean_grey(&side[1]) - mean_grey(&side[0]);
    return apart * apart >= CLEAR_GREY * (variance_grey(&side[0]) + variance_grey(&side[1]) + 1.0);
}

/* What speaks against a pixel's being on a side: that its grey value is not the side's, */
static double grey_cost(const Steps *s, const Side *side, int x, int y)
{
    const double apart = s->views->left[y * s->views->stride + x] - mean_grey(side);
    return fmin(apart * apart / (variance_grey(side) + GREY * GREY), MOST_COST);
}

/* nor the right view's where it would lie then. */
static double right_cost(const Steps *s, const Side *side, int x, int y)
{
    const float d = difference(s->views, x, y, side->place_px / (float)side->count);
    const double apart =
        side->known >= SIDE_LEAST && d != UNKNOWN ? (double)d - side->differ / side->known : MOST_GREY;
    return fmin(apart * apart / (GREY * GREY), MOST_COST);
}

/* How well the right view agrees with either side at SHARED x SHARED pixels. */
typedef struct Agreement {
    bool known;
    float cost[2][SHARED * SHARED]; /* 0..MOST_DIFFER */
} Agreement;

/* The means over SMALL x SMALL of the differences to the right view around pixel cx, cy if all lie on a
 * side; what the side's own pixels differ by is no difference. */
static void small_means(const Steps *s, const Side *side, int cx, int cy, float out[PLACES][PLACES])
{
    const float place_px = side->place_px / (float)side->count, own = (float)(side->differ / side->known);
    float differ[AROUND][AROUND];
    for (int j = 0; j < AROUND; j++)
        for (int i = 0; i < AROUND; i++) {
            const float d = difference(s->views, cx + i - AROUND / 2, cy + j - AROUND / 2, place_px);
            differ[j][i] = d == UNKNOWN ? MOST_DIFFER : fminf(fabsf(d - own) / (float)GREY, MOST_DIFFER);
        }
    for (int j = 0; j < PLACES; j++)
        for (int i = 0; i < PLACES; i++) {
            float sum = 0.0f;
            for (int k = 0; k < SMALL * SMALL; k++)
                sum += differ[j + k / SMALL][i + k % SMALL];
            out[j][i] = sum / (float)(SMALL * SMALL);
        }
}

/* The least mean of the windows that hold a pixel: some of them hold nothing of the other side (shiftable
 * windows, Bobick and Intille 1999). */
static void find_agreement(const Steps *s, const Sides *sides, int cx, int cy, Agreement *out)
{
    const Side *const side = sides->side;
    out->known = side[0].known >= SIDE_LEAST && side[1].known >= SIDE_LEAST;
    for (int k = 0; k < 2 && out->known; k++) {
        float mean[PLACES][PLACES];
        small_means(s, &side[k], cx, cy, mean);
        for (int n = 0; n < SHARED * SHARED; n++) {
            float least = MOST_DIFFER;
            for (int m = 0; m < SMALL * SMALL; m++)
                least = fminf(least, mean[n / SHARED + m / SMALL][n % SHARED + m % SMALL]);
            out->cost[k][n] = least;
        }
    }
}

/* What a pixel's grey value in the left view says for the upper side, -GREY_MOST..GREY_MOST. */
static double odds_of_grey(const Steps *s, const Side side[2], int x, int y)
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
static float place_by_looks(const Steps *s, const Sides *sides, const Agreement *right, int x, int y, int n)
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

static void find_differences(const Steps *s)
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
    Steps s = {.views = views, .b = b};
    TRY(sdm_alloc_raw(ctx, &s.inner, n, 1, "steps of places"));
    TRY(sdm_alloc_raw(ctx, &s.out, n, sizeof *s.out, "steps of places"));
    TRY(sdm_alloc_raw(ctx, &s.low, n, sizeof *s.low, "steps of places"));
    TRY(sdm_alloc_raw(ctx, &s.high, n, sizeof *s.high, "steps of places"));
    TRY(sdm_alloc_raw(ctx, &s.differ, n, sizeof *s.differ, "steps of places"));
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
            find_agreement(&s, &sides, cx, cy, &right);
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
    sdm_free(&s.inner);
    sdm_free(&s.out);
    sdm_free(&s.low);
    sdm_free(&s.high);
    sdm_free(&s.differ);
    return st;
}

/* ---- pixels beside a step that lost their match ---- */

/* Pixels first..end - 1 of a row have no match, those before and after them have one. */
typedef struct Gap {
    int y, first, end;
    Side side[2]; /* of the pixel before and of the one after */
    bool clear;   /* their grey values differ clearly */
    int hides;    /* the side that hides ground of the other one from the right view; -1: neither */
} Gap;

/* The inner pixels around x, y that lie within STEP_PX of its place: false if they are few. */
static bool find_side(const Steps *s, int x, int y, Side *out)
{
    const int w = s->b->width, h = s->b->height;
    const float own_px = s->b->place_px[y * w + x];
    *out = (Side){.count = 0};
    for (int v = y > SIDE_HALF ? y - SIDE_HALF : 0; v <= y + SIDE_HALF && v < h; v++)
        for (int u = x > SIDE_HALF ? x - SIDE_HALF : 0; u <= x + SIDE_HALF && u < w; u++) {
            const float p = s->b->place_px[v * w + u];
            if (!s->inner[v * w + u] || fabsf(p - own_px) > STEP_PX)
                continue;
            const double grey = s->views->left[v * s->views->stride + u];
            const float differ = difference(s->views, u, v, p);
            out->count++;
            out->place_px += p;
            out->grey += grey;
            out->square += grey * grey;
            out->known += differ != UNKNOWN;
            out->differ += differ != UNKNOWN ? (double)differ : 0.0;
        }
    return out->count >= SIDE_LEAST;
}

/* Does the gap lie at a step, both of whose sides are known?  Then fill its sides in. */
static bool is_at_step(const Steps *s, Gap *g)
{
    const int row = g->y * s->b->width;
    const float step_px = s->b->place_px[row + g->first - 1] - s->b->place_px[row + g->end];
    if (!(fabsf(step_px) >= TWO_SIDES_PX))
        return false;
    for (int x = g->first; x < g->end; x++)
        if (s->b->flags[row + x] & (SDM_QA_OUTSIDE | SDM_QA_SATURATED))
            return false;
    if (!find_side(s, g->first - 1, g->y, &g->side[0]) || !find_side(s, g->end, g->y, &g->side[1]))
        return false;
    g->clear = clearly_differ(g->side);
    /* the right view sees left pixel u at u + place, so that n pixels vanish where places fall by n */
    g->hides = step_px > 0.0f && (float)(g->end - g->first) <= step_px + TWO_SIDES_PX ? s->views->nearer : -1;
    return true;
}

/* Does a pixel of the gap look like side k, and does the right view agree? */
static bool is_of_side(const Steps *s, const Gap *g, int x, int k)
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
static void extend_side(const Steps *s, const Gap *g, int k)
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
    int last, by; /* column of the last pixel; 1 or -1: the way into the gap */
    double odds[INSIDE + OUTSIDE]; /* that they are of the side, logarithms */
} Ending;

/* Column of pixel n of odds. */
static int ending_column(const Ending *e, int n)
{
    return e->last + (n + 1 - INSIDE) * e->by;
}

/* How little the right view agrees with the side, 0..MOST_DIFFER: the best of the windows that hold a pixel,
 * as in find_agreement(). */
static void ending_costs(const Steps *s, const Ending *e, float out[INSIDE + OUTSIDE])
{
    enum { ROWS = 2 * SMALL - 1, COLS = INSIDE + OUTSIDE + ROWS - 1 };
    const float place_px = e->side.place_px / (float)e->side.count,
                own = (float)(e->side.differ / e->side.known);
    float differ[ROWS][COLS];
    for (int j = 0; j < ROWS; j++)
        for (int i = 0; i < COLS; i++) {
            const float d =
                difference(s->views, ending_column(e, i - ROWS / 2), e->gap->y + j - ROWS / 2, place_px);
            differ[j][i] = d == UNKNOWN ? MOST_DIFFER : fminf(fabsf(d - own) / (float)GREY, MOST_DIFFER);
        }
    for (int n = 0; n < INSIDE + OUTSIDE; n++) {
        out[n] = MOST_DIFFER;
        for (int m = 0; m < SMALL * SMALL; m++) {
            float sum = 0.0f;
            for (int k = 0; k < SMALL * SMALL; k++)
                sum += differ[m / SMALL + k / SMALL][n + m % SMALL + k % SMALL];
            out[n] = fminf(out[n], sum / (float)(SMALL * SMALL));
        }
    }
}

/* Mean grey value and standard deviation of what lies beyond the edge: the far end of the gap. */
static void grey_beyond(const Steps *s, const Ending *e, double *mean, double *deviation)
{
    const SdmEdgeViews *const v = s->views;
    const int width = e->gap->end - e->gap->first, near = SMALL,
              from = width > near + BEYOND ? width - BEYOND : width > near ? near : width,
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

static void find_ending_odds(const Steps *s, Ending *e)
{
    float cost[INSIDE + OUTSIDE];
    double beyond, deviation;
    ending_costs(s, e, cost);
    grey_beyond(s, e, &beyond, &deviation);
    const double near = mean_grey(&e->side), apart = beyond - near,
                 spread = sqrt(fmax(variance_grey(&e->side), 0.0)) + deviation + ENDING_NOISE,
                 contrast = apart * apart / (spread * spread);
    for (int n = 0; n < INSIDE + OUTSIDE; n++) {
        const double grey = s->views->left[e->gap->y * s->views->stride + ending_column(e, n)],
                     share = (grey - 0.5 * (near + beyond)) / (apart == 0.0 ? 1.0 : apart);
        e->odds[n] = ENDING_DIFFER * (ENDING_COST - (double)cost[n]) / (ENDING_COST + DIFFER_NOISE +
                                                                       (double)cost[n]) -
                     ENDING_GREY * fmax(fmin(share, 1.0), -1.0) * contrast / (1.0 + contrast / ENDING_MOST) +
                     ENDING_NEAR;
    }
}

/* The near side, of the pixels SIDE_HALF before its end: false if they are few or not of one place, or of a
 * plain area (matching/plain_areas.h), whose edge is known. */
static bool find_ending(const Steps *s, const Gap *g, Ending *e)
{
    const SdmEdgeBlock *const b = s->b;
    const int k = g->hides, row = g->y * b->width, margin = INSIDE + 2 * SIDE_HALF;
    *e = (Ending){.gap = g, .last = k ? g->end : g->first - 1, .by = k ? -1 : 1};
    const int from = e->last - SIDE_HALF * e->by;
    return g->y >= SMALL && g->y + SMALL < b->height && e->last >= margin && e->last + margin < b->width &&
           b->flags[row + from] == SDM_QA_VALID && b->flags[row + e->last] == SDM_QA_VALID &&
           fabsf(b->place_px[row + from] - b->place_px[row + e->last]) <= STEP_PX &&
           find_side(s, from, g->y, &e->side) && e->side.known >= SIDE_LEAST;
}

/* The likeliest edge: pixels before it are of the near side, those beyond it are hidden. */
static void place_ending(const Steps *s, const Ending *e)
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

/* Find the next gap of a row whose pixels before *x are done; false: there is none. */
static bool next_gap(const SdmEdgeBlock *b, int y, int *x, Gap *g)
{
    const uint16_t *const flags = b->flags + (size_t)y * (size_t)b->width;
    int i = *x;
    while (i < b->width && !(flags[i] & SDM_QA_VALID))
        i++;
    while (i < b->width && (flags[i] & SDM_QA_VALID))
        i++;
    *g = (Gap){.y = y, .first = i};
    while (i < b->width && !(flags[i] & SDM_QA_VALID))
        i++;
    g->end = *x = i;
    return i < b->width;
}

/* Windows lose matches beside steps, where the views differ; the pixels that look like the surface beside
 * them are a part of it. */
static SdmStatus extend_sides(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    Steps s = {.views = views, .b = b};
    TRY(sdm_alloc_raw(ctx, &s.inner, (size_t)b->width * (size_t)b->height, 1, "steps of places"));
    mark_inner(b, s.inner);
    for (int y = 0; y < b->height; y++) {
        Gap g;
        for (int x = 0; next_gap(b, y, &x, &g);) {
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
done:
    sdm_free(&s.inner);
    return st;
}

/* Add the places of a row, moved by one column after the other, that are within STEP_PX of `own`. */
SDM_VECTOR_LOOPS static void add_row(const float *restrict row, const float *restrict own, int width,
                                     float *restrict sum, float *restrict count)
{
    for (int k = 0; k <= 2 * MEAN_HALF; k++)
        for (int x = 0; x < width; x++) { /* in vectors: without branches */
            const float d = row[x + k] - own[x], in = fabsf(d) <= STEP_PX ? 1.0f : 0.0f;
            sum[x] += in * d;
            count[x] += in;
        }
}

static SdmStatus mean_within_steps(SdmContext *ctx, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t w = (size_t)b->width, pitch = w + 2 * MEAN_HALF;
    float *padded = NULL, *sums = NULL;
    TRY(sdm_alloc_raw(ctx, &padded, pitch * (size_t)b->height, sizeof *padded, "means of places"));
    TRY(sdm_alloc_raw(ctx, &sums, 2 * w, sizeof *sums, "means of places"));
    for (size_t i = 0; i < pitch * (size_t)b->height; i++)
        padded[i] = FAR_PX;
    for (size_t y = 0; y < (size_t)b->height; y++)
        for (size_t x = 0; x < w; x++)
            if (b->flags[y * w + x] & SDM_QA_VALID)
                padded[y * pitch + MEAN_HALF + x] = b->place_px[y * w + x];
    for (int y = 0; y < b->height; y++) {
        float *const own = b->place_px + (size_t)y * w;
        const int from = y > MEAN_HALF ? y - MEAN_HALF : 0,
                  to = y + MEAN_HALF < b->height ? y + MEAN_HALF : b->height - 1;
        memset(sums, 0, 2 * w * sizeof *sums);
        for (int j = from; j <= to; j++)
            add_row(padded + (size_t)j * pitch, own, b->width, sums, sums + w);
        for (size_t x = 0; x < w; x++)
            if (b->flags[(size_t)y * w + x] & SDM_QA_VALID)
                own[x] += sums[x] / sums[w + x];
    }
done:
    sdm_free(&padded);
    sdm_free(&sums);
    return st;
}

static SdmStatus drop_pieces(SdmContext *ctx, SdmEdgeBlock *b)
{
    const SdmPieces pieces = {b->width, b->height, b->place_px, b->score, b->flags, STEP_PX};
    return sdm_drop_pieces(ctx, &pieces, SDM_PIECE_PX, 0, 0);
}

SdmStatus sdm_edge_filters(SdmContext *ctx, const SdmKernels *k, const SdmEdgeViews *views, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)b->width * (size_t)b->height;
    float *before_px = NULL;
    TRY(median(ctx, k, b));
    for (int i = 0; i < MOVES; i++)
        TRY(move_steps(ctx, views, b));
    TRY(drop_pieces(ctx, b));
    TRY(sdm_alloc_raw(ctx, &before_px, n, sizeof *before_px, "means of places"));
    memcpy(before_px, b->place_px, n * sizeof *before_px);
    for (int i = 0; i < MEANS; i++)
        TRY(mean_within_steps(ctx, b));
    TRY(sdm_sharpen_ridges(ctx, before_px, views->nearer ? -1.0f : 1.0f, b));
    TRY(extend_sides(ctx, views, b));
done:
    sdm_free(&before_px);
    return st;
}
