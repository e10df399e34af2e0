/* Rectified pairs with an optimizer on a device, see pair_device.h. */
// SPDX-License-Identifier: Apache-2.0
#include "optimize_device.h"
#include "rectified/pair_volume.h"
#include "pair_device.h"
#include "steps_inside.h"

enum { MARGIN = 24 /* rows: half a window and half a word */, WALK = 32, GROUP = 64 };

/* Rows of a pair that are on the device together, and what is made of them. */
typedef struct SdmGpuPairLabels Chunk;
struct SdmGpuPairLabels {
    const SdmPairSettings *set;
    SdmPairTerms terms;
    SdmGpuPair pair;
    SdmGpuVolume volume; /* of all its rows */
    SdmGpuLabels labels;
    SdmBuffer *out;
};

static int64_t volume_bytes(const Chunk *c, int rows)
{
    return rows * sdm_gpu_volume_row(c->pair.width, c->volume.labels);
}

/* The costs of the pair's rows. */
static SdmStatus make_costs(SdmContext *ctx, SdmGpu *g, Chunk *c)
{
    SdmStatus st = SDM_OK;
    const int w = c->pair.width, h = c->pair.height, window = c->set->window;
    const SdmGpuVolume *const v = &c->volume;
    const int blocks = sdm_gpu_groups(v->labels, SDM_LABEL_ALIGN), chance = sdm_pair_chance(v->most);
    SdmBuffer *word[2] = {NULL, NULL}, *pixel = v->cost;
    for (int side = 0; side < 2 && c->terms.bits; side++) {
        TRY(sdm_gpu_scratch(ctx, g, SDM_S_WORD + side, (int64_t)w * h * 16, &word[side]));
        TRY(SDM_GPU_RUN(ctx, g, "pair_words", w, h, 32, 8, SDM_BUF(c->pair.image[side]), SDM_I32(w),
                        SDM_I32(h), SDM_I32(c->set->census_width), SDM_I32(c->set->census_height),
                        SDM_BUF(word[side])));
    }
    if (window > 1)
        TRY(sdm_gpu_scratch(ctx, g, SDM_S_PATHS, volume_bytes(c, h), &pixel));
    const SdmArg costs[] = {SDM_BUF(c->pair.image[0]),     SDM_BUF(c->pair.image[1]),
                            SDM_BUF(word[0]),              SDM_BUF(word[1]),
                            SDM_I32(w),                    SDM_I32(h),
                            SDM_I32(v->labels),            SDM_I32(v->first),
                            SDM_I32(chance),               SDM_I32(c->terms.bits != 0),
                            SDM_I32(c->terms.apart_most),  SDM_I32(c->pair.eight_bit),
                            SDM_I32(window == 1),          SDM_BUF(pixel)};
    TRY(sdm_gpu_run(ctx, g, "label_costs",
                    (const int[3]){sdm_gpu_groups(w, GROUP), sdm_gpu_groups(h, 4), blocks},
                    (const int[3]){GROUP, 4, 1}, (int)(sizeof costs / sizeof *costs), costs));
    if (window == 1)
        return SDM_OK;
    const SdmArg sums[] = {SDM_BUF(c->pair.image[0]), SDM_BUF(c->pair.image[1]), SDM_BUF(pixel),
                           SDM_I32(w),                SDM_I32(h),                SDM_I32(v->labels),
                           SDM_I32(v->first),         SDM_I32(chance),           SDM_I32(window),
                           SDM_I32(c->terms.shift),   SDM_I32(WALK),             SDM_BUF(v->cost)};
    TRY(sdm_gpu_run(ctx, g, "label_windows",
                    (const int[3]){sdm_gpu_groups(w, GROUP), sdm_gpu_groups(h, WALK), blocks},
                    (const int[3]){GROUP, 1, 1}, (int)(sizeof sums / sizeof *sums), sums));
done:
    return st;
}

