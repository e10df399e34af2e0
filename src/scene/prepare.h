/* Scene-wide products that every tile starts from: frame, pointing, coarse surface. */
#ifndef SDM_PREPARE_H
#define SDM_PREPARE_H

#include "geometry/frame.h"
#include "matching/chain.h"
#include "pointing/pointing_fit.h"

typedef struct SdmPrepared {
    SdmFrame frame;
    SdmRadiometry radiometry[2];
    SdmMatchSettings settings;
    SdmPointing pointing;
    SdmPointReport points;
    SdmSurface coarse;      /* whole frame, level settings.coarse_level */
    SdmTerrainMask terrain;       /* of it */
    double hmin_m, hmax_m;  /* of the coarse surface, with what finer levels may add */
    double max_update_m;         /* the most that finer levels can move a height */
    double lattice_error_px;
    SdmGrid grid;           /* of the DEM */
} SdmPrepared;

/* The frame, the settings, and the window of the coarse surface (without its arrays); the rest of p stays as
 * it is. */
SdmStatus sdm_prepare_frame(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p);

/* Everything up to the coarse surface and its pointing, and the grid of the DEM. */
SdmStatus sdm_prepare(SdmContext *ctx, const SdmScene *scene, SdmPrepared *out);
void sdm_prepared_free(SdmPrepared *p);

/* The cost that is meant: auto by the size of a pixel. */
const char *sdm_cost_for(const char *asked, double gsd_m);

/* What depends on frame and options alone: levels, thresholds, ranges. */
SdmStatus sdm_prepare_settings(SdmContext *ctx, const SdmScene *scene, const SdmFrame *f,
                               SdmMatchSettings *out);

/* A level of the whole frame. */
SdmWindow sdm_level_window(const SdmFrame *f, int level);

/* Surface and pointing on the coarse levels; p: frame, settings and the start of the pointing are set. */
SdmStatus sdm_coarse_find(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p);

/* Part terrain from clouds and false matches of a coarse surface; the surface under what is rejected comes
 * from the terrain around. */
SdmStatus sdm_coarse_terrain_mask(SdmContext *ctx, const SdmPrepared *p, SdmSurface *s, SdmTerrainMask *out);

/* Nodes of a lattice for the scene-wide surface of a level, frame pixels: smooth enough, and some 16 at least
 * a side. */
int sdm_coarse_step(const SdmFrame *f, int level);

/* Sensor noise to expect, in units of the quantised left image. */
float sdm_noise_q(const SdmRadiometry *left);

/* After reading from a file: the settings get the kernels of this process. */
SdmStatus sdm_prepared_kernels(SdmContext *ctx, const SdmOptions *options, SdmPrepared *p);

/* Open the images' pyramids for a window of the frame (levels lmin..lmax), heights hmin..hmax. */
SdmStatus sdm_open_pyramids(SdmContext *ctx, const SdmScene *scene, const SdmMatchSettings *set,
                            const SdmLattice *lat, const SdmWindow *win, double hmin_m, double hmax_m,
                            int lmin, int lmax, SdmPyramid *left, SdmPyramid *right);

enum { SDM_BLOCK_STEP = 16 }; /* nodes of a block's lattice, frame px */

/* Lattice of a window of the frame over the heights of the scene; the caller sets a grid where it needs
 * ground. */
SdmLatticeRequest sdm_window_request(const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win);

/* What the fine chain works on in a window; stays where it was opened, since `in` points into it. */
typedef struct SdmFineInput {
    SdmLattice lattice;
    SdmPyramid left, right;
    SdmChainInput in;
} SdmFineInput;

/* Open it: lattice with ground in the CRS of `grid` (NULL: none), pyramids of levels 0..lmax. */
SdmStatus sdm_fine_open(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win,
                        const SdmGrid *grid, int lmax, SdmFineInput *out);
void sdm_fine_close(SdmFineInput *f);

/* Full-resolution look at v along a few strips; replaces the pointing of p (stage 2, second round). */
SdmStatus sdm_refine_pointing(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p);

/* Gather residuals of a surface's pixels as fit samples: block means of side `block`, behind the *count that
 * are there.  *out: allocated when NULL, for `room` samples of all calls; 0: for those of this surface. */
SdmStatus sdm_collect_samples(SdmContext *ctx, const SdmLattice *lat, const SdmSurface *s, const float *ray_error_v,
                              int block, const SdmPointing *in_use, SdmFitSample **out, size_t *count,
                              size_t room);

#endif
