/* WGS 84: geodetic <-> Earth-centred coordinates, and where a ray reaches a height. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geodesy.h"

#include <math.h>

static const double A = SDM_WGS84_A;
static const double B = SDM_WGS84_A * (1.0 - SDM_WGS84_F);
static const double E2 = SDM_WGS84_F * (2.0 - SDM_WGS84_F); /* first eccentricity squared */

void sdm_geodetic_to_ecef(double lon_deg, double lat_deg, double h_m, double xyz_m[3])
{
    const double lon = lon_deg * SDM_DEG, lat = lat_deg * SDM_DEG;
    const double s = sin(lat), c = cos(lat);
    const double n = A / sqrt(1.0 - E2 * s * s);
    xyz_m[0] = (n + h_m) * c * cos(lon);
    xyz_m[1] = (n + h_m) * c * sin(lon);
    xyz_m[2] = (n * (1.0 - E2) + h_m) * s;
}

/* Sine and cosine of the geodetic latitude, and the height: Bowring's formula on the reduced latitude.  Twice
 * it is exact to rounding from the Earth's core outwards to any orbit; once, the height still is, since an
 * error of the latitude enters it squared, and the latitude to 1e-12 rad within 30 km of the ellipsoid.  No
 * trouble at the poles. */
static inline void latitude(double p, double z, int times, double *sin_lat, double *cos_lat, double *h_m)
{
    double s = A * z, c = B * p; /* reduced latitude of the first guess */
    double k = 1.0 / sqrt(s * s + c * c);
    for (int i = 0;;) {
        s *= k, c *= k;
        const double y = z + E2 / (1.0 - E2) * B * s * s * s, x = p - E2 * A * c * c * c;
        k = 1.0 / sqrt(x * x + y * y);
        *sin_lat = y * k, *cos_lat = x * k;
        if (++i == times)
            break;
        s = *sin_lat * (1.0 - SDM_WGS84_F), c = *cos_lat;
        k = 1.0 / sqrt(s * s + c * c);
    }
    *h_m = p * *cos_lat + z * *sin_lat - A * sqrt(1.0 - E2 * *sin_lat * *sin_lat);
}

double sdm_ecef_height(const double xyz_m[3])
{
    double s, c, h_m;
    latitude(sqrt(xyz_m[0] * xyz_m[0] + xyz_m[1] * xyz_m[1]), xyz_m[2], 1, &s, &c, &h_m);
    return h_m;
}

void sdm_ecef_to_geodetic(const double xyz_m[3], double *lon_deg, double *lat_deg, double *h_m)
{
    double s, c;
    latitude(sqrt(xyz_m[0] * xyz_m[0] + xyz_m[1] * xyz_m[1]), xyz_m[2], 2, &s, &c, h_m);
    *lat_deg = atan2(s, c) / SDM_DEG;
    *lon_deg = atan2(xyz_m[1], xyz_m[0]) / SDM_DEG;
}

bool sdm_intersect_height(const double origin_m[3], const double dir[3], double h_m, double ground[3])
{
    /* start: the ellipsoid with both axes raised by h, a quadratic; it is off by centimetres at most */
    const double ka = 1.0 / ((A + h_m) * (A + h_m)), kb = 1.0 / ((B + h_m) * (B + h_m));
    const double dd = ka * (dir[0] * dir[0] + dir[1] * dir[1]) + kb * dir[2] * dir[2];
    const double od = ka * (origin_m[0] * dir[0] + origin_m[1] * dir[1]) + kb * origin_m[2] * dir[2];
    const double oo =
        ka * (origin_m[0] * origin_m[0] + origin_m[1] * origin_m[1]) + kb * origin_m[2] * origin_m[2];
    const double disc = od * od - dd * (oo - 1.0);
    if (!(disc > 0.0) || !(od < 0.0) || !(oo > 1.0)) /* no crossing, behind, or the origin is below h */
        return false;
    double s = (oo - 1.0) / (-od + sqrt(disc));
    for (int i = 0; i < 4; ++i) { /* then Newton on the geodetic height itself */
        const double x = origin_m[0] + s * dir[0], y = origin_m[1] + s * dir[1], z = origin_m[2] + s * dir[2];
        const double p = sqrt(x * x + y * y);
        double sin_lat, cos_lat, h;
        latitude(p, z, 1, &sin_lat, &cos_lat, &h);
        const double left = h - h_m;
        if (fabs(left) < 1e-6) {
            ground[0] = atan2(y, x) / SDM_DEG;
            ground[1] = atan2(sin_lat, cos_lat) / SDM_DEG;
            ground[2] = h_m;
            return true;
        }
        const double slope = (p > 0.0 ? cos_lat * (x * dir[0] + y * dir[1]) / p : 0.0) + sin_lat * dir[2];
        if (!(slope < 0.0))
            return false;
        s -= left / slope;
    }
    return false;
}
