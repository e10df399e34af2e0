/* Pointing fitted on one half of the real scene's ties (Mt Rainier), judged on the other half by how rays
 * miss. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"
#include "rays.h"
#include "pointing/pointing_fit.h"
#include "input/aster_files.h"

#define RAINIER DATA "aster_rainier/"
#define ROWS 5400    /* of the 3B image */
#define PIXEL_M 15.2 /* gap of one pixel across the epipolar line */
enum { MOST = 2000, SPLITS = 8 };

typedef struct Tie {
    double left[2], right[2];
    double across[2];     /* unit vector across the epipolar line, right image */
    double correction_px; /* how far the right point lies from that line, along it */
} Tie;

static int read_ties(Tie *tie)
{
    FILE *const f = fopen(RAINIER "ties_3N_3B.csv", "r");
    char line[256];
    int n = 0;
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    for (; n < MOST && fgets(line, sizeof line, f); n++) {
        Tie *const t = &tie[n];
        assert_int_equal(
            sscanf(line, "%lf %lf %lf %lf", &t->left[0], &t->left[1], &t->right[0], &t->right[1]), 4);
    }
    fclose(f);
    assert_int_equal(n, 1145);
    return n;
}

/* Where the left pixel's ray lies in the right image at heights 0 and 2000 m: the epipolar line. */
static void find_target(SdmCamera *const cam[2], Tie *t)
{
    const double image[6] = {t->left[0], t->left[1], 0, t->left[0], t->left[1], 2000};
    double ground[6], line[4];
    sdm_camera_locate(cam[0], 2, image, ground);
    sdm_camera_project(cam[1], 2, ground, line);
    const double dx = line[2] - line[0], dy = line[3] - line[1], length = hypot(dx, dy);
    t->across[0] = -dy / length;
    t->across[1] = dx / length;
    t->correction_px = (t->right[0] - line[0]) * t->across[0] + (t->right[1] - line[1]) * t->across[1];
}

/* Mean |gap| in metres of the ties with side[i] == which, the right points corrected by p; *bias: mean gap.
 */
static double mean_gap(SdmCamera *const cam[2], const Tie *tie, int n, const uint8_t *side, int which,
                       const SdmPointing *p, double *bias)
{
    double sum = 0.0;
    *bias = 0.0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        double pa[3], da[3], pb[3], db[3], got[3];
        if (side[i] != which)
            continue;
        const double f = sdm_pointing_value(p, tie[i].right[0], tie[i].right[1]);
        ray(cam[0], tie[i].left[0], tie[i].left[1], pa, da);
        ray(cam[1], tie[i].right[0] - f * p->dir[0], tie[i].right[1] - f * p->dir[1], pb, db);
        meet(pa, da, pb, db, got);
        sum += fabs(got[1]);
        *bias += got[1];
        count++;
    }
    *bias /= count;
    return sum / count;
}

/* 0, 1: even and odd lines of the file, each way round; then by a pseudo-random coin. */
static void split(int n, int how, uint8_t *side)
{
    uint32_t state = 12345u + (uint32_t)how;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        side[i] = (uint8_t)(how < 2 ? (i + how) & 1 : state >> 31);
    }
}

/* The grid on which the right points were found, fitted to the ties: 3B as a homography lays it over 3N.
 * Columns and rows: (h[0] x + h[1] y + h[2]) / (1 + h[3] x + h[4] y), x and y as in grid_px. */
static const double GRID[2][5] = {
    {2488.410323, -7.817118454, 1164.379435, -8.194605255e-4, -1.035746009e-4},
    {202.908551, 2703.563463, -0.2084588332, -8.194605255e-4, -1.035746009e-4},
};

static double grid_px(const double h[5], const double image[2])
{
    const double x = (image[0] - 2500.0) / 2500.0, y = (image[1] - 2700.0) / 2700.0;
    return (h[0] * x + h[1] * y + h[2]) / (1.0 + h[3] * x + h[4] * y);
}

/* Both ends of every tie are whole pixels: the left ones of 3N, the right ones of that grid, to the last
 * digit of the floats in which they were kept (half a step of 1/2048 px). */
TEST(whole_pixels)
{
    NEED(RAINIER "ties_3N_3B.csv");
    static Tie tie[MOST];
    const int n = read_ties(tie);
    double farthest = 0.0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            const double at = grid_px(GRID[k], tie[i].right);
            farthest = fmax(farthest, fabs(at - round(at)));
            assert_true(tie[i].left[k] == round(tie[i].left[k]));
        }
    print_message("right points lie within %.5f px of whole pixels of their grid\n", farthest);
    assert_true(farthest < 0.0003);
}

/* What whole pixels leave of the gaps, m. */
typedef struct Rounding {
    double exact_m; /* mean |gap| of points found exactly and then rounded, cameras without error */
    double least_m; /* of the same points: the least mean |gap| that any correction by position can leave */
    double half_m, whole_m; /* mean |gap| seen: of points with s near half pixels, and of the others */
} Rounding;

/* A point that lies at u in 3N and at u + s in the grid (a pixel of it is 0.996 px) gives the whole number
 * round(u + s) - round(u): floor(s), or with probability f = frac(s) one more.  Its gap is that number - s,
 * so f = frac(-gap).  Mean |gap| is 2 f (1 - f) about the true correction, and min(f, 1 - f) about the
 * likelier whole number, the least there is. */
