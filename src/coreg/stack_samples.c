/* Layers -> their heights at every n-th cell of the grid (samples), and the residuals of these: sample minus
 * the median of all layers there. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_SAMPLES = 1000, MAX_SAMPLES = 40000 };          /* of the median layer, for pairs */
static const double MAX_DIFFERENCES = 2e9;                 /* samples of all pairs */
static const double OUTLIER_NMADS = 3.0, MIN_NMAD_M = 0.1; /* a residual beyond is unstable */

/* Choose the cells between samples, so that the work stays bounded for many and for large DEMs. */
static SdmStatus choose_steps(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    double *cells = NULL;
    double pairs = 1.0;
    TRY(sdm_alloc(s->ctx, &cells, (size_t)s->count, sizeof *cells, "sizes of the DEMs"));
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const a = &s->layer[i];
        cells[i] = (double)(a->cols * a->rows);
        for (int j = 0; j < i; j++) {
            const SdmLayer *const b = &s->layer[j];
            pairs += a->col0 < b->col0 + b->cols && b->col0 < a->col0 + a->cols &&
                     a->row0 < b->row0 + b->rows && b->row0 < a->row0 + a->rows;
        }
    }
    const double samples = fmin(fmax(MAX_DIFFERENCES / pairs, MIN_SAMPLES), MAX_SAMPLES);
    const double median_cells = sdm_select_f64(cells, s->count, s->count / 2);
    const int64_t step = (int64_t)fmax(floor(sqrt(median_cells / samples)), 1.0);
    s->pair_step = step > 1 ? 2 : 1; /* smooth errors are found from denser samples than shifts are */
    s->sample_step = (step + 1) / 2;
done:
    sdm_free(&cells);
    return st;
}

/* First sample at or after a cell; sample k is cell k step + step / 2. */
static int64_t first_sample(int64_t cell, int64_t step)
{
    return (cell - step / 2 + step - 1) / step;
}

/* Checksum of samples as they were read: FNV-1a, a height or a flag at a time.  The order of the layers
 * depends on it, and with that the last bits of sums, so it differs from core/hash, which goes by words of 8
 * bytes. */
static uint64_t checksum_of(const float *height_m, const uint8_t *filled, int64_t n)
{
    static const uint64_t prime = UINT64_C(1099511628211);
    uint64_t h = UINT64_C(14695981039346656037);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &height_m[i], sizeof bits);
        h = (h ^ (isnan(height_m[i]) ? 1U : bits)) * prime;
        h = (h ^ filled[i]) * prime;
    }
    return h;
}

static SdmStatus sample_layer(const SdmStack *s, SdmLayer *l)
{
    SdmStatus st = SDM_OK;
    uint8_t *filled = NULL;
    const int64_t step = s->sample_step;
    const bool first = !l->sample;
    l->sample_col0 = first_sample(l->col0, step);
    l->sample_row0 = first_sample(l->row0, step);
    l->sample_cols = first_sample(l->col0 + l->cols, step) - l->sample_col0;
    l->sample_rows = first_sample(l->row0 + l->rows, step) - l->sample_row0;
    l->sample_cols = l->sample_cols < 0 ? 0 : l->sample_cols;
    l->sample_rows = l->sample_rows < 0 ? 0 : l->sample_rows;
    const int64_t n = l->sample_cols * l->sample_rows;
    if (first) {
        TRY(sdm_alloc(s->ctx, &l->sample, (size_t)n + 1, sizeof *l->sample, "samples"));
        TRY(sdm_alloc(s->ctx, &l->residual, (size_t)n + 1, sizeof *l->residual, "samples"));
        TRY(sdm_alloc(s->ctx, &l->unstable, (size_t)n + 1, sizeof *l->unstable, "samples"));
    }
    if (n == 0)
        goto done;
    TRY(sdm_alloc(s->ctx, &filled, (size_t)n, 1, "samples"));
    TRY(sdm_layer_read(s, l, sdm_layer_samples(s, l), l->sample, filled));
    if (first)
        l->checksum = checksum_of(l->sample, filled, n);
    for (int64_t i = 0; i < n; i++) {
        l->sample[i] = filled[i] ? NAN : l->sample[i];
        l->unstable[i] = 0;
    }
done:
    sdm_free(&filled);
    return st;
}

