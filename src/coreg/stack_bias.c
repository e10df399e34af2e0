/* Residuals of the layers -> the smooth error of each (jitter, tilt), which brings it to the mean of all. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <string.h>

enum { MIN_STEP_SAMPLES = 6, MIN_STEP_CELLS = 16, MAX_STEP_SAMPLES = 16 }; /* between nodes */
enum { MIN_NODES = 20 /* of a layer, for its spread */, MIN_LAYERS = 3, ROUNDS = 3, WEIGHT_ROUNDS = 30 };
static const double MIN_RATIO =
    1.0 / 3.0;                   /* NMAD of the nodes / NMAD of the residuals: less is noise, and left in */
static const double HUBER = 2.5; /* times the median distance: a layer farther from the mean weighs less */
static const double OUTLIER_NMADS = 3.0; /* a node beyond is an error of another kind (cloud, change) */

/* Nodes of a layer, bias_rows x bias_cols. */
typedef struct LayerNodes {
    float
        *median_m; /* of the stable residuals around the node; NaN where there are too few, INFINITY where the
                      * layer has heights and no other layer has */
    double spread_m, limit_m, weight, distance_m; /* NMAD and outlier limit of median_m; weight of the layer
                                                   * in the mean, and RMS distance from it */
} LayerNodes;

/* Weighted sums over all layers at the nodes of the whole grid, rows x cols. */
typedef struct NodeSums {
    double *value, *weight;
    int *layers;
    int64_t cols, rows;
} NodeSums;

static int64_t node_count(const SdmLayer *l)
{
    return l->bias_cols * l->bias_rows;
}

/* The node k of a layer, counted over the whole grid. */
static int64_t grid_node(const NodeSums *sums, const SdmLayer *l, int64_t k)
{
    return (l->bias_row0 + k / l->bias_cols) * sums->cols + l->bias_col0 + k % l->bias_cols;
}

static SdmStatus nodes_open(SdmStack *s, LayerNodes **out)
{
    PASS(sdm_alloc(s->ctx, out, (size_t)s->count, sizeof **out, "smooth errors"));
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        l->bias_col0 = l->sample_col0 / s->bias_step;
        l->bias_row0 = l->sample_row0 / s->bias_step;
        l->bias_cols = (l->sample_col0 + l->sample_cols) / s->bias_step + 1 - l->bias_col0;
        l->bias_rows = (l->sample_row0 + l->sample_rows) / s->bias_step + 1 - l->bias_row0;
        const size_t n = (size_t)node_count(l);
        PASS(SDM_ALLOC(s->ctx, "smooth errors", SDM_ARRAY((*out)[i].median_m, n), SDM_ARRAY(l->bias_m, n)));
    }
    return SDM_OK;
}

static void nodes_close(const SdmStack *s, LayerNodes **nodes)
{
    for (int i = 0; *nodes && i < s->count; i++)
        sdm_free(&(*nodes)[i].median_m);
    sdm_free(nodes);
}

static SdmStatus sums_open(SdmStack *s, NodeSums *sums)
{
    const int64_t cells = s->bias_step * s->sample_step;
    sums->cols = s->grid.cols / cells + 2;
    sums->rows = s->grid.rows / cells + 2;
    const size_t n = (size_t)(sums->cols * sums->rows);
    return SDM_ALLOC(s->ctx, "smooth errors", SDM_ARRAY(sums->value, n), SDM_ARRAY(sums->weight, n),
                     SDM_ARRAY(sums->layers, n));
}

static void sums_close(NodeSums *sums)
{
    SDM_FREE(&sums->value, &sums->weight, &sums->layers);
}

/* Median of a layer's stable residuals around a node; see LayerNodes. */
static float node_median(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row)
{
    float value[MAX_STEP_SAMPLES * MAX_STEP_SAMPLES];
    const int64_t step = s->bias_step, c0 = (l->bias_col0 + col) * step - l->sample_col0,
                  r0 = (l->bias_row0 + row) * step - l->sample_row0;
    int64_t n = 0, without_others = 0;
    for (int64_t r = r0 < 0 ? 0 : r0; r < r0 + step && r < l->sample_rows; r++)
        for (int64_t c = c0 < 0 ? 0 : c0; c < c0 + step && c < l->sample_cols; c++) {
            const int64_t at = r * l->sample_cols + c;
            without_others += !isnan(l->sample[at]) && isnan(l->residual[at]);
            if (!isnan(l->residual[at]) && !l->unstable[at])
                value[n++] = l->residual[at];
        }
    if (4 * n >= step * step)
        return (float)sdm_median_f32(value, n);
    return without_others > n ? INFINITY : NAN;
}

