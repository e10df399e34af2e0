/* Every copy of the kernels of rows (warp, half, pick, filters) that runs here against the reference, bit for
 * bit. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa.h"
#include "kernel_cases.h"

#include <stdio.h>

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

/* asked: bit 0 the runner-up, bit 1 the left-right check */
static void picked_run(const SdmKernels *k, const SdmCostRow *row, int asked, Picked *p)
{
    const SdmPickRow out = {p->row[0], p->row[1], asked & 1 ? p->row[2] : NULL, asked & 2 ? p->row[3] : NULL,
                            asked & 2 ? p->row[4] : NULL, p->edge};
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
        picked_run(&sdm_kernels_reference, &row, turn % 7 == 3 ? turn / 7 % 4 : 3, &want);
        for (int l = 0; l < N_LEVELS; l++) {
            const SdmKernels *const k = sdm_kernels_at(level_names[l]);
            if (!k)
                continue;
            picked_run(k, &row, turn % 7 == 3 ? turn / 7 % 4 : 3, &have);
            snprintf(what, sizeof what, "%s pick_row, width %d, d %d..%d, turn %d", level_names[l], width,
                     range.dmin, range.dmax, turn);
            picked_compare(&want, &have, what);
        }
        picked_close(&want);
        picked_close(&have);
        free(score);
    }
}

/* ---- filters ---- */

/* Rows of heights with holes, some rows missing or given twice. */
enum { FILTER_ROWS = 15, FILTERS = 10 };

typedef struct FilterInput {
    int w, half;
    float *h;
    uint16_t *flags;
    const int16_t *change[FILTER_ROWS]; /* rows of changes, NULL = does not exist */
    const float *rows[3], *score[3];
    const uint16_t *valid[3];
} FilterInput;

typedef struct Filtered { /* what each filter writes, guarded */
    void *out[FILTERS];
} Filtered;
static const size_t filter_size[FILTERS] = {
    sizeof(float), sizeof(int16_t), 1, sizeof(int32_t),   sizeof(int32_t),
    sizeof(float), sizeof(float),   1, 2 * sizeof(float), 8 * sizeof(int64_t)};

static void filtered_open(Filtered *f, int w)
{
    for (int i = 0; i < FILTERS; i++) {
        f->out[i] = guarded_alloc((size_t)w * filter_size[i]);
        memset(f->out[i], 1, (size_t)w * filter_size[i]);
    }
}

static void filter_all(const SdmKernels *k, const FilterInput *in, const Filtered *f)
{
    k->median_row(in->rows, in->valid, in->w, f->out[0]);
    k->change_row(in->rows[1], in->rows[0], in->valid[1], in->w, 3.3f, f->out[1]);
    k->agree_row(in->change, in->half, in->w, f->out[2]);
    k->add_changes(in->rows[1], in->rows[2], in->valid[1], in->w, in->half & 1 ? 1 : -1, f->out[3],
                   f->out[4]);
    k->smooth_row(in->rows, in->w, f->out[5]);
    k->gap_row(in->score, in->w, f->out[6], f->out[7]);
    k->refine_row(in->rows[0], in->rows[1], in->half & 1 ? 0.25f : 0.75f, in->w,
                  f->out[8]); /* a row ends where the next begins */
    int32_t table[600];
    SdmSpreadPoint point[129];
    for (int i = 0; i < 600; i++)
        table[i] = 4096 - 3 * i;
    for (int i = 0; i < in->w; i++)
        point[i] = (SdmSpreadPoint){.x = 200 * i - 300,
                                    .y = 7 * i - 500,
                                    .h = 9777 * i - 20001,
                                    .score = i,
                                    .gap = 3 * i,
                                    .image = -i,
                                    .valid = i % 3 > 0,
                                    .filled = i & 1,
                                    .seen = i % 5 > 0};
    const SdmSpread spread = {.cols = in->w,
                              .rows = 1,
                              .pitch = in->w,
                              .radius = 384 + in->half,
                              .table = table,
                              .cell = f->out[9]};
    k->spread_points(&spread, point, in->w);
    for (int i = 0; i < FILTERS; i++)
        guarded_check(f->out[i], (size_t)in->w * filter_size[i]);
}

static void filters_compare(const FilterInput *in, int turn)
{
    Filtered want, have;
    filtered_open(&want, in->w);
    filter_all(&sdm_kernels_reference, in, &want);
    for (int l = 0; l < N_LEVELS; l++) {
        const SdmKernels *const k = sdm_kernels_at(level_names[l]);
        if (!k)
            continue;
        filtered_open(&have, in->w);
        filter_all(k, in, &have);
        for (int i = 0; i < FILTERS; i++) {
            if (memcmp(want.out[i], have.out[i], (size_t)in->w * filter_size[i]) != 0)
                fail_msg("%s filter %d, width %d, half %d, turn %d", level_names[l], i, in->w, in->half,
                         turn);
            guarded_free(have.out[i]);
        }
    }
    for (int i = 0; i < FILTERS; i++)
        guarded_free(want.out[i]);
}

