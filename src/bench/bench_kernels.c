/* The kernels of kernels.h -> cases, one for each instruction set. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "kernels.h"

enum { WIDTH = 1024, ROWS = 48, DEPTH = 64, WINDOW = 9, CELL = 16, AGREE_HALF = 3 };

/* Inputs that all cases share, and outputs. */
typedef struct KernelData {
    int16_t image[2][ROWS * WIDTH], tall[4 * (2 * WIDTH + 4)], change[7 * WIDTH];
    float surface[WIDTH], fraction[WIDTH], disparity[7 * WIDTH], floats[7 * WIDTH];
    uint16_t valid[3 * WIDTH], flags[WIDTH];
    int32_t sum[WIDTH], count[WIDTH];
    uint8_t bytes[WIDTH], quality[WIDTH];
    float score[DEPTH * WIDTH], texture[2 * WIDTH], pick[5][WIDTH]; /* score, texture: one row of costs */
    SdmWarpCell cells[WIDTH / CELL];
    int32_t cell_begin[WIDTH / CELL + 1];
    int width, rows, depth; /* that are used */
} KernelData;

typedef struct KernelCall KernelCall;
typedef void run_fn(KernelCall *c, KernelData *in);
struct KernelCall {
    const SdmKernels *k;
    run_fn *run;
    KernelData *in;
    sdm_cost_strip_fn *cost;
    int rows;    /* of the strip: few by the definition, which is slow */
    int16_t *out;
    void *scratch;
    double seen; /* sum of scores, so that the compiler keeps every row */
};

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static void fill_data(KernelData *in)
{
    uint64_t seed = 1;
    const int w = in->width;
    for (int i = 0; i < w * in->rows; i++)
        in->image[0][i] = (int16_t)(next_random(&seed) % 4095 - 2047);
    for (int i = 0; i < w * in->rows; i++) /* the same 20 px off, with noise */
        in->image[1][i] = (int16_t)(in->image[0][i % w >= 20 ? i - 20 : i] * 7 / 8 +
                                     (int)(next_random(&seed) % 401) - 200);
    for (int i = 0; i < 4 * (2 * w + 4); i++)
        in->tall[i] = (int16_t)(next_random(&seed) % 4095 - 2047);
    for (int i = 0; i < 7 * w; i++) {
        in->disparity[i] = (float)(next_random(&seed) % 64) / 16.0f;
        in->change[i] = next_random(&seed) % 16 ? (int16_t)(next_random(&seed) % 1024) : SDM_CHANGE_NONE;
    }
    for (int i = 0; i < 3 * w; i++)
        in->valid[i] = next_random(&seed) % 16 != 0;
    for (int i = 0; i < w; i++) {
        in->surface[i] = 500.0f + (float)(next_random(&seed) % 256) / 8.0f;
        in->fraction[i] = (float)(i % CELL) / (float)CELL;
        in->texture[i] = in->texture[w + i] = 1.0f;
    }
    for (int c = 0; c <= w / CELL; c++)
        in->cell_begin[c] = c * CELL;
    for (int c = 0; c < w / CELL; c++)
        in->cells[c] = (SdmWarpCell){.origin_col = c * CELL,
                                      .origin_row = in->rows / 2,
                                      .col = {0.3f, 15.9f, 0.01f},
                                      .row = {0.2f, 0.1f}};
    for (int i = 0; i < w * in->depth; i++)
        in->score[i] = (float)(next_random(&seed) % 65536) / 65536.0f;
}

/* ---- calls ---- */

static void sum_row(void *user, const SdmCostRow *row)
{
    KernelCall *const c = user;
    c->seen += (double)row->score[row->width / 2];
}

static void run_cost(KernelCall *c, KernelData *in)
{
    const SdmCostJob job = {.left = in->image[0],
                            .right = in->image[1],
                            .stride = in->width,
                            .width = in->width,
                            .height = in->rows,
                            .row_end = c->rows,
                            .window = WINDOW,
                            .dmax = in->depth - 1,
                            .scratch = c->scratch};
    c->cost(&job, sum_row, c);
}

static void run_pick(KernelCall *c, KernelData *in)
{
    const SdmCostRow row = {.width = in->width,
                            .dmax = in->depth - 1,
                            .score = in->score,
                            .pitch = in->width,
                            .left_texture = in->texture,
                            .right_texture = in->texture + in->width};
    const SdmPickRow out = {in->pick[0], in->pick[1], in->pick[2], in->pick[3], in->pick[4], in->bytes};
    c->k->pick_row(&row, &out);
}

static void run_warp(KernelCall *c, KernelData *in)
{
    const SdmWarpRow row = {.cells = in->cells,
                            .cell_begin = in->cell_begin,
                            .cell_count = in->width / CELL,
                            .fraction = in->fraction,
                            .surface_m = in->surface,
                            .height0_m = 510.0f,
                            .source = in->image[0],
                            .source_stride = in->width,
                            .source_width = in->width,
                            .source_height = in->rows,
                            .width = in->width};
    c->k->warp_row(&row, c->out);
}

static void run_half(KernelCall *c, KernelData *in)
{
    const int16_t *src[4];
    for (int j = 0; j < 4; j++) /* pixel -1 comes first */
        src[j] = in->tall + (ptrdiff_t)j * (2 * in->width + 4) + 1;
    c->k->half_row(src, in->width, c->out);
}

static void run_median(KernelCall *c, KernelData *in)
{
    const float *const row[3] = {in->disparity, in->disparity + in->width,
                                 in->disparity + 2 * in->width};
    const uint16_t *const valid[3] = {in->valid, in->valid + in->width, in->valid + 2 * in->width};
    c->k->median_row(row, valid, in->width, in->floats);
}

