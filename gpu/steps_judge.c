/* The last look at a window and its filled holes on a device, see steps.h. */
// SPDX-License-Identifier: Apache-2.0
#include "steps_inside.h"

SdmStatus sdm_gpu_validate(SdmContext *ctx, SdmGpu *g, const SdmGpuValidation *j)
{
    SdmStatus st = SDM_OK;
    const int w = j->win.w, h = j->win.h;
    const int64_t n = (int64_t)w * h;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    SdmBuffer *sum, *count;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_SUM, n * (int64_t)sizeof(int32_t), &sum));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_COUNT, n * (int64_t)sizeof(uint16_t), &count));
    TRY(SDM_GPU_RUN(ctx, g, "gap_columns", w, sdm_gpu_groups(h, t->column_rows), t->column_items, 1,
                    SDM_BUF(j->gap), SDM_I32(w), SDM_I32(h), SDM_I32(t->column_rows), SDM_BUF(sum),
                    SDM_BUF(count)));
    TRY(SDM_GPU_PIXELS(ctx, g, "judge", w, h, SDM_BUF(j->gap), SDM_BUF(sum), SDM_BUF(count),
                    SDM_BUF(j->score0), SDM_BUF(j->h_m), SDM_I32(w), SDM_I32(h), SDM_I32(j->least),
                    SDM_F32(j->ray_error_limit_px * 1024.0f), SDM_BUF(j->terrain.h_m), SDM_BUF(j->terrain.away),
                    SDM_I32(j->win.u0), SDM_I32(j->win.v0), SDM_I32(j->terrain.level), SDM_I32(j->terrain.w),
                    SDM_I32(j->terrain.h), SDM_F32(j->terrain.pixel_m), SDM_BUF(j->flags), SDM_BUF(j->score)));
done:
    return st;
}

SdmStatus sdm_gpu_accept(SdmContext *ctx, SdmGpu *g, const SdmWindow *win, SdmBuffer *filled,
                         const SdmGpuTerrainMask *ground, SdmBuffer *flags)
{
    return SDM_GPU_PIXELS(ctx, g, "accept_filled", win->w, win->h, SDM_BUF(filled), SDM_I32(win->w),
                       SDM_I32(win->h), SDM_BUF(ground->away), SDM_I32(win->u0), SDM_I32(win->v0),
                       SDM_I32(ground->level), SDM_I32(ground->w), SDM_I32(ground->h), SDM_BUF(flags));
}
