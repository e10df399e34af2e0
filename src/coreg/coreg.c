/* DEM and reference on one grid -> the 3-D shift between them, and the errors that remain (Nuth & Kaab 2011).
 */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg_grid.h"
#include "core/stats.h"

#include <math.h>

enum { ROUNDS = 12, TERMS = 9, FREE = 25 };
#define LEAST_NOISE_M 0.01

/* Fit the spline to the reference, its holes filled with its median, heights counted from that. */
static SdmStatus fit_reference(SdmContext *ctx, SdmCells *c, double *median_m)
{
    const int64_t n = sdm_cells_gather(c, c->ref_m, SDM_CELL_INSIDE, SDM_CELL_INSIDE, c->scratch);
    const double median = *median_m = sdm_median_f32(c->scratch, n);
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t i = 0; i < c->rows * c->cols; i++)
        c->work[i] = c->flags[i] & SDM_CELL_INSIDE ? (float)((double)c->ref_m[i] - median) : 0.0f;
    return sdm_spline_fit(ctx, c, c->work);
}

/* DEM minus (reference in work + up_m) of the common cells -> scratch. */
static void gather_residuals(SdmCells *c, double up_m)
{
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t j = 0; j < c->rows; j++) {
        float *out = c->scratch + c->row_start[j];
        for (int64_t i = j * c->cols; i < (j + 1) * c->cols; i++)
            if (c->flags[i] & SDM_CELL_BOTH)
                *out++ = (float)((double)c->dem_m[i] - (double)c->work[i] - up_m);
    }
}

/* Gradient of the reference in work (east, and north as -row), as numpy.gradient takes it. */
static void gradient(const SdmCells *c, int64_t i, int64_t j, double *east, double *north)
{
    const int64_t w = c->cols, h = c->rows;
    const int64_t left = i > 0 ? 1 : 0, right = i + 1 < w ? 1 : 0, up = j > 0 ? 1 : 0,
                  down = j + 1 < h ? 1 : 0;
    const float *const at = c->work + j * w + i;
    *east = w < 2 ? 0.0 : ((double)at[right] - (double)at[-left]) / ((double)(left + right) * c->dx_m);
    *north = h < 2 ? 0.0 : ((double)at[-up * w] - (double)at[down * w]) / ((double)(up + down) * c->dy_m);
}

/* Normal equations of  residual = gradient . shift  over the cells whose residual is within `limit_m` of the
 * median: ee en e1 nn n1 11 | eD nD 1D.  One line of sums a row, added in order, so that threads do not
 * matter. */
static void sum_row(const SdmCells *c, int64_t j, double up_m, double median_m, double limit_m,
                    double sums[TERMS])
{
    for (int k = 0; k < TERMS; k++)
        sums[k] = 0.0;
    for (int64_t i = 0; i < c->cols; i++) {
        const int64_t at = j * c->cols + i;
        if (!(c->flags[at] & SDM_CELL_BOTH))
            continue;
        const double d = (double)c->dem_m[at] - (double)c->work[at] - up_m;
        if (!(fabs(d - median_m) < limit_m))
            continue;
        double e, n;
        gradient(c, i, j, &e, &n);
        const double terms[TERMS] = {e * e, e * n, e, n * n, n, 1.0, e * d, n * d, d};
        for (int k = 0; k < TERMS; k++)
            sums[k] += terms[k];
    }
}

/* Least squares, about the means, along the axes of the slopes' scatter.  Along an axis of which the heights
 * know nothing (a plane, flat ground) there is no shift: where the error of the shift, noise over the scatter
 * of the slope, is half a cell or more.  Errors of neighbouring cells hang together: FREE cells count as one.
 * @return how many horizontal directions are not determined */
