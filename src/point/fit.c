/* Stage 2: robust fit of the pointing correction. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "point/fit.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TERMS = SDM_POINT_MAX_TERMS,
    FOLDS = 4,
    BLOCKS = 8,
    ITERATIONS = 6,
    STEP = 16,
    LEAST = 30,
    SHOWN = 4000,
    FOR_DEGREE = 4000
};
#define GAIN 0.98 /* a degree more must leave less than this of the error */

/* Terms need matches: high degrees swing where there are none. */
static int degree_for(size_t count, int max_degree)
{
    const int most = count < 200    ? 0
                     : count < 600  ? 1
                     : count < 2000 ? 2
                     : count < 6000 ? 3
                                    : SDM_POINT_MAX_DEGREE;
    return most < max_degree ? most : max_degree;
}


/* Terms 1, x, y, x^2, xy, y^2 ... of a sample up to a degree. */
static void basis(const SdmPointing *p, int degree, const SdmFitSample *s, double out[TERMS])
{
    const double x = (s->col - p->centre[0]) / p->scale[0], y = (s->row - p->centre[1]) / p->scale[1];
    double xp[SDM_POINT_MAX_DEGREE + 1] = {1.0}, yp[SDM_POINT_MAX_DEGREE + 1] = {1.0};
    for (int i = 1; i <= degree; i++) {
        xp[i] = xp[i - 1] * x;
        yp[i] = yp[i - 1] * y;
    }
    int k = 0;
    for (int d = 0; d <= degree; d++)
        for (int j = 0; j <= d; j++)
            out[k++] = xp[d - j] * yp[j];
}

static int terms_of(int degree)
{
    return (degree + 1) * (degree + 2) / 2;
}

typedef struct Fit {
    const SdmFitSample *sample;
    size_t count;
    const SdmPointing *model; /* centre, scale; its profile is taken off the targets */
    double *rest, *work;      /* count each */
    double *basis;            /* count x TERMS */
    double *target;           /* count: without the profile */
    uint8_t *fold;            /* count */
} Fit;

static double profile_of(const SdmPointing *p, double row)
{
    SdmPointing only = *p;
    only.degree = 0;
    only.coef[0] = 0.0;
    return sdm_pointing_value(&only, p->centre[0], row);
}

/* Weighted least squares of the samples outside `without` (-1: all). */
static bool solve(const Fit *f, int degree, int without, const double *weight, double coef[TERMS])
{
    double a[TERMS * TERMS] = {0}, b[TERMS] = {0};
    const int n = terms_of(degree);
    for (size_t i = 0; i < f->count; i++) {
        if (f->fold[i] == without || weight[i] <= 0.0)
            continue;
        const double *const t = f->basis + i * TERMS;
        for (int r = 0; r < n; r++) {
            const double wt = weight[i] * t[r];
            for (int c = 0; c <= r; c++)
                a[r * n + c] += wt * t[c];
            b[r] += wt * f->target[i];
        }
    }
    for (int r = 0; r < n; r++)
        a[r * n + r] = a[r * n + r] * (1.0 + 1e-9) + 1e-12;
    if (LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', n, 1, a, n, b, 1) != 0)
        return false;
    memcpy(coef, b, (size_t)n * sizeof *b);
    return true;
}

static double rest_of(const Fit *f, int degree, const double coef[TERMS], size_t i)
{
    const double *const t = f->basis + i * TERMS;
    double sum = 0.0;
    for (int k = 0; k < terms_of(degree); k++)
        sum += coef[k] * t[k];
    return f->target[i] - sum;
}

/* Basis of every sample, and the targets without the profile in use. */
static void prepare_fit(const Fit *f, int degree)
{
    for (size_t i = 0; i < f->count; i++) {
        basis(f->model, degree, &f->sample[i], f->basis + i * TERMS);
        f->target[i] = f->sample[i].target_px - profile_of(f->model, f->sample[i].row);
    }
}

/* Robust fit by iterated weights; false when it cannot be solved. */
static bool fit_robust(const Fit *f, int degree, int without, double coef[TERMS])
{
    memset(coef, 0, TERMS * sizeof *coef);
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->fold[i] != without)
            f->work[n++] = f->target[i];
    if (n < LEAST / 2)
        return false;
    coef[0] = sdm_median_f64(f->work, (int64_t)n);
    for (int it = 0; it < ITERATIONS; it++) {
        n = 0;
        for (size_t i = 0; i < f->count; i++) {
            f->rest[i] = rest_of(f, degree, coef, i);
            if (f->fold[i] != without)
                f->work[n++] = fabs(f->rest[i]);
        }
        const double scale = 4.685 * fmax(1.4826 * sdm_median_f64(f->work, (int64_t)n), 1e-6);
        for (size_t i = 0; i < f->count; i++) {
            const double q = f->rest[i] / scale, w = 1.0 - q * q;
            f->work[i] = fabs(q) < 1.0 ? w * w : 0.0;
        }
        if (!solve(f, degree, without, f->work, coef))
            return false;
    }
    return true;
}

