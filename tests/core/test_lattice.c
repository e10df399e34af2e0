/* The lattice: rows for the warp against its own formula in double; retries.  Cuts of the window: test_level_loop.c. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "two_contexts.h"

#include "matching/cpu_match_pass.h"

enum { STEP = 16, NU = 26, NV = 18, U0 = -64, V0 = 32 };

/* bend 0: affine; else the nodes are moved by up to `bend` px, and everything that depends on heights varies
 * too. */
static void make_lattice(double bend, SdmLattice *lat)
{
    uint64_t seed = 3;
    *lat = (SdmLattice){.u0 = U0,
                        .v0 = V0,
                        .step = STEP,
                        .nu = NU,
                        .nv = NV,
                        .height0_m = 1200.0,
                        .hmin_m = -500.0,
                        .hmax_m = 9000.0};
    assert_int_equal(sdm_alloc(ctx, &lat->node, NU * NV, sizeof *lat->node, "nodes"), SDM_OK);
    for (int j = 0; j < NV; j++)
        for (int i = 0; i < NU; i++) {
            const double u = U0 + STEP * i, v = V0 + STEP * j, e = bend * noise(&seed) / 2047.0;
            lat->node[j * NU + i] =
                (SdmNode){.left = {llrint((u + 200.25 + e) * SDM_FIX), llrint((v + 10.5 - e) * SDM_FIX)},
                          .right = {llrint((1.01 * u - 0.02 * v + 900.125 - e) * SDM_FIX),
                                    llrint((0.015 * u + v + 10.75 + e) * SDM_FIX)},
                          .right_b = {(float)(0.04 + 0.01 * e), (float)(0.001 * e)},
                          .right_c = {(float)(1e-7 * e), 0.0f},
                          .ground = {15.0 * u + 5e5, 4e6 - 15.0 * v},
                          .ground_b = {0.1f, -0.2f},
                          .du_dh = (float)(0.04 + 0.01 * e)};
        }
}

typedef struct Row {
    SdmRowCells cells;
    void *scratch;
    size_t bytes;
} Row;

static void row_open(Row *r, int width)
{
    r->bytes = sdm_row_cells_bytes(width);
    r->scratch = guarded_alloc(r->bytes);
    sdm_row_cells_cut(&r->cells, r->scratch, width);
}

static void row_close(Row *r)
{
    guarded_check(r->scratch, r->bytes);
    guarded_free(r->scratch);
}

/* Position of pixel x of the row, in pixels of the level: cell's origin and offset, as the warp kernel does
 * it. */
static void position(const SdmRowCells *r, int x, double t, int64_t origin[2], double offset[2])
{
    int c = 0;
    while (c + 1 < r->count && r->begin[c + 1] <= x)
        c++;
    const SdmWarpCell *const cell = &r->cells[c];
    const double f = (double)r->fraction[x];
    origin[0] = cell->origin_col;
    origin[1] = cell->origin_row;
    for (int a = 0; a < 2; a++) {
        double p[3];
        for (int k = 0; k < 3; k++)
            p[k] = (double)cell->begin[4 * a + k] + f * (double)cell->change[4 * a + k];
        offset[a] = (p[0] + t * (p[1] + t * p[2])) / 256.0;
    }
}

