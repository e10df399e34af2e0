/* Observations of pairs -> the shift of each layer, from all pairs at once. */
// SPDX-License-Identifier: Apache-2.0
#include "core/dense.h"
#include "core/disjoint_sets.h"
#include "core/stats.h"
#include "coreg/coreg.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- adjustment: iteratively reweighted least squares, solved by conjugate gradients ---- */

enum { WEIGHT_ROUNDS = 60 };
static const double HUBER = 1.345;

typedef struct Work {
    double *step, *residual, *scaled, *product, *diagonal; /* n each */
    double *weight, *size;                                 /* of each observation */
} Work;

/* Weighted least squares with the weights of w: x solves the normal equations, by conjugate gradients
 * (preconditioned by the diagonal) from the x of the last round.  The equations are singular, since only
 * differences count, but consistent.  The network is sparse, and the matrix is never formed. */
static void solve(int n, const SdmObservation *o, int count, const Work *w, double *x)
{
    for (int i = 0; i < n; i++)
        w->residual[i] = w->diagonal[i] = w->step[i] = 0.0;
    double sum_squares = 0.0, before = 0.0; /* of the observations, weighted */
    for (int k = 0; k < count; k++) {
        const int a = o[k].a, b = o[k].b;
        const double r = w->weight[k] * (o[k].value - (x[a] - x[b]));
        sum_squares += w->weight[k] * o[k].value * o[k].value;
        w->residual[a] += r;
        w->residual[b] -= r;
        w->diagonal[a] += w->weight[k];
        w->diagonal[b] += w->weight[k];
    }
    for (int round = 0; round < 4 * n + 20; round++) {
        for (int i = 0; i < n; i++)
            w->scaled[i] = w->diagonal[i] > 0.0 ? w->residual[i] / w->diagonal[i] : 0.0;
        const double now = sdm_dot(n, w->residual, w->scaled);
        if (!(now > 1e-20 * sum_squares))
            return;
        for (int i = 0; i < n; i++) {
            w->step[i] = w->scaled[i] + (round ? now / before : 0.0) * w->step[i];
            w->product[i] = 0.0;
        }
        for (int k = 0; k < count; k++) {
            const double r = w->weight[k] * (w->step[o[k].a] - w->step[o[k].b]);
            w->product[o[k].a] += r;
            w->product[o[k].b] -= r;
        }
        const double length = now / sdm_dot(n, w->step, w->product);
        for (int i = 0; i < n; i++) {
            x[i] += length * w->step[i];
            w->residual[i] -= length * w->product[i];
        }
        before = now;
    }
}

/* Huber's weights for the next round; false when another round would change nothing: no residuals, no
 * redundancy. */
static bool update_weights(const SdmObservation *o, int count, const double *x, Work *w)
{
    for (int k = 0; k < count; k++)
        w->weight[k] = w->size[k] = fabs(x[o[k].a] - x[o[k].b] - o[k].value) * sqrt(o[k].weight);
    const double limit = HUBER * 1.4826 * sdm_median_f64(w->size, count);
    for (int k = 0; k < count; k++)
        w->weight[k] = o[k].weight * (w->weight[k] > limit && limit > 0.0 ? limit / w->weight[k] : 1.0);
    return limit > 1e-9;
}

/* Connected groups of nodes -> group.  @return how many */
static int find_groups(int n, const SdmObservation *o, int count, int *group)
{
    int groups = 0;
    for (int i = 0; i < n; i++)
        group[i] = i;
    for (int k = 0; k < count; k++)
        sdm_sets_join(group, o[k].a, o[k].b);
    for (int i = 0; i < n; i++)
        group[i] = sdm_sets_root(group, i); /* the smallest node of its group */
    for (int i = 0; i < n; i++)
        group[i] = group[i] == i ? -(++groups) : group[group[i]];
    for (int i = 0; i < n; i++)
        group[i] = -group[i] - 1;
    return groups;
}

