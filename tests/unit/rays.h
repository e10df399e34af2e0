/* Rays of two cameras and where they come nearest; shared by the tests of cameras and pointing. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/camera_kinds.h"

#include <math.h>

/* Ray of a pixel from two heights: a point on it and its unit direction (downwards). */
static inline void ray(const SdmCamera *cam, double col, double row, double p[3], double d[3])
{
    const double image[6] = {col, row, 9000, col, row, 0};
    double g[6], q[3];
    sdm_camera_locate(cam, 2, image, g);
    sdm_geodetic_to_ecef(g[0], g[1], g[2], p);
    sdm_geodetic_to_ecef(g[3], g[4], g[5], q);
    for (int i = 0; i < 3; ++i)
        d[i] = q[i] - p[i];
    const double n = sqrt(sdm_dot3(d, d));
    for (int i = 0; i < 3; ++i)
        d[i] /= n;
}

/* Nearest approach of two rays: height of the midpoint, signed gap (b minus a along da x db), angle. */
static inline void meet(const double pa[3], const double da[3], const double pb[3], const double db[3],
                        double out[3])
{
    double n[3], w[3], mid[3], lon, lat;
    sdm_cross3(da, db, n);
    const double nn = sqrt(sdm_dot3(n, n)), c = sdm_dot3(da, db);
    for (int i = 0; i < 3; ++i)
        w[i] = pb[i] - pa[i];
    const double s = (sdm_dot3(w, da) - c * sdm_dot3(w, db)) / (1 - c * c);
    const double t = (c * sdm_dot3(w, da) - sdm_dot3(w, db)) / (1 - c * c);
    for (int i = 0; i < 3; ++i)
        mid[i] = (pa[i] + s * da[i] + pb[i] + t * db[i]) / 2;
    sdm_ecef_to_geodetic(mid, &lon, &lat, &out[0]);
    out[1] = sdm_dot3(w, n) / nn;
    out[2] = asin(nn) / SDM_DEG;
}