static SdmStatus make_disparities(SdmContext *ctx, SdmGpu *g, const Chunk *c, const SdmGpuBand *bands,
                                  int count, int y0, int rows)
{
    SdmStatus st = SDM_OK;
    const SdmGpuVolume *const v = &c->volume;
    SdmBuffer *on_device;
    TRY(sdm_gpu_scratch(ctx, g, SDM_S_BANDS, count * (int64_t)sizeof *bands, &on_device));
    TRY(sdm_upload(ctx, on_device, 0, bands, count * (int64_t)sizeof *bands, g->queue, true));
    const SdmArg args[] = {SDM_BUF(c->pair.image[0]),      SDM_BUF(c->pair.image[1]),
                           SDM_BUF(v->cost),               SDM_BUF(on_device),
                           SDM_BUF(c->labels.left),        SDM_BUF(c->labels.right),
                           SDM_I32(v->width),              SDM_I32(v->labels),
                           SDM_I32(v->first),              SDM_I32(c->set->dmax),
                           SDM_F32(c->set->lr_threshold),  SDM_I32(c->set->subpixel),
                           SDM_I32(y0),                    SDM_I32(rows),
                           SDM_I32(SDM_PAIR_BAND),         SDM_BUF(c->out)};
    TRY(sdm_gpu_run(ctx, g, "label_disparities",
                    (const int[3]){sdm_gpu_groups(v->width, GROUP), SDM_PAIR_BAND / 4, count},
                    (const int[3]){GROUP, 4, 1}, (int)(sizeof args / sizeof *args), args));
done:
    return st;
}

/* Rows y0..y1 - 1 of an image of `height` rows, of which the pair holds those from `origin` on. */
static SdmStatus match_chunk(SdmContext *ctx, SdmGpu *g, Chunk *c, int y0, int y1, int height, int origin)
{
    SdmStatus st = SDM_OK;
    SdmGpuBand *bands = NULL;
    int rows;
    const int count =
        sdm_gpu_bands(y0, y1, height, SDM_PAIR_BAND, SDM_OFFSET_REACH, origin, NULL, &rows);
    TRY(sdm_alloc(ctx, &bands, (size_t)count, sizeof *bands, "bands of a pair"));
    sdm_gpu_bands(y0, y1, height, SDM_PAIR_BAND, SDM_OFFSET_REACH, origin, bands, &rows);
    c->volume.rows = c->pair.height;
    TRY(make_costs(ctx, g, c));
    TRY(sdm_gpu_optimize(ctx, g, c->set->optimizer, &c->volume, bands, count, &c->labels));
    TRY(make_disparities(ctx, g, c, bands, count, y0 - origin, y1 - y0));
    if (sdm_pair_wants_energy(c->set))
        TRY(sdm_gpu_bp_energy(ctx, g, c->set->optimizer, &c->volume, bands,
                              (SdmGpuOwnRows){y0 - origin, y1 - origin, SDM_PAIR_BAND}, c->labels.left,
                              c->set->energy));
done:
    sdm_free(&bands);
    return st;
}

/* Rows that go together: a multiple of a band's that takes at most half of what the device gives. */
static int chunk_rows(const SdmGpu *g, const Chunk *c, int height)
{
    const int64_t pixel = 2 * 2 + (c->terms.bits ? 2 * 16 : 0) + 2 + 4 + 4;
    const int64_t row = c->pair.width * pixel + volume_bytes(c, 1);
    const int64_t fit = sdm_gpu_optimize_room(g) / 2 / row / SDM_PAIR_BAND;
    return fit < 1 ? SDM_PAIR_BAND : fit * SDM_PAIR_BAND > height ? height : (int)fit * SDM_PAIR_BAND;
}

