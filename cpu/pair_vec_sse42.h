/* Vectors of 16 bytes, SSE4.2.  See pair_vec.h. */
#ifndef SDM_PAIR_VEC_SSE42_H
#define SDM_PAIR_VEC_SSE42_H

#include <nmmintrin.h>

typedef __m128i v16;
typedef __m128i v32;
typedef __m128i v8;
typedef __m128 vf;
enum { VEC_BYTES = 16 };

VEC v16 v16_load(const void *p) { return _mm_loadu_si128(p); }
VEC void v16_store(void *p, v16 a) { _mm_storeu_si128(p, a); }
VEC v16 v16_set1(int a) { return _mm_set1_epi16((short)a); }
VEC v16 v16_add(v16 a, v16 b) { return _mm_add_epi16(a, b); }
VEC v16 v16_sub(v16 a, v16 b) { return _mm_sub_epi16(a, b); }
VEC v16 v16_or(v16 a, v16 b) { return _mm_or_si128(a, b); }
VEC v16 v16_min(v16 a, v16 b) { return _mm_min_epu16(a, b); }
VEC v16 v16_apart(v16 a, v16 b) { return _mm_abs_epi16(_mm_sub_epi16(a, b)); }
VEC unsigned v16_first(v16 a) { return (unsigned)_mm_cvtsi128_si32(a); }
VEC unsigned v16_last(v16 a) { return (unsigned)_mm_extract_epi16(a, 7); }

VEC void v16_take_less(v16 c, v16 d, v16 *best, v16 *best_d)
{
    const __m128i keep = _mm_cmpeq_epi16(_mm_max_epu16(c, *best), c); /* c >= best */
    *best = _mm_min_epu16(c, *best);
    *best_d = _mm_blendv_epi8(d, *best_d, keep);
}

VEC unsigned lanes_min(v16 lo, v16 hi, v16 *all)
{
    const unsigned least = (uint16_t)_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_min_epu16(lo, hi)));
    *all = _mm_set1_epi16((short)least);
    return least;
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

VEC v32 v32_load(const void *p) { return _mm_loadu_si128(p); }
VEC void v32_store(void *p, v32 a) { _mm_storeu_si128(p, a); }
VEC v32 v32_set1(int32_t a) { return _mm_set1_epi32(a); }
VEC v16 v32_bits(v32 a) { return a; }
VEC v32 v32_add(v32 a, v32 b) { return _mm_add_epi32(a, b); }
VEC v32 v32_sub(v32 a, v32 b) { return _mm_sub_epi32(a, b); }
VEC v32 v32_dot(v32 sum, v32 a, v32 b) { return _mm_add_epi32(sum, _mm_madd_epi16(a, b)); }
VEC v32 v32_right(v32 a, int n) { return _mm_srl_epi32(a, _mm_cvtsi32_si128(n)); }
VEC v32 v32_of_low(v16 a) { return _mm_cvtepu16_epi32(a); }
VEC v32 v32_of_high(v16 a) { return _mm_unpackhi_epi16(a, _mm_setzero_si128()); }
VEC vf vf_load(const void *p) { return _mm_loadu_ps(p); }
VEC vf vf_set1(float a) { return _mm_set1_ps(a); }
VEC vf vf_mul(vf a, vf b) { return _mm_mul_ps(a, b); }
VEC vf vf_sub(vf a, vf b) { return _mm_sub_ps(a, b); }
VEC vf vf_of(v32 a) { return _mm_cvtepi32_ps(a); }
VEC v32 v32_round(vf a) { return _mm_cvtps_epi32(a); }

VEC v8 v8_load(const void *p) { return _mm_loadu_si128(p); }
VEC void v8_store(void *p, v8 a) { _mm_storeu_si128(p, a); }
VEC v8 v8_set1(int a) { return _mm_set1_epi8((char)a); }
VEC v8 v8_add(v8 a, v8 b) { return _mm_add_epi8(a, b); }
VEC v8 v8_min(v8 a, v8 b) { return _mm_min_epu8(a, b); }
VEC v8 v8_max(v8 a, v8 b) { return _mm_max_epu8(a, b); }
VEC v8 v8_ones_apart(v8 a, v8 b)
{
    const __m128i ones = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m128i x = _mm_xor_si128(a, b), nibble = _mm_set1_epi8(15);
    return _mm_add_epi8(_mm_shuffle_epi8(ones, _mm_and_si128(x, nibble)),
                        _mm_shuffle_epi8(ones, _mm_and_si128(_mm_srli_epi16(x, 4), nibble)));
}
VEC v8 v8_apart(v8 a, v8 b) { return _mm_sub_epi8(_mm_max_epu8(a, b), _mm_min_epu8(a, b)); }
VEC v16 v8_evens(v8 a) { return _mm_and_si128(a, _mm_set1_epi16(255)); }
VEC v16 v8_odds(v8 a) { return _mm_srli_epi16(a, 8); }
VEC v16 v16_darker(v16 a, v16 b, v16 bit) { return _mm_and_si128(_mm_cmpgt_epi16(b, a), bit); }
VEC v8 v8_of_lows(v16 a, v16 b) { return _mm_packus_epi16(a, b); }

#endif
