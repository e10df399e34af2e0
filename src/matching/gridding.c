/* Stage 8: points -> cells. Patches of lattice cells are sorted into sub-blocks of the DEM, each summed by
 * one thread. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/gridding.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUB_COLS = 64,
    SUB_ROWS = 128, /* cells of a sub-block */
    SIDE =
        16, /* pixels a side of a patch, at most: all of a patch is placed for each sub-block that it meets */
    UNIT = SDM_GRIDDING_UNIT,
    HEIGHT_UNIT = SDM_GRIDDING_HEIGHT_UNIT,
    ONE_SIDE = INT32_MAX
};

#define SIDE_SIGMA_PX 1.3 /* of the points that tell which side of a step a cell is on, pixels of the frame */
#define SIDE_NOISE 10.0   /* added to the variances: levels of 12 bits */

/* ---- weights, and patches of the lattice in cells of the grid ---- */

/* Weights of a Gaussian of sigma cells by distance; returns its radius, 1/256 cell. */
static int fill_table(double sigma, int32_t table[SDM_GRIDDING_TABLE])
{
    const int radius = (int)(2.5 * sigma * SDM_GRIDDING_UNIT);
    for (int i = 0; i <= radius && i < SDM_GRIDDING_TABLE; i++) {
        const double x = (double)i / SDM_GRIDDING_UNIT / sigma;
        table[i] = (int32_t)lrint(4096.0 * exp(-0.5 * x * x));
    }
    return radius;
}

void sdm_gridding_setup(const SdmGridding *g, const SdmWindow *win, SdmGriddingSetup *w)
{
    w->g = g;
    w->win = *win;
    const double most = SDM_GRIDDING_MAX_REACH / 2.5;
    const double sigma = fmin(fmax(g->sharpest, 0.5 * g->gsd_m / g->spacing_m), most); /* cells */
    const double wider = fmin(fmax(sigma, SIDE_SIGMA_PX * g->gsd_m / g->spacing_m), most),
                 side_sigma = g->step_m > 0.0 ? wider : sigma;
    w->radius = fill_table(sigma, w->table);
    w->side_radius = fill_table(side_sigma, w->side_table);
    w->reach = (w->side_radius + SDM_GRIDDING_UNIT / 2) / SDM_GRIDDING_UNIT + 1;
    const double full =
        2.0 * 3.14159265358979 * sigma * sigma * (g->spacing_m / g->gsd_m) * (g->spacing_m / g->gsd_m);
    const double least = g->hidden_px == 0 ? 0.25 : g->hidden_px < SDM_HIDDEN_ALL ? 0.16 : 0.001;
    w->least = (int64_t)(least * full * 16384.0);
    w->i0 = (win->u0 - g->lattice->u0) / g->lattice->step;
    w->j0 = (win->v0 - g->lattice->v0) / g->lattice->step;
    w->nu = (win->w + g->lattice->step - 1) / g->lattice->step;
    w->nv = (win->h + g->lattice->step - 1) / g->lattice->step;
}

void sdm_gridding_patch(const SdmGriddingSetup *w, int ci, int cj, SdmGriddingPatch *p)
{
    const SdmLattice *const lat = w->g->lattice;
    const SdmGridding *const grid = w->g;
    const SdmNode *const n = &lat->node[(size_t)(w->j0 + cj) * (size_t)lat->nu + (size_t)(w->i0 + ci)];
    const SdmNode *const corner[4] = {n, n + 1, n + lat->nu, n + lat->nu + 1};
    for (int k = 0; k < 2; k++) {
        const double sign = k ? -1.0 : 1.0, origin = k ? grid->y0 : grid->x0;
        p->base[k] = (int64_t)floor(sign * (n->ground[k] - origin) / grid->spacing);
        for (int i = 0; i < 4; i++)
            p->a[k][i] = (float)(sign * (corner[i]->ground[k] - origin) / grid->spacing - (double)p->base[k]);
        p->b[k] = (float)(sign * (double)n->ground_b[k] / grid->spacing);
        p->c[k] = (float)(sign * (double)n->ground_c[k] / grid->spacing);
    }
    const int64_t u = lat->u0 + (w->i0 + ci) * lat->step - w->win.u0,
                  v = lat->v0 + (w->j0 + cj) * lat->step - w->win.v0;
    p->u_node = (double)u;
    p->v_node = (double)v;
    p->u0 = (int)(u < 0 ? 0 : u);
    p->v0 = (int)(v < 0 ? 0 : v);
    p->u1 = (int)(u + lat->step < w->win.w ? u + lat->step : w->win.w);
    p->v1 = (int)(v + lat->step < w->win.h ? v + lat->step : w->win.h);
}

