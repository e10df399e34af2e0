/* The surface of a window of a level: height, flags and score of each pixel of the left view. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/qa_reasons.h"
#include "geometry/lattice.h"

/* Columns x0..x1 - 1 that matter of a block of SDM_EXTENT_ROWS rows; what lies outside them keeps its prior
 * and is SDM_QA_OUTSIDE. */
enum { SDM_EXTENT_ROWS = 128 };
typedef struct SdmRowExtent {
    int x0, x1;
} SdmRowExtent;

typedef struct SdmSurface {
    SdmWindow win;
    const SdmRowExtent *extent; /* of its blocks, borrowed; NULL: all matters */
    float *h_m;                 /* h x w, metres above the ellipsoid, always finite */
    uint16_t *flags;            /* h x w, SdmQaBit; VALID where matched */
    uint8_t *score;             /* h x w, 250 x best score, 0 = none */
} SdmSurface;

/* The columns that matter of row y. */
static inline SdmRowExtent sdm_row_extent(const SdmRowExtent *extent, int width, int y)
{
    return extent ? extent[y / SDM_EXTENT_ROWS] : (SdmRowExtent){0, width};
}

/* Columns of a window. */
static inline SdmWindow sdm_window_columns(const SdmWindow *win, SdmRowExtent extent)
{
    SdmWindow part = *win;
    part.u0 += extent.x0;
    part.w = extent.x1 - extent.x0;
    return part;
}

/* Share of the pixels with none of the flags `besides` that are matched; 0: there are none. */
double sdm_surface_matched(const SdmSurface *s, unsigned besides);

/* Contents are undefined until written. */
SdmStatus sdm_surface_alloc(SdmContext *ctx, const SdmWindow *win, SdmSurface *out);
void sdm_surface_free(SdmSurface *s);