/* Convert the samples of a layer from heights above its geoid to heights above the ellipsoid. */
static SdmStatus add_geoid(SdmStack *s, SdmLayer *l, SdmUndulation *u)
{
    SdmStatus st = SDM_OK;
    double *x = NULL, *y = NULL, *n = NULL;
    const size_t count = (size_t)(l->sample_cols * l->sample_rows);
    TRY(sdm_alloc(s->ctx, &x, count + 1, sizeof *x, "geoid"));
    TRY(sdm_alloc(s->ctx, &y, count + 1, sizeof *y, "geoid"));
    TRY(sdm_alloc(s->ctx, &n, count + 1, sizeof *n, "geoid"));
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)((l->sample_col0 + (int64_t)i % l->sample_cols) * s->sample_step + s->sample_step / 2);
        y[i] = (double)((l->sample_row0 + (int64_t)i / l->sample_cols) * s->sample_step + s->sample_step / 2);
    }
    TRY(sdm_undulation_cells(s->ctx, u, count, x, y, n));
    for (size_t i = 0; i < count; i++)
        l->sample[i] = (float)((double)l->sample[i] + n[i]);
done:
    sdm_free(&n);
    sdm_free(&y);
    sdm_free(&x);
    return st;
}

static SdmStatus add_geoids(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    for (int vertical = SDM_EGM96; vertical <= SDM_EGM2008; vertical++) {
        SdmUndulation u = {0};
        for (int i = 0; i < s->count && !st; i++)
            if (s->layer[i].vertical == vertical) {
                st = u.geoid ? SDM_OK : sdm_undulation_open(s->ctx, &s->grid, vertical, &u);
                st = st ? st : add_geoid(s, &s->layer[i], &u);
            }
        sdm_undulation_close(&u);
        TRY(st);
    }
done:
    return st;
}

SdmStatus sdm_stack_sample(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    int failed = s->count, sampled = 0; /* failed: the first layer that did, in their order */
    SdmStatus why = SDM_OK;
    const bool again = s->sample_step > 0;
    if (!again)
        TRY(choose_steps(s));
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int i = 0; i < s->count; i++) {
        bool go;
#pragma omp critical(stack_status)
        {
            go = !why;
            sdm_progress(s->ctx, 1, again ? 0.5 : 0.3 * (double)sampled++ / s->count, "sample the DEMs");
        }
        const SdmStatus one = go ? sample_layer(s, &s->layer[i]) : SDM_OK;
#pragma omp critical(stack_status)
        if (one && i < failed) {
            failed = i;
            why = one;
        }
    }
    TRY(why);
    TRY(add_geoids(s));
done:
    return st;
}

static int by_content(const void *a, const void *b)
{
    const SdmLayer *const x = a, *const y = b;
    int order = (x->width > y->width) - (x->width < y->width);
    order = order ? order : (x->height > y->height) - (x->height < y->height);
    for (int k = 0; k < 6 && !order; k++)
        order = (x->transform[k] > y->transform[k]) - (x->transform[k] < y->transform[k]);
    order = order ? order : (x->checksum > y->checksum) - (x->checksum < y->checksum);
    return order ? order : strcmp(x->path, y->path);
}

void sdm_stack_sort(SdmStack *s)
{
    qsort(s->layer, (size_t)s->count, sizeof *s->layer, by_content);
}

