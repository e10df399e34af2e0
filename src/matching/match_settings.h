/* Options, cost and sensor noise -> the settings of the matching, the same for every tile of a scene. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/optimize.h"
#include "kernels.h"

/* The steepest ground that filled heights of level 0 may make. */
typedef struct SdmFillLimit {
    float rise_m;      /* metres of height for a pixel of ground; INFINITY: no limit; 0: none is filled */
    float slant_px[2]; /* along u and v: how far the ground of a pixel moves for a metre of height */
} SdmFillLimit;

/* Settings that are measured on a scene, stored whole with the prepared scene.  All other settings follow
 * from these, the frame and the options. */
/* clang-format off */
#define SDM_MEASURED                                                                                       \
    char cost_name[8];                                                                                     \
    float ray_error_limit_px; /* mean ray intersection error around a pixel from which it is rejected */   \
    float final_score;        /* least score in the end, over the window of the ray intersection error */  \
    float discontinuity_px;   /* parallax of the height discontinuities to expect: SDM_DISCONTINUITY_M */  \
    bool borders;             /* heights reach the border of what both views see: border_windows.c */      \
    bool holes;               /* a view lacks many pixels: heights are moved by least squares twice */      \
    bool veils;               /* windows are matched on images less their 9 x 9 means */                    \
    int coarse_level;         /* finest level of the scene-wide surface */                                 \
    int coarsest_level;       /* coarsest level */                                                         \
    int label_range_px;       /* semi-global matching: its range about the base */                         \
    int coarse_offset_px;     /* how far the coarse surface lies from the base at most */                  \
    int hide_above[2];        /* grey values of both views above which pixels are clouds and are hidden;   \
                               * INT16_MAX: none is */
/* clang-format on */
typedef struct SdmMeasured {
    SDM_MEASURED /* px of level 0 */
} SdmMeasured;

typedef struct SdmMatchSettings {
    union {
        SdmMeasured measured;
        struct {
            SDM_MEASURED
        };
    };
    const SdmKernels *kernels;
    sdm_cost_strip_fn *cost;
    float min_score;              /* least score of a match while searching, in the cost's own scores */
    float min_small_window_score; /* least score from which a pixel is matched again with a small window */
    float min_sigma;              /* least texture, units of the images that are matched */
    bool wiener;                  /* heights are filtered and moved by least squares: filters.h */
    int wide_window;         /* of pixels that the usual ones do not match, px; 0: none; sdm_match_wide() */
    float wide_score;        /* least score of a match over it */
    int repeats;             /* how often the pixels of level 0 are matched again */
    SdmFillLimit fill_limit; /* of the small holes that are filled in the end */
    bool semi_global;        /* level 0 is matched by src/matching/semi_global_surface.h instead of passes */
    bool edges;              /* its steps are moved to the edges of the views: edge_filters.h */
    SdmOptimizer sgm;        /* its penalties */
    float pixel_m, px_per_m; /* of level 0: ground size; parallax of a metre of height, signed */
    int threads;             /* blocks that are matched at a time */
} SdmMatchSettings;

/* ray_error_limit_px until the scene's own is measured. */
#define SDM_RAY_ERROR_LIMIT_PX 0.25f
/* Height of the discontinuities that a retry must bridge, metres. */
#define SDM_DISCONTINUITY_M 25.0

/* The cost that an option stands for: "auto" depends on the size of a pixel. */
const char *sdm_cost_for(const char *asked, double gsd_m);

/* rise_m of the limit of filled heights.  Where pixels show walls and level 0 is matched by windows, a step
 * beside a hole is no sign of a guess: there "gentle" fills as "all" does. */
float sdm_fill_rise(const char *fill, double gsd_m, bool semi_global);

/* final_score until the scene's own is measured. */
float sdm_final_score(const char *cost);

/* options: the optimizer's settings; NULL: no optimizer.  cost: "zncc", "census"; cpu_level: as the
 * option; noise_q: sensor noise to expect, q units.  discontinuity_px and the levels are left 0; the fill has
 * no limit, or that of --fill none.  Errors:
 * SDM_ERR_USAGE, SDM_ERR_UNSUPPORTED (an instruction set that the processor does not have). */
SdmStatus sdm_match_settings(SdmContext *ctx, const SdmOptions *options, const char *cost,
                             const char *cpu_level, float noise_q, SdmMatchSettings *out);

static inline bool sdm_hides_clouds(const SdmMatchSettings *set)
{
    return set->hide_above[0] != INT16_MAX;
}

/* Is level 0 searched by labels about a base?  Between clouds passes follow. */
static inline bool sdm_has_labels(const SdmMatchSettings *set)
{
    return set->semi_global || sdm_hides_clouds(set);
}

/* For ground between clouds, by census: its texture is faint in their shadows, and their moving rims take a
 * part of each window.  Pixels that the usual windows do not match get a wide one, over which chance scores
 * less. */
void sdm_match_wide(SdmMatchSettings *set);

/* ---- of semi-global matching: semi_global_surface.h ---- */

enum {
    SDM_SEMI_GLOBAL_RANGE_MAX = 100, /* px: labels reach at most so far from the base on either side */
    SDM_SEMI_GLOBAL_BLOCK = 256,     /* px: side of a block */
    SDM_SEMI_GLOBAL_OVERLAP = 64,    /* px around it: half for paths to settle, half for filters */
    SDM_SEMI_GLOBAL_WORD = 5         /* px: side of a census word */
};

/* Between clouds no filters follow. */
static inline int sdm_semi_global_overlap(const SdmMatchSettings *set)
{
    return set->semi_global ? SDM_SEMI_GLOBAL_OVERLAP : SDM_SEMI_GLOBAL_OVERLAP / 2;
}

/* Pixels of the frame around a pixel on which its height depends. */
static inline int sdm_semi_global_reach(const SdmMatchSettings *set)
{
    return SDM_SEMI_GLOBAL_BLOCK - 1 + sdm_semi_global_overlap(set) + 2 * set->label_range_px +
           SDM_SEMI_GLOBAL_WORD / 2;
}
