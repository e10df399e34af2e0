/* Stage 2: jitter and low-order errors along the track from a reference DEM: robust fit of a polynomial and
 * of sums of a few waves, chosen by cross-validation. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/along_fit.h"
#include "core/dense.h"
#include "core/math.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

#define TURN 6.28318530717958647692 /* 2 pi */
#define STRIP_TUKEY 6.0             /* biweight of strips: beyond so many sigmas a residual counts 0 */
#define LEAST_SCALE_PX 1e-4
enum {
    COLUMNS = SDM_ALONG_MAX_TERMS + 4 * SDM_ALONG_WAVES,
    FOLDINGS = 3 /* of cross-validation: by rows, by columns in two ways */
};

/* A robust mean of points: STRIP_ROWS rows of an eighth of the columns. */
typedef struct Strip {
    double value_px, weight, row[2], x, y;
    int bin[2]; /* number of its rows, by view */
    int fold[FOLDINGS];
} Strip;

/* The fitted model; rows count from row0. */
typedef struct Model {
    int degree, waves[2];
    double per_row[2][SDM_ALONG_WAVES];
    double coef[COLUMNS]; /* terms; then cosine and sine of each wave, right view first */
} Model;

/* The state of a fit. */
typedef struct State {
    const SdmAlongTask *task;
    size_t *order, *begin; /* points by strip; cell c has order[begin[c]] .. order[begin[c + 1] - 1] */
    int cells, bins[2];    /* rows of strips, of the right and of the left view; strips follow those of the
                            * left */
    double *bin_sum, *bin_weight; /* of the larger number of bins */
    double row0[2], span[2];      /* origin of the phases, in the middle of the rows; rows that points span */
    double *class_weight;         /* of each point */
    Strip *strip;
    int strips;
    double *basis; /* strips x COLUMNS */
    double *residual, *weight, *work, *point_work;
    double *point_residual;  /* from a model, of each point */
    double step, strip_rows; /* rows of a strip; those that its mean averages, windows included */
    double scale_px;         /* NMAD of the strips' residuals with the best model so far */
} State;

/* The strips that a fit uses: all, or those outside a fold of a scheme. */
typedef struct Part {
    int scheme, without; /* without -1: all */
} Part;
static const Part ALL = {0, -1};

/* Samples of the cross-validation: means by row of the view whose waves are tried, since the terrain sets the
 * rows of the other one apart; or strips, since terms of a degree leave the means as they are. */
typedef enum Measure {
    BY_RIGHT_ROW = SDM_ALONG_RIGHT,
    BY_LEFT_ROW = SDM_ALONG_LEFT,
    BY_STRIP,
    MEASURES
} Measure;

enum { ITERATIONS = 3 /* of the weights */ };
static const double GAIN = 0.97;          /* what is added must leave less than this share of the error */
static const double LEFT_SIGMA_PX = 0.02; /* ridge: waves of the left view are the less likely ones */

/* Columns of the basis: terms, then cosine and sine of each wave. */
static int count_columns(const Model *m)
{
    return sdm_terms(m->degree) + 2 * (m->waves[0] + m->waves[1]);
}

/* Share of a wave's amplitude that an average over so many rows keeps: sin(x) / x, x at most pi / 3. */
static double kept(double rows, double per_row)
{
    const double x = 0.5 * TURN * rows * per_row, q = x * x;
    return 1.0 - q / 6.0 * (1.0 - q / 20.0 * (1.0 - q / 42.0));
}

/* The columns of a model at a place, for means over so many rows. */
static void basis_at(const State *f, const Model *m, const double row[2], double x, double y, double rows,
                     double *out)
{
    sdm_pointing_basis(m->degree, x, y, out);
    out += sdm_terms(m->degree);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < m->waves[k]; i++) {
            const double phase = TURN * m->per_row[k][i] * (row[k] - f->row0[k]),
                         share = kept(rows, m->per_row[k][i]);
            *out++ = share * cos(phase);
            *out++ = share * sin(phase);
        }
}

/* Value of a model from its columns at a place, px. */
static double model_value(const Model *m, const double *basis)
{
    double sum = 0.0;
    for (int i = 0; i < count_columns(m); i++)
        sum += m->coef[i] * basis[i];
    return sum;
}

/* Place of a point as the terms take it, -1..1. */
static void place_of(const State *f, const SdmAlongPoint *p, double xy[2])
{
    const SdmPointing *const by = f->task->scale;
    xy[0] = ((double)p->col - by->centre[0]) / by->scale[0];
    xy[1] = ((double)p->row[0] - by->centre[1]) / by->scale[1];
}

