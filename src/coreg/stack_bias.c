/* What is smooth in the differences of the layers (jitter, tilt) -> a field for each, which brings it to the
 * mean of all. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <string.h>

enum { LEAST_SAMPLES = 6, LEAST_CELLS = 16, MOST_EDGE = 16 }; /* of a node */
enum { LEAST_NODES = 20, LEAST_LAYERS = 3, ROUNDS = 3, WEIGHT_ROUNDS = 30 };
static const double LEAST_RATIO = 1.0 / 3.0; /* spread of the smooth part / NMAD, to be worth it */
static const double HUBER = 2.5;             /* times the median distance: weighs less */
static const double BEYOND = 3.0;            /* times a spread: not of this kind */

typedef struct Sums { /* of all layers, at the nodes of the whole grid */
    double *level, *weight;
    int *members;
    int64_t cols, rows;
} Sums;

double sdm_layer_bias(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row)
{
    if (!l->bias_m)
        return 0.0;
    const double cells = (double)(s->bias_step * s->sample_step),
                 first = 0.5 * (double)((s->bias_step - 1) * s->sample_step) + (double)(s->sample_step / 2);
    const double x = fmin(fmax(((double)col - first) / cells - (double)l->bias_col0, 0.0),
                          (double)(l->bias_cols - 1)),
                 y = fmin(fmax(((double)row - first) / cells - (double)l->bias_row0, 0.0),
                          (double)(l->bias_rows - 1));
    const int64_t i = (int64_t)x, j = (int64_t)y, right = i + 1 < l->bias_cols, down = j + 1 < l->bias_rows;
    const float *const at = l->bias_m + j * l->bias_cols + i, *const below = at + down * l->bias_cols;
    const double t = x - (double)i, u = y - (double)j;
    return (1.0 - u) * ((1.0 - t) * (double)at[0] + t * (double)at[right]) +
           u * ((1.0 - t) * (double)below[0] + t * (double)below[right]);
}

/* Level of a layer at a node: the median of its stable rests there.  NaN where there are too few; 0, and
 * `alone`, where it has heights and no other layer has. */
static float node_level(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row, bool *alone)
{
    float value[MOST_EDGE * MOST_EDGE];
    const int64_t edge = s->bias_step, c0 = (l->bias_col0 + col) * edge - l->sample_col0,
                  r0 = (l->bias_row0 + row) * edge - l->sample_row0;
    int64_t n = 0, lonely = 0;
    for (int64_t r = r0 < 0 ? 0 : r0; r < r0 + edge && r < l->sample_rows; r++)
        for (int64_t c = c0 < 0 ? 0 : c0; c < c0 + edge && c < l->sample_cols; c++) {
            const int64_t at = r * l->sample_cols + c;
            lonely += !isnan(l->sample[at]) && isnan(l->rest[at]);
            if (!isnan(l->rest[at]) && !l->unstable[at])
                value[n++] = l->rest[at];
        }
    *alone = 4 * n < edge * edge && lonely > n;
    return 4 * n < edge * edge ? (*alone ? 0.0F : NAN) : (float)sdm_median_f32(value, n);
}

/* Levels of all its nodes, NaN where there is none; alone: those that stay where they are. */
static void find_levels(const SdmStack *s, const SdmLayer *l, float *level, uint8_t *alone)
{
    for (int64_t k = 0; k < l->bias_cols * l->bias_rows; k++) {
        bool one;
        level[k] = node_level(s, l, k % l->bias_cols, k / l->bias_cols, &one);
        alone[k] = one;
    }
}

