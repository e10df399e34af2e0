/* Pixels beside a step that lost their match, and the edges of roofs beside ground that they hide. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/step_sides.h"

#include <math.h>

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
    SdmStepSide side[2]; /* of the pixel before and of the one after */
    bool clear;          /* their grey values differ clearly */
    int hides;           /* the side that hides ground of the other one from the right view; -1: neither */
} Gap;

/* Cost of a pixel on a side by its grey value in the left view. */
static double grey_cost(const SdmStepBlock *s, const SdmStepSide *side, int x, int y)
{
    const double apart = s->views->left[y * s->views->stride + x] - mean_grey(side);
    return fmin(apart * apart / (variance_grey(side) + GREY * GREY), MOST_COST);
}

/* The same by the right view, at the place that the side gives. */
static double right_cost(const SdmStepBlock *s, const SdmStepSide *side, int x, int y)
{
    const float d = difference(s->views, x, y, side->place_px / (float)side->count);
    const double apart =
        side->known >= SIDE_LEAST && d != UNKNOWN ? (double)d - side->differ / side->known : MOST_GREY;
    return fmin(apart * apart / (GREY * GREY), MOST_COST);
}

/* The inner pixels around x, y that lie within STEP_PX of its place: false if they are few. */
static bool find_side(const SdmStepBlock *s, int x, int y, SdmStepSide *out)
{
    const int w = s->b->width, h = s->b->height;
    const float own_px = s->b->place_px[y * w + x];
    *out = (SdmStepSide){.count = 0};
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
static bool is_at_step(const SdmStepBlock *s, Gap *g)
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
static bool is_of_side(const SdmStepBlock *s, const Gap *g, int x, int k)
{
    const SdmStepSide *const own = &g->side[k], *const other = &g->side[!k];
    const double grey = s->views->left[g->y * s->views->stride + x], right = right_cost(s, own, x, g->y);
    if (right > AGREES)
        return false;
    if (g->clear)
        return fabs(grey - mean_grey(own)) < fabs(grey - mean_grey(other));
    return grey_cost(s, own, x, g->y) + 2.0 * right <
           grey_cost(s, other, x, g->y) + (g->hides == k ? HIDDEN_COST : 2.0 * right_cost(s, other, x, g->y));
}

/* The pixels of a gap that look like side k get its place, one after the other. */
static void extend_side(const SdmStepBlock *s, const Gap *g, int k)
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
    SdmStepSide side;
    int last, by;                  /* column of the last pixel; 1 or -1: the way into the gap */
    double odds[INSIDE + OUTSIDE]; /* that they are of the side, logarithms */
} Ending;

/* Column of pixel n of odds. */
static int ending_column(const Ending *e, int n)
{
    return e->last + (n + 1 - INSIDE) * e->by;
}

/* How little the right view agrees with the side, 0..MOST_DIFFER: the best of the windows that hold a pixel,
 * as in find_agreement(). */
static void ending_costs(const SdmStepBlock *s, const Ending *e, float out[INSIDE + OUTSIDE])
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
static void grey_beyond(const SdmStepBlock *s, const Ending *e, double *mean, double *deviation)
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

static void find_ending_odds(const SdmStepBlock *s, Ending *e)
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
        e->odds[n] =
            ENDING_DIFFER * (ENDING_COST - (double)cost[n]) / (ENDING_COST + DIFFER_NOISE + (double)cost[n]) -
            ENDING_GREY * fmax(fmin(share, 1.0), -1.0) * contrast / (1.0 + contrast / ENDING_MOST) +
            ENDING_NEAR;
    }
}

/* The near side, of the pixels SIDE_HALF before its end: false if they are few or not of one place. */
static bool find_ending(const SdmStepBlock *s, const Gap *g, Ending *e)
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
static void place_ending(const SdmStepBlock *s, const Ending *e)
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
SdmStatus sdm_close_gaps(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b)
{
    SDM_OWNED uint8_t *inner = NULL;
    PASS(sdm_alloc_raw(ctx, &inner, (size_t)b->width * (size_t)b->height, 1, "steps of places"));
    sdm_mark_inner(b, inner);
    const SdmStepBlock s = {.views = views, .b = b, .inner = inner};
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
    return SDM_OK;
}
