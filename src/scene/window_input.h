/* A window of the frame -> what is matched there: lattice and image pyramids (stages 1, 3 and 4).  How far a
 * window reaches beyond its tile: sdm_match_halo(), src/matching/match_steps.h. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scene/prepare.h"

enum { SDM_LATTICE_STEP = 16 }; /* nodes of a window's lattice, frame px */

/* The parts of both images that a window of the frame can show at the heights hmin..hmax, as pyramids of the
 * levels lmin..lmax. */
typedef struct SdmPyramidRequest {
    const SdmScene *scene;
    const SdmMatchSettings *settings;
    const SdmLattice *lattice;
    const SdmWindow *win;
    double hmin_m, hmax_m;
    int lmin, lmax;
} SdmPyramidRequest;

/* Read the images.  3 px inside a saturated area there is nothing to match, but detectors that were
 * brought to one level still differ by column, which would look like texture: such pixels become nodata,
 * and level 0 keeps their mask.  left, right: zero, or with levels of the scene, which are kept where they
 * are of the same place; the caller's to free, also after a failure. */
SdmStatus sdm_pyramids_open(SdmContext *ctx, const SdmPyramidRequest *q, SdmPyramid *left, SdmPyramid *right);

/* The lattice of a window over the heights of the scene; the caller sets q.grid where ground is needed. */
SdmLatticeRequest sdm_window_request(const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win);
/* The lattice of the whole frame and `margin` px beyond it, with ground, for pixels of the coarse surface. */
SdmLatticeRequest sdm_coarse_request(const SdmScene *scene, const SdmPrepared *p, int margin);

/* The prior DEM; *out stays NULL without --dem.  SDM_ERR_INPUT where it cannot be used. */
SdmStatus sdm_prior_open(SdmContext *ctx, const SdmOptions *o, SdmHeightRaster **out);
/* Its heights above the ellipsoid at the pixels of a window of a level, h x w; NaN: it has none.
 * SDM_ERR_INPUT where it cannot be read. */
SdmStatus sdm_prior_sample(SdmContext *ctx, const SdmScene *scene, const SdmLattice *lat,
                           SdmHeightRaster *dem, const SdmWindow *win, float *h_m);

/* Input of the fine levels in a window.  Not to be moved while open, since `in` points into it. */
typedef struct SdmWindowInput {
    SdmLattice lattice;
    SdmPyramid left, right;
    float *prior_m; /* of `in` */
    SdmMatchInput in;
} SdmWindowInput;

/* Open it: lattice with ground in the CRS of `grid` (NULL: without), pyramids of the levels 0..lmax.  To
 * be closed, also after a failure.  *out: zero, or with pyramids of the scene, which are kept where they are
 * of the same place. */
SdmStatus sdm_window_open(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win,
                          const SdmGrid *grid, int lmax, SdmWindowInput *out);
void sdm_window_close(SdmWindowInput *w);
