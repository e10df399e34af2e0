/* Tie points, from the ray intersection errors of a matched surface -> the pointing correction. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/pointing_fit.h"
#include "core/dense.h"
#include "core/math.h"
#include "core/stats.h"
#include "core/vector_loops.h"
#include "matching/coarse_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TERMS = SDM_POINT_MAX_TERMS,
    LANES = 4, /* terms that are summed together */
    PITCH = (TERMS + LANES - 1) / LANES * LANES,
    FOLDS = 4,       /* of the cross-validation */
    FOLD_BLOCKS = 8, /* half the blocks a side of the image that are dealt to the folds */
    ITERATIONS = 6,  /* of the weights */
    LEAST_POINTS = 30,
    PLOTTED_POINTS = 4000, /* at most */
    DEGREE_POINTS = 4000,  /* at most, to choose the degree by */
    PARTS = 8,             /* sums of the normal equations, so that they do not depend on the threads */
    PROFILE_STEP = 16      /* rows */
};
#define TUKEY 4.685       /* biweight: residuals of more than this many sigmas count nothing */
#define DEGREE_GAIN 0.98  /* a higher degree must leave less than this share of the error */
#define PROFILE_GAIN 0.97 /* as must a profile */

/* A fit in work. */
typedef struct Fit {
    const SdmTiePoint *point;
    size_t count;
    const SdmPointing *model; /* centre, scale; its profile is taken off the targets */
    double *residual, *work;  /* count each */
    double *basis;            /* count x PITCH */
    double *target;           /* count: correction_px without the profile */
    uint8_t *fold;            /* count */
    double response;          /* as in SdmFitTask */
    int threads;
} Fit;

/* The highest degree that so many tie points can carry: high degrees oscillate where there are none. */
static int degree_for(size_t count, int max_degree)
{
    const int most = count < 200    ? 0
                     : count < 600  ? 1
                     : count < 2000 ? 2
                     : count < 6000 ? 3
                                    : SDM_POINT_MAX_DEGREE;
    return most < max_degree ? most : max_degree;
}

typedef struct NormalEquations { /* of a, the lower triangle, and what fills its rows to LANES */
    double a[TERMS * PITCH], b[TERMS];
} NormalEquations;

SDM_VECTOR_LOOPS static void add_points(const Fit *f, int n, int without, const double *weight, size_t begin,
                                        size_t end, NormalEquations *sum)
{
    for (size_t i = begin; i < end; i++) {
        if (f->fold[i] == without || weight[i] <= 0.0)
            continue;
        const double *restrict const t = f->basis + i * PITCH;
        const double w = weight[i], target = f->target[i];
        for (int r = 0; r < n; r++) {
            const double wt = w * t[r];
            double *restrict const row = sum->a + r * PITCH;
            for (int c = 0; c <= r; c += LANES)
                for (int k = 0; k < LANES; k++)
                    row[c + k] += wt * t[c + k];
            sum->b[r] += wt * target;
        }
    }
}

/* Weighted least squares of the points outside the fold `without` (-1: of all). */
static bool solve(const Fit *f, int degree, int without, const double *weight, double coef[TERMS])
{
    NormalEquations part[PARTS] = {0};
    const int n = sdm_terms(degree);
    const size_t step = f->count / PARTS + 1;
#pragma omp parallel for num_threads(f->threads) schedule(static)
    for (int i = 0; i < PARTS; i++) {
        const size_t begin = (size_t)i * step, end = begin + step;
        add_points(f, n, without, weight, begin < f->count ? begin : f->count,
                   end < f->count ? end : f->count, &part[i]);
    }
    double a[TERMS * TERMS], *const b = part[0].b;
    for (int i = 1; i < PARTS; i++) {
        for (int k = 0; k < n * PITCH; k++)
            part[0].a[k] += part[i].a[k];
        for (int k = 0; k < n; k++)
            b[k] += part[i].b[k];
    }
    for (int r = 0; r < n; r++) {
        memcpy(a + r * n, part[0].a + r * PITCH, (size_t)n * sizeof *a);
        a[r * n + r] = a[r * n + r] * (1.0 + 1e-9) + 1e-12;
    }
    if (!sdm_solve_cholesky(n, a, b))
        return false;
    memcpy(coef, b, (size_t)n * sizeof *b);
    return true;
}

