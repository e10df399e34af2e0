/* The options of `stereodem match`: their table and defaults -> settings of matching. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/disparity.h"

#include "matching/pieces.h"

#include <math.h>
#include <string.h>

#define FIELD(name) offsetof(SdmDisparityOptions, name)
#define MATCH SDM_CMD_MATCH

enum { CENSUS_9X7 = 2 }; /* in `census_sides` */
static const int census_sides[4][2] = {{5, 5}, {7, 7}, {9, 7}, {9, 9}};

const SdmOptionSpec sdm_disparity_options[] = {
    {"--output", "FILE", SDM_OPT_TEXT, FIELD(output), SDM_NO_RANGE, "none, must be given", MATCH,
     "Disparities to write: 32-bit floating point, in pixels, x_right = x_left - d; .tif has NaN where there "
     "is no match, .pfm inf."},
    {"--format", "NAME", SDM_OPT_ENUM, FIELD(format), 0.0, 0.0, "auto|tif|pfm", "auto", MATCH,
     "File format of the output; auto takes it from the name's ending, .tif, .tiff or .pfm."},
    {"--preview", "FILE.png", SDM_OPT_TEXT, FIELD(preview), SDM_NO_RANGE, "none", MATCH,
     "8-bit PNG to write as well: 1..255 from the smallest to the largest disparity asked for, 0 where there "
     "is none."},
    {"--min-disparity", "PX", SDM_OPT_INT, FIELD(min_disparity), -1e6, 1e6, NULL, "0", MATCH,
     "Smallest disparity to search, in pixels; may be negative."},
    {"--max-disparity", "PX", SDM_OPT_INT, FIELD(max_disparity), -1e6, 1e6, NULL, "63", MATCH,
     "Largest disparity to search, in pixels, itself included."},
    {"--cost", "COST", SDM_OPT_ENUM, FIELD(cost), 0.0, 0.0, "auto|sad|zncc|census|ad-census", "auto", MATCH,
     "Matching cost: sum of absolute differences, zero-mean normalised cross-correlation, census transform, "
     "or census and difference together; auto: census with --optimizer local, else ad-census."},
    {"--window", "PX", SDM_OPT_INT, FIELD(window), 1.0, 32.0,
     "an odd number from 3 to 21, of sad any from 2 to 32, of sgm and bp 1, too", "9; of sgm 3, of bp 1",
     MATCH,
     "Side of the square matching window: odd, 3 to 21; of sad 2 to 32, even ones too, which reach one pixel "
     "further to the left and up; sgm and bp take 1, too."},
    {"--census", "SIZE", SDM_OPT_ENUM, FIELD(census), 0.0, 0.0, "5x5|7x7|9x7|9x9", "9x7", MATCH,
     "Pixels that the census transform compares with the middle one: columns x rows; of --cost census and "
     "ad-census."},
    {"--lr-threshold", "PX", SDM_OPT_REAL, FIELD(lr_threshold), -1.0, 1e6, NULL, "1", MATCH,
     "Left-right check: reject a match if the best match of its right pixel lies further away than this; "
     "below 0: no check."},
    {"--uniqueness", "SHARE", SDM_OPT_REAL, FIELD(uniqueness), 0.0, 1.0, NULL, "0, no check", MATCH,
     "Uniqueness check: reject a match that is not better, by this share of the cost, than every other one "
     "more than 1 px away."},
    {"--speckle", "PX", SDM_OPT_INT, FIELD(speckle), 0.0, SDM_PIECE_MOST, NULL, "100; of local 0, no check",
     MATCH,
     "Speckle check: reject groups of fewer matched pixels than this, whose neighbours differ by at most 2 "
     "px."},
    {"--min-sigma", "LEVELS", SDM_OPT_REAL, FIELD(min_sigma), 0.0, 4095.0, NULL, "0, windows of one value",
     MATCH,
     "Reject pixels whose window (of sgm and bp 9 x 9 at least) has no larger standard deviation: 8-bit "
     "levels, or levels of 12 bits for wider images."},
    {"--subpixel", "ON", SDM_OPT_ENUM, FIELD(subpixel), 0.0, 0.0, "off|on", "on", MATCH,
     "Sub-pixel refinement of the disparities."},
    {"--align-rows", "ON", SDM_OPT_ENUM, FIELD(align_rows), 0.0, 0.0, "off|on", "on", MATCH,
     "Measure by how much the rows of RIGHT are off from those of LEFT (in a sequence by its first pair), "
     "and move them where it is 0.2 px or more, with a warning."},
    {"--median", "SIDE", SDM_OPT_ENUM, FIELD(median), 0.0, 0.0, "none|3|5", "none", MATCH,
     "Median filter: side of its square window of valid disparities, in pixels."},
    {"--fill", "HOW", SDM_OPT_ENUM, FIELD(fill), 0.0, 0.0, "none|nearest|interpolate", "none", MATCH,
     "Fill pixels without a match: nearest: with the disparity of the nearest matched pixel; interpolate: "
     "between the neighbours in the row, at steps with the disparity of the background."},
    {"--downscale", "N", SDM_OPT_INT, FIELD(downscale), 1.0, 64.0, NULL, "1", MATCH,
     "Match images of 1/N of the size, means of N x N pixels; disparities asked for and written are in "
     "pixels of those."},
    {"--band", "N", SDM_OPT_INT, FIELD(band), 1.0, 65535.0, NULL,
     "the only one, or the luma of red, green and blue", MATCH,
     "Band of both images to match, counted from 1."},
    {"--first", "N", SDM_OPT_INT, FIELD(first), 0.0, 999999999.0, NULL, "the lowest there is", MATCH,
     "Sequences: number of the first image."},
    {"--last", "N", SDM_OPT_INT, FIELD(last), 0.0, 999999999.0, NULL, "the highest there is", MATCH,
     "Sequences: number of the last image."},
    {"--overwrite", NULL, SDM_OPT_BOOL, FIELD(overwrite), SDM_NO_RANGE, "off: existing files are refused",
     MATCH, "Replace existing outputs."},
    {.name = NULL},
};

