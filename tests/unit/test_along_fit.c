/* The correction along the epipolar lines from made-up points: waves that were put in are found, in both views; change,
 * noise and errors of the reference are not taken for waves. */
// SPDX-License-Identifier: Apache-2.0

#include "pointing/along_fit.h"
#include "tests/case.h"

#define TWO_PI 6.28318530717958647692
enum { STEP = 16, ACROSS = 64, ROWS = 4200, COLS = 4000, MOST = (ROWS / STEP) * (COLS / ACROSS + 1) };
static const double NOISE_PX = 0.15, PX_PER_M = 0.04;

typedef struct Case {
    SdmAlongPoint point[MOST];
    size_t count;
    SdmPointing scale;
} Case;
static Case made;

/* The same numbers on every machine: about normal, sigma 1. */
static double noise(uint64_t *state)
{
    double sum = 0.0;
    for (int i = 0; i < 12; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 40) / (double)(1 << 24);
    }
    return sum - 6.0;
}

/* Rows of the right view follow those of the left one and the height of the terrain. */
static void make_points(uint64_t seed)
{
    uint64_t state = seed;
    made = (Case){.scale = {.centre = {2500.0, 2700.0}, .scale = {2500.0, 2700.0}, .terms = 1}};
    for (int row = STEP / 2; row < ROWS; row += STEP)
        for (int col = ACROSS / 2; col < COLS && made.count < MOST; col += ACROSS) {
            const double terrain = 30.0 * sin(col / 310.0 + row / 730.0) * cos(row / 410.0 - col / 150.0);
            made.point[made.count++] =
                (SdmAlongPoint){.value_px = (float)(NOISE_PX * noise(&state)),
                                .col = (float)(1.2 * col),
                                .row = {(float)(1.05 * row + 300.0 + terrain), (float)row},
                                .slope = (float)(0.3 + 0.2 * sin(col / 90.0)),
                                .use = 1};
        }
}

static double wave(const SdmAlongWave *w, double row)
{
    return w->cos_px * cos(TWO_PI * w->per_row * row) + w->sin_px * sin(TWO_PI * w->per_row * row);
}

static void add_wave(int view, const SdmAlongWave *w)
{
    for (size_t i = 0; i < made.count; i++)
        made.point[i].value_px += (float)wave(w, (double)made.point[i].row[view]);
}

static SdmAlongCorrection a; /* the last fit */
static SdmAlongReport r;

/* From where `a` is. */
static void fit(void)
{
    const SdmAlongTask task = {.point = made.point,
                               .count = made.count,
                               .scale = &made.scale,
                               .least_long_px = 0.06,
                               .point_rows = STEP,
                               .average_rows = 1.0};
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    assert_int_equal(sdm_along_fit(ctx, &task, &a, &r), SDM_OK);
}

/* RMS of the whole correction against the waves that were put in and a constant. */
static double error_px(const SdmAlongWave *right, int n, const SdmAlongWave *left, int m, double constant_px)
{
    double sum = 0.0;
    for (size_t i = 0; i < made.count; i++) {
        const SdmAlongPoint *const p = &made.point[i];
        const double at[2] = {(double)p->col, (double)p->row[0]};
        double d = sdm_along_value(&a, &made.scale, at, (double)p->row[1]) - constant_px;
        for (int k = 0; k < n; k++)
            d -= wave(&right[k], (double)p->row[0]);
        for (int k = 0; k < m; k++)
            d -= wave(&left[k], (double)p->row[1]);
        sum += d * d;
    }
    return sqrt(sum / (double)made.count);
}

static const SdmAlongWave THREE[2][3] = {
    {{1.0 / 303.0, 0.10, 0.11}, {1.0 / 880.0, -0.08, 0.06}, {1.0 / 171.0, 0.03, -0.05}},
    {{1.0 / 412.0, 0.09, -0.03}, {1.0 / 1300.0, 0.02, 0.10}, {1.0 / 205.0, -0.05, 0.02}}};

TEST(noise_is_no_wave)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        make_points(seed);
        a = (SdmAlongCorrection){.degree = 0};
        fit();
        assert_int_equal(a.degree, 0);
        assert_int_equal(a.waves[0] + a.waves[1], 0);
        assert_true(fabs(a.coef[0]) < 0.01);
        assert_true(r.rows_seen > 0.99);
        assert_true(r.correction_px == 0.0);
        assert_true(fabs(r.point_px - NOISE_PX) < 0.01);
    }
}

