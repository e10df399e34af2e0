/* The passes and filters of the matching, in their order -> window, range and reach of each; the halo of a
 * window is the sum of the reaches.  src/matching/level_loop.c runs these tables. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/filters.h"
#include "matching/match_settings.h"
#include "matching/point_formulas.h"

typedef enum SdmStepKind {
    SDM_STEP_REFINE,  /* heights of the next finer level, bilinear; the left view of its window */
    SDM_STEP_MATCH,   /* the heights become the prior, by which the right view is warped: match every pixel */
    SDM_STEP_RETRY,   /* match invalid pixels again about the same prior */
    SDM_STEP_REPEAT,  /* match again, about the current heights, pixels that score well */
    SDM_STEP_REMATCH, /* match invalid pixels again, about the current heights */
    SDM_STEP_BORDER,  /* match pixels whose windows reach beyond the data, by those that contain them */
    SDM_STEP_REJECT,  /* invalidate pixels whose change few neighbours share */
    SDM_STEP_MEDIAN,  /* median of the valid heights */
    SDM_STEP_FILL,    /* heights of invalid pixels from the changes of valid ones: far, then near */
    SDM_STEP_SMOOTH,  /* (1 2 1) / 4 in both axes */
    SDM_STEP_WIENER,  /* local Wiener filter of the heights by their predicted noise */
    SDM_STEP_LEAST_SQUARES, /* heights for which the pixels of both views agree, by least squares */
    SDM_STEP_SEMI_GLOBAL,   /* heights of the window by semi-global matching, in one step */
    SDM_STEP_WARP,          /* warp the right view by the heights */
    SDM_STEP_RAY_ERROR,     /* ray intersection error, and the score over a larger window */
    SDM_STEP_VALIDATE,      /* accept or reject each pixel: terrain, score, mean ray intersection error */
    SDM_STEP_DEFECTS,       /* give the reason of pixels that a view lacks */
    SDM_STEP_FILL_HIDDEN,   /* gaps beside steps become valid and filled */
    SDM_STEP_FILL_HOLES,    /* small holes over terrain, if gentle, become valid and filled */
    SDM_STEP_COUNT
} SdmStepKind;

/* Where a step of a table does not run everywhere. */
typedef enum SdmStepWhen {
    SDM_ALWAYS,
    SDM_IF_RETRIED,
    SDM_IF_WIDE, /* the settings have a wide window */
    SDM_ABOVE_LEVEL_0,
    SDM_IF_WIENER,
    SDM_IF_HOLES, /* the same, and a view lacks many pixels */
    SDM_IF_BORDERS,
    SDM_IF_PASSES,
    SDM_IF_SEMI_GLOBAL,
    SDM_IF_OLD_WARP /* sdm_warps_to_validate() */
} SdmStepWhen;

typedef struct SdmStep {
    SdmStepKind kind;
    int window; /* px of the level, odd: correlation window, or the neighbourhood that a filter reads */
    int range;  /* residuals -range..range, px */
    SdmStepWhen when;
} SdmStep;

typedef struct SdmSteps {
    const SdmStep *step;
    int count;
} SdmSteps;

typedef enum SdmSequence {
    SDM_SEQUENCE_FINE_LEVEL,    /* a level of a window, from the surface of the next coarser one */
    SDM_SEQUENCE_REPEAT,        /* as often as the settings say, at level 0 */
    SDM_SEQUENCE_RESTORE,       /* then once */
    SDM_SEQUENCE_SEMI_GLOBAL,   /* instead of these three, where pixels show roofs and walls */
    SDM_SEQUENCE_VALIDATE,      /* then once */
    SDM_SEQUENCE_FINISH,        /* and this */
    SDM_SEQUENCE_COARSE_FIRST,  /* a scene-wide level, refined already */
    SDM_SEQUENCE_COARSE_SECOND, /* again, from what the first gave */
    SDM_SEQUENCE_REMATCH,       /* invalid pixels of a scene-wide level */
    SDM_SEQUENCE_CLEAN,         /* after the search at the coarsest level */
    SDM_SEQUENCE_COUNT
} SdmSequence;

