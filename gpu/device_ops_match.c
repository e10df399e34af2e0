/* Matching on a device: views -> volume of a strip of rows -> heights, strip by strip. */
// SPDX-License-Identifier: Apache-2.0
#include "device_ops.h"

#include "optimize_device.h"

#include <string.h>

enum { COLUMNS = 4, GROUP = 64, VOLUME_ROWS = 32, MAX_DEPTH = 33 };

/* Bytes of scores in flight: what a processor's cache holds, or enough rows to fill a device. */
int64_t sdm_gpu_volume_bytes(const SdmGpu *g)
{
    const int64_t usual = sdm_device_info(g->device)->is_cpu ? (int64_t)4 << 20 : (int64_t)256 << 20,
                  part = sdm_device_budget(g->device) / 4;
    return usual < part ? usual : part;
}

int64_t sdm_gpu_max_score_bytes(const SdmGpu *g, int64_t width)
{
    const int64_t least = VOLUME_ROWS * (int64_t)MAX_DEPTH * width * (int64_t)sizeof(float),
                  usual = sdm_gpu_volume_bytes(g);
    return least > usual ? least : usual;
}

/* Two views with their sums over windows and census words. */
typedef struct Views {
    enum SdmGpuCost cost;
    int w, h, window;
    SdmBuffer *image[2], *mean[2], *texture[2], *word[2];
} Views;

static Views views_of(const SdmGpuViews *v, const SdmPass *pass)
{
    return (Views){
        .cost = v->cost, .w = v->w, .h = v->h, .window = pass->window, .image = {v->left, v->right}};
}

static SdmStatus prepare_view(SdmContext *ctx, SdmGpu *g, Views *v, int side, float min_sigma)
{
    SdmStatus st = SDM_OK;
    const int64_t n = (int64_t)v->w * v->h;
    const float least = min_sigma * min_sigma * (float)(v->window * v->window);
    const SdmTuning *const t = sdm_gpu_tuning(g);
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_MEAN + side, n * 4, &v->mean[side]));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_TEXTURE + side, n * 4, &v->texture[side]));
    TRY(SDM_GPU_RUN(ctx, g, "window_texture", sdm_gpu_groups(v->w, COLUMNS),
                    sdm_gpu_groups(v->h, t->sum_rows), t->sum_items, 1, SDM_BUF(v->image[side]),
                    SDM_I32(v->w), SDM_I32(v->h), SDM_I32(v->window), SDM_F32(least), SDM_I32(t->sum_rows),
                    SDM_BUF(v->mean[side]), SDM_BUF(v->texture[side])));
    if (v->cost != SDM_GPU_CENSUS)
        return SDM_OK;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_WORD + side, n * 4, &v->word[side]));
    TRY(SDM_GPU_RUN(ctx, g, "census_words", v->w, v->h, 32, 8, SDM_BUF(v->image[side]), SDM_I32(v->w),
                    SDM_I32(v->h), SDM_BUF(v->word[side])));
done:
    return st;
}

static SdmStatus prepare_views(SdmContext *ctx, SdmGpu *g, float min_sigma, Views *v)
{
    SdmStatus st = SDM_OK;
    for (int side = 0; side < 2; side++)
        TRY(prepare_view(ctx, g, v, side, min_sigma));
done:
    return st;
}

/* Which scores: d = dmin .. dmin + depth - 1 along the rows, or along v. */
typedef struct Scores {
    int dmin, depth, right_shift;
    bool along_v;
} Scores;

/* Rows whose volume is in flight at once. */
static int rows_in_flight(const SdmGpu *g, const Views *v, const Scores *s)
{
    const int64_t rows = sdm_gpu_volume_bytes(g) / ((int64_t)s->depth * v->w * 4) / VOLUME_ROWS * VOLUME_ROWS;
    return rows < VOLUME_ROWS ? VOLUME_ROWS : rows > v->h ? v->h : (int)rows;
}

