/* A row of a strip -> winners, for every cost: the sums of the window gain a column and lose one, the best
 * lane of the left pixel is found, and the right pixels, which move by a lane from pixel to pixel, keep
 * their best so far. Included by the file of a cost, which gives three functions:
 *
 * - enter: bring column k up to date and add it to the sums
 *
 * - cost: 16-bit costs of pixel i, from the sums
 *
 * - leave: take column k from the sums */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_PAIR_SWEEP_H
#define SDM_PAIR_SWEEP_H

#include "pair_kernels.h"
#include "simd.h"

#include <string.h>

/* Where the first half of the lanes and the second one begin in an array whose entries of even place stand
 * apart from those of odd place, `odd` behind them. */
typedef struct Places {
    ptrdiff_t first, second;
} Places;
typedef struct Sums { /* of the window, a chunk */
    union {
        v16 half[2];
        vi quarter[4];
    };
    Places column, pixel; /* ZNCC: of the next column to enter, of the next pixel's costs */
} Sums;
typedef struct SweepCost {
    void (*enter)(const SdmPairRow *r, ptrdiff_t k, Sums *s);
    void (*cost)(const SdmPairRow *r, ptrdiff_t i, Sums *s, v16 *even, v16 *odd);
    void (*leave)(const SdmPairRow *r, ptrdiff_t k, Sums *s);
} SweepCost;

/* SDM_PAIR_NONE at place VL, and at places VL - 1 and VL: masks of a winner and its neighbours. */
typedef struct SweepAside {
    uint16_t one[2 * VL + 2], two[2 * VL + 2];
} SweepAside;

/* Costs of the last pixels in memory.  A lane is read some pixels after it was written: reading it at once
 * would wait for the store. */
enum { SWEEP_KEPT = 4, SWEEP_DELAY = 3 };
typedef struct SweepCosts {
    _Alignas(64) uint16_t at[VL + SWEEP_KEPT * LANES + VL];
    const uint16_t *around[SWEEP_KEPT]; /* costs below and above the winner */
    int d_top;                          /* of lane 0 */
    uint32_t places[LANES]; /* for lanes_around: places of the lanes below (low half) and above; else
                               of the one below alone, from `kept` */
} SweepCosts;

VEC void sweep_mask(const SdmPairRow *r, ptrdiff_t i, v16 *even, v16 *odd)
{
    const v8 right = v8_load(r->right_bad + i); /* 0 or 1, to 0 or NONE */
    const v16 zero = v16_set(0), left = v16_set(-(int)r->left_bad[i]);
    *even = v16_or(v16_or(*even, left), v16_or(v16_sub(zero, v8_evens(right)), v16_load(r->lane_bad)));
    *odd = v16_or(v16_or(*odd, left), v16_or(v16_sub(zero, v8_odds(right)), v16_load(r->lane_bad + VL)));
}

VEC uint16_t *winner(const SdmPairRow *r, SdmPairField field, ptrdiff_t i)
{
    return r->out + field * SDM_PAIR_STRIP + i;
}

VEC void set_around(const SdmPairRow *r, ptrdiff_t i, uint32_t pair)
{
    memcpy(r->out + SDM_PAIR_AROUND * SDM_PAIR_STRIP + 2 * i, &pair, sizeof pair);
}

/* Neighbours of pixel i's winner, from memory. */
VEC void sweep_around(const SdmPairRow *r, ptrdiff_t i, const SweepCosts *costs)
{
    uint32_t pair;
    memcpy(&pair, costs->around[i & (SWEEP_KEPT - 1)], sizeof pair);
    set_around(r, i, pair);
}

/* The least cost that is neither the winner's nor its neighbours'. */
VEC unsigned sweep_second(v16 even, v16 odd, int lane, const SweepAside *aside)
{
    const int place = lane >> 1;
    const uint16_t *const ones = aside->one + VL - place, *const twos = aside->two + VL - place;
    v16 all;
    if (lane & 1)
        return lanes_min(v16_or(even, v16_load(twos - 1)), v16_or(odd, v16_load(ones)), &all);
    return lanes_min(v16_or(even, v16_load(ones)), v16_or(odd, v16_load(twos)), &all);
}

/* Costs of a left pixel and their least one, in every lane. */
typedef struct SweepLeft {
    v16 even, odd, least;
} SweepLeft;

