/* Two rectified images -> disparities by kernels of a device, the bytes of the processor.  See
 * pair_device.h. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_device.h"

#include "gpu/optimize_device.h"
#include "gpu/launch.h"
#include "rectified/pair.h"

enum {
    COLUMNS = 4, /* of an item, as COLUMNS of gpu/pair_windows.cl */
    MARGIN = 24, /* rows that a window and a census word reach, at most */
    WALK = 32,   /* rows that an item walks down, costs of labels */
    GROUP = 64,
    WORD_ITEMS = 32,
    WORD_GROUP_ROWS = 8, /* of pair_words */
    WORD_BYTES = 16,
    WORD_ROWS = 7, /* PairWord; PAIR_WORD_ROWS */
    LABEL_ITEMS = 32,
    LABEL_ROWS = 4 /* of label_costs */
};

/* ---- the best of each pixel ---- */

/* Rows of two images on the device, int16, dense. */
typedef struct DevicePair {
    int width, height;
    bool eight_bit;
    SdmBuffer *image[2];
} DevicePair;

/* A pair that is being matched. */
typedef struct Match {
    const DevicePair *pair;
    const SdmPairSettings *set;
    int depth, samples, middle;
    SdmBuffer *sum[2], *texture[2], *word[2];
    SdmBuffer *cost, *best; /* of a strip of rows */
} Match;

/* Bytes of costs that lie on the device at once. */
static int64_t cost_bytes(const SdmGpu *g)
{
    return sdm_device_info(g->device)->is_cpu ? (int64_t)4 << 20 : (int64_t)256 << 20;
}

/* Census words of one image of a pair and its samples in 8-bit levels. */
static SdmStatus make_words(SdmContext *ctx, SdmGpu *g, const DevicePair *pair, int side, int census_width,
                            int census_height, SdmBuffer *word)
{
    const int w = pair->width, h = pair->height;
    return SDM_GPU_RUN(ctx, g, "pair_words", sdm_gpu_groups(w, COLUMNS), h, WORD_ITEMS, WORD_GROUP_ROWS,
                       SDM_BUF(pair->image[side]), SDM_I32(w), SDM_I32(h), SDM_I32(census_width),
                       SDM_I32(census_height), SDM_I32(pair->eight_bit), SDM_BUF(word));
}

static SdmStatus prepare_view(SdmContext *ctx, SdmGpu *g, Match *m, int side)
{
    const SdmPairSettings *const set = m->set;
    const int w = m->pair->width, h = m->pair->height;
    const int64_t n = (int64_t)w * h;
    const SdmTuning *const t = sdm_gpu_tuning(g);
    const bool textured = set->cost == SDM_PAIR_ZNCC || set->min_sigma > 0.0f;
    PASS(sdm_gpu_scratch(ctx, g, SDM_S_MEAN + side, n * 4, &m->sum[side]));
    PASS(sdm_gpu_scratch(ctx, g, SDM_S_TEXTURE + side, n * 4, &m->texture[side]));
    PASS(SDM_GPU_RUN(ctx, g, "pair_texture", sdm_gpu_groups(w, COLUMNS), sdm_gpu_groups(h, t->pair_rows),
                     t->pair_items, 1, SDM_BUF(m->pair->image[side]), SDM_I32(w), SDM_I32(h),
                     SDM_I32(set->window), SDM_I32(m->middle), SDM_I32(textured),
                     SDM_F32(set->min_sigma * (float)m->samples), SDM_I32(t->pair_rows),
                     SDM_BUF(m->sum[side]), SDM_BUF(m->texture[side])));
    if (set->cost != SDM_PAIR_CENSUS)
        return SDM_OK;
    PASS(sdm_gpu_scratch(ctx, g, SDM_S_WORD + side, n * WORD_BYTES, &m->word[side]));
    return make_words(ctx, g, m->pair, side, set->census_width, set->census_height, m->word[side]);
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
                            SdmBuffer *out)
{
    const SdmPairSettings *const set = m->set;
    const int w = m->pair->width;
    PASS(run_costs(ctx, g, m, y0, y1, m->cost));
    if (set->lr_threshold >= 0.0f)
        PASS(SDM_GPU_PIXELS(ctx, g, "pair_right_best", w, y1 - y0, SDM_BUF(m->cost), SDM_I32(w),
                            SDM_I32(y1 - y0), SDM_I32(set->dmin), SDM_I32(m->depth), SDM_BUF(m->best)));
    return SDM_GPU_PIXELS(ctx, g, "pair_choose", w, y1 - y0, SDM_BUF(m->cost), SDM_BUF(m->best), SDM_I32(w),
                          SDM_I32(y1 - y0), SDM_I32(set->dmin), SDM_I32(m->depth), SDM_F32(set->lr_threshold),
                          SDM_F32(set->uniqueness), SDM_I32(set->subpixel),
                          SDM_I32(set->cost == SDM_PAIR_ZNCC), SDM_I32(out_row), SDM_BUF(out));
}

