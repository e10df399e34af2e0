/* Pixels that show a wall or ground that the right view does not see, with the place of the roof beside them
 * -> no match. */
// SPDX-License-Identifier: Apache-2.0
#include "core/math.h"
#include "matching/edge_filters.h"

#include <math.h>
#include <stdlib.h>

#define WALL_STEP_PX 3.0f    /* least parallax between the top of a wall and its foot */
#define CARRIED_STEP_PX 4.0f /* where a roof is carried over its edge; natural ground has less */
#define SAME_ROOF_PX 2.0f    /* most between the places of a roof at both sides of its edge */
#define WALL_LEAST_PX 2.0f   /* narrower walls hold no pixel of their own */
#define WALL_MARGIN 1.5f  /* x the width that follows from the camera: the edge's direction is uncertain, */
#define WALL_BLUR_PX 2.5f /* and edges of the image are blurred */
enum {
    EDGE_LEVEL = 130,    /* step of the left view, of 12 bits, that is an edge */
    ROOF_LEVEL = 195,    /* the same, of an edge that is a roof's where it has no wall */
    CARRIED_LEVEL = 400, /* the same, of an edge that a roof is carried over */
    EDGE_REACH = 40,     /* px: edges further off do not count */
    PEAK = 8,            /* px: an edge's slope is no wider */
    GAP_MOST = 64,       /* px between the surfaces of a step: as gaps that are filled (fill_hidden.c) */
    PLAIN = 4,           /* px behind a surface's end that are looked at */
    CARRIED_PX = 16,     /* by which windows and paths carry a roof over its edge, at most */
    STEEPER = 2,         /* x the edges at a surface's end: the true end */
    LIKE_GROUND = 2      /* x nearer to the ground's grey value than to the roof's */
};

/* A row or a column of the block: index of its first pixel, and from pixel to pixel, in the block's arrays
 * and in the left view; `across`: to the next line of the view. */
typedef struct Line {
    const SdmEdgeBlock *b;
    size_t first, step;
    const int16_t *view;
    ptrdiff_t view_step, across;
    int count;
    const float *slant; /* of walls: along the line, across it */
} Line;

static size_t index_of(const Line *l, int i)
{
    return l->first + (size_t)i * l->step;
}

static bool is_valid(const Line *l, int i)
{
    return l->b->flags[index_of(l, i)] & SDM_QA_VALID;
}

static float place(const Line *l, int i)
{
    return l->b->place_px[index_of(l, i)];
}

/* Twice the slope of the left view at pixel i, mean of three lines. */
static int slope(const Line *l, int i)
{
    const int16_t *const p = l->view + i * l->view_step;
    int sum = 0;
    for (int k = -1; k <= 1; k++)
        sum += p[k * l->across + l->view_step] - p[k * l->across - l->view_step];
    return abs(sum) / 3;
}

static bool is_edge(const Line *l, int i)
{
    return slope(l, i) >= 2 * EDGE_LEVEL;
}

/* The first edge from pixel i on in the direction `by`, at its steepest pixel; -1: none is near. */
static int find_edge(const Line *l, int i, int by)
{
    const int end = i + by * EDGE_REACH;
    while (i != end && i >= 1 && i + 1 < l->count && !is_edge(l, i))
        i += by;
    if (i == end || i < 1 || i + 1 >= l->count)
        return -1;
    for (int k = 0; k < PEAK && i > 1 && i + 2 < l->count && slope(l, i + by) > slope(l, i); k++)
        i += by;
    return i;
}

/* Width along the line of the wall below the edge at pixel i, in the direction `by`; step_px: parallax
 * between its top and its foot.  Negative: the left view sees the wall's other side.  The edge runs across
 * the gradient n of the view, so the wall is slant . n / n_along wide. */
static float wall_width(const Line *l, int i, int by, float step_px)
{
    const int16_t *const p = l->view + i * l->view_step;
    const ptrdiff_t a = l->view_step, c = l->across;
    const float along = (float)(2 * (p[a] - p[-a]) + p[a + c] - p[c - a] + p[a - c] - p[-a - c]),
                across = (float)(2 * (p[c] - p[-c]) + p[c + a] - p[a - c] + p[c - a] - p[-a - c]);
    return along == 0.0f ? 0.0f : (float)by * step_px * (l->slant[0] + l->slant[1] * across / along);
}

/* Does the view show no edge where a surface ends, at pixel i, within the gap behind it? */
static bool ends_plain(const Line *l, int i, int by, int gap)
{
    for (int k = -1; k <= gap && k <= PLAIN; k++) {
        const int x = i + k * by;
        if (x < 1 || x + 1 >= l->count || is_edge(l, x))
            return false;
    }
    return true;
}

