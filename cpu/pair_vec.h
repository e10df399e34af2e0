/* The vectors that the kernels of rectified matching are written in, one notation for every instruction set:
 * v16 (uint16), v32 (int32), v8 (uint8), vf (float).  A chunk of LANES disparities is one v8, two v16 (its
 * even lanes and its odd ones), four v32 (two of even lanes, two of odd ones).  What is not plain:
 *
 * - v16_apart: |a - b| of signed samples; v16_darker: bit where a < b (signed), else 0
 *
 * - v16_take_less: best = min(best, c), and best_d = d where c is less
 *
 * - lanes_min: the least of a chunk, also in every lane of `all`; lanes_last_equal: the highest such lane
 *
 * - lanes_around: two lanes, by their places in even, odd, where that is cheaper than memory
 *   (VEC_HAS_AROUND)
 *
 * - lanes_shift: every lane takes the next one's value, the last one takes a half of `enters`; of two chunks;
 *   v16_firsts: lane 0 of two vectors, as halves
 *
 * - v16_evens, v16_odds: of two vectors in order; v16_join makes them two again; v8_evens, v8_odds: bytes of
 *   even or odd lanes, widened
 *
 * - v32_bits: the same bits as a v16; v32_dot: sum + the two products of the 16-bit halves; v32_round: to
 * nearest even
 *
 * - v8_ones_apart: bits that differ, per byte; v8_apart: |a - b| */
#ifndef SDM_PAIR_VEC_H
#define SDM_PAIR_VEC_H

#include "pair_kernels.h"

#define VEC static inline __attribute__((always_inline, unused))

#if defined(__AVX512BITALG__)
#include "pair_vec_avx512.h"
#elif defined(SDM_PAIR_WIDE)
#include "pair_vec_avx2_wide.h"
#elif defined(__AVX2__)
#include "pair_vec_avx2.h"
#elif defined(__SSE4_2__)
#include "pair_vec_sse42.h"
#else
#include "pair_vec_c.h"
#endif

#ifndef VEC_HAS_AROUND
#define VEC_HAS_AROUND 0
#endif

enum { LANES = VEC_BYTES, VL = LANES / 2, QL = LANES / 4 }; /* lanes of a chunk, of a v16, of a v32 */

#endif
