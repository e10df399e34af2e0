/* Options -> terrain coefficients of any window: fractal, plane, flat or a DEM; water is laid in by
 * sim_water.c. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <math.h>
#include <string.h>

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
    SdmStatus st = SDM_OK;
    const SdmSimulateOptions *const opt = sc->opt;
    double lo = INFINITY, hi = -INFINITY;
    sim_spectrum(&sc->relief, (uint32_t)opt->seed * 8u + 1u, TERRAIN_LEVEL,
                 sim_octave(0.3 * sc->extent_m, sc->unit_m), 1.0, 1.0);
    for (int k = 0; k < SAMPLES * SAMPLES; k++) {
        const double u = (k % SAMPLES + 0.5) / SAMPLES - 0.5, v = (k / SAMPLES + 0.5) / SAMPLES - 0.5;
        float n;
        TRY(sim_noise_at(sc->ctx, &sc->relief, TERRAIN_LEVEL, sc->unit_m, sc->x + u * opt->gsd_m * opt->width,
                         sc->y + v * opt->gsd_m * opt->height, &n));
        lo = fmin(lo, (double)n);
        hi = fmax(hi, (double)n);
    }
    sc->relief_gain = hi > lo ? opt->relief_m / (hi - lo) : 0.0;
    sc->relief_lift = opt->base_m - sc->relief_gain * lo;
    sc->h_mean = opt->base_m + 0.5 * opt->relief_m;
    sc->h_lo =
        opt->base_m - 0.3 * opt->relief_m - 10.0; /* the ground around the left image may reach further */
    sc->h_hi = opt->base_m + 1.3 * opt->relief_m + 10.0;
done:
    return st;
}

static SdmStatus plan_dem(SimScene *sc)
{
    SdmStatus st = SDM_OK;
    const SdmSimulateOptions *const opt = sc->opt;
    const bool rpc = strcmp(opt->layout, "rpc") == 0;
    const double r = 0.75 * opt->gsd_m * hypot(opt->width, opt->height) + (rpc ? 500.0 : 4000.0);
    const SimBox box = {sc->x - r, sc->y - r, sc->x + r, sc->y + r};
    double sum = 0.0;
    TRY(sim_dem_open(sc, &box));
    for (int k = 0; k < SAMPLES * SAMPLES; k++) {
        const double u = (k % SAMPLES + 0.5) / SAMPLES - 0.5, v = (k / SAMPLES + 0.5) / SAMPLES - 0.5;
        float h;
        TRY(sim_terrain_at(sc, sc->x + u * opt->gsd_m * opt->width, sc->y + v * opt->gsd_m * opt->height,
                           &h));
        sum += (double)h;
    }
    sc->h_mean = sum / (SAMPLES * SAMPLES);
    sc->h_lo =
        sc->dem.lo - 10.0 - 0.02 * (sc->dem.hi - sc->dem.lo); /* cubic convolution overshoots a little */
    sc->h_hi = sc->dem.hi + 10.0 + 0.02 * (sc->dem.hi - sc->dem.lo);
done:
    return st;
}

SdmStatus sim_terrain_plan(SimScene *sc)
{
    SdmStatus st = SDM_OK;
    const SdmSimulateOptions *const opt = sc->opt;
    const double reach = shape_is(sc, "plane") ? plane_reach(sc) : 0.0;
    if (opt->terrain)
        TRY(plan_dem(sc));
    else if (shape_is(sc, "fractal"))
        TRY(plan_fractal(sc));
    else {
        sc->h_mean = opt->base_m + reach;
        sc->h_lo = sc->h_mean - 1.6 * reach - 10.0;
        sc->h_hi = sc->h_mean + 1.6 * reach + 10.0;
    }
    if (opt->ocean > 0.0) {
        sc->h_lo = fmin(sc->h_lo, -10.0);
        sc->h_hi = fmax(sc->h_hi, 10.0);
    }
done:
    return st;
}

static void fill_plane(const SimScene *sc, SimWindow *win)
{
    const double az = sc->opt->slope_azimuth_deg * SIM_PI / 180.0,
                 t = tan(sc->opt->slope_deg * SIM_PI / 180.0);
    const bool flat = shape_is(sc, "flat");
    for (int j = 0; j < win->ny; j++)
        for (int i = 0; i < win->nx; i++) {
            const double x = (double)(win->i0 + i) * win->step_m - sc->x,
                         y = -(double)(win->j0 + j) * win->step_m - sc->y;
            const double h = sc->h_mean - (flat ? 0.0 : t * (x * sin(az) + y * cos(az)));
            win->v[(size_t)j * (size_t)win->nx + (size_t)i] = (float)fmin(fmax(h, sc->h_lo), sc->h_hi);
        }
}

