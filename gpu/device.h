/* Thin interface of a compute device: OpenCL (through its ICD loader) or CUDA (driver API), both opened at
 * run time.  Calls go into queues (0 or 1) and run in their
 * order there; only sdm_finish() and a copy with `wait` wait.  A device is used by one thread at a time.
 * Failures of the device are SDM_ERR_DEVICE, lack of its memory SDM_ERR_MEMORY.  Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_DEVICE_H
#define SDM_GPU_DEVICE_H

#include "core/core.h"
#include "tuning.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SDM_DRIVER_THERE "the NVIDIA driver" /* begins why a driver that is there has no device */
enum SdmApi { SDM_API_OPENCL, SDM_API_CUDA, SDM_API_COUNT };
enum { SDM_QUEUES = 2, SDM_STRETCHES = 8, SDM_NAME_SIZE = 128, SDM_REASON_SIZE = 256, SDM_MOST_DEVICES = 32 };

typedef struct SdmDeviceInfo {
    enum SdmApi api;
    int index; /* among those of the API */
    char name[SDM_NAME_SIZE], platform[SDM_NAME_SIZE], driver[SDM_NAME_SIZE];
    bool is_cpu; /* an OpenCL device that is the processor */
    bool exact;  /* rounds as the processor does: what a device that is listed claims; of one that is open,
                  * what its answers to a test show */
    bool divides; /* OpenCL: claims correctly rounded division and roots, which the program is then built
                   * with */
    char differs[32]; /* the first operation that an opened device rounds otherwise; "" */
    bool staged; /* large copies take page-locked memory: not where the device works in the host's memory */
    bool doubles; /* has doubles, rounded as the CPU's: steps that need them (gridding) can run there */
    int64_t memory_bytes, local_bytes, most_bytes; /* most_bytes: of one buffer */
    int units, max_group;                          /* compute units; work items a group */
    double clock_hz;                               /* the highest; 0: not known */
    char why_not[SDM_REASON_SIZE];                 /* why it cannot run; empty: it can */
} SdmDeviceInfo;

typedef struct SdmDevice SdmDevice;
typedef struct SdmBuffer SdmBuffer;

/* Arguments of a kernel, in its order and of its types: int, long, float or a pointer. */
enum SdmArgKind { SDM_ARG_BUFFER, SDM_ARG_INT, SDM_ARG_LONG, SDM_ARG_FLOAT };
typedef struct SdmArg {
    enum SdmArgKind kind;
    const SdmBuffer *buffer; /* may be NULL: a null pointer */
    int32_t i;
    int64_t l;
    float f;
} SdmArg;
#define SDM_BUF(b) ((SdmArg){.kind = SDM_ARG_BUFFER, .buffer = (b)})
#define SDM_I32(v) ((SdmArg){.kind = SDM_ARG_INT, .i = (int32_t)(v)})
#define SDM_I64(v) ((SdmArg){.kind = SDM_ARG_LONG, .l = (int64_t)(v)})
#define SDM_F32(v) ((SdmArg){.kind = SDM_ARG_FLOAT, .f = (v)})

const char *sdm_api_name(enum SdmApi api); /* "opencl", "cuda" */
/* Devices of an API, at most `most` of them; returns how many; none: `reason` says why. */
int sdm_devices(enum SdmApi api, SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE]);

/* Builds the kernels, or takes them from the cache, and tests the device's arithmetic: sdm_device_info() then
 * tells what the test found.  SDM_ERR_UNSUPPORTED says why the device cannot run, SDM_ERR_DEVICE that it
 * computes nonsense. */
SdmStatus sdm_device_open(SdmContext *ctx, enum SdmApi api, int index, SdmDevice **out);
/* Frees the buffers that are left, too.  Accepts pointer to NULL. */
void sdm_device_close(SdmDevice **device);
const SdmDeviceInfo *sdm_device_info(const SdmDevice *device);
/* Bytes that buffers may take together: 3/4 of the device's memory (where that is the machine's 1/2, and of a
 * graphics device at most half of the memory that the context may take), or the budget that was set; bytes in
 * use now; most bytes in use so far. */
int64_t sdm_device_budget(const SdmDevice *device);
void sdm_device_set_budget(SdmDevice *device, int64_t bytes);
/* The budget, or less where other programs have taken memory of the device: its part of what is left now. */
int64_t sdm_device_room(SdmDevice *device);
int64_t sdm_device_used(const SdmDevice *device);
/* Give back the memory of freed buffers, which is kept for those to come.  Returns whether a buffer found no
 * room since the last call because others had memory larger than they asked for: then the work may fit
 * now. */
bool sdm_device_trim(SdmDevice *device);
int64_t sdm_device_peak(const SdmDevice *device);
/* Sizes of launches: the row of the device's name, or the sizes that were set. */
const SdmTuning *sdm_device_tuning(const SdmDevice *device);
void sdm_device_set_tuning(SdmDevice *device, const SdmTuning *tuning);

/* Contents are undefined.  Memory of a freed buffer that is not much larger is taken first; kept memory
 * counts to the budget, and goes where there is no room.  `what` names it in the sentence of a failure. */
SdmStatus sdm_buffer_new(SdmContext *ctx, SdmDevice *device, int64_t bytes, const char *what,
                         SdmBuffer **out);
void sdm_buffer_free(SdmBuffer **buffer); /* accepts pointer to NULL; work in the queues is waited for */
int64_t sdm_buffer_bytes(const SdmBuffer *buffer);

/* wait: return when the copy is done; else the host memory must stay until sdm_finish().  Large copies go
 * through page-locked memory where the device asks for it (staging.h): a download then waits in any case. */
SdmStatus sdm_upload(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes,
                     int queue, bool wait);
SdmStatus sdm_download(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to, int64_t bytes,
                       int queue, bool wait);
SdmStatus sdm_fill_bytes(SdmContext *ctx, SdmBuffer *to, int64_t offset, uint8_t value, int64_t bytes,
                         int queue);

/* A kernel over groups[0] x groups[1] x groups[2] groups of group[0] x group[1] x group[2] items. */
typedef struct SdmLaunch {
    const char *name;
    int groups[3], group[3];
    int arg_count;
    const SdmArg *args;
} SdmLaunch;
SdmStatus sdm_launch(SdmContext *ctx, SdmDevice *device, int queue, const SdmLaunch *launch);
SdmStatus sdm_finish(SdmContext *ctx, SdmDevice *device, int queue);
/* Seconds by the device's own clock from the start of the first launch since the last call to the end of the
 * last one, without pauses; waits for it.  0 without launches. */
SdmStatus sdm_device_seconds(SdmContext *ctx, SdmDevice *device, int queue, double *seconds);

/* The queue may run dry now, since the host has to copy: that clock stands still from the end of the last
 * launch to the start of the next.  After SDM_STRETCHES of them it no longer does. */
SdmStatus sdm_device_pause(SdmContext *ctx, SdmDevice *device, int queue);

/* Tests: devices that are opened from now on have a budget of at most that many bytes; 0 = as they are. */
void sdm_device_limit_budget(int64_t bytes);
/* Tests: devices that are opened from now on have no doubles; false = as they are. */
void sdm_device_deny_doubles(bool deny);
/* Tests: devices that are opened from now on copy through page-locked memory, whatever they are. */
void sdm_device_stage_always(bool always);
/* Tests: let the n-th call from now that works on a device fail (n >= 1; 0 = never), with status st, and when
 * it lasts all that follow. */
void sdm_device_fail_at(int64_t n, SdmStatus st, bool lasts);

#endif
