/* `stereodem match`: files of rectified pairs -> files of disparities. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options.h"
#include "input/scene_open.h"
#include "rectified/pair.h"

/* Options of the command beside the common ones.  Enumerations are indices into the choices of the table. */
typedef struct SdmDisparityOptions {
    const char *output, *preview;     /* preview: NULL = none */
    int format;                       /* SDM_FORMAT_* */
    int min_disparity, max_disparity; /* px of the (reduced) image */
    int cost;                         /* 0: census with local, else ad-census; or 1 + SdmPairCost */
    int window;                       /* px; 0: 9 with local, 3 with sgm, 1 with bp */
    int speckle;                      /* px; -1 = not given: 100 with sgm and bp, else 0, none */
    int census;                       /* index into the choices; -1 = not given, 9x7 */
    double lr_threshold;              /* px; < 0 = no check */
    double uniqueness, min_sigma;     /* 0 = not asked */
    int median;                       /* 0: none, 1: 3 x 3, 2: 5 x 5 */
    int subpixel;                     /* 0: off, 1: on */
    int align_rows;                   /* 0: off, 1: on */
    int fill;                         /* SdmPairFill */
    int downscale, band;              /* band: 0 = grey, or grey of red, green, blue */
    int first, last;                  /* numbers of a sequence; -1 = not given */
    bool overwrite;
} SdmDisparityOptions;

enum { SDM_FORMAT_AUTO, SDM_FORMAT_TIF, SDM_FORMAT_PFM };

extern const SdmOptionSpec sdm_disparity_options[]; /* offsets into SdmDisparityOptions */
void sdm_disparity_default(SdmDisparityOptions *opt);
/* The settings that both sets of options ask for, checked; *out refers to *optimizer.  Errors:
 * SDM_ERR_USAGE. */
SdmStatus sdm_disparity_settings(SdmContext *ctx, const SdmOptions *options, const SdmDisparityOptions *opt,
                                 SdmOptimizer *optimizer, SdmPairSettings *out);

/* Totals over the pairs of a sequence; seconds of wall time. */
typedef struct SdmDisparityResult {
    int frames, width, height;           /* pairs; size of the disparities of the last one */
    int64_t pixels, matched, valid;      /* matched: after the checks; valid: after filling */
    int64_t energy[2];                   /* of belief propagation: data, smoothness */
    double row_offset_px;                /* of the first pair's right image, in its middle */
    double read_s, write_s;              /* in a sequence they overlap the matching */
    double shrink_s, engine_s, filter_s; /* --downscale; matching with its checks; median and filling */
} SdmDisparityResult;

/* Match LEFT and RIGHT, or the sequences that patterns such as left_%04d.png name.  Each output gets its
 * name when it is whole; after a failure the outputs of the pairs before it stay.  options: the common
 * ones (device, optimizer, cpu_level). Memory of a pair besides what sdm_pair_match_rows() takes: the images,
 * 2 bytes a pixel if sdm_image_pair_load() gives bytes, else 4; with speckles, a median, filling or a device
 * 4 for the disparities, which else are written band by band; speckles, median and nearest filling 4 more;
 * for sequences, whose next pair is read and last one written meanwhile, images and disparities twice.
 * Errors: SDM_ERR_USAGE, _INPUT, _DATA, _IO, _MEMORY, _UNSUPPORTED, _STOPPED. */
SdmStatus sdm_disparity_run(SdmContext *ctx, const char *left, const char *right, const SdmOptions *options,
                            const SdmDisparityOptions *opt, SdmDisparityResult *result);

/* Match two images in memory by the same options; output, preview, format, band, first and last are for
 * files.  *disparity: result->height x result->width, px, NaN = none; the caller's (sdm_free).  Errors as
 * above. */
SdmStatus sdm_disparity_arrays(SdmContext *ctx, const SdmImageArray array[2], const SdmOptions *options,
                               const SdmDisparityOptions *opt, SdmDisparityResult *result, float **disparity);