/* ---- sums of cells ---- */

typedef SdmGriddingPatch Patch;

typedef struct Cell { /* sums of one cell: a cache line */
    int64_t weight, height, square, score, gap, filled, image_weight, image; /* as SdmSpread */
} Cell;

typedef struct Side {                   /* sums of the points around a cell on one side of its mean */
    int64_t weight, seen, grey, square; /* of all; of those of the left view, and of their values */
} Side;

typedef struct Sums { /* of a sub-block */
    Cell cell[SUB_COLS * SUB_ROWS];
    int32_t count[SUB_COLS * SUB_ROWS], refused[SUB_COLS * SUB_ROWS]; /* pixels: with a height; too steep to
                                                                       * be filled */
    uint16_t reasons[SUB_COLS * SUB_ROWS];
    bool second; /* the points come for the second time, for `upper`; what follows is in use then */
    int32_t mean[SUB_COLS * SUB_ROWS]; /* height, 1/256 m, of a cell that has two sides, else ONE_SIDE */
    uint64_t steps[SUB_ROWS];          /* of a row: a bit for each of these cells */
    Cell upper[SUB_COLS * SUB_ROWS];   /* of the points above the mean, in these cells */
    Side side[SUB_COLS * SUB_ROWS][2]; /* of these cells, over a wider window */
} Sums;

typedef struct Work {
    SdmGriddingSetup s;
    const SdmFineResult *fine;
    SdmBlock *block;
    uint64_t three[256]; /* weights, as SdmSpread */
    int32_t reach;       /* 1/256 cell: no point counts for a cell that is further off on an axis */
    int subs_x, subs_y;
    int split, nu, nv; /* patches a side of a lattice cell; of the window */
} Work;

SdmStatus sdm_block_alloc(SdmContext *ctx, int64_t col0, int64_t row0, int64_t w, int64_t h, SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)(w * h);
    *b = (SdmBlock){.col0 = col0, .row0 = row0, .w = w, .h = h};
    TRY(SDM_ALLOC_RAW(ctx, "a block of the DEM", SDM_ARRAY(b->height_m, n), SDM_ARRAY(b->score, n),
                      SDM_ARRAY(b->ray_error_m, n), SDM_ARRAY(b->spread_m, n), SDM_ARRAY(b->ortho, n),
                      SDM_ARRAY(b->count, n), SDM_ARRAY(b->mask, n)));
done:
    if (st != SDM_OK)
        sdm_block_free(b);
    return st;
}

void sdm_block_free(SdmBlock *b)
{
    SDM_FREE(&b->height_m, &b->score, &b->ray_error_m, &b->spread_m, &b->ortho, &b->count, &b->mask);
}

/* Patch i of the window: a part of a lattice cell. */
static void take_patch(const Work *w, int i, Patch *p)
{
    const int ci = i % w->nu, cj = i / w->nu, step = w->s.g->lattice->step;
    sdm_gridding_patch(&w->s, ci / w->split, cj / w->split, p);
    const int u = (int)p->u_node + ci % w->split * SIDE, v = (int)p->v_node + cj % w->split * SIDE;
    const int u1 = step < SIDE ? u + step : u + SIDE, v1 = step < SIDE ? v + step : v + SIDE;
    p->u0 = p->u0 > u ? p->u0 : u;
    p->v0 = p->v0 > v ? p->v0 : v;
    p->u1 = p->u1 < u1 ? p->u1 : u1;
    p->v1 = p->v1 < v1 ? p->v1 : v1;
}

/* Pixels of row v of a patch, from u on, at heights h_m; their positions from the corner of the grid's cell
 * `from`. */
