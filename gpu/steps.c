/* Geometry and filters of the chain on a device, see steps.h. */
// SPDX-License-Identifier: Apache-2.0
#include "steps_inside.h"

#include <math.h>

SdmStatus sdm_gpu_open(SdmContext *ctx, SdmDevice *device, int queue, SdmGpu *out)
{
    SdmStatus st = SDM_OK;
    *out = (SdmGpu){.device = device, .queue = queue};
    TRY(sdm_buffer_new(ctx, device, sizeof sdm_cubic_weights, "cubic weights", &out->cubic));
    TRY(sdm_upload(ctx, out->cubic, 0, sdm_cubic_weights, sizeof sdm_cubic_weights, queue, true));
done:
    if (st != SDM_OK)
        sdm_gpu_close(out);
    return st;
}

void sdm_gpu_close(SdmGpu *g)
{
    sdm_buffer_free(&g->cubic);
    for (int i = 0; i < SDM_GPU_SCRATCH; i++)
        sdm_buffer_free(&g->scratch[i]);
    *g = (SdmGpu){.device = NULL};
}

SdmStatus sdm_gpu_scratch(SdmContext *ctx, SdmGpu *g, enum SdmGpuScratch slot, int64_t bytes, SdmBuffer **out)
{
    SdmStatus st = SDM_OK;
    if (g->scratch_bytes[slot] < bytes) {
        if (g->scratch[slot])
            TRY(sdm_finish(ctx, g->device, g->queue));
        sdm_buffer_free(&g->scratch[slot]);
        g->scratch_bytes[slot] = 0;
        TRY(sdm_buffer_new(ctx, g->device, bytes, "scratch of a step", &g->scratch[slot]));
        g->scratch_bytes[slot] = bytes;
    }
    *out = g->scratch[slot];
done:
    return st;
}

SdmStatus sdm_gpu_reserve(SdmContext *ctx, SdmGpu *g, int64_t pixels, int64_t nodes, bool census)
{
    SdmStatus st = SDM_OK;
    const struct {
        enum SdmGpuScratch slot;
        int64_t bytes;
    } list[] = {
        {SDM_S_MEAN, 4 * pixels},
        {SDM_S_MEAN_R, 4 * pixels},
        {SDM_S_TEXTURE, 4 * pixels},
        {SDM_S_TEXTURE_R, 4 * pixels},
        {SDM_S_SUM, 8 * pixels},
        {SDM_S_COUNT, 4 * pixels},
        {SDM_S_CELLS, SDM_CELL_BYTES * nodes},
        {SDM_S_CELLS_R, SDM_CELL_BYTES * nodes},
        {SDM_S_WORD, census ? 8 * pixels : 0},
        {SDM_S_WORD_R, census ? 8 * pixels : 0},
    };
    SdmBuffer *unused;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        TRY(sdm_gpu_scratch(ctx, g, list[i].slot, list[i].bytes, &unused));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_VOLUME, sdm_gpu_volume_bytes(g), &unused));
done:
    return st;
}

SdmStatus sdm_gpu_run(SdmContext *ctx, SdmGpu *g, const char *name, const int groups[3], const int group[3],
                      int count, const SdmArg *args)
{
    return sdm_launch(ctx, g->device, g->queue, name, groups, group, count, args);
}

