/* Figures and doubts of a DEM, for the caller of the run that made it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/scene_open.h"

/* A reason to doubt the DEM, a clause. */
typedef struct SdmDoubt {
    char text[2048];
} SdmDoubt;

/* A pair of a run with several views, whose DEM was fused. */
typedef struct SdmPairResult {
    const char *left, *right; /* names of the views, borrowed from the caller of the run */
    char names[512];          /* "left, right", as short as they can be told apart */
    bool reference;           /* the DEM that the others are aligned to */
    double base_height, days_apart, overlap, sigma_m, weight, apply_m[3], smooth_m, coverage,
        pointing_residual_px, tie_points, wall_s;
    double agreement, trust; /* share matched at coarse levels; weight of its vote, that of the reference 1 */
} SdmPairResult;

typedef struct SdmDemResult {
    bool known; /* false: the DEM was finished by an earlier run; its report tells the rest */
    int64_t cols, rows;
    double spacing, coverage; /* coverage: cells with a height of those seen by two views, 0..1 */
    double pointing_residual_px, tie_points; /* NMAD; NaN: no correction was estimated */
    double matched_share;                    /* matched cells of those with texture, 0..1; NaN: not known */
    double wall_s;
    SdmDoubt *doubt;     /* owned, as all below */
    SdmInputFile *file;  /* that it was made from */
    SdmPairResult *pair; /* NULL: of one pair */
    int doubts, files, pairs;
} SdmDemResult;

/* Grid and coverage of a product whose blocks are written. */
struct SdmProduct;
void sdm_dem_result_take(const struct SdmProduct *product, SdmDemResult *out);
void sdm_dem_result_free(SdmDemResult *result);
/* With --strict SDM_ERR_DATA where there are doubts about the DEM, which is made. */
SdmStatus sdm_check_doubts(SdmContext *ctx, const char *output, const SdmDoubt *doubt, int count);
