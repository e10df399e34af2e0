/* The words of gpu/portable.h in plain C: kernels become functions, which an item of a group runs as a
 * fiber.  Put before the kernels by the compiler's option -include. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMULATED_WORDS_H
#define SDM_SIMULATED_WORDS_H

#include "simulator.h"

#include <math.h>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef struct short4 {
    _Alignas(8) short x;
    short y, z, w;
} short4;
typedef struct float4 {
    _Alignas(16) float x;
    float y, z, w;
} float4;
typedef struct int4 {
    _Alignas(16) int x;
    int y, z, w;
} int4;
typedef struct uint4 {
    _Alignas(16) uint x;
    uint y, z, w;
} uint4;

typedef union SdmWord {
    int i;
    uint u;
    float f;
} SdmWord;
typedef union SdmLong {
    long l;
    double d;
} SdmLong;

#define KERNEL static void SDM_SIMULATED /* nothing; simulated_calls.py finds kernels by it */
#define GLOBAL
#define LOCAL static SDM_SIMULATED_LOCAL /* groups run one after the other: they share it */
#define IN_LOCAL
#define CONSTANT static const
#define GROUP_SIZE(x, y, z)
#define ANY_GROUP
#define ANY_GROUP_WIDE
#define GROUP_SIZE_FEW(x)
#define BARRIER() sdm_sim_barrier(__FILE__, __LINE__, false)
#define BARRIER_GLOBAL() sdm_sim_barrier(__FILE__, __LINE__, true)
#define ITEM(k) sdm_sim_item(k)
#define GROUP(k) sdm_sim_group(k)
#define ITEMS(k) sdm_sim_items(k)
#define FUNCTION __attribute__((unused)) static inline
#define POPCOUNT64(v) __builtin_popcountll(v)
#define POPCOUNT(v) __builtin_popcount(v)
#define LOCAL_EXCHANGE(p, v) ((__typeof__(*(p)))sdm_sim_exchange((p), (uint)(v)))
#define LOCAL_ADD(p, v) ((__typeof__(*(p)))sdm_sim_add((p), (uint)(v)))
#define LOCAL_MIN(p, v) sdm_sim_min((p), (v))
#define GLOBAL_MIN(p, v) sdm_sim_min((p), (v))
#define GLOBAL_EXCHANGE(p, v) ((__typeof__(*(p)))sdm_sim_exchange((p), (uint)(v)))
#define MIN16X2(a, b) sdm_min16x2((a), (b))
#define APART(a, b) ((uint)((a) > (b) ? (a) - (b) : (b) - (a)))
#define LEAST16X2(a, b, c) MIN16X2(MIN16X2((a), (b)), (c))
#define SUM_OR16X2(a, b, c) MIN16X2((((a)&0xffff0000u) + ((b)&0xffff0000u)) | (((a) + (b)) & 0xffffu), (c))
#define LEAST(a, b, c) sdm_least((a), (b), (c))
#define LEASTU(a, b, c) sdm_leastu((a), (b), (c))
#define BYTES_LOW(v) (((v)&0xffu) | ((v)&0xff00u) << 8)
#define BYTES_HIGH(v) (((v) >> 16 & 0xffu) | ((v) >> 8 & 0xff0000u))
#define BYTES_ODD(v) ((v) >> 8 & 0xff00ffu)
#define LOW_HALVES(a, b) (((a)&0xffffu) | (b) << 16)
#define HIGH_HALVES(a, b) ((a) >> 16 | ((b)&0xffff0000u))
#define FLOOR(v) floorf(v)
#define SQRT(v) sqrtf(v)
#define FABS(v) fabsf(v)
#define RINT(v) rintf(v)
#define AS_FLOAT(v) (((SdmWord){.i = (v)}).f)
#define AS_UINT(v) (((SdmWord){.f = (v)}).u)
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#define HAVE_DOUBLES 1
#define AS_DOUBLE(v) (((SdmLong){.l = (v)}).d)
#define UNROLL
#define NO_UNROLL

static inline uint sdm_min16x2(uint a, uint b)
{
    const uint low = (a & 0xffffu) < (b & 0xffffu) ? a & 0xffffu : b & 0xffffu;
    return (a >> 16 < b >> 16 ? a >> 16 : b >> 16) << 16 | low;
}

static inline int sdm_least(int a, int b, int c)
{
    const int d = a < b ? a : b;
    return d < c ? d : c;
}

static inline uint sdm_leastu(uint a, uint b, uint c)
{
    const uint d = a < b ? a : b;
    return d < c ? d : c;
}
#endif
