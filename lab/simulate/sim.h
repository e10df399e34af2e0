/* Inside of simulate: the parts of a scene and the calls between the files of this folder.
 *
 * Ground is a map plane (UTM, polar stereographic near the poles).  Terrain, reflectance and clouds are
 * uniform cubic B-spline surfaces over it: node (i, j) of a grid of spacing s lies at x = i s, y = -j s, its
 * coefficient is c(i, j), and the surface is the sum of c(i, j) B3(x/s - i) B3(-y/s - j).  It is C2, stays
 * within its coefficients, and its mean over a cell is an exact weighted sum, so the truth is the truth. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/math.h"
#include "simulate/simulate.h"

#include <math.h>
#include <ogr_srs_api.h>
#include <string.h>

#define SIM_PI 3.14159265358979323846
enum {
    SIM_TILE = 2048,
    SIM_LEVELS = 28,
    SIM_BLOCK = 8,
    SIM_PATH = 1024,
    SIM_LATTICE = 32,
    SIM_WAVES = 9,
    SIM_DECKS = 3
};

/* ---- sim_geodesy.c: WGS 84; points are Earth-centred, Earth-fixed, metres ---- */
void sim_to_ecef(double lon_deg, double lat_deg, double h_m, double p[3]);
void sim_to_geodetic(const double p[3], double *lon_deg, double *lat_deg, double *h_m);
/* First point of the ray from + t dir (dir a unit vector that looks down) at height h_m above the ellipsoid.
 */
void sim_ray_at_height(const double from[3], const double dir[3], double h_m, double hit[3]);
void sim_unit(double v[3]);
OGRSpatialReferenceH sim_srs(int epsg); /* axes in the order of GIS programs; NULL: PROJ does not know it */

/* ---- sim_solve.c ---- */
/* The shortest x of those that minimise |a x - b|, by singular values: Givens rotations make a = Q R (Golub &
 * Van Loan, 5.2), one-sided Jacobi rotations make the rows of R orthogonal (Drmac & Veselic 2008).  Singular
 * values of at most `rcond` (>= 0) times the largest count as 0.
 * a: m x n, m >= n >= 1; overwritten.
 * b: m; its first n values become x, the others are undefined.
 * @return false where a or b is not finite, or the rotations do not converge; b is then undefined
 */
bool sim_solve(int m, int n, double rcond, double *a, double *b);

/* ---- sim_camera.c: circular orbit, line scanner ---- */
typedef struct SimWave { /* jitter: amplitude on both axes, cycles a row; the rows' sine is `lag` ahead,
                          * radians */
    double amplitude_px, frequency, phase, lag;
} SimWave;
typedef struct SimCamera {
    double radius_m, rate_rad_s; /* orbit: radius, angular rate */
    double p0[3], q0[3];         /* unit vectors to the satellite and along its motion, at t = 0, inertial */
    double t0_s, line_s;         /* time of row 0, time between rows */
    double pitch_rad, roll_rad;  /* pitch > 0 looks back; roll > 0 looks to the right of the flight */
    double across, ifov;         /* tangent of the centre column, tangent step of a column */
    int width, height;
    double shift_px[2];      /* errors: column, row; as all below in no metadata */
    SimWave wave[SIM_WAVES]; /* their sum is the jitter */
    int waves;
} SimCamera;
/* Satellite at time t_s: position (m) and inertial velocity (m/s), both on Earth-fixed axes. */
void sim_orbit(const SimCamera *cam, double t_s, double p[3], double v[3]);
/* Unit sight vector of a column in the frame z = -P/|P|, y = -(P x V)/|P x V|, x = y x z. */
void sim_sight(const SimCamera *cam, double col, double sight[3]);
/* Earth-fixed direction of a sight vector. */
void sim_direction(const double p[3], const double v[3], const double sight[3], double dir[3]);
/* Exact ray of (col, row) without the camera's errors. */
void sim_ray(const SimCamera *cam, double col, double row, double from[3], double dir[3]);
/* How far pixel row `row` looks from where the metadata say: add to (col, row). */
void sim_camera_error(const SimCamera *cam, double row, double *dcol, double *drow);
/* The largest jitter that the waves can add up to, pixels. */
double sim_camera_jitter(const SimCamera *cam);
static inline double sim_row_time(const SimCamera *cam, double row)
{
    return cam->t0_s + row * cam->line_s;
}

/* ---- sim_noise.c ---- */
typedef struct SimWindow { /* coefficients of nodes i0..i0+nx-1, j0..j0+ny-1 of a grid of spacing step_m */
    int64_t i0, j0;
    int nx, ny;
    double step_m;
    float *v;
} SimWindow;
static inline void sim_window_free(SimWindow *win)
{
    sdm_free(&win->v);
}

