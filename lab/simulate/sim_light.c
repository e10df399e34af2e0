/* Terrain, texture, water -> radiance (DN) as coefficients of a B-spline surface of spacing gsd/2. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

static const float WATER_DN = 32.0f, SNOW_DN = 400.0f, SHADE = 0.7f;
const float sim_sun[3] = {0.354f, -0.612f, 0.7071f};

/* Sun's cosine over that of flat ground, at a terrain node. */
static float shade(const SimWindow *t, int i, int j)
{
    const int a = i > 0 ? i - 1 : 0, b = i + 1 < t->nx ? i + 1 : i, c = j > 0 ? j - 1 : 0,
              d = j + 1 < t->ny ? j + 1 : j;
    const float *const r = t->v + (size_t)j * (size_t)t->nx;
    const float sx = (r[b] - r[a]) / ((float)(b - a) * (float)t->step_m);
    const float sy =
        (t->v[(size_t)c * (size_t)t->nx + (size_t)i] - t->v[(size_t)d * (size_t)t->nx + (size_t)i]) /
        ((float)(d - c) * (float)t->step_m);
    const float cosine = (sim_sun[2] - sim_sun[0] * sx - sim_sun[1] * sy) / sqrtf(1.0f + sx * sx + sy * sy);
    return cosine > 0.0f ? cosine / sim_sun[2] : 0.0f;
}

static const float WATER = -1.0f, SNOW = 100.0f; /* in place of a shading */

/* Shading on the terrain's grid, water and snow. */
static SdmStatus shade_grid(SimScene *sc, SimGround *g, SimWindow *out)
{
    *out = g->terrain;
    PASS(sdm_alloc(sc->ctx, &out->v, (size_t)out->nx * (size_t)out->ny, sizeof *out->v, "shading"));
#pragma omp parallel for num_threads(sc->threads)
    for (int j = 0; j < out->ny; j++)
        for (int i = 0; i < out->nx; i++) {
            const size_t k = (size_t)j * (size_t)out->nx + (size_t)i;
            out->v[k] = sim_is_water(sc, g, k)                    ? WATER
                        : (double)g->terrain.v[k] > sc->snow_edge ? SNOW
                                                                  : shade(&g->terrain, i, j);
        }
    return SDM_OK;
}

/* One row of radiance nodes: every second one lies on a terrain node, the others half way. */
static void light_row(const SimWindow *sh, const float *wave, SimWindow *out, int j)
{
    const float scale = SIM_LAND_DN * SHADE;
    const int64_t tj = (out->j0 + j) - 2 * sh->j0, ja = tj >> 1, jb = (tj + 1) >> 1;
    for (int i = 0; i < out->nx; i++) {
        const int64_t ti = (out->i0 + i) - 2 * sh->i0, ia = ti >> 1, ib = (ti + 1) >> 1;
        const float *const p = sh->v + ja * sh->nx, *const q = sh->v + jb * sh->nx;
        const float lit = 0.25f * (p[ia] + p[ib] + q[ia] + q[ib]), sun = lit > 0.0f ? lit : 0.0f;
        const size_t k = (size_t)j * (size_t)out->nx + (size_t)i;
        const bool water = p[ia] < 0.0f && p[ib] < 0.0f && q[ia] < 0.0f && q[ib] < 0.0f;
        const bool snow = p[ia] >= SNOW || p[ib] >= SNOW || q[ia] >= SNOW || q[ib] >= SNOW;
        if (snow)
            out->v[k] = SNOW_DN;
        else if (water)
            out->v[k] = WATER_DN + (wave ? wave[k] : 0.0f);
        else
            out->v[k] = SIM_LAND_DN + out->v[k] * (0.5f + 0.5f * sun) + scale * (sun - 1.0f);
        out->v[k] = out->v[k] > 6.0f ? out->v[k] : 6.0f;
    }
}

SdmStatus sim_light_open(SimScene *sc, int view, SimGround *g)
{
    SDM_CLOSED_BY(sim_window_free) SimWindow sh = {.v = NULL}, wave = {.v = NULL};
    SimWindow *const out = &g->light;
    *out = (SimWindow){.i0 = 2 * g->terrain.i0,
                       .j0 = 2 * g->terrain.j0,
                       .nx = 2 * g->terrain.nx - 1,
                       .ny = 2 * g->terrain.ny - 1,
                       .step_m = sc->unit_m};
    PASS(shade_grid(sc, g, &sh));
    PASS(sim_noise(sc->ctx, &sc->texture, 0, out));
    if (g->field[0].v || g->field[1].v) {
        wave = *out;
        PASS(sim_noise(sc->ctx, &sc->wave[view], 0, &wave));
    }
#pragma omp parallel for num_threads(sc->threads)
    for (int j = 0; j < out->ny; j++)
        light_row(&sh, wave.v, out, j);
    return SDM_OK;
}
