/* Bicubic values and gradients: quadratic surfaces are met exactly, the rim and missing values give none. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/bicubic.h"
#include "tests/case.h"

enum { MOST = 130, MISSING_COL = 20, MISSING_ROW = 9 };

static double height(double x, double y)
{
    return 3.0 + 2.0 * x - y + 0.25 * x * x - 0.5 * x * y +
           0.125 * y * y; /* exact in floats at whole places */
}

typedef struct Case {
    int w, h, n;
    float *plane;
    double col[MOST], row[MOST], value[MOST], again[MOST], per_col[MOST], per_row[MOST];
} Case;

static void open_case(Case *c, int w, int h, int n)
{
    *c = (Case){.w = w, .h = h, .n = n, .plane = malloc((size_t)w * (size_t)h * sizeof *c->plane)};
    for (int j = 0; j < h; j++)
        for (int i = 0; i < w; i++)
            c->plane[j * w + i] = i == MISSING_COL && j == MISSING_ROW ? NAN : (float)height(i, j);
    for (int i = 0; i < n; i++) { /* all over the plane and beyond its rim; whole places, too */
        c->col[i] = i % 5 == 4 ? i % w : (i * 37 % 101) / 100.0 * (w + 2) - 1.5;
        c->row[i] = i % 7 == 6 ? i % h : (i * 53 % 97) / 96.0 * (h + 2) - 1.5;
    }
    if (n > 3)
        c->col[3] = NAN;
    if (n > 8)
        c->row[8] = INFINITY;
}

static bool has_value(const Case *c, int i)
{
    const double x = c->col[i], y = c->row[i];
    if (!(x >= 1.0 && y >= 1.0 && x < c->w - 2.0 && y < c->h - 2.0))
        return false;
    const int left = (int)x - 1, top = (int)y - 1;
    return !(left <= MISSING_COL && MISSING_COL < left + 4 && top <= MISSING_ROW && MISSING_ROW < top + 4);
}

static int check_case(int w, int h, int n)
{
    Case c;
    int known = 0;
    open_case(&c, w, h, n);
    const SdmBicubicPlane plane = {c.plane, w, h};
    sdm_bicubic(&plane, n, c.col, c.row, c.value, NULL, NULL);
    sdm_bicubic(&plane, n, c.col, c.row, c.again, c.per_col, c.per_row);
    for (int i = 0; i < n; i++) {
        const double x = c.col[i], y = c.row[i];
        if (has_value(&c, i) != !isnan(c.value[i]) || isnan(c.value[i]) != isnan(c.again[i]))
            fail_msg("%d x %d, position %d (%.3f, %.3f): %.3f and %.3f", w, h, i, x, y, c.value[i],
                     c.again[i]);
        if (isnan(c.value[i]))
            continue;
        known++;
        assert_true(c.value[i] == c.again[i]);
        assert_true(fabs(c.value[i] - height(x, y)) < 1e-9);
        assert_true(fabs(c.per_col[i] - (2.0 + 0.5 * x - 0.5 * y)) < 1e-9);
        assert_true(fabs(c.per_row[i] - (-1.0 - 0.5 * x + 0.25 * y)) < 1e-9);
    }
    free(c.plane);
    return known;
}

TEST(quadratic_surfaces)
{
    for (int n = 0; n <= MOST; n++)
        (void)check_case(40, 30, n);
    assert_true(check_case(40, 30, MOST) > MOST / 2);
    assert_true(check_case(4, 4, MOST) > 0);
}

TEST(planes_too_small)
{
    static const int size[][2] = {{1, 1}, {3, 30}, {30, 3}, {2, 2}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(check_case(size[i][0], size[i][1], MOST), 0);
}

RUN_TESTS(NULL, NULL)
