/* Co-registration after Nuth and Kaab (2011): the shift is found by least squares on the slopes of the
 * reference, in rounds, and the reference is resampled at the shift of each round. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg.h"
#include "core/stats.h"
#include "geo/nuth_kaab.h"

#include <math.h>

enum {
    MAX_ROUNDS = 20,
    SUMS = SDM_NUTH_KAAB_SUMS
};
static const double LAST_STEP_M = 0.005; /* a shorter step ends the rounds */
static const double MIN_NOISE_M = 0.01;  /* of a residual, when the error of the shift is estimated */
static const double OUTLIER_NMADS = 3.0; /* a residual farther from the median is left out ... */
static const double MIN_NMAD_M = 0.1;    /* ... of at least this NMAD */

SdmStatus sdm_coreg_open(SdmContext *ctx, SdmCoregGrid *g)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)(g->cols * g->rows);
    TRY(sdm_alloc(ctx, &g->dem_m, n, sizeof *g->dem_m, "DEM heights"));
    TRY(sdm_alloc(ctx, &g->reference_m, n, sizeof *g->reference_m, "reference heights"));
    TRY(sdm_alloc(ctx, &g->residual_m, n, sizeof *g->residual_m, "residuals"));
    TRY(sdm_alloc(ctx, &g->scratch, n, sizeof *g->scratch, "residuals"));
    TRY(sdm_alloc(ctx, &g->mask, n, sizeof *g->mask, "mask"));
    TRY(sdm_alloc(ctx, &g->row_start, (size_t)g->rows + 1, sizeof *g->row_start, "rows"));
    TRY(sdm_spline_open(ctx, g->cols, g->rows, g->threads, &g->spline));
done:
    return st;
}

void sdm_coreg_close(SdmCoregGrid *g)
{
    sdm_spline_close(&g->spline);
    sdm_free(&g->row_start);
    sdm_free(&g->mask);
    sdm_free(&g->scratch);
    sdm_free(&g->residual_m);
    sdm_free(&g->reference_m);
    sdm_free(&g->dem_m);
}

int64_t sdm_coreg_mark(SdmCoregGrid *g, int64_t *reference)
{
    int64_t with_reference = 0, common = 0;
    for (int64_t j = 0; j < g->rows; j++) {
        g->row_start[j] = common;
        for (int64_t i = j * g->cols; i < (j + 1) * g->cols; i++) {
            const bool r = (g->mask[i] & SDM_COREG_STABLE) && !isnan(g->reference_m[i]);
            const bool c = r && !isnan(g->dem_m[i]);
            g->mask[i] = (uint8_t)((g->mask[i] & ~(unsigned)(SDM_COREG_REFERENCE | SDM_COREG_COMMON)) |
                                   (r ? SDM_COREG_REFERENCE : 0U) | (c ? SDM_COREG_COMMON : 0U));
            with_reference += r;
            common += c;
        }
    }
    g->row_start[g->rows] = common;
    if (reference)
        *reference = with_reference;
    return common;
}

/* Values of the cells with (mask & bits) == wanted -> scratch, in order.  @return how many */
static int64_t gather(SdmCoregGrid *g, const float *values, unsigned bits, unsigned wanted)
{
    int64_t n = 0;
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        if ((g->mask[i] & bits) == wanted)
            g->scratch[n++] = values[i];
    return n;
}

void sdm_coreg_stats(SdmCoregGrid *g, const float *values, unsigned bits, unsigned wanted, SdmErrorStats *out)
{
    const int64_t n = gather(g, values, bits, wanted);
    sdm_error_stats(g->scratch, n, g->spline.coefficient, out);
}

/* Fit the spline to the reference minus its median; cells without a reference are 0. */
static SdmStatus fit_reference(SdmContext *ctx, SdmCoregGrid *g, double *median_m)
{
    const int64_t n = gather(g, g->reference_m, SDM_COREG_REFERENCE, SDM_COREG_REFERENCE);
    const double median = *median_m = sdm_median_f32(g->scratch, n);
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t i = 0; i < g->rows * g->cols; i++) {
        const bool used =
            g->whole_reference ? !isnan(g->reference_m[i]) : (g->mask[i] & SDM_COREG_REFERENCE) != 0;
        g->residual_m[i] = used ? (float)((double)g->reference_m[i] - median) : 0.0f;
    }
    return sdm_spline_fit(ctx, &g->spline, g->residual_m);
}

/* A round: the reference at the shift so far, and the residuals at it. */
typedef struct Round {
    const SdmCoregGrid *g;
    const float *reference_m; /* rows x cols, shifted horizontally */
    double up_m;              /* to be added to it */
    double median_m, limit_m; /* of the residuals; those within the limit of the median count */
} Round;

static double residual_at(const Round *r, int64_t at)
{
    return (double)r->g->dem_m[at] - (double)r->reference_m[at] - r->up_m;
}

