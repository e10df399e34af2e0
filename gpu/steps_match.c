/* Matching on a device: views -> volume of a strip of rows -> heights, strip by strip. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/labels.h"
#include "optimize_device.h"
#include "steps_inside.h"

#include <string.h>

enum { COLUMNS = 4, GROUP = 64, VOLUME_ROWS = 32, MOST_DEPTH = 33 };

/* Bytes of scores in flight: what a processor's cache holds, or enough rows to fill a device. */
int64_t sdm_gpu_volume_bytes(const SdmGpu *g)
{
    return sdm_device_info(g->device)->is_cpu ? (int64_t)4 << 20 : (int64_t)256 << 20;
}

int64_t sdm_gpu_most_scores(const SdmGpu *g, int64_t width)
{
    const int64_t least = VOLUME_ROWS * (int64_t)MOST_DEPTH * width * (int64_t)sizeof(float),
                  usual = sdm_gpu_volume_bytes(g);
    return least > usual ? least : usual;
}

/* Two views made ready for a window and a cost. */
typedef struct Views {
    enum SdmGpuCost cost;
    int w, h, window;
    SdmBuffer *image[2], *mean[2], *texture[2], *word[2];
} Views;

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
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_WORD + side, n * 8, &v->word[side]));
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
    static const char *const names[] = {"volume_zncc", "volume_census", "volume_sad"};
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

/* A kernel that ends in SURFACE_ARGUMENTS, after those of `head`. */
static SdmStatus run_update(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m, const char *name,
                            const SdmArg *head, size_t head_count, const int groups[3], const int group[3])
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
                              SDM_F32(p->score_sigma * (float)p->window),
                              SDM_F32(p->min_score),
                              SDM_F32(p->min_margin),
                              SDM_F32(p->max_mismatch),
                              SDM_I32(m->retry ? -1 : sdm_pass_bears(p)),
                              SDM_BUF(m->h_m),
                              SDM_BUF(m->flags),
                              SDM_BUF(m->score)};
    SdmArg args[32];
    const size_t count = sizeof surface / sizeof *surface;
    memcpy(args, head, head_count * sizeof *args);
    memcpy(args + head_count, surface, sizeof surface);
    return sdm_gpu_run(ctx, g, name, groups, group, (int)(head_count + count), args);
}

/* What a pass by labels needs of all its rows. */
typedef struct Labelled {
    SdmBuffer *cost, *label; /* NULL: each pixel takes its best */
    SdmBuffer *score;        /* of a strip */
    int rows;                /* that it holds */
} Labelled;

static int blocks_of(int labels)
{
    return sdm_gpu_groups(labels, SDM_LABEL_ALIGN);
}

/* The costs of all rows. */
static SdmStatus cost_rows(SdmContext *ctx, SdmGpu *g, const Views *v, const Scores *s, const Labelled *l)
{
    SdmStatus st = SDM_OK;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    for (int y = 0; y < v->h; y += l->rows) {
        const int end = y + l->rows < v->h ? y + l->rows : v->h;
        TRY(run_volume(ctx, g, v, s, y, end, l->score));
        TRY(sdm_gpu_run(
            ctx, g, "score_costs",
            (const int[3]){sdm_gpu_groups(v->w, t->pixel_w), sdm_gpu_groups(end - y, t->pixel_h),
                           blocks_of(s->depth)},
            (const int[3]){t->pixel_w, t->pixel_h, 1}, 6,
            (const SdmArg[]){SDM_BUF(l->score), SDM_I32(v->w), SDM_I32(y), SDM_I32(end), SDM_I32(s->depth),
                             SDM_BUF(l->cost)}));
    }
done:
    return st;
}