static SdmStatus bare(SimScene *sc, SimWindow *win)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)win->nx * (size_t)win->ny;
    if (shape_is(sc, "fractal")) {
        TRY(sim_noise(sc->ctx, &sc->relief, TERRAIN_LEVEL, win));
        for (size_t k = 0; k < n; k++) {
            const double h = sc->relief_lift + sc->relief_gain * (double)win->v[k];
            win->v[k] = (float)fmin(fmax(h, sc->h_lo), sc->h_hi);
        }
        return SDM_OK;
    }
    TRY(sdm_alloc(sc->ctx, &win->v, n, sizeof *win->v, "terrain"));
    if (sc->opt->terrain)
        TRY(sim_dem_fill(sc, win));
    else
        fill_plane(sc, win);
done:
    return st;
}

SdmStatus sim_terrain_at(SimScene *sc, double x, double y, float *h)
{
    SdmStatus st = SDM_OK;
    const SimBox box = {x, y, x, y};
    SimWindow win = sim_window(&box, sc->opt->gsd_m, 2);
    TRY(bare(sc, &win));
    *h = sim_value(&win, x, y);
done:
    sdm_free(&win.v);
    return st;
}

/* Highest coefficient of the nodes that matter to the block from (i0, j0) on, largest step between
 * neighbours. */
static float block_peak(const SimWindow *t, int i0, int j0, float *step)
{
    float top = -1e30f;
    for (int j = j0 < 0 ? 0 : j0; j < t->ny && j < j0 + SIM_BLOCK + 3; j++)
        for (int i = i0 < 0 ? 0 : i0; i < t->nx && i < i0 + SIM_BLOCK + 3; i++) {
            const float *const c = t->v + (size_t)j * (size_t)t->nx + (size_t)i;
            const float dx = i + 1 < t->nx ? fabsf(c[1] - c[0]) : 0.0f;
            const float dy = j + 1 < t->ny ? fabsf(c[t->nx] - c[0]) : 0.0f;
            top = c[0] > top ? c[0] : top;
            *step = dx > *step ? dx : *step;
            *step = dy > *step ? dy : *step;
        }
    return top;
}

/* Highest coefficient that matters in each block of cells: an upper bound of the surface there. */
static SdmStatus fine_peaks(SimScene *sc, SimGround *g)
{
    SdmStatus st = SDM_OK;
    const int threads = sc->threads;
    const SimWindow *const t = &g->terrain;
    SimWindow *const p = &g->peak[0];
    *p = (SimWindow){.nx = (t->nx + SIM_BLOCK - 1) / SIM_BLOCK, .ny = (t->ny + SIM_BLOCK - 1) / SIM_BLOCK,
                     .step_m = t->step_m * SIM_BLOCK};
    TRY(sdm_alloc(sc->ctx, &p->v, (size_t)p->nx * (size_t)p->ny, sizeof *p->v, "terrain peaks"));
    float top = -1e30f, steepest = 0.0f;
#pragma omp parallel for num_threads(threads) reduction(max : top, steepest)
    for (int b = 0; b < p->nx * p->ny; b++) {
        float step = 0.0f;
        p->v[b] = block_peak(t, b % p->nx * SIM_BLOCK - 1, b / p->nx * SIM_BLOCK - 1, &step);
        top = p->v[b] > top ? p->v[b] : top;
        step *= 1.4143f / (float)t->step_m;
        steepest = step > steepest ? step : steepest;
    }
    g->top = top;
    g->steepest = steepest;
done:
    return st;
}

/* The same over blocks of blocks. */
static SdmStatus coarse_peaks(SimScene *sc, SimGround *g)
{
    SdmStatus st = SDM_OK;
    const SimWindow *const f = &g->peak[0];
    SimWindow *const p = &g->peak[1];
    *p = (SimWindow){.nx = (f->nx + SIM_BLOCK - 1) / SIM_BLOCK, .ny = (f->ny + SIM_BLOCK - 1) / SIM_BLOCK,
                     .step_m = f->step_m * SIM_BLOCK};
    TRY(sdm_alloc(sc->ctx, &p->v, (size_t)p->nx * (size_t)p->ny, sizeof *p->v, "terrain peaks"));
    for (int k = 0; k < p->nx * p->ny; k++)
        p->v[k] = -1e30f;
    for (int j = 0; j < f->ny; j++)
        for (int i = 0; i < f->nx; i++) {
            float *const top = &p->v[j / SIM_BLOCK * p->nx + i / SIM_BLOCK];
            const float v = f->v[j * f->nx + i];
            *top = v > *top ? v : *top;
        }
done:
    return st;
}

SdmStatus sim_terrain_open(SimScene *sc, const SimBox *box, SimGround *g)
{
    SdmStatus st = SDM_OK;
    g->terrain = sim_window(box, sc->opt->gsd_m, 4);
    TRY(bare(sc, &g->terrain));
    TRY(sim_water_apply(sc, g));
    TRY(fine_peaks(sc, g));
    TRY(coarse_peaks(sc, g));
done:
    return st;
}

void sim_ground_close(SimGround *g)
{
    SimWindow *const all[] = {&g->terrain, &g->field[0], &g->field[1], &g->peak[0],
                              &g->peak[1], &g->light,    &g->cloud};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        sdm_free(&all[k]->v);
}
