/* The trend of a stack: what is found from the samples, and what the cells add
 * to it for the report. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_STACK_TREND_H
#define SDM_STACK_TREND_H

#include "coreg/stack_layer.h"
#include "coreg/trend_fit.h"

/* Heights of a sample by date, with its line. */
typedef struct SdmTrendCurve {
    int n;
    double *year, *height_m; /* n; owned: year, with the heights behind */
    double rate, error, level_m, mid_year, x, y;
} SdmTrendCurve;

enum { SDM_TREND_BINS = 1 << 15, SDM_TREND_CURVES = 3 };
#define SDM_TREND_STEP                                                                                       \
    (1.0 / 1024.0) /* metres a year: of rates and errors in the raster and the                               \
                      histograms */

typedef struct SdmStackTrend {
    double mid_year;               /* in the middle of the dates */
    int64_t cols, rows;            /* samples of the whole grid */
    float *rate, *error, *level_m; /* cols x rows: of the lines of the samples; NaN: none */
    float *factor, *dates;
    uint8_t *moving; /* cols x rows: 1 where the ground is not stable */
    double stable;   /* share of the samples */
    /* of the cells, counted in integers, so that blocks may come in any size */
    int64_t cells, certain;      /* with a rate; with one beyond two standard errors */
    int64_t *histogram;          /* 2 x SDM_TREND_BINS: rates from -16 m a year on,
                                    standard errors from 0 */
    int cells_px, width, height; /* preview: cells of a pixel's side; its size */
    int64_t *sum;                /* height x width: rates in steps */
    int32_t *count;
    SdmTrendFigures found; /* for the report, as the map and the curves */
    SdmPng map;
    SdmTrendCurve curve[SDM_TREND_CURVES];
    int curves;
    double limit; /* rate of the strongest colour, metres a year */
} SdmStackTrend;

/* Room for the lines of cells with so many layers; free after failure, too. */
SdmStatus sdm_trend_room(SdmContext *ctx, int layers, SdmTrendSeries *out);
void sdm_trend_room_free(SdmTrendSeries *series);
/* Height of a layer at a sample of the whole grid, shift and tilt taken out;
 * NaN: none. */
float sdm_trend_sample(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row);

/* ---- stack_trend_cells.c ---- */

/* The layers over a block: heights h x w, shift taken out. */
typedef struct SdmTrendLayers {
    int count;
    const int *index; /* into SdmStack.layer */
    float *const *height_m;
    uint8_t *const *filled;
} SdmTrendLayers;
/* Before the first block: room for the map. */
SdmStatus sdm_trend_map_open(SdmStack *s);
/* Lines of the cells of a block of the part, into the product's raster. */
SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmTrendLayers *in);
/* Quantile of the rates, or of their standard errors, metres a year; NaN
 * without any. */
double sdm_trend_quantile(const SdmStackTrend *t, int of_errors, double q);
/* Mean rate of a pixel of the map, metres a year; NaN: none. */
double sdm_trend_mean(const SdmStackTrend *t, int64_t pixel);
/* The map, from -limit (red) to limit (blue). */
SdmStatus sdm_trend_picture(SdmContext *ctx, const SdmStackTrend *t, SdmPng *out);

/* ---- stack_trend_report.c ---- */

/* After the last block: choose the limit of the colours, draw the map, and
 * measure the errors of areas. */
SdmStatus sdm_trend_finish(SdmStack *s);

#endif
