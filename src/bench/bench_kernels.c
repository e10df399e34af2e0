/* The kernels of kernels.h, each at every level. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "kernels.h"

enum { WIDTH = 1024, ROWS = 48, DEPTH = 64, WINDOW = 9, CELL = 16, AGREE_HALF = 3 };

/* Inputs that all cases share, and outputs. */
typedef struct Bed {
    int width, rows, depth;
    int16_t *image[2];             /* rows x width */
    int16_t *tall;                 /* 4 x (2 width + 4) */
    float *surface, *fraction, *disparity, *floats; /* disparity, floats: 7 x width */
    int16_t *change;               /* 7 x width */
    uint16_t *valid, *flags;       /* 3 x width, width */
    int32_t *sum, *count;          /* width */
    uint8_t *bytes, *quality;
    SdmWarpCell *cells;
    int32_t *cell_begin;
    float *score, *texture;        /* one row of costs: depth x width, 2 x width */
    float *pick[5];
} Bed;

typedef struct KernelCall {
    const SdmKernels *k;
    const Bed *bed;
    sdm_cost_strip_fn *cost;
    int rows;    /* of the strip: few by the definition, which is slow */
    int16_t *out;
    void *scratch;
    double seen; /* sum of scores, so that no row is for nothing */
} KernelCall;

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static SdmStatus alloc_bed(SdmBench *b, Bed *bed)
{
    SdmStatus st = SDM_OK;
    const size_t w = (size_t)bed->width;
    for (int k = 0; k < 2; k++)
        TRY(sdm_bench_alloc(b, &bed->image[k], w * (size_t)bed->rows, sizeof(int16_t)));
    TRY(sdm_bench_alloc(b, &bed->tall, 4 * (2 * w + 4), sizeof(int16_t)));
    TRY(sdm_bench_alloc(b, &bed->surface, w, sizeof(float)));
    TRY(sdm_bench_alloc(b, &bed->fraction, w, sizeof(float)));
    TRY(sdm_bench_alloc(b, &bed->disparity, 7 * w, sizeof(float)));
    TRY(sdm_bench_alloc(b, &bed->floats, 7 * w, sizeof(float)));
    TRY(sdm_bench_alloc(b, &bed->valid, 3 * w, sizeof(uint16_t)));
    TRY(sdm_bench_alloc(b, &bed->flags, w, sizeof(uint16_t)));
    TRY(sdm_bench_alloc(b, &bed->change, 7 * w, sizeof(int16_t)));
    TRY(sdm_bench_alloc(b, &bed->sum, w, sizeof(int32_t)));
    TRY(sdm_bench_alloc(b, &bed->count, w, sizeof(int32_t)));
    TRY(sdm_bench_alloc(b, &bed->bytes, w, 1));
    TRY(sdm_bench_alloc(b, &bed->quality, w, 1));
    TRY(sdm_bench_alloc(b, &bed->cells, w / CELL, sizeof(SdmWarpCell)));
    TRY(sdm_bench_alloc(b, &bed->cell_begin, w / CELL + 1, sizeof(int32_t)));
    TRY(sdm_bench_alloc(b, &bed->score, w * (size_t)bed->depth, sizeof(float)));
    TRY(sdm_bench_alloc(b, &bed->texture, 2 * w, sizeof(float)));
    for (int k = 0; k < 5; k++)
        TRY(sdm_bench_alloc(b, &bed->pick[k], w, sizeof(float)));
done:
    return st;
}

static void fill_bed(Bed *bed)
{
    uint64_t seed = 1;
    const int w = bed->width;
    for (int i = 0; i < w * bed->rows; i++)
        bed->image[0][i] = (int16_t)(next_random(&seed) % 4095 - 2047);
    for (int i = 0; i < w * bed->rows; i++) /* the same 20 px off, with noise */
        bed->image[1][i] = (int16_t)(bed->image[0][i % w >= 20 ? i - 20 : i] * 7 / 8 +
                                     (int)(next_random(&seed) % 401) - 200);
    for (int i = 0; i < 4 * (2 * w + 4); i++)
        bed->tall[i] = (int16_t)(next_random(&seed) % 4095 - 2047);
    for (int i = 0; i < 7 * w; i++) {
        bed->disparity[i] = (float)(next_random(&seed) % 64) / 16.0f;
        bed->change[i] = next_random(&seed) % 16 ? (int16_t)(next_random(&seed) % 1024) : SDM_CHANGE_NONE;
    }
    for (int i = 0; i < 3 * w; i++)
        bed->valid[i] = next_random(&seed) % 16 != 0;
    for (int i = 0; i < w; i++) {
        bed->surface[i] = 500.0f + (float)(next_random(&seed) % 256) / 8.0f;
        bed->fraction[i] = (float)(i % CELL) / (float)CELL;
        bed->texture[i] = bed->texture[w + i] = 1.0f;
    }
    for (int c = 0; c <= w / CELL; c++)
        bed->cell_begin[c] = c * CELL;
    for (int c = 0; c < w / CELL; c++)
        bed->cells[c] = (SdmWarpCell){.origin_col = c * CELL,
                                      .origin_row = bed->rows / 2,
                                      .col = {0.3f, 15.9f, 0.01f},
                                      .row = {0.2f, 0.1f}};
    for (int i = 0; i < w * bed->depth; i++)
        bed->score[i] = (float)(next_random(&seed) % 65536) / 65536.0f;
}