void sdm_disparity_default(SdmDisparityOptions *opt)
{
    *opt = (SdmDisparityOptions){.max_disparity = 63,
                                 .census = -1,
                                 .lr_threshold = 1.0,
                                 .speckle = -1,
                                 .subpixel = 1,
                                 .align_rows = 1,
                                 .downscale = 1,
                                 .first = -1,
                                 .last = -1};
}

static SdmStatus check_census_option(SdmContext *ctx, const SdmDisparityOptions *opt, SdmPairCost cost)
{
    if (opt->census < 0 || cost == SDM_PAIR_CENSUS || cost == SDM_PAIR_AD_CENSUS)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_USAGE, "--census: needs --cost census or ad-census, found %s",
                    cost == SDM_PAIR_SAD ? "sad" : "zncc");
}

/* Windows of one value have no match, by any cost and optimizer; any other deviates by more. */
#define CONSTANT_SIGMA 1e-3f

SdmStatus sdm_disparity_settings(SdmContext *ctx, const SdmOptions *options, const SdmDisparityOptions *opt,
                                 SdmOptimizer *optimizer, SdmPairSettings *out)
{
    const bool bp = strcmp(options->optimizer, "bp") == 0,
               local = !bp && strcmp(options->optimizer, "sgm") != 0;
    const SdmPairCost cost = opt->cost ? (SdmPairCost)(opt->cost - 1)
                             : local   ? SDM_PAIR_CENSUS
                                       : SDM_PAIR_AD_CENSUS;
    const int *const word = census_sides[opt->census >= 0 ? opt->census : CENSUS_9X7];
    *out = (SdmPairSettings){.cost = cost,
                             .window = opt->window ? opt->window
                                       : local     ? 9
                                       : bp        ? 1
                                                   : 3,
                             .dmin = opt->min_disparity,
                             .dmax = opt->max_disparity,
                             .census_width = word[0],
                             .census_height = word[1],
                             .lr_threshold = (float)opt->lr_threshold,
                             .uniqueness = (float)opt->uniqueness,
                             .min_sigma = fmaxf((float)opt->min_sigma, CONSTANT_SIGMA),
                             .subpixel = opt->subpixel,
                             .cpu_level = options->cpu_level,
                             .optimizer = optimizer};
    PASS(check_census_option(ctx, opt, cost));
    PASS(sdm_pair_optimizer(ctx, options, cost, optimizer));
    return sdm_pair_check_settings(ctx, out);
}
