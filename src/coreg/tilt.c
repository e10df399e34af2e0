/* A plane by robust least squares: bins of residuals, iterated weights. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/tilt.h"
#include "core/dense.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

enum {
    TILT_BINS = 64, /* bins north and east */
    LEAST_BINS = 8, /* with samples */
    FIT_ROUNDS = 30,
    TERMS = 3 /* constant, east, north */
};
static const double BIWEIGHT = 4.685; /* residuals of so many NMADs have no weight */

double sdm_tilt_at(const SdmTilt *t, double east_m, double north_m)
{
    if (!t->fitted)
        return 0.0;
    const double u = (north_m - t->centre_m[0]) / t->half_m[0], v = (east_m - t->centre_m[1]) / t->half_m[1];
    return t->constant_m + t->east_m * v + t->north_m * u;
}

void sdm_tilt_slope(const SdmTilt *t, double slope[2])
{
    slope[0] = t->fitted ? t->east_m / t->half_m[1] : 0.0;
    slope[1] = t->fitted ? t->north_m / t->half_m[0] : 0.0;
}

typedef struct Bins { /* those that have samples, northwards, then eastwards */
    int64_t count;
    double *u, *v;   /* -1..1 */
    double *value_m; /* median of the samples */
    double *weight;  /* number of samples, at most that of the median bin */
    double *residual_m, *spare;
    double *room; /* owned: the arrays */
} Bins;

static SdmStatus bins_open(SdmContext *ctx, int64_t most, Bins *b)
{
    double **const part[] = {&b->u, &b->v, &b->value_m, &b->weight, &b->residual_m, &b->spare};
    const SdmStatus st = sdm_alloc(ctx, &b->room, 6 * (size_t)most, sizeof *b->room, "bins of residuals");
    for (int i = 0; i < 6 && st == SDM_OK; i++)
        *part[i] = b->room + (size_t)i * (size_t)most;
    return st;
}

/* Extent of the samples north and east -> centre and half extent of the plane. */
static void find_extent(const SdmTiltSamples *s, SdmTilt *t)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int64_t i = 0; i < s->count; i++) {
        const double at[2] = {(double)s->north_m[i], (double)s->east_m[i]};
        for (int k = 0; k < 2; k++) { /* gcc 12 for aarch64 does not compile fmin() here */
            low[k] = at[k] < low[k] ? at[k] : low[k];
            high[k] = at[k] > high[k] ? at[k] : high[k];
        }
    }
    for (int k = 0; k < 2; k++) {
        t->centre_m[k] = 0.5 * (low[k] + high[k]);
        t->half_m[k] = fmax(0.5 * (high[k] - low[k]), 1e-6) * (1.0 + 1e-9);
    }
}

/* The bin of each sample -> key, north x east. */
static void find_keys(const SdmTiltSamples *s, const SdmTilt *t, int32_t *key)
{
    for (int64_t i = 0; i < s->count; i++) {
        const double at[2] = {(double)s->north_m[i], (double)s->east_m[i]};
        int64_t bin[2];
        for (int k = 0; k < 2; k++) {
            const int64_t b = (int64_t)(((at[k] - t->centre_m[k]) / t->half_m[k] + 1.0) * 0.5 * TILT_BINS);
            bin[k] = b < 0 ? 0 : b >= TILT_BINS ? TILT_BINS - 1 : b;
        }
        key[i] = (int32_t)(bin[0] * TILT_BINS + bin[1]);
    }
}

/* Medians of the samples of each bin.  first: bins + 1, the first sample of each bin in `sorted`. */
static void fill_bins(const int64_t *first, float *sorted, Bins *b)
{
    for (int k = 0; k < TILT_BINS * TILT_BINS; k++) {
        const int64_t n = first[k + 1] - first[k];
        if (n == 0)
            continue;
        const int64_t i = b->count++;
        b->u[i] = 2.0 * ((double)(k / TILT_BINS) + 0.5) / TILT_BINS - 1.0;
        b->v[i] = 2.0 * ((double)(k % TILT_BINS) + 0.5) / TILT_BINS - 1.0;
        b->value_m[i] = sdm_median_f32(sorted + first[k], n);
        b->weight[i] = b->spare[i] = (double)n;
    }
    const double cap = sdm_median_f64(b->spare, b->count);
    for (int64_t i = 0; i < b->count; i++)
        b->weight[i] = fmin(b->weight[i], cap) / cap;
}