/* Labels of all rows from their costs, band by band as match/level.c. */
static SdmStatus choose_labels(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m, const Scores *s,
                               Labelled *l)
{
    SdmStatus st = SDM_OK;
    SdmGpuBand *bands = NULL;
    int rows;
    const int count = sdm_gpu_bands(0, m->h, m->h, SDM_LABELS_BAND, 0, 0, NULL, &rows);
    const SdmGpuVolume volume = {.width = m->w,
                                 .rows = m->h,
                                 .labels = s->depth,
                                 .first = s->dmin,
                                 .most = SDM_LABELS_MOST,
                                 .guide_scale = SDM_LABELS_EDGE,
                                 .cost = l->cost,
                                 .guide = m->left};
    TRY(sdm_alloc(ctx, &bands, (size_t)count, sizeof *bands, "bands of a level"));
    sdm_gpu_bands(0, m->h, m->h, SDM_LABELS_BAND, 0, 0, bands, &rows);
    TRY(sdm_gpu_optimize(ctx, g, m->pass->optimizer, &volume, bands, count,
                         &(SdmGpuLabels){.left = l->label}));
done:
    sdm_free(&bands);
    return st;
}

static bool by_labels(const SdmPass *p)
{
    return p->optimizer && p->optimizer->kind != SDM_OPTIMIZER_LOCAL;
}

/* Volume by volume: any window and range. */
static SdmStatus match_by_volumes(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m)
{
    SdmStatus st = SDM_OK;
    const SdmPass *const p = m->pass;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    const Scores s = {.dmin = -p->range, .depth = 2 * p->range + 1, .right_shift = m->v_shift};
    Views v = {.cost = m->cost, .w = m->w, .h = m->h, .window = p->window, .image = {m->left, m->right}};
    Labelled l = {.cost = NULL};
    TRY(prepare_views(ctx, g, p->min_sigma, &v));
    const int rows = l.rows = rows_in_flight(g, &v, &s);
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_VOLUME, (int64_t)rows * s.depth * m->w * 4, &l.score));
    if (by_labels(p)) {
        TRY(sdm_gpu_scratch(ctx, g, SDM_S_COSTS, m->h * sdm_gpu_volume_row(m->w, s.depth), &l.cost));
        TRY(sdm_gpu_scratch(ctx, g, SDM_S_LABELS, (int64_t)m->h * m->w * 2, &l.label));
        TRY(cost_rows(ctx, g, &v, &s, &l));
        TRY(choose_labels(ctx, g, m, &s, &l));
    }
    SdmBuffer *const score = l.score;
    for (int y = 0; y < m->h; y += rows) {
        const int end = y + rows < m->h ? y + rows : m->h;
        TRY(run_volume(ctx, g, &v, &s, y, end, score));
        if (l.label)
            TRY(SDM_GPU_PIXELS(ctx, g, "keep_scores", m->w, end - y, SDM_BUF(score), SDM_BUF(l.label),
                               SDM_I32(m->w), SDM_I32(y), SDM_I32(end), SDM_I32(s.depth)));
        const SdmArg head[] = {SDM_BUF(score), SDM_BUF(v.texture[0]), SDM_I32(m->w),   SDM_I32(y),
                               SDM_I32(end),   SDM_I32(s.dmin),       SDM_I32(s.depth)};
        TRY(run_update(ctx, g, m, "pick_update", head, sizeof head / sizeof *head,
                       (const int[3]){sdm_gpu_groups(m->w, t->pixel_w), sdm_gpu_groups(end - y, t->pixel_h),
                                      1},
                       (const int[3]){t->pixel_w, t->pixel_h, 1}));
    }
done:
    return st;
}

/* Windows and ranges that have a kernel of their own, in local memory: see gpu/window_match.cl. */
static const struct {
    enum SdmGpuCost cost;
    int window, range;
    const char *name;
} strips[] = {
    {SDM_GPU_ZNCC, 9, 3, "match_zncc_9_3"},   {SDM_GPU_ZNCC, 5, 1, "match_zncc_5_1"},
    {SDM_GPU_ZNCC, 13, 5, "match_zncc_13_5"}, {SDM_GPU_SAD, 9, 3, "match_sad_9_3"},
    {SDM_GPU_SAD, 5, 1, "match_sad_5_1"},     {SDM_GPU_SAD, 13, 5, "match_sad_13_5"},
};

