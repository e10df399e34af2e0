/* Hold a DEM against a reference: figures raw and after Nuth & Kaab (2011) co-registration. */
#ifndef SDM_COMPARE_H
#define SDM_COMPARE_H

#include "core/options.h"

typedef struct SdmCompareOptions {
    const char *class_raster;  /* --class: 1 land (scored), 2 water, 3 cloud; NULL = all */
    const char *within;        /* --within: raster whose valid cells are the footprint; NULL = the reference's */
    const char *dem_vertical, *reference_vertical; /* "auto", "ellipsoid", "egm96", "egm2008" */
    const char *png;           /* --png: picture of errors after alignment */
    bool json;
} SdmCompareOptions;

typedef struct SdmCompareResult {
    int64_t cells;             /* that could be covered */
    double coverage;           /* 0..1 of them */
    SdmErrorStats raw, aligned;
    double shift_m[3];         /* dx, dy, dz that lays the DEM on the reference */
    struct { int64_t cells; double filled, over30, over10; } water, cloud; /* shares; cells == 0: class not present */
    struct { double lo_deg, hi_deg; SdmErrorStats aligned; } slope[6];     /* by slope of the reference; count 0: none */
} SdmCompareResult;

/* dem must have a projected CRS; the reference is brought to the DEM's grid, over the union of both extents
 * (near for the DEM, bilinear for the reference, its average where it is finer than two thirds of the DEM's cell).
 * Figures: bias = median, LE90 = 90 % quantile of |error|. */
SdmStatus sdm_compare(SdmContext *ctx, const char *dem, const char *reference, const SdmCompareOptions *opt,
                      SdmCompareResult *out);

/* The command's own options; offsets into SdmCompareOptions. */
extern const SdmOptionSpec sdm_compare_options[];

/* The result as one JSON object; NULL when out of memory.  The caller frees it with free(). */
char *sdm_compare_json(const SdmCompareResult *result);
/* The result as lines for people. */
void sdm_compare_text(const SdmCompareResult *result, char *out, size_t size);

#endif
