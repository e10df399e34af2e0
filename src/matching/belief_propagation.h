/* Tiled belief propagation over the threads of the context: a field of costs -> labels, as cpu/bp.h defines
 * them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bp.h"
#include "core/core.h"

/* Label every pixel.  label: height x width.  The same labels for any number of threads and any cpu_level
 * (as --cpu-level).  Errors: SDM_ERR_USAGE with a sentence for settings out of range, SDM_ERR_UNSUPPORTED,
 * SDM_ERR_MEMORY, SDM_ERR_STOPPED. */
SdmStatus sdm_bp_run(SdmContext *ctx, const SdmBpField *f, const SdmBpPlan *plan, const char *cpu_level,
                     uint16_t *label);

/* Bytes that sdm_bp_run() takes beside field and labels: border messages and a tile for each
 * thread, with any number of them. */
int64_t sdm_bp_bytes(int width, int height, int labels, int tile);
