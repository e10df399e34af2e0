/* Two rectified images into disparities: bands of rows over the threads. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_reference.h"
#include "pair/pair_parts.h"

#include <string.h>

static SdmStatus match_by_definition(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                                     const SdmPairSettings *set, float *disparity)
{
    const int threads = sdm_threads(ctx);
    const size_t scratch = sdm_pair_reference_scratch(left->width, set) / 64 * 64 + 64;
    char *block = NULL;
    SdmStatus st = SDM_OK;
    TRY(sdm_alloc(ctx, &block, scratch, (size_t)threads, "matching by definition"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int y = 0; y < left->height; y++)
        if (sdm_check_stop(ctx) == SDM_OK)
            sdm_pair_reference_row(left, right, set, y, block + scratch * (size_t)sdm_thread(),
                                   disparity + (ptrdiff_t)y * left->width);
    TRY(sdm_check_stop(ctx));
done:
    sdm_free(&block);
    return st;
}

SdmStatus sdm_pair_match(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                         const SdmPairSettings *set, float *disparity)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_pair_check(ctx, left, right, set));
    TRY(match_by_definition(ctx, left, right, set, disparity));
done:
    return st;
}
