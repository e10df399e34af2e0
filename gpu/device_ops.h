/* Steps of the matching on a device: images and surfaces that lie there -> others.  Each queues its kernels
 * and does not wait; the results are those of the kernels of cpu/kernels.h on the processor, bit for bit.
 * All buffers are dense, rows of `w`, h x w; none may be both input and output unless it says so.
 * Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_DEVICE_OPS_H
#define SDM_GPU_DEVICE_OPS_H

#include "geometry/surface.h"
#include "launch.h"
#include "matching/gridding.h"
#include "matching/match_steps.h"

/* Take the scratch of all steps on windows of up to `pixels` pixels, and cells of up to `nodes` nodes, at
 * once: memory that is taken later holds up the queue.  census: with words; scores: with a volume of
 * scores. */
SdmStatus sdm_gpu_reserve(SdmContext *ctx, SdmGpu *g, int64_t pixels, int64_t nodes, bool census,
                          bool scores);

/* A level of an image: as SdmLevelImage, data on the device (int16). */
typedef struct SdmGpuImage {
    SdmBuffer *data;
    int64_t x0, y0, w, h;
} SdmGpuImage;

/* ---- geometry ---- */

/* Cells of the lattice that a window of a level touches, prepared on the device: the terms that do not depend
 * on the pixel (32 words a cell: corners of the positions, their changes over height, du/dh). */
enum { SDM_GPU_CELL_BYTES = 32 * 4 };
typedef struct SdmGpuCells {
    SdmBuffer *cell;
    int32_t cols, rows;  /* of cells */
    int32_t u2, v2;      /* twice the place of the window's pixel (0, 0) from the first node, full pixels */
    int32_t stride2;     /* twice the full pixels from pixel to pixel */
    int32_t step2_log2;  /* of twice the lattice's step */
    int32_t level;
    int32_t w, h;        /* window */
    float height0_m;
} SdmGpuCells;
/* The cells lie in the scratch of g until the next ones of the same side are made.
 * node: the lattice's nodes (lat->nv x lat->nu SdmNode) as they lie on the host. */
SdmStatus sdm_gpu_cells_new(SdmContext *ctx, SdmGpu *g, const SdmLattice *lat, SdmBuffer *node,
                            const SdmWindow *win, enum SdmSide side, SdmGpuCells *out);

/* As sdm_warp_view(): surface_m (float) may be NULL; out: int16. */
SdmStatus sdm_gpu_warp(SdmContext *ctx, SdmGpu *g, const SdmGpuCells *cells, SdmBuffer *surface_m,
                       const SdmGpuImage *source, SdmBuffer *out);

/* Half the size: out's place and size are set, its data is written (see sdm_pyramid_build()). */
SdmStatus sdm_gpu_half(SdmContext *ctx, SdmGpu *g, const SdmGpuImage *in, const SdmGpuImage *out);

/* ---- matching ---- */

enum SdmGpuCost { SDM_GPU_ZNCC, SDM_GPU_CENSUS };

/* Two views of a window, int16, warped. */
typedef struct SdmGpuViews {
    enum SdmGpuCost cost;
    int w, h;
    SdmBuffer *left, *right;
    int v_shift; /* the right view is sampled so many rows further down */
} SdmGpuViews;

/* As sdm_level_match(). */
typedef struct SdmGpuMatch {
    SdmGpuViews views;
    const SdmPass *pass;
    bool retry; /* valid pixels keep their heights */
    const SdmGpuCells *right_cells;
    SdmBuffer *prior;               /* float */
    SdmBuffer *h_m, *flags, *score; /* float, uint16, uint8: out; with `retry` also in, the last two
                                       with min_small_window_score, too */
} SdmGpuMatch;
SdmStatus sdm_gpu_match(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m);

/* Bytes of scores that are computed before they are used; the most that they take for rows of `width`. */
int64_t sdm_gpu_volume_bytes(const SdmGpu *g);
int64_t sdm_gpu_max_score_bytes(const SdmGpu *g, int64_t width);

/* As sdm_level_ray_error(); ray_error_v: float, score0: uint8. */
SdmStatus sdm_gpu_ray_error(SdmContext *ctx, SdmGpu *g, const SdmGpuViews *views, const SdmPass *pass,
                            SdmBuffer *ray_error_v, SdmBuffer *score0);

/* ---- filters: see geometry/surface.h ---- */

/* A surface and its prior: float, float, uint16, uint8.  A step reads those that it names and writes where it
 * says. */
typedef struct SdmGpuSurface {
    SdmWindow win;
    SdmBuffer *h_m, *prior_m, *flags, *score;
} SdmGpuSurface;

SdmStatus sdm_gpu_median(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, SdmBuffer *out_m);
/* As sdm_match_border(): heights and scores in place; left, right: int16; new_flags: uint16. */
typedef struct SdmGpuBorder {
    SdmBuffer *left, *right;
    int half;
} SdmGpuBorder;
SdmStatus sdm_gpu_border(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuBorder *q,
                         SdmBuffer *new_flags);