/* Subtract the median of each group.  spare: room for n values. */
static void centre(int n, const int *group, int groups, double *spare, double *x)
{
    for (int g = 0; g < groups; g++) {
        int members = 0;
        for (int i = 0; i < n; i++)
            if (group[i] == g)
                spare[members++] = x[i];
        const double median = sdm_median_f64(spare, members);
        for (int i = 0; i < n; i++)
            if (group[i] == g)
                x[i] -= median;
    }
}

SdmStatus sdm_adjust_network(SdmContext *ctx, int n, const SdmObservation *observations, int count, double *x,
                             int *group, int *groups)
{
    SDM_OWNED double *room = NULL;
    PASS(sdm_alloc(ctx, &room, 5 * (size_t)n + 2 * (size_t)count + 1, sizeof *room, "adjustment"));
    Work w = {room, room + n, room + 2 * n, room + 3 * n, room + 4 * n, room + 5 * n, room + 5 * n + count};
    for (int i = 0; i < n; i++)
        x[i] = 0.0;
    for (int k = 0; k < count; k++)
        w.weight[k] = observations[k].weight;
    for (int round = 0; round < WEIGHT_ROUNDS && count > 0; round++) {
        solve(n, observations, count, &w, x);
        if (!update_weights(observations, count, x, &w))
            break;
        PASS(sdm_check_stop(ctx));
    }
    const int found = find_groups(n, observations, count, group);
    centre(n, group, found, w.step, x);
    if (groups)
        *groups = found;
    return SDM_OK;
}

/* ---- observations of pairs ---- */

enum {
    MAX_PARTNERS = 4, /* pairs of a layer that are co-registered, besides those that connect a group */
    MAX_EDGE = 1200,  /* cells of the window that is co-registered */
    MIN_COMMON = 400  /* common cells in it */
};
static const double MAX_SHIFT_CELLS =
    20.0; /* a larger shift means that the co-registration did not converge */
static const double MIN_VARIANCE_M2 = 0.01; /* added to NMAD^2 in weights */

static double weight_of(int64_t n, double nmad_m)
{
    return (double)n / (nmad_m * nmad_m + MIN_VARIANCE_M2);
}

/* The common part of two rectangles (column, row, columns, rows): first column and row, last + 1; false:
 * there is none. */
static bool find_common(const int64_t a[4], const int64_t b[4], int64_t box[4])
{
    for (int k = 0; k < 2; k++) {
        const int64_t end_a = a[k] + a[k + 2], end_b = b[k] + b[k + 2];
        box[k] = a[k] > b[k] ? a[k] : b[k];
        box[k + 2] = end_a < end_b ? end_a : end_b;
    }
    return box[0] < box[2] && box[1] < box[3];
}

/* Samples, counted over the grid, that two layers may share. */
static bool common_samples(const SdmLayer *a, const SdmLayer *b, int64_t box[4])
{
    return find_common((int64_t[]){a->sample_col0, a->sample_row0, a->sample_cols, a->sample_rows},
                       (int64_t[]){b->sample_col0, b->sample_row0, b->sample_cols, b->sample_rows}, box);
}

/* Differences of a pair at its stable samples, or at all.  @return how many */
static int64_t take_differences(const SdmStack *s, const SdmObservation *o, bool all, float *difference)
{
    const SdmLayer *const a = &s->layer[o->a], *const b = &s->layer[o->b];
    int64_t box[4], n = 0;
    common_samples(a, b, box);
    for (int64_t row = box[1]; row < box[3]; row++)
        for (int64_t col = box[0]; col < box[2]; col++) {
            if (row % s->pair_step || col % s->pair_step)
                continue;
            const int64_t i = (row - a->sample_row0) * a->sample_cols + col - a->sample_col0;
            const int64_t j = (row - b->sample_row0) * b->sample_cols + col - b->sample_col0;
            const float d = (float)((double)a->sample[i] - (double)b->sample[j]);
            if (!isnan(d) && (all || (!a->unstable[i] && !b->unstable[j])))
                difference[n++] = d;
        }
    return n;
}

