/* The kernels of kernels.h -> cases, one for each instruction set.  Rows, labels, holes as in the chain. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "kernels.h"

#include <stdlib.h>

enum {
    WIDTH = 3962,
    ROWS = 16,         /* of the surface; a call takes one after the other */
    STRIP = 64,        /* rows of scores */
    SOURCE_ROWS = 304, /* of the images */
    PANEL = 256,       /* columns that are warped together along track: frame rows run down the image */
    MOST_LABELS = 11,
    CELL = 16,
    AGREE_HALF = 3,
    HOLE_PX = 8, /* across a hole */
    RADIUS = 384 /* of a point, 1/256 cell: of 2 px */
};
static const double TWO_PI = 6.283185307179586, WAVE_PX = 300.0,
                    HEIGHT_M = 358.0; /* of the terrain: with pixels of 15 m its steepest slope is 0.5 */

/* Inputs that all cases share, and outputs. */
typedef struct KernelData {
    int16_t image[2][SOURCE_ROWS * WIDTH], tall[4 * (2 * WIDTH + 4)], change[ROWS * WIDTH];
    float h_m[ROWS * WIDTH], prior_m[ROWS * WIDTH];
    float fraction[WIDTH], residual[WIDTH], match_score[WIDTH], mismatch[WIDTH], du_dh[WIDTH], floats[WIDTH];
    uint16_t valid[ROWS * WIDTH], flags[WIDTH];
    int32_t sum[WIDTH], count[WIDTH];
    int32_t noise[WIDTH], energy[2][WIDTH], weights[RADIUS + 513];
    uint8_t bytes[WIDTH], edge[WIDTH], quality[WIDTH];
    float score[MOST_LABELS * WIDTH], texture[WIDTH]; /* one row of costs */
    float pick[4][WIDTH];
    SdmWarpCell cells[2][WIDTH / CELL + 1]; /* the second ones go down the image */
    int32_t cell_begin[WIDTH / CELL + 2];
    SdmSpreadPoint points[WIDTH];
    uint64_t three[256];
    int64_t sums[8 * 3 * (WIDTH / 2 + 2)]; /* of three rows of cells */
    int width, panel;                      /* that are used */
} KernelData;

typedef struct KernelCall KernelCall;
typedef void run_fn(KernelCall *c, KernelData *in);
struct KernelCall {
    const SdmKernels *k;
    run_fn *run;
    KernelData *in;
    sdm_cost_strip_fn *cost;
    int labels, window; /* of costs and of the choice among them */
    int rows;           /* of the strip: few by the definition, which is slow */
    int turn;           /* calls so far: which row is next */
    int16_t *out;
    void *scratch;
    double seen; /* sum of scores, so that the compiler keeps every row */
};

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* A wave along the row; heights differ from the prior by a long wave and some noise.  change: neighbours may
 * differ by 256 of its units. */
static void fill_terrain(KernelData *in, uint64_t *seed)
{
    const int w = in->width;
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < w; x++) {
            const int i = y * w + x;
            const double change_m = 5.0 * sin(TWO_PI * x / (4.0 * WAVE_PX)) +
                                    0.25 * ((double)(next_random(seed) % 256) / 128.0 - 1.0);
            in->prior_m[i] = (float)(500.0 + HEIGHT_M * sin(TWO_PI * x / WAVE_PX) + 0.5 * y);
            in->h_m[i] = in->prior_m[i] + (float)change_m;
            in->change[i] = (int16_t)lrint(10.24 * change_m); /* 25 m make 256 */
            in->valid[i] = 1;
        }
}

/* Half a percent of the surface: squares of HOLE_PX pixels, some of which the first or the last row cuts. */
static void cut_holes(KernelData *in, uint64_t *seed)
{
    const int w = in->width, count = w * ROWS / 200 / (HOLE_PX * HOLE_PX) + 1;
    for (int k = 0; k < count; k++) {
        const int x0 = (int)(next_random(seed) % (uint32_t)(w - HOLE_PX));
        const int y0 = (int)(next_random(seed) % ROWS);
        for (int y = y0; y < y0 + HOLE_PX && y < ROWS; y++)
            for (int x = x0; x < x0 + HOLE_PX; x++) {
                in->valid[y * w + x] = 0;
                in->change[y * w + x] = SDM_CHANGE_NONE;
            }
    }
}

