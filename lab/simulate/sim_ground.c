/* Bare terrain and water of a window -> the ground that rays meet, with its peaks by blocks. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

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

/* Make room for one value for each block of SIM_BLOCK x SIM_BLOCK nodes of `from`. */
static SdmStatus open_peaks(SimScene *sc, const SimWindow *from, SimWindow *p)
{
    *p = (SimWindow){.nx = (from->nx + SIM_BLOCK - 1) / SIM_BLOCK,
                     .ny = (from->ny + SIM_BLOCK - 1) / SIM_BLOCK,
                     .step_m = from->step_m * SIM_BLOCK};
    return sdm_alloc(sc->ctx, &p->v, (size_t)p->nx * (size_t)p->ny, sizeof *p->v, "terrain peaks");
}

/* Highest coefficient that matters in each block of cells, and in each block of blocks: an upper bound of the
 * surface there. */
static SdmStatus find_peaks(SimScene *sc, SimGround *g)
{
    const SimWindow *const t = &g->terrain;
    SimWindow *const fine = &g->peak[0], *const coarse = &g->peak[1];
    PASS(open_peaks(sc, t, fine));
    PASS(open_peaks(sc, fine, coarse));
    float top = -1e30f, steepest = 0.0f;
#pragma omp parallel for num_threads(sc->threads) reduction(max : top, steepest)
    for (int b = 0; b < fine->nx * fine->ny; b++) {
        float step = 0.0f;
        fine->v[b] = block_peak(t, b % fine->nx * SIM_BLOCK - 1, b / fine->nx * SIM_BLOCK - 1, &step);
        top = fine->v[b] > top ? fine->v[b] : top;
        step *= 1.4143f / (float)t->step_m;
        steepest = step > steepest ? step : steepest;
    }
    g->top = top;
    g->steepest = steepest;
    for (int k = 0; k < coarse->nx * coarse->ny; k++)
        coarse->v[k] = -1e30f;
    for (int j = 0; j < fine->ny; j++)
        for (int i = 0; i < fine->nx; i++) {
            float *const most = &coarse->v[j / SIM_BLOCK * coarse->nx + i / SIM_BLOCK];
            const float v = fine->v[j * fine->nx + i];
            *most = v > *most ? v : *most;
        }
    return SDM_OK;
}

SdmStatus sim_ground_open(SimScene *sc, const SimBox *box, SimGround *g)
{
    g->terrain = sim_window(box, sc->opt->gsd_m, 4);
    PASS(sim_terrain_fill(sc, &g->terrain));
    PASS(sim_water_apply(sc, g));
    return find_peaks(sc, g);
}

void sim_ground_close(SimGround *g)
{
    SimWindow *const all[] = {&g->terrain, &g->field[0], &g->field[1], &g->peak[0], &g->peak[1], &g->light};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        sdm_free(&all[k]->v);
    for (int k = 0; k < SIM_DECKS; k++)
        sdm_free(&g->deck[k].v);
}
