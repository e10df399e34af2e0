/* ASTER camera: a made orbit, damaged tables.  A real scene: test_pointing_ties.c. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"
#include "input/camera.h"

/* ---- geodetic and Earth-centred coordinates; what they are: tests/geometry ---- */

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

/* ---- a made orbit: a circle of 7,076 km, inclined, and the camera worked out the plain way ---- */

enum { NROW = 13, NCOL = 11 };
typedef struct Made {
    double lattice[NROW * NCOL * 2], sight[NROW * NCOL * 3], position[NROW * 3], velocity[NROW * 3];
    double first_row, dt_s, back, lon_deg, phase_deg;
} Made;
static const double OMEGA = 7.2921159e-5, RADIUS = 7076e3;

/* Satellite at a row: Earth-fixed position and inertial velocity on Earth-fixed axes. */
static void made_state(const Made *m, double row, double p[3], double v[3])
{
    const double speed = sqrt(3.986004418e14 / RADIUS), t = row * m->dt_s, incl = 98.2 * SDM_DEG;
    const double u = m->phase_deg * SDM_DEG + speed / RADIUS * t, node = m->lon_deg * SDM_DEG - OMEGA * t;
    const double pi[3] = {cos(u), sin(u) * cos(incl), sin(u) * sin(incl)};
    const double vi[3] = {-sin(u), cos(u) * cos(incl), cos(u) * sin(incl)};
    p[0] = RADIUS * (cos(node) * pi[0] - sin(node) * pi[1]),
    p[1] = RADIUS * (sin(node) * pi[0] + cos(node) * pi[1]);
    v[0] = speed * (cos(node) * vi[0] - sin(node) * vi[1]),
    v[1] = speed * (sin(node) * vi[0] + cos(node) * vi[1]);
    p[2] = RADIUS * pi[2], v[2] = speed * vi[2];
}

/* Sight vector of a column: a slightly bent fan, tilted back. */
static void made_sight(const Made *m, double col, double s[3])
{
    const double x = (col - 2050) / 2050, y = 0.09 + 0.0434 * x - 4e-5 * x * x * x;
    const double d[3] = {-m->back + 2e-4 * x * x, y, 1.0};
    for (int i = 0; i < 3; ++i)
        s[i] = d[i] / sqrt(sdm_dot3(d, d));
}

static SdmAsterArrays make(Made *m)
{
    for (int k = 0; k < NROW; ++k) {
        made_state(m, m->first_row + 400 * k, m->position + 3 * k, m->velocity + 3 * k);
        for (int j = 0; j < NCOL; ++j) {
            m->lattice[2 * (k * NCOL + j)] = 410 * j;
            m->lattice[2 * (k * NCOL + j) + 1] = m->first_row + 400 * k;
            made_sight(m, 410 * j, m->sight + 3 * (k * NCOL + j));
        }
    }
    return (SdmAsterArrays){NROW, NCOL, m->lattice, m->sight, m->position, m->velocity, NULL, false};
}

/* Ray of a pixel, the plain way, on to the height. */
static void made_locate(const Made *m, const double image[3], double ground[3])
{
    double p[3], v[3], s[3], x[3], y[3], z[3], dir[3];
    made_state(m, image[1], p, v);
    made_sight(m, image[0], s);
    sdm_cross3(p, v, y);
    const double ny = sqrt(sdm_dot3(y, y)), nz = sqrt(sdm_dot3(p, p));
    for (int i = 0; i < 3; ++i)
        y[i] /= -ny, z[i] = -p[i] / nz;
    sdm_cross3(y, z, x);
    for (int i = 0; i < 3; ++i)
        dir[i] = s[0] * x[i] + s[1] * y[i] + s[2] * z[i];
    assert_true(sdm_intersect_height(p, dir, image[2], ground));
}

static SdmCamera *opened(SdmContext *ctx, const SdmAsterArrays *in)
{
    SdmCamera *cam = NULL;
    assert_int_equal(sdm_camera_open_aster(ctx, "made", in, &cam), SDM_OK);
    return cam;
}

static double distance_m(const double a[3], const double b[3])
{
    double p[3], q[3];
    sdm_geodetic_to_ecef(a[0], a[1], a[2], p);
    sdm_geodetic_to_ecef(b[0], b[1], b[2], q);
    return hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]);
}

/* Between what two cameras see at a pixel and height. */
static double apart_m(const SdmCamera *a, const SdmCamera *b, const double image[3])
{
    double at[2][3];
    sdm_camera_locate(a, 1, image, at[0]);
    sdm_camera_locate(b, 1, image, at[1]);
    return distance_m(at[0], at[1]);
}

