/* Pointing at the coarse levels: the offset at the coarsest one by search, then a fit at each finer one. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/level_loop.h"
#include "pointing/pointing_fit.h"

/* Input of the search for the offset; borrowed. */
typedef struct SdmOffsetSearch {
    const SdmScene *scene; /* for messages */
    const SdmFrame *frame;
    const SdmMatchInput *in; /* lattice and pyramids of the whole frame */
    const SdmSurface *prior; /* heights to search about, coarsest level; NULL: the lattice's height0_m */
    double half_range_m;     /* heights searched, above and below */
} SdmOffsetSearch;

/* The correction before anything is known: zero, across the epipolar lines of the frame.  p: 0. */
void sdm_pointing_start(const SdmScene *scene, const SdmFrame *frame, SdmPointing *p);

/* Match the coarsest level at each offset of the right image across the epipolar lines, up to 32 px of full
 * resolution either way, and keep the offset with the most matches.  *best: its surface, to be freed by the
 * caller.  *offset_rows: level pixels.  SDM_ERR_DATA where less than 3 % of the overlap is matched; where
 * clouds are hidden: where there are hardly more matches than chance makes three rows off. */
SdmStatus sdm_pointing_search_offset(SdmContext *ctx, const SdmOffsetSearch *q, SdmSurface *best,
                                     int *offset_rows);

/* That offset of a level becomes the constant of the correction. */
void sdm_pointing_set_offset(const SdmFrame *frame, const SdmLattice *lattice, int level, int offset_rows,
                             SdmPointing *p);

/* Pixels a side of the last coarse level that make a tie point (see SdmTiePointSource); of others half. */
enum { SDM_COARSE_BLOCK = 8 };

/* Fit the correction to the tie points of a coarse level.  level: the surface they come from, of the whole
 * frame. last: the finest of the coarse levels, which allows a higher degree, enters the report and must
 * have enough tie points whose rays meet, unless these are certain: else SDM_ERR_DATA. */
SdmStatus sdm_pointing_fit_level(SdmContext *ctx, const SdmFitTask *scene, const SdmTiePoints *points,
                                 const SdmWindow *level, bool last, SdmPointing *p, SdmPointReport *report);
