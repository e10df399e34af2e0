/* Vectors of SDM_VEC 32-bit lanes, vi (int32) and vf (float), and masks of lanes, vm: the same names for
 * AVX-512 (16 lanes), AVX2 (8), SSE4.2 and NEON (8, by two vectors) and the compiler's vectors (4, on any
 * processor).  Operations are named type_operation; most say what they do.  simd.h adds lanes of 8 and 16
 * bits, for which vectors of SSE4.2 and NEON are single ones (SDM_SINGLE) and those of AVX2 may be two
 * (SDM_PAIR_WIDE).  The others:
 *
 * - sel: a where the mask is set, else b; only: a there, else 0; negative: mask of the sign bit, for sel
 *   alone; shift: lanes k.. of cur, then of next; k is a constant, 0 < k < SDM_VEC
 *
 * - madd: sum of both products of the 16-bit halves; dot: the same added to `sum`; mul16: products of the
 *   16-bit halves, modulo 2^16; differ16: |a - b| of 16-bit halves
 *
 * - trunc, round, down: to an integer, towards 0, to the nearest, even ones of two, and to the next below;
 *   from: to a float
 *
 * - vf_min, vf_max: a where it is the smaller, the larger one, else b; vf_max also where a is NaN
 *
 * - gather: of memory, those at `at`; near: the same for 0 <= at < 2 SDM_VEC
 *
 * - load_u8, load_u16, load_i16: SDM_VEC numbers of memory, widened; store_u8, store_u16: their low bits */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_VEC_H
#define SDM_VEC_H

#include <math.h>
#include <stdint.h>

#define VEC static inline __attribute__((always_inline, unused))

#if defined(SDM_PAIR_WIDE)
#include "simd_avx2_wide.h"
#elif defined(__AVX512BW__)
#include <immintrin.h>
#define SDM_VEC 16
typedef __m512i vi;
typedef __m512 vf;
typedef __mmask16 vm;
#define V_(f) _mm512_##f
#define SI_(f) _mm512_##f##_si512
#define vf_gt(a, b) _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ)
#define vf_ge(a, b) _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ)
#define vf_negative(a) _mm512_movepi32_mask(_mm512_castps_si512(a))
#define vi_eq(a, b) _mm512_cmpeq_epi32_mask(a, b)
#define vi_gt(a, b) _mm512_cmpgt_epi32_mask(a, b)
#define vm_and(a, b) _kand_mask16(a, b)
#define vm_none(a) ((a) == 0)
#define vf_sel(m, a, b) _mm512_mask_blend_ps(m, b, a)
#define vi_sel(m, a, b) _mm512_mask_blend_epi32(m, b, a)
#define vf_only(m, a) _mm512_maskz_mov_ps(m, a)
#define vi_only(m, a) _mm512_maskz_mov_epi32(m, a)
#define vf_floor(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define vf_abs(a) _mm512_abs_ps(a)
#define vi_shift(cur, next, k) _mm512_alignr_epi32(next, cur, k)
#define vf_gather(p, at) _mm512_i32gather_ps(at, p, 4)
#define vi_down(a) _mm512_cvt_roundps_epi32(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define vf_near(p, at) _mm512_permutex2var_ps(vf_load(p), at, vf_load((p) + 16))
#define vi_load_i16(p) _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define vi_load_u8(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define vi_load_u16(p) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define vi_store_u8(p, a) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8(a)) /* low bits */
#define vi_store_u16(p, a) _mm256_storeu_si256((__m256i *)(void *)(p), _mm512_cvtepi32_epi16(a))
#elif defined(SDM_SINGLE) && !defined(__AVX2__) && (defined(__SSE4_2__) || defined(SDM_SIMDE))
#include "sse42.h"
#define SDM_VEC 4
typedef __m128i vi;
typedef __m128 vf;
#define V_(f) _mm_##f
#define SI_(f) _mm_##f##_si128
#elif defined(__AVX2__) || defined(__SSE4_2__) || defined(SDM_SIMDE)
#ifdef __AVX2__
#include <immintrin.h>
#define vf_negative(a) (a) /* blends look at the sign bit alone */
#define vf_near(p, at)                                                                                       \
    vf_sel(_mm256_castsi256_ps(_mm256_slli_epi32(at, 28)), _mm256_permutevar8x32_ps(vf_load((p) + 8), at),   \
           _mm256_permutevar8x32_ps(vf_load(p), at))