/* NMAD of a layer's nodes -> spread_m; NaN for few. */
static SdmStatus find_spread(SdmStack *s, const SdmLayer *l, LayerNodes *v)
{
    SDM_OWNED float *value = NULL;
    int64_t n = 0;
    PASS(sdm_alloc(s->ctx, &value, (size_t)node_count(l) + 1, sizeof *value, "smooth errors"));
    for (int64_t k = 0; k < node_count(l); k++)
        if (isfinite(v->median_m[k]))
            value[n++] = v->median_m[k];
    v->spread_m = n < MIN_NODES ? (double)NAN : sdm_nmad_f32(value, n, NULL);
    return SDM_OK;
}

/* Spreads and outlier limits of the layers, from the nodes of the first round.  spare: count values.
 * *usual_m: median spread; *worth: the smooth errors are large enough to be taken out. */
static SdmStatus assess(SdmStack *s, LayerNodes *nodes, double *spare, double *usual_m, bool *worth)
{
    for (int i = 0; i < s->count; i++) {
        const double nmad_m = s->layer[i].residual_nmad_m;
        PASS(find_spread(s, &s->layer[i], &nodes[i]));
        spare[i] = nmad_m > 0.0 ? nodes[i].spread_m / nmad_m : (double)NAN;
    }
    *worth = sdm_median_f64(spare, sdm_drop_nan_f64(spare, s->count)) >= MIN_RATIO;
    for (int i = 0; i < s->count; i++)
        spare[i] = nodes[i].spread_m;
    *usual_m = sdm_median_f64(spare, sdm_drop_nan_f64(spare, s->count));
    for (int i = 0; i < s->count; i++) {
        nodes[i].weight = s->layer[i].weight;
        nodes[i].limit_m = OUTLIER_NMADS * fmax(nodes[i].spread_m, *usual_m);
        s->layer[i].bias_nmad_m = *worth ? nodes[i].spread_m : (double)NAN;
    }
    return SDM_OK;
}

static void add_layers(const SdmStack *s, const LayerNodes *nodes, NodeSums *sums)
{
    const size_t n = (size_t)(sums->cols * sums->rows);
    memset(sums->value, 0, n * sizeof *sums->value);
    memset(sums->weight, 0, n * sizeof *sums->weight);
    memset(sums->layers, 0, n * sizeof *sums->layers);
    for (int i = 0; i < s->count; i++)
        for (int64_t k = 0; k < node_count(&s->layer[i]); k++)
            if (isfinite(nodes[i].median_m[k])) {
                const int64_t at = grid_node(sums, &s->layer[i], k);
                sums->value[at] += nodes[i].weight * (double)nodes[i].median_m[k];
                sums->weight[at] += nodes[i].weight;
                sums->layers[at]++;
            }
}

/* RMS distance of a layer's nodes from the weighted means of all layers; NaN for few. */
static double distance_from_mean(const SdmLayer *l, const LayerNodes *v, const NodeSums *sums)
{
    double sum = 0.0;
    int64_t n = 0;
    for (int64_t k = 0; k < node_count(l); k++) {
        const int64_t at = grid_node(sums, l, k);
        if (!isfinite(v->median_m[k]) || sums->layers[at] < 2)
            continue;
        const double d = (double)v->median_m[k] - sums->value[at] / sums->weight[at];
        sum += d * d;
        n++;
    }
    return n < MIN_NODES ? (double)NAN : sqrt(sum / (double)n);
}

/* Weights of the layers: with the nodes of a layer as one point, the mean is the point of the least sum of
 * Huber's function of the distances to it, found by iterated weights; its scale is the median distance. */
static void find_weights(const SdmStack *s, LayerNodes *nodes, NodeSums *sums, double *spare)
{
    for (int round = 0; round < WEIGHT_ROUNDS; round++) {
        add_layers(s, nodes, sums);
        for (int i = 0; i < s->count; i++)
            spare[i] = nodes[i].distance_m = distance_from_mean(&s->layer[i], &nodes[i], sums);
        const double limit_m = HUBER * sdm_median_f64(spare, sdm_drop_nan_f64(spare, s->count));
        for (int i = 0; i < s->count; i++)
            nodes[i].weight =
                s->layer[i].weight * (nodes[i].distance_m > limit_m ? limit_m / nodes[i].distance_m : 1.0);
    }
}

