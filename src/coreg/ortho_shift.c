/* Two orthoimages on one grid -> the horizontal shift between them, by their texture. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/ortho_shift.h"
#include "core/stats.h"

#include <math.h>

enum {
    SMALL = 8,       /* cells to a cell of the small images */
    SMALL_REACH = 8, /* of their search */
    REACH = 10,      /* cells, of the search of the patches around that */
    HALF = 20,       /* of a patch */
    STEP = 36,       /* cells between patches; they grow apart in large images */
    MOST_PATCHES = 900,
    LEAST_PATCHES = 12
};
static const double LEAST_SMALL = 0.3, LEAST_PATCH = 0.6; /* correlation */

typedef struct Pictures {
    const float *a, *b;
    int64_t cols, rows;
} Pictures;

/* Correlation of a, shifted, with b over every `stride`-th cell of the box c0, r0, c1, r1 of b, in both axes;
 * NaN where less than a quarter of them have both. */
static double correlate(const Pictures *p, const int64_t box[4], int64_t dc, int64_t dr, int64_t stride)
{
    const int64_t c0 = box[0], r0 = box[1], c1 = box[2], r1 = box[3];
    double n = 0.0, sa = 0.0, sb = 0.0, saa = 0.0, sbb = 0.0, sab = 0.0;
    for (int64_t r = r0; r < r1; r += stride)
        for (int64_t c = c0; c < c1; c += stride) {
            if (c + dc < 0 || r + dr < 0 || c + dc >= p->cols || r + dr >= p->rows)
                continue;
            const double a = (double)p->a[(r + dr) * p->cols + c + dc], b = (double)p->b[r * p->cols + c];
            if (isnan(a) || isnan(b))
                continue;
            n += 1.0;
            sa += a;
            sb += b;
            saa += a * a;
            sbb += b * b;
            sab += a * b;
        }
    const double va = saa - sa * sa / fmax(n, 1.0), vb = sbb - sb * sb / fmax(n, 1.0);
    if (4.0 * n * (double)(stride * stride) < (double)((c1 - c0) * (r1 - r0)) || !(va > 1e-9 * saa) ||
        !(vb > 1e-9 * sbb))
        return NAN;
    return (sab - sa * sb / n) / sqrt(va * vb);
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
        found[k] = correlate(&small, (const int64_t[4]){0, 0, cols, rows}, k % side - SMALL_REACH,
                             k / side - SMALL_REACH, 1);
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

/* Best of the shifts around `at`, reach cells in steps, for the patch around (col, row) of b: its number of
 * side x side, -1 where none correlates by `least`.  found: side x side. */
static int search(const Pictures *p, const int64_t patch[2], const int64_t at[2], int reach, int step,
                  double least, double *found)
{
    const int64_t box[4] = {patch[0] - HALF, patch[1] - HALF, patch[0] + HALF + 1, patch[1] + HALF + 1};
    const int side = 2 * (reach / step) + 1;
    int best = -1;
    for (int k = 0; k < side * side; k++) {
        found[k] = correlate(p, box, at[0] + k % side * step - reach, at[1] + k / side * step - reach, step);
        if (found[k] > (best < 0 ? least : found[best]))
            best = k;
    }
    return best;
}

/* Shift of the patch around (col, row) of b, first in steps of two cells; false without a clear maximum. */
static bool match_patch(const Pictures *p, const int64_t patch[2], const int64_t around[2], double shift[2])
{
    enum { COARSE = REACH + 1, NEAR = 2, SIDE = 2 * NEAR + 1 };
    double found[COARSE * COARSE];
    int at = search(p, patch, around, REACH, 2, 0.5 * LEAST_PATCH, found);
    if (at < 0)
        return false;
    const int64_t best[2] = {around[0] + at % COARSE * 2 - REACH, around[1] + at / COARSE * 2 - REACH};
    at = search(p, patch, best, NEAR, 1, LEAST_PATCH, found);
    const int i = at % SIDE, j = at / SIDE;
    if (at < 0 || i == 0 || j == 0 || i == SIDE - 1 || j == SIDE - 1)
        return false;
    shift[0] = (double)(best[0] + i - NEAR) + vertex(found[at - 1], found[at], found[at + 1]);
    shift[1] = (double)(best[1] + j - NEAR) + vertex(found[at - SIDE], found[at], found[at + SIDE]);
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
