/* The part of CUDA's driver API that we use, declared here and opened at run time, so that neither
 * headers nor libraries of CUDA are needed to build.  Names and values are those of NVIDIA's CUDA driver
 * API reference. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_CUDA_API_H
#define SDM_GPU_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t CuResult, CuDevice;
typedef struct CuObject CuObject; /* context, module, function, stream, event */
typedef CuObject *CuHandle;
typedef uint64_t CuPointer; /* device memory */

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
};
enum {
    CU_MAX_THREADS_PER_BLOCK = 1,
    CU_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_CLOCK_RATE = 13, /* kHz */
    CU_MULTIPROCESSOR_COUNT = 16,
    CU_INTEGRATED = 18, /* it works in the memory of the host */
    CU_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_COMPUTE_CAPABILITY_MINOR = 76
};
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2 };

/* Every function: its symbol in the library without "cu", our name, arguments. */
#define SDM_CU_FUNCTIONS(F)                                                                                  \
    F("cuInit", Init, (unsigned))                                                                            \
    F("cuDriverGetVersion", DriverGetVersion, (int *))                                                       \
    F("cuGetErrorString", GetErrorString, (CuResult, const char **))                                         \
    F("cuDeviceGetCount", DeviceGetCount, (int *))                                                           \
    F("cuDeviceGet", DeviceGet, (CuDevice *, int))                                                           \
    F("cuDeviceGetName", DeviceGetName, (char *, int, CuDevice))                                             \
    F("cuDeviceTotalMem_v2", DeviceTotalMem, (size_t *, CuDevice))                                           \
    F("cuDeviceGetAttribute", DeviceGetAttribute, (int *, int, CuDevice))                                    \
    F("cuDevicePrimaryCtxRetain", DevicePrimaryCtxRetain, (CuHandle *, CuDevice))                            \
    F("cuDevicePrimaryCtxRelease_v2", DevicePrimaryCtxRelease, (CuDevice))                                   \
    F("cuCtxPushCurrent_v2", CtxPushCurrent, (CuHandle))                                                     \
    F("cuCtxPopCurrent_v2", CtxPopCurrent, (CuHandle *))                                                     \
    F("cuMemGetInfo_v2", MemGetInfo, (size_t *, size_t *))                                                   \
    F("cuModuleLoadData", ModuleLoadData, (CuHandle *, const void *))                                        \
    F("cuModuleUnload", ModuleUnload, (CuHandle))                                                            \
    F("cuModuleGetFunction", ModuleGetFunction, (CuHandle *, CuHandle, const char *))                        \
    F("cuStreamCreate", StreamCreate, (CuHandle *, unsigned))                                                \
    F("cuStreamDestroy_v2", StreamDestroy, (CuHandle))                                                       \
    F("cuStreamSynchronize", StreamSynchronize, (CuHandle))                                                  \
    F("cuMemAlloc_v2", MemAlloc, (CuPointer *, size_t))                                                      \
    F("cuMemFree_v2", MemFree, (CuPointer))                                                                  \
    F("cuMemHostAlloc", MemHostAlloc, (void **, size_t, unsigned))                                           \
    F("cuMemFreeHost", MemFreeHost, (void *))                                                                \
    F("cuMemcpyHtoDAsync_v2", MemcpyHtoDAsync, (CuPointer, const void *, size_t, CuHandle))                  \
    F("cuMemcpyDtoHAsync_v2", MemcpyDtoHAsync, (void *, CuPointer, size_t, CuHandle))                        \
    F("cuMemsetD8Async", MemsetD8Async, (CuPointer, unsigned char, size_t, CuHandle))                        \
    F("cuLaunchKernel", LaunchKernel,                                                                        \
      (CuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuHandle, void **,    \
       void **))                                                                                             \
    F("cuEventCreate", EventCreate, (CuHandle *, unsigned))                                                  \
    F("cuEventDestroy_v2", EventDestroy, (CuHandle))                                                         \
    F("cuEventRecord", EventRecord, (CuHandle, CuHandle))                                                    \
    F("cuEventSynchronize", EventSynchronize, (CuHandle))                                                    \
    F("cuEventElapsedTime", EventElapsedTime, (float *, CuHandle, CuHandle))

typedef struct SdmCuApi {
    void *library;
#define SDM_CU_MEMBER(symbol, name, arguments) CuResult(*name) arguments;
    SDM_CU_FUNCTIONS(SDM_CU_MEMBER)
#undef SDM_CU_MEMBER
} SdmCuApi;

#endif
