/* A comparison while it runs: open files, grid, places where the surfaces are compared, page. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/file.h"
#include "coreg/compare.h"
#include "product/picture.h"

enum {
    SDM_IN_DEM,
    SDM_IN_REFERENCE,
    SDM_IN_CLASS,
    SDM_IN_WITHIN,
    SDM_IN_AREA,
    SDM_IN_MASK,
    SDM_IN_EXCLUDE,
    SDM_INPUTS
};

enum { /* the caller's bits of the mask */
       SDM_CELL_CLASS_SHIFT = SDM_COREG_CALLER_SHIFT,
       SDM_CELL_CLASS = 3 << SDM_CELL_CLASS_SHIFT, /* 0 none, 1 land, 2 water, 3 cloud */
       SDM_CELL_LAND = 1 << SDM_CELL_CLASS_SHIFT
};

enum { SDM_ASPECTS = 36, SDM_DIFFERENCE_BARS = 60, SDM_PLOTTED_LAGS = 21 };

/* Differences before (0) and after (1) the alignment, as the page of -o shows them. */
typedef struct SdmComparePage {
    struct {
        SdmMeanMap map;
        double bar[SDM_DIFFERENCE_BARS], low_m, high_m; /* histogram of what counts */
        double aspect_m[SDM_ASPECTS]; /* median of the differences less their median, by the tangent of the
                                       * slope; NaN: too few */
    } view[2];
    SdmErrorLag lag[SDM_PLOTTED_LAGS];
} SdmComparePage;

/* Places where the surfaces are compared; arrays of `count`.  Those of a raster are the cells of the grid,
 * and the arrays are its own. */
typedef struct SdmPlaces {
    int64_t count;
    float *residual_m;            /* moved DEM minus reference; NaN: none */
    float *value, *spare;         /* scratch */
    uint8_t *class;               /* value of --class; cells: NULL without it */
    double *x_m, *y_m, *height_m; /* of points: metres from the corner of the grid east and north; height */
    float *east, *north, *work;   /* of points: slope of the DEM; SDM_SHIFT_FLOATS */
} SdmPlaces;

typedef struct SdmComparison {
    SdmContext *ctx;
    const SdmCompareOptions *opt;
    SdmInputRaster in[SDM_INPUTS];
    SdmInputPoints points; /* of the reference, where it is points */
    SdmRasterGrid grid;
    SdmRasterGrid own; /* of the reference's own cells, with g.own_cells */
    SdmCoregGrid g;
    SdmPlaces at;
    bool tilts;          /* --model tilt */
    uint8_t *class;      /* rows x cols: value of --class; NULL without it */
    SdmComparePage page; /* with -o alone */
    SdmCompareResult *out;
} SdmComparison;

/* ---- compare_bins.c ---- */

/* Height of the reference at a place and, unless slope is NULL, the slopes of the surface that is resampled
 * towards east and north; NaN: not known. */
double sdm_compare_ground(const SdmComparison *w, int64_t place, double slope[2]);
/* Statistics of the residuals of each bin, at most SDM_COMPARE_CLASSES; middle_m not NULL: of what exceeds
 * it, by the tangent of the slope.  bin_of: the bin of a place, -1: none. */
typedef int SdmCompareBin(const SdmComparison *w, int64_t place);
void sdm_compare_stats_by(const SdmComparison *w, SdmCompareBin *bin_of, int bins, const double *middle_m,
                          SdmCompareRange *out);
int sdm_compare_class_bin(const SdmComparison *w, int64_t place);

/* ---- compare_write.c ---- */

/* Difference of the strongest colour of maps of differences with such figures. */
double sdm_difference_limit_m(const SdmErrorStats *stats);
/* The name of the style of QGIS beside FILE.tif. */
SdmStatus sdm_compare_style_name(SdmContext *ctx, const char *raster, char out[SDM_PATH_SIZE]);
/* Figures by class and outside of the mask, from the resampled DEM, and the files --aligned and --difference.
 * The last step: overwrites the residuals. */
SdmStatus sdm_compare_write(SdmComparison *w);

/* ---- compare_report.c: the page NAME.html ---- */

/* Histogram of the residuals, whose figures are known, and their medians by aspect; without -o nothing. */
void sdm_compare_page_add(SdmComparison *w, int view, const SdmErrorStats *stats);
/* Distances of the semivariogram: those that are printed, and others between. */
double sdm_plotted_lag_m(int k);
/* Write the page. */
SdmStatus sdm_compare_page_write(const SdmComparison *w);
/* The name of the page for -o NAME or NAME.html. */
SdmStatus sdm_compare_page_name(SdmContext *ctx, const char *output, char out[SDM_PATH_SIZE]);
