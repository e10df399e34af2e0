/* A textured pair over known terrain, with its lattice as data: no camera, no file. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/level_loop.h"

/* Frame pixel (u, v) lies at left (u + 160.25, v + 160) and, at height h, right (1.0005 u + 160.25 + k (h -
 * height0), v + 160.5).  The ground is 15 m a pixel: k = 0.04 px / m makes a base / height ratio of 0.6. */
enum { SYN_MARGIN = 160, SYN_LEVELS = 6 };
#define SYN_GSD_M 15.0
#define SYN_DU_DH 0.04 /* k / 1.0005: frame pixels a metre */

typedef struct SynScene {
    int width, height; /* of the frame, px */
    double slope;      /* steepest slope along u, rise / run */
    double wave_px;    /* wave length along u; four thirds of it along v, with a third of the slope */
    uint64_t seed;     /* of the texture */
    bool down; /* images whose rows and columns change places: the frame's rows run down them, as ASTER's */
    SdmLattice lattice;                     /* step 16, two cells wider than the frame on every side */
    SdmLevelImage left, right;              /* level 0, whole images */
    SdmPyramid left_pyramid, right_pyramid; /* levels 0 .. SYN_LEVELS - 1 */
} SynScene;

/* Make the scene of the size, terrain, seed and direction that *s says; on failure it is closed. */
SdmStatus sdm_syn_open(SdmContext *ctx, SynScene *s);
void sdm_syn_close(SynScene *s);

/* Truth: metres at frame position (u, v). */
double sdm_syn_height(const SynScene *s, double u, double v);

/* A surface of the level's window: truth plus a wave of `error_px` level pixels of parallax. */
SdmStatus sdm_syn_surface(SdmContext *ctx, const SynScene *s, const SdmWindow *win, double error_px,
                          SdmSurface *out);

/* sdm_read_fn over an SdmLevelImage (user); nodata outside. */
SdmStatus sdm_syn_read(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                       int16_t *out);

/* The input of the chain that a scene is. */
static inline SdmMatchInput sdm_syn_input(const SynScene *s, const SdmMatchSettings *settings)
{
    return (SdmMatchInput){
        .settings = settings, .lattice = &s->lattice, .left = &s->left_pyramid, .right = &s->right_pyramid};
}
