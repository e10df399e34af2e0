/* A coarse level of the whole scene, by strips of rows that fit the budget: same bytes whatever the strips.
 */
#ifndef SDM_COARSE_LEVEL_H
#define SDM_COARSE_LEVEL_H

#include "scene/prepare.h"

/* memory_bytes: the budget, which sets the rows of a strip. */

/* The level of to->win (the whole frame) from the next coarser one; allocates to's arrays. */
SdmStatus sdm_coarse_level(SdmContext *ctx, const SdmChainInput *in, int64_t memory_bytes, const SdmSurface *from, SdmSurface *to);

/* What of a level is not valid once more, from its heights, with a window of 5 pixels: see
 * sdm_chain_rematch(). */
SdmStatus sdm_coarse_rematch(SdmContext *ctx, const SdmChainInput *in, int64_t memory_bytes, SdmSurface *s);

/* What of a level is valid once more, with a window of 5 pixels: see sdm_chain_sharpen(). */
SdmStatus sdm_coarse_sharpen(SdmContext *ctx, const SdmChainInput *in, int64_t memory_bytes, SdmSurface *s);

/* Ray gaps of a level's surface as fit samples: means of blocks of side `block`, a divisor of 8.  *sample is
 * allocated. */
SdmStatus sdm_coarse_ray_errors(SdmContext *ctx, const SdmChainInput *in, int64_t memory_bytes, const SdmSurface *s, int block,
                          const SdmPointing *in_use, SdmFitSample **sample, size_t *count);

/* Bytes that a level of that window takes at once besides the surfaces and images of the whole scene, within
 * a budget of memory_bytes. */
int64_t sdm_coarse_strip_bytes(int64_t memory_bytes, const SdmMatchSettings *set, const SdmWindow *win);

#endif