/* Median difference of a pair over its stable samples; o->samples = 0 when there are too few. */
static void measure_height(const SdmStack *s, SdmObservation *o, float *difference)
{
    double median;
    const int64_t all = s->opt->fusion ? take_differences(s, o, true, difference) : 0;
    o->spread = all ? sdm_nmad_f32(difference, all, &median) : (double)NAN;
    const int64_t n = take_differences(s, o, false, difference);
    o->samples = n < SDM_STACK_MIN_SAMPLES ? 0 : n;
    if (o->samples == 0)
        return;
    o->nmad = sdm_nmad_f32(difference, n, &o->value);
    o->weight = weight_of(n, o->nmad);
}

/* Median height difference of every pair that shares enough stable samples; *out is freed by the caller. */
static SdmStatus height_differences(SdmStack *s, SdmObservation **out, int *count)
{
    SDM_OWNED float *difference = NULL;
    int64_t box[4], pairs = 0, longest = 1;
    *out = NULL;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) { /* first count, then list */
        if (pass)
            PASS(sdm_alloc(s->ctx, out, (size_t)pairs + 1, sizeof **out, "pairs of DEMs"));
        pairs = 0;
        for (int a = 0; a < s->count; a++)
            for (int b = a + 1; b < s->count; b++)
                if (common_samples(&s->layer[a], &s->layer[b], box)) {
                    const int64_t n = (box[2] - box[0]) * (box[3] - box[1]);
                    longest = n > longest ? n : longest;
                    if (pass)
                        (*out)[pairs] = (SdmObservation){.a = a, .b = b};
                    pairs++;
                }
    }
    PASS(sdm_alloc(s->ctx, &difference, (size_t)longest * (size_t)s->threads, sizeof *difference,
                   "differences"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int64_t k = 0; k < pairs; k++)
        measure_height(s, &(*out)[k], difference + (int64_t)sdm_thread() * longest);
    for (int64_t k = 0; k < pairs; k++)
        if ((*out)[k].samples)
            (*out)[(*count)++] = (*out)[k];
    return SDM_OK;
}

/* Most samples first. */
static int by_samples(const void *a, const void *b)
{
    const SdmObservation *const x = a, *const y = b;
    int order = (x->samples < y->samples) - (x->samples > y->samples);
    order = order ? order : (x->a > y->a) - (x->a < y->a);
    return order ? order : (x->b > y->b) - (x->b < y->b);
}

/* Keep the pairs of largest overlap: of each layer the first few, and those that connect a group. */
static SdmStatus choose_pairs(SdmStack *s, SdmObservation *pair, int *count)
{
    SDM_OWNED int *parent = NULL, *partners = NULL;
    int kept = 0;
    PASS(SDM_ALLOC(s->ctx, "pairs", SDM_ARRAY(parent, (size_t)s->count),
                   SDM_ARRAY(partners, (size_t)s->count)));
    for (int i = 0; i < s->count; i++)
        parent[i] = i;
    qsort(pair, (size_t)*count, sizeof *pair, by_samples);
    for (int k = 0; k < *count; k++) {
        const SdmObservation p = pair[k];
        if (sdm_sets_root(parent, p.a) == sdm_sets_root(parent, p.b) && partners[p.a] >= MAX_PARTNERS &&
            partners[p.b] >= MAX_PARTNERS)
            continue;
        sdm_sets_join(parent, p.a, p.b);
        partners[p.a]++;
        partners[p.b]++;
        pair[kept++] = p;
    }
    *count = kept;
    return SDM_OK;
}

