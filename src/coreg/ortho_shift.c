/* Two orthoimages on one grid -> the horizontal shift between them, by their texture. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_layer.h"
#include "core/stats.h"
#include "core/vector_loops.h"

#include <math.h>
#include <string.h>

enum {
    SMALL = 8,          /* cells to a cell of the small images */
    SMALL_REACH = 8,    /* of their search */
    REACH = 10,         /* cells, of the search of the patches around that */
    HALF = 20,          /* of a patch */
    NEAR = 2,           /* cells, of the search around the best of every second shift */
    COARSE = REACH + 1, /* shifts of either search, a side */
    FINE = 2 * NEAR + 1,
    SIDE = 2 * HALF + FINE, /* of a patch and the shifts of the second search */
    LANES = 4,              /* shifts whose sums are taken together */
    PITCH = SIDE + LANES,
    STEP = 36, /* cells between patches; they grow apart in large images */
    MOST_PATCHES = 900,
    LEAST_PATCHES = 12
};
static const double LEAST_SMALL = 0.3, LEAST_PATCH = 0.6; /* correlation */

typedef struct Pictures {
    const float *a, *b;
    int64_t cols, rows;
} Pictures;

/* Sums over the cells that both have. */
typedef struct Sums {
    double n, a, b, aa, bb, ab;
} Sums;

/* NaN where both have less than a quarter of `cells`. */
static double correlation(const Sums *s, double cells)
{
    const double va = s->aa - s->a * s->a / fmax(s->n, 1.0), vb = s->bb - s->b * s->b / fmax(s->n, 1.0);
    if (4.0 * s->n < cells || !(va > 1e-9 * s->aa) || !(vb > 1e-9 * s->bb))
        return NAN;
    return (s->ab - s->a * s->b / s->n) / sqrt(va * vb);
}

/* Correlation of a, shifted, with b. */
static double correlate(const Pictures *p, int64_t dc, int64_t dr)
{
    Sums s = {.n = 0.0};
    for (int64_t r = dr < 0 ? -dr : 0; r < p->rows && r + dr < p->rows; r++)
        for (int64_t c = dc < 0 ? -dc : 0; c < p->cols && c + dc < p->cols; c++) {
            const double a = (double)p->a[(r + dr) * p->cols + c + dc], b = (double)p->b[r * p->cols + c];
            if (isnan(a) || isnan(b))
                continue;
            s.n += 1.0;
            s.a += a;
            s.b += b;
            s.aa += a * a;
            s.bb += b * b;
            s.ab += a * b;
        }
    return correlation(&s, (double)(p->cols * p->rows));
}

/* Means of SMALL x SMALL cells, NaN where less than a quarter of them have a value. */
static void shrink(const float *in, int64_t cols, float *out, int64_t small_cols, int64_t small_rows)
{
    for (int64_t k = 0; k < small_cols * small_rows; k++) {
        double sum = 0.0;
        int n = 0;
        for (int64_t r = k / small_cols * SMALL; r < (k / small_cols + 1) * SMALL; r++)
            for (int64_t c = k % small_cols * SMALL; c < (k % small_cols + 1) * SMALL; c++)
                if (!isnan(in[r * cols + c])) {
                    sum += (double)in[r * cols + c];
                    n++;
                }
        out[k] = 4 * n >= SMALL * SMALL ? (float)(sum / n) : NAN;
    }
}

