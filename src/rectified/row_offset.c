/* A sparse grid of windows is matched over rows and disparities; a plane through their rows. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/disparity_steps.h"

#include "core/dense.h"
#include "core/math.h"
#include "core/vector_loops.h"
#include "kernels.h"

#include <math.h>

enum {
    GRID = 20, /* windows along each axis */
    SIDE = 9,
    AREA = SIDE * SIDE,
    PART = 128,    /* windows that are correlated together */
    ROWS = 3,      /* px above and below that are looked at */
    FAR_ROWS = 32, /* the same where too few windows agree there, of one window in */
    FAR_STEP = 4,
    FAR_SLOPE = 10, /* px over the image */
    LEAST = 30,
    AGAIN = 3, /* about the plane that was found */
    ROUNDS = 8
};
#define MIN_DEVIATION 2.0f /* of a window's samples */
#define MIN_CORRELATION 0.8f
#define INLIER_PX 0.5 /* Tukey's biweight is 0 beyond twice this */

/* A window of the left image, zero mean and of length 1, and the row offset of its match. */
typedef struct Tie {
    int x, y, row; /* place; row offset from which the search begins */
    float left[AREA];
    float row_px;
    bool textured, found;
} Tie;

/* Samples of a window; false: one has no data. */
static bool read_window(const SdmPairImage *im, int x, int y, float out[AREA])
{
    int16_t line[SIDE];
    int holes = 0;
    for (int r = 0; r < SIDE; r++) {
        const int16_t *const from = sdm_pair_samples(im, y - SIDE / 2 + r, x - SIDE / 2, SIDE, line);
        for (int c = 0; c < SIDE; c++) {
            holes |= from[c] == SDM_PIXEL_NODATA;
            out[r * SIDE + c] = from[c];
        }
    }
    return !holes;
}

/* Less their mean, of length 1; false: flat. */
static bool normalise(float window[AREA])
{
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < AREA; i++)
        sum += window[i];
    for (int i = 0; i < AREA; i++) {
        window[i] -= sum / AREA;
        squares += window[i] * window[i];
    }
    for (int i = 0; i < AREA; i++)
        window[i] /= sqrtf(squares);
    return squares >= AREA * MIN_DEVIATION * MIN_DEVIATION;
}

/* Correlations of the left window, whose mean is 0, with `count` windows side by side; NaN where one has no
 * data. */
SDM_VECTOR_LOOPS static void correlate(const float left[AREA], float right[SIDE][PART + SIDE], int count,
                                       float out[PART])
{
    float dot[PART] = {0.0f}, sum[PART] = {0.0f}, squares[PART] = {0.0f};
    for (int i = 0; i < AREA; i++)
        for (int k = 0; k < count; k++) {
            const float v = right[i / SIDE][k + i % SIDE];
            dot[k] += left[i] * v;
            sum[k] += v;
            squares[k] += v * v;
        }
    for (int k = 0; k < count; k++) {
        const float rest = squares[k] - sum[k] * sum[k] / AREA;
        out[k] = rest < AREA * MIN_DEVIATION * MIN_DEVIATION ? -1.0f : dot[k] / sqrtf(rest);
    }
}

static float best_of_row(const SdmPairImage *right, const Tie *tie, int row, int dmin, int dmax)
{
    const int first = sdm_clamp(tie->x - dmax, 0, right->width - 1),
              last = sdm_clamp(tie->x - dmin, 0, right->width - 1);
    float best = -1.0f, sample[SIDE][PART + SIDE], score[PART];
    for (int x = first; x <= last; x += PART) {
        const int count = last - x < PART ? last - x + 1 : PART, n = count + SIDE - 1;
        int16_t line[PART + SIDE];
        for (int r = 0; r < SIDE; r++) {
            const int16_t *const from = sdm_pair_samples(right, row - SIDE / 2 + r, x - SIDE / 2, n, line);
            for (int c = 0; c < n; c++)
                sample[r][c] = from[c] == SDM_PIXEL_NODATA ? NAN : from[c];
        }
        correlate(tie->left, sample, count, score);
        for (int k = 0; k < count; k++)
            best = score[k] > best ? score[k] : best;
    }
    return best;
}

