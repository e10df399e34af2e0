/* Areas without texture: their pixels and the ends of their rows, how well each place fits both, and the one
 * place that does, from the edges of both views. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/edge_filters.h"

#include "core/math.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HALF = 2,          /* of the windows that have little texture */
    TEXTURE_MOST = 24, /* their standard deviation, of 12 bits */
    AREA_LEAST = 100,  /* px */
    RIM = 2,           /* px by which an area grows beyond the middles of its windows */
    APART_PX = 2,      /* places further apart are two */
    TAKEN = 2,         /* of a mask: belongs to an area */
    BEYOND = 2,        /* px from an edge to where the area, or what lies beside it, is pure */
    LOOK = 5,          /* px: how far an edge is looked for */
    ENDS_LEAST = 16,   /* ends of rows that tell a place, */
    VOTES_LEAST = 8,   /* and of these to a part of a pixel */
    BIN = 8,           /* levels of 12 bits that are counted together */
    BINS = 4096 / BIN
};
#define MISS_MOST 0.10f   /* share of an area's pixels that may differ at its place */
#define NO_EDGE_MOST 0.5f /* share of its ends that may lack an edge there */
#define APART_LEAST 0.25f /* so many more of its ends, half of those of one side, must speak against others */
#define VOTES_PX 0.6f     /* places of ends that are so near to each other are one */
#define VOTE_MOST 1.5f    /* px: farther from the area's place they are of other edges */
/* Mean squared difference of neighbours / twice the variance: 1 for noise, 0.4 or more once it is warped to
 * the frame; 0.1 to 0.3 for weak texture, whose census words tell its place. */
#define NOISE_LEAST 0.4
#define SIGMAS 3.0 /* of the noise: values that are one grey value */

/* The last pixel of an area along a row, where the left view has an edge. */
typedef struct End {
    int32_t number; /* of the pixel in the area */
    int by;         /* 1 or -1: the way out */
    float left_px;  /* column of the edge */
} End;

typedef struct Area {
    int32_t *pixel; /* places in the block */
    int count;
    End *end;
    int ends, ends_most;
    float *vote_px;   /* room for a place of each end */
    int grey, spread; /* mean, and how far values of one grey value lie from it */
    bool is_noise;    /* its texture is noise */
    float *offset_px; /* of each pixel, what a level area adds to its place; 0: it is parallel to the base */
} Area;

/* 1 for the pixels whose window has little texture. */
static SdmStatus find_plain(SdmContext *ctx, const SdmEdgeViews *views, const SdmEdgeBlock *b, uint8_t *plain)
{
    const int w = b->width, h = b->height, n = (2 * HALF + 1) * (2 * HALF + 1);
    SDM_OWNED int32_t *column = NULL; /* sums and squares of the rows of the window */
    memset(plain, 0, (size_t)w * (size_t)h);
    PASS(sdm_alloc_raw(ctx, &column, 2 * (size_t)w, sizeof *column, "areas without texture"));
    for (int y = HALF; y < h - HALF; y++) {
        memset(column, 0, 2 * (size_t)w * sizeof *column);
        for (int j = -HALF; j <= HALF; j++) {
            const int16_t *const row = views->left + (y + j) * views->stride;
            for (int x = 0; x < w; x++) {
                /* texture */
                const int32_t value = row[x] == SDM_PIXEL_NODATA ? 20000 * (1 - 2 * (x & 1)) : row[x];
                column[x] += value;
                column[w + x] += value * value;
            }
        }
        for (int x = HALF; x < w - HALF; x++) {
            int64_t sum = 0, squares = 0;
            for (int i = -HALF; i <= HALF; i++) {
                sum += column[x + i];
                squares += column[w + x + i];
            }
            plain[(size_t)y * (size_t)w + (size_t)x] =
                squares * n - sum * sum <= (int64_t)TEXTURE_MOST * TEXTURE_MOST * n * n;
        }
    }
    return SDM_OK;
}

static int left_at(const SdmEdgeViews *views, const SdmEdgeBlock *b, int i)
{
    return views->left[i / b->width * views->stride + i % b->width];
}

/* Append the neighbours of pixels from, from + 1, ...: plain ones, or (rim) those that have the area's grey
 * value. */
