/* The vectors of the instruction set that a file is compiled for -> one notation for them, so that a
 * kernel is written once: v8 (uint8) and v16 (uint16) beside vi and vf of vec.h, all of VEC_BYTES bytes.
 * Operations are named as there; most say what they do.  The others:
 *
 * - adds: a + b, at most the largest value; absdiff: |a - b|, of v16 as signed; hamming: bits that differ,
 * per byte
 *
 * - take_less: best = min(best, c), and best_d = d where c is less
 *
 * - least: the smallest element, as a Least; all: a Least in every element; least_get, least_set: a Least
 * as a number
 *
 * - up, down: every element takes the one n before it, the first ones the last ones of `below`; or the one
 * n after
 *   it, the last ones the first ones of `above`.  n is a constant
 *
 * - first_equal: number of the first element in which a equals b, VL if none does
 *
 * - evens, odds: of two v16 in order the elements of even or odd place; join: the two in order again.  Of
 * a v8 the
 *   bytes of even or odd place, widened
 *
 * - from_bytes: VL bytes of memory, widened; from_costs: the same, but 255 becomes 65535
 *
 * - darker: `bit` where a < b, signed, else 0; bits: the same bits as a v16
 *
 * A chunk of LANES disparities is one v8, two v16 (its even lanes and its odd ones), four vi (two of even
 * lanes, two of odd ones):
 *
 * - lanes_min: the least of a chunk, also in every lane of `all`; lanes_last_equal: the highest lane equal
 * to it
 *
 * - lanes_around: two lanes, by their places in even, odd, where that is cheaper than memory
 * (VEC_HAS_AROUND)
 *
 * - lanes_shift: every lane takes the next one's value, the last one a half of `enters`; of two chunks.
 *   v16_firsts: lane 0 of two vectors, as halves */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMD_H
#define SDM_SIMD_H

#define SDM_SINGLE /* vectors of 16 bytes of SSE4.2 and NEON */
#include "vec.h"

#if defined(SDM_PAIR_WIDE) /* by vec.h */
#elif defined(__AVX512BITALG__)
#include "simd_avx512.h"
#elif defined(__AVX2__)
#include "simd_avx2.h"
#elif defined(__SSE4_2__) || defined(SDM_SIMDE)
#include "simd_sse42.h"
#else
#include "simd_c.h"
#endif

#ifndef VEC_HAS_AROUND
#define VEC_HAS_AROUND 0
#endif

enum { LANES = VEC_BYTES, VL = LANES / 2, QL = LANES / 4 }; /* lanes of a chunk, of a v16, of a vi */

VEC v16 v16_least_all(v16 a)
{
    return v16_all(v16_least(a));
}

VEC unsigned lanes_min(v16 even, v16 odd, v16 *all)
{
    const Least least = v16_least(v16_min(even, odd));
    *all = v16_all(least);
    return least_get(least);
}

#endif