#else
#include "two_of_four.h"
#define vf_negative(a) _mm256_castsi256_ps(_mm256_srai_epi32(_mm256_castps_si256(a), 31))
#endif
#if defined(__AVX2__) &&                                                                                     \
    defined(__clang__) /* it would narrow masks that are combined to single bits, and widen them again */
VEC __m256 mask_kept(__m256 m)
{
    __asm__("" : "+x"(m));
    return m;
}
#else
#define mask_kept(m) (m)
#endif
#define vf_gt(a, b) mask_kept(_mm256_cmp_ps(a, b, _CMP_GT_OQ))
#define vf_ge(a, b) mask_kept(_mm256_cmp_ps(a, b, _CMP_GE_OQ))
#define SDM_VEC 8
typedef __m256i vi;
typedef __m256 vf;
typedef __m256 vm;
#define V_(f) _mm256_##f
#define SI_(f) _mm256_##f##_si256
#define vi_eq(a, b) _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))
#define vi_gt(a, b) _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b))
#define vm_and(a, b) mask_kept(_mm256_and_ps(a, b))
#define vm_none(a) (_mm256_movemask_ps(a) == 0)
#if defined(__AVX2__) && !defined(__clang__)
/* GCC turns the intrinsic into a comparison of the mask with 0, which is an instruction of its own where a
 * mask is used twice. */
VEC __m256 vf_sel(__m256 m, __m256 a, __m256 b)
{
    __m256 out;
    __asm__("vblendvps %3, %2, %1, %0" : "=x"(out) : "x"(b), "xm"(a), "x"(m));
    return out;
}
#else
#define vf_sel(m, a, b) _mm256_blendv_ps(b, a, m)
#endif
#define vi_sel(m, a, b) _mm256_castps_si256(vf_sel(m, _mm256_castsi256_ps(a), _mm256_castsi256_ps(b)))
#define vf_only(m, a) _mm256_and_ps(m, a)
#define vi_only(m, a) _mm256_and_si256(_mm256_castps_si256(m), a)
#define vf_floor(a) _mm256_floor_ps(a)
#define vf_abs(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define vi_shift(cur, next, k)                                                                               \
    ((k) == 4  ? _mm256_permute2x128_si256(cur, next, 0x21)                                                  \
     : (k) < 4 ? _mm256_alignr_epi8(_mm256_permute2x128_si256(cur, next, 0x21), cur, ((k)&3) * 4)            \
               : _mm256_alignr_epi8(next, _mm256_permute2x128_si256(cur, next, 0x21), ((k)&3) * 4))
#define vf_gather(p, at) _mm256_i32gather_ps(p, at, 4)
#define vi_load_i16(p) _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define vi_load_u8(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#define vi_load_u16(p) _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
VEC __m128i vi_low16(__m256i a) /* 0..65535 each */
{
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(a, a), 0xD8));
}
#define vi_store_u16(p, a) _mm_storeu_si128((__m128i *)(void *)(p), vi_low16(a))
#define vi_store_u8(p, a) _mm_storel_epi64((__m128i *)(void *)(p), _mm_packus_epi16(vi_low16(a), vi_low16(a)))
#else
#include <string.h>
#define SDM_VEC 4
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));
typedef uint16_t u16x4 __attribute__((vector_size(8)));
typedef float vf __attribute__((vector_size(16)));
typedef vi vm; /* all ones: true */
#define vi_zero() ((vi){0, 0, 0, 0})
#define vi_set(x) (vi_zero() + (x))
#define vf_set(x) ((vf){(x), (x), (x), (x)})
#define VEC_ACCESS(type)                                                                                     \
    VEC type type##_load(const void *p)                                                                      \
    {                                                                                                        \
        type a;                                                                                              \
        memcpy(&a, p, sizeof a);                                                                             \
        return a;                                                                                            \
    }                                                                                                        \
    VEC void type##_store(void *p, type a)                                                                   \
    {                                                                                                        \
        memcpy(p, &a, sizeof a);                                                                             \
    }
