/* Vectors of 16, 32 and 64 bytes for semi-global matching, as far as the instruction set has them: one
 * notation, name_E_W for W bytes of elements of E bits, unsigned.
 *
 * - add saturates; up: every element takes the one before it, the first the last of `below`; down: the one
 *   after it, the last the first of `above`
 *
 * - least: the smallest element as 16 bits, in an __m128i; all_: an __m128i's first element everywhere
 *
 * - wide: elements of bytes at p as 16 bits, the value 255 as 65535
 *
 * - gather: sum of four vectors of bytes, widened, added to 16-bit sums in order (or put there)
 *
 * - take_less: best = min(best, c), and label = mine where c is less; first_equal: place of the first element
 *   of 16 bits that equals `all`'s, 64 without one */
#ifndef SDM_SGM_VEC_H
#define SDM_SGM_VEC_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define VEC static inline __attribute__((always_inline, unused))

#define SGM_VEC_PLAIN(W, T, P, SI)                                                                           \
    typedef T vec_##W;                                                                                       \
    VEC T load_##W(const void *p) { return P##_loadu_##SI((const T *)p); }                                   \
    VEC void store_##W(void *p, T a) { P##_storeu_##SI((T *)p, a); }                                         \
    VEC T set_8_##W(int a) { return P##_set1_epi8((char)a); }                                                \
    VEC T set_16_##W(int a) { return P##_set1_epi16((short)a); }                                             \
    VEC T add_8_##W(T a, T b) { return P##_adds_epu8(a, b); }                                                \
    VEC T add_16_##W(T a, T b) { return P##_adds_epu16(a, b); }                                              \
    VEC T sub_8_##W(T a, T b) { return P##_sub_epi8(a, b); }                                                 \
    VEC T sub_16_##W(T a, T b) { return P##_sub_epi16(a, b); }                                               \
    VEC T min_8_##W(T a, T b) { return P##_min_epu8(a, b); }                                                 \
    VEC T min_16_##W(T a, T b) { return P##_min_epu16(a, b); }                                               \
    VEC T max_8_##W(T a, T b) { return P##_max_epu8(a, b); }                                                 \
    VEC T evens_##W(T a) { return P##_and_##SI(a, P##_set1_epi16(255)); }                                    \
    VEC T odds_##W(T a) { return P##_srli_epi16(a, 8); }

SGM_VEC_PLAIN(16, __m128i, _mm, si128)

VEC __m128i least_8_16(__m128i a)
{
    return _mm_minpos_epu16(_mm_min_epu8(a, _mm_srli_epi16(a, 8)));
}
VEC __m128i least_16_16(__m128i a) { return _mm_minpos_epu16(a); }
VEC __m128i all_8_16(__m128i a) { return _mm_shuffle_epi8(a, _mm_setzero_si128()); }
VEC __m128i all_16_16(__m128i a) { return _mm_shuffle_epi8(a, _mm_set1_epi16(0x0100)); }
VEC __m128i up_8_16(__m128i a, __m128i below) { return _mm_alignr_epi8(a, below, 15); }
VEC __m128i up_16_16(__m128i a, __m128i below) { return _mm_alignr_epi8(a, below, 14); }
VEC __m128i down_8_16(__m128i a, __m128i above) { return _mm_alignr_epi8(above, a, 1); }
VEC __m128i down_16_16(__m128i a, __m128i above) { return _mm_alignr_epi8(above, a, 2); }
VEC __m128i wide_16(const void *p)
{
    const __m128i a = _mm_loadl_epi64(p), pad = _mm_cmpeq_epi8(a, _mm_set1_epi8(-1));
    return _mm_unpacklo_epi8(a, pad);
}
VEC void gather_16(uint16_t *sum, __m128i even, __m128i odd, bool add)
{
    __m128i lo = _mm_unpacklo_epi16(even, odd), hi = _mm_unpackhi_epi16(even, odd);
    if (add) {
        lo = _mm_add_epi16(lo, load_16(sum));
        hi = _mm_add_epi16(hi, load_16(sum + 8));
    }
    store_16(sum, lo);
    store_16(sum + 8, hi);
}
VEC void take_less_16(__m128i c, __m128i mine, __m128i *best, __m128i *label)
{
    const __m128i keep = _mm_cmpeq_epi16(_mm_max_epu16(c, *best), c);
    *best = _mm_min_epu16(c, *best);
    *label = _mm_blendv_epi8(mine, *label, keep);
}
VEC int first_equal_16(__m128i a, __m128i all)
{
    const unsigned m = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi16(a, all));
    return m ? __builtin_ctz(m) / 2 : 64;
}

