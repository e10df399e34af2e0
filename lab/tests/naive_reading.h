/* A naive reading of what simulate writes, for test_simulate.c: text tables -> rays by the documented
 * formula, RPC by GDAL.  Slow and sure; shares two products of vectors with src/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/math.h"
#include "simulate/simulate.h"
#include "tests/folder.h"

#include <gdal.h>
#include <gdal_alg.h>
#include <ogr_srs_api.h>
#include <sys/stat.h>

enum { COLUMNS = 11, ROWS = 24 };
#define BASE "AST_L1A_00301012001180005_sim"
static const double PI = 3.14159265358979323846;

static void out_path(char *path, size_t size, const char *dir, const char *file)
{
    assert_true(snprintf(path, size, "%s/%s%s%s", folder, dir, file[0] ? "/" : "", file) < (int)size);
}

static SdmStatus simulate(const char *dir, SdmSimulateOptions *opt, char *why, size_t size)
{
    char path[256];
    out_path(path, sizeof path, dir, "");
    opt->output = path;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    const SdmStatus st = sdm_simulate(ctx, opt);
    snprintf(why, size, "%s", sdm_error(ctx));
    return st;
}

static void simulate_ok(const char *dir, SdmSimulateOptions *opt)
{
    char why[512];
    if (simulate(dir, opt, why, sizeof why) != SDM_OK)
        fail_msg("%s", why);
}

/* The options are refused with this status and a sentence that holds the text. */
static void simulate_refused(const char *dir, SdmSimulateOptions *opt, SdmStatus expected, const char *text)
{
    char why[512];
    assert_int_equal(simulate(dir, opt, why, sizeof why), expected);
    assert_non_null(strstr(why, text));
}

static SdmSimulateOptions small(void)
{
    SdmSimulateOptions opt;
    sdm_simulate_default(&opt);
    opt.width = 205;
    opt.height = 210;
    opt.lon_deg = 10.3;
    opt.lat_deg = 46.2;
    opt.noise_dn = 0.0;
    return opt;
}

typedef struct Raster {
    float *v; /* ny x nx */
    int nx, ny, count;
    double geo[6];
    OGRSpatialReferenceH srs; /* of a raster with georeference, else NULL */
} Raster;

static void close_raster(const Raster *r)
{
    free(r->v);
    OSRDestroySpatialReference(r->srs);
}
#define RASTER SDM_CLOSED_BY(close_raster) const Raster

static Raster read_raster(const char *dir, const char *file)
{
    char path[400];
    out_path(path, sizeof path, dir, file);
    GDALDatasetH ds = GDALOpen(path, GA_ReadOnly);
    assert_non_null(ds);
    Raster r = {.nx = GDALGetRasterXSize(ds), .ny = GDALGetRasterYSize(ds)};
    r.count = r.nx * r.ny;
    r.v = malloc((size_t)r.count * sizeof *r.v);
    assert_non_null(r.v);
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Read, 0, 0, r.nx, r.ny, r.v, r.nx, r.ny, GDT_Float32, 0, 0),
        CE_None);
    if (GDALGetGeoTransform(ds, r.geo) == CE_None)
        r.srs = OSRClone(GDALGetSpatialRef(ds));
    GDALClose(ds);
    return r;
}

typedef struct Band { /* one band of the V003 text layout */
    double col[COLUMNS], row[ROWS], p[ROWS][3], v[ROWS][3], sight[COLUMNS][3];
    int rows;
    Raster image;
} Band;

static void close_band(const Band *b)
{
    close_raster(&b->image);
}
#define BAND SDM_CLOSED_BY(close_band) const Band

/* How many values lie from lo to hi. */
static int count_in(const Raster *r, float lo, float hi)
{
    int n = 0;
    for (int k = 0; k < r->count; k++)
        n += r->v[k] >= lo && r->v[k] <= hi;
    return n;
}

/* All numbers of a text table. */
static int read_numbers(const char *dir, const char *band, const char *field, double *out, int max)
{
    char file[128], path[400];
    snprintf(file, sizeof file, BASE ".VNIR_Band%s.%s.txt", band, field);
    out_path(path, sizeof path, dir, file);
    FILE *const f = fopen(path, "r");
    assert_non_null(f);
    int n = 0;
    while (n < max && fscanf(f, "%lf", &out[n]) == 1)
        n++;
    fclose(f);
    return n;
}