static void fill_images(KernelData *in, uint64_t *seed)
{
    const int w = in->width;
    for (int i = 0; i < w * SOURCE_ROWS; i++)
        in->image[0][i] = (int16_t)(next_random(seed) % 4095 - 2047);
    for (int i = 0; i < w * SOURCE_ROWS; i++) /* the same 1 px off, with noise */
        in->image[1][i] =
            (int16_t)(in->image[0][i % w >= 1 ? i - 1 : i] * 7 / 8 + (int)(next_random(seed) % 401) - 200);
    for (int i = 0; i < 4 * (2 * w + 4); i++)
        in->tall[i] = (int16_t)(next_random(seed) % 4095 - 2047);
}

/* A height moves a pixel by 0.04 px a metre, on the side that its frame row runs to. */
static void fill_cells(KernelData *in)
{
    const int w = in->width, cells = (w + CELL - 1) / CELL;
    for (int c = 0; c <= cells; c++)
        in->cell_begin[c] = c * CELL < w ? c * CELL : w;
    for (int c = 0; c < cells; c++) {
        const SdmWarpCell along = {.origin_col = c * CELL,
                                   .origin_row = SOURCE_ROWS / 2,
                                   .begin = {256.0f * 0.3f, 256.0f * 0.04f, [4] = 256.0f * 0.2f},
                                   .change = {256.0f * 15.99f, [4] = 256.0f * 0.01f}};
        in->cells[0][c] = along;
        in->cells[1][c] = (SdmWarpCell){.origin_col = w / 2, .origin_row = (c + 1) * CELL + CELL / 2};
        for (int k = 0; k < 8; k++) { /* the axes change places */
            in->cells[1][c].begin[k] = along.begin[(k + 4) % 8];
            in->cells[1][c].change[k] = along.change[(k + 4) % 8];
        }
    }
}

static void fill_data(KernelData *in)
{
    uint64_t seed = 1;
    const int w = in->width;
    fill_terrain(in, &seed);
    cut_holes(in, &seed);
    fill_images(in, &seed);
    fill_cells(in);
    for (int i = 0; i <= RADIUS; i++)
        in->weights[i] = 4096 - 4096 * i / (RADIUS + 1);
    sdm_spread_three(in->weights, RADIUS, in->three);
    for (int x = 0; x < w; x++) {
        in->noise[x] = 1000 + x % 64;
        in->energy[0][x] = in->energy[1][x] = 900 + x % 256;
        const bool hole = !in->valid[x];
        in->fraction[x] = (float)(x % CELL) / (float)CELL;
        in->residual[x] = (float)(0.4 * sin(TWO_PI * x / WAVE_PX));
        in->match_score[x] = hole ? 0.1f : 0.9f;
        in->mismatch[x] = hole ? 3.0f : 0.1f;
        in->du_dh[x] = 0.04f;
        in->texture[x] = 1.0f;
    }
    for (int d = 0; d < MOST_LABELS; d++) /* highest in the middle, but for noise */
        for (int x = 0; x < w; x++)
            in->score[d * w + x] = 0.9f - 0.1f * (float)abs(d - MOST_LABELS / 2) +
                                   (float)(next_random(&seed) % 65536) / (8.0f * 65536.0f);
}

/* The row whose turn it is, of those with `beside` rows on both sides. */
static int next_row(KernelCall *c, int beside)
{
    return beside + c->turn++ % (ROWS - 2 * beside);
}

/* ---- calls ---- */

static void sum_row(void *user, const SdmCostRow *row)
{
    KernelCall *const c = user;
    c->seen += (double)row->score[row->width / 2];
}

static void run_cost(KernelCall *c, KernelData *in)
{
    const int beside = c->window / 2;
    const SdmCostJob job = {.left = in->image[0],
                            .right = in->image[1],
                            .stride = in->width,
                            .width = in->width,
                            .height = c->rows + 2 * beside,
                            .row_begin = beside,
                            .row_end = beside + c->rows,
                            .window = c->window,
                            .dmin = -(c->labels / 2),
                            .dmax = c->labels / 2,
                            .scratch = c->scratch};
    c->cost(&job, sum_row, c);
}