/* Clipped mean square of what a model leaves in the folds that it has not seen. */
static double cross_validate(const Fit *f, int degree, double clip)
{
    double coef[TERMS], sum = 0.0;
    for (int k = 0; k < FOLDS; k++) {
        if (!fit_robust(f, degree, k, coef))
            return INFINITY;
        for (size_t i = 0; i < f->count; i++)
            if (f->fold[i] == k)
                sum += pow(fmin(fabs(rest_of(f, degree, coef, i)), clip), 2.0);
    }
    return sqrt(sum / (double)f->count);
}

static void choose_degree(const Fit *f, int max_degree, SdmPointing *p, SdmPointRound *r)
{
    double coef[TERMS], clip = 1e9;
    if (fit_robust(f, max_degree < 2 ? max_degree : 2, -1, coef)) {
        for (size_t i = 0; i < f->count; i++)
            f->work[i] = f->rest[i];
        clip = 3.0 * fmax(sdm_nmad_f64(f->work, (int64_t)f->count, NULL), 1e-3);
    }
    double best = INFINITY;
    for (int d = 0; d <= max_degree; d++) {
        const double e = cross_validate(f, d, clip);
        if (e < GAIN * best) {
            best = e;
            p->degree = d;
        }
    }
    r->cross_validation_px = isfinite(best) ? best : 0.0;
}

/* ---- profile by row ---- */

/* Local mean of bins with a Gaussian of `width` bins; bins: sum of weights and of weighted residuals. */
static double smooth_at(const double *weight, const double *sum, int bins, int at, double width)
{
    double a = 0.0, b = 0.0;
    const int reach = (int)(3.0 * width) + 1;
    for (int i = at - reach < 0 ? 0 : at - reach; i <= at + reach && i < bins; i++) {
        const double x = (i - at) / width, g = exp(-0.5 * x * x);
        a += g * weight[i];
        b += g * sum[i];
    }
    return a > 0.0 ? b / a : 0.0;
}

typedef struct Bins {
    int count;
    int64_t row0;
    double *weight, *sum; /* 3 x count: folds 0, 1 (by sample parity), and both */
} Bins;

static void fill_bins(const Fit *f, double clip, const Bins *b)
{
    memset(b->weight, 0, (size_t)(3 * b->count) * sizeof *b->weight);
    memset(b->sum, 0, (size_t)(3 * b->count) * sizeof *b->sum);
    for (size_t i = 0; i < f->count; i++) {
        const double q = f->rest[i] / clip, w = fabs(q) < 1.0 ? (1.0 - q * q) * (1.0 - q * q) : 0.0;
        const int64_t bin = (int64_t)floor((f->sample[i].row - (double)b->row0) / STEP + 0.5);
        if (bin < 0 || bin >= b->count)
            continue;
        /* parity by image column, so that neighbouring samples stay together */
        const int side = (int)(((int64_t)floor(f->sample[i].col / 256.0)) & 1);
        for (int k = 0; k < 2; k++) {
            const int64_t at = (k ? 2 : side) * b->count + bin;
            b->weight[at] += w;
            b->sum[at] += w * f->rest[i];
        }
    }
}