#if defined(__AVX2__)
SGM_VEC_PLAIN(32, __m256i, _mm256, si256)
#define HALVES_32(op, a) op(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1))
VEC __m128i least_8_32(__m256i a) { return least_8_16(HALVES_32(_mm_min_epu8, a)); }
VEC __m128i least_16_32(__m256i a) { return least_16_16(HALVES_32(_mm_min_epu16, a)); }
VEC __m256i all_8_32(__m128i a) { return _mm256_broadcastb_epi8(a); }
VEC __m256i all_16_32(__m128i a) { return _mm256_broadcastw_epi16(a); }
#define BEFORE_32(a, below) _mm256_permute2x128_si256(below, a, 0x21)
#define AFTER_32(a, above) _mm256_permute2x128_si256(a, above, 0x21)
VEC __m256i up_8_32(__m256i a, __m256i below) { return _mm256_alignr_epi8(a, BEFORE_32(a, below), 15); }
VEC __m256i up_16_32(__m256i a, __m256i below) { return _mm256_alignr_epi8(a, BEFORE_32(a, below), 14); }
VEC __m256i down_8_32(__m256i a, __m256i above) { return _mm256_alignr_epi8(AFTER_32(a, above), a, 1); }
VEC __m256i down_16_32(__m256i a, __m256i above) { return _mm256_alignr_epi8(AFTER_32(a, above), a, 2); }
VEC __m256i wide_32(const void *p)
{
    const __m128i a = load_16(p), pad = _mm_cmpeq_epi8(a, _mm_set1_epi8(-1));
    return _mm256_or_si256(_mm256_cvtepu8_epi16(a), _mm256_cvtepi8_epi16(pad));
}
VEC void gather_32(uint16_t *sum, __m256i even, __m256i odd, bool add)
{
    const __m256i a = _mm256_unpacklo_epi16(even, odd), b = _mm256_unpackhi_epi16(even, odd);
    __m256i lo = _mm256_permute2x128_si256(a, b, 0x20), hi = _mm256_permute2x128_si256(a, b, 0x31);
    if (add) {
        lo = _mm256_add_epi16(lo, load_32(sum));
        hi = _mm256_add_epi16(hi, load_32(sum + 16));
    }
    store_32(sum, lo);
    store_32(sum + 16, hi);
}
VEC void take_less_32(__m256i c, __m256i mine, __m256i *best, __m256i *label)
{
    const __m256i keep = _mm256_cmpeq_epi16(_mm256_max_epu16(c, *best), c);
    *best = _mm256_min_epu16(c, *best);
    *label = _mm256_blendv_epi8(mine, *label, keep);
}
VEC int first_equal_32(__m256i a, __m256i all)
{
    const unsigned m = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi16(a, all));
    return m ? __builtin_ctz(m) / 2 : 64;
}
#endif

#if defined(__AVX512BW__)
SGM_VEC_PLAIN(64, __m512i, _mm512, si512)
#define HALVES_64(op, a) op(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1))
VEC __m128i least_8_64(__m512i a) { return least_8_32(HALVES_64(_mm256_min_epu8, a)); }
VEC __m128i least_16_64(__m512i a) { return least_16_32(HALVES_64(_mm256_min_epu16, a)); }
VEC __m512i all_8_64(__m128i a) { return _mm512_broadcastb_epi8(a); }
VEC __m512i all_16_64(__m128i a) { return _mm512_broadcastw_epi16(a); }
#define BEFORE_64(a, below) _mm512_alignr_epi64(a, below, 6)
#define AFTER_64(a, above) _mm512_alignr_epi64(above, a, 2)
VEC __m512i up_8_64(__m512i a, __m512i below) { return _mm512_alignr_epi8(a, BEFORE_64(a, below), 15); }
VEC __m512i up_16_64(__m512i a, __m512i below) { return _mm512_alignr_epi8(a, BEFORE_64(a, below), 14); }
VEC __m512i down_8_64(__m512i a, __m512i above) { return _mm512_alignr_epi8(AFTER_64(a, above), a, 1); }
VEC __m512i down_16_64(__m512i a, __m512i above) { return _mm512_alignr_epi8(AFTER_64(a, above), a, 2); }
VEC __m512i wide_64(const void *p)
{
    const __m256i a = load_32(p), pad = _mm256_cmpeq_epi8(a, _mm256_set1_epi8(-1));
    return _mm512_or_si512(_mm512_cvtepu8_epi16(a), _mm512_cvtepi8_epi16(pad));
}
VEC void gather_64(uint16_t *sum, __m512i even, __m512i odd, bool add)
{
    const __m512i a = _mm512_unpacklo_epi16(even, odd), b = _mm512_unpackhi_epi16(even, odd);
    __m512i lo = _mm512_permutex2var_epi64(a, _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), b);
    __m512i hi = _mm512_permutex2var_epi64(a, _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4), b);
    if (add) {
        lo = _mm512_add_epi16(lo, load_64(sum));
        hi = _mm512_add_epi16(hi, load_64(sum + 32));
    }
    store_64(sum, lo);
    store_64(sum + 32, hi);
}
VEC void take_less_64(__m512i c, __m512i mine, __m512i *best, __m512i *label)
{
    const __mmask32 less = _mm512_cmplt_epu16_mask(c, *best);
    *best = _mm512_min_epu16(c, *best);
    *label = _mm512_mask_mov_epi16(*label, less, mine);
}
VEC int first_equal_64(__m512i a, __m512i all)
{
    const unsigned m = _cvtmask32_u32(_mm512_cmpeq_epi16_mask(a, all));
    return m ? __builtin_ctz(m) : 64;
}
#endif

#endif
