/* Layers of one acquisition, which was delivered or processed more than once -> one of them: a median of copies
 * has the errors of one. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_layer.h"
#include "geo/geodesy.h"

#include <gdal.h>
#include <math.h>
#include <string.h>

static const double SAME_PLACE = 0.05, SAME_SIZE = 1.1; /* of the diagonal of a layer */

void sdm_layer_read_acquisition(GDALDatasetH file, SdmLayer *l)
{
    const char *const kind = GDALGetMetadataItem(file, "SCENE_KIND", NULL),
                     *const time = GDALGetMetadataItem(file, "ACQUISITION_TIME_UTC", NULL);
    /* of pairs of images the time is that of the left one, which other pairs share */
    if (!kind || !time || strncmp(kind, "ASTER", 5) != 0)
        return;
    snprintf(l->kind, sizeof l->kind, "%s", kind);
    snprintf(l->time_utc, sizeof l->time_utc, "%s", time);
}

/* Do two layers of one time show one place?  Parts of a DEM do not. */
static SdmStatus compare_places(SdmStack *s, const SdmLayer *a, const SdmLayer *b, bool *same)
{
    SdmStatus st = SDM_OK;
    double lon_deg[2], lat_deg[2], diagonal_m[2];
    TRY(sdm_layer_place(s, a, &lon_deg[0], &lat_deg[0], &diagonal_m[0]));
    TRY(sdm_layer_place(s, b, &lon_deg[1], &lat_deg[1], &diagonal_m[1]));
    const double east = (sdm_longitude_near(lon_deg[0], lon_deg[1]) - lon_deg[1]) * cos(lat_deg[0] * SDM_DEG),
                 north = lat_deg[0] - lat_deg[1];
    *same = hypot(east, north) * SDM_METRES_PER_DEGREE < SAME_PLACE * diagonal_m[0] &&
            fmax(diagonal_m[0] / diagonal_m[1], diagonal_m[1] / diagonal_m[0]) < SAME_SIZE;
done:
    return st;
}

/* The later version is kept, of equal ones the alphabetically first file, whatever their order. */
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
    for (int k = 0; k < s->count && *l->time_utc && !*out; k++) {
        const SdmLayer *const other = &s->layer[k];
        bool same = false;
        if (k == i || strcmp(other->time_utc, l->time_utc) != 0 || !is_better(other, l))
            continue;
        TRY(compare_places(s, other, l, &same));
        *out = same ? other : NULL;
    }
done:
    return st;
}

static void drop(SdmStack *s, int i)
{
    SdmLayer *const l = &s->layer[i];
    s->crs[l->crs].pixels -= l->width * l->height;
    sdm_free(&l->path);
    sdm_free(&l->qa);
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
    if (copies > 0 && copies == s->count - 1) /* --align, --bias and holes may be what is wanted */
        sdm_log(s->ctx, SDM_LOG_WARNING, 1,
                "all %d DEMs are of one acquisition (ASTER, %s): their stack has its errors, however many there "
                "are; add DEMs of other dates",
                s->count, s->layer[0].time_utc);
    for (int i = s->count - 1; i >= 0 && copies < s->count - 1 && copies > 0; i--) {
        TRY(find_better(s, i, &better));
        if (!better)
            continue;
        sdm_log(s->ctx, SDM_LOG_WARNING, 1, "%s is left out: of the same acquisition (ASTER, %s) as %s",
                s->layer[i].path, s->layer[i].time_utc, better->path);
        drop(s, i);
        copies--;
    }
done:
    return st;
}
