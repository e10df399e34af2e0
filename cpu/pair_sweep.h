/* The way along a row that all costs share: the window's sums gain a column and lose one, the left pixel takes its
 * winner across the lanes, and the right pixels, which move by a lane from pixel to pixel, keep their best so far.
 * Included by a cost's file after pair_vec.h.  The cost gives three functions:
 *   enter  bring column k up to date and add it to the sums
 *   cost   16-bit costs of pixel i, from the sums
 *   leave  take column k from the sums */
#ifndef SDM_PAIR_SWEEP_H
#define SDM_PAIR_SWEEP_H

#include "pair_vec.h"

#include <string.h>

typedef union Sums { /* of the window, a chunk */
    v16 half[2];
    v32 quarter[4];
} Sums;
typedef struct SweepCost {
    void (*enter)(const SdmPairRow *r, int k, Sums *s);
    void (*cost)(const SdmPairRow *r, int i, const Sums *s, v16 *lo, v16 *hi);
    void (*leave)(const SdmPairRow *r, int k, Sums *s);
} SweepCost;

/* Ones around lane LANES, to look past a winner and its neighbours. */
typedef struct SweepAside {
    uint16_t lane[2 * LANES + 2];
} SweepAside;

/* Costs of the last pixels in memory.  A lane is read some pixels after it was written: to read it at once would wait
 * for the store. */
enum { SWEEP_KEPT = 4, SWEEP_DELAY = 3 };
typedef struct SweepCosts {
    _Alignas(64) uint16_t at[VL + SWEEP_KEPT * LANES + VL];
    int d_top; /* of lane 0 */
} SweepCosts;

VEC void sweep_mask(const SdmPairRow *r, int i, v16 *lo, v16 *hi)
{
    const v16 left = v16_set1(r->left_bad[i]);
    const v16 bad_lo = v16_or(v16_load(r->right_bad + i), v16_load(r->lane_bad));
    const v16 bad_hi = v16_or(v16_load(r->right_bad + i + VL), v16_load(r->lane_bad + VL));
    *lo = v16_or(*lo, v16_or(left, bad_lo));
    *hi = v16_or(*hi, v16_or(left, bad_hi));
}

VEC uint16_t *winner(const SdmPairRow *r, SdmPairField field, int i)
{
    return r->out + field * SDM_PAIR_STRIP + i;
}

VEC void set_around(const SdmPairRow *r, int i, uint32_t pair)
{
    memcpy(r->out + SDM_PAIR_AROUND * SDM_PAIR_STRIP + 2 * i, &pair, sizeof pair);
}

/* Neighbours of pixel i's winner, from memory. */
VEC void sweep_around(const SdmPairRow *r, int i, const SweepCosts *costs)
{
    const uint16_t *const lanes = costs->at + VL + i % SWEEP_KEPT * LANES;
    const uint16_t *const at = lanes + costs->d_top - *winner(r, SDM_PAIR_D, i);
    set_around(r, i, at[1] | (uint32_t)at[-1] << 16);
}

VEC void sweep_left(const SdmPairRow *r, int i, v16 lo, v16 hi, SweepCosts *costs, const SweepAside *aside)
{
    v16 all;
    const unsigned least = lanes_min(lo, hi, &all);
    const int lane = lanes_last_equal(lo, hi, all);
    *winner(r, SDM_PAIR_COST, i) = (uint16_t)least;
    *winner(r, SDM_PAIR_D, i) = (uint16_t)(costs->d_top - lane);
#if VEC_HAS_AROUND
    set_around(r, i, lanes_around(lo, hi, lane));
#else
    uint16_t *const kept = costs->at + VL + i % SWEEP_KEPT * LANES;
    v16_store(kept, lo);
    v16_store(kept + VL, hi);
    if (i >= SWEEP_DELAY)
        sweep_around(r, i - SWEEP_DELAY, costs);
#endif
    if (r->seams) {
        *winner(r, SDM_PAIR_FIRST, i) = (uint16_t)v16_last(hi);
        *winner(r, SDM_PAIR_LAST, i) = (uint16_t)v16_first(lo);
    }
    if (aside) {
        const uint16_t *const ones = aside->lane + LANES - lane;
        const v16 rest_lo = v16_or(lo, v16_load(ones)), rest_hi = v16_or(hi, v16_load(ones + VL));
        *winner(r, SDM_PAIR_SECOND, i) = (uint16_t)lanes_min(rest_lo, rest_hi, &all);
    }
}

VEC void sweep(const SdmPairRow *row, const SweepCost f, const bool masked, const SweepAside *aside)
{
    const SdmPairRow r = *row;
    const v16 d_lo = v16_load(r.lane_d), d_hi = v16_load(r.lane_d + VL);
    v16 cost_lo = v16_load(r.right_cost), cost_hi = v16_load(r.right_cost + VL);
    v16 at_lo = v16_load(r.right_d), at_hi = v16_load(r.right_d + VL);
    SweepCosts costs;
    costs.d_top = r.lane_d[0];
    Sums s = {{v16_set1(0), v16_set1(0)}};
    s.quarter[0] = s.quarter[1] = s.quarter[2] = s.quarter[3] = v32_set1(0);
    for (int k = 0; k < r.window - 1; k++)
        f.enter(&r, k, &s);
    v16 last_lo = d_lo, last_hi = d_hi;
    for (int i = 0; i < r.pixels; i++) {
        v16 lo, hi;
        f.enter(&r, i + r.window - 1, &s);
        f.cost(&r, i, &s, &lo, &hi);
        f.leave(&r, i, &s);
        if (masked)
            sweep_mask(&r, i, &lo, &hi);
        if (i > 0)
            sweep_left(&r, i - 1, last_lo, last_hi, &costs, aside);
        last_lo = lo;
        last_hi = hi;
        v16_take_less(lo, d_lo, &cost_lo, &at_lo);
        v16_take_less(hi, d_hi, &cost_hi, &at_hi);
        r.right_cost[i] = (uint16_t)v16_first(cost_lo);
        r.right_d[i] = (uint16_t)v16_first(at_lo);
        lanes_shift(&cost_lo, &cost_hi, v16_set1(r.right_cost[i + LANES]));
        lanes_shift(&at_lo, &at_hi, v16_set1(r.right_d[i + LANES]));
    }
    sweep_left(&r, r.pixels - 1, last_lo, last_hi, &costs, aside);
    for (int i = VEC_HAS_AROUND ? r.pixels : r.pixels > SWEEP_DELAY ? r.pixels - SWEEP_DELAY : 0; i < r.pixels; i++)
        sweep_around(&r, i, &costs);
    v16_store(r.right_cost + r.pixels, cost_lo);
    v16_store(r.right_cost + r.pixels + VL, cost_hi);
    v16_store(r.right_d + r.pixels, at_lo);
    v16_store(r.right_d + r.pixels + VL, at_hi);
}

/* The copy of sweep() that the row asks for. */
VEC void sweep_row(const SdmPairRow *row, const SweepCost f)
{
    SweepAside aside = {{0}};
    if (!row->give) { /* the first rows of a band */
        Sums s;
        for (int k = 0; k < row->columns; k++)
            f.enter(row, k, &s);
        return;
    }
    if (!row->unique && !row->lane_bad) {
        sweep(row, f, false, NULL);
    } else if (!row->unique) {
        sweep(row, f, true, NULL);
    } else {
        for (int lane = -1; lane <= 1; lane++)
            aside.lane[LANES + lane] = SDM_PAIR_NONE;
        if (row->lane_bad)
            sweep(row, f, true, &aside);
        else
            sweep(row, f, false, &aside);
    }
}

#endif
