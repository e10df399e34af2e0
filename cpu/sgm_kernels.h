/* The kernels of semi-global matching: a volume of costs, row by row -> path costs, their sums, labels.
 * cpu/sgm_reference.c is the definition; the copies for instruction sets give the same bits. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SGM_KERNELS_H
#define SDM_SGM_KERNELS_H

#include "kernels.h"
#include "pair_kernels.h"

enum { SDM_SGM_PATHS = 4 }; /* of a pass: along the row, then from the row before at x - step, x, x + step */

/* A row of a pass, which goes down and to the right (step 1) or up and to the left (step -1).
 * Path costs: L(p, l) = C(p, l) + min(L(q, l), L(q, l - 1) + p1, L(q, l + 1) + p1, m + p2) - m with q the
 * pixel before on the path, m = min over l of L(q, l); L = C where a path begins.  The
 * padding of labels has costs of 255 and stays at the largest value of the type. */
typedef struct SdmSgmRow {
    int width, labels, pitch;
    int step;    /* 1 or -1 */
    bool begins; /* there is no row before: three of the paths begin here */
    bool wide;   /* path costs of 16 bits; else 8: most + p2 <= 254 */
    int p1;
    const uint16_t *p2[SDM_SGM_PATHS]; /* width each, >= p1; NULL: this path is not followed */
    const uint8_t *cost;               /* width x pitch */
    void *path[SDM_SGM_PATHS];         /* [1..3]: path costs of the row before, width x pitch of 1 or 2 bytes,
                                          becoming this row's; [0]: room for 4 pixels */
    uint16_t *least[SDM_SGM_PATHS];    /* [1..3]: width, their least over the labels */
    uint16_t *sum;                     /* width x pitch: sum of the paths; NULL = not asked for, nor path 0 */
    bool add;                          /* to what is there */
} SdmSgmRow;
typedef void sdm_sgm_row_fn(const SdmSgmRow *row);

/* The labels of a row: where the sum is least; of equal ones the lowest. */
typedef struct SdmSgmPick {
    int width, labels, pitch;
    int first;           /* label 0 of left pixel x is right pixel x + first */
    const uint16_t *sum; /* width x pitch */
    uint16_t *left;      /* width */
    uint16_t *right; /* width: of each right pixel, along the diagonal of the sums, of equal ones the highest;
                        0xFFFF where no label meets it; NULL = not asked for */
    uint32_t *room;  /* width + 2 x pitch */
} SdmSgmPick;
typedef void sdm_sgm_pick_fn(const SdmSgmPick *pick);

/* Costs of the pixels of a row: bits of the census words that differ, plus the absolute difference of the
 * values, at most difference_max.  Label l of pixel x is right pixel x + l of `right`, which goes on for
 * 64 entries beyond the last label.  out: width x pitch, padding 255. */
typedef struct SdmSgmCosts {
    int width, labels, pitch;
    int planes; /* bytes of a word, plane after plane; 0 = no words */
    const uint8_t *left, *right;
    ptrdiff_t left_plane, right_plane;
    const uint8_t *left_value, *right_value;
    int difference_max; /* 0 = words alone */
    uint8_t *out;
} SdmSgmCosts;
typedef void sdm_sgm_costs_fn(const SdmSgmCosts *c);

/* Sub-pixel places about the labels of a row: the costs of those of 5 x 5 pixels whose labels differ by at
 * most 1 are summed, at the label and those beside it; by two lines of opposite slope, since sums of
 * magnitudes form a V, the place between them: at most half a label off, and 0 at the ends of the labels. */
enum { SDM_SGM_SIDE = 5 };
typedef struct SdmSgmOffsets {
    int width, labels;
    const uint16_t *label[SDM_SGM_SIDE];                    /* of the rows of the window, width each */
    const uint32_t *low[SDM_SGM_SIDE], *high[SDM_SGM_SIDE]; /* alike: costs at l - 2 .. l + 1, at l - 1 .. l +
                                                             * 2, bytes */
    float *offset;                                          /* width */
} SdmSgmOffsets;
typedef void sdm_sgm_offsets_fn(const SdmSgmOffsets *o);

/* Penalties of larger steps between neighbours on a path, by the step of the guide, at most 4095:
 * p1 + (p2 - p1) scale / (scale + step), rounded down. */
typedef struct SdmSgmPenalties {
    int count, p1, p2, scale;     /* scale > 0 */
    const int16_t *here, *before; /* count samples of the guide each */
    uint16_t *out;                /* count */
} SdmSgmPenalties;
typedef void sdm_sgm_penalties_fn(const SdmSgmPenalties *p);

typedef struct SdmSgmKernels {
    sdm_sgm_row_fn *row;
    sdm_sgm_pick_fn *pick;
    sdm_pair_words_fn *words; /* writes up to 64 bytes beyond the row */
    sdm_sgm_costs_fn *costs;
    sdm_sgm_offsets_fn *offsets;
    sdm_sgm_penalties_fn *penalties;
} SdmSgmKernels;

extern const SdmSgmKernels sdm_sgm_kernels_reference;

#endif