static SdmGroundRow ground_row(const Work *w, const Patch *p, int u, int v, const float *h_m,
                               const int64_t from[2])
{
    const SdmGridding *const g = w->s.g;
    SdmGroundRow r = {.h_m = h_m,
                      .inv = 1.0f / (float)g->lattice->step,
                      .height0_m = (float)g->lattice->height0_m,
                      .u = u - (int)p->u_node,
                      .v = v - (int)p->v_node,
                      .middle = g->middle,
                      .valid = SDM_QA_VALID,
                      .filled = SDM_QA_FILLED};
    memcpy(r.a, p->a, sizeof r.a);
    for (int k = 0; k < 2; k++) {
        r.b[k] = p->b[k];
        r.c[k] = p->c[k];
        r.corner[k] = (int32_t)((p->base[k] - from[k]) * UNIT); /* the patch lies near `from`, so 32 bits hold
                                                                 * it */
    }
    return r;
}

/* Pixels of the window from (u, v) on. */
static SdmGroundRow window_row(const Work *w, const Patch *p, int u, int v, const int64_t from[2])
{
    const SdmFineResult *const f = w->fine;
    const size_t first = (size_t)v * (size_t)f->surface.win.w + (size_t)u;
    SdmGroundRow r = ground_row(w, p, u, v, f->surface.h_m + first, from);
    r.ray_error_px = f->ray_error_px + first;
    r.flags = f->surface.flags + first;
    r.score = f->surface.score + first;
    r.left = f->left + first;
    return r;
}

/* Move on to the pixels below. */
static void next_row(SdmGroundRow *r, int pitch)
{
    r->v++;
    r->h_m += pitch;
    r->ray_error_px += pitch;
    r->flags += pitch;
    r->score += pitch;
    r->left += pitch;
}

/* The position of a pixel at height h, 1/256 cell from the grid's corner. */
static void place(const Work *w, const Patch *p, int u, int v, float h, int64_t out[2])
{
    static const uint16_t no_flags = 0;
    static const uint8_t no_score = 0;
    static const int16_t no_left = SDM_PIXEL_NODATA;
    SdmGroundRow r = ground_row(w, p, u, v, &h, p->base);
    SdmSpreadPoint point;
    r.ray_error_px = &h; /* not looked at */
    r.flags = &no_flags;
    r.score = &no_score;
    r.left = &no_left;
    w->s.g->kernels->ground_points(&r, 1, &point);
    out[0] = p->base[0] * UNIT + point.x;
    out[1] = p->base[1] * UNIT + point.y;
}

/* Cells (of the block) that a patch may touch, with one pixel of slack; false when none. */
static bool patch_cells(const Work *w, const Patch *p, int64_t box[4])
{
    const SdmSurface *const s = &w->fine->surface;
    float lo = INFINITY, hi = -INFINITY;
    /* ground between a pixel and the next one may be added */
    const int more = w->s.g->hidden_px > 0, u1 = p->u1 + more < s->win.w ? p->u1 + more : s->win.w,
              v1 = p->v1 + more < s->win.h ? p->v1 + more : s->win.h;
    for (int v = p->v0; v < v1; v++)
        for (int u = p->u0; u < u1; u++) {
            const float h = s->h_m[(size_t)v * (size_t)s->win.w + (size_t)u];
            lo = h < lo ? h : lo;
            hi = h > hi ? h : hi;
        }
    if (!(lo <= hi))
        return false;
    box[0] = box[1] = INT64_MAX;
    box[2] = box[3] = INT64_MIN;
    for (int i = 0; i < 8; i++) {
        int64_t at[2];
        place(w, p, i & 1 ? p->u1 : p->u0 - 1, i & 2 ? p->v1 : p->v0 - 1, i & 4 ? hi : lo, at);
        for (int k = 0; k < 2; k++) {
            box[k] = at[k] < box[k] ? at[k] : box[k];
            box[2 + k] = at[k] > box[2 + k] ? at[k] : box[2 + k];
        }
    }
    const int64_t first[2] = {w->block->col0, w->block->row0}, size[2] = {w->block->w, w->block->h};
    for (int k = 0; k < 2; k++) {
        box[k] = ((box[k] - w->reach) >> 8) - first[k];
        box[2 + k] = ((box[2 + k] + w->reach) >> 8) - first[k];
        if (box[2 + k] < 0 || box[k] >= size[k])
            return false;
        box[k] = box[k] < 0 ? 0 : box[k];
        box[2 + k] = box[2 + k] >= size[k] ? size[k] - 1 : box[2 + k];
    }
    return true;
}

