/* Valid pixels of a raster -> connected components; small and weak ones become invalid. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/context.h"

enum { SDM_PIECE_MOST = 256, SDM_PIECE_AROUND = 16 /* px */ };

/* A raster width x height. */
typedef struct SdmPieces {
    int width, height;
    const float *value;
    const uint8_t *score; /* 250 x score of the match; NULL where `weak` is 0 */
    uint16_t *flags;      /* SDM_QA_VALID or the reason */
    float step;           /* of the values of neighbours in a piece, at most */
} SdmPieces;

/* Pieces of fewer pixels than `small` become SDM_QA_ISOLATED, and those of fewer than `weak` without a filled
 * pixel whose scores exceed `least` by less than 2 (500 of 1 / 250) in all or 0.1 in the mean, or 0.3 where
 * less than a fifth of the other pixels within SDM_PIECE_AROUND of its box are valid.  Neighbours have a
 * common side.  small, weak: at most SDM_PIECE_MOST. */
SdmStatus sdm_drop_pieces(SdmContext *ctx, const SdmPieces *p, int small, int weak, int least);
