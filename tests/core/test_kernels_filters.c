/* Every copy of the kernels that work on surfaces (filters, update) that runs here against the reference, bit
 * for bit. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa_reasons.h"
#include "kernel_cases.h"

/* Rows of heights with holes, some rows missing or given twice. */
enum { FILTER_ROWS = 15 };

typedef struct FilterInput {
    int w, half;
    const int16_t *change[FILTER_ROWS]; /* rows of changes, NULL = does not exist */
    const float *rows[3], *score[3];
    const uint16_t *valid[3];
} FilterInput;

static void run_filters(const SdmKernels *k, const void *input, void *const *out)
{
    const FilterInput *const in = input;
    k->median_row(in->rows, in->valid, in->w, out[0]);
    k->change_row(in->rows[1], in->rows[0], in->valid[1], in->w, 3.3f, out[1]);
    k->agree_row(in->change, in->half, in->w, out[2]);
    k->add_changes(in->rows[1], in->rows[2], in->valid[1], in->w, in->half & 1 ? 1 : -1, out[3], out[4]);
    k->smooth_row(in->rows, in->w, out[5]);
    k->ray_error_row(in->score, in->w, out[6], out[7]);
    k->refine_row(in->rows[0], in->rows[1], in->half & 1 ? 0.25f : 0.75f, in->w,
                  out[8]); /* a row ends where the next begins */
}

TEST(filters_are_the_references)
{
    static const int widths[] = {1, 2, 3, 7, 16, 65, 129};
    uint64_t seed = 21;
    for (int turn = 0; turn < 700; turn += CASE_STEP) {
        const int w = widths[turn % 7], half = turn / 7 % 8;
        const size_t n = (size_t)w * FILTER_ROWS;
        /* changes of which few agree, of which all do, and of which all but those at the ends do */
        const unsigned spread = turn % 3 == 0 ? 3000 : turn % 3 == 1 ? 257 : 258;
        const bool close = spread < 3000;
        FREED float *const h = malloc(n * sizeof *h), *const score = malloc(n * sizeof *score);
        FREED uint16_t *const flags = malloc(n * sizeof *flags);
        FREED int16_t *const change = malloc(n * sizeof *change);
        for (size_t i = 0; i < n; i++) {
            score[i] = next_random(&seed) % 9 == 0 ? SDM_SCORE_NONE : real(&seed, -1.0f, 1.0f);
            h[i] = 100.0f + (float)(next_random(&seed) % (turn % 3 ? 100000u : 5u)) / 64.0f;
            if (turn % 50 == 7)
                h[i] *= 1000.0f; /* beyond what changes are kept within */
            flags[i] = next_random(&seed) % 8 < (unsigned)(turn / 56 % 9) ? 3 : 2; /* bit 0 is what counts */
            const bool none = close ? next_random(&seed) % 500 == 0 : !(flags[i] & 1);
            change[i] = (int16_t)(none ? SDM_CHANGE_NONE : (int)(next_random(&seed) % spread) - 1500);
        }
        FilterInput in = {.w = w,
                          .half = half,
                          .rows = {turn % 4 ? h : h + w, h + w, h + 2 * (ptrdiff_t)w},
                          .valid = {turn % 4 ? flags : flags + w, flags + w, flags + 2 * (ptrdiff_t)w},
                          .score = {score, score + w, score + 2 * (ptrdiff_t)w}};
        for (int j = 0; j < FILTER_ROWS; j++)
            in.change[j] =
                j != half && turn % 2 && next_random(&seed) % 5 == 0 ? NULL : change + (ptrdiff_t)j * w;
        const size_t row = (size_t)w,
                     bytes[] = {4 * row, 2 * row, row, 4 * row, 4 * row, 4 * row, 4 * row, row, 8 * row};
        compare_copies(run_filters, &in, bytes, 9, "filters", turn);
    }
}

/* ---- Wiener filter ---- */

typedef struct WienerInput {
    int w, step;
    const float *h; /* five rows */
    SdmNoiseRow noise;
    SdmWienerRow wiener;
} WienerInput;