/* Shift of the small images, in cells; 0 where they show none. */
static SdmStatus find_coarse(SdmContext *ctx, const Pictures *p, int64_t at[2])
{
    SDM_OWNED float *a = NULL, *b = NULL;
    const int64_t cols = p->cols / SMALL, rows = p->rows / SMALL;
    double best = LEAST_SMALL, found[(2 * SMALL_REACH + 1) * (2 * SMALL_REACH + 1)];
    const int64_t side = 2 * SMALL_REACH + 1;
    at[0] = at[1] = 0;
    if (cols < 2 * SMALL_REACH || rows < 2 * SMALL_REACH)
        return SDM_OK;
    PASS(sdm_alloc_raw(ctx, &a, (size_t)(cols * rows), sizeof *a, "orthoimage"));
    PASS(sdm_alloc_raw(ctx, &b, (size_t)(cols * rows), sizeof *b, "orthoimage"));
    shrink(p->a, p->cols, a, cols, rows);
    shrink(p->b, p->cols, b, cols, rows);
    const Pictures small = {.a = a, .b = b, .cols = cols, .rows = rows};
#pragma omp parallel for schedule(dynamic, 1) num_threads(sdm_threads(ctx))
    for (int64_t k = 0; k < side * side; k++)
        found[k] = correlate(&small, k % side - SMALL_REACH, k / side - SMALL_REACH);
    for (int64_t k = 0; k < side * side; k++)
        if (found[k] > best) {
            best = found[k];
            at[0] = (k % side - SMALL_REACH) * SMALL;
            at[1] = (k / side - SMALL_REACH) * SMALL;
        }
    return SDM_OK;
}

/* Place of the maximum through three values, from the middle one. */
static double vertex(double before, double middle, double after)
{
    const double bend = before - 2.0 * middle + after;
    return bend < 0.0 ? 0.5 * (before - after) / bend : 0.0;
}

/* A square window of a picture.  has: 1 where a cell has a value, else 0, and its value is 0. */
typedef struct Patch {
    double value[SIDE][PITCH], has[SIDE][PITCH];
} Patch;

/* side x side cells, `step` apart; beyond the picture none has a value. */
static void cut(const float *from, const Pictures *p, int64_t col, int64_t row, int side, int step,
                Patch *out)
{
    for (int j = 0; j < side; j++)
        for (int i = 0; i < PITCH; i++) {
            const int64_t c = col + i * step, r = row + j * step;
            const bool inside = i < side && c >= 0 && r >= 0 && c < p->cols && r < p->rows;
            const float v = inside ? from[r * p->cols + c] : NAN;
            out->has[j][i] = isnan(v) ? 0.0 : 1.0;
            out->value[j][i] = isnan(v) ? 0.0 : (double)v;
        }
}

/* Sums of b's n x n cells with a's from column dc, row dr on, and at the following LANES - 1 columns. */
SDM_VECTOR_LOOPS static void sum_lanes(const Patch *a, const Patch *b, int n, int dc, int dr, Sums out[LANES])
{
    typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));
    Lanes s[6] = {{0.0}};
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            const double v = b->value[j][i], has_b = b->has[j][i];
            Lanes u, has_a;
            memcpy(&u, &a->value[j + dr][i + dc], sizeof u);
            memcpy(&has_a, &a->has[j + dr][i + dc], sizeof has_a);
            s[0] += has_a * has_b;
            s[1] += u * has_b;
            s[2] += has_a * v;
            s[3] += u * u * has_b;
            s[4] += has_a * (v * v);
            s[5] += u * v;
        }
    for (int k = 0; k < LANES; k++)
        out[k] = (Sums){s[0][k], s[1][k], s[2][k], s[3][k], s[4][k], s[5][k]};
}

/* Best of the shifts around `at`, reach cells in steps, for the patch around (col, row) of b, of which cells
 * in the same steps count: its number of side x side, -1 where none correlates by `least`.  found: side x
 * side. */
static int search(const Pictures *p, const int64_t patch[2], const int64_t at[2], int reach, int step,
                  double least, double *found)
{
    const int side = 2 * (reach / step) + 1, n = 2 * HALF / step + 1;
    int best = -1;
    Patch a, b;
    cut(p->a, p, patch[0] - HALF + at[0] - reach, patch[1] - HALF + at[1] - reach, n + side - 1, step, &a);
    cut(p->b, p, patch[0] - HALF, patch[1] - HALF, n, step, &b);
    for (int k = 0; k < side * side; k++) {
        Sums sums[LANES];
        if (k % side % LANES == 0)
            sum_lanes(&a, &b, n, k % side, k / side, sums);
        found[k] = correlation(&sums[k % side % LANES],
                               (2.0 * HALF + 1.0) * (2.0 * HALF + 1.0) / (double)(step * step));
        if (found[k] > (best < 0 ? least : found[best]))
            best = k;
    }
    return best;
}

