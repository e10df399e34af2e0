/* A prior DEM as the first surface. */
#ifndef SDM_PRIOR_H
#define SDM_PRIOR_H

#include "scene/prepare.h"

/* Half of the height range searched about a prior DEM, metres. */
#define SDM_PRIOR_SLACK_M 400.0

/* Heights of --dem (above the ellipsoid; its mean where it has none) at the pixels of s (allocated). */
SdmStatus sdm_prior_surface(SdmContext *ctx, const SdmScene *scene, const SdmLattice *lat, SdmSurface *s);

#endif