/* Which lane has the least cost of pixel i. */
VEC void sweep_left(const SdmPairRow *r, ptrdiff_t i, const SweepLeft *left, SweepCosts *costs,
                    const SweepAside *aside)
{
    const v16 even = left->even, odd = left->odd;
    const int lane = lanes_last_equal(even, odd, left->least);
    *winner(r, SDM_PAIR_D, i) = (uint16_t)(costs->d_top - lane);
#if VEC_HAS_AROUND
    set_around(r, i, lanes_around(even, odd, costs->places[lane]));
#else
    uint16_t *const kept = costs->at + VL + (i & (SWEEP_KEPT - 1)) * LANES;
    v16_store(kept, even);
    v16_store(kept + VL, odd);
    costs->around[i & (SWEEP_KEPT - 1)] = kept + (int32_t)costs->places[lane];
    if (i >= SWEEP_DELAY)
        sweep_around(r, i - SWEEP_DELAY, costs);
#endif
    if (r->seams) {
        *winner(r, SDM_PAIR_FIRST, i) = (uint16_t)v16_last(odd);
        *winner(r, SDM_PAIR_LAST, i) = (uint16_t)v16_first(even);
    }
    if (aside)
        *winner(r, SDM_PAIR_SECOND, i) = (uint16_t)sweep_second(even, odd, lane, aside);
}

/* Best costs of the right pixels that a pixel meets, and their d. */
typedef struct SweepRight {
    v16 cost_even, cost_odd, d_even, d_odd;
} SweepRight;

VEC SweepRight sweep_right_load(const SdmPairRow *r)
{
    v16 pair[4];
    for (int q = 0; q < 4; q++)
        pair[q] = v16_load(r->right_best + q * QL);
    const v16 cost[2] = {v16_evens(pair[0], pair[1]), v16_evens(pair[2], pair[3])};
    const v16 d[2] = {v16_odds(pair[0], pair[1]), v16_odds(pair[2], pair[3])};
    return (SweepRight){v16_evens(cost[0], cost[1]), v16_odds(cost[0], cost[1]), v16_evens(d[0], d[1]),
                        v16_odds(d[0], d[1])};
}

VEC void sweep_right_store(const SdmPairRow *r, const SweepRight *s)
{
    v16 cost[2], d[2], pair[2];
    v16_join(s->cost_even, s->cost_odd, &cost[0], &cost[1]);
    v16_join(s->d_even, s->d_odd, &d[0], &d[1]);
    for (int half = 0; half < 2; half++) {
        v16_join(cost[half], d[half], &pair[0], &pair[1]);
        v16_store(r->right_best + r->pixels + half * VL, pair[0]);
        v16_store(r->right_best + r->pixels + half * VL + QL, pair[1]);
    }
}

/* Update the best of the right pixels: that of lane 0 has met its last pixel of the strip, that of the
 * last lane its first one. */
VEC void sweep_right(const SdmPairRow *r, ptrdiff_t i, v16 even, v16 odd, v16 d_even, v16 d_odd,
                     SweepRight *s)
{
    v16_take_less(even, d_even, &s->cost_even, &s->d_even);
    v16_take_less(odd, d_odd, &s->cost_odd, &s->d_odd);
    r->right_best[i] = v16_firsts(s->cost_even, s->d_even);
    lanes_shift(&s->cost_even, &s->cost_odd, &s->d_even, &s->d_odd, r->right_best[i + LANES]);
}

/* ---- column sums of 16 bits, even lanes and odd ones: they are the costs ---- */

VEC uint16_t *column16(const SdmPairRow *r, ptrdiff_t k)
{
    return (uint16_t *)r->sums + k * LANES;
}

/* Add a row's bytes to the sums of column k and subtract those of the row that leaves. */
VEC void enter16(const SdmPairRow *r, ptrdiff_t k, v8 more, v8 less, Sums *s)
{
    uint16_t *const at = column16(r, k);
    const v16 even = v16_add(v16_load(at), v16_sub(v8_evens(more), v8_evens(less)));
    const v16 odd = v16_add(v16_load(at + VL), v16_sub(v8_odds(more), v8_odds(less)));
    v16_store(at, even);
    v16_store(at + VL, odd);
    s->half[0] = v16_add(s->half[0], even);
    s->half[1] = v16_add(s->half[1], odd);
}

VEC void leave16(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    s->half[0] = v16_sub(s->half[0], v16_load(column16(r, k)));
    s->half[1] = v16_sub(s->half[1], v16_load(column16(r, k) + VL));
}

VEC void cost16(const SdmPairRow *r, ptrdiff_t i, Sums *s, v16 *even, v16 *odd)
{
    (void)r, (void)i;
    *even = s->half[0];
    *odd = s->half[1];
}