static double residual_of(const Fit *f, int degree, const double coef[TERMS], size_t i)
{
    const double *const t = f->basis + i * PITCH;
    double sum = 0.0;
    for (int k = 0; k < sdm_terms(degree); k++)
        sum += coef[k] * t[k];
    return f->target[i] - sum;
}

/* Basis of every point, and the targets without the profile in use. */
static void prepare_fit(const Fit *f, int degree)
{
#pragma omp parallel for num_threads(f->threads) schedule(static)
    for (size_t i = 0; i < f->count; i++) {
        const SdmPointing *const p = f->model;
        sdm_pointing_basis(degree, (f->point[i].col - p->centre[0]) / p->scale[0],
                           (f->point[i].row - p->centre[1]) / p->scale[1], f->basis + i * PITCH);
        f->target[i] = f->point[i].correction_px - sdm_pointing_profile(f->model, f->point[i].row);
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
    if (n < LEAST_POINTS / 2)
        return false;
    coef[0] = sdm_median_f64(f->work, (int64_t)n);
    for (int it = 0; it < ITERATIONS; it++) {
        n = 0;
#pragma omp parallel for num_threads(f->threads) schedule(static)
        for (size_t i = 0; i < f->count; i++)
            f->residual[i] = residual_of(f, degree, coef, i);
        for (size_t i = 0; i < f->count; i++)
            if (f->fold[i] != without)
                f->work[n++] = fabs(f->residual[i]);
        const double scale = TUKEY * fmax(1.4826 * sdm_median_f64(f->work, (int64_t)n), 1e-6);
#pragma omp parallel for num_threads(f->threads) schedule(static)
        for (size_t i = 0; i < f->count; i++)
            f->work[i] = sdm_biweight(f->residual[i], scale);
        if (!solve(f, degree, without, f->work, coef))
            return false;
    }
    return true;
}

/* Models of one degree, each fitted without one of the folds. */
typedef struct Folds {
    double coef[FOLDS][TERMS];
    bool solved[FOLDS];
} Folds;

/* Fit the models of the degrees 0..max_degree.  room: FOLDS x (max_degree + 1) x 2 x count. */
static void fit_folds(const Fit *f, int max_degree, double *room, Folds *of)
{
    const int models = FOLDS * (max_degree + 1);
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1)
    for (int i = models - 1; i >= 0; i--) { /* the slowest first */
        Fit own = *f;
        own.residual = room + (size_t)(2 * i) * f->count;
        own.work = own.residual + f->count;
        own.threads = 1;
        Folds *const d = &of[i / FOLDS];
        d->solved[i % FOLDS] = fit_robust(&own, i / FOLDS, i % FOLDS, d->coef[i % FOLDS]);
    }
}

/* Root mean square of the residuals, clipped, of each fold to the model that was fitted without it. */
static double cross_validate(const Fit *f, int degree, const Folds *of, double clip)
{
    double sum = 0.0;
    for (int k = 0; k < FOLDS; k++) {
        if (!of->solved[k])
            return INFINITY;
        for (size_t i = 0; i < f->count; i++)
            if (f->fold[i] == k) {
                const double residual = fmin(fabs(residual_of(f, degree, of->coef[k], i)), clip);
                sum += residual * residual;
            }
    }
    return sqrt(sum / (double)f->count);
}

