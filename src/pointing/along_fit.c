/* Stage 2: jitter and low-order errors along the track from a reference DEM: robust fit of a polynomial and
 * of sums of a few waves, chosen by cross-validation. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/along_model.h"
#include "core/dense.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_POINTS = 30,
    LEAST_STRIPS = 40, /* for more than a constant */
    MOST_REFINED = SDM_ALONG_COLUMNS + 2 * SDM_ALONG_WAVES,
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
    double *turn[4];              /* room each: cosine and sine of a wave's phase, and of what a step of its
                                   * frequency adds */
    int count;
    size_t room;
} Series;

/* Normal equations of a constant and a wave. */
typedef struct WaveSums {
    double a[9], b[3];
} WaveSums;

static inline void add_to_sums(WaveSums *s, double weight, double value, double cosine, double sine)
{
    const double t[3] = {1.0, cosine, sine};
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c <= r; c++)
            s->a[r * 3 + c] += weight * t[r] * t[c];
        s->b[r] += weight * t[r] * value;
    }
}

/* Reduction of the squares of a series by the wave and its mean. */
static double power_of(WaveSums *s)
{
    const double start[3] = {s->b[0], s->b[1], s->b[2]},
                 before = s->a[0] > 0.0 ? s->b[0] * s->b[0] / s->a[0] : 0.0;
    for (int r = 0; r < 3; r++)
        s->a[r * 3 + r] = s->a[r * 3 + r] * (1.0 + 1e-6) + 1e-9;
    if (!sdm_solve_cholesky(3, s->a, s->b))
        return 0.0;
    return start[0] * s->b[0] + start[1] * s->b[1] + start[2] * s->b[2] - before;
}

/* Power of a wave of that frequency. */
static double power_at(const Series *s, double row0, double per_row)
{
    WaveSums sums = {{0}, {0}};
    for (int i = 0; i < s->count; i++) {
        const double phase = SDM_ALONG_TURN * per_row * (s->row[i] - row0);
        add_to_sums(&sums, s->weight[i], s->value[i], cos(phase), sin(phase));
    }
    return power_of(&sums);
}

/* Begin to go through frequencies: the first one, and the step. */
static void begin_turns(const Series *s, double row0, double per_row, double step)
{
    for (int i = 0; i < s->count; i++) {
        const double phase = SDM_ALONG_TURN * per_row * (s->row[i] - row0),
                     more = SDM_ALONG_TURN * step * (s->row[i] - row0);
        s->turn[0][i] = cos(phase);
        s->turn[1][i] = sin(phase);
        s->turn[2][i] = cos(more);
        s->turn[3][i] = sin(more);
    }
}

/* The power at the frequency that is reached, but for rounding; go on to the next one. */
static double power_of_turns(const Series *s)
{
    WaveSums sums = {{0}, {0}};
    for (int i = 0; i < s->count; i++) {
        const double c = s->turn[0][i], d = s->turn[1][i];
        add_to_sums(&sums, s->weight[i], s->value[i], c, d);
        s->turn[0][i] = c * s->turn[2][i] - d * s->turn[3][i];
        s->turn[1][i] = d * s->turn[2][i] + c * s->turn[3][i];
    }
    return power_of(&sums);
}

static bool is_taken(const SdmAlongModel *m, int view, double per_row, double rows)
{
    for (int i = 0; i < m->waves[view]; i++)
        if (fabs(m->per_row[view][i] - per_row) < 0.5 / rows)
            return true;
    return false;
}

/* The highest frequency that strips show, cycles a row. */
static double highest(const SdmAlongState *f)
{
    return 1.0 / fmax(SHORTEST_ROWS, STRIPS_A_WAVE * f->strip_rows);
}

