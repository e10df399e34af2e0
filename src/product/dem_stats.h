/* Cells of a DEM -> statistics, histogram and preview, in integers, so that the order does not matter. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/qa_reasons.h"
#include "geo/grid.h"

#define SDM_HISTOGRAM_FLOOR_M (-1000.0) /* height where the first bin of the histogram begins */
enum { SDM_PREVIEW_MAX = 1600, SDM_HISTOGRAM = 1 << 16 }; /* longest side of the preview, px; bins */
__extension__ typedef __int128 SdmWide;

typedef struct __attribute__((aligned(64))) SdmDemStatsPart { /* what one thread counts */
    int64_t valid, unseen, low, high, mask_bits[16];
    SdmWide sum, squares;
    float ortho_low, ortho_high;
    int64_t *histogram; /* SDM_HISTOGRAM */
} SdmDemStatsPart;

typedef struct SdmDemStats {
    double step_m;        /* heights are multiples of it: a power of two, below 1/1000 of the spacing */
    int64_t cells, valid; /* cells added; cells with a height */
    int64_t unseen;       /* cells without one that not both views see, or that a mask leaves out */
    int64_t low, high;    /* smallest and largest height, in steps */
    SdmWide sum, squares; /* of the heights, in steps and steps^2 */
    double bin_m; /* bin i of the histogram holds heights from SDM_HISTOGRAM_FLOOR_M + i x bin_m on; a power
                   * of two */
    int64_t *histogram;             /* SDM_HISTOGRAM */
    int64_t mask_bits[SDM_QA_BITS]; /* cells with each bit of the QA mask */
    float ortho_low, ortho_high;    /* range of the ortho image; low > high where it is empty */
    int factor, cols, rows;         /* preview: cells per side of a pixel; its size, px */
    int64_t *preview_sum;           /* rows x cols, heights in steps */
    int32_t *preview_count;         /* rows x cols, cells with a height */
    uint16_t *preview_mask;         /* rows x cols, every bit that one of its cells has */
    int threads;                    /* that count */
    SdmDemStatsPart *part;          /* of each thread, empty between calls */
} SdmDemStats;

/* Cells to add: h rows of w. */
typedef struct SdmDemCells {
    int64_t col0, row0, w, h;
    const float *height_m; /* as written, SDM_NODATA for none */
    const float *ortho;    /* NULL: none */
    const uint16_t *mask;  /* SdmQaBit */
} SdmDemCells;

SdmStatus sdm_dem_stats_open(SdmContext *ctx, const SdmGrid *grid, SdmDemStats *s);
void sdm_dem_stats_add(SdmDemStats *s, const SdmDemCells *c);
void sdm_dem_stats_close(SdmDemStats *s);
int64_t sdm_dem_stats_count(const SdmDemStats *s, unsigned bit); /* cells that have a bit, one of SdmQaBit */
double sdm_dem_stats_mean_m(const SdmDemStats *s);
double sdm_dem_stats_std_m(const SdmDemStats *s);
/* Quantile of the heights, q in 0..1, to half a bin; NaN without heights. */
double sdm_dem_stats_quantile_m(const SdmDemStats *s, double q);
