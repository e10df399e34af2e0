/* Optimizers on a device: a volume of costs -> labels, those of sdm_sgm() and sdm_bp_run() bit for bit.
 * Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_OPTIMIZE_DEVICE_H
#define SDM_OPTIMIZE_DEVICE_H

#include "launch.h"
#include "matching/optimize.h"

/* Costs on the device: rows x blocks x width x 16 bytes, block b of a pixel its labels 16 b .. 16 b + 15 (255
 * where there is none).  See SdmVolume. */
typedef struct SdmGpuVolume {
    int width, rows, labels;
    int first, most, guide_scale;
    SdmBuffer *cost;
    SdmBuffer *guide; /* int16, rows x width; NULL where guide_scale is 0 */
} SdmGpuVolume;
int64_t sdm_gpu_volume_row(int width, int labels); /* bytes of a row */

/* The rows of one volume of sdm_optimize(): top..bottom - 1, of which begin..end - 1 are wanted.  Their
 * labels are written from row `out` on; bands lie one behind the other there. */
typedef struct SdmGpuBand {
    int32_t top, begin, end, bottom, out;
} SdmGpuBand;

typedef struct SdmGpuLabels {
    SdmBuffer *left;  /* uint16: labels of the wanted rows of all bands */
    SdmBuffer *right; /* uint32: of the right pixels cost << 16 | 65535 - label, all ones where no label meets
                         it; NULL = not asked for */
} SdmGpuLabels;

/* Label the bands, SDM_SGM_BAND x 2 rows high or any other height, by how->kind (not local).  At least one
 * band.  Errors: those of the device, SDM_ERR_STOPPED. */
SdmStatus sdm_gpu_optimize(SdmContext *ctx, SdmGpu *g, const SdmOptimizer *how, const SdmGpuVolume *v,
                           const SdmGpuBand *bands, int count, const SdmGpuLabels *out);

/* Rows y0..y1 - 1 of which each band has `rows`, the last one what is left. */
typedef struct SdmGpuOwnRows {
    int y0, y1, rows;
    const SdmGpuBand *bands;
} SdmGpuOwnRows;
/* Add both sums of the energy of the bands' labels (uint16) of their own rows: see sdm_volume_energy();
 * waits. */
SdmStatus sdm_gpu_bp_energy(SdmContext *ctx, SdmGpu *g, const SdmOptimizer *how, const SdmGpuVolume *v,
                            SdmGpuOwnRows own, SdmBuffer *label, int64_t sums[2]);

/* Bands over the rows `own` of an image of `height` rows, wanted with `reach` rows on each side and looked at
 * with SDM_OVERLAP more than their own; rows of the volume begin at `origin`.  Returns how many (*rows_out:
 * rows that come out); bands = NULL: only counts. */
int sdm_gpu_bands(SdmGpuOwnRows own, int height, int reach, int origin, SdmGpuBand *bands, int *rows_out);
/* Bytes that bands may take for their work on this device, though at least one always does. */
int64_t sdm_gpu_optimize_room(const SdmGpu *g);

#endif
