/* Vectors of 64 bytes made of two of AVX2: the winner of a pixel is searched once for 64 disparities, and
 * the instructions that a chunk takes whatever its width are halved.  Only what the costs of pairs use.
 * See simd.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_AVX2_WIDE_H
#define SDM_SIMD_AVX2_WIDE_H

#include <immintrin.h>

#include "simd_least.h"

typedef struct Wide {
    __m256i h[2];
} Wide;
typedef struct WideFloat {
    __m256 h[2];
} WideFloat;
typedef Wide v16;
typedef Wide vi;
typedef Wide v8;
typedef WideFloat vf;
enum { VEC_BYTES = 64 };

VEC Wide wide_load(const void *p)
{
    return (Wide){{_mm256_loadu_si256(p), _mm256_loadu_si256((const __m256i *)p + 1)}};
}
VEC void wide_store(void *p, Wide a)
{
    _mm256_storeu_si256(p, a.h[0]);
    _mm256_storeu_si256((__m256i *)p + 1, a.h[1]);
}
#define WIDE_OF_TWO(name, op)                                                                                \
    VEC Wide name(Wide a, Wide b) { return (Wide){{op(a.h[0], b.h[0]), op(a.h[1], b.h[1])}}; }

VEC v16 v16_load(const void *p) { return wide_load(p); }
VEC void v16_store(void *p, v16 a) { wide_store(p, a); }
VEC v16 v16_set(int a) { return (v16){{_mm256_set1_epi16((short)a), _mm256_set1_epi16((short)a)}}; }
WIDE_OF_TWO(v16_add, _mm256_add_epi16)
WIDE_OF_TWO(v16_sub, _mm256_sub_epi16)
WIDE_OF_TWO(v16_or, _mm256_or_si256)
WIDE_OF_TWO(v16_min, _mm256_min_epu16)
VEC __m256i half_apart(__m256i a, __m256i b) { return _mm256_abs_epi16(_mm256_sub_epi16(a, b)); }
WIDE_OF_TWO(v16_absdiff, half_apart)
VEC unsigned v16_first(v16 a) { return (unsigned)_mm256_cvtsi256_si32(a.h[0]); }
VEC unsigned v16_last(v16 a) { return (unsigned)_mm256_extract_epi16(a.h[1], 15); }

VEC void v16_take_less(v16 c, v16 d, v16 *best, v16 *best_d)
{
    for (int i = 0; i < 2; i++) {
        const __m256i least = _mm256_min_epu16(c.h[i], best->h[i]);
        const __m256i keep = _mm256_cmpeq_epi16(least, best->h[i]); /* c >= best */
        best->h[i] = least;
        best_d->h[i] = _mm256_blendv_epi8(d.h[i], best_d->h[i], keep);
    }
}

VEC Least v16_least(v16 v)
{
    const __m256i a = _mm256_min_epu16(v.h[0], v.h[1]);
    return least_of_16(_mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
VEC v16 v16_all(Least a) { return (v16){{_mm256_broadcastw_epi16(a), _mm256_broadcastw_epi16(a)}}; }

VEC int lanes_last_equal(v16 even, v16 odd, v16 all)
{
    uint32_t equal[2];
    for (int i = 0; i < 2; i++)
        equal[i] = (uint32_t)_mm256_movemask_epi8(_mm256_blendv_epi8(
            _mm256_cmpeq_epi16(even.h[i], all.h[i]), _mm256_cmpeq_epi16(odd.h[i], all.h[i]),
            _mm256_set1_epi16((short)0xFF00)));
    return 63 - (int)_lzcnt_u64((uint64_t)equal[1] << 32 | equal[0]);
}

/* `enters` in the highest lane of each pair of 16 bits that the shift takes. */
VEC v16 moved_by_a_lane(v16 a, __m256i enters)
{
    return (v16){{_mm256_alignr_epi8(_mm256_permute2x128_si256(a.h[0], a.h[1], 0x21), a.h[0], 2),
                  _mm256_alignr_epi8(_mm256_permute2x128_si256(a.h[1], enters, 0x21), a.h[1], 2)}};
}
VEC void lanes_shift(v16 *even, v16 *odd, v16 *even_2, v16 *odd_2, uint32_t enters)
{
    const __m256i last = _mm256_set1_epi32((int)enters), last_2 = _mm256_srli_epi32(last, 16);
    const v16 moved = moved_by_a_lane(*even, last), moved_2 = moved_by_a_lane(*even_2, last_2);
    *even = *odd;
    *odd = moved;
    *even_2 = *odd_2;
    *odd_2 = moved_2;
}
VEC uint32_t v16_firsts(v16 a, v16 b)
{
    return (uint32_t)_mm_cvtsi128_si32(
        _mm_unpacklo_epi16(_mm256_castsi256_si128(a.h[0]), _mm256_castsi256_si128(b.h[0])));
}

VEC __m256i half_evens(__m256i a, __m256i b)
{
    const __m256i low = _mm256_set1_epi32(0xFFFF);
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low)),
                                    0xD8);
}
VEC __m256i half_odds(__m256i a, __m256i b)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16)),
                                    0xD8);
}
VEC v16 v16_evens(v16 a, v16 b) { return (v16){{half_evens(a.h[0], a.h[1]), half_evens(b.h[0], b.h[1])}}; }
VEC v16 v16_odds(v16 a, v16 b) { return (v16){{half_odds(a.h[0], a.h[1]), half_odds(b.h[0], b.h[1])}}; }
VEC v16 half_join(__m256i even, __m256i odd)
{
    const __m256i low = _mm256_unpacklo_epi16(even, odd), high = _mm256_unpackhi_epi16(even, odd);
    return (v16){{_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31)}};
}
VEC void v16_join(v16 even, v16 odd, v16 *first, v16 *second)
{
    *first = half_join(even.h[0], odd.h[0]);
    *second = half_join(even.h[1], odd.h[1]);
}

