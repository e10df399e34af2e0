/* Vectors of 16 bytes for any machine, by the extensions that gcc (12) and clang share.  See simd.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_C_H
#define SDM_SIMD_C_H

#include <string.h>

typedef uint16_t v16 __attribute__((vector_size(16), may_alias));
typedef int16_t v16s __attribute__((vector_size(16)));
typedef int32_t v32 __attribute__((vector_size(16)));
typedef uint32_t v32u __attribute__((vector_size(16)));
typedef uint8_t v8 __attribute__((vector_size(16), may_alias));
typedef float vf __attribute__((vector_size(16)));
enum { VEC_BYTES = 16 };

#define VEC_ACCESS(type)                                                                                     \
    VEC type type##_load(const void *p)                                                                      \
    {                                                                                                        \
        type a;                                                                                              \
        memcpy(&a, p, sizeof a);                                                                             \
        return a;                                                                                            \
    }                                                                                                        \
    VEC void type##_store(void *p, type a) { memcpy(p, &a, sizeof a); }
VEC_ACCESS(v16)
VEC_ACCESS(v32)
VEC_ACCESS(v8)

VEC v16 v16_add(v16 a, v16 b) { return a + b; }
VEC v8 v8_add(v8 a, v8 b) { return a + b; }
VEC v16 v16_set1(int a) { return (v16){0} + (uint16_t)a; }
VEC v16 v16_sub(v16 a, v16 b) { return a - b; }
VEC v16 v16_or(v16 a, v16 b) { return a | b; }
VEC v16 v16_select(v16 mask, v16 a, v16 b) { return (mask & a) | (~mask & b); }
VEC v16 v16_min(v16 a, v16 b) { return v16_select((v16)(a < b), a, b); }
VEC v16 v16_absdiff(v16 a, v16 b)
{
    const v16s x = (v16s)(a - b), sign = x >> 15;
    return (v16)((x ^ sign) - sign);
}
VEC unsigned v16_first(v16 a) { return a[0]; }
VEC unsigned v16_last(v16 a) { return a[7]; }

VEC void v16_take_less(v16 c, v16 d, v16 *best, v16 *best_d)
{
    const v16 less = (v16)(c < *best);
    *best = v16_select(less, c, *best);
    *best_d = v16_select(less, d, *best_d);
}

typedef uint16_t Least;
VEC unsigned least_get(Least a) { return a; }
VEC Least least_set(unsigned a) { return (Least)a; }
VEC Least v16_least(v16 m)
{
    m = v16_min(m, __builtin_shufflevector(m, m, 4, 5, 6, 7, 0, 1, 2, 3));
    m = v16_min(m, __builtin_shufflevector(m, m, 2, 3, 0, 1, 6, 7, 4, 5));
    return v16_min(m, __builtin_shufflevector(m, m, 1, 0, 3, 2, 5, 4, 7, 6))[0];
}
VEC v16 v16_all(Least a) { return v16_set1(a); }
#define v16_up(a, below, n)                                                                                  \
    __builtin_shufflevector(below, a, 8 - (n), 9 - (n), 10 - (n), 11 - (n), 12 - (n), 13 - (n), 14 - (n),    \
                            15 - (n))
#define v16_down(a, above, n)                                                                                \
    __builtin_shufflevector(a, above, (n), 1 + (n), 2 + (n), 3 + (n), 4 + (n), 5 + (n), 6 + (n), 7 + (n))
VEC v16 v16_adds(v16 a, v16 b)
{
    const v16 sum = a + b;
    return sum | (v16)(sum < a);
}
VEC v16 v16_from_bytes(const uint8_t *p) { return (v16){p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}; }
VEC v16 v16_from_costs(const uint8_t *p)
{
    const v16 a = v16_from_bytes(p);
    return a | (v16)(a == 255);
}
VEC int v16_first_equal(v16 a, v16 b)
{
    for (int i = 0; i < 8; i++)
        if (a[i] == b[i])
            return i;
    return 8;
}

VEC int lanes_last_equal(v16 even, v16 odd, v16 all)
{
    const v16 order = {1, 3, 5, 7, 9, 11, 13, 15};
    const v16 a = (v16)(even == all) & order, b = (v16)(odd == all) & (order + 1);
    v16 m = v16_select((v16)(a > b), a, b), other = __builtin_shufflevector(m, m, 4, 5, 6, 7, 0, 1, 2, 3);
    m = v16_select((v16)(m > other), m, other);
    other = __builtin_shufflevector(m, m, 2, 3, 0, 1, 6, 7, 4, 5);
    m = v16_select((v16)(m > other), m, other);
    return (m[0] > m[1] ? m[0] : m[1]) - 1;
}

VEC void lanes_shift(v16 *even, v16 *odd, v16 *even_2, v16 *odd_2, uint32_t enters)
{
    const v16 last = {(uint16_t)enters, (uint16_t)(enters >> 16)};
    const v16 moved = __builtin_shufflevector(*even, last, 1, 2, 3, 4, 5, 6, 7, 8);
    const v16 moved_2 = __builtin_shufflevector(*even_2, last, 1, 2, 3, 4, 5, 6, 7, 9);
    *even = *odd;
    *odd = moved;
    *even_2 = *odd_2;
    *odd_2 = moved_2;
}
VEC uint32_t v16_firsts(v16 a, v16 b) { return a[0] | (uint32_t)b[0] << 16; }

VEC v16 v16_evens(v16 a, v16 b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14); }
VEC v16 v16_odds(v16 a, v16 b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15); }
VEC void v16_join(v16 even, v16 odd, v16 *first, v16 *second)
{
    *first = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
    *second = __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
}

VEC v32 v32_set1(int32_t a) { return (v32){0} + a; }
VEC v16 v32_bits(v32 a) { return (v16)a; }
VEC v32 v32_add(v32 a, v32 b) { return (v32)((v32u)a + (v32u)b); } /* modulo 2^32 */
VEC v32 v32_sub(v32 a, v32 b) { return (v32)((v32u)a - (v32u)b); }
VEC v32 v32_dot(v32 sum, v32 a, v32 b)
{
    const v32 lows = ((v32)((v32u)a << 16) >> 16) * ((v32)((v32u)b << 16) >> 16);
    return (v32)((v32u)sum + (v32u)lows + (v32u)((a >> 16) * (b >> 16)));
}
VEC v32 v32_shift_right(v32 a, int n) { return (v32)((v32u)a >> (uint32_t)n); }
VEC v32 v32_from_low(v16 a) { return (v32)__builtin_shufflevector(a, (v16){0}, 0, 8, 1, 9, 2, 10, 3, 11); }
VEC v32 v32_from_high(v16 a) { return (v32)__builtin_shufflevector(a, (v16){0}, 4, 12, 5, 13, 6, 14, 7, 15); }
VEC vf vf_load(const void *p)
{
    vf a;
    memcpy(&a, p, sizeof a);
    return a;
}
VEC vf vf_set1(float a) { return (vf){0} + a; }
VEC vf vf_mul(vf a, vf b) { return a * b; }
VEC vf vf_sub(vf a, vf b) { return a - b; }
VEC vf vf_from(v32 a) { return __builtin_convertvector(a, vf); }
VEC v32 v32_round(vf a) /* to nearest even, by the adder: |a| < 2^22 */
{
    const vf sum = a + 12582912.0f;
    v32 bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits - 0x4B400000;
}

