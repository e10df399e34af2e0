/* Cubic B-spline of a grid: recursive prefilter along rows and columns, then four taps in each direction. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/spline.h"

#include <math.h>

enum { LANES = 16 }; /* lines filtered together */

SdmStatus sdm_spline_open(SdmContext *ctx, int64_t cols, int64_t rows, int threads, SdmSpline *out)
{
    const size_t n = (size_t)(cols + 2 * SDM_SPLINE_PAD) * (size_t)(rows + 2 * SDM_SPLINE_PAD);
    *out = (SdmSpline){.cols = cols, .rows = rows, .threads = threads};
    return sdm_alloc(ctx, &out->coefficient, n, sizeof *out->coefficient, "spline");
}

void sdm_spline_close(SdmSpline *s)
{
    sdm_free(&s->coefficient);
}

/* Prefilter LANES lines at once: a is n x LANES.  A line continues before its start with its first value, and
 * is mirrored after its end about the edge of its last cell. */
static void filter_lanes(double *a, int64_t n)
{
    const double pole = sqrt(3.0) - 2.0, gain = 6.0;
    for (int l = 0; l < LANES; l++)
        a[l] *= gain / (1.0 - pole);
    for (int64_t i = 1; i < n; i++)
        for (int l = 0; l < LANES; l++)
            a[i * LANES + l] = gain * a[i * LANES + l] + pole * a[(i - 1) * LANES + l];
    for (int l = 0; l < LANES; l++)
        a[(n - 1) * LANES + l] *= pole / (pole - 1.0);
    for (int64_t i = n - 2; i >= 0; i--)
        for (int l = 0; l < LANES; l++)
            a[i * LANES + l] = pole * (a[(i + 1) * LANES + l] - a[i * LANES + l]);
}

/* Filter `lines` lines of n values in place: values of a line are `along` apart, lines `across`. */
static void filter_lines(float *values, int64_t lines, int64_t n, int64_t across, int64_t along,
                         double *lanes, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < lines; first += LANES) {
        double *const a = lanes + (int64_t)sdm_thread() * n * LANES;
        const int count = lines - first < LANES ? (int)(lines - first) : LANES;
        float *const v = values + first * across;
        for (int64_t i = 0; i < n; i++)
            for (int l = 0; l < LANES; l++)
                a[i * LANES + l] = l < count ? (double)v[l * across + i * along] : 0.0;
        filter_lanes(a, n);
        for (int64_t i = 0; i < n; i++)
            for (int l = 0; l < count; l++)
                v[l * across + i * along] = (float)a[i * LANES + l];
    }
}

static int64_t clamp_index(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

SdmStatus sdm_spline_fit(SdmContext *ctx, SdmSpline *s, const float *values)
{
    SdmStatus st = SDM_OK;
    const int64_t w = s->cols + 2 * SDM_SPLINE_PAD, h = s->rows + 2 * SDM_SPLINE_PAD;
    double *lanes = NULL;
    TRY(sdm_alloc(ctx, &lanes, (size_t)(w > h ? w : h) * LANES * (size_t)s->threads, sizeof *lanes,
                  "spline lines"));
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int64_t j = 0; j < h; j++) {
        const float *const from = values + clamp_index(j - SDM_SPLINE_PAD, s->rows) * s->cols;
        for (int64_t i = 0; i < w; i++)
            s->coefficient[j * w + i] = from[clamp_index(i - SDM_SPLINE_PAD, s->cols)];
    }
    filter_lines(s->coefficient, h, w, w, 1, lanes, s->threads);
    filter_lines(s->coefficient, w, h, 1, w, lanes, s->threads);
done:
    sdm_free(&lanes);
    return st;
}

typedef struct Taps { /* four neighbours and their weights on one axis */
    int32_t at[4];
    float weight[4];
} Taps;

