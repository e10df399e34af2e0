/* Stage 2: residuals across the epipolar lines -> correction of the right camera. */
#ifndef SDM_FIT_H
#define SDM_FIT_H

#include "point/pointing.h"

typedef struct SdmFitSample {
    double col, row;   /* right image, px */
    double target_px;  /* whole correction wanted there, along pointing->dir */
    double found_px;   /* of it, what the correction in use does not yet do */
} SdmFitSample;

typedef struct SdmFitTask {
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

/* The correction (px along dir) at an image position. */
double sdm_pointing_value(const SdmPointing *p, double col, double row);

#endif
