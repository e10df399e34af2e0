/* The DEM's CRS and grid, and the way to it and back. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/grid.h"
#include "geo/projector.h"
#include "tests/case.h"

static SdmGrid g; /* the last one chosen, and the sentence */
static char why[1024];

static SdmStatus choose(const char *t_srs, double tr, double lon, double lat, double gsd)
{
    SdmOptions opt = default_options();
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = NULL;
    opt.t_srs = t_srs;
    opt.tr = tr;
    SdmStatus st = sdm_open(&ctx, &opt); /* refuses what is absurd whatever the scene */
    if (st == SDM_OK)
        st = sdm_grid_choose(ctx, &opt, lon, lat, gsd, &g);
    snprintf(why, sizeof why, "%s", sdm_error(ctx));
    return st;
}

TEST(zones)
{
    static const struct {
        double lon, lat;
        const char *code;
    } place[] = {{-3.0, 16.7, "\"32630\"]]"},   {3.0, -16.7, "\"32731\"]]"},  {180.0, 10.0, "\"32601\"]]"},
                 {-180.0, 10.0, "\"32601\"]]"}, {179.9, 10.0, "\"32660\"]]"}, {540.0, 10.0, "\"32601\"]]"},
                 {20.0, 84.5, "\"3413\"]]"},    {20.0, -80.5, "\"3031\"]]"},  {5.999, 83.9, "\"32631\"]]"}};
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        assert_int_equal(choose(NULL, 0, place[i].lon, place[i].lat, 15.0), SDM_OK);
        assert_non_null(strstr(g.wkt, place[i].code));
        assert_false(g.geographic);
        assert_true(g.spacing == 30.0);
    }
}

TEST(spacings)
{
    static const struct {
        const char *srs;
        double tr, lat, gsd, want;
    } t[] = {{NULL, 0, 10, 15, 30},
             {NULL, 0, 10, 0.7, 1.5},
             {NULL, 0, 10, 0.31, 0.5},
             {NULL, 0, 10, 7.43, 15},
             {NULL, 0, 10, 123.0, 300},
             {NULL, 12.5, 10, 15, 12.5},
             {"EPSG:4326", 0, 10, 15, 1.0 / 3600},
             {"EPSG:4326", 0, 60, 15, 1.5 / 3600},
             {"EPSG:4326", 0, 10, 0.7, 0.05 / 3600},
             {"EPSG:4326", 0.0005, 10, 15, 0.0005}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        assert_int_equal(choose(t[i].srs, t[i].tr, 20, t[i].lat, t[i].gsd), SDM_OK);
        assert_true(fabs(g.spacing / t[i].want - 1.0) < 1e-14);
        assert_int_equal(g.geographic, t[i].srs != NULL);
    }
}