/* view: 0 left, 1 right. */
static Band read_band(const char *dir, int view)
{
    static double t[ROWS * COLUMNS * 3];
    char file[128];
    Band b;
    const char *const name = view ? "3B" : "3N";
    b.rows = read_numbers(dir, name, "SatellitePosition", &b.p[0][0], ROWS * 3) / 3;
    assert_int_equal(read_numbers(dir, name, "SatelliteVelocity", &b.v[0][0], ROWS * 3), b.rows * 3);
    assert_int_equal(read_numbers(dir, name, "SightVector", t, ROWS * COLUMNS * 3), b.rows * COLUMNS * 3);
    memcpy(b.sight, t, sizeof b.sight);
    assert_int_equal(read_numbers(dir, name, "LatticePoint", t, ROWS * COLUMNS * 3), b.rows * COLUMNS * 2);
    for (int c = 0; c < COLUMNS; c++)
        b.col[c] = t[2 * c];
    for (int r = 0; r < b.rows; r++)
        b.row[r] = t[2 * COLUMNS * r + 1];
    snprintf(file, sizeof file, BASE ".VNIR_Band%s.ImageData.tif", name);
    b.image = read_raster(dir, file);
    const int nx = b.image.nx;
    FREED double *const table = malloc((size_t)nx * 3 * sizeof *table);
    assert_int_equal(read_numbers(dir, name, "RadiometricCorrTable", table, nx * 3), nx * 3);
    for (int k = 0; k < b.image.count; k++) {
        const double *const of = table + 3 * (ptrdiff_t)(k % nx);
        b.image.v[k] = (float)(of[1] * (double)b.image.v[k] / of[2] + of[0]);
    }
    return b;
}

/* Cubic Lagrange interpolation in table[n][3] at x of grid[n]. */
static void interpolate(const double *grid, const double (*table)[3], int n, double x, double out[3])
{
    int i = 1;
    while (i < n - 3 && grid[i + 1] < x)
        i++;
    out[0] = out[1] = out[2] = 0.0;
    for (int k = i - 1; k < i + 3; k++) {
        double w = 1.0;
        for (int m = i - 1; m < i + 3; m++)
            w *= m == k ? 1.0 : (x - grid[m]) / (grid[k] - grid[m]);
        for (int a = 0; a < 3; a++)
            out[a] += w * table[k][a];
    }
}

/* v becomes of length 1, on its side or (sign -1) on the other. */
static void unit(double v[3], double sign)
{
    const double f = sign / sqrt(sdm_dot3(v, v));
    for (int a = 0; a < 3; a++)
        v[a] *= f;
}

static double height_of(const double p[3], double *lon, double *lat)
{
    const double e2 = 6.69437999014131705734e-3, r = hypot(p[0], p[1]);
    double phi = atan2(p[2], r * (1.0 - e2)), n = 0.0;
    for (int k = 0; k < 8; k++) {
        n = 6378137.0 / sqrt(1.0 - e2 * sin(phi) * sin(phi));
        phi = atan2(p[2] + e2 * n * sin(phi), r);
    }
    *lon = atan2(p[1], p[0]) * 180.0 / PI;
    *lat = phi * 180.0 / PI;
    return r / cos(phi) - n;
}

/* Ground point (lon, lat) of a pixel at height h, by halving along the ray: slow and sure. */
static void hit(const Band *b, double col, double row, double h, double *lon, double *lat)
{
    double p[3], v[3], s[3], x[3], y[3], z[3], near = 600e3, far = 1000e3; /* halved 46 times: 6 nm */
    interpolate(b->row, b->p, b->rows, row, p);
    interpolate(b->row, b->v, b->rows, row, v);
    interpolate(b->col, b->sight, COLUMNS, col, s);
    memcpy(z, p, sizeof z);
    unit(z, -1.0);
    sdm_cross3(p, v, y);
    unit(y, -1.0);
    sdm_cross3(y, z, x);
    double d[3];
    for (int a = 0; a < 3; a++)
        d[a] = x[a] * s[0] + y[a] * s[1] + z[a] * s[2];
    unit(d, 1.0);
    for (int k = 0; k < 46; k++) {
        const double t = 0.5 * (near + far), q[3] = {p[0] + t * d[0], p[1] + t * d[1], p[2] + t * d[2]};
        if (height_of(q, lon, lat) > h)
            near = t;
        else
            far = t;
    }
}

/* Distance in metres between two points given in degrees. */
static double apart_m(double lon0, double lat0, double lon1, double lat1)
{
    const double dl = remainder(lon1 - lon0, 360.0);
    return hypot(dl * cos(lat0 * PI / 180.0), lat1 - lat0) * 111320.0;
}