/* ---- geometry ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

SdmStatus sdm_gpu_cells_new(SdmContext *ctx, SdmGpu *g, const SdmLattice *lat, SdmBuffer *node,
                            const SdmWindow *win, enum SdmSide side, SdmGpuCells *out)
{
    SdmStatus st = SDM_OK;
    const int l = win->level, step2 = 2 * lat->step;
    const int64_t one = (int64_t)1 << l;
    /* twice the full-resolution position from the first node, so that half pixels stay integers */
    const int64_t u2 = (2 * win->u0 + 1) * one - 1 - 2 * lat->u0,
                  v2 = (2 * win->v0 + 1) * one - 1 - 2 * lat->v0;
    const int64_t i0 = floor_div(u2, step2), i1 = floor_div(u2 + 2 * one * (win->w - 1), step2);
    const int64_t j0 = floor_div(v2, step2), j1 = floor_div(v2 + 2 * one * (win->h - 1), step2);
    *out = (SdmGpuCells){.cols = (int32_t)(i1 - i0 + 1), .rows = (int32_t)(j1 - j0 + 1),
                         .u2 = (int32_t)(u2 - i0 * step2), .v2 = (int32_t)(v2 - j0 * step2),
                         .stride2 = (int32_t)(2 * one), .level = l, .w = win->w, .h = win->h,
                         .height0_m = (float)lat->height0_m};
    while (1 << out->step2_log2 < step2)
        out->step2_log2++;
    const int64_t count = (int64_t)out->cols * out->rows;
    TRY(sdm_gpu_scratch(ctx, g, side == SDM_RIGHT ? SDM_S_CELLS_R : SDM_S_CELLS, count * SDM_CELL_BYTES,
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
    const int before = c->u2 / c->stride2 % SDM_WARP_PIXELS; /* cells begin at multiples of that */
    return SDM_GPU_PIXELS(ctx, g, "warp", sdm_gpu_groups(c->w + before, SDM_WARP_PIXELS), c->h,
                          SDM_BUF(c->cell), SDM_I32(c->cols), SDM_I32(c->u2), SDM_I32(c->v2),
                          SDM_I32(c->stride2), SDM_I32(c->step2_log2), SDM_F32(1.0f / (float)(1 << c->level)),
                          SDM_BUF(surface_m), SDM_F32(c->height0_m), SDM_BUF(source->data),
                          SDM_I32(source->x0), SDM_I32(source->y0), SDM_I32(source->w), SDM_I32(source->h),
                          SDM_BUF(g->cubic), SDM_BUF(out), SDM_I32(c->w), SDM_I32(c->h), SDM_I32(before));
}

SdmStatus sdm_gpu_half(SdmContext *ctx, SdmGpu *g, const SdmGpuImage *in, const SdmGpuImage *out)
{
    return SDM_GPU_PIXELS(ctx, g, "half_size", out->w, out->h, SDM_BUF(in->data), SDM_I32(in->w),
                       SDM_I32(in->h), SDM_I32(2 * out->x0 - 1 - in->x0), SDM_I32(2 * out->y0 - 1 - in->y0),
                       SDM_BUF(out->data), SDM_I32(out->w), SDM_I32(out->h));
}

/* ---- filters ---- */

SdmStatus sdm_gpu_median(SdmContext *ctx, SdmGpu *g, int w, int h, SdmBuffer *in_m, SdmBuffer *flags,
                         SdmBuffer *out_m)
{
    return SDM_GPU_PIXELS(ctx, g, "median3", w, h, SDM_BUF(in_m), SDM_BUF(flags), SDM_I32(w), SDM_I32(h),
                       SDM_BUF(out_m));
}

SdmStatus sdm_gpu_reject(SdmContext *ctx, SdmGpu *g, int w, int h, SdmBuffer *h_m, SdmBuffer *prior_m,
                         SdmBuffer *flags, int half, float tol_m, float share, SdmBuffer *new_flags)
{
    const int side = 2 * half + 1, least = (int)ceilf(share * (float)(side * side));
    return SDM_GPU_RUN(ctx, g, "reject", w, sdm_gpu_groups(h, SDM_REJECT_ROWS), 32, 8, SDM_BUF(h_m),
                       SDM_BUF(prior_m), SDM_BUF(flags), SDM_I32(w), SDM_I32(h), SDM_I32(half),
                       SDM_F32(256.0f / tol_m), SDM_I32(least), SDM_BUF(new_flags));
}

SdmStatus sdm_gpu_fill(SdmContext *ctx, SdmGpu *g, int w, int h, SdmBuffer *h_m, SdmBuffer *prior_m,
                       SdmBuffer *flags, const SdmFill *fill, const SdmFill *again, SdmBuffer *filled)
{
    SdmStatus st = SDM_OK;
    const int64_t n = (int64_t)w * h * (again ? 2 : 1);
    const SdmTuning *const t = sdm_gpu_tuning(g);
    const int half_b = again ? again->half : -1, least_b = again ? again->least : 0;
    SdmBuffer *change, *sum, *count;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_TEXTURE, (int64_t)w * h * (int64_t)sizeof(int32_t), &change));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_SUM, n * (int64_t)sizeof(int32_t), &sum));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_COUNT, n * (int64_t)sizeof(uint16_t), &count));
    TRY(SDM_GPU_PIXELS(ctx, g, "fill_changes", w, h, SDM_BUF(h_m), SDM_BUF(prior_m), SDM_BUF(flags),
                       SDM_I32(w), SDM_I32(h), SDM_BUF(change)));
    TRY(SDM_GPU_RUN(ctx, g, "fill_columns", w, sdm_gpu_groups(h, t->column_rows), t->column_items, 1,
                    SDM_BUF(change), SDM_I32(w), SDM_I32(h),
                    SDM_I32(fill->half), SDM_I32(half_b), SDM_I32(t->column_rows), SDM_BUF(sum),
                    SDM_BUF(count)));
    TRY(SDM_GPU_PIXELS(ctx, g, "fill_holes", sdm_gpu_groups(w, 8), h, SDM_BUF(h_m), SDM_BUF(prior_m),
                    SDM_BUF(flags), SDM_BUF(sum), SDM_BUF(count), SDM_I32(w), SDM_I32(h), SDM_I32(fill->half),
                    SDM_I32(fill->least), SDM_I32(fill->else_prior), SDM_I32(half_b), SDM_I32(least_b),
                    SDM_BUF(filled)));
done:
    return st;
}

SdmStatus sdm_gpu_smooth(SdmContext *ctx, SdmGpu *g, int w, int h, SdmBuffer *in_m, SdmBuffer *out_m)
{
    return SDM_GPU_PIXELS(ctx, g, "smooth", w, h, SDM_BUF(in_m), SDM_I32(w), SDM_I32(h), SDM_BUF(out_m));
}

SdmStatus sdm_gpu_refine(SdmContext *ctx, SdmGpu *g, const SdmWindow *coarse, SdmBuffer *coarse_m,
                         const SdmWindow *fine, SdmBuffer *fine_m)
{
    return SDM_GPU_PIXELS(ctx, g, "refine", fine->w, fine->h, SDM_BUF(coarse_m), SDM_I32(coarse->w),
                       SDM_I32(coarse->h), SDM_I32(fine->u0 - 2 * coarse->u0),
                       SDM_I32(fine->v0 - 2 * coarse->v0), SDM_BUF(fine_m), SDM_I32(fine->w),
                       SDM_I32(fine->h));
}
