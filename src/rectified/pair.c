/* Two rectified images and settings -> checked, and handed to the way of matching that was asked for. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair.h"

#include "instruction_set.h"

/* ---- settings that are refused ---- */

enum { DEPTH_MAX = 60000 }; /* disparities; they are counted in 16 bits */

static const char *optimizer_name(const SdmPairSettings *set)
{
    static const char *const names[] = {"local", "sgm", "bp"};
    return names[sdm_pair_is_local(set) ? SDM_OPTIMIZER_LOCAL : set->optimizer->kind];
}

static SdmStatus check_range(SdmContext *ctx, const SdmPairSettings *set)
{
    const char *const name = optimizer_name(set);
    const int64_t depth = (int64_t)set->dmax - set->dmin + 1;
    const int most = sdm_pair_is_local(set)                     ? DEPTH_MAX
                     : set->optimizer->kind == SDM_OPTIMIZER_BP ? SDM_BP_LABELS_MAX
                                                                : SDM_LABELS_MAX;
    if (depth < 1)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--min-disparity: found %d px, expected at most --max-disparity, which is %d px",
                        set->dmin, set->dmax);
    if (depth > most)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--max-disparity: found %d px, expected at most %d px with --optimizer %s, which takes %d %s",
            set->dmax, set->dmin + most - 1, name, most, sdm_pair_is_local(set) ? "disparities" : "labels");
    return SDM_OK;
}

static SdmStatus check_window(SdmContext *ctx, const SdmPairSettings *set)
{
    const int window = set->window;
    if (window == 1 && sdm_pair_is_local(set))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--window 1: needs --optimizer sgm or bp, found local; give 2 or more");
    if (window == 1)
        return SDM_OK;
    if (set->cost == SDM_PAIR_SAD && (window < 2 || window > 32))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--window %d: expected one from 2 to 32 with --cost sad", window);
    if (set->cost != SDM_PAIR_SAD && (window < 3 || window > 21))
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--window %d: expected an odd one from 3 to 21 with --cost zncc or census; --cost sad takes 2 "
            "to 32",
            window);
    if (set->cost != SDM_PAIR_SAD && window % 2 == 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--window %d: even windows need --cost sad; give --window %d or %d, or --cost sad",
                        window, window - 1, window + 1);
    return SDM_OK;
}

static SdmStatus check_optimizer(SdmContext *ctx, const SdmPairSettings *set)
{
    const char *const name = optimizer_name(set);
    if (sdm_pair_is_local(set) && set->cost == SDM_PAIR_AD_CENSUS)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--cost ad-census: needs --optimizer sgm or bp, found local");
    if (sdm_pair_is_local(set))
        return SDM_OK;
    if (set->cost == SDM_PAIR_ZNCC)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--optimizer %s: found --cost zncc, expected ad-census, census or sad", name);
    if (set->uniqueness > 0.0f)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--uniqueness: needs --optimizer local, found %s", name);
    return SDM_OK;
}

SdmStatus sdm_pair_check_settings(SdmContext *ctx, const SdmPairSettings *set)
{
    if (!sdm_cpu_level(set->cpu_level))
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "--cpu-level %s: this processor does not have it; it has %s", set->cpu_level,
                        sdm_kernels_name("auto"));
    PASS(check_optimizer(ctx, set));
    PASS(check_range(ctx, set));
    return check_window(ctx, set);
}

/* Penalties in steps of the volume's costs: census in bits that differ. */
SdmStatus sdm_pair_optimizer(SdmContext *ctx, const SdmOptions *options, SdmPairCost cost, SdmOptimizer *out)
{
    static const int penalties[][4] = {[SDM_PAIR_SAD] = {8, 40, 12, 4},
                                       [SDM_PAIR_ZNCC] = {8, 40, 12, 4},
                                       [SDM_PAIR_CENSUS] = {40, 250, 12, 4},
                                       [SDM_PAIR_AD_CENSUS] = {60, 400, 15, 4}};
    const int *const p = penalties[cost];
    *out = (SdmOptimizer){.p1 = p[0], .p2 = p[1], .weight = p[2], .truncation = p[3]};
    return sdm_optimizer_settings(ctx, options, out);
}

/* ---- matching ---- */

static SdmStatus match_by_definition(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                                     const SdmPairSettings *set, SdmPairSink *sink)
{
    const SdmPairReference definition = {.image = {left, right},
                                         .cost = set->cost,
                                         .window = set->window,
                                         .dmin = set->dmin,
                                         .dmax = set->dmax,
                                         .census_width = set->census_width,
                                         .census_height = set->census_height,
                                         .lr_threshold = set->lr_threshold,
                                         .uniqueness = set->uniqueness,
                                         .min_sigma = set->min_sigma,
                                         .subpixel = set->subpixel};
    const int threads = sdm_threads(ctx);
    const size_t scratch = sdm_pair_reference_scratch(&definition);
    const ptrdiff_t band = (ptrdiff_t)left->width * SDM_PAIR_ROWS;
    SDM_OWNED char *block = NULL;
    SDM_OWNED float *bands = NULL;
    PASS(SDM_ALLOC(ctx, "matching by definition", SDM_ARRAY(block, scratch * (size_t)threads),
                   SDM_ARRAY(bands, (size_t)band * (size_t)threads)));
#pragma omp parallel for ordered schedule(dynamic, 1) num_threads(threads)
    for (int y0 = 0; y0 < left->height; y0 += SDM_PAIR_ROWS) {
        const int y1 = y0 + SDM_PAIR_ROWS < left->height ? y0 + SDM_PAIR_ROWS : left->height;
        float *const out = sdm_pair_room(sink, y0, left->width, bands + band * sdm_thread());
        const bool matched = sdm_pair_goes_on(ctx, sink);
        for (int y = y0; matched && y < y1; y++)
            sdm_pair_reference_row(&definition, y, block + scratch * (size_t)sdm_thread(),
                                   out + (ptrdiff_t)(y - y0) * left->width);
#pragma omp ordered
        if (matched)
            sdm_pair_put(ctx, sink, y0, y1, out);
    }
    return SDM_OK;
}

SdmStatus sdm_pair_match_rows(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                              const SdmPairSettings *set, SdmPairSink *sink)
{
    SdmStatus st = SDM_OK;
    const SdmCpuLevel *const level = sdm_cpu_level(set->cpu_level);
    const int64_t pixels = (int64_t)left->width * left->height;
    const int team = sdm_thread_limit_begin(ctx, pixels * (set->dmax - set->dmin + 1));
    if (!sdm_pair_is_local(set))
        st = sdm_pair_match_labels(ctx, left, right, set, sink);
    else if (!level->pair[0])
        st = match_by_definition(ctx, left, right, set, sink);
    else
        st = sdm_pair_match_local(ctx, left, right, set, sink);
    sdm_thread_limit_end(ctx, team);
    st = st == SDM_OK ? sink->st : st;
    return st == SDM_OK ? sdm_check_stop(ctx) : st;
}

SdmStatus sdm_pair_match(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                         const SdmPairSettings *set, float *disparity)
{
    SdmPairSink sink = {.disparity = disparity};
    return sdm_pair_match_rows(ctx, left, right, set, &sink);
}