/* As in the chain: the pass of three labels looks at the left view alone. */
static void run_pick(KernelCall *c, KernelData *in)
{
    const int half = c->labels / 2, w = in->width;
    const SdmCostRow row = {.width = w,
                            .dmin = -half,
                            .dmax = half,
                            .score = in->score + (ptrdiff_t)(MOST_LABELS / 2 - half) * w,
                            .pitch = w,
                            .left_texture = in->texture};
    SdmPickRow out = {.residual = in->pick[0], .score = in->pick[1], .edge = in->bytes};
    if (half > 1) {
        out.right_best = in->pick[2];
        out.mismatch = in->pick[3];
    }
    c->k->pick_row(&row, &out);
}

static void warp(KernelCall *c, KernelData *in, bool down, int width)
{
    const int y = next_row(c, 0), w = in->width;
    const SdmWarpRow row = {.cells = in->cells[down],
                            .cell_begin = in->cell_begin,
                            .cell_count = (width + CELL - 1) / CELL,
                            .fraction = in->fraction,
                            .surface_m = in->prior_m + (ptrdiff_t)y * w,
                            .height0_m = 500.0f,
                            .source = in->image[0] + (down ? y : y * w), /* its next row */
                            .source_stride = w,
                            .source_width = down ? w - ROWS : w,
                            .source_height = down ? SOURCE_ROWS : SOURCE_ROWS - ROWS,
                            .width = width};
    c->k->warp_row(&row, c->out);
}

static void run_warp(KernelCall *c, KernelData *in)
{
    warp(c, in, false, in->width);
}

static void run_warp_down(KernelCall *c, KernelData *in)
{
    warp(c, in, true, in->panel);
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
    const ptrdiff_t w = in->width, y = next_row(c, 1);
    const float *const h = in->h_m + y * w;
    const uint16_t *const v = in->valid + y * w;
    c->k->median_row((const float *const[3]){h - w, h, h + w}, (const uint16_t *const[3]){v - w, v, v + w},
                     in->width, in->floats);
}

static void run_agree(KernelCall *c, KernelData *in)
{
    const int y = next_row(c, AGREE_HALF);
    const int16_t *row[2 * AGREE_HALF + 1];
    for (int j = 0; j <= 2 * AGREE_HALF; j++)
        row[j] = in->change + (ptrdiff_t)(y + j - AGREE_HALF) * in->width;
    c->k->agree_row(row, AGREE_HALF, in->width, in->bytes);
}

static void run_change(KernelCall *c, KernelData *in)
{
    const ptrdiff_t at = (ptrdiff_t)next_row(c, 0) * in->width;
    c->k->change_row(in->h_m + at, in->prior_m + at, in->valid + at, in->width, 25.0f, c->out);
}

/* In and out again, so that the sums stay as they are. */
static void run_add(KernelCall *c, KernelData *in)
{
    const ptrdiff_t at = (ptrdiff_t)next_row(c, 0) * in->width;
    for (int sign = 1; sign >= -1; sign -= 2)
        c->k->add_changes(in->h_m + at, in->prior_m + at, in->valid + at, in->width, sign, in->sum,
                          in->count);
}

static void run_smooth(KernelCall *c, KernelData *in)
{
    const ptrdiff_t w = in->width;
    const float *const h = in->h_m + next_row(c, 1) * w;
    c->k->smooth_row((const float *const[3]){h - w, h, h + w}, in->width, in->floats);
}

static void run_update(KernelCall *c, KernelData *in)
{
    const SdmUpdateRow u = {.width = in->width,
                            .residual = in->residual,
                            .score = in->match_score,
                            .mismatch = in->mismatch,
                            .edge = in->edge,
                            .texture = in->texture,
                            .prior = in->prior_m,
                            .du_dh = in->du_dh,
                            .min_score = 0.25f,
                            .max_mismatch = 0.7f,
                            .not_at_edge = true,
                            .h_m = in->floats,
                            .flags = in->flags,
                            .quality = in->quality};
    c->k->update_row(&u);
}

