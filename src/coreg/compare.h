/* Hold a DEM against a reference: figures raw and after Nuth & Kaab (2011) co-registration. */
#ifndef SDM_COMPARE_H
#define SDM_COMPARE_H

#include "core/options.h"

typedef struct SdmCompareOptions {
    const char *class_raster;       /* --class: 1 land (scored), 2 water, 3 cloud; NULL = all */
    const char *within;             /* --within: its valid cells are the footprint; NULL = the reference's */
    const char *dem_vertical;       /* "auto", "ellipsoid", "egm96", "egm2008"; NULL = "auto" */
    const char *reference_vertical; /* the same */
    const char *png;                /* --png: picture of errors after alignment */
    bool json;
} SdmCompareOptions;

/* A class that is not scored; the error shares are of its filled cells. */
typedef struct SdmCompareClass {
    int64_t cells; /* 0: not present */
    double filled, over30, over10;
} SdmCompareClass;

typedef struct SdmCompareResult {
    int64_t cells;             /* that could be covered */
    double coverage;           /* 0..1 of them */
    SdmErrorStats raw, aligned;
    double shift_m[3];         /* dx (east), dy (north), dz: DEM(x, y) = reference(x + dx, y + dy) + dz */
    int undetermined;          /* horizontal directions without a shift: the ground there is a plane */
    SdmCompareClass water, cloud;
    struct {
        double lo_deg, hi_deg;
        SdmErrorStats aligned; /* count 0: no such slope */
    } slope[6];                /* by slope of the reference */
    char note[320];            /* on the vertical datums, when something was assumed or converted; else "" */
} SdmCompareResult;

extern const SdmOptionSpec sdm_compare_options[]; /* offsets into SdmCompareOptions; ends with name == NULL */

/* Figures of `dem` minus `reference`, raw and after a 3-D shift is taken out.
 * dem must have a projected CRS and be north up; the reference (any CRS) is brought to the DEM's grid, over
 * the union of both extents: near for the DEM; for the reference its average where its cell is finer than two
 * thirds of the DEM's (of a geographic reference: not larger than the DEM's), else bilinear.  First bands.
 * The reference's heights are converted to the DEM's vertical datum when both are known and differ: known
 * from the options, else from the vertical CRS, else from the metadata item VERTICAL_DATUM.
 * Figures: bias = median, LE90 = 90 % quantile of |error|.
 * Memory: 21 bytes a cell of the union, held against --memory.  The result does not depend on --threads.
 * @return SDM_OK; SDM_ERR_INPUT, _DATA, _USAGE, _UNSUPPORTED, _MEMORY, _IO, _STOPPED with one sentence */
SdmStatus sdm_compare(SdmContext *ctx, const char *dem, const char *reference, const SdmCompareOptions *opt,
                      SdmCompareResult *out);

/* One line of JSON, figures in metres, shares 0..1.  Free with free(); NULL: no memory. */
char *sdm_compare_json(const SdmCompareResult *result);

/* The figures for people, several lines, each with newline; cut when it does not fit (4096 bytes do). */
void sdm_compare_text(const SdmCompareResult *result, char *out, size_t size);

#endif
