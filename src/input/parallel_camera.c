/* Georeferenced view of a parallel pair -> camera.  The map projection is PROJ's. */
// SPDX-License-Identifier: Apache-2.0
#include "input/camera.h"
#include "geo/projector.h"

#include <math.h>
#include <proj.h>

enum { POOL = 256, CHUNK = 256 };

typedef struct Projector { /* PROJ objects serve one thread at a time */
    PJ_CONTEXT *ctx;
    PJ *map; /* map (x, y) -> (lon, lat) forward */
} Projector;

typedef struct Pool { /* idle projectors; who needs one takes it, or clones the master */
    int idle;
    Projector item[POOL];
} Pool;

typedef struct Parallel {
    SdmCamera base;
    double forward[6], inverse[6]; /* pixel centres <-> map, in the layout of a geotransform */
    double shift;                  /* map units a metre of height */
    Projector master;
    Pool *pool;
} Parallel;

static void destroy(Projector *p)
{
    proj_destroy(p->map);
    proj_context_destroy(p->ctx);
    *p = (Projector){NULL, NULL};
}

/* Projector of its own for the caller; map is NULL when memory is out. */
static Projector take(const Parallel *cam)
{
    Projector p = {NULL, NULL};
#pragma omp critical(sdm_parallel_pool)
    {
        if (cam->pool->idle > 0) {
            p = cam->pool->item[--cam->pool->idle];
        } else {
            p.ctx = sdm_proj_context();
            p.map = proj_clone(p.ctx, cam->master.map);
        }
    }
    return p;
}

static void give(const Parallel *cam, Projector p)
{
    bool kept = false;
#pragma omp critical(sdm_parallel_pool)
    if (p.map && cam->pool->idle < POOL) {
        cam->pool->item[cam->pool->idle++] = p;
        kept = true;
    }
    if (!kept)
        destroy(&p);
}

static void apply(const double g[6], double x, double y, double *ox, double *oy)
{
    *ox = g[0] + g[1] * x + g[2] * y;
    *oy = g[3] + g[4] * x + g[5] * y;
}

static void project(const SdmCamera *base, size_t n, const double *ground, double *image)
{
    const Parallel *const cam = (const Parallel *)(const void *)base;
    const Projector p = take(cam);
    for (size_t k = 0; k < n; ++k, ground += 3, image += 2) {
        const double lon = fabs(ground[0]) <= 180.0 ? ground[0] : remainder(ground[0], 360.0);
        const PJ_COORD out = p.map ? proj_trans(p.map, PJ_INV, proj_coord(lon, ground[1], 0, 0))
                                   : proj_coord(HUGE_VAL, HUGE_VAL, 0, 0);
        if (isfinite(out.xy.x) && isfinite(out.xy.y) && isfinite(ground[2]))
            apply(cam->inverse, out.xy.x - cam->shift * ground[2], out.xy.y, &image[0], &image[1]);
        else
            image[0] = image[1] = NAN;
    }
    give(cam, p);
}

static void locate(const SdmCamera *base, size_t n, const double *image, double *ground)
{
    const Parallel *const cam = (const Parallel *)(const void *)base;
    const Projector p = take(cam);
    for (size_t k = 0; k < n; ++k, image += 3, ground += 3) {
        double x, y;
        apply(cam->forward, image[0], image[1], &x, &y);
        const PJ_COORD in = proj_coord(x + cam->shift * image[2], y, 0, 0);
        const PJ_COORD out = p.map && isfinite(in.xy.x + in.xy.y) ? proj_trans(p.map, PJ_FWD, in)
                                                                  : proj_coord(HUGE_VAL, HUGE_VAL, 0, 0);
        const bool found = isfinite(out.xy.x) && isfinite(out.xy.y);
        ground[0] = found ? out.xy.x : NAN;
        ground[1] = found ? out.xy.y : NAN;
        ground[2] = found ? image[2] : NAN;
    }
    give(cam, p);
}

static void release(SdmCamera *base)
{
    Parallel *const cam = (Parallel *)(void *)base;
    while (cam->pool && cam->pool->idle > 0)
        destroy(&cam->pool->item[--cam->pool->idle]);
    sdm_free(&cam->pool);
    destroy(&cam->master);
}