static SdmStatus choose_degree(SdmContext *ctx, const Fit *f, int max_degree, SdmPointing *p,
                               SdmPointRound *r)
{
    Folds of[SDM_POINT_MAX_DEGREE + 1];
    double coef[TERMS], clip = 1e9;
    SDM_OWNED double *room = NULL;
    PASS(sdm_alloc_raw(ctx, &room, (size_t)(2 * FOLDS * (max_degree + 1)) * f->count, sizeof *room,
                       "fits of the folds"));
    if (fit_robust(f, max_degree < 2 ? max_degree : 2, -1, coef)) {
        for (size_t i = 0; i < f->count; i++)
            f->work[i] = f->residual[i];
        clip = 3.0 * fmax(sdm_nmad_f64(f->work, (int64_t)f->count, NULL), 1e-3);
    }
    fit_folds(f, max_degree, room, of);
    double best = INFINITY;
    for (int d = 0; d <= max_degree; d++) {
        const double e = cross_validate(f, d, &of[d], clip);
        if (e < DEGREE_GAIN * best) {
            best = e;
            p->degree = d;
        }
    }
    r->cross_validation_px = isfinite(best) ? best : 0.0;
    return SDM_OK;
}

/* Local mean of bins with a Gaussian of `width` bins; weight, sum: of the residuals in each bin, weighted. */
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

/* Residuals by row of the right image. */
typedef struct Bins {
    int count;
    int64_t row0;
    double *weight, *sum; /* 3 x count: halves 0 and 1 of the image, and both */
} Bins;

static void fill_bins(const Fit *f, double clip, const Bins *b)
{
    memset(b->weight, 0, (size_t)(3 * b->count) * sizeof *b->weight);
    memset(b->sum, 0, (size_t)(3 * b->count) * sizeof *b->sum);
    for (size_t i = 0; i < f->count; i++) {
        const double w = sdm_biweight(f->residual[i], clip);
        const int64_t bin = (int64_t)floor((f->point[i].row - (double)b->row0) / PROFILE_STEP + 0.5);
        if (bin < 0 || bin >= b->count)
            continue;
        /* stripes of columns, so that neighbouring points are in one half */
        const int side = (int)(((int64_t)floor(f->point[i].col / 256.0)) & 1);
        for (int k = 0; k < 2; k++) {
            const int64_t at = (k ? 2 : side) * b->count + bin;
            b->weight[at] += w;
            b->sum[at] += w * f->residual[i];
        }
    }
}

/* Weighted mean square error when the profile of one half of the image, smoothed by `width`, predicts the
 * other; width 0: when 0 predicts it. */
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

/* Add the profile by row of the residuals to that of p, if the profile of each half of the image predicts the
 * other half.  f->work is overwritten. */
static SdmStatus fit_profile(SdmContext *ctx, const Fit *f, int64_t rows, SdmPointing *p)
{
    static const double widths[] = {1.0, 1.5, 2.5, 4.0, 8.0, 16.0};
    const int count = (int)(rows / PROFILE_STEP) + 2;
    SDM_OWNED double *weight = NULL, *sum = NULL;
    double best_width = 0.0;
    PASS(SDM_ALLOC(ctx, "profile bins", SDM_ARRAY(weight, (size_t)(3 * count)),
                   SDM_ARRAY(sum, (size_t)(3 * count))));
    Bins b = {.count = count, .weight = weight, .sum = sum};
    for (size_t i = 0; i < f->count; i++)
        f->work[i] = f->residual[i];
    fill_bins(f, TUKEY * fmax(sdm_nmad_f64(f->work, (int64_t)f->count, NULL), 1e-3), &b);
    double best = PROFILE_GAIN * profile_error(&b, 0.0);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const double e = profile_error(&b, widths[i]);
        if (e < best) {
            best = e;
            best_width = widths[i];
        }
    }
    if (best_width > 0.0) {
        double *fresh = NULL;
        PASS(sdm_alloc(ctx, &fresh, (size_t)b.count, sizeof *fresh, "the jitter profile"));
        for (int i = 0; i < b.count; i++)
            fresh[i] = smooth_at(b.weight + 2 * b.count, b.sum + 2 * b.count, b.count, i, best_width) +
                       (p->profile_count ? p->profile_px[i] : 0.0);
        sdm_free(&p->profile_px);
        p->profile_px = fresh;
        p->profile_count = b.count;
        p->profile_step_px = PROFILE_STEP;
        p->profile_row0 = 0;
    }
    return SDM_OK;
}

