/* The trend of a stack: lines of the samples, stable ground, a map of the cells. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coreg/stack_layer.h"
#include "coreg/trend_fit.h"
#include "product/picture.h"

#define SDM_TREND_STEP (1.0 / 1024.0) /* metres a year: of rates and their errors */

typedef struct SdmTrendLine {                  /* of a sample */
    float rate, error, level_m, factor, dates; /* as in SdmTrend; rate NaN: none */
} SdmTrendLine;

typedef struct SdmStackTrend {
    double mid_year;    /* in the middle of the dates */
    int64_t cols, rows; /* samples of the whole grid */
    SdmTrendLine *line; /* rows x cols */
    uint8_t *moving;    /* rows x cols: 1 where the ground is not stable */
    double stable;      /* share of the samples */
    double limit;       /* rate of the map's strongest colour */
    double usual_error; /* median of the samples */
    SdmMeanMap mean;    /* of the rates in steps: blocks may come in any size */
    SdmPng map;
} SdmStackTrend;

/* ---- cells of the product ---- */

/* The layers over a block, h x w each. */
typedef struct SdmTrendLayers {
    int count;
    const int *index;       /* into SdmStack.layer */
    float *const *height_m; /* shift taken out */
    uint8_t *const *filled;
    float *const *error_m; /* predicted; NULL: none */
} SdmTrendLayers;
/* Lines of the cells of a block of the part, into the product's raster. */
SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmTrendLayers *in);
