/* Stage 2: robust fit of a low-order polynomial and of sums of a few waves, chosen by cross-validation. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/along_fit.h"
#include "core/dense.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.28318530717958647692
enum {
    LEAST_POINTS = 30,
    LEAST_STRIPS = 40,  /* for more than a constant */
    STRIP_ROWS = 16,     /* times a whole number that leaves at most MOST_BINS */
    MOST_BINS = 400,
    CENTRE_POINTS = 500, /* at least, for the median that is the constant */
    STRIP_COLUMNS = 8,   /* of the scene */
    STRIP_POINTS = 4,    /* fewer make no strip */
    CLASSES = 12,        /* of slope */
    ROW_BLOCKS = 8,      /* dealt to the two folds in turn */
    ITERATIONS = 3,      /* of the weights */
    MOST_COLUMNS = SDM_ALONG_MAX_TERMS + 4 * SDM_ALONG_WAVES,
    MOST_REFINED = MOST_COLUMNS + 2 * SDM_ALONG_WAVES,
    REFINEMENTS = 3,     /* of all frequencies together */
    PROFILE_PEAKS = 2,   /* frequencies taken from the profile across the lines */
    SCHEMES = 3,         /* of cross-validation: by rows, by columns in two ways */
    MOST_CANDIDATES = 3 * (2 + PROFILE_PEAKS) + 2 * SDM_ALONG_WAVES + 1
};
static const double POINT_TUKEY = 4.685, STRIP_TUKEY = 6.0; /* biweight: beyond so many sigmas a residual counts 0 */
static const double GAIN = 0.97;               /* what is added must leave less than this share of the error */
static const double MORE_GAIN = 0.998;         /* two waves, of the error of strips that one leaves */
static const double LONGEST_ROWS = 9000.0, SHORTEST_ROWS = 120.0; /* waves */
static const double LONG_ROWS = 1200.0;        /* waves that a reference has errors of, too */
/* Of the classes of slope whose median is the constant: the first one that enough points exceed. */
static const double CENTRE_WEIGHTS[] = {2.0, 1.0, 0.0};
static const double STRIPS_A_WAVE = 3.0;       /* at least */
static const double LEFT_SIGMA_PX = 0.02;      /* ridge: waves of the left view are the less likely ones */
static const double LEAST_SCALE_PX = 1e-4;

/* A robust mean of points: STRIP_ROWS rows of an eighth of the columns. */
typedef struct Strip {
    double value_px, weight, row[2], x, y;
    int bin;                       /* number of its rows */
    int fold[SCHEMES];
} Strip;

/* What is fitted; rows count from row0. */
typedef struct Model {
    int degree, waves[2];
    double per_row[2][SDM_ALONG_WAVES];
    double coef[MOST_COLUMNS]; /* terms; then cosine and sine of each wave, right view first */
} Model;

typedef struct Fit {
    const SdmAlongTask *task;
    size_t *order, *begin; /* points by strip; cell c has order[begin[c]] .. order[begin[c + 1] - 1] */
    int cells, bins;
    double row0[2], span[2]; /* origin of the phases, in the middle of the rows; rows that points span */
    double rows;             /* of the right image */
    double *class_weight;  /* of each point */
    Strip *strip;
    int strips;
    double *basis;         /* strips x MOST_COLUMNS */
    double *residual, *weight, *work, *point_work;
    double step, strip_rows; /* rows of a strip; those that its mean averages, windows included */
    double scale_px;       /* NMAD of the strips' residuals with the best model so far */
} Fit;

static int columns_of(const Model *m)
{
    return sdm_along_terms(m->degree) + 2 * (m->waves[0] + m->waves[1]);
}

/* Share of a wave's amplitude that an average over so many rows keeps: sin(x) / x, x at most pi / 3. */
static double kept(double rows, double per_row)
{
    const double x = 0.5 * TWO_PI * rows * per_row, q = x * x;
    return 1.0 - q / 6.0 * (1.0 - q / 20.0 * (1.0 - q / 42.0));
}

static double biweight(double residual, double scale)
{
    const double q = residual / scale, w = 1.0 - q * q;
    return fabs(q) < 1.0 ? w * w : 0.0;
}

/* The columns of a model at a place, for means over so many rows. */
static void basis_at(const Fit *f, const Model *m, const double row[2], double x, double y, double rows, double *out)
{
    sdm_along_basis(m->degree, x, y, out);
    out += sdm_along_terms(m->degree);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < m->waves[k]; i++) {
            const double phase = TWO_PI * m->per_row[k][i] * (row[k] - f->row0[k]), share = kept(rows, m->per_row[k][i]);
            *out++ = share * cos(phase);
            *out++ = share * sin(phase);
        }
}