static void run_wiener(const SdmKernels *k, const void *input, void *const *out)
{
    const WienerInput *const in = input;
    const float *row[5];
    for (int j = 0; j < 5; j++)
        row[j] = in->h + (ptrdiff_t)(in->step == 4 && j == 0 ? 1 : j) * in->w;
    k->blur_row(row, in->w, in->step, out[0]);
    k->noise_row(&in->noise, out[1]);
    k->square_row(row[1], row[2], in->noise.valid, in->w, 37.5f * (float)in->step, out[2]);
    k->wiener_row(&in->wiener, out[3]);
}

/* Flat images and the noisiest, with and without nodata, sums of nothing and of the most. */
TEST(wiener_is_the_reference)
{
    static const int widths[] = {1, 2, 5, 7, 16, 65, 255, 256, 261, 600};
    uint64_t seed = 8;
    float ratio[256];
    for (int i = 0; i < 256; i++)
        ratio[i] = (float)(255 - i) / 128.0f;
    for (int turn = 0; turn < 200; turn++) {
        const int w = widths[turn % 10];
        const size_t n = (size_t)w * 5;
        FREED float *const h = malloc(n * sizeof *h);
        FREED int16_t *const left = malloc(n * sizeof *left);
        FREED int32_t *const sums = malloc(n * sizeof *sums);
        FREED uint16_t *const flags = malloc(n * sizeof *flags);
        FREED uint8_t *const score = malloc(n);
        for (size_t i = 0; i < n; i++) {
            h[i] = 100.0f + (float)(next_random(&seed) % (turn % 3 ? 100000u : 5u)) / 64.0f;
            const int value = (int)(next_random(&seed) % (turn % 4 ? 4095u : 2u)) - 2047;
            left[i] =
                (int16_t)(next_random(&seed) % (turn % 2 ? 40u : 4000u) == 0 ? SDM_PIXEL_NODATA : value);
            sums[i] = next_random(&seed) % 3 == 0 ? 0 : (int32_t)(next_random(&seed) % 1936000000u);
            flags[i] = next_random(&seed) % 8 ? 3 : 2;
            score[i] = (uint8_t)(next_random(&seed) % 251);
        }
        WienerInput in = {.w = w, .step = 1 << turn % 3, .h = h};
        in.noise = (SdmNoiseRow){.valid = flags, .score = score, .ratio = ratio, .width = w};
        for (int j = 0; j < 5; j++)
            in.noise.left[j] = left + (ptrdiff_t)j * w;
        in.wiener = (SdmWienerRow){.high = h,
                                   .middle = h + w,
                                   .low = h + 2 * (ptrdiff_t)w,
                                   .noise = sums,
                                   .energy = {sums + w, sums + 2 * (ptrdiff_t)w},
                                   .share = 0.1f,
                                   .gain = {1.7f, 1.0f},
                                   .width = w};
        const size_t row = 4 * (size_t)w;
        compare_copies(run_wiener, &in, (size_t[]){row, row, row, row}, 4, "Wiener filter", turn);
    }
}

/* ---- pixels to points ---- */

enum { GROUND_PIXELS = 41 };

typedef struct GroundInput {
    SdmGroundRow row;
    int count;
} GroundInput;

static void run_ground(const SdmKernels *k, const void *input, void *const *out)
{
    const GroundInput *const in = input;
    k->ground_points(&in->row, in->count, out[0]);
}

