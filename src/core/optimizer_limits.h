/* Limits that options check and kernels rely on: what their integers can hold. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

enum {
    SDM_P2_MAX = 7000, /* semi-global matching: sums of eight paths fit 16 bits, 8 (254 + 7000) < 65536 */
    SDM_BP_LABELS_MAX = 1024,
    SDM_BP_TILE_MIN = 4,                   /* px */
    SDM_BP_PENALTY_MAX = (65534 - 255) / 4 /* weight x truncation: see cpu/bp.h */
};