/* NMAD of the levels; NaN for few. */
static SdmStatus spread_of(SdmStack *s, const SdmLayer *l, const float *level, const uint8_t *alone,
                           double *spread_m)
{
    SdmStatus st = SDM_OK;
    float *value = NULL;
    int64_t n = 0;
    TRY(sdm_alloc(s->ctx, &value, (size_t)(l->bias_cols * l->bias_rows) + 1, sizeof *value, "levels"));
    for (int64_t k = 0; k < l->bias_cols * l->bias_rows; k++)
        if (!isnan(level[k]) && !alone[k])
            value[n++] = level[k];
    *spread_m = n < LEAST_NODES ? (double)NAN : sdm_nmad_f32(value, n, NULL);
done:
    sdm_free(&value);
    return st;
}

static double median_of(double *value, int count, const double *from, const double *below)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(from[i]) && (!below || below[i] > 0.0))
            value[n++] = from[i] / (below ? below[i] : 1.0);
    return sdm_median_f64(value, n);
}

static SdmStatus sums_open(SdmStack *s, Sums *sums)
{
    SdmStatus st = SDM_OK;
    const int64_t cells = s->bias_step * s->sample_step;
    sums->cols = s->grid.cols / cells + 2;
    sums->rows = s->grid.rows / cells + 2;
    const size_t n = (size_t)(sums->cols * sums->rows);
    TRY(sdm_alloc(s->ctx, &sums->level, n, sizeof(double), "levels"));
    TRY(sdm_alloc(s->ctx, &sums->weight, n, sizeof(double), "levels"));
    TRY(sdm_alloc(s->ctx, &sums->members, n, sizeof(int), "levels"));
done:
    return st;
}

static void sums_close(Sums *sums)
{
    sdm_free(&sums->level);
    sdm_free(&sums->weight);
    sdm_free(&sums->members);
}

static int64_t place(const Sums *sums, const SdmLayer *l, int64_t k)
{
    return (l->bias_row0 + k / l->bias_cols) * sums->cols + l->bias_col0 + k % l->bias_cols;
}

static void add_layer(const SdmLayer *l, const float *level, const uint8_t *alone, double weight, Sums *sums)
{
    for (int64_t k = 0; k < l->bias_cols * l->bias_rows; k++)
        if (!isnan(level[k]) && !alone[k]) {
            const int64_t at = place(sums, l, k);
            sums->level[at] += weight * (double)level[k];
            sums->weight[at] += weight;
            sums->members[at]++;
        }
}

/* Nodes without a value take the mean of their neighbours that have one, from the edges inwards. */
static SdmStatus fill_gaps(SdmStack *s, float *value, int64_t cols, int64_t rows)
{
    SdmStatus st = SDM_OK;
    float *next = NULL;
    int64_t open = cols * rows, before = open + 1;
    TRY(sdm_alloc(s->ctx, &next, (size_t)(cols * rows), sizeof *next, "levels"));
    while (open > 0 && open < before) {
        before = open;
        open = 0;
        for (int64_t k = 0; k < cols * rows; k++) {
            double sum = 0.0;
            int n = 0;
            next[k] = value[k];
            if (!isnan(value[k]))
                continue;
            for (int64_t r = k / cols - 1; r <= k / cols + 1; r++)
                for (int64_t c = k % cols - 1; c <= k % cols + 1; c++)
                    if (r >= 0 && c >= 0 && r < rows && c < cols && !isnan(value[r * cols + c])) {
                        sum += (double)value[r * cols + c];
                        n++;
                    }
            next[k] = n ? (float)(sum / n) : NAN;
            open += n == 0;
        }
        memcpy(value, next, (size_t)(cols * rows) * sizeof *value);
        TRY(sdm_check_stop(s->ctx));
    }
done:
    sdm_free(&next);
    return st;
}

/* Levels minus the mean of all there are added to the layer's field. */
static SdmStatus add_field(SdmStack *s, SdmLayer *l, float *level, const uint8_t *alone, const Sums *sums)
{
    SdmStatus st = SDM_OK;
    const int64_t n = l->bias_cols * l->bias_rows;
    for (int64_t k = 0; k < n; k++) {
        const int64_t at = place(sums, l, k);
        if (!isnan(level[k]) && !alone[k])
            level[k] = sums->members[at] < 2
                           ? 0.0F
                           : (float)((double)level[k] - sums->level[at] / sums->weight[at]);
    }
    TRY(fill_gaps(s, level, l->bias_cols, l->bias_rows));
    for (int64_t k = 0; k < n; k++)
        l->bias_m[k] += isnan(level[k]) ? 0.0F : level[k];
done:
    return st;
}