/* The columns at every strip -> f->basis. */
static void fill_basis(const State *f, const Model *m)
{
    for (int i = 0; i < f->strips; i++) {
        const Strip *const s = &f->strip[i];
        basis_at(f, m, s->row, s->x, s->y, f->strip_rows, f->basis + (size_t)i * COLUMNS);
    }
}

static bool is_in(const Part *part, const Strip *s)
{
    return part->without < 0 || s->fold[part->scheme] != part->without;
}

/* Weighted least squares on the columns of the basis. */
static bool solve(const State *f, const Part *part, Model *m)
{
    double a[COLUMNS * COLUMNS] = {0}, b[COLUMNS] = {0};
    const int n = count_columns(m), left = n - 2 * m->waves[SDM_ALONG_LEFT];
    for (int i = 0; i < f->strips; i++) {
        if (f->weight[i] > 0.0 && is_in(part, &f->strip[i]))
            sdm_add_equation(n, f->basis + (size_t)i * COLUMNS, f->weight[i], f->strip[i].value_px, a, b);
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
static bool fit_model(const State *f, const Part *part, Model *m)
{
    double scale = STRIP_TUKEY * f->scale_px;
    for (int i = 0; i < f->strips; i++)
        f->weight[i] = f->strip[i].weight * sdm_biweight(f->residual[i], scale);
    for (int it = 0; it < ITERATIONS; it++) {
        int64_t n = 0;
        if (!solve(f, part, m))
            return false;
        for (int i = 0; i < f->strips; i++) {
            f->weight[i] = f->strip[i].value_px - model_value(m, f->basis + (size_t)i * COLUMNS);
            if (is_in(part, &f->strip[i]))
                f->work[n++] = fabs(f->weight[i]);
        }
        scale = STRIP_TUKEY * fmax(1.4826 * sdm_median_f64(f->work, n), LEAST_SCALE_PX);
        for (int i = 0; i < f->strips; i++)
            f->weight[i] = f->strip[i].weight * sdm_biweight(f->weight[i], scale);
    }
    return true;
}

/* A model becomes the best one: residuals of the strips, and their NMAD. */
static void keep_model(State *f, const Model *m)
{
    fill_basis(f, m);
    for (int i = 0; i < f->strips; i++)
        f->residual[i] = f->strip[i].value_px - model_value(m, f->basis + (size_t)i * COLUMNS);
    memcpy(f->work, f->residual, (size_t)f->strips * sizeof *f->work);
    f->scale_px = fmax(sdm_nmad_f64(f->work, f->strips, NULL), LEAST_SCALE_PX);
}

/* Add the squares of the residuals of a fold's strips: of their means by row, or of themselves. */
static void add_squares(const State *f, const Model *m, const Part *part, Measure measure, double clip,
                        double *sum, double *count)
{
    const double most = measure == BY_STRIP ? 1.0 : 2.0;
    const int bins = measure == BY_STRIP ? f->strips : f->bins[measure];
    memset(f->bin_sum, 0, (size_t)bins * sizeof *f->bin_sum);
    memset(f->bin_weight, 0, (size_t)bins * sizeof *f->bin_weight);
    for (int i = 0; i < f->strips; i++) {
        const Strip *const s = &f->strip[i];
        const int bin = measure == BY_STRIP ? i : s->bin[measure];
        if (is_in(part, s))
            continue;
        const double r = s->value_px - model_value(m, f->basis + (size_t)i * COLUMNS);
        f->bin_sum[bin] += s->weight * fmin(fmax(r, -clip), clip);
        f->bin_weight[bin] += s->weight;
    }
    for (int i = 0; i < bins; i++) {
        const double w = f->bin_weight[i];
        if (!(w > 0.25 * most))
            continue;
        *sum += fmin(w, most) * (f->bin_sum[i] / w) * (f->bin_sum[i] / w);
        *count += fmin(w, most);
    }
}

/* Errors of a model by cross-validation, each measure and scheme.  least: a model that leaves not less than
 * GAIN of these in one of the measures of `asked` (bits) is of no use, the schemes after the first such one
 * are left out; NULL: none is.
 * @return false for such a model */
static bool cross_validate(State *f, const Model *model, double clip, unsigned asked,
                           const double (*least)[FOLDINGS], double error_px[MEASURES][FOLDINGS])
{
    fill_basis(f, model);
    for (int scheme = 0; scheme < FOLDINGS; scheme++) {
        double sum[MEASURES] = {0}, count[MEASURES] = {0};
        for (int fold = 0; fold < 2; fold++) {
            const Part part = {scheme, fold};
            Model m = *model;
            const bool fitted = fit_model(f, &part, &m);
            for (int k = 0; k < MEASURES && fitted; k++)
                add_squares(f, &m, &part, (Measure)k, clip, &sum[k], &count[k]);
            for (int k = 0; k < MEASURES && !fitted; k++)
                sum[k] = INFINITY;
        }
        for (int k = 0; k < MEASURES; k++) {
            error_px[k][scheme] = count[k] > 0.0 ? sqrt(sum[k] / count[k]) : INFINITY;
            if (least && asked >> k & 1u && !(error_px[k][scheme] < GAIN * least[k][scheme]))
                return false;
        }
    }
    return true;
}

/* ---- points along the track -> strips, about a model ---- */

enum {
    STRIP_ROWS = 16, /* times a whole number that leaves at most MOST_BINS */
    MOST_BINS = 400,
    STRIP_COLUMNS = 8, /* of the scene */
    STRIP_POINTS = 4,  /* fewer make no strip */
    CLASSES = 12,      /* of slope */
    ROW_BLOCKS = 8     /* dealt to the two folds in turn */
};
static const double POINT_TUKEY = 4.685; /* biweight: beyond so many sigmas a residual counts 0 */

/* Sort the points into strips. */
static SdmStatus sort_points(SdmContext *ctx, State *f)
{
    const SdmAlongTask *const t = f->task;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    SDM_OWNED int *cell = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const double at[3] = {(double)t->point[i].row[0], (double)t->point[i].row[1],
                              (double)t->point[i].col};
        for (int k = 0; k < 3; k++) {
            lo[k] = fmin(lo[k], at[k]);
            hi[k] = fmax(hi[k], at[k]);
        }
    }
    f->step =
        STRIP_ROWS * ceil(fmax(fmax((hi[1] - lo[1]) / MOST_BINS, t->point_rows) / STRIP_ROWS - 1e-6, 0.5));
    f->strip_rows = hypot(t->average_rows, f->step);
    for (int k = 0; k < 2; k++) {
        f->bins[k] = (int)((hi[k] - lo[k]) / f->step) + 1;
        f->row0[k] = 0.5 * (lo[k] + hi[k]);
        f->span[k] = fmax(hi[k] - lo[k], 1.0);
    }
    f->cells = f->bins[SDM_ALONG_LEFT] * STRIP_COLUMNS;
    PASS(SDM_ALLOC(ctx, "strips", SDM_ARRAY(cell, t->count), SDM_ARRAY(f->order, t->count),
                   SDM_ARRAY(f->begin, (size_t)f->cells + 2)));
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
    return SDM_OK;
}

static int class_of(const SdmAlongPoint *p)
{
    const int c = (int)(16.0f * p->slope);
    return c < CLASSES ? c : CLASSES - 1;
}

/* Residuals of the points from a model, whether they are used or not -> residual. */
static void point_residuals(const State *f, const Model *m)
{
    for (size_t i = 0; i < f->task->count; i++) {
        const SdmAlongPoint *const p = &f->task->point[i];
        const double row[2] = {(double)p->row[0], (double)p->row[1]};
        double basis[COLUMNS], xy[2];
        place_of(f, p, xy);
        basis_at(f, m, row, xy[0], xy[1], f->task->average_rows, basis);
        f->point_residual[i] = (double)p->value_px - model_value(m, basis);
    }
}

/* The residuals of the points that are used, of one class of slope or of all (-1) -> point_work; @return how
 * many. */
static int64_t gather(const State *f, int class_wanted)
{
    const SdmAlongTask *const t = f->task;
    int64_t n = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->point[i].use && (class_wanted < 0 || class_of(&t->point[i]) == class_wanted))
            f->point_work[n++] = f->point_residual[i];
    return n;
}