/* ---- calls ---- */

static void look_at_row(void *user, const SdmCostRow *row)
{
    KernelCall *const c = user;
    c->seen += (double)row->score[row->width / 2];
}

static SdmStatus call_cost(SdmContext *ctx, void *data)
{
    (void)ctx;
    KernelCall *const c = data;
    const SdmCostJob job = {.left = c->bed->image[0],
                            .right = c->bed->image[1],
                            .stride = c->bed->width,
                            .width = c->bed->width,
                            .height = c->bed->rows,
                            .row_end = c->rows,
                            .window = WINDOW,
                            .dmax = c->bed->depth - 1,
                            .scratch = c->scratch};
    c->cost(&job, look_at_row, c);
    return SDM_OK;
}

static SdmStatus call_pick(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const Bed *const bed = c->bed;
    const SdmCostRow row = {.width = bed->width,
                            .dmax = bed->depth - 1,
                            .score = bed->score,
                            .pitch = bed->width,
                            .left_texture = bed->texture,
                            .right_texture = bed->texture + bed->width};
    const SdmPickRow out = {bed->pick[0], bed->pick[1], bed->pick[2], bed->pick[3], bed->pick[4], bed->bytes};
    c->k->pick_row(&row, &out);
    return SDM_OK;
}

static SdmStatus call_warp(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const Bed *const bed = c->bed;
    const SdmWarpRow row = {.cells = bed->cells,
                            .cell_begin = bed->cell_begin,
                            .cell_count = bed->width / CELL,
                            .fraction = bed->fraction,
                            .surface_m = bed->surface,
                            .height0_m = 510.0f,
                            .source = bed->image[0],
                            .source_stride = bed->width,
                            .source_width = bed->width,
                            .source_height = bed->rows,
                            .width = bed->width};
    c->k->warp_row(&row, c->out);
    return SDM_OK;
}

static SdmStatus call_half(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const int16_t *src[4];
    for (int j = 0; j < 4; j++) /* pixel -1 comes first */
        src[j] = c->bed->tall + (ptrdiff_t)j * (2 * c->bed->width + 4) + 1;
    c->k->half_row(src, c->bed->width, c->out);
    return SDM_OK;
}

static SdmStatus call_median(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const Bed *const bed = c->bed;
    const float *const row[3] = {bed->disparity, bed->disparity + bed->width,
                                 bed->disparity + 2 * bed->width};
    const uint16_t *const valid[3] = {bed->valid, bed->valid + bed->width, bed->valid + 2 * bed->width};
    c->k->median_row(row, valid, bed->width, bed->floats);
    return SDM_OK;
}

static SdmStatus call_agree(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const int16_t *row[2 * AGREE_HALF + 1];
    for (int j = 0; j <= 2 * AGREE_HALF; j++)
        row[j] = c->bed->change + (ptrdiff_t)j * c->bed->width;
    c->k->agree_row(row, AGREE_HALF, c->bed->width, c->bed->bytes);
    return SDM_OK;
}

static SdmStatus call_change(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const Bed *const bed = c->bed;
    c->k->change_row(bed->disparity, bed->disparity + bed->width, bed->valid, bed->width, 0.5f, c->out);
    return SDM_OK;
}

/* In and out again, so that the sums stay as they are. */
static SdmStatus call_add(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const Bed *const bed = c->bed;
    for (int sign = 1; sign >= -1; sign -= 2)
        c->k->add_changes(bed->disparity, bed->disparity + bed->width, bed->valid, bed->width, sign, bed->sum,
                          bed->count);
    return SDM_OK;
}

static SdmStatus call_smooth(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const Bed *const bed = c->bed;
    const float *const row[3] = {bed->disparity, bed->disparity + bed->width,
                                 bed->disparity + 2 * bed->width};
    c->k->smooth_row(row, bed->width, bed->floats);
    return SDM_OK;
}

static SdmStatus call_update(SdmContext *ctx, void *data)
{
    (void)ctx;
    const KernelCall *const c = data;
    const Bed *const bed = c->bed;
    const int w = bed->width;
    const SdmUpdateRow u = {.width = w,
                            .residual = bed->disparity,
                            .score = bed->score,
                            .runner_up = bed->score + w,
                            .mismatch = bed->disparity + w,
                            .edge = bed->bytes,
                            .texture = bed->texture,
                            .prior = bed->surface,
                            .du_dh = bed->fraction,
                            .min_score = 0.25f,
                            .min_margin = 0.05f,
                            .max_mismatch = 3.0f,
                            .not_at_edge = true,
                            .h_m = bed->floats,
                            .flags = bed->flags,
                            .quality = bed->quality};
    c->k->update_row(&u);
    return SDM_OK;
}

