/* Geodetic <-> Earth-centred coordinates: values worked by hand, poles, round trips. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"
#include "input/camera_kinds.h"

TEST(known_points)
{
    double p[3];
    sdm_geodetic_to_ecef(0, 0, 100, p); /* equator: a + h */
    assert_true(fabs(p[0] - 6378237.0) < 1e-8 && fabs(p[1]) < 1e-8 && fabs(p[2]) < 1e-8);
    sdm_geodetic_to_ecef(90, 0, 0, p);
    assert_true(fabs(p[1] - 6378137.0) < 1e-8 && fabs(p[0]) < 1e-6);
    sdm_geodetic_to_ecef(77, 90, -50, p); /* pole: b + h, b = 6356752.314245 */
    assert_true(fabs(p[2] - 6356702.314245) < 1e-6 && fabs(p[0]) < 1e-8);
    sdm_geodetic_to_ecef(-60, 45, 1000, p); /* N(45) = 6388838.290121; (N + h) cos 45 = 4518297.985630 */
    assert_true(fabs(p[0] - 4518297.985630 * 0.5) < 1e-5);
    assert_true(fabs(p[1] + 4518297.985630 * sqrt(3.0) / 2) < 1e-5);
    assert_true(fabs(p[2] - 4488055.515647) < 1e-5);
}

TEST(round_trips)
{
    static const double height[] = {-11000, -500, 0, 1e-3, 8848, 705000, 3.6e7};
    for (int la = -900; la <= 900; ++la)
        for (int lo = -180; lo <= 180; lo += 15)
            for (size_t k = 0; k < sizeof height / sizeof *height; ++k) {
                double p[3], lon, lat, h;
                sdm_geodetic_to_ecef(lo, la / 10.0, height[k], p);
                sdm_ecef_to_geodetic(p, &lon, &lat, &h);
                assert_true(fabs(lat - la / 10.0) < 1e-10);
                assert_true(fabs(remainder(lon - lo, 360)) * cos(lat * SDM_DEG) < 1e-10);
                assert_true(fabs(h - height[k]) < 1e-7);
            }
}

/* The exact pole, where cos(lat) is 0, and its neighbours. */
TEST(poles)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        const double p[3] = {0, 0, sign * 6356852.314245179};
        double lon, lat, h;
        sdm_ecef_to_geodetic(p, &lon, &lat, &h);
        assert_true(fabs(lat - 90.0 * sign) < 1e-12 && fabs(h - 100.0) < 1e-8 && isfinite(lon));
        const double near[3] = {1e-3, 0, sign * 6356852.314245179};
        sdm_ecef_to_geodetic(near, &lon, &lat, &h);
        assert_true(fabs(fabs(lat) - (90.0 - 1e-3 / 6399693.0 / SDM_DEG)) < 1e-12 && fabs(h - 100.0) < 1e-8);
    }
}

TEST(rays)
{
    double g[3], q[3];
    for (int k = 0; k < 200; ++k) {
        const double lat = -90 + 0.9 * k, lon = 7.0 * k;
        double sat[3], dir[3], down[3];
        sdm_geodetic_to_ecef(lon, lat, 705000, sat);
        for (int i = 0; i < 3; ++i)
            down[i] = -sat[i] / sqrt(sdm_dot3(sat, sat));
        for (int i = 0; i < 3; ++i)
            dir[i] = 3.0 * (down[i] + 0.4 * sin(k + 2.0 * i)); /* any length, up to some 40 degrees off */
        for (double h = -500; h <= 9000; h += 1900) {
            assert_true(sdm_intersect_height(sat, dir, h, g));
            assert_true(fabs(g[2] - h) < 1e-9);
            sdm_geodetic_to_ecef(g[0], g[1], g[2], q);
            double along = 0, off = 0;
            for (int i = 0; i < 3; ++i)
                along += (q[i] - sat[i]) * dir[i] / sdm_dot3(dir, dir);
            for (int i = 0; i < 3; ++i)
                off += pow(q[i] - sat[i] - along * dir[i], 2);
            assert_true(along > 0 && sqrt(off) < 1e-3); /* the point lies on the ray */
        }
    }
    const double up[3] = {0, 0, 1}, sat[3] = {7e6, 0, 0}, away[3] = {1, 0, 0};
    assert_false(sdm_intersect_height(sat, up, 0, g));
    assert_false(sdm_intersect_height(sat, away, 0, g));
}

TEST(polynomials)
{
    double x[9], y[9], c[6];
    for (int i = 0; i < 9; ++i) {
        x[i] = i / 4.0 - 1;
        y[i] = 7e6 + x[i] * (3 + x[i] * x[i] * (1 - 2 * x[i]));
    }
    assert_true(sdm_polyfit(9, x, y, 4, c) < 1e-8);
    assert_true(fabs(c[0] - 7e6) < 1e-7 && fabs(c[1] - 3) < 1e-7 && fabs(c[2]) < 1e-7 &&
                fabs(c[4] + 2) < 1e-7);
    assert_true(fabs(sdm_poly_slope(4, c, 0.5) - (3 + 3 * 0.25 - 8 * 0.125)) < 1e-7);
    for (int i = 0; i < 9; ++i)
        y[i] = i % 2; /* mean 4/9, by hand: rms about it sqrt(20)/9 */
    assert_true(fabs(sdm_polyfit(9, x, y, 0, c) - sqrt(20.0) / 9) < 1e-12 && fabs(c[0] - 4.0 / 9) < 1e-12);
}

RUN_TESTS(NULL, NULL)
