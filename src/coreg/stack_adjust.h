/* Differences between pairs -> one value for each member, by robust least squares over all pairs at once. */
#ifndef SDM_ADJUST_H
#define SDM_ADJUST_H

#include "core/core.h"

typedef struct SdmTie {
    int a, b;      /* a < b */
    double value;  /* of a minus of b */
    double weight; /* > 0: inverse variance up to a factor */
    double nmad;   /* spread of what the value is the median of */
    int64_t samples;
} SdmTie;

/* Values x of n members from their ties: sum of weight rho(x_a - x_b - value) least, rho by Huber (k = 1.345)
 * with iterated weights, scale = 1.4826 x median of the weighted residuals; where that is 0 (a tree) plain
 * least squares. Only differences are known: in each group of tied members the median of x is 0.  A member
 * without ties is a group of its own with x = 0.  Sums run in the order of the ties. group: n, numbered in
 * order of their first member; groups: how many, or NULL.
 * @return SDM_OK, SDM_ERR_MEMORY */
SdmStatus sdm_adjust(SdmContext *ctx, int n, const SdmTie *ties, int count, double *x, int *group,
                     int *groups);

/* Height of a cell from n >= 1 heights (overwritten): their median; NMAD from it, NaN for n = 1. */
void sdm_stack_median(float *height_m, int n, float *median_m, float *nmad_m);

#endif