static double value_at(const Model *m, const double *basis)
{
    double sum = 0.0;
    for (int i = 0; i < columns_of(m); i++)
        sum += m->coef[i] * basis[i];
    return sum;
}

static double point_x(const Fit *f, const SdmAlongPoint *p)
{
    return ((double)p->col - f->task->scale->centre[0]) / f->task->scale->scale[0];
}

static double point_y(const Fit *f, const SdmAlongPoint *p)
{
    return ((double)p->row[0] - f->task->scale->centre[1]) / f->task->scale->scale[1];
}

static double model_at_point(const Fit *f, const Model *m, const SdmAlongPoint *p)
{
    double basis[MOST_COLUMNS];
    const double row[2] = {(double)p->row[0], (double)p->row[1]};
    basis_at(f, m, row, point_x(f, p), point_y(f, p), f->task->average_rows, basis);
    return value_at(m, basis);
}

/* ---- points -> strips ---- */

/* Sort the points into strips. */
static SdmStatus sort_points(SdmContext *ctx, Fit *f)
{
    SdmStatus st = SDM_OK;
    const SdmAlongTask *const t = f->task;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    int *cell = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const double at[3] = {(double)t->point[i].row[0], (double)t->point[i].row[1], (double)t->point[i].col};
        for (int k = 0; k < 3; k++) {
            lo[k] = fmin(lo[k], at[k]);
            hi[k] = fmax(hi[k], at[k]);
        }
    }
    f->step = STRIP_ROWS * ceil(fmax(fmax((hi[1] - lo[1]) / MOST_BINS, t->point_rows) / STRIP_ROWS - 1e-6, 0.5));
    f->strip_rows = hypot(t->average_rows, f->step);
    f->bins = (int)((hi[1] - lo[1]) / f->step) + 1;
    f->cells = f->bins * STRIP_COLUMNS;
    for (int k = 0; k < 2; k++) {
        f->row0[k] = 0.5 * (lo[k] + hi[k]);
        f->span[k] = fmax(hi[k] - lo[k], 1.0);
    }
    f->rows = f->span[0];
    TRY(sdm_alloc(ctx, &cell, t->count, sizeof *cell, "strips"));
    TRY(sdm_alloc(ctx, &f->order, t->count, sizeof *f->order, "strips"));
    TRY(sdm_alloc(ctx, &f->begin, (size_t)f->cells + 2, sizeof *f->begin, "strips"));
    for (size_t i = 0; i < t->count; i++) {
        const double share = ((double)t->point[i].col - lo[2]) / fmax(hi[2] - lo[2], 1.0);
        const int column = (int)fmin(share * STRIP_COLUMNS, STRIP_COLUMNS - 1.0);
        cell[i] = (int)(((double)t->point[i].row[1] - lo[1]) / f->step) * STRIP_COLUMNS + column;
        f->begin[cell[i] + 2]++;
    }
    for (int c = 0; c < f->cells; c++)
        f->begin[c + 2] += f->begin[c + 1];
    for (size_t i = 0; i < t->count; i++)
        f->order[f->begin[cell[i] + 1]++] = i;
done:
    sdm_free(&cell);
    return st;
}

static int class_of(const SdmAlongPoint *p)
{
    const int c = (int)(16.0f * p->slope);
    return c < CLASSES ? c : CLASSES - 1;
}

/* Residuals of the points from a model, whether they are used or not -> residual. */
static void find_residuals(const Fit *f, const Model *m, double *residual)
{
    for (size_t i = 0; i < f->task->count; i++)
        residual[i] = (double)f->task->point[i].value_px - model_at_point(f, m, &f->task->point[i]);
}

/* The residuals of the points that are used, of one class of slope or of all (-1) -> point_work; @return how many. */
static int64_t gather(const Fit *f, const double *residual, int class_wanted)
{
    const SdmAlongTask *const t = f->task;
    int64_t n = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->point[i].use && (class_wanted < 0 || class_of(&t->point[i]) == class_wanted))
            f->point_work[n++] = residual[i];
    return n;
}

/* Points of a class of slope weigh by the inverse square of its residuals' NMAD.  all: the NMAD of all that are used. */
static void weigh_classes(const Fit *f, const double *residual, double all)
{
    const SdmAlongTask *const t = f->task;
    double spread[CLASSES];
    for (int c = 0; c < CLASSES; c++) {
        const int64_t n = gather(f, residual, c);
        spread[c] = n >= 50 ? fmax(sdm_nmad_f64(f->point_work, n, NULL), 0.2 * all) : all;
    }
    for (size_t i = 0; i < t->count; i++) {
        const double s = all / spread[class_of(&t->point[i])];
        f->class_weight[i] = t->point[i].use ? s * s : 0.0;
    }
}

