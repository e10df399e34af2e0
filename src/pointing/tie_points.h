/* Ray intersection errors of a matched surface -> tie points (means of blocks of pixels, no feature
 * matching), to which the pointing correction is fitted. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/pointing.h"
#include "geometry/surface.h"

/* A point that both views show: where it lies in the right image, and how far from its epipolar line. */
typedef struct SdmTiePoint {
    double col, row;      /* right image, px */
    double residual_px;   /* across the epipolar line, with the correction in use; along pointing->dir */
    double correction_px; /* the whole correction that the point asks for: that in use and the residual */
} SdmTiePoint;

typedef struct SdmTiePoints {
    SdmTiePoint *point; /* owned */
    size_t count, room;
} SdmTiePoints;

SdmStatus sdm_tie_points_alloc(SdmContext *ctx, size_t room, SdmTiePoints *out);
void sdm_tie_points_free(SdmTiePoints *t);

/* Where tie points come from; borrowed. */
typedef struct SdmTiePointSource {
    const SdmLattice *lattice; /* of the cameras with the correction in use */
    const SdmPointing *in_use;
    const SdmSurface *surface;
    const float *ray_error_v; /* h x w of the surface: v residual, px of its level; NaN: unknown */
    int block;                /* a tie point is the mean of block x block pixels */
} SdmTiePointSource;

/* Append a tie point for each block of which at least half are valid pixels with a residual of up to 1 px,
 * while there is room. */
void sdm_tie_points_add(const SdmTiePointSource *from, SdmTiePoints *t);