static void grow(const SdmEdgeViews *views, const SdmEdgeBlock *b, uint8_t *plain, int from, bool rim,
                 Area *a)
{
    const int w = b->width, end = a->count;
    for (int k = from; k < end; k++) {
        const int i = a->pixel[k], x = i % w, y = i / w;
        const int next[4] = {x > 0 ? i - 1 : -1, x + 1 < w ? i + 1 : -1, y > 0 ? i - w : -1,
                             y + 1 < b->height ? i + w : -1};
        for (int d = 0; d < 4; d++) {
            const int j = next[d];
            if (j < 0 || plain[j] == TAKEN ||
                (rim ? abs(left_at(views, b, j) - a->grey) > a->spread : !plain[j]))
                continue;
            plain[j] = TAKEN;
            a->pixel[a->count++] = j;
        }
    }
}

/* The area of pixel `first`, and what one grey value of it is. */
static void take_area(const SdmEdgeViews *views, const SdmEdgeBlock *b, int first, uint8_t *plain, Area *a)
{
    int64_t sum = 0, squares = 0, steps = 0;
    int pairs = 0;
    a->pixel[0] = first;
    a->count = 1;
    plain[first] = TAKEN;
    for (int from = 0; from < a->count;) {
        const int end = a->count;
        grow(views, b, plain, from, false, a);
        from = end;
    }
    for (int k = 0; k < a->count; k++) {
        const int value = left_at(views, b, a->pixel[k]);
        sum += value;
        squares += value * value;
        if (a->pixel[k] % b->width > 0 && plain[a->pixel[k] - 1] == TAKEN) {
            const int step = value - left_at(views, b, a->pixel[k] - 1);
            steps += step * step;
            pairs++;
        }
    }
    const double mean = (double)sum / a->count, variance = (double)squares / a->count - mean * mean;
    a->grey = (int)lrint(mean);
    a->is_noise = pairs > 0 && (double)steps / pairs >= 2.0 * NOISE_LEAST * variance;
    a->spread = BIN + (int)(SIGMAS * sqrt(variance));
    for (int k = 0, from = 0; k < RIM; k++) {
        const int end = a->count;
        grow(views, b, plain, from, true, a);
        from = end;
    }
}

/* A level area, or one that is parallel to the base. */
static void set_offsets(const SdmEdgeViews *views, const SdmEdgeBlock *b, bool level, Area *a)
{
    double mean = 0.0;
    for (int k = 0; k < a->count; k++) {
        a->offset_px[k] = -views->base_m[a->pixel[k] / b->width * views->stride + a->pixel[k] % b->width];
        mean += (double)a->offset_px[k];
    }
    mean /= a->count;
    for (int k = 0; k < a->count; k++)
        a->offset_px[k] = level ? (a->offset_px[k] - (float)mean) * views->px_per_m : 0.0f;
}

/* ---- the outline ---- */

/* A row of a view; columns first .. end - 1 may be read. */
typedef struct ViewRow {
    const int16_t *value;
    int first, end;
} ViewRow;

static ViewRow left_row(const SdmEdgeViews *views, const SdmEdgeBlock *b, int y)
{
    return (ViewRow){views->left + y * views->stride, 0, b->width};
}

static ViewRow right_row(const SdmEdgeViews *views, const SdmEdgeBlock *b, int y)
{
    return (ViewRow){views->right + y * views->stride, -views->before, b->width + views->after};
}

static bool is_known(const ViewRow *row, int x)
{
    return x >= row->first && x < row->end && row->value[x] != SDM_PIXEL_NODATA;
}

static bool is_grey(const ViewRow *row, int x, int grey, int spread)
{
    return is_known(row, x) && abs(row->value[x] - grey) <= spread;
}

/* Where the row leaves a grey value, halfway between it and what lies BEYOND, on the way `by` from pixel x
 * on.  NAN: not within LOOK pixels, x does not have it, or what lies beyond differs little. */
static float leaves_at(const ViewRow *row, int x, int by, int grey, int spread)
{
    int n = 0;
    while (n <= LOOK && is_grey(row, x + n * by, grey, spread))
        n++;
    if (n == 0 || n > LOOK || !is_known(row, x + (n + BEYOND) * by))
        return NAN;
    const int beyond = row->value[x + (n + BEYOND) * by], middle = (grey + beyond) / 2,
              sign = beyond > grey ? 1 : -1;
    if (abs(beyond - grey) <= 2 * spread)
        return NAN;
    for (int k = n - 1; k < n + BEYOND && is_known(row, x + (k + 1) * by); k++) {
        const int from = row->value[x + k * by], to = row->value[x + (k + 1) * by];
        if ((to - middle) * sign >= 0 && to != from)
            return (float)x + (float)by * ((float)k + (float)(middle - from) / (float)(to - from));
    }
    return NAN;
}