/* Window of cells around the mean position of the samples that both layers have. */
static SdmCellWindow common_window(const SdmStack *s, const SdmLayer *a, const SdmLayer *b)
{
    int64_t n = 0, sum[2] = {0, 0}, box[4], start[2], size[2];
    find_common((int64_t[]){a->col0, a->row0, a->cols, a->rows},
                (int64_t[]){b->col0, b->row0, b->cols, b->rows}, box);
    for (int64_t i = 0; i < a->sample_cols * a->sample_rows; i++) {
        const int64_t col = a->sample_col0 + i % a->sample_cols, row = a->sample_row0 + i / a->sample_cols;
        const int64_t at = sdm_layer_sample_at(b, col, row);
        if (isnan(a->sample[i]) || at < 0 || isnan(b->sample[at]))
            continue;
        sum[0] += col;
        sum[1] += row;
        n++;
    }
    for (int k = 0; k < 2; k++) { /* centred there, as far as what they share allows */
        size[k] = box[k + 2] - box[k] < MAX_EDGE ? box[k + 2] - box[k] : MAX_EDGE;
        start[k] = (n ? sum[k] / n * s->sample_step : box[k]) - size[k] / 2;
        start[k] = start[k] > box[k + 2] - size[k] ? box[k + 2] - size[k] : start[k];
        start[k] = start[k] < box[k] ? box[k] : start[k];
    }
    return (SdmCellWindow){.col0 = start[0], .row0 = start[1], .w = size[0], .h = size[1], .stride = 1};
}

/* Heights of a layer over the window, without filled ones. */
static SdmStatus read_measured(const SdmStack *s, const SdmLayer *l, SdmCellWindow w, float *height_m)
{
    SDM_OWNED uint8_t *filled = NULL;
    PASS(sdm_alloc(s->ctx, &filled, (size_t)(w.w * w.h), 1, "mask"));
    const SdmLocale own = sdm_thread_begin(s->ctx);
    const SdmStatus st = sdm_layer_read(s, l, w, height_m, filled);
    sdm_thread_end(own);
    for (int64_t i = 0; !st && i < w.w * w.h; i++)
        height_m[i] = filled[i] ? NAN : height_m[i];
    return st;
}

/* Both layers of a pair over the window -> g, whose arrays are allocated. */
static SdmStatus load_pair(const SdmStack *s, const SdmObservation *o, SdmCellWindow w, SdmCoregGrid *g)
{
    SdmStatus one = SDM_OK, other = SDM_OK;
    *g = (SdmCoregGrid){.cols = w.w, .rows = w.h, .dx_m = s->dx_m, .dy_m = s->dy_m, .threads = s->threads};
    PASS(sdm_coreg_open(s->ctx, g));
#pragma omp parallel sections num_threads(s->threads > 1 ? 2 : 1)
    {
#pragma omp section
        one = read_measured(s, &s->layer[o->a], w, g->dem_m);
#pragma omp section
        other = read_measured(s, &s->layer[o->b], w, g->reference_m);
    }
    PASS(one);
    PASS(other);
    memset(g->mask, SDM_COREG_STABLE, (size_t)(w.w * w.h));
    return SDM_OK;
}

/* The orthoimage of a layer over the window, without what lies near a step of the heights: of it each view
 * shows another side. */
static SdmStatus read_texture(const SdmStack *s, const SdmLayer *l, SdmCellWindow w, float **out)
{
    enum { NEAR = 2 }; /* cells */
    SDM_OWNED float *height_m = NULL;
    const SdmBlock block = {.col0 = w.col0, .row0 = w.row0, .w = w.w, .h = w.h};
    const float step_m = (float)(2.0 * s->dy_m);
    PASS(sdm_alloc(s->ctx, &height_m, (size_t)(w.w * w.h), sizeof *height_m, "heights"));
    PASS(read_measured(s, l, w, height_m));
    PASS(sdm_fused_read_ortho(s, l, &block, out));
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < w.w * w.h; i++) {
        const int64_t col = i % w.w, row = i / w.w;
        bool plain = !isnan(height_m[i]);
        for (int64_t r = row - NEAR; r <= row + NEAR && plain; r++)
            for (int64_t c = col - NEAR; c <= col + NEAR && plain; c++)
                plain = r < 0 || c < 0 || r >= w.h || c >= w.w ||
                        !(fabsf(height_m[r * w.w + c] - height_m[i]) > step_m);
        (*out)[i] = plain ? (*out)[i] : NAN;
    }
    return SDM_OK;
}

