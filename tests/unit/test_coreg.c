/* Co-registration of two grids in memory: a known shift, a mask, the number of threads. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg.h"
#include "tests/case.h"

enum { COLS = 150, ROWS = 120 };
static const double CELL_M = 30.0, SHIFT_M[3] = {12.3, -7.7, 4.4};

static double terrain(double x, double y)
{
    return 400.0 + 90.0 * sin(x / 310.0) * cos(y / 270.0) + 60.0 * sin((x + 2.0 * y) / 530.0);
}

/* DEM(x, y) = reference(x + dx, y + dy) + dz, all cells stable. */
static void open_case(SdmContext *ctx, int threads, SdmCoregGrid *g)
{
    *g = (SdmCoregGrid){.cols = COLS, .rows = ROWS, .dx_m = CELL_M, .dy_m = CELL_M, .threads = threads};
    assert_int_equal(sdm_coreg_open(ctx, g), SDM_OK);
    for (int j = 0; j < ROWS; j++)
        for (int i = 0; i < COLS; i++) {
            const double x = i * CELL_M, y = -j * CELL_M;
            g->reference_m[j * COLS + i] = (float)terrain(x, y);
            g->dem_m[j * COLS + i] = (float)(terrain(x + SHIFT_M[0], y + SHIFT_M[1]) + SHIFT_M[2]);
        }
    memset(g->mask, SDM_COREG_STABLE, COLS * ROWS);
}

static void expect_shift(const SdmCoregShift *found, double tolerance_m)
{
    for (int k = 0; k < 3; k++)
        if (!(fabs(found->move.move_m[k] - (k < 2 ? SHIFT_M[k] : -SHIFT_M[k])) <= tolerance_m))
            fail_msg("move %d: %.4f m, expected %.4f", k, found->move.move_m[k], SHIFT_M[k]);
}

TEST_CTX(shift_is_found)
{
    SdmCoregGrid g;
    SdmCoregShift one, three;
    int64_t reference = 0;
    open_case(ctx, 1, &g);
    g.dem_m[5] = g.reference_m[7] = NAN;
    assert_int_equal(sdm_coreg_mark(&g, &reference), COLS * ROWS - 2);
    assert_int_equal(reference, COLS * ROWS - 1);
    assert_int_equal(sdm_coreg_shift(ctx, &g, true, &one), SDM_OK);
    expect_shift(&one, 0.02);
    assert_int_equal(one.move.undetermined, 0);
    assert_true(one.residual.count > COLS * ROWS * 9 / 10); /* less the rims of grid and voids */
    assert_true(one.residual.nmad_m < 0.02);
    assert_true(isnan(g.residual_m[5]) && isnan(g.residual_m[7]));
    assert_true(fabsf(g.residual_m[ROWS / 2 * COLS + COLS / 2]) < 0.05f);
    sdm_coreg_close(&g);
    open_case(ctx, 3, &g);
    g.dem_m[5] = g.reference_m[7] = NAN;
    sdm_coreg_mark(&g, NULL);
    assert_int_equal(sdm_coreg_shift(ctx, &g, true, &three), SDM_OK);
    assert_memory_equal(one.move.move_m, three.move.move_m, sizeof one.move.move_m);
    sdm_coreg_close(&g);
}

/* 60 % of the cells have changed by 15 m and more: too many for the median, but they are not stable. */
TEST_CTX(mask_leaves_out)
{
    SdmCoregGrid g;
    SdmCoregShift found;
    SdmErrorStats changed;
    enum { OWN_BIT = 1 << SDM_COREG_CALLER_SHIFT };
    open_case(ctx, 2, &g);
    for (int j = 0; j < ROWS; j++)
        for (int i = 0; i < COLS * 6 / 10; i++) {
            g.dem_m[j * COLS + i] -= 15.0f + 0.1f * (float)i;
            g.mask[j * COLS + i] = OWN_BIT;
        }
    assert_int_equal(sdm_coreg_mark(&g, NULL), COLS * ROWS * 4 / 10);
    assert_int_equal(sdm_coreg_shift(ctx, &g, true, &found), SDM_OK);
    expect_shift(&found, 0.02);
    assert_true(found.residual.count > COLS * ROWS * 4 / 10 * 8 / 10);
    sdm_coreg_stats(&g, g.dem_m, OWN_BIT, OWN_BIT, &changed); /* the caller's bits are kept */
    assert_int_equal(changed.count, COLS * ROWS * 6 / 10);
    sdm_coreg_close(&g);
}

RUN_TESTS(NULL, NULL)
