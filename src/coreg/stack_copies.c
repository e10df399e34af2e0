/* Layers of one acquisition, which was delivered or processed more than once -> one of them: a median of
 * copies has the errors of one. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/stack_layer.h"
#include "geo/geodesy.h"

#include <gdal.h>
#include <math.h>
#include <string.h>

static const double SAME_PLACE = 0.05, SAME_SIZE = 1.1; /* of the diagonal of a layer */
/* In cells: NMAD of the difference of copies.  DEMs of two dates differ some ten times as much. */
static const double SAME_HEIGHTS = 0.03;

void sdm_layer_read_acquisition(GDALDatasetH file, SdmLayer *l)
{
    const char *const kind = GDALGetMetadataItem(file, "SCENE_KIND", NULL),
                      *const time = GDALGetMetadataItem(file, "ACQUISITION_TIME_UTC", NULL),
                      *const id = GDALGetMetadataItem(file, "SCENE_ID", NULL);
    snprintf(l->kind, sizeof l->kind, "%s", kind ? kind : "");
    snprintf(l->acquisition, sizeof l->acquisition, "%s", time ? time : id ? id : "");
}

/* Do two layers lie at one place, with one size?  Parts of a DEM do not. */
static bool same_place(const SdmStack *s, const SdmLayer *a, const SdmLayer *b)
{
    const double east = (sdm_longitude_near(a->lon_deg, b->lon_deg) - b->lon_deg) * cos(a->lat_deg * SDM_DEG),
                 north = a->lat_deg - b->lat_deg;
    const double first_m = sdm_layer_diagonal_m(s, a), other_m = sdm_layer_diagonal_m(s, b);
    return hypot(east, north) * SDM_METRES_PER_DEGREE < SAME_PLACE * first_m &&
           fmax(first_m / other_m, other_m / first_m) < SAME_SIZE;
}

/* Do the heights of two layers agree but for a shift, by their samples?  Pairs with one left image are of one
 * time, too, and simulated scenes are, but their errors differ. */
static SdmStatus compare_heights(SdmStack *s, const SdmLayer *a, const SdmLayer *b, bool *same)
{
    SdmStatus st = SDM_OK;
    float *difference_m = NULL;
    int64_t n = 0;
    TRY(sdm_alloc(s->ctx, &difference_m, (size_t)(a->sample_cols * a->sample_rows), sizeof *difference_m,
                  "differences of DEMs"));
    for (int64_t i = 0; i < a->sample_cols * a->sample_rows; i++) {
        const int64_t col = a->sample_col0 + i % a->sample_cols - b->sample_col0,
                      row = a->sample_row0 + i / a->sample_cols - b->sample_row0;
        if (col < 0 || row < 0 || col >= b->sample_cols || row >= b->sample_rows)
            continue;
        const float d = a->sample[i] - b->sample[row * b->sample_cols + col];
        if (!isnan(d))
            difference_m[n++] = d;
    }
    *same = n >= SDM_STACK_MIN_SAMPLES && sdm_nmad_f32(difference_m, n, NULL) < SAME_HEIGHTS * s->dy_m;
done:
    sdm_free(&difference_m);
    return st;
}

/* The later version is kept ("ASTER L1A V004" after V003), of equal ones the alphabetically first file. */
static bool is_better(const SdmLayer *a, const SdmLayer *b)
{
    const int kind = strncmp(a->kind, b->kind, strlen("ASTER L1A V004"));
    return kind ? kind > 0 : strcmp(a->path, b->path) < 0;
}

/* A layer to keep instead of layer i; NULL: none. */
static SdmStatus find_better(SdmStack *s, int i, const SdmLayer **out)
{
    SdmStatus st = SDM_OK;
    const SdmLayer *const l = &s->layer[i];
    *out = NULL;
    for (int k = 0; k < s->count && *l->acquisition && !*out; k++) {
        const SdmLayer *const other = &s->layer[k];
        bool same = false;
        if (k == i || strcmp(other->acquisition, l->acquisition) != 0 || !is_better(other, l))
            continue;
        same = same_place(s, other, l);
        if (same && !s->opt->trend) /* one date counts once, however it was processed */
            TRY(compare_heights(s, other, l, &same));
        *out = same ? other : NULL;
    }
done:
    return st;
}

static void drop(SdmStack *s, int i)
{
    SdmLayer *const l = &s->layer[i];
    sdm_free(&l->path);
    sdm_free(&l->qa);
    sdm_free(&l->sample);
    sdm_free(&l->residual);
    sdm_free(&l->unstable);
    sdm_free(&l->bias_m);
    s->count--;
    memmove(l, l + 1, (size_t)(s->count - i) * sizeof *l);
}

SdmStatus sdm_stack_drop_copies(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    const SdmLayer *better;
    int copies = 0;
    for (int i = 0; i < s->count; i++) {
        TRY(find_better(s, i, &better));
        copies += better != NULL;
    }
    if (copies > 0 && copies == s->count - 1) {
        sdm_log(s->ctx, SDM_LOG_WARNING, 1,
                "all %d DEMs are of one acquisition (%s): their stack has its errors, however many there "
                "are; add DEMs of other dates",
                s->count, s->layer[0].acquisition);
        return SDM_OK;
    }
    for (int i = s->count - 1; i >= 0 && copies > 0; i--) {
        TRY(find_better(s, i, &better));
        if (!better)
            continue;
        sdm_log(s->ctx, SDM_LOG_WARNING, 1, "%s is left out: it is of the same acquisition (%s) as %s",
                s->layer[i].path, s->layer[i].acquisition, better->path);
        drop(s, i);
        copies--;
    }
done:
    return st;
}