/* Every pixel of windows of all levels lies where the lattice says, to 1/1000 px; du_dh likewise. */
TEST(rows_follow_the_lattice)
{
    for (int bend = 0; bend < 2; bend++)
        for (int level = 0; level <= 6; level++) {
            SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
            SDM_CLOSED_BY(row_close) Row row = {0};
            make_lattice(3.0 * bend, &lat);
            const double size = (double)(1 << level);
            const SdmWindow win = {.level = level,
                                   .u0 = U0 >> level,
                                   .v0 = (V0 + 64) >> level,
                                   .w = (STEP * (NU - 1)) >> level,
                                   .h = 160 >> level};
            row_open(&row, win.w);
            for (int j = 0; j < win.h; j += 1 + j / 3)
                for (int side = SDM_LEFT; side <= SDM_RIGHT; side++) {
                    sdm_lattice_row(&lat, &win, j, (enum SdmSide)side, &row.cells);
                    assert_int_equal(row.cells.begin[row.cells.count], win.w);
                    for (int x = 0; x < win.w; x++) {
                        const double u = ((double)(win.u0 + x) + 0.5) * size - 0.5;
                        const double v = ((double)(win.v0 + j) + 0.5) * size - 0.5;
                        double want[2], offset[2];
                        int64_t origin[2];
                        if (side == SDM_LEFT)
                            sdm_lattice_left(&lat, u, v, want);
                        else
                            sdm_lattice_right(&lat, u, v, 1700.0, want);
                        position(&row.cells, x, 500.0, origin, offset);
                        for (int a = 0; a < 2; a++)
                            assert_near((double)origin[a] + offset[a], (want[a] + 0.5) / size - 0.5,
                                        1e-3 / size);
                        assert_near(row.cells.du_dh[x], 0.04 / size, (0.031 * bend + 1e-8) / size);
                    }
                }
        }
}

/* Affine: right (u, v, h) worked by hand. */
TEST(positions_by_hand)
{
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
    double p[2];
    make_lattice(0.0, &lat);
    sdm_lattice_right(&lat, 100.0, 50.0, 1300.0, p);
    assert_near(p[0], 1.01 * 100.0 - 0.02 * 50.0 + 900.125 + 0.04 * 100.0, 2e-5);
    assert_near(p[1], 0.015 * 100.0 + 50.0 + 10.75, 2e-5);
    sdm_lattice_left(&lat, 100.0, 50.0, p);
    assert_near(p[0], 300.25, 2e-5);
    assert_near(p[1], 60.5, 2e-5);
    sdm_lattice_ground(&lat, 100.0, 50.0, 1300.0, p);
    assert_near(p[0], 15.0 * 100.0 + 5e5 + 10.0, 1e-3);
    assert_near(p[1], 4e6 - 15.0 * 50.0 - 20.0, 1e-3);
}

/* What any pixel of a window meets for any height of the range is within the bounds. */
TEST(bounds_hold_every_pixel)
{
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
    make_lattice(3.0, &lat);
    for (int level = 0; level < 4; level++) {
        const SdmWindow win = {
            .level = level, .u0 = 40 >> level, .v0 = 72 >> level, .w = 96 >> level, .h = 64 >> level};
        for (int side = SDM_LEFT; side <= SDM_RIGHT; side++) {
            int64_t bounds[4];
            sdm_lattice_bounds(&lat, &win, (enum SdmSide)side, 1000.0, 2000.0, 2, bounds);
            for (int k = 0; k < 3; k++)
                for (int v = 72; v < 72 + 64; v += 7)
                    for (int u = 40; u < 40 + 96; u += 5) {
                        double p[2];
                        if (side == SDM_LEFT)
                            sdm_lattice_left(&lat, u, v, p);
                        else
                            sdm_lattice_right(&lat, u, v, 1000.0 + 500.0 * k, p);
                        for (int a = 0; a < 2; a++)
                            assert_true(p[a] >= (double)bounds[a] + 1.9 &&
                                        p[a] < (double)bounds[2 + a] - 1.9);
                    }
            assert_true(bounds[2] - bounds[0] < 96 + 100 && bounds[3] - bounds[1] < 64 + 60);
        }
    }
}

/* ---- warp and match of a window ---- */

/* Smooth enough to be matched, a hole here and there. */
static void fill_rough(SdmLevelImage *im, uint64_t seed)
{
    for (int64_t i = 0; i < im->w * im->h; i++)
        im->data[i] = (int16_t)((noise(&seed) + (i > 0 ? im->data[i - 1] : 0)) / 2);
    for (int64_t i = 500; i < im->w * im->h; i += 2311)
        im->data[i] = SDM_PIXEL_NODATA;
}

/* A surface whose pixels are valid but for a few spots, and but for a rectangle without data in the left view,
 * as a match about the prior leaves them. */
