/* What the files of rectified matching share. */
#ifndef SDM_PAIR_PARTS_H
#define SDM_PAIR_PARTS_H

#include "core/core.h"
#include "pair/pair.h"

enum { SDM_PAIR_DEPTH_MAX = 60000 }; /* disparities; their number goes with 16 bits */

/* SDM_ERR_USAGE with a sentence for images or settings that cannot be matched. */
SdmStatus sdm_pair_check(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right, const SdmPairSettings *set);

#endif
