/* Stages 5 to 7 together: a surface through the levels, on the whole scene (coarse) or a window (fine). */
#ifndef SDM_CHAIN_H
#define SDM_CHAIN_H

#include "matching/level.h"
#include "matching/terrain_mask.h"

/* Scene-wide settings: the same for every tile. */
typedef struct SdmMatchSettings {
    const SdmKernels *kernels;
    sdm_cost_strip_fn *cost;
    char cost_name[8];
    float min_score;        /* what a match must reach while searching, in the cost's own scores */
    float final_score;      /* and in the end */
    float small_score;      /* and to be matched once more by a small window */
    float score_sigma;      /* see SdmPass */
    float min_sigma;        /* texture, units of the images that are matched */
    float norm_floor;       /* sad: see sdm_pyramid_normalise() */
    float ray_error_limit_px;     /* mean ray gap around a pixel above which it is rejected at level 0, px */
    float discontinuity_px; /* parallax of the jumps to expect (buildings, trees: SDM_DISCONTINUITY_M), px of level 0 */
    int coarse_level;       /* finest level of the scene-wide surface */
    int top_level;
    SdmOptimizer optimizer; /* of the passes that search */
} SdmMatchSettings;

/* Height of the jumps that a retry must bridge, metres. */
#define SDM_DISCONTINUITY_M 25.0
/* Range of a level's retry, px. */
int sdm_chain_retry_range(const SdmMatchSettings *s, int level);
/* Rows of a level above and below a pixel on which its height after sdm_chain_level() depends, if nothing is
 * optimized: of the prior and of both views warped by it. */
int sdm_chain_reach(const SdmMatchSettings *s, int level, int window);
/* Bytes that the passes of level 0 take at most beside images and surfaces, in a window of w x h pixels. */
int64_t sdm_chain_label_bytes(const SdmMatchSettings *s, int64_t w, int64_t h);
/* Most pixels by which the passes of a level can move its heights. */
int sdm_chain_max_update(const SdmMatchSettings *s, int level);

/* cost: "zncc", "census", "sad"; cpu_level: as the option.  noise_q: sensor noise to expect, q units. */
SdmStatus sdm_match_settings(SdmContext *ctx, const char *cost, const char *cpu_level, float noise_q,
                             SdmMatchSettings *out);

/* What of a window is asked for: columns from[i]..to[i] - 1 (frame pixels of a coarse level) of coarse row
 * v0 + i.  A tile of the DEM is turned against the frame and fills little more than half of its window. */
typedef struct SdmShape {
    int level, v0, rows;
    int32_t *from, *to; /* rows each; to <= from: nothing */
} SdmShape;

/* Images and lattice for a piece of work; borrowed. */
typedef struct SdmChainInput {
    const SdmMatchSettings *settings;
    const SdmLattice *lattice;
    const SdmPyramid *left, *right;
    const SdmTerrainMask *terrain; /* fine levels: what heights are held against; NULL = nothing */
    float terrain_pixel_m;    /* ground size of its pixels */
    const SdmShape *shape;   /* fine levels: what else of a window need not be right; NULL = nothing */
} SdmChainInput;

/* One level of the coarse loop.  surface: the prior (heights set), of the level's window; on return cleaned
 * and filled. range, window: of the first pass.  v_shift: rows by which the right view is off (top level's
 * search), 0 else. */
SdmStatus sdm_chain_level(SdmContext *ctx, const SdmChainInput *in, int range, int window,
                          SdmSurface *surface);

/* What of a level has no valid height is matched once more from the heights that it has now; the rest keeps
 * what it has but for the median.  On return cleaned and filled. */
SdmStatus sdm_chain_rematch(SdmContext *ctx, const SdmChainInput *in, int range, int window,
                            SdmSurface *surface);

/* What of a level is valid is matched once more, with a smaller window, and takes what it finds where that
 * scores no less than what it has; then the median, smoothed.  Flags stay.  Reach: window / 2 + 2 range + 4.
 */
SdmStatus sdm_chain_sharpen(SdmContext *ctx, const SdmChainInput *in, int range, int window,
                            SdmSurface *surface);

/* The coarsest level: a sweep of planes, level and tilted, about the prior surface. */
typedef struct SdmTopSearch {
    double half_range_px; /* residuals to search, level pixels */
    double pixel_m;       /* ground size of a level pixel */
    int v_shift;          /* right rows are taken that much off */
} SdmTopSearch;
/* *matched: share of the pixels seen by both views that were matched. */
SdmStatus sdm_chain_top(SdmContext *ctx, const SdmChainInput *in, const SdmTopSearch *q, SdmSurface *surface,
                        double *matched);

/* Heights of all pixels that are not valid, from the nearest valid ones; scene-wide, unbounded. */
SdmStatus sdm_chain_fill_all(SdmContext *ctx, const SdmKernels *k, const float *prior, SdmSurface *s);

/* What stage 8 needs of a window at level 0. */
typedef struct SdmFineResult {
    SdmSurface surface; /* flags: VALID (and FILLED where interpolated) or the reason */
    float *ray_error_px;      /* h x w, frame px across the epipolar lines, NaN unknown */
    int16_t *left;      /* h x w, the rectified left view */
    double device_s;    /* a device took by its own clock, without transfers; 0: the processor did it */
} SdmFineResult;
void sdm_fine_result_free(SdmFineResult *r);

/* Pixels of level 0 by which a window must be grown so that its inside is exact, when `level` and those below
 * it are computed on the grown one; coarse_level - 1 for all. */
int sdm_chain_halo(const SdmMatchSettings *s, int level);

/* Levels coarse_level - 1 .. 0 for the window win (level 0; a multiple of 2^coarse_level) from the coarse
 * surface, which covers it.  The result covers `need`, inside win, and what else of win level 0 had to
 * compute; win == need: all. */
SdmStatus sdm_chain_fine(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *coarse,
                         const SdmWindow *win, const SdmWindow *need, SdmFineResult *out);

/* v residual of a surface, e.g. of a coarse level: see sdm_level_ray_error(). */
SdmStatus sdm_chain_ray_error(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *s, int window,
                        float *ray_error_v);

#endif