static SdmStatus report_round(SdmContext *ctx, const Fit *f, const SdmPointing *p, SdmPointRound *r)
{
    const size_t n = f->count, every = n / PLOTTED_POINTS + 1;
    PASS(sdm_alloc(ctx, &r->samples, n / every + 1, sizeof *r->samples, "samples for the plot"));
    for (size_t i = 0; i < n; i++)
        f->work[i] = f->point[i].residual_px;
    r->before_median_px = sdm_median_f64(f->work, (int64_t)n);
    r->before_nmad_px = sdm_nmad_f64(f->work, (int64_t)n, NULL);
    for (size_t i = 0; i < n; i++) {
        f->residual[i] = f->response * (f->point[i].correction_px -
                                        sdm_pointing_value(p, f->point[i].col, f->point[i].row));
        f->work[i] = f->residual[i];
        if (i % every == 0)
            r->samples[r->sample_count++] =
                (SdmPointSample){(float)f->point[i].col, (float)f->point[i].row,
                                 (float)f->point[i].residual_px, (float)f->residual[i]};
    }
    r->after_nmad_px = sdm_nmad_f64(f->work, (int64_t)n, NULL);
    r->cross_validation_px *= f->response;
    r->matches = (int)n;
    for (size_t i = 0; i < n; i++)
        r->inliers += fabs(f->residual[i]) < 3.0 * r->after_nmad_px;
    r->degree = p->degree;
    double sum = 0.0;
    for (int i = 0; i < p->profile_count; i++)
        sum += p->profile_px[i] * p->profile_px[i];
    r->profile_rms_px = p->profile_count ? sqrt(sum / p->profile_count) : 0.0;
    return SDM_OK;
}

/* Neighbouring points are alike: whole blocks of the image go to a fold. */
static void deal_folds(const Fit *f)
{
    const SdmPointing *const p = f->model;
    for (size_t i = 0; i < f->count; i++) {
        const int bx = (int)((f->point[i].col - p->centre[0]) / p->scale[0] * FOLD_BLOCKS + 4 * FOLD_BLOCKS);
        const int by = (int)((f->point[i].row - p->centre[1]) / p->scale[1] * FOLD_BLOCKS + 4 * FOLD_BLOCKS);
        f->fold[i] = (uint8_t)((unsigned)(bx + 2 * by) % FOLDS);
    }
}

SdmFitTask sdm_fit_task(const SdmScene *scene, const SdmFrame *frame)
{
    const SdmCameraNote camera[2] = {scene->view[0].note, scene->view[1].note};
    return (SdmFitTask){.response = 1.0,
                        .rows = scene->view[1].image->height,
                        .left = scene->view[0].name,
                        .right = scene->view[1].name,
                        .hint = sdm_few_matches_hint(scene->options, frame, camera)};
}

/* Choose the degree by some DEGREE_POINTS of the points; thin: room for all. */
static SdmStatus choose_by_few(SdmContext *ctx, const Fit *f, SdmTiePoint *thin, int max_degree,
                               SdmPointing *p, SdmPointRound *round)
{
    const size_t every = f->count / DEGREE_POINTS + 1;
    Fit few = *f;
    few.point = thin;
    few.count = 0;
    for (size_t i = 0; i < f->count; i += every)
        thin[few.count++] = f->point[i];
    deal_folds(&few);
    prepare_fit(&few, max_degree);
    return choose_degree(ctx, &few, max_degree, p, round);
}