/* Points of a class of slope weigh by the inverse square of its residuals' NMAD.  all: the NMAD of all that
 * are used. */
static void weigh_classes(const State *f, double all)
{
    const SdmAlongTask *const t = f->task;
    double spread[CLASSES];
    for (int c = 0; c < CLASSES; c++) {
        const int64_t n = gather(f, c);
        spread[c] = n >= 50 ? fmax(sdm_nmad_f64(f->point_work, n, NULL), 0.2 * all) : all;
    }
    for (size_t i = 0; i < t->count; i++) {
        const double s = all / spread[class_of(&t->point[i])];
        f->class_weight[i] = t->point[i].use ? s * s : 0.0;
    }
}

/* Robust mean of the points of a strip about a model; false where they are too few. */
static bool make_strip(const State *f, const Model *m, double scale, int cell, Strip *s)
{
    const double *const residual = f->point_residual;
    size_t n = 0;
    double sum = 0.0;
    *s = (Strip){.bin = {[SDM_ALONG_LEFT] = cell / STRIP_COLUMNS}};
    for (size_t i = f->begin[cell]; i < f->begin[cell + 1]; i++)
        if (f->task->point[f->order[i]].use)
            f->point_work[n++] = residual[f->order[i]];
    if (n < STRIP_POINTS)
        return false;
    const double median = sdm_median_f64(f->point_work, (int64_t)n);
    for (size_t i = f->begin[cell]; i < f->begin[cell + 1]; i++) {
        const size_t at = f->order[i];
        const SdmAlongPoint *const p = &f->task->point[at];
        if (!p->use) /* its value may be NaN */
            continue;
        const double w = f->class_weight[at] * sdm_biweight(residual[at] - median, scale);
        double xy[2];
        place_of(f, p, xy);
        s->weight += w;
        sum += w * residual[at];
        s->row[0] += w * (double)p->row[0];
        s->row[1] += w * (double)p->row[1];
        s->x += w * xy[0];
        s->y += w * xy[1];
    }
    if (!(s->weight > 0.0))
        return false;
    double *const mean[] = {&s->row[0], &s->row[1], &s->x, &s->y};
    for (int k = 0; k < 4; k++)
        *mean[k] /= s->weight;
    double basis[COLUMNS];
    basis_at(f, m, s->row, s->x, s->y, f->strip_rows, basis);
    s->value_px = sum / s->weight + model_value(m, basis);
    const double first = f->row0[SDM_ALONG_RIGHT] - 0.5 * f->span[SDM_ALONG_RIGHT];
    s->bin[SDM_ALONG_RIGHT] =
        (int)fmin(fmax((s->row[SDM_ALONG_RIGHT] - first) / f->step, 0.0), f->bins[SDM_ALONG_RIGHT] - 1.0);
    const int column = cell % STRIP_COLUMNS,
              block = s->bin[SDM_ALONG_LEFT] * ROW_BLOCKS / f->bins[SDM_ALONG_LEFT];
    s->fold[0] = block & 1;
    s->fold[1] = column >= STRIP_COLUMNS / 4 && column < 3 * STRIP_COLUMNS / 4; /* inner or outer quarters */
    s->fold[2] = column >= STRIP_COLUMNS / 2;
    return true;
}

