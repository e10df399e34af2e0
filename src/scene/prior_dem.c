/* A prior DEM as the first surface: it starts the search and never fills a hole. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geoid.h"
#include "scene/prior_dem.h"
#include "geo/vertical_datum.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <gdal.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <string.h>

enum { ROUNDS = 3 };
static const double HIGHEST_M = 12000.0; /* no ground lies farther from the ellipsoid, up or down */

typedef struct Prior {
    const SdmOptions *options;
    GDALDatasetH ds;
    GDALRasterBandH band;
    double inverse[6]; /* map -> pixel corner coordinates */
    double nodata, scale, offset;
    bool has_nodata, unread; /* unread: a block could not be read */
    double absurd_m; /* a value that is no height of the Earth and not declared as nodata; 0: none met */
    SdmProjector *proj;
    SdmGeoid *geoid; /* NULL: heights above the ellipsoid */
} Prior;

static void prior_close(Prior *p)
{
    if (p->ds)
        GDALClose(p->ds);
    sdm_projector_close(&p->proj);
    sdm_geoid_close(&p->geoid);
}

/* Datum of the DEM's heights: by the option, else as the file declares it, else the ellipsoid. */
static int datum_of(SdmContext *ctx, const Prior *p)
{
    const SdmOptions *const o = p->options;
    char name[96];
    const int given = sdm_vertical_of_word(o->dem_vertical);
    if (given != SDM_VERTICAL_UNKNOWN)
        return given;
    const int declared = sdm_vertical_declared(p->ds, name, sizeof name);
    if (declared == SDM_VERTICAL_UNKNOWN)
        sdm_log(ctx, SDM_LOG_WARNING, 2,
                "--dem %s does not say its vertical datum; taken as the ellipsoid "
                "(--dem-vertical says otherwise)",
                o->dem);
    if (declared == SDM_VERTICAL_OTHER)
        sdm_log(ctx, SDM_LOG_WARNING, 2,
                "--dem %s: heights above '%s', which is neither the WGS 84 ellipsoid nor EGM96 nor "
                "EGM2008; taken as the ellipsoid (--dem-vertical says otherwise)",
                o->dem, name);
    return declared == SDM_VERTICAL_OTHER || declared == SDM_VERTICAL_UNKNOWN ? SDM_ELLIPSOID : declared;
}

/* The first band, its scale to metres, and its nodata value. */
static SdmStatus open_band(SdmContext *ctx, Prior *p)
{
    int has = 0;
    p->band = GDALGetRasterBand(p->ds, 1);
    if (!p->band)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "--dem %s has no raster band; give one of its subdatasets (see gdalinfo)",
                        p->options->dem);
    const char *const unit = GDALGetRasterUnitType(p->band);
    if (strstr(unit, "ft") || strstr(unit, "foot") || strstr(unit, "feet"))
        return sdm_fail(ctx, SDM_ERR_INPUT, "--dem %s: heights are in '%s'; give metres",
                        p->options->dem, unit);
    p->nodata = GDALGetRasterNoDataValue(p->band, &has);
    p->has_nodata = has != 0;
    p->scale = GDALGetRasterScale(p->band, &has);
    p->scale = has ? p->scale : 1.0;
    p->offset = GDALGetRasterOffset(p->band, &has);
    p->offset = has ? p->offset : 0.0;
    return SDM_OK;
}

static SdmStatus prior_open(SdmContext *ctx, Prior *p)
{
    SdmStatus st = SDM_OK;
    const SdmOptions *const o = p->options;
    double gt[6];
    char *wkt = NULL;
    OGRSpatialReferenceH flat = NULL;
    CPLPushErrorHandler(CPLQuietErrorHandler);
    p->ds = GDALOpen(o->dem, GA_ReadOnly);
    CPLPopErrorHandler();
    if (!p->ds)
        return sdm_fail(ctx, SDM_ERR_INPUT, "--dem %s cannot be opened as a raster: %s", o->dem,
                        CPLGetLastErrorMsg());
    const OGRSpatialReferenceH srs = GDALGetSpatialRef(p->ds);
    if (!srs || GDALGetGeoTransform(p->ds, gt) != CE_None || !GDALInvGeoTransform(gt, p->inverse))
        return sdm_fail(ctx, SDM_ERR_INPUT, "--dem %s has no georeference; give a DEM with a CRS", o->dem);
    if (!OSRIsProjected(srs) && !OSRIsGeographic(srs))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "--dem %s: its coordinate system is neither projected nor geographic; warp it with "
                        "gdalwarp -t_srs EPSG:4326",
                        o->dem);
    flat = OSRClone(srs);
    if (!flat || OSRDemoteTo2D(flat, NULL) != OGRERR_NONE || OSRExportToWkt(flat, &wkt) != OGRERR_NONE) {
        st = sdm_fail(
            ctx, SDM_ERR_INPUT,
            "--dem %s: its coordinate system cannot be used; warp it with gdalwarp -t_srs EPSG:4326", o->dem);
        goto done;
    }
    TRY(sdm_projector_open(ctx, wkt, &p->proj));
    TRY(open_band(ctx, p));
    const int datum = datum_of(ctx, p);
    if (datum != SDM_ELLIPSOID)
        TRY(sdm_geoid_open(ctx, datum, &p->geoid));