/* ---- cells at a step: two sides ---- */

/* Variance of the heights, (1/256 m)^2. */
static double variance_of(const Cell *c, int32_t middle)
{
    const double weight = (double)c->weight, apart = (double)(c->height - c->weight * middle) / weight;
    return (double)c->square * 256.0 / weight - apart * apart;
}

/* Cells that hold points of both sides of a step; returns whether there are any. */
static bool find_steps(const Work *w, int cols, int rows, Sums *s)
{
    const double limit = w->s.g->step_m * HEIGHT_UNIT / 2.0; /* of the standard deviation */
    bool any = false;
    if (!(limit > 0.0))
        return false;
    memset(s->steps, 0, sizeof s->steps);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < cols; x++) {
            const size_t i = (size_t)(y * SUB_COLS + x);
            const Cell *const cell = &s->cell[i];
            s->mean[i] = ONE_SIDE;
            if (cell->weight < w->s.least || !(variance_of(cell, w->s.g->middle) > limit * limit))
                continue;
            s->mean[i] = (int32_t)floor((double)cell->height / (double)cell->weight);
            s->steps[y] |= (uint64_t)1 << x;
            any = true;
        }
    if (any) {
        memset(s->upper, 0, sizeof s->upper);
        memset(s->side, 0, sizeof s->side);
    }
    return any;
}

/* Cells of the row that lie at a step and whose centres are within the radius of `at`, as bits. */
static uint64_t near_steps(uint64_t row, int32_t at, int radius)
{
    const int first = (at - radius + UNIT / 2 - 1) >> 8, last = (at + radius - UNIT / 2) >> 8;
    if (last < 0 || first >= SUB_COLS || first > last)
        return 0;
    row &= first > 0 ? ~(uint64_t)0 << first : ~(uint64_t)0;
    return row & (last < SUB_COLS - 1 ? ((uint64_t)2 << last) - 1 : ~(uint64_t)0);
}

static void add_to_side(const SdmSpreadPoint *p, int64_t weight, Side *to)
{
    to->weight += weight;
    to->seen += weight * p->value[6];
    to->grey += weight * p->value[7];
    to->square += weight * p->value[7] * p->value[7];
}

/* Add a point to the sides of the cells around it. */
static void add_sides(const Work *w, const SdmSpread *spread, const SdmSpreadPoint *p, Sums *s)
{
    const int radius = w->s.side_radius, first = (p->y - radius + UNIT / 2 - 1) >> 8,
              last = (p->y + radius - UNIT / 2) >> 8;
    for (int j = first > 0 ? first : 0; j <= last && j < spread->rows; j++)
        for (uint64_t row = near_steps(s->steps[j], p->x, radius); row; row &= row - 1) {
            const int i = __builtin_ctzll(row), at = j * SUB_COLS + i, dx = abs(i * UNIT + UNIT / 2 - p->x),
                      dy = abs(j * UNIT + UNIT / 2 - p->y);
            const bool is_upper = p->value[1] > s->mean[at];
            add_to_side(p, w->s.side_table[dx] * w->s.side_table[dy] >> 10, &s->side[at][is_upper]);
            if (!is_upper || dx > spread->radius || dy > spread->radius)
                continue;
            const int64_t weight = spread->table[dx] * spread->table[dy] >> 10;
            Cell *const to = &s->upper[at];
            to->weight += weight;
            to->height += weight * p->value[1];
            to->square += weight * (((int64_t)p->value[2] * p->value[2] + 128) >> 8);
            to->score += weight * p->value[3];
            to->gap += weight * p->value[4];
            to->filled += weight * p->value[5];
        }
}

static void add_points(const Work *w, const SdmSpread *spread, const SdmSpreadPoint *p, int count, Sums *s)
{
    if (!s->second)
        w->s.g->kernels->spread_points(spread, p, count);
    for (int i = 0; i < count && s->second; i++)
        if (p[i].value[0])
            add_sides(w, spread, &p[i], s);
}

