/* A scene -> its description for `info`: images, cameras, overlap, grid, expected cost; no matching. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/scene.h"
#include "core/math.h"
#include "geo/grid.h"

#include <math.h>
#include <string.h>

static void describe_view(const SdmView *v, SdmViewInfo *out)
{
    snprintf(out->name, sizeof out->name, "%s", v->name);
    snprintf(out->camera, sizeof out->camera, "%s", sdm_camera_kind(v->camera));
    snprintf(out->camera_source, sizeof out->camera_source, "%s", v->note.source);
    snprintf(out->camera_doubt, sizeof out->camera_doubt, "%s", v->note.doubt);
    out->width = sdm_image_width(v->image);
    out->height = sdm_image_height(v->image);
    out->bin = v->note.bin;
    sdm_image_describe(v->image, out->mask, sizeof out->mask, &out->unusable, &out->saturated);
}

enum { SIDE = 64, LEAST_STEPS = 16, MOST_STEPS = 512 }; /* heights above and below the middle */

/* Centres of SIDE x SIDE places of the frame that the left image shows. */
typedef struct Places {
    double at[SIDE * SIDE][2];
    int count;
} Places;

static bool shows(const SdmView *view, const double at[2])
{
    return at[0] > 0.0 && at[1] > 0.0 && at[0] < (double)sdm_image_width(view->image) &&
           at[1] < (double)sdm_image_height(view->image);
}

static void find_places(const SdmScene *scene, const SdmFrame *f, const SdmLattice *lat, Places *out)
{
    out->count = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        double left[2], *const at = out->at[out->count];
        at[0] = (i % SIDE + 0.5) / SIDE * (double)f->width;
        at[1] = ((double)(i / SIDE) + 0.5) / SIDE * (double)f->height;
        sdm_lattice_left(lat, at[0], at[1], left);
        out->count += shows(&scene->view[0], left);
    }
}

/* Count the places that the right image shows, too, at height h, and, with a map, find the bounds of their
 * ground in the grid's CRS, each with its surroundings. */
static int count_seen(const SdmScene *scene, const SdmFrame *f, const SdmLattice *lat, const Places *places,
                      bool map, double h, double b[4])
{
    int seen = 0;
    sdm_bounds_clear(b);
    for (int i = 0; i < places->count; i++) {
        const double u = places->at[i][0], v = places->at[i][1];
        double right[2], g[2];
        sdm_lattice_right(lat, u, v, h, right);
        if (!shows(&scene->view[1], right))
            continue;
        seen++;
        for (int corner = 0; corner < 4 && map; corner++) {
            const double du = (corner & 1 ? 0.5 : -0.5) / SIDE * (double)f->width;
            const double dv = (corner & 2 ? 0.5 : -0.5) / SIDE * (double)f->height;
            sdm_lattice_ground(lat, u + du, v + dv, h, g);
            sdm_bounds_add(b, g[0], g[1]);
        }
    }
    return seen;
}

/* The same at that height of the range at which both see most: people take pairs that overlap on the
 * ground, which may lie anywhere in the range of an RPC.  The nearest of equally good heights to h0 is
 * taken.  grid: NULL: no bounds.  seen_by: places that the left image and both images show. */
static SdmStatus measure_overlap(SdmContext *ctx, const SdmScene *scene, const SdmFrame *f,
                                 const SdmGrid *grid, int64_t seen_by[2], double b[4])
{
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
    SDM_OWNED Places *places = NULL;
    const SdmLatticeRequest q = {.scene = scene,
                                 .frame = f,
                                 .grid = grid,
                                 .u1 = f->width,
                                 .v1 = f->height,
                                 .step = sdm_frame_lattice_step(f, 0),
                                 .hmin_m = f->hmin_m,
                                 .hmax_m = f->hmax_m};
    PASS(sdm_lattice_build(ctx, &q, &lat));
    if (grid)
        PASS(sdm_lattice_check_map(ctx, &q, &lat));
    PASS(sdm_alloc(ctx, &places, 1, sizeof *places, "places of the frame"));
    find_places(scene, f, &lat, places);
    seen_by[0] = places->count;
    seen_by[1] = count_seen(scene, f, &lat, places, grid != NULL, f->h0_m, b);
    /* from one height to the next the views move by at most 1/20 of the frame */
    const double moves = 20.0 * fabs(f->du_dh) * fmax(f->hmax_m - f->h0_m, f->h0_m - f->hmin_m) /
                         (double)(f->width < f->height ? f->width : f->height);
    const int steps = (int)fmin(fmax(ceil(moves), LEAST_STEPS), MOST_STEPS);
    for (int i = 1; i <= 2 * steps && seen_by[1] < seen_by[0]; i++) { /* up and down in turns */
        const double way = (double)((i + 1) / 2) / steps;
        const double h = f->h0_m + way * ((i & 1 ? f->hmax_m : f->hmin_m) - f->h0_m);
        double bounds[4];
        const int seen = count_seen(scene, f, &lat, places, grid != NULL, h, bounds);
        if (seen > seen_by[1]) {
            seen_by[1] = seen;
            memcpy(b, bounds, sizeof bounds);
        }
    }
    return SDM_OK;
}