/* Does the left view's edge beside pixel x, y run across the rows above and below?  Of edges that follow the
 * rows a column tells little. */
static bool is_steep(const SdmEdgeViews *views, const SdmEdgeBlock *b, const Area *a, int x, int y, int by)
{
    if (y < 1 || y + 1 >= b->height)
        return false;
    for (int j = -1; j <= 1; j++) {
        const ViewRow row = left_row(views, b, y + j);
        const int out = x + (1 + BEYOND) * by;
        if (!is_grey(&row, x - BEYOND * by, a->grey, a->spread) || out < 0 || out >= b->width ||
            is_grey(&row, out, a->grey, a->spread))
            return false;
    }
    return true;
}

/* Ends of the area along rows. */
static void find_ends(const SdmEdgeViews *views, const SdmEdgeBlock *b, const uint8_t *plain, Area *a)
{
    a->ends = 0;
    for (int k = 0; k < a->count; k++)
        for (int by = -1; by <= 1; by += 2) {
            const int i = a->pixel[k], x = i % b->width, y = i / b->width;
            if (x + by < 0 || x + by >= b->width || plain[i + by] == TAKEN || a->ends == a->ends_most ||
                !is_steep(views, b, a, x, y, by))
                continue;
            const ViewRow row = left_row(views, b, y);
            const float at = leaves_at(&row, x - by, by, a->grey, a->spread);
            if (!isnan(at))
                a->end[a->ends++] = (End){.number = k, .by = by, .left_px = at};
        }
}

/* ---- its place ---- */

/* The right view of the area at a place. */
typedef struct Look {
    int missed;  /* pixels that do not have one grey value, */
    int grey;    /* which is this one: glass has another one in each view */
    int no_edge; /* ends beyond which the right view has it, too */
} Look;

static int misfit(const Look *l)
{
    return l->missed + l->no_edge;
}

/* Column of the right view at which pixel k of the area lies. */
static int right_column(const SdmEdgeBlock *b, const Area *a, int k, int place)
{
    return a->pixel[k] % b->width + place + (int)lrintf(a->offset_px[k]);
}

