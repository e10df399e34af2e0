/* Undulations against the values NGA publishes with EGM96 (its F477 test points). */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geoid.h"
#include "tests/case.h"

/* The antimeridian, the pole, no place. */
TEST_CTX(edges)
{
    const double lon[] = {179.99, 180.0, -180.0, -179.99, 0.0, NAN}, lat[] = {10, 10, 10, 10, 90, 0};
    double got[6];
    SdmGeoid *g;
    assert_int_equal(sdm_geoid_open(ctx, SDM_EGM96, &g), SDM_OK);
    assert_int_equal(sdm_geoid_undulation(ctx, g, 6, lon, lat, got), SDM_OK);
    assert_true(fabs(got[0] - got[1]) < 0.05 && got[1] == got[2] && fabs(got[3] - got[2]) < 0.05);
    assert_true(fabs(got[4] - 13.606) < 0.3 && isnan(got[5])); /* N at the pole, EGM96 */
    sdm_geoid_close(&g);
    sdm_geoid_close(&g);
}

/* The program's own grids: EGM2008 at NGA's test place and at places where gpsd's table, made by
 * GeographicLib, has it; EGM96 at NGA's test points; all round the Earth, and over both poles. */
TEST_CTX(own_grids)
{
    static const struct {
        int vertical;
        double lat, lon, n, most;
    } place[] = {
        {SDM_EGM2008, 37.0, 241.0, -26.151, 0.06},        {SDM_EGM2008, 90.0, 0.0, 14.899, 0.03},
        {SDM_EGM2008, -90.0, 77.0, -30.150, 0.03},        {SDM_EGM2008, -20.0, -70.0, 34.96, 0.06},
        {SDM_EGM2008, 35.0, -180.0, -10.04, 0.06},        {SDM_EGM2008, 35.0, 180.0, -10.04, 0.06},
        {SDM_EGM2008, 20.0, -100.0, -7.47, 0.06},         {SDM_EGM2008, -85.0, -175.0, -36.08, 0.06},
        {SDM_EGM96, 38.628155, 269.779155, -31.628, 0.2}, {SDM_EGM96, -14.621217, 305.021114, -2.969, 0.2},
        {SDM_EGM96, 38.625473, 359.9995, 50.066, 0.2},    {SDM_EGM96, -0.466744, 0.0023, 17.329, 0.2},
        {SDM_EGM96, 46.874319, 102.448729, -43.575, 0.3}, {SDM_EGM96, 90.0, 12.0, 13.606, 0.03},
    };
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        SDM_CLOSED_BY(sdm_geoid_close) SdmGeoid *g = NULL;
        double n;
        assert_int_equal(sdm_geoid_open_own(ctx, place[i].vertical, &g), SDM_OK);
        assert_string_equal(sdm_geoid_source(g), "the program's grid of 15'");
        assert_int_equal(sdm_geoid_undulation(ctx, g, 1, &place[i].lon, &place[i].lat, &n), SDM_OK);
        if (!(fabs(n - place[i].n) <= place[i].most))
            fail_msg("lat %.2f lon %.2f: %.3f m, expected %.3f", place[i].lat, place[i].lon, n, place[i].n);
    }
}

/* Both kinds of grid are one geoid, where PROJ has EGM96; EGM2008 is always there. */
TEST_CTX(grids_agree)
{
    SdmGeoid *own, *any;
    double most = 0.0;
    for (int vertical = SDM_EGM96; vertical <= SDM_EGM2008; vertical++) {
        assert_int_equal(sdm_geoid_open_own(ctx, vertical, &own), SDM_OK);
        assert_int_equal(sdm_geoid_open(ctx, vertical, &any), SDM_OK);
        for (double lat = -90.0; lat <= 90.0; lat += 1.7)
            for (double lon = -190.0; lon <= 370.0; lon += 3.1) {
                double a, b;
                assert_int_equal(sdm_geoid_undulation(ctx, own, 1, &lon, &lat, &a), SDM_OK);
                assert_int_equal(sdm_geoid_undulation(ctx, any, 1, &lon, &lat, &b), SDM_OK);
                most = fmax(most, fabs(a - b));
            }
        sdm_geoid_close(&own);
        sdm_geoid_close(&any);
    }
    assert_true(most < 1.7); /* PROJ interpolates its grid linearly */
}

RUN_TESTS(NULL, NULL)
