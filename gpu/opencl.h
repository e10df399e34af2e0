/* OpenCL through libOpenCL.so.1, opened at run time: functions and types of opencl*.c. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_OPENCL_H
#define SDM_GPU_OPENCL_H

#include "device_inside.h"
#include "opencl_api.h"

typedef struct SdmCl { /* SdmDevice.inside */
    SdmClApi api;
    ClHandle platform, device, context, program, queue[SDM_QUEUES];
    struct { /* events of launches, for the time */
        ClHandle first[SDM_STRETCHES], last[SDM_STRETCHES];
        int stretch;
    } clock[SDM_QUEUES];
    int kernel_count;
    struct {
        char name[64];
        ClHandle kernel;
    } kernel[SDM_MOST_KERNELS];
} SdmCl;

/* NULL, or why the loader cannot be used. */
const char *sdm_cl_load(SdmClApi *api);
const char *sdm_cl_error(int32_t code);
/* Device number `index` of all platforms. */
bool sdm_cl_find(const SdmClApi *api, int index, ClHandle *platform, ClHandle *device);
int sdm_cl_list(SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE]);
/* cl->program from the cache or from the source. */
SdmStatus sdm_cl_build(SdmContext *ctx, const SdmDeviceInfo *info, SdmCl *cl);

#endif
