/* Cells of a DEM and the residuals of its pointing -> its quality: good, doubtful, or no DEM at all. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "scene/prepare.h"
#include "core/qa_reasons.h"

/* The quality of a DEM: the figures, and a clause for each reason to doubt it. */
enum { SDM_MAX_WARNINGS = 8 };
typedef struct SdmQuality {
    int count;
    char text[SDM_MAX_WARNINGS][1200];
    double matched_share;       /* matched cells of those with texture, 0..1 */
    double ray_error_median_px; /* median ray error of the matched cells, px of the frame */
} SdmQuality;
/* How the doubt of a small base begins: of several pairs that of the best one counts. */
#define SDM_BASE_DOUBT "base/height is "
/* Add a warning; more than SDM_MAX_WARNINGS are dropped. */
void sdm_quality_warn(SdmQuality *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Warn of inputs that did not serve: a reference that was refused, corrects the shift alone or raises a
 * question; a prior DEM that covers little. */
void sdm_quality_warn_inputs(const SdmPrepared *p, SdmQuality *q);

enum { SDM_RAY_ERROR_SHARES = 256 };

/* Counts over the cells of a DEM; zero to begin with.  Neither the order nor the cut of the blocks
 * matters. */
typedef struct SdmQualitySums {
    int64_t cells, valid;                    /* all; those with a height */
    int64_t tried;                           /* cells seen by both views, with texture and not saturated */
    int64_t matched;                         /* of them: height from a match of their own, not filled */
    int64_t ray_error[SDM_RAY_ERROR_SHARES]; /* matched cells by ray error, bins of 1/256 of its limit */
} SdmQualitySums;

/* Add a block. */
void sdm_quality_add(SdmQualitySums *sums, const SdmBlock *b, const SdmPrepared *p, int threads);

/* Median ray error of the matched cells, as a share of the largest accepted; 0.5 for chance matches; NaN
 * without matches. */
double sdm_quality_ray_error_share(const SdmQualitySums *sums);

/* left, right: names for messages, right may be "".  options: those of the scene, or NULL.  *out gets the
 * figures and a warning for each that is not as expected; see docs/chain.md, 9.  SDM_ERR_DATA where fewer
 * cells have a height than a DEM needs, or matches are few and their rays meet no better than by chance. */
SdmStatus sdm_quality_assess(SdmContext *ctx, const SdmOptions *options, const SdmQualitySums *sums,
                             const SdmPrepared *p, const char *left, const char *right, SdmQuality *out);