/* Robust mean of the points of a strip about a model; false where they are too few. */
static bool make_strip(const Fit *f, const Model *m, const double *residual, double scale, int cell, Strip *s)
{
    size_t n = 0;
    double sum = 0.0;
    *s = (Strip){.bin = cell / STRIP_COLUMNS};
    for (size_t i = f->begin[cell]; i < f->begin[cell + 1]; i++)
        if (f->task->point[f->order[i]].use)
            f->point_work[n++] = residual[f->order[i]];
    if (n < STRIP_POINTS)
        return false;
    const double median = sdm_median_f64(f->point_work, (int64_t)n);
    for (size_t i = f->begin[cell]; i < f->begin[cell + 1]; i++) {
        const size_t at = f->order[i];
        const SdmAlongPoint *const p = &f->task->point[at];
        const double w = f->class_weight[at] * biweight(residual[at] - median, scale);
        s->weight += w;
        sum += w * residual[at];
        s->row[0] += w * (double)p->row[0];
        s->row[1] += w * (double)p->row[1];
        s->x += w * point_x(f, p);
        s->y += w * point_y(f, p);
    }
    if (!(s->weight > 0.0))
        return false;
    double *const mean[] = {&s->row[0], &s->row[1], &s->x, &s->y};
    for (int k = 0; k < 4; k++)
        *mean[k] /= s->weight;
    double basis[MOST_COLUMNS];
    basis_at(f, m, s->row, s->x, s->y, f->strip_rows, basis);
    s->value_px = sum / s->weight + value_at(m, basis);
    const int column = cell % STRIP_COLUMNS, block = s->bin * ROW_BLOCKS / f->bins;
    s->fold[0] = block & 1;
    s->fold[1] = column >= STRIP_COLUMNS / 4 && column < 3 * STRIP_COLUMNS / 4; /* inner or outer quarters */
    s->fold[2] = column >= STRIP_COLUMNS / 2;
    return true;
}

/* All strips about a model, with weights of at most the median one. */
static void make_strips(Fit *f, const Model *m)
{
    double *const residual = f->point_work + f->task->count;
    find_residuals(f, m, residual);
    const double nmad = fmax(sdm_nmad_f64(f->point_work, gather(f, residual, -1), NULL), LEAST_SCALE_PX);
    weigh_classes(f, residual, nmad);
    f->strips = 0;
    for (int c = 0; c < f->cells; c++)
        f->strips += make_strip(f, m, residual, POINT_TUKEY * nmad, c, &f->strip[f->strips]);
    for (int i = 0; i < f->strips; i++)
        f->work[i] = f->strip[i].weight;
    const double most = sdm_median_f64(f->work, f->strips);
    for (int i = 0; i < f->strips; i++)
        f->strip[i].weight = fmin(f->strip[i].weight / most, 1.0);
}

/* ---- fit of the strips ---- */

static void fill_basis(const Fit *f, const Model *m)
{
    for (int i = 0; i < f->strips; i++) {
        const Strip *const s = &f->strip[i];
        basis_at(f, m, s->row, s->x, s->y, f->strip_rows, f->basis + (size_t)i * MOST_COLUMNS);
    }
}

/* The strips that a fit uses: all, or those outside a fold of a scheme. */
typedef struct Part {
    int scheme, without; /* without -1: all */
} Part;

static bool is_in(const Part *part, const Strip *s)
{
    return part->without < 0 || s->fold[part->scheme] != part->without;
}

/* Weighted least squares on the columns of the basis. */
static bool solve(const Fit *f, const Part *part, Model *m)
{
    double a[MOST_COLUMNS * MOST_COLUMNS] = {0}, b[MOST_COLUMNS] = {0};
    const int n = columns_of(m), left = n - 2 * m->waves[SDM_ALONG_LEFT];
    for (int i = 0; i < f->strips; i++) {
        const double *const t = f->basis + (size_t)i * MOST_COLUMNS;
        const double w = f->weight[i];
        if (!(w > 0.0) || !is_in(part, &f->strip[i]))
            continue;
        for (int r = 0; r < n; r++) {
            const double wt = w * t[r];
            for (int c = 0; c <= r; c++)
                a[r * n + c] += wt * t[c];
            b[r] += wt * f->strip[i].value_px;
        }
    }
    const double ridge = f->scale_px * f->scale_px / (LEFT_SIGMA_PX * LEFT_SIGMA_PX);
    for (int r = 0; r < n; r++)
        a[r * n + r] = a[r * n + r] * (1.0 + 1e-9) + (r >= left ? ridge : 1e-9);
    if (!sdm_solve_cholesky(n, a, b))
        return false;
    memcpy(m->coef, b, (size_t)n * sizeof *b);
    return true;
}

