/* Stage 1: cameras.  A camera is two functions, ground -> image and image + height -> ground.
 * Conventions as in stereodem.h: (col, row) from pixel centres, ground = (lon_deg, lat_deg, h_m). */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"
#include "core/math.h"
#include "geo/geodesy.h"

/* The struct of every kind of camera begins with it.  A new sensor: see SdmSensor in input/scene_open.h. */
typedef struct SdmCamera SdmCamera;
struct SdmCamera {
    const char *kind;      /* "aster", "rpc", "parallel" */
    double hmin_m, hmax_m; /* heights for which it is meant, above the ellipsoid (ASTER: -500..9000; RPC: from
                            * its HEIGHT_OFF and HEIGHT_SCALE) */
    int bin;               /* for the image whose pixels are the means of bin x bin; 0: none */
    void (*project)(const SdmCamera *cam, size_t n, const double *ground, double *image);
    void (*locate)(const SdmCamera *cam, size_t n, const double *image, double *ground);
    void (*release)(SdmCamera *cam); /* frees what the kind owns besides its own struct; may be NULL */
};

/* ground (n x 3) -> image (n x 2: col, row); NaN where the camera is not defined.  Points outside the image
 * are extrapolated smoothly (at least half an image beyond).  lon may come as any lon + 360 k.
 * Pure and thread-safe; at least 1 M points a second and core. */
void sdm_camera_project(const SdmCamera *cam, size_t n, const double *ground, double *image);

/* image with height (n x 3: col, row, h_m) -> ground (n x 3), lon in -180..180; NaN where the ray misses.
 * Inverts sdm_camera_project to better than 0.001 px.  Pure and thread-safe. */
void sdm_camera_locate(const SdmCamera *cam, size_t n, const double *image, double *ground);

/* Source of a camera, and doubts about it. */
enum { SDM_CAMERA_SOURCE = 256, SDM_CAMERA_DOUBT = 320 };
typedef struct SdmCameraNote {
    char source[SDM_CAMERA_SOURCE]; /* of an RPC: "metadata in the file", "left_RPC.TXT"; else "" */
    char doubt[SDM_CAMERA_DOUBT];   /* a clause: why it may not be the image's; "": it may */
    int bin;                        /* a pixel of the view is the mean of bin x bin of the image; 0: of one */
} SdmCameraNote;

/* Free *cam and set it to NULL.  Accepts pointer to NULL. */
void sdm_camera_close(SdmCamera **cam);

/* ---- makers ---- */

/* ASTER telescope: nrow x ncol lattice (ncol = 11).
 * lattice_px: nrow x ncol x 2 (col, row); sight: nrow x ncol x 3 unit vectors; position_m: nrow x 3,
 * Earth-fixed; velocity_mps: nrow x 3 or NULL; geocentric_deg: nrow x ncol x 2 (geocentric lat, lon) or NULL.
 * One of velocity and geocentric must be there. */
typedef struct SdmAsterArrays {
    int nrow, ncol;
    const double *lattice_px, *sight, *position_m, *velocity_mps, *geocentric_deg;
    bool silent; /* no line in the log */
} SdmAsterArrays;
SdmStatus sdm_camera_open_aster(SdmContext *ctx, const char *name, const SdmAsterArrays *in, SdmCamera **out);

/* Names of the numbers of an RPC in the order of SdmRpc, as GDAL and DIMAP spell them: first those of one
 * number each, then those of 20. */
enum { SDM_RPC_SINGLE = 10, SDM_RPC_TAGS = 14, SDM_RPC_COEFFICIENTS = 20 };
extern const char *const sdm_rpc_tags[SDM_RPC_TAGS];
/* How many numbers a tag has, and the place of the first among all. */
static inline int sdm_rpc_count(int tag)
{
    return tag < SDM_RPC_SINGLE ? 1 : SDM_RPC_COEFFICIENTS;
}
static inline int sdm_rpc_place(int tag)
{
    return tag < SDM_RPC_SINGLE ? tag : SDM_RPC_SINGLE + (tag - SDM_RPC_SINGLE) * SDM_RPC_COEFFICIENTS;
}

SdmStatus sdm_camera_open_rpc(SdmContext *ctx, const char *name, const SdmRpc *rpc, SdmCamera **out);

/* Georeferenced view of a parallel pair: a ground point at map (x, y) and height h is seen at
 *   map x' = x - shift * h, y' = y   (shift = 0 for the left view, B/H for the right one),
 * and the geotransform (GDAL's, from pixel corners) turns (x', y') into pixels. */
typedef struct SdmParallel {
    const char *wkt;
    double geotransform[6];
    double shift; /* metres of image displacement per metre of height */
} SdmParallel;
SdmStatus sdm_camera_open_parallel(SdmContext *ctx, const char *name, const SdmParallel *in, SdmCamera **out);

/* ---- polynomials of the ASTER camera ---- */

/* Polynomial with coefficients from the constant up, by Horner's rule. */
static inline double sdm_poly(int degree, const double *coef, double t)
{
    double v = coef[degree];
    for (int i = degree - 1; i >= 0; --i)
        v = v * t + coef[i];
    return v;
}

static inline double sdm_poly_slope(int degree, const double *coef, double t)
{
    double v = degree * coef[degree];
    for (int i = degree - 1; i >= 1; --i)
        v = v * t + i * coef[i];
    return v;
}

enum { SDM_POLYFIT_MAX = 256, SDM_POLYFIT_DEGREE = 8 };

/* Least-squares polynomial through n <= SDM_POLYFIT_MAX points (x about -1..1) by orthogonal columns.
 * degree <= SDM_POLYFIT_DEGREE and < n.
 * @return root mean square of the residuals, in units of y */
double sdm_polyfit(int n, const double *x, const double *y, int degree, double *coef);
