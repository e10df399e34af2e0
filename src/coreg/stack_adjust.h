/* Observed differences between pairs of DEMs (nodes of a network) -> one value for each node, by robust least
 * squares. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_STACK_ADJUST_H
#define SDM_STACK_ADJUST_H

#include "core/core.h"

typedef struct SdmObservation {
    int a, b;        /* nodes, a < b */
    double value;    /* of a minus that of b */
    double weight;   /* > 0: inverse variance up to a factor */
    double nmad;     /* spread of the samples whose median the value is; not used by the adjustment */
    int64_t samples; /* number of them; the same */
} SdmObservation;

/* Values x of n nodes that minimise the sum of weight rho(x_a - x_b - value), with rho by Huber (k = 1.345):
 * least squares with iterated weights, scale = 1.4826 x median of the weighted residuals.  Where that is 0
 * (no redundancy) it is plain least squares.  Only differences are known: in each connected group of nodes
 * the median of x is 0, and a node without observations is a group of its own with x = 0.  Sums are taken in
 * the order of the observations. group: n, numbered from 0 in the order of their first nodes; groups: how
 * many, or NULL.
 * @return SDM_OK, SDM_ERR_MEMORY, _STOPPED */
SdmStatus sdm_adjust_network(SdmContext *ctx, int n, const SdmObservation *observations, int count, double *x,
                             int *group, int *groups);

#endif