/* Robust fit of a model whose basis is filled, starting at the residuals of the best one so far. */
static bool fit_model(const Fit *f, const Part *part, Model *m)
{
    double scale = STRIP_TUKEY * f->scale_px;
    for (int i = 0; i < f->strips; i++)
        f->weight[i] = f->strip[i].weight * biweight(f->residual[i], scale);
    for (int it = 0; it < ITERATIONS; it++) {
        int64_t n = 0;
        if (!solve(f, part, m))
            return false;
        for (int i = 0; i < f->strips; i++) {
            f->weight[i] = f->strip[i].value_px - value_at(m, f->basis + (size_t)i * MOST_COLUMNS);
            if (is_in(part, &f->strip[i]))
                f->work[n++] = fabs(f->weight[i]);
        }
        scale = STRIP_TUKEY * fmax(1.4826 * sdm_median_f64(f->work, n), LEAST_SCALE_PX);
        for (int i = 0; i < f->strips; i++)
            f->weight[i] = f->strip[i].weight * biweight(f->weight[i], scale);
    }
    return true;
}

/* A model becomes the best one: residuals of the strips, and their NMAD. */
static void keep_model(Fit *f, const Model *m)
{
    fill_basis(f, m);
    for (int i = 0; i < f->strips; i++)
        f->residual[i] = f->strip[i].value_px - value_at(m, f->basis + (size_t)i * MOST_COLUMNS);
    memcpy(f->work, f->residual, (size_t)f->strips * sizeof *f->work);
    f->scale_px = fmax(sdm_nmad_f64(f->work, f->strips, NULL), LEAST_SCALE_PX);
}

/* What cross-validation compares: means by row, which waves change; or strips, since terms of a degree leave the means
 * as they are. */
typedef enum Measure { BY_ROW, BY_STRIP } Measure;

/* Add the squares of the means by row of the strips of a fold, or of the strips. */
static void add_squares(const Fit *f, const Model *m, const Part *part, Measure measure, double clip, double *sum,
                        double *count)
{
    const double most = measure == BY_ROW ? 2.0 : 1.0;
    double mean = 0.0, weight = 0.0;
    for (int i = 0; i < f->strips; i++) {
        const Strip *const s = &f->strip[i];
        if (!is_in(part, s)) {
            const double r = s->value_px - value_at(m, f->basis + (size_t)i * MOST_COLUMNS);
            mean += s->weight * fmin(fmax(r, -clip), clip);
            weight += s->weight;
        }
        if (measure == BY_ROW && i + 1 < f->strips && f->strip[i + 1].bin == s->bin)
            continue;
        if (weight > 0.25 * most) {
            *sum += fmin(weight, most) * (mean / weight) * (mean / weight);
            *count += fmin(weight, most);
        }
        mean = weight = 0.0;
    }
}

/* Error of a model by cross-validation, each scheme.  most_px: a model with a larger error is of no use, the schemes
 * after the first such one are left out; NULL: none is.  @return false for such a model */
static bool cross_validate(const Fit *f, const Model *model, Measure measure, double clip, const double *most_px,
                           double error_px[SCHEMES])
{
    fill_basis(f, model);
    for (int scheme = 0; scheme < SCHEMES; scheme++) {
        double sum = 0.0, count = 0.0;
        for (int fold = 0; fold < 2; fold++) {
            const Part part = {scheme, fold};
            Model m = *model;
            if (fit_model(f, &part, &m))
                add_squares(f, &m, &part, measure, clip, &sum, &count);
            else
                sum = INFINITY;
        }
        error_px[scheme] = count > 0.0 ? sqrt(sum / count) : INFINITY;
        if (most_px && !(error_px[scheme] < most_px[scheme]))
            return false;
    }
    return true;
}

/* ---- frequencies ---- */

/* Means of residuals by row. */
typedef struct Series {
    double *row, *value, *weight; /* room each, one after the other */
    int count;
    size_t room;
} Series;

