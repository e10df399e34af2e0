/* The trend of a stack: lines of the samples, stable ground, and what the cells add to it for the report. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_STACK_TREND_H
#define SDM_STACK_TREND_H

#include "coreg/error_lag.h"
#include "coreg/stack_layer.h"
#include "coreg/trend_fit.h"

enum { SDM_TREND_BINS = 1 << 15, SDM_TREND_AREAS = 4 };
#define SDM_TREND_STEP (1.0 / 1024.0) /* metres a year: of rates and their errors */

typedef struct SdmTrendLine { /* of a sample */
    float rate, error, level_m, factor, dates; /* as in SdmTrend; rate NaN: none */
} SdmTrendLine;

typedef struct SdmStackTrend {
    double mid_year;    /* in the middle of the dates */
    int64_t cols, rows; /* samples of the whole grid */
    SdmTrendLine *line; /* rows x cols */
    uint8_t *moving;    /* rows x cols: 1 where the ground is not stable */
    double stable;      /* share of the samples */
    /* of the cells, counted in integers, so that blocks may come in any size */
    int64_t cells, certain;     /* with a rate; with one beyond two standard errors */
    int64_t *histogram;         /* SDM_TREND_BINS: rates, 0 in the middle */
    int factor, width, height;  /* map: cells of a pixel's side; its size */
    int64_t *sum, *count;       /* height x width: rates in steps, cells */
    double limit;               /* rate of the map's strongest colour */
    SdmPng map;
    SdmErrorLag area[SDM_TREND_AREAS]; /* errors of mean rates over squares of stable ground */
} SdmStackTrend;

/* Room for the lines of cells with so many layers; free after failure, too. */
SdmStatus sdm_trend_room(SdmContext *ctx, int layers, SdmTrendSeries *out);
void sdm_trend_room_free(SdmTrendSeries *series);
/* Height of a layer at a sample of the whole grid, shift and tilt taken out; NaN: none. */
float sdm_trend_sample(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row);
/* Predicted errors of a layer (l->error) at the cells of a window, as sdm_layer_read(). */
SdmStatus sdm_trend_errors(const SdmStack *s, const SdmLayer *l, SdmCellWindow window, float *error_m);

/* ---- stack_trend_cells.c ---- */

/* The layers over a block, h x w each. */
typedef struct SdmTrendLayers {
    int count;
    const int *index;       /* into SdmStack.layer */
    float *const *height_m; /* shift taken out */
    uint8_t *const *filled;
    float *const *error_m;  /* predicted; NULL: none */
} SdmTrendLayers;
/* Before the first block: room for the map. */
SdmStatus sdm_trend_map_open(SdmStack *s);
/* Lines of the cells of a block of the part, into the product's raster. */
SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmTrendLayers *in);
/* After the last: the limit of the colours, the map, errors of areas. */
SdmStatus sdm_trend_finish(SdmStack *s);

#endif
