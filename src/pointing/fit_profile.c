/* Stage 2: profile by row of the pointing correction, the jitter. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "pointing/fit_parts.h"

#include <math.h>
#include <string.h>

enum { STEP = 16 };

/* Local mean of bins with a Gaussian of `width` bins; bins: sum of weights and of weighted residuals. */
static double smooth_at(const double *weight, const double *sum, int bins, int at, double width)
{
    double a = 0.0, b = 0.0;
    const int reach = (int)(3.0 * width) + 1;
    for (int i = at - reach < 0 ? 0 : at - reach; i <= at + reach && i < bins; i++) {
        const double x = (i - at) / width, g = exp(-0.5 * x * x);
        a += g * weight[i];
        b += g * sum[i];
    }
    return a > 0.0 ? b / a : 0.0;
}

typedef struct Bins {
    int count;
    int64_t row0;
    double *weight, *sum; /* 3 x count: folds 0, 1 (by sample parity), and both */
} Bins;

static void fill_bins(const SdmFit *f, double clip, const Bins *b)
{
    memset(b->weight, 0, (size_t)(3 * b->count) * sizeof *b->weight);
    memset(b->sum, 0, (size_t)(3 * b->count) * sizeof *b->sum);
    for (size_t i = 0; i < f->count; i++) {
        const double q = f->rest[i] / clip, w = fabs(q) < 1.0 ? (1.0 - q * q) * (1.0 - q * q) : 0.0;
        const int64_t bin = (int64_t)floor((f->sample[i].row - (double)b->row0) / STEP + 0.5);
        if (bin < 0 || bin >= b->count)
            continue;
        /* parity by image column, so that neighbouring samples stay together */
        const int side = (int)(((int64_t)floor(f->sample[i].col / 256.0)) & 1);
        for (int k = 0; k < 2; k++) {
            const int64_t at = (k ? 2 : side) * b->count + bin;
            b->weight[at] += w;
            b->sum[at] += w * f->rest[i];
        }
    }
}

/* Predict one half of the image by the other: weighted mean square for a width (0: no profile). */
static double profile_error(const Bins *b, double width)
{
    double sum = 0.0, n = 0.0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < b->count; i++) {
            const double w = b->weight[side * b->count + i];
            if (w < 1.0)
                continue;
            const double mean = b->sum[side * b->count + i] / w;
            const int64_t other = (int64_t)(1 - side) * b->count;
            const double guess =
                width > 0.0 ? smooth_at(b->weight + other, b->sum + other, b->count, i, width) : 0.0;
            sum += w * (mean - guess) * (mean - guess);
            n += w;
        }
    return n > 0.0 ? sum / n : INFINITY;
}

SdmStatus sdm_fit_profile(SdmContext *ctx, const SdmFit *f, int64_t rows, SdmPointing *p)
{
    static const double widths[] = {1.0, 1.5, 2.5, 4.0, 8.0, 16.0};
    SdmStatus st = SDM_OK;
    Bins b = {.count = (int)(rows / STEP) + 2};
    double best_width = 0.0;
    TRY(sdm_alloc(ctx, &b.weight, (size_t)(3 * b.count), sizeof(double), "profile bins"));
    TRY(sdm_alloc(ctx, &b.sum, (size_t)(3 * b.count), sizeof(double), "profile bins"));
    for (size_t i = 0; i < f->count; i++)
        f->work[i] = f->rest[i];
    fill_bins(f, 4.685 * fmax(sdm_nmad_f64(f->work, (int64_t)f->count, NULL), 1e-3), &b);
    double best = 0.97 * profile_error(&b, 0.0);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const double e = profile_error(&b, widths[i]);
        if (e < best) {
            best = e;
            best_width = widths[i];
        }
    }
    if (best_width > 0.0) {
        double *fresh = NULL;
        TRY(sdm_alloc(ctx, &fresh, (size_t)b.count, sizeof *fresh, "the jitter profile"));
        for (int i = 0; i < b.count; i++)
            fresh[i] = smooth_at(b.weight + 2 * b.count, b.sum + 2 * b.count, b.count, i, best_width) +
                       (p->profile_count ? p->profile_px[i] : 0.0);
        sdm_free(&p->profile_px);
        p->profile_px = fresh;
        p->profile_count = b.count;
        p->profile_step_px = STEP;
        p->profile_row0 = 0;
    }
done:
    sdm_free(&b.weight);
    sdm_free(&b.sum);
    return st;
}