/* What a wave of that frequency takes off the squares of a series, and off its mean. */
static double power_at(const Series *s, double row0, double per_row)
{
    double a[9] = {0}, b[3] = {0}, before = 0.0;
    for (int i = 0; i < s->count; i++) {
        const double phase = TWO_PI * per_row * (s->row[i] - row0), t[3] = {1.0, cos(phase), sin(phase)};
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c <= r; c++)
                a[r * 3 + c] += s->weight[i] * t[r] * t[c];
            b[r] += s->weight[i] * t[r] * s->value[i];
        }
    }
    const double start[3] = {b[0], b[1], b[2]};
    before = a[0] > 0.0 ? b[0] * b[0] / a[0] : 0.0;
    for (int r = 0; r < 3; r++)
        a[r * 3 + r] = a[r * 3 + r] * (1.0 + 1e-6) + 1e-9;
    if (!sdm_solve_cholesky(3, a, b))
        return 0.0;
    return start[0] * b[0] + start[1] * b[1] + start[2] * b[2] - before;
}

static bool is_taken(const Model *m, int view, double per_row, double rows)
{
    for (int i = 0; i < m->waves[view]; i++)
        if (fabs(m->per_row[view][i] - per_row) < 0.5 / rows)
            return true;
    return false;
}

/* The highest frequency that strips show, cycles a row. */
static double highest(const Fit *f)
{
    return 1.0 / fmax(SHORTEST_ROWS, STRIPS_A_WAVE * f->strip_rows);
}

/* The frequency with the highest power, refined; 0: none. */
static double find_peak(const Fit *f, const Series *s, const Model *m, int view)
{
    const double step = 0.25 / f->rows, first = fmax(1.0 / LONGEST_ROWS, 0.5 / f->rows);
    double best = 0.0, at = 0.0;
    for (double p = first; p <= highest(f); p += step) {
        const double power = is_taken(m, view, p, f->rows) ? 0.0 : power_at(s, f->row0[view], p);
        if (power > best) {
            best = power;
            at = p;
        }
    }
    for (double d = 0.5 * step; at > 0.0 && d > 0.005 / f->rows; d *= 0.5)
        for (int side = -1; side <= 1; side += 2) {
            const double p = fmax(at + side * d, first), power = power_at(s, f->row0[view], p);
            if (power > best) {
                best = power;
                at = p;
            }
        }
    return at;
}

/* Means by row of the strips' residuals, rows of one view. */
static void fill_series(const Fit *f, int view, Series *s)
{
    const double scale = STRIP_TUKEY * f->scale_px, first = f->row0[view] - 0.5 * f->span[view];
    int n = 0;
    s->count = (int)(f->span[view] / f->step) + 1;
    memset(s->row, 0, 3 * s->room * sizeof *s->row);
    for (int i = 0; i < f->strips; i++) {
        const Strip *const t = &f->strip[i];
        const double w = t->weight * biweight(f->residual[i], scale);
        const int bin = (int)fmin(fmax((t->row[view] - first) / f->step, 0.0), s->count - 1.0);
        s->weight[bin] += w;
        s->row[bin] += w * t->row[view];
        s->value[bin] += w * f->residual[i];
    }
    for (int i = 0; i < s->count; i++) {
        const double w = s->weight[i];
        if (!(w > 0.5))
            continue;
        s->row[n] = s->row[i] / w;
        s->value[n] = s->value[i] / w;
        s->weight[n++] = fmin(w, 4.0);
    }
    s->count = n;
}

/* Frequencies of the jitter across the lines, the strongest first: the platform's own.  0: none. */
static void profile_peaks(const Fit *f, const Series *s, double peak[PROFILE_PEAKS])
{
    const SdmPointing *const p = f->task->scale;
    Series t = *s;
    Model found = {.degree = 0};
    t.count = 0;
    for (int i = 0; i < p->profile_count; i++) {
        t.row[t.count] = (double)p->profile_row0 + (double)i * p->profile_step_px;
        t.value[t.count] = p->profile_px[i];
        t.weight[t.count++] = 1.0;
    }
    for (int k = 0; k < PROFILE_PEAKS; k++) {
        peak[k] = t.count > 20 ? find_peak(f, &t, &found, SDM_ALONG_RIGHT) : 0.0;
        if (peak[k] > 0.0)
            found.per_row[SDM_ALONG_RIGHT][found.waves[SDM_ALONG_RIGHT]++] = peak[k];
    }
}

