/* Two rectified images -> disparities.  Rows of the images are epipolar lines, x_right = x_left - d. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/optimize.h"
#include "pair_kernels.h"

typedef struct SdmPairSettings {
    SdmPairCost cost;
    int window;     /* side, px: 3..21 odd; SAD 2..32, even ones reach from -window / 2 to window / 2 - 1; 1
                     * with an optimizer */
    int dmin, dmax; /* disparities, px, inclusive, any sign */
    int census_width, census_height; /* of the census word: 5x5, 7x7, 9x7, 9x9 */
    float lr_threshold; /* px: matches whose right pixel's best disparity differs by more are rejected; < 0:
                         * no left-right check */
    float uniqueness;   /* share by which the best cost must beat those more than 1 px away; 0: no check */
    float min_sigma;    /* windows with at most this standard deviation have no match; 0: no check */
    bool subpixel;
    const char *cpu_level;         /* as --cpu-level */
    const SdmOptimizer *optimizer; /* NULL or local: the best of each pixel */
    int64_t *energy; /* bp: data costs of the labels are added to [0], smoothness costs to [1]; NULL: not
                      * asked */
} SdmPairSettings;

/* Can the settings be matched with, together?  SDM_ERR_USAGE with a sentence that names the option.  Ranges
 * of single ones are in the table of options, limits by the size of the images in disparity.c. */
SdmStatus sdm_pair_check_settings(SdmContext *ctx, const SdmPairSettings *set);
/* The optimizer that the options ask for, with penalties for this cost unless the options give them. */
SdmStatus sdm_pair_optimizer(SdmContext *ctx, const SdmOptions *options, SdmPairCost cost, SdmOptimizer *out);
static inline bool sdm_pair_is_local(const SdmPairSettings *set)
{
    return sdm_optimizer_is_local(set->optimizer);
}

/* Receives the rows of a match, px, NaN where there is no match: in an array, or in bands from the top.  All
 * bands but the last have a multiple of SDM_PAIR_ROWS rows. */
enum { SDM_PAIR_ROWS = 8 };
typedef struct SdmPairSink {
    float *disparity; /* height x width; NULL: put() gets the bands */
    /* Rows y0..y1 - 1.  Called in order, by any thread, by one at a time. */
    SdmStatus (*put)(SdmContext *ctx, void *user, int y0, int y1, const float *rows);
    void *user;
    SdmStatus st; /* SDM_OK until put() fails */
} SdmPairSink;

/* Match on the processor, images of one size and depth with settings that have been checked; the range is
 * narrower than the image.  Memory: a band of rows for each thread, whatever the height.  Errors:
 * SDM_ERR_UNSUPPORTED (the instruction set), SDM_ERR_MEMORY, SDM_ERR_STOPPED, those of sink->put(). */
SdmStatus sdm_pair_match_rows(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                              const SdmPairSettings *set, SdmPairSink *sink);
/* The same into disparity: height x width. */
SdmStatus sdm_pair_match(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                         const SdmPairSettings *set, float *disparity);
/* Called by sdm_pair_match_rows().  local: the best disparity of each pixel, by fast kernels; labels: by
 * set->optimizer. */
SdmStatus sdm_pair_match_local(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                               const SdmPairSettings *set, SdmPairSink *sink);
SdmStatus sdm_pair_match_labels(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                                const SdmPairSettings *set, SdmPairSink *sink);
/* Address of row y0 and those below: in the sink's array, or `band`. */
static inline float *sdm_pair_room(const SdmPairSink *sink, int y0, int width, float *band)
{
    return sink->disparity ? sink->disparity + (ptrdiff_t)y0 * width : band;
}
/* False: stopped, or put() has failed, so that no band is to be matched any more. */
static inline bool sdm_pair_goes_on(SdmContext *context, const SdmPairSink *sink)
{
    return __atomic_load_n(&sink->st, __ATOMIC_RELAXED) == SDM_OK && sdm_check_stop(context) == SDM_OK;
}
/* Give the sink a band that was matched; bands come in order. */
static inline void sdm_pair_put(SdmContext *context, SdmPairSink *sink, int y0, int y1, const float *rows)
{
    if (!sink->disparity && sink->st == SDM_OK)
        __atomic_store_n(&sink->st, sink->put(context, sink->user, y0, y1, rows), __ATOMIC_RELAXED);
}

/* `count` samples of row y from column x on; off the image they are those of the nearest pixel.  They lie in
 * `row` unless the image holds them all. */
const int16_t *sdm_pair_samples(const SdmPairImage *im, int y, int x, int count, int16_t *row);
/* Is there a pixel without data in rows y0..y1, as far as they lie on the image, or in the row next to
 * them? */
bool sdm_pair_has_holes(const SdmPairImage *im, int y0, int y1);