/* Runs of every length, pixels with and without a height, an image value and a ray intersection error. */
TEST(ground_points_are_the_references)
{
    uint64_t seed = 11;
    for (int count = 0; count <= GROUND_PIXELS; count++) {
        const size_t n = (size_t)count;
        GUARDED float *const h_m = guarded_alloc(4 * n), *const ray_error_px = guarded_alloc(4 * n);
        GUARDED uint16_t *const flags = guarded_alloc(2 * n);
        GUARDED uint8_t *const score = guarded_alloc(n);
        GUARDED int16_t *const left = guarded_alloc(2 * n);
        for (int i = 0; i < count; i++) {
            h_m[i] = (float)(next_random(&seed) % 9000000) / 1000.0f - 450.0f;
            ray_error_px[i] =
                next_random(&seed) % 5 ? (float)(next_random(&seed) % 4001) / 1000.0f - 2.0f : NAN;
            flags[i] = (uint16_t)(next_random(&seed) % 8);
            score[i] = (uint8_t)(next_random(&seed) % 251);
            left[i] = (int16_t)(next_random(&seed) % 4 ? (int)(next_random(&seed) % 4095) - 2047
                                                       : SDM_PIXEL_NODATA);
        }
        SdmGroundRow row = {.h_m = h_m,
                            .ray_error_px = ray_error_px,
                            .flags = flags,
                            .score = score,
                            .left = left,
                            .b = {0.0123f, -0.0071f},
                            .c = {1e-7f, -2e-7f},
                            .inv = 1.0f / 16.0f,
                            .height0_m = 812.5f,
                            .u = (int)(next_random(&seed) % 16),
                            .v = (int)(next_random(&seed) % 16),
                            .corner = {-3072, 517},
                            .middle = 100000,
                            .valid = 1,
                            .filled = 2};
        for (int k = 0; k < 8; k++)
            row.a[k / 4][k % 4] = (float)(next_random(&seed) % 4000) / 97.0f - 20.0f;
        const size_t bytes = n * sizeof(SdmSpreadPoint);
        compare_copies(run_ground, &(GroundInput){row, count}, &bytes, 1, "ground_points", count);
    }
}

/* ---- points over cells ---- */

enum { SPREAD_COLS = 9, SPREAD_ROWS = 6, SPREAD_PITCH = 11, SPREAD_POINTS = 200, SPREAD_TABLE = 1100 + 513 };

typedef struct SpreadInput {
    int32_t radius, table[SPREAD_TABLE];
    int count;
    SdmSpreadPoint point[SPREAD_POINTS];
} SpreadInput;

static void run_spread(const SdmKernels *k, const void *input, void *const *out)
{
    const SpreadInput *const in = input;
    uint64_t three[256];
    sdm_spread_three(in->table, in->radius, three);
    const SdmSpread s = {.cols = SPREAD_COLS,
                         .rows = SPREAD_ROWS,
                         .pitch = SPREAD_PITCH,
                         .radius = in->radius,
                         .table = in->table,
                         .three = three,
                         .cell = out[0]};
    k->spread_points(&s, in->point, in->count);
}

/* Points inside, at the rim and beyond it, on centres and a radius from them, for radii of one to nine cells.
 */
TEST(spreads_are_the_references)
{
    const size_t bytes = 8 * sizeof(int64_t) * SPREAD_PITCH * SPREAD_ROWS;
    SpreadInput in = {.count = SPREAD_POINTS};
    uint64_t seed = 5;
    for (int turn = 0; turn < 60; turn++) {
        in.radius = turn % 2 ? 384 : 100 + (int32_t)(next_random(&seed) % 1000);
        for (int i = 0; i < SPREAD_TABLE; i++)
            in.table[i] = i <= in.radius && i < 1024 ? 4096 - 4 * i : 0;
        for (int i = 0; i < SPREAD_POINTS; i++) {
            const int32_t step = turn % 3 ? 1 : 128; /* centres and edges of cells */
            in.point[i].x = (int32_t)(next_random(&seed) % 4000) / step * step - 800;
            in.point[i].y = (int32_t)(next_random(&seed) % 3200) / step * step - 800;
            for (int v = 0; v < 8; v++)
                in.point[i].value[v] = (int32_t)(next_random(&seed) % 5000001) - 2500000;
        }
        compare_copies(run_spread, &in, &bytes, 1, "spread_points", turn);
    }
}

/* A point on the centre of cell (4, 2): 2048^2 / 1024 there, half of it beside, a quarter at the corners; of the third value the
 * square / 256. */