/* The same, of a layer that is no larger than a window from what was read for its first pair. */
static SdmStatus cut_texture(const SdmStack *s, SdmLayer *l, SdmCellWindow w, float **out)
{
    const SdmCellWindow all = {
        .col0 = l->col0, .row0 = l->row0, .w = l->cols, .h = l->rows, .stride = w.stride};
    if (all.w > MAX_EDGE || all.h > MAX_EDGE)
        return read_texture(s, l, w, out);
    if (!l->texture)
        PASS(read_texture(s, l, all, &l->texture));
    PASS(sdm_alloc_raw(s->ctx, out, (size_t)(w.w * w.h), sizeof **out, "orthoimage"));
    for (int64_t r = 0; r < w.h; r++)
        memcpy(*out + r * w.w, l->texture + (w.row0 - all.row0 + r) * all.w + w.col0 - all.col0,
               (size_t)w.w * sizeof **out);
    return SDM_OK;
}

/* The same from the orthoimages of a fusion, whose texture tells more than flat roofs and walls do.  *known:
 * it is. */
static SdmStatus measure_texture(const SdmStack *s, SdmObservation *o, double *east_m, double *north_m,
                                 bool *known)
{
    SdmLayer *const a = &s->layer[o->a], *const b = &s->layer[o->b];
    const SdmCellWindow w = common_window(s, a, b);
    SDM_OWNED float *of_a = NULL, *of_b = NULL;
    SdmOrthoShift found;
    PASS(cut_texture(s, a, w, &of_a));
    PASS(cut_texture(s, b, w, &of_b));
    PASS(sdm_ortho_shift(s->ctx, of_a, of_b, w.w, w.h, &found));
    *known = found.patches > 0;
    o->samples = found.patches;
    o->weight = weight_of(found.patches, found.nmad * s->dx_m);
    *east_m = found.cells[0] * s->dx_m;
    *north_m = -found.cells[1] * s->dy_m;
    sdm_log(s->ctx, SDM_LOG_VERBOSE, 8,
            "%s to %s by their orthoimages: %.2f %.2f m east and north, NMAD %.2f cells, %lld patches%s",
            a->path, b->path, *east_m, *north_m, found.nmad, (long long)found.patches,
            *known ? "" : ", not used");
    return SDM_OK;
}

/* Co-register a pair: the offset of a from b is the move that lays a on b, turned round.  o->samples = 0
 * where it cannot be determined. */
static SdmStatus measure_shift(const SdmStack *s, SdmObservation *o, double *east_m, double *north_m)
{
    SDM_CLOSED_BY(sdm_coreg_close) SdmCoregGrid g = {0};
    SdmShift found;
    SdmErrorStats residual;
    PASS(load_pair(s, o, common_window(s, &s->layer[o->a], &s->layer[o->b]), &g));
    o->samples = 0;
    if (sdm_coreg_mark(&g, NULL) < MIN_COMMON)
        return SDM_OK;
    PASS(sdm_coreg_shift(s->ctx, &g, true, &found, &residual));
    const SdmShift *const move = &found;
    const bool far = !(hypot(move->move_m[0], move->move_m[1]) < MAX_SHIFT_CELLS * s->dx_m);
    const char *const why = move->undetermined ? "the ground is flat or a plane"
                            : far              ? "too far"
                                               : sdm_shift_verdict_text(move->verdict);
    sdm_log(s->ctx, SDM_LOG_VERBOSE, 8, "%s to %s: east %.2f north %.2f up %.2f m, NMAD %.2f m%s%s",
            s->layer[o->a].path, s->layer[o->b].path, move->move_m[0], move->move_m[1], move->move_m[2],
            residual.nmad_m, *why ? ", not used: " : "", why);
    if (move->undetermined || far || move->verdict)
        return SDM_OK;
    o->samples = residual.count;
    o->weight = weight_of(o->samples, residual.nmad_m);
    *east_m = -move->move_m[0];
    *north_m = -move->move_m[1];
    return SDM_OK;
}

