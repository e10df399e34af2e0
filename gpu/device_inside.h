/* The table of functions of a back end of device.c, and the devices and buffers that they work on.  The part
 * of a call that is common to all back ends (budget, limits, faults for tests) is done once, in device.c. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_DEVICE_INSIDE_H
#define SDM_GPU_DEVICE_INSIDE_H

#include "device.h"
#include "staging.h"

typedef struct SdmBackEnd {
    int (*list)(SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE]);
    SdmStatus (*open)(SdmContext *ctx, SdmDevice *d); /* d->info is set */
    void (*close)(SdmDevice *d);
    SdmStatus (*take)(SdmContext *ctx, SdmBuffer *b, const char *what);
    void (*give)(SdmBuffer *b);
    SdmStatus (*upload)(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes,
                        int queue, bool wait);
    SdmStatus (*download)(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to, int64_t bytes,
                          int queue, bool wait);
    SdmStatus (*fill)(SdmContext *ctx, SdmBuffer *to, int64_t offset, uint8_t value, int64_t bytes,
                      int queue);
    SdmStatus (*launch)(SdmContext *ctx, SdmDevice *d, int queue, const SdmLaunch *launch);
    SdmStatus (*finish)(SdmContext *ctx, SdmDevice *d, int queue);
    SdmStatus (*pause)(SdmContext *ctx, SdmDevice *d, int queue);
    SdmStatus (*seconds)(SdmContext *ctx, SdmDevice *d, int queue, double *seconds);
    /* Bytes of the device's memory that nobody has taken; < 0, or no such function: not known. */
    int64_t (*left)(SdmDevice *d);
    bool keeps_nothing; /* memory of freed buffers is given back: a simulator finds what lies beyond a
                         * buffer */
    /* Page-locked memory: s->data, s->handle.  A failure leaves no sentence. */
    SdmStatus (*lock)(SdmDevice *d, int64_t bytes, SdmStaging *s);
    void (*unlock)(SdmDevice *d, SdmStaging *s);
    /* Put *mark (made when it is NULL) behind the work in the queue; wait for it; delete it. */
    SdmStatus (*mark)(SdmContext *ctx, SdmDevice *d, int queue, void **mark);
    SdmStatus (*await)(SdmContext *ctx, SdmDevice *d, void *mark);
    void (*forget)(SdmDevice *d, void *mark);
} SdmBackEnd;

struct SdmDevice {
    const SdmBackEnd *back_end;
    SdmDeviceInfo info;
    int64_t budget, used, peak; /* bytes; used: of the buffers in use */
    int64_t kept_bytes;         /* of the freed ones that are kept; used + kept_bytes never exceeds peak */
    bool wasteful; /* a buffer found no room while others were larger than asked for */
    int64_t whole;              /* the budget that it was opened with, of which others may have a part */
    SdmTuning tuning;
    SdmBuffer *first, *kept;    /* buffers in use, and freed ones for the next to come: lists */
    SdmStaging stage;
    void *inside;               /* of the back end */
};

struct SdmBuffer {
    SdmDevice *device;
    int64_t bytes, room; /* asked for, and of the memory */
    void *handle; /* cl_mem or CUdeviceptr */
    SdmBuffer *before, *after;
};

enum { SDM_MOST_ARGS = 48, SDM_MOST_KERNELS = 128 };

extern const SdmBackEnd sdm_opencl, sdm_cuda;

/* Tests: the back end of an API from now on; NULL: its own. */
void sdm_device_stand_in(enum SdmApi api, const SdmBackEnd *back_end);

/* The kernels, embedded when the program was built, as a fatbin for CUDA.  For OpenCL: opencl_build.c. */
extern const unsigned char sdm_kernels_fatbin[];

/* sdm_device_open() without the test of the device's arithmetic (known_answers.c). */
SdmStatus sdm_device_open_untested(SdmContext *ctx, enum SdmApi api, int index, SdmDevice **out);

#endif