static void run_ray_error(KernelCall *c, KernelData *in)
{
    const float *const s = in->score + (ptrdiff_t)(MOST_LABELS / 2) * in->width;
    c->k->ray_error_row((const float *const[3]){s - in->width, s, s + in->width}, in->width, in->floats,
                        in->bytes);
}

static void run_refine(KernelCall *c, KernelData *in)
{
    const float *const h = in->h_m + (ptrdiff_t)next_row(c, 1) * in->width;
    c->k->refine_row(h, h + in->width, 0.25f, in->width / 2, in->floats);
}

/* Two pixels a cell, in parts of a cell of the lattice. */
static void run_ground(KernelCall *c, KernelData *in)
{
    const ptrdiff_t at = (ptrdiff_t)next_row(c, 0) * in->width;
    for (int x = 0; x < in->width; x += CELL) {
        const int n = in->width - x < CELL ? in->width - x : CELL;
        const SdmGroundRow row = {.h_m = in->h_m + at + x,
                                  .ray_error_px = in->residual + x,
                                  .flags = in->valid + at + x,
                                  .score = in->quality + x,
                                  .left = in->image[0] + at + x,
                                  .a = {{0.0f, CELL / 2, 0.0f, CELL / 2}, {1.2f, 1.3f, 1.2f, 1.3f}},
                                  .b = {1e-4f, 1e-4f},
                                  .inv = 1.0f / CELL,
                                  .height0_m = 500.0f,
                                  .corner = {128 * x, 0},
                                  .middle = 128000,
                                  .valid = 1,
                                  .filled = 2};
        c->k->ground_points(&row, n, in->points + x);
    }
}

static void run_spread(KernelCall *c, KernelData *in)
{
    const SdmSpread s = {.cols = in->width / 2 + 2,
                         .rows = 3,
                         .pitch = in->width / 2 + 2,
                         .radius = RADIUS,
                         .table = in->weights,
                         .three = in->three,
                         .cell = in->sums};
    if (c->turn++ == 0)
        run_ground(c, in);
    c->k->spread_points(&s, in->points, in->width);
}

static void run_blur(KernelCall *c, KernelData *in)
{
    const ptrdiff_t w = in->width;
    const float *const h = in->h_m + next_row(c, 2) * w;
    c->k->blur_row((const float *const[5]){h - 2 * w, h - w, h, h + w, h + 2 * w}, in->width, 1, in->floats);
}

static void run_noise(KernelCall *c, KernelData *in)
{
    const ptrdiff_t w = in->width, y = next_row(c, 2);
    const int16_t *const at = in->image[0] + y * w;
    const SdmNoiseRow row = {.left = {at - 2 * w, at - w, at, at + w, at + 2 * w},
                             .valid = in->valid + y * w,
                             .score = in->edge, /* all 0 */
                             .ratio = in->texture,
                             .width = in->width};
    c->k->noise_row(&row, in->sum);
}

static void run_square(KernelCall *c, KernelData *in)
{
    const ptrdiff_t at = (ptrdiff_t)next_row(c, 0) * in->width;
    c->k->square_row(in->h_m + at, in->prior_m + at, in->valid + at, in->width, 37.5f, in->sum);
}

static void run_wiener(KernelCall *c, KernelData *in)
{
    const ptrdiff_t w = in->width;
    const float *const h = in->h_m + next_row(c, 1) * w;
    const SdmWienerRow row = {.high = h - w,
                              .middle = h,
                              .low = h + w,
                              .noise = in->noise,
                              .energy = {in->energy[0], in->energy[1]},
                              .share = 0.9f,
                              .gain = {1.7f, 1.0f},
                              .width = in->width};
    c->k->wiener_row(&row, in->floats);
}

static SdmStatus call_kernel(SdmContext *ctx, void *data)
{
    (void)ctx;
    KernelCall *const c = data;
    c->run(c, c->in);
    return SDM_OK;
}

/* ---- cases ---- */

enum Cost { NO_COST, CENSUS, ZNCC };

