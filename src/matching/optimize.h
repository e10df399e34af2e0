/* A volume of costs and an optimizer -> labels, by semi-global matching or belief propagation. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/volume.h"

/* Allocate the volume's costs (width, height, labels set; pitch is) and fill the padding. */
SdmStatus sdm_volume_open(SdmContext *ctx, SdmVolume *v);
void sdm_volume_close(SdmVolume *v);

/* Penalties of a cost, used where the options give none. */
typedef struct SdmPenalties {
    int p1, p2;             /* sgm */
    int weight, truncation; /* bp */
} SdmPenalties;
/* The optimizer that the options ask for.  SDM_ERR_USAGE with a sentence: P2 below P1, ... */
SdmStatus sdm_optimizer_settings(SdmContext *ctx, const SdmOptions *options, const SdmPenalties *penalties,
                                 SdmOptimizer *out);

/* Label the pixels of the rows wanted; threads as the context has.  The lowest of equally good labels is
 * taken.  The result depends on the volume alone, not on threads or instruction set.  Errors:
 * SDM_ERR_MEMORY, SDM_ERR_STOPPED. */
SdmStatus sdm_optimize(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out);

/* Add the energy that belief propagation minimises, of the labels of rows y0..y1 - 1 and their steps to the
 * left and up: sums[0] += costs, sums[1] += steps. */
void sdm_volume_energy(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const uint16_t *left,
                       int y0, int y1, int64_t sums[2]);

/* Bytes that sdm_optimize() takes at most beside the volume and the labels, with any number of threads. */
int64_t sdm_optimize_bytes(const SdmOptimizer *how, int width, int height, int labels);

/* Right pixels' labels from the left ones: of the left pixels that meet a right pixel the one with the least
 * cost at its label; of equal ones the leftmost. */
void sdm_right_labels(SdmContext *ctx, const SdmVolume *v, const uint16_t *left, uint16_t *right);