/* Disparities of rows y0..y1 - 1 into out (float, (y1 - y0) x width); rows beside them serve as
 * surroundings. */
static SdmStatus match_local(SdmContext *ctx, SdmGpu *g, const DevicePair *pair, const SdmPairSettings *set,
                             int y0, int y1, SdmBuffer *out)
{
    Match m = {.pair = pair,
               .set = set,
               .depth = set->dmax - set->dmin + 1,
               .samples = set->window * set->window,
               .middle = pair->eight_bit ? 128 : 0};
    const int64_t row_bytes = (int64_t)m.depth * pair->width * 2, strip = sdm_gpu_tuning(g)->pair_rows,
                  fit = cost_bytes(g) / row_bytes / strip * strip;
    const int rows = (int)(fit > y1 - y0 ? y1 - y0 : fit < strip ? (strip < y1 - y0 ? strip : y1 - y0) : fit);
    for (int side = 0; side < 2; side++)
        PASS(prepare_view(ctx, g, &m, side));
    PASS(sdm_gpu_scratch(ctx, g, SDM_S_VOLUME, row_bytes * rows, &m.cost));
    PASS(sdm_gpu_scratch(ctx, g, SDM_S_SUM, (int64_t)pair->width * rows * 4, &m.best));
    for (int y = y0; y < y1; y += rows)
        PASS(match_rows(ctx, g, &m, y, y + rows < y1 ? y + rows : y1, y - y0, out));
    return SDM_OK;
}

/* ---- labels by an optimizer ---- */

/* Rows y0..y1 - 1 of an image, made dense; waits. */
static SdmStatus upload_rows(SdmContext *ctx, SdmGpu *g, const SdmPairImage *im, int y0, int y1,
                             SdmBuffer *to)
{
    const int64_t bytes = 2 * (int64_t)im->width;
    if (im->stride == im->width)
        return sdm_upload(ctx, to, 0, im->data + y0 * im->stride, bytes * (y1 - y0), g->queue, true);
    for (int y = y0; y < y1; y++)
        PASS(sdm_upload(ctx, to, bytes * (y - y0), im->data + y * im->stride, bytes, g->queue, true));
    return SDM_OK;
}

/* Rows of a pair that are on the device together, and their results; terms, volume and labels with an
 * optimizer alone. */
typedef struct Chunk {
    const SdmPairSettings *set;
    SdmPairTerms terms;
    DevicePair pair;
    SdmGpuVolume volume; /* of all its rows */
    SdmGpuLabels labels;
    SdmBuffer *out;
} Chunk;

static int64_t volume_bytes(const Chunk *c, int rows)
{
    return rows * sdm_gpu_volume_row(c->pair.width, c->volume.labels);
}

/* The costs of the pair's rows. */
static SdmStatus make_costs(SdmContext *ctx, SdmGpu *g, Chunk *c)
{
    const int w = c->pair.width, h = c->pair.height, window = c->set->window;
    const SdmGpuVolume *const v = &c->volume;
    const int blocks = sdm_gpu_groups(v->labels, SDM_LABEL_ALIGN), chance = sdm_pair_chance(v->most);
    SdmBuffer *word[2] = {NULL, NULL}, *pixel = v->cost;
    const bool census = c->terms.bits != 0;
    static const char *const kernels[] = {"label_costs_0", "label_costs_1", "label_costs_2"};
    for (int side = 0; side < 2; side++) {
        PASS(sdm_gpu_scratch(ctx, g, SDM_S_WORD + side, (int64_t)w * h * WORD_BYTES, &word[side]));
        PASS(make_words(ctx, g, &c->pair, side, census ? c->set->census_width : 1,
                        census ? c->set->census_height : 1, word[side]));
    }
    if (window > 1)
        PASS(sdm_gpu_scratch(ctx, g, SDM_S_PATHS, volume_bytes(c, h), &pixel));
    PASS(sdm_gpu_run(
        ctx, g,
        kernels[!census                              ? 0
                : c->set->census_height <= WORD_ROWS ? 1
                                                     : 2],
        (const int[3]){sdm_gpu_groups(w, LABEL_ITEMS * COLUMNS), sdm_gpu_groups(h, LABEL_ROWS), blocks},
        (const int[3]){LABEL_ITEMS, LABEL_ROWS, 1},
        SDM_GPU_ARGS(SDM_BUF(word[0]), SDM_BUF(word[1]), SDM_I32(w), SDM_I32(h), SDM_I32(v->labels),
                     SDM_I32(v->first), SDM_I32(chance), SDM_F32((float)c->terms.difference_max),
                     SDM_I32(window == 1), SDM_BUF(pixel))));
    if (window == 1)
        return SDM_OK;
    return sdm_gpu_run(
        ctx, g, "label_windows", (const int[3]){sdm_gpu_groups(w, GROUP), sdm_gpu_groups(h, WALK), blocks},
        (const int[3]){GROUP, 1, 1},
        SDM_GPU_ARGS(SDM_BUF(c->pair.image[0]), SDM_BUF(c->pair.image[1]), SDM_BUF(pixel), SDM_I32(w),
                     SDM_I32(h), SDM_I32(v->labels), SDM_I32(v->first), SDM_I32(chance), SDM_I32(window),
                     SDM_I32(c->terms.shift), SDM_I32(WALK), SDM_BUF(v->cost)));
}

