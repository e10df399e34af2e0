/* A DEM and a reference, a DEM or points -> error statistics, before and after co-registration (Nuth & Kaab
 * 2011); the aligned DEM and the difference. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options.h"
#include "core/text.h"
#include "coreg/coreg.h"
#include "core/core.h"
#include "coreg/input_raster.h"

enum { SDM_LAGS = 3 };
extern const double sdm_lags_m[SDM_LAGS]; /* 30, 300, 3,000 m */

/* Errors at a distance (lag).  Neighbouring errors are alike, so the error of a mean over an area does not
 * fall with the root of the number of its cells; area_error_m is that error as it was met. */
typedef struct SdmErrorLag {
    double lag_m;
    int64_t pairs;
    double semivariance_m2; /* half the squared NMAD of the differences of residuals at that distance (Dowd
                             * 1984); NaN without pairs, or where a cell is larger */
    int64_t areas;          /* squares of lag x lag that were averaged */
    double area_error_m;    /* NMAD of their means; NaN where there are fewer than 10 */
} SdmErrorLag;

/* Residuals of the cells of g, whose scratch is overwritten.  Pairs lie along rows and columns; squares count
 * where half of their cells have a residual. */
SdmErrorLag sdm_error_lag_grid(const SdmCoregGrid *g, double lag_m);
/* Residuals at n points (places in metres).  Pairs are 0.8 to 1.25 lags apart; squares count from 5 points
 * on. */
SdmStatus sdm_error_lag_points(SdmContext *ctx, const float *residual_m, const double *x_m, const double *y_m,
                               int64_t n, double lag_m, SdmErrorLag *out);

typedef struct SdmCompareOptions {
    const char *class_raster;         /* --class: 1 land (scored), 2 water, 3 cloud; NULL = all is land */
    const char *within;               /* --within: only its valid cells count; NULL = all */
    const char *dem_vertical;         /* "auto", "ellipsoid", "egm96", "egm2008"; NULL = "auto" */
    const char *reference_vertical;   /* the same */
    const char *output;               /* -o: page with maps and plots, or NULL */
    const char *mask;                 /* --mask: stable ground, 0 = not stable; NULL = all */
    const char *exclude;              /* --exclude: not stable where it is not 0; NULL = nowhere */
    const char *layer, *where;        /* of the files of polygons among these; NULL = the only one, all */
    const char *aligned, *difference; /* files to write, or NULL */
    const char *model;                /* "shift" or "tilt": what is taken out; NULL = "shift" */
    bool overwrite;                   /* replace files that are there */
    bool json;                        /* for the command alone */
    int64_t memory_bytes;             /* most that the grid may take; 0 = no limit */
} SdmCompareOptions;

/* A class that is not scored; over10 and over30 are shares of its cells with a height in the DEM. */
typedef struct SdmCompareClass {
    int64_t cells; /* 0: the class does not occur */
    double filled, over30, over10;
} SdmCompareClass;

enum { SDM_COMPARE_SLOPES = 6, SDM_COMPARE_BANDS = 8, SDM_COMPARE_CLASSES = 256 };

/* Residuals by what lies from lo to hi; of a class both are its value. */
typedef struct SdmCompareRange {
    double lo, hi;
    SdmErrorStats aligned; /* count 0: there are none */
} SdmCompareRange;

typedef struct SdmCompareResult {
    int64_t cells;              /* land cells where the reference has a height, within the masks; or points */
    double coverage;            /* share of them where the DEM has a height, 0..1 */
    double footprint_coverage;  /* the same within the DEM's footprint; of rasters */
    SdmErrorStats raw, aligned; /* DEM minus reference, before and after the move */
    SdmShift move;              /* what lays the DEM on the reference */
    double height_ratio;        /* slope of the DEM's heights over the reference's; 0: not known */
    SdmCompareClass water, cloud;
    SdmCompareRange slope[SDM_COMPARE_SLOPES]; /* by slope of the reference, degrees */
    SdmCompareRange band[SDM_COMPARE_BANDS];   /* by its height, metres: the first from -INFINITY, the last to
                                                * INFINITY */
    /* Aligned DEM minus reference, resampled, where --class has a value, and on land that --mask or --exclude
     * leaves out. */
    SdmCompareRange class[SDM_COMPARE_CLASSES], unstable;
    SdmErrorLag lag[SDM_LAGS]; /* of the residuals after alignment */
    SdmTilt tilt;              /* taken out beside the move: moved DEM = reference + tilt */
    double centre_m[2];        /* of the tilt: x and y in the CRS of the DEM */
    bool points;               /* the reference is points; cells and counts are of points */
    char source[200];          /* how the points were read, else "" */
    char note[SDM_DATUM_NOTE]; /* what was assumed or converted in vertical datums, else "" */
} SdmCompareResult;

extern const SdmOptionSpec sdm_compare_options[]; /* offsets into SdmCompareOptions; ends with name == NULL */
void sdm_compare_default(SdmCompareOptions *opt);

/* Compare the first band of a DEM with a reference, and write the files that are asked for.
 * A raster as reference: on the DEM's grid, where both lie; of the whole DEM where files are written.
 * dem: north up, projected or in degrees.  reference: any CRS; averaged where its cells are smaller than two
 * thirds of the DEM's, else bilinear (geo/height_raster.h).  Its heights are converted to the DEM's vertical
 * datum when both are known and differ: from the options, else from the vertical CRS, else from the metadata
 * item VERTICAL_DATUM.  Memory: SDM_COREG_CELL_BYTES a cell of the grid.  Points as reference: the DEM is
 * interpolated there by cubic spline.  The result does not depend on the number of threads.
 * @return SDM_OK; SDM_ERR_INPUT, _DATA, _USAGE, _UNSUPPORTED, _MEMORY, _IO, _STOPPED with one sentence */
SdmStatus sdm_compare_dems(SdmContext *ctx, const char *dem, const char *reference,
                           const SdmCompareOptions *opt, SdmCompareResult *out);

/* ---- compare_report.c ---- */

/* Add the figures to a JSON object: metres, shares 0..1. */
struct cJSON;
void sdm_compare_json(const SdmCompareResult *result, struct cJSON *to);
/* The same for people, several lines, each with newline. */
void sdm_compare_text(const SdmCompareResult *result, SdmText *out);
