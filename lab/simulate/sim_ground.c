/* Bare terrain and water of a window -> the ground that rays meet, with its peaks by blocks. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <math.h>

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

SdmStatus sim_ground_open(SimScene *sc, const SimBox *box, SimGround *g)
{
    SdmStatus st = SDM_OK;
    g->terrain = sim_window(box, sc->opt->gsd_m, 4);
    TRY(sim_terrain_fill(sc, &g->terrain));
    TRY(sim_water_apply(sc, g));
    TRY(fine_peaks(sc, g));
    TRY(coarse_peaks(sc, g));
done:
    return st;
}

void sim_ground_close(SimGround *g)
{
    SimWindow *const all[] = {&g->terrain, &g->field[0], &g->field[1], &g->peak[0],
                              &g->peak[1], &g->light};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        sdm_free(&all[k]->v);
    for (int k = 0; k < SIM_DECKS; k++)
        sdm_free(&g->deck[k].v);
}