SdmStatus sdm_pointing_fit(SdmContext *ctx, const SdmFitTask *task, SdmPointing *p, SdmPointRound *round)
{
    const size_t count = task->count;
    SDM_OWNED double *residual = NULL, *work = NULL, *basis = NULL, *target = NULL;
    SDM_OWNED uint8_t *fold = NULL;
    SDM_OWNED SdmTiePoint *thin = NULL;
    if (count < LEAST_POINTS)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "too few matches between %s and %s: %zu, at least %d are needed to find the pointing; %s",
            task->left, task->right, count, (int)LEAST_POINTS, task->hint.text);
    const int max_degree = degree_for(count, task->max_degree);
    sdm_free(&p->profile_px);
    p->profile_count = 0;
    p->degree = 0;
    PASS(SDM_ALLOC(ctx, "the fit of the pointing", SDM_ARRAY(residual, count), SDM_ARRAY(work, count),
                   SDM_ARRAY(fold, count), SDM_ARRAY(basis, count * PITCH), SDM_ARRAY(target, count),
                   SDM_ARRAY(thin, count)));
    Fit f = {.point = task->point,
             .count = count,
             .model = p,
             .residual = residual,
             .work = work,
             .basis = basis,
             .target = target,
             .fold = fold,
             .response = task->response,
             .threads = sdm_threads(ctx)};
    PASS(choose_by_few(ctx, &f, thin, max_degree, p, round));
    deal_folds(&f);
    for (int i = 0; i < (task->with_profile ? 2 : 1); i++) {
        prepare_fit(&f, p->degree);
        if (!fit_robust(&f, p->degree, -1, p->coef))
            return sdm_fail(ctx, SDM_ERR_DATA,
                            "the pointing cannot be fitted to the %zu matches between %s and %s; are they of "
                            "the same place and time?",
                            count, task->left, task->right);
        p->terms = sdm_terms(p->degree);
#pragma omp parallel for num_threads(f.threads) schedule(static)
        for (size_t k = 0; k < count; k++)
            f.residual[k] = residual_of(&f, p->degree, p->coef, k);
        if (task->with_profile)
            PASS(fit_profile(ctx, &f, task->rows, p));
    }
    return report_round(ctx, &f, p, round);
}

SdmHint sdm_few_matches_hint(const SdmOptions *o, const SdmFrame *f, const SdmCameraNote camera[2])
{
    SdmHint hint = {""};
    size_t n = 0;
    char of_rpc[200];
    const char *cause = "", *cure = "give others";
    snprintf(of_rpc, sizeof of_rpc,
             "terrain outside the heights of the RPCs (%.0f to %.0f m above the ellipsoid: give its own with "
             "--hmin and --hmax), RPCs that are exchanged, ",
             f->hmin_m, f->hmax_m);
    for (int i = 0; i < 2; i++)
        if (*camera[i].doubt)
            n += (size_t)snprintf(hint.text + n, sizeof hint.text - n, "%s; ", camera[i].doubt);
    if (o && o->dem) {
        cause = "heights of --dem that are not the terrain's (another place, unit or datum), ";
        cure = "leave --dem out, or give another";
    } else if (o && (!isnan(o->hmin_m) || !isnan(o->hmax_m))) {
        cause = "terrain outside --hmin and --hmax (metres above the ellipsoid), ";
        cure = "leave the heights out, or give others";
    } else if (o && (o->mask_left || o->mask_right)) {
        cause = "masks that leave too little of the images, ";
        cure = "give masks that leave more, or none";
    } else if (sdm_frame_pixels(f) < 256.0 * 256.0) {
        cause = "an overlap smaller than 256 x 256 px, ";
        cure = "give larger images, or others";
    } else if (*camera[0].source) {
        cause = of_rpc;
    }
    snprintf(hint.text + n, sizeof hint.text - n,
             "%sclouds, water or snow, images of different places, or one mirrored: %s", cause, cure);
    return hint;
}