static SdmStatus run_volume(SdmContext *ctx, SdmGpu *g, const Views *v, const Scores *s, int y0, int y1,
                            SdmBuffer *score)
{
    static const char *const names[] = {"volume_zncc", "volume_census"};
    const SdmTuning *const t = sdm_gpu_tuning(g);
    SdmArg args[17];
    int n = 0;
    for (int side = 0; side < 2; side++)
        args[n++] = SDM_BUF(v->cost == SDM_GPU_CENSUS ? v->word[side] : v->image[side]);
    for (int side = 0; side < 2 && v->cost == SDM_GPU_ZNCC; side++)
        args[n++] = SDM_BUF(v->mean[side]);
    const SdmArg rest[] = {SDM_BUF(v->texture[0]),
                           SDM_BUF(v->texture[1]),
                           SDM_I32(v->w),
                           SDM_I32(v->h),
                           SDM_I32(y0),
                           SDM_I32(y1),
                           SDM_I32(t->sum_rows),
                           SDM_I32(v->window),
                           SDM_I32(s->dmin),
                           SDM_I32(s->depth),
                           SDM_I32(s->along_v),
                           SDM_I32(s->right_shift),
                           SDM_BUF(score)};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        args[n++] = rest[i];
    const int groups[3] = {sdm_gpu_groups(v->w, COLUMNS * t->sum_items), sdm_gpu_groups(y1 - y0, t->sum_rows),
                           s->depth};
    return sdm_gpu_run(ctx, g, names[v->cost], groups, (const int[3]){t->sum_items, 1, 1}, n, args);
}

/* A kernel whose arguments are those of `head`, then SURFACE_ARGUMENTS. */
typedef struct UpdateKernel {
    const char *name;
    const SdmArg *head;
    size_t head_count;
    int groups[3], group[3];
} UpdateKernel;

static SdmStatus run_update(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m, const UpdateKernel *k)
{
    const SdmPass *const p = m->pass;
    const SdmGpuCells *const c = m->right_cells;
    const SdmArg surface[] = {SDM_BUF(m->prior),
                              SDM_BUF(c->cell),
                              SDM_I32(c->cols),
                              SDM_I32(c->u2),
                              SDM_I32(c->v2),
                              SDM_I32(c->stride2),
                              SDM_I32(c->step2_log2),
                              SDM_F32(1.0f / (float)(1 << c->level)),
                              SDM_F32(p->min_score),
                              SDM_F32(p->min_margin),
                              SDM_F32(p->max_mismatch),
                              SDM_I32(m->retry ? -1 : sdm_pass_min_quality(p)),
                              SDM_BUF(m->h_m),
                              SDM_BUF(m->flags),
                              SDM_BUF(m->score)};
    SdmArg args[32];
    const size_t count = sizeof surface / sizeof *surface;
    memcpy(args, k->head, k->head_count * sizeof *args);
    memcpy(args + k->head_count, surface, sizeof surface);
    return sdm_gpu_run(ctx, g, k->name, k->groups, k->group, (int)(k->head_count + count), args);
}

/* Volume by volume: any window and range. */
static SdmStatus match_by_volumes(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m)
{
    SdmStatus st = SDM_OK;
    const SdmPass *const p = m->pass;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    const int w = m->views.w, h = m->views.h;
    const Scores s = {.dmin = -p->range, .depth = 2 * p->range + 1, .right_shift = m->views.v_shift};
    Views v = views_of(&m->views, p);
    SdmBuffer *score;
    TRY(prepare_views(ctx, g, p->min_sigma, &v));
    const int rows = rows_in_flight(g, &v, &s);
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_VOLUME, (int64_t)rows * s.depth * w * 4, &score));
    for (int y = 0; y < h; y += rows) {
        const int end = y + rows < h ? y + rows : h;
        TRY(run_volume(ctx, g, &v, &s, y, end, score));
        const SdmArg head[] = {SDM_BUF(score), SDM_BUF(v.texture[0]), SDM_I32(w),      SDM_I32(y),
                               SDM_I32(end),     SDM_I32(s.dmin),       SDM_I32(s.depth)};
        const UpdateKernel pick = {
            .name = "pick_update",
            .head = head,
            .head_count = sizeof head / sizeof *head,
            .groups = {sdm_gpu_groups(w, t->pixel_w), sdm_gpu_groups(end - y, t->pixel_h), 1},
            .group = {t->pixel_w, t->pixel_h, 1}};
        TRY(run_update(ctx, g, m, &pick));
    }