typedef struct SimSpectrum { /* octave k has its nodes every 2^k units; amplitude of its coefficients */
    uint32_t seed;
    int top;
    double amp[SIM_LEVELS];
} SimSpectrum;
typedef struct SimBox {
    double x0, y0, x1, y1;
} SimBox; /* map metres, x0 < x1, y0 < y1 */
uint32_t sim_hash(uint32_t seed, uint32_t level, int64_t i, int64_t j);
/* Eight seeds, +0..7, of what differs from scene to scene over the same ground: noise, striping, metadata
 * noise, clouds, waves.  As --seed unless --error-seed is given. */
uint32_t sim_error_seed(const SdmSimulateOptions *opt);
double sim_gauss(uint32_t seed, int64_t i, int64_t j);              /* mean 0, sigma 1, bounded by 3.5 */
SimWindow sim_window(const SimBox *box, double step_m, int margin); /* extents only, v = NULL */
/* Coefficients of the sum of octaves level..top on the grid of 2^level units: win->v is allocated. */
SdmStatus sim_noise(SdmContext *ctx, const SimSpectrum *spec, int level, SimWindow *win);
/* Its coefficient mean around one map point (the value of the surface of that grid). */
SdmStatus sim_noise_at(SdmContext *ctx, const SimSpectrum *spec, int level, double unit_m, double x, double y,
                       float *value);
/* Octave whose wavelength is nearest to `wave_m`. */
int sim_octave(double wave_m, double unit_m);
/* Fill spec so that the surface's sigma is `sigma`: octaves bottom..top, amplitude ~ 2^(k hurst). */
void sim_spectrum(SimSpectrum *spec, uint32_t seed, int bottom, int top, double hurst, double sigma);
float sim_value(const SimWindow *win, double x, double y);
/* Slopes dz/dx, dz/dy (map axes). */
void sim_slope(const SimWindow *win, double x, double y, float slope[2]);

/* ---- sim_dem.c ---- */
typedef struct SimDem {
    float *v;
    int nx, ny;
    double inverse[6]; /* geotransform's inverse: DEM CRS to array (corner convention) */
    double lon_mid;    /* geographic DEM: middle longitude; NaN for a projected one */
    OGRCoordinateTransformationH from_map;
    double lo, hi;
} SimDem;
struct SimScene;
SdmStatus sim_dem_centre(SdmContext *ctx, const char *path, double *lon_deg, double *lat_deg);
SdmStatus sim_dem_open(struct SimScene *sc, const SimBox *box);
void sim_dem_close(SimDem *dem);
SdmStatus sim_dem_fill(struct SimScene *sc, SimWindow *win); /* coefficients of win->v (allocated) */

/* Catmull-Rom at position (a, b) of an ny x nx array, centre convention; the edge repeats outside. */
float sim_cubic(const float *v, int nx, int ny, double a, double b);

/* ---- sim_lattice.c ---- */
typedef struct SimLattice { /* ground map positions of the exact rays, every SIM_LATTICE pixels */
    int nx, ny;
    double h_mid, h_half;
    double *node; /* ny x nx x 6: x0 x1 x2 y0 y1 y2 of x = x0 + s (x1 + s x2), s = (h - h_mid) / h_half */
} SimLattice;
typedef struct SimRay {
    double c[6];
} SimRay; /* as a node of the lattice */

typedef struct SimView {
    const char *name; /* "3N", "3B" */
    SimCamera cam;
    SimLattice lattice;
    double *c1, *c0;      /* radiometric table: DN' = c1 DN + c0, by column */
    uint8_t *lost, *dead; /* 1: row, column of zeros */
} SimView;

