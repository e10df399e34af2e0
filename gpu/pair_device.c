/* Rectified pairs on a device, see pair_device.h. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_device.h"
#include "pair_kernels.h"
#include "steps_inside.h"

enum { COLUMNS = 4, MARGIN = 24 /* rows: half a window and half a word */ };

/* A pair that is being matched. */
typedef struct Match {
    const SdmGpuPair *pair;
    const SdmPairSettings *set;
    int depth, samples, middle;
    SdmBuffer *sum[2], *texture[2], *word[2];
} Match;

/* Bytes of costs in flight. */
static int64_t cost_bytes(const SdmGpu *g)
{
    return sdm_device_info(g->device)->is_cpu ? (int64_t)4 << 20 : (int64_t)256 << 20;
}

static SdmStatus prepare_view(SdmContext *ctx, SdmGpu *g, Match *m, int side)
{
    SdmStatus st = SDM_OK;
    const SdmPairSettings *const set = m->set;
    const int w = m->pair->width, h = m->pair->height;
    const int64_t n = (int64_t)w * h;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    const bool textured = set->cost == SDM_PAIR_ZNCC || set->min_sigma > 0.0f;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_MEAN + side, n * 4, &m->sum[side]));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_TEXTURE + side, n * 4, &m->texture[side]));
    TRY(SDM_GPU_RUN(ctx, g, "pair_texture", sdm_gpu_groups(w, COLUMNS), sdm_gpu_groups(h, t->pair_rows),
                    t->pair_items, 1, SDM_BUF(m->pair->image[side]), SDM_I32(w), SDM_I32(h),
                    SDM_I32(set->window), SDM_I32(m->middle), SDM_I32(textured),
                    SDM_F32(set->min_sigma * (float)m->samples), SDM_I32(t->pair_rows), SDM_BUF(m->sum[side]),
                    SDM_BUF(m->texture[side])));
    if (set->cost != SDM_PAIR_CENSUS)
        return SDM_OK;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_WORD + side, n * 16, &m->word[side]));
    TRY(SDM_GPU_RUN(ctx, g, "pair_words", w, h, 32, 8, SDM_BUF(m->pair->image[side]), SDM_I32(w), SDM_I32(h),
                    SDM_I32(set->census_width), SDM_I32(set->census_height), SDM_BUF(m->word[side])));
done:
    return st;
}

static SdmStatus run_costs(SdmContext *ctx, SdmGpu *g, const Match *m, int y0, int y1, SdmBuffer *cost)
{
    static const char *const names[] = {"pair_volume_sad", "pair_volume_zncc", "pair_volume_census"};
    const SdmPairSettings *const set = m->set;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    SdmArg args[20];
    int n = 0, shift = 0;
    while ((m->samples * (m->pair->eight_bit ? 255 : 4094)) >> shift >= SDM_PAIR_NONE)
        shift++;
    for (int side = 0; side < 2; side++)
        args[n++] = SDM_BUF(set->cost == SDM_PAIR_CENSUS ? m->word[side] : m->pair->image[side]);
    if (set->cost == SDM_PAIR_SAD)
        args[n++] = SDM_I32(shift);
    if (set->cost == SDM_PAIR_ZNCC) {
        args[n++] = SDM_BUF(m->sum[0]);
        args[n++] = SDM_BUF(m->sum[1]);
        args[n++] = SDM_I32(m->middle);
        args[n++] = SDM_I32(m->pair->eight_bit && m->samples <= 225);
    }
    const SdmArg rest[] = {SDM_BUF(m->texture[0]),
                           SDM_BUF(m->texture[1]),
                           SDM_I32(m->pair->width),
                           SDM_I32(m->pair->height),
                           SDM_I32(y0),
                           SDM_I32(y1),
                           SDM_I32(t->pair_rows),
                           SDM_I32(set->window),
                           SDM_I32(set->dmin),
                           SDM_I32(m->depth),
                           SDM_BUF(cost)};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        args[n++] = rest[i];
    const int groups[3] = {sdm_gpu_groups(m->pair->width, COLUMNS * t->pair_items),
                           sdm_gpu_groups(y1 - y0, t->pair_rows), m->depth};
    return sdm_gpu_run(ctx, g, names[set->cost], groups, (const int[3]){t->pair_items, 1, 1}, n, args);
}

