/* Functions of the reference kernels that several of their files call; SdmKernels (kernels.h) says what each
 * does. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_REFERENCE_H
#define SDM_REFERENCE_H

#include "kernels.h"

sdm_cost_scratch_fn sdm_reference_cost_scratch;
sdm_cost_strip_fn sdm_reference_zncc, sdm_reference_census;
sdm_pick_row_fn sdm_reference_pick_row;
sdm_update_row_fn sdm_reference_update_row;

#endif