static SdmStatus make_bins(SdmContext *ctx, const SdmTiltSamples *s, const SdmTilt *t, Bins *b)
{
    SdmStatus st = SDM_OK;
    int32_t *key = NULL;
    int64_t *first = NULL;
    float *sorted = NULL;
    const int64_t bins = TILT_BINS * TILT_BINS;
    TRY(bins_open(ctx, bins, b));
    TRY(sdm_alloc(ctx, &key, (size_t)s->count, sizeof *key, "bins of residuals"));
    TRY(sdm_alloc(ctx, &sorted, (size_t)s->count, sizeof *sorted, "bins of residuals"));
    TRY(sdm_alloc(ctx, &first, (size_t)bins + 2, sizeof *first, "bins of residuals"));
    find_keys(s, t, key);
    for (int64_t i = 0; i < s->count; i++)
        first[key[i] + 2]++;
    for (int64_t k = 2; k < bins + 2; k++)
        first[k] += first[k - 1];
    for (int64_t i = 0; i < s->count; i++)
        sorted[first[key[i] + 1]++] = s->error_m[i];
    fill_bins(first, sorted, b);
done:
    sdm_free(&first);
    sdm_free(&sorted);
    sdm_free(&key);
    return st;
}

/* Residuals of all bins; their NMAD. */
static double measure(Bins *b, const double term[TERMS])
{
    for (int64_t i = 0; i < b->count; i++)
        b->spare[i] = b->residual_m[i] = b->value_m[i] - term[0] - term[1] * b->v[i] - term[2] * b->u[i];
    return b->count ? sdm_nmad_f64(b->spare, b->count, NULL) : (double)NAN;
}

/* One step of Gauss and Newton with weights for the residuals of measure().
 * @return false where the equations cannot be solved */
static bool step(const Bins *b, double limit_m, double x[TERMS])
{
    double a[TERMS * TERMS] = {0};
    memset(x, 0, TERMS * sizeof *x);
    for (int64_t i = 0; i < b->count; i++) {
        const double z = b->residual_m[i] / limit_m, w = fabs(z) < 1.0 ? (1.0 - z * z) * (1.0 - z * z) : 0.0;
        const double robust = b->weight[i] * w, terms[TERMS] = {1.0, b->v[i], b->u[i]};
        if (!(w > 0.0))
            continue;
        for (int r = 0; r < TERMS; r++) {
            for (int c = 0; c <= r; c++)
                a[r * TERMS + c] += robust * terms[r] * terms[c];
            x[r] += robust * terms[r] * b->residual_m[i];
        }
    }
    for (int r = 0; r < TERMS; r++)
        a[r * TERMS + r] *= 1.0 + 1e-9;
    return sdm_solve_cholesky(TERMS, a, x);
}

static bool fit_bins(Bins *b, double term[TERMS])
{
    double x[TERMS];
    for (int round = 0; round < FIT_ROUNDS; round++) {
        double largest = 0.0;
        if (!step(b, BIWEIGHT * fmax(measure(b, term), 1e-4), x))
            return false;
        for (int k = 0; k < TERMS; k++) {
            term[k] += x[k];
            largest = fmax(largest, fabs(x[k]));
        }
        if (largest < 1e-5)
            break;
    }
    return true;
}

SdmStatus sdm_tilt_fit(SdmContext *ctx, const SdmTiltSamples *samples, SdmTilt *t)
{
    SdmStatus st = SDM_OK;
    Bins b = {0};
    double term[TERMS] = {0.0}, sum = 0.0, weights = 0.0;
    *t = (SdmTilt){.fitted = true};
    find_extent(samples, t);
    TRY(make_bins(ctx, samples, t, &b));
    if (b.count < LEAST_BINS || !fit_bins(&b, term)) {
        st = sdm_fail(ctx, SDM_ERR_DATA,
                      "--model tilt: DEM and reference have too little ground in common for a plane; take "
                      "--model shift");
        goto done;
    }
    for (int64_t i = 0; i < b.count; i++) {
        sum += b.weight[i] * term[1] * b.v[i];
        sum += b.weight[i] * term[2] * b.u[i];
        weights += b.weight[i];
    }
    t->east_m = term[1];
    t->north_m = term[2];
    t->constant_m = -sum / weights;
done:
    sdm_free(&b.room);
    return st;
}
