/* A DEM file -> terrain coefficients: the scene's part is read once, voids filled, sampled by cubic
 * convolution. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <cpl_error.h>
#include <gdal.h>

enum { NODE_STEP = 16, MAX_CELLS = 1 << 26 };

typedef struct Source { /* an open DEM file */
    GDALDatasetH ds;
    OGRSpatialReferenceH srs; /* axes in the order of GIS programs */
    double geo[6];
    int nx, ny;
} Source;

static void close_source(const Source *s)
{
    OSRDestroySpatialReference(s->srs);
    if (s->ds)
        GDALClose(s->ds);
}

static SdmStatus open_source(SdmContext *ctx, const char *path, Source *s)
{
    s->ds = GDALOpen(path, GA_ReadOnly);
    if (!s->ds)
        return sdm_fail(ctx, SDM_ERR_INPUT, "cannot open the terrain %s: %s", path, CPLGetLastErrorMsg());
    if (GDALGetGeoTransform(s->ds, s->geo) != CE_None || !GDALGetSpatialRef(s->ds))
        return sdm_fail(ctx, SDM_ERR_INPUT, "the terrain %s has no georeference; give a DEM with a known CRS",
                        path);
    s->srs = OSRClone(GDALGetSpatialRef(s->ds));
    OSRSetAxisMappingStrategy(s->srs, OAMS_TRADITIONAL_GIS_ORDER);
    s->nx = GDALGetRasterXSize(s->ds);
    s->ny = GDALGetRasterYSize(s->ds);
    return SDM_OK;
}

SdmStatus sim_dem_centre(SdmContext *ctx, const char *path, double *lon_deg, double *lat_deg)
{
    SDM_CLOSED_BY(close_source) Source s = {.ds = NULL};
    PASS(open_source(ctx, path, &s));
    OGRSpatialReferenceH wgs84 = sim_srs(4326);
    OGRCoordinateTransformationH ct = wgs84 ? OCTNewCoordinateTransformation(s.srs, wgs84) : NULL;
    GDALApplyGeoTransform(s.geo, 0.5 * s.nx, 0.5 * s.ny, lon_deg, lat_deg);
    const bool good = ct && OCTTransform(ct, 1, lon_deg, lat_deg, NULL);
    OCTDestroyCoordinateTransformation(ct);
    OSRDestroySpatialReference(wgs84);
    return good ? SDM_OK
                : sdm_fail(ctx, SDM_ERR_INPUT, "the CRS of the terrain %s does not lead to WGS 84", path);
}

/* A place in the CRS of the DEM -> position in its array, corner convention. */
static void to_array(const SimDem *d, double *x, double *y)
{
    const double turns = isnan(d->lon_mid) ? 0.0 : round((d->lon_mid - *x) / 360.0);
    GDALApplyGeoTransform((double *)(uintptr_t)d->inverse, *x + 360.0 * turns, *y, x, y);
}

/* Array window (corner convention) that the map box needs. */
static SdmStatus array_window(SimScene *sc, const SimBox *box, int nx, int ny, int win[4])
{
    double at[4] = SDM_NO_BOUNDS;
    const SimDem *const d = &sc->dem;
    for (int k = 0; k < 25; k++) {
        double x = box->x0 + (box->x1 - box->x0) * (k % 5) / 4,
               y = box->y0 + (box->y1 - box->y0) * (k / 5) / 4;
        if (!OCTTransform(d->from_map, 1, &x, &y, NULL))
            return sdm_fail(sc->ctx, SDM_ERR_DATA, "the terrain %s does not reach the scene",
                            sc->opt->terrain);
        to_array(d, &x, &y);
        sdm_bounds_add(at, x, y);
    }
    if (at[2] < 0 || at[3] < 0 || at[0] > nx || at[1] > ny)
        return sdm_fail(sc->ctx, SDM_ERR_DATA, "the scene at %.4f, %.4f lies outside the terrain %s",
                        sc->lon_deg, sc->lat_deg, sc->opt->terrain);
    win[0] = (int)fmax(0, floor(at[0]) - 4);
    win[1] = (int)fmax(0, floor(at[1]) - 4);
    win[2] = (int)fmin(nx, ceil(at[2]) + 4) - win[0];
    win[3] = (int)fmin(ny, ceil(at[3]) + 4) - win[1];
    return SDM_OK;
}

