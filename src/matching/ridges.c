/* Places of a block that windows and means rounded -> places whose ridges are sharper. */
// SPDX-License-Identifier: Apache-2.0
#include "core/vector_loops.h"
#include "matching/edge_filters.h"

#include <math.h>
#include <string.h>

#define LEAST_BEND_PX 0.5f /* confidence 0 up to here */
#define SURE_BEND_PX 0.7f  /* full confidence from here on; likewise below */
#define LEAST_SHARP 3.0f   /* the bend over the standard deviation of the points' */
#define SURE_SHARP 4.0f
#define LEAST_OPEN 2.0f /* the bend over 12 px over that of 6 px: roof 2.8, step 1 */
#define SURE_OPEN 2.5f
#define MOST_LEAN 0.5f      /* what one side bends more than the other, over the bend: beside a step 1 */
#define MOST_BESIDE 0.4f    /* the bend at a right angle over the bend */
#define LEAST_NOISE 1e-6f   /* px^2 */
#define MOST_LOST 0.2f      /* of the bend: rounding takes 0.15 of a roof */
#define WINDOWS_TAKE 0.375f /* of the second difference over NEAR_PX */

enum {
    PAIRS = 8,   /* of directions at right angles */
    SPACING = 2, /* px of the lattice on which lines are looked for */
    ALONG = 7,   /* lattice points of a line on either side of its middle */
    ACROSS = 6,  /* lattice points on either side over which it bends */
    RIM = ALONG, /* around the lattice, without places */
    LINE = 2 * ALONG + 1,
    LINE_PX = 2 * SPACING * ALONG + 1,
    NEAR_PX = 4 /* on either side over which a ridge is measured */
};

/* Measures across lines: the second difference over ACROSS, over half of it, and by how much one side
 * bends more than the other. */
enum { BEND, NEAR, LEAN, KNOWN, SQUARE = KNOWN, COUNT, SURE, MEASURES = KNOWN + 1, COLUMNS = SURE + 1 };

/* Directions; turned by a right angle the other eight. */
static const int8_t toward[PAIRS][2] = {{4, 0}, {4, 1}, {4, 2}, {4, 3}, {4, 4}, {3, 4}, {2, 4}, {1, 4}};

typedef struct Point {
    int x, y;
} Point;

/* The lattice; arrays of rows of `pitch` with a rim of RIM. */
typedef struct Lattice {
    int width, height, pitch;
    float *place;                   /* grows with height; FAR_PX where there is none */
    float *across[2][MEASURES];     /* lines of two directions at a right angle; KNOWN: 1, or 0 all of them */
    float *most, *sure, *direction; /* of the line that bends most */
    float *rows;
    float *line[2][COLUMNS]; /* rows: sums along lines, then means, the variance of their bends, the share of
                              * points and how sure it is that they are ridges, 0..1 */
} Lattice;

static ptrdiff_t lattice_at(const Lattice *l, int x, int y)
{
    return (ptrdiff_t)(y + RIM) * l->pitch + RIM + x;
}

/* `count` units toward direction 0 .. 2 PAIRS - 1. */
static void go_toward(int direction, int count, double out[2])
{
    const int8_t *const d = toward[direction % PAIRS];
    const double length = sqrt((double)(d[0] * d[0] + d[1] * d[1])), x = count * d[0] / length,
                 y = count * d[1] / length;
    out[0] = direction < PAIRS ? x : -y;
    out[1] = direction < PAIRS ? y : x;
}

static Point toward_by(int direction, int count)
{
    double p[2];
    go_toward(direction, count, p);
    return (Point){(int)lrint(p[0]), (int)lrint(p[1])};
}

static int across(int direction)
{
    return (direction + PAIRS) % (2 * PAIRS);
}

/* ACROSS units at a right angle to a direction, rounded to shorter ones, for SDM_RIDGE_REACH. */
static Point beside_line(int direction)
{
    double p[2];
    go_toward(across(direction), ACROSS, p);
    return (Point){(int)p[0], (int)p[1]};
}

/* ---- lines along which the surface bends ---- */