/* Sample of the view at pixel i or, off the block, at its border. */
static int grey(const Line *l, int i)
{
    return l->view[sdm_clamp(i, 0, l->count - 1) * l->view_step];
}

/* Blur and overshoot beside an edge of the view move with the roof, so that ground beside it matches at the
 * roof's place.  The edge before pixel top that is much steeper than those at top, where the pixels between
 * both look like the ground; -1: none. */
static int find_steeper(const Line *l, int top, int by, int gap)
{
    int here = 0, steepest = 2 * CARRIED_LEVEL, edge = -1, count = 0;
    long sum = 0;
    for (int k = -CARRIED_PX; k <= gap && k <= PLAIN; k++) {
        const int x = top + k * by, rise = x >= 1 && x + 1 < l->count ? slope(l, x) : 0;
        if (k >= -1) {
            here = rise > here ? rise : here;
        } else if (rise >= steepest) { /* the last one of these */
            steepest = rise;
            edge = x;
        }
    }
    if (edge < 0 || steepest < STEEPER * here)
        return -1;
    for (int i = edge + 2 * by; (top - i) * by >= 0; i += by, count++)
        sum += grey(l, i);
    const long ground = grey(l, top + (gap + 1) * by), roof = grey(l, edge - 2 * by);
    return LIKE_GROUND * labs(sum - count * ground) <= labs(sum - count * roof) ? edge : -1;
}

/* The higher surface of a step ends at pixel top, the lower one begins `gap` pixels further in the direction
 * `by`; hidden_px of its ground are hidden from the right view.  Where no edge of the left view is there, the
 * roof ends at the edge before it, and its wall or hidden ground follows. */
static void mark_wall(const Line *l, int top, int by, int gap, float step_px, float hidden_px, uint8_t *wall)
{
    const int steeper = step_px >= CARRIED_STEP_PX ? find_steeper(l, top, by, gap) : -1,
              edge = steeper >= 0                  ? steeper
                     : ends_plain(l, top, by, gap) ? find_edge(l, top - by, -by)
                                                   : -1,
              before = edge - by;
    if (edge < 0 || before < 0 || before >= l->count || !is_valid(l, before) ||
        fabsf(place(l, before) - place(l, top)) > SAME_ROOF_PX)
        return;
    const float gone_px = slope(l, edge) >= 2 * ROOF_LEVEL ? hidden_px : 0.0f,
                width = WALL_MARGIN * fmaxf(wall_width(l, edge, by, step_px), gone_px);
    const int carried = abs(top - edge), most = !(width >= WALL_LEAST_PX) ? 0
                                                : width < (float)l->count ? (int)(width + WALL_BLUR_PX)
                                                                          : l->count;
    if (steeper < 0 && carried > most)
        return;
    const int foot = find_edge(l, top + by, by), to_foot = foot >= 0 ? abs(foot - edge) : most,
              wall_px = (to_foot < most ? to_foot : most) - 1,
              count = steeper >= 0 && carried > wall_px ? carried : wall_px;
    for (int k = 1, i = edge + by; k <= count && i >= 0 && i < l->count; k++, i += by)
        wall[index_of(l, i)] = 1;
}

static void mark_walls(const Line *l, bool first_is_high, uint8_t *wall)
{
    for (int i = 0, before = -1; i < l->count; i++) {
        if (!is_valid(l, i))
            continue;
        const float falls_px = before < 0 ? 0.0f : place(l, before) - place(l, i);
        if (fabsf(falls_px) >= WALL_STEP_PX && i - before <= GAP_MOST) {
            const bool is_before = (falls_px > 0.0f) == first_is_high;
            mark_wall(l, is_before ? before : i, is_before ? 1 : -1, i - before, fabsf(falls_px),
                      l->step == 1 && falls_px > 0.0f ? falls_px : 0.0f, wall);
        }
        before = i;
    }
}

SdmStatus sdm_drop_walls(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b)
{
    const bool first_is_high = !(views->px_per_m < 0.0f);
    const size_t w = (size_t)b->width, h = (size_t)b->height;
    const float column[2] = {views->slant[1], views->slant[0]};
    SDM_OWNED uint8_t *wall = NULL;
    PASS(sdm_alloc(ctx, &wall, w * h, 1, "walls"));
    for (size_t y = 1; y + 1 < h; y++) {
        const Line l = {b, y * w,         1,        views->left + (ptrdiff_t)y * views->stride,
                        1, views->stride, b->width, views->slant};
        mark_walls(&l, first_is_high, wall);
    }
    for (size_t x = 1; x + 1 < w; x++) {
        const Line l = {b, x, w, views->left + x, views->stride, 1, b->height, column};
        mark_walls(&l, first_is_high, wall);
    }
    for (size_t i = 0; i < w * h; i++)
        b->flags[i] = wall[i] ? SDM_QA_FOLD : b->flags[i];
    return SDM_OK;
}
