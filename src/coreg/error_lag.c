/* Residuals at a distance: robust semivariance, and the spread of means over squares. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/compare.h"
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>

enum { MIN_AREAS = 10, MIN_POINTS = 5, MAX_PAIRS = 2000000 };
static const double MAX_DISTANCES = 3e7; /* between points, measured for one lag */

const double sdm_lags_m[SDM_LAGS] = {30.0, 300.0, 3000.0};

/* Differences of n pairs -> semivariance; overwrites them. */
static void set_pairs(float *difference, int64_t n, SdmErrorLag *out)
{
    const double nmad_m = sdm_nmad_f32(difference, n, NULL);
    out->pairs = n;
    out->semivariance_m2 = n ? 0.5 * nmad_m * nmad_m : NAN;
}

static void set_areas(float *mean, int64_t n, SdmErrorLag *out)
{
    out->areas = n;
    out->area_error_m = n < MIN_AREAS ? (double)NAN : sdm_nmad_f32(mean, n, NULL);
}

/* Pairs along the even rows and along the even columns -> differences in scratch. */
static int64_t grid_pairs(const SdmCoregGrid *g, int64_t across, int64_t down)
{
    int64_t n = 0;
    const int64_t cols = g->cols;
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = 0; i < cols; i++) {
            const float *const at = g->residual_m + j * cols + i;
            if (isnan(*at))
                continue;
            const bool right = j % 2 == 0 && i + across < cols && !isnan(at[across]);
            const bool below = i % 2 == 0 && j + down < g->rows && !isnan(at[down * cols]);
            if (right && !(below && (i / 2 + j / 2) % 2)) /* at most one pair for each cell */
                g->scratch[n++] = at[across] - *at;
            else if (below)
                g->scratch[n++] = at[down * cols] - *at;
        }
    return n;
}

/* Means over squares of w x h cells -> scratch. */
static int64_t grid_areas(const SdmCoregGrid *g, int64_t w, int64_t h)
{
    int64_t n = 0;
    for (int64_t top = 0; top + h <= g->rows; top += h)
        for (int64_t left = 0; left + w <= g->cols; left += w) {
            double sum = 0.0;
            int64_t met = 0;
            for (int64_t k = 0; k < w * h; k++) {
                const float v = g->residual_m[(top + k / w) * g->cols + left + k % w];
                sum += isnan(v) ? 0.0 : (double)v;
                met += !isnan(v);
            }
            if (2 * met >= w * h)
                g->scratch[n++] = (float)(sum / (double)met);
        }
    return n;
}

SdmErrorLag sdm_error_lag_grid(const SdmCoregGrid *g, double lag_m)
{
    SdmErrorLag out = {.lag_m = lag_m, .semivariance_m2 = NAN, .area_error_m = NAN};
    const double across = round(lag_m / g->dx_m), down = round(lag_m / g->dy_m), cols = (double)g->cols,
                 rows = (double)g->rows;
    const int64_t w = (int64_t)fmin(across, cols), h = (int64_t)fmin(down, rows);
    if (!(across >= 1.0) || !(down >= 1.0))
        return out;
    if (across < cols || down < rows)
        set_pairs(g->scratch, grid_pairs(g, w, h), &out);
    if (across <= cols && down <= rows)
        set_areas(g->scratch, grid_areas(g, w, h), &out);
    return out;
}

/* ---- points ---- */

typedef struct PointInSquare {
    int64_t column, row;
    int64_t index;
} PointInSquare;

static int by_square(const void *a, const void *b)
{
    const PointInSquare *const p = a, *const q = b;
    int order = (p->row > q->row) - (p->row < q->row);
    order = order ? order : (p->column > q->column) - (p->column < q->column);
    return order ? order : (p->index > q->index) - (p->index < q->index);
}

/* Means over squares -> mean.  square: n points, sorted. */
static int64_t point_areas(const PointInSquare *square, const float *residual_m, int64_t n, float *mean)
{
    int64_t count = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        double sum = 0.0;
        for (end = i; end < n && square[end].column == square[i].column && square[end].row == square[i].row;
             end++)
            sum += (double)residual_m[square[end].index];
        if (end - i >= MIN_POINTS)
            mean[count++] = (float)(sum / (double)(end - i));
    }
    return count;
}

/* Differences of pairs about lag_m apart: some points, evenly chosen, with all others. */
static int64_t point_pairs(const float *residual_m, const double *x_m, const double *y_m, int64_t n,
                           double lag_m, float *out)
{
    int64_t count = 0;
    const double near = 0.8 * lag_m, far = 1.25 * lag_m;
    const int64_t step = (int64_t)ceil((double)n / fmax(MAX_DISTANCES / (double)n, 1.0));
    for (int64_t a = 0; a < n; a += step)
        for (int64_t b = 0; b < n && count < MAX_PAIRS; b++) {
            const double dx = x_m[a] - x_m[b], dy = y_m[a] - y_m[b], d2 = dx * dx + dy * dy;
            if (d2 >= near * near && d2 <= far * far)
                out[count++] = residual_m[b] - residual_m[a];
        }
    return count;
}

SdmStatus sdm_error_lag_points(SdmContext *ctx, const float *residual_m, const double *x_m, const double *y_m,
                               int64_t n, double lag_m, SdmErrorLag *out)
{
    SDM_OWNED PointInSquare *square = NULL;
    SDM_OWNED float *value = NULL;
    *out = (SdmErrorLag){.lag_m = lag_m, .semivariance_m2 = NAN, .area_error_m = NAN};
    PASS(sdm_alloc(ctx, &square, (size_t)n + 1, sizeof *square, "points by area"));
    PASS(sdm_alloc(ctx, &value, (size_t)(n > MAX_PAIRS ? n : MAX_PAIRS), sizeof *value, "pairs of points"));
    set_pairs(value, point_pairs(residual_m, x_m, y_m, n, lag_m, value), out);
    for (int64_t i = 0; i < n; i++)
        square[i] = (PointInSquare){(int64_t)floor(x_m[i] / lag_m), (int64_t)floor(y_m[i] / lag_m), i};
    qsort(square, (size_t)n, sizeof *square, by_square);
    set_areas(value, point_areas(square, residual_m, n, value), out);
    return SDM_OK;
}