void sdm_point_report_free(SdmPointReport *r)
{
    for (int i = 0; i < r->rounds; i++)
        sdm_free(&r->round[i].samples);
}

/* ---- tie points ---- */

SdmStatus sdm_tie_points_alloc(SdmContext *ctx, size_t room, SdmTiePoints *out)
{
    *out = (SdmTiePoints){.room = room};
    return sdm_alloc(ctx, &out->point, room, sizeof *out->point, "tie points");
}

void sdm_tie_points_free(SdmTiePoints *t)
{
    sdm_free(&t->point);
    t->count = t->room = 0;
}

/* Mean residual (px of the level) and height of a block whose first pixel is (x, y); false where too few
 * pixels have a residual. */
static bool block_mean(const SdmTiePointSource *from, int x, int y, double *residual, double *height_m)
{
    const SdmSurface *const s = from->surface;
    const int block = from->block;
    double sum = 0.0, height = 0.0;
    int n = 0;
    for (int j = y; j < y + block; j++)
        for (int i = x; i < x + block; i++) {
            const size_t at = (size_t)j * (size_t)s->win.w + (size_t)i;
            const float v = from->ray_error_v[at];
            if (!(s->flags[at] & SDM_QA_VALID) || !isfinite(v) || fabsf(v) > 1.0f)
                continue;
            sum += (double)v;
            height += (double)s->h_m[at];
            n++;
        }
    if (2 * n < block * block)
        return false;
    *residual = sum / n;
    *height_m = height / n;
    return true;
}

/* A row of the frame along p->dir, px of the right image; at: the right position. */
static double row_across(const SdmLattice *lattice, const SdmPointing *p, double u, double v, double height_m,
                         double at[2])
{
    double next[2];
    sdm_lattice_right(lattice, u, v, height_m, at);
    sdm_lattice_right(lattice, u, v + 1.0, height_m, next);
    return (next[0] - at[0]) * p->dir[0] + (next[1] - at[1]) * p->dir[1];
}

void sdm_tie_points_add(const SdmTiePointSource *from, SdmTiePoints *t)
{
    const SdmWindow *const win = &from->surface->win;
    const SdmPointing *const p = from->in_use;
    const int block = from->block;
    const double size = (double)(1 << win->level);
    for (int y = 0; y + block <= win->h; y += block)
        for (int x = 0; x + block <= win->w; x += block) {
            double residual, height_m, at[2];
            if (!block_mean(from, x, y, &residual, &height_m) || t->count >= t->room)
                continue;
            const double u = ((double)win->u0 + x + 0.5 * block) * size - 0.5;
            const double v = ((double)win->v0 + y + 0.5 * block) * size - 0.5;
            const double residual_px = residual * size * row_across(from->lattice, p, u, v, height_m, at);
            t->point[t->count++] =
                (SdmTiePoint){.col = at[0],
                              .row = at[1],
                              .residual_px = residual_px,
                              .correction_px = residual_px + sdm_pointing_value(p, at[0], at[1])};
        }
}

/* ---- coarse levels ---- */

enum {
    OFFSET_RANGE_PX = 32, /* offsets searched across the epipolar lines, full resolution */
    MOST_OFFSETS = 128,   /* rows of the coarsest level */
    FIT_POINTS = 60,      /* fewer tie points leave the correction as it is, but at the last level */
    TILT_POINTS = 300,    /* up to this many give a constant alone */
    CHANCE_ROWS = 3,      /* off the best offset, from which matches are chance */
    LAST_DEGREE = 4       /* of the correction at the last level, at most */
};
static const double OFFSET_RANGE_M =
    45.0;                               /* the same where none of those stands out: raw RPCs are 30 m off */
static const double OFFSET_GAIN = 1.02; /* an offset farther from 0 must match that much more */
static const double LEAST_MATCHED = 0.03;
/* Share of matched pixels at an offset that ends the search, where those two rows off match so much less. */
static const double CLEAR_SHARE = 0.75, CLEAR_RATIO = 0.9;
/* The same where less match on either side: another offset could match little more. */
static const double PEAK_SHARE = 0.9;
static const double CHANCE_RATIO = 3.0; /* of matches over those that chance makes */
/* Shares of the places in the overlap that must give a tie point: at least; and without asking whether
 * rays meet. */
