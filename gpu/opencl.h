/* OpenCL through libOpenCL.so.1, opened at run time: functions and types of opencl*.c. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_OPENCL_H
#define SDM_GPU_OPENCL_H

#include "device_inside.h"
#include "opencl_api.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SDM_CL_PROGRAMS = 9 };

/* Shared by all users of an open device: a context, and programs in it. */
typedef struct SdmClShared {
    SdmClApi api;
    ClHandle platform, device, context;
    pthread_mutex_t building;
    ClHandle program[SDM_CL_PROGRAMS]; /* NULL: not built yet; behind `building` */
    atomic_bool lost; /* a call failed: who opens the device from now on has a context of his own */
    int users;
    struct SdmClShared *next;
} SdmClShared;

typedef struct SdmCl { /* SdmDevice.inside */
    SdmClApi api;
    SdmClShared *shared;
    ClHandle device, context, queue[SDM_QUEUES]; /* the first two are those of `shared` */
    struct { /* events of launches, for the time */
        ClHandle first[SDM_STRETCHES], last[SDM_STRETCHES];
        int stretch;
    } clock[SDM_QUEUES];
    int kernel_count;
    struct {
        char name[64];
        ClHandle kernel;
        size_t most_items; /* of a group that the device can run; 0: the kernel has a size of its own */
    } kernel[SDM_MOST_KERNELS];
} SdmCl;

/* NULL, or why the loader cannot be used. */
const char *sdm_cl_load(SdmClApi *api);
const char *sdm_cl_error(int32_t code);
/* Device number `index` of all platforms. */
bool sdm_cl_find(const SdmClApi *api, int index, ClHandle *platform, ClHandle *device);
int sdm_cl_list(SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE]);
/* The context of a device: the one that others have open, else a new one; `code` is OpenCL's error where
 * there is none.  Each call that succeeds is followed by one of sdm_cl_leave(); the last of them frees it. */
SdmStatus sdm_cl_join(SdmContext *ctx, const SdmDeviceInfo *info, SdmClShared **out, int32_t *code);
void sdm_cl_leave(SdmClShared *shared); /* accepts NULL */
/* The program that has a kernel, from the cache or from its source where it is asked for first.  Drivers take
 * seconds for all kernels, and a run needs a third of them. */
SdmStatus sdm_cl_program_of(SdmContext *ctx, const SdmDeviceInfo *info, SdmClShared *shared,
                            const char *kernel, ClHandle *out);

#endif