/* Up or down from the first row to the best correlation, refined by a parabola through three rows. */
static void match_tie(const SdmPairImage *right, int dmin, int dmax, Tie *tie)
{
    const int y = tie->y + tie->row;
    float a = best_of_row(right, tie, y - 1, dmin, dmax);
    float b = best_of_row(right, tie, y, dmin, dmax);
    float c = best_of_row(right, tie, y + 1, dmin, dmax);
    int row = 0;
    const int step = a > c ? -1 : 1;
    for (; fmaxf(a, c) > b && row != step * ROWS; row += step) {
        const float next = best_of_row(right, tie, y + row + 2 * step, dmin, dmax);
        *(step < 0 ? &c : &a) = b;
        b = step < 0 ? a : c;
        *(step < 0 ? &a : &c) = next;
    }
    const float curve = a - 2.0f * b + c;
    tie->found = b >= MIN_CORRELATION && fmaxf(a, c) <= b && curve < 0.0f;
    tie->row_px = (float)(tie->row + row) + (tie->found ? 0.5f * (a - c) / curve : 0.0f);
}

/* Windows of the left image; those whose place has no texture, or lies too near an edge, are not matched. */
static void read_ties(SdmContext *ctx, const SdmPairImage *left, Tie *tie)
{
    const int rim = SIDE / 2;
#pragma omp parallel for schedule(dynamic, 4) num_threads(sdm_threads(ctx))
    for (int i = 0; i < GRID * GRID; i++) {
        Tie *const t = tie + i;
        t->x = (int)((2 * (i % GRID) + 1) * (int64_t)left->width / (2 * GRID));
        t->y = (int)((2 * (i / GRID) + 1) * (int64_t)left->height / (2 * GRID));
        t->textured = t->y >= rim && t->y + rim < left->height && read_window(left, t->x, t->y, t->left) &&
                      normalise(t->left);
    }
}

static double row_at(const SdmRowOffset *o, double x, double y)
{
    return o->constant + o->slope_x * x + o->slope_y * y;
}

/* Match the windows about the rows of a plane, as far as the right image reaches. */
static void match_ties(SdmContext *ctx, const SdmPairImage *right, int dmin, int dmax,
                       const SdmRowOffset *about, Tie *tie)
{
    const int rim = SIDE / 2 + ROWS + 1;
#pragma omp parallel for schedule(dynamic, 4) num_threads(sdm_threads(ctx))
    for (int i = 0; i < GRID * GRID; i++) {
        Tie *const t = tie + i;
        t->row = (int)lrint(row_at(about, t->x, t->y));
        t->found = false;
        if (t->textured && t->y + t->row >= rim && t->y + t->row + rim < right->height)
            match_tie(right, dmin, dmax, t);
    }
}

/* How many of the windows that were looked for far off lie on a plane. */
static int count_on(const Tie *tie, const SdmRowOffset *o)
{
    int n = 0;
    for (int i = 0; i < GRID * GRID; i += FAR_STEP)
        n += tie[i].found && fabs(tie[i].row_px - row_at(o, tie[i].x, tie[i].y)) < 2.0 * INLIER_PX;
    return n;
}

/* The plane, of whole pixels at the corners, on which the most of some windows match best in all rows up to
 * FAR_ROWS off. */
static SdmRowOffset search_far(SdmContext *ctx, const SdmPairImage *right, int dmin, int dmax, int height,
                               Tie *tie)
{
    SdmRowOffset best = {.matches = 0};
#pragma omp parallel for schedule(dynamic, 1) num_threads(sdm_threads(ctx))
    for (int i = 0; i < GRID * GRID; i += FAR_STEP) {
        Tie *const t = tie + i;
        float most = MIN_CORRELATION;
        t->found = false;
        for (int row = -FAR_ROWS; row <= FAR_ROWS && t->textured; row++) {
            const int y = t->y + row;
            const float c =
                y < SIDE / 2 || y + SIDE / 2 >= right->height ? -1.0f : best_of_row(right, t, y, dmin, dmax);
            if (c > most) {
                t->row_px = (float)row;
                t->found = true;
                most = c;
            }
        }
    }
    for (int k = -FAR_ROWS; k <= FAR_ROWS; k++)
        for (int a = -FAR_SLOPE; a <= FAR_SLOPE; a++)
            for (int b = -FAR_SLOPE; b <= FAR_SLOPE; b++) {
                SdmRowOffset o = {.slope_x = (double)a / right->width, .slope_y = (double)b / height};
                o.constant = k - 0.5 * (a + b);
                o.matches = count_on(tie, &o);
                if (o.matches > best.matches)
                    best = o;
            }
    return best;
}