static void chunk_close(Chunk *c)
{
    SdmBuffer **const all[] = {&c->volume.cost, &c->labels.left, &c->labels.right, &c->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sdm_buffer_free(all[i]);
}

/* Room for `rows` rows of disparities, from images of `most` rows, which are set. */
static SdmStatus chunk_open(SdmContext *ctx, SdmGpu *g, Chunk *c, int rows, int most)
{
    SdmStatus st = SDM_OK;
    const int64_t w = c->pair.width;
    const int64_t labels = w * (rows + (int64_t)sdm_gpu_groups(rows, SDM_PAIR_BAND) * 2 * SDM_OFFSET_REACH);
    TRY(sdm_buffer_new(ctx, g->device, volume_bytes(c, most), "the volume of costs", &c->volume.cost));
    TRY(sdm_buffer_new(ctx, g->device, labels * 2, "labels", &c->labels.left));
    if (c->set->lr_threshold >= 0.0f)
        TRY(sdm_buffer_new(ctx, g->device, labels * 4, "labels of the right image", &c->labels.right));
    TRY(sdm_buffer_new(ctx, g->device, w * rows * 4, "disparities", &c->out));
    c->volume.guide = c->pair.image[0];
done:
    return st;
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

SdmStatus sdm_pair_match_labels_device(SdmContext *ctx, SdmGpu *g, const SdmPairImage *left,
                                       const SdmPairImage *right, const SdmPairSettings *set,
                                       float *disparity)
{
    SdmStatus st = SDM_OK;
    const SdmPairImage *const image[2] = {left, right};
    const int w = left->width, h = left->height, around = SDM_OVERLAP + MARGIN;
    Chunk c = chunk_of(left, set);
    const int rows = chunk_rows(g, &c, h), most = rows + 2 * around < h ? rows + 2 * around : h;
    for (int side = 0; side < 2; side++)
        TRY(sdm_buffer_new(ctx, g->device, (int64_t)w * most * 2, "an image of the pair",
                           &c.pair.image[side]));
    TRY(chunk_open(ctx, g, &c, rows, most));
    for (int y0 = 0; y0 < h; y0 += rows) {
        const int y1 = y0 + rows < h ? y0 + rows : h, first = y0 > around ? y0 - around : 0;
        const int end = y1 + around < h ? y1 + around : h;
        TRY(sdm_check_stop(ctx));
        c.pair.height = end - first;
        for (int side = 0; side < 2; side++)
            TRY(sdm_gpu_pair_upload(ctx, g, image[side], first, end, c.pair.image[side]));
        TRY(match_chunk(ctx, g, &c, y0, y1, h, first));
        TRY(sdm_download(ctx, c.out, 0, disparity + (int64_t)y0 * w, (int64_t)(y1 - y0) * w * 4, g->queue,
                         true));
    }
    TRY(sdm_pair_reject_flat(ctx, left, right, set, disparity));
done:
    for (int side = 0; side < 2; side++)
        sdm_buffer_free(&c.pair.image[side]);
    chunk_close(&c);
    return st;
}

SdmStatus sdm_gpu_pair_labels_open(SdmContext *ctx, SdmGpu *g, const SdmGpuPair *pair,
                                   const SdmPairSettings *set, SdmGpuPairLabels **out)
{
    SdmStatus st = SDM_OK;
    Chunk *c = NULL;
    TRY(sdm_alloc(ctx, &c, 1, sizeof *c, "a pair on a device"));
    *c = chunk_of(&(SdmPairImage){.width = pair->width, .eight_bit = pair->eight_bit}, set);
    c->pair = *pair;
    TRY(chunk_open(ctx, g, c, pair->height, pair->height));
    *out = c;
    c = NULL;
done:
    sdm_gpu_pair_labels_close(&c);
    return st;
}

SdmStatus sdm_gpu_pair_labels(SdmContext *ctx, SdmGpu *g, SdmGpuPairLabels *c)
{
    return match_chunk(ctx, g, c, 0, c->pair.height, c->pair.height, 0);
}

void sdm_gpu_pair_labels_close(SdmGpuPairLabels **c)
{
    if (*c)
        chunk_close(*c);
    sdm_free(c);
}
