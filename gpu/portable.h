/* One source for OpenCL C 1.2 and CUDA C++: kernels in gpu/ (*.cl) are written in the words below and
 * compiled twice.  Included first by every kernel file; in OpenCL its text is put before theirs.  Single
 * operations are rounded as on the processor: no contraction here, division and square root by the compilers'
 * options. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_PORTABLE_H
#define SDM_GPU_PORTABLE_H
#ifdef __CUDACC__
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong; /* as long, 64 bit on every system that we serve */
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL __shared__      /* arrays of a kernel's own scope */
#define IN_LOCAL              /* pointers to them */
#define CONSTANT __constant__ const
#define GROUP_SIZE(x, y, z) __launch_bounds__((x) * (y) * (z))
#define ANY_GROUP __launch_bounds__(256) /* its size is that of the launch, see tuning.h */
#define ANY_GROUP_WIDE __launch_bounds__(256, 2) /* and registers enough: ptxas would rather spill one */
#define GROUP_SIZE_FEW(x) __launch_bounds__((x), 4) /* registers before occupancy */
#define BARRIER() __syncthreads()
#define ITEM(k) ((int)((k) == 0 ? threadIdx.x : (k) == 1 ? threadIdx.y : threadIdx.z))
#define GROUP(k) ((int)((k) == 0 ? blockIdx.x : (k) == 1 ? blockIdx.y : blockIdx.z))
#define ITEMS(k) ((int)((k) == 0 ? blockDim.x : (k) == 1 ? blockDim.y : blockDim.z))
#define FUNCTION static __device__ __forceinline__
#define POPCOUNT64(v) __popcll(v)
#define POPCOUNT(v) __popc(v)
#define LOCAL_EXCHANGE(p, v) atomicExch((p), (v))
#define LOCAL_ADD(p, v) atomicAdd((p), (v))
#define LOCAL_MIN(p, v) atomicMin((p), (v))
#define GLOBAL_MIN(p, v) atomicMin((p), (v))
#define GLOBAL_EXCHANGE(p, v) atomicExch((p), (v))
#define BARRIER_GLOBAL() __syncthreads() /* what the group has written anywhere is seen by all of it */
#define MIN16X2(a, b) __vminu2((a), (b)) /* of both halves of a word */
#define APART(a, b) __sad((a), (b), 0u) /* |a - b|; written as below it takes more registers than sm_120
                                         * has */
#if __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900 /* no minima of whole halves: positive floats of 16 bits have
                                                 * their order */
