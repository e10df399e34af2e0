/* Longitude, latitude, height <-> Earth-centred coordinates (WGS 84); rays against a raised ellipsoid. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

static const double A_M = 6378137.0;
static const double E2 = 6.69437999014131705734e-3;

void sim_unit(double v[3])
{
    const double n = 1.0 / sqrt(sdm_dot3(v, v));
    for (int k = 0; k < 3; k++)
        v[k] *= n;
}

void sim_to_ecef(double lon_deg, double lat_deg, double h_m, double p[3])
{
    const double lon = lon_deg * (SIM_PI / 180.0), lat = lat_deg * (SIM_PI / 180.0);
    const double n = A_M / sqrt(1.0 - E2 * sin(lat) * sin(lat));
    p[0] = (n + h_m) * cos(lat) * cos(lon);
    p[1] = (n + h_m) * cos(lat) * sin(lon);
    p[2] = (n * (1.0 - E2) + h_m) * sin(lat);
}

void sim_to_geodetic(const double p[3], double *lon_deg, double *lat_deg, double *h_m)
{
    const double r = hypot(p[0], p[1]), b = A_M * sqrt(1.0 - E2), ep2 = E2 / (1.0 - E2);
    double u = atan2(p[2] * A_M, r * b), lat = 0.0; /* Bowring: parametric latitude, repeated */
    for (int k = 0; k < 3; k++) {
        const double s = sin(u), c = cos(u);
        lat = atan2(p[2] + ep2 * b * s * s * s, r - E2 * A_M * c * c * c);
        u = atan2(b * sin(lat), A_M * cos(lat));
    }
    const double n = A_M / sqrt(1.0 - E2 * sin(lat) * sin(lat));
    *lon_deg = atan2(p[1], p[0]) * (180.0 / SIM_PI);
    *lat_deg = lat * (180.0 / SIM_PI);
    *h_m = r * cos(lat) + p[2] * sin(lat) - A_M * A_M / n; /* holds at the poles too */
}

void sim_ray_at_height(const double from[3], const double dir[3], double h_m, double hit[3])
{
    const double b = sdm_dot3(from, dir), r = 6371000.0 + h_m;
    const double q = b * b - (sdm_dot3(from, from) - r * r);
    double t = -b - sqrt(q > 0.0 ? q : 0.0);
    for (int k = 0; k < 8; k++) { /* Newton on the geodetic height along the ray */
        double lon, lat, h;
        for (int a = 0; a < 3; a++)
            hit[a] = from[a] + t * dir[a];
        sim_to_geodetic(hit, &lon, &lat, &h);
        const double cl = cos(lat * (SIM_PI / 180.0)), lo = lon * (SIM_PI / 180.0);
        const double up[3] = {cl * cos(lo), cl * sin(lo), sin(lat * (SIM_PI / 180.0))};
        const double dt = (h - h_m) / sdm_dot3(dir, up);
        t -= dt;
        if (fabs(dt) < 1e-8)
            break;
    }
    for (int a = 0; a < 3; a++)
        hit[a] = from[a] + t * dir[a];
}

OGRSpatialReferenceH sim_srs(int epsg)
{
    OGRSpatialReferenceH srs = OSRNewSpatialReference(NULL);
    if (OSRImportFromEPSG(srs, epsg) != OGRERR_NONE) {
        OSRDestroySpatialReference(srs);
        return NULL;
    }
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    return srs;
}
