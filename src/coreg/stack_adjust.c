/* The arithmetic of a stack: adjustment of differences, median of a cell. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_adjust.h"
#include "core/stats.h"

#include <math.h>

enum { ROUNDS = 60 };

typedef struct Work { /* n each, but for the last two: a value for each tie */
    double *step, *residual, *scaled, *product, *diagonal, *weight, *size;
} Work;

static SdmStatus work_open(SdmContext *ctx, int n, int count, Work *w)
{
    SdmStatus st = SDM_OK;
    double **const member[] = {&w->step, &w->residual, &w->scaled, &w->product, &w->diagonal};
    for (int i = 0; i < 5; i++)
        TRY(sdm_alloc(ctx, member[i], (size_t)n, sizeof(double), "adjustment"));
    TRY(sdm_alloc(ctx, &w->weight, (size_t)count + 1, sizeof(double), "adjustment"));
    TRY(sdm_alloc(ctx, &w->size, (size_t)count + 1, sizeof(double), "adjustment"));
done:
    return st;
}

static void work_close(Work *w)
{
    double **const all[] = {&w->step,     &w->residual, &w->scaled, &w->product,
                            &w->diagonal, &w->weight,   &w->size};
    for (int i = 0; i < 7; i++)
        sdm_free(all[i]);
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* One round: x so that the normal equations hold, by conjugate gradients (Jacobi), from the x of the last
 * round.  The equations are singular, as only differences count, but without contradiction. */
static void solve(int n, const SdmTie *ties, int count, const Work *w, double *x)
{
    for (int i = 0; i < n; i++)
        w->residual[i] = w->diagonal[i] = w->step[i] = 0.0;
    double whole = 0.0, before = 0.0; /* whole: what there was to explain */
    for (int k = 0; k < count; k++) {
        const int a = ties[k].a, b = ties[k].b;
        const double pull = w->weight[k] * (ties[k].value - (x[a] - x[b]));
        whole += w->weight[k] * ties[k].value * ties[k].value;
        w->residual[a] += pull;
        w->residual[b] -= pull;
        w->diagonal[a] += w->weight[k];
        w->diagonal[b] += w->weight[k];
    }
    for (int round = 0; round < 4 * n + 20; round++) {
        for (int i = 0; i < n; i++)
            w->scaled[i] = w->diagonal[i] > 0.0 ? w->residual[i] / w->diagonal[i] : 0.0;
        const double now = dot(n, w->residual, w->scaled);
        if (!(now > 1e-20 * whole))
            return;
        for (int i = 0; i < n; i++) {
            w->step[i] = w->scaled[i] + (round ? now / before : 0.0) * w->step[i];
            w->product[i] = 0.0;
        }
        for (int k = 0; k < count; k++) {
            const double pull = w->weight[k] * (w->step[ties[k].a] - w->step[ties[k].b]);
            w->product[ties[k].a] += pull;
            w->product[ties[k].b] -= pull;
        }
        const double length = now / dot(n, w->step, w->product);
        for (int i = 0; i < n; i++) {
            x[i] += length * w->step[i];
            w->residual[i] -= length * w->product[i];
        }
        before = now;
    }
}

/* Weights of the next round; false when there is nothing to weigh: no residual, or no redundancy. */
static bool weigh(const SdmTie *ties, int count, const double *x, Work *w)
{
    for (int k = 0; k < count; k++)
        w->weight[k] = w->size[k] = fabs(x[ties[k].a] - x[ties[k].b] - ties[k].value) * sqrt(ties[k].weight);
    const double limit = 1.345 * 1.4826 * sdm_median_f64(w->size, count);
    for (int k = 0; k < count; k++)
        w->weight[k] = ties[k].weight * (w->weight[k] > limit && limit > 0.0 ? limit / w->weight[k] : 1.0);
    return limit > 1e-9;
}

static int root_of(int *group, int i)
{
    while (group[i] != i)
        i = group[i] = group[group[i]];
    return i;
}

/* Number of connected components; group[i] numbered in order of their first member. */
static int find_groups(int n, const SdmTie *ties, int count, int *group)
{
    int groups = 0;
    for (int i = 0; i < n; i++)
        group[i] = i;
    for (int k = 0; k < count; k++) {
        const int a = root_of(group, ties[k].a), b = root_of(group, ties[k].b);
        group[a > b ? a : b] = a > b ? b : a;
    }
    for (int i = 0; i < n; i++)
        group[i] = root_of(group, i); /* the smallest member; always before i */
    for (int i = 0; i < n; i++)
        group[i] = group[i] == i ? -(++groups) : group[group[i]];
    for (int i = 0; i < n; i++)
        group[i] = -group[i] - 1;
    return groups;
}

static void centre(int n, const int *group, int groups, double *spare, double *x)
{
    for (int g = 0; g < groups; g++) {
        int members = 0;
        for (int i = 0; i < n; i++)
            if (group[i] == g)
                spare[members++] = x[i];
        const double middle = sdm_median_f64(spare, members);
        for (int i = 0; i < n; i++)
            if (group[i] == g)
                x[i] -= middle;
    }
}

SdmStatus sdm_adjust(SdmContext *ctx, int n, const SdmTie *ties, int count, double *x, int *group,
                     int *groups)
{
    SdmStatus st = SDM_OK;
    Work w = {0};
    TRY(work_open(ctx, n, count, &w));
    for (int i = 0; i < n; i++)
        x[i] = 0.0;
    for (int k = 0; k < count; k++)
        w.weight[k] = ties[k].weight;
    for (int round = 0; round < ROUNDS && count > 0; round++) {
        solve(n, ties, count, &w, x);
        if (!weigh(ties, count, x, &w))
            break;
        TRY(sdm_check_stop(ctx));
    }
    const int found = find_groups(n, ties, count, group);
    centre(n, group, found, w.step, x);
    if (groups)
        *groups = found;
done:
    work_close(&w);
    return st;
}

void sdm_stack_median(float *height_m, int n, float *median_m, float *nmad_m)
{
    double median = (double)height_m[0], nmad = NAN;
    if (n > 1)
        nmad = sdm_nmad_f32(height_m, n, &median);
    *median_m = (float)median;
    *nmad_m = (float)nmad;
}