/* Voids take the nearest height of their row, whole empty rows that of the row above (or below). */
static SdmStatus fill_voids(SdmContext *ctx, SimDem *d, double nodata)
{
    int64_t filled = -1;
    for (int j = 0; j < d->ny; j++) {
        float *const r = d->v + (size_t)j * (size_t)d->nx;
        int last = -1;
        for (int i = 0; i < d->nx; i++) {
            if (!isfinite(r[i]) || (double)r[i] == nodata || fabsf(r[i]) > 20000.0f)
                continue;
            for (int k = last + 1; k < i; k++)
                r[k] = last < 0 || 2 * k > last + i ? r[i] : r[last];
            last = i;
        }
        for (int k = last + 1; k < d->nx; k++)
            r[k] = last >= 0 ? r[last] : filled >= 0 ? d->v[(size_t)filled * (size_t)d->nx + (size_t)k] : NAN;
        for (int64_t b = j - 1; last >= 0 && filled < 0 && b >= 0; b--)
            for (int k = 0; k < d->nx; k++)
                d->v[(size_t)b * (size_t)d->nx + (size_t)k] = r[k];
        filled = last >= 0 || filled >= 0 ? j : -1;
    }
    if (filled < 0)
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "--terrain: it holds no height where the scene lies; give another DEM, or another "
                        "place with --lon and --lat");
    return SDM_OK;
}

static SdmStatus read_window(SimScene *sc, GDALDatasetH ds, const int win[4], double px_m)
{
    SimDem *const d = &sc->dem;
    double shrink = fmax(1.0, floor(sc->opt->gsd_m / px_m));
    shrink = fmax(shrink, sqrt((double)win[2] * win[3] / MAX_CELLS));
    d->nx = (int)fmax(1.0, round(win[2] / shrink));
    d->ny = (int)fmax(1.0, round(win[3] / shrink));
    PASS(sdm_alloc(sc->ctx, &d->v, (size_t)d->nx * (size_t)d->ny, sizeof(float), "terrain"));
    GDALRasterIOExtraArg arg;
    INIT_RASTERIO_EXTRA_ARG(arg);
    arg.eResampleAlg = GRIORA_Average;
    GDALRasterBandH band = GDALGetRasterBand(ds, 1);
    if (GDALRasterIOEx(band, GF_Read, win[0], win[1], win[2], win[3], d->v, d->nx, d->ny, GDT_Float32, 0, 0,
                       &arg) != CE_None)
        return sdm_fail(sc->ctx, SDM_ERR_INPUT, "cannot read the terrain %s: %s", sc->opt->terrain,
                        CPLGetLastErrorMsg());
    int has = 0;
    const double nodata = GDALGetRasterNoDataValue(band, &has);
    PASS(fill_voids(sc->ctx, d, has ? (double)(float)nodata : NAN));
    for (int e = 0; e < 6; e++) { /* to the array that was read */
        const int a = e / 3;
        d->inverse[e] = (d->inverse[e] - (e % 3 == 0 ? win[a] : 0)) * (a ? d->ny : d->nx) / win[2 + a];
    }
    float low = INFINITY, high = -INFINITY; /* gcc 12 for aarch64 does not compile it with fmin() */
    for (size_t i = 0; i < (size_t)d->nx * (size_t)d->ny; i++) {
        low = d->v[i] < low ? d->v[i] : low;
        high = d->v[i] > high ? d->v[i] : high;
    }
    d->lo = (double)low;
    d->hi = (double)high;
    return SDM_OK;
}

SdmStatus sim_dem_open(SimScene *sc, const SimBox *box)
{
    SimDem *const d = &sc->dem;
    SDM_CLOSED_BY(close_source) Source s = {.ds = NULL};
    int win[4] = {0};
    PASS(open_source(sc->ctx, sc->opt->terrain, &s));
    d->from_map = OCTNewCoordinateTransformation(sc->srs, s.srs);
    if (!d->from_map || !GDALInvGeoTransform(s.geo, d->inverse))
        return sdm_fail(sc->ctx, SDM_ERR_INPUT, "the georeference of the terrain %s is unusable",
                        sc->opt->terrain);
    const bool degrees = OSRIsGeographic(s.srs);
    d->lon_mid = degrees ? s.geo[0] + 0.5 * s.nx * s.geo[1] : NAN;
    PASS(array_window(sc, box, s.nx, s.ny, win));
    return read_window(sc, s.ds, win,
                       hypot(s.geo[2], s.geo[5]) * (degrees ? 111200.0 : OSRGetLinearUnits(s.srs, NULL)));
}

