/* Vectors of 64 bytes, AVX-512.  See simd.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_AVX512_H
#define SDM_SIMD_AVX512_H

typedef __m512i v16;
typedef __m512i v8;
enum { VEC_BYTES = 64 };
#include "simd_least.h"
#include "simd_x86.h"

VEC unsigned v16_first(v16 a) { return (uint16_t)_mm512_cvtsi512_si32(a); }
VEC unsigned v16_last(v16 a) { return (unsigned)_mm_extract_epi16(_mm512_extracti32x4_epi32(a, 3), 7); }
VEC Least v8_least(v8 v)
{
    const __m256i a = _mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    return least_of_8(_mm_min_epu8(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
VEC Least v16_least(v16 v)
{
    const __m256i a = _mm256_min_epu16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    return least_of_16(_mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
VEC v8 v8_all(Least a) { return _mm512_broadcastb_epi8(a); }
VEC v16 v16_all(Least a) { return _mm512_broadcastw_epi16(a); }
/* The 16 bytes before each quarter, and after it. */
#define BEFORE(a, below) _mm512_alignr_epi64(a, below, 6)
#define AFTER(a, above) _mm512_alignr_epi64(above, a, 2)
#define v8_up(a, below, n) _mm512_alignr_epi8(a, BEFORE(a, below), 16 - (n))
#define v8_down(a, above, n) _mm512_alignr_epi8(AFTER(a, above), a, n)
#define v16_up(a, below, n) _mm512_alignr_epi8(a, BEFORE(a, below), 16 - 2 * (n))
#define v16_down(a, above, n) _mm512_alignr_epi8(AFTER(a, above), a, 2 * (n))
VEC v16 v16_from_bytes(const uint8_t *p)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)p));
}
VEC v16 v16_from_costs(const uint8_t *p)
{
    const __m256i a = _mm256_loadu_si256((const void *)p), none = _mm256_cmpeq_epi8(a, _mm256_set1_epi8(-1));
    return _mm512_or_si512(_mm512_cvtepu8_epi16(a), _mm512_cvtepi8_epi16(none));
}
VEC int v16_first_equal(v16 a, v16 b)
{
    return (int)_tzcnt_u32(_cvtmask32_u32(_mm512_cmpeq_epi16_mask(a, b)));
}

VEC void v16_take_less(v16 c, v16 d, v16 *best, v16 *best_d)
{
    const __mmask32 less = _mm512_cmplt_epu16_mask(c, *best);
    *best = _mm512_min_epu16(c, *best);
    *best_d = _mm512_mask_mov_epi16(*best_d, less, d);
}

VEC int lanes_last_equal(v16 even, v16 odd, v16 all)
{
    const unsigned a = 2 * _lzcnt_u32(_cvtmask32_u32(_mm512_cmpeq_epi16_mask(even, all))) + 1;
    const unsigned b = 2 * _lzcnt_u32(_cvtmask32_u32(_mm512_cmpeq_epi16_mask(odd, all)));
    return 63 - (int)(a < b ? a : b);
}

#define VEC_HAS_AROUND 1
VEC uint32_t lanes_around(v16 even, v16 odd, uint32_t places)
{
    const __m512i where = _mm512_castsi128_si512(_mm_cvtsi32_si128((int)places));
    return (uint32_t)_mm512_cvtsi512_si32(_mm512_permutex2var_epi16(even, where, odd));
}

VEC void lanes_shift(v16 *even, v16 *odd, v16 *even_2, v16 *odd_2, uint32_t enters)
{
    const __m512i next = _mm512_set_epi16(32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                          15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    const __m512i next_2 = _mm512_set_epi16(33, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
                                            16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    const __m512i last = _mm512_set1_epi32((int)enters);
    const v16 moved = _mm512_permutex2var_epi16(*even, next, last);
    const v16 moved_2 = _mm512_permutex2var_epi16(*even_2, next_2, last);
    *even = *odd;
    *odd = moved;
    *even_2 = *odd_2;
    *odd_2 = moved_2;
}
VEC uint32_t v16_firsts(v16 a, v16 b)
{
    return (uint32_t)_mm_cvtsi128_si32(
        _mm_unpacklo_epi16(_mm512_castsi512_si128(a), _mm512_castsi512_si128(b)));
}

VEC v16 v16_evens(v16 a, v16 b)
{
    const __m512i even = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30,
                                          28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(a, even, b);
}
VEC v16 v16_odds(v16 a, v16 b) { return v16_evens(_mm512_srli_epi32(a, 16), _mm512_srli_epi32(b, 16)); }
VEC void v16_join(v16 even, v16 odd, v16 *first, v16 *second)
{
    const __m512i low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
    *first = _mm512_permutex2var_epi64(low, _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), high);
    *second = _mm512_permutex2var_epi64(low, _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4), high);
}

VEC vi vi_from_low(v16 a) { return _mm512_cvtepu16_epi32(_mm512_castsi512_si256(a)); }
VEC vi vi_from_high(v16 a) { return _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(a, 1)); }

VEC v8 v8_hamming(v8 a, v8 b) { return _mm512_popcnt_epi8(_mm512_xor_si512(a, b)); }
VEC v16 v16_darker(v16 a, v16 b, v16 bit)
{
    return _mm512_maskz_mov_epi16(_mm512_cmplt_epi16_mask(a, b), bit);
}
VEC v8 v8_from_lows(v16 a, v16 b)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(a)), _mm512_cvtepi16_epi8(b), 1);
}

#endif