VEC_ACCESS(vi)
VEC_ACCESS(vf)
#define vi_and(a, b) ((a) & (b))
#define vi_or(a, b) ((a) | (b))
#define vf_or(a, b) ((vf)((vi)(a) | (vi)(b)))
#define vi_add(a, b) ((vi)((vu)(a) + (vu)(b))) /* modulo 2^32, like the processors' */
#define vi_sub(a, b) ((vi)((vu)(a) - (vu)(b)))
#define vi_mul(a, b) ((vi)((vu)(a) * (vu)(b)))
#define vi_low(a) ((vi)((vu)(a) << 16) >> 16)
#define vi_mul16(a, b) vi_or(vi_and(vi_mul(a, b), vi_set(0xffff)), vi_shl16(vi_mul((a) >> 16, (b) >> 16)))
#define vi_madd(a, b) vi_add(vi_low(a) * vi_low(b), ((a) >> 16) * ((b) >> 16))
#define vi_dot(sum, a, b) vi_add(sum, vi_madd(a, b))
#define vi_shl16(a) ((vi)((vu)(a) << 16))
#define vi_shift_right(a, n) ((vi)((vu)(a) >> (uint32_t)(n)))
#define vf_add(a, b) ((a) + (b))
#define vf_sub(a, b) ((a) - (b))
#define vf_mul(a, b) ((a) * (b))
#define vf_div(a, b) ((a) / (b))
#define vf_min(a, b) vf_sel(vf_gt(b, a), a, b)
#define vf_max(a, b) vf_sel(vf_gt(a, b), a, b)
#define vf_from(a) __builtin_convertvector(a, vf)
#define vi_round(a) ((vi)((a) + vf_set(12582912.0f)) - vi_set(0x4B400000)) /* by the adder: |a| < 2^22 */
#define vi_trunc(a) __builtin_convertvector(a, vi)
#define vf_gt(a, b) ((a) > (b))
#define vf_ge(a, b) ((a) >= (b))
#define vi_eq(a, b) ((a) == (b))
#define vi_gt(a, b) ((a) > (b))
#define vf_negative(a) ((vi)(a) >> 31)
#define vm_and(a, b) ((a) & (b))
#define vi_sel(m, a, b) (((m) & (a)) | (~(m) & (b)))
#define vf_sel(m, a, b) ((vf)vi_sel(m, (vi)(a), (vi)(b)))
#define vi_only(m, a) ((m) & (a))
#define vf_only(m, a) ((vf)vi_only(m, (vi)(a)))
#define vi_min(a, b) vi_sel(vi_gt(b, a), a, b)
#define vi_max(a, b) vi_sel(vi_gt(a, b), a, b)
#define vf_abs(a) ((vf)((vi)(a)&vi_set(0x7fffffff)))
#define vi_shift(cur, next, k) __builtin_shufflevector(cur, next, k, (k) + 1, (k) + 2, (k) + 3)
VEC vf vf_floor(vf a) /* of what 32 bits hold */
{
    const vf t = vf_from(vi_trunc(a));
    return vf_sub(t, vf_only(vf_gt(t, a), vf_set(1.0f)));
}
VEC vf vf_sqrt(vf a)
{
    for (int i = 0; i < 4; i++)
        a[i] = sqrtf(a[i]);
    return a;
}
VEC int vm_none(vm a)
{
    return (a[0] | a[1] | a[2] | a[3]) == 0;
}
VEC vf vf_gather(const float *p, vi at)
{
    return (vf){p[at[0]], p[at[1]], p[at[2]], p[at[3]]};
}
VEC vi vi_load_u8(const uint8_t *p)
{
    return (vi){p[0], p[1], p[2], p[3]};
}
VEC vi vi_load_u16(const uint16_t *p)
{
    u16x4 a;
    memcpy(&a, p, sizeof a);
    return __builtin_convertvector(a, vi);
}
VEC vi vi_load_i16(const int16_t *p)
{
    return (vi){p[0], p[1], p[2], p[3]};
}
VEC void vi_store_u8(uint8_t *p, vi a)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)a[i];
}
VEC void vi_store_u16(uint16_t *p, vi a)
{
    const u16x4 low = __builtin_convertvector(a, u16x4);
    memcpy(p, &low, sizeof low);
}
#endif

