/* Settings of rectified matching that cannot be, each in a sentence. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_parts.h"

static SdmStatus check_images(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right)
{
    if (left->width != right->width || left->height != right->height)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "the left image has %d x %d pixels and the right one %d x %d; rectified "
                        "images have the same size",
                        left->width, left->height, right->width, right->height);
    if (left->eight_bit != right->eight_bit)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "one image has 8 bits and the other has more; give both in the same depth");
    if (left->width < 1 || left->height < 1)
        return sdm_fail(ctx, SDM_ERR_USAGE, "the images have %d x %d pixels; there is nothing to match",
                        left->width, left->height);
    return SDM_OK;
}

static SdmStatus check_range(SdmContext *ctx, const SdmPairSettings *set, int width)
{
    if (set->dmin > set->dmax)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--min-disparity %d is above --max-disparity %d; exchange them",
                        set->dmin, set->dmax);
    if (set->dmin <= -width || set->dmax >= width)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "disparities %d..%d reach beyond the image, which is %d pixels wide; give "
                        "%d..%d at most",
                        set->dmin, set->dmax, width, 1 - width, width - 1);
    if (set->dmax - set->dmin >= SDM_PAIR_DEPTH_MAX)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--max-disparity: found %d px, expected at most %d px; a search takes %d disparities",
                        set->dmax, set->dmin + SDM_PAIR_DEPTH_MAX - 1, SDM_PAIR_DEPTH_MAX);
    return SDM_OK;
}

static SdmStatus check_window(SdmContext *ctx, const SdmPairSettings *set)
{
    const bool sad = set->cost == SDM_PAIR_SAD;
    const bool local = !set->optimizer || set->optimizer->kind == SDM_OPTIMIZER_LOCAL;
    const int least = !local ? 1 : sad ? 2 : 3, most = sad ? 32 : 21;
    if (set->window < least || set->window > most)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--window %d is out of range; give %d..%d", set->window, least,
                        most);
    if (!sad && set->window % 2 == 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--window %d is even, which only --cost sad allows; give %d or %d", set->window,
                        set->window - 1, set->window + 1);
    return SDM_OK;
}

static SdmStatus check_census(SdmContext *ctx, const SdmPairSettings *set)
{
    const int w = set->census_width, h = set->census_height;
    const bool known = (w == 5 && h == 5) || (w == 7 && h == 7) || (w == 9 && (h == 7 || h == 9));
    if ((set->cost == SDM_PAIR_CENSUS || set->cost == SDM_PAIR_AD_CENSUS) && !known)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "census words of %d x %d pixels are unknown; give 5x5, 7x7, 9x7 or 9x9", w, h);
    return SDM_OK;
}

static SdmStatus check_thresholds(SdmContext *ctx, const SdmPairSettings *set)
{
    if (!(set->lr_threshold > -1e6f && set->lr_threshold < 1e6f))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--lr-threshold %g is not a number of pixels",
                        (double)set->lr_threshold);
    if (!(set->uniqueness >= 0.0f && set->uniqueness < 1e6f))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--uniqueness %g is out of range; give 0 or a share above it",
                        (double)set->uniqueness);
    if (!(set->min_sigma >= 0.0f && set->min_sigma < 1e6f))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "a least standard deviation of %g is out of range; give 0 or more",
                        (double)set->min_sigma);
    return SDM_OK;
}

static SdmStatus check_optimizer(SdmContext *ctx, const SdmPairSettings *set)
{
    const bool local = !set->optimizer || set->optimizer->kind == SDM_OPTIMIZER_LOCAL;
    if (local && set->cost == SDM_PAIR_AD_CENSUS)
        return sdm_fail(ctx, SDM_ERR_USAGE, "costs of words and differences together need an optimizer");
    if (local)
        return SDM_OK;
    if (set->cost == SDM_PAIR_ZNCC)
        return sdm_fail(ctx, SDM_ERR_USAGE, "costs of zncc do not add; give an optimizer census or sad");
    if (set->uniqueness > 0.0f)
        return sdm_fail(ctx, SDM_ERR_USAGE, "uniqueness is asked of local matches alone");
    return SDM_OK;
}

/* Penalties in steps of the volume's costs: census in bits that differ. */
SdmStatus sdm_pair_optimizer(SdmContext *ctx, SdmPairCost cost, SdmOptimizer *out)
{
    switch (cost) {
    case SDM_PAIR_AD_CENSUS:
        return sdm_optimizer_settings(ctx, 25, 150, 15, 4, out);
    case SDM_PAIR_CENSUS:
        return sdm_optimizer_settings(ctx, 20, 120, 12, 4, out);
    default:
        return sdm_optimizer_settings(ctx, 8, 40, 12, 4, out);
    }
}

SdmStatus sdm_pair_check(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                         const SdmPairSettings *set)
{
    SdmStatus st = SDM_OK;
    TRY(check_images(ctx, left, right));
    TRY(check_range(ctx, set, left->width));
    TRY(check_window(ctx, set));
    TRY(check_census(ctx, set));
    TRY(check_thresholds(ctx, set));
    TRY(check_optimizer(ctx, set));
done:
    return st;
}