done:
    return st;
}

/* ZNCC: windows and ranges that have a kernel of their own, in local memory, for passes without a margin: see
 * gpu/window_match.cl. */
static const struct {
    int window, range;
    bool check; /* left and right */
    const char *name;
} strips[] = {
    {9, 3, true, "match_zncc_9_3"},
    {5, 1, false, "match_zncc_5_1"},
    {13, 5, true, "match_zncc_13_5"},
};

static SdmStatus match_by_strips(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m, const char *name)
{
    const SdmPass *const p = m->pass;
    const int halo = p->max_mismatch >= 0.0f ? 3 * p->range : p->range + 1;
    const int rows = sdm_gpu_tuning(g)->strip_rows;
    const SdmGpuViews *const v = &m->views;
    const SdmArg head[] = {
        SDM_BUF(v->left),    SDM_BUF(v->right),
        SDM_I32(v->w),       SDM_I32(v->h),
        SDM_I32(v->v_shift), SDM_F32(p->min_sigma * p->min_sigma * (float)(p->window * p->window)),
        SDM_I32(halo),       SDM_I32(rows)};
    const UpdateKernel strip = {
        .name = name,
        .head = head,
        .head_count = sizeof head / sizeof *head,
        .groups = {sdm_gpu_groups(v->w, COLUMNS * GROUP - 2 * halo), sdm_gpu_groups(v->h, rows), 1},
        .group = {GROUP, 1, 1}};
    return run_update(ctx, g, m, &strip);
}

SdmStatus sdm_gpu_match(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m)
{
    const SdmPass *const p = m->pass;
    for (size_t i = 0; i < sizeof strips / sizeof *strips; i++)
        if (m->views.cost == SDM_GPU_ZNCC && strips[i].window == p->window && strips[i].range == p->range &&
            p->min_margin <= 0.0f && (strips[i].check || p->max_mismatch < 0.0f))
            return match_by_strips(ctx, g, m, strips[i].name);
    return match_by_volumes(ctx, g, m);
}

/* In local memory, see gpu/window_ray.cl. */
static SdmStatus ray_error_by_strips(SdmContext *ctx, SdmGpu *g, const SdmGpuViews *v, const SdmPass *pass,
                                     SdmBuffer *ray_error_v, SdmBuffer *score0)
{
    const int rows = sdm_gpu_tuning(g)->strip_rows;
    const float least = pass->min_sigma * pass->min_sigma * (float)(pass->window * pass->window);
    return SDM_GPU_RUN(ctx, g, "ray_zncc_9", sdm_gpu_groups(v->w, COLUMNS), sdm_gpu_groups(v->h, rows), GROUP,
                       1, SDM_BUF(v->left), SDM_BUF(v->right), SDM_I32(v->w), SDM_I32(v->h), SDM_F32(least),
                       SDM_I32(rows), SDM_BUF(ray_error_v), SDM_BUF(score0));
}

SdmStatus sdm_gpu_ray_error(SdmContext *ctx, SdmGpu *g, const SdmGpuViews *views, const SdmPass *pass,
                            SdmBuffer *ray_error_v, SdmBuffer *score0)
{
    SdmStatus st = SDM_OK;
    const int w = views->w, h = views->h;
    const Scores s = {.dmin = -1, .depth = 3, .along_v = true};
    Views v = views_of(views, pass);
    SdmBuffer *score;
    if (views->cost == SDM_GPU_ZNCC && pass->window == 9)
        return ray_error_by_strips(ctx, g, views, pass, ray_error_v, score0);
    TRY(prepare_views(ctx, g, pass->min_sigma, &v));
    const int rows = rows_in_flight(g, &v, &s);
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_VOLUME, (int64_t)rows * s.depth * w * 4, &score));
    for (int y = 0; y < h; y += rows) {
        const int end = y + rows < h ? y + rows : h;
        TRY(run_volume(ctx, g, &v, &s, y, end, score));
        TRY(SDM_GPU_PIXELS(ctx, g, "ray_error", w, end - y, SDM_BUF(score), SDM_I32(w),
                           SDM_I32(y), SDM_I32(end), SDM_BUF(ray_error_v), SDM_BUF(score0)));
    }
done:
    return st;
}