/* All strips about a model, with weights of at most the median one; the model is fitted to them. */
static void make_strips(State *f, Model *m)
{
    point_residuals(f, m);
    const double nmad = fmax(sdm_nmad_f64(f->point_work, gather(f, -1), NULL), LEAST_SCALE_PX);
    weigh_classes(f, nmad);
    f->strips = 0;
    for (int c = 0; c < f->cells; c++)
        f->strips += make_strip(f, m, POINT_TUKEY * nmad, c, &f->strip[f->strips]);
    for (int i = 0; i < f->strips; i++)
        f->work[i] = f->strip[i].weight;
    const double most = sdm_median_f64(f->work, f->strips);
    for (int i = 0; i < f->strips; i++)
        f->strip[i].weight = fmin(f->strip[i].weight / most, 1.0);
    keep_model(f, m);
    (void)fit_model(f, &ALL, m);
    keep_model(f, m);
}

enum {
    LEAST_POINTS = 30,
    LEAST_STRIPS = 40, /* for more than a constant */
    MOST_REFINED = COLUMNS + 2 * SDM_ALONG_WAVES,
    REFINEMENTS = 3,   /* of all frequencies together */
    PROFILE_PEAKS = 2, /* frequencies taken from the profile across the lines */
    MOST_CANDIDATES = 3 * (2 + PROFILE_PEAKS) + 2 * SDM_ALONG_WAVES + 1
};
static const double MORE_GAIN = 0.998; /* two waves, of the error of strips that one leaves */
static const double LONGEST_ROWS = 9000.0, SHORTEST_ROWS = 60.0; /* waves */
static const double LONG_ROWS = 1200.0;  /* waves that a reference has errors of, too */
static const double STRIPS_A_WAVE = 3.0; /* at least */

