/* Blocks of heights -> statistics, histogram and preview, in integers: the order does not matter. */
// SPDX-License-Identifier: Apache-2.0
#include "dem/product_inside.h"

#include <math.h>

SdmStatus sdm_survey_open(SdmContext *ctx, const SdmGrid *grid, SdmSurvey *s)
{
    SdmStatus st = SDM_OK;
    const double spacing_m = sdm_grid_spacing_m(grid);
    *s = (SdmSurvey){.low = INT64_MAX, .high = INT64_MIN, .ortho_low = INFINITY, .ortho_high = -INFINITY};
    s->step_m = fmin(fmax(exp2(floor(log2(spacing_m / 1000.0))), 0x1p-14), 0x1p-4);
    s->bin_m = fmax(s->step_m, 0.25);
    const int64_t longest = grid->cols > grid->rows ? grid->cols : grid->rows;
    s->factor = (int)((longest + SDM_PREVIEW_MAX - 1) / SDM_PREVIEW_MAX);
    s->cols = (int)((grid->cols + s->factor - 1) / s->factor);
    s->rows = (int)((grid->rows + s->factor - 1) / s->factor);
    const size_t n = (size_t)s->cols * (size_t)s->rows;
    TRY(sdm_alloc(ctx, &s->histogram, SDM_HISTOGRAM, sizeof *s->histogram, "histogram"));
    TRY(sdm_alloc(ctx, &s->preview_sum, n, sizeof *s->preview_sum, "preview"));
    TRY(sdm_alloc(ctx, &s->preview_count, n, sizeof *s->preview_count, "preview"));
    TRY(sdm_alloc(ctx, &s->preview_mask, n, sizeof *s->preview_mask, "preview"));
done:
    return st;
}

void sdm_survey_close(SdmSurvey *s)
{
    sdm_free(&s->histogram);
    sdm_free(&s->preview_sum);
    sdm_free(&s->preview_count);
    sdm_free(&s->preview_mask);
}

static void add_height(SdmSurvey *s, float height_m, size_t at, int64_t *sum, SdmWide *squares)
{
    const int64_t k = (int64_t)((double)height_m / s->step_m); /* exact: heights are multiples */
    const double bin = ((double)height_m - SDM_HISTOGRAM_FLOOR_M) / s->bin_m;
    s->histogram[(int)fmin(fmax(bin, 0.0), SDM_HISTOGRAM - 1)]++;
    s->low = k < s->low ? k : s->low;
    s->high = k > s->high ? k : s->high;
    *sum += k;
    *squares += (SdmWide)k * k;
    s->preview_sum[at] += k;
    s->preview_count[at]++;
    s->valid++;
}

void sdm_survey_add(SdmSurvey *s, int64_t col0, int64_t row0, int64_t w, int64_t h, const float *height_m,
                    const uint16_t *mask, const float *ortho)
{
    int64_t met[16] = {0};
    for (int64_t r = 0; r < h; r++) {
        int64_t sum = 0;
        SdmWide squares = 0;
        const size_t row_at = (size_t)((row0 + r) / s->factor) * (size_t)s->cols;
        int64_t pixel = col0 / s->factor;
        int left = s->factor - (int)(col0 % s->factor);
        for (int64_t c = 0; c < w; c++) {
            const int64_t i = r * w + c;
            const size_t at = row_at + (size_t)pixel;
            if (height_m[i] != SDM_NODATA)
                add_height(s, height_m[i], at, &sum, &squares);
            s->preview_mask[at] |= mask[i];
            for (unsigned bits = mask[i]; bits; bits &= bits - 1)
                met[__builtin_ctz(bits)]++;
            if (ortho && ortho[i] < s->ortho_low)
                s->ortho_low = ortho[i];
            if (ortho && ortho[i] > s->ortho_high)
                s->ortho_high = ortho[i];
            if (--left == 0) {
                left = s->factor;
                pixel++;
            }
        }
        s->sum += sum;
        s->squares += squares;
    }
    s->cells += w * h;
    for (int b = 0; b < SDM_QA_BITS; b++)
        s->mask_bits[b] += met[b];
}

double sdm_survey_mean_m(const SdmSurvey *s)
{
    return s->valid ? (double)s->sum / (double)s->valid * s->step_m : NAN;
}

double sdm_survey_std_m(const SdmSurvey *s)
{
    if (!s->valid)
        return NAN;
    const SdmWide spread =
        s->squares * s->valid - s->sum * s->sum; /* exact, so it cannot come out negative */
    return sqrt((double)spread) / (double)s->valid * s->step_m;
}

double sdm_survey_quantile_m(const SdmSurvey *s, double q)
{
    const int64_t want = (int64_t)(q * (double)(s->valid - 1));
    int64_t seen = 0;
    for (int i = 0; i < SDM_HISTOGRAM; i++)
        if ((seen += s->histogram[i]) > want) {
            const double at = SDM_HISTOGRAM_FLOOR_M + (i + 0.5) * s->bin_m;
            return fmin(fmax(at, (double)s->low * s->step_m), (double)s->high * s->step_m);
        }
    return NAN;
}

SdmStatus sdm_survey_preview(SdmContext *ctx, const SdmSurvey *s, float **height_m)
{
    const size_t n = (size_t)s->cols * (size_t)s->rows;
    const SdmStatus st = sdm_alloc(ctx, height_m, n, sizeof **height_m, "preview");
    for (size_t i = 0; !st && i < n; i++)
        (*height_m)[i] = s->preview_count[i] == 0
                             ? NAN
                             : (float)((double)s->preview_sum[i] / s->preview_count[i] * s->step_m);
    return st;
}
