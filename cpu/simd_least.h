/* The least element of a vector of 16 bytes, on x86 and NEON.  See simd.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_LEAST_H
#define SDM_SIMD_LEAST_H

typedef __m128i Least; /* its first 16 bits */

#ifdef __aarch64__ /* without its place, which x86 gives as well */
VEC Least least_of_8(__m128i a)
{
    return simde__m128i_from_neon_u16(vdupq_n_u16(vminvq_u8(simde__m128i_to_neon_u8(a))));
}
#else
VEC Least least_of_8(__m128i a) { return _mm_minpos_epu16(_mm_min_epu8(a, _mm_srli_epi16(a, 8))); }
#endif
VEC Least least_of_16(__m128i a) { return _mm_minpos_epu16(a); }
VEC unsigned least_get(Least a) { return (uint16_t)_mm_cvtsi128_si32(a); }
VEC Least least_set(unsigned a) { return _mm_cvtsi32_si128((int)a); }

#endif
