/* A sparse grid of windows is matched over rows and disparities; a plane through their rows. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/row_offset.h"

#include "core/dense.h"
#include "core/math.h"
#include "kernels.h"

#include <math.h>

enum {
    GRID = 20, /* windows along each axis */
    SIDE = 9,
    AREA = SIDE * SIDE,
    ROWS = 3, /* px above and below that are looked at */
    LEAST = 30,
    ROUNDS = 8
};
#define MIN_DEVIATION 2.0f /* of a window's samples */
#define MIN_CORRELATION 0.8f
#define INLIER_PX 0.5 /* Tukey's biweight is 0 beyond twice this */

/* A window of the left image, zero mean and of length 1, and the row offset of its match. */
typedef struct Tie {
    int x, y;
    float left[AREA];
    float row_px;
    bool found;
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

/* Correlation with the left window, whose mean is 0. */
static float correlate(const float left[AREA], const float right[AREA])
{
    float dot = 0.0f, sum = 0.0f, squares = 0.0f;
#pragma omp simd reduction(+ : dot, sum, squares)
    for (int i = 0; i < AREA; i++) {
        dot += left[i] * right[i];
        sum += right[i];
        squares += right[i] * right[i];
    }
    const float rest = squares - sum * sum / AREA;
    return rest < AREA * MIN_DEVIATION * MIN_DEVIATION ? -1.0f : dot / sqrtf(rest);
}

static float best_of_row(const SdmPairImage *right, const Tie *tie, int row, int dmin, int dmax)
{
    const int first = sdm_clamp(tie->x - dmax, 0, right->width - 1),
              last = sdm_clamp(tie->x - dmin, 0, right->width - 1);
    float best = -1.0f, window[AREA];
    for (int x = first; x <= last; x++)
        if (read_window(right, x, row, window))
            best = fmaxf(best, correlate(tie->left, window));
    return best;
}

/* Up or down from the same row to the best correlation, refined by a parabola through three rows. */
static void match_tie(const SdmPairImage *right, int dmin, int dmax, Tie *tie)
{
    float a = best_of_row(right, tie, tie->y - 1, dmin, dmax);
    float b = best_of_row(right, tie, tie->y, dmin, dmax);
    float c = best_of_row(right, tie, tie->y + 1, dmin, dmax);
    int row = 0;
    const int step = a > c ? -1 : 1;
    for (; fmaxf(a, c) > b && row != step * ROWS; row += step) {
        const float next = best_of_row(right, tie, tie->y + row + 2 * step, dmin, dmax);
        *(step < 0 ? &c : &a) = b;
        b = step < 0 ? a : c;
        *(step < 0 ? &a : &c) = next;
    }
    const float curve = a - 2.0f * b + c;
    tie->found = b >= MIN_CORRELATION && fmaxf(a, c) <= b && curve < 0.0f;
    tie->row_px = (float)row + (tie->found ? 0.5f * (a - c) / curve : 0.0f);
}

/* Ties whose place has no texture, or lies too near an edge, stay as they are: not found. */
static void match_ties(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right, int dmin,
                       int dmax, Tie *tie)
{
    const int rim = SIDE / 2 + ROWS + 1;
#pragma omp parallel for schedule(dynamic, 4) num_threads(sdm_threads(ctx))
    for (int i = 0; i < GRID * GRID; i++) {
        Tie *const t = tie + i;
        t->x = (int)((2 * (i % GRID) + 1) * (int64_t)left->width / (2 * GRID));
        t->y = (int)((2 * (i / GRID) + 1) * (int64_t)left->height / (2 * GRID));
        if (t->y >= rim && t->y + rim < left->height && read_window(left, t->x, t->y, t->left) &&
            normalise(t->left))
            match_tie(right, dmin, dmax, t);
    }
}

/* Biweight of a residual. */
static double weight_of(double residual)
{
    const double u = residual / (2.0 * INLIER_PX), rest = 1.0 - u * u;
    return rest > 0.0 ? rest * rest : 0.0;
}

static double row_at(const SdmRowOffset *o, double x, double y)
{
    return o->constant + o->slope_x * x + o->slope_y * y;
}

/* One round of weighted least squares about the plane of the round before; returns the inliers. */
static int fit_plane(const Tie *tie, int terms, double width, double height, SdmRowOffset *o)
{
    double a[9] = {0.0}, b[3] = {0.0};
    int inliers = 0;
    for (int i = 0; i < GRID * GRID; i++) {
        const double residual = tie[i].row_px - row_at(o, tie[i].x, tie[i].y);
        const double w = tie[i].found ? weight_of(residual) : 0.0;
        const double term[3] = {1.0, tie[i].x / width, tie[i].y / height};
        inliers += w > 0.0 && fabs(residual) < INLIER_PX;
        for (int r = 0; r < terms; r++) {
            b[r] += w * term[r] * tie[i].row_px;
            for (int c = 0; c < terms; c++)
                a[r * terms + c] += w * term[r] * term[c];
        }
    }
    if (inliers < LEAST || !sdm_solve_cholesky(terms, a, b))
        return 0;
    *o = (SdmRowOffset){.constant = b[0],
                        .slope_x = terms == 3 ? b[1] / width : 0.0,
                        .slope_y = terms == 3 ? b[2] / height : 0.0};
    return inliers;
}

/* The row offset, in steps of 0.25 px, that most ties agree with. */
static double mode_of(const Tie *tie)
{
    int best = 0, count[8 * ROWS + 1] = {0};
    for (int i = 0; i < GRID * GRID; i++)
        if (tie[i].found)
            count[sdm_clamp((int)lrintf(4.0f * (tie[i].row_px + ROWS)), 0, 8 * ROWS)]++;
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

void sdm_row_offset_find(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right, int dmin,
                         int dmax, SdmRowOffset *out)
{
    Tie *tie = NULL;
    int inliers = 0;
    *out = (SdmRowOffset){.matches = 0};
    if (sdm_alloc(ctx, &tie, (size_t)GRID * GRID, sizeof *tie, "ties of rows") != SDM_OK)
        return;
    match_ties(ctx, left, right, dmin, dmax, tie);
    SdmRowOffset o = {.constant = mode_of(tie)};
    for (int k = 0; k < ROUNDS && (k == 0 || inliers); k++)
        inliers = fit_plane(tie, k < ROUNDS / 2 ? 1 : 3, left->width, left->height, &o);
    if (inliers) {
        *out = o;
        out->matches = inliers;
        out->largest = largest_at_corners(&o, left->width, left->height);
    }
    sdm_free(&tie);
}

static int16_t sample_at(const SdmPairImage *im, int x, int y)
{
    int16_t own;
    return *sdm_pair_samples(im, y, x, 1, &own);
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
        const int16_t v = sample_at(im, x, y - 1 + k);
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