void sim_dem_close(SimDem *dem)
{
    sdm_free(&dem->v);
    OCTDestroyCoordinateTransformation(dem->from_map);
    dem->from_map = NULL;
}

float sim_cubic(const float *v, int nx, int ny, double a, double b)
{
    const double fa = floor(a), fb = floor(b), t = a - fa, u = b - fb;
    const int i = (int)fmin(fmax(fa, -9), nx + 9), j = (int)fmin(fmax(fb, -9), ny + 9);
    const double wa[4] = {t * (-0.5 + t * (1.0 - 0.5 * t)), 1.0 + t * t * (-2.5 + 1.5 * t),
                          t * (0.5 + t * (2.0 - 1.5 * t)), t * t * (-0.5 + 0.5 * t)};
    const double wb[4] = {u * (-0.5 + u * (1.0 - 0.5 * u)), 1.0 + u * u * (-2.5 + 1.5 * u),
                          u * (0.5 + u * (2.0 - 1.5 * u)), u * u * (-0.5 + 0.5 * u)};
    double sum = 0.0;
    for (int k = 0; k < 4; k++) {
        const float *const r = v + (size_t)sdm_clamp(j + k - 1, 0, ny - 1) * (size_t)nx;
        for (int m = 0; m < 4; m++)
            sum += wb[k] * wa[m] * (double)r[sdm_clamp(i + m - 1, 0, nx - 1)];
    }
    return (float)sum;
}

/* Array positions of every NODE_STEP-th node. */
static SdmStatus node_positions(SimScene *sc, const SimWindow *win, int nx, int ny, double *a, double *b)
{
    const SimDem *const d = &sc->dem;
    for (int j = 0; j < ny; j++)
        for (int i = 0; i < nx; i++) {
            a[(size_t)j * (size_t)nx + (size_t)i] = (double)(win->i0 + (int64_t)i * NODE_STEP) * win->step_m;
            b[(size_t)j * (size_t)nx + (size_t)i] = -(double)(win->j0 + (int64_t)j * NODE_STEP) * win->step_m;
        }
    if (!OCTTransform(d->from_map, nx * ny, a, b, NULL))
        return sdm_fail(sc->ctx, SDM_ERR_DATA, "the terrain %s does not reach the scene", sc->opt->terrain);
    for (size_t k = 0; k < (size_t)nx * (size_t)ny; k++) {
        to_array(d, &a[k], &b[k]);
        a[k] -= 0.5;
        b[k] -= 0.5;
    }
    return SDM_OK;
}

static double mix(const double *p, size_t n, double u, double v)
{
    return (1.0 - v) * ((1.0 - u) * p[0] + u * p[1]) + v * ((1.0 - u) * p[n] + u * p[n + 1]);
}

SdmStatus sim_dem_fill(SimScene *sc, SimWindow *win)
{
    SDM_OWNED double *a = NULL, *b = NULL;
    const int nx = win->nx / NODE_STEP + 2, ny = win->ny / NODE_STEP + 2;
    PASS(SDM_ALLOC(sc->ctx, "terrain positions", SDM_ARRAY(a, (size_t)nx * (size_t)ny),
                   SDM_ARRAY(b, (size_t)nx * (size_t)ny)));
    PASS(node_positions(sc, win, nx, ny, a, b));
#pragma omp parallel for schedule(dynamic, 16) num_threads(sc->threads)
    for (int j = 0; j < win->ny; j++)
        for (int i = 0; i < win->nx; i++) {
            const size_t k = (size_t)(j / NODE_STEP) * (size_t)nx + (size_t)(i / NODE_STEP);
            const double u = (i % NODE_STEP) / (double)NODE_STEP, v = (j % NODE_STEP) / (double)NODE_STEP;
            win->v[(size_t)j * (size_t)win->nx + (size_t)i] =
                sim_cubic(sc->dem.v, sc->dem.nx, sc->dem.ny, mix(a + k, (size_t)nx, u, v),
                          mix(b + k, (size_t)nx, u, v));
        }
    return SDM_OK;
}