/* Move all frequencies of a fitted model to where the squares are least: Gauss-Newton with its columns. */
static void refine_frequencies(const Fit *f, Model *m)
{
    const Part all = {0, -1};
    double a[MOST_REFINED * MOST_REFINED], b[MOST_REFINED], t[MOST_REFINED];
    for (int round = 0; round < REFINEMENTS; round++) {
        const int n = columns_of(m), waves = m->waves[0] + m->waves[1], size = n + waves;
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        fill_basis(f, m);
        if (!waves || !fit_model(f, &all, m))
            return;
        for (int i = 0; i < f->strips; i++) {
            const Strip *const s = &f->strip[i];
            const double *const own = f->basis + (size_t)i * MOST_COLUMNS;
            memcpy(t, own, (size_t)n * sizeof *t);
            for (int k = 0, w = 0; k < 2; k++)
                for (int q = 0; q < m->waves[k]; q++, w++) {
                    const int c = sdm_along_terms(m->degree) + 2 * w;
                    t[n + w] = TWO_PI * (s->row[k] - f->row0[k]) * (m->coef[c + 1] * own[c] - m->coef[c] * own[c + 1]);
                }
            const double r = s->value_px - value_at(m, own), weight = f->weight[i];
            for (int p = 0; p < size && weight > 0.0; p++) {
                for (int q = 0; q <= p; q++)
                    a[p * size + q] += weight * t[p] * t[q];
                b[p] += weight * t[p] * r;
            }
        }
        for (int p = 0; p < size; p++)
            a[p * size + p] = a[p * size + p] * (1.0 + 1e-6) + 1e-9;
        if (!sdm_solve_cholesky(size, a, b))
            return;
        const double most = 0.1 / f->rows;
        for (int k = 0, w = 0; k < 2; k++)
            for (int q = 0; q < m->waves[k]; q++, w++)
                m->per_row[k][q] = fmin(fmax(m->per_row[k][q] + fmin(fmax(b[n + w], -most), most), 0.25 / f->rows),
                                        highest(f));
    }
}

/* ---- choice of the model ---- */

static bool add_wave(Model *m, int view, double per_row, double rows)
{
    if (!(per_row > 0.0) || m->waves[view] == SDM_ALONG_WAVES || is_taken(m, view, per_row, rows))
        return false;
    m->per_row[view][m->waves[view]++] = per_row;
    return true;
}

/* Append the model with a wave of that frequency for the views of the set (1: right, 2: left); @return how many. */
static int add_candidate(const Fit *f, const Model *m, double per_row, int views, Model *out)
{
    *out = *m;
    for (int k = 0; k < 2; k++)
        if ((views >> k & 1) && !add_wave(out, k, per_row, f->rows))
            return 0;
    return 1;
}

/* Models with one thing more: a wave of either view or of both, or a degree. */
static int list_candidates(const Fit *f, Series *s, const double peak[PROFILE_PEAKS], const Model *m,
                           Model out[MOST_CANDIDATES])
{
    int n = 0;
    for (int k = 0; k < 2 + PROFILE_PEAKS; k++) {
        double per_row = k < 2 ? 0.0 : peak[k - 2];
        if (k < 2) {
            fill_series(f, k, s);
            per_row = find_peak(f, s, m, k);
        }
        for (int views = 1; views <= 3; views++)
            n += add_candidate(f, m, per_row, views, &out[n]);
    }
    for (int k = 0; k < 2; k++) /* both views show what the platform does */
        for (int i = 0; i < m->waves[k]; i++)
            n += add_candidate(f, m, m->per_row[k][i], 2 - k, &out[n]);
    if (m->degree < SDM_ALONG_MAX_DEGREE) {
        out[n] = *m;
        out[n++].degree++;
    }
    return n;
}

/* Mean of the schemes' shares of the error that is left. */
static double mean_share(const double now[SCHEMES], const double before[SCHEMES])
{
    double sum = 0.0;
    for (int i = 0; i < SCHEMES; i++)
        sum += now[i] / before[i];
    return sum / SCHEMES;
}

/* Is what a candidate adds to the model short enough, or strong enough, to be no error of the reference? */
static bool is_certain(const Fit *f, const Model *m, const Model *candidate)
{
    const Part all = {0, -1};
    Model fitted = *candidate;
    bool is_long = candidate->degree > m->degree;
    double sum = 0.0, square = 0.0;
    for (int k = 0; k < 2; k++)
        for (int i = m->waves[k]; i < candidate->waves[k]; i++)
            is_long |= candidate->per_row[k][i] < 1.0 / LONG_ROWS;
    if (!is_long)
        return true;
    fill_basis(f, &fitted);
    if (!fit_model(f, &all, &fitted))
        return false;
    for (int i = 0; i < f->strips; i++) {
        const double more = value_at(&fitted, f->basis + (size_t)i * MOST_COLUMNS) -
                            (f->strip[i].value_px - f->residual[i]);
        sum += more;
        square += more * more;
    }
    sum /= f->strips;
    return square / f->strips - sum * sum > f->task->least_long_px * f->task->least_long_px;
}