/* Does the cell belong to its upper side?  The points around say so, and the grey value that the left view
 * has there by its place between the sides' means, the more these differ beyond the sides' variances.  So
 * edges lie within a part of a pixel. */
static bool is_upper(const Cell *all, const Side side[2])
{
    double mean[2], variance = SIDE_NOISE * SIDE_NOISE;
    double upper = (double)side[1].weight / (double)(side[0].weight + side[1].weight) - 0.5;
    for (int k = 0; k < 2 && side[k].seen > 0; k++) {
        const double seen = (double)side[k].seen;
        mean[k] = (double)side[k].grey / seen;
        variance += (double)side[k].square / seen - mean[k] * mean[k];
    }
    if (side[0].seen > 0 && side[1].seen > 0 && all->image_weight > 0) {
        const double grey = (double)all->image / (double)all->image_weight, apart = mean[1] - mean[0],
                     share = (grey - 0.5 * (mean[0] + mean[1])) / (apart == 0.0 ? 1.0 : apart);
        upper += fmax(fmin(share, 1.0), -1.0) * apart * apart / variance;
    }
    return upper >= 0.0;
}

/* The points of a cell that are on its own side. */
static Cell own_side(const Sums *s, size_t i)
{
    const Cell all = s->cell[i], upper = s->upper[i];
    if (!s->second || s->mean[i] == ONE_SIDE)
        return all;
    if (is_upper(&all, s->side[i]))
        return upper;
    return (Cell){.weight = all.weight - upper.weight,
                  .height = all.height - upper.height,
                  .square = all.square - upper.square,
                  .score = all.score - upper.score,
                  .gap = all.gap - upper.gap,
                  .filled = all.filled - upper.filled};
}

/* ---- ground that a step hides from the left view ---- */

enum { LEAST_HIDDEN = 2 /* px of ground between two neighbours */ };

/* floor(x + 1/2), of numbers that 32 bits hold */
static inline int32_t round_half_up(float x)
{
    const float y = x + 0.5f;
    const int32_t i = (int32_t)y;
    return i - ((float)i > y);
}

/* Request of add_hidden(). */
typedef struct Hidden {
    const Work *w;
    const SdmSpread *spread;
    Sums *sums;
    int64_t from[2]; /* of the points: the grid's cell that is the sub-block's corner */
    float pixel;     /* of ground, 1/256 cell */
} Hidden;

/* Two neighbours of the left view, both with a height. */
typedef struct Neighbours {
    SdmSpreadPoint at[2];
    float h_m[2];
    float along[2]; /* where the second one lies at the first one's height: one pixel of ground */
} Neighbours;

/* Ground between two neighbours that lie apart is hidden behind the higher one, and as high as the lower
 * one. */
static void add_hidden(const Hidden *g, const Neighbours *n)
{
    const float dx = (float)(n->at[1].x - n->at[0].x), dy = (float)(n->at[1].y - n->at[0].y),
                forward = dx * n->along[0] + dy * n->along[1], length = sqrtf(dx * dx + dy * dy);
    const int pixels = (int)(length / g->pixel);
    SdmSpreadPoint point[SDM_HIDDEN_ALL];
    if (!(forward > 0.0f) || pixels < LEAST_HIDDEN || pixels > g->w->s.g->hidden_px)
        return;
    const int low = n->h_m[0] > n->h_m[1];
    const float step[2] = {(low ? -dx : dx) / length * g->pixel, (low ? -dy : dy) / length * g->pixel};
    for (int k = 0; k + 1 < pixels; k++) { /* from the lower one; none beside the higher one */
        point[k] = n->at[low];
        point[k].x += round_half_up(step[0] * (float)(k + 1));
        point[k].y += round_half_up(step[1] * (float)(k + 1));
        point[k].value[5] = point[k].value[0];     /* filled */
        point[k].value[6] = point[k].value[7] = 0; /* nothing of the left view */
    }
    add_points(g->w, g->spread, point, pixels - 1, g->sums);
}