static const struct {
    const char *name, *output;
    run_fn *run;
    enum Cost cost;
    int window, labels;
} kernels[] = {
    {"census 9x7 in 9x9 +-3", "score", run_cost, CENSUS, 9, 7},
    {"census 9x7 in 13x13 +-5", "score", run_cost, CENSUS, 13, 11},
    {"census 9x7 in 5x5 +-1", "score", run_cost, CENSUS, 5, 3},
    {"zncc 9x9 +-3", "score", run_cost, ZNCC, 9, 7},
    {"zncc 13x13 +-5", "score", run_cost, ZNCC, 13, 11},
    {"zncc 5x5 +-1", "score", run_cost, ZNCC, 5, 3},
    {"pick row of 3 scores", "pixel", run_pick, NO_COST, 0, 3},
    {"pick row of 7 scores", "pixel", run_pick, NO_COST, 0, 7},
    {"pick row of 11 scores", "pixel", run_pick, NO_COST, 0, 11},
    {"warp row", "pixel", run_warp, NO_COST, 0, 0},
    {"warp row along track", "pixel", run_warp_down, NO_COST, 0, 0},
    {"half row", "pixel", run_half, NO_COST, 0, 0},
    {"median row 3x3", "pixel", run_median, NO_COST, 0, 0},
    {"change row", "pixel", run_change, NO_COST, 0, 0},
    {"agree row 7x7", "pixel", run_agree, NO_COST, 0, 0},
    {"add changes", "pixel", run_add, NO_COST, 0, 0},
    {"smooth row", "pixel", run_smooth, NO_COST, 0, 0},
    {"update row", "pixel", run_update, NO_COST, 0, 0},
    {"ray error row", "pixel", run_ray_error, NO_COST, 0, 0},
    {"refine row", "pixel", run_refine, NO_COST, 0, 0},
    {"ground points", "pixel", run_ground, NO_COST, 0, 0},
    {"spread points", "pixel", run_spread, NO_COST, 0, 0},
    {"blur row", "pixel", run_blur, NO_COST, 0, 0},
    {"noise row", "pixel", run_noise, NO_COST, 0, 0},
    {"square row", "pixel", run_square, NO_COST, 0, 0},
    {"wiener row", "pixel", run_wiener, NO_COST, 0, 0},
};

static SdmStatus add_kernel(SdmBench *b, int i, const char *level, KernelData *in)
{
    KernelCall *c = NULL;
    const SdmKernels *const k = sdm_kernels_at(level);
    sdm_cost_strip_fn *const costs[] = {[NO_COST] = NULL, [CENSUS] = k->census, [ZNCC] = k->zncc};
    const int labels = kernels[i].labels, window = kernels[i].window,
              rows = k == &sdm_kernels_reference ? 2
                     : b->opt->quick             ? 4
                                                 : STRIP;
    const int columns = kernels[i].run == run_warp_down ? in->panel : in->width;
    const int each = kernels[i].cost ? rows * labels : kernels[i].run == run_add ? 2 : 1; /* of a column */
    PASS(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = (KernelCall){.k = k,
                      .run = kernels[i].run,
                      .in = in,
                      .cost = costs[kernels[i].cost],
                      .labels = labels,
                      .window = window,
                      .rows = rows};
    if (c->cost)
        PASS(sdm_bench_alloc(b, &c->scratch, k->cost_scratch(in->width, window, -(labels / 2), labels / 2),
                             1));
    PASS(sdm_bench_alloc(b, &c->out, (size_t)in->width, sizeof *c->out));
    return sdm_bench_add(b, &(SdmBenchCase){.name = kernels[i].name,
                                            .level = level,
                                            .output = kernels[i].output,
                                            .outputs = (double)columns * each,
                                            .threads = 1,
                                            .call = call_kernel,
                                            .data = c});
}

SdmStatus sdm_bench_add_kernels(SdmBench *b)
{
    KernelData *in = NULL;
    PASS(sdm_bench_alloc(b, &in, 1, sizeof *in));
    in->width = b->opt->quick ? WIDTH / 16 : WIDTH;
    in->panel = b->opt->quick ? PANEL / 4 : PANEL;
    fill_data(in);
    for (int i = 0; i < (int)(sizeof kernels / sizeof *kernels); i++)
        for (int l = 0; l < b->level_count; l++)
            PASS(add_kernel(b, i, b->levels[l], in));
    return SDM_OK;
}
