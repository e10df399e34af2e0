/* The order of the work: place, terrain, town, cameras, water and clouds, then images, tables and truth. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <cpl_error.h>
#include <gdal.h>

static SdmStatus plan(SimScene *sc)
{
    const uint32_t seed = (uint32_t)sc->opt->seed * 8u;
    PASS(sim_place_open(sc));
    PASS(sim_terrain_plan(sc));
    if (sc->opt->town)
        PASS(sim_town_open(sc));
    PASS(sim_place_cameras(sc));
    for (int v = 0; v < 2; v++) {
        PASS(sim_lattice_open(sc, &sc->view[v]));
        PASS(sim_radiometry(sc, v));
        const uint32_t wave = (sim_error_seed(sc->opt) + 5u + (uint32_t)v) ^ 0x5a5a5a5au;
        sim_spectrum(&sc->wave[v], wave, 0, 4, 0.3, 0.7);
    }
    PASS(sim_water_plan(sc));
    PASS(sim_snow_plan(sc));
    PASS(sim_cloud_plan(sc));
    const int top = sim_octave(0.1 * sc->extent_m, sc->unit_m);
    sim_spectrum(&sc->texture, seed, 0, top < 3 ? 3 : top > 8 ? 8 : top, 0.25, sc->opt->texture_dn);
    return SDM_OK;
}

static SdmStatus make(SimScene *sc)
{
    PASS(plan(sc));
    PASS(sim_files_begin(sc));
    for (int v = 0; v < 2; v++) {
        if (strcmp(sc->opt->layout, "aster") == 0)
            PASS(sim_tables(sc, v));
        PASS(sim_render(sc, v));
    }
    PASS(sim_truth(sc));
    return sim_files_commit(sc);
}

SdmStatus sdm_simulate(SdmContext *ctx, const SdmSimulateOptions *opt)
{
    SdmStatus st = SDM_OK;
    SimScene scene = {.ctx = ctx,
                      .opt = opt,
                      .threads = sdm_threads(ctx),
                      .unit_m = 0.5 * opt->gsd_m,
                      .base = "AST_L1A_00301012001180005_sim",
                      .view = {{.name = "3N"}, {.name = "3B"}}};
    const double start = sdm_now_s();
    CPLPushErrorHandler(CPLQuietErrorHandler);
    TRY(sim_check(ctx, opt));
    GDALAllRegister();
    TRY(make(&scene));
    sdm_log(ctx, SDM_LOG_INFO, 0, "simulated %s in %.1f s", opt->output, sdm_now_s() - start);
done:
    sim_files_abandon(&scene);
    for (int v = 0; v < 2; v++) {
        SimView *const view = &scene.view[v];
        SDM_FREE(&view->lattice.node, &view->c1, &view->c0, &view->lost, &view->dead);
    }
    sim_dem_close(&scene.dem);
    sim_town_close(&scene.town);
    OCTDestroyCoordinateTransformation(scene.to_map);
    OSRDestroySpatialReference(scene.srs);
    CPLPopErrorHandler();
    return st;
}
