/* What the files of the pointing's fit share.  Internal. */
#ifndef SDM_POINT_FIT_PARTS_H
#define SDM_POINT_FIT_PARTS_H

#include "pointing/pointing_fit.h"

typedef struct SdmFit {
    const SdmFitSample *sample;
    size_t count;
    const SdmPointing *model; /* centre, scale; its profile is taken off the targets */
    double *rest, *work;      /* count each */
    double *basis;            /* count x SDM_POINT_MAX_TERMS */
    double *target;           /* count: without the profile */
    uint8_t *fold;            /* count */
    int threads;
} SdmFit;

/* The profile by row from what the polynomial leaves (f->rest, px), if it predicts one half of the image from
 * the other; added to p's.  f->work is overwritten. */
SdmStatus sdm_fit_profile(SdmContext *ctx, const SdmFit *f, int64_t rows, SdmPointing *p);

#endif
