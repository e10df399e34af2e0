/* Operations of AVX2 on 32 bytes -> two of SSE4.2 on 16 bytes each, so that the chain's kernels are written
 * once for 8 lanes.  Only what they use; the functions have Intel's names, which nothing else defines where
 * this is included, and their meaning.  SSE4.2 itself is the processor's, or SIMDe's on NEON.  Included by
 * vec.h only. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_TWO_OF_FOUR_H
#define SDM_TWO_OF_FOUR_H

#include "sse42.h"

#include <stdint.h>

#define TWO static inline __attribute__((always_inline, unused))

typedef struct TwoInts {
    __m128i low, high;
} TwoInts;
typedef struct TwoFloats {
    __m128 low, high;
} TwoFloats;
#define __m256i TwoInts
#define __m256 TwoFloats

/* The same operation on both. */
#define INTS_1(op)                                                                                           \
    TWO TwoInts _mm256_##op(TwoInts a)                                                                       \
    {                                                                                                        \
        return (TwoInts){_mm_##op(a.low), _mm_##op(a.high)};                                                 \
    }
#define INTS_2(op)                                                                                           \
    TWO TwoInts _mm256_##op(TwoInts a, TwoInts b)                                                            \
    {                                                                                                        \
        return (TwoInts){_mm_##op(a.low, b.low), _mm_##op(a.high, b.high)};                                  \
    }
#define FLOATS_1(op)                                                                                         \
    TWO TwoFloats _mm256_##op(TwoFloats a)                                                                   \
    {                                                                                                        \
        return (TwoFloats){_mm_##op(a.low), _mm_##op(a.high)};                                               \
    }
#define FLOATS_2(op)                                                                                         \
    TWO TwoFloats _mm256_##op(TwoFloats a, TwoFloats b)                                                      \
    {                                                                                                        \
        return (TwoFloats){_mm_##op(a.low, b.low), _mm_##op(a.high, b.high)};                                \
    }
#define SET(op, type)                                                                                        \
    TWO TwoInts _mm256_##op(type a)                                                                          \
    {                                                                                                        \
        return (TwoInts){_mm_##op(a), _mm_##op(a)};                                                          \
    }

INTS_1(abs_epi16)
INTS_2(add_epi8)
INTS_2(add_epi16)
INTS_2(add_epi32)
INTS_2(add_epi64)
INTS_2(sub_epi8)
INTS_2(sub_epi16)
INTS_2(sub_epi32)
INTS_2(mullo_epi16)
INTS_2(mullo_epi32)
INTS_2(mul_epi32)
INTS_2(mul_epu32)
INTS_2(madd_epi16)
INTS_2(maddubs_epi16)
INTS_2(min_epi16)
INTS_2(max_epi16)
INTS_2(min_epu16)
INTS_2(min_epi32)
INTS_2(max_epi32)
INTS_2(max_epu32)
INTS_2(cmpeq_epi16)
INTS_2(cmpgt_epi16)
INTS_2(cmpeq_epi32)
INTS_2(cmpgt_epi32)
INTS_2(packs_epi16)
INTS_2(packus_epi16)
INTS_2(packus_epi32)
INTS_2(shuffle_epi8)
INTS_2(unpacklo_epi8)
INTS_2(unpackhi_epi64)
SET(set1_epi8, int8_t)
SET(set1_epi16, short)
SET(set1_epi32, int)
FLOATS_1(sqrt_ps)
FLOATS_1(floor_ps)
FLOATS_2(add_ps)
FLOATS_2(sub_ps)
FLOATS_2(mul_ps)
FLOATS_2(div_ps)
FLOATS_2(min_ps)
FLOATS_2(max_ps)
FLOATS_2(or_ps)
FLOATS_2(xor_ps)
FLOATS_2(and_ps)
FLOATS_2(andnot_ps)
FLOATS_2(cmpgt_ps)
FLOATS_2(cmpge_ps)
FLOATS_2(cmpeq_ps)

#define LOGIC(op)                                                                                            \
    TWO TwoInts _mm256_##op##_si256(TwoInts a, TwoInts b)                                                    \
    {                                                                                                        \
        return (TwoInts){_mm_##op##_si128(a.low, b.low), _mm_##op##_si128(a.high, b.high)};                  \
    }
LOGIC(and)
LOGIC(or)
LOGIC(xor)
TWO int _mm256_testz_si256(TwoInts a, TwoInts b)
{
    const TwoInts both = _mm256_and_si256(a, b);
    const __m128i any = _mm_or_si128(both.low, both.high);
    return _mm_testz_si128(any, any);
}
TWO TwoInts _mm256_loadu_si256(const void *p)
{
    return (TwoInts){_mm_loadu_si128((const __m128i *)p), _mm_loadu_si128((const __m128i *)p + 1)};
}
TWO void _mm256_storeu_si256(void *p, TwoInts a)
{
    _mm_storeu_si128((__m128i *)p, a.low);
    _mm_storeu_si128((__m128i *)p + 1, a.high);
}
TWO TwoFloats _mm256_loadu_ps(const float *p)
{
    return (TwoFloats){_mm_loadu_ps(p), _mm_loadu_ps(p + 4)};
}
TWO void _mm256_storeu_ps(float *p, TwoFloats a)
{
    _mm_storeu_ps(p, a.low);
    _mm_storeu_ps(p + 4, a.high);
}
TWO TwoFloats _mm256_set1_ps(float a)
{
    return (TwoFloats){_mm_set1_ps(a), _mm_set1_ps(a)};
}
TWO TwoFloats _mm256_cvtepi32_ps(TwoInts a)
{
    return (TwoFloats){_mm_cvtepi32_ps(a.low), _mm_cvtepi32_ps(a.high)};
}
TWO TwoInts _mm256_cvttps_epi32(TwoFloats a)
{
    return (TwoInts){_mm_cvttps_epi32(a.low), _mm_cvttps_epi32(a.high)};
}
TWO TwoFloats _mm256_castsi256_ps(TwoInts a)
{
    return (TwoFloats){_mm_castsi128_ps(a.low), _mm_castsi128_ps(a.high)};
}
TWO TwoInts _mm256_castps_si256(TwoFloats a)
{
    return (TwoInts){_mm_castps_si128(a.low), _mm_castps_si128(a.high)};
}
TWO TwoFloats _mm256_blendv_ps(TwoFloats a, TwoFloats b, TwoFloats m)
{
    return (TwoFloats){_mm_blendv_ps(a.low, b.low, m.low), _mm_blendv_ps(a.high, b.high, m.high)};
}
TWO TwoInts _mm256_blendv_epi8(TwoInts a, TwoInts b, TwoInts m)
{
    return (TwoInts){_mm_blendv_epi8(a.low, b.low, m.low), _mm_blendv_epi8(a.high, b.high, m.high)};
}
TWO int _mm256_movemask_epi8(TwoInts a)
{
    return (int)((unsigned)_mm_movemask_epi8(a.low) | (unsigned)_mm_movemask_epi8(a.high) << 16);
}
TWO int _mm256_movemask_ps(TwoFloats a)
{
    return _mm_movemask_ps(a.low) | _mm_movemask_ps(a.high) << 4;
}

/* Widened; halves; the numbers of halves of a (0, 1) and b (2, 3) that are taken. */
TWO TwoInts _mm256_cvtepi16_epi32(__m128i a)
{
    return (TwoInts){_mm_cvtepi16_epi32(a), _mm_cvtepi16_epi32(_mm_srli_si128(a, 8))};
}
TWO TwoInts _mm256_cvtepu16_epi32(__m128i a)
{
    return (TwoInts){_mm_cvtepu16_epi32(a), _mm_cvtepu16_epi32(_mm_srli_si128(a, 8))};
}
TWO TwoInts _mm256_cvtepu8_epi32(__m128i a)
{
    return (TwoInts){_mm_cvtepu8_epi32(a), _mm_cvtepu8_epi32(_mm_srli_si128(a, 4))};
}
TWO TwoInts _mm256_cvtepi32_epi64(__m128i a)
{
    return (TwoInts){_mm_cvtepi32_epi64(a), _mm_cvtepi32_epi64(_mm_srli_si128(a, 8))};
}
TWO __m128i half_of(TwoInts a, TwoInts b, int which)
{
    return which == 0 ? a.low : which == 1 ? a.high : which == 2 ? b.low : b.high;
}
TWO TwoInts _mm256_permute2x128_si256(TwoInts a, TwoInts b, int which)
{
    return (TwoInts){half_of(a, b, which & 3), half_of(a, b, which >> 4)};
}
TWO __m128i _mm256_castsi256_si128(TwoInts a)
{
    return a.low;
}
TWO TwoInts _mm256_set_m128i(__m128i high, __m128i low)
{
    return (TwoInts){low, high};
}
TWO TwoInts _mm256_castsi128_si256(__m128i a)
{
    return (TwoInts){a, a};
}
TWO TwoInts words_0213(TwoInts a) /* of 64 bits */
{
    return (TwoInts){_mm_unpacklo_epi64(a.low, a.high), _mm_unpackhi_epi64(a.low, a.high)};
}
TWO TwoInts _mm256_permutevar8x32_epi32(TwoInts a, TwoInts lane) /* one of lanes 0 to 3, the same
                                                                  * everywhere */
{
    const __m128i bytes =
        _mm_add_epi32(_mm_mullo_epi32(lane.low, _mm_set1_epi32(0x04040404)), _mm_set1_epi32(0x03020100));
    return _mm256_castsi128_si256(_mm_shuffle_epi8(a.low, bytes));
}
TWO TwoFloats gather_floats(const float *p, TwoInts at)
{
    int32_t i[8];
    _mm256_storeu_si256(i, at);
    return (TwoFloats){_mm_setr_ps(p[i[0]], p[i[1]], p[i[2]], p[i[3]]),
                       _mm_setr_ps(p[i[4]], p[i[5]], p[i[6]], p[i[7]])};
}
/* 64 bits of memory at each of four places, in order. */
TWO TwoFloats gather_words(const void *from, __m128i at)
{
    const float *const p = from;
    int32_t i[4];
    _mm_storeu_si128((__m128i *)(void *)i, at);
    return _mm256_castsi256_ps(
        (TwoInts){_mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(p + i[0])),
                                     _mm_loadl_epi64((const __m128i *)(const void *)(p + i[1]))),
                  _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(p + i[2])),
                                     _mm_loadl_epi64((const __m128i *)(const void *)(p + i[3])))});
}
TWO TwoFloats _mm256_permute2f128_ps(TwoFloats a, TwoFloats b, int which)
{
    return _mm256_castsi256_ps(
        _mm256_permute2x128_si256(_mm256_castps_si256(a), _mm256_castps_si256(b), which));
}

#define _mm256_setzero_si256() _mm256_set1_epi32(0)
#define _mm256_broadcastsi128_si256 _mm256_castsi128_si256
#define _mm256_extracti128_si256(a, which) half_of(a, a, which)
#define _mm256_inserti128_si256(a, b, one) ((TwoInts){(a).low, b})
#define _mm256_permute4x64_epi64(a, d8) words_0213(a)
#define _mm256_setr_epi8(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ...)                                \
    ((TwoInts){_mm_setr_epi8(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p), _mm_setr_epi8(__VA_ARGS__)})
#define _mm256_set1_epi64x(a) ((TwoInts){_mm_set1_epi64x(a), _mm_set1_epi64x(a)})
#define _mm256_setr_epi64x(a, b, c, d) ((TwoInts){_mm_set_epi64x(b, a), _mm_set_epi64x(d, c)})
#define _mm256_i32gather_ps(p, at, four) gather_floats(p, at)
#define _mm256_i32gather_pd(p, at, four) gather_words(p, at)
#define _mm256_castpd_ps(a) (a)
#define _mm256_cmp_ps(a, b, how) how(a, b)
#define _CMP_GT_OQ _mm256_cmpgt_ps
#define _CMP_GE_OQ _mm256_cmpge_ps
#undef _CMP_EQ_OQ /* clang 20 has it without AVX, too */
#define _CMP_EQ_OQ _mm256_cmpeq_ps
#define EACH(op, a, ...) ((TwoInts){_mm_##op((a).low, __VA_ARGS__), _mm_##op((a).high, __VA_ARGS__)})
#define BOTH(op, a, b, n) ((TwoInts){_mm_##op((a).low, (b).low, n), _mm_##op((a).high, (b).high, n)})
#define _mm256_srai_epi32(a, n) EACH(srai_epi32, a, n)
#define _mm256_slli_epi32(a, n) EACH(slli_epi32, a, n)
#define _mm256_srli_epi32(a, n) EACH(srli_epi32, a, n)
#define _mm256_slli_epi16(a, n) EACH(slli_epi16, a, n)
#define _mm256_srli_epi16(a, n) EACH(srli_epi16, a, n)
#define _mm256_srli_epi64(a, n) EACH(srli_epi64, a, n)
#define _mm256_slli_epi64(a, n) EACH(slli_epi64, a, n)
#define _mm256_shuffle_epi32(a, n) EACH(shuffle_epi32, a, n)
#define _mm256_alignr_epi8(a, b, n) BOTH(alignr_epi8, a, b, n)
#define _mm256_blend_epi16(a, b, n) BOTH(blend_epi16, a, b, n)
#define FOUR_PAIRS(n) (((n)&1) * 3 | ((n) >> 1 & 1) * 12 | ((n) >> 2 & 1) * 48 | ((n) >> 3 & 1) * 192)
#define _mm256_blend_epi32(a, b, n)                                                                          \
    ((TwoInts){_mm_blend_epi16((a).low, (b).low, FOUR_PAIRS(n)),                                             \
               _mm_blend_epi16((a).high, (b).high, FOUR_PAIRS((n) >> 4))})
#define _mm256_shuffle_ps(a, b, n)                                                                           \
    ((TwoFloats){_mm_shuffle_ps((a).low, (b).low, n), _mm_shuffle_ps((a).high, (b).high, n)})

#ifdef __aarch64__ /* what NEON does by fewer operations than SSE4.2 */
#define NEON_S16(a) simde__m128i_to_neon_i16(a)
TWO TwoInts vi_down(TwoFloats a)
{
    return (TwoInts){simde__m128i_from_neon_i32(vcvtmq_s32_f32(simde__m128_to_neon_f32(a.low))),
                     simde__m128i_from_neon_i32(vcvtmq_s32_f32(simde__m128_to_neon_f32(a.high)))};
}
#define vi_down vi_down
TWO __m128i neon_madd_two(__m128i a, __m128i b, __m128i c, __m128i d)
{
    const int32x4_t low = vmlal_s16(vmull_s16(vget_low_s16(NEON_S16(a)), vget_low_s16(NEON_S16(b))),
                                    vget_low_s16(NEON_S16(c)), vget_low_s16(NEON_S16(d))),
                    high = vmlal_high_s16(vmull_high_s16(NEON_S16(a), NEON_S16(b)), NEON_S16(c), NEON_S16(d));
    return simde__m128i_from_neon_i32(vpaddq_s32(low, high));
}
/* without `half`: the shifts round */
TWO TwoInts vi_weighed(TwoInts half, TwoInts a, TwoInts wa, TwoInts b, TwoInts wb)
{
    (void)half;
    return (TwoInts){neon_madd_two(a.low, wa.low, b.low, wb.low),
                     neon_madd_two(a.high, wa.high, b.high, wb.high)};
}
#define vi_weighed vi_weighed
#define NEON_ROUND(a, n) simde__m128i_from_neon_i32(vrshrq_n_s32(simde__m128i_to_neon_i32(a), n))
#define vi_scaled(a, n) ((TwoInts){NEON_ROUND((a).low, n), NEON_ROUND((a).high, n)})
TWO __m128i neon_halves(__m128i low, __m128i high)
{
    return simde__m128i_from_neon_i32(
        vsliq_n_s32(simde__m128i_to_neon_i32(low), simde__m128i_to_neon_i32(high), 16));
}
TWO TwoInts i8_bits(TwoInts a)
{
    return (TwoInts){simde__m128i_from_neon_u8(vcntq_u8(simde__m128i_to_neon_u8(a.low))),
                     simde__m128i_from_neon_u8(vcntq_u8(simde__m128i_to_neon_u8(a.high)))};
}
#define i8_bits i8_bits
TWO TwoInts i8_pair_sums(TwoInts a)
{
    return (TwoInts){simde__m128i_from_neon_i16(vpaddlq_s8(simde__m128i_to_neon_i8(a.low))),
                     simde__m128i_from_neon_i16(vpaddlq_s8(simde__m128i_to_neon_i8(a.high)))};
}
#define NEON_IN(word, mask)                                                                                  \
    simde__m128i_from_neon_i16(vsliq_n_s16(simde__m128i_to_neon_i16(mask), NEON_S16(word), 1))
TWO TwoInts i8_shift_in(TwoInts word, TwoInts mask)
{
    return (TwoInts){NEON_IN(word.low, mask.low), NEON_IN(word.high, mask.high)};
}
#define VEC_SHIFTS_IN 1
TWO TwoInts neon_pairs(int16x8_t low, int16x8_t high)
{
    return (TwoInts){simde__m128i_from_neon_i16(vzip1q_s16(low, high)),
                     simde__m128i_from_neon_i16(vzip2q_s16(low, high))};
}
TWO TwoInts vi_pairs(const int16_t *low, const int16_t *high)
{
    return neon_pairs(vld1q_s16(low), vld1q_s16(high));
}
#define vi_pairs vi_pairs
TWO TwoInts vi_minus_high(TwoInts a)
{
    const int16x8_t signs = vreinterpretq_s16_s32(vdupq_n_s32((int32_t)0xffff0001));
    return (TwoInts){simde__m128i_from_neon_i16(vmulq_s16(NEON_S16(a.low), signs)),
                     simde__m128i_from_neon_i16(vmulq_s16(NEON_S16(a.high), signs))};
}
TWO TwoInts vi_add_halves(TwoInts sum, TwoInts a)
{
    return (TwoInts){
        simde__m128i_from_neon_i32(vpadalq_s16(simde__m128i_to_neon_i32(sum.low), NEON_S16(a.low))),
        simde__m128i_from_neon_i32(vpadalq_s16(simde__m128i_to_neon_i32(sum.high), NEON_S16(a.high)))};
}
#define NEON_HALVES(a, b, n) neon_halves(NEON_ROUND(a, n), NEON_ROUND(b, n))
#define vi_scaled_halves(a, b, n)                                                                            \
    ((TwoInts){NEON_HALVES((a).low, (b).low, n), NEON_HALVES((a).high, (b).high, n)})
#endif

#endif
