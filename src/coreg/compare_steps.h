/* Shared by comparisons with a raster and with points: the open files, the grid, its cells, the page. */
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
    SDM_IN_MASK,
    SDM_IN_EXCLUDE,
    SDM_IN_AREA,
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

typedef struct SdmComparison {
    SdmContext *ctx;
    const SdmCompareOptions *opt;
    SdmInputRaster in[SDM_INPUTS];
    SdmInputPoints points; /* of the reference, where it is points */
    SdmRasterGrid grid;
    SdmRasterGrid own; /* of the reference's own cells, with g.own_cells */
    SdmCoregGrid g;
    bool tilts;          /* --model tilt */
    uint8_t *class;      /* rows x cols: value of --class; NULL without it */
    SdmComparePage page; /* with -o alone */
    SdmCompareResult *out;
} SdmComparison;

/* ---- compare_cells.c ---- */

/* Allocate the arrays of g for w->grid within --memory and the page's maps, and load the DEM. */
SdmStatus sdm_compare_open_grid(SdmComparison *w);
/* Mask of the cells from --class, --within, --mask and --exclude: class bits, and SDM_COREG_STABLE for those
 * that count. */
SdmStatus sdm_compare_load_cells(SdmComparison *w);
/* Residuals at cells or points, and the ground there. */
typedef struct SdmResiduals {
    SdmComparison *w;
    int64_t count;
    const float *residual_m; /* NaN: none */
    float *value, *spare;    /* scratch of that size */
    const uint8_t *class;    /* values of --class; NULL without it */
    /* Height of the reference and, unless slope is NULL, the slopes towards east and north. */
    double (*ground)(const void *of, int64_t at, double slope[2]);
    const void *of;
} SdmResiduals;

/* Slope of the line of the DEM's heights over those of the reference; stays where they do not go together. */
void sdm_compare_height_ratio(const SdmResiduals *r, double *ratio);
/* Those of the cells; scratch is overwritten, and the spline. */
SdmResiduals sdm_compare_cell_residuals(SdmComparison *w);
/* Number of the bin of a residual, 0 .. bins - 1; -1: none. */
typedef int SdmCompareBin(const SdmResiduals *r, int64_t at);
int sdm_compare_class_bin(const SdmResiduals *r, int64_t at);
/* Statistics of the residuals of each bin, at most SDM_COMPARE_CLASSES; middle_m not NULL: of what exceeds
 * it, by the tangent of the slope. */
void sdm_compare_stats_by(const SdmResiduals *r, SdmCompareBin *bin_of, int bins, const double *middle_m,
                          SdmCompareRange *out);
/* Statistics by slope and by height of the ground; limits of the heights from n of them in r->value. */
void sdm_compare_stats_by_ground(const SdmResiduals *r, int64_t n, SdmCompareResult *out);

/* Steps that differ between cells and points when shift and model are found. */
typedef struct SdmCompareSteps {
    void *of;
    SdmStatus (*find_shift)(void *of); /* -> out->move */
    /* Residuals, the plane left in. */
    void (*take_samples)(void *of, const SdmTilt *taken_out, SdmTiltSamples *out);
    SdmStatus (*dem_changed)(void *of); /* the plane was taken out of its heights; NULL: nothing to do */
    size_t samples;                     /* at most */
} SdmCompareSteps;
/* The shift and, with --model tilt, the plane of the residuals, in turn until the shift stays. */
SdmStatus sdm_compare_align(SdmComparison *w, const SdmCompareSteps *steps);

/* Difference of the strongest colour of maps of differences with such figures. */
double sdm_difference_limit_m(const SdmErrorStats *stats);
/* The name of the style of QGIS beside FILE.tif. */
SdmStatus sdm_compare_style_name(SdmContext *ctx, const char *raster, char out[SDM_PATH_SIZE]);
/* Figures by class and outside of the mask, from the resampled DEM, and the files --aligned and --difference.
 * The last step: overwrites the residuals. */
SdmStatus sdm_compare_write(SdmComparison *w);

/* ---- compare_points.c ---- */

/* Compare with w->points; w->in is open. */
SdmStatus sdm_compare_points(SdmComparison *w);

/* ---- compare_report.c: the page NAME.html ---- */

/* Histogram of the residuals, whose figures are known, and their medians by aspect; without -o nothing. */
void sdm_compare_page_add(const SdmResiduals *r, int view, const SdmErrorStats *stats);
/* Distances of the semivariogram: those that are printed, and others between. */
double sdm_plotted_lag_m(int k);

/* Write the page. */
SdmStatus sdm_compare_page_write(const SdmComparison *w);
/* The name of the page for -o NAME or NAME.html. */
SdmStatus sdm_compare_page_name(SdmContext *ctx, const char *output, char out[SDM_PATH_SIZE]);