/* Map units in metres from the horizontal CRS; 0 when it is no projected CRS. */
static double unit_metres(PJ_CONTEXT *ctx, const PJ *crs)
{
    double factor = 0.0;
    if (proj_get_type(crs) != PJ_TYPE_PROJECTED_CRS)
        return 0.0;
    PJ *const axes = proj_crs_get_coordinate_system(ctx, crs);
    if (!axes || !proj_cs_get_axis_info(ctx, axes, 0, NULL, NULL, NULL, &factor, NULL, NULL, NULL))
        factor = 0.0;
    proj_destroy(axes);
    return factor;
}

/* Fill cam->master; set *unit_m, 0 when the CRS is not projected. */
static void open_projector(const char *wkt, Parallel *cam, double *unit_m)
{
    PJ_CONTEXT *const ctx = cam->master.ctx = sdm_proj_context();
    PJ *crs = proj_create(ctx, wkt);
    if (crs && (proj_get_type(crs) == PJ_TYPE_COMPOUND_CRS || proj_get_type(crs) == PJ_TYPE_BOUND_CRS)) {
        PJ *const inner = proj_get_type(crs) == PJ_TYPE_COMPOUND_CRS ? proj_crs_get_sub_crs(ctx, crs, 0)
                                                                     : proj_get_source_crs(ctx, crs);
        proj_destroy(crs);
        crs = inner;
    }
    *unit_m = crs ? unit_metres(ctx, crs) : 0.0;
    PJ *const wgs84 = proj_create(ctx, "EPSG:4326");
    const char *const options[] = {"ALLOW_BALLPARK=NO", NULL};
    PJ *const raw = crs && wgs84 ? proj_create_crs_to_crs_from_pj(ctx, crs, wgs84, NULL, options) : NULL;
    cam->master.map = raw ? proj_normalize_for_visualization(ctx, raw) : NULL;
    proj_destroy(raw);
    proj_destroy(wgs84);
    proj_destroy(crs);
}

/* Corner-based geotransform -> centre-based, and its inverse; false when it is singular. */
static bool set_transform(const double corner[6], Parallel *cam)
{
    double *const f = cam->forward, *const v = cam->inverse;
    for (int i = 0; i < 6; ++i)
        f[i] = corner[i];
    f[0] += 0.5 * (f[1] + f[2]);
    f[3] += 0.5 * (f[4] + f[5]);
    const double det = f[1] * f[5] - f[2] * f[4];
    v[1] = f[5] / det, v[2] = -f[2] / det, v[4] = -f[4] / det, v[5] = f[1] / det;
    v[0] = -(v[1] * f[0] + v[2] * f[3]);
    v[3] = -(v[4] * f[0] + v[5] * f[3]);
    return sdm_all_finite(6, v) && sdm_all_finite(6, f);
}

static SdmStatus build(SdmContext *ctx, const char *name, const SdmParallel *in, Parallel *cam)
{
    double unit_m = 0.0;
    PASS(sdm_alloc(ctx, &cam->pool, 1, sizeof *cam->pool, "camera"));
    if (!isfinite(in->shift) || !set_transform(in->geotransform, cam))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the geotransform is not invertible; georeference the image again", name);
    open_projector(in->wkt ? in->wkt : "", cam, &unit_m);
    if (!cam->master.map && sdm_proj_check(ctx) != SDM_OK)
        return SDM_ERR_UNSUPPORTED;
    if (!(unit_m > 0.0))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: no projected coordinate system (a parallel pair needs map metres, such as UTM); "
                        "warp it to one with gdalwarp -t_srs",
                        name);
    if (!cam->master.map)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "%s: PROJ knows no exact way from the image's coordinate system to WGS 84 "
                        "(a ballpark one is refused); install the grids with projsync or warp it to a WGS 84 "
                        "system",
                        name);
    cam->shift = in->shift / unit_m;
    double image[3] = {0, 0, 0}, ground[3];
    locate(&cam->base, 1, image, ground);
    if (!isfinite(ground[0]))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the image's corner is no place on Earth in its own coordinate system; "
                        "georeference the image again",
                        name);
    return SDM_OK;
}

SdmStatus sdm_camera_open_parallel(SdmContext *ctx, const char *name, const SdmParallel *in, SdmCamera **out)
{
    Parallel *cam = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &cam, 1, sizeof *cam, "camera"));
    cam->base = (SdmCamera){.kind = "parallel",
                            .hmin_m = -500.0,
                            .hmax_m = 9000.0,
                            .project = project,
                            .locate = locate,
                            .release = release};
    const SdmStatus st = build(ctx, name, in, cam);
    *out = &cam->base;
    if (st != SDM_OK)
        sdm_camera_close(out);
    return st;
}
