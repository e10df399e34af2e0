/* What chain.c and fine.c share. */
#ifndef SDM_CHAIN_PARTS_H
#define SDM_CHAIN_PARTS_H

#include "match/chain.h"

SdmLevelTask sdm_level_task(const SdmChainInput *in, const SdmWindow *win);
SdmStatus sdm_copy_heights(SdmContext *ctx, const SdmSurface *s, float **out);
SdmStatus sdm_chain_clean(SdmContext *ctx, const SdmChainInput *in, const float *prior, SdmSurface *s);
SdmStatus sdm_chain_complete(SdmContext *ctx, const SdmChainInput *in, const float *prior, SdmSurface *s);

#endif
