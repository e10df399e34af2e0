/* Thin interface of a compute device: OpenCL (through its ICD loader) or CUDA (driver API, opened at run
 * time).  One host-side orchestration stands over it.  Calls go into queues (0 or 1) and run in their order
 * there; only finish() and a blocking download wait.  Internal; not installed. */
#ifndef SDM_GPU_DEVICE_H
#define SDM_GPU_DEVICE_H

#include "core/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum SdmApi { SDM_API_OPENCL, SDM_API_CUDA, SDM_API_COUNT };
enum { SDM_QUEUES = 2, SDM_NAME_SIZE = 128, SDM_REASON_SIZE = 256 };

typedef struct SdmDeviceInfo {
    enum SdmApi api;
    int index;                   /* among those of the API */
    char name[SDM_NAME_SIZE], driver[SDM_NAME_SIZE];
    bool is_cpu;                 /* an OpenCL device that is the processor */
    int64_t memory_bytes, local_bytes;
    int units, max_group;        /* compute units; work items a group */
    char why_not[SDM_REASON_SIZE]; /* empty: it can run */
} SdmDeviceInfo;

typedef struct SdmDevice SdmDevice;
typedef struct SdmBuffer SdmBuffer;

/* Arguments of a kernel, in its order. */
enum SdmArgKind { SDM_ARG_BUFFER, SDM_ARG_INT, SDM_ARG_FLOAT, SDM_ARG_LONG };
typedef struct SdmArg {
    enum SdmArgKind kind;
    SdmBuffer *buffer; /* may be NULL: a null pointer */
    int64_t offset;    /* bytes into the buffer; a multiple of 128 */
    int32_t i;
    int64_t l;
    float f;
} SdmArg;
#define SDM_BUF(b) ((SdmArg){.kind = SDM_ARG_BUFFER, .buffer = (b)})
#define SDM_I32(v) ((SdmArg){.kind = SDM_ARG_INT, .i = (int32_t)(v)})
#define SDM_F32(v) ((SdmArg){.kind = SDM_ARG_FLOAT, .f = (v)})

/* Devices of an API, at most `most` of them; returns how many; none: `reason` says why. */
int sdm_devices(enum SdmApi api, SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE]);

SdmStatus sdm_device_open(SdmContext *ctx, enum SdmApi api, int index, SdmDevice **out);
void sdm_device_close(SdmDevice **device);
const SdmDeviceInfo *sdm_device_info(const SdmDevice *device);

SdmStatus sdm_buffer_new(SdmContext *ctx, SdmDevice *device, int64_t bytes, const char *what, SdmBuffer **out);
void sdm_buffer_free(SdmBuffer **buffer);

/* wait: return when the copy is done; else the host memory must stay until finish(). */
SdmStatus sdm_upload(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes, int queue,
                     bool wait);
SdmStatus sdm_download(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to, int64_t bytes, int queue,
                       bool wait);
SdmStatus sdm_fill_bytes(SdmContext *ctx, SdmBuffer *to, int64_t offset, uint8_t value, int64_t bytes, int queue);

/* Run kernel `name` over groups[0] x groups[1] x groups[2] groups of group[0] x group[1] x group[2] items. */
SdmStatus sdm_launch(SdmContext *ctx, SdmDevice *device, int queue, const char *name, const int groups[3],
                     const int group[3], int arg_count, const SdmArg *args);
SdmStatus sdm_finish(SdmContext *ctx, SdmDevice *device, int queue);
/* Seconds that the device spent between the first launch since the last call and now, by its own clock. */
SdmStatus sdm_device_seconds(SdmContext *ctx, SdmDevice *device, int queue, double *seconds);

#endif
