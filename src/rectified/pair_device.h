/* Two rectified images -> disparities by kernels of a device, the bytes of sdm_pair_match(). */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/launch.h"
#include "rectified/pair.h"

/* As sdm_pair_match(): disparity: height x width on the host.  Images of any height go through in bands of
 * rows. */
SdmStatus sdm_pair_match_device(SdmContext *ctx, SdmGpu *g, const SdmPairImage *left,
                                const SdmPairImage *right, const SdmPairSettings *set, float *disparity);
