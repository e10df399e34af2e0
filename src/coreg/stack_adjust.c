/* Adjustment of a network of observed differences: iteratively reweighted least squares, solved by conjugate
 * gradients. */
// SPDX-License-Identifier: Apache-2.0
#include "core/dense.h"
#include "core/disjoint_sets.h"
#include "core/stats.h"
#include "coreg/stack_adjust.h"

#include <math.h>

enum { WEIGHT_ROUNDS = 60 };
static const double HUBER = 1.345;

typedef struct Work {
    double *step, *residual, *scaled, *product, *diagonal; /* n each */
    double *weight, *size;                                 /* of each observation */
    double *room;                                          /* owned: all of them */
} Work;

static SdmStatus work_open(SdmContext *ctx, int n, int count, Work *w)
{
    const SdmStatus st =
        sdm_alloc(ctx, &w->room, 5 * (size_t)n + 2 * (size_t)count + 1, sizeof(double), "adjustment");
    double **const of_node[] = {&w->step, &w->residual, &w->scaled, &w->product, &w->diagonal};
    for (int i = 0; i < 5 && !st; i++)
        *of_node[i] = w->room + i * n;
    if (!st) {
        w->weight = w->room + 5 * n;
        w->size = w->weight + count;
    }
    return st;
}

/* Weighted least squares with the weights of w: x solves the normal equations, by conjugate gradients
 * (preconditioned by the diagonal) from the x of the last round.  The equations are singular, since only
 * differences count, but consistent.  The network is sparse, and the matrix is never formed. */
static void solve(int n, const SdmObservation *o, int count, const Work *w, double *x)
{
    for (int i = 0; i < n; i++)
        w->residual[i] = w->diagonal[i] = w->step[i] = 0.0;
    double sum_squares = 0.0, before = 0.0; /* of the observations, weighted */
    for (int k = 0; k < count; k++) {
        const int a = o[k].a, b = o[k].b;
        const double r = w->weight[k] * (o[k].value - (x[a] - x[b]));
        sum_squares += w->weight[k] * o[k].value * o[k].value;
        w->residual[a] += r;
        w->residual[b] -= r;
        w->diagonal[a] += w->weight[k];
        w->diagonal[b] += w->weight[k];
    }
    for (int round = 0; round < 4 * n + 20; round++) {
        for (int i = 0; i < n; i++)
            w->scaled[i] = w->diagonal[i] > 0.0 ? w->residual[i] / w->diagonal[i] : 0.0;
        const double now = sdm_dot(n, w->residual, w->scaled);
        if (!(now > 1e-20 * sum_squares))
            return;
        for (int i = 0; i < n; i++) {
            w->step[i] = w->scaled[i] + (round ? now / before : 0.0) * w->step[i];
            w->product[i] = 0.0;
        }
        for (int k = 0; k < count; k++) {
            const double r = w->weight[k] * (w->step[o[k].a] - w->step[o[k].b]);
            w->product[o[k].a] += r;
            w->product[o[k].b] -= r;
        }
        const double length = now / sdm_dot(n, w->step, w->product);
        for (int i = 0; i < n; i++) {
            x[i] += length * w->step[i];
            w->residual[i] -= length * w->product[i];
        }
        before = now;
    }
}

/* Huber's weights for the next round; false when another round would change nothing: no residuals, no
 * redundancy. */
static bool update_weights(const SdmObservation *o, int count, const double *x, Work *w)
{
    for (int k = 0; k < count; k++)
        w->weight[k] = w->size[k] = fabs(x[o[k].a] - x[o[k].b] - o[k].value) * sqrt(o[k].weight);
    const double limit = HUBER * 1.4826 * sdm_median_f64(w->size, count);
    for (int k = 0; k < count; k++)
        w->weight[k] = o[k].weight * (w->weight[k] > limit && limit > 0.0 ? limit / w->weight[k] : 1.0);
    return limit > 1e-9;
}

/* Connected groups of nodes -> group.  @return how many */
static int find_groups(int n, const SdmObservation *o, int count, int *group)
{
    int groups = 0;
    for (int i = 0; i < n; i++)
        group[i] = i;
    for (int k = 0; k < count; k++)
        sdm_sets_join(group, o[k].a, o[k].b);
    for (int i = 0; i < n; i++)
        group[i] = sdm_sets_root(group, i); /* the smallest node of its group */
    for (int i = 0; i < n; i++)
        group[i] = group[i] == i ? -(++groups) : group[group[i]];
    for (int i = 0; i < n; i++)
        group[i] = -group[i] - 1;
    return groups;
}

/* Subtract the median of each group.  spare: room for n values. */
static void centre(int n, const int *group, int groups, double *spare, double *x)
{
    for (int g = 0; g < groups; g++) {
        int members = 0;
        for (int i = 0; i < n; i++)
            if (group[i] == g)
                spare[members++] = x[i];
        const double median = sdm_median_f64(spare, members);
        for (int i = 0; i < n; i++)
            if (group[i] == g)
                x[i] -= median;
    }
}

SdmStatus sdm_adjust_network(SdmContext *ctx, int n, const SdmObservation *observations, int count, double *x,
                             int *group, int *groups)
{
    SdmStatus st = SDM_OK;
    Work w = {0};
    TRY(work_open(ctx, n, count, &w));
    for (int i = 0; i < n; i++)
        x[i] = 0.0;
    for (int k = 0; k < count; k++)
        w.weight[k] = observations[k].weight;
    for (int round = 0; round < WEIGHT_ROUNDS && count > 0; round++) {
        solve(n, observations, count, &w, x);
        if (!update_weights(observations, count, x, &w))
            break;
        TRY(sdm_check_stop(ctx));
    }
    const int found = find_groups(n, observations, count, group);
    centre(n, group, found, w.step, x);
    if (groups)
        *groups = found;
done:
    sdm_free(&w.room);
    return st;
}
