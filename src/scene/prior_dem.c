/* A prior DEM as the first surface: it starts the search and never fills a hole. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/prior_dem.h"

#include <math.h>

enum { ROUNDS = 3 };

SdmStatus sdm_prior_open(SdmContext *ctx, const SdmOptions *o, SdmHeightRaster **out)
{
    const SdmHeightSource source = {
        .option = "--dem", .path = o->dem, .datum_option = "--dem-vertical", .datum = o->dem_vertical};
    return o->dem ? sdm_height_raster_open(ctx, &source, out) : SDM_OK;
}

SdmStatus sdm_prior_surface(SdmContext *ctx, const SdmScene *scene, const SdmLattice *lat, SdmSurface *s,
                            SdmPriorReport *report)
{
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *dem = NULL;
    const SdmOptions *const o = scene->options;
    const double size = (double)(1 << s->win.level);
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    double sum = 0.0;
    size_t known = 0;
    PASS(sdm_prior_open(ctx, o, &dem));
    sdm_height_raster_tell_datum(ctx, dem);
    for (size_t i = 0; i < n; i++) {
        const double u = ((double)(i % (size_t)s->win.w) + 0.5) * size - 0.5,
                     v = ((double)(i / (size_t)s->win.w) + 0.5) * size - 0.5;
        double at[3], g[3], h = lat->height0_m;
        sdm_lattice_left(lat, u, v, at);
        for (int k = 0; k < ROUNDS && isfinite(h); k++) {
            at[2] = h;
            sdm_camera_locate(scene->view[0].camera, 1, at, g);
            h = sdm_height_raster_at(ctx, dem, g[0], g[1]);
        }
        PASS(sdm_height_raster_check(ctx, dem));
        s->h_m[i] = (float)h;
        s->flags[i] = isfinite(h) ? SDM_QA_VALID : 0;
        known += isfinite(h) ? 1 : 0;
        sum += isfinite(h) ? h : 0.0;
    }
    report->covered = (double)known / (double)n;
    snprintf(report->datum, sizeof report->datum, "%s", sdm_height_raster_datum_phrase(dem));
    const double absurd_m = sdm_height_raster_absurd_m(dem);
    if (known < 16)
        PASS(sdm_fail(
            ctx, SDM_ERR_DATA,
            "--dem %s does not cover the scene: %zu of %zu places have a height%s; give %s one or none",
            o->dem, known, n, absurd_m != 0.0 ? ", others hold values beyond 12000 m" : "",
            absurd_m != 0.0 ? "a whole" : "a larger"));
    if (absurd_m != 0.0)
        sdm_log(ctx, SDM_LOG_WARNING, 2,
                "--dem %s: values such as %g m are no heights, though the file does not declare them as "
                "nodata; they are treated as nodata",
                o->dem, absurd_m);
    for (size_t i = 0; i < n; i++)
        s->h_m[i] = isfinite(s->h_m[i]) ? s->h_m[i] : (float)(sum / (double)known);
    return SDM_OK;
}
