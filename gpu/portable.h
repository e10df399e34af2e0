/* One source for OpenCL C 1.2 and CUDA C++: kernels in gpu/ (*.cl) are written in the words below and
 * compiled twice.  Included first by every kernel file; in OpenCL its text is put before theirs. */
#ifndef SDM_GPU_PORTABLE_H
#define SDM_GPU_PORTABLE_H
#ifdef __CUDACC__
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong; /* as long, 64 bit on every system that we serve */
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL __shared__ /* arrays of a kernel's own scope */
#define CONSTANT __constant__ const
#define GROUP_SIZE(x, y, z) __launch_bounds__((x) * (y) * (z))
#define BARRIER() __syncthreads()
#define ITEM(k) ((int)((k) == 0 ? threadIdx.x : (k) == 1 ? threadIdx.y : threadIdx.z))
#define GROUP(k) ((int)((k) == 0 ? blockIdx.x : (k) == 1 ? blockIdx.y : blockIdx.z))
#define FUNCTION static __device__ inline
#define POPCOUNT64(v) __popcll(v)
#else
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel void
#define GLOBAL __global
#define LOCAL __local
#define CONSTANT __constant
#define GROUP_SIZE(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define ITEM(k) ((int)get_local_id(k))
#define GROUP(k) ((int)get_group_id(k))
#define FUNCTION static inline
#define POPCOUNT64(v) popcount(v)
#endif
#endif
