/* The operations of SSE4.2, by the processor or by SIMDe, which has them for NEON.  (SIMDe on the compiler's
 * vectors alone, SIMDE_NO_NATIVE, is five times slower than vec.h's own: gcc 12, `bench papers`.) */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SSE42_H
#define SDM_SSE42_H

#ifdef __SSE4_2__
#include <nmmintrin.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_FAST_CONVERSION_RANGE /* what is converted to integers fits them, and is no NaN */
#define SIMDE_FAST_NANS
#define SIMDE_FAST_ROUND_TIES /* to even, as NEON does */
#define SIMDE_FAST_ROUND_MODE
#define SIMDE_FAST_EXCEPTIONS
#include <simde/x86/sse4.2.h>
#ifdef __aarch64__ /* masks are of all bits or none: not the highest bit alone counts */
#undef _mm_blendv_epi8
#define _mm_blendv_epi8(a, b, mask)                                                                          \
    simde__m128i_from_neon_u8(                                                                               \
        vbslq_u8(simde__m128i_to_neon_u8(mask), simde__m128i_to_neon_u8(b), simde__m128i_to_neon_u8(a)))
#undef _mm_blendv_ps
#define _mm_blendv_ps(a, b, mask)                                                                            \
    simde__m128_from_neon_f32(                                                                               \
        vbslq_f32(simde__m128_to_neon_u32(mask), simde__m128_to_neon_f32(b), simde__m128_to_neon_f32(a)))
#undef _mm_max_ps /* the number where the other one is NaN */
#define _mm_max_ps(a, b)                                                                                     \
    simde__m128_from_neon_f32(vmaxnmq_f32(simde__m128_to_neon_f32(a), simde__m128_to_neon_f32(b)))
#undef _mm_shuffle_epi8 /* by numbers below 16 */
#define _mm_shuffle_epi8(a, at)                                                                              \
    simde__m128i_from_neon_u8(vqtbl1q_u8(simde__m128i_to_neon_u8(a), simde__m128i_to_neon_u8(at)))
#undef _mm_minpos_epu16 /* the least number alone, not its place */
#define _mm_minpos_epu16(a) simde__m128i_from_neon_u16(vdupq_n_u16(vminvq_u16(simde__m128i_to_neon_u16(a))))
#endif
#endif

#endif