/* Horizontal shifts (east, north) of pairs by co-registration, of the pairs that overlap most.  *east and
 * *north hold the same pairs and are freed by the caller. */
static SdmStatus horizontal_shifts(SdmStack *s, SdmObservation **east, SdmObservation **north, int *count)
{
    int pairs = 0;
    *east = *north = NULL;
    *count = 0;
    PASS(height_differences(s, east, &pairs));
    PASS(choose_pairs(s, *east, &pairs));
    PASS(sdm_alloc(s->ctx, north, (size_t)pairs + 1, sizeof **north, "pairs of DEMs"));
    for (int k = 0; k < pairs; k++) {
        SdmObservation o = (*east)[k];
        double east_m = 0.0, north_m = 0.0;
        sdm_progress(s->ctx, 8, 0.3 + 0.2 * (double)k / pairs, "co-register pairs");
        bool known = false;
        if (s->opt->fusion)
            PASS(measure_texture(s, &o, &east_m, &north_m, &known));
        if (!known)
            PASS(measure_shift(s, &o, &east_m, &north_m));
        if (!o.samples)
            continue;
        (*east)[*count] = (*north)[*count] = o;
        (*east)[*count].value = east_m;
        (*north)[(*count)++].value = north_m;
    }
    for (int i = 0; i < s->count; i++)
        sdm_free(&s->layer[i].texture);
    return SDM_OK;
}

enum { HEIGHT_ROUNDS = 3 }; /* unstable samples are found again in each */

/* Shifts east and north, then samples at the shifted positions. */
static SdmStatus align_horizontally(SdmStack *s, double *shift_m, int *group)
{
    SDM_OWNED SdmObservation *east = NULL, *north = NULL;
    int count = 0;
    PASS(horizontal_shifts(s, &east, &north, &count));
    for (int axis = 0; axis < 2; axis++) {
        PASS(sdm_adjust_network(s->ctx, s->count, axis ? north : east, count, shift_m, group, NULL));
        for (int i = 0; i < s->count; i++)
            s->layer[i].shift_m[axis] = shift_m[i];
    }
    return sdm_stack_sample(s);
}

/* Figures of the last round, for the report and the mask. */
static SdmStatus set_figures(SdmStack *s, const SdmObservation *pair, int count, const int *group)
{
    SDM_OWNED double *nmad = NULL;
    PASS(sdm_alloc(s->ctx, &nmad, (size_t)count + 1, sizeof *nmad, "pairs of DEMs"));
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        l->group = group[i];
        l->nmad_m = l->residual_nmad_m;
        l->compared = l->residual_count;
        l->bias_nmad_m = NAN;
    }
    for (int k = 0; k < count; k++) {
        nmad[k] = pair[k].nmad;
        s->layer[pair[k].a].partners++;
        s->layer[pair[k].b].partners++;
    }
    s->pairs = count;
    if (s->opt->fusion)
        PASS(sdm_fusion_refer(s, pair, count));
    s->disagree_m = count ? fmax(3.0 * sdm_median_f64(nmad, count), 0.1) : INFINITY;
    return SDM_OK;
}

/* One round of heights: differences of the pairs, shifts (move), residuals. */
static SdmStatus align_heights(SdmStack *s, bool move, double *up_m, int *group, bool last)
{
    SDM_OWNED SdmObservation *pair = NULL;
    int count = 0;
    PASS(height_differences(s, &pair, &count));
    if (count == 0 && move)
        return sdm_fail(
            s->ctx, SDM_ERR_DATA,
            "no two of the %d DEMs have %d or more cells in common that can be compared, so there "
            "is nothing to align; are they of one place, and is none far larger than the others (cut it: "
            "gdalwarp -te)? --align none stacks them as they are",
            s->count, SDM_STACK_MIN_SAMPLES);
    PASS(sdm_adjust_network(s->ctx, s->count, pair, count, up_m, group, &s->groups));
    for (int i = 0; i < s->count; i++)
        s->layer[i].shift_m[2] = move ? up_m[i] : 0.0;
    PASS(sdm_stack_residuals(s));
    if (last)
        PASS(set_figures(s, pair, count, group));
    return SDM_OK;
}