/* Predict one half of the image by the other: weighted mean square for a width (0: no profile). */
static double profile_error(const Bins *b, double width)
{
    double sum = 0.0, n = 0.0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < b->count; i++) {
            const double w = b->weight[side * b->count + i];
            if (w < 1.0)
                continue;
            const double mean = b->sum[side * b->count + i] / w;
            const int64_t other = (int64_t)(1 - side) * b->count;
            const double guess =
                width > 0.0 ? smooth_at(b->weight + other, b->sum + other, b->count, i, width) : 0.0;
            sum += w * (mean - guess) * (mean - guess);
            n += w;
        }
    return n > 0.0 ? sum / n : INFINITY;
}

static SdmStatus fit_profile(SdmContext *ctx, const Fit *f, int64_t rows, SdmPointing *p)
{
    static const double widths[] = {1.0, 1.5, 2.5, 4.0, 8.0, 16.0};
    SdmStatus st = SDM_OK;
    Bins b = {.count = (int)(rows / STEP) + 2};
    double best_width = 0.0;
    TRY(sdm_alloc(ctx, &b.weight, (size_t)(3 * b.count), sizeof(double), "profile bins"));
    TRY(sdm_alloc(ctx, &b.sum, (size_t)(3 * b.count), sizeof(double), "profile bins"));
    for (size_t i = 0; i < f->count; i++)
        f->work[i] = f->rest[i];
    fill_bins(f, 4.685 * fmax(sdm_nmad_f64(f->work, (int64_t)f->count, NULL), 1e-3), &b);
    double best = 0.97 * profile_error(&b, 0.0);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const double e = profile_error(&b, widths[i]);
        if (e < best) {
            best = e;
            best_width = widths[i];
        }
    }
    if (best_width > 0.0) {
        double *fresh = NULL;
        TRY(sdm_alloc(ctx, &fresh, (size_t)b.count, sizeof *fresh, "the jitter profile"));
        for (int i = 0; i < b.count; i++)
            fresh[i] = smooth_at(b.weight + 2 * b.count, b.sum + 2 * b.count, b.count, i, best_width) +
                       (p->profile_count ? p->profile_px[i] : 0.0);
        sdm_free(&p->profile_px);
        p->profile_px = fresh;
        p->profile_count = b.count;
        p->profile_step_px = STEP;
        p->profile_row0 = 0;
    }
done:
    sdm_free(&b.weight);
    sdm_free(&b.sum);
    return st;
}

static SdmStatus report_round(SdmContext *ctx, const Fit *f, const SdmPointing *p, SdmPointRound *r)
{
    SdmStatus st = SDM_OK;
    const size_t n = f->count, every = n / SHOWN + 1;
    TRY(sdm_alloc(ctx, &r->samples, n / every + 1, sizeof *r->samples, "samples for the plot"));
    for (size_t i = 0; i < n; i++)
        f->work[i] = f->sample[i].found_px;
    r->before_median_px = sdm_median_f64(f->work, (int64_t)n);
    r->before_nmad_px = sdm_nmad_f64(f->work, (int64_t)n, NULL);
    for (size_t i = 0; i < n; i++) {
        f->rest[i] = f->sample[i].target_px - sdm_pointing_value(p, f->sample[i].col, f->sample[i].row);
        f->work[i] = f->rest[i];
        if (i % every == 0)
            r->samples[r->sample_count++] = (SdmPointSample){(float)f->sample[i].col, (float)f->sample[i].row,
                                                             (float)f->sample[i].found_px, (float)f->rest[i]};
    }
    r->after_nmad_px = sdm_nmad_f64(f->work, (int64_t)n, NULL);
    r->matches = (int)n;
    for (size_t i = 0; i < n; i++)
        r->inliers += fabs(f->rest[i]) < 3.0 * r->after_nmad_px;
    r->degree = p->degree;
    double sum = 0.0;
    for (int i = 0; i < p->profile_count; i++)
        sum += p->profile_px[i] * p->profile_px[i];
    r->profile_rms_px = p->profile_count ? sqrt(sum / p->profile_count) : 0.0;
done:
    return st;
}

