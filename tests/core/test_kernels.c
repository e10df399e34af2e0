/* Every copy of the kernels that runs here against the reference, bit for bit: odd shapes, windows, ranges,
 * row sub-ranges and fills, with guard bytes around what they write. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include <stdio.h>

static const char *const level_names[] = {"c", "sse4.2", "avx2", "avx512"};
enum { N_LEVELS = sizeof level_names / sizeof *level_names };

enum Fill { ZEROS, TOP, BOTTOM, OPPOSED, NOISE, HOLES, ALL_NODATA, FILL_END };

static void fill_image(int16_t *p, size_t n, enum Fill fill, int side, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        const int16_t r = noise(seed);
        switch (fill) {
        case ZEROS: p[i] = 0; break;
        case TOP: p[i] = 2047; break;
        case BOTTOM: p[i] = -2047; break;
        case OPPOSED: p[i] = (r > 0) == (side > 0) ? 2047 : -2047; break;
        case HOLES: p[i] = next_random(seed) % 23 == 0 ? (int16_t)SDM_PIXEL_NODATA : r; break;
        case ALL_NODATA: p[i] = SDM_PIXEL_NODATA; break;
        default: p[i] = r; break;
        }
    }
}

typedef struct Shape {
    int w, h;
} Shape;
static const Shape shapes[] = {{1, 1}, {7, 2}, {65, 2}, {3, 70}, {5, 23}, {33, 31}, {129, 67}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

typedef struct Range {
    int dmin, dmax;
} Range;
static const Range ranges[] = {{-1, 1}, {0, 0}, {-5, -3}, {2, 2}, {-3, 4}, {-140, -135}, {60, 70}};
enum { N_RANGES = sizeof ranges / sizeof *ranges };

static sdm_cost_strip_fn *cost_of(const SdmKernels *k, int c)
{
    return c == 0 ? k->zncc : c == 1 ? k->census : k->sad;
}

static void compare_volumes(const Volume *want, const Volume *have, const char *what)
{
    const size_t n = (size_t)want->width * (size_t)want->height, bytes = n * sizeof(float);
    const bool same = want->rows == have->rows &&
                      memcmp(want->score, have->score, bytes * (size_t)volume_depth(want)) == 0 &&
                      memcmp(want->left, have->left, bytes) == 0 &&
                      memcmp(want->right, have->right, bytes) == 0;
    if (!same)
        fail_msg("%s", what);
}

static void compare_costs(const SdmCostJob *job, int c, int fill)
{
    Volume want, have;
    char what[160];
    volume_of(&sdm_kernels_reference, cost_of(&sdm_kernels_reference, c), job, &want);
    for (int l = 0; l < N_LEVELS; l++) {
        const SdmKernels *const k = sdm_kernels_at(level_names[l]);
        if (!k)
            continue;
        volume_of(k, cost_of(k, c), job, &have);
        snprintf(what, sizeof what,
                 "%s cost %d, %d x %d, rows %d..%d, window %d, d %d..%d, shift %d, fill %d", level_names[l],
                 c, job->width, job->height, job->row_begin, job->row_end, job->window, job->dmin, job->dmax,
                 job->right_shift, fill);
        compare_volumes(&want, &have, what);
        volume_free(&have);
    }
    volume_free(&want);
}

/* All fills, shifts and row ranges in turn for a shape, window and range of d. */
static void compare_case(int c, Shape s, int window, Range range, int turn)
{
    enum { PAD = 5 }; /* between rows, never to be read */
    const size_t n = (size_t)(s.w + PAD) * (size_t)s.h;
    int16_t *const left = malloc(n * sizeof *left), *const right = malloc(n * sizeof *right);
    uint64_t seed = (uint64_t)turn + 1;
    assert_true(left && right);
    const enum Fill fill = (enum Fill)(turn % FILL_END);
    fill_image(left, n, fill, 1, &seed);
    fill_image(right, n, turn / FILL_END % 3 == 0 ? NOISE : fill, 0, &seed);
    const int rows = turn / 2 % 3;
    const SdmCostJob job = {.left = left, .right = right, .stride = s.w + PAD, .width = s.w, .height = s.h,
                            .row_begin = rows == 1 ? s.h / 3 : 0, .row_end = rows == 2 ? (s.h + 1) / 2 : s.h,
                            .right_shift = turn / 5 % 3 - 1, .window = window, .dmin = range.dmin,
                            .dmax = range.dmax, .min_sigma = turn % 4 == 3 ? 1200.0f : 0.0f};
    compare_costs(&job, c, (int)fill);
    free(left);
    free(right);
}