/* Over the whole image, a fifth beyond, nadir and back: against the plain way, and there and back.
 * Places: the Alps, the antimeridian, 82 N (turning point of the orbit), 50 S. */
TEST_CTX(made_orbit)
{
    static const double place[][2] = {{5, 135}, {180, 0.2}, {-40, 90}, {100, 230}};
    for (int c = 0; c < 8; ++c) {
        Made m = {.first_row = -232,
                  .dt_s = 2.199e-3,
                  .back = c % 2 ? 0.523 : 0.0,
                  .lon_deg = place[c / 2][0],
                  .phase_deg = place[c / 2][1]};
        SdmAsterArrays in = make(&m);
        SdmCamera *cam = opened(ctx, &in);
        assert_string_equal(cam->kind, "aster");
        for (double row = -900; row <= 5000; row += 590)
            for (double col = -820; col <= 4920; col += 574)
                for (double h = -500; h <= 9000; h += 4750) {
                    const double image[3] = {col, row, h};
                    double want[3], got[3], back[2], turned[2];
                    made_locate(&m, image, want);
                    sdm_camera_locate(cam, 1, image, got);
                    /* J2, which the made circle lacks, bends the fitted orbit: 1.2 m at row -900 */
                    assert_true(distance_m(want, got) < 1.5);
                    assert_true(got[0] >= -180 && got[0] <= 180 && got[2] == h);
                    sdm_camera_project(cam, 1, got, back);
                    assert_true(hypot(back[0] - col, back[1] - row) < 1e-4);
                    got[0] += 360;
                    sdm_camera_project(cam, 1, got, turned);
                    assert_true(hypot(turned[0] - back[0], turned[1] - back[1]) < 1e-6);
                }
        sdm_camera_close(&cam);
        assert_null(cam);
    }
}

/* Sight vectors of text deliveries are rounded to 1e-6, 0.7 m on the ground.  The camera keeps less of that than a curve
 * of fixed degree, and exact ones stay exact. */
TEST_CTX(rounded_sights)
{
    enum { SCENES = 12 };
    double squares = 0.0;
    int n = 0;
    for (int c = 0; c < SCENES; ++c) {
        Made m = {.first_row = -232, .dt_s = 2.199e-3, .back = 0.0137 * c, .lon_deg = 5, .phase_deg = 135};
        SdmAsterArrays in = make(&m);
        SDM_CLOSED_BY(sdm_camera_close) SdmCamera *exact = opened(ctx, &in), *rounded = NULL;
        for (int i = 0; i < NROW * NCOL * 3; ++i)
            m.sight[i] = round(m.sight[i] * 1e6) / 1e6;
        rounded = opened(ctx, &in);
        for (double col = 0; col <= 4100; col += 100, ++n) {
            const double image[3] = {col, 2000, 0};
            double want[3], got[3];
            made_locate(&m, image, want);
            sdm_camera_locate(exact, 1, image, got);
            assert_true(distance_m(want, got) < 0.5);
            squares += pow(apart_m(exact, rounded, image), 2);
        }
    }
    print_message("rounded sight vectors: %.3f m\n", sqrt(squares / n));
    assert_true(sqrt(squares / n) < 0.17); /* 0.19 m with degree 5 */
}

/* Inertial and Earth-fixed velocities must give one camera, and so must none at all. */
TEST_CTX(velocity_kinds)
{
    Made m = {.first_row = -232, .dt_s = 2.199e-3, .back = 0.523, .lon_deg = 5, .phase_deg = 135};
    SdmAsterArrays in = make(&m);
    SdmCamera *cam[3] = {NULL};
    double geocentric[NROW * NCOL * 2], fixed[NROW * 3];
    cam[0] = opened(ctx, &in);
    for (int k = 0; k < NROW; ++k) {
        const double *const p = m.position + 3 * k, *const v = m.velocity + 3 * k;
        fixed[3 * k] = v[0] + OMEGA * p[1], fixed[3 * k + 1] = v[1] - OMEGA * p[0], fixed[3 * k + 2] = v[2];
    }
    assert_true(sqrt(sdm_dot3(fixed, fixed)) > 7570);
    in.velocity_mps = fixed;
    cam[1] = opened(ctx, &in);
    for (int k = 0; k < NROW * NCOL; ++k) {
        const double image[3] = {m.lattice[2 * k], m.lattice[2 * k + 1], 0};
        double g[3];
        made_locate(&m, image, g);
        geocentric[2 * k] = atan(tan(g[1] * SDM_DEG) * 0.99330562) / SDM_DEG;
        geocentric[2 * k + 1] = g[0];
    }
    in.velocity_mps = NULL;
    in.geocentric_deg = geocentric;
    cam[2] = opened(ctx, &in);
    for (int k = 1; k < 3; ++k)
        assert_true(apart_m(cam[0], cam[k], (double[]){100, 4000, 300}) < (k == 1 ? 0.05 : 0.3));
    geocentric[0] += 0.01;
    SdmCamera *none = NULL;
    assert_refused(ctx, sdm_camera_open_aster(ctx, "off", &in, &none), SDM_ERR_INPUT,
                   "latitude and longitude lie up to");
    in.geocentric_deg = NULL;
    assert_int_equal(sdm_camera_open_aster(ctx, "bare", &in, &none), SDM_ERR_INPUT);
    for (int k = 0; k < 3; ++k)
        sdm_camera_close(&cam[k]);
}