static void filters_are_the_references(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 7, 16, 65, 129};
    uint64_t seed = 21;
    for (int turn = 0; turn < 700; turn++) {
        const int w = widths[turn % 7], half = turn / 7 % 8;
        const size_t n = (size_t)w * FILTER_ROWS;
        float *const h = malloc(n * sizeof *h), *const score = malloc(n * sizeof *score);
        uint16_t *const flags = malloc(n * sizeof *flags);
        int16_t *const change = malloc(n * sizeof *change);
        assert_true(h && change && flags);
        for (size_t i = 0; i < n; i++) {
            score[i] = next_random(&seed) % 9 == 0 ? SDM_SCORE_NONE : real(&seed, -1.0f, 1.0f);
            h[i] = 100.0f + (float)(next_random(&seed) % (turn % 3 ? 100000u : 5u)) / 64.0f;
            if (turn % 50 == 7)
                h[i] *= 1000.0f; /* beyond what changes are kept within */
            flags[i] = next_random(&seed) % 8 < (unsigned)(turn / 56 % 9) ? 3 : 2; /* bit 0 is what counts */
            change[i] = (int16_t)(flags[i] & 1 ? (int)(next_random(&seed) % 3000) - 1500 : SDM_CHANGE_NONE);
        }
        FilterInput in = {.w = w,
                          .half = half,
                          .h = h,
                          .flags = flags,
                          .rows = {turn % 4 ? h : h + w, h + w, h + 2 * (ptrdiff_t)w},
                          .valid = {turn % 4 ? flags : flags + w, flags + w, flags + 2 * (ptrdiff_t)w},
                          .score = {score, score + w, score + 2 * (ptrdiff_t)w}};
        for (int j = 0; j < FILTER_ROWS; j++)
            in.change[j] = j != half && next_random(&seed) % 5 == 0 ? NULL : change + (ptrdiff_t)j * w;
        filters_compare(&in, turn);
        free(h);
        free(score);
        free(change);
        free(flags);
    }
}

typedef struct UpdateInput {
    int w;
    float *row[7]; /* residual, score, runner-up, mismatch, texture, prior, du_dh */
    uint8_t *edge;
} UpdateInput;

static void update_compare(const UpdateInput *in, int turn)
{
    const size_t n = (size_t)in->w;
    SdmUpdateRow u = {.width = in->w,
                      .residual = in->row[0],
                      .score = in->row[1],
                      .runner_up = turn & 1 ? in->row[2] : NULL,
                      .mismatch = turn & 2 ? in->row[3] : NULL,
                      .edge = in->edge,
                      .texture = in->row[4],
                      .prior = in->row[5],
                      .du_dh = in->row[6],
                      .min_score = 0.3f,
                      .min_margin = 0.1f,
                      .max_mismatch = 0.7f,
                      .not_at_edge = turn & 4,
                      .keep_valid = turn & 8,
                      .bears = turn & 16 ? 120 : 0};
    float *h[2];
    uint16_t *flags[2];
    uint8_t *quality[2];
    for (int l = -1; l < N_LEVELS; l++) {
        const SdmKernels *const k = l < 0 ? &sdm_kernels_reference : sdm_kernels_at(level_names[l]);
        const int at = l >= 0;
        if (!k)
            continue;
        u.h_m = h[at] = guarded_alloc(n * sizeof(float));
        u.flags = flags[at] = guarded_alloc(n * sizeof(uint16_t));
        u.quality = quality[at] = guarded_alloc(n);
        for (int x = 0; x < in->w; x++) {
            h[at][x] = (float)x;
            flags[at][x] = (uint16_t)(x % 3 == 0 ? SDM_QA_VALID : SDM_QA_FOLD);
            quality[at][x] = (uint8_t)(x * 37);
        }
        k->update_row(&u);
        guarded_check(h[at], n * sizeof(float));
        guarded_check(flags[at], n * sizeof(uint16_t));
        guarded_check(quality[at], n);
        if (at == 0)
            continue;
        if (memcmp(h[0], h[1], n * sizeof(float)) != 0 || memcmp(flags[0], flags[1], 2 * n) != 0 ||
            memcmp(quality[0], quality[1], n) != 0)
            fail_msg("%s update, width %d, turn %d", level_names[l], in->w, turn);
        guarded_free(h[1]);
        guarded_free(flags[1]);
        guarded_free(quality[1]);
    }
    guarded_free(h[0]);
    guarded_free(flags[0]);
    guarded_free(quality[0]);
}

static void updates_are_the_references(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 7, 17, 18, 65, 129};
    uint64_t seed = 9;
    for (int turn = 0; turn < 640; turn++) {
        UpdateInput in = {.w = widths[turn % 8]};
        const size_t n = (size_t)in.w;
        for (int i = 0; i < 7; i++)
            assert_non_null(in.row[i] = malloc(n * sizeof(float)));
        assert_non_null(in.edge = malloc(n));
        for (size_t x = 0; x < n; x++) {
            in.row[0][x] = real(&seed, -6.0f, 6.0f);
            in.row[1][x] = next_random(&seed) % 9 == 0 ? SDM_SCORE_NONE : real(&seed, -0.2f, 1.0f);
            in.row[2][x] = real(&seed, -0.2f, 1.0f);
            in.row[3][x] = real(&seed, 0.0f, 2.0f);
            in.row[4][x] = next_random(&seed) % 9 == 0 ? -1.0f : next_random(&seed) % 9 == 0 ? 0.0f : 0.01f;
            in.row[5][x] = real(&seed, 100.0f, turn % 5 ? 110.0f : 300.0f);
            in.row[6][x] = real(&seed, 0.01f, 0.05f);
            in.edge[x] = next_random(&seed) % 4 == 0;
        }
        update_compare(&in, turn / 8);
        for (int i = 0; i < 7; i++)
            free(in.row[i]);
        free(in.edge);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warp_rows_are_the_references),
        cmocka_unit_test(half_rows_are_the_references),
        cmocka_unit_test(picks_are_the_references),
        cmocka_unit_test(filters_are_the_references),
        cmocka_unit_test(updates_are_the_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
