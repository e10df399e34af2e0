/* Terrain and cameras -> truth.tif (exact cell means; of a town, whose walls cells must not blur, the height
 * at each centre) and class.tif. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <gdal.h>

enum { CELLS = 1024 };

/* Terrain nodes a cell: of 2 gsd, of a town 1. */
static int nodes_of(const SimScene *sc)
{
    return sc->town ? 1 : 2;
}

/* The cells as the first node of each; `v` stays NULL. */
static SimWindow truth_grid(const SimScene *sc)
{
    SimBox all = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (int v = 0; v < 2; v++) {
        const SimCamera *const cam = &sc->view[v].cam;
        const double px[4] = {-0.5, -0.5, cam->width - 0.5, cam->height - 0.5};
        const SimBox b = sim_lattice_box(&sc->view[v].lattice, px, sc->h_lo, sc->h_hi);
        all = (SimBox){fmin(all.x0, b.x0), fmin(all.y0, b.y0), fmax(all.x1, b.x1), fmax(all.y1, b.y1)};
    }
    SimWindow grid = sim_window(&all, nodes_of(sc) * sc->opt->gsd_m, 0);
    grid.nx--;
    grid.ny--;
    return grid;
}

/* Mean of the cubic B-spline surface over the cell that starts at node (i, j) of t. */
static float cell_mean(const SimWindow *t, int64_t i, int64_t j)
{
    static const double w[5] = {1.0 / 48.0, 12.0 / 48.0, 22.0 / 48.0, 12.0 / 48.0, 1.0 / 48.0};
    double sum = 0.0;
    for (int b = 0; b < 5; b++) {
        const float *const r = t->v + (j - t->j0 + b - 1) * t->nx + (i - t->i0 - 1);
        for (int a = 0; a < 5; a++)
            sum += w[b] * w[a] * (double)r[a];
    }
    return (float)sum;
}

/* Does the view see the ground point?  *col, *row: start and result.  *cloudy: something hangs in between. */
static bool seen(const SimScene *sc, const SimGround *g, const SimView *view, const double p[3], double at[2],
                 bool *cloudy)
{
    double dcol, drow, x, y, lean[2];
    float dn;
    int class;
    SimRay ray;
    sim_lattice_find(&view->lattice, p[0], p[1], p[2], &at[0], &at[1]);
    if (!isfinite(at[0]) || !isfinite(at[1])) {
        at[0] = at[1] = 0.0;
        return false;
    }
    sim_camera_error(&view->cam, at[1], &dcol, &drow);
    const double c = at[0] - dcol, r = at[1] - drow;
    if (!(c >= -0.5 && r >= -0.5 && c <= view->cam.width - 0.5 && r <= view->cam.height - 0.5))
        return false;
    sim_lattice_at(&view->lattice, at[0], at[1], &ray);
    double h = sim_trace(&view->lattice, g, &ray);
    if (sc->town) {
        sim_ray_lean(&view->lattice, &ray, h, lean);
        sim_ray_xy(&view->lattice, &ray, h, &x, &y);
        h = sim_town_height(sc, 1 << (view - sc->view), (double[]){x, y, h}, lean, &class);
    }
    if (h > p[2] + 0.5 * sc->opt->gsd_m)
        return false;
    *cloudy |= sim_cloud_view(sc, g, &view->lattice, &ray, sim_row_time(&view->cam, at[1]), &dn) < sc->clear;
    return true;
}

/* Height and class of the town at p, whose height is the ground's; a car of either view makes the cell a
 * car's. */
static void town_cell(const SimScene *sc, double p[3], float *truth, int *class)
{
    const double upright[2] = {0.0, 0.0};
    int with_cars;
    sim_town_height(sc, 3, p, upright, &with_cars);
    p[2] = sim_town_height(sc, 4, p, upright, class);
    *truth = (float)p[2];
    *class = with_cars == SIM_CAR ? SIM_CAR : *class;
}

/* Snow at p, or so near across the track that it may bloom there. */
static bool is_snow(const SimScene *sc, const SimGround *g, const double p[3])
{
    for (int k = -1; k <= 1; k++)
        if ((double)sim_value(&g->terrain, p[0] + k * SIM_BLOOM * sc->opt->gsd_m, p[1]) > sc->snow_edge)
            return true;
    return false;
}

static void truth_row(const SimScene *sc, const SimGround *g, const SimWindow *tile, int j, float *truth,
                      uint8_t *class)
{
    const SimCamera *const l = &sc->view[0].cam, *const r = &sc->view[1].cam;
    double at[2][2] = {{0.5 * l->width, 0.5 * l->height}, {0.5 * r->width, 0.5 * r->height}};
    for (int i = 0; i < tile->nx; i++) {
        const int64_t ni = nodes_of(sc) * (tile->i0 + i), nj = nodes_of(sc) * (tile->j0 + j);
        const size_t k = (size_t)j * (size_t)tile->nx + (size_t)i;
        double p[3] = {((double)(tile->i0 + i) + 0.5) * tile->step_m,
                       -((double)(tile->j0 + j) + 0.5) * tile->step_m, 0.0};
        bool cloudy = false;
        int kind = SIM_LAND;
        p[2] = (double)sim_value(&g->terrain, p[0], p[1]);
        if (sc->town)
            town_cell(sc, p, &truth[k], &kind);
        else
            truth[k] = cell_mean(&g->terrain, ni, nj);
        const bool left = seen(sc, g, &sc->view[0], p, at[0], &cloudy);
        const bool right = seen(sc, g, &sc->view[1], p, at[1], &cloudy);
        const size_t node =
            (size_t)(nj + 1 - g->terrain.j0) * (size_t)g->terrain.nx + (size_t)(ni + 1 - g->terrain.i0);
        kind = cloudy                      ? SIM_CLOUD
               : sim_is_water(sc, g, node) ? SIM_WATER
               : is_snow(sc, g, p)         ? SIM_SNOW
                                           : kind;
        class[k] = (uint8_t)((left && right) || (kind == SIM_CAR && (left || right)) ? kind : SIM_UNSEEN);
    }
}