#ifdef V_
#define vi_load(p) SI_(loadu)((const void *)(p))
#define vi_store(p, a) SI_(storeu)((void *)(p), a)
#define vi_zero() SI_(setzero)()
#define vi_and(a, b) SI_ (and)(a, b)
#define vi_or(a, b) SI_(or)(a, b)
#define vf_or(a, b) V_(or_ps)(a, b)
#define vf_load(p) V_(loadu_ps)(p)
#define vf_store(p, a) V_(storeu_ps)(p, a)
#define vi_set(x) V_(set1_epi32)(x)
#define vf_set(x) V_(set1_ps)(x)
#define vi_add(a, b) V_(add_epi32)(a, b)
#define vi_sub(a, b) V_(sub_epi32)(a, b)
#define vi_mul(a, b) V_(mullo_epi32)(a, b)
#define vi_min(a, b) V_(min_epi32)(a, b)
#define vi_max(a, b) V_(max_epi32)(a, b)
#define vi_mul16(a, b) V_(mullo_epi16)(a, b)
#define vi_madd(a, b) V_(madd_epi16)(a, b)
#define vi_shift_right(a, n) V_(srl_epi32)(a, _mm_cvtsi32_si128(n))
#define vi_round(a) V_(cvtps_epi32)(a)
#ifdef __AVX512VNNI__
#define vi_dot(sum, a, b) _mm512_dpwssd_epi32(sum, a, b)
#else
#define vi_dot(sum, a, b) vi_add(sum, vi_madd(a, b))
#endif
#define vf_add(a, b) V_(add_ps)(a, b)
#define vf_sub(a, b) V_(sub_ps)(a, b)
#define vf_mul(a, b) V_(mul_ps)(a, b)
#define vf_div(a, b) V_(div_ps)(a, b)
#define vf_min(a, b) V_(min_ps)(a, b)
#define vf_max(a, b) V_(max_ps)(a, b)
#define vf_sqrt(a) V_(sqrt_ps)(a)
#define vf_from(a) V_(cvtepi32_ps)(a)
#define vi_trunc(a) V_(cvttps_epi32)(a)
#define vi_shl16(a) V_(slli_epi32)(a, 16)
#endif
#if defined(SDM_VEC) && SDM_VEC >= 8
/* Operations that the compiler's vectors lack.  sra: / 2^n, rounded down; max_u: without signs; of_four:
 * lane k of each four, in all of these; bytes: of each 16 bytes those at `at`; repeat: 16 bytes in each
 * four lanes; evens, odds: of each four lanes every other of a, then of b; min16: of 16-bit halves; any:
 * a bit is set; halves_differ: lanes of which no half is equal; store_i16: numbers of 16 bits, and
 * 0x80008000 as -32768 */
#define vi_sra(a, n) V_(srai_epi32)(a, n)
#define vi_max_u(a, b) V_(max_epu32)(a, b)
#define vi_xor(a, b) SI_ (xor)(a, b)
#define vi_bytes(a, at) V_(shuffle_epi8)(a, at)
#define vi_min16(a, b) V_(min_epi16)(a, b)
#if SDM_VEC == 16
#define vi_of_four(a, k) _mm512_shuffle_epi32(a, (_MM_PERM_ENUM)(0x55 * (k)))
#define vi_repeat(a) _mm512_broadcast_i32x4(a)
#define vi_lanes_(a, b, how)                                                                                 \
    _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), how))