typedef struct Levels {
    float **level;   /* of each layer: rows x cols of its nodes */
    uint8_t **alone; /* as level */
    double *spread_m, *limit_m, *weight, *nmad_m, *spare; /* of each layer */
} Levels;

static SdmStatus levels_open(SdmStack *s, Levels *v)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)s->count;
    TRY(sdm_alloc(s->ctx, &v->level, n, sizeof *v->level, "levels"));
    TRY(sdm_alloc(s->ctx, &v->alone, n, sizeof *v->alone, "levels"));
    TRY(sdm_alloc(s->ctx, &v->spread_m, n, sizeof(double), "levels"));
    TRY(sdm_alloc(s->ctx, &v->limit_m, n, sizeof(double), "levels"));
    TRY(sdm_alloc(s->ctx, &v->weight, n, sizeof(double), "levels"));
    TRY(sdm_alloc(s->ctx, &v->nmad_m, n, sizeof(double), "levels"));
    TRY(sdm_alloc(s->ctx, &v->spare, n, sizeof(double), "levels"));
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        l->bias_col0 = l->sample_col0 / s->bias_step;
        l->bias_row0 = l->sample_row0 / s->bias_step;
        l->bias_cols = (l->sample_col0 + l->sample_cols) / s->bias_step + 1 - l->bias_col0;
        l->bias_rows = (l->sample_row0 + l->sample_rows) / s->bias_step + 1 - l->bias_row0;
        const size_t nodes = (size_t)(l->bias_cols * l->bias_rows);
        TRY(sdm_alloc(s->ctx, &v->level[i], nodes, sizeof(float), "levels"));
        TRY(sdm_alloc(s->ctx, &v->alone[i], nodes, 1, "levels"));
        TRY(sdm_alloc(s->ctx, &l->bias_m, nodes, sizeof *l->bias_m, "smooth errors"));
    }
done:
    return st;
}

static void levels_close(const SdmStack *s, Levels *v)
{
    for (int i = 0; i < s->count; i++) {
        if (v->level)
            sdm_free(&v->level[i]);
        if (v->alone)
            sdm_free(&v->alone[i]);
    }
    double **const all[] = {&v->spread_m, &v->limit_m, &v->weight, &v->nmad_m, &v->spare};
    for (int i = 0; i < 5; i++)
        sdm_free(all[i]);
    sdm_free(&v->level);
    sdm_free(&v->alone);
}

/* Spreads and weights from the levels of the first round; *worth: the smooth part is a good part of the
 * whole. */
static SdmStatus judge(SdmStack *s, Levels *v, bool *worth)
{
    SdmStatus st = SDM_OK;
    for (int i = 0; i < s->count; i++) {
        v->nmad_m[i] = s->layer[i].rest_nmad_m;
        TRY(spread_of(s, &s->layer[i], v->level[i], v->alone[i], &v->spread_m[i]));
    }
    *worth = median_of(v->spare, s->count, v->spread_m, v->nmad_m) >= LEAST_RATIO;
    const double usual_m = median_of(v->spare, s->count, v->spread_m, NULL);
    for (int i = 0; i < s->count; i++) {
        v->weight[i] = 1.0;
        v->limit_m[i] = BEYOND * fmax(v->spread_m[i], usual_m);
        s->layer[i].found.smooth_m = *worth ? v->spread_m[i] : (double)NAN;
    }
done:
    return st;
}