/* The best candidate by cross-validation; -1: none is good enough.  Candidates must lower the errors of means by row (a
 * degree: of strips); strips tell which of them is the best, since terrain sets the rows of the views apart there. */
static int choose(const Fit *f, const Model *m, const Model *candidate, int n)
{
    const double clip = 3.0 * f->scale_px;
    double before[2][SCHEMES], best = 1.0;
    int chosen = -1, columns = 0;
    for (int measure = BY_ROW; measure <= BY_STRIP; measure++)
        (void)cross_validate(f, m, (Measure)measure, clip, NULL, before[measure]);
    for (int i = 0; i < n; i++) {
        const Measure measure = candidate[i].degree > m->degree ? BY_STRIP : BY_ROW;
        const int more = columns_of(&candidate[i]) - columns_of(m);
        const double least = more > columns && chosen >= 0 ? MORE_GAIN * best : best;
        double now[SCHEMES], most_px[SCHEMES];
        for (int k = 0; k < SCHEMES; k++)
            most_px[k] = GAIN * before[measure][k];
        if (!cross_validate(f, &candidate[i], measure, clip, most_px, now))
            continue;
        if (measure == BY_ROW)
            (void)cross_validate(f, &candidate[i], BY_STRIP, clip, NULL, now);
        const double share = mean_share(now, before[BY_STRIP]);
        if (share < least && is_certain(f, m, &candidate[i])) {
            best = share;
            chosen = i;
            columns = more;
        }
    }
    return chosen;
}

/* Add to the model what lowers the errors of all schemes most, while anything does. */
static void grow_model(Fit *f, Series *s, Model *m)
{
    const Part all = {0, -1};
    double peak[PROFILE_PEAKS];
    profile_peaks(f, s, peak);
    for (;;) {
        Model candidate[MOST_CANDIDATES];
        const int n = list_candidates(f, s, peak, m, candidate);
        const int chosen = choose(f, m, candidate, n);
        if (chosen < 0)
            return;
        *m = candidate[chosen];
        refine_frequencies(f, m);
        fill_basis(f, m);
        if (!fit_model(f, &all, m))
            return;
        keep_model(f, m);
    }
}

/* ---- result ---- */

static void write_result(const Fit *f, const Model *m, SdmAlongCorrection *out)
{
    const int terms = sdm_along_terms(m->degree);
    const double *c = m->coef + terms;
    out->degree = m->degree;
    memset(out->coef, 0, sizeof out->coef);
    memset(out->wave, 0, sizeof out->wave);
    memcpy(out->coef, m->coef, (size_t)terms * sizeof *m->coef);
    for (int k = 0; k < 2; k++) {
        out->waves[k] = m->waves[k];
        for (int i = 0; i < m->waves[k]; i++, c += 2) {
            const double turn = TWO_PI * m->per_row[k][i] * f->row0[k];
            out->wave[k][i] = (SdmAlongWave){.per_row = m->per_row[k][i],
                                             .cos_px = c[0] * cos(turn) - c[1] * sin(turn),
                                             .sin_px = c[0] * sin(turn) + c[1] * cos(turn)};
        }
    }
}

/* The constant becomes the median of the points of the gentlest slopes, whose errors are small: a mean would follow forest
 * and what else lies on one side of the ground. */
static void centre_constant(const Fit *f, Model *m)
{
    const SdmAlongTask *const t = f->task;
    for (size_t k = 0; k < sizeof CENTRE_WEIGHTS / sizeof *CENTRE_WEIGHTS; k++) {
        size_t n = 0;
        for (size_t i = 0; i < t->count; i++)
            if (f->class_weight[i] > CENTRE_WEIGHTS[k])
                f->point_work[n++] = (double)t->point[i].value_px - model_at_point(f, m, &t->point[i]);
        if (n < CENTRE_POINTS)
            continue;
        m->coef[0] += sdm_median_f64(f->point_work, (int64_t)n);
        return;
    }
}

static void measure_points(const Fit *f, const Model *m, SdmAlongReport *r)
{
    double *const residual = f->point_work + f->task->count;
    int seen = 0;
    find_residuals(f, m, residual);
    r->point_px = sdm_nmad_f64(f->point_work, gather(f, residual, -1), NULL);
    for (int i = 0; i < f->strips; i++)
        seen += i == 0 || f->strip[i].bin != f->strip[i - 1].bin;
    r->rows_seen = (double)seen / f->bins;
}