/* Add the points of row v of a patch: between each pixel and the next one of the row, and the one below. */
static void add_hidden_row(const Hidden *g, const Patch *p, int v)
{
    const SdmSurface *const s = &g->w->fine->surface;
    const int across = p->u1 < s->win.w, count = p->u1 - p->u0 + across, below = v + 1 < s->win.h;
    const float inv = 1.0f / (float)g->w->s.g->lattice->step;
    SdmSpreadPoint point[2][SIDE + 1];
    SdmGroundRow row[2];
    for (int down = 0; down <= below; down++) {
        row[down] = window_row(g->w, p, p->u0, v + down, g->from);
        g->w->s.g->kernels->ground_points(&row[down], count, point[down]);
    }
    for (int k = 0; k < p->u1 - p->u0; k++)
        for (int down = 0; down < 2; down++) {
            const int to = k + !down, corner = down ? 2 : 1;
            if (!(down ? below : to < count) || !(row[0].flags[k] & row[down].flags[to] & SDM_QA_VALID))
                continue;
            const Neighbours n = {
                .at = {point[0][k], point[down][to]},
                .h_m = {row[0].h_m[k], row[down].h_m[to]},
                .along = {(p->a[0][corner] - p->a[0][0]) * inv, (p->a[1][corner] - p->a[1][0]) * inv}};
            add_hidden(g, &n);
        }
}

/* Count the pixels of each cell. */
static void count_pixel(const SdmSpreadPoint *p, uint16_t flags, Sums *s)
{
    const uint16_t reasons = (uint16_t)(flags & ~(SDM_QA_VALID | SDM_QA_FILLED));
    const size_t c = (size_t)p->y / UNIT * SUB_COLS + (size_t)p->x / UNIT;
    if ((flags & (SDM_QA_VALID | SDM_PIXEL_MASKED)) == SDM_QA_VALID)
        s->count[c]++;
    else if (flags & (SDM_QA_FILLED | SDM_PIXEL_MASKED))
        s->refused[c]++;
    if (reasons)
        s->reasons[c] |= reasons;
}

/* Do all points lie in cells of the sub-block? */
static bool all_inside(const SdmSpreadPoint *p, int n, int cols, int rows)
{
    const uint32_t right = (uint32_t)(cols * UNIT - 1), bottom = (uint32_t)(rows * UNIT - 1);
    uint32_t signs = 0; /* set: below 0 or beyond the last */
    for (int k = 0; k < n; k++) {
        const uint32_t x = (uint32_t)p[k].x, y = (uint32_t)p[k].y;
        signs |= x | y | (right - x) | (bottom - y);
    }
    return !(signs >> 31);
}

/* Leave out the points that reach none of the sub-block's cells, and count those in it; returns how many are
 * left. */
static int take_points(const Work *w, const uint16_t *flags, int run, int cols, int rows,
                       SdmSpreadPoint *point, Sums *s)
{
    const int32_t reach = w->reach, right = cols * UNIT, bottom = rows * UNIT;
    int count = 0;
    for (int k = 0; k < run; k++) {
        const int32_t x = point[k].x, y = point[k].y;
        if (x < -reach || y < -reach || x > right + reach || y > bottom + reach)
            continue;
        if (!s->second && x >= 0 && y >= 0 && x < right && y < bottom)
            count_pixel(&point[k], flags[k], s);
        if (count < k)
            point[count] = point[k];
        count++;
    }
    return count;
}

static void add_patch(const Work *w, const Patch *p, const int64_t from[2], int cols, int rows, Sums *s)
{
    const SdmSpread spread = {.cols = cols,
                              .rows = rows,
                              .pitch = SUB_COLS,
                              .radius = w->s.radius,
                              .table = w->s.table,
                              .three = w->three,
                              .cell = &s->cell[0].weight};
    SdmSpreadPoint point[SIDE * SIDE];
    const int run = p->u1 - p->u0, pitch = w->fine->surface.win.w;
    SdmGroundRow row = window_row(w, p, p->u0, p->v0, from);
    int count = 0;
    for (int v = p->v0; v < p->v1; v++) {
        SdmSpreadPoint *const at = point + count;
        if (v > p->v0)
            next_row(&row, pitch);
        w->s.g->kernels->ground_points(&row, run, at);
        const bool inside = all_inside(at, run, cols, rows);
        for (int k = 0; k < run && inside && !s->second; k++)
            count_pixel(&at[k], row.flags[k], s);
        count += inside ? run : take_points(w, row.flags, run, cols, rows, at, s);
    }
    const Hidden hidden = {
        w, &spread, s, {from[0], from[1]}, (float)(w->s.g->gsd_m / w->s.g->spacing_m) * (float)UNIT};
    for (int v = p->v0; v < p->v1 && w->s.g->hidden_px > 0; v++)
        add_hidden_row(&hidden, p, v);
    add_points(w, &spread, point, count, s);
}