/* Residuals of the common cells -> scratch; their median and limit.  @return their NMAD */
static double measure_residuals(SdmCoregGrid *g, Round *r)
{
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++) {
        float *out = g->scratch + g->row_start[j];
        for (int64_t i = j * g->cols; i < (j + 1) * g->cols; i++)
            if (g->mask[i] & SDM_COREG_COMMON)
                *out++ = (float)residual_at(r, i);
    }
    const double nmad_m = sdm_nmad_f32(g->scratch, g->row_start[g->rows], &r->median_m);
    r->limit_m = OUTLIER_NMADS * fmax(nmad_m, MIN_NMAD_M);
    return nmad_m;
}

/* Gradient of the shifted reference (per metre east and north), as numpy.gradient takes it. */
static void gradient(const Round *r, int64_t i, int64_t j, double *east, double *north)
{
    const int64_t w = r->g->cols, h = r->g->rows;
    const int64_t left = i > 0 ? 1 : 0, right = i + 1 < w ? 1 : 0, up = j > 0 ? 1 : 0,
                  down = j + 1 < h ? 1 : 0;
    const float *const at = r->reference_m + j * w + i;
    *east = w < 2 ? 0.0 : ((double)at[right] - (double)at[-left]) / ((double)(left + right) * r->g->dx_m);
    *north = h < 2 ? 0.0 : ((double)at[-up * w] - (double)at[down * w]) / ((double)(up + down) * r->g->dy_m);
}

/* Sums of row j for the normal equations of  residual = east slope x dx + north slope x dy + dz :
 * ee en e nn n 1 | ed nd d.  The sums of rows are added in order, so that threads make no difference. */
static void sum_row(const Round *r, int64_t j, double sums[SUMS])
{
    for (int k = 0; k < SUMS; k++)
        sums[k] = 0.0;
    for (int64_t i = 0; i < r->g->cols; i++) {
        const int64_t at = j * r->g->cols + i;
        if (!(r->g->mask[at] & SDM_COREG_COMMON))
            continue;
        const double d = residual_at(r, at);
        if (!(fabs(d - r->median_m) < r->limit_m))
            continue;
        double e, n;
        gradient(r, i, j, &e, &n);
        const double terms[SUMS] = {e * e, e * n, e, n * n, n, 1.0, e * d, n * d, d};
        for (int k = 0; k < SUMS; k++)
            sums[k] += terms[k];
    }
}

/* Step from the shift so far to a better one.  row_sums: rows x SUMS. */
static int find_step(SdmCoregGrid *g, double up_m, double *row_sums, double step_m[3])
{
    Round r = {.g = g, .reference_m = g->residual_m, .up_m = up_m};
    double total[SUMS] = {0};
    const double nmad_m = measure_residuals(g, &r);
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++)
        sum_row(&r, j, row_sums + j * SUMS);
    for (int64_t j = 0; j < g->rows; j++)
        for (int k = 0; k < SUMS; k++)
            total[k] += row_sums[j * SUMS + k];
    return sdm_nuth_kaab_step(total, fmax(nmad_m, MIN_NOISE_M), g->dx_m, step_m);
}

/* The reference shifted horizontally -> residual_m. */
static SdmStatus shift_reference(SdmContext *ctx, SdmCoregGrid *g, const double shift_m[3])
{
    return sdm_spline_shift(ctx, &g->spline, shift_m[0] / g->dx_m, -shift_m[1] / g->dy_m, g->residual_m);
}

SdmStatus sdm_coreg_shift(SdmContext *ctx, SdmCoregGrid *g, SdmCoregShift *out)
{
    SdmStatus st = SDM_OK;
    double base_m = 0.0, *row_sums = NULL, *const shift_m = out->shift_m;
    *out = (SdmCoregShift){.undetermined = 0};
    TRY(sdm_alloc(ctx, &row_sums, (size_t)g->rows * SUMS, sizeof *row_sums, "co-registration sums"));
    TRY(fit_reference(ctx, g, &base_m));
    for (int round = 0; round < MAX_ROUNDS; round++) {
        double step_m[3];
        TRY(sdm_check_stop(ctx));
        TRY(shift_reference(ctx, g, shift_m));
        out->undetermined = find_step(g, shift_m[2] + base_m, row_sums, step_m);
        for (int k = 0; k < 3; k++)
            shift_m[k] += step_m[k];
        sdm_log(ctx, SDM_LOG_VERBOSE, 0, "co-registration %d: dx %.3f dy %.3f dz %.3f m", round + 1,
                shift_m[0], shift_m[1], shift_m[2]);
        if (hypot(step_m[0], step_m[1]) < fmin(0.01 * g->dx_m, LAST_STEP_M) && fabs(step_m[2]) < LAST_STEP_M)
            break;
    }
    TRY(shift_reference(ctx, g, shift_m));
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        g->residual_m[i] = g->mask[i] & SDM_COREG_COMMON
                               ? (float)((double)g->dem_m[i] - (double)g->residual_m[i] - base_m - shift_m[2])
                               : NAN;
    sdm_coreg_stats(g, g->residual_m, SDM_COREG_COMMON, SDM_COREG_COMMON, &out->residual);
done:
    sdm_free(&row_sums);
    return st;
}
