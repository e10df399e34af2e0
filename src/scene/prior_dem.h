/* A prior DEM (--dem) -> heights around which the coarsest level is searched. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/height_raster.h"
#include "geometry/epipolar_frame.h"
#include "geometry/surface.h"
#include "scene/prepare.h"

/* Heights searched above and below a prior DEM, metres. */
#define SDM_PRIOR_RANGE_M 400.0

/* The DEM; *out stays NULL without --dem.  SDM_ERR_INPUT where it cannot be used. */
SdmStatus sdm_prior_open(SdmContext *ctx, const SdmOptions *o, SdmHeightRaster **out);

/* Heights of the DEM above the ellipsoid at the pixels of s, whose arrays are allocated; its mean where it
 * has none. SDM_ERR_INPUT where the DEM cannot be read or used, SDM_ERR_DATA where it does not cover the
 * scene. */
SdmStatus sdm_prior_surface(SdmContext *ctx, const SdmScene *scene, const SdmLattice *lat, SdmSurface *s,
                            SdmPriorReport *report);