/* The pixels of a patch lie in short rows of several rasters, which the processor does not prefetch. */
static void fetch_patch(const Work *w, const Patch *p)
{
    const SdmFineResult *const f = w->fine;
    for (int v = p->v0; v < p->v1; v++) {
        const size_t i = (size_t)v * (size_t)f->surface.win.w + (size_t)p->u0;
        for (int k = 0; k < SIDE; k += SIDE - 1) { /* two cache lines where the row begins inside one */
            __builtin_prefetch(f->surface.h_m + i + k);
            __builtin_prefetch(f->ray_error_px + i + k);
        }
        __builtin_prefetch(f->surface.flags + i);
        __builtin_prefetch(f->surface.score + i);
        __builtin_prefetch(f->left + i);
    }
}

static void finish_cell(const Work *w, const Sums *s, size_t i, SdmBlock *b, size_t out)
{
    const Cell *const cell = &s->cell[i], side = own_side(s, i);
    const bool valid = cell->weight >= w->s.least && s->refused[i] <= s->count[i];
    b->height_m[out] = b->score[out] = b->ray_error_m[out] = b->spread_m[out] = b->ortho[out] = NAN;
    b->count[out] = (uint16_t)(s->count[i] > 65535 ? 65535 : s->count[i]);
    if (cell->image_weight >= w->s.least)
        b->ortho[out] =
            (float)(((double)cell->image / (double)cell->image_weight - w->s.g->offset) / w->s.g->scale);
    if (!valid) {
        uint16_t mask = s->reasons[i];
        if (mask & SDM_PIXEL_MASKED)
            mask = (uint16_t)((mask & ~SDM_PIXEL_MASKED) | SDM_QA_MASKED);
        else if (!mask)
            mask = cell->image_weight > 0 ? SDM_QA_SPARSE : SDM_QA_OUTSIDE;
        b->mask[out] = mask;
        return;
    }
    const double weight = (double)side.weight, mean = (double)side.height / weight,
                 variance = variance_of(&side, w->s.g->middle);
    b->height_m[out] = (float)(mean / HEIGHT_UNIT);
    b->score[out] = (float)((double)side.score / weight / 250.0);
    b->ray_error_m[out] = (float)((double)side.gap / weight / 1024.0 * w->s.g->ray_error_m_per_px);
    b->spread_m[out] = variance > 0.0 ? (float)(sqrt(variance) / HEIGHT_UNIT) : 0.0f;
    b->mask[out] = (uint16_t)(SDM_QA_VALID | (2 * side.filled > side.weight ? SDM_QA_FILLED : 0));
}

static void add_patches(const Work *w, const int32_t *list, int64_t count, const int64_t corner[2], int cols,
                        int rows, Sums *s)
{
    Patch p, next;
    if (count > 0)
        take_patch(w, list[0], &next);
    for (int64_t k = 0; k < count; k++) {
        p = next;
        if (k + 1 < count) {
            take_patch(w, list[k + 1], &next);
            fetch_patch(w, &next);
        }
        add_patch(w, &p, corner, cols, rows, s);
    }
}

