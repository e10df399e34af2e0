/* Pairs of layers -> observations for the adjustment: median height differences of their samples, and
 * horizontal shifts by co-registration. */
// SPDX-License-Identifier: Apache-2.0
#include "core/disjoint_sets.h"
#include "core/stats.h"
#include "coreg/coreg.h"
#include "coreg/ortho_shift.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Samples (col0, row0, col1, row1, counted over the grid) that two layers may share; false when there are
 * none. */
static bool common_samples(const SdmLayer *a, const SdmLayer *b, int64_t box[4])
{
    const int64_t ac = a->sample_col0 + a->sample_cols, ar = a->sample_row0 + a->sample_rows,
                  bc = b->sample_col0 + b->sample_cols, br = b->sample_row0 + b->sample_rows;
    box[0] = a->sample_col0 > b->sample_col0 ? a->sample_col0 : b->sample_col0;
    box[1] = a->sample_row0 > b->sample_row0 ? a->sample_row0 : b->sample_row0;
    box[2] = ac < bc ? ac : bc;
    box[3] = ar < br ? ar : br;
    return box[0] < box[2] && box[1] < box[3];
}

/* Median difference of a pair over its stable samples; o->samples = 0 when there are too few. */
static void measure_height(const SdmStack *s, SdmObservation *o, float *difference)
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
            if (!isnan(d) && !a->unstable[i] && !b->unstable[j])
                difference[n++] = d;
        }
    o->samples = n < SDM_STACK_MIN_SAMPLES ? 0 : n;
    if (o->samples == 0)
        return;
    o->nmad = sdm_nmad_f32(difference, n, &o->value);
    o->weight = weight_of(n, o->nmad);
}

