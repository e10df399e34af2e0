/* Samples of the layers -> how far each lies off in height, from all pairs at once. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <string.h>

enum { LEAST_TIE = 30, ROUNDS = 3 };

/* Samples that two layers may share, in samples of the grid: col0, row0, col1, row1; false when there are
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

/* Median difference of a pair over its stable samples -> tie; samples = 0 when there are too few. */
static void measure(const SdmStack *s, SdmTie *tie, float *difference)
{
    const SdmLayer *const a = &s->layer[tie->a], *const b = &s->layer[tie->b];
    int64_t box[4], n = 0;
    common_samples(a, b, box);
    for (int64_t row = box[1]; row < box[3]; row++)
        for (int64_t col = box[0]; col < box[2]; col++) {
            if (row % s->tie_step || col % s->tie_step)
                continue;
            const int64_t i = (row - a->sample_row0) * a->sample_cols + col - a->sample_col0;
            const int64_t j = (row - b->sample_row0) * b->sample_cols + col - b->sample_col0;
            const float d = (float)((double)a->sample[i] - (double)b->sample[j]);
            if (!isnan(d) && !a->unstable[i] && !b->unstable[j])
                difference[n++] = d;
        }
    tie->samples = n < LEAST_TIE ? 0 : n;
    if (tie->samples == 0)
        return;
    tie->nmad = sdm_nmad_f32(difference, n, &tie->value);
    tie->weight = (double)n / (tie->nmad * tie->nmad + 0.01);
}

SdmStatus sdm_stack_ties(SdmStack *s, SdmTie **ties, int *count)
{
    SdmStatus st = SDM_OK;
    float *difference = NULL;
    int64_t box[4], pairs = 0, longest = 1;
    *ties = NULL;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then note */
        if (pass)
            TRY(sdm_alloc(s->ctx, ties, (size_t)pairs + 1, sizeof **ties, "pairs of DEMs"));
        pairs = 0;
        for (int a = 0; a < s->count; a++)
            for (int b = a + 1; b < s->count; b++)
                if (common_samples(&s->layer[a], &s->layer[b], box)) {
                    const int64_t n = (box[2] - box[0]) * (box[3] - box[1]);
                    longest = n > longest ? n : longest;
                    if (pass)
                        (*ties)[pairs] = (SdmTie){.a = a, .b = b};
                    pairs++;
                }
    }
    TRY(sdm_alloc(s->ctx, &difference, (size_t)longest * (size_t)s->threads, sizeof *difference,
                  "differences"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int64_t k = 0; k < pairs; k++)
        measure(s, &(*ties)[k], difference + (int64_t)sdm_thread() * longest);
    for (int64_t k = 0; k < pairs; k++)
        if ((*ties)[k].samples)
            (*ties)[(*count)++] = (*ties)[k];
done:
    sdm_free(&difference);
    return st;
}

static SdmStatus set_found(SdmStack *s, const SdmTie *ties, int count, const int *group,
                           SdmStackReport *report)
{
    SdmStatus st = SDM_OK;
    double *nmad = NULL;
    TRY(sdm_alloc(s->ctx, &nmad, (size_t)count + 1, sizeof *nmad, "pairs of DEMs"));
    for (int k = 0; k < count; k++) {
        nmad[k] = ties[k].nmad;
        s->layer[ties[k].a].found.partners++;
        s->layer[ties[k].b].found.partners++;
    }
    report->ties = count;
    report->disagree_m = count ? fmax(3.0 * sdm_median_f64(nmad, count), 0.1) : INFINITY;
    for (int i = 0; i < s->count; i++) {
        SdmLayer *const l = &s->layer[i];
        l->found.path = l->path;
        memcpy(l->found.shift_m, l->shift_m, sizeof l->shift_m);
        l->found.group = group[i];
        l->found.nmad_m = l->rest_nmad_m;
        l->found.samples = l->rest_samples;
        l->found.smooth_m = NAN;
    }
done:
    sdm_free(&nmad);
    return st;
}

/* One round of heights: ties, shifts, what remains. */
static SdmStatus level(SdmStack *s, bool move, double *up_m, int *group, SdmStackReport *report, bool last)
{
    SdmStatus st = SDM_OK;
    SdmTie *ties = NULL;
    int count = 0;
    TRY(sdm_stack_ties(s, &ties, &count));
    if (count == 0 && move) {
        st = sdm_fail(s->ctx, SDM_ERR_DATA,
                      "no two of the %d DEMs have %d or more cells in common that can be compared, so there "
                      "is nothing to align; are they of one place? (--align none puts them together "
                      "as they are)",
                      s->count, LEAST_TIE);
        goto done;
    }
    TRY(sdm_adjust(s->ctx, s->count, ties, count, up_m, group, &report->groups));
    for (int i = 0; i < s->count; i++)
        s->layer[i].shift_m[2] = move ? up_m[i] : 0.0;
    TRY(sdm_stack_rest(s));
    if (last)
        TRY(set_found(s, ties, count, group, report));
done:
    sdm_free(&ties);
    return st;
}

static void tell(const SdmStack *s, const SdmStackReport *report)
{
    int together = 0;
    for (int i = 0; i < s->count; i++) {
        const SdmStackedDem *const d = &s->layer[i].found;
        sdm_log(s->ctx, SDM_LOG_VERBOSE, 8,
                "%s: off by %.2f %.2f %.2f m (east, north, up), NMAD %.2f m, %d partners", d->path,
                d->shift_m[0], d->shift_m[1], d->shift_m[2], d->nmad_m, d->partners);
        if (d->partners == 0)
            sdm_log(s->ctx, SDM_LOG_WARNING, 8, "DEM %s overlaps no other: left where it is", d->path);
        bool first = d->partners > 0;
        for (int j = 0; j < i && first; j++)
            first = s->layer[j].found.group != d->group;
        together += first;
    }
    if (together > 1)
        sdm_log(s->ctx, SDM_LOG_WARNING, 8,
                "the DEMs form %d groups that do not overlap; each is level in itself, not with the others",
                together);
    sdm_log(s->ctx, SDM_LOG_INFO, 8, "%d DEMs, %d pairs, %d group%s", s->count, report->ties, report->groups,
            report->groups == 1 ? "" : "s");
}

SdmStatus sdm_stack_align(SdmStack *s, SdmStackReport *report)
{
    SdmStatus st = SDM_OK;
    double *up_m = NULL;
    int *group = NULL;
    const bool move = strcmp(s->opt->align, "none") != 0;
    TRY(sdm_alloc(s->ctx, &up_m, (size_t)s->count, sizeof *up_m, "shifts"));
    TRY(sdm_alloc(s->ctx, &group, (size_t)s->count, sizeof *group, "shifts"));
    if (strcmp(s->opt->align, "xyz") == 0) {
        TRY(sdm_stack_align_place(s));
        TRY(sdm_stack_sample(s));
    }
    for (int round = 0; round < ROUNDS; round++)
        TRY(level(s, move, up_m, group, report, round == ROUNDS - 1));
    tell(s, report);
    if (move && strcmp(s->opt->bias, "auto") == 0)
        TRY(sdm_stack_bias(s));
done:
    sdm_free(&group);
    sdm_free(&up_m);
    return st;
}