/* Measures of places `far` and `half` on either side.  Loops in vectors: without branches. */
SDM_VECTOR_LOOPS static void measure_row(const float *restrict place, ptrdiff_t far, ptrdiff_t half,
                                         int width, float *const out[MEASURES])
{
    float *restrict const bend = out[BEND], *restrict const near = out[NEAR],
                          *restrict const lean = out[LEAN], *restrict const known = out[KNOWN];
    for (int x = 0; x < width; x++) {
        const float z = place[x], a = place[x - half], b = place[x + half], c = place[x - far],
                    d = place[x + far];
        const int smooth = (z < FAR_PX) & (fabsf(a - z) <= STEP_PX) & (fabsf(b - z) <= STEP_PX) &
                           (fabsf(c - a) <= STEP_PX) & (fabsf(d - b) <= STEP_PX);
        const float in = smooth ? 1.0f : 0.0f;
        bend[x] = in * (c + d - 2.0f * z);
        near[x] = in * (a + b - 2.0f * z);
        lean[x] = in * ((c - 2.0f * a) - (d - 2.0f * b));
        known[x] = in;
    }
}

static void measure_across(const Lattice *l, int direction, float *const out[MEASURES])
{
    const Point n = beside_line(direction);
    const ptrdiff_t far = (ptrdiff_t)n.y * l->pitch + n.x, half = (ptrdiff_t)(n.y / 2) * l->pitch + n.x / 2;
    for (int y = 0; y < l->height; y++) {
        const ptrdiff_t at = lattice_at(l, 0, y);
        float *const row[MEASURES] = {out[BEND] + at, out[NEAR] + at, out[LEAN] + at, out[KNOWN] + at};
        measure_row(l->place + at, far, half, l->width, row);
    }
}

/* sum += values at four places of an array, */
SDM_VECTOR_LOOPS static void add_four(const float *in, const ptrdiff_t at[4], int width, float *restrict sum)
{
    const float *const a = in + at[0], *const b = in + at[1], *const c = in + at[2], *const d = in + at[3];
    for (int x = 0; x < width; x++)
        sum[x] += (a[x] + b[x]) + (c[x] + d[x]);
}

/* or their squares. */
SDM_VECTOR_LOOPS static void add_four_squares(const float *in, const ptrdiff_t at[4], int width,
                                              float *restrict sum)
{
    const float *const a = in + at[0], *const b = in + at[1], *const c = in + at[2], *const d = in + at[3];
    for (int x = 0; x < width; x++)
        sum[x] += (a[x] * a[x] + b[x] * b[x]) + (c[x] * c[x] + d[x] * d[x]);
}

/* Sums -> means, variance and share, in place; the means are 0 where half of the points are missing.  scale:
 * to ACROSS; near_scale: from there to half of it. */
SDM_VECTOR_LOOPS static void take_means(float scale, float near_scale, int width, float *const line[COLUMNS])
{
    float *restrict const bend = line[BEND], *restrict const near = line[NEAR],
                          *restrict const lean = line[LEAN], *restrict const square = line[SQUARE],
                          *restrict const count = line[COUNT];
    for (int x = 0; x < width; x++) {
        const bool enough = count[x] > (float)ALONG;
        const float n = enough ? count[x] : 1.0f, share = scale / n, kept = enough ? share : 0.0f;
        bend[x] *= kept;
        near[x] *= kept * near_scale;
        lean[x] *= kept;
        square[x] = scale * share * square[x] - bend[x] * bend[x];
        count[x] = n * (1.0f / (float)LINE);
    }
}

/* The means along the lines of a direction through the points of row y. */
static void follow_lines(const Lattice *l, int y, int direction, float *const across[MEASURES],
                         float *const line[COLUMNS])
{
    const Point n = beside_line(direction);
    const double far = n.x * n.x + n.y * n.y, half = (n.x / 2) * (n.x / 2) + (n.y / 2) * (n.y / 2);
    ptrdiff_t at[LINE + 3] = {0}; /* what is beyond the line lies in the rim: zeros */
    for (int j = 0; j < LINE; j++) {
        const Point p = toward_by(direction, j - ALONG);
        at[j] = lattice_at(l, p.x, y + p.y);
    }
    for (int j = 0; j < LINE; j += 4) {
        add_four(across[BEND], at + j, l->width, line[BEND]);
        add_four(across[NEAR], at + j, l->width, line[NEAR]);
        add_four(across[LEAN], at + j, l->width, line[LEAN]);
        add_four(across[KNOWN], at + j, l->width, line[COUNT]);
        add_four_squares(across[BEND], at + j, l->width, line[SQUARE]);
    }
    take_means((float)(ACROSS / sqrt(far)), (float)(sqrt(far / half) / 2.0), l->width, line);
}