/* Number of a layer's sample at a column and row of samples of the whole grid, -1 outside the layer. */
static int64_t sample_index(const SdmLayer *l, int64_t col, int64_t row)
{
    if (col < l->sample_col0 || col >= l->sample_col0 + l->sample_cols)
        return -1;
    return (row - l->sample_row0) * l->sample_cols + col - l->sample_col0;
}

/* Residuals of one row of samples, numbered over the whole grid.  here, value: room for an entry of each
 * layer. */
static void residual_row(SdmStack *s, int64_t row, int *here, float *value)
{
    int n = 0;
    int64_t first = INT64_MAX, last = -1;
    const int64_t step = s->sample_step;
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const l = &s->layer[i];
        if (row < l->sample_row0 || row >= l->sample_row0 + l->sample_rows)
            continue;
        here[n++] = i;
        first = l->sample_col0 < first ? l->sample_col0 : first;
        last = l->sample_col0 + l->sample_cols > last ? l->sample_col0 + l->sample_cols : last;
    }
    for (int64_t col = first; col < last; col++) {
        int heights = 0;
        for (int k = 0; k < n; k++) {
            SdmLayer *const l = &s->layer[here[k]];
            const int64_t at = sample_index(l, col, row);
            if (at < 0)
                continue;
            l->residual[at] = (float)((double)l->sample[at] - l->shift_m[2] -
                                      sdm_layer_bias(s, l, col * step + step / 2, row * step + step / 2));
            if (!isnan(l->residual[at]))
                value[heights++] = l->residual[at];
        }
        const float median = (float)sdm_median_f32(value, heights);
        for (int k = 0; k < n; k++) {
            SdmLayer *const l = &s->layer[here[k]];
            const int64_t at = sample_index(l, col, row);
            if (at < 0)
                continue;
            l->residual[at] = heights > 1 ? (float)((double)l->residual[at] - (double)median) : NAN;
            l->unstable[at] = heights > 2; /* may be an outlier: see mark_unstable() */
        }
    }
}

/* NMAD of a layer's residuals.  Outliers among three or more layers (cloud, change, blunder) are unstable. */
static SdmStatus mark_unstable(SdmStack *s, SdmLayer *l)
{
    SdmStatus st = SDM_OK;
    float *value = NULL;
    const int64_t n = l->sample_cols * l->sample_rows;
    TRY(sdm_alloc(s->ctx, &value, (size_t)n + 1, sizeof *value, "samples"));
    memcpy(value, l->residual, (size_t)n * sizeof *value);
    l->residual_count = sdm_drop_nan_f32(value, n);
    l->residual_nmad_m = l->residual_count ? sdm_nmad_f32(value, l->residual_count, NULL) : (double)NAN;
    const double limit_m = OUTLIER_NMADS * fmax(l->residual_nmad_m, MIN_NMAD_M);
    for (int64_t i = 0; i < n; i++)
        l->unstable[i] = l->unstable[i] && fabs((double)l->residual[i]) > limit_m;
done:
    sdm_free(&value);
    return st;
}

SdmStatus sdm_stack_residuals(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    int *here = NULL;
    float *value = NULL;
    int64_t rows = 0;
    const size_t room = (size_t)s->count * (size_t)s->threads;
    TRY(sdm_alloc(s->ctx, &here, room, sizeof *here, "samples"));
    TRY(sdm_alloc(s->ctx, &value, room, sizeof *value, "samples"));
    for (int i = 0; i < s->count; i++) {
        const int64_t end = s->layer[i].sample_row0 + s->layer[i].sample_rows;
        rows = end > rows ? end : rows;
    }
#pragma omp parallel for schedule(dynamic, 4) num_threads(s->threads)
    for (int64_t row = 0; row < rows; row++) {
        const size_t at = (size_t)sdm_thread() * (size_t)s->count;
        residual_row(s, row, here + at, value + at);
    }
    for (int i = 0; i < s->count; i++)
        TRY(mark_unstable(s, &s->layer[i]));
done:
    sdm_free(&value);
    sdm_free(&here);
    return st;
}
