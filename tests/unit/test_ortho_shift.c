/* The shift between two orthoimages is found, to a fraction of a cell, and none where they show none. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_layer.h"
#include "tests/case.h"

enum { SIDE = 320 };

/* Smooth texture at any place. */
static float texture(double x, double y)
{
    double sum = 100.0;
    for (int k = 1; k < 40; k++)
        sum += 6.0 * sin(0.021 * k * x * (k % 3 + 0.4) + 1.7 * k) *
               cos(0.017 * k * y * (k % 4 + 0.3) + 0.9 * k * k);
    return (float)sum;
}

static float *picture(double dx, double dy)
{
    float *const out = malloc(sizeof(float) * SIDE * SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        out[i] = i % 17 == 3 ? NAN : texture(i % SIDE - dx, i / SIDE - dy);
    return out;
}

static void find(double dx, double dy, SdmOrthoShift *found)
{
    FREED float *const a = picture(dx, dy), *const b = picture(0.0, 0.0);
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    assert_int_equal(sdm_ortho_shift(ctx, a, b, SIDE, SIDE, found), SDM_OK);
}

TEST(finds_shifts)
{
    static const double made[][2] = {{0.0, 0.0}, {3.0, -2.0}, {-0.4, 0.3}, {17.6, 25.0}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        SdmOrthoShift found;
        find(made[i][0], made[i][1], &found);
        assert_true(found.patches >= 12);
        assert_true(hypot(found.cells[0] - made[i][0], found.cells[1] - made[i][1]) < 0.1);
    }
}

TEST(finds_none)
{
    SdmOrthoShift found;
    FREED float *const a = malloc(sizeof(float) * SIDE * SIDE), *const b =
                                                                    malloc(sizeof(float) * SIDE * SIDE);
    uint32_t seed = 1;
    for (int i = 0; i < SIDE * SIDE; i++) { /* two noises */
        seed = seed * 1664525U + 1013904223U;
        a[i] = (float)(seed >> 24);
        seed = seed * 1664525U + 1013904223U;
        b[i] = (float)(seed >> 24);
    }
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    assert_int_equal(sdm_ortho_shift(ctx, a, b, SIDE, SIDE, &found), SDM_OK);
    assert_int_equal(found.patches, 0);
    for (int i = 0; i < SIDE * SIDE; i++) /* nothing at all */
        a[i] = NAN;
    assert_int_equal(sdm_ortho_shift(ctx, a, b, SIDE, SIDE, &found), SDM_OK);
    assert_int_equal(found.patches, 0);
    assert_int_equal(sdm_ortho_shift(ctx, a, b, 30, 20, &found), SDM_OK); /* smaller than a patch */
    assert_int_equal(found.patches, 0);
}

RUN_TESTS(NULL, NULL)
