/* Shares of ocean, lake and snow -> shore lines, flat water, snow line.  A field falls towards the water's
 * heart; its quantile over the left image is the shore, so the shares come out as asked. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "simulate/sim.h"

enum { SIDE = 48, SAMPLES = SIDE * SIDE, FIELD_LEVEL = 1 };
static const double BEACH = 0.05;

/* Map position of sample k (of SAMPLES, a grid over the left image) at height h. */
static void sample_xy(const SimScene *sc, int k, double h, double *x, double *y)
{
    const SimCamera *const cam = &sc->view[0].cam;
    sim_lattice_xy(&sc->view[0].lattice, (k % SIDE + 0.5) / SIDE * cam->width,
                   (k / SIDE + 0.5) / SIDE * cam->height, h, x, y);
}

SdmStatus sim_quantile(SimScene *sc, double h, double share, sim_field_fn *field, const void *user,
                       double *value)
{
    SDM_OWNED float *v = NULL;
    PASS(sdm_alloc(sc->ctx, &v, SAMPLES, sizeof *v, "samples of a field"));
    for (int k = 0; k < SAMPLES; k++) {
        double x, y;
        sample_xy(sc, k, h, &x, &y);
        PASS(field(sc, user, x, y, &v[k]));
    }
    const double t = share * SAMPLES - 0.5, f = floor(t);
    const int i = f < 0 ? 0 : f > SAMPLES - 2 ? SAMPLES - 2 : (int)f;
    const float low = sdm_select_f32(v, SAMPLES, i), high = sdm_select_f32(v, SAMPLES, i + 1);
    *value = (double)low + (t - i) * (double)(high - low);
    return SDM_OK;
}

/* Without noise: the ocean lies in the west, the lake around a point in the east. */
static double smooth_field(const SimScene *sc, int which, double x, double y)
{
    const double dx = (x - sc->x) / sc->extent_m, dy = (y - sc->y) / sc->extent_m;
    return which == 0 ? dx : hypot(dx - 0.15, dy - 0.05);
}

/* which: 0 ocean, 1 lake. */
static SdmStatus shore_at(SimScene *sc, const void *which, double x, double y, float *v)
{
    const int w = *(const int *)which;
    const SdmStatus st = sim_noise_at(sc->ctx, &sc->shore[w], FIELD_LEVEL, sc->unit_m, x, y, v);
    *v += (float)smooth_field(sc, w, x, y);
    return st;
}

static SdmStatus plan_shore(SimScene *sc, int which, double share)
{
    sim_spectrum(&sc->shore[which], (uint32_t)sc->opt->seed * 8u + 2u + (uint32_t)which, FIELD_LEVEL,
                 sim_octave(0.15 * sc->extent_m, sc->unit_m), 1.0, 0.03);
    return sim_quantile(sc, sc->h_mean, share, shore_at, &which, &sc->water_edge[which]);
}

/* The lake fills up to a low part of the ground that it covers. */
static SdmStatus plan_level(SimScene *sc)
{
    double lo = INFINITY, sum = 0.0;
    int n = 0;
    for (int k = 0; k < SAMPLES; k++) {
        double x, y;
        float h;
        sample_xy(sc, k, sc->h_mean, &x, &y);
        if (smooth_field(sc, 1, x, y) > sc->water_edge[1])
            continue;
        PASS(sim_terrain_at(sc, x, y, &h));
        lo = fmin(lo, (double)h);
        sum += (double)h;
        n++;
    }
    sc->lake_level = n ? 0.5 * (lo + sum / n) : sc->h_mean;
    return SDM_OK;
}

SdmStatus sim_water_plan(SimScene *sc)
{
    sc->water_edge[0] = sc->water_edge[1] = -INFINITY;
    if (sc->opt->ocean > 0.0)
        PASS(plan_shore(sc, 0, sc->opt->ocean));
    if (sc->opt->lake > 0.0) {
        PASS(plan_shore(sc, 1, sc->opt->lake));
        PASS(plan_level(sc));
    }
    return SDM_OK;
}

static SdmStatus height_at(SimScene *sc, const void *user, double x, double y, float *v)
{
    (void)user;
    return sim_terrain_at(sc, x, y, v);
}

SdmStatus sim_snow_plan(SimScene *sc)
{
    sc->snow_edge = INFINITY;
    return sc->opt->snow > 0.0
               ? sim_quantile(sc, sc->h_mean, 1.0 - sc->opt->snow, height_at, NULL, &sc->snow_edge)
               : SDM_OK;
}

static void flatten(const SimScene *sc, SimGround *g, int which, double level)
{
    SimWindow *const t = &g->terrain, *const f = &g->field[which];
#pragma omp parallel for num_threads(sc->threads)
    for (int j = 0; j < t->ny; j++)
        for (int i = 0; i < t->nx; i++) {
            const size_t k = (size_t)j * (size_t)t->nx + (size_t)i;
            const double x = (double)(t->i0 + i) * t->step_m, y = -(double)(t->j0 + j) * t->step_m;
            f->v[k] += (float)smooth_field(sc, which, x, y);
            double s = ((double)f->v[k] - sc->water_edge[which]) / BEACH;
            s = s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s * s * (3.0 - 2.0 * s);
            t->v[k] = (float)(level + s * ((double)t->v[k] - level));
        }
}

SdmStatus sim_water_apply(SimScene *sc, SimGround *g)
{
    for (int which = 1; which >= 0; which--) { /* the ocean has the last word */
        if (isinf(sc->water_edge[which]))
            continue;
        g->field[which] = g->terrain;
        g->field[which].v = NULL;
        PASS(sim_noise(sc->ctx, &sc->shore[which], FIELD_LEVEL, &g->field[which]));
        flatten(sc, g, which, which ? sc->lake_level : 0.0);
    }
    return SDM_OK;
}

bool sim_is_water(const SimScene *sc, const SimGround *g, size_t node)
{
    for (int w = 0; w < 2; w++)
        if (g->field[w].v && (double)g->field[w].v[node] <= sc->water_edge[w])
            return true;
    return false;
}
