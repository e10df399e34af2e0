/* Two views -> what their coarse levels alone tell: how well the images agree, and the cameras. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/scene_open.h"

/* Heights are means around the nodes of a grid of longitude and latitude that all pairs share: that of column
 * c and row r stands at [r % SIDE][c % SIDE]. */
enum { SDM_AGREEMENT_SIDE = 16, SDM_AGREEMENT_NODES = SDM_AGREEMENT_SIDE * SDM_AGREEMENT_SIDE };
typedef struct SdmAgreement {
    double share;     /* of the pixels seen by both views that match, 0..1; other seasons and suns: fewer */
    double miss_m[2]; /* east, north: right rays from left ones, across the epipolar lines */
    double base[2];   /* east, north: way of a left ray less that of a right one, for a metre of height */
    double far_m;     /* see sdm_frame_far_m() */
    double pitch_deg[2]; /* of the nodes, longitude and latitude: given; a pair has fewer than SIDE */
    float height_m[SDM_AGREEMENT_NODES]; /* NaN: none */
} SdmAgreement;

/* Match the coarse levels of a scene that is open to SDM_DEPTH_WHOLE.  Errors as sdm_scene_prepare(). */
SdmStatus sdm_scene_agreement(SdmContext *ctx, const SdmScene *scene, SdmAgreement *out);
