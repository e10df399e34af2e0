/* Vectors of 32 bytes.  See pair_vec.h. */
#ifndef SDM_PAIR_VEC_AVX2_H
#define SDM_PAIR_VEC_AVX2_H

#include <immintrin.h>

typedef __m256i v16;
typedef __m256i v32;
typedef __m256i v8;
typedef __m256 vf;
enum { VEC_BYTES = 32 };

VEC v16 v16_load(const void *p) { return _mm256_loadu_si256(p); }
VEC void v16_store(void *p, v16 a) { _mm256_storeu_si256(p, a); }
VEC v16 v16_set1(int a) { return _mm256_set1_epi16((short)a); }
VEC v16 v16_add(v16 a, v16 b) { return _mm256_add_epi16(a, b); }
VEC v16 v16_sub(v16 a, v16 b) { return _mm256_sub_epi16(a, b); }
VEC v16 v16_or(v16 a, v16 b) { return _mm256_or_si256(a, b); }
VEC v16 v16_min(v16 a, v16 b) { return _mm256_min_epu16(a, b); }
VEC v16 v16_apart(v16 a, v16 b) { return _mm256_abs_epi16(_mm256_sub_epi16(a, b)); }
VEC unsigned v16_first(v16 a) { return (unsigned)_mm256_cvtsi256_si32(a); }
VEC unsigned v16_last(v16 a) { return (unsigned)_mm256_extract_epi16(a, 15); }

VEC void v16_take_less(v16 c, v16 d, v16 *best, v16 *best_d)
{
    const __m256i keep = _mm256_cmpeq_epi16(_mm256_max_epu16(c, *best), c); /* c >= best */
    *best = _mm256_min_epu16(c, *best);
    *best_d = _mm256_blendv_epi8(d, *best_d, keep);
}

VEC unsigned lanes_min(v16 lo, v16 hi, v16 *all)
{
    const __m256i a = _mm256_min_epu16(lo, hi);
    const __m128i b =
        _mm_minpos_epu16(_mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
    *all = _mm256_broadcastw_epi16(b);
    return (uint16_t)_mm_cvtsi128_si32(b);
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

VEC v32 v32_load(const void *p) { return _mm256_loadu_si256(p); }
VEC void v32_store(void *p, v32 a) { _mm256_storeu_si256(p, a); }
VEC v32 v32_set1(int32_t a) { return _mm256_set1_epi32(a); }
VEC v16 v32_bits(v32 a) { return a; }
VEC v32 v32_add(v32 a, v32 b) { return _mm256_add_epi32(a, b); }
VEC v32 v32_sub(v32 a, v32 b) { return _mm256_sub_epi32(a, b); }
VEC v32 v32_dot(v32 sum, v32 a, v32 b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
VEC v32 v32_right(v32 a, int n) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n)); }
VEC v32 v32_of_low(v16 a) { return _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)); }
VEC v32 v32_of_high(v16 a) { return _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1)); }
VEC vf vf_load(const void *p) { return _mm256_loadu_ps(p); }
VEC vf vf_set1(float a) { return _mm256_set1_ps(a); }
VEC vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
VEC vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
VEC vf vf_of(v32 a) { return _mm256_cvtepi32_ps(a); }
VEC v32 v32_round(vf a) { return _mm256_cvtps_epi32(a); }

VEC v8 v8_load(const void *p) { return _mm256_loadu_si256(p); }
VEC void v8_store(void *p, v8 a) { _mm256_storeu_si256(p, a); }
VEC v8 v8_set1(int a) { return _mm256_set1_epi8((char)a); }
VEC v8 v8_add(v8 a, v8 b) { return _mm256_add_epi8(a, b); }
VEC v8 v8_min(v8 a, v8 b) { return _mm256_min_epu8(a, b); }
VEC v8 v8_max(v8 a, v8 b) { return _mm256_max_epu8(a, b); }
VEC v8 v8_ones_apart(v8 a, v8 b)
{
    const __m256i ones = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2,
                                          3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i x = _mm256_xor_si256(a, b), nibble = _mm256_set1_epi8(15);
    return _mm256_add_epi8(_mm256_shuffle_epi8(ones, _mm256_and_si256(x, nibble)),
                           _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)));
}
VEC v8 v8_apart(v8 a, v8 b) { return _mm256_sub_epi8(_mm256_max_epu8(a, b), _mm256_min_epu8(a, b)); }
VEC v16 v8_evens(v8 a) { return _mm256_and_si256(a, _mm256_set1_epi16(255)); }
VEC v16 v8_odds(v8 a) { return _mm256_srli_epi16(a, 8); }
VEC v16 v16_darker(v16 a, v16 b, v16 bit) { return _mm256_and_si256(_mm256_cmpgt_epi16(b, a), bit); }
VEC v8 v8_of_lows(v16 a, v16 b) { return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8); }

#endif
