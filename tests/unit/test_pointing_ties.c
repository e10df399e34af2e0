/* The real scene's ties (Mt Rainier): where rays of the cameras meet; pointing fitted on one half of them, judged on the
 * other half by how rays miss. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"
#include "input/aster_files.h"
#include "input/camera.h"
#include "pointing/pointing_fit.h"

#define RAINIER DATA "aster_rainier/"
#define ROWS 5400 /* of the 3B image */
enum { TIES = 1145, SPLITS = 8 };

typedef struct Tie {
    double left[2], right[2];
    double across[2];     /* unit vector across the epipolar line, right image */
    double correction_px; /* how far the right point lies from that line, along it */
} Tie;
static Tie tie[TIES];
static SdmContext *ctx;
static SdmCamera *cam[2];

/* Where the left pixel's ray lies in the right image at heights 0 and 2000 m: the epipolar line. */
static void find_target(Tie *t)
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

FIXTURE(read_ties)
{
    FILE *const f = fopen(RAINIER "ties_3N_3B.csv", "r");
    char line[256];
    int n = 0;
    ctx = default_context();
    if (!f)
        return 0; /* the tests are skipped */
    for (int k = 0; k < 2; ++k)
        if (sdm_aster_open_tables(ctx, RAINIER "camera/AST_L1A_00307312017190728_DERIVED", k ? "3B" : "3N",
                                  &cam[k]))
            return fprintf(stderr, "%s\n", sdm_error(ctx));
    for (Tie *t = tie; fgets(line, sizeof line, f); t += n++ > 0) /* behind the names of the columns */
        if (n > 0 && (n > TIES || sscanf(line, "%lf %lf %lf %lf", &t->left[0], &t->left[1], &t->right[0],
                                         &t->right[1]) != 4))
            return 1;
        else if (n > 0)
            find_target(t);
    fclose(f);
    return n != TIES + 1;
}

FIXTURE(close_cameras)
{
    sdm_camera_close(&cam[0]);
    sdm_camera_close(&cam[1]);
    sdm_close(&ctx);
    return 0;
}

/* Ray of a pixel from two heights: a point on it and its unit direction (downwards). */
static void ray(int view, double col, double row, double p[3], double d[3])
{
    const double image[6] = {col, row, 9000, col, row, 0};
    double g[6], q[3];
    sdm_camera_locate(cam[view], 2, image, g);
    sdm_geodetic_to_ecef(g[0], g[1], g[2], p);
    sdm_geodetic_to_ecef(g[3], g[4], g[5], q);
    for (int i = 0; i < 3; ++i)
        d[i] = q[i] - p[i];
    const double n = sqrt(sdm_dot3(d, d));
    for (int i = 0; i < 3; ++i)
        d[i] /= n;
}

/* Nearest approach of a tie's rays, the right point moved by -f dir: height of the midpoint, signed gap (right minus left
 * along the product of the directions), angle. */
static void meet(const Tie *t, double f, const double dir[2], double out[3])
{
    double pa[3], da[3], pb[3], db[3], n[3], w[3], mid[3], lon, lat;
    ray(0, t->left[0], t->left[1], pa, da);
    ray(1, t->right[0] - f * dir[0], t->right[1] - f * dir[1], pb, db);
    sdm_cross3(da, db, n);
    const double nn = sqrt(sdm_dot3(n, n)), c = sdm_dot3(da, db);
    for (int i = 0; i < 3; ++i)
        w[i] = pb[i] - pa[i];
    const double s = (sdm_dot3(w, da) - c * sdm_dot3(w, db)) / (1 - c * c);
    const double u = (c * sdm_dot3(w, da) - sdm_dot3(w, db)) / (1 - c * c);
    for (int i = 0; i < 3; ++i)
        mid[i] = (pa[i] + s * da[i] + pb[i] + u * db[i]) / 2;
    sdm_ecef_to_geodetic(mid, &lon, &lat, &out[0]);
    out[1] = sdm_dot3(w, n) / nn;
    out[2] = asin(nn) / SDM_DEG;
}

/* Mean |gap| in metres of the ties with side[i] == which, the right points corrected by p; *bias: mean gap. */
static double mean_gap(const uint8_t *side, int which, const SdmPointing *p, double *bias)
{
    double sum = 0.0;
    int count = 0;
    *bias = 0.0;
    for (int i = 0; i < TIES; i++) {
        double got[3];
        if (side[i] != which)
            continue;
        meet(&tie[i], sdm_pointing_value(p, tie[i].right[0], tie[i].right[1]), p->dir, got);
        sum += fabs(got[1]);
        *bias += got[1];
        count++;
    }
    *bias /= count;
    return sum / count;
}

/* 0, 1: even and odd lines of the file, each way round; then by a pseudo-random coin. */
static void split(int how, uint8_t *side)
{
    uint32_t state = 12345u + (uint32_t)how;
    for (int i = 0; i < TIES; i++) {
        state = state * 1664525u + 1013904223u;
        side[i] = (uint8_t)(how < 2 ? (i + how) & 1 : state >> 31);
    }
}

/* Fit on the ties of one side. */
static void fit_half(const uint8_t *side, int which, SdmPointing *p)
{
    static SdmTiePoint sample[TIES];
    SdmPointRound round = {0};
    size_t count = 0;
    for (int i = 0; i < TIES; i++)
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

/* The correction must take the bias away, and do so as well as a fit on the judged half itself.  Mean |gap| stays at 7.3 m:
 * both ends of the ties are whole pixels, which alone leaves 6.1 m with cameras free of error. */
TEST(other_half)
{
    NEED(RAINIER "ties_3N_3B.csv");
    static uint8_t side[TIES];
    double mean[2] = {0.0, 0.0};
    for (int i = 0; i < TIES; i++)
        mean[0] += tie[i].across[0], mean[1] += tie[i].across[1];
    const double length = hypot(mean[0], mean[1]);
    for (int how = 0; how < SPLITS; how++) {
        const SdmPointing none = {.dir = {mean[0] / length, mean[1] / length},
                                  .centre = {2499.5, 2699.5},
                                  .scale = {2500, 2700},
                                  .terms = 1};
        SDM_CLOSED_BY(sdm_pointing_free) SdmPointing p = none, own = none;
        double bias[3];
        split(how, side);
        fit_half(side, 0, &p);
        fit_half(side, 1, &own);
        const double before = mean_gap(side, 1, &none, &bias[0]), after = mean_gap(side, 1, &p, &bias[1]),
                     best = mean_gap(side, 1, &own, &bias[2]);
        print_message(
            "gap of the half not fitted: mean %.2f -> %.2f m, mean |gap| %.2f -> %.2f m (%.2f m when it is "
            "fitted itself); degree %d\n",
            bias[0], bias[1], before, after, best, p.degree);
        assert_true(before > 20.0 && fabs(bias[1]) <= 1.5 && after <= 8.0 && after <= 1.05 * best);
    }
}

RUN_TESTS(read_ties, close_cameras)
