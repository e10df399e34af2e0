/* Strips of the frame at full resolution -> the final pointing and the limit of ray errors. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scene/prepare.h"

/* Match a few strips of the frame at full resolution, set the limit of the ray errors from them, and fit
 * the correction with a profile by row to their tie points.  p: prepared but for that; with fewer than 200
 * tie points its pointing stays as it is. */
SdmStatus sdm_pointing_at_full_resolution(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p);
