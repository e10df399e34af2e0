/* Stage 2: robust fit of the pointing correction. */
// SPDX-License-Identifier: Apache-2.0
#include "core/dense.h"
#include "core/stats.h"
#include "pointing/fit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TERMS = SDM_POINT_MAX_TERMS,
    FOLDS = 4,
    BLOCKS = 8,
    ITERATIONS = 6,
    LEAST = 30,
    SHOWN = 4000,
    FOR_DEGREE = 4000,
    PARTS = 8
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

typedef struct Normal { /* equations */
    double a[TERMS * TERMS], b[TERMS];
} Normal;

static void add_samples(const SdmFit *f, int n, int without, const double *weight, size_t begin, size_t end,
                        Normal *sum)
{
    for (size_t i = begin; i < end; i++) {
        if (f->fold[i] == without || weight[i] <= 0.0)
            continue;
        const double *const t = f->basis + i * TERMS;
        for (int r = 0; r < n; r++) {
            const double wt = weight[i] * t[r];
            for (int c = 0; c <= r; c++)
                sum->a[r * n + c] += wt * t[c];
            sum->b[r] += wt * f->target[i];
        }
    }
}

/* Weighted least squares of the samples outside `without` (-1: all).  They are summed in PARTS, whatever the
 * threads. */
static bool solve(const SdmFit *f, int degree, int without, const double *weight, double coef[TERMS])
{
    Normal part[PARTS] = {0};
    const int n = terms_of(degree);
    const size_t step = f->count / PARTS + 1;
#pragma omp parallel for num_threads(f->threads) schedule(static)
    for (int i = 0; i < PARTS; i++) {
        const size_t begin = (size_t)i * step, end = begin + step;
        add_samples(f, n, without, weight, begin < f->count ? begin : f->count,
                    end < f->count ? end : f->count, &part[i]);
    }
    double *const a = part[0].a, *const b = part[0].b;
    for (int i = 1; i < PARTS; i++) {
        for (int k = 0; k < n * n; k++)
            a[k] += part[i].a[k];
        for (int k = 0; k < n; k++)
            b[k] += part[i].b[k];
    }
    for (int r = 0; r < n; r++)
        a[r * n + r] = a[r * n + r] * (1.0 + 1e-9) + 1e-12;
    if (!sdm_solve_cholesky(n, a, b))
        return false;
    memcpy(coef, b, (size_t)n * sizeof *b);
    return true;
}

static double rest_of(const SdmFit *f, int degree, const double coef[TERMS], size_t i)
{
    const double *const t = f->basis + i * TERMS;
    double sum = 0.0;
    for (int k = 0; k < terms_of(degree); k++)
        sum += coef[k] * t[k];
    return f->target[i] - sum;
}

/* Basis of every sample, and the targets without the profile in use. */
static void prepare_fit(const SdmFit *f, int degree)
{
#pragma omp parallel for num_threads(f->threads) schedule(static)
    for (size_t i = 0; i < f->count; i++) {
        basis(f->model, degree, &f->sample[i], f->basis + i * TERMS);
        f->target[i] = f->sample[i].target_px - sdm_pointing_profile(f->model, f->sample[i].row);
    }
}

/* Robust fit by iterated weights; false when it cannot be solved. */
static bool fit_robust(const SdmFit *f, int degree, int without, double coef[TERMS])
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
#pragma omp parallel for num_threads(f->threads) schedule(static)
        for (size_t i = 0; i < f->count; i++)
            f->rest[i] = rest_of(f, degree, coef, i);
        for (size_t i = 0; i < f->count; i++)
            if (f->fold[i] != without)
                f->work[n++] = fabs(f->rest[i]);
        const double scale = 4.685 * fmax(1.4826 * sdm_median_f64(f->work, (int64_t)n), 1e-6);
#pragma omp parallel for num_threads(f->threads) schedule(static)
        for (size_t i = 0; i < f->count; i++) {
            const double q = f->rest[i] / scale, w = 1.0 - q * q;
            f->work[i] = fabs(q) < 1.0 ? w * w : 0.0;
        }
        if (!solve(f, degree, without, f->work, coef))
            return false;
    }
    return true;
}

/* Models of one degree, each without a fold. */
typedef struct Folds {
    double coef[FOLDS][TERMS];
    bool solved[FOLDS];
} Folds;

