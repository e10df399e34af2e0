/* Geographic coordinates (WGS 84) <-> coordinates of the output CRS. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_PROJECTOR_H
#define SDM_PROJECTOR_H

#include "core/core.h"

/* Transform lon/lat (degrees) to the grid's CRS and back, n points, in place, x = lon first.
 * Not thread-safe per handle; open one per thread.  Ballpark operations are refused. */
typedef struct SdmProjector SdmProjector;
SdmStatus sdm_projector_open(SdmContext *ctx, const char *wkt, SdmProjector **out);
void sdm_projector_forward(SdmProjector *p, size_t n, double *x, double *y); /* NaN where it cannot */
void sdm_projector_inverse(SdmProjector *p, size_t n, double *x, double *y);
void sdm_projector_close(SdmProjector **p);

#endif
