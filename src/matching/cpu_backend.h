/* The back end of the matching on the processor, over the kernels of cpu/: see backend.h. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/backend.h"
#include "matching/cpu_match_pass.h"

typedef struct SdmProcessor {
    SdmContext *ctx;
    const SdmMatchInput *in;
    const SdmSurface *coarse; /* where the first level begins; NULL: the surface is the caller's */
    SdmSurface surface;       /* of the current window; owned */
    SdmSurface *taken;        /* whose surface it is after sdm_processor_take() */
    float *prior;             /* h x w */
    SdmLevelTask task;        /* views of the window */
    SdmRowExtent *extent;     /* blocks of its rows; NULL: all of it matters */
    SdmSurface refined;       /* heights of the coarse surface on their way to level 0 */
    float *ray_error_px;      /* h x w */
    uint8_t *score0;          /* h x w, of sdm_level_ray_error() */
    float *agreed_m;          /* h x w, of sdm_join_agreed() */
    int team;                 /* of the context, while `in_team` */
    bool in_team;
} SdmProcessor;

/* Its operations; state: an SdmProcessor, of which ctx, in and coarse are set and all else is 0.  The heights
 * stay as they are in `begin_pass`. */
extern const SdmMatchOps sdm_processor_ops;

/* Open the views of a surface that the caller has already; the surface is the processor's until
 * sdm_processor_give().  Fewer threads where the window is small. */
SdmStatus sdm_processor_take(SdmProcessor *p, SdmSurface *s);
/* Hand the surface back and close; also after a failure. */
void sdm_processor_give(SdmProcessor *p);

SdmLevelTask sdm_level_task(const SdmMatchInput *in, const SdmWindow *win);
/* A copy of the heights, with the threads of the context. */
SdmStatus sdm_copy_heights(SdmContext *ctx, const SdmSurface *s, float **out);
