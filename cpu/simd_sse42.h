/* Vectors of 16 bytes, SSE4.2.  See simd.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_SSE42_H
#define SDM_SIMD_SSE42_H

typedef __m128i v16;
typedef __m128i v8;
enum { VEC_BYTES = 16 };
#include "simd_least.h"
#include "simd_x86.h"

VEC unsigned v16_first(v16 a) { return (uint16_t)_mm_cvtsi128_si32(a); }
VEC unsigned v16_last(v16 a) { return (unsigned)_mm_extract_epi16(a, 7); }
VEC Least v8_least(v8 a) { return least_of_8(a); }
VEC Least v16_least(v16 a) { return least_of_16(a); }
VEC v8 v8_all(Least a) { return _mm_shuffle_epi8(a, _mm_setzero_si128()); }
VEC v16 v16_all(Least a) { return _mm_shuffle_epi8(a, _mm_set1_epi16(0x0100)); }
#define v8_up(a, below, n) _mm_alignr_epi8(a, below, 16 - (n))
#define v8_down(a, above, n) _mm_alignr_epi8(above, a, n)
#define v16_up(a, below, n) _mm_alignr_epi8(a, below, 16 - 2 * (n))
#define v16_down(a, above, n) _mm_alignr_epi8(above, a, 2 * (n))
VEC v16 v16_from_bytes(const uint8_t *p) { return _mm_cvtepu8_epi16(_mm_loadl_epi64((const void *)p)); }
VEC v16 v16_from_costs(const uint8_t *p)
{
    const __m128i a = _mm_loadl_epi64((const void *)p);
    return _mm_unpacklo_epi8(a, _mm_cmpeq_epi8(a, _mm_set1_epi8(-1)));
}
VEC int v16_first_equal(v16 a, v16 b)
{
    const unsigned equal = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi16(a, b));
    return equal ? __builtin_ctz(equal) / 2 : VEC_BYTES / 2;
}

VEC void v16_take_less(v16 c, v16 d, v16 *best, v16 *best_d)
{
    const __m128i keep = _mm_cmpeq_epi16(_mm_max_epu16(c, *best), c); /* c >= best */
    *best = _mm_min_epu16(c, *best);
    *best_d = _mm_blendv_epi8(d, *best_d, keep);
}

VEC int lanes_last_equal(v16 even, v16 odd, v16 all)
{
    const __m128i equal =
        _mm_blendv_epi8(_mm_cmpeq_epi16(even, all), _mm_cmpeq_epi16(odd, all), _mm_set1_epi16((short)0xFF00));
    return 31 - __builtin_clz((unsigned)_mm_movemask_epi8(equal));
}

VEC void lanes_shift(v16 *even, v16 *odd, v16 *even_2, v16 *odd_2, uint32_t enters)
{
    const v16 last = _mm_cvtsi32_si128((int)enters);
    const v16 moved = _mm_alignr_epi8(last, *even, 2),
              moved_2 = _mm_alignr_epi8(_mm_srli_epi32(last, 16), *even_2, 2);
    *even = *odd;
    *odd = moved;
    *even_2 = *odd_2;
    *odd_2 = moved_2;
}
VEC uint32_t v16_firsts(v16 a, v16 b) { return (uint32_t)_mm_cvtsi128_si32(_mm_unpacklo_epi16(a, b)); }

VEC v16 v16_evens(v16 a, v16 b)
{
    const __m128i low = _mm_set1_epi32(0xFFFF);
    return _mm_packus_epi32(_mm_and_si128(a, low), _mm_and_si128(b, low));
}
VEC v16 v16_odds(v16 a, v16 b) { return _mm_packus_epi32(_mm_srli_epi32(a, 16), _mm_srli_epi32(b, 16)); }
VEC void v16_join(v16 even, v16 odd, v16 *first, v16 *second)
{
    *first = _mm_unpacklo_epi16(even, odd);
    *second = _mm_unpackhi_epi16(even, odd);
}

VEC vi vi_from_low(v16 a) { return _mm_cvtepu16_epi32(a); }
VEC vi vi_from_high(v16 a) { return _mm_unpackhi_epi16(a, _mm_setzero_si128()); }

#ifdef __aarch64__
VEC v8 v8_hamming(v8 a, v8 b)
{
    return simde__m128i_from_neon_u8(vcntq_u8(simde__m128i_to_neon_u8(_mm_xor_si128(a, b))));
}
#else
VEC v8 v8_hamming(v8 a, v8 b)
{
    const __m128i ones = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m128i x = _mm_xor_si128(a, b), nibble = _mm_set1_epi8(15);
    return _mm_add_epi8(_mm_shuffle_epi8(ones, _mm_and_si128(x, nibble)),
                        _mm_shuffle_epi8(ones, _mm_and_si128(_mm_srli_epi16(x, 4), nibble)));
}
#endif
VEC v16 v16_darker(v16 a, v16 b, v16 bit) { return _mm_and_si128(_mm_cmpgt_epi16(b, a), bit); }
VEC v8 v8_from_lows(v16 a, v16 b) { return _mm_packus_epi16(a, b); }

#endif
