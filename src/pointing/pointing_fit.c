/* Tie points, from the ray intersection errors of a matched surface -> the pointing correction. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/pointing_fit.h"
#include "core/dense.h"
#include "core/math.h"
#include "core/stats.h"
#include "core/vector_loops.h"

#include <math.h>
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
                        .rows = sdm_image_height(scene->view[1].image),
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

/* Causes and what to do, without those of the cameras. */
static void say_causes(const SdmOptions *o, const SdmFrame *f, bool is_rpc, char *out, size_t size)
{
    if (o && o->dem)
        snprintf(out, size,
                 "heights of --dem that are not the terrain's (another place, unit or datum), clouds, water "
                 "or snow, images of different places, or one mirrored: leave --dem out, or give another");
    else if (o && (!isnan(o->hmin_m) || !isnan(o->hmax_m)))
        snprintf(out, size,
                 "terrain outside --hmin and --hmax (metres above the ellipsoid), clouds, water or snow, "
                 "images of different places, or one mirrored: leave the heights out, or give others");
    else if (o && (o->mask_left || o->mask_right))
        snprintf(out, size,
                 "masks that leave too little of the images, clouds, water or snow, images of different "
                 "places, or one mirrored: give masks that leave more, or none");
    else if (sdm_frame_pixels(f) < 256.0 * 256.0)
        snprintf(out, size,
                 "an overlap smaller than 256 x 256 px, clouds, water or snow, images of different places, "
                 "or one mirrored: give larger images, or others");
    else if (is_rpc)
        snprintf(out, size,
                 "terrain outside the heights of the RPCs (%.0f to %.0f m above the ellipsoid: give its own "
                 "with --hmin and --hmax), RPCs that are exchanged, clouds, water or snow, images of "
                 "different places, or one mirrored: give others",
                 f->hmin_m, f->hmax_m);
    else
        snprintf(out, size,
                 "clouds, water or snow, images of different places, or one mirrored: give others");
}

SdmHint sdm_few_matches_hint(const SdmOptions *o, const SdmFrame *f, const SdmCameraNote camera[2])
{
    SdmHint hint = {""};
    size_t n = 0;
    for (int i = 0; i < 2; i++)
        if (*camera[i].doubt)
            n += (size_t)snprintf(hint.text + n, sizeof hint.text - n, "%s; ", camera[i].doubt);
    say_causes(o, f, *camera[0].source, hint.text + n, sizeof hint.text - n);
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

void sdm_tie_points_add(const SdmTiePointSource *from, SdmTiePoints *t)
{
    const SdmWindow *const win = &from->surface->win;
    const SdmPointing *const p = from->in_use;
    const int block = from->block;
    const double size = (double)(1 << win->level);
    for (int y = 0; y + block <= win->h; y += block)
        for (int x = 0; x + block <= win->w; x += block) {
            double residual, height_m, at[2], next[2];
            if (!block_mean(from, x, y, &residual, &height_m) || t->count >= t->room)
                continue;
            const double u = ((double)win->u0 + x + 0.5 * block) * size - 0.5;
            const double v = ((double)win->v0 + y + 0.5 * block) * size - 0.5;
            sdm_lattice_right(from->lattice, u, v, height_m, at);
            sdm_lattice_right(from->lattice, u, v + 1.0, height_m, next);
            const double per_px = (next[0] - at[0]) * p->dir[0] + (next[1] - at[1]) * p->dir[1];
            const double residual_px = residual * size * per_px;
            t->point[t->count++] =
                (SdmTiePoint){.col = at[0],
                              .row = at[1],
                              .residual_px = residual_px,
                              .correction_px = residual_px + sdm_pointing_value(p, at[0], at[1])};
        }
}
