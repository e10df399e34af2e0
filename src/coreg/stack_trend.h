/* The trend of a stack: lines of the samples, stable ground, a map of the cells. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_STACK_TREND_H
#define SDM_STACK_TREND_H

#include "coreg/stack_layer.h"
#include "coreg/trend_fit.h"

#define SDM_TREND_STEP (1.0 / 1024.0) /* metres a year: of rates and their errors */

typedef struct SdmTrendLine {                  /* of a sample */
    float rate, error, level_m, factor, dates; /* as in SdmTrend; rate NaN: none */
} SdmTrendLine;

typedef struct SdmStackTrend {
    double mid_year;           /* in the middle of the dates */
    int64_t cols, rows;        /* samples of the whole grid */
    SdmTrendLine *line;        /* rows x cols */
    uint8_t *moving;           /* rows x cols: 1 where the ground is not stable */
    double stable;             /* share of the samples */
    double limit;              /* rate of the map's strongest colour */
    int factor, width, height; /* map: cells of a pixel's side; its size */
    int64_t *sum, *count;      /* height x width: rates in steps, cells; blocks may come in any size */
    SdmPng map;
} SdmStackTrend;

/* Fit the lines of rows x cols places, on all threads.  gather: fill the series, which has room for `layers`
 * dates, from a place of a row on; put: take its lines, of which those inside the row count. */
typedef struct SdmTrendWork {
    int layers;
    int64_t cols, rows;
    void (*gather)(void *user, int64_t row, int64_t col, SdmTrendSeries *series);
    void (*put)(void *user, int64_t row, int64_t col, const SdmTrend *line);
    void *user;
} SdmTrendWork;
SdmStatus sdm_trend_fit_rows(const SdmStack *s, const SdmTrendWork *work);
/* Height of a layer at a sample of the whole grid, shift and tilt taken out; NaN: none. */
float sdm_trend_sample(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row);

/* ---- stack_trend_cells.c ---- */

/* The layers over a block, h x w each. */
typedef struct SdmTrendLayers {
    int count;
    const int *index;       /* into SdmStack.layer */
    float *const *height_m; /* shift taken out */
    uint8_t *const *filled;
    float *const *error_m; /* predicted; NULL: none */
} SdmTrendLayers;
/* Before the first block: room for the map. */
SdmStatus sdm_trend_map_open(SdmStack *s);
/* Lines of the cells of a block of the part, into the product's raster. */
SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmTrendLayers *in);
/* After the last: the map, from -limit (red) to limit (blue). */
SdmStatus sdm_trend_draw(SdmContext *ctx, SdmStackTrend *t);

#endif
