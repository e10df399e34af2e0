/* Cells of a DEM -> statistics, histogram and preview, in integers, so that the order does not matter. */
// SPDX-License-Identifier: Apache-2.0
#include "product/dem_stats.h"

#include <math.h>
#include <string.h>

static void clear_part(SdmDemStatsPart *part)
{
    int64_t *const histogram = part->histogram;
    memset(histogram, 0, SDM_HISTOGRAM * sizeof *histogram);
    *part = (SdmDemStatsPart){.low = INT64_MAX,
                              .high = INT64_MIN,
                              .ortho_low = INFINITY,
                              .ortho_high = -INFINITY,
                              .histogram = histogram};
}

SdmStatus sdm_dem_stats_open(SdmContext *ctx, const SdmGrid *grid, SdmDemStats *s)
{
    const double spacing_m = sdm_grid_spacing_m(grid);
    *s = (SdmDemStats){.low = INT64_MAX, .high = INT64_MIN, .ortho_low = INFINITY, .ortho_high = -INFINITY};
    s->step_m = fmin(fmax(exp2(floor(log2(spacing_m / 1000.0))), 0x1p-14), 0x1p-4);
    s->bin_m = fmax(s->step_m, 0.25);
    const int64_t longest = grid->cols > grid->rows ? grid->cols : grid->rows;
    s->factor = (int)((longest + SDM_PREVIEW_MAX - 1) / SDM_PREVIEW_MAX);
    s->cols = (int)((grid->cols + s->factor - 1) / s->factor);
    s->rows = (int)((grid->rows + s->factor - 1) / s->factor);
    const size_t n = (size_t)s->cols * (size_t)s->rows;
    PASS(sdm_alloc(ctx, &s->histogram, SDM_HISTOGRAM, sizeof *s->histogram, "histogram"));
    PASS(SDM_ALLOC(ctx, "preview", SDM_ARRAY(s->preview_sum, n), SDM_ARRAY(s->preview_count, n),
                   SDM_ARRAY(s->preview_mask, n)));
    s->threads = sdm_threads(ctx);
    PASS(sdm_alloc(ctx, &s->part, (size_t)s->threads, sizeof *s->part, "histogram"));
    for (int i = 0; i < s->threads; i++) {
        PASS(sdm_alloc(ctx, &s->part[i].histogram, SDM_HISTOGRAM, sizeof *s->histogram, "histogram"));
        clear_part(&s->part[i]);
    }
    return SDM_OK;
}

void sdm_dem_stats_close(SdmDemStats *s)
{
    for (int i = 0; s->part && i < s->threads; i++)
        sdm_free(&s->part[i].histogram);
    SDM_FREE(&s->part, &s->histogram, &s->preview_sum, &s->preview_count, &s->preview_mask);
}

static void add_height(SdmDemStats *s, SdmDemStatsPart *part, float height_m, size_t at)
{
    const int64_t k = (int64_t)((double)height_m * (1.0 / s->step_m)); /* exact: heights are multiples */
    const double bin = ((double)height_m - SDM_HISTOGRAM_FLOOR_M) * (1.0 / s->bin_m);
    part->histogram[bin < 0.0 ? 0 : bin < SDM_HISTOGRAM ? (int)bin : SDM_HISTOGRAM - 1]++;
    part->low = k < part->low ? k : part->low;
    part->high = k > part->high ? k : part->high;
    part->sum += k;
    part->squares += (SdmWide)k * k;
    part->valid++;
    s->preview_sum[at] += k;
    s->preview_count[at]++;
}

/* Add row r of the cells.  No two threads add to the same row of the preview. */
static void add_row(SdmDemStats *s, SdmDemStatsPart *part, const SdmDemCells *cells, int64_t r)
{
    const float *const height_m = cells->height_m + r * cells->w;
    const float *const ortho = cells->ortho ? cells->ortho + r * cells->w : NULL;
    const uint16_t *const mask = cells->mask + r * cells->w;
    size_t at = (size_t)((cells->row0 + r) / s->factor) * (size_t)s->cols + (size_t)(cells->col0 / s->factor);
    int left = s->factor - (int)(cells->col0 % s->factor);
    for (int64_t c = 0; c < cells->w; c++) {
        if (height_m[c] != SDM_NODATA)
            add_height(s, part, height_m[c], at);
        part->unseen += !(mask[c] & SDM_QA_VALID) && mask[c] & (SDM_QA_OUTSIDE | SDM_QA_MASKED);
        s->preview_mask[at] |= mask[c];
        for (unsigned bits = mask[c]; bits; bits &= bits - 1)
            part->mask_bits[__builtin_ctz(bits)]++;
        if (ortho && ortho[c] < part->ortho_low)
            part->ortho_low = ortho[c];
        if (ortho && ortho[c] > part->ortho_high)
            part->ortho_high = ortho[c];
        if (--left == 0) {
            left = s->factor;
            at++;
        }
    }
}

static void add_part(SdmDemStats *s, SdmDemStatsPart *part)
{
    for (int i = 0; part->valid && i < SDM_HISTOGRAM; i++)
        s->histogram[i] += part->histogram[i];
    for (int b = 0; b < SDM_QA_BITS; b++)
        s->mask_bits[b] += part->mask_bits[b];
    s->low = part->low < s->low ? part->low : s->low;
    s->high = part->high > s->high ? part->high : s->high;
    s->ortho_low = fminf(s->ortho_low, part->ortho_low);
    s->ortho_high = fmaxf(s->ortho_high, part->ortho_high);
    s->sum += part->sum;
    s->squares += part->squares;
    s->valid += part->valid;
    s->unseen += part->unseen;
    clear_part(part);
}

void sdm_dem_stats_add(SdmDemStats *s, const SdmDemCells *c)
{
    const int64_t first = c->row0 / s->factor, last = (c->row0 + c->h - 1) / s->factor;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t row = first; row <= last; row++) { /* of the preview */
        const int64_t begin = row * s->factor - c->row0, end = begin + s->factor;
        for (int64_t r = begin > 0 ? begin : 0; r < end && r < c->h; r++)
            add_row(s, &s->part[sdm_thread()], c, r);
    }
    for (int i = 0; i < s->threads; i++)
        add_part(s, &s->part[i]);
    s->cells += c->w * c->h;
}

int64_t sdm_dem_stats_count(const SdmDemStats *s, unsigned bit)
{
    return s->mask_bits[__builtin_ctz(bit)];
}

double sdm_dem_stats_mean_m(const SdmDemStats *s)
{
    return s->valid ? (double)s->sum / (double)s->valid * s->step_m : NAN;
}

double sdm_dem_stats_std_m(const SdmDemStats *s)
{
    if (!s->valid)
        return NAN;
    const SdmWide variance =
        s->squares * s->valid - s->sum * s->sum; /* exact, so it cannot come out negative */
    return sqrt((double)variance) / (double)s->valid * s->step_m;
}

double sdm_dem_stats_quantile_m(const SdmDemStats *s, double q)
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