static inline float ramp(float v, float from, float to)
{
    const float t = (v - from) / (to - from);
    return t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
}

/* How sure it is that lines are ridges.  beside: bends at a right angle. */
SDM_VECTOR_LOOPS static void judge_row(const float *restrict beside, int width, float *const line[COLUMNS])
{
    const float *restrict const bend = line[BEND], *restrict const near = line[NEAR],
                                *restrict const lean = line[LEAN], *restrict const variance = line[SQUARE],
                                *restrict const share = line[COUNT];
    float *restrict const sure = line[SURE];
    for (int x = 0; x < width; x++) {
        const float drop = -bend[x], low = -near[x],
                    noise = variance[x] > LEAST_NOISE ? variance[x] : LEAST_NOISE,
                    sharp = drop / sqrtf(noise) * (share[x] * share[x]),
                    open = low > 0.0f ? drop / low : SURE_OPEN;
        const bool even = (fabsf(beside[x]) <= MOST_BESIDE * drop) & (fabsf(lean[x]) <= MOST_LEAN * drop);
        const float all = ramp(drop, LEAST_BEND_PX, SURE_BEND_PX) * ramp(sharp, LEAST_SHARP, SURE_SHARP) *
                          ramp(open, LEAST_OPEN, SURE_OPEN);
        sure[x] = even ? all : 0.0f;
    }
}

SDM_VECTOR_LOOPS static void keep_most(const float *restrict bend, const float *restrict sure,
                                       float direction, int width, float *restrict most,
                                       float *restrict most_sure, float *restrict found)
{
    for (int x = 0; x < width; x++) {
        const bool more = fabsf(bend[x]) > most[x];
        most[x] = more ? fabsf(bend[x]) : most[x];
        most_sure[x] = more ? sure[x] : most_sure[x];
        found[x] = more ? direction : found[x];
    }
}

static void find_lines(const Lattice *l)
{
    for (int pair = 0; pair < PAIRS; pair++) {
        for (int k = 0; k < 2; k++)
            measure_across(l, pair + k * PAIRS, l->across[k]);
        for (int y = 0; y < l->height; y++) {
            const ptrdiff_t at = lattice_at(l, 0, y);
            memset(l->rows, 0, 2 * COLUMNS * (size_t)l->width * sizeof *l->rows);
            for (int k = 0; k < 2; k++)
                follow_lines(l, y, pair + k * PAIRS, l->across[k], l->line[k]);
            for (int k = 0; k < 2; k++) {
                judge_row(l->line[!k][BEND], l->width, l->line[k]);
                keep_most(l->line[k][BEND], l->line[k][SURE], (float)(pair + k * PAIRS), l->width,
                          l->most + at, l->sure + at, l->direction + at);
            }
        }
    }
}

static SdmStatus open_lattice(SdmContext *ctx, const SdmEdgeBlock *b, float up, Lattice *l)
{
    *l =
        (Lattice){.width = (b->width + SPACING - 1) / SPACING, .height = (b->height + SPACING - 1) / SPACING};
    l->pitch = l->width + 2 * RIM;
    const size_t n = (size_t)l->pitch * (size_t)(l->height + 2 * RIM);
    float **const each[] = {&l->place, &l->most, &l->sure, &l->direction};
    for (size_t k = 0; k < sizeof each / sizeof *each; k++)
        PASS(sdm_alloc(ctx, each[k], n, sizeof **each[k], "lines of places"));
    for (int k = 0; k < 2 * MEASURES; k++)
        PASS(sdm_alloc(ctx, &l->across[k / MEASURES][k % MEASURES], n, sizeof *l->rows, "lines of places"));
    PASS(sdm_alloc(ctx, &l->rows, 2 * COLUMNS * (size_t)l->width, sizeof *l->rows, "lines of places"));
    for (int k = 0; k < 2 * COLUMNS; k++)
        l->line[k / COLUMNS][k % COLUMNS] = l->rows + k * l->width;
    for (size_t i = 0; i < n; i++)
        l->place[i] = FAR_PX;
    for (int y = 0; y < l->height; y++)
        for (int x = 0; x < l->width; x++) {
            const int i = y * SPACING * b->width + x * SPACING;
            if (b->flags[i] & SDM_QA_VALID)
                l->place[lattice_at(l, x, y)] = up * b->place_px[i];
        }
    return SDM_OK;
}

