/* The part of OpenCL 1.2 that we use, declared here and opened at run time, so that no SDK is needed to
 * build.  Names and values are those of the specification (Khronos, OpenCL 1.2). */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_OPENCL_API_H
#define SDM_GPU_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct ClObject ClObject; /* every handle: platform, device, context, queue, buffer, program ... */
typedef ClObject *ClHandle;
typedef uint64_t ClBits;

enum {
    CL_OK = 0,
    CL_DEVICE_NOT_AVAILABLE = -2,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_WORK_GROUP_SIZE = -54,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_PLATFORM_NOT_FOUND_KHR = -1001
};
enum {
    CL_PLATFORM_NAME = 0x0902,
    CL_CONTEXT_PLATFORM = 0x1084,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_PROFILE = 0x102E,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283
};
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)
#define CL_DEVICE_TYPE_CPU UINT64_C(2)
#define CL_FP_DENORM UINT64_C(1)
#define CL_FP_INF_NAN UINT64_C(2)
#define CL_FP_ROUND_TO_NEAREST UINT64_C(4)
#define CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT UINT64_C(128)
#define CL_QUEUE_PROFILING_ENABLE UINT64_C(2)
#define CL_MEM_READ_WRITE UINT64_C(1)
#define CL_MEM_ALLOC_HOST_PTR UINT64_C(16)
#define CL_MAP_READ UINT64_C(1)
#define CL_MAP_WRITE UINT64_C(2)

/* Every function: result, name, arguments. */
#define SDM_CL_FUNCTIONS(F)                                                                                  \
    F(int32_t, GetPlatformIDs, (uint32_t, ClHandle *, uint32_t *))                                           \
    F(int32_t, GetPlatformInfo, (ClHandle, uint32_t, size_t, void *, size_t *))                              \
    F(int32_t, GetDeviceIDs, (ClHandle, ClBits, uint32_t, ClHandle *, uint32_t *))                           \
    F(int32_t, GetDeviceInfo, (ClHandle, uint32_t, size_t, void *, size_t *))                                \
    F(ClHandle, CreateContext, (const intptr_t *, uint32_t, const ClHandle *, void *, void *, int32_t *))    \
    F(int32_t, ReleaseContext, (ClHandle))                                                                   \
    F(ClHandle, CreateCommandQueue, (ClHandle, ClHandle, ClBits, int32_t *))                                 \
    F(int32_t, ReleaseCommandQueue, (ClHandle))                                                              \
    F(ClHandle, CreateProgramWithSource, (ClHandle, uint32_t, const char **, const size_t *, int32_t *))     \
    F(ClHandle, CreateProgramWithBinary,                                                                     \
      (ClHandle, uint32_t, const ClHandle *, const size_t *, const unsigned char **, int32_t *, int32_t *))  \
    F(int32_t, BuildProgram, (ClHandle, uint32_t, const ClHandle *, const char *, void *, void *))           \
    F(int32_t, GetProgramBuildInfo, (ClHandle, ClHandle, uint32_t, size_t, void *, size_t *))                \
    F(int32_t, GetProgramInfo, (ClHandle, uint32_t, size_t, void *, size_t *))                               \
    F(int32_t, ReleaseProgram, (ClHandle))                                                                   \
    F(ClHandle, CreateKernel, (ClHandle, const char *, int32_t *))                                           \
    F(int32_t, ReleaseKernel, (ClHandle))                                                                    \
    F(int32_t, GetKernelWorkGroupInfo, (ClHandle, ClHandle, uint32_t, size_t, void *, size_t *))             \
    F(int32_t, SetKernelArg, (ClHandle, uint32_t, size_t, const void *))                                     \
    F(ClHandle, CreateBuffer, (ClHandle, ClBits, size_t, void *, int32_t *))                                 \
    F(int32_t, ReleaseMemObject, (ClHandle))                                                                 \
    F(int32_t, EnqueueWriteBuffer,                                                                           \
      (ClHandle, ClHandle, uint32_t, size_t, size_t, const void *, uint32_t, const ClHandle *, ClHandle *))  \
    F(int32_t, EnqueueReadBuffer,                                                                            \
      (ClHandle, ClHandle, uint32_t, size_t, size_t, void *, uint32_t, const ClHandle *, ClHandle *))        \
    F(int32_t, EnqueueFillBuffer,                                                                            \
      (ClHandle, ClHandle, const void *, size_t, size_t, size_t, uint32_t, const ClHandle *, ClHandle *))    \
    F(void *, EnqueueMapBuffer,                                                                              \
      (ClHandle, ClHandle, uint32_t, ClBits, size_t, size_t, uint32_t, const ClHandle *, ClHandle *,         \
       int32_t *))                                                                                           \
    F(int32_t, EnqueueUnmapMemObject, (ClHandle, ClHandle, void *, uint32_t, const ClHandle *, ClHandle *))  \
    F(int32_t, EnqueueMarkerWithWaitList, (ClHandle, uint32_t, const ClHandle *, ClHandle *))                \
    F(int32_t, WaitForEvents, (uint32_t, const ClHandle *))                                                  \
    F(int32_t, EnqueueNDRangeKernel,                                                                         \
      (ClHandle, ClHandle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,               \
       const ClHandle *, ClHandle *))                                                                        \
    F(int32_t, GetEventProfilingInfo, (ClHandle, uint32_t, size_t, void *, size_t *))                        \
    F(int32_t, ReleaseEvent, (ClHandle))                                                                     \
    F(int32_t, Flush, (ClHandle))                                                                            \
    F(int32_t, Finish, (ClHandle))

typedef struct SdmClApi {
    void *library;
#define SDM_CL_MEMBER(result, name, arguments) result(*name) arguments;
    SDM_CL_FUNCTIONS(SDM_CL_MEMBER)
#undef SDM_CL_MEMBER
} SdmClApi;

#endif
