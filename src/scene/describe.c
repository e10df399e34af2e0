/* A scene -> its description for `info`: images, cameras, overlap, grid, expected cost; no matching. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/scene.h"
#include "core/math.h"
#include "geo/grid.h"

#include <math.h>
#include <string.h>

enum { SIDE = 64, LEAST_STEPS = 16, MOST_STEPS = 512 }; /* heights above and below the middle */

static bool shows(const SdmView *view, const double at[2])
{
    return at[0] > 0.0 && at[1] > 0.0 && at[0] < (double)view->image->width &&
           at[1] < (double)view->image->height;
}

/* Count which of SIDE x SIDE places of the frame the left image shows, and which both show at height h; with
 * a map, find the bounds of the ground of the latter in the grid's CRS, each with its surroundings. */
static void count_seen(const SdmScene *scene, const SdmFrame *f, const SdmLattice *lat, bool map, double h,
                       int64_t seen_by[2], double b[4])
{
    const double w = (double)f->width / SIDE, high = (double)f->height / SIDE;
    seen_by[0] = seen_by[1] = 0;
    sdm_bounds_clear(b);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double u = (i % SIDE + 0.5) * w, v = ((double)(i / SIDE) + 0.5) * high;
        double left[2], right[2], g[2];
        sdm_lattice_left(lat, u, v, left);
        sdm_lattice_right(lat, u, v, h, right);
        seen_by[0] += shows(&scene->view[0], left);
        if (!shows(&scene->view[0], left) || !shows(&scene->view[1], right))
            continue;
        seen_by[1]++;
        for (int corner = 0; corner < 4 && map; corner++) {
            sdm_lattice_ground(lat, u + (corner & 1 ? 0.5 : -0.5) * w, v + (corner & 2 ? 0.5 : -0.5) * high,
                               h, g);
            sdm_bounds_add(b, g[0], g[1]);
        }
    }
}

/* The same at that height of the range at which both see most: people take pairs that overlap on the
 * ground, which may lie anywhere in the range of an RPC.  The nearest of equally good heights to h0 is
 * taken.  grid: NULL: no bounds.  seen_by: places that the left image and both images show. */
static SdmStatus measure_overlap(SdmContext *ctx, const SdmScene *scene, const SdmFrame *f,
                                 const SdmGrid *grid, int64_t seen_by[2], double b[4])
{
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
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
    count_seen(scene, f, &lat, grid != NULL, f->h0_m, seen_by, b);
    /* from one height to the next the views move by at most 1/20 of the frame */
    const double moves = 20.0 * fabs(f->du_dh) * fmax(f->hmax_m - f->h0_m, f->h0_m - f->hmin_m) /
                         (double)(f->width < f->height ? f->width : f->height);
    const int steps = (int)fmin(fmax(ceil(moves), LEAST_STEPS), MOST_STEPS);
    for (int i = 1; i <= 2 * steps && seen_by[1] < seen_by[0]; i++) { /* up and down in turns */
        const double way = (double)((i + 1) / 2) / steps;
        const double h = f->h0_m + way * ((i & 1 ? f->hmax_m : f->hmin_m) - f->h0_m);
        int64_t seen[2];
        double bounds[4];
        count_seen(scene, f, &lat, grid != NULL, h, seen, bounds);
        if (seen[1] > seen_by[1]) {
            seen_by[1] = seen[1];
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
    const double pixels = (double)scene->view[0].image->width * (double)scene->view[0].image->height;
    *share = fmin((double)seen_by[1] / (SIDE * SIDE) * sdm_frame_pixels(f) / fmax(pixels, 1.0), 1.0);
    return SDM_OK;
}

/* Overlap, area and grid for the description. */
static SdmStatus describe_overlap(SdmContext *ctx, const SdmScene *scene, SdmSceneInfo *out)
{
    const SdmFrame *const f = &out->frame;
    int64_t seen_by[2];
    double b[4];
    PASS(measure_overlap(ctx, scene, f, &out->grid, seen_by, b));
    out->overlap = seen_by[0] ? (double)seen_by[1] / (double)seen_by[0] : 0.0;
    out->footprint_m2 =
        (double)seen_by[1] / (SIDE * SIDE) * (double)f->width * (double)f->height * f->gsd_m * f->gsd_m;
    if (!seen_by[1])
        return SDM_OK;
    PASS(sdm_grid_cover(ctx, b, &out->grid));
    return sdm_part_cut(ctx, scene->options, false, &out->grid);
}

/* The expected cost of a run. */
static SdmStatus describe_cost(SdmContext *ctx, const SdmScene *scene, SdmSceneInfo *out)
{
    SDM_CLOSED_BY(sdm_tiling_free) SdmTiling tiling = {.edge = 0};
    if (out->grid.cols < 1 || out->grid.rows < 1) /* nothing is seen by both at the middle height */
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
    const double right = (double)view->image->width - 0.5, low = (double)view->image->height - 0.5,
                 at[4][3] = {{-0.5, -0.5, h_m}, {right, -0.5, h_m}, {right, low, h_m}, {-0.5, low, h_m}};
    double ground[4][3];
    sdm_camera_locate(view->camera, 4, at[0], ground[0]);
    for (int k = 0; k < 4; k++)
        memcpy(out->corner_deg[k], ground[k], sizeof out->corner_deg[k]);
}

SdmStatus sdm_scene_describe(SdmContext *ctx, const SdmScene *scene, SdmSceneInfo *out)
{
    const SdmFrame *const f = &out->frame;
    *out = (SdmSceneInfo){0};
    for (int i = 0; i < 2; i++)
        sdm_image_describe(scene->view[i].image, out->mask[i], sizeof out->mask[i]);
    PASS(sdm_frame_find(ctx, scene, &out->frame));
    locate_corners(&scene->view[0], f->h0_m, out);
    PASS(sdm_grid_choose(ctx, scene->options, f->lon_deg, f->lat_deg, f->gsd_m, &out->grid));
    PASS(describe_overlap(ctx, scene, out));
    sdm_grid_name(&out->grid, out->crs, sizeof out->crs);
    return describe_cost(ctx, scene, out);
}