TEST(refusals)
{
    static const struct {
        const char *srs;
        double tr;
        const char *says;
    } bad[] = {{"EPSG:999999", 0, "not a coordinate system"},
               {"nonsense", 0, "not a coordinate system"},
               {"", 0, "--t_srs"},
               {"https://example.org/x", 0, "not a coordinate system"},
               {"EPSG:4978", 0, "geocentric"},
               {"EPSG:4979", 0, "vertical part"},
               {"EPSG:4326+5773", 0, "vertical part"},
               {"EPSG:5773", 0, "vertical part"},
               {"EPSG:4326", 30, "degrees"},
               {NULL, NAN, "--tr"},
               {NULL, -30, "--tr"},
               {NULL, 1e-6, "--tr"},
               {NULL, 1e12, "--tr"},
               {NULL, INFINITY, "--tr"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(choose(bad[i].srs, bad[i].tr, 20, 10, 15), SDM_ERR_USAGE);
        if (!strstr(why, bad[i].says))
            fail_msg("%s %g: %s", bad[i].srs ? bad[i].srs : "-", bad[i].tr, why);
    }
}

TEST(other_units)
{
    assert_int_equal(choose("EPSG:2263", 0, -74.0, 40.7, 15.0), SDM_OK); /* US survey feet */
    assert_true(g.spacing == 100.0);
    assert_int_equal(choose("+proj=laea +lat_0=10 +lon_0=20 +datum=WGS84", 0, 20, 10, 15), SDM_OK);
    assert_true(g.spacing == 30.0);
    assert_int_equal(choose("EPSG:3857", 0, 20, 60, 15), SDM_OK); /* measured on the ground */
    assert_true(g.spacing == 50.0);
    assert_int_equal(choose("EPSG:3857", 1, 20, 86, 15), SDM_ERR_USAGE); /* 0.07 m there */
    assert_non_null(strstr(why, "m on the ground"));
}

TEST(covers_on_multiples)
{
    g = (SdmGrid){.spacing = 30.0};
    const double b[4] = {500001.0, 999999.0, 500091.0, 1000031.0};
    assert_int_equal(sdm_grid_cover(NULL, b, &g), SDM_OK);
    assert_true(g.x0 == 499980.0 && g.y0 == 1000050.0 && g.cols == 4 && g.rows == 2);
    const double on[4] = {-60.0, -30.0, 30.0, 30.0};
    assert_int_equal(sdm_grid_cover(NULL, on, &g), SDM_OK);
    assert_true(g.x0 == -60.0 && g.y0 == 30.0 && g.cols == 3 && g.rows == 2);
    const double turned[4] = {10.0, 0.0, -100.0, 1.0}, none[4] = {NAN, 0, 1, 1}, vast[4] = {0, 0, 1e14, 1};
    assert_int_equal(sdm_grid_cover(NULL, turned, &g), SDM_ERR_DATA);
    assert_int_equal(sdm_grid_cover(NULL, none, &g), SDM_ERR_DATA);
    assert_int_equal(sdm_grid_cover(NULL, vast, &g), SDM_ERR_USAGE);
}

/* Sides on the ground: Mercator stretches by 1 / cos(latitude), degrees of longitude shrink by cos. */
TEST(cells_on_the_ground)
{
    static const struct {
        const char *srs;
        double tr, lat, want_m;
    } t[] = {{"EPSG:32634", 30, 70, 30.0},
             {"EPSG:3857", 30, 0, 30.0},
             {"EPSG:3857", 30, 60, 15.0},
             {"EPSG:3857", 30, -70, 30.0 * 0.34202},
             {"EPSG:4326", 0.001, 0, 111.32},
             {"EPSG:4326", 0.001, 60, 111.32 * 0.70711},
             {"EPSG:4326", 0.001, -80, 111.32 * 0.41671}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        double side_m = 0.0;
        assert_int_equal(choose(t[i].srs, t[i].tr, 20, t[i].lat, 15), SDM_OK);
        assert_int_equal(sdm_grid_ground_m(NULL, &g, 20, t[i].lat, &side_m), SDM_OK);
        assert_true(fabs(side_m / t[i].want_m - 1.0) < 0.005);
    }
}

TEST(projector_round_trip)
{
    /* lon 3 lat 0 is (500000, 0) of UTM 31N; 0.3 deg east of it at lat 45.5 some 23.4 km */
    SdmProjector *p;
    assert_int_equal(choose("EPSG:32631", 0, 3, 45, 15), SDM_OK);
    assert_int_equal(sdm_projector_open(NULL, g.wkt, &p), SDM_OK);
    double x[3] = {3.0, 3.3, NAN}, y[3] = {0.0, 45.5, 1.0};
    sdm_projector_forward(p, 3, x, y);
    assert_true(fabs(x[0] - 500000.0) < 1e-6 && fabs(y[0]) < 1e-6);
    assert_true(fabs(x[1] - 523436.0) < 30.0 && y[1] > 5.03e6 && y[1] < 5.05e6);
    assert_true(isnan(x[2]) && isnan(y[2]));
    sdm_projector_inverse(p, 3, x, y);
    assert_true(fabs(x[1] - 3.3) < 1e-11 && fabs(y[1] - 45.5) < 1e-11 && isnan(x[2]));
    sdm_projector_close(&p);
    sdm_projector_close(&p);
    assert_int_equal(choose("EPSG:4326", 0, 3, 45, 15), SDM_OK); /* lat, lon by its authority */
    assert_int_equal(sdm_projector_open(NULL, g.wkt, &p), SDM_OK);
    x[0] = 3.0;
    y[0] = 45.0;
    sdm_projector_forward(p, 1, x, y);
    assert_true(x[0] == 3.0 && y[0] == 45.0);
    sdm_projector_close(&p);
    assert_int_not_equal(sdm_projector_open(NULL, "rubbish", &p), SDM_OK);
    assert_null(p);
}

/* The last transformation is kept: handles of it, and of others in between, know nothing of each other. */
TEST(projectors_in_turn)
{
    static const int codes[] = {32631, 32632, 32631, 2154, 32631};
    SdmProjector *p[5];
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "EPSG:%d", codes[i]);
        assert_int_equal(choose(name, 0, 3, 45, 15), SDM_OK);
        assert_int_equal(sdm_projector_open(NULL, g.wkt, &p[i]), SDM_OK);
        if (i == 1) /* what is not found is not kept */
            assert_int_not_equal(sdm_projector_open(NULL, "rubbish", &p[2]), SDM_OK);
    }
    const double east[] = {500000.0, 9000.0, 500000.0, 700000.0, 500000.0};
    for (int i = 0; i < 5; i++) {
        double x = 3.0, y = 46.5;
        sdm_projector_forward(p[i], 1, &x, &y);
        assert_true(fabs(x - east[i]) < (i == 1 ? 40000.0 : 1e-6));
        sdm_projector_close(&p[i]);
    }
}

RUN_TESTS(NULL, NULL)