/* The frequency with the highest power, refined; 0: none. */
static double find_peak(const SdmAlongState *f, const Series *s, const SdmAlongModel *m, int view)
{
    const double step = 0.25 / f->rows, first = fmax(1.0 / LONGEST_ROWS, 0.5 / f->rows);
    double best = 0.0, at = 0.0;
    begin_turns(s, f->row0[view], first, step);
    for (double p = first; p <= highest(f); p += step) {
        const double power = power_of_turns(s);
        if (power > best && !is_taken(m, view, p, f->rows)) {
            best = power;
            at = p;
        }
    }
    if (at > 0.0)
        best = power_at(s, f->row0[view], at);
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
static void fill_series(const SdmAlongState *f, int view, Series *s)
{
    const double scale = SDM_ALONG_STRIP_TUKEY * f->scale_px;
    int n = 0;
    s->count = f->bins[view];
    memset(s->row, 0, 3 * s->room * sizeof *s->row);
    for (int i = 0; i < f->strips; i++) {
        const SdmAlongStrip *const t = &f->strip[i];
        const double w = t->weight * sdm_along_biweight(f->residual[i], scale);
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
static void profile_peaks(const SdmAlongState *f, const Series *s, double peak[PROFILE_PEAKS])
{
    const SdmPointing *const p = f->task->scale;
    Series t = *s;
    SdmAlongModel found = {.degree = 0};
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
static void refine_frequencies(SdmAlongState *f, SdmAlongModel *m)
{
    const SdmAlongPart all = {0, -1};
    double a[MOST_REFINED * MOST_REFINED], b[MOST_REFINED], t[MOST_REFINED];
    for (int round = 0; round < REFINEMENTS; round++) {
        const int n = sdm_along_columns(m), waves = m->waves[0] + m->waves[1], size = n + waves;
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        sdm_along_fill_basis(f, m);
        if (!waves || !sdm_along_fit_model(f, &all, m))
            return;
        for (int i = 0; i < f->strips; i++) {
            const SdmAlongStrip *const s = &f->strip[i];
            const double *const own = f->basis + (size_t)i * SDM_ALONG_COLUMNS;
            memcpy(t, own, (size_t)n * sizeof *t);
            for (int k = 0, w = 0; k < 2; k++)
                for (int q = 0; q < m->waves[k]; q++, w++) {
                    const int c = sdm_terms(m->degree) + 2 * w;
                    t[n + w] = SDM_ALONG_TURN * (s->row[k] - f->row0[k]) *
                               (m->coef[c + 1] * own[c] - m->coef[c] * own[c + 1]);
                }
            const double r = s->value_px - sdm_along_model_value(m, own), weight = f->weight[i];
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
                m->per_row[k][q] = fmin(
                    fmax(m->per_row[k][q] + fmin(fmax(b[n + w], -most), most), 0.25 / f->rows), highest(f));
    }
}

/* ---- choice of the model ---- */

static bool add_wave(SdmAlongModel *m, int view, double per_row, double rows)
{
    if (!(per_row > 0.0) || m->waves[view] == SDM_ALONG_WAVES || is_taken(m, view, per_row, rows))
        return false;
    m->per_row[view][m->waves[view]++] = per_row;
    return true;
}

/* Append the model with a wave of that frequency for the views of the set (1: right, 2: left); @return how
 * many. */
static int add_candidate(const SdmAlongState *f, const SdmAlongModel *m, double per_row, int views,
                         SdmAlongModel *out)
{
    *out = *m;
    for (int k = 0; k < 2; k++)
        if ((views >> k & 1) && !add_wave(out, k, per_row, f->rows))
            return 0;
    return 1;
}

/* Models with one thing more: a wave of either view or of both, or a degree. */
static int list_candidates(const SdmAlongState *f, Series *s, const double peak[PROFILE_PEAKS],
                           const SdmAlongModel *m, SdmAlongModel out[MOST_CANDIDATES])
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
static double mean_share(const double now[SDM_ALONG_FOLDINGS], const double before[SDM_ALONG_FOLDINGS])
{
    double sum = 0.0;
    for (int i = 0; i < SDM_ALONG_FOLDINGS; i++)
        sum += now[i] / before[i];
    return sum / SDM_ALONG_FOLDINGS;
}

/* Does the larger of two models have a long wave or a degree more? */
static bool is_long(const SdmAlongModel *less, const SdmAlongModel *more)
{
    bool found = more->degree > less->degree;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < more->waves[k]; i++)
            found |= more->per_row[k][i] < 1.0 / LONG_ROWS &&
                     !is_taken(less, k, more->per_row[k][i], 0.5 * LONG_ROWS);
    return found;
}

/* Does a model differ from the best one so far by more than a reference may be wrong over long distances? */
static bool differs(SdmAlongState *f, const SdmAlongModel *m)
{
    const SdmAlongPart all = {0, -1};
    SdmAlongModel fitted = *m;
    double sum = 0.0, square = 0.0;
    sdm_along_fill_basis(f, &fitted);
    if (!sdm_along_fit_model(f, &all, &fitted))
        return false;
    for (int i = 0; i < f->strips; i++) {
        const double more = sdm_along_model_value(&fitted, f->basis + (size_t)i * SDM_ALONG_COLUMNS) -
                            (f->strip[i].value_px - f->residual[i]);
        sum += more;
        square += more * more;
    }
    sum /= f->strips;
    return square / f->strips - sum * sum > f->task->least_long_px * f->task->least_long_px;
}

/* Where a candidate must lower the errors of all schemes: in means by row of the views that it adds waves of;
 * a degree, in strips. */
static unsigned asked_of(const SdmAlongModel *m, const SdmAlongModel *candidate)
{
    return (unsigned)(candidate->waves[SDM_ALONG_RIGHT] > m->waves[SDM_ALONG_RIGHT]) << SDM_BY_RIGHT_ROW |
           (unsigned)(candidate->waves[SDM_ALONG_LEFT] > m->waves[SDM_ALONG_LEFT]) << SDM_BY_LEFT_ROW |
           (unsigned)(candidate->degree > m->degree) << SDM_BY_STRIP;
}

/* The best candidate by cross-validation; -1: none is good enough.  Strips tell which of those that gain is
 * the best, since terrain sets the rows of the views apart there. */
static int choose(SdmAlongState *f, const SdmAlongModel *m, const SdmAlongModel *candidate, int n)
{
    const double clip = 3.0 * f->scale_px;
    double before[SDM_ALONG_MEASURES][SDM_ALONG_FOLDINGS], now[SDM_ALONG_MEASURES][SDM_ALONG_FOLDINGS],
        best = 1.0;
    int chosen = -1, columns = 0;
    (void)sdm_along_cross_validate(f, m, clip, 0u, NULL, before);
    for (int i = 0; i < n; i++) {
        const int more = sdm_along_columns(&candidate[i]) - sdm_along_columns(m);
        const double least = more > columns && chosen >= 0 ? MORE_GAIN * best : best;
        if (!sdm_along_cross_validate(f, &candidate[i], clip, asked_of(m, &candidate[i]),
                                      (const double(*)[SDM_ALONG_FOLDINGS])before, now))
            continue;
        const double share = mean_share(now[SDM_BY_STRIP], before[SDM_BY_STRIP]);
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
static bool take_away(SdmAlongModel *m, int number)
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

/* SdmAlongState a model, its frequencies included; it becomes the best one. */
static bool settle_model(SdmAlongState *f, SdmAlongModel *m)
{
    const SdmAlongPart all = {0, -1};
    refine_frequencies(f, m);
    sdm_along_fill_basis(f, m);
    if (!sdm_along_fit_model(f, &all, m))
        return false;
    sdm_along_keep_model(f, m);
    return true;
}

/* Drop from a model that was found with other points what does not lower the errors of all schemes any
 * more. */
static void prune_model(SdmAlongState *f, SdmAlongModel *m)
{
    for (int k = -1; settle_model(f, m) && k < m->waves[0] + m->waves[1];) {
        double with[SDM_ALONG_MEASURES][SDM_ALONG_FOLDINGS], without[SDM_ALONG_MEASURES][SDM_ALONG_FOLDINGS];
        const double clip = 3.0 * f->scale_px;
        for (; k < m->waves[0] + m->waves[1]; k++) {
            SdmAlongModel less = *m;
            if (!take_away(&less, k))
                continue;
            (void)sdm_along_cross_validate(f, &less, clip, 0u, NULL, without);
            if (!sdm_along_cross_validate(f, m, clip, asked_of(&less, m),
                                          (const double(*)[SDM_ALONG_FOLDINGS])without, with) ||
                (is_long(&less, m) && !differs(f, &less))) {
                *m = less;
                break;
            }
        }
    }
}

/* Add to the model what lowers the errors of all schemes most, while anything does. */
static void grow_model(SdmAlongState *f, Series *s, SdmAlongModel *m)
{
    double peak[PROFILE_PEAKS];
    profile_peaks(f, s, peak);
    for (;;) {
        SdmAlongModel candidate[MOST_CANDIDATES];
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

static void write_result(const SdmAlongState *f, const SdmAlongModel *m, SdmAlongCorrection *out)
{
    const int terms = sdm_terms(m->degree);
    const double *c = m->coef + terms;
    out->degree = m->degree;
    memset(out->coef, 0, sizeof out->coef);
    memset(out->wave, 0, sizeof out->wave);
    memcpy(out->coef, m->coef, (size_t)terms * sizeof *m->coef);
    for (int k = 0; k < 2; k++) {
        out->waves[k] = m->waves[k];
        for (int i = 0; i < m->waves[k]; i++, c += 2) {
            const double turn = SDM_ALONG_TURN * m->per_row[k][i] * f->row0[k];
            out->wave[k][i] = (SdmAlongWave){.per_row = m->per_row[k][i],
                                             .cos_px = c[0] * cos(turn) - c[1] * sin(turn),
                                             .sin_px = c[0] * sin(turn) + c[1] * cos(turn)};
        }
    }
}

/* The constant becomes the median of all points that are used: a mean would follow forest and what else lies
 * on one side of the ground, and gentle slopes alone may lie where the reference is off. */
static void centre_constant(const SdmAlongState *f, SdmAlongModel *m)
{
    double *const residual = f->point_work + f->task->count;
    sdm_along_residuals(f, m, residual);
    m->coef[0] += sdm_median_f64(f->point_work, sdm_along_gather(f, residual, -1));
}

static void measure_points(const SdmAlongState *f, const SdmAlongModel *m, SdmAlongReport *r)
{
    double *const residual = f->point_work + f->task->count;
    int seen = 0;
    sdm_along_residuals(f, m, residual);
    r->point_px = sdm_nmad_f64(f->point_work, sdm_along_gather(f, residual, -1), NULL);
    for (int i = 0; i < f->strips; i++)
        seen += i == 0 || f->strip[i].bin[SDM_ALONG_LEFT] != f->strip[i - 1].bin[SDM_ALONG_LEFT];
    r->rows_seen = (double)seen / f->bins[SDM_ALONG_LEFT];
}

/* Error of a model by cross-validation, of means by row: of the view where it is larger. */
static void measure_rows(SdmAlongState *f, const SdmAlongModel *m, double clip,
                         double error_px[SDM_ALONG_SCHEMES])
{
    double e[SDM_ALONG_MEASURES][SDM_ALONG_FOLDINGS];
    (void)sdm_along_cross_validate(f, m, clip, 0u, NULL, e);
    error_px[SDM_ALONG_BY_ROWS] = fmax(e[SDM_BY_RIGHT_ROW][0], e[SDM_BY_LEFT_ROW][0]);
    error_px[SDM_ALONG_BY_COLUMNS] = fmax(fmax(e[SDM_BY_RIGHT_ROW][1], e[SDM_BY_RIGHT_ROW][2]),
                                          fmax(e[SDM_BY_LEFT_ROW][1], e[SDM_BY_LEFT_ROW][2]));
}

/* Standard error of a model in the mean of all rows: of least squares with its columns but the constant, and
 * its frequencies, from means by row that average strip_rows each and err by row_px. */
static double standard_error(const SdmAlongState *f, const SdmAlongModel *m, double row_px)
{
    const int found = sdm_along_columns(m) - 1 + m->waves[0] + m->waves[1];
    return row_px * sqrt(found * f->strip_rows / f->rows);
}

static SdmStatus open_fit(SdmContext *ctx, const SdmAlongTask *task, SdmAlongState *f)
{
    *f = (SdmAlongState){.task = task};
    PASS(sdm_along_sort_points(ctx, f));
    const size_t cells = (size_t)f->cells + 1, bins = (size_t)(f->cells + f->bins[0] + f->bins[1]);
    PASS(sdm_alloc(ctx, &f->class_weight, task->count, sizeof *f->class_weight, "weights of points"));
    PASS(sdm_alloc(ctx, &f->point_work, 2 * task->count, sizeof *f->point_work, "residuals of points"));
    PASS(sdm_alloc(ctx, &f->strip, cells, sizeof *f->strip, "strips"));
    PASS(sdm_alloc(ctx, &f->basis, cells * SDM_ALONG_COLUMNS, sizeof *f->basis, "strips"));
    PASS(sdm_alloc(ctx, &f->residual, cells, sizeof *f->residual, "strips"));
    PASS(sdm_alloc(ctx, &f->weight, cells, sizeof *f->weight, "strips"));
    PASS(sdm_alloc(ctx, &f->work, cells, sizeof *f->work, "strips"));
    PASS(sdm_alloc(ctx, &f->bin_sum, 2 * bins, sizeof *f->bin_sum, "means by row"));
    f->bin_weight = f->bin_sum + bins;
    for (int k = 0; k < SDM_ALONG_CACHED; k++)
        PASS(sdm_alloc_raw(ctx, &f->cached[k].value, 2 * cells, sizeof(double), "strips"));
    return SDM_OK;
}

static void close_fit(SdmAlongState *f)
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
    sdm_free(&f->bin_sum);
    for (int k = 0; k < SDM_ALONG_CACHED; k++)
        sdm_free(&f->cached[k].value);
}

/* The model to start with: a correction, moved to the median of the points that are used. */
static SdmAlongModel start_model(const SdmAlongState *f, const SdmAlongCorrection *from)
{
    SdmAlongModel m = {.degree = from->degree};
    const int terms = sdm_terms(m.degree);
    double *const residual = f->point_work + f->task->count, *c = m.coef + terms;
    memcpy(m.coef, from->coef, (size_t)terms * sizeof *m.coef);
    for (int k = 0; k < 2; k++) {
        m.waves[k] = from->waves[k];
        for (int i = 0; i < m.waves[k]; i++, c += 2) {
            const SdmAlongWave *const w = &from->wave[k][i];
            const double turn = SDM_ALONG_TURN * w->per_row * f->row0[k];
            m.per_row[k][i] = w->per_row;
            c[0] = w->cos_px * cos(turn) + w->sin_px * sin(turn);
            c[1] = w->sin_px * cos(turn) - w->cos_px * sin(turn);
        }
    }
    sdm_along_residuals(f, &m, residual);
    m.coef[0] += sdm_median_f64(f->point_work, sdm_along_gather(f, residual, -1));
    return m;
}

SdmStatus sdm_along_fit(SdmContext *ctx, const SdmAlongTask *task, SdmAlongCorrection *out,
                        SdmAlongReport *report)
{
    SdmStatus st = SDM_OK;
    const SdmAlongPart all = {0, -1};
    SdmAlongState f = {0};
    Series s = {0};
    size_t used = 0;
    for (size_t i = 0; i < task->count; i++)
        used += task->point[i].use != 0;
    if (used < LEAST_POINTS)
        return sdm_fail(ctx, SDM_ERR_DATA, "%zu places of unchanged ground, at least %d are needed", used,
                        (int)LEAST_POINTS);
    TRY(open_fit(ctx, task, &f));
    s.room = (size_t)fmax(fmax(f.span[0], f.span[1]) / f.step + 2.0, task->scale->profile_count);
    TRY(sdm_alloc(ctx, &s.row, 7 * s.room, sizeof *s.row, "means by row"));
    s.value = s.row + s.room;
    s.weight = s.value + s.room;
    for (int k = 0; k < 4; k++)
        s.turn[k] = s.weight + (size_t)(k + 1) * s.room;
    SdmAlongModel m = start_model(&f, out);
    sdm_along_make_strips(&f, &m);
    sdm_along_keep_model(&f, &m);
    (void)sdm_along_fit_model(&f, &all, &m);
    sdm_along_keep_model(&f, &m);
    if (f.strips < LEAST_STRIPS)
        m = (SdmAlongModel){.degree = 0, .coef = {m.coef[0]}};
    if (f.strips >= LEAST_STRIPS && m.degree + m.waves[0] + m.waves[1] > 0)
        prune_model(&f, &m);
    if (f.strips >= LEAST_STRIPS)
        grow_model(&f, &s, &m);
    sdm_along_make_strips(&f, &m); /* about what is known now */
    sdm_along_keep_model(&f, &m);
    (void)sdm_along_fit_model(&f, &all, &m);
    sdm_along_keep_model(&f, &m);
    const double clip = 3.0 * f.scale_px + 1.0;
    measure_rows(&f, &m, clip, report->fitted_px);
    report->correction_px = standard_error(&f, &m, report->fitted_px[SDM_ALONG_BY_ROWS]);
    centre_constant(&f, &m);
    measure_points(&f, &m, report);
    write_result(&f, &m, out);
    const SdmAlongModel constant = {.degree = 0, .coef = {m.coef[0]}};
    sdm_along_keep_model(&f, &constant); /* a fit of the constant starts at the residuals of a constant */
    measure_rows(&f, &constant, clip, report->constant_px);
done:
    sdm_free(&s.row);
    close_fit(&f);
    return st;
}