static SdmStatus make_disparities(SdmContext *ctx, SdmGpu *g, const Chunk *c, const SdmGpuBand *bands,
                                  int count, int y0, int rows)
{
    const SdmGpuVolume *const v = &c->volume;
    SdmBuffer *on_device;
    PASS(sdm_gpu_scratch(ctx, g, SDM_S_BANDS, count * (int64_t)sizeof *bands, &on_device));
    PASS(sdm_upload(ctx, on_device, 0, bands, count * (int64_t)sizeof *bands, g->queue, true));
    return sdm_gpu_run(ctx, g, "label_disparities",
                       (const int[3]){sdm_gpu_groups(v->width, GROUP), SDM_PAIR_BAND / 4, count},
                       (const int[3]){GROUP, 4, 1},
                       SDM_GPU_ARGS(SDM_BUF(c->pair.image[0]), SDM_BUF(c->pair.image[1]), SDM_BUF(v->cost),
                                    SDM_BUF(on_device), SDM_BUF(c->labels.left), SDM_BUF(c->labels.right),
                                    SDM_I32(v->width), SDM_I32(v->labels), SDM_I32(v->first),
                                    SDM_I32(c->set->dmax), SDM_F32(c->set->lr_threshold),
                                    SDM_I32(c->set->subpixel), SDM_I32(y0), SDM_I32(rows),
                                    SDM_I32(SDM_PAIR_BAND), SDM_BUF(c->out)));
}

/* Rows y0..y1 - 1 of an image of `height` rows, of which the pair holds those from `origin` on. */
static SdmStatus match_chunk(SdmContext *ctx, SdmGpu *g, Chunk *c, int y0, int y1, int height, int origin)
{
    SDM_OWNED SdmGpuBand *bands = NULL;
    const SdmGpuOwnRows own = {.y0 = y0, .y1 = y1, .rows = SDM_PAIR_BAND};
    int rows;
    const int count = sdm_gpu_bands(own, height, SDM_OFFSET_REACH, origin, NULL, &rows);
    PASS(sdm_alloc(ctx, &bands, (size_t)count, sizeof *bands, "bands of a pair"));
    sdm_gpu_bands(own, height, SDM_OFFSET_REACH, origin, bands, &rows);
    c->volume.rows = c->pair.height;
    PASS(make_costs(ctx, g, c));
    PASS(sdm_gpu_optimize(ctx, g, c->set->optimizer, &c->volume, bands, count, &c->labels));
    PASS(make_disparities(ctx, g, c, bands, count, y0 - origin, y1 - y0));
    if (sdm_pair_wants_energy(c->set))
        PASS(sdm_gpu_bp_energy(ctx, g, c->set->optimizer, &c->volume,
                               (SdmGpuOwnRows){y0 - origin, y1 - origin, SDM_PAIR_BAND, bands},
                               c->labels.left, c->set->energy));
    return SDM_OK;
}

/* Rows of a chunk: a multiple of a band's that takes at most half of the device's budget. */
static int chunk_rows(const SdmGpu *g, const Chunk *c, int height)
{
    const int64_t pixel = 2 * 2 + 2 * WORD_BYTES + 2 + 4 + 4;
    const int64_t row = c->pair.width * pixel + volume_bytes(c, 1);
    const int64_t fit = sdm_gpu_optimize_room(g) / 2 / row / SDM_PAIR_BAND;
    return fit < 1 ? SDM_PAIR_BAND : fit * SDM_PAIR_BAND > height ? height : (int)fit * SDM_PAIR_BAND;
}

