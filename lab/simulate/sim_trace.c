/* Ray and terrain -> the first hit from above: skip blocks that lie wholly below, then march, then bracket.
 */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

/* These compile to one instruction; fmin and fmax are calls. */
static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Input of a march down one ray, in nodes of the terrain grid. */
typedef struct March {
    const SimGround *g;
    double rate[2]; /* nodes (x, y) the ray moves against its fall, a metre of height */
    double sliver;  /* height that carries it just over a block's border */
} March;

/* Height to which the ray can fall before it leaves the block (of level 0 or 1) at node position `at` or
 * meets the block's bound; h itself when it is not above the bound. */
static double skip(const March *m, int level, const double at[2], double h)
{
    const SimWindow *const p = &m->g->peak[level];
    const double edge = level ? SIM_BLOCK * SIM_BLOCK : SIM_BLOCK, inverse = 1.0 / edge;
    const int bx = (int)least(most(at[0] * inverse, 0.0), p->nx - 1);
    const int by = (int)least(most(at[1] * inverse, 0.0), p->ny - 1);
    const double peak = (double)p->v[(size_t)by * (size_t)p->nx + (size_t)bx];
    if (h <= peak + 1e-3)
        return h;
    const int b[2] = {bx, by};
    double fall = h - peak;
    for (int a = 0; a < 2; a++) {
        if (m->rate[a] > 1e-12) /* falling moves towards lower index */
            fall = least(fall, most(at[a] - b[a] * edge, 0.0) / m->rate[a] + m->sliver);
        else if (m->rate[a] < -1e-12)
            fall = least(fall, most((b[a] + 1) * edge - at[a], 0.0) / -m->rate[a] + m->sliver);
    }
    return h - fall;
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
    const SimWindow *const t = &g->terrain;
    const double inverse = 1.0 / t->step_m;
    double slope[2];
    sim_ray_lean(lat, ray, (double)g->top, slope);
    const double lean = sqrt(slope[0] * slope[0] + slope[1] * slope[1]);
    const double shortest = 0.5 * t->step_m / (lean + 1e-6), safe = 1.0 / (1.0 + (double)g->steepest * lean);
    const March m = {g, {slope[0] * inverse, -slope[1] * inverse}, 1e-3 * t->step_m / (lean + 0.01)};
    double h = (double)g->top + 0.01, above = h;
    for (int k = 0; k < 100000; k++) {
        double x, y;
        sim_ray_xy(lat, ray, h, &x, &y);
        const double at[2] = {x * inverse - (double)t->i0, -y * inverse - (double)t->j0};
        double lower = skip(&m, 1, at, h);
        lower = lower < h ? lower : skip(&m, 0, at, h);
        const double gap = lower < h ? 1.0 : h - (double)sim_value(t, x, y);
        if (gap <= 0.0)
            return above > h ? refine(lat, g, ray, above, h, gap) : h;
        above = h;
        h = lower < h ? lower : h - most(gap * safe, shortest);
    }
    return h;
}