/* Error of a model by cross-validation, of means by row. */
static void measure_rows(const Fit *f, const Model *m, double clip, double error_px[SDM_ALONG_SCHEMES])
{
    double of_scheme[SCHEMES];
    (void)cross_validate(f, m, BY_ROW, clip, NULL, of_scheme);
    error_px[SDM_ALONG_BY_ROWS] = of_scheme[0];
    error_px[SDM_ALONG_BY_COLUMNS] = fmax(of_scheme[1], of_scheme[2]);
}

static SdmStatus open_fit(SdmContext *ctx, const SdmAlongTask *task, Fit *f)
{
    SdmStatus st = SDM_OK;
    *f = (Fit){.task = task};
    TRY(sort_points(ctx, f));
    const size_t cells = (size_t)f->cells + 1;
    TRY(sdm_alloc(ctx, &f->class_weight, task->count, sizeof *f->class_weight, "weights of points"));
    TRY(sdm_alloc(ctx, &f->point_work, 2 * task->count, sizeof *f->point_work, "residuals of points"));
    TRY(sdm_alloc(ctx, &f->strip, cells, sizeof *f->strip, "strips"));
    TRY(sdm_alloc(ctx, &f->basis, cells * MOST_COLUMNS, sizeof *f->basis, "strips"));
    TRY(sdm_alloc(ctx, &f->residual, cells, sizeof *f->residual, "strips"));
    TRY(sdm_alloc(ctx, &f->weight, cells, sizeof *f->weight, "strips"));
    TRY(sdm_alloc(ctx, &f->work, cells, sizeof *f->work, "strips"));
done:
    return st;
}

static void close_fit(Fit *f)
{
    sdm_free(&f->order);
    sdm_free(&f->begin);
    sdm_free(&f->class_weight);
    sdm_free(&f->point_work);
    sdm_free(&f->strip);
    sdm_free(&f->basis);
    sdm_free(&f->residual);
    sdm_free(&f->weight);
    sdm_free(&f->work);
}

/* The median of the points that are used, as a model. */
static Model start_model(const Fit *f)
{
    Model m = {.degree = 0};
    double *const value = f->point_work + f->task->count;
    for (size_t i = 0; i < f->task->count; i++)
        value[i] = (double)f->task->point[i].value_px;
    m.coef[0] = sdm_median_f64(f->point_work, gather(f, value, -1));
    return m;
}

SdmStatus sdm_along_fit(SdmContext *ctx, const SdmAlongTask *task, SdmAlongCorrection *out, SdmAlongReport *report)
{
    SdmStatus st = SDM_OK;
    const Part all = {0, -1};
    Fit f = {0};
    Series s = {0};
    size_t used = 0;
    for (size_t i = 0; i < task->count; i++)
        used += task->point[i].use != 0;
    if (used < LEAST_POINTS)
        return sdm_fail(ctx, SDM_ERR_DATA, "%zu places of unchanged ground, at least %d are needed", used,
                        (int)LEAST_POINTS);
    TRY(open_fit(ctx, task, &f));
    s.room = (size_t)fmax(fmax(f.span[0], f.span[1]) / f.step + 2.0, task->scale->profile_count);
    TRY(sdm_alloc(ctx, &s.row, 3 * s.room, sizeof *s.row, "means by row"));
    s.value = s.row + s.room;
    s.weight = s.value + s.room;
    Model m = start_model(&f);
    make_strips(&f, &m);
    keep_model(&f, &m);
    (void)fit_model(&f, &all, &m);
    keep_model(&f, &m);
    if (f.strips >= LEAST_STRIPS)
        grow_model(&f, &s, &m);
    make_strips(&f, &m); /* about what is known now */
    keep_model(&f, &m);
    (void)fit_model(&f, &all, &m);
    keep_model(&f, &m);
    const double clip = 3.0 * f.scale_px + 1.0;
    measure_rows(&f, &m, clip, report->fitted_px);
    centre_constant(&f, &m);
    measure_points(&f, &m, report);
    write_result(&f, &m, out);
    const Model constant = {.degree = 0, .coef = {m.coef[0]}};
    keep_model(&f, &constant); /* a fit of the constant starts at the residuals of a constant */
    measure_rows(&f, &constant, clip, report->constant_px);
done:
    sdm_free(&s.row);
    close_fit(&f);
    return st;
}