static SdmStatus match_by_strips(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m, const char *name)
{
    const SdmPass *const p = m->pass;
    const int halo = p->max_mismatch >= 0.0f ? 3 * p->range : p->range + 1;
    const int rows = sdm_gpu_tuning(g)->strip_rows;
    const SdmArg head[] = {
        SDM_BUF(m->left),    SDM_BUF(m->right),
        SDM_I32(m->w),       SDM_I32(m->h),
        SDM_I32(m->v_shift), SDM_F32(p->min_sigma * p->min_sigma * (float)(p->window * p->window)),
        SDM_I32(halo),       SDM_I32(rows)};
    return run_update(
        ctx, g, m, name, head, sizeof head / sizeof *head,
        (const int[3]){sdm_gpu_groups(m->w, COLUMNS * GROUP - 2 * halo), sdm_gpu_groups(m->h, rows), 1},
        (const int[3]){GROUP, 1, 1});
}

SdmStatus sdm_gpu_match(SdmContext *ctx, SdmGpu *g, const SdmGpuMatch *m)
{
    for (size_t i = 0; i < sizeof strips / sizeof *strips && !by_labels(m->pass); i++)
        if (strips[i].cost == m->cost && strips[i].window == m->pass->window &&
            strips[i].range == m->pass->range)
            return match_by_strips(ctx, g, m, strips[i].name);
    return match_by_volumes(ctx, g, m);
}

/* In local memory, see gpu/window_ray.cl. */
static SdmStatus gap_by_strips(SdmContext *ctx, SdmGpu *g, const Views *v, const SdmPass *pass, float scale,
                               SdmBuffer *ray_error_v, SdmBuffer *score0)
{
    const int rows = sdm_gpu_tuning(g)->strip_rows;
    const float least = pass->min_sigma * pass->min_sigma * (float)(pass->window * pass->window);
    return SDM_GPU_RUN(ctx, g, "ray_zncc_9", sdm_gpu_groups(v->w, COLUMNS), sdm_gpu_groups(v->h, rows), GROUP,
                       1, SDM_BUF(v->image[0]), SDM_BUF(v->image[1]), SDM_I32(v->w), SDM_I32(v->h),
                       SDM_F32(least), SDM_F32(scale), SDM_I32(rows), SDM_BUF(ray_error_v), SDM_BUF(score0));
}

SdmStatus sdm_gpu_ray_error(SdmContext *ctx, SdmGpu *g, enum SdmGpuCost cost, const SdmPass *pass, SdmBuffer *left,
                      SdmBuffer *right, int w, int h, SdmBuffer *ray_error_v, SdmBuffer *score0)
{
    SdmStatus st = SDM_OK;
    const Scores s = {.dmin = -1, .depth = 3, .along_v = true};
    Views v = {.cost = cost, .w = w, .h = h, .window = pass->window, .image = {left, right}};
    const float scale = pass->score_sigma * (float)pass->window;
    SdmBuffer *score;
    if (cost == SDM_GPU_ZNCC && pass->window == 9)
        return gap_by_strips(ctx, g, &v, pass, scale, ray_error_v, score0);
    TRY(prepare_views(ctx, g, pass->min_sigma, &v));
    const int rows = rows_in_flight(g, &v, &s);
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_VOLUME, (int64_t)rows * s.depth * w * 4, &score));
    for (int y = 0; y < h; y += rows) {
        const int end = y + rows < h ? y + rows : h;
        TRY(run_volume(ctx, g, &v, &s, y, end, score));
        TRY(SDM_GPU_PIXELS(ctx, g, "ray_gap", w, end - y, SDM_BUF(score), SDM_BUF(v.texture[0]), SDM_I32(w),
                           SDM_I32(y), SDM_I32(end), SDM_F32(scale), SDM_BUF(ray_error_v), SDM_BUF(score0)));
    }
done:
    return st;
}
