/* What chain.c and fine.c share. */
#ifndef SDM_CHAIN_PARTS_H
#define SDM_CHAIN_PARTS_H

#include "match/chain.h"

SdmLevelTask sdm_level_task(const SdmChainInput *in, const SdmWindow *win);
/* sdm_chain_level() with the task of the level, open. */
SdmStatus sdm_chain_level_in(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, int range,
                             int window, SdmSurface *s);
SdmStatus sdm_copy_heights(SdmContext *ctx, const SdmSurface *s, float **out);
SdmStatus sdm_chain_clean(SdmContext *ctx, const SdmChainInput *in, const float *prior, SdmSurface *s);
SdmStatus sdm_chain_complete(SdmContext *ctx, const SdmChainInput *in, const float *prior, SdmSurface *s);

/* Reach of the mean of the ray gaps, px. */
enum { SDM_JUDGE_GAP_HALF = 5 };
/* Set the flags and scores of out->surface from a last look: what hangs over the terrain is ISOLATED, what
 * does not fit over a larger window LOW_SCORE, where the rays miss each other RAY_GAP.  out->gap_px is
 * allocated and filled. */
SdmStatus sdm_judge(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, SdmFineResult *out);

#endif
