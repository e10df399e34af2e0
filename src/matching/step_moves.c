/* Steps of the places lie where the views step. */
// SPDX-License-Identifier: Apache-2.0
#include "core/vector_loops.h"
#include "matching/step_sides.h"

#include <math.h>
#include <string.h>

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
    SHARED = 3,                        /* px: side of the squares whose sides are looked for once, */
    AROUND = SHARED + 2 * (SMALL - 1), /* and of all small windows about them */
    PLACES = AROUND - SMALL + 1
};
_Static_assert(SHARED / 2 + SIDE_HALF + 1 <= SDM_MOVE_REACH, "the reach of a move");

/* Both sides of a step, the lower place first; two: little lies between them. */
typedef struct Sides {
    SdmStepSide side[2];
    bool two;
} Sides;

/* Clear inner[] of the pixels of a row whose neighbours at place `to` are not valid or beyond a step. */
SDM_VECTOR_LOOPS static void clear_steps(const float *restrict place, const float *restrict to,
                                         const uint16_t *restrict flags, int count, uint8_t *restrict inner)
{
    for (int x = 0; x < count; x++)
        inner[x] &= (uint8_t)(flags[x] & (uint16_t)(fabsf(to[x] - place[x]) <= STEP_PX));
}

void sdm_mark_inner(const SdmEdgeBlock *b, uint8_t *inner)
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

static bool is_near(const SdmStepBlock *s, size_t i)
{
    return -s->high[i] - s->low[i] >= CLEAR_STEP_PX;
}

/* The inner pixels around pixel x, y that lie within STEP_PX of the lowest or of the highest place: false if
 * they are few. */
static bool find_sides(const SdmStepBlock *s, int x, int y, Sides *out)
{
    const int w = s->b->width;
    int all = 0;
    SdmStepSide *const side = out->side;
    const size_t at = (size_t)y * (size_t)w + (size_t)x;
    const float low = s->low[at], high = -s->high[at];
    side[0] = side[1] = (SdmStepSide){.count = 0};
    for (int v = y - SIDE_HALF; v <= y + SIDE_HALF; v++)
        for (int u = x - SIDE_HALF; u <= x + SIDE_HALF; u++) {
            const int i = v * w + u;
            const float p = s->b->place_px[i];
            const bool is_high = high - p <= STEP_PX;
            all += s->inner[i];
            if (!s->inner[i] || !(is_high || p - low <= STEP_PX))
                continue;
            SdmStepSide *const to = &side[is_high];
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

/* How well the right view agrees with either side at SHARED x SHARED pixels. */
typedef struct Agreement {
    bool known;
    float cost[2][SHARED * SHARED]; /* 0..MOST_DIFFER */
} Agreement;

/* The means over SMALL x SMALL of the differences to the right view around pixel cx, cy if all lie on a
 * side; what the side's own pixels differ by is no difference. */
static void small_means(const SdmStepBlock *s, const SdmStepSide *side, int cx, int cy,
                        float out[PLACES][PLACES])
{
    const float place_px = side->place_px / (float)side->count, own = (float)(side->differ / side->known);
    float differ[AROUND][AROUND];
    for (int j = 0; j < AROUND; j++)
        for (int i = 0; i < AROUND; i++) {
            const float d = difference(s->views, cx + i - AROUND / 2, cy + j - AROUND / 2, place_px),
                        apart = fabsf(d - own) / (float)GREY;
            differ[j][i] = d != UNKNOWN && apart < MOST_DIFFER ? apart : MOST_DIFFER;
        }
    for (int j = 0; j < PLACES; j++) { /* side by side, each in the order of its pixels */
        float sum[PLACES] = {0};
        for (int k = 0; k < SMALL * SMALL; k++)
            for (int i = 0; i < PLACES; i++)
                sum[i] += differ[j + k / SMALL][i + k % SMALL];
        for (int i = 0; i < PLACES; i++)
            out[j][i] = sum[i] / (float)(SMALL * SMALL);
    }
}

/* The least mean of the windows that hold a pixel: some of them hold nothing of the other side (shiftable
 * windows, Bobick and Intille 1999). */
static void find_agreement(const SdmStepBlock *s, const Sides *sides, int cx, int cy, Agreement *out)
{
    const SdmStepSide *const side = sides->side;
    out->known = side[0].known >= SIDE_LEAST && side[1].known >= SIDE_LEAST;
    for (int k = 0; k < 2 && out->known; k++) {
        float mean[PLACES][PLACES];
        small_means(s, &side[k], cx, cy, mean);
        for (int n = 0; n < SHARED * SHARED; n++) {
            float least = MOST_DIFFER;
            for (int m = 0; m < SMALL * SMALL; m++) {
                const float at = mean[n / SHARED + m / SMALL][n % SHARED + m % SMALL];
                least = at < least ? at : least;
            }
            out->cost[k][n] = least;
        }
    }
}

/* Evidence of a pixel's grey value in the left view for the upper side, -GREY_MOST..GREY_MOST. */
static double odds_of_grey(const SdmStepBlock *s, const SdmStepSide side[2], int x, int y)
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
static float place_by_looks(const SdmStepBlock *s, const Sides *sides, const Agreement *right, int x, int y,
                            int n)
{
    const SdmStepSide *const side = sides->side;
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

static void find_differences(const SdmStepBlock *s)
{
    for (int y = 0; y < s->b->height; y++)
        for (int x = 0; x < s->b->width; x++) {
            const size_t i = (size_t)y * (size_t)s->b->width + (size_t)x;
            s->differ[i] = s->inner[i] ? difference(s->views, x, y, s->b->place_px[i]) : UNKNOWN;
        }
}

/* Windows carry steps over the edge of a roof; pixels near the step go to the side that they look like.  The
 * sides are looked for once for SHARED x SHARED pixels, around the middle one. */
SdmStatus sdm_move_steps(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)b->width * (size_t)b->height;
    SdmStepBlock s = {.views = views, .b = b};
    TRY(SDM_ALLOC_RAW(ctx, "steps of places", SDM_ARRAY(s.inner, n), SDM_ARRAY(s.out, n), SDM_ARRAY(s.low, n),
                      SDM_ARRAY(s.high, n), SDM_ARRAY(s.differ, n)));
    sdm_mark_inner(b, s.inner);
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
    SDM_FREE(&s.inner, &s.out, &s.low, &s.high, &s.differ);
    return st;
}
