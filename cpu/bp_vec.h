/* What belief propagation asks of vectors of VL 16-bit lanes beside pair_vec.h:
 *
 * - v16_add_top: a + b, at most 65535; v16_widen: VL bytes of memory; v16_spread_min: the least lane, in
 * every lane
 *
 * - v16_up: lane i takes that of lane i - n, lanes below n hold 65535; v16_down: that of lane i + n, lanes
 *   above hold 65535; n = 1, 2 or 4
 *
 * - v16_find: number of the first lane in which a equals b, VL if none does */
#ifndef SDM_BP_VEC_H
#define SDM_BP_VEC_H

#include "pair_vec.h"

#if defined(__AVX512BITALG__)
#define V16_TOP _mm512_set1_epi16(-1)
VEC v16 v16_add_top(v16 a, v16 b) { return _mm512_adds_epu16(a, b); }
VEC v16 v16_widen(const uint8_t *p) { return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)p)); }
VEC v16 v16_spread_min(v16 v)
{
    const __m256i a = _mm256_min_epu16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    const __m128i b = _mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    return _mm512_broadcastw_epi16(_mm_minpos_epu16(b));
}
VEC v16 v16_lanes_from(int n)
{
    const __m512i numbers = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                             15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_add_epi16(numbers, _mm512_set1_epi16((short)n));
}
VEC v16 v16_up(v16 a, int n)
{
    return _mm512_mask_permutexvar_epi16(V16_TOP, 0xFFFFFFFFu << n, v16_lanes_from(-n), a);
}
VEC v16 v16_down(v16 a, int n)
{
    return _mm512_mask_permutexvar_epi16(V16_TOP, 0xFFFFFFFFu >> n, v16_lanes_from(n), a);
}
VEC int v16_find(v16 a, v16 b)
{
    return (int)_tzcnt_u32(_cvtmask32_u32(_mm512_cmpeq_epi16_mask(a, b)));
}
#elif defined(__AVX2__)
VEC v16 v16_add_top(v16 a, v16 b) { return _mm256_adds_epu16(a, b); }
VEC v16 v16_widen(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)p)); }
VEC v16 v16_spread_min(v16 a)
{
    const __m128i b = _mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    return _mm256_broadcastw_epi16(_mm_minpos_epu16(b));
}
VEC v16 v16_up(v16 a, int n)
{
    const __m256i below = _mm256_permute2x128_si256(a, _mm256_set1_epi16(-1), 0x02); /* ones, a's low half */
#define UP(n) _mm256_alignr_epi8(a, below, 16 - 2 * (n))
    return n == 4 ? UP(4) : n == 2 ? UP(2) : UP(1);
#undef UP
}
VEC v16 v16_down(v16 a, int n)
{
    const __m256i above = _mm256_permute2x128_si256(a, _mm256_set1_epi16(-1), 0x21); /* a's high half, ones */
#define DOWN(n) _mm256_alignr_epi8(above, a, 2 * (n))
    return n == 4 ? DOWN(4) : n == 2 ? DOWN(2) : DOWN(1);
#undef DOWN
}
VEC int v16_find(v16 a, v16 b)
{
    return (int)_tzcnt_u32((unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi16(a, b))) / 2;
}
#elif defined(__SSE4_2__)
VEC v16 v16_add_top(v16 a, v16 b) { return _mm_adds_epu16(a, b); }
VEC v16 v16_widen(const uint8_t *p) { return _mm_cvtepu8_epi16(_mm_loadl_epi64((const void *)p)); }
VEC v16 v16_spread_min(v16 a)
{
    return _mm_shuffle_epi8(_mm_minpos_epu16(a), _mm_set1_epi16(0x0100));
}
VEC v16 v16_up(v16 a, int n)
{
#define UP(n) _mm_alignr_epi8(a, _mm_set1_epi16(-1), 16 - 2 * (n))
    return n == 4 ? UP(4) : n == 2 ? UP(2) : UP(1);
#undef UP
}
VEC v16 v16_down(v16 a, int n)
{
#define DOWN(n) _mm_alignr_epi8(_mm_set1_epi16(-1), a, 2 * (n))
    return n == 4 ? DOWN(4) : n == 2 ? DOWN(2) : DOWN(1);
#undef DOWN
}
VEC int v16_find(v16 a, v16 b)
{
    const unsigned equal = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi16(a, b));
    return equal ? __builtin_ctz(equal) / 2 : VL;
}
#else
VEC v16 v16_add_top(v16 a, v16 b)
{
    const v16 sum = a + b;
    return sum | (v16)(sum < a);
}
VEC v16 v16_widen(const uint8_t *p) { return (v16){p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}; }
VEC v16 v16_spread_min(v16 m)
{
    m = v16_min(m, __builtin_shuffle(m, (v16){4, 5, 6, 7, 0, 1, 2, 3}));
    m = v16_min(m, __builtin_shuffle(m, (v16){2, 3, 0, 1, 6, 7, 4, 5}));
    return v16_min(m, __builtin_shuffle(m, (v16){1, 0, 3, 2, 5, 4, 7, 6}));
}
VEC v16 v16_up(v16 a, int n)
{
    const v16 top = v16_set1(0xFFFF);
    return n == 4   ? __builtin_shuffle(a, top, (v16){8, 8, 8, 8, 0, 1, 2, 3})
           : n == 2 ? __builtin_shuffle(a, top, (v16){8, 8, 0, 1, 2, 3, 4, 5})
                    : __builtin_shuffle(a, top, (v16){8, 0, 1, 2, 3, 4, 5, 6});
}
VEC v16 v16_down(v16 a, int n)
{
    const v16 top = v16_set1(0xFFFF);
    return n == 4   ? __builtin_shuffle(a, top, (v16){4, 5, 6, 7, 8, 8, 8, 8})
           : n == 2 ? __builtin_shuffle(a, top, (v16){2, 3, 4, 5, 6, 7, 8, 8})
                    : __builtin_shuffle(a, top, (v16){1, 2, 3, 4, 5, 6, 7, 8});
}
VEC int v16_find(v16 a, v16 b)
{
    for (int i = 0; i < VL; i++)
        if (a[i] == b[i])
            return i;
    return VL;
}
#endif

#endif