static int solve(const double s[TERMS], double noise_m, double cell_m, double step_m[3])
{
    const double n = fmax(s[5], 1.0), me = s[2] / n, mn = s[4] / n, md = s[8] / n;
    const double ee = s[0] / n - me * me, en = s[1] / n - me * mn, nn = s[3] / n - mn * mn;
    const double ed = s[6] / n - me * md, nd = s[7] / n - mn * md;
    const double mid = 0.5 * (ee + nn), half = hypot(0.5 * (ee - nn), en),
                 turn = 0.5 * atan2(2.0 * en, ee - nn);
    int open = 0;
    step_m[0] = step_m[1] = 0.0;
    for (int k = 0; k < 2; k++) { /* the steeper axis first */
        const double scatter = fmax(k ? mid - half : mid + half, 0.0);
        const double axis[2] = {k ? -sin(turn) : cos(turn), k ? cos(turn) : sin(turn)};
        if (!(noise_m < 0.5 * cell_m * sqrt(scatter * n / FREE))) {
            open++;
            continue;
        }
        const double step = (axis[0] * ed + axis[1] * nd) / scatter;
        step_m[0] += step * axis[0];
        step_m[1] += step * axis[1];
    }
    step_m[2] = md - me * step_m[0] - mn * step_m[1];
    return open;
}

/* One round: residuals at `shift`, then the step to a better one. */
static int find_step(SdmCells *c, double base_m, const double shift_m[3], double *sums, double step_m[3])
{
    const double up_m = shift_m[2] + base_m;
    const int64_t n = c->row_start[c->rows];
    double median = 0.0, total[TERMS] = {0};
    gather_residuals(c, up_m);
    const double nmad = sdm_nmad_f32(c->scratch, n, &median), limit_m = 3.0 * fmax(nmad, 0.1);
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t j = 0; j < c->rows; j++)
        sum_row(c, j, up_m, median, limit_m, sums + j * TERMS);
    for (int64_t j = 0; j < c->rows; j++)
        for (int k = 0; k < TERMS; k++)
            total[k] += sums[j * TERMS + k];
    return solve(total, fmax(nmad, LEAST_NOISE_M), c->dx_m, step_m);
}

SdmStatus sdm_cells_align(SdmContext *ctx, SdmCells *c, double shift_m[3], int *undetermined)
{
    SdmStatus st = SDM_OK;
    double base_m = 0.0, *sums = NULL;
    shift_m[0] = shift_m[1] = shift_m[2] = 0.0;
    *undetermined = 0;
    TRY(sdm_alloc(ctx, &sums, (size_t)c->rows * TERMS, sizeof *sums, "co-registration sums"));
    TRY(fit_reference(ctx, c, &base_m));
    for (int round = 0; round < ROUNDS; round++) {
        double step_m[3];
        TRY(sdm_check_stop(ctx));
        TRY(sdm_spline_shift(ctx, c, shift_m[0] / c->dx_m, -shift_m[1] / c->dy_m, c->work));
        *undetermined = find_step(c, base_m, shift_m, sums, step_m);
        for (int k = 0; k < 3; k++)
            shift_m[k] += step_m[k];
        sdm_log(ctx, SDM_LOG_VERBOSE, 0, "co-registration %d: dx %.3f dy %.3f dz %.3f m", round + 1,
                shift_m[0], shift_m[1], shift_m[2]);
        if (hypot(step_m[0], step_m[1]) < 0.01 * c->dx_m && fabs(step_m[2]) < 0.01)
            break;
    }
    TRY(sdm_spline_shift(ctx, c, shift_m[0] / c->dx_m, -shift_m[1] / c->dy_m, c->work));
#pragma omp parallel for num_threads(c->threads) schedule(static)
    for (int64_t i = 0; i < c->rows * c->cols; i++)
        c->work[i] = c->flags[i] & SDM_CELL_BOTH
                         ? (float)((double)c->dem_m[i] - (double)c->work[i] - base_m - shift_m[2])
                         : NAN;
done:
    sdm_free(&sums);
    return st;
}
