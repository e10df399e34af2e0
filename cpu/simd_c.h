/* Vectors of 16 bytes for any machine, by the extensions that gcc (12) and clang share.  See simd.h. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_C_H
#define SDM_SIMD_C_H

typedef uint16_t v16 __attribute__((vector_size(16), may_alias));
typedef int16_t v16s __attribute__((vector_size(16)));
typedef uint8_t v8 __attribute__((vector_size(16), may_alias));
enum { VEC_BYTES = 16 };

VEC_ACCESS(v16)
VEC_ACCESS(v8)

VEC v16 v16_add(v16 a, v16 b) { return a + b; }
VEC v8 v8_add(v8 a, v8 b) { return a + b; }
VEC v16 v16_set(int a) { return (v16){0} + (uint16_t)a; }
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
VEC v16 v16_all(Least a) { return v16_set(a); }
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

VEC v16 vi_bits(vi a) { return (v16)a; }
VEC vi vi_from_low(v16 a) { return (vi)__builtin_shufflevector(a, (v16){0}, 0, 8, 1, 9, 2, 10, 3, 11); }
VEC vi vi_from_high(v16 a) { return (vi)__builtin_shufflevector(a, (v16){0}, 4, 12, 5, 13, 6, 14, 7, 15); }

VEC v8 v8_set(int a) { return (v8){0} + (uint8_t)a; }
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
VEC v8 v8_all(Least a) { return v8_set(a); }
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