/* Blocks of the image, spread over the folds. */
static void deal_folds(const Fit *f)
{
    const SdmPointing *const p = f->model;
    for (size_t i = 0; i < f->count; i++) {
        const int bx = (int)((f->sample[i].col - p->centre[0]) / p->scale[0] * BLOCKS + 4 * BLOCKS);
        const int by = (int)((f->sample[i].row - p->centre[1]) / p->scale[1] * BLOCKS + 4 * BLOCKS);
        f->fold[i] = (uint8_t)((unsigned)(bx + 2 * by) % FOLDS);
    }
}

SdmStatus sdm_pointing_fit(SdmContext *ctx, const SdmFitTask *task, SdmPointing *p, SdmPointRound *round)
{
    SdmStatus st = SDM_OK;
    const size_t count = task->count;
    Fit f = {.sample = task->sample, .count = count, .model = p};
    SdmFitSample *thin = NULL;
    if (count < LEAST)
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "too few matches between %s and %s: %zu, at least %d are needed to find the "
                        "pointing; %s",
                        task->left, task->right, count, (int)LEAST,
                        sdm_few_matches_hint(ctx, task->overlap_px));
    const int max_degree = degree_for(count, task->max_degree);
    sdm_free(&p->profile_px);
    p->profile_count = 0;
    p->degree = 0;
    TRY(sdm_alloc(ctx, &f.rest, count, sizeof *f.rest, "fit residuals"));
    TRY(sdm_alloc(ctx, &f.work, count, sizeof *f.work, "fit weights"));
    TRY(sdm_alloc(ctx, &f.fold, count, 1, "fit folds"));
    TRY(sdm_alloc(ctx, &f.basis, count * TERMS, sizeof *f.basis, "fit terms"));
    TRY(sdm_alloc(ctx, &f.target, count, sizeof *f.target, "fit targets"));
    TRY(sdm_alloc(ctx, &thin, count, sizeof *thin, "fit samples"));
    const size_t every = count / FOR_DEGREE + 1;
    Fit few = f;
    few.sample = thin;
    few.count = 0;
    for (size_t i = 0; i < count; i += every)
        thin[few.count++] = task->sample[i];
    deal_folds(&few);
    prepare_fit(&few, max_degree);
    choose_degree(&few, max_degree, p, round);
    deal_folds(&f);
    for (int i = 0; i < (task->with_profile ? 2 : 1); i++) {
        prepare_fit(&f, p->degree);
        if (!fit_robust(&f, p->degree, -1, p->coef)) {
            st = sdm_fail(ctx, SDM_ERR_DATA,
                          "the pointing cannot be fitted to the %zu matches between %s and %s; are they of "
                          "the same place and time?",
                          count, task->left, task->right);
            goto done;
        }
        p->terms = terms_of(p->degree);
        for (size_t k = 0; k < count; k++)
            f.rest[k] = rest_of(&f, p->degree, p->coef, k);
        if (task->with_profile)
            TRY(fit_profile(ctx, &f, task->rows, p));
    }
    TRY(report_round(ctx, &f, p, round));
done:
    sdm_free(&f.rest);
    sdm_free(&f.work);
    sdm_free(&f.fold);
    sdm_free(&f.basis);
    sdm_free(&f.target);
    sdm_free(&thin);
    return st;
}