static void costs_are_the_references(void **state)
{
    (void)state;
    int turn = 0;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < N_SHAPES; i++)
            for (int window = 3; window <= 21; window += 2)
                for (int r = 0; r < N_RANGES; r++, turn++) {
                    const bool large = shapes[i].w * shapes[i].h > 5000;
                    if (large && (window + r) % 4 != 0)
                        continue;
                    compare_case(c, shapes[i], window, ranges[r], turn);
                }
}

/* The sums at their limit: 21 x 21 of +-2047, where 2^22 x 441 must fit. */
static void largest_sums_do_not_wrap(void **state)
{
    (void)state;
    const Shape s = {48, 24};
    for (int c = 0; c < 3; c++)
        for (int fill = 0; fill < FILL_END; fill++)
            compare_case(c, s, 21, (Range){-2, 2}, fill + FILL_END); /* both sides alike */
}

/* ---- warp and half ---- */

typedef struct WarpInput {
    SdmWarpRow row;
    SdmWarpCell cells[40];
    int32_t begin[41];
    float *fraction, *surface;
    int16_t *source;
} WarpInput;

static float real(uint64_t *seed, float lo, float hi)
{
    return lo + (hi - lo) * (float)(next_random(seed) % 65536) / 65536.0f;
}

static void warp_input(WarpInput *in, int width, int step, enum Fill fill, uint64_t *seed)
{
    const int sw = 90, sh = 40, cells = (width + step - 1) / step;
    in->fraction = malloc(sizeof(float) * (size_t)width);
    in->surface = malloc(sizeof(float) * (size_t)width);
    in->source = malloc(sizeof(int16_t) * (size_t)((sw + 3) * sh));
    assert_true(in->fraction && in->surface && in->source && cells <= 40);
    fill_image(in->source, (size_t)((sw + 3) * sh), fill, 0, seed);
    const float wild = next_random(seed) % 8 == 0 ? 1e6f : 1.0f; /* far off the image */
    for (int c = 0; c < cells; c++) {
        SdmWarpCell *const cell = &in->cells[c];
        in->begin[c] = c * step;
        *cell = (SdmWarpCell){.origin_col = 1000 + (int)(next_random(seed) % 90),
                              .origin_row = -200 + (int)(next_random(seed) % 40)};
        const float size[6] = {1.0f, (float)step * 1.2f, 0.05f, 0.01f, 1e-4f, 1e-5f};
        for (int i = 0; i < 6; i++) {
            cell->col[i] = wild * real(seed, -size[i], size[i]);
            cell->row[i] = wild * real(seed, -size[i], size[i]);
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
                           .source_stride = sw + 3,
                           .source_col0 = 1000,
                           .source_row0 = -200,
                           .source_width = sw,
                           .source_height = sh,
                           .width = width};
}

static void warp_rows_are_the_references(void **state)
{
    (void)state;
    static const int widths[] = {1, 7, 16, 65, 129, 300}, steps[] = {16, 1, 300, 100};
    uint64_t seed = 77;
    int pixels = 0;
    for (int turn = 0; turn < 1200; turn++) {
        const int width = widths[turn % 6], fit = steps[turn / 6 % 4], step = fit * 40 < width ? 16 : fit;
        const size_t bytes = (size_t)width * sizeof(int16_t);
        WarpInput in;
        warp_input(&in, width, step, (enum Fill)(turn % FILL_END), &seed);
        int16_t *const want = guarded_alloc(bytes), *const have = guarded_alloc(bytes);
        sdm_kernels_reference.warp_row(&in.row, want);
        for (int x = 0; x < width; x++)
            pixels += want[x] != SDM_PIXEL_NODATA;
        for (int l = 0; l < N_LEVELS; l++) {
            const SdmKernels *const k = sdm_kernels_at(level_names[l]);
            if (!k)
                continue;
            memset(have, CANARY, bytes);
            k->warp_row(&in.row, have);
            guarded_check(have, bytes);
            if (memcmp(want, have, bytes) != 0)
                fail_msg("%s warp_row, width %d, step %d, turn %d", level_names[l], width, step, turn);
        }
        guarded_free(want);
        guarded_free(have);
        free(in.fraction);
        free(in.surface);
        free(in.source);
    }
    assert_true(pixels > 5000);
}

static void half_rows_are_the_references(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 7, 16, 65, 129};
    uint64_t seed = 5;
    for (int turn = 0; turn < 600; turn++) {
        const int width = widths[turn % 6], padded = 2 * width + 2;
        const size_t bytes = (size_t)width * sizeof(int16_t);
        int16_t *const rows = malloc(sizeof(int16_t) * (size_t)(4 * padded));
        int16_t *const want = guarded_alloc(bytes), *const have = guarded_alloc(bytes);
        assert_non_null(rows);
        fill_image(rows, (size_t)(4 * padded), (enum Fill)(turn / 6 % FILL_END), 0, &seed);
        for (int i = 0; i < 4 * padded && turn % 5 == 0;
             i++) /* blocks of nodata, to meet every share of weight */
            rows[i] = next_random(&seed) % 2 ? (int16_t)SDM_PIXEL_NODATA : rows[i];
        const int16_t *const src[4] = {rows + 1, rows + padded + 1, rows + 2 * padded + 1,
                                       rows + 3 * padded + 1};
        sdm_kernels_reference.half_row(src, width, want);
        for (int l = 0; l < N_LEVELS; l++) {
            const SdmKernels *const k = sdm_kernels_at(level_names[l]);
            if (!k)
                continue;
            memset(have, CANARY, bytes);
            k->half_row(src, width, have);
            guarded_check(have, bytes);
            if (memcmp(want, have, bytes) != 0)
                fail_msg("%s half_row, width %d, turn %d", level_names[l], width, turn);
        }
        free(rows);
        guarded_free(want);
        guarded_free(have);
    }
}