/* Also of the same frequency in both views, as a platform shakes both telescopes. */
TEST(waves_of_each_view_are_found)
{
    static const SdmAlongWave one[2][1] = {{{1.0 / 303.0, 0.12, 0.05}}, {{1.0 / 303.0, -0.06, 0.09}}};
    for (int n = 1; n <= 3; n += 2) {
        const SdmAlongWave *const right = n == 1 ? one[0] : THREE[0], *const left =
                                                                          n == 1 ? one[1] : THREE[1];
        a = (SdmAlongCorrection){.degree = 0};
        make_points(n == 1 ? 6 : 5);
        for (int k = 0; k < n; k++) {
            add_wave(SDM_ALONG_RIGHT, &right[k]);
            add_wave(SDM_ALONG_LEFT, &left[k]);
        }
        fit();
        const double error = error_px(right, n, left, n, 0.0);
        print_message("%d + %d waves, error %.4f px, predicted %.4f\n", a.waves[0], a.waves[1], error,
                      r.correction_px);
        assert_true(error < (n == 1 ? 0.02 : 0.025));
        assert_true(n == 1 || (r.correction_px > 0.5 * error && r.correction_px < 2.0 * error));
    }
}

/* 20 m over 80 % of the columns in an eighth of the rows: it looks like jitter, but for the other columns. */
TEST(a_band_of_change_is_not_fitted)
{
    a = (SdmAlongCorrection){.degree = 0};
    make_points(7);
    add_wave(SDM_ALONG_RIGHT, &THREE[0][0]);
    for (size_t i = 0; i < made.count; i++) {
        SdmAlongPoint *const p = &made.point[i];
        if (p->row[1] > 2000.0f && p->row[1] < 2525.0f && p->col > 480.0f && p->col < 4320.0f)
            p->value_px -= (float)(20.0 * PX_PER_M);
    }
    fit();
    print_message("%d + %d waves, degree %d, error %.4f px\n", a.waves[0], a.waves[1], a.degree,
                  error_px(THREE[0], 1, NULL, 0, 0.0));
    assert_true(error_px(THREE[0], 1, NULL, 0, a.coef[0]) < 0.3 * PX_PER_M);
    assert_true(fabs(a.coef[0]) < PX_PER_M); /* until the change mask leaves the band out */
}

TEST(a_tilt_is_found_where_it_is_strong)
{
    for (int strong = 0; strong < 2; strong++) {
        make_points(8);
        a = (SdmAlongCorrection){.degree = 0};
        for (size_t i = 0; i < made.count; i++)
            made.point[i].value_px +=
                (float)((strong ? 0.2 : 0.05) * ((double)made.point[i].col / 2500.0 - 1.0) + 0.3);
        fit();
        assert_int_equal(a.degree, strong);
        assert_int_equal(a.waves[0] + a.waves[1], 0);
        if (strong)
            assert_true(fabs(a.coef[1] - 0.2) < 0.02);
        assert_true(fabs(sdm_pointing_polynomial(&made.scale, a.degree, a.coef, 2500.0, 2700.0) - 0.3) <
                    0.02);
    }
}

/* Points without a value are left out, and so are waves that are no longer there when a fit starts at another one's. */
TEST(a_fit_starts_at_the_last_one)
{
    a = (SdmAlongCorrection){.degree = 1, .coef = {0.2, 0.3}, .waves = {1, 1}};
    make_points(10);
    for (int k = 0; k < 6; k++)
        add_wave(k / 3, &THREE[k / 3][k % 3]);
    for (size_t i = 0; i < made.count; i += 97) {
        made.point[i].value_px = NAN;
        made.point[i].use = 0;
    }
    a.wave[0][0] = (SdmAlongWave){1.0 / 530.0, 0.1, 0.1}; /* is not there */
    a.wave[1][0] = THREE[1][0];
    fit();
    print_message("%d + %d waves, degree %d, error %.4f px\n", a.waves[0], a.waves[1], a.degree,
                  error_px(THREE[0], 3, THREE[1], 3, 0.0));
    assert_int_equal(a.degree, 0);
    for (int i = 0; i < a.waves[0]; i++)
        assert_true(fabs(a.wave[0][i].per_row - 1.0 / 530.0) > 1e-5);
    assert_true(error_px(THREE[0], 3, THREE[1], 3, 0.0) < 0.025);
}

TEST_CTX(too_few_points_are_refused)
{
    a = (SdmAlongCorrection){.degree = 0};
    make_points(9);
    const SdmAlongTask task = {
        .point = made.point, .count = 29, .scale = &made.scale, .point_rows = STEP, .average_rows = 1.0};
    assert_int_equal(sdm_along_fit(ctx, &task, &a, &r), SDM_ERR_DATA);
}

RUN_TESTS(NULL, NULL)
