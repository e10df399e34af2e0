/* Heights with voids -> heights that go on into the voids, for a spline. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_VOID_FILL_H
#define SDM_VOID_FILL_H

#include "core/core.h"

/* Fill the NaN of h (rows x cols) from their rims inwards, some cells far, linearly at first; 0 beyond.
 * mark: rows x cols, overwritten.  At most UINT32_MAX cells. */
SdmStatus sdm_fill_voids(SdmContext *ctx, float *h, int64_t cols, int64_t rows, float *mark);

#endif
