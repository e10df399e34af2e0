/* Labels and the costs about them -> sub-pixel places. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/volume.h"
#include "sgm_kernels.h"

/* The costs about the labels of row y, labels->left -> labels->near. */
void sdm_label_costs(const SdmVolume *v, int y, const SdmLabels *labels);
/* Sub-pixel places of the pixels of row y about their labels, -0.5..0.5 labels, by SdmSgmOffsets; 0 at the
 * ends of the labels.  labels: left and near of all rows of the volume, read from y - 2 to y + 2.  offset:
 * width. */
enum { SDM_OFFSET_REACH = 2 };
void sdm_label_offsets(const SdmVolume *v, const SdmSgmKernels *kernels, const SdmLabels *labels, int y,
                       float *offset);