/* ---- cases ---- */

/* Fewest vector operations an output.  sad, census, zncc: as for the matching of pairs, with the conversion
 * to float (sad, census) but without the comparison.  warp: 16 products summed in pairs, 4 of them packed, 10
 * of the position. half: 4 x 4 weights as sums and shifts.  pick, a pixel: 3 for each score of either view.
 * median: 19 exchanges of two operations.  agree: 3 for each neighbour; change, add: difference, scale, two
 * limits, conversion, blend; smooth: 6 for the two sums; update: about 30 for the heights and the reasons.
 * Their rows lie in the cache: memory does not bound them here. */
static const struct {
    const char *name, *output;
    SdmStatus (*call)(SdmContext *ctx, void *data);
    SdmBenchNeed need;
} kernels[] = {
    {"sad 9x9", "score", call_cost, {8.0, 32.0, 0.0}},
    {"census 9x7 in 9x9", "score", call_cost, {10.0, 32.0, 0.0}},
    {"zncc 9x9", "score", call_cost, {8.0, 32.0, 0.0}},
    {"pick row of 64 scores", "pixel", call_pick, {6.0 * DEPTH, 32.0, 0.0}},
    {"warp row", "pixel", call_warp, {22.0, 32.0, 0.0}},
    {"half row", "pixel", call_half, {24.0, 16.0, 0.0}},
    {"median row 3x3", "pixel", call_median, {38.0, 32.0, 0.0}},
    {"change row", "pixel", call_change, {7.0, 32.0, 0.0}},
    {"agree row 7x7", "pixel", call_agree, {3.0 * 49.0, 16.0, 0.0}},
    {"add changes", "pixel", call_add, {10.0, 32.0, 0.0}},
    {"smooth row", "pixel", call_smooth, {6.0, 32.0, 0.0}},
    {"update row", "pixel", call_update, {30.0, 32.0, 0.0}},
};

static SdmStatus add_kernel(SdmBench *b, int i, const char *level, const Bed *bed)
{
    SdmStatus st = SDM_OK;
    KernelCall *c = NULL;
    const SdmKernels *const k = sdm_kernels_at(level);
    sdm_cost_strip_fn *const costs[3] = {k->sad, k->census, k->zncc};
    const bool strip = kernels[i].call == call_cost;
    const int rows = k == &sdm_kernels_reference ? 2 : bed->rows;
    const int each = strip ? rows * bed->depth : kernels[i].call == call_add ? 2 : 1; /* outputs a column */
    TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = (KernelCall){.k = k, .bed = bed, .cost = strip ? costs[i] : NULL, .rows = rows};
    if (strip)
        TRY(sdm_bench_alloc(b, &c->scratch, k->cost_scratch(bed->width, WINDOW, 0, bed->depth - 1), 1));
    TRY(sdm_bench_alloc(b, &c->out, (size_t)bed->width, sizeof *c->out));
    TRY(sdm_bench_add(b, &(SdmBenchCase){.name = kernels[i].name,
                                         .level = level,
                                         .output = kernels[i].output,
                                         .outputs = (double)bed->width * each,
                                         .threads = 1,
                                         .need = kernels[i].need,
                                         .call = kernels[i].call,
                                         .data = c}));
done:
    return st;
}

/* Does the level take kernel i from the one below it? */
static bool is_taken(int i, const SdmKernels *k, const SdmKernels *below)
{
    return (kernels[i].call == call_half && k->half_row == below->half_row) ||
           (kernels[i].call == call_agree && k->agree_row == below->agree_row) ||
           (kernels[i].call == call_smooth && k->smooth_row == below->smooth_row);
}

SdmStatus sdm_bench_add_kernels(SdmBench *b)
{
    SdmStatus st = SDM_OK;
    Bed *bed = NULL;
    TRY(sdm_bench_alloc(b, &bed, 1, sizeof *bed));
    *bed = (Bed){.width = b->opt->quick ? WIDTH / 8 : WIDTH, .rows = b->opt->quick ? 12 : ROWS,
                 .depth = b->opt->quick ? 8 : DEPTH};
    TRY(alloc_bed(b, bed));
    fill_bed(bed);
    for (int i = 0; i < (int)(sizeof kernels / sizeof *kernels); i++)
        for (int l = 0; l < b->level_count; l++)
            if (l == 0 || !is_taken(i, sdm_kernels_at(b->levels[l]), sdm_kernels_at(b->levels[l - 1])))
                TRY(add_kernel(b, i, b->levels[l], bed));
done:
    return st;
}