static void open_spots(SdmLevelTask *task, const SdmSurface *prior, uint64_t seed, SdmSurface *s)
{
    enum { SPOTS = 6, SIDE = 5 };
    const int w = s->win.w, h = s->win.h;
    for (int i = 0; i < w * h; i++) {
        const bool off = i % w >= 60 && i % w < 150 && i / w < 70;
        s->flags[i] = off ? SDM_QA_OUTSIDE : SDM_QA_VALID;
        s->h_m[i] = off ? prior->h_m[i] : (float)i;
        s->score[i] = off ? 0 : (uint8_t)i;
        task->left[i] = off ? SDM_PIXEL_NODATA : task->left[i];
    }
    for (int k = 0; k < SPOTS; k++) {
        const int x0 = (int)(next_random(&seed) % (uint64_t)(w - SIDE)),
                  y0 = (int)(next_random(&seed) % (uint64_t)(h - SIDE));
        for (int i = 0; i < SIDE * SIDE; i++)
            s->flags[(y0 + i / SIDE) * w + x0 + i % SIDE] = i % 2 ? SDM_QA_LOW_SCORE : SDM_QA_OUTSIDE;
    }
}

TEST(a_retry_of_parts_is_one_of_all)
{
    enum { W = 330, H = 200 };
    static const int wide[][2] = {{13, 5}, {9, 16}, {5, 1}, {5, 6}};
    const SdmKernels *const kernels = sdm_kernels_at("auto");
    sdm_cost_strip_fn *const cost[] = {kernels->zncc, kernels->census};
    static int16_t image[2][960 * 360];
    SdmLevelImage left = {.x0 = 150, .y0 = 40, .w = 900, .h = 360, .data = image[0]},
                  right = {.x0 = 850, .y0 = 40, .w = 960, .h = 360, .data = image[1]};
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
    int valid = 0;
    make_lattice(0.6, &lat);
    fill_rough(&left, 1);
    fill_rough(&right, 2);
    const SdmWindow win = {.v0 = 48, .w = W, .h = H};
    for (int k = 0; k < 4 * 2; k++)
        for (uint64_t seed = 1; seed < 24; seed += CASE_STEP) {
            const SdmPass pass = {
                .window = wide[k % 4][0], .range = wide[k % 4][1], .min_score = 0.1f, .max_mismatch = 0.9f};
            SDM_CLOSED_BY(sdm_level_close)
            SdmLevelTask task = {.kernels = kernels,
                                 .cost = cost[k / 4],
                                 .lattice = &lat,
                                 .win = win,
                                 .left_source = &left,
                                 .right_source = &right};
            SDM_CLOSED_BY(sdm_surface_free) SdmSurface prior = {0}, all = {0}, parts = {0};
            SdmSurface *const surface[] = {&prior, &all, &parts};
            assert_int_equal(sdm_level_open(ctx, &task), SDM_OK);
            for (int i = 0; i < 3; i++)
                assert_int_equal(sdm_surface_alloc(ctx, &win, surface[i]), SDM_OK);
            uint64_t height_seed = 48;
            for (int i = 0; i < W * H; i++)
                prior.h_m[i] = 1200.0f + (float)(next_random(&height_seed) % 4096) / 128.0f;
            assert_int_equal(sdm_level_warp(ctx, &task, prior.h_m), SDM_OK);
            open_spots(&task, &prior, seed, &parts);
            assert_int_equal(sdm_level_match(ctx, &task, &pass, prior.h_m, false, &all), SDM_OK);
            for (int i = 0; i < W * H; i++)
                if (parts.flags[i] & SDM_QA_VALID) {
                    all.flags[i] = parts.flags[i];
                    all.h_m[i] = parts.h_m[i];
                    all.score[i] = parts.score[i];
                } else {
                    valid += all.flags[i] & SDM_QA_VALID;
                }
            assert_int_equal(sdm_level_match(ctx, &task, &pass, prior.h_m, true, &parts), SDM_OK);
            assert_memory_equal(all.flags, parts.flags, sizeof *all.flags * W * H);
            assert_memory_equal(all.h_m, parts.h_m, sizeof *all.h_m * W * H);
            assert_memory_equal(all.score, parts.score, sizeof *all.score * W * H);
        }
    assert_true(valid > 100);
}

RUN_TESTS(setup, teardown)
