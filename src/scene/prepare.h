/* An opened scene -> what all its tiles share: frame, pointing, coarse surface, terrain mask, grid of the
 * DEM. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/height_raster.h"
#include "geometry/epipolar_frame.h"
#include "matching/level_loop.h"
#include "pointing/pointing_fit.h"
#include "pointing/along_fit.h"

/* Wider cells of a prior DEM (--dem) tell less of the shape of the ground between clouds than the heights
 * around do. */
enum { SDM_PRIOR_COARSEST_PX = 8 };

/* Use of the prior DEM. */
typedef struct SdmPriorReport {
    char datum[440]; /* of its heights, and what tells it; "": no --dem */
    double covered;  /* share of the frame where it has heights */
    double cell_px;  /* width of its cells */
} SdmPriorReport;

typedef struct SdmPrepared {
    SdmFrame frame;
    SdmCameraNote camera[2];
    SdmRadiometry radiometry[2];
    SdmMatchSettings settings;
    SdmPointing pointing;
    SdmAlongCorrection along; /* by the reference, at the heights of the coarse surface */
    SdmReferenceReport reference;
    SdmHeightRaster *reference_dem; /* still open, to be read again from GDAL's cache; owned; NULL: it is to
                                     * be opened */
    SdmPriorReport prior;
    SdmPointReport points;
    SdmSurface coarse;       /* whole frame, level settings.coarse_level */
    SdmTerrainMask terrain;  /* of the coarse surface */
    double hmin_m, hmax_m;   /* of the coarse surface, and max_update_m beyond it */
    double max_update_m;     /* the most that finer levels can move a height */
    double lattice_error_px; /* largest error of lattices against the cameras; NaN: unknown */
    SdmGrid grid;            /* of the DEM of the whole scene, in which blocks are computed */
    SdmGrid part;            /* the cells of it that are asked for */
} SdmPrepared;

/* Prepare a scene that is open to SDM_DEPTH_WHOLE: match the coarse levels of the whole frame, fit the
 * pointing on the way and once more at full resolution, choose the grid of the DEM.  *out: to be freed by
 * the caller, also after a failure.  SDM_ERR_DATA where the views do not overlap or matches are too few. */
SdmStatus sdm_scene_prepare(SdmContext *ctx, const SdmScene *scene, SdmPrepared *out);
void sdm_prepared_free(SdmPrepared *p);

/* After reading from a file: the settings get the kernels of this process. */
SdmStatus sdm_prepared_kernels(SdmContext *ctx, const SdmOptions *options, SdmPrepared *p);

/* The part that needs cameras and options alone: frame, settings, radiometry, and the window of the coarse
 * surface (without its arrays).  The rest of p stays as it is. */
SdmStatus sdm_prepare_frame(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p);

/* Levels, thresholds and ranges of matching: they depend on frame and options alone. */
SdmStatus sdm_prepare_settings(SdmContext *ctx, const SdmScene *scene, const SdmFrame *f,
                               SdmMatchSettings *out);

/* ---- full_resolution_pointing.c ---- */

/* Match a few strips of the frame at full resolution, set the limit of the ray errors from them, and fit
 * the correction with a profile by row to their tie points.  p: prepared but for that; with fewer than 200
 * tie points its pointing stays as it is. */
SdmStatus sdm_pointing_at_full_resolution(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p);

/* ---- same_exposure.c: two views whose pixels are those of one exposure make no heights ---- */

/* Fails with SDM_ERR_DATA where a pair with RPC shows one exposure, whole or in part, under two cameras, also
 * where a copy was compressed, blurred, resampled, shifted or scaled in grey values: the right image is a
 * similarity of the left one without parallax, whose heights would be a slanting sheet.  p: with its coarse
 * surface and the range of its heights. */
SdmStatus sdm_check_exposures(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p);

/* Fails with SDM_ERR_DATA where the correction at full resolution makes each camera of a pair with RPC the
 * other's: exchanged cameras turn the relief upside down. */
SdmStatus sdm_check_exchanged(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p);
