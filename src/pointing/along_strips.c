/* Points along the track -> strips, about a model. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/along_model.h"
#include "core/stats.h"

#include <math.h>

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
SdmStatus sdm_along_sort_points(SdmContext *ctx, SdmAlongState *f)
{
    SdmStatus st = SDM_OK;
    const SdmAlongTask *const t = f->task;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    int *cell = NULL;
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
void sdm_along_residuals(const SdmAlongState *f, const SdmAlongModel *m, double *residual)
{
    for (size_t i = 0; i < f->task->count; i++)
        residual[i] = (double)f->task->point[i].value_px - sdm_along_at_point(f, m, &f->task->point[i]);
}

/* The residuals of the points that are used, of one class of slope or of all (-1) -> point_work; @return how
 * many. */
int64_t sdm_along_gather(const SdmAlongState *f, const double *residual, int class_wanted)
{
    const SdmAlongTask *const t = f->task;
    int64_t n = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->point[i].use && (class_wanted < 0 || class_of(&t->point[i]) == class_wanted))
            f->point_work[n++] = residual[i];
    return n;
}

/* Points of a class of slope weigh by the inverse square of its residuals' NMAD.  all: the NMAD of all that
 * are used. */
static void weigh_classes(const SdmAlongState *f, const double *residual, double all)
{
    const SdmAlongTask *const t = f->task;
    double spread[CLASSES];
    for (int c = 0; c < CLASSES; c++) {
        const int64_t n = sdm_along_gather(f, residual, c);
        spread[c] = n >= 50 ? fmax(sdm_nmad_f64(f->point_work, n, NULL), 0.2 * all) : all;
    }
    for (size_t i = 0; i < t->count; i++) {
        const double s = all / spread[class_of(&t->point[i])];
        f->class_weight[i] = t->point[i].use ? s * s : 0.0;
    }
}

/* Robust mean of the points of a strip about a model; false where they are too few. */
static bool make_strip(const SdmAlongState *f, const SdmAlongModel *m, const double *residual, double scale,
                       int cell, SdmAlongStrip *s)
{
    size_t n = 0;
    double sum = 0.0;
    *s = (SdmAlongStrip){.bin = {[SDM_ALONG_LEFT] = cell / STRIP_COLUMNS}};
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
        const double w = f->class_weight[at] * sdm_along_biweight(residual[at] - median, scale);
        s->weight += w;
        sum += w * residual[at];
        s->row[0] += w * (double)p->row[0];
        s->row[1] += w * (double)p->row[1];
        s->x += w * sdm_along_point_x(f, p);
        s->y += w * sdm_along_point_y(f, p);
    }
    if (!(s->weight > 0.0))
        return false;
    double *const mean[] = {&s->row[0], &s->row[1], &s->x, &s->y};
    for (int k = 0; k < 4; k++)
        *mean[k] /= s->weight;
    double basis[SDM_ALONG_COLUMNS];
    sdm_along_basis_at(f, m, s->row, s->x, s->y, f->strip_rows, basis);
    s->value_px = sum / s->weight + sdm_along_model_value(m, basis);
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

/* All strips about a model, with weights of at most the median one. */
void sdm_along_make_strips(SdmAlongState *f, const SdmAlongModel *m)
{
    double *const residual = f->point_work + f->task->count;
    sdm_along_residuals(f, m, residual);
    const double nmad =
        fmax(sdm_nmad_f64(f->point_work, sdm_along_gather(f, residual, -1), NULL), SDM_ALONG_LEAST_SCALE_PX);
    weigh_classes(f, residual, nmad);
    f->strips = 0;
    for (int k = 0; k < SDM_ALONG_CACHED; k++)
        f->cached[k].per_row = 0.0;
    for (int c = 0; c < f->cells; c++)
        f->strips += make_strip(f, m, residual, POINT_TUKEY * nmad, c, &f->strip[f->strips]);
    for (int i = 0; i < f->strips; i++)
        f->work[i] = f->strip[i].weight;
    const double most = sdm_median_f64(f->work, f->strips);
    for (int i = 0; i < f->strips; i++)
        f->strip[i].weight = fmin(f->strip[i].weight / most, 1.0);
}
