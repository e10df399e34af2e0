/* Lanes of 8 and 16 bits of AVX2.  Those of 32 bits: vec.h; what all x86 levels share: simd_x86.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_AVX2_H
#define SDM_SIMD_AVX2_H

typedef __m256i v16;
typedef __m256i v8;
enum { VEC_BYTES = 32 };
#include "simd_least.h"
#include "simd_x86.h"

VEC unsigned v16_first(v16 a) { return (uint16_t)_mm256_cvtsi256_si32(a); }
VEC unsigned v16_last(v16 a) { return (unsigned)_mm256_extract_epi16(a, 15); }
VEC Least v8_least(v8 a)
{
    return least_of_8(_mm_min_epu8(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
VEC Least v16_least(v16 a)
{
    return least_of_16(_mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
VEC v8 v8_all(Least a) { return _mm256_broadcastb_epi8(a); }
VEC v16 v16_all(Least a) { return _mm256_broadcastw_epi16(a); }
/* The 16 bytes before each half, and after it. */
#define BEFORE(a, below) _mm256_permute2x128_si256(below, a, 0x21)
#define AFTER(a, above) _mm256_permute2x128_si256(a, above, 0x21)
#define v8_up(a, below, n) _mm256_alignr_epi8(a, BEFORE(a, below), 16 - (n))
#define v8_down(a, above, n) _mm256_alignr_epi8(AFTER(a, above), a, n)
#define v16_up(a, below, n) _mm256_alignr_epi8(a, BEFORE(a, below), 16 - 2 * (n))
#define v16_down(a, above, n) _mm256_alignr_epi8(AFTER(a, above), a, 2 * (n))
VEC v16 v16_from_bytes(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)p)); }
VEC v16 v16_from_costs(const uint8_t *p)
{
    const __m128i a = _mm_loadu_si128((const void *)p), none = _mm_cmpeq_epi8(a, _mm_set1_epi8(-1));
    return _mm256_or_si256(_mm256_cvtepu8_epi16(a), _mm256_cvtepi8_epi16(none));
}
VEC int v16_first_equal(v16 a, v16 b)
{
    return (int)_tzcnt_u32((unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi16(a, b))) / 2;
}

VEC void v16_take_less(v16 c, v16 d, v16 *best, v16 *best_d)
{
    const __m256i keep = _mm256_cmpeq_epi16(_mm256_max_epu16(c, *best), c); /* c >= best */
    *best = _mm256_min_epu16(c, *best);
    *best_d = _mm256_blendv_epi8(d, *best_d, keep);
}

VEC int lanes_last_equal(v16 even, v16 odd, v16 all)
{
    const __m256i equal = _mm256_blendv_epi8(_mm256_cmpeq_epi16(even, all), _mm256_cmpeq_epi16(odd, all),
                                             _mm256_set1_epi16((short)0xFF00));
    return 31 - (int)_lzcnt_u32((unsigned)_mm256_movemask_epi8(equal));
}

VEC void lanes_shift(v16 *even, v16 *odd, v16 *even_2, v16 *odd_2, uint32_t enters)
{
    const v16 last = _mm256_set1_epi32((int)enters), last_2 = _mm256_srli_epi32(last, 16);
    const v16 moved = _mm256_alignr_epi8(_mm256_permute2x128_si256(*even, last, 0x21), *even, 2);
    const v16 moved_2 = _mm256_alignr_epi8(_mm256_permute2x128_si256(*even_2, last_2, 0x21), *even_2, 2);
    *even = *odd;
    *odd = moved;
    *even_2 = *odd_2;
    *odd_2 = moved_2;
}
VEC uint32_t v16_firsts(v16 a, v16 b)
{
    return (uint32_t)_mm_cvtsi128_si32(
        _mm_unpacklo_epi16(_mm256_castsi256_si128(a), _mm256_castsi256_si128(b)));
}

VEC v16 v16_evens(v16 a, v16 b)
{
    const __m256i low = _mm256_set1_epi32(0xFFFF);
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low)),
                                    0xD8);
}
VEC v16 v16_odds(v16 a, v16 b)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16)),
                                    0xD8);
}
VEC void v16_join(v16 even, v16 odd, v16 *first, v16 *second)
{
    const __m256i low = _mm256_unpacklo_epi16(even, odd), high = _mm256_unpackhi_epi16(even, odd);
    *first = _mm256_permute2x128_si256(low, high, 0x20);
    *second = _mm256_permute2x128_si256(low, high, 0x31);
}

VEC vi vi_from_low(v16 a) { return _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)); }
VEC vi vi_from_high(v16 a) { return _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1)); }

VEC v8 v8_hamming(v8 a, v8 b)
{
    const __m256i ones = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2,
                                          3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i x = _mm256_xor_si256(a, b), nibble = _mm256_set1_epi8(15);
    return _mm256_add_epi8(_mm256_shuffle_epi8(ones, _mm256_and_si256(x, nibble)),
                           _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)));
}
VEC v16 v16_darker(v16 a, v16 b, v16 bit) { return _mm256_and_si256(_mm256_cmpgt_epi16(b, a), bit); }
VEC v8 v8_from_lows(v16 a, v16 b) { return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8); }

#endif