/* Rows y0..y1 - 1; their disparities begin at row `out_row` of out. */
static SdmStatus match_rows(SdmContext *ctx, SdmGpu *g, const Match *m, int y0, int y1, int out_row,
                            SdmBuffer *cost, SdmBuffer *best, SdmBuffer *out)
{
    SdmStatus st = SDM_OK;
    const SdmPairSettings *const set = m->set;
    const int w = m->pair->width;
    TRY(run_costs(ctx, g, m, y0, y1, cost));
    if (set->lr_threshold >= 0.0f)
        TRY(SDM_GPU_PIXELS(ctx, g, "pair_right_best", w, y1 - y0, SDM_BUF(cost), SDM_I32(w),
                        SDM_I32(y1 - y0), SDM_I32(set->dmin), SDM_I32(m->depth), SDM_BUF(best)));
    TRY(SDM_GPU_PIXELS(ctx, g, "pair_choose", w, y1 - y0, SDM_BUF(cost), SDM_BUF(best), SDM_I32(w),
                    SDM_I32(y1 - y0), SDM_I32(set->dmin), SDM_I32(m->depth), SDM_F32(set->lr_threshold),
                    SDM_F32(set->uniqueness), SDM_I32(set->subpixel), SDM_I32(set->cost == SDM_PAIR_ZNCC),
                    SDM_I32(out_row), SDM_BUF(out)));
done:
    return st;
}

SdmStatus sdm_gpu_pair(SdmContext *ctx, SdmGpu *g, const SdmGpuPair *pair, const SdmPairSettings *set, int y0,
                       int y1, SdmBuffer *out)
{
    SdmStatus st = SDM_OK;
    Match m = {.pair = pair,
               .set = set,
               .depth = set->dmax - set->dmin + 1,
               .samples = set->window * set->window,
               .middle = pair->eight_bit ? 128 : 0};
    const int64_t row_bytes = (int64_t)m.depth * pair->width * 2,
                  strip = sdm_gpu_tuning(g)->pair_rows, fit = cost_bytes(g) / row_bytes / strip * strip;
    const int rows = (int)(fit > y1 - y0 ? y1 - y0 : fit < strip ? (strip < y1 - y0 ? strip : y1 - y0) : fit);
    SdmBuffer *cost, *best;
    for (int side = 0; side < 2; side++)
        TRY(prepare_view(ctx, g, &m, side));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_VOLUME, row_bytes * rows, &cost));
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_SUM, (int64_t)pair->width * rows * 4, &best));
    for (int y = y0; y < y1; y += rows)
        TRY(match_rows(ctx, g, &m, y, y + rows < y1 ? y + rows : y1, y - y0, cost, best, out));
done:
    return st;
}

/* Rows of a band with what lies around it: at most an eighth of the device's budget. */
static int band_rows(const SdmGpu *g, int width, int height)
{
    const int64_t pixel = 2 * (2 + 4 + 4 + 16) + 4, rows = sdm_device_budget(g->device) / 8 / (pixel * width);
    return rows > height ? height : rows < 4 * MARGIN ? 4 * MARGIN : (int)rows;
}

SdmStatus sdm_gpu_pair_upload(SdmContext *ctx, SdmGpu *g, const SdmPairImage *im, int y0, int y1,
                              SdmBuffer *to)
{
    SdmStatus st = SDM_OK;
    const int64_t bytes = 2 * (int64_t)im->width;
    if (im->stride == im->width)
        return sdm_upload(ctx, to, 0, im->data + y0 * im->stride, bytes * (y1 - y0), g->queue, true);
    for (int y = y0; y < y1; y++)
        TRY(sdm_upload(ctx, to, bytes * (y - y0), im->data + y * im->stride, bytes, g->queue, true));
done:
    return st;
}