/* One round of weighted least squares about the plane of the round before; returns the inliers. */
static int fit_plane(const Tie *tie, int terms, double width, double height, SdmRowOffset *o)
{
    double a[9] = {0.0}, b[3] = {0.0};
    int inliers = 0;
    for (int i = 0; i < GRID * GRID; i++) {
        const double residual = tie[i].row_px - row_at(o, tie[i].x, tie[i].y);
        const double w = tie[i].found ? sdm_biweight(residual, 2.0 * INLIER_PX) : 0.0;
        const double term[3] = {1.0, tie[i].x / width, tie[i].y / height};
        inliers += w > 0.0 && fabs(residual) < INLIER_PX;
        sdm_add_equation(terms, term, w, tie[i].row_px, a, b);
    }
    if (inliers < LEAST || !sdm_solve_cholesky(terms, a, b))
        return 0;
    *o = (SdmRowOffset){.constant = b[0],
                        .slope_x = terms == 3 ? b[1] / width : 0.0,
                        .slope_y = terms == 3 ? b[2] / height : 0.0};
    return inliers;
}

/* Most frequent distance of the ties' rows from a plane, in steps of 0.25 px. */
static double mode_of(const Tie *tie, const SdmRowOffset *about)
{
    int best = 4 * ROWS, count[8 * ROWS + 1] = {0};
    for (int i = 0; i < GRID * GRID; i++)
        if (tie[i].found)
            count[sdm_clamp((int)lrint(4.0 * (tie[i].row_px - row_at(about, tie[i].x, tie[i].y) + ROWS)), 0,
                            8 * ROWS)]++;
    for (int k = 0; k <= 8 * ROWS; k++)
        best = count[k] > count[best] ? k : best;
    return 0.25 * best - ROWS;
}

static double largest_at_corners(const SdmRowOffset *o, int width, int height)
{
    double most = 0.0;
    for (int k = 0; k < 4; k++)
        most = fmax(most, fabs(row_at(o, k % 2 ? width - 1 : 0, k / 2 ? height - 1 : 0)));
    return most;
}

/* A plane through the rows of windows that are matched about another one; 0: too few agree. */
static int find_plane(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right, int dmin,
                      int dmax, Tie *tie, SdmRowOffset *o)
{
    int inliers = 0;
    const int level = o->slope_x == 0.0 && o->slope_y == 0.0 ? ROUNDS / 2 : 0; /* rounds */
    match_ties(ctx, right, dmin, dmax, o, tie);
    o->constant += mode_of(tie, o);
    for (int k = 0; k < ROUNDS && (k == 0 || inliers); k++)
        inliers = fit_plane(tie, k < level ? 1 : 3, left->width, left->height, o);
    return inliers;
}

void sdm_row_offset_find(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right, int dmin,
                         int dmax, SdmRowOffset *out)
{
    SDM_OWNED Tie *tie = NULL;
    SdmRowOffset o = {.matches = 0};
    int textured = 0;
    *out = o;
    if (sdm_alloc(ctx, &tie, (size_t)GRID * GRID, sizeof *tie, "ties of rows") != SDM_OK)
        return;
    read_ties(ctx, left, tie);
    for (int i = 0; i < GRID * GRID; i++)
        textured += tie[i].textured;
    int inliers = find_plane(ctx, left, right, dmin, dmax, tie, &o);
    if (inliers < textured / 3) {
        o = search_far(ctx, right, dmin, dmax, left->height, tie);
        inliers = find_plane(ctx, left, right, dmin, dmax, tie, &o);
    }
    for (int k = 0; k < AGAIN && largest_at_corners(&o, left->width, left->height) > ROWS - 1; k++)
        inliers = inliers ? find_plane(ctx, left, right, dmin, dmax, tie, &o) : 0;
    if (inliers) {
        *out = o;
        out->matches = inliers;
        out->largest = largest_at_corners(&o, left->width, left->height);
    }
}

static int16_t moved_sample(const SdmPairImage *im, int x, double row)
{
    const int least = im->eight_bit ? 0 : -2047, most = im->eight_bit ? 255 : 2047;
    const int at = (int)lrint(256.0 * row), y = at >> 8;
    const int16_t *const w = sdm_cubic_weights[at & 255];
    int sum = 1 << 13; /* half of the weights' unit */
    if (row < -1.0 || row > im->height)
        return SDM_PIXEL_NODATA;
    for (int k = 0; k < 4; k++) {
        int16_t own;
        const int16_t v = *sdm_pair_samples(im, y - 1 + k, x, 1, &own);
        if (v == SDM_PIXEL_NODATA)
            return SDM_PIXEL_NODATA;
        sum += w[k] * v;
    }
    return (int16_t)sdm_clamp(sum >> 14, least, most);
}

void sdm_row_offset_remove(SdmContext *ctx, const SdmRowOffset *offset, const SdmPairImage *right,
                           int16_t *out)
{
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int y = 0; y < right->height; y++)
        for (int x = 0; x < right->width; x++)
            out[(ptrdiff_t)y * right->width + x] = moved_sample(right, x, y + row_at(offset, x, y));
}
