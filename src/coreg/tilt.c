/* A plane by robust least squares with iterated weights. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg.h"
#include "core/dense.h"
#include "core/math.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

enum { LEAST_SAMPLES = 30, FIT_ROUNDS = 30, TERMS = 3 /* constant, east, north */ };
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

/* Terms of the plane at a sample: 1, east, north. */
static void terms_at(const SdmTiltSamples *s, const SdmTilt *t, int64_t i, double terms[TERMS])
{
    terms[0] = 1.0;
    terms[1] = ((double)s->east_m[i] - t->centre_m[1]) / t->half_m[1];
    terms[2] = ((double)s->north_m[i] - t->centre_m[0]) / t->half_m[0];
}

/* One step of Gauss and Newton with Tukey's biweight of the residuals.  residual_m, spare: count each.
 * @return false where the equations cannot be solved */
static bool step(const SdmTiltSamples *s, const SdmTilt *t, const double plane[TERMS], float *residual_m,
                 float *spare, double x[TERMS])
{
    double a[TERMS * TERMS] = {0}, terms[TERMS];
    for (int64_t i = 0; i < s->count; i++) {
        terms_at(s, t, i, terms);
        residual_m[i] = spare[i] =
            (float)((double)s->error_m[i] - plane[0] - plane[1] * terms[1] - plane[2] * terms[2]);
    }
    const double limit_m = BIWEIGHT * fmax(sdm_nmad_f32(spare, s->count, NULL), 1e-4);
    memset(x, 0, TERMS * sizeof *x);
    for (int64_t i = 0; i < s->count; i++) {
        const double r = (double)residual_m[i];
        terms_at(s, t, i, terms);
        sdm_add_equation(TERMS, terms, sdm_biweight(r, limit_m), r, a, x);
    }
    for (int r = 0; r < TERMS; r++)
        a[r * TERMS + r] *= 1.0 + 1e-9;
    return sdm_solve_cholesky(TERMS, a, x);
}

static bool fit_plane(const SdmTiltSamples *s, const SdmTilt *t, float *room, double plane[TERMS])
{
    double x[TERMS], largest = INFINITY;
    for (int round = 0; round < FIT_ROUNDS && !(largest < 1e-5); round++) {
        if (!step(s, t, plane, room, room + s->count, x))
            return false;
        largest = 0.0;
        for (int k = 0; k < TERMS; k++) {
            plane[k] += x[k];
            largest = fmax(largest, fabs(x[k]));
        }
    }
    return true;
}

SdmStatus sdm_tilt_fit(SdmContext *ctx, const SdmTiltSamples *samples, SdmTilt *t)
{
    SDM_OWNED float *room = NULL;
    double plane[TERMS] = {0.0}, terms[TERMS], sum = 0.0;
    *t = (SdmTilt){.fitted = true};
    find_extent(samples, t);
    PASS(sdm_alloc_raw(ctx, &room, 2 * (size_t)samples->count + 2, sizeof *room, "residuals"));
    if (samples->count < LEAST_SAMPLES || !fit_plane(samples, t, room, plane))
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "--model tilt: DEM and reference have too little ground in common for a plane; take "
                        "--model shift");
    for (int64_t i = 0; i < samples->count; i++) {
        terms_at(samples, t, i, terms);
        sum += plane[1] * terms[1] + plane[2] * terms[2];
    }
    t->east_m = plane[1];
    t->north_m = plane[2];
    t->constant_m = -sum / (double)samples->count;
    return SDM_OK;
}
