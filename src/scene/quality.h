/* What the figures of a run say of its DEM: good, doubtful, or no DEM at all. */
#ifndef SDM_TRUST_H
#define SDM_TRUST_H

#include "scene/prepare.h"
#include "product/product.h"

enum { SDM_GAP_BINS = 256 };

/* Counts over the cells of a DEM; zero to begin with.  Order and cut into blocks do not matter. */
typedef struct SdmTrust {
    int64_t tried;   /* cells seen by both views, with texture and not saturated */
    int64_t matched; /* of them: height from a match of their own, not filled */
    int64_t
        gap[SDM_GAP_BINS]; /* matched cells by ray gap, bins of 1/256 of the largest gap that is let pass */
} SdmTrust;

/* Add a block.  px_per_m: of the frame. */
void sdm_trust_add(SdmTrust *t, const SdmBlock *b, double px_per_m, double gap_limit_px, int threads);

/* Median ray gap of the matched cells, as a share of the largest that is let pass; 0.5 by chance; NaN
 * without. */
double sdm_trust_gap_share(const SdmTrust *t);

/* left, right: names for messages, right may be "".  Write into `doubts` what makes the DEM doubtful, nothing
 * where all is as expected; see docs/chain.md, 9. SDM_ERR_DATA with a sentence where matches are few and
 * their rays meet no better than by chance. */
SdmStatus sdm_trust_judge(SdmContext *ctx, const SdmTrust *t, const SdmPrepared *p, const char *left,
                          const char *right, SdmDoubts *doubts);

#endif
