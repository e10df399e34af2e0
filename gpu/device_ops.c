/* Geometry, filters and validation of the matching on a device, see device_ops.h. */
// SPDX-License-Identifier: Apache-2.0
#include "device_ops.h"
#include "core/math.h"

#include "matching/filters.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { WARP_PIXELS = 4, REJECT_ROWS = 4, MEDIAN_ROWS = 4, FILL_ROWS = 4, SMOOTH_ROWS = 4,
       VALIDATE_PIXELS = 4, WIENER_ROWS = 4, WIENER_COLUMNS = 4, /* of an item: gpu/warp.cl, filter.cl,
                                                                  * validate.cl, wiener.cl */
       FILL_REACH = 16 /* at most: gpu/filter.cl */ };

SdmStatus sdm_gpu_reserve(SdmContext *ctx, SdmGpu *g, int64_t pixels, int64_t nodes, bool census, bool scores)
{
    SdmStatus st = SDM_OK;
    const struct {
        int slot;
        int64_t bytes;
    } list[] = {
        {SDM_S_MEAN, 4 * pixels},
        {SDM_S_MEAN_R, 4 * pixels},
        {SDM_S_TEXTURE, 4 * pixels},
        {SDM_S_TEXTURE_R, 4 * pixels},
        {SDM_S_SUM, 8 * pixels},
        {SDM_S_COUNT, 4 * pixels},
        {SDM_S_CELLS, SDM_GPU_CELL_BYTES * nodes},
        {SDM_S_CELLS_R, SDM_GPU_CELL_BYTES * nodes},
        {SDM_S_WORD, census ? 4 * pixels : 0},
        {SDM_S_WORD_R, census ? 4 * pixels : 0},
    };
    SdmBuffer *unused;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        TRY(sdm_gpu_scratch(ctx, g, list[i].slot, list[i].bytes, &unused));
    if (scores)
        TRY(sdm_gpu_scratch(ctx, g, SDM_S_VOLUME, sdm_gpu_volume_bytes(g), &unused));
done:
    return st;
}

/* ---- geometry ---- */

SdmStatus sdm_gpu_cells_new(SdmContext *ctx, SdmGpu *g, const SdmLattice *lat, SdmBuffer *node,
                            const SdmWindow *win, enum SdmSide side, SdmGpuCells *out)
{
    SdmStatus st = SDM_OK;
    const int l = win->level, step2 = 2 * lat->step;
    const int64_t one = (int64_t)1 << l;
    /* twice the full-resolution position from the first node, so that half pixels stay integers */
    const int64_t u2 = (2 * win->u0 + 1) * one - 1 - 2 * lat->u0,
                  v2 = (2 * win->v0 + 1) * one - 1 - 2 * lat->v0;
    const int64_t i0 = sdm_floor_div(u2, step2), i1 = sdm_floor_div(u2 + 2 * one * (win->w - 1), step2);
    const int64_t j0 = sdm_floor_div(v2, step2), j1 = sdm_floor_div(v2 + 2 * one * (win->h - 1), step2);
    *out = (SdmGpuCells){.cols = (int32_t)(i1 - i0 + 1), .rows = (int32_t)(j1 - j0 + 1),
                         .u2 = (int32_t)(u2 - i0 * step2), .v2 = (int32_t)(v2 - j0 * step2),
                         .stride2 = (int32_t)(2 * one), .level = l, .w = win->w, .h = win->h,
                         .height0_m = (float)lat->height0_m};
    while (1 << out->step2_log2 < step2)
        out->step2_log2++;
    const int64_t count = (int64_t)out->cols * out->rows;
    TRY(sdm_gpu_scratch(ctx, g, side == SDM_RIGHT ? SDM_S_CELLS_R : SDM_S_CELLS, count * SDM_GPU_CELL_BYTES,
                        &out->cell));
    TRY(SDM_GPU_RUN(ctx, g, "lattice_cells", count, 1, 64, 1, SDM_BUF(node), SDM_I32(lat->nu), SDM_I32(i0),
                    SDM_I32(j0), SDM_I32(out->cols), SDM_I32(out->rows), SDM_I32(side == SDM_RIGHT),
                    SDM_I32(l), SDM_BUF(out->cell)));
done:
    return st;
}