VEC vi vi_load(const void *p) { return wide_load(p); }
VEC void vi_store(void *p, vi a) { wide_store(p, a); }
VEC vi vi_set(int32_t a) { return (vi){{_mm256_set1_epi32(a), _mm256_set1_epi32(a)}}; }
VEC v16 vi_bits(vi a) { return a; }
WIDE_OF_TWO(vi_add, _mm256_add_epi32)
WIDE_OF_TWO(vi_sub, _mm256_sub_epi32)
WIDE_OF_TWO(half_products, _mm256_madd_epi16)
VEC vi vi_dot(vi sum, vi a, vi b) { return vi_add(sum, half_products(a, b)); }
VEC vi vi_shift_right(vi a, int n)
{
    const __m128i by = _mm_cvtsi32_si128(n);
    return (vi){{_mm256_srl_epi32(a.h[0], by), _mm256_srl_epi32(a.h[1], by)}};
}
VEC vi half_of_words(__m256i a)
{
    return (vi){{_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)),
                  _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1))}};
}
VEC vi vi_from_low(v16 a) { return half_of_words(a.h[0]); }
VEC vi vi_from_high(v16 a) { return half_of_words(a.h[1]); }
VEC vf vf_load(const void *p)
{
    return (vf){{_mm256_loadu_ps(p), _mm256_loadu_ps((const float *)p + 8)}};
}
VEC vf vf_set(float a) { return (vf){{_mm256_set1_ps(a), _mm256_set1_ps(a)}}; }
VEC vf vf_mul(vf a, vf b)
{
    return (vf){{_mm256_mul_ps(a.h[0], b.h[0]), _mm256_mul_ps(a.h[1], b.h[1])}};
}
VEC vf vf_sub(vf a, vf b)
{
    return (vf){{_mm256_sub_ps(a.h[0], b.h[0]), _mm256_sub_ps(a.h[1], b.h[1])}};
}
VEC vf vf_from(vi a) { return (vf){{_mm256_cvtepi32_ps(a.h[0]), _mm256_cvtepi32_ps(a.h[1])}}; }
VEC vi vi_round(vf a) { return (vi){{_mm256_cvtps_epi32(a.h[0]), _mm256_cvtps_epi32(a.h[1])}}; }

VEC v8 v8_load(const void *p) { return wide_load(p); }
VEC void v8_store(void *p, v8 a) { wide_store(p, a); }
VEC v8 v8_set(int a) { return (v8){{_mm256_set1_epi8((char)a), _mm256_set1_epi8((char)a)}}; }
WIDE_OF_TWO(v8_add, _mm256_add_epi8)
VEC __m256i half_ones_apart(__m256i a, __m256i b)
{
    const __m256i ones = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2,
                                          3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i x = _mm256_xor_si256(a, b), nibble = _mm256_set1_epi8(15);
    return _mm256_add_epi8(_mm256_shuffle_epi8(ones, _mm256_and_si256(x, nibble)),
                           _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)));
}
WIDE_OF_TWO(v8_hamming, half_ones_apart)
VEC __m256i half_bytes_apart(__m256i a, __m256i b)
{
    return _mm256_sub_epi8(_mm256_max_epu8(a, b), _mm256_min_epu8(a, b));
}
WIDE_OF_TWO(v8_absdiff, half_bytes_apart)
VEC v16 v8_evens(v8 a)
{
    const __m256i low = _mm256_set1_epi16(255);
    return (v16){{_mm256_and_si256(a.h[0], low), _mm256_and_si256(a.h[1], low)}};
}
VEC v16 v8_odds(v8 a) { return (v16){{_mm256_srli_epi16(a.h[0], 8), _mm256_srli_epi16(a.h[1], 8)}}; }

#endif
