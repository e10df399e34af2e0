/* Two rectified images into disparities: bands of rows over the threads. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_reference.h"
#include "rectified/pair_parts.h"
#include "rectified/pair_volume.h"

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

static SdmStatus match_bands(SdmContext *ctx, SdmPairPlan *plan)
{
    const int threads = sdm_threads(ctx);
    SdmPairScratch none;
    char *block = NULL;
    SdmStatus st = SDM_OK;
    sdm_pair_plan(plan, threads);
    const size_t bytes = sdm_pair_scratch(plan, NULL, &none);
    TRY(sdm_alloc(ctx, &block, bytes, (size_t)threads, "rows in flight of matching"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int y0 = 0; y0 < plan->height; y0 += plan->band_rows) {
        const int y1 = y0 + plan->band_rows < plan->height ? y0 + plan->band_rows : plan->height;
        SdmPairScratch scratch;
        sdm_pair_scratch(plan, block + bytes * (size_t)sdm_thread(), &scratch);
        if (sdm_check_stop(ctx) == SDM_OK)
            sdm_pair_band(plan, &scratch, y0, y1);
    }
    TRY(sdm_check_stop(ctx));
done:
    sdm_free(&block);
    return st;
}

SdmStatus sdm_pair_match(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                         const SdmPairSettings *set, float *disparity)
{
    SdmPairPlan plan = {.image = {left, right}, .set = set, .disparity = disparity};
    SdmStatus st = SDM_OK;
    TRY(sdm_pair_check(ctx, left, right, set));
    if (!sdm_kernels_at(set->cpu_level))
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "--cpu-level %s: this processor does not have it; it has %s", set->cpu_level,
                        sdm_kernels_name("auto"));
    const int64_t pixels = (int64_t)left->width * left->height;
    const int team = sdm_team_enter(ctx, pixels * (set->dmax - set->dmin + 1));
    if (set->optimizer && set->optimizer->kind != SDM_OPTIMIZER_LOCAL)
        st = sdm_pair_match_labels(ctx, left, right, set, disparity);
    else if (strcmp(set->cpu_level, "reference") == 0)
        st = match_by_definition(ctx, left, right, set, disparity);
    else
        st = match_bands(ctx, &plan);
    sdm_team_leave(ctx, team);
done:
    return st;
}
