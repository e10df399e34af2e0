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
    return !set->optimizer || set->optimizer->kind == SDM_OPTIMIZER_LOCAL;
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

/* ---- matching by an optimizer, on the processor and on devices: costs of both images -> volume -> labels ->
 * disparities ---- */

enum {
    SDM_PAIR_BAND = 256,  /* rows whose labels are found together, with SDM_OVERLAP more on each side */
    SDM_PAIR_EDGE_8 = 10, /* steps between neighbours of the left image, of 8 bits and of 12, that halve the
                           * way from penalty P2 to P1 */
    SDM_PAIR_EDGE_12 = 160
};

/* Cost of a pixel: bits of the census words that differ, and the absolute difference of the values, up to
 * difference_max.  Sums over a window are halved `shift` times and are then at most cost_max. */
typedef struct SdmPairTerms {
    int bits;           /* of a census word; 0: no words */
    int difference_max; /* 0: no differences */
    int shift, cost_max;
} SdmPairTerms;
SdmPairTerms sdm_pair_terms(const SdmPairSettings *set);

/* Cost of a label that cannot be looked at: half of the largest, since half of the bits of two unrelated
 * words differ.  The largest cost would count against true matches beside the place; 0 would beat them
 * where the best left pixel of a right pixel is looked for. */
static inline int sdm_pair_chance(int most)
{
    return (most + 1) / 2;
}

/* Set first, labels and most of the volume, nothing else.  Label l is disparity dmax - l: right pixels
 * ascend. */
void sdm_pair_volume_shape(const SdmPairSettings *set, SdmVolume *v);
/* Costs of rows y0 .. y0 + v->height - 1.  Windows take the nearest pixel off the image; labels whose
 * pixel lies off the image or has no data get the cost of chance.  Errors: SDM_ERR_MEMORY. */
SdmStatus sdm_pair_volume(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                          const SdmPairSettings *set, int y0, const SdmVolume *v);
static inline bool sdm_pair_wants_energy(const SdmPairSettings *set)
{
    return set->energy && set->optimizer->kind == SDM_OPTIMIZER_BP;
}

/* Remove (NaN) disparities of rows y0..y1 - 1, (y1 - y0) x width, where the window around the left pixel, or
 * around the nearest right pixel of the match, has a standard deviation of at most set->min_sigma: an
 * optimizer gives a label to every pixel.  Windows are set->window wide, at least 9; nodata does not count.
 * min_sigma 0 removes nothing. */
SdmStatus sdm_pair_reject_flat(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                               const SdmPairSettings *set, int y0, int y1, float *disparity);

/* ---- before matching: images -> smaller ones; after it: disparities -> without speckles, their median,
 * or filled ---- */

typedef enum SdmPairFill { SDM_FILL_NONE, SDM_FILL_NEAREST, SDM_FILL_INTERPOLATE } SdmPairFill;

/* 1/factor of the size: out(i, j) = mean of the valid samples among factor x factor, rounded half up;
 * SDM_PIXEL_NODATA where fewer than half of them are valid.  Rows and columns beyond the last whole square
 * are left out. in: height x width, rows `stride` apart; out: (height / factor) x (width / factor), dense.
 * factor >= 1. */
void sdm_pair_shrink(SdmContext *ctx, const int16_t *in, ptrdiff_t stride, int width, int height, int factor,
                     int16_t *out);

/* Median of the valid disparities (not NaN) of side x side (3 or 5) around each valid pixel, cut at the
 * edges; of an even number the mean of the middle two; pixels with fewer than half of side x side valid ones
 * keep their value, NaN stays NaN.  in, out: height x width, px; not the same array. */
void sdm_pair_median(SdmContext *ctx, const float *in, int width, int height, int side, float *out);

/* Remove (NaN) speckles, in place: groups of fewer than `least` matched pixels whose neighbours, of a common
 * side, differ by at most 2 px.  disparity: height x width, px; least: at most SDM_PIECE_MOST, 0 removes
 * nothing.  Errors: SDM_ERR_MEMORY (3 bytes a pixel). */
SdmStatus sdm_pair_despeckle(SdmContext *ctx, int least, int width, int height, float *disparity);

/* Give NaN pixels a value, in place; disparity: height x width, px.  All NaN stays so.
 * nearest: the valid pixel at the smallest Euclidean distance; of several the leftmost, then the uppermost
 *   (the exact transform of Meijster, Roerdink & Hesselink 2000, in integers).
 * interpolate: along the row between the valid pixels on both sides; linearly where the step between them is
 * at most 1 px or 1 in 4, else the smaller of the two, which is the surface behind: a step is an occlusion.
 * Off the ends of a row its outermost value; a row without any copies the nearest row that has one (the upper
 * of two). Errors: SDM_ERR_MEMORY (nearest: 4 bytes a pixel). */
SdmStatus sdm_pair_fill(SdmContext *ctx, SdmPairFill how, int width, int height, float *disparity);
