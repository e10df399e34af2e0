/* WGS 84: geodetic <-> Earth-centred coordinates, and where a ray reaches a height. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <math.h>
#include <stdbool.h>

/* WGS 84 */
#define SDM_WGS84_A 6378137.0
#define SDM_WGS84_F (1.0 / 298.257223563)
#define SDM_OMEGA 7.2921159e-5         /* rotation of the Earth, rad/s */
#define SDM_METRES_PER_DEGREE 111320.0 /* of the equator; for spacings and margins, not for positions */
#define SDM_DEG (3.14159265358979323846 / 180.0)

/* A longitude, degrees -> the same within half a turn of `about`, so that neighbours on both sides of the
 * antimeridian stay neighbours.  One that lies there already keeps its bits. */
static inline double sdm_longitude_near(double lon_deg, double about_deg)
{
    const double turns = round((lon_deg - about_deg) / 360.0);
    return turns == 0.0 ? lon_deg : lon_deg - 360.0 * turns;
}

/* Ellipsoidal height of the ray origin + s * dir (dir of any length), solved for s: the first crossing.
 * @return true and the geodetic ground point (height exact to 1e-6 m), false where it misses */
bool sdm_intersect_height(const double origin_m[3], const double dir[3], double h_m, double ground[3]);

/* Geodetic longitude, latitude (degrees), height above the ellipsoid (m) <-> Earth-centred coordinates
 * (m). */
void sdm_geodetic_to_ecef(double lon_deg, double lat_deg, double h_m, double xyz_m[3]);
void sdm_ecef_to_geodetic(const double xyz_m[3], double *lon_deg, double *lat_deg, double *h_m);
/* The height alone, which takes no arc functions. */
double sdm_ecef_height(const double xyz_m[3]);