static const double LEAST_SHARE = 0.005, CERTAIN_SHARE = 0.15;

void sdm_pointing_start(const SdmScene *scene, const SdmFrame *frame, SdmPointing *p)
{
    const double size[2] = {(double)scene->view[1].image->width, (double)scene->view[1].image->height};
    for (int k = 0; k < 2; k++) {
        p->dir[k] = frame->across[k];
        p->centre[k] = 0.5 * (size[k] - 1.0);
        p->scale[k] = 0.5 * size[k];
    }
    p->terms = 1;
}

/* Is the best offset, by the shares of the offsets -reach .. reach (NaN: not searched), beyond doubt? */
static bool is_clear(const double *share, int reach, int best)
{
    const int at = best + reach;
    const bool peak = share[at] >= PEAK_SHARE && abs(best) < reach && share[at - 1] < share[at] &&
                      share[at + 1] < share[at];
    return peak || (share[at] >= CLEAR_SHARE && abs(best) <= reach - 2 &&
                    share[at - 2] < CLEAR_RATIO * share[at] && share[at + 2] < CLEAR_RATIO * share[at]);
}

/* Where clouds are hidden, few matches are left.  They are no chance if those CHANCE_ROWS off and more, as
 * far as searched, are fewer by CHANCE_RATIO; reach: of the offsets, searched: of those to ask. */
static bool is_no_chance(const double *share, int reach, int searched, int best)
{
    double chance = 0.0;
    for (int k = -searched; k <= searched; k++)
        if (abs(k - best) >= CHANCE_ROWS)
            chance = fmax(chance, share[k + reach]);
    return searched >= abs(best) + CHANCE_ROWS && share[best + reach] > CHANCE_RATIO * chance;
}

/* level: about level planes alone, which tell the offset; *s stays cleaned, its gaps open. */
static SdmStatus search_at(SdmContext *ctx, const SdmOffsetSearch *q, int offset, bool level, SdmSurface *s,
                           double *share)
{
    const SdmFrame *const f = q->frame;
    const SdmWindow win = sdm_frame_level(f, q->in->settings->coarsest_level);
    const double size = (double)(1 << win.level);
    const SdmCoarsestSearch search = {.half_range_px = q->half_range_m * fabs(f->du_dh) / size,
                                      .pixel_m = f->gsd_m * size,
                                      .v_shift = offset,
                                      .level = level};
    PASS(sdm_surface_alloc(ctx, &win, s));
    for (size_t k = 0; k < (size_t)win.w * (size_t)win.h; k++)
        s->h_m[k] = q->prior ? q->prior->h_m[k] : (float)q->in->lattice->height0_m;
    PASS(sdm_coarsest_search(ctx, q->in, &search, s, share));
    sdm_log(ctx, SDM_LOG_VERBOSE, 2, "level %d, %d rows across: %.1f %% matched", win.level, offset,
            100.0 * *share);
    return SDM_OK;
}

