/* The interface of a back end of the matching: the surface, its prior and both views of one window of a
 * level, and the operations on them.  src/matching/level_loop.c calls them in the order of
 * src/matching/match_steps.c; src/matching/cpu_backend.c implements them with the kernels of cpu/,
 * gpu/gpu_backend.c on a device. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "geometry/surface.h"
#include "matching/match_steps.h"
#include "matching/pyramid.h"
#include "matching/terrain_mask.h"

/* The part of a window that is needed: columns from[i]..to[i] - 1 (frame pixels of a coarse level) of
 * coarse row v0 + i.  A tile of the DEM is turned against the frame and fills little more than half of its
 * window. */
typedef struct SdmFootprint {
    int level, v0, rows;
    int32_t *from, *to; /* rows each; to <= from: nothing */
} SdmFootprint;

/* Images and lattice for a piece of work; borrowed. */
typedef struct SdmMatchInput {
    const SdmMatchSettings *settings;
    const SdmLattice *lattice;
    const SdmPyramid *left, *right;
    SdmPyramid *spent[2]; /* the same, whose pixels may be freed when no pass needs them; NULL: they stay */
    const SdmTerrainMask *terrain; /* fine levels: the terrain that heights are compared with; NULL = none */
    float terrain_pixel_m;         /* ground size of its pixels */
    const float *prior_m;          /* level 0 between clouds, h x w: of a prior DEM, NaN: none; NULL = none */
    const SdmFootprint *footprint; /* fine levels: pixels outside it need not be right; NULL = all must */
} SdmMatchInput;

/* A window of level 0, matched and validated; its arrays are the caller's, sdm_fine_result_free(). */
typedef struct SdmFineResult {
    SdmSurface surface;  /* flags: VALID (and FILLED where interpolated) or the reason */
    float *ray_error_px; /* h x w, frame px across the epipolar lines, NaN unknown */
    int16_t *left;       /* h x w, the rectified left view */
    double device_s;     /* by the clock of a device, without transfers; 0: the processor did it */
} SdmFineResult;
void sdm_fine_result_free(SdmFineResult *r);

struct SdmGridding;

/* A window to match at the levels coarse_level - 1 .. 0; borrowed. */
typedef struct SdmMatchCall {
    const SdmMatchInput *in;
    const SdmSurface *coarse;           /* the surface of coarse_level; covers the window */
    const SdmWindow *win;               /* level 0; a multiple of 2^coarse_level */
    const SdmWindow *need;              /* level 0, inside win: the result covers at least this */
    const struct SdmGridding *gridding; /* grid the points, too, where the back end can; NULL: no */
    SdmBlock *block;                    /* place set; its arrays are allocated where it did */
} SdmMatchCall;

/* Operations queue their work or do it; only `surface` and `grid` must wait for it.  Steps and their reaches
 * stand in src/matching/match_steps.h.  state: the back end's own. */
typedef struct SdmMatchOps {
    /* SDM_STEP_REFINE to the window `win`, from the heights of the level before (the first time the coarse
     * surface); its left view. */
    SdmStatus (*open_level)(void *state, const SdmWindow *win);
    /* Any match.  All but a retry make the heights the prior; they are undefined until it is done, unless
     * it is one of invalid pixels alone (on the processor). */
    SdmStatus (*match)(void *state, const SdmStep *step);
    SdmStatus (*match_border)(void *state, const SdmStep *step);
    SdmStatus (*reject)(void *state, const SdmStep *step);
    /* Heights of the window of level 0: sdm_semi_global_surface(); NULL: not on this back end. */
    SdmStatus (*semi_global)(void *state, const SdmWindow *win);
    /* The other steps.  After SDM_STEP_RAY_ERROR the prior is lost.  SDM_STEP_FILL_HOLES takes the
     * refined coarse surface: sdm_accept_filled().  SDM_STEP_FILL_HIDDEN: NULL where semi_global is. */
    SdmStatus (*step[SDM_STEP_COUNT])(void *state);
    /* The coarse surface (or what the call before made of it) refined to `win` of the next finer level. */
    SdmStatus (*refine_coarse)(void *state, const SdmWindow *win);
    /* false: SDM_STEP_DEFECTS and what follows it are left to the processor. */
    bool (*can_finish)(const void *state);
    /* Can the points of the current window be gridded here?  NULL: never. */
    bool (*can_grid)(const void *state, const SdmMatchCall *call);
    /* Grid them into call->block; of `out` only device_s is set. */
    SdmStatus (*grid)(void *state, const SdmMatchCall *call, SdmFineResult *out);
    /* Hand over the surface; out is empty. */
    SdmStatus (*surface)(void *state, SdmFineResult *out);
    /* Free all; may be called again. */
    void (*close)(void *state);
} SdmMatchOps;

typedef struct SdmMatchBackend {
    const SdmMatchOps *ops;
    void *state;
} SdmMatchBackend;
