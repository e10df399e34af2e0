/* Two views whose pixels are those of one exposure make no heights. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scene/prepare.h"

/* Fails with SDM_ERR_DATA where a pair with RPC shows one exposure, whole or in part, under two cameras, also
 * where a copy was compressed, blurred, resampled, shifted or scaled in grey values: the right image is a
 * similarity of the left one without parallax, whose heights would be a slanting sheet.  p: with its coarse
 * surface and the range of its heights. */
SdmStatus sdm_check_exposures(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p);

/* Fails with SDM_ERR_DATA where the correction at full resolution makes each camera of a pair with RPC the
 * other's: exchanged cameras turn the relief upside down. */
SdmStatus sdm_check_exchanged(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p);