VEC v8 v8_set1(int a) { return (v8){0} + (uint8_t)a; }
VEC v8 v8_select(v8 mask, v8 a, v8 b) { return (mask & a) | (~mask & b); }
VEC v8 v8_min(v8 a, v8 b) { return v8_select((v8)(a < b), a, b); }
VEC v8 v8_max(v8 a, v8 b) { return v8_select((v8)(a > b), a, b); }
VEC v8 v8_sub(v8 a, v8 b) { return a - b; }
VEC v8 v8_adds(v8 a, v8 b)
{
    const v8 sum = a + b;
    return sum | (v8)(sum < a);
}
VEC Least v8_least(v8 a) { return v16_least(v16_min((v16)a & 255, (v16)a >> 8)); }
VEC v8 v8_all(Least a) { return v8_set1(a); }
#define v8_up(a, below, n)                                                                                   \
    __builtin_shufflevector(below, a, 16 - (n), 17 - (n), 18 - (n), 19 - (n), 20 - (n), 21 - (n), 22 - (n),  \
                            23 - (n), 24 - (n), 25 - (n), 26 - (n), 27 - (n), 28 - (n), 29 - (n), 30 - (n),  \
                            31 - (n))
#define v8_down(a, above, n)                                                                                 \
    __builtin_shufflevector(a, above, (n), 1 + (n), 2 + (n), 3 + (n), 4 + (n), 5 + (n), 6 + (n), 7 + (n),    \
                            8 + (n), 9 + (n), 10 + (n), 11 + (n), 12 + (n), 13 + (n), 14 + (n), 15 + (n))
VEC v8 v8_hamming(v8 a, v8 b)
{
    v8 x = a ^ b;
    x -= (x >> 1) & 0x55;
    x = (x & 0x33) + ((x >> 2) & 0x33);
    return (x + (x >> 4)) & 0x0F;
}
VEC v8 v8_absdiff(v8 a, v8 b)
{
    const v8 less = (v8)(a < b);
    return ((a - b) & ~less) | ((b - a) & less);
}
VEC v16 v8_evens(v8 a) { return (v16)a & 255; }
VEC v16 v8_odds(v8 a) { return (v16)a >> 8; }
VEC v16 v16_darker(v16 a, v16 b, v16 bit) { return (v16)((v16s)a < (v16s)b) & bit; }
VEC v8 v8_from_lows(v16 a, v16 b)
{
    return __builtin_shufflevector((v8)a, (v8)b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

#endif
