/* Vectors of 16 bytes for any machine, in the compiler's own notation.  See pair_vec.h. */
#ifndef SDM_PAIR_VEC_C_H
#define SDM_PAIR_VEC_C_H

#include <string.h>

typedef uint16_t v16 __attribute__((vector_size(16)));
typedef int16_t v16s __attribute__((vector_size(16)));
typedef int32_t v32 __attribute__((vector_size(16)));
typedef uint32_t v32u __attribute__((vector_size(16)));
typedef uint8_t v8 __attribute__((vector_size(16)));
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
VEC v16 v16_pick(v16 mask, v16 a, v16 b) { return (mask & a) | (~mask & b); }
VEC v16 v16_min(v16 a, v16 b) { return v16_pick((v16)(a < b), a, b); }
VEC v16 v16_apart(v16 a, v16 b)
{
    const v16s x = (v16s)(a - b), sign = x >> 15;
    return (v16)((x ^ sign) - sign);
}
VEC unsigned v16_first(v16 a) { return a[0]; }
VEC unsigned v16_last(v16 a) { return a[7]; }

VEC void v16_take_less(v16 c, v16 d, v16 *best, v16 *best_d)
{
    const v16 less = (v16)(c < *best);
    *best = v16_pick(less, c, *best);
    *best_d = v16_pick(less, d, *best_d);
}

VEC unsigned lanes_min(v16 lo, v16 hi, v16 *all)
{
    v16 m = v16_min(lo, hi);
    m = v16_min(m, __builtin_shuffle(m, (v16){4, 5, 6, 7, 0, 1, 2, 3}));
    m = v16_min(m, __builtin_shuffle(m, (v16){2, 3, 0, 1, 6, 7, 4, 5}));
    m = v16_min(m, __builtin_shuffle(m, (v16){1, 0, 3, 2, 5, 4, 7, 6}));
    *all = m;
    return m[0];
}

VEC int lanes_last_equal(v16 even, v16 odd, v16 all)
{
    const v16 order = {1, 3, 5, 7, 9, 11, 13, 15};
    const v16 a = (v16)(even == all) & order, b = (v16)(odd == all) & (order + 1);
    v16 m = v16_pick((v16)(a > b), a, b), other = __builtin_shuffle(m, (v16){4, 5, 6, 7, 0, 1, 2, 3});
    m = v16_pick((v16)(m > other), m, other);
    other = __builtin_shuffle(m, (v16){2, 3, 0, 1, 6, 7, 4, 5});
    m = v16_pick((v16)(m > other), m, other);
    return (m[0] > m[1] ? m[0] : m[1]) - 1;
}

VEC void lanes_shift(v16 *even, v16 *odd, v16 *even_2, v16 *odd_2, uint32_t enters)
{
    const v16 last = {(uint16_t)enters, (uint16_t)(enters >> 16)};
    const v16 moved = __builtin_shuffle(*even, last, (v16){1, 2, 3, 4, 5, 6, 7, 8});
    const v16 moved_2 = __builtin_shuffle(*even_2, last, (v16){1, 2, 3, 4, 5, 6, 7, 9});
    *even = *odd;
    *odd = moved;
    *even_2 = *odd_2;
    *odd_2 = moved_2;
}
VEC uint32_t v16_firsts(v16 a, v16 b) { return a[0] | (uint32_t)b[0] << 16; }

VEC v16 v16_evens(v16 a, v16 b) { return __builtin_shuffle(a, b, (v16){0, 2, 4, 6, 8, 10, 12, 14}); }
VEC v16 v16_odds(v16 a, v16 b) { return __builtin_shuffle(a, b, (v16){1, 3, 5, 7, 9, 11, 13, 15}); }
VEC void v16_join(v16 even, v16 odd, v16 *first, v16 *second)
{
    *first = __builtin_shuffle(even, odd, (v16){0, 8, 1, 9, 2, 10, 3, 11});
    *second = __builtin_shuffle(even, odd, (v16){4, 12, 5, 13, 6, 14, 7, 15});
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
VEC v32 v32_right(v32 a, int n) { return (v32)((v32u)a >> (uint32_t)n); }
VEC v32 v32_of_low(v16 a) { return (v32)__builtin_shuffle(a, (v16){0}, (v16){0, 8, 1, 9, 2, 10, 3, 11}); }
VEC v32 v32_of_high(v16 a) { return (v32)__builtin_shuffle(a, (v16){0}, (v16){4, 12, 5, 13, 6, 14, 7, 15}); }
VEC vf vf_load(const void *p)
{
    vf a;
    memcpy(&a, p, sizeof a);
    return a;
}
VEC vf vf_set1(float a) { return (vf){0} + a; }
VEC vf vf_mul(vf a, vf b) { return a * b; }
VEC vf vf_sub(vf a, vf b) { return a - b; }
VEC vf vf_of(v32 a) { return __builtin_convertvector(a, vf); }
VEC v32 v32_round(vf a) /* to nearest even, by the adder: |a| < 2^22 */
{
    const vf sum = a + 12582912.0f;
    v32 bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits - 0x4B400000;
}

VEC v8 v8_set1(int a) { return (v8){0} + (uint8_t)a; }
VEC v8 v8_pick(v8 mask, v8 a, v8 b) { return (mask & a) | (~mask & b); }
VEC v8 v8_min(v8 a, v8 b) { return v8_pick((v8)(a < b), a, b); }
VEC v8 v8_max(v8 a, v8 b) { return v8_pick((v8)(a > b), a, b); }
VEC v8 v8_ones_apart(v8 a, v8 b)
{
    v8 x = a ^ b;
    x -= (x >> 1) & 0x55;
    x = (x & 0x33) + ((x >> 2) & 0x33);
    return (x + (x >> 4)) & 0x0F;
}
VEC v8 v8_apart(v8 a, v8 b)
{
    const v8 less = (v8)(a < b);
    return ((a - b) & ~less) | ((b - a) & less);
}
VEC v16 v8_evens(v8 a) { return (v16)a & 255; }
VEC v16 v8_odds(v8 a) { return (v16)a >> 8; }
VEC v16 v16_darker(v16 a, v16 b, v16 bit) { return (v16)((v16s)a < (v16s)b) & bit; }
VEC v8 v8_of_lows(v16 a, v16 b)
{
    return __builtin_shuffle((v8)a, (v8)b, (v8){0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
}

#endif