SdmStatus sdm_scene_overlap(SdmContext *ctx, const SdmScene *scene, const SdmFrame *f, double *share)
{
    int64_t seen_by[2];
    double b[4];
    PASS(measure_overlap(ctx, scene, f, NULL, seen_by, b));
    const double pixels =
        (double)sdm_image_width(scene->view[0].image) * (double)sdm_image_height(scene->view[0].image);
    *share = fmin((double)seen_by[1] / (SIDE * SIDE) * sdm_frame_pixels(f) / fmax(pixels, 1.0), 1.0);
    return SDM_OK;
}

/* Overlap, area and grid for the description. */
static SdmStatus describe_overlap(SdmContext *ctx, const SdmScene *scene, const SdmFrame *f, SdmGrid *grid,
                                  SdmSceneInfo *out)
{
    int64_t seen_by[2];
    double b[4];
    PASS(measure_overlap(ctx, scene, f, grid, seen_by, b));
    out->overlap = seen_by[0] ? (double)seen_by[1] / (double)seen_by[0] : 0.0;
    out->footprint_m2 =
        (double)seen_by[1] / (SIDE * SIDE) * (double)f->width * (double)f->height * f->gsd_m * f->gsd_m;
    if (!seen_by[1])
        return SDM_OK;
    PASS(sdm_grid_cover(ctx, b, grid));
    return sdm_part_cut(ctx, scene->options, false, grid);
}

/* The expected cost of a run. */
static SdmStatus describe_cost(SdmContext *ctx, const SdmScene *scene, const SdmGrid *grid, SdmSceneInfo *out)
{
    SDM_CLOSED_BY(sdm_tiling_free) SdmTiling tiling = {.edge = 0};
    out->cols = grid->cols;
    out->rows = grid->rows;
    if (grid->cols < 1 || grid->rows < 1) /* nothing is seen by both at the middle height */
        return SDM_OK;
    PASS(sdm_tiling_find(ctx, scene, &tiling));
    const SdmCost cost = sdm_tiling_run_cost(ctx, &tiling);
    out->tiles = tiling.across * tiling.down;
    out->memory_bytes = cost.bytes;
    out->seconds = cost.cpu_s / sdm_threads(ctx);
    return SDM_OK;
}

static void locate_corners(const SdmView *view, double h_m, SdmSceneInfo *out)
{
    const double right = (double)sdm_image_width(view->image) - 0.5,
                 low = (double)sdm_image_height(view->image) - 0.5,
                 at[4][3] = {{-0.5, -0.5, h_m}, {right, -0.5, h_m}, {right, low, h_m}, {-0.5, low, h_m}};
    double ground[4][3];
    sdm_camera_locate(view->camera, 4, at[0], ground[0]);
    for (int k = 0; k < 4; k++)
        memcpy(out->corner_deg[k], ground[k], sizeof out->corner_deg[k]);
}

SdmStatus sdm_scene_describe(SdmContext *ctx, const SdmScene *scene, SdmSceneInfo *out)
{
    static const char *const sensors[] = {"aster", "rpc", "parallel"};
    SdmPrepared p = {0};
    SdmGrid grid = {0};
    const SdmFrame *const f = &p.frame;
    *out = (SdmSceneInfo){0};
    snprintf(out->sensor, sizeof out->sensor, "%s", sensors[scene->sensor]);
    snprintf(out->kind, sizeof out->kind, "%s", scene->kind);
    snprintf(out->id, sizeof out->id, "%s", scene->id);
    snprintf(out->time_utc, sizeof out->time_utc, "%s", scene->time_utc);
    for (int i = 0; i < 2; i++)
        describe_view(&scene->view[i], &out->view[i]);
    PASS(sdm_prepare_frame(ctx, scene, &p));
    out->convergence_deg = f->convergence_deg;
    out->base_height = f->base_height;
    out->gsd_m = f->gsd_m;
    out->right_gsd_m = f->right_gsd_m;
    out->centre_lon_deg = f->lon_deg;
    out->centre_lat_deg = f->lat_deg;
    locate_corners(&scene->view[0], f->h0_m, out);
    out->hmin_m = f->hmin_m;
    out->hmax_m = f->hmax_m;
    PASS(sdm_grid_choose(ctx, scene->options, f->lon_deg, f->lat_deg, f->gsd_m, &grid));
    PASS(describe_overlap(ctx, scene, f, &grid, out));
    out->spacing = grid.spacing;
    sdm_grid_name(&grid, out->crs, sizeof out->crs);
    return describe_cost(ctx, scene, &grid, out);
}
