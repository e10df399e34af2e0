/* Heights moved by least squares on a device, see device_ops.h: gpu/least_squares.cl. */
// SPDX-License-Identifier: Apache-2.0
#include "device_ops.h"

#include "matching/filters.h"

/* of gpu/least_squares.cl */
enum { LS_ROWS = 4, LS_STRIP = 64, LS_SUMS = 8, LS_FITS = 4,
       LS_X = 4, LS_OTHER_X, LS_STEP, LS_PLANES /* of the half grid there */
};

/* The window, its blocks and its planes. */
typedef struct Task {
    const SdmGpuSurface *s;
    const SdmGpuLeastSquares *q;
    int w, h, skip_x, skip_y, wide, high;
    SdmBuffer *weight, *rhs, *lambda, *inverse, *half; /* borrowed */
    SdmBuffer *x, *other_x;
} Task;

static int skipped(int64_t first)
{
    const int r = (int)(first % SDM_LS_BLOCK);
    return r < 0 ? r + SDM_LS_BLOCK : r;
}

/* Scratch, all of it of sdm_gpu_reserve(); blocks take more than that in tiny windows alone.  Their sums lie
 * where x is later, what is made of them where the half grid is. */
static SdmStatus take_scratch(SdmContext *ctx, SdmGpu *g, Task *p)
{
    SdmStatus st = SDM_OK;
    const int64_t size = sizeof(float), plane = (int64_t)p->w * p->h * size,
                  blocks = (int64_t)p->wide * p->high * size;
    const int64_t half = LS_PLANES * (int64_t)(p->w / 2) * (p->h / 2) * size;
    const struct {
        int slot;
        int64_t bytes;
        SdmBuffer **to;
    } all[] = {{SDM_S_MEAN, plane, &p->weight},
               {SDM_S_MEAN_R, plane, &p->rhs},
               {SDM_S_TEXTURE, plane, &p->lambda},
               {SDM_S_TEXTURE_R, plane, &p->inverse},
               {SDM_S_SUM, half > LS_FITS * blocks ? half : LS_FITS * blocks, &p->half},
               {SDM_S_COUNT, plane > LS_SUMS * blocks ? plane : LS_SUMS * blocks, &p->x}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        TRY(sdm_gpu_scratch(ctx, g, all[i].slot, all[i].bytes, all[i].to));
done:
    return st;
}

static SdmStatus set_up(SdmContext *ctx, SdmGpu *g, const Task *p)
{
    SdmStatus st = SDM_OK;
    const SdmGpuSurface *const s = p->s;
    SdmBuffer *const blurred = p->weight, *const sums = p->x, *const fit = p->half;
    const float px_per_metre = p->q->px_per_metre;
    TRY(sdm_gpu_blur(ctx, g, s->h_m, p->w, p->h, 1, blurred));
    TRY(SDM_GPU_RUN(ctx, g, "ls_blocks", (int64_t)p->wide * SDM_LS_BLOCK, p->high, LS_STRIP, 1,
                    SDM_BUF(blurred), SDM_BUF(p->q->left), SDM_BUF(p->q->right), SDM_BUF(s->flags),
                    SDM_I32(p->w), SDM_I32(p->h), SDM_I32(p->skip_x), SDM_I32(p->skip_y),
                    SDM_F32(SDM_LS_NOISE_UNIT * px_per_metre), SDM_I32(p->wide), SDM_I32(p->high),
                    SDM_BUF(sums)));
    TRY(SDM_GPU_PIXELS(ctx, g, "ls_fit", p->wide, p->high, SDM_BUF(sums), SDM_I32(p->wide), SDM_I32(p->high),
                       SDM_BUF(fit)));
    TRY(SDM_GPU_PIXELS(ctx, g, "ls_terms", p->w, p->h, SDM_BUF(p->q->left), SDM_BUF(p->q->right),
                       SDM_BUF(s->flags), SDM_BUF(s->h_m), SDM_BUF(fit), SDM_I32(p->w), SDM_I32(p->h),
                       SDM_I32(p->skip_x), SDM_I32(p->skip_y), SDM_I32(p->wide), SDM_I32(p->high),
                       SDM_F32(px_per_metre), SDM_BUF(p->weight), SDM_BUF(p->rhs), SDM_BUF(p->lambda)));
    TRY(SDM_GPU_PIXELS(ctx, g, "ls_bound", p->w, sdm_gpu_groups(p->h, LS_ROWS), SDM_BUF(s->h_m),
                       SDM_BUF(p->weight), SDM_BUF(p->lambda), SDM_I32(p->w), SDM_I32(p->h),
                       SDM_F32(px_per_metre), SDM_BUF(p->rhs), SDM_BUF(p->inverse)));
done:
    return st;
}

/* x += what the half grid finds. */
static SdmStatus correct_coarsely(SdmContext *ctx, SdmGpu *g, const Task *p, bool first)
{
    SdmStatus st = SDM_OK;
    const int half_w = p->w / 2, half_h = p->h / 2;
    SdmLsStep step[SDM_LS_HALF_STEPS];
    int from = LS_X;
    sdm_ls_steps(SDM_LS_HALF_STEPS, step);
    if (first && half_w > 0 && half_h > 0)
        TRY(SDM_GPU_PIXELS(ctx, g, "ls_half", half_w, half_h, SDM_BUF(p->weight), SDM_BUF(p->lambda),
                           SDM_BUF(p->rhs), SDM_I32(p->w), SDM_I32(p->h), SDM_F32(step[0].move),
                           SDM_BUF(p->half)));
    if (!first && half_w > 0 && half_h > 0)
        TRY(SDM_GPU_PIXELS(ctx, g, "ls_residual", half_w, sdm_gpu_groups(half_h, LS_ROWS / 2), SDM_BUF(p->x),
                           SDM_BUF(p->weight), SDM_BUF(p->lambda), SDM_BUF(p->rhs), SDM_I32(p->w),
                           SDM_I32(p->h), SDM_F32(step[0].move), SDM_BUF(p->half)));
    for (int k = 1; k < SDM_LS_HALF_STEPS && half_w > 0 && half_h > 0; k++) {
        const int to = LS_X + LS_OTHER_X - from;
        TRY(SDM_GPU_PIXELS(ctx, g, "ls_half_step", half_w, sdm_gpu_groups(half_h, LS_ROWS), SDM_BUF(p->half),
                           SDM_I32(half_w), SDM_I32(half_h), SDM_I32(from), SDM_I32(k == 1 ? LS_X : LS_STEP),
                           SDM_I32(to), SDM_F32(step[k].keep), SDM_F32(step[k].move)));
        from = to;
    }
    TRY(SDM_GPU_PIXELS(ctx, g, "ls_double", sdm_gpu_groups(p->w, 2), sdm_gpu_groups(p->h, 2),
                       SDM_BUF(p->half), SDM_I64(from * (int64_t)half_w * half_h), SDM_I32(p->w),
                       SDM_I32(p->h), SDM_I32(first), SDM_BUF(p->x)));
done:
    return st;
}

SdmStatus sdm_gpu_least_squares(SdmContext *ctx, SdmGpu *g, const SdmGpuSurface *s,
                                const SdmGpuLeastSquares *q, SdmBuffer *out_m)
{
    SdmStatus st = SDM_OK;
    SdmLsStep step[SDM_LS_STEPS];
    Task p = {.s = s,
              .q = q,
              .w = s->win.w,
              .h = s->win.h,
              .skip_x = skipped(s->win.u0),
              .skip_y = skipped(s->win.v0),
              .other_x = s->prior_m};
    p.wide = sdm_gpu_groups(p.w + p.skip_x, SDM_LS_BLOCK);
    p.high = sdm_gpu_groups(p.h + p.skip_y, SDM_LS_BLOCK);
    _Static_assert(SDM_LS_STEPS == 1, "ls_step does the first step alone");
    sdm_ls_steps(SDM_LS_STEPS, step);
    TRY(take_scratch(ctx, g, &p));
    TRY(set_up(ctx, g, &p));
    for (int c = 0; c < SDM_LS_CYCLES; c++) {
        const bool last = c + 1 == SDM_LS_CYCLES;
        SdmBuffer *const before = p.x;
        TRY(correct_coarsely(ctx, g, &p, c == 0));
        TRY(SDM_GPU_PIXELS(ctx, g, "ls_step", p.w, sdm_gpu_groups(p.h, LS_ROWS), SDM_BUF(before),
                           SDM_BUF(p.weight), SDM_BUF(p.lambda), SDM_BUF(p.inverse), SDM_BUF(p.rhs),
                           SDM_I32(p.w), SDM_I32(p.h), SDM_F32(step[0].move), SDM_BUF(last ? s->flags : NULL),
                           SDM_BUF(last ? s->h_m : NULL), SDM_F32(q->px_per_metre),
                           SDM_BUF(last ? out_m : p.other_x)));
        p.x = p.other_x;
        p.other_x = before;
    }
done:
    return st;
}
