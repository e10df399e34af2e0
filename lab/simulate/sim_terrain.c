/* Options -> coefficients of the bare terrain in any window: fractal, plane, flat or a DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

enum { SAMPLES = 40, TERRAIN_LEVEL = 1 };

static bool shape_is(const SimScene *sc, const char *name)
{
    return !sc->opt->terrain && strcmp(sc->opt->shape, name) == 0;
}

/* Half of the height that the plane spans over the left image. */
static double plane_reach(const SimScene *sc)
{
    const double az = sc->opt->slope_azimuth_deg * SIM_PI / 180.0,
                 t = tan(sc->opt->slope_deg * SIM_PI / 180.0);
    return 0.5 * sc->opt->gsd_m * t * (sc->opt->width * fabs(sin(az)) + sc->opt->height * fabs(cos(az)));
}

/* Scale the fractal so that it spans base..base + relief over the scene. */
static SdmStatus plan_fractal(SimScene *sc)
{
    const SdmSimulateOptions *const opt = sc->opt;
    double lo = INFINITY, hi = -INFINITY;
    sim_spectrum(&sc->relief, (uint32_t)opt->seed * 8u + 1u, TERRAIN_LEVEL,
                 sim_octave(0.3 * sc->extent_m, sc->unit_m), 1.0, 1.0);
    for (int k = 0; k < SAMPLES * SAMPLES; k++) {
        const double u = (k % SAMPLES + 0.5) / SAMPLES - 0.5, v = (k / SAMPLES + 0.5) / SAMPLES - 0.5;
        float n;
        PASS(sim_noise_at(sc->ctx, &sc->relief, TERRAIN_LEVEL, sc->unit_m,
                          sc->x + u * opt->gsd_m * opt->width, sc->y + v * opt->gsd_m * opt->height, &n));
        lo = fmin(lo, (double)n);
        hi = fmax(hi, (double)n);
    }
    sc->relief_gain = hi > lo ? opt->relief_m / (hi - lo) : 0.0;
    sc->relief_lift = opt->base_m - sc->relief_gain * lo;
    sc->h_mean = opt->base_m + 0.5 * opt->relief_m;
    sc->h_lo =
        opt->base_m - 0.3 * opt->relief_m - 10.0; /* the ground around the left image may reach further */
    sc->h_hi = opt->base_m + 1.3 * opt->relief_m + 10.0;
    return SDM_OK;
}

static SdmStatus plan_dem(SimScene *sc)
{
    const SdmSimulateOptions *const opt = sc->opt;
    const bool rpc = strcmp(opt->layout, "rpc") == 0;
    const double r = 0.75 * opt->gsd_m * hypot(opt->width, opt->height) + (rpc ? 500.0 : 4000.0);
    const SimBox box = {sc->x - r, sc->y - r, sc->x + r, sc->y + r};
    double sum = 0.0;
    PASS(sim_dem_open(sc, &box));
    for (int k = 0; k < SAMPLES * SAMPLES; k++) {
        const double u = (k % SAMPLES + 0.5) / SAMPLES - 0.5, v = (k / SAMPLES + 0.5) / SAMPLES - 0.5;
        float h;
        PASS(sim_terrain_at(sc, sc->x + u * opt->gsd_m * opt->width, sc->y + v * opt->gsd_m * opt->height,
                            &h));
        sum += (double)h;
    }
    sc->h_mean = sum / (SAMPLES * SAMPLES);
    sc->h_lo =
        sc->dem.lo - 10.0 - 0.02 * (sc->dem.hi - sc->dem.lo); /* cubic convolution overshoots a little */
    sc->h_hi = sc->dem.hi + 10.0 + 0.02 * (sc->dem.hi - sc->dem.lo);
    return SDM_OK;
}

SdmStatus sim_terrain_plan(SimScene *sc)
{
    const SdmSimulateOptions *const opt = sc->opt;
    const double reach = shape_is(sc, "plane") ? plane_reach(sc) : 0.0;
    if (opt->terrain)
        PASS(plan_dem(sc));
    else if (shape_is(sc, "fractal"))
        PASS(plan_fractal(sc));
    else {
        sc->h_mean = opt->base_m + reach;
        sc->h_lo = sc->h_mean - 1.6 * reach - 10.0;
        sc->h_hi = sc->h_mean + 1.6 * reach + 10.0;
    }
    if (opt->ocean > 0.0) {
        sc->h_lo = fmin(sc->h_lo, -10.0);
        sc->h_hi = fmax(sc->h_hi, 10.0);
    }
    return SDM_OK;
}

static void fill_plane(const SimScene *sc, SimWindow *win)
{
    const double az = sc->opt->slope_azimuth_deg * SIM_PI / 180.0,
                 t = shape_is(sc, "plane") ? tan(sc->opt->slope_deg * SIM_PI / 180.0) : 0.0;
    for (int j = 0; j < win->ny; j++)
        for (int i = 0; i < win->nx; i++) {
            const double x = (double)(win->i0 + i) * win->step_m - sc->x,
                         y = -(double)(win->j0 + j) * win->step_m - sc->y;
            const double h = sc->h_mean - t * (x * sin(az) + y * cos(az));
            win->v[(size_t)j * (size_t)win->nx + (size_t)i] = (float)fmin(fmax(h, sc->h_lo), sc->h_hi);
        }
}

SdmStatus sim_terrain_fill(SimScene *sc, SimWindow *win)
{
    const size_t n = (size_t)win->nx * (size_t)win->ny;
    if (shape_is(sc, "fractal")) {
        PASS(sim_noise(sc->ctx, &sc->relief, TERRAIN_LEVEL, win));
        for (size_t k = 0; k < n; k++) {
            const double h = sc->relief_lift + sc->relief_gain * (double)win->v[k];
            win->v[k] = (float)fmin(fmax(h, sc->h_lo), sc->h_hi);
        }
        return SDM_OK;
    }
    PASS(sdm_alloc(sc->ctx, &win->v, n, sizeof *win->v, "terrain"));
    if (sc->opt->terrain)
        PASS(sim_dem_fill(sc, win));
    else
        fill_plane(sc, win);
    return SDM_OK;
}

SdmStatus sim_terrain_at(SimScene *sc, double x, double y, float *h)
{
    const SimBox box = {x, y, x, y};
    SDM_CLOSED_BY(sim_window_free) SimWindow win = sim_window(&box, sc->opt->gsd_m, 2);
    PASS(sim_terrain_fill(sc, &win));
    *h = sim_value(&win, x, y);
    return SDM_OK;
}
