/* Layers -> samples of them on every n-th cell of the grid: what they are tied by, and what gives them an
 * order. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "core/stats.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 40000, LEAST_SAMPLES = 1000 }; /* of a layer of usual size */
static const double MOST_DIFFERENCES = 2e9;

static int by_cells(const void *a, const void *b)
{
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Cells between samples, so that the work stays bounded for many and for large DEMs. */
static SdmStatus choose_step(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    int64_t *cells = NULL;
    double pairs = 1.0;
    TRY(sdm_alloc(s->ctx, &cells, (size_t)s->count, sizeof *cells, "sizes of the DEMs"));
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const a = &s->layer[i];
        cells[i] = a->cols * a->rows;
        for (int j = 0; j < i; j++) {
            const SdmLayer *const b = &s->layer[j];
            pairs += a->col0 < b->col0 + b->cols && b->col0 < a->col0 + a->cols &&
                     a->row0 < b->row0 + b->rows && b->row0 < a->row0 + a->rows;
        }
    }
    qsort(cells, (size_t)s->count, sizeof *cells, by_cells);
    const double want = fmin(fmax(MOST_DIFFERENCES / pairs, LEAST_SAMPLES), MOST_SAMPLES);
    const int64_t step = (int64_t)fmax(floor(sqrt((double)cells[s->count / 2] / want)), 1.0);
    s->tie_step = step > 1 ? 2 : 1; /* smooth errors are seen better with more */
    s->sample_step = (step + 1) / 2;
done:
    sdm_free(&cells);
    return st;
}

/* First sample at or after a cell; sample k is cell k step + step / 2. */
static int64_t sample_from(int64_t cell, int64_t step)
{
    return (cell - step / 2 + step - 1) / step;
}

static SdmStatus sample_layer(const SdmStack *s, SdmLayer *l)
{
    SdmStatus st = SDM_OK;
    uint8_t *filled = NULL;
    const int64_t step = s->sample_step;
    const bool first = !l->sample;
    l->sample_col0 = sample_from(l->col0, step);
    l->sample_row0 = sample_from(l->row0, step);
    l->sample_cols = sample_from(l->col0 + l->cols, step) - l->sample_col0;
    l->sample_rows = sample_from(l->row0 + l->rows, step) - l->sample_row0;
    l->sample_cols = l->sample_cols < 0 ? 0 : l->sample_cols;
    l->sample_rows = l->sample_rows < 0 ? 0 : l->sample_rows;
    const int64_t n = l->sample_cols * l->sample_rows;
    if (first) {
        TRY(sdm_alloc(s->ctx, &l->sample, (size_t)n + 1, sizeof *l->sample, "samples"));
        TRY(sdm_alloc(s->ctx, &l->rest, (size_t)n + 1, sizeof *l->rest, "samples"));
        TRY(sdm_alloc(s->ctx, &l->unstable, (size_t)n + 1, sizeof *l->unstable, "samples"));
    }
    if (n == 0)
        goto done;
    TRY(sdm_alloc(s->ctx, &filled, (size_t)n, 1, "samples"));
    TRY(sdm_layer_read(s, l,
                       (SdmWindow){.col0 = l->sample_col0 * step + step / 2,
                                   .row0 = l->sample_row0 * step + step / 2,
                                   .w = l->sample_cols,
                                   .h = l->sample_rows,
                                   .stride = step},
                       l->sample, filled));
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a over the heights' bits */
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &l->sample[i], sizeof bits);
        hash = (hash ^ (isnan(l->sample[i]) ? 1U : bits)) * UINT64_C(1099511628211);
        hash = (hash ^ filled[i]) * UINT64_C(1099511628211);
        l->sample[i] = filled[i] ? NAN : l->sample[i];
        l->unstable[i] = 0;
    }
    l->hash = first ? hash : l->hash;
done:
    sdm_free(&filled);
    return st;
}

/* Heights of the samples of one layer: from its geoid to the ellipsoid. */
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
    int bad = s->count, done_count = 0;
    SdmStatus why = SDM_OK;
    const bool again = s->sample_step > 0;
    if (!again)
        TRY(choose_step(s));
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int i = 0; i < s->count; i++) {
        bool go;
#pragma omp critical(sdm_stack)
        {
            go = !why;
            sdm_progress(s->ctx, 1, again ? 0.5 : 0.3 * (double)done_count++ / s->count, "sample the DEMs");
        }
        const SdmStatus one = go ? sample_layer(s, &s->layer[i]) : SDM_OK;
#pragma omp critical(sdm_stack)
        if (one && i < bad) {
            bad = i;
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
        order = (x->geo[k] > y->geo[k]) - (x->geo[k] < y->geo[k]);
    order = order ? order : (x->hash > y->hash) - (x->hash < y->hash);
    return order ? order : strcmp(x->path, y->path);
}

void sdm_stack_sort(SdmStack *s)
{
    qsort(s->layer, (size_t)s->count, sizeof *s->layer, by_content);
}

/* One row of samples, numbered over the whole grid; here, value: room for each layer. */
static void rest_row(SdmStack *s, int64_t row, int *here, float *value)
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
        int met = 0;
        for (int k = 0; k < n; k++) {
            SdmLayer *const l = &s->layer[here[k]];
            const int64_t at = (row - l->sample_row0) * l->sample_cols + col - l->sample_col0;
            if (col < l->sample_col0 || col >= l->sample_col0 + l->sample_cols)
                continue;
            l->rest[at] = (float)((double)l->sample[at] - l->shift_m[2] -
                                  sdm_layer_bias(s, l, col * step + step / 2, row * step + step / 2));
            if (!isnan(l->rest[at]))
                value[met++] = l->rest[at];
        }
        const float median = (float)sdm_median_f32(value, met);
        for (int k = 0; k < n; k++) {
            SdmLayer *const l = &s->layer[here[k]];
            const int64_t at = (row - l->sample_row0) * l->sample_cols + col - l->sample_col0;
            if (col < l->sample_col0 || col >= l->sample_col0 + l->sample_cols)
                continue;
            l->rest[at] = met > 1 ? (float)((double)l->rest[at] - (double)median) : NAN;
            l->unstable[at] = met > 2; /* may be; decided when the spread is known */
        }
    }
}

/* Spread of a layer about the others; samples beyond three times that are unstable: cloud, change, blunder.
 */
static SdmStatus judge_layer(SdmStack *s, SdmLayer *l)
{
    SdmStatus st = SDM_OK;
    float *value = NULL;
    const int64_t n = l->sample_cols * l->sample_rows;
    TRY(sdm_alloc(s->ctx, &value, (size_t)n + 1, sizeof *value, "samples"));
    memcpy(value, l->rest, (size_t)n * sizeof *value);
    l->rest_samples = sdm_drop_nan_f32(value, n);
    l->rest_nmad_m = l->rest_samples ? sdm_nmad_f32(value, l->rest_samples, NULL) : (double)NAN;
    const double limit_m = 3.0 * fmax(l->rest_nmad_m, 0.1);
    for (int64_t i = 0; i < n; i++)
        l->unstable[i] = l->unstable[i] && fabs((double)l->rest[i]) > limit_m;
done:
    sdm_free(&value);
    return st;
}

SdmStatus sdm_stack_rest(SdmStack *s)
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
        rest_row(s, row, here + at, value + at);
    }
    for (int i = 0; i < s->count; i++)
        TRY(judge_layer(s, &s->layer[i]));
done:
    sdm_free(&value);
    sdm_free(&here);
    return st;
}