/* Fill NaN with the mean of the neighbours that have a value, from the edges of the gaps inwards. */
static SdmStatus fill_gaps(SdmStack *s, float *value, int64_t cols, int64_t rows)
{
    SDM_OWNED float *next = NULL;
    int64_t open = cols * rows, before = open + 1;
    PASS(sdm_alloc(s->ctx, &next, (size_t)(cols * rows), sizeof *next, "smooth errors"));
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
        PASS(sdm_check_stop(s->ctx));
    }
    return SDM_OK;
}

/* Add to a layer's bias its nodes minus the means of all layers.  Overwrites the nodes. */
static SdmStatus add_bias(SdmStack *s, SdmLayer *l, LayerNodes *v, const NodeSums *sums)
{
    for (int64_t k = 0; k < node_count(l); k++) {
        const int64_t at = grid_node(sums, l, k);
        if (!isnan(v->median_m[k]))
            v->median_m[k] = sums->layers[at] < 2 || isinf(v->median_m[k])
                                 ? 0.0F
                                 : (float)((double)v->median_m[k] - sums->value[at] / sums->weight[at]);
    }
    PASS(fill_gaps(s, v->median_m, l->bias_cols, l->bias_rows));
    for (int64_t k = 0; k < node_count(l); k++)
        l->bias_m[k] += isnan(v->median_m[k]) ? 0.0F : v->median_m[k];
    return SDM_OK;
}

/* One round: outliers among the nodes are dropped, and the rest improves the bias of the layers. */
static SdmStatus improve(SdmStack *s, LayerNodes *nodes, NodeSums *sums, double *spare, bool first)
{
    for (int i = 0; i < s->count; i++)
        for (int64_t k = 0; k < node_count(&s->layer[i]); k++)
            if (isfinite(nodes[i].median_m[k]) && !(fabs((double)nodes[i].median_m[k]) <= nodes[i].limit_m))
                nodes[i].median_m[k] = NAN;
    if (first)
        find_weights(s, nodes, sums, spare);
    add_layers(s, nodes, sums);
    for (int i = 0; i < s->count; i++)
        PASS(add_bias(s, &s->layer[i], &nodes[i], sums));
    return SDM_OK;
}

SdmStatus sdm_stack_bias(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    LayerNodes *nodes = NULL;
    SDM_CLOSED_BY(sums_close) NodeSums sums = {0};
    SDM_OWNED double *spare = NULL;
    double usual_m = NAN;
    bool worth = true;
    s->bias_step = MIN_STEP_SAMPLES * s->sample_step < MIN_STEP_CELLS
                       ? (MIN_STEP_CELLS + s->sample_step - 1) / s->sample_step
                       : MIN_STEP_SAMPLES;
    if (s->count < MIN_LAYERS)
        return SDM_OK;
    TRY(nodes_open(s, &nodes));
    TRY(sums_open(s, &sums));
    TRY(sdm_alloc(s->ctx, &spare, (size_t)s->count, sizeof *spare, "smooth errors"));
    for (int round = 0; round < ROUNDS && worth; round++) {
        TRY(sdm_check_stop(s->ctx));
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
        for (int i = 0; i < s->count; i++)
            for (int64_t k = 0; k < node_count(&s->layer[i]); k++)
                nodes[i].median_m[k] =
                    node_median(s, &s->layer[i], k % s->layer[i].bias_cols, k / s->layer[i].bias_cols);
        if (round == 0)
            TRY(assess(s, nodes, spare, &usual_m, &worth));
        if (worth) {
            TRY(improve(s, nodes, &sums, spare, round == 0));
            TRY(sdm_stack_residuals(s));
        }
    }
    for (int i = 0; i < s->count && !worth; i++)
        sdm_free(&s->layer[i].bias_m);
    if (worth)
        sdm_log(s->ctx, SDM_LOG_INFO, 8,
                "smooth errors (jitter, tilt; NMAD %.2f m, median DEM) brought to the mean of the DEMs",
                usual_m);
done:
    nodes_close(s, &nodes);
    return st;
}