/* ---- pick ---- */

typedef struct Picked { /* guarded rows */
    int width;
    float *row[5];
    uint8_t *edge;
} Picked;

static void picked_open(Picked *p, int width)
{
    p->width = width;
    for (int i = 0; i < 5; i++)
        p->row[i] = guarded_alloc((size_t)width * sizeof(float));
    p->edge = guarded_alloc((size_t)width);
}

static void picked_run(const SdmKernels *k, const SdmCostRow *row, Picked *p)
{
    const SdmPickRow out = {p->row[0], p->row[1], p->row[2], p->row[3], p->row[4], p->edge};
    for (int i = 0; i < 5; i++)
        memset(p->row[i], 0, (size_t)p->width * sizeof(float));
    k->pick_row(row, &out);
    for (int i = 0; i < 5; i++)
        guarded_check(p->row[i], (size_t)p->width * sizeof(float));
    guarded_check(p->edge, (size_t)p->width);
}

static void picked_close(Picked *p)
{
    for (int i = 0; i < 5; i++)
        guarded_free(p->row[i]);
    guarded_free(p->edge);
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

static void picked_compare(const Picked *want, const Picked *have, const char *what)
{
    bool same = memcmp(want->edge, have->edge, (size_t)want->width) == 0;
    for (int i = 0; i < 5; i++)
        same = same && memcmp(want->row[i], have->row[i], (size_t)want->width * sizeof(float)) == 0;
    if (!same)
        fail_msg("%s", what);
}

static void picks_are_the_references(void **state)
{
    (void)state;
    static const int widths[] = {1, 3, 7, 16, 65, 129};
    uint64_t seed = 6;
    char what[80];
    for (int turn = 0; turn < 6 * N_RANGES * 4 * 3; turn++) {
        const int width = widths[turn % 6], pitch = width + turn % 3;
        const Range range = ranges[turn / 6 % N_RANGES];
        const int nd = range.dmax - range.dmin + 1;
        float *const score = malloc(sizeof(float) * (size_t)(pitch * nd));
        assert_non_null(score);
        const SdmCostRow row = {.width = width, .dmin = range.dmin, .dmax = range.dmax, .score = score,
                                .pitch = pitch};
        Picked want, have;
        fill_volume(score, &row, turn / (6 * N_RANGES) % 4, &seed);
        picked_open(&want, width);
        picked_open(&have, width);
        picked_run(&sdm_kernels_reference, &row, &want);
        for (int l = 0; l < N_LEVELS; l++) {
            const SdmKernels *const k = sdm_kernels_at(level_names[l]);
            if (!k)
                continue;
            picked_run(k, &row, &have);
            snprintf(what, sizeof what, "%s pick_row, width %d, d %d..%d, turn %d", level_names[l], width,
                     range.dmin, range.dmax, turn);
            picked_compare(&want, &have, what);
        }
        picked_close(&want);
        picked_close(&have);
        free(score);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_the_references),
        cmocka_unit_test(largest_sums_do_not_wrap),
        cmocka_unit_test(warp_rows_are_the_references),
        cmocka_unit_test(half_rows_are_the_references),
        cmocka_unit_test(picks_are_the_references),
    };
    for (int l = 0; l < N_LEVELS; l++)
        print_message("%-7s %s\n", level_names[l],
                      sdm_kernels_at(level_names[l]) ? "here" : "not on this machine");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