static Look look_at(const SdmEdgeViews *views, const SdmEdgeBlock *b, const Area *a, int place)
{
    const int wide = 2 * a->spread / BIN + 1; /* bins */
    int32_t bin[BINS] = {0};
    int most = 0, now = 0;
    Look l = {.missed = 0};
    for (int k = 0; k < a->count; k++) {
        const ViewRow row = right_row(views, b, a->pixel[k] / b->width);
        const int x = right_column(b, a, k, place);
        if (is_known(&row, x))
            bin[sdm_clamp(row.value[x] / BIN + BINS / 2, 0, BINS - 1)]++;
    }
    for (int i = 0; i < BINS; i++) {
        now += bin[i] - (i >= wide ? bin[i - wide] : 0);
        l.grey = now > most ? (i + 1 - BINS / 2) * BIN - wide * BIN / 2 : l.grey;
        most = now > most ? now : most;
    }
    l.missed = a->count - most;
    for (int n = 0; n < a->ends; n++) {
        const End *const e = &a->end[n];
        const ViewRow row = right_row(views, b, a->pixel[e->number] / b->width);
        const int out = right_column(b, a, e->number, place) + (1 + BEYOND) * e->by;
        l.no_edge += !is_known(&row, out) || is_grey(&row, out, l.grey, a->spread);
    }
    return l;
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The mean of the most values that lie within VOTES_PX, and how many these are. */
static float densest(float *value, int count, int *near)
{
    int first = 0;
    double sum = 0.0;
    *near = 0;
    qsort(value, (size_t)count, sizeof *value, compare);
    for (int n = 0, end = 0; n < count; n++) {
        while (end < count && value[end] - value[n] <= VOTES_PX)
            end++;
        first = end - n > *near ? n : first;
        *near = end - n > *near ? end - n : *near;
    }
    for (int n = first; n < first + *near; n++)
        sum += (double)value[n];
    return *near > 0 ? (float)(sum / *near) : 0.0f;
}

/* The place from the edges of both views at the ends, where VOTES_LEAST agree; they: how many do.  Not a mean
 * of all: where the right view shows a wall of the roof's grey value, the edge found is the wall's foot. */
static float refine_place(const SdmEdgeViews *views, const SdmEdgeBlock *b, const Area *a, int place,
                          const Look *l, int *they)
{
    int count = 0;
    for (int n = 0; n < a->ends; n++) {
        const End *const e = &a->end[n];
        const ViewRow row = right_row(views, b, a->pixel[e->number] / b->width);
        const int x = right_column(b, a, e->number, place) - BEYOND * e->by;
        const float vote =
            leaves_at(&row, x, e->by, l->grey, a->spread) - e->left_px - a->offset_px[e->number];
        if (fabsf(vote - (float)place) <= VOTE_MOST) /* not NAN */
            a->vote_px[count++] = vote;
    }
    const float at = densest(a->vote_px, count, they);
    return *they >= VOTES_LEAST ? at : (float)place;
}

/* The label that fits best, of equal ones the middle; apart: how much worse others fit. */
static int best_label(const SdmEdgeViews *views, const Look *look, int *apart)
{
    int best = 0;
    for (int l = 0; l < views->labels; l++)
        best = misfit(&look[l]) < misfit(&look[best]) ? l : best;
    int last = best;
    while (last + 1 < views->labels && misfit(&look[last + 1]) == misfit(&look[best]))
        last++;
    best = (best + last) / 2;
    *apart = INT_MAX;
    for (int l = 0; l < views->labels; l++) {
        const int more = misfit(&look[l]) - misfit(&look[best]);
        *apart = abs(l - best) > APART_PX && more < *apart ? more : *apart;
    }
    return best;
}

/* The one place at which the area is seen, px; false: there is none, or more. */
static bool find_place(const SdmEdgeViews *views, const SdmEdgeBlock *b, const Area *a, Look *look,
                       float *place, int *best_misfit)
{
    int apart, votes;
    for (int l = 0; l < views->labels; l++)
        look[l] = look_at(views, b, a, views->first + l);
    const int best = best_label(views, look, &apart);
    const Look *const found = &look[best];
    *best_misfit = misfit(found);
    if (best == 0 || best == views->labels - 1 || (float)found->missed > MISS_MOST * (float)a->count ||
        (float)found->no_edge > NO_EDGE_MOST * (float)a->ends ||
        (float)apart < APART_LEAST * (float)a->ends || apart < misfit(found))
        return false;
    *place = refine_place(views, b, a, views->first + best, found, &votes);
    return votes >= VOTES_LEAST || (apart >= a->ends && apart < INT_MAX);
}

/* Its matches, if any, are of noise. */
static void set_area(const Area *a, float place, int missed, SdmEdgeBlock *b)
{
    for (int k = 0; k < a->count; k++) {
        const int i = a->pixel[k];
        b->place_px[i] = place + a->offset_px[k];
        b->flags[i] = SDM_QA_VALID | SDM_QA_FILLED;
        b->score[i] = (uint8_t)(250 - 250 * (missed < a->count ? missed : a->count) / a->count);
    }
}

static void place_area(const SdmEdgeViews *views, Area *a, Look *look, SdmEdgeBlock *b)
{
    float place[2];
    int best[2];
    bool found[2];
    for (int level = 0; level < 2; level++) {
        set_offsets(views, b, level, a);
        found[level] = find_place(views, b, a, look, &place[level], &best[level]);
    }
    const int level = best[1] <= best[0];
    if (!level)
        set_offsets(views, b, false, a);
    if (found[level])
        set_area(a, place[level], best[level], b);
}

SdmStatus sdm_plain_areas(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)b->width * (size_t)b->height;
    uint8_t *plain = NULL;
    Look *look = NULL;
    Area a = {.pixel = NULL, .ends_most = (int)(n / 2) + 1}; /* hardly one has more */
    TRY(SDM_ALLOC_RAW(ctx, "areas without texture", SDM_ARRAY(plain, n), SDM_ARRAY(a.pixel, n),
                      SDM_ARRAY(a.offset_px, n), SDM_ARRAY(a.end, (size_t)a.ends_most),
                      SDM_ARRAY(a.vote_px, (size_t)a.ends_most), SDM_ARRAY(look, (size_t)views->labels)));
    TRY(find_plain(ctx, views, b, plain));
    for (int i = 0; i < (int)n; i++) {
        if (plain[i] != 1)
            continue;
        take_area(views, b, i, plain, &a);
        if (a.count < AREA_LEAST || !a.is_noise)
            continue;
        find_ends(views, b, plain, &a);
        if (a.ends >= ENDS_LEAST)
            place_area(views, &a, look, b);
    }
done:
    SDM_FREE(&plain, &look, &a.pixel, &a.offset_px, &a.end, &a.vote_px);
    return st;
}
