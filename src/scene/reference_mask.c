/* The masks of the reference: stable ground, and what is to be left out. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/reference_mask.h"

#include <math.h>

enum { STABLE, EXCLUDE };

static SdmHeightSource raster_of(const SdmOptions *o, int k)
{
    return k == STABLE ? (SdmHeightSource){.option = "--reference-mask", .path = o->reference_mask}
                       : (SdmHeightSource){.option = "--exclude", .path = o->exclude};
}

static SdmOutlineSource outlines_of(const SdmOptions *o, int k)
{
    const SdmHeightSource file = raster_of(o, k);
    return (SdmOutlineSource){
        .option = file.option, .path = file.path, .layer = o->layer, .where = o->where, .may_miss = true};
}

void sdm_reference_mask_close(SdmReferenceMask *mask)
{
    for (int k = 0; k < SDM_REFERENCE_MASKS; k++) {
        sdm_height_raster_close(&mask->raster[k]);
        sdm_outlines_close(&mask->outlines[k]);
    }
}

SdmStatus sdm_reference_mask_open(SdmContext *ctx, const SdmOptions *options, SdmReferenceMask *out)
{
    *out = (SdmReferenceMask){.raster = {NULL}};
    for (int k = 0; k < SDM_REFERENCE_MASKS; k++) {
        const SdmHeightSource raster = raster_of(options, k);
        const SdmOutlineSource outlines = outlines_of(options, k);
        if (raster.path && sdm_is_raster(raster.path))
            PASS(sdm_height_raster_open(ctx, &raster, &out->raster[k]));
        else if (raster.path)
            PASS(sdm_outlines_open(ctx, &outlines, &out->outlines[k]));
    }
    if ((options->where || options->layer) && !out->outlines[STABLE].file && !out->outlines[EXCLUDE].file)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: needs polygons given by --reference-mask or --exclude, found none",
                        options->where ? "--where" : "--layer");
    return SDM_OK;
}

static SdmStatus apply_raster(SdmContext *ctx, SdmHeightRaster *raster, bool inside_counts, const SdmGrid *g,
                              const float *place, size_t count, uint8_t *allowed)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *projector = NULL;
    PASS(sdm_projector_open(ctx, g->wkt, &projector));
    for (size_t i = 0; i < count; i++) {
        double x = g->x0 + ((double)place[2 * i] + 0.5) * g->spacing,
               y = g->y0 - ((double)place[2 * i + 1] + 0.5) * g->spacing;
        sdm_projector_inverse(projector, 1, &x, &y);
        const double value = sdm_height_raster_at(ctx, raster, x, y);
        if ((!isnan(value) && value != 0.0) != inside_counts)
            allowed[i] = 0;
    }
    return sdm_height_raster_check(ctx, raster);
}

static SdmStatus apply_outlines(SdmContext *ctx, const SdmOutlines *outlines, bool inside_counts,
                                const SdmGrid *g, const float *place, size_t count, uint8_t *allowed)
{
    SDM_OWNED uint8_t *inside = NULL;
    const SdmOutlineGrid on = {.wkt = g->wkt,
                               .transform = {g->x0, g->spacing, 0.0, g->y0, 0.0, -g->spacing},
                               .cols = g->cols,
                               .rows = g->rows};
    PASS(sdm_alloc_raw(ctx, &inside, (size_t)(g->cols * g->rows), 1, "cells inside of polygons"));
    PASS(sdm_outlines_burn(ctx, outlines, &on, inside));
    for (size_t i = 0; i < count; i++) {
        const double col = floor((double)place[2 * i] + 0.5), row = floor((double)place[2 * i + 1] + 0.5);
        const bool on_grid = col >= 0.0 && row >= 0.0 && col < (double)g->cols && row < (double)g->rows;
        if ((on_grid && inside[(int64_t)row * g->cols + (int64_t)col]) != inside_counts)
            allowed[i] = 0;
    }
    return SDM_OK;
}

SdmStatus sdm_reference_mask_apply(SdmContext *ctx, const SdmReferenceMask *mask, const SdmGrid *grid,
                                   const float *place, size_t count, uint8_t *allowed)
{
    for (int k = 0; k < SDM_REFERENCE_MASKS; k++) {
        if (mask->raster[k])
            PASS(apply_raster(ctx, mask->raster[k], k == STABLE, grid, place, count, allowed));
        if (mask->outlines[k].file)
            PASS(apply_outlines(ctx, &mask->outlines[k], k == STABLE, grid, place, count, allowed));
    }
    return SDM_OK;
}