/* Pixel that sees (lon, lat, h), by Newton with differences. */
static void find(const Band *b, double lon, double lat, double h, double *col, double *row)
{
    for (int k = 0; k < 4; k++) {
        double l0, f0, lc, fc, lr, fr;
        hit(b, *col, *row, h, &l0, &f0);
        hit(b, *col + 1.0, *row, h, &lc, &fc);
        hit(b, *col, *row + 1.0, h, &lr, &fr);
        const double a = lc - l0, c = fc - f0, d = lr - l0, e = fr - f0, det = a * e - c * d;
        *col += (e * (lon - l0) - d * (lat - f0)) / det;
        *row += (a * (lat - f0) - c * (lon - l0)) / det;
    }
}

static float cubic_at(const Raster *image, double col, double row)
{
    const int i = (int)floor(col), j = (int)floor(row);
    const double t = col - i, u = row - j;
    const double w[2][4] = {{t * (-0.5 + t * (1 - 0.5 * t)), 1 + t * t * (-2.5 + 1.5 * t),
                             t * (0.5 + t * (2 - 1.5 * t)), t * t * (-0.5 + 0.5 * t)},
                            {u * (-0.5 + u * (1 - 0.5 * u)), 1 + u * u * (-2.5 + 1.5 * u),
                             u * (0.5 + u * (2 - 1.5 * u)), u * u * (-0.5 + 0.5 * u)}};
    double sum = 0.0;
    for (int m = 0; m < 4; m++)
        for (int k = 0; k < 4; k++)
            sum += w[1][m] * w[0][k] * (double)image->v[(j + m - 1) * image->nx + i + k - 1];
    return (float)sum;
}

/* truth.tif: heights by bilinear interpolation between cells. */
typedef struct World {
    Raster truth;
    OGRCoordinateTransformationH to_map;
} World;

static World open_world(const char *dir)
{
    World w = {.truth = read_raster(dir, "truth.tif")};
    OGRSpatialReferenceH geo = OSRNewSpatialReference(NULL);
    OSRImportFromEPSG(geo, 4326);
    OSRSetAxisMappingStrategy(geo, OAMS_TRADITIONAL_GIS_ORDER);
    OSRSetAxisMappingStrategy(w.truth.srs, OAMS_TRADITIONAL_GIS_ORDER);
    w.to_map = OCTNewCoordinateTransformation(geo, w.truth.srs);
    OSRDestroySpatialReference(geo);
    return w;
}

static void close_world(const World *w)
{
    OCTDestroyCoordinateTransformation(w->to_map);
    close_raster(&w->truth);
}
#define WORLD SDM_CLOSED_BY(close_world) const World

static double world_height(const World *w, double lon, double lat)
{
    const Raster *const map = &w->truth;
    double x = lon, y = lat;
    assert_true(OCTTransform(w->to_map, 1, &x, &y, NULL));
    const double a = (x - map->geo[0]) / map->geo[1] - 0.5, b = (y - map->geo[3]) / map->geo[5] - 0.5;
    const int i = (int)floor(a), j = (int)floor(b);
    assert_true(i >= 0 && j >= 0 && i < map->nx - 1 && j < map->ny - 1);
    const float *const r = map->v + j * map->nx + i;
    const double t = a - i, u = b - j;
    return (1 - u) * ((1 - t) * (double)r[0] + t * (double)r[1]) +
           u * ((1 - t) * (double)r[map->nx] + t * (double)r[map->nx + 1]);
}

/* Where the ray of a left pixel meets the truth (gentle terrain: fixed point), then the pixel of the right
 * view. */
static void transfer(const World *w, const Band *l, const Band *r, double col, double row, double at[2])
{
    double lon, lat, h = world_height(w, 10.3, 46.2);
    for (int k = 0; k < 14; k++) {
        hit(l, col, row, h, &lon, &lat);
        h = world_height(w, lon, lat);
    }
    at[0] = 0.5 * r->image.nx;
    at[1] = 0.5 * r->image.ny;
    find(r, lon, lat, h, &at[0], &at[1]);
}

/* Where GDAL's own transformer puts a ground point; pixel centres are whole numbers here. */
static void project_rpc(GDALDatasetH ds, double lon, double lat, double h, double *col, double *row)
{
    GDALRPCInfoV2 rpc;
    int good = 0;
    assert_true(GDALExtractRPCInfoV2(GDALGetMetadata(ds, "RPC"), &rpc));
    void *const to_image = GDALCreateRPCTransformerV2(&rpc, true, 0.0, NULL);
    *col = lon;
    *row = lat;
    assert_true(GDALRPCTransform(to_image, false, 1, col, row, &h, &good) && good);
    GDALDestroyRPCTransformer(to_image);
    *col -= 0.5;
    *row -= 0.5;
}