static void close_lattice(Lattice *l)
{
    for (int k = 0; k < 2 * MEASURES; k++)
        sdm_free(&l->across[k / MEASURES][k % MEASURES]);
    SDM_FREE(&l->place, &l->most, &l->sure, &l->direction, &l->rows);
}

/* ---- pixels on ridges ---- */

/* A block, and by direction the pixels of a line about its middle, and how far beside it a ridge is measured.
 */
typedef struct Ridges {
    const SdmEdgeBlock *b;
    const float *before_px;
    Point line[2 * PAIRS][LINE_PX], beside[2 * PAIRS];
} Ridges;

static void set_lines(Ridges *r)
{
    for (int d = 0; d < 2 * PAIRS; d++) {
        r->beside[d] = toward_by(across(d), NEAR_PX);
        for (int k = 0; k < LINE_PX; k++)
            r->line[d][k] = toward_by(d, k - LINE_PX / 2);
    }
}

/* The place of pixel u, v of a block; FAR_PX where there is none. */
static float place_at(const SdmEdgeBlock *b, int u, int v)
{
    const int i = v * b->width + u;
    return u >= 0 && v >= 0 && u < b->width && v < b->height && (b->flags[i] & SDM_QA_VALID) ? b->place_px[i]
                                                                                             : FAR_PX;
}

/* Loss of a crease along a direction at pixel x, y by smoothing, px of place. */
static float lost_px(const Ridges *r, int direction, int x, int y)
{
    const Point n = r->beside[direction];
    float lost = 0.0f, bend = 0.0f;
    int losses = 0, bends = 0;
    for (int k = 0; k < LINE_PX; k++) {
        const int u = x + r->line[direction][k].x, v = y + r->line[direction][k].y;
        const float z = place_at(r->b, u, v);
        if (z == FAR_PX)
            continue;
        const float took = r->before_px[v * r->b->width + u] - z, p = place_at(r->b, u - n.x, v - n.y) - z,
                    q = place_at(r->b, u + n.x, v + n.y) - z;
        if (fabsf(took) <= STEP_PX) {
            lost += took;
            losses++;
        }
        if (fabsf(p) <= STEP_PX && fabsf(q) <= STEP_PX) {
            bend += p + q;
            bends++;
        }
    }
    if (losses <= LINE_PX / 2 || bends <= LINE_PX / 2)
        return 0.0f;
    const float unit = (float)(NEAR_PX * NEAR_PX) / (float)(n.x * n.x + n.y * n.y);
    return lost / (float)losses - WINDOWS_TAKE * unit * bend / (float)bends;
}

static float within(float v, float most)
{
    return v < 0.0f ? 0.0f : v < most ? v : most;
}

SdmStatus sdm_sharpen_ridges(SdmContext *ctx, const float *before_px, float up, SdmEdgeBlock *b)
{
    const size_t n = (size_t)b->width * (size_t)b->height;
    SDM_CLOSED_BY(close_lattice) Lattice l = {0};
    SDM_OWNED float *lost = NULL;
    Ridges r = {.b = b, .before_px = before_px};
    set_lines(&r);
    PASS(open_lattice(ctx, b, up, &l));
    PASS(sdm_alloc(ctx, &lost, n, sizeof *lost, "ridges"));
    find_lines(&l);
    for (int y = 0; y < b->height; y++)
        for (int x = 0; x < b->width; x++) {
            const ptrdiff_t at = lattice_at(&l, x / SPACING, y / SPACING);
            const int i = y * b->width + x;
            if (l.sure[at] > 0.0f)
                lost[i] =
                    l.sure[at] * within(up * lost_px(&r, (int)l.direction[at], x, y), MOST_LOST * l.most[at]);
        }
    for (size_t i = 0; i < n; i++)
        b->place_px[i] += up * lost[i];
    return SDM_OK;
}