typedef struct SimDeck {     /* one layer of clouds; it moves with the wind */
    SimSpectrum field;       /* cloud is where the field exceeds `edge` */
    double height, top;      /* m above the ellipsoid; heaps rise from height to top */
    double edge, soft, rise; /* fields from edge - soft / 2 to edge + soft / 2 thicken, those from
                                          * edge to edge + rise heap up */
    double opacity, shadow;  /* 0..1: of the view and of the sun that the thickest part takes */
    double wind[2];          /* map x, y, m/s */
    float dn, rough_dn;      /* radiance: at the edge, a unit of the field */
} SimDeck;
typedef struct SimTown SimTown;
typedef struct SimScene {
    SdmContext *ctx;
    const SdmSimulateOptions *opt;
    int threads;
    double lon_deg, lat_deg, h_mean; /* where both centre pixels look */
    double x, y, extent_m;           /* that point on the map; the larger side of the left image */
    double h_lo, h_hi;               /* the terrain stays within */
    OGRSpatialReferenceH srs;
    OGRCoordinateTransformationH to_map; /* from WGS 84 lon, lat */
    SimDem dem;
    double unit_m; /* spacing of octave 0: gsd/2 */
    SimSpectrum relief, texture, wave[2], shore[2];
    double relief_gain, relief_lift;  /* height = lift + gain noise */
    double lake_level, water_edge[2]; /* ocean, lake: field <= edge is water */
    double snow_edge;                 /* height above which snow lies */
    SimDeck deck[SIM_DECKS];          /* clouds from the top down */
    int decks;
    float clear;   /* of the light of the ground that comes through it is seen */
    SimTown *town; /* NULL without --town */
    SimView view[2];
    char folder[SIM_PATH]; /* where files are written */
    char base[64];         /* ASTER: start of file names */
} SimScene;

SdmStatus sim_lattice_open(SimScene *sc, SimView *view);
/* Collapse the lattice to one image row; out: nx x 6. */
void sim_lattice_row(const SimLattice *lat, double row, double *out);
void sim_lattice_ray(const SimLattice *lat, const double *row, double col, SimRay *ray);
/* The ray of any pixel, for scattered use. */
void sim_lattice_at(const SimLattice *lat, double col, double row, SimRay *ray);
void sim_ray_xy(const SimLattice *lat, const SimRay *ray, double h, double *x, double *y);
/* Metres (x, y) that the ray moves by for a metre of height, at height h. */
void sim_ray_lean(const SimLattice *lat, const SimRay *ray, double h, double lean[2]);
void sim_lattice_xy(const SimLattice *lat, double col, double row, double h, double *x, double *y);
/* Image position (without errors) of a map point; *col, *row hold the start. */
void sim_lattice_find(const SimLattice *lat, double x, double y, double h, double *col, double *row);
/* Map box that pixels [c0, c1] x [r0, r1] see between two heights. */
SimBox sim_lattice_box(const SimLattice *lat, const double px[4], double h0, double h1);

/* ---- sim_terrain.c ---- */
typedef struct SimGround {     /* what one tile needs */
    SimWindow terrain;         /* spacing gsd */
    SimWindow field[2];        /* ocean, lake: shore fields on the same grid; v NULL when there is none */
    SimWindow peak[2];         /* maximum by blocks of SIM_BLOCK and SIM_BLOCK^2 cells */
    SimWindow light;           /* radiance at gsd/2, DN */
    SimWindow deck[SIM_DECKS]; /* fields of the clouds at 2 gsd */
    float top, steepest;
} SimGround;
SdmStatus sim_terrain_plan(SimScene *sc); /* heights before the cameras are known */
/* Height of the bare terrain (no water) at one point. */
SdmStatus sim_terrain_at(SimScene *sc, double x, double y, float *h);
/* Coefficients of the bare terrain (no water) in the window; allocates win->v. */
SdmStatus sim_terrain_fill(SimScene *sc, SimWindow *win);

/* ---- sim_town.c ---- */
/* Classes of class.tif; those from SIM_ROOF to SIM_CAR are towns'. */
enum { SIM_UNSEEN, SIM_LAND, SIM_WATER, SIM_CLOUD, SIM_ROOF, SIM_PLAIN_ROOF, SIM_TREE, SIM_CAR, SIM_SNOW };
/* Build sc->town and raise sc->h_hi above it. */
SdmStatus sim_town_open(SimScene *sc);
void sim_town_close(SimTown **town);
/* Height at which a line of sight to p (map x, y, height of the ground) ends, and the class of what it meets
 * there.  lean: metres (x, y) that it moves by for a metre of height; views: 1 << view, with its cars, or 4,
 * without cars. */
double sim_town_height(const SimScene *sc, int views, const double p[3], const double lean[2], int *class);
/* Radiance at the end of the line of sight to p, DN; light: that of the bare ground. */
float sim_town_dn(const SimScene *sc, int view, const double p[3], const double lean[2],
                  const SimWindow *light);

/* ---- sim_ground.c ---- */
SdmStatus sim_ground_open(SimScene *sc, const SimBox *box, SimGround *g); /* terrain, field, peak */
void sim_ground_close(SimGround *g);
/* Water at a node of the terrain grid. */
bool sim_is_water(const SimScene *sc, const SimGround *g, size_t node);

/* ---- sim_cloud.c ---- */
SdmStatus sim_cloud_plan(SimScene *sc);
/* Fields of the clouds in `sky`, a box for each deck, and between `ground`, where it is not NULL, and the
 * sun. */
