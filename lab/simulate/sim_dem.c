/* A DEM file -> terrain coefficients: the scene's part is read once, voids filled, sampled by cubic
 * convolution. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <cpl_error.h>
#include <gdal.h>
#include <math.h>

enum { NODE_STEP = 16, MAX_CELLS = 1 << 26 };

static SdmStatus open_band(SdmContext *ctx, const char *path, GDALDatasetH *ds, double geo[6])
{
    *ds = GDALOpen(path, GA_ReadOnly);
    if (!*ds)
        return sdm_fail(ctx, SDM_ERR_INPUT, "cannot open the terrain %s: %s", path, CPLGetLastErrorMsg());
    if (GDALGetGeoTransform(*ds, geo) != CE_None || !GDALGetSpatialRef(*ds))
        return sdm_fail(ctx, SDM_ERR_INPUT, "the terrain %s has no georeference; give a DEM with a known CRS",
                        path);
    return SDM_OK;
}

SdmStatus sim_dem_centre(SdmContext *ctx, const char *path, double *lon_deg, double *lat_deg)
{
    SdmStatus st = SDM_OK;
    GDALDatasetH ds = NULL;
    double geo[6];
    OGRSpatialReferenceH wgs84 = OSRNewSpatialReference(NULL), srs = NULL;
    TRY(open_band(ctx, path, &ds, geo));
    OSRImportFromEPSG(wgs84, 4326);
    OSRSetAxisMappingStrategy(wgs84, OAMS_TRADITIONAL_GIS_ORDER);
    srs = OSRClone(GDALGetSpatialRef(ds));
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    OGRCoordinateTransformationH ct = OCTNewCoordinateTransformation(srs, wgs84);
    const double px = 0.5 * GDALGetRasterXSize(ds), py = 0.5 * GDALGetRasterYSize(ds);
    *lon_deg = geo[0] + px * geo[1] + py * geo[2];
    *lat_deg = geo[3] + px * geo[4] + py * geo[5];
    if (!ct || !OCTTransform(ct, 1, lon_deg, lat_deg, NULL))
        st = sdm_fail(ctx, SDM_ERR_INPUT, "the CRS of the terrain %s does not lead to WGS 84", path);
    OCTDestroyCoordinateTransformation(ct);
done:
    OSRDestroySpatialReference(srs);
    OSRDestroySpatialReference(wgs84);
    if (ds)
        GDALClose(ds);
    return st;
}

/* Array window (corner convention) that the map box needs. */
static SdmStatus array_window(SimScene *sc, const SimBox *box, int nx, int ny, int win[4])
{
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    const SimDem *const d = &sc->dem;
    for (int k = 0; k < 25; k++) {
        double x = box->x0 + (box->x1 - box->x0) * (k % 5) / 4,
               y = box->y0 + (box->y1 - box->y0) * (k / 5) / 4;
        if (!OCTTransform(d->from_map, 1, &x, &y, NULL))
            return sdm_fail(sc->ctx, SDM_ERR_DATA, "the terrain %s does not reach the scene",
                            sc->opt->terrain);
        if (!isnan(d->lon_mid))
            x += 360.0 * round((d->lon_mid - x) / 360.0);
        const double a[2] = {d->inverse[0] + x * d->inverse[1] + y * d->inverse[2],
                             d->inverse[3] + x * d->inverse[4] + y * d->inverse[5]};
        for (int e = 0; e < 2; e++) {
            lo[e] = fmin(lo[e], a[e]);
            hi[e] = fmax(hi[e], a[e]);
        }
    }
    if (hi[0] < 0 || hi[1] < 0 || lo[0] > nx || lo[1] > ny)
        return sdm_fail(sc->ctx, SDM_ERR_DATA, "the scene at %.4f, %.4f lies outside the terrain %s",
                        sc->lon_deg, sc->lat_deg, sc->opt->terrain);
    win[0] = (int)fmax(0, floor(lo[0]) - 4);
    win[1] = (int)fmax(0, floor(lo[1]) - 4);
    win[2] = (int)fmin(nx, ceil(hi[0]) + 4) - win[0];
    win[3] = (int)fmin(ny, ceil(hi[1]) + 4) - win[1];
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
    SdmStatus st = SDM_OK;
    SimDem *const d = &sc->dem;
    GDALDatasetH ds = NULL;
    double geo[6];
    int win[4] = {0};
    OGRSpatialReferenceH srs = NULL;
    TRY(open_band(sc->ctx, sc->opt->terrain, &ds, geo));
    srs = OSRClone(GDALGetSpatialRef(ds));
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    d->from_map = OCTNewCoordinateTransformation(sc->srs, srs);
    if (!d->from_map || !GDALInvGeoTransform(geo, d->inverse))
        TRY(sdm_fail(sc->ctx, SDM_ERR_INPUT, "the georeference of the terrain %s is unusable",
                     sc->opt->terrain));
    const int nx = GDALGetRasterXSize(ds), ny = GDALGetRasterYSize(ds);
    const bool degrees = OSRIsGeographic(srs);
    d->lon_mid = degrees ? geo[0] + 0.5 * nx * geo[1] : NAN;
    TRY(array_window(sc, box, nx, ny, win));
    TRY(read_window(sc, ds, win,
                    hypot(geo[2], geo[5]) * (degrees ? 111200.0 : OSRGetLinearUnits(srs, NULL))));
done:
    OSRDestroySpatialReference(srs);
    if (ds)
        GDALClose(ds);
    return st;
}

void sim_dem_close(SimDem *dem)
{
    sdm_free(&dem->v);
    if (dem->from_map)
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
        const float *const r = v + (size_t)sim_hold(j + k - 1, ny) * (size_t)nx;
        for (int m = 0; m < 4; m++)
            sum += wb[k] * wa[m] * (double)r[sim_hold(i + m - 1, nx)];
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
        const double x = isnan(d->lon_mid) ? a[k] : a[k] + 360.0 * round((d->lon_mid - a[k]) / 360.0),
                     y = b[k];
        a[k] = d->inverse[0] + x * d->inverse[1] + y * d->inverse[2] - 0.5;
        b[k] = d->inverse[3] + x * d->inverse[4] + y * d->inverse[5] - 0.5;
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
    const int nx = win->nx / NODE_STEP + 2, ny = win->ny / NODE_STEP + 2, threads = sc->threads;
    PASS(sdm_alloc(sc->ctx, &a, (size_t)nx * (size_t)ny, sizeof *a, "terrain positions"));
    PASS(sdm_alloc(sc->ctx, &b, (size_t)nx * (size_t)ny, sizeof *b, "terrain positions"));
    PASS(node_positions(sc, win, nx, ny, a, b));
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
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