SdmStatus sdm_gpu_warp(SdmContext *ctx, SdmGpu *g, const SdmGpuCells *c, SdmBuffer *surface_m,
                       const SdmGpuImage *source, SdmBuffer *out)
{
    const int before = c->u2 / c->stride2 % WARP_PIXELS; /* cells begin at multiples of that */
    return SDM_GPU_PIXELS(ctx, g, "warp", sdm_gpu_groups(c->w + before, WARP_PIXELS), c->h,
                          SDM_BUF(c->cell), SDM_I32(c->cols), SDM_I32(c->u2), SDM_I32(c->v2),
                          SDM_I32(c->stride2), SDM_I32(c->step2_log2),
                          SDM_F32(1.0f / (float)(1 << c->level)), SDM_BUF(surface_m), SDM_F32(c->height0_m),
                          SDM_BUF(source->data), SDM_I32(source->x0), SDM_I32(source->y0),
                          SDM_I32(source->w), SDM_I32(source->h), SDM_BUF(g->cubic), SDM_BUF(out),
                          SDM_I32(c->w), SDM_I32(c->h), SDM_I32(before));
}

SdmStatus sdm_gpu_half(SdmContext *ctx, SdmGpu *g, const SdmGpuImage *in, const SdmGpuImage *out)
{
    return SDM_GPU_PIXELS(ctx, g, "half_size", out->w, out->h, SDM_BUF(in->data), SDM_I32(in->w),
                          SDM_I32(in->h), SDM_I32(2 * out->x0 - 1 - in->x0),
                          SDM_I32(2 * out->y0 - 1 - in->y0), SDM_BUF(out->data), SDM_I32(out->w),
                          SDM_I32(out->h));
}

/* ---- filters ---- */

SdmStatus sdm_gpu_border(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuBorder *q,
                         SdmBuffer *new_flags)
{
    return SDM_GPU_PIXELS(ctx, g, "border_heights", s->win.w, s->win.h, SDM_BUF(q->left), SDM_BUF(q->right),
                          SDM_BUF(s->prior_m), SDM_I32(s->win.w), SDM_I32(s->win.h), SDM_I32(q->half),
                          SDM_BUF(s->h_m), SDM_BUF(s->flags), SDM_BUF(s->score), SDM_BUF(new_flags));
}

SdmStatus sdm_gpu_median(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, SdmBuffer *out_m)
{
    return SDM_GPU_PIXELS(ctx, g, "median3", s->win.w, sdm_gpu_groups(s->win.h, MEDIAN_ROWS), SDM_BUF(s->h_m),
                          SDM_BUF(s->flags), SDM_I32(s->win.w), SDM_I32(s->win.h), SDM_BUF(out_m));
}

SdmStatus sdm_gpu_reject(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmRejection *r,
                         SdmBuffer *new_flags)
{
    const int w = s->win.w, h = s->win.h, side = 2 * r->half + 1,
              least = (int)ceilf(r->share * (float)(side * side));
    return SDM_GPU_RUN(ctx, g, "reject", w, sdm_gpu_groups(h, REJECT_ROWS), 32, 8, SDM_BUF(s->h_m),
                       SDM_BUF(s->prior_m), SDM_BUF(s->flags), SDM_I32(w), SDM_I32(h), SDM_I32(r->half),
                       SDM_F32(256.0f / r->tol_m), SDM_I32(least), SDM_BUF(new_flags));
}

SdmStatus sdm_gpu_fill(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmFill *fill,
                       const SdmFill *again, SdmBuffer *filled)
{
    SdmStatus st = SDM_OK;
    const int w = s->win.w, h = s->win.h;
    const int64_t n = (int64_t)w * h * (again ? 2 : 1);
    const SdmTuning *const t = sdm_gpu_tuning(g);
    const int half_b = again ? again->half : -1, least_b = again ? again->least : 0;
    SdmBuffer *change, *sum;
    assert(fill->half <= FILL_REACH && half_b <= FILL_REACH);
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_TEXTURE, (int64_t)w * h * (int64_t)sizeof(int32_t), &change));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_SUM, n * (int64_t)sizeof(int32_t), &sum));
    TRY(SDM_GPU_PIXELS(ctx, g, "fill_changes", w, sdm_gpu_groups(h, FILL_ROWS), SDM_BUF(s->h_m),
                       SDM_BUF(s->prior_m), SDM_BUF(s->flags), SDM_I32(w), SDM_I32(h), SDM_BUF(change)));
    TRY(SDM_GPU_RUN(ctx, g, "fill_columns", w, sdm_gpu_groups(h, t->column_rows), t->column_items, 1,
                    SDM_BUF(change), SDM_I32(w), SDM_I32(h), SDM_I32(fill->half), SDM_I32(half_b),
                    SDM_I32(t->column_rows), SDM_BUF(sum)));
    TRY(SDM_GPU_PIXELS(ctx, g, "fill_holes", sdm_gpu_groups(w, 8), h, SDM_BUF(s->h_m), SDM_BUF(s->prior_m),
                       SDM_BUF(s->flags), SDM_BUF(sum), SDM_I32(w), SDM_I32(h),
                       SDM_I32(fill->half), SDM_I32(fill->least), SDM_I32(fill->else_prior), SDM_I32(half_b),
                       SDM_I32(least_b), SDM_BUF(filled)));
