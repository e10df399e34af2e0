/* Rectified matching with an optimizer: bands of rows, costs -> labels -> disparities. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "rectified/pair_parts.h"
#include "rectified/pair_volume.h"

#include <math.h>

enum { BAND = SDM_PAIR_BAND };

typedef struct Labelled { /* a band */
    const SdmPairImage *side[2];
    const SdmPairSettings *set;
    const SdmVolume *v;
    SdmLabels labels;
    int y0; /* row of the image that is row 0 of the volume */
} Labelled;

/* Does the right pixel's own label lead back to within the threshold? */
static bool meets(const Labelled *b, ptrdiff_t row, int l, int xr)
{
    const int other = b->labels.right ? b->labels.right[row + xr] : l;
    if (other == SDM_LABEL_NONE)
        return false;
    return (float)(l > other ? l - other : other - l) <= b->set->lr_threshold || !b->labels.right;
}

static void disparities(const Labelled *b, int y, float *out)
{
    const int w = b->v->width;
    const ptrdiff_t row = (ptrdiff_t)(y - b->y0) * w;
    const int16_t *const left = b->side[0]->data + y * b->side[0]->stride;
    const int16_t *const right = b->side[1]->data + y * b->side[1]->stride;
    if (b->set->subpixel)
        sdm_volume_offsets(b->v, y - b->y0, b->labels.left, out);
    for (int x = 0; x < w; x++) {
        const int l = b->labels.left[row + x], xr = x + b->v->first + l;
        const bool seen = l < b->v->labels && xr >= 0 && xr < w && left[x] != SDM_PIXEL_NODATA &&
                          right[xr] != SDM_PIXEL_NODATA;
        const float offset = b->set->subpixel ? out[x] : 0.0f;
        out[x] = seen && meets(b, row, l, xr) ? (float)(b->set->dmax - l) - offset : NAN;
    }
}

/* Rows y0..y1 - 1; the volume has room for them and the overlap. */
static SdmStatus match_band(SdmContext *ctx, Labelled *b, SdmVolume *v, int y0, int y1, float *disparity)
{
    SdmStatus st = SDM_OK;
    const SdmPairImage *const left = b->side[0];
    const int from = y0 > SDM_OVERLAP ? y0 - SDM_OVERLAP : 0;
    const int to = y1 + SDM_OVERLAP < left->height ? y1 + SDM_OVERLAP : left->height;
    v->height = to - from;
    v->begin = y0 - from > SDM_OFFSET_REACH ? y0 - from - SDM_OFFSET_REACH : 0;
    v->end = y1 - from + SDM_OFFSET_REACH < v->height ? y1 - from + SDM_OFFSET_REACH : v->height;
    v->guide = left->data + from * left->stride;
    v->guide_stride = left->stride;
    v->guide_scale = left->eight_bit ? SDM_PAIR_EDGE_8 : SDM_PAIR_EDGE_12;
    b->v = v;
    b->y0 = from;
    TRY(sdm_pair_volume(ctx, b->side[0], b->side[1], b->set, from, v));
    TRY(sdm_optimize(ctx, b->set->optimizer, v, &b->labels));
    if (sdm_pair_wants_energy(b->set))
        sdm_volume_energy(ctx, b->set->optimizer, v, b->labels.left, y0 - from, y1 - from, b->set->energy);
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int y = y0; y < y1; y++)
        disparities(b, y, disparity + (ptrdiff_t)y * left->width);
done:
    return st;
}

SdmStatus sdm_pair_match_labels(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                                const SdmPairSettings *set, float *disparity)
{
    SdmStatus st = SDM_OK;
    SdmVolume v;
    Labelled b = {.side = {left, right}, .set = set};
    const int rows = left->height < BAND + 2 * SDM_OVERLAP ? left->height : BAND + 2 * SDM_OVERLAP;
    const size_t pixels = (size_t)left->width * (size_t)rows;
    sdm_pair_volume_shape(set, &v);
    v.width = left->width;
    v.height = rows;
    TRY(sdm_volume_open(ctx, &v));
    TRY(sdm_alloc_raw(ctx, &b.labels.left, pixels, sizeof(uint16_t), "labels"));
    if (set->lr_threshold >= 0.0f)
        TRY(sdm_alloc_raw(ctx, &b.labels.right, pixels, sizeof(uint16_t), "labels of the right image"));
    for (int y0 = 0; y0 < left->height; y0 += BAND)
        TRY(match_band(ctx, &b, &v, y0, y0 + BAND < left->height ? y0 + BAND : left->height, disparity));
    TRY(sdm_pair_reject_flat(ctx, left, right, set, disparity));
done:
    sdm_free(&b.labels.left);
    sdm_free(&b.labels.right);
    sdm_volume_close(&v);
    return st;
}