/* @param position  in the padded grid of n cells */
static Taps taps_at(double position, int64_t n)
{
    const double p = position < 0.0 ? 0.0 : position > (double)(n - 1) ? (double)(n - 1) : position;
    const double cell = floor(p), t = p - cell, u = 1.0 - t;
    const double weights[4] = {u * u * u / 6.0, (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0,
                               (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0, t * t * t / 6.0};
    Taps taps;
    for (int k = 0; k < 4; k++) {
        taps.at[k] = (int32_t)clamp_index((int64_t)cell - 1 + k, n);
        taps.weight[k] = (float)weights[k];
    }
    return taps;
}

SdmStatus sdm_spline_shift(SdmContext *ctx, const SdmSpline *s, double dcol, double drow, float *out)
{
    SdmStatus st = SDM_OK;
    const int64_t w = s->cols + 2 * SDM_SPLINE_PAD, h = s->rows + 2 * SDM_SPLINE_PAD;
    Taps *columns = NULL;
    float *lines = NULL;
    TRY(sdm_alloc(ctx, &columns, (size_t)s->cols, sizeof *columns, "spline weights"));
    TRY(sdm_alloc(ctx, &lines, (size_t)w * (size_t)s->threads, sizeof *lines, "spline line"));
    for (int64_t i = 0; i < s->cols; i++)
        columns[i] = taps_at((double)(i + SDM_SPLINE_PAD) + dcol, w);
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int64_t j = 0; j < s->rows; j++) {
        float *const line = lines + (int64_t)sdm_thread() * w;
        const Taps y = taps_at((double)(j + SDM_SPLINE_PAD) + drow, h);
        const float *const s0 = s->coefficient + y.at[0] * w, *const s1 = s->coefficient + y.at[1] * w;
        const float *const s2 = s->coefficient + y.at[2] * w, *const s3 = s->coefficient + y.at[3] * w;
        for (int64_t i = 0; i < w; i++)
            line[i] = y.weight[0] * s0[i] + y.weight[1] * s1[i] + y.weight[2] * s2[i] + y.weight[3] * s3[i];
        for (int64_t i = 0; i < s->cols; i++) {
            const Taps *const x = &columns[i];
            out[j * s->cols + i] = x->weight[0] * line[x->at[0]] + x->weight[1] * line[x->at[1]] +
                                   x->weight[2] * line[x->at[2]] + x->weight[3] * line[x->at[3]];
        }
    }
done:
    sdm_free(&lines);
    sdm_free(&columns);
    return st;
}

/* Weights of the spline at a position and of its central difference over a cell on each side, for the six
 * coefficients from two before the position's cell on. */
static void weights_at(double t, double value[6], double slope[6])
{
    const double u = 1.0 - t;
    const double b[4] = {u * u * u / 6.0, (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0,
                         (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0, t * t * t / 6.0};
    for (int k = 0; k < 6; k++) {
        value[k] = k >= 1 && k < 5 ? b[k - 1] : 0.0;
        slope[k] = 0.5 * ((k >= 2 ? b[k - 2] : 0.0) - (k < 4 ? b[k] : 0.0));
    }
}

double sdm_spline_at(const SdmSpline *s, double col, double row, double slope[2])
{
    const int64_t w = s->cols + 2 * SDM_SPLINE_PAD, h = s->rows + 2 * SDM_SPLINE_PAD;
    const double x = fmin(fmax(col + SDM_SPLINE_PAD, 2.0), (double)(w - 4)),
                 y = fmin(fmax(row + SDM_SPLINE_PAD, 2.0), (double)(h - 4));
    const int64_t i = (int64_t)x, j = (int64_t)y;
    double at_x[6], at_y[6], along_x[6], along_y[6], value = 0.0;
    weights_at(x - (double)i, at_x, along_x);
    weights_at(y - (double)j, at_y, along_y);
    slope[0] = slope[1] = 0.0;
    for (int k = 0; k < 6; k++) {
        const float *const c = s->coefficient + (j - 2 + k) * w + i - 2;
        double across = 0.0, along = 0.0;
        for (int l = 0; l < 6; l++) {
            across += (double)c[l] * at_x[l];
            along += (double)c[l] * along_x[l];
        }
        value += across * at_y[k];
        slope[0] += along * at_y[k];
        slope[1] += across * along_y[k];
    }
    return value;
}
