/* Ray and terrain -> the first hit from above: skip blocks that lie wholly below, then march, then bracket. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <math.h>

/* These compile to one instruction; fmin and fmax are calls. */
static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Height to which the ray can fall before it leaves the block at (x, y) or meets the block's bound. */
static double skip(const SimGround *g, double x, double y, const double slope[2], double h, bool *clear)
{
    const SimWindow *const p = &g->peak, *const t = &g->terrain;
    const double at[2] = {x / t->step_m - (double)t->i0, -y / t->step_m - (double)t->j0};
    const double rate[2] = {slope[0] / t->step_m, -slope[1] / t->step_m}; /* nodes per metre of height */
    const int n[2] = {p->nx, p->ny};
    int b[2];
    double fall = 1e30;
    for (int a = 0; a < 2; a++) {
        const double limit = n[a] - 1;
        b[a] = (int)least(most(at[a] * (1.0 / SIM_BLOCK), 0.0), limit);
        const double f = b[a];
        if (rate[a] > 1e-12) /* falling moves towards lower index */
            fall = least(fall, (at[a] - f * SIM_BLOCK) / rate[a]);
        else if (rate[a] < -1e-12)
            fall = least(fall, ((f + 1.0) * SIM_BLOCK - at[a]) / -rate[a]);
    }
    const double peak = (double)p->v[(size_t)b[1] * (size_t)p->nx + (size_t)b[0]];
    *clear = h > peak + 1e-3;
    return most(peak, h - fall - 1e-3 * t->step_m / (fabs(slope[0]) + fabs(slope[1]) + 0.01));
}

static double gap_at(const SimLattice *lat, const SimGround *g, const SimRay *ray, double h)
{
    double x, y;
    sim_ray_xy(lat, ray, h, &x, &y);
    return h - (double)sim_value(&g->terrain, x, y);
}

/* Root between high (gap > 0) and low (gap <= 0): Illinois. */
static double refine(const SimLattice *lat, const SimGround *g, const SimRay *ray, double high, double low,
                     double gap_low)
{
    const double tolerance = 1e-4 * g->terrain.step_m;
    double gap_high = gap_at(lat, g, ray, high), h = low;
    int side = 0;
    for (int k = 0; k < 30; k++) {
        h = (low * gap_high - high * gap_low) / (gap_high - gap_low);
        const double gap = gap_at(lat, g, ray, h);
        if (fabs(gap) < tolerance)
            break;
        if (gap > 0.0) {
            high = h;
            gap_high = gap;
            gap_low = side == 1 ? 0.5 * gap_low : gap_low;
            side = 1;
        } else {
            low = h;
            gap_low = gap;
            gap_high = side == -1 ? 0.5 * gap_high : gap_high;
            side = -1;
        }
    }
    return h;
}

double sim_trace(const SimLattice *lat, const SimGround *g, const SimRay *ray)
{
    const double s = ((double)g->top - lat->h_mid) / lat->h_half;
    const double slope[2] = {(ray->c[1] + 2.0 * s * ray->c[2]) / lat->h_half,
                             (ray->c[4] + 2.0 * s * ray->c[5]) / lat->h_half}; /* metres a metre of height */
    const double lean = sqrt(slope[0] * slope[0] + slope[1] * slope[1]);
    const double shortest = 0.5 * g->terrain.step_m / (lean + 1e-6), safe = 1.0 / (1.0 + (double)g->steepest * lean);
    double h = (double)g->top + 0.01, above = h;
    for (int k = 0; k < 100000; k++) {
        double x, y;
        bool clear;
        sim_ray_xy(lat, ray, h, &x, &y);
        const double lower = skip(g, x, y, slope, h, &clear);
        if (clear) {
            above = h;
            h = lower;
            continue;
        }
        const double gap = h - (double)sim_value(&g->terrain, x, y);
        if (gap <= 0.0)
            return above > h ? refine(lat, g, ray, above, h, gap) : h;
        above = h;
        h -= most(gap * safe, shortest);
    }
    return h;
}