static __device__ __forceinline__ uint sdm_lesser16x2(uint a, uint b)
{
    uint c;
    asm("min.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
    return c;
}
#define LEAST16X2(a, b, c) sdm_lesser16x2(sdm_lesser16x2((a), (b)), (c))
#define SUM_OR16X2(a, b, c) sdm_lesser16x2((a) + (b), (c))
#else
#define LEAST16X2(a, b, c) __vimin3_u16x2((a), (b), (c)) /* of halves below 0x7c00 */
#define SUM_OR16X2(a, b, c) __viaddmin_u16x2((a), (b), (c)) /* the less of a + b and c, all below 0x7c00 */
#endif
#define LEAST(a, b, c) __vimin3_s32((a), (b), (c))
#define LEASTU(a, b, c) __vimin3_u32((a), (b), (c))
#define BYTES_LOW(v) __byte_perm((v), 0, 0x4140) /* bytes 0 and 1, bytes 2 and 3, as halves of a word */
#define BYTES_HIGH(v) __byte_perm((v), 0, 0x4342)
#define BYTES_ODD(v) __byte_perm((v), 0, 0x4341) /* bytes 1 and 3 */
#define LOW_HALVES(a, b) __byte_perm((a), (b), 0x5410) /* of a and b */
#define HIGH_HALVES(a, b) __byte_perm((a), (b), 0x7632)
#define FLOOR(v) floorf(v)
#define SQRT(v) sqrtf(v)
#define FABS(v) fabsf(v)
#define RINT(v) rintf(v)
#define AS_FLOAT(v) __int_as_float(v)
#define AS_UINT(v) __float_as_uint(v)
#define LESSER(a, b) fminf((a), (b)) /* of two numbers */
#define HAVE_DOUBLES 1
#define AS_DOUBLE(v) __longlong_as_double(v)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#elif !defined(SDM_SIMULATOR) /* whose words are in tests/simulator/simulated_words.h */
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel void
#define GLOBAL __global
#define LOCAL __local
#define IN_LOCAL __local
#define CONSTANT __constant
#define GROUP_SIZE(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#define ANY_GROUP
#define ANY_GROUP_WIDE
#define GROUP_SIZE_FEW(x) __attribute__((reqd_work_group_size(x, 1, 1)))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define ITEM(k) ((int)get_local_id(k))
#define GROUP(k) ((int)get_group_id(k))
#define ITEMS(k) ((int)get_local_size(k))
#define FUNCTION static inline
#define POPCOUNT64(v) ((int)popcount(v))
#define POPCOUNT(v) ((int)popcount(v))
#define LOCAL_EXCHANGE(p, v) atomic_xchg((p), (v))
#define LOCAL_ADD(p, v) atomic_add((p), (v))
#define LOCAL_MIN(p, v) atomic_min((p), (v))
#define GLOBAL_MIN(p, v) atomic_min((p), (v))
#define GLOBAL_EXCHANGE(p, v) atomic_xchg((p), (v))
#define BARRIER_GLOBAL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define MIN16X2(a, b) as_uint(min(as_ushort2(a), as_ushort2(b)))
#define APART(a, b) ((uint)((a) > (b) ? (a) - (b) : (b) - (a)))
#define LEAST16X2(a, b, c) MIN16X2(MIN16X2((a), (b)), (c))
#define SUM_OR16X2(a, b, c) as_uint(min(as_ushort2(a) + as_ushort2(b), as_ushort2(c)))
#define LEAST(a, b, c) min(min((a), (b)), (c))
#define LEASTU(a, b, c) min(min((a), (b)), (c))
#define BYTES_LOW(v) (((v) & 0xffu) | ((v) & 0xff00u) << 8)
#define BYTES_HIGH(v) (((v) >> 16 & 0xffu) | ((v) >> 8 & 0xff0000u))
#define BYTES_ODD(v) ((v) >> 8 & 0xff00ffu)
#define LOW_HALVES(a, b) (((a) & 0xffffu) | (b) << 16)
#define HIGH_HALVES(a, b) ((a) >> 16 | ((b) & 0xffff0000u))
#define FLOOR(v) floor(v)
#define SQRT(v) sqrt(v)
#define FABS(v) fabs(v)
#define RINT(v) rint(v)
#define AS_FLOAT(v) as_float(v)
#define AS_UINT(v) as_uint(v)
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#ifdef cl_khr_fp64 /* kernels that need them stand inside #ifdef HAVE_DOUBLES */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HAVE_DOUBLES 1
#define AS_DOUBLE(v) as_double(v)
#endif
#define UNROLL _Pragma("unroll") /* arrays that are indexed by the loops stay in registers */
#define NO_UNROLL _Pragma("nounroll")
#endif

#define PLACE(k) (GROUP(k) * ITEMS(k) + ITEM(k)) /* of an item among all */

#define PIXEL_NODATA (-32768)
#define SCORE_NONE (-2.0f)
/* Reasons of core/qa_reasons.h. */
#define QA_VALID 1
#define QA_FILLED 2
#define QA_MASKED 2048 /* SDM_PIXEL_MASKED */
#define QA_CELL_MASKED 8192
#define QA_ASIDE 16384
#define QA_OUTSIDE 4
#define QA_SATURATED 8
#define QA_TEXTURELESS 16
#define QA_LOW_SCORE 32
#define QA_AMBIGUOUS 64
#define QA_LEFT_RIGHT 128
#define QA_RAY_ERROR 256
#define QA_ISOLATED 512
#define QA_FOLD 1024
#define QA_SPARSE 2048

FUNCTION int clamp_index(int v, int count)
{
    return v < 0 ? 0 : v >= count ? count - 1 : v;
}

/* v kept within lo..hi; lo where it is not a number. */
FUNCTION float between(float v, float lo, float hi)
{
    const float w = v > lo ? v : lo;
    return w < hi ? w : hi;
}
#endif
