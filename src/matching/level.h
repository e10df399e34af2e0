/* Stage 5: one pass over a window of a level: warp the right view by the surface, correlate, pick, check,
 * update. */
#ifndef SDM_LEVEL_H
#define SDM_LEVEL_H

#include "matching/pyramid.h"
#include "matching/optimize.h"
#include "geometry/surface.h"

/* What a pass asks of a match. */
typedef struct SdmPass {
    int window;          /* correlation window, px, odd */
    int range;           /* residuals -range..range */
    float min_score;     /* below: SDM_QA_LOW_SCORE */
    float min_margin;    /* best - runner-up below: SDM_QA_AMBIGUOUS; < 0 = not asked */
    float max_mismatch;  /* left-right difference above (px): SDM_QA_LEFT_RIGHT; < 0 = not asked */
    float min_sigma;     /* texture below (units of the images): SDM_QA_TEXTURELESS */
    float score_sigma; /* the cost's scores hold for windows of this texture: differences of smoother ones are
                          small whatever they show, so a score s becomes 1 - (1 - s) score_sigma / sigma; 0:
                          as it is */
    float bears_score; /* pixels that are VALID with a lower score stay where the prior has them: they do not
                          bear a window as small as this pass's; 0: all do */
    const SdmOptimizer *optimizer; /* NULL or local: the best of each pixel */
} SdmPass;
/* bears_score as SdmSurface holds scores. */
uint8_t sdm_pass_bears(const SdmPass *pass);

/* A window of one level with its images. */
typedef struct SdmLevelTask {
    const SdmKernels *kernels;
    sdm_cost_strip_fn *cost;
    const SdmLattice *lattice;
    SdmWindow win;
    const SdmSpan *span;   /* as of a surface of the window; not with labels */
    const SdmLevelImage *left_source, *right_source;
    int v_shift;           /* rows by which the right view is taken off (top level's search) */
    int16_t *left, *right; /* warped, h x w, owned */
} SdmLevelTask;

SdmStatus sdm_level_open(SdmContext *ctx,
                         SdmLevelTask *task); /* the other fields are set; warps the left view */
void sdm_level_close(SdmLevelTask *task);

/* Warp a view (the right one by the surface) into out, h x w. */
SdmStatus sdm_warp_view(SdmContext *ctx, const SdmLevelTask *task, enum SdmSide side, const float *surface_m,
                        int16_t *out);

/* Warp the right view by the surface (task->right). */
SdmStatus sdm_level_warp(SdmContext *ctx, SdmLevelTask *task, const float *surface_m);

/* Match about the heights `prior` (h x w; not the surface's own), for which the right view was warped.  On
 * return matched pixels have new heights and SDM_QA_VALID, the others the prior's height and the reason.
 * Reach: window / 2 + 2 range + 2. */
SdmStatus sdm_level_match(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                          SdmSurface *surface);

/* The substage: pixels that failed are matched again by `pass` (wider, larger), from the heights `prior` for
 * which the right view is still warped.  The others keep what they have. */
SdmStatus sdm_level_retry(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                          SdmSurface *surface);

/* Residual across the epipolar lines: sub-pixel v of the winner among rows -1, 0, 1 at d = 0, in level
 * pixels; NaN where windows leave the images or a good match does not depend on v, 2 where there is neither.
 * Needs sdm_level_warp() with the final surface.  ray_error_v: h x w.  score0: 250 x score at v = 0, h x w. pass:
 * window, min_sigma, score_sigma. */
SdmStatus sdm_level_ray_error(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, float *ray_error_v,
                        uint8_t *score0);

#endif
