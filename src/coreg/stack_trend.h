/* The trend of a stack: lines of the samples, stable ground, a map of the cells. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coreg/stack_layer.h"
#include "product/picture.h"

/* ---- trend_fit.c: heights of places by date -> robust straight lines ---- */

enum { SDM_TREND_CELLS = 16 /* that are worked on together */ };
typedef float SdmTrendRow[SDM_TREND_CELLS];

/* As sdm_median_f32() of each cell: the mean of the two middle ones of an even count.  Values stay. */
void sdm_median_rows(int n, SdmTrendRow *value, const SdmTrendRow count, double out[SDM_TREND_CELLS]);

enum { SDM_TREND_LEAST = 3 /* dates of a line */ };

/* Heights of cells at n dates, in any order. */
typedef struct SdmTrendSeries {
    int n;
    float *year;                   /* n, from a year in their middle */
    SdmTrendRow *height_m;         /* n; NaN: none; overwritten */
    SdmTrendRow *weight;           /* n: 1 / standard error of the height, 1 / metres; overwritten */
    SdmTrendRow *spare, *second_m; /* room for n */
} SdmTrendSeries;

/* The line of each cell; rate NaN: there is none. */
typedef struct SdmTrend {
    SdmTrendRow rate, error; /* metres a year: of the line, its standard error */
    SdmTrendRow count, span; /* dates that count (no outliers), years from first to last */
    SdmTrendRow nmad_m;      /* 1.4826 x the median distance of all heights from the line */
    SdmTrendRow level_m;     /* height of the line at year 0 */
    SdmTrendRow factor;      /* variance of the residuals by that of the weights */
} SdmTrend;

/* Fit lines by an M-estimator: Tukey's biweight (c = 4.685), from a level line through the median, or from
 * that of least squares where this fits better.  The scale
 * of the residuals, and with it the standard error (Huber's asymptotic variance), is a mean of 1 (the weights
 * hold), which counts as four dates, and of what the residuals say: a few dates alone say little.  There is
 * no line where fewer than three dates count, or all lie within five weeks. */
void sdm_trend_fit(const SdmTrendSeries *s, SdmTrend *out);

/* ---- stack_trend.c ---- */

#define SDM_TREND_STEP (1.0 / 1024.0) /* metres a year: of rates and their errors */

typedef struct SdmTrendLine {                  /* of a sample */
    float rate, error, level_m, factor, dates; /* as in SdmTrend; rate NaN: none */
} SdmTrendLine;

typedef struct SdmStackTrend {
    const SdmLayer *first, *last; /* by date */
    double mid_year;              /* in the middle of the dates */
    int64_t cols, rows;           /* samples of the whole grid */
    SdmTrendLine *line;           /* rows x cols */
    uint8_t *moving;              /* rows x cols: 1 where the ground is not stable */
    double stable;                /* share of the samples */
    double limit;                 /* rate of the map's strongest colour */
    double usual_error;           /* median of the samples */
    SdmMeanMap mean;              /* of the rates in steps: blocks may come in any size */
    SdmPng map;
} SdmStackTrend;

/* Lines of the cells of a block of the part, into the product's raster. */
SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmBlockLayers *in);