/* ---- frequencies ---- */

/* Means of residuals by row. */
typedef struct Series {
    double *row, *value, *weight; /* room each, one after the other */
    int count;
    size_t room;
} Series;

/* Reduction of the squares of a series by a wave of that frequency, and its mean. */
static double power_at(const Series *s, double row0, double per_row)
{
    double a[9] = {0}, b[3] = {0};
    for (int i = 0; i < s->count; i++) {
        const double phase = TURN * per_row * (s->row[i] - row0);
        const double t[3] = {1.0, cos(phase), sin(phase)};
        sdm_add_equation(3, t, s->weight[i], s->value[i], a, b);
    }
    const double start[3] = {b[0], b[1], b[2]}, before = a[0] > 0.0 ? b[0] * b[0] / a[0] : 0.0;
    for (int r = 0; r < 3; r++)
        a[r * 3 + r] = a[r * 3 + r] * (1.0 + 1e-6) + 1e-9;
    return sdm_solve_cholesky(3, a, b) ? sdm_dot3(start, b) - before : 0.0;
}

static bool is_taken(const Model *m, int view, double per_row, double rows)
{
    for (int i = 0; i < m->waves[view]; i++)
        if (fabs(m->per_row[view][i] - per_row) < 0.5 / rows)
            return true;
    return false;
}

/* The highest frequency that strips show, cycles a row. */
static double highest(const State *f)
{
    return 1.0 / fmax(SHORTEST_ROWS, STRIPS_A_WAVE * f->strip_rows);
}