static void run_agree(KernelCall *c, KernelData *in)
{
    const int16_t *row[2 * AGREE_HALF + 1];
    for (int j = 0; j <= 2 * AGREE_HALF; j++)
        row[j] = in->change + (ptrdiff_t)j * in->width;
    c->k->agree_row(row, AGREE_HALF, in->width, in->bytes);
}

static void run_change(KernelCall *c, KernelData *in)
{
    c->k->change_row(in->disparity, in->disparity + in->width, in->valid, in->width, 0.5f, c->out);
}

/* In and out again, so that the sums stay as they are. */
static void run_add(KernelCall *c, KernelData *in)
{
    for (int sign = 1; sign >= -1; sign -= 2)
        c->k->add_changes(in->disparity, in->disparity + in->width, in->valid, in->width, sign, in->sum,
                          in->count);
}

static void run_smooth(KernelCall *c, KernelData *in)
{
    const float *const row[3] = {in->disparity, in->disparity + in->width,
                                 in->disparity + 2 * in->width};
    c->k->smooth_row(row, in->width, in->floats);
}

static void run_update(KernelCall *c, KernelData *in)
{
    const int w = in->width;
    const SdmUpdateRow u = {.width = w,
                            .residual = in->disparity,
                            .score = in->score,
                            .runner_up = in->score + w,
                            .mismatch = in->disparity + w,
                            .edge = in->bytes,
                            .texture = in->texture,
                            .prior = in->surface,
                            .du_dh = in->fraction,
                            .min_score = 0.25f,
                            .min_margin = 0.05f,
                            .max_mismatch = 3.0f,
                            .not_at_edge = true,
                            .h_m = in->floats,
                            .flags = in->flags,
                            .quality = in->quality};
    c->k->update_row(&u);
}

static SdmStatus call_kernel(SdmContext *ctx, void *data)
{
    (void)ctx;
    KernelCall *const c = data;
    c->run(c, c->in);
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
    run_fn *run;
    SdmBenchNeed need;
} kernels[] = {
    {"sad 9x9", "score", run_cost, {8.0, 32.0, 0.0}},
    {"census 9x7 in 9x9", "score", run_cost, {10.0, 32.0, 0.0}},
    {"zncc 9x9", "score", run_cost, {8.0, 32.0, 0.0}},
    {"pick row of 64 scores", "pixel", run_pick, {6.0 * DEPTH, 32.0, 0.0}},
    {"warp row", "pixel", run_warp, {22.0, 32.0, 0.0}},
    {"half row", "pixel", run_half, {24.0, 16.0, 0.0}},
    {"median row 3x3", "pixel", run_median, {38.0, 32.0, 0.0}},
    {"change row", "pixel", run_change, {7.0, 32.0, 0.0}},
    {"agree row 7x7", "pixel", run_agree, {3.0 * 49.0, 16.0, 0.0}},
    {"add changes", "pixel", run_add, {10.0, 32.0, 0.0}},
    {"smooth row", "pixel", run_smooth, {6.0, 32.0, 0.0}},
    {"update row", "pixel", run_update, {30.0, 32.0, 0.0}},
};

static SdmStatus add_kernel(SdmBench *b, int i, const char *level, KernelData *in)
{
    SdmStatus st = SDM_OK;
    KernelCall *c = NULL;
    const SdmKernels *const k = sdm_kernels_at(level);
    sdm_cost_strip_fn *const costs[3] = {k->sad, k->census, k->zncc};
    const bool strip = kernels[i].run == run_cost;
    const int rows = k == &sdm_kernels_reference ? 2 : in->rows;
    const int each = strip ? rows * in->depth : kernels[i].run == run_add ? 2 : 1; /* outputs a column */
    TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = (KernelCall){.k = k, .run = kernels[i].run, .in = in, .cost = strip ? costs[i] : NULL, .rows = rows};
    if (strip)
        TRY(sdm_bench_alloc(b, &c->scratch, k->cost_scratch(in->width, WINDOW, 0, in->depth - 1), 1));
    TRY(sdm_bench_alloc(b, &c->out, (size_t)in->width, sizeof *c->out));
    TRY(sdm_bench_add(b, &(SdmBenchCase){.name = kernels[i].name,
                                         .level = level,
                                         .output = kernels[i].output,
                                         .outputs = (double)in->width * each,
                                         .threads = 1,
                                         .need = kernels[i].need,
                                         .call = call_kernel,
                                         .data = c}));
done:
    return st;
}

/* Does the level take kernel i from the one below it? */
static bool is_taken(int i, const SdmKernels *k, const SdmKernels *below)
{
    return (kernels[i].run == run_half && k->half_row == below->half_row) ||
           (kernels[i].run == run_agree && k->agree_row == below->agree_row) ||
           (kernels[i].run == run_smooth && k->smooth_row == below->smooth_row);
}

SdmStatus sdm_bench_add_kernels(SdmBench *b)
{
    SdmStatus st = SDM_OK;
    KernelData *in = NULL;
    TRY(sdm_bench_alloc(b, &in, 1, sizeof *in));
    in->width = b->opt->quick ? WIDTH / 8 : WIDTH;
    in->rows = b->opt->quick ? 12 : ROWS;
    in->depth = b->opt->quick ? 8 : DEPTH;
    fill_data(in);
    for (int i = 0; i < (int)(sizeof kernels / sizeof *kernels); i++)
        for (int l = 0; l < b->level_count; l++)
            if (l == 0 || !is_taken(i, sdm_kernels_at(b->levels[l]), sdm_kernels_at(b->levels[l - 1])))
                TRY(add_kernel(b, i, b->levels[l], in));
done:
    return st;
}