static void add_layers(SdmStack *s, const Levels *v, Sums *sums)
{
    const size_t n = (size_t)(sums->cols * sums->rows);
    memset(sums->level, 0, n * sizeof *sums->level);
    memset(sums->weight, 0, n * sizeof *sums->weight);
    memset(sums->members, 0, n * sizeof *sums->members);
    for (int i = 0; i < s->count; i++)
        add_layer(&s->layer[i], v->level[i], v->alone[i], v->weight[i], sums);
}

/* Root mean square of a layer's levels minus the means there; NaN for few. */
static double distance_of(const SdmLayer *l, const float *level, const uint8_t *alone, const Sums *sums)
{
    double sum = 0.0;
    int64_t n = 0;
    for (int64_t k = 0; k < l->bias_cols * l->bias_rows; k++) {
        const int64_t at = place(sums, l, k);
        if (isnan(level[k]) || alone[k] || sums->members[at] < 2)
            continue;
        const double d = (double)level[k] - sums->level[at] / sums->weight[at];
        sum += d * d;
        n++;
    }
    return n < LEAST_NODES ? (double)NAN : sqrt(sum / (double)n);
}

/* Weights of the layers: each layer's levels are one point, and the mean is the point of the least sum of
 * Huber's function of the distances to it, by iterated weights; its scale is the median distance. */
static void find_weights(SdmStack *s, Levels *v, Sums *sums)
{
    double *const distance_m = v->nmad_m; /* served its purpose */
    for (int round = 0; round < WEIGHT_ROUNDS; round++) {
        add_layers(s, v, sums);
        for (int i = 0; i < s->count; i++)
            distance_m[i] = distance_of(&s->layer[i], v->level[i], v->alone[i], sums);
        const double limit_m = HUBER * median_of(v->spare, s->count, distance_m, NULL);
        for (int i = 0; i < s->count; i++)
            v->weight[i] = distance_m[i] > limit_m ? limit_m / distance_m[i] : 1.0;
    }
}

/* One round: fields from the levels that are there. */
static SdmStatus improve(SdmStack *s, Levels *v, Sums *sums, bool first)
{
    SdmStatus st = SDM_OK;
    for (int i = 0; i < s->count; i++)
        for (int64_t k = 0; k < s->layer[i].bias_cols * s->layer[i].bias_rows; k++)
            if (!(fabs((double)v->level[i][k]) <= v->limit_m[i]) && !v->alone[i][k])
                v->level[i][k] = NAN;
    if (first)
        find_weights(s, v, sums);
    add_layers(s, v, sums);
    for (int i = 0; i < s->count; i++)
        TRY(add_field(s, &s->layer[i], v->level[i], v->alone[i], sums));
done:
    return st;
}

SdmStatus sdm_stack_bias(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    Levels v = {0};
    Sums sums = {0};
    bool worth = true;
    s->bias_step = LEAST_SAMPLES * s->sample_step < LEAST_CELLS
                       ? (LEAST_CELLS + s->sample_step - 1) / s->sample_step
                       : LEAST_SAMPLES;
    if (s->count < LEAST_LAYERS)
        return SDM_OK;
    TRY(levels_open(s, &v));
    TRY(sums_open(s, &sums));
    for (int round = 0; round < ROUNDS && worth; round++) {
        TRY(sdm_check_stop(s->ctx));
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
        for (int i = 0; i < s->count; i++)
            find_levels(s, &s->layer[i], v.level[i], v.alone[i]);
        if (round == 0)
            TRY(judge(s, &v, &worth));
        if (worth) {
            TRY(improve(s, &v, &sums, round == 0));
            TRY(sdm_stack_rest(s));
        }
    }
    for (int i = 0; i < s->count && !worth; i++)
        sdm_free(&s->layer[i].bias_m);
    if (worth)
        sdm_log(s->ctx, SDM_LOG_INFO, 8,
                "smooth errors (jitter, tilt; NMAD %.2f m, median DEM) brought to the mean of the DEMs",
                median_of(v.spare, s->count, v.spread_m, NULL));
done:
    sums_close(&sums);
    levels_close(s, &v);
    return st;
}