SdmStatus sdm_pair_match_device(SdmContext *ctx, SdmGpu *g, const SdmPairImage *left,
                                const SdmPairImage *right, const SdmPairSettings *set, float *disparity)
{
    SdmStatus st = SDM_OK;
    const SdmPairImage *const image[2] = {left, right};
    const int w = left->width, h = left->height;
    SdmGpuPair pair = {.width = w, .eight_bit = left->eight_bit};
    SdmBuffer *out = NULL;
    TRY(sdm_pair_check(ctx, left, right, set));
    if (set->optimizer && set->optimizer->kind != SDM_OPTIMIZER_LOCAL)
        return sdm_pair_match_labels_device(ctx, g, left, right, set, disparity);
    const int rows = band_rows(g, w, h), most = rows + 2 * MARGIN < h ? rows + 2 * MARGIN : h;
    for (int side = 0; side < 2; side++)
        TRY(sdm_buffer_new(ctx, g->device, (int64_t)most * w * 2, "an image of the pair", &pair.image[side]));
    TRY(sdm_buffer_new(ctx, g->device, (int64_t)rows * w * 4, "disparities", &out));
    for (int y0 = 0; y0 < h; y0 += rows) {
        const int y1 = y0 + rows < h ? y0 + rows : h, first = y0 > MARGIN ? y0 - MARGIN : 0;
        const int end = y1 + MARGIN < h ? y1 + MARGIN : h;
        TRY(sdm_check_stop(ctx));
        pair.height = end - first;
        for (int side = 0; side < 2; side++)
            TRY(sdm_gpu_pair_upload(ctx, g, image[side], first, end, pair.image[side]));
        TRY(sdm_gpu_pair(ctx, g, &pair, set, y0 - first, y1 - first, out));
        TRY(sdm_download(ctx, out, 0, disparity + (int64_t)y0 * w, (int64_t)(y1 - y0) * w * 4, g->queue,
                         true));
    }
done:
    for (int side = 0; side < 2; side++)
        sdm_buffer_free(&pair.image[side]);
    sdm_buffer_free(&out);
    return st;
}

SdmStatus sdm_gpu_pair_fill(SdmContext *ctx, SdmGpu *g, int width, int height, SdmBuffer *disparity,
                            SdmBuffer *row)
{
    SdmStatus st = SDM_OK;
    TRY(SDM_GPU_RUN(ctx, g, "fill_nearest_columns", width, 1, 64, 1, SDM_BUF(disparity), SDM_I32(width),
                    SDM_I32(height), SDM_BUF(row)));
    TRY(SDM_GPU_PIXELS(ctx, g, "fill_nearest_rows", width, height, SDM_BUF(disparity), SDM_BUF(row),
                    SDM_I32(width), SDM_I32(height)));
done:
    return st;
}

/* ---- the paper's three forms ---- */

SdmStatus sdm_gpu_sad_pad(SdmContext *ctx, SdmGpu *g, const SdmGpuPair *pair, SdmBuffer *const padded[2])
{
    SdmStatus st = SDM_OK;
    for (int side = 0; side < 2; side++)
        TRY(SDM_GPU_RUN(ctx, g, "pad_bytes", pair->width + 4, pair->height + 4, 32, 8,
                        SDM_BUF(pair->image[side]), SDM_I32(pair->width), SDM_I32(pair->height),
                        SDM_BUF(padded[side])));
done:
    return st;
}

SdmStatus sdm_gpu_sad(SdmContext *ctx, SdmGpu *g, enum SdmSadForm form, int width, int height,
                      SdmBuffer *const padded[2], int dmin, int depth, int group, int rows, SdmBuffer *out)
{
    static const char *const names[SDM_SAD_FORMS] = {"sad_global", "sad_central", "sad_spread"};
    return SDM_GPU_RUN(ctx, g, names[form], width, (height + rows - 1) / rows, group, 1, SDM_BUF(padded[0]),
                       SDM_BUF(padded[1]), SDM_I32(width), SDM_I32(height), SDM_I32(dmin), SDM_I32(depth),
                       SDM_I32(group), SDM_I32(rows), SDM_BUF(out));
}
