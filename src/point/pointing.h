/* Stage 2: image-space correction of the right camera, and what the report says of it. */
#ifndef SDM_POINTING_H
#define SDM_POINTING_H

#include "core/core.h"

enum { SDM_POINT_MAX_DEGREE = 6, SDM_POINT_MAX_TERMS = 28 /* (6+1)(6+2)/2 */ };

/* The correction moves a projected right position (col, row) by
 *   f(col, row) * (dir_col, dir_row),   f = sum_k coef[k] * x^i y^j + profile(row),
 * where x = (col - centre[0]) / scale[0], y = (row - centre[1]) / scale[1], terms ordered by degree:
 * 1, x, y, x^2, xy, y^2, ...; profile is linear between nodes every profile_step_px rows from profile_row0,
 * constant outside.  Only the part across the epipolar lines can be seen by a pair, so one unit vector will
 * do. */
typedef struct SdmPointing {
    double dir[2];       /* (col, row) unit vector across the epipolar lines in the right image */
    double centre[2], scale[2];
    int degree, terms;
    double coef[SDM_POINT_MAX_TERMS]; /* px of the right image */
    int64_t profile_row0;
    int profile_step_px, profile_count; /* 0 = no profile */
    double *profile_px;                 /* owned */
} SdmPointing;

void sdm_pointing_apply(const SdmPointing *p, size_t n, double *image /* n x 2, changed */);
void sdm_pointing_free(SdmPointing *p);

/* One accepted match, for the fit and the plot. */
typedef struct SdmPointSample {
    float col, row;     /* right image, px */
    float residual_px;  /* along dir, before the correction */
    float corrected_px; /* what the correction leaves */
} SdmPointSample;

/* What the report says of one round (0: sparse matches at a coarse level; 1: full resolution). */
typedef struct SdmPointRound {
    int matches, inliers, degree, level;
    double before_median_px, before_nmad_px, after_nmad_px, cross_validation_px;
    double profile_rms_px; /* of the jitter profile, 0 without */
    SdmPointSample *samples; /* at most 4000, owned */
    int sample_count;
} SdmPointRound;

typedef struct SdmPointReport {
    SdmPointRound round[4];
    int rounds;
} SdmPointReport;
void sdm_point_report_free(SdmPointReport *r);

/* Why matches are few, and what to do, for sentences: the prior DEM or the height range first, where the user
 * gave one; then an overlap (pixels of the frame) that has no room for many. */
const char *sdm_few_matches_hint(const SdmContext *ctx, double overlap_px);

#endif