static Rounding rounding(const Tie *tie, int n, const uint8_t *side, int which, const SdmPointing *p)
{
    Rounding got = {0};
    int count = 0, halves = 0;
    for (int i = 0; i < n; i++) {
        if (side[i] != which)
            continue;
        const double gap = tie[i].correction_px - sdm_pointing_value(p, tie[i].right[0], tie[i].right[1]);
        const double f = -gap - floor(-gap);
        const bool half = f > 0.2 && f < 0.8;
        got.exact_m += 2.0 * f * (1.0 - f) * PIXEL_M;
        got.least_m += fmin(f, 1.0 - f) * PIXEL_M;
        *(half ? &got.half_m : &got.whole_m) += fabs(gap) * PIXEL_M;
        halves += half;
        count++;
    }
    assert_true(halves > 50 && count - halves > 50);
    got.exact_m /= count;
    got.least_m /= count;
    got.half_m /= halves;
    got.whole_m /= count - halves;
    return got;
}

/* Mean |gap| (m) of ties about the median of their own square of cell px: without any model, the least that a
 * correction can leave which is flat over so many pixels, were it fitted to the very ties that judge it. */
static double about_own_median(const Tie *tie, int n, int cell)
{
    double sum = 0.0, near[MOST];
    int count = 0;
    for (int i = 0; i < n; i++) {
        int m = 0;
        for (int k = 0; k < n; k++)
            if ((int)tie[k].left[0] / cell == (int)tie[i].left[0] / cell &&
                (int)tie[k].left[1] / cell == (int)tie[i].left[1] / cell)
                near[m++] = tie[k].correction_px;
        if (m < 2)
            continue;
        qsort(near, (size_t)m, sizeof *near, ascending);
        sum += fabs(tie[i].correction_px - (near[(m - 1) / 2] + near[m / 2]) / 2.0);
        count++;
    }
    assert_true(count > 800);
    return sum / count * PIXEL_M;
}

/* Fit on the ties of one side. */
static void fit_half(SdmContext *ctx, const Tie *tie, int n, const uint8_t *side, int which, SdmPointing *p)
{
    static SdmTiePoint sample[MOST];
    SdmPointRound round = {0};
    size_t count = 0;
    for (int i = 0; i < n; i++)
        if (side[i] == which)
            sample[count++] =
                (SdmTiePoint){tie[i].right[0], tie[i].right[1], tie[i].correction_px, tie[i].correction_px};
    const SdmFitTask task = {.point = sample,
                             .response = 1.0,
                             .count = count,
                             .max_degree = 6,
                             .with_profile = true,
                             .rows = ROWS,
                             .left = "3N",
                             .right = "3B"};
    assert_int_equal(sdm_pointing_fit(ctx, &task, p, &round), SDM_OK);
    sdm_free(&round.samples);
}

/* The correction must take the bias away, and do so as well as a fit on the judged half itself.  Mean |gap|
 * stays at 7.3 m: whole pixels alone leave 6.1 m with cameras free of error, the scatter of points found the
 * rest.  4 m are beyond these ties: no correction by position gets below 4.6 m even of points found exactly.
 */
TEST_CTX(other_half)
{
    NEED(RAINIER "ties_3N_3B.csv");
    static Tie tie[MOST];
    static uint8_t side[MOST];
    SdmCamera *cam[2] = {NULL, NULL};
    for (int k = 0; k < 2; ++k)
        assert_int_equal(sdm_aster_open_tables(ctx, RAINIER "camera/AST_L1A_00307312017190728_DERIVED",
                                               k ? "3B" : "3N", &cam[k]),
                         SDM_OK);
    const int n = read_ties(tie);
    double mean[2] = {0.0, 0.0};
    for (int i = 0; i < n; i++) {
        find_target(cam, &tie[i]);
        mean[0] += tie[i].across[0], mean[1] += tie[i].across[1];
    }
    const double length = hypot(mean[0], mean[1]);
    for (int cell = 100; cell <= 200; cell += 100)
        print_message("mean |gap| about the median of the ties' own %d px: %.2f m\n", cell,
                      about_own_median(tie, n, cell));
    assert_true(about_own_median(tie, n, 200) > 4.5);
    for (int how = 0; how < SPLITS; how++) {
        const SdmPointing none = {.dir = {mean[0] / length, mean[1] / length},
                                  .centre = {2499.5, 2699.5},
                                  .scale = {2500, 2700},
                                  .terms = 1};
        SDM_CLOSED_BY(sdm_pointing_free) SdmPointing p = none, own = none;
        double bias[3];
        split(n, how, side);
        fit_half(ctx, tie, n, side, 0, &p);
        fit_half(ctx, tie, n, side, 1, &own);
        const double before = mean_gap(cam, tie, n, side, 1, &none, &bias[0]);
        const double after = mean_gap(cam, tie, n, side, 1, &p, &bias[1]);
        const double best = mean_gap(cam, tie, n, side, 1, &own, &bias[2]);
        print_message(
            "gap of the half not fitted: mean %.2f -> %.2f m, mean |gap| %.2f -> %.2f m (%.2f m when it is "
            "fitted itself); degree %d\n",
            bias[0], bias[1], before, after, best, p.degree);
        assert_true(before > 20.0 && fabs(bias[1]) <= 1.5 && after <= 8.0 && after <= 1.05 * best);
        const Rounding r = rounding(tie, n, side, 1, &p);
        print_message("whole pixels leave %.2f m, at the very least %.2f m; seen near half pixels %.2f m, "
                      "near whole ones %.2f m\n",
                      r.exact_m, r.least_m, r.half_m, r.whole_m);
        assert_true(r.least_m > 4.5 && after > r.exact_m && after < r.exact_m + 1.5);
        assert_true(r.half_m > r.whole_m + 0.5);
    }
    sdm_camera_close(&cam[0]);
    sdm_camera_close(&cam[1]);
}

RUN_TESTS(NULL, NULL)