#define vi_any(a) (_mm512_test_epi32_mask(a, a) != 0)
#define vi_any_equal16(a, b) (_mm512_cmpeq_epi16_mask(a, b) != 0)
VEC vm vi_halves_differ(vi a, vi b)
{
    const vi equal = _mm512_movm_epi16(_mm512_cmpeq_epi16_mask(a, b));
    return _mm512_testn_epi32_mask(equal, equal);
}
#define vi_store_i16(p, a) vi_store_u16(p, a)
#define vi_blend_high_(a, b) _mm512_ternarylogic_epi32(a, b, vi_set(0xffff), 0xE4) /* by the third one */
#else
#define vi_of_four(a, k) _mm256_shuffle_epi32(a, 0x55 * (k))
#define vi_repeat(a) _mm256_broadcastsi128_si256(a)
#define vi_lanes_(a, b, how)                                                                                 \
    _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), how))
#define vi_any(a) (!_mm256_testz_si256(a, a))
#define vi_any_equal16(a, b) vi_any(_mm256_cmpeq_epi16(a, b))
#define vi_halves_differ(a, b) vi_eq(_mm256_cmpeq_epi16(a, b), vi_zero())
#define vi_store_i16(p, a)                                                                                   \
    _mm_storeu_si128((__m128i *)(void *)(p),                                                                 \
                     _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)))
#define vi_blend_high_(a, b) _mm256_blend_epi16(a, b, 0xAA)
#endif
#define vi_evens(a, b) vi_lanes_(a, b, 0x88)
#define vi_odds(a, b) vi_lanes_(a, b, 0xDD)
/* weighed: half + madd(a, wa) + madd(b, wb); scaled: that / 2^n, rounded half up, where half is 2^n / 2;
 * scaled_halves: the low 16 bits of two of these as halves */
#ifndef vi_weighed
#define vi_weighed(half, a, wa, b, wb) vi_dot(vi_dot(half, a, wa), b, wb)
#define vi_scaled(a, n) vi_sra(a, n)
#define vi_scaled_halves(low, high, n) vi_blend_high_(V_(srli_epi32)(low, n), V_(slli_epi32)(high, 16 - (n)))
#endif
#endif
#if defined(SDM_VEC) && SDM_VEC >= 8 && !defined(i8_bits)
/* of 32 bytes: bits of each, by tables of half bytes; sums of two neighbours as 16 bits, signed */
VEC __m256i i8_bits(__m256i a)
{
    const __m256i table =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i low = _mm256_set1_epi8(15);
    return _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(a, low)),
                           _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(a, 4), low)));
}
#define i8_pair_sums(a) _mm256_maddubs_epi16(_mm256_set1_epi8(1), a)
#endif
/* A constant that stays in a register or in memory.  Where a loop has no register left for one, GCC would
 * make it anew in each round, by three instructions. */
#if defined(__AVX2__)
#define VEC_KEPT(name, type)                                                                                 \
    VEC type name(type a)                                                                                    \
    {                                                                                                        \
        __asm__("" : "+v"(a));                                                                               \
        return a;                                                                                            \
    }
VEC_KEPT(vi_kept, vi)
VEC_KEPT(vf_kept, vf)
#else
#define vi_kept(a) (a)
#define vf_kept(a) (a)
#endif
#ifndef VEC_SHIFTS_IN /* i8_shift_in(word, mask): 16-bit words move up by a bit, the mask's lowest enters */
#define VEC_SHIFTS_IN 0
#endif
/* Pairs of 16 bits from two rows of memory, the second one's in the high halves; with these negated; sum +
 * both halves. */
#ifndef vi_pairs
#define vi_pairs(low, high) vi_or(vi_and(vi_load_i16(low), vi_set(0xffff)), vi_shl16(vi_load_i16(high)))
#define vi_minus_high(a)                                                                                     \
    vi_or(vi_and(a, vi_set(0xffff)), vi_sub(vi_zero(), vi_and(a, vi_set((int32_t)0xffff0000))))
#define vi_add_halves(sum, a) vi_dot(sum, a, vi_set(0x00010001))
#endif
#ifndef vf_near
#define vf_near(p, at) vf_gather(p, at)
#endif
#ifndef vi_down
#define vi_down(a) vi_trunc(vf_floor(a))
#endif
static const int32_t sdm_lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#endif
