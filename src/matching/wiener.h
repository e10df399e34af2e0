/* A surface after the last repeat -> the same with less noise on plains and more detail on ridges: a local
 * Wiener filter of two bands of detail, by the predicted variance of its matches.
 * Source: Lee 1980 (digital image enhancement and noise filtering by use of local statistics), on the bands
 * of an a-trous wavelet transform. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/surface.h"
#include "matching/match_settings.h"
#include "matching/point_formulas.h"

/* Blurs (1 4 6 4 1)/16 of the heights with taps 1, 2 and 4 px apart; what lies between two of them is a
 * band. */
enum { SDM_WIENER_BLURS = 3, SDM_WIENER_REACH = 2 * (1 + 2 + 4) + SDM_WIENER_HALF };
#define SDM_WIENER_NOISE 0.1f /* mean square of a band by noise alone, of the variance of a match */
/* Gain of the finer band without noise: what windows of 5 x 5 px have taken off. */
#define SDM_WIENER_DETAIL 1.7f
#define SDM_WIENER_UNIT 1024.0f /* of a pixel of residual: unit of the bands whose squares are summed */

/* The ratio (1 - rho) / rho of noise and texture for each score, 1/4096. */
void sdm_wiener_ratios(const SdmMatchSettings *set, float ratio[256]);

/* Filter all heights, in place.  left: h x w, the left view; metres_per_px: height for a pixel of residual.
 * Reach SDM_WIENER_REACH px. */
SdmStatus sdm_surface_wiener(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, const int16_t *left,
                             const float ratio[256], float metres_per_px);
