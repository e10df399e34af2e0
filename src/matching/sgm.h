/* A volume of costs -> labels by semi-global matching, see lab/notebook/matchers.md. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/volume.h"

/* As sdm_optimize(). */
SdmStatus sdm_sgm(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out);
int64_t sdm_sgm_bytes(int width, int height, int labels);
