/* What the figures of a run say of its DEM: good, doubtful, or no DEM at all. */
#ifndef SDM_QUALITY_H
#define SDM_QUALITY_H

#include "scene/prepare.h"
#include "core/block.h"
#include "core/qa.h"
#include "product/quality_warnings.h"

enum { SDM_GAP_BINS = 256 };

/* Counts over the cells of a DEM; zero to begin with.  Order and cut into blocks do not matter. */
typedef struct SdmQualitySums {
    int64_t tried;   /* cells seen by both views, with texture and not saturated */
    int64_t matched; /* of them: height from a match of their own, not filled */
    int64_t
        gap[SDM_GAP_BINS]; /* matched cells by ray gap, bins of 1/256 of the largest gap that is let pass */
} SdmQualitySums;

/* Add a block.  px_per_m: of the frame. */
void sdm_quality_add(SdmQualitySums *t, const SdmBlock *b, double px_per_m, double ray_error_limit_px, int threads);

/* Median ray gap of the matched cells, as a share of the largest that is let pass; 0.5 by chance; NaN
 * without. */
double sdm_quality_ray_error_share(const SdmQualitySums *t);

/* left, right: names for messages, right may be "".  Write into `doubts` what makes the DEM doubtful, nothing
 * where all is as expected; see docs/chain.md, 9. SDM_ERR_DATA with a sentence where matches are few and
 * their rays meet no better than by chance. */
SdmStatus sdm_quality_assess(SdmContext *ctx, const SdmOptions *options, const SdmQualitySums *t,
                             const SdmPrepared *p, const char *left, const char *right, SdmQuality *doubts);

#endif