enum {
    SDM_RAY_ERROR_HALF = 5 /* of the window of the mean ray intersection error, px */
};

SdmSteps sdm_steps(SdmSequence sequence);
/* Processor time of a step a pixel of its level, about, in units of a hundredth of a match and its filters:
 * for progress. */
int sdm_step_cost(SdmStepKind kind);
/* Is the right view warped once more for the validation?  Not after a repeat, since whose warp heights have
 * moved by a pixel at most, or after the least squares. */
bool sdm_warps_to_validate(const SdmMatchSettings *set);
/* Does the step run at that level? */
bool sdm_step_applies(const SdmStep *step, const SdmMatchSettings *set, int level);
/* Pixels of the level on either side on which a pixel depends through the step; a retry's with the range that
 * the settings ask for. */
int sdm_step_reach(const SdmStep *step, const SdmMatchSettings *set, int level);

/* Pixels of level 0 by which a window must be grown so that its inside is exact, when `level` and those below
 * it are computed on the grown one; coarse_level - 1 for all. */
int sdm_match_halo(const SdmMatchSettings *set, int level);
/* Rows of a level above and below a pixel on which its height after a coarse sequence depends, if nothing is
 * optimized: of the prior and of both views warped by it. */
int sdm_match_row_reach(const SdmMatchSettings *set, int level);
/* Most pixels of a level by which its passes can move a height. */
int sdm_match_max_update(const SdmMatchSettings *set, int level);

/* Search and limits of a pass. */
typedef struct SdmPass {
    int window;                   /* correlation window, px, odd */
    int range;                    /* residuals -range..range */
    float min_score;              /* below: SDM_QA_LOW_SCORE */
    float min_margin;             /* best - runner-up below: SDM_QA_AMBIGUOUS; < 0 = not asked */
    float max_mismatch;           /* left-right difference above (px): SDM_QA_LEFT_RIGHT; < 0 = not asked */
    float min_sigma;              /* texture below (units of the images): SDM_QA_TEXTURELESS */
    float min_small_window_score; /* pixels that are VALID with a lower score keep the prior's height: their
                                     texture is too weak for a window as small as this pass's; 0: none */
} SdmPass;
/* min_small_window_score in the units of SdmSurface.score. */
uint8_t sdm_pass_min_quality(const SdmPass *pass);

/* The pass of a step that matches.  Pixels that failed get a larger window or, where discontinuities are
 * to be expected, a wider range. */
SdmPass sdm_step_pass(const SdmStep *step, const SdmMatchSettings *set, int level);
/* A plane of the search at the coarsest level. */
SdmPass sdm_plane_pass(const SdmMatchSettings *set, int range);
enum { SDM_PLANE_RANGE = 10 }; /* at most, px */
/* Valid pixels of a scene-wide level once more, with a window half as wide as the slopes that 9 px blur. */
SdmPass sdm_sharpen_pass(const SdmMatchSettings *set);
SdmPass sdm_ray_error_pass(const SdmMatchSettings *set);

/* Metres of height for a pixel of residual at a level: of the scene, not of the tile's lattice; and
 * residual for a metre of height at the scene's centre, with its sign. */
float sdm_metres_per_pixel(const SdmMatchSettings *set, const SdmLattice *lattice, int level);
float sdm_px_per_metre(const SdmMatchSettings *set, const SdmLattice *lattice, int level);
/* A step of rejection; its tolerance is a pixel of residual. */
SdmRejection sdm_rejection(const SdmStep *step, float metres_per_pixel);

/* Filling of a level: from far, and where there is enough, from near; and of the holes that are left. */
extern const SdmFill sdm_fill_far, sdm_fill_near, sdm_fill_hole;