/* All models of the degrees 0..max_degree.  room: FOLDS x (max_degree + 1) x 2 x count. */
static void fit_folds(const SdmFit *f, int max_degree, double *room, Folds *of)
{
    const int models = FOLDS * (max_degree + 1);
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1)
    for (int i = models - 1; i >= 0; i--) { /* the dearest ones first */
        SdmFit own = *f;
        own.rest = room + (size_t)(2 * i) * f->count;
        own.work = own.rest + f->count;
        own.threads = 1;
        Folds *const d = &of[i / FOLDS];
        d->solved[i % FOLDS] = fit_robust(&own, i / FOLDS, i % FOLDS, d->coef[i % FOLDS]);
    }
}

/* Clipped mean square of what a degree's models leave in the folds that they have not seen. */
static double cross_validate(const SdmFit *f, int degree, const Folds *of, double clip)
{
    double sum = 0.0;
    for (int k = 0; k < FOLDS; k++) {
        if (!of->solved[k])
            return INFINITY;
        for (size_t i = 0; i < f->count; i++)
            if (f->fold[i] == k) {
                const double rest = fmin(fabs(rest_of(f, degree, of->coef[k], i)), clip);
                sum += rest * rest;
            }
    }
    return sqrt(sum / (double)f->count);
}

static SdmStatus choose_degree(SdmContext *ctx, const SdmFit *f, int max_degree, SdmPointing *p,
                               SdmPointRound *r)
{
    SdmStatus st = SDM_OK;
    Folds of[SDM_POINT_MAX_DEGREE + 1];
    double coef[TERMS], clip = 1e9, *room = NULL;
    TRY(sdm_alloc_raw(ctx, &room, (size_t)(2 * FOLDS * (max_degree + 1)) * f->count, sizeof *room,
                      "fits of the folds"));
    if (fit_robust(f, max_degree < 2 ? max_degree : 2, -1, coef)) {
        for (size_t i = 0; i < f->count; i++)
            f->work[i] = f->rest[i];
        clip = 3.0 * fmax(sdm_nmad_f64(f->work, (int64_t)f->count, NULL), 1e-3);
    }
    fit_folds(f, max_degree, room, of);
    double best = INFINITY;
    for (int d = 0; d <= max_degree; d++) {
        const double e = cross_validate(f, d, &of[d], clip);
        if (e < GAIN * best) {
            best = e;
            p->degree = d;
        }
    }
    r->cross_validation_px = isfinite(best) ? best : 0.0;
done:
    sdm_free(&room);
    return st;
}

static SdmStatus report_round(SdmContext *ctx, const SdmFit *f, const SdmPointing *p, SdmPointRound *r)
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
static void deal_folds(const SdmFit *f)
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
    SdmFit f = {.sample = task->sample, .count = count, .model = p, .threads = sdm_threads(ctx)};
    SdmFitSample *thin = NULL;
    if (count < LEAST)
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "too few matches between %s and %s: %zu, at least %d are needed to find the "
                        "pointing; %s",
                        task->left, task->right, count, (int)LEAST,
                        sdm_few_matches_hint(task->options, task->overlap_px));
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
    SdmFit few = f;
    few.sample = thin;
    few.count = 0;
    for (size_t i = 0; i < count; i += every)
        thin[few.count++] = task->sample[i];
    deal_folds(&few);
    prepare_fit(&few, max_degree);
    TRY(choose_degree(ctx, &few, max_degree, p, round));
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
#pragma omp parallel for num_threads(f.threads) schedule(static)
        for (size_t k = 0; k < count; k++)
            f.rest[k] = rest_of(&f, p->degree, p->coef, k);
        if (task->with_profile)
            TRY(sdm_fit_profile(ctx, &f, task->rows, p));
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

const char *sdm_few_matches_hint(const SdmOptions *o, double overlap_px)
{
    if (o && o->dem)
        return "heights of --dem that are not the terrain's (another place, unit or datum), clouds, water or "
               "snow, images of different places, or one mirrored: leave --dem out, or give another";
    if (o && (!isnan(o->hmin_m) || !isnan(o->hmax_m)))
        return "terrain outside --hmin and --hmax (metres above the ellipsoid), clouds, water or snow, "
               "images of different places, or one mirrored: leave the heights out, or give others";
    if (overlap_px < 256.0 * 256.0)
        return "an overlap smaller than 256 x 256 px, clouds, water or snow, images of different places, or "
               "one mirrored: give larger images, or others";
    return "clouds, water or snow, images of different places, or one mirrored: give others";
}

void sdm_point_report_free(SdmPointReport *r)
{
    for (int i = 0; i < r->rounds; i++)
        sdm_free(&r->round[i].samples);
}