SdmStatus sdm_stack_height_differences(SdmStack *s, SdmObservation **out, int *count)
{
    SdmStatus st = SDM_OK;
    float *difference = NULL;
    int64_t box[4], pairs = 0, longest = 1;
    *out = NULL;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) { /* first count, then list */
        if (pass)
            TRY(sdm_alloc(s->ctx, out, (size_t)pairs + 1, sizeof **out, "pairs of DEMs"));
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
    TRY(sdm_alloc(s->ctx, &difference, (size_t)longest * (size_t)s->threads, sizeof *difference,
                  "differences"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int64_t k = 0; k < pairs; k++)
        measure_height(s, &(*out)[k], difference + (int64_t)sdm_thread() * longest);
    for (int64_t k = 0; k < pairs; k++)
        if ((*out)[k].samples)
            (*out)[(*count)++] = (*out)[k];
done:
    sdm_free(&difference);
    return st;
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
    SdmStatus st = SDM_OK;
    int *parent = NULL, *partners = NULL, kept = 0;
    TRY(sdm_alloc(s->ctx, &parent, (size_t)s->count, sizeof *parent, "pairs"));
    TRY(sdm_alloc(s->ctx, &partners, (size_t)s->count, sizeof *partners, "pairs"));
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
done:
    sdm_free(&partners);
    sdm_free(&parent);
    return st;
}

/* First cell of a window of w cells within [first, end), centred on `middle` as far as that allows. */
static int64_t window_start(int64_t middle, int64_t w, int64_t first, int64_t end)
{
    const int64_t start = middle - w / 2;
    return start < first ? first : start > end - w ? end - w : start;
}

/* Window of cells around the mean position of the samples that both layers have. */
static SdmCellWindow common_window(const SdmStack *s, const SdmLayer *a, const SdmLayer *b)
{
    int64_t n = 0, sum[2] = {0, 0};
    const int64_t c0 = a->col0 > b->col0 ? a->col0 : b->col0, r0 = a->row0 > b->row0 ? a->row0 : b->row0;
    const int64_t ac = a->col0 + a->cols, bc = b->col0 + b->cols, ar = a->row0 + a->rows,
                  br = b->row0 + b->rows;
    const int64_t c1 = ac < bc ? ac : bc, r1 = ar < br ? ar : br, step = s->sample_step;
    for (int64_t i = 0; i < a->sample_cols * a->sample_rows; i++) {
        const int64_t col = a->sample_col0 + i % a->sample_cols, row = a->sample_row0 + i / a->sample_cols;
        const int64_t bcol = col - b->sample_col0, brow = row - b->sample_row0;
        if (isnan(a->sample[i]) || bcol < 0 || brow < 0 || bcol >= b->sample_cols || brow >= b->sample_rows ||
            isnan(b->sample[brow * b->sample_cols + bcol]))
            continue;
        sum[0] += col;
        sum[1] += row;
        n++;
    }
    const int64_t w = c1 - c0 < MAX_EDGE ? c1 - c0 : MAX_EDGE, h = r1 - r0 < MAX_EDGE ? r1 - r0 : MAX_EDGE;
    return (SdmCellWindow){.col0 = window_start(n ? sum[0] / n * step : c0, w, c0, c1),
                           .row0 = window_start(n ? sum[1] / n * step : r0, h, r0, r1),
                           .w = w,
                           .h = h,
                           .stride = 1};
}

/* Heights of a layer over the window, without filled ones. */
static SdmStatus read_measured(const SdmStack *s, const SdmLayer *l, SdmCellWindow w, float *height_m,
                               uint8_t *filled)
{
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
    SdmStatus st = SDM_OK, other = SDM_OK;
    uint8_t *filled = NULL;
    const size_t n = (size_t)(w.w * w.h);
    *g = (SdmCoregGrid){.cols = w.w, .rows = w.h, .dx_m = s->dx_m, .dy_m = s->dy_m, .threads = s->threads};
    TRY(sdm_coreg_open(s->ctx, g));
    TRY(sdm_alloc(s->ctx, &filled, 2 * n, 1, "mask"));
#pragma omp parallel sections num_threads(s->threads > 1 ? 2 : 1)
    {
#pragma omp section
        st = read_measured(s, &s->layer[o->a], w, g->dem_m, filled);
#pragma omp section
        other = read_measured(s, &s->layer[o->b], w, g->reference_m, filled + n);
    }
    TRY(st);
    TRY(other);
    memset(g->mask, SDM_COREG_STABLE, n);
done:
    sdm_free(&filled);
    return st;
}

/* The orthoimage of a layer over the window, without what lies near a step of the heights: of it each view
 * shows another side. */
static SdmStatus read_texture(const SdmStack *s, const SdmLayer *l, SdmCellWindow w, float **out)
{
    enum { NEAR = 2 }; /* cells */
    SdmStatus st = SDM_OK;
    float *height_m = NULL;
    uint8_t *filled = NULL;
    const SdmBlock block = {.col0 = w.col0, .row0 = w.row0, .w = w.w, .h = w.h};
    const float step_m = (float)(2.0 * s->dy_m);
    TRY(sdm_alloc(s->ctx, &height_m, (size_t)(w.w * w.h), sizeof *height_m, "heights"));
    TRY(sdm_alloc(s->ctx, &filled, (size_t)(w.w * w.h), 1, "heights"));
    TRY(read_measured(s, l, w, height_m, filled));
    TRY(sdm_fused_read_ortho(s, l, &block, out));
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
done:
    sdm_free(&filled);
    sdm_free(&height_m);
    return st;
}

/* The same from the orthoimages of a fusion, whose texture tells more than flat roofs and walls do.  *known:
 * it is. */
static SdmStatus measure_texture(const SdmStack *s, SdmObservation *o, double *east_m, double *north_m,
                                 bool *known)
{
    SdmStatus st = SDM_OK;
    const SdmLayer *const a = &s->layer[o->a], *const b = &s->layer[o->b];
    const SdmCellWindow w = common_window(s, a, b);
    float *image[2] = {NULL, NULL};
    SdmOrthoShift found;
    TRY(read_texture(s, a, w, &image[0]));
    TRY(read_texture(s, b, w, &image[1]));
    TRY(sdm_ortho_shift(s->ctx, image[0], image[1], w.w, w.h, &found));
    *known = found.patches > 0;
    o->samples = found.patches;
    o->weight = weight_of(found.patches, found.nmad * s->dx_m);
    *east_m = found.cells[0] * s->dx_m;
    *north_m = -found.cells[1] * s->dy_m;
    sdm_log(s->ctx, SDM_LOG_VERBOSE, 8,
            "%s to %s by their orthoimages: %.2f %.2f m east and north, NMAD %.2f cells, %lld patches%s",
            a->path, b->path, *east_m, *north_m, found.nmad, (long long)found.patches,
            *known ? "" : ", not used");
done:
    sdm_free(&image[0]);
    sdm_free(&image[1]);
    return st;
}

/* Co-register a pair: the offset of a from b is the move that lays a on b, turned round.  o->samples = 0
 * where it cannot be determined. */
static SdmStatus measure_shift(const SdmStack *s, SdmObservation *o, double *east_m, double *north_m)
{
    SdmStatus st = SDM_OK;
    SdmCoregGrid g = {0};
    SdmCoregShift found;
    TRY(load_pair(s, o, common_window(s, &s->layer[o->a], &s->layer[o->b]), &g));
    o->samples = 0;
    if (sdm_coreg_mark(&g, NULL) < MIN_COMMON)
        goto done;
    TRY(sdm_coreg_shift(s->ctx, &g, true, &found));
    const SdmShift *const move = &found.move;
    const bool far = !(hypot(move->move_m[0], move->move_m[1]) < MAX_SHIFT_CELLS * s->dx_m);
    const char *const why = move->undetermined ? "the ground is flat or a plane"
                            : far              ? "too far"
                                               : sdm_shift_verdict_text(move->verdict);
    sdm_log(s->ctx, SDM_LOG_VERBOSE, 8, "%s to %s: east %.2f north %.2f up %.2f m, NMAD %.2f m%s%s",
            s->layer[o->a].path, s->layer[o->b].path, move->move_m[0], move->move_m[1], move->move_m[2],
            found.residual.nmad_m, *why ? ", not used: " : "", why);
    if (move->undetermined || far || move->verdict)
        goto done;
    o->samples = found.residual.count;
    o->weight = weight_of(o->samples, found.residual.nmad_m);
    *east_m = -move->move_m[0];
    *north_m = -move->move_m[1];
done:
    sdm_coreg_close(&g);
    return st;
}

SdmStatus sdm_stack_horizontal_shifts(SdmStack *s, SdmObservation **east, SdmObservation **north, int *count)
{
    SdmStatus st = SDM_OK;
    int pairs = 0;
    *east = *north = NULL;
    *count = 0;
    TRY(sdm_stack_height_differences(s, east, &pairs));
    TRY(choose_pairs(s, *east, &pairs));
    TRY(sdm_alloc(s->ctx, north, (size_t)pairs + 1, sizeof **north, "pairs of DEMs"));
    for (int k = 0; k < pairs; k++) {
        SdmObservation o = (*east)[k];
        double east_m = 0.0, north_m = 0.0;
        sdm_progress(s->ctx, 8, 0.3 + 0.2 * (double)k / pairs, "co-register pairs");
        bool known = false;
        if (s->opt->fusion)
            TRY(measure_texture(s, &o, &east_m, &north_m, &known));
        if (!known)
            TRY(measure_shift(s, &o, &east_m, &north_m));
        if (!o.samples)
            continue;
        (*east)[*count] = (*north)[*count] = o;
        (*east)[*count].value = east_m;
        (*north)[(*count)++].value = north_m;
    }
done:
    return st;
}
