/* Observations of pairs -> the shift of each layer, from all pairs at once. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/coreg.h"
#include "coreg/stack_layer.h"

#include <math.h>
#include <string.h>

enum { HEIGHT_ROUNDS = 3 }; /* unstable samples are found again in each */

/* Shifts east and north, then samples at the shifted positions. */
static SdmStatus align_horizontally(SdmStack *s, double *shift_m, int *group)
{
    SdmStatus st = SDM_OK;
    SdmObservation *of_axis[2] = {NULL, NULL};
    int count = 0;
    TRY(sdm_stack_horizontal_shifts(s, &of_axis[0], &of_axis[1], &count));
    for (int axis = 0; axis < 2; axis++) {
        TRY(sdm_adjust_network(s->ctx, s->count, of_axis[axis], count, shift_m, group, NULL));
        for (int i = 0; i < s->count; i++)
            s->layer[i].shift_m[axis] = shift_m[i];
    }
    TRY(sdm_stack_sample(s));
done:
    sdm_free(&of_axis[0]);
    sdm_free(&of_axis[1]);
    return st;
}

/* Figures of the last round, for the report and the mask. */
static SdmStatus set_figures(SdmStack *s, const SdmObservation *pair, int count, const int *group)
{
    SdmStatus st = SDM_OK;
    double *nmad = NULL;
    TRY(sdm_alloc(s->ctx, &nmad, (size_t)count + 1, sizeof *nmad, "pairs of DEMs"));
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
        TRY(sdm_fusion_refer(s, pair, count));
    s->disagree_m = count ? fmax(3.0 * sdm_median_f64(nmad, count), 0.1) : INFINITY;
done:
    sdm_free(&nmad);
    return st;
}

/* One round of heights: differences of the pairs, shifts (move), residuals. */
static SdmStatus align_heights(SdmStack *s, bool move, double *up_m, int *group, bool last)
{
    SdmStatus st = SDM_OK;
    SdmObservation *pair = NULL;
    int count = 0;
    TRY(sdm_stack_height_differences(s, &pair, &count));
    if (count == 0 && move) {
        st = sdm_fail(s->ctx, SDM_ERR_DATA,
                      "no two of the %d DEMs have %d or more cells in common that can be compared, so there "
                      "is nothing to align; are they of one place? (--align none stacks them as they are)",
                      s->count, SDM_STACK_MIN_SAMPLES);
        goto done;
    }
    TRY(sdm_adjust_network(s->ctx, s->count, pair, count, up_m, group, &s->groups));
    for (int i = 0; i < s->count; i++)
        s->layer[i].shift_m[2] = move ? up_m[i] : 0.0;
    TRY(sdm_stack_residuals(s));
    if (last)
        TRY(set_figures(s, pair, count, group));
done:
    sdm_free(&pair);
    return st;
}

static bool has_sample(const SdmLayer *l)
{
    int64_t i = 0;
    const int64_t n = l->sample_cols * l->sample_rows;
    while (i < n && isnan(l->sample[i]))
        i++;
    return i < n;
}

/* Name a layer that has no heights, no neighbour, or those of another place or unit. */
static void warn_of_layer(const SdmStack *s, const SdmLayer *l)
{
    if (!has_sample(l))
        sdm_log(s->ctx, SDM_LOG_WARNING, 8,
                "DEM %s has no measured height at its samples (nodata, filled, or beyond 12000 m: heights "
                "are in metres)",
                l->path);
    else if (l->partners == 0)
        sdm_log(s->ctx, SDM_LOG_WARNING, 8, "DEM %s overlaps no other: it is not shifted", l->path);
    else if (l->nmad_m > SDM_OTHER_GROUND_M)
        sdm_log(s->ctx, SDM_LOG_WARNING, 8,
                "DEM %s differs from the others by %.0f m (NMAD), more than DEMs of one place do: are its "
                "heights in metres, and of this place?",
                l->path, l->nmad_m);
}

static void log_result(const SdmStack *s)
{
    int connected = 0; /* groups of more than one DEM */
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const l = &s->layer[i];
        sdm_log(s->ctx, SDM_LOG_VERBOSE, 8,
                "%s: moved by %.2f %.2f %.2f m (east, north, up), NMAD %.2f m, %d partners", l->path,
                -l->shift_m[0], -l->shift_m[1], -l->shift_m[2], l->nmad_m, l->partners);
        warn_of_layer(s, l);
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
    SdmStatus st = SDM_OK;
    double *shift_m = NULL;
    int *group = NULL;
    const bool move = strcmp(s->opt->align, "none") != 0;
    TRY(sdm_alloc(s->ctx, &shift_m, (size_t)s->count, sizeof *shift_m, "shifts"));
    TRY(sdm_alloc(s->ctx, &group, (size_t)s->count, sizeof *group, "shifts"));
    if (strcmp(s->opt->align, "xyz") == 0)
        TRY(align_horizontally(s, shift_m, group));
    for (int round = 0; round < HEIGHT_ROUNDS; round++)
        TRY(align_heights(s, move, shift_m, group, round == HEIGHT_ROUNDS - 1));
    log_result(s);
done:
    sdm_free(&group);
    sdm_free(&shift_m);
    return st;
}