TEST(spread_by_hand)
{
    static const SpreadInput in = {
        .radius = 384,
        .table = {[0] = 2048, [256] = 1024},
        .count = 1,
        .point = {
            {.x = 4 * 256 + 128, .y = 2 * 256 + 128, .value = {1, -1000001, -250001, 200, 7, 1, 0, 0}}}};
    for (int l = -1; l < N_LEVELS; l++) {
        const SdmKernels *const k = l < 0 ? &sdm_kernels_reference : sdm_kernels_at(level_names[l]);
        int64_t cell[SPREAD_ROWS * SPREAD_PITCH][8] = {{0}};
        if (!k)
            continue;
        run_spread(k, &in, (void *[]){cell});
        for (int i = 0; i < SPREAD_ROWS * SPREAD_PITCH; i++) {
            const int dx = abs(i % SPREAD_PITCH - 4), dy = abs(i / SPREAD_PITCH - 2);
            const int64_t weight = dx > 1 || dy > 1 ? 0 : 4096 >> dx >> dy;
            const int64_t value[8] = {1, -1000001, (62500500001 + 128) >> 8, 200, 7, 1, 0, 0};
            for (int v = 0; v < 8; v++)
                assert_true(cell[i][v] == weight * value[v]);
        }
    }
}

static void run_update(const SdmKernels *k, const void *input, void *const *out)
{
    SdmUpdateRow u = *(const SdmUpdateRow *)input;
    u.h_m = out[0];
    u.flags = out[1];
    u.quality = out[2];
    for (int x = 0; x < u.width; x++) {
        u.h_m[x] = (float)x;
        u.flags[x] = (uint16_t)(x % 3 == 0 ? SDM_QA_VALID : SDM_QA_FOLD);
        u.quality[x] = (uint8_t)(x * 37);
    }
    k->update_row(&u);
}

TEST(updates_are_the_references)
{
    enum { MOST = 129 };
    static const int widths[] = {1, 2, 3, 7, 17, 18, 65, MOST};
    uint64_t seed = 9;
    for (int turn = 0; turn < 640; turn += CASE_STEP) {
        const int how = turn / 8;
        const size_t n = (size_t)widths[turn % 8];
        float row[7][MOST]; /* residual, score, runner-up, mismatch, texture, prior, du_dh */
        uint8_t edge[MOST];
        for (size_t x = 0; x < n; x++) {
            row[0][x] = real(&seed, -6.0f, 6.0f);
            row[1][x] = next_random(&seed) % 9 == 0 ? SDM_SCORE_NONE : real(&seed, -0.2f, 1.0f);
            row[2][x] = real(&seed, -0.2f, 1.0f);
            row[3][x] = real(&seed, 0.0f, 2.0f);
            row[4][x] = next_random(&seed) % 9 == 0 ? -1.0f : next_random(&seed) % 9 == 0 ? 0.0f : 0.01f;
            row[5][x] = real(&seed, 100.0f, turn % 5 ? 110.0f : 300.0f);
            row[6][x] = real(&seed, 0.01f, 0.05f);
            edge[x] = next_random(&seed) % 4 == 0;
        }
        const SdmUpdateRow in = {.width = (int)n,
                                 .residual = row[0],
                                 .score = row[1],
                                 .runner_up = how & 1 ? row[2] : NULL,
                                 .mismatch = how & 2 ? row[3] : NULL,
                                 .edge = edge,
                                 .texture = row[4],
                                 .prior = row[5],
                                 .du_dh = row[6],
                                 .min_score = 0.3f,
                                 .min_margin = 0.1f,
                                 .max_mismatch = 0.7f,
                                 .not_at_edge = how & 4,
                                 .keep_valid = how & 8,
                                 .min_quality = how & 16 ? 120 : 0};
        compare_copies(run_update, &in, (size_t[]){4 * n, 2 * n, n}, 3, "update_row", turn);
    }
}

RUN_TESTS(NULL, NULL)
