/* Stage 2: residuals across the epipolar lines -> correction of the right camera. */
#ifndef SDM_FIT_H
#define SDM_FIT_H

#include "geometry/pointing.h"

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
const char *sdm_few_matches_hint(const SdmOptions *options, double overlap_px);

typedef struct SdmFitSample {
    double col, row;   /* right image, px */
    double target_px;  /* whole correction wanted there, along pointing->dir */
    double found_px;   /* of it, what the correction in use does not yet do */
} SdmFitSample;

typedef struct SdmFitTask {
    const SdmOptions *options;  /* for messages */
    const SdmFitSample *sample; /* count of them */
    size_t count;
    int max_degree;
    bool with_profile;
    int64_t rows;               /* of the right image */
    double overlap_px;          /* pixels of the frame, for messages */
    const char *left, *right;   /* names of the images, for messages */
} SdmFitTask;

/* Fit polynomial (degree 0..max_degree by cross-validation over blocks of the image) and, with_profile, a
 * profile by row (its smoothness by cross-validation; none where it does not help).  Robust: Tukey's biweight
 * on residuals. p: dir, centre and scale are set; the rest is replaced.  round: filled.  At least 30 samples,
 * else SDM_ERR_DATA. */
SdmStatus sdm_pointing_fit(SdmContext *ctx, const SdmFitTask *task, SdmPointing *p, SdmPointRound *round);

#endif