/* Shift of the patch around (col, row) of b, first in steps of two cells; false without a clear maximum. */
static bool match_patch(const Pictures *p, const int64_t patch[2], const int64_t around[2], double shift[2])
{
    double found[COARSE * COARSE];
    int at = search(p, patch, around, REACH, 2, 0.5 * LEAST_PATCH, found);
    if (at < 0)
        return false;
    const int64_t best[2] = {around[0] + at % COARSE * 2 - REACH, around[1] + at / COARSE * 2 - REACH};
    at = search(p, patch, best, NEAR, 1, LEAST_PATCH, found);
    const int i = at % FINE, j = at / FINE;
    if (at < 0 || i == 0 || j == 0 || i == FINE - 1 || j == FINE - 1)
        return false;
    shift[0] = (double)(best[0] + i - NEAR) + vertex(found[at - 1], found[at], found[at + 1]);
    shift[1] = (double)(best[1] + j - NEAR) + vertex(found[at - FINE], found[at], found[at + FINE]);
    return isfinite(shift[0]) && isfinite(shift[1]);
}

/* Median and NMAD of the patches' shifts. */
static SdmStatus combine(SdmContext *ctx, const double *shift, int64_t n, SdmOrthoShift *out)
{
    SDM_OWNED double *value = NULL;
    PASS(sdm_alloc(ctx, &value, (size_t)n, sizeof *value, "patches"));
    out->nmad = 0.0;
    for (int axis = 0; axis < 2; axis++) {
        for (int64_t k = 0; k < n; k++)
            value[k] = shift[2 * k + axis];
        out->nmad = fmax(out->nmad, sdm_nmad_f64(value, n, &out->cells[axis]));
    }
    for (int64_t k = 0; k < n; k++)
        out->patches += hypot(shift[2 * k] - out->cells[0], shift[2 * k + 1] - out->cells[1]) <=
                        fmax(3.0 * out->nmad, 0.5);
    if (out->patches < LEAST_PATCHES || 2 * out->patches < n || out->nmad > 1.0) /* they do not agree */
        out->patches = 0;
    return SDM_OK;
}

SdmStatus sdm_ortho_shift(SdmContext *ctx, const float *a, const float *b, int64_t cols, int64_t rows,
                          SdmOrthoShift *out)
{
    const Pictures p = {.a = a, .b = b, .cols = cols, .rows = rows};
    SDM_OWNED double *shift = NULL;
    SDM_OWNED bool *good = NULL;
    int64_t around[2], n = 0;
    const double spread = sqrt((double)cols * (double)rows / (double)MOST_PATCHES);
    const int64_t step = spread > STEP ? (int64_t)spread : STEP, across = (cols - 2 * HALF) / step,
                  down = (rows - 2 * HALF) / step;
    *out = (SdmOrthoShift){.nmad = NAN};
    if (across < 1 || down < 1)
        return SDM_OK;
    PASS(find_coarse(ctx, &p, around));
    PASS(sdm_alloc(ctx, &shift, 2 * (size_t)(across * down), sizeof *shift, "patches"));
    PASS(sdm_alloc(ctx, &good, (size_t)(across * down), sizeof *good, "patches"));
#pragma omp parallel for schedule(dynamic, 4) num_threads(sdm_threads(ctx))
    for (int64_t k = 0; k < across * down; k++) {
        const int64_t patch[2] = {HALF + step / 2 + k % across * step, HALF + step / 2 + k / across * step};
        good[k] = match_patch(&p, patch, around, shift + 2 * k);
    }
    PASS(sdm_check_stop(ctx));
    for (int64_t k = 0; k < across * down; k++)
        if (good[k]) {
            shift[2 * n] = shift[2 * k];
            shift[2 * n++ + 1] = shift[2 * k + 1];
        }
    if (n > 0)
        PASS(combine(ctx, shift, n, out));
    return SDM_OK;
}