static void chunk_close(Chunk *c)
{
    SdmBuffer **const all[] = {&c->pair.image[0], &c->pair.image[1], &c->volume.cost,
                               &c->labels.left,   &c->labels.right,  &c->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sdm_buffer_free(all[i]);
}

/* Room for `rows` rows of disparities, from images of `most` rows, which are set. */
static SdmStatus chunk_open(SdmContext *ctx, SdmGpu *g, Chunk *c, int rows, int most)
{
    const int64_t w = c->pair.width;
    const int64_t labels = w * (rows + (int64_t)sdm_gpu_groups(rows, SDM_PAIR_BAND) * 2 * SDM_OFFSET_REACH);
    PASS(sdm_buffer_new(ctx, g->device, w * rows * 4, "disparities", &c->out));
    if (sdm_pair_is_local(c->set))
        return SDM_OK;
    PASS(sdm_buffer_new(ctx, g->device, volume_bytes(c, most), "the volume of costs", &c->volume.cost));
    PASS(sdm_buffer_new(ctx, g->device, labels * 2, "labels", &c->labels.left));
    if (c->set->lr_threshold >= 0.0f)
        PASS(sdm_buffer_new(ctx, g->device, labels * 4, "labels of the right image", &c->labels.right));
    c->volume.guide = c->pair.image[0];
    return SDM_OK;
}

static Chunk chunk_of(const SdmPairImage *left, const SdmPairSettings *set)
{
    SdmVolume shape;
    sdm_pair_volume_shape(set, &shape);
    return (Chunk){.set = set,
                   .terms = sdm_pair_terms(set),
                   .pair = {.width = left->width, .eight_bit = left->eight_bit},
                   .volume = {.width = left->width,
                              .labels = shape.labels,
                              .first = shape.first,
                              .most = shape.most,
                              .guide_scale = left->eight_bit ? SDM_PAIR_EDGE_8 : SDM_PAIR_EDGE_12}};
}

/* ---- whole pairs ---- */

/* Rows of a band with its surroundings, without an optimizer: at most an eighth of the device's budget. */
static int band_rows(const SdmGpu *g, int width, int height)
{
    const int64_t pixel = 2 * (2 + 4 + 4 + 16) + 4, rows = sdm_device_budget(g->device) / 8 / (pixel * width);
    return rows > height ? height : rows < 4 * MARGIN ? 4 * MARGIN : (int)rows;
}

SdmStatus sdm_pair_match_device(SdmContext *ctx, SdmGpu *g, const SdmPairImage *left,
                                const SdmPairImage *right, const SdmPairSettings *set, float *disparity)
{
    const SdmPairImage *const image[2] = {left, right};
    const bool local = sdm_pair_is_local(set);
    const int w = left->width, h = left->height, around = local ? MARGIN : SDM_OVERLAP + MARGIN;
    SDM_CLOSED_BY(chunk_close) Chunk c = chunk_of(left, set);
    const int rows = local ? band_rows(g, w, h) : chunk_rows(g, &c, h),
              most = rows + 2 * around < h ? rows + 2 * around : h;
    for (int side = 0; side < 2; side++)
        PASS(sdm_buffer_new(ctx, g->device, (int64_t)w * most * 2, "an image of the pair",
                            &c.pair.image[side]));
    PASS(chunk_open(ctx, g, &c, rows, most));
    for (int y0 = 0; y0 < h; y0 += rows) {
        const int y1 = y0 + rows < h ? y0 + rows : h, first = y0 > around ? y0 - around : 0;
        const int end = y1 + around < h ? y1 + around : h;
        PASS(sdm_check_stop(ctx));
        c.pair.height = end - first;
        for (int side = 0; side < 2; side++)
            PASS(upload_rows(ctx, g, image[side], first, end, c.pair.image[side]));
        PASS(local ? match_local(ctx, g, &c.pair, set, y0 - first, y1 - first, c.out)
                   : match_chunk(ctx, g, &c, y0, y1, h, first));
        PASS(sdm_device_pause(ctx, g->device, g->queue));
        PASS(sdm_download(ctx, c.out, 0, disparity + (int64_t)y0 * w, (int64_t)(y1 - y0) * w * 4, g->queue,
                          true));
    }
    return local ? SDM_OK : sdm_pair_reject_flat(ctx, left, right, set, 0, h, disparity);
}