SdmStatus sim_cloud_open(SimScene *sc, const SimBox sky[SIM_DECKS], const SimBox *ground, SimGround *g);
/* Share of the light of the ground, 0..1, that comes through the clouds on the ray at time t_s of the orbit;
 * *dn: what they add. */
float sim_cloud_view(const SimScene *sc, const SimGround *g, const SimLattice *lat, const SimRay *ray,
                     double t_s, float *dn);
/* Share of the radiance of the ground at x, y, h that the shadows of the clouds leave it, 0..1. */
float sim_cloud_shadow(const SimScene *sc, const SimGround *g, const double p[3], double t_s);

/* ---- sim_water.c, sim_light.c ---- */
#define SIM_LAND_DN 70.0f      /* mean of the ground's texture */
#define SIM_FULL_DN 255.0f     /* saturates a detector */
enum { SIM_BLOOM = 3 };        /* pixels of a row that a saturated one may saturate on either side */
extern const float sim_sun[3]; /* east, north, up: azimuth 150, elevation 45 degrees */
typedef SdmStatus sim_field_fn(SimScene *sc, const void *user, double x, double y, float *v);
/* Value below which `share` of a field lies over the left image, whose rays end at height h. */
SdmStatus sim_quantile(SimScene *sc, double h, double share, sim_field_fn *field, const void *user,
                       double *value);
SdmStatus sim_water_plan(SimScene *sc);
SdmStatus sim_snow_plan(SimScene *sc);
SdmStatus sim_water_apply(SimScene *sc, SimGround *g); /* fields, and the terrain under water made flat */
SdmStatus sim_light_open(SimScene *sc, int view, SimGround *g);

/* ---- sim_trace.c ---- */
/* First hit from above. */
double sim_trace(const SimLattice *lat, const SimGround *g, const SimRay *ray);

/* ---- sim_raster.c, sim_render.c, sim_truth.c, sim_reference.c, sim_tables.c, sim_rpc.c ---- */
typedef struct SimRaster SimRaster; /* a GeoTIFF that is written by blocks; types are GDALDataType */
typedef struct SimRasterSpec {
    const char *name; /* in the scene's folder */
    int nx, ny, type;
    const double *geo;         /* geotransform, or NULL for a raster without georeference */
    double nodata;             /* NaN = none */
    char **rpc;                /* RPC metadata, or NULL */
    const char *heights_above; /* VERTICAL_DATUM, as in the program's own DEMs, or NULL */
} SimRasterSpec;
SdmStatus sim_raster_create(SimScene *sc, const SimRasterSpec *spec, SimRaster **out);
/* data: ny x nx of type, row-major. */
SdmStatus sim_raster_write(SimRaster *r, int x, int y, int nx, int ny, const void *data, int type);
SdmStatus sim_raster_close(SimRaster **r); /* writes what is left and says whether all went well */
void sim_raster_drop(SimRaster **r);       /* after a failure */
SdmStatus sim_render(SimScene *sc, int view);
SdmStatus sim_truth(SimScene *sc);
/* reference.tif and change.tif from truth.tif and class.tif (ny x nx cells), where --reference asks for
 * them. */
SdmStatus sim_reference(SimScene *sc, const double geo[6], int nx, int ny);
SdmStatus sim_tables(SimScene *sc, int view);
/* The detectors of a view: radiometric table, lost rows, dead columns. */
SdmStatus sim_radiometry(SimScene *sc, int view);
/* Fit an RPC to the exact camera; coefficients as GDAL metadata NAME=VALUE list (CSLDestroy), error in px. */
SdmStatus sim_rpc_fit(SimScene *sc, int view, char ***metadata, double *rms_px, double *worst_px);

/* ---- sim_files.c ---- */
SdmStatus sim_files_begin(SimScene *sc);
SdmStatus sim_files_commit(SimScene *sc);
void sim_files_abandon(SimScene *sc);

/* ---- simulate_options.c ---- */
/* Usable, or SDM_ERR_USAGE with one sentence that names the bad option. */
SdmStatus sim_check(SdmContext *ctx, const SdmSimulateOptions *opt);
/* "0.15:300,0.08:90" (amplitude in px : wavelength in rows) of --jitter-left (view 0) or --jitter-right ->
 * sines after the *count that wave[SIM_WAVES] has; list may be NULL. */
SdmStatus sim_parse_jitter(SdmContext *ctx, int view, const char *list, SimWave *wave, int *count);
/* ---- sim_place.c ---- */
SdmStatus sim_place_open(SimScene *sc); /* centre and map */
SdmStatus sim_place_cameras(SimScene *sc);