/* Map box of the tile's cells, wide enough for the rays that rise from it to height top. */
static SimBox reach(const SimScene *sc, const SimWindow *t, double top)
{
    const SimBox cells = {(double)t->i0 * t->step_m, -(double)(t->j0 + t->ny) * t->step_m,
                          (double)(t->i0 + t->nx) * t->step_m, -(double)t->j0 * t->step_m};
    SimBox box = cells;
    for (int v = 0; v < 2; v++)
        for (int k = 0; k < 4; k++) {
            const SimCamera *const cam = &sc->view[v].cam;
            const double c = k & 1 ? cam->width : 0.0, r = k & 2 ? cam->height : 0.0;
            double x0, y0, x1, y1;
            sim_lattice_xy(&sc->view[v].lattice, c, r, sc->h_lo, &x0, &y0);
            sim_lattice_xy(&sc->view[v].lattice, c, r, top, &x1, &y1);
            box = (SimBox){fmin(box.x0, cells.x0 + x1 - x0), fmin(box.y0, cells.y0 + y1 - y0),
                           fmax(box.x1, cells.x1 + x1 - x0), fmax(box.y1, cells.y1 + y1 - y0)};
        }
    return box;
}

static SdmStatus truth_tile(SimScene *sc, const SimWindow *tile, float *truth, uint8_t *class)
{
    SDM_CLOSED_BY(sim_ground_close) SimGround g = {.top = 0.0f};
    const SimBox box = reach(sc, tile, sc->h_hi);
    SimBox sky[SIM_DECKS];
    for (int k = 0; k < sc->decks; k++)
        sky[k] = reach(sc, tile, sc->deck[k].top);
    PASS(sim_ground_open(sc, &box, &g));
    PASS(sim_cloud_open(sc, sky, NULL, &g));
#pragma omp parallel for schedule(dynamic, 4) num_threads(sc->threads)
    for (int j = 0; j < tile->ny; j++)
        truth_row(sc, &g, tile, j, truth, class);
    return SDM_OK;
}

static SdmStatus create(SimScene *sc, const SimWindow *grid, const double geo[6], SimRaster **heights,
                        SimRaster **classes)
{
    SimRasterSpec spec = {.name = "truth.tif",
                          .nx = grid->nx,
                          .ny = grid->ny,
                          .type = GDT_Float32,
                          .geo = geo,
                          .nodata = -9999.0,
                          .heights_above = "WGS 84 ellipsoid"};
    PASS(sim_raster_create(sc, &spec, heights));
    spec.name = "class.tif";
    spec.type = GDT_Byte;
    spec.nodata = NAN;
    spec.heights_above = NULL;
    return sim_raster_create(sc, &spec, classes);
}

SdmStatus sim_truth(SimScene *sc)
{
    const SimWindow grid = truth_grid(sc);
    const double geo[6] = {(double)grid.i0 * grid.step_m,  grid.step_m, 0.0,
                           -(double)grid.j0 * grid.step_m, 0.0,         -grid.step_m};
    SDM_CLOSED_BY(sim_raster_drop) SimRaster *heights = NULL, *classes = NULL;
    SDM_OWNED float *truth = NULL;
    SDM_OWNED uint8_t *class = NULL;
    PASS(SDM_ALLOC(sc->ctx, "truth", SDM_ARRAY(truth, CELLS * CELLS), SDM_ARRAY(class, CELLS * CELLS)));
    PASS(create(sc, &grid, geo, &heights, &classes));
    for (int y = 0; y < grid.ny; y += CELLS)
        for (int x = 0; x < grid.nx; x += CELLS) {
            SimWindow tile = grid;
            tile.i0 += x;
            tile.j0 += y;
            tile.nx = grid.nx - x < CELLS ? grid.nx - x : CELLS;
            tile.ny = grid.ny - y < CELLS ? grid.ny - y : CELLS;
            PASS(sdm_check_stop(sc->ctx));
            PASS(truth_tile(sc, &tile, truth, class));
            PASS(sim_raster_write(heights, x, y, tile.nx, tile.ny, truth, GDT_Float32));
            PASS(sim_raster_write(classes, x, y, tile.nx, tile.ny, class, GDT_Byte));
            sdm_progress(sc->ctx, 0, 0.8 + 0.2 * y / grid.ny, "write the truth");
        }
    PASS(sim_raster_close(&heights));
    PASS(sim_raster_close(&classes));
    return sim_reference(sc, geo, grid.nx, grid.ny);
}
