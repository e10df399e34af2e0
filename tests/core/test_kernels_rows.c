/* Every copy of the kernels of rows (warp, half, pick) that runs here against the reference, bit for bit. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

/* ---- warp and half ---- */

typedef struct WarpInput {
    SdmWarpRow row;
    SdmWarpCell cells[40];
    int32_t begin[41];
    float *fraction, *surface;
    int16_t *source;
    int *pixels; /* of the reference that are no nodata */
} WarpInput;

static void warp_input(WarpInput *in, int width, int step, enum Fill fill, uint64_t *seed)
{
    /* width, height and stride; the least hold no taps, or the memory ends with the last of them */
    static const int sizes[][3] = {{90, 40, 93}, {90, 40, 90}, {4, 40, 4}, {9, 5, 9},
                                   {90, 4, 93},  {3, 40, 3},   {1, 1, 1}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    const uint64_t drawn = next_random(seed) % (2 * SIZES); /* the first one more often than the others */
    const int *const size = sizes[drawn < SIZES ? drawn : 0];
    const int sw = size[0], sh = size[1], cells = (width + step - 1) / step;
    const size_t pixels = (size_t)(size[2] * (sh - 1) + sw);
    in->fraction = malloc(sizeof(float) * (size_t)width);
    in->surface = malloc(sizeof(float) * (size_t)width);
    in->source = malloc(sizeof(int16_t) * pixels);
    assert_true(in->fraction && in->surface && in->source && cells <= 40);
    fill_image(in->source, pixels, fill, 0, seed);
    const float wild = next_random(seed) % 8 == 0 ? 256e6f : 256.0f; /* far off the image, or not */
    for (int c = 0; c < cells; c++) {
        SdmWarpCell *const cell = &in->cells[c];
        in->begin[c] = c * step;
        *cell = (SdmWarpCell){.origin_col = 1000 + (int)(next_random(seed) % (uint64_t)sw),
                              .origin_row = -200 + (int)(next_random(seed) % (uint64_t)sh)};
        const float range[2][4] = {{1.0f, 0.05f, 1e-4f}, {(float)step * 1.2f, 0.01f, 1e-5f}};
        for (int i = 0; i < 8; i++) {
            cell->begin[i] = wild * real(seed, -range[0][i % 4], range[0][i % 4]);
            cell->change[i] = wild * real(seed, -range[1][i % 4], range[1][i % 4]);
        }
    }
    in->begin[cells] = width;
    for (int x = 0; x < width; x++) {
        in->fraction[x] = (float)(x % step) / (float)step;
        in->surface[x] = real(seed, 300.0f, 700.0f);
    }
    in->row = (SdmWarpRow){.cells = in->cells,
                           .cell_begin = in->begin,
                           .cell_count = cells,
                           .fraction = in->fraction,
                           .surface_m = next_random(seed) % 4 ? in->surface : NULL,
                           .height0_m = 500.0f,
                           .source = in->source,
                           .source_stride = size[2],
                           .source_col0 = 1000,
                           .source_row0 = -200,
                           .source_width = sw,
                           .source_height = sh,
                           .ahead = sw % 3 * 48 - 48, /* off the source, too */
                           .fetch_each = sw % 4 * 5,
                           .width = width};
}

static int count_pixels(const int16_t *p, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += p[i] != SDM_PIXEL_NODATA;
    return count;
}

static void run_warp(const SdmKernels *k, const void *input, void *const *out)
{
    const WarpInput *const in = input;
    k->warp_row(&in->row, out[0]);
    *in->pixels += k == &sdm_kernels_reference ? count_pixels(out[0], in->row.width) : 0;
}

TEST(warp_rows_are_the_references)
{
    static const int widths[] = {1, 7, 16, 65, 129, 300, 31, 260}, steps[] = {16, 1, 300, 100};
    uint64_t seed = 77;
    int pixels = 0;
    for (int turn = 0; turn < 1200; turn += CASE_STEP) {
        const int width = widths[turn % 8], fit = steps[turn / 8 % 4], step = fit * 40 < width ? 16 : fit;
        const size_t bytes = (size_t)width * sizeof(int16_t);
        WarpInput in = {.pixels = &pixels};
        warp_input(&in, width, step, (enum Fill)(turn % FILL_END), &seed);
        compare_copies(run_warp, &in, &bytes, 1, "warp_row", turn);
        free(in.fraction);
        free(in.surface);
        free(in.source);
    }
    assert_true(pixels > (CASE_STEP == 1 ? 5000 : 0));
}

typedef struct HalfInput {
    const int16_t *src[4];
    int width;
} HalfInput;

static void run_half(const SdmKernels *k, const void *input, void *const *out)
{
    const HalfInput *const in = input;
    k->half_row(in->src, in->width, out[0]);
}

TEST(half_rows_are_the_references)
{
    static const int widths[] = {1, 2, 7, 16, 65, 129};
    uint64_t seed = 5;
    for (int turn = 0; turn < 600; turn += CASE_STEP) {
        const int width = widths[turn % 6], padded = 2 * width + 2;
        const size_t bytes = (size_t)width * sizeof(int16_t);
        FREED int16_t *const rows = malloc(sizeof(int16_t) * (size_t)(4 * padded));
        HalfInput in = {.width = width};
        fill_image(rows, (size_t)(4 * padded), (enum Fill)(turn / 6 % FILL_END), 0, &seed);
        for (int i = 0; i < 4 * padded && turn % 5 == 0;
             i++) /* blocks of nodata, to meet every share of weight */
            rows[i] = next_random(&seed) % 2 ? (int16_t)SDM_PIXEL_NODATA : rows[i];
        for (int j = 0; j < 4; j++)
            in.src[j] = rows + j * padded + 1;
        compare_copies(run_half, &in, &bytes, 1, "half_row", turn);
    }
}

/* ---- pick ---- */

typedef struct PickInput {
    SdmCostRow row;
    int asked; /* bit 0 the runner-up, bit 1 the left-right check */
} PickInput;

static void run_pick(const SdmKernels *k, const void *input, void *const *out)
{
    const PickInput *const in = input;
    const int asked = in->asked;
    k->pick_row(&in->row, &(SdmPickRow){out[0], out[1], asked & 1 ? out[2] : NULL, asked & 2 ? out[3] : NULL,
                                        asked & 2 ? out[4] : NULL, out[5]});
}

/* Volumes as cost kernels give them: none where x + d is off the row; few values, so that ties are met. */
static void fill_volume(float *score, const SdmCostRow *row, int kind, uint64_t *seed)
{
    for (int d = row->dmin; d <= row->dmax; d++)
        for (int x = 0; x < row->width; x++) {
            const bool off =
                x + d < 0 || x + d >= row->width || kind == 2 || (kind == 1 && next_random(seed) % 3 == 0);
            const int steps = kind == 3 ? 4 : 30000;
            const float v = (float)((int)(next_random(seed) % (unsigned)(2 * steps)) - steps) / (float)steps;
            score[(ptrdiff_t)(d - row->dmin) * row->pitch + x] = off ? SDM_SCORE_NONE : v;
        }
}

TEST(picks_are_the_references)
{
    static const int widths[] = {1, 3, 7, 16, 65, 129};
    uint64_t seed = 6;
    for (int turn = 0; turn < 6 * N_RANGES * 4 * 3; turn += CASE_STEP) {
        const int width = widths[turn % 6], pitch = width + turn % 3;
        const Range range = ranges[turn / 6 % N_RANGES];
        const size_t n = (size_t)width;
        FREED float *const score = malloc(sizeof(float) * (size_t)(pitch * (range.dmax - range.dmin + 1)));
        const PickInput in = {
            {.width = width, .dmin = range.dmin, .dmax = range.dmax, .score = score, .pitch = pitch},
            turn % 7 == 3 ? turn / 7 % 4 : 3};
        fill_volume(score, &in.row, turn / (6 * N_RANGES) % 4, &seed);
        compare_copies(run_pick, &in, (size_t[]){4 * n, 4 * n, 4 * n, 4 * n, 4 * n, n}, 6, "pick_row", turn);
    }
}

RUN_TESTS(NULL, NULL)