static void do_sub(const Work *w, int sub, const int32_t *list, int64_t begin, int64_t end, Sums *s)
{
    SdmBlock *const b = w->block;
    const int64_t x0 = (int64_t)(sub % w->subs_x) * SUB_COLS, y0 = (int64_t)(sub / w->subs_x) * SUB_ROWS,
                  corner[2] = {b->col0 + x0, b->row0 + y0};
    const int cols = (int)(b->w - x0 < SUB_COLS ? b->w - x0 : SUB_COLS),
              rows = (int)(b->h - y0 < SUB_ROWS ? b->h - y0 : SUB_ROWS);
    memset(s, 0, offsetof(Sums, mean));
    add_patches(w, list + begin, end - begin, corner, cols, rows, s);
    s->second = find_steps(w, cols, rows, s);
    if (s->second)
        add_patches(w, list + begin, end - begin, corner, cols, rows, s);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < cols; x++)
            finish_cell(w, s, (size_t)(y * SUB_COLS + x), b, (size_t)((y0 + y) * b->w + x0 + x));
}

/* Lists of the patches that each sub-block needs: counts first, then the lists, in raster order. */
static SdmStatus sort_patches(SdmContext *ctx, const Work *w, int64_t **begin_out, int32_t **list_out)
{
    const int subs = w->subs_x * w->subs_y, patches = w->nu * w->nv;
    SDM_OWNED int32_t *box = NULL,
                      *list = NULL; /* box: sub-blocks x0 y0 x1 y1 of each patch, x0 > x1: none */
    SDM_OWNED int64_t *begin = NULL;
    PASS(sdm_alloc(ctx, &box, (size_t)patches * 4, sizeof *box, "gridding boxes"));
    PASS(sdm_alloc(ctx, &begin, (size_t)subs + 2, sizeof *begin, "gridding lists"));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int i = 0; i < patches; i++) {
        Patch p;
        int64_t cells[4];
        take_patch(w, i, &p);
        const bool any = patch_cells(w, &p, cells);
        for (int k = 0; k < 4; k++)
            box[4 * i + k] = any ? (int32_t)(cells[k] / (k % 2 ? SUB_ROWS : SUB_COLS)) : (k < 2 ? 1 : 0);
    }
    for (int i = 0; i < patches; i++)
        for (int y = box[4 * i + 1]; y <= box[4 * i + 3]; y++)
            for (int x = box[4 * i]; x <= box[4 * i + 2]; x++)
                begin[y * w->subs_x + x + 2]++;
    for (int i = 2; i < subs + 2; i++)
        begin[i] += begin[i - 1];
    PASS(sdm_alloc(ctx, &list, (size_t)begin[subs + 1] + 1, sizeof *list, "gridding lists"));
    for (int i = 0; i < patches; i++)
        for (int y = box[4 * i + 1]; y <= box[4 * i + 3]; y++)
            for (int x = box[4 * i]; x <= box[4 * i + 2]; x++)
                list[begin[y * w->subs_x + x + 1]++] = i;
    *begin_out = begin;
    *list_out = list;
    begin = NULL;
    list = NULL;
    return SDM_OK;
}

SdmStatus sdm_gridding_run(SdmContext *ctx, const SdmGridding *g, const SdmFineResult *fine, SdmBlock *block)
{
    SDM_OWNED Work *w = NULL;
    SDM_OWNED Sums *sums = NULL;
    SDM_OWNED int64_t *begin = NULL;
    SDM_OWNED int32_t *list = NULL;
    const int threads = sdm_threads(ctx);
    SDM_STAGE(ctx, 8);
    PASS(sdm_alloc(ctx, &w, 1, sizeof *w, "gridding"));
    sdm_gridding_setup(g, &fine->surface.win, &w->s);
    sdm_spread_three(w->s.table, w->s.radius, w->three);
    w->fine = fine;
    w->block = block;
    w->reach = (w->s.radius > w->s.side_radius ? w->s.radius : w->s.side_radius) - UNIT / 2;
    w->subs_x = (int)((block->w + SUB_COLS - 1) / SUB_COLS);
    w->subs_y = (int)((block->h + SUB_ROWS - 1) / SUB_ROWS);
    w->split = (g->lattice->step + SIDE - 1) / SIDE;
    w->nu = w->s.nu * w->split;
    w->nv = w->s.nv * w->split;
    PASS(sort_patches(ctx, w, &begin, &list));
    PASS(sdm_alloc(ctx, &sums, (size_t)threads, sizeof *sums, "gridding sums"));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int i = 0; i < w->subs_x * w->subs_y; i++)
        do_sub(w, i, list, begin[i], begin[i + 1], &sums[sdm_thread()]);
    return SDM_OK;
}