SdmStatus sdm_pointing_search_offset(SdmContext *ctx, const SdmOffsetSearch *q, SdmSurface *best,
                                     int *offset_rows)
{
    const SdmFrame *const f = q->frame;
    const int level = q->in->settings->coarsest_level, near = (OFFSET_RANGE_PX + (1 << level) - 1) >> level,
              far = (int)fmin(OFFSET_RANGE_M / f->gsd_m / (1 << level), MOST_OFFSETS),
              reach = far > near ? far : near;
    const bool gaps = sdm_hides_clouds(q->in->settings);
    bool certain = false;
    double share, best_share = -1.0, shares[2 * MOST_OFFSETS + 1];
    for (int i = 0; i <= 2 * reach; i++)
        shares[i] = NAN;
    for (int i = 0; i <= 2 * reach && !certain; i++) {
        const int offset = i & 1 ? (i + 1) / 2 : -(i / 2); /* 0, 1, -1, 2, ... */
        SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = {0};
        PASS(search_at(ctx, q, offset, gaps, &s, &share));
        shares[offset + reach] = share;
        if (share > best_share * OFFSET_GAIN + 1e-9) {
            best_share = share;
            *offset_rows = offset;
            sdm_surface_free(best);
            *best = s;
            s = (SdmSurface){0};
        }
        certain = gaps || i == 2 * near ? is_no_chance(shares, reach, i / 2, *offset_rows)
                                        : is_clear(shares, reach, *offset_rows);
    }
    if (gaps ? !certain : best_share < LEAST_MATCHED)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "too few matches: %.1f %% of the overlap of %s and %s at 1/%d of the size, at least 3 "
            "%% are needed; %s",
            100.0 * best_share, q->scene->view[0].name, q->scene->view[1].name, 1 << level,
            sdm_fit_task(q->scene, f).hint.text);
    if (!gaps)
        return SDM_OK;
    sdm_surface_free(best);
    return search_at(ctx, q, *offset_rows, false, best, &share);
}

void sdm_pointing_set_offset(const SdmFrame *frame, const SdmLattice *lattice, int level, int offset_rows,
                             SdmPointing *p)
{
    const double u = 0.5 * (double)frame->width, v = 0.5 * (double)frame->height;
    double at[2];
    p->coef[0] = row_across(lattice, p, u, v, lattice->height0_m, at) * offset_rows * (double)(1 << level);
}

/* Chance makes a few matches anywhere, but does not let their rays meet to within the spread by noise
 * alone. */
static SdmStatus check_matches(SdmContext *ctx, const SdmWindow *level, const SdmFitTask *task,
                               const SdmPointRound *r)
{
    const double blocks = (double)(level->w / SDM_COARSE_BLOCK) * (double)(level->h / SDM_COARSE_BLOCK),
                 share = (double)task->count / fmax(blocks, 1.0);
    const double spread = r->after_nmad_px / (double)(1 << level->level);
    if (share >= LEAST_SHARE && (share >= CERTAIN_SHARE || spread <= SDM_MATCH_NOISE_PX))
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_DATA,
                    "too few matches between %s and %s: %zu of %.0f places at 1/%d of the size, their rays "
                    "miss each other by %.1f px; %s",
                    task->left, task->right, task->count, blocks, 1 << level->level, r->after_nmad_px,
                    task->hint.text);
}

SdmStatus sdm_pointing_fit_level(SdmContext *ctx, const SdmFitTask *scene, const SdmTiePoints *points,
                                 const SdmWindow *level, bool last, SdmPointing *p, SdmPointReport *report)
{
    SdmStatus st = SDM_OK;
    SdmFitTask task = *scene;
    SdmPointRound round = {.level = level->level};
    task.point = points->point;
    task.count = points->count;
    task.max_degree = last ? LAST_DEGREE : points->count > TILT_POINTS ? 1 : 0;
    if (points->count >= FIT_POINTS || last)
        TRY(sdm_pointing_fit(ctx, &task, p, &round));
    if (last && !task.certain)
        TRY(check_matches(ctx, level, &task, &round));
    sdm_log(ctx, SDM_LOG_VERBOSE, 2,
            "level %d: %zu matches, across %.3f px, spread %.3f -> %.3f px, degree %d", level->level,
            points->count, round.before_median_px, round.before_nmad_px, round.after_nmad_px, round.degree);
    if (last) {
        if (report->rounds > 0) /* an earlier fit of the level */
            sdm_free(&report->round[--report->rounds].samples);
        report->round[report->rounds++] = round;
        round.samples = NULL;
    }
done:
    sdm_free(&round.samples);
    return st;
}