SdmStatus sdm_gpu_reject(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmRejection *r,
                         SdmBuffer *new_flags);
/* sdm_surface_fill() with `fill` and then, unless it is NULL, with `again` (its else_prior must be false), in
 * place of h_m.  filled: uint8, of the first, or NULL. */
SdmStatus sdm_gpu_fill(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmFill *fill,
                       const SdmFill *again, SdmBuffer *filled);
SdmStatus sdm_gpu_smooth(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, SdmBuffer *out_m);
SdmStatus sdm_gpu_refine(SdmContext *ctx, SdmGpu *g, const SdmWindow *coarse, SdmBuffer *coarse_m,
                         const SdmWindow *fine, SdmBuffer *fine_m);

/* A plane of w x h floats blurred by (1 4 6 4 1)/16 in both axes, taps `step` px apart. */
SdmStatus sdm_gpu_blur(SdmContext *ctx, SdmGpu *g, SdmBuffer *in, int w, int h, int step, SdmBuffer *out);

/* As sdm_surface_wiener().  h_m and prior_m are lost; left: int16; ratio: 256 float, of
 * sdm_wiener_ratios(). */
typedef struct SdmGpuWiener {
    SdmBuffer *left, *ratio;
    float metres_per_px;
} SdmGpuWiener;
SdmStatus sdm_gpu_wiener(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuWiener *q,
                         SdmBuffer *out_m);

/* As sdm_surface_least_squares().  prior_m is lost; both views: int16. */
typedef struct SdmGpuLeastSquares {
    SdmBuffer *left, *right;
    float px_per_metre;
} SdmGpuLeastSquares;
SdmStatus sdm_gpu_least_squares(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s,
                                const SdmGpuLeastSquares *q, SdmBuffer *out_m);

/* ---- validation: see matching/validation.h ---- */

/* SdmTerrainMask on the device; all 0: none. */
typedef struct SdmGpuTerrainMask {
    SdmBuffer *h_m, *distance_px; /* float, uint16 */
    int level, w, h;
    float pixel_m;
} SdmGpuTerrainMask;

typedef struct SdmGpuValidation {
    SdmBuffer *ray_error, *score0; /* of sdm_gpu_ray_error() */
    const SdmGpuTerrainMask *terrain;
    int min_score; /* 250 x */
    float ray_error_limit_px;
} SdmGpuValidation;
/* Flags and scores of the surface, in place. */
SdmStatus sdm_gpu_validate(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuValidation *q);

/* As sdm_accept_filled(), with what sdm_gpu_fill() has filled. */
typedef struct SdmGpuFilled {
    SdmBuffer *filled;
    const SdmGpuTerrainMask *terrain;
    const SdmFillLimit *limit;
} SdmGpuFilled;
SdmStatus sdm_gpu_accept(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuFilled *q,
                         SdmBuffer *new_flags);

/* One view of sdm_mark_defects().  node: the lattice's nodes; defect: uint8, SdmDefect, place and size of
 * `image`; fills: whether filled pixels keep their heights. */
typedef struct SdmGpuDefects {
    const SdmLattice *lattice;
    SdmBuffer *node, *defect;
    enum SdmSide side;
    const SdmLevelImage *image;
    bool fills;
} SdmGpuDefects;
/* Flags of the surface, in place.  The device has doubles. */
SdmStatus sdm_gpu_defects(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuDefects *q);
/* Pixels whose samples of a view are filled (int16, a warp of sdm_pyramid_filled()) are set aside; all are
 * brought back. */
SdmStatus sdm_gpu_set_aside(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, SdmBuffer *filled);
SdmStatus sdm_gpu_bring_back(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s);

/* ---- gridding ---- */

/* As sdm_gridding_run(): the points of a window of level 0 into a block, whose place is set. */
typedef struct SdmGpuGrid {
    const SdmGridding *gridding;
    SdmWindow win;
    const SdmBlock *block;
    SdmBuffer *h_m, *flags, *score, *ray_error_px, *left; /* of the window; flags: those of a scene */
} SdmGpuGrid;
/* Can it be done here?  Not without doubles, nor where a cell is much smaller or larger than a pixel (lists
 * would be long or empty), nor beyond 2^31 pixels or cells. */
bool sdm_gpu_can_grid(const SdmGpu *g, const SdmGpuGrid *q);
/* Bytes that it takes beside what matching took of that window. */
int64_t sdm_gpu_grid_bytes(const SdmGpuGrid *q);
/* *real: heights, scores, ray intersection errors, spreads, ortho image, each block->h x block->w float;
 * *whole: counts, masks, uint16.  Both lie in the scratch of g. */
SdmStatus sdm_gpu_grid(SdmContext *ctx, SdmGpu *g, const SdmGpuGrid *q, SdmBuffer **real, SdmBuffer **whole);

#endif