static bool has_sample(const SdmLayer *l)
{
    int64_t i = 0;
    const int64_t n = l->sample_cols * l->sample_rows;
    while (i < n && isnan(l->sample[i]))
        i++;
    return i < n;
}

/* Doubt a layer that has no heights, no neighbour, or those of another place or unit. */
static void find_doubt(const SdmStack *s, SdmLayer *l, double middle_m)
{
    const double times = s->count == 2 && !s->opt->fusion ? 2.0 : 1.0; /* two meet half-way */
    const double nmad_m = times * l->nmad_m, up_m = s->opt->fusion ? 0.0 : times * (l->shift_m[2] - middle_m);
    if (!has_sample(l))
        snprintf(l->doubt, sizeof l->doubt,
                 "has no measured height at its samples (nodata, filled, or beyond 12000 m: heights are in "
                 "metres)");
    else if (l->partners == 0)
        snprintf(l->doubt, sizeof l->doubt, "overlaps no other: it is not shifted");
    else if (fmax(nmad_m, fabs(up_m)) > SDM_OTHER_GROUND_M)
        snprintf(l->doubt, sizeof l->doubt,
                 "differs from the others by %.0f m, NMAD %.0f m, more than DEMs of one place do: are its "
                 "heights in metres, above the same datum, and of this place?",
                 up_m, nmad_m);
    if (*l->doubt)
        sdm_log(s->ctx, SDM_LOG_WARNING, 8, "DEM %s %s", l->path, l->doubt);
}

/* middle_m: median of the shifts in height */
static void log_result(SdmStack *s, double middle_m)
{
    int connected = 0; /* groups of more than one DEM */
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        sdm_log(s->ctx, SDM_LOG_VERBOSE, 8,
                "%s: moved by %.2f %.2f %.2f m (east, north, up), NMAD %.2f m, %d partners", l->path,
                -l->shift_m[0], -l->shift_m[1], -l->shift_m[2], l->nmad_m, l->partners);
        find_doubt(s, l, middle_m);
        bool first = l->partners > 0;
        for (int j = 0; j < i && first; j++)
            first = s->layer[j].group != l->group;
        connected += first;
    }
    if (connected > 1)
        sdm_log(s->ctx, SDM_LOG_WARNING, 8,
                "the DEMs form %d groups that do not overlap; each group is aligned in itself, not with the "
                "others",
                connected);
    sdm_log(s->ctx, SDM_LOG_INFO, 8, "%d DEMs, %d pairs, %d group%s", s->count, s->pairs, s->groups,
            s->groups == 1 ? "" : "s");
}

SdmStatus sdm_stack_align(SdmStack *s)
{
    SDM_OWNED double *shift_m = NULL;
    SDM_OWNED int *group = NULL;
    const bool move = strcmp(s->opt->align, "none") != 0;
    PASS(SDM_ALLOC(s->ctx, "shifts", SDM_ARRAY(shift_m, (size_t)s->count),
                   SDM_ARRAY(group, (size_t)s->count)));
    if (strcmp(s->opt->align, "xyz") == 0)
        PASS(align_horizontally(s, shift_m, group));
    for (int round = 0; round < HEIGHT_ROUNDS; round++)
        PASS(align_heights(s, move, shift_m, group, round == HEIGHT_ROUNDS - 1));
    log_result(s, move ? sdm_median_f64(shift_m, s->count) : 0.0);
    return SDM_OK;
}