done:
    if (flat)
        OSRDestroySpatialReference(flat);
    CPLFree(wkt);
    return st;
}

/* Height above the ellipsoid at lon, lat; NaN where the DEM has none. */
static double prior_at(SdmContext *ctx, Prior *p, double lon, double lat)
{
    double x = lon, y = lat, n = 0.0;
    float v = 0.0f;
    sdm_projector_forward(p->proj, 1, &x, &y);
    const double *const g = p->inverse;
    const double col = floor(g[0] + x * g[1] + y * g[2]), row = floor(g[3] + x * g[4] + y * g[5]);
    if (!(col >= 0.0 && row >= 0.0 && col < GDALGetRasterBandXSize(p->band) &&
          row < GDALGetRasterBandYSize(p->band)))
        return NAN;
    if (GDALRasterIO(p->band, GF_Read, (int)col, (int)row, 1, 1, &v, 1, 1, GDT_Float32, 0, 0) != CE_None) {
        p->unread = true;
        return NAN;
    }
    if (!isfinite(v) || (p->has_nodata && v == (float)p->nodata))
        return NAN;
    const double h = (double)v * p->scale + p->offset;
    if (fabs(h) > HIGHEST_M) {
        p->absurd_m = h;
        return NAN;
    }
    if (p->geoid && sdm_geoid_undulation(ctx, p->geoid, 1, &lon, &lat, &n) != SDM_OK)
        return NAN;
    return h + n;
}

SdmStatus sdm_prior_surface(SdmContext *ctx, const SdmScene *scene, const SdmLattice *lat, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    Prior p = {.options = scene->options};
    const double size = (double)(1 << s->win.level);
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    double sum = 0.0;
    size_t known = 0;
    TRY(prior_open(ctx, &p));
    for (size_t i = 0; i < n; i++) {
        const double u = ((double)(i % (size_t)s->win.w) + 0.5) * size - 0.5,
                     v = ((double)(i / (size_t)s->win.w) + 0.5) * size - 0.5;
        double at[3], g[3], h = lat->height0_m;
        sdm_lattice_left(lat, u, v, at);
        for (int k = 0; k < ROUNDS && isfinite(h); k++) {
            at[2] = h;
            sdm_camera_locate(scene->view[0].camera, 1, at, g);
            h = prior_at(ctx, &p, g[0], g[1]);
        }
        if (p.unread)
            TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                         "--dem %s cannot be read where the scene lies (%.300s); the file is cut short or "
                         "damaged, fetch it again",
                         scene->options->dem, CPLGetLastErrorMsg()));
        s->h_m[i] = (float)h;
        known += isfinite(h);
        sum += isfinite(h) ? h : 0.0;
    }
    if (known < 16) {
        st = sdm_fail(
            ctx, SDM_ERR_DATA,
            "--dem %s does not cover the scene: %zu of %zu places have a height%s; give %s one or none",
            scene->options->dem, known, n,
            p.absurd_m != 0.0 ? ", others hold values beyond 12000 m" : "",
            p.absurd_m != 0.0 ? "a whole" : "a larger");
        goto done;
    }
    if (p.absurd_m != 0.0)
        sdm_log(ctx, SDM_LOG_WARNING, 2,
                "--dem %s: values such as %g m are no heights, but not declared as nodata; taken for it",
                scene->options->dem, p.absurd_m);
    for (size_t i = 0; i < n; i++)
        s->h_m[i] = isfinite(s->h_m[i]) ? s->h_m[i] : (float)(sum / (double)known);
done:
    prior_close(&p);
    return st;
}
