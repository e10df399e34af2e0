/* Stage 3 (docs/chain.md): cameras and pointing -> the epipolar frame of the scene, the height range to
 * search, and lattices. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/grid.h"
#include "geo/projector.h"
#include "geometry/pointing.h"
#include "geometry/surface.h"
#include "input/scene_open.h"

/* The frame is the plane of local east, north (orthographic about the scene's centre), turned so that u runs
 * along the epipolar lines; frame pixel (u, v) is the left ray through the point at height h0 over east = x0
 * + gsd (u cos a - v sin a), north = y0 + gsd (u sin a + v cos a). */
typedef struct SdmFrame {
    double lon_deg, lat_deg, h0_m; /* centre of the projection, reference height */
    double gsd_m;                  /* spacing of frame pixels */
    double right_gsd_m;            /* ground sample distance of the right image */
    double angle_rad, x0_m, y0_m;
    int64_t width, height;  /* pixels, multiples of 16 */
    double hmin_m, hmax_m;  /* heights to search */
    double base_height;     /* |horizontal ray separation| per height, at the centre */
    double convergence_deg; /* between the rays, at the centre */
    double du_dh;           /* frame pixels per metre at the centre, signed */
    double slant_px[2];     /* along u and v: how far the ground of a left pixel moves for a metre of
                                     * height, at the centre, px of the frame */
    double across[2]; /* unit vector in the right image (col, row) across the epipolar lines: where pixels
                       * are not square, across them on the ground */
} SdmFrame;

/* Find the frame that covers what both views see. Fails with SDM_ERR_DATA when they do not overlap or see the
 * ground from the same direction.  hmin/hmax: options, or the cameras' range. */
SdmStatus sdm_frame_find(SdmContext *ctx, const SdmScene *scene, SdmFrame *frame);

/* Rays of right cameras miss each other by no more. */
static inline double sdm_frame_far_m(const SdmFrame *f)
{
    return fmax(SDM_POINTING_FAR_M, SDM_POINTING_FAR_PX * f->right_gsd_m);
}

/* Pixels of the frame: of the overlap of the views. */
static inline double sdm_frame_pixels(const SdmFrame *f)
{
    return (double)f->width * (double)f->height;
}

/* The window of a level that covers the whole frame. */
SdmWindow sdm_frame_level(const SdmFrame *f, int level);

/* Spacing of the nodes, frame px, for a lattice over the whole frame at a coarse level: 64 << (level - 2)
 * at most, and at least 16 nodes a side where 16 px allow it. */
int sdm_frame_lattice_step(const SdmFrame *f, int level);

/* lon, lat (degrees) of frame position (u, v) at height h0. */
void sdm_frame_ground(const SdmFrame *f, double u, double v, double *lon_deg, double *lat_deg);

/* Build the lattice over frame pixels [u0, u1] x [v0, v1] (grown to whole cells) for heights hmin..hmax.
 * pointing may be NULL.  along (NULL: none): evaluated at the heights of `surface` (NULL: at the middle
 * height), so that it does not depend on the height of a match.  grid: output CRS of the ground coordinates;
 * NULL leaves them 0; degrees go on from those of the scene's centre, past 180, too.  again: *out is zero or
 * was built so before; it is freed, and the cameras are not asked again for the same nodes.  turn: images
 * along whose columns the frame's rows run are turned. */
typedef struct SdmLatticeRequest {
    const SdmScene *scene;
    const SdmFrame *frame;
    const SdmPointing *pointing;
    const SdmAlongCorrection *along;
    const SdmSurface *surface;
    const SdmGrid *grid;
    int64_t u0, v0, u1, v1;
    int step;
    double hmin_m, hmax_m;
    bool again; /* it may be built again with another pointing; without a grid */
    bool turn;
} SdmLatticeRequest;
SdmStatus sdm_lattice_build(SdmContext *ctx, const SdmLatticeRequest *q, SdmLattice *out);

/* Fails where the output CRS is cut between nodes of a lattice of the whole frame, as EPSG:3857 is at 180
 * degrees: SDM_ERR_USAGE. */
SdmStatus sdm_lattice_check_map(SdmContext *ctx, const SdmLatticeRequest *q, const SdmLattice *lat);

/* Largest error of the lattice's right positions against the cameras (and pointing), px, at the middle of 7 x
 * 7 cells, at the height of the surface (none: 5 heights), where both images have pixels, by the flags of the
 * surface, too; NaN when they have none there. */
double sdm_lattice_error(const SdmLatticeRequest *q, const SdmLattice *lat);