/* Noise of single rows must not reach the camera: 0.3 m and 0.05 m/s are worth 4 m in one row. */
TEST_CTX(noise_is_averaged)
{
    Made m = {.first_row = -39, .dt_s = 2.199e-3, .back = 0.523, .lon_deg = 5, .phase_deg = 135};
    SdmAsterArrays in = make(&m);
    SDM_CLOSED_BY(sdm_camera_close) SdmCamera *clean = opened(ctx, &in), *noisy = NULL;
    for (int i = 0; i < NROW * 3; ++i) {
        m.position[i] += 0.4 * sin(17.0 * i * i);
        m.velocity[i] += 0.07 * sin(5.0 + 23.0 * i * i);
    }
    noisy = opened(ctx, &in);
    for (double row = 0; row <= 4600;
         row += 1150) /* one row's yaw alone: 9 urad x 400 km = 4 m, and the position */
        assert_true(apart_m(clean, noisy, (double[]){4000, row, 0}) < 1.5);
}

/* Points that the camera cannot see give NaN, never a number. */
TEST_CTX(nowhere)
{
    Made m = {.first_row = -232, .dt_s = 2.199e-3, .lon_deg = 5, .phase_deg = 135};
    SdmAsterArrays in = make(&m);
    SDM_CLOSED_BY(sdm_camera_close) SdmCamera *cam = opened(ctx, &in);
    const double mid[3] = {2050, 2100, 0};
    double g[3], image[2];
    sdm_camera_locate(cam, 1, mid, g);
    const double far[][3] = {{g[0] + 180, -g[1], 0}, {g[0], g[1] + 40, 0}, {g[0] + 30, g[1], 0},
                             {NAN, g[1], 0},         {g[0], NAN, 0},       {g[0], g[1], NAN},
                             {g[0], g[1], 2e6},      {INFINITY, 0, 0}};
    for (size_t i = 0; i < sizeof far / sizeof *far; ++i) {
        sdm_camera_project(cam, 1, far[i], image);
        assert_true(isnan(image[0]) && isnan(image[1]));
    }
    const double off[][3] = {{2050, NAN, 0}, {NAN, 0, 0}, {0, 0, NAN},
                             {2050, 1e6, 0}, {1e6, 0, 0}, {0, 0, 1e7}};
    for (size_t i = 0; i < sizeof off / sizeof *off; ++i) {
        sdm_camera_locate(cam, 1, off[i], g);
        assert_true(isnan(g[0]) && isnan(g[1]) && isnan(g[2]));
    }
}

/* One number wrong in the tables: SDM_ERR_INPUT and a sentence with the word. */
TEST_CTX(damaged_tables)
{
    const struct {
        int table, at; /* 0 position, 1 velocity, 2 sight, 3 lattice */
        double value;
        const char *word;
    } damage[] = {{0, 5, 0, "km from the Earth's centre"},
                  {0, 5, NAN, "Earth's centre"},
                  {1, 4, 1e6, "velocity is"},
                  {1, 4, NAN, "velocity"},
                  {0, 6, 1e5, "one orbit"},
                  {2, 40, 9, "sight vector"},
                  {2, 40, NAN, "sight"},
                  {3, 1, 77, "out of line"},
                  {3, 40, NAN, "out of line"}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; ++i) {
        Made m = {.first_row = -232, .dt_s = 2.199e-3, .lon_deg = 5, .phase_deg = 135};
        SdmAsterArrays in = make(&m);
        double *const table[] = {m.position, m.velocity, m.sight, m.lattice};
        SdmCamera *cam = NULL;
        double *const at = &table[damage[i].table][damage[i].at];
        *at = damage[i].value +
              (damage[i].value == 1e5 ? *at : 0.0); /* metres off, yet at a possible distance */
        assert_refused(ctx, sdm_camera_open_aster(ctx, "tables", &in, &cam), SDM_ERR_INPUT, damage[i].word);
        assert_null(cam);
    }
}

RUN_TESTS(NULL, NULL)