/* ---- column sums of 32 bits, a quarter of the lanes at a time ---- */

VEC int32_t *column32(const SdmPairRow *r, ptrdiff_t k, int quarter)
{
    return (int32_t *)r->sums + k * LANES + quarter * QL;
}

VEC void enter32(const SdmPairRow *r, ptrdiff_t k, int quarter, vi sum, Sums *s)
{
    vi_store(column32(r, k, quarter), sum);
    s->quarter[quarter] = vi_add(s->quarter[quarter], sum);
}

VEC void leave32(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    for (int i = 0; i < 4; i++)
        s->quarter[i] = vi_sub(s->quarter[i], vi_load(column32(r, k, i)));
}

/* ---- the sweep ---- */

/* Lane 0 stands at place `at`. */
VEC Places places_at(ptrdiff_t at, ptrdiff_t odd)
{
    return (Places){(at & 1) * odd + (at >> 1), ((at + 1) & 1) * odd + ((at + 1) >> 1)};
}

VEC void next_place(Places *p)
{
    *p = (Places){p->second, p->first + 1};
}

VEC Sums sweep_no_sums(const SdmPairRow *r)
{
    Sums s;
    s.quarter[0] = s.quarter[1] = s.quarter[2] = s.quarter[3] = vi_set(0);
    s.column = places_at(0, r->pairs_odd);
    s.pixel = places_at(r->right_at, r->right_odd);
    return s;
}

/* The least cost of a pixel is found while the costs of the next one are made, and its lane one pixel
 * later, since each step waits long for the one before. */
VEC void sweep(const SdmPairRow *row, const SweepCost f, const bool masked, const SweepAside *aside)
{
    const SdmPairRow r = *row;
    const v16 d_even = v16_load(r.lane_d), d_odd = v16_load(r.lane_d + VL);
    SweepLeft last = {d_even, d_odd, d_even}, before_last = last; /* pixels i - 1, i - 2 */
    SweepRight right = sweep_right_load(&r);
    SweepCosts costs;
    costs.d_top = r.lane_d[0];
    for (unsigned lane = 0; lane < LANES; lane++) {
        const unsigned above = (lane + 1) / 2 + (lane + 1) % 2 * VL;
        costs.places[lane] = VEC_HAS_AROUND ? (above - 1) | above << 16 : above - 1;
    }
    Sums s = sweep_no_sums(&r);
    for (ptrdiff_t k = 0; k < r.window - 1; k++)
        f.enter(&r, k, &s);
    for (ptrdiff_t i = 0; i < r.pixels; i++) {
        v16 even, odd;
        f.enter(&r, i + r.window - 1, &s);
        f.cost(&r, i, &s, &even, &odd);
        f.leave(&r, i, &s);
        if (masked)
            sweep_mask(&r, i, &even, &odd);
        sweep_left(&r, i - 2, &before_last, &costs, aside);
        before_last = last;
        *winner(&r, SDM_PAIR_COST, i - 1) = (uint16_t)lanes_min(last.even, last.odd, &before_last.least);
        last = (SweepLeft){even, odd, even};
        sweep_right(&r, i, even, odd, d_even, d_odd, &right);
    }
    sweep_left(&r, r.pixels - 2, &before_last, &costs, aside);
    *winner(&r, SDM_PAIR_COST, r.pixels - 1) = (uint16_t)lanes_min(last.even, last.odd, &last.least);
    sweep_left(&r, r.pixels - 1, &last, &costs, aside);
    for (ptrdiff_t i = VEC_HAS_AROUND           ? r.pixels
                       : r.pixels > SWEEP_DELAY ? r.pixels - SWEEP_DELAY
                                                : 0;
         i < r.pixels; i++)
        sweep_around(&r, i, &costs);
    sweep_right_store(&r, &right);
}

/* sweep(), compiled for what the row asks for. */
VEC void sweep_row(const SdmPairRow *row, const SweepCost f)
{
    SweepAside aside = {{0}, {0}};
    if (!row->give) { /* the first rows of a band */
        Sums s = sweep_no_sums(row);
        for (ptrdiff_t k = 0; k < row->columns; k++)
            f.enter(row, k, &s);
        return;
    }
    if (!row->unique && !row->left_bad) {
        sweep(row, f, false, NULL);
    } else if (!row->unique) {
        sweep(row, f, true, NULL);
    } else {
        aside.one[VL] = aside.two[VL - 1] = aside.two[VL] = SDM_PAIR_NONE;
        sweep(row, f, row->left_bad != NULL, &aside);
    }
}

#endif
