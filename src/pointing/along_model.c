/* The model of waves along the track: its columns, weighted least squares with a ridge, cross-validation. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/along_model.h"
#include "core/dense.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

enum { ITERATIONS = 3 /* of the weights */ };
static const double GAIN = 0.97;          /* what is added must leave less than this share of the error */
static const double LEFT_SIGMA_PX = 0.02; /* ridge: waves of the left view are the less likely ones */

int sdm_along_columns(const SdmAlongModel *m)
{
    return sdm_terms(m->degree) + 2 * (m->waves[0] + m->waves[1]);
}

/* Share of a wave's amplitude that an average over so many rows keeps: sin(x) / x, x at most pi / 3. */
static double kept(double rows, double per_row)
{
    const double x = 0.5 * SDM_ALONG_TURN * rows * per_row, q = x * x;
    return 1.0 - q / 6.0 * (1.0 - q / 20.0 * (1.0 - q / 42.0));
}

double sdm_along_biweight(double residual, double scale)
{
    const double q = residual / scale, w = 1.0 - q * q;
    return fabs(q) < 1.0 ? w * w : 0.0;
}

/* The columns of a model at a place, for means over so many rows. */
void sdm_along_basis_at(const SdmAlongState *f, const SdmAlongModel *m, const double row[2], double x,
                        double y, double rows, double *out)
{
    sdm_pointing_basis(m->degree, x, y, out);
    out += sdm_terms(m->degree);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < m->waves[k]; i++) {
            const double phase = SDM_ALONG_TURN * m->per_row[k][i] * (row[k] - f->row0[k]),
                         share = kept(rows, m->per_row[k][i]);
            *out++ = share * cos(phase);
            *out++ = share * sin(phase);
        }
}

double sdm_along_model_value(const SdmAlongModel *m, const double *basis)
{
    double sum = 0.0;
    for (int i = 0; i < sdm_along_columns(m); i++)
        sum += m->coef[i] * basis[i];
    return sum;
}

double sdm_along_point_x(const SdmAlongState *f, const SdmAlongPoint *p)
{
    return ((double)p->col - f->task->scale->centre[0]) / f->task->scale->scale[0];
}

double sdm_along_point_y(const SdmAlongState *f, const SdmAlongPoint *p)
{
    return ((double)p->row[0] - f->task->scale->centre[1]) / f->task->scale->scale[1];
}

double sdm_along_at_point(const SdmAlongState *f, const SdmAlongModel *m, const SdmAlongPoint *p)
{
    double basis[SDM_ALONG_COLUMNS];
    const double row[2] = {(double)p->row[0], (double)p->row[1]};
    sdm_along_basis_at(f, m, row, sdm_along_point_x(f, p), sdm_along_point_y(f, p), f->task->average_rows,
                       basis);
    return sdm_along_model_value(m, basis);
}
/* Columns of a wave, from the cache. */
static const double *wave_columns(SdmAlongState *f, int view, double per_row)
{
    for (int k = 0; k < SDM_ALONG_CACHED; k++)
        if (f->cached[k].per_row == per_row && f->cached[k].view == view)
            return f->cached[k].value;
    SdmAlongWaveColumns *const c = &f->cached[f->cached_next];
    const double share = kept(f->strip_rows, per_row);
    f->cached_next = (f->cached_next + 1) % SDM_ALONG_CACHED;
    c->per_row = per_row;
    c->view = view;
    for (int i = 0; i < f->strips; i++) {
        const double phase = SDM_ALONG_TURN * per_row * (f->strip[i].row[view] - f->row0[view]);
        c->value[2 * i] = share * cos(phase);
        c->value[2 * i + 1] = share * sin(phase);
    }
    return c->value;
}

void sdm_along_fill_basis(SdmAlongState *f, const SdmAlongModel *m)
{
    double *out = f->basis + sdm_terms(m->degree);
    for (int i = 0; i < f->strips; i++)
        sdm_pointing_basis(m->degree, f->strip[i].x, f->strip[i].y, f->basis + (size_t)i * SDM_ALONG_COLUMNS);
    for (int view = 0; view < 2; view++)
        for (int k = 0; k < m->waves[view]; k++, out += 2) {
            const double *const column = wave_columns(f, view, m->per_row[view][k]);
            for (int i = 0; i < f->strips; i++)
                memcpy(out + (size_t)i * SDM_ALONG_COLUMNS, column + 2 * i, 2 * sizeof *out);
        }
}

static bool is_in(const SdmAlongPart *part, const SdmAlongStrip *s)
{
    return part->without < 0 || s->fold[part->scheme] != part->without;
}