/* The frequency with the highest power, refined; 0: none. */
static double find_peak(const State *f, const Series *s, const Model *m, int view)
{
    const double step = 0.25 / f->span[0], first = fmax(1.0 / LONGEST_ROWS, 0.5 / f->span[0]);
    double best = 0.0, at = 0.0;
    for (double p = first; p <= highest(f); p += step) {
        const double power = power_at(s, f->row0[view], p);
        if (power > best && !is_taken(m, view, p, f->span[0])) {
            best = power;
            at = p;
        }
    }
    for (double d = 0.5 * step; at > 0.0 && d > 0.005 / f->span[0]; d *= 0.5)
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
static void fill_series(const State *f, int view, Series *s)
{
    const double scale = STRIP_TUKEY * f->scale_px;
    int n = 0;
    s->count = f->bins[view];
    memset(s->row, 0, 3 * s->room * sizeof *s->row);
    for (int i = 0; i < f->strips; i++) {
        const Strip *const t = &f->strip[i];
        const double w = t->weight * sdm_biweight(f->residual[i], scale);
        const int bin = t->bin[view];
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
static void profile_peaks(const State *f, const Series *s, double peak[PROFILE_PEAKS])
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
static void refine_frequencies(State *f, Model *m)
{
    double a[MOST_REFINED * MOST_REFINED], b[MOST_REFINED], t[MOST_REFINED];
    for (int round = 0; round < REFINEMENTS; round++) {
        const int n = count_columns(m), waves = m->waves[0] + m->waves[1], size = n + waves;
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        fill_basis(f, m);
        if (!waves || !fit_model(f, &ALL, m))
            return;
        for (int i = 0; i < f->strips; i++) {
            const Strip *const s = &f->strip[i];
            const double *const own = f->basis + (size_t)i * COLUMNS;
            memcpy(t, own, (size_t)n * sizeof *t);
            for (int k = 0, w = 0; k < 2; k++)
                for (int q = 0; q < m->waves[k]; q++, w++) {
                    const int c = sdm_terms(m->degree) + 2 * w;
                    t[n + w] =
                        TURN * (s->row[k] - f->row0[k]) * (m->coef[c + 1] * own[c] - m->coef[c] * own[c + 1]);
                }
            if (f->weight[i] > 0.0)
                sdm_add_equation(size, t, f->weight[i], s->value_px - model_value(m, own), a, b);
        }
        for (int p = 0; p < size; p++)
            a[p * size + p] = a[p * size + p] * (1.0 + 1e-6) + 1e-9;
        if (!sdm_solve_cholesky(size, a, b))
            return;
        const double most = 0.1 / f->span[0];
        for (int k = 0, w = 0; k < 2; k++)
            for (int q = 0; q < m->waves[k]; q++, w++)
                m->per_row[k][q] =
                    fmin(fmax(m->per_row[k][q] + fmin(fmax(b[n + w], -most), most), 0.25 / f->span[0]),
                         highest(f));
    }
}

/* ---- choice of the model ---- */

/* Append the model with a wave of that frequency for the views of the set (1: right, 2: left); @return how
 * many. */
static int add_candidate(const State *f, const Model *m, double per_row, int views, Model *out)
{
    *out = *m;
    for (int k = 0; k < 2; k++) {
        if (!(views >> k & 1))
            continue;
        if (!(per_row > 0.0) || out->waves[k] == SDM_ALONG_WAVES || is_taken(out, k, per_row, f->span[0]))
            return 0;
        out->per_row[k][out->waves[k]++] = per_row;
    }
    return 1;
}

/* Models with one thing more: a wave of either view or of both, or a degree. */
static int list_candidates(const State *f, Series *s, const double peak[PROFILE_PEAKS], const Model *m,
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
static double mean_share(const double now[FOLDINGS], const double before[FOLDINGS])
{
    double sum = 0.0;
    for (int i = 0; i < FOLDINGS; i++)
        sum += now[i] / before[i];
    return sum / FOLDINGS;
}

/* Does the larger of two models have a long wave or a degree more? */
static bool is_long(const Model *less, const Model *more)
{
    bool found = more->degree > less->degree;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < more->waves[k]; i++)
            found |= more->per_row[k][i] < 1.0 / LONG_ROWS &&
                     !is_taken(less, k, more->per_row[k][i], 0.5 * LONG_ROWS);
    return found;
}

/* Does a model differ from the best one so far by more than a reference may be wrong over long distances? */
static bool differs(State *f, const Model *m)
{
    Model fitted = *m;
    double sum = 0.0, square = 0.0;
    fill_basis(f, &fitted);
    if (!fit_model(f, &ALL, &fitted))
        return false;
    for (int i = 0; i < f->strips; i++) {
        const double more =
            model_value(&fitted, f->basis + (size_t)i * COLUMNS) - (f->strip[i].value_px - f->residual[i]);
        sum += more;
        square += more * more;
    }
    sum /= f->strips;
    return square / f->strips - sum * sum > f->task->least_long_px * f->task->least_long_px;
}

/* Where a candidate must lower the errors of all schemes: in means by row of the views that it adds waves of;
 * a degree, in strips. */
static unsigned asked_of(const Model *m, const Model *candidate)
{
    return (unsigned)(candidate->waves[SDM_ALONG_RIGHT] > m->waves[SDM_ALONG_RIGHT]) << BY_RIGHT_ROW |
           (unsigned)(candidate->waves[SDM_ALONG_LEFT] > m->waves[SDM_ALONG_LEFT]) << BY_LEFT_ROW |
           (unsigned)(candidate->degree > m->degree) << BY_STRIP;
}

/* The best candidate by cross-validation; -1: none is good enough.  Strips tell which of those that gain is
 * the best, since terrain sets the rows of the views apart there. */
static int choose(State *f, const Model *m, const Model *candidate, int n)
{
    const double clip = 3.0 * f->scale_px;
    double before[MEASURES][FOLDINGS], now[MEASURES][FOLDINGS], best = 1.0;
    int chosen = -1, columns = 0;
    (void)cross_validate(f, m, clip, 0u, NULL, before);
    for (int i = 0; i < n; i++) {
        const int more = count_columns(&candidate[i]) - count_columns(m);
        const double least = more > columns && chosen >= 0 ? MORE_GAIN * best : best;
        if (!cross_validate(f, &candidate[i], clip, asked_of(m, &candidate[i]),
                            (const double(*)[FOLDINGS])before, now))
            continue;
        const double share = mean_share(now[BY_STRIP], before[BY_STRIP]);
        if (share < least && (!is_long(m, &candidate[i]) || differs(f, &candidate[i]))) {
            best = share;
            chosen = i;
            columns = more;
        }
    }
    return chosen;
}

/* Take wave `number` away from a model, right view first; number -1: a degree.  @return false where it has
 * none */
static bool take_away(Model *m, int number)
{
    if (number < 0)
        return m->degree-- > 0;
    const int view = number < m->waves[SDM_ALONG_RIGHT] ? SDM_ALONG_RIGHT : SDM_ALONG_LEFT,
              at = number - (view == SDM_ALONG_RIGHT ? 0 : m->waves[SDM_ALONG_RIGHT]);
    if (at >= m->waves[view])
        return false;
    m->waves[view]--;
    for (int i = at; i < m->waves[view]; i++)
        m->per_row[view][i] = m->per_row[view][i + 1];
    return true;
}

/* State a model, its frequencies included; it becomes the best one. */
static bool settle_model(State *f, Model *m)
{
    refine_frequencies(f, m);
    fill_basis(f, m);
    if (!fit_model(f, &ALL, m))
        return false;
    keep_model(f, m);
    return true;
}

/* Drop from a model that was found with other points what does not lower the errors of all schemes any
 * more. */
static void prune_model(State *f, Model *m)
{
    for (int k = -1; settle_model(f, m) && k < m->waves[0] + m->waves[1];) {
        double with[MEASURES][FOLDINGS], without[MEASURES][FOLDINGS];
        const double clip = 3.0 * f->scale_px;
        for (; k < m->waves[0] + m->waves[1]; k++) {
            Model less = *m;
            if (!take_away(&less, k))
                continue;
            (void)cross_validate(f, &less, clip, 0u, NULL, without);
            if (!cross_validate(f, m, clip, asked_of(&less, m), (const double(*)[FOLDINGS])without, with) ||
                (is_long(&less, m) && !differs(f, &less))) {
                *m = less;
                break;
            }
        }
    }
}

/* Add to the model what lowers the errors of all schemes most, while anything does. */
static void grow_model(State *f, Series *s, Model *m)
{
    double peak[PROFILE_PEAKS];
    profile_peaks(f, s, peak);
    for (;;) {
        Model candidate[MOST_CANDIDATES];
        const int n = list_candidates(f, s, peak, m, candidate);
        const int chosen = choose(f, m, candidate, n);
        if (chosen < 0)
            return;
        *m = candidate[chosen];
        if (!settle_model(f, m))
            return;
    }
}

/* ---- result ---- */

static void write_result(const State *f, const Model *m, SdmAlongCorrection *out)
{
    const int terms = sdm_terms(m->degree);
    const double *c = m->coef + terms;
    *out = (SdmAlongCorrection){.east_m = out->east_m,
                                .north_m = out->north_m,
                                .degree = m->degree,
                                .waves = {m->waves[0], m->waves[1]}};
    memcpy(out->coef, m->coef, (size_t)terms * sizeof *m->coef);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < m->waves[k]; i++, c += 2) {
            const double turn = TURN * m->per_row[k][i] * f->row0[k];
            out->wave[k][i] = (SdmAlongWave){.per_row = m->per_row[k][i],
                                             .cos_px = c[0] * cos(turn) - c[1] * sin(turn),
                                             .sin_px = c[0] * sin(turn) + c[1] * cos(turn)};
        }
}

/* The constant becomes the median of all points that are used: a mean would follow forest and what else lies
 * on one side of the ground, and gentle slopes alone may lie where the reference is off. */
static void centre_constant(const State *f, Model *m)
{
    point_residuals(f, m);
    m->coef[0] += sdm_median_f64(f->point_work, gather(f, -1));
}

static void measure_points(const State *f, const Model *m, SdmAlongReport *r)
{
    int seen = 0;
    point_residuals(f, m);
    r->point_px = sdm_nmad_f64(f->point_work, gather(f, -1), NULL);
    for (int i = 0; i < f->strips; i++)
        seen += i == 0 || f->strip[i].bin[SDM_ALONG_LEFT] != f->strip[i - 1].bin[SDM_ALONG_LEFT];
    r->rows_seen = (double)seen / f->bins[SDM_ALONG_LEFT];
}

/* Error of a model by cross-validation, of means by row: of the view where it is larger. */
static void measure_rows(State *f, const Model *m, double clip, double error_px[SDM_ALONG_SCHEMES])
{
    double e[MEASURES][FOLDINGS];
    (void)cross_validate(f, m, clip, 0u, NULL, e);
    error_px[SDM_ALONG_BY_ROWS] = fmax(e[BY_RIGHT_ROW][0], e[BY_LEFT_ROW][0]);
    error_px[SDM_ALONG_BY_COLUMNS] =
        fmax(fmax(e[BY_RIGHT_ROW][1], e[BY_RIGHT_ROW][2]), fmax(e[BY_LEFT_ROW][1], e[BY_LEFT_ROW][2]));
}

/* Standard error of a model in the mean of all rows: of least squares with its columns but the constant, and
 * its frequencies, from means by row that average strip_rows each and err by row_px. */
static double standard_error(const State *f, const Model *m, double row_px)
{
    const int found = count_columns(m) - 1 + m->waves[0] + m->waves[1];
    return row_px * sqrt(found * f->strip_rows / f->span[0]);
}

static SdmStatus open_fit(SdmContext *ctx, const SdmAlongTask *task, State *f)
{
    *f = (State){.task = task};
    PASS(sort_points(ctx, f));
    const size_t cells = (size_t)f->cells + 1, bins = (size_t)(f->cells + f->bins[0] + f->bins[1]);
    PASS(SDM_ALLOC(ctx, "strips", SDM_ARRAY(f->class_weight, task->count),
                   SDM_ARRAY(f->point_work, task->count), SDM_ARRAY(f->point_residual, task->count),
                   SDM_ARRAY(f->strip, cells), SDM_ARRAY(f->basis, cells * COLUMNS),
                   SDM_ARRAY(f->residual, cells), SDM_ARRAY(f->weight, cells), SDM_ARRAY(f->work, cells),
                   SDM_ARRAY(f->bin_sum, 2 * bins)));
    f->bin_weight = f->bin_sum + bins;
    return SDM_OK;
}

static void close_fit(State *f)
{
    SDM_FREE(&f->order, &f->begin, &f->class_weight, &f->point_work, &f->point_residual, &f->strip, &f->basis,
             &f->residual, &f->weight, &f->work, &f->bin_sum);
}

/* The model to start with: a correction, moved to the median of the points that are used. */
static Model start_model(const State *f, const SdmAlongCorrection *from)
{
    Model m = {.degree = from->degree, .waves = {from->waves[0], from->waves[1]}};
    const int terms = sdm_terms(m.degree);
    double *c = m.coef + terms;
    memcpy(m.coef, from->coef, (size_t)terms * sizeof *m.coef);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < m.waves[k]; i++, c += 2) {
            const SdmAlongWave *const w = &from->wave[k][i];
            const double turn = TURN * w->per_row * f->row0[k];
            m.per_row[k][i] = w->per_row;
            c[0] = w->cos_px * cos(turn) + w->sin_px * sin(turn);
            c[1] = w->sin_px * cos(turn) - w->cos_px * sin(turn);
        }
    centre_constant(f, &m);
    return m;
}

SdmStatus sdm_along_fit(SdmContext *ctx, const SdmAlongTask *task, SdmAlongCorrection *out,
                        SdmAlongReport *report)
{
    SDM_CLOSED_BY(close_fit) State f = {0};
    SDM_OWNED double *rows = NULL;
    Series s = {0};
    size_t used = 0;
    for (size_t i = 0; i < task->count; i++)
        used += task->point[i].use != 0;
    if (used < LEAST_POINTS)
        return sdm_fail(ctx, SDM_ERR_DATA, "%zu places of unchanged ground, at least %d are needed", used,
                        (int)LEAST_POINTS);
    PASS(open_fit(ctx, task, &f));
    s.room = (size_t)fmax(fmax(f.span[0], f.span[1]) / f.step + 2.0, task->scale->profile_count);
    PASS(sdm_alloc(ctx, &rows, 3 * s.room, sizeof *rows, "means by row"));
    s.row = rows;
    s.value = s.row + s.room;
    s.weight = s.value + s.room;
    Model m = start_model(&f, out);
    make_strips(&f, &m);
    if (f.strips < LEAST_STRIPS)
        m = (Model){.degree = 0, .coef = {m.coef[0]}};
    if (f.strips >= LEAST_STRIPS && m.degree + m.waves[0] + m.waves[1] > 0)
        prune_model(&f, &m);
    if (f.strips >= LEAST_STRIPS)
        grow_model(&f, &s, &m);
    make_strips(&f, &m); /* about what is known now */
    const double clip = 3.0 * f.scale_px + 1.0;
    measure_rows(&f, &m, clip, report->fitted_px);
    report->correction_px = standard_error(&f, &m, report->fitted_px[SDM_ALONG_BY_ROWS]);
    centre_constant(&f, &m);
    measure_points(&f, &m, report);
    write_result(&f, &m, out);
    const Model constant = {.degree = 0, .coef = {m.coef[0]}};
    keep_model(&f, &constant); /* a fit of the constant starts at the residuals of a constant */
    measure_rows(&f, &constant, clip, report->constant_px);
    return SDM_OK;
}
