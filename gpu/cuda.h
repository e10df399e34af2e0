/* CUDA through libcuda.so.1, opened at run time: functions and types of cuda.c and cuda_list.c. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_CUDA_H
#define SDM_GPU_CUDA_H

#include "cuda_api.h"
#include "device_inside.h"

/* NULL, or why the driver cannot be used. */
const char *sdm_cu_load(SdmCuApi *api);
const char *sdm_cu_error(const SdmCuApi *api, CuResult code);
int sdm_cu_list(SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE]);

#endif
