/* Geographic coordinates (WGS 84) <-> coordinates of the output CRS. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* A context of PROJ that prints nothing; the caller destroys it. */
struct pj_ctx *sdm_proj_context(void);
/* After PROJ failed: is it because its database cannot be read?  Then SDM_ERR_UNSUPPORTED with that
 * reason. */
SdmStatus sdm_proj_check(SdmContext *ctx);

/* Transformation between WGS 84 (x = longitude, y = latitude, degrees) and a CRS, through PROJ.  A handle
 * serves one thread at a time.  open: SDM_ERR_UNSUPPORTED where PROJ has no transformation of known accuracy.
 */
typedef struct SdmProjector SdmProjector;
SdmStatus sdm_projector_open(SdmContext *ctx, const char *wkt, SdmProjector **out);
/* The same once more, for another thread, in a fiftieth of the time; one call at a time for each `from`. */
SdmStatus sdm_projector_clone(SdmContext *ctx, const SdmProjector *from, SdmProjector **out);
/* n points to the CRS, or back, in place; NaN where a point has no image. */
void sdm_projector_forward(SdmProjector *p, size_t n, double *x, double *y);
void sdm_projector_inverse(SdmProjector *p, size_t n, double *x, double *y);
void sdm_projector_close(SdmProjector **p);
