/* A comparison -> the page NAME.html: maps and histograms before and after, differences by aspect, slope,
 * height and class, a semivariogram. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/file.h"
#include "coreg/compare_steps.h"

enum { SDM_ASPECTS = 36, SDM_DIFFERENCE_BARS = 60, SDM_PLOTTED_LAGS = 21 };

/* Differences before (0) or after (1) the alignment. */
typedef struct SdmComparePage {
    SdmContext *ctx;
    int factor, cols, rows; /* maps: cells per side of a pixel; size */
    struct {
        double *sum; /* of a map's pixels */
        int32_t *count;
        double bar[SDM_DIFFERENCE_BARS], low_m, high_m; /* histogram of what counts */
        double aspect_m[SDM_ASPECTS]; /* median of the differences less their median, by the tangent of the
                                       * slope; NaN: too few */
    } view[2];
    SdmErrorLag lag[SDM_PLOTTED_LAGS]; /* pairs and semivariance alone */
} SdmComparePage;

SdmStatus sdm_compare_page_open(SdmContext *ctx, const SdmCoregGrid *g, bool points, SdmComparePage **out);
void sdm_compare_page_close(SdmComparePage **page);
/* Count a difference in the pixel of a cell of the grid. */
void sdm_compare_page_add(SdmComparePage *page, int view, int64_t col, int64_t row, float difference_m);
/* Histogram of n differences, NaN = none, whose figures are known. */
void sdm_compare_page_bars(SdmComparePage *page, int view, const float *difference_m, int64_t n,
                           const SdmErrorStats *stats);
/* Number of the bin of the aspect of a slope that falls by (-east, -north); -1: too flat to have one. */
int sdm_aspect_bin(const double gradient[2]);
/* Medians of the bins of SDM_ASPECTS. */
void sdm_compare_page_aspects(SdmComparePage *page, int view, const SdmErrorStats *bin);
/* Distances of the semivariogram: those that are printed, and others between. */
double sdm_plotted_lag_m(int k);

/* Write the page. */
SdmStatus sdm_compare_page_write(const SdmComparison *w);
/* The name of the page for -o NAME or NAME.html, and of the style of QGIS beside FILE.tif. */
SdmStatus sdm_compare_page_name(SdmContext *ctx, const char *output, char out[SDM_PATH_SIZE]);
SdmStatus sdm_compare_style_name(SdmContext *ctx, const char *raster, char out[SDM_PATH_SIZE]);
/* Difference of the strongest colour of maps of differences with such figures. */
double sdm_difference_limit_m(const SdmErrorStats *stats);