done:
    return st;
}

SdmStatus sdm_gpu_smooth(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, SdmBuffer *out_m)
{
    return SDM_GPU_PIXELS(ctx, g, "smooth", s->win.w, sdm_gpu_groups(s->win.h, SMOOTH_ROWS), SDM_BUF(s->h_m),
                          SDM_I32(s->win.w), SDM_I32(s->win.h), SDM_BUF(out_m));
}

SdmStatus sdm_gpu_refine(SdmContext *ctx, SdmGpu *g, const SdmWindow *coarse, SdmBuffer *coarse_m,
                         const SdmWindow *fine, SdmBuffer *fine_m)
{
    const int64_t du = fine->u0 - 2 * coarse->u0, dv = fine->v0 - 2 * coarse->v0;
    return SDM_GPU_PIXELS(ctx, g, "refine", ((int64_t)fine->w + 1 + !(du & 1)) / 2,
                          ((int64_t)fine->h + 1 + !(dv & 1)) / 2, SDM_BUF(coarse_m), SDM_I32(coarse->w),
                          SDM_I32(coarse->h), SDM_I32(du), SDM_I32(dv), SDM_BUF(fine_m), SDM_I32(fine->w),
                          SDM_I32(fine->h));
}

SdmStatus sdm_gpu_blur(SdmContext *ctx, SdmGpu *g, SdmBuffer *in, int w, int h, int step, SdmBuffer *out)
{
    return SDM_GPU_PIXELS(ctx, g, "blur", w, sdm_gpu_groups(h, WIENER_ROWS * step) * step, SDM_BUF(in),
                          SDM_I32(w), SDM_I32(h), SDM_I32(step), SDM_BUF(out));
}

/* The three blurred surfaces. */
static SdmStatus blur_surfaces(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s,
                               SdmBuffer *blurred[SDM_WIENER_BLURS])
{
    static const int slot[SDM_WIENER_BLURS] = {SDM_S_MEAN, SDM_S_MEAN_R, SDM_S_TEXTURE};
    SdmStatus st = SDM_OK;
    for (int k = 0; k < SDM_WIENER_BLURS; k++) {
        TRY(sdm_gpu_scratch(ctx, g, slot[k], (int64_t)s->win.w * s->win.h * (int64_t)sizeof(float),
                            &blurred[k]));
        TRY(sdm_gpu_blur(ctx, g, k ? blurred[k - 1] : s->h_m, s->win.w, s->win.h, 1 << k, blurred[k]));
    }
done:
    return st;
}

SdmStatus sdm_gpu_wiener(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuWiener *q,
                         SdmBuffer *out_m)
{
    SdmStatus st = SDM_OK;
    const int w = s->win.w, h = s->win.h;
    const int64_t n = (int64_t)w * h;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    SdmBuffer *b[SDM_WIENER_BLURS], *noise, *energy, *noise_sum;
    TRY(blur_surfaces(ctx, g, s, b));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_TEXTURE_R, n * (int64_t)sizeof(int32_t), &noise));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_SUM, 2 * n * (int64_t)sizeof(int32_t), &energy));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_COUNT, n * (int64_t)sizeof(int32_t), &noise_sum));
    TRY(SDM_GPU_PIXELS(ctx, g, "wiener_terms", w, sdm_gpu_groups(h, WIENER_ROWS), SDM_BUF(b[0]),
                       SDM_BUF(b[1]), SDM_BUF(b[2]), SDM_BUF(q->left), SDM_BUF(s->flags), SDM_BUF(s->score),
                       SDM_BUF(q->ratio), SDM_I32(w), SDM_I32(h), SDM_F32(SDM_WIENER_UNIT / q->metres_per_px),
                       SDM_BUF(noise), SDM_BUF(energy)));
    const struct {
        SdmBuffer *from, *to;
        int64_t first;
    } sums[] = {{noise, noise_sum, 0}, {energy, s->h_m, 0}, {energy, s->prior_m, n}};
    for (int i = 0; i < 3; i++)
        TRY(SDM_GPU_RUN(ctx, g, "wiener_columns", w, sdm_gpu_groups(h, t->column_rows), t->column_items, 1,
                        SDM_BUF(sums[i].from), SDM_I64(sums[i].first), SDM_I32(w), SDM_I32(h),
                        SDM_I32(t->column_rows), SDM_BUF(sums[i].to)));
    TRY(SDM_GPU_PIXELS(ctx, g, "wiener", sdm_gpu_groups(w, WIENER_COLUMNS), h, SDM_BUF(b[0]), SDM_BUF(b[1]),
                       SDM_BUF(b[2]), SDM_BUF(noise_sum), SDM_BUF(s->h_m), SDM_BUF(s->prior_m), SDM_I32(w),
                       SDM_I32(h), SDM_F32(SDM_WIENER_NOISE), SDM_F32(SDM_WIENER_DETAIL), SDM_F32(1.0f),
                       SDM_BUF(out_m)));