/* Weighted least squares on the columns of the basis. */
static bool solve(const SdmAlongState *f, const SdmAlongPart *part, SdmAlongModel *m)
{
    double a[SDM_ALONG_COLUMNS * SDM_ALONG_COLUMNS] = {0}, b[SDM_ALONG_COLUMNS] = {0};
    const int n = sdm_along_columns(m), left = n - 2 * m->waves[SDM_ALONG_LEFT];
    for (int i = 0; i < f->strips; i++) {
        const double *const t = f->basis + (size_t)i * SDM_ALONG_COLUMNS;
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
bool sdm_along_fit_model(const SdmAlongState *f, const SdmAlongPart *part, SdmAlongModel *m)
{
    double scale = SDM_ALONG_STRIP_TUKEY * f->scale_px;
    for (int i = 0; i < f->strips; i++)
        f->weight[i] = f->strip[i].weight * sdm_along_biweight(f->residual[i], scale);
    for (int it = 0; it < ITERATIONS; it++) {
        int64_t n = 0;
        if (!solve(f, part, m))
            return false;
        for (int i = 0; i < f->strips; i++) {
            f->weight[i] =
                f->strip[i].value_px - sdm_along_model_value(m, f->basis + (size_t)i * SDM_ALONG_COLUMNS);
            if (is_in(part, &f->strip[i]))
                f->work[n++] = fabs(f->weight[i]);
        }
        scale = SDM_ALONG_STRIP_TUKEY * fmax(1.4826 * sdm_median_f64(f->work, n), SDM_ALONG_LEAST_SCALE_PX);
        for (int i = 0; i < f->strips; i++)
            f->weight[i] = f->strip[i].weight * sdm_along_biweight(f->weight[i], scale);
    }
    return true;
}

/* A model becomes the best one: residuals of the strips, and their NMAD. */
void sdm_along_keep_model(SdmAlongState *f, const SdmAlongModel *m)
{
    sdm_along_fill_basis(f, m);
    for (int i = 0; i < f->strips; i++)
        f->residual[i] =
            f->strip[i].value_px - sdm_along_model_value(m, f->basis + (size_t)i * SDM_ALONG_COLUMNS);
    memcpy(f->work, f->residual, (size_t)f->strips * sizeof *f->work);
    f->scale_px = fmax(sdm_nmad_f64(f->work, f->strips, NULL), SDM_ALONG_LEAST_SCALE_PX);
}

/* Add the squares of the residuals of a fold's strips: of their means by row, or of themselves. */
static void add_squares(const SdmAlongState *f, const SdmAlongModel *m, const SdmAlongPart *part,
                        SdmAlongMeasure measure, double clip, double *sum, double *count)
{
    const double most = measure == SDM_BY_STRIP ? 1.0 : 2.0;
    const int bins = measure == SDM_BY_STRIP ? f->strips : f->bins[measure];
    memset(f->bin_sum, 0, (size_t)bins * sizeof *f->bin_sum);
    memset(f->bin_weight, 0, (size_t)bins * sizeof *f->bin_weight);
    for (int i = 0; i < f->strips; i++) {
        const SdmAlongStrip *const s = &f->strip[i];
        const int bin = measure == SDM_BY_STRIP ? i : s->bin[measure];
        if (is_in(part, s))
            continue;
        const double r = s->value_px - sdm_along_model_value(m, f->basis + (size_t)i * SDM_ALONG_COLUMNS);
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
bool sdm_along_cross_validate(SdmAlongState *f, const SdmAlongModel *model, double clip, unsigned asked,
                              const double (*least)[SDM_ALONG_FOLDINGS],
                              double error_px[SDM_ALONG_MEASURES][SDM_ALONG_FOLDINGS])
{
    sdm_along_fill_basis(f, model);
    for (int scheme = 0; scheme < SDM_ALONG_FOLDINGS; scheme++) {
        double sum[SDM_ALONG_MEASURES] = {0}, count[SDM_ALONG_MEASURES] = {0};
        for (int fold = 0; fold < 2; fold++) {
            const SdmAlongPart part = {scheme, fold};
            SdmAlongModel m = *model;
            const bool fitted = sdm_along_fit_model(f, &part, &m);
            for (int k = 0; k < SDM_ALONG_MEASURES && fitted; k++)
                add_squares(f, &m, &part, (SdmAlongMeasure)k, clip, &sum[k], &count[k]);
            for (int k = 0; k < SDM_ALONG_MEASURES && !fitted; k++)
                sum[k] = INFINITY;
        }
        for (int k = 0; k < SDM_ALONG_MEASURES; k++) {
            error_px[k][scheme] = count[k] > 0.0 ? sqrt(sum[k] / count[k]) : INFINITY;
            if (least && asked >> k & 1u && !(error_px[k][scheme] < GAIN * least[k][scheme]))
                return false;
        }
    }
    return true;
}
