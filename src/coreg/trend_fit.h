/* Heights of places by date -> robust straight lines: rate, standard error, spread. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

enum { SDM_TREND_CELLS = 16 /* that are worked on together */ };
typedef float SdmTrendRow[SDM_TREND_CELLS];

/* As sdm_median_f32() of each cell: the mean of the two middle ones of an even count.  Values stay. */
void sdm_median_rows(int n, SdmTrendRow *value, const SdmTrendRow count, double out[SDM_TREND_CELLS]);

enum { SDM_TREND_LEAST = 3 /* dates of a line */ };

/* Heights of cells at n dates, in any order. */
typedef struct SdmTrendSeries {
    int n;
    float *year;           /* n, from a year in their middle */
    SdmTrendRow *height_m; /* n; NaN: none; overwritten */
    SdmTrendRow *weight;   /* n: 1 / standard error of the height, 1 / metres; overwritten */
    SdmTrendRow *spare;    /* room for n */
} SdmTrendSeries;

/* The line of each cell; NaN, and no dates, where there is none. */
typedef struct SdmTrend {
    SdmTrendRow rate, error; /* metres a year: of the line, its standard error */
    SdmTrendRow count, span; /* dates that count (no outliers), years from first to last */
    SdmTrendRow nmad_m;      /* 1.4826 x the median distance of all heights from the line */
    SdmTrendRow level_m;     /* height of the line at year 0 */
    SdmTrendRow factor;      /* variance of the residuals by that of the weights */
} SdmTrend;

/* Fit lines by an M-estimator: Tukey's biweight (c = 4.685), from a level line through the median.  The scale
 * of the residuals, and with it the standard error (Huber's asymptotic variance), is a mean of 1 (the weights
 * hold), which counts as four dates, and of what the residuals say: a few dates alone say little.  There is
 * no line where fewer than three dates count, or all lie within five weeks. */
void sdm_trend_fit(const SdmTrendSeries *s, SdmTrend *out);