done:
    return st;
}

/* ---- validation ---- */

SdmStatus sdm_gpu_validate(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuValidation *q)
{
    SdmStatus st = SDM_OK;
    const int w = s->win.w, h = s->win.h;
    const int64_t n = (int64_t)w * h;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    const SdmGpuTerrainMask *const mask = q->terrain;
    SdmBuffer *sum, *count;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_SUM, n * (int64_t)sizeof(int32_t), &sum));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_COUNT, n * (int64_t)sizeof(uint16_t), &count));
    TRY(SDM_GPU_RUN(ctx, g, "ray_error_columns", w, sdm_gpu_groups(h, t->column_rows), t->column_items, 1,
                    SDM_BUF(q->ray_error), SDM_I32(w), SDM_I32(h), SDM_I32(t->column_rows), SDM_BUF(sum),
                    SDM_BUF(count)));
    TRY(SDM_GPU_PIXELS(ctx, g, "validate", sdm_gpu_groups(w, VALIDATE_PIXELS), h, SDM_BUF(q->ray_error),
                       SDM_BUF(sum), SDM_BUF(count), SDM_BUF(q->score0), SDM_BUF(s->h_m), SDM_I32(w),
                       SDM_I32(h), SDM_I32(q->min_score), SDM_F32(q->ray_error_limit_px * 1024.0f),
                       SDM_BUF(mask->h_m), SDM_BUF(mask->distance_px), SDM_I32(s->win.u0), SDM_I32(s->win.v0),
                       SDM_I32(mask->level), SDM_I32(mask->w), SDM_I32(mask->h), SDM_F32(mask->pixel_m),
                       SDM_BUF(s->flags), SDM_BUF(s->score)));
done:
    return st;
}

SdmStatus sdm_gpu_accept(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuFilled *q,
                         SdmBuffer *new_flags)
{
    const SdmGpuTerrainMask *const mask = q->terrain;
    const SdmFillLimit *const limit = q->limit;
    return SDM_GPU_PIXELS(ctx, g, "accept_filled", s->win.w, s->win.h, SDM_BUF(q->filled), SDM_I32(s->win.w),
                          SDM_I32(s->win.h), SDM_BUF(mask->distance_px), SDM_I32(s->win.u0),
                          SDM_I32(s->win.v0), SDM_I32(mask->level), SDM_I32(mask->w), SDM_I32(mask->h),
                          SDM_BUF(s->h_m), SDM_BUF(s->flags), SDM_I32(!isinf(limit->rise_m)),
                          SDM_F32(limit->rise_m), SDM_F32(limit->slant_px[0]), SDM_F32(limit->slant_px[1]),
                          SDM_BUF(new_flags));
}

SdmStatus sdm_gpu_defects(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, const SdmGpuDefects *q)
{
    const SdmLattice *const lat = q->lattice;
    const SdmLevelImage *const im = q->image;
    int64_t height0;
    int step_log2 = 0;
    memcpy(&height0, &lat->height0_m, sizeof height0);
    while (1 << step_log2 < lat->step)
        step_log2++;
    return SDM_GPU_PIXELS(ctx, g, "mark_defects", s->win.w, s->win.h, SDM_BUF(q->node), SDM_I32(lat->nu),
                          SDM_I32(lat->nv), SDM_I32(s->win.u0 - lat->u0), SDM_I32(s->win.v0 - lat->v0),
                          SDM_I32(step_log2), SDM_I64(height0), SDM_I32(q->side == SDM_RIGHT),
                          SDM_I32(q->fills), SDM_BUF(q->defect), SDM_I32(im->x0), SDM_I32(im->y0),
                          SDM_I32(im->w), SDM_I32(im->h), SDM_BUF(s->h_m), SDM_I32(s->win.w),
                          SDM_I32(s->win.h), SDM_BUF(s->flags));
}

SdmStatus sdm_gpu_set_aside(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s, SdmBuffer *filled)
{
    return SDM_GPU_PIXELS(ctx, g, "set_aside", s->win.w, s->win.h, SDM_BUF(filled), SDM_I32(s->win.w),
                          SDM_I32(s->win.h), SDM_BUF(s->flags));
}

SdmStatus sdm_gpu_bring_back(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s)
{
    return SDM_GPU_PIXELS(ctx, g, "bring_back", s->win.w, s->win.h, SDM_I32(s->win.w), SDM_I32(s->win.h),
                          SDM_BUF(s->flags));
}
