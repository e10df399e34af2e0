/* The chain of a window on every device of this machine against the same on the processor: bytes, on a
 * synthetic pair; and what happens when the device fails. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/synthetic.h"
#include "gpu/gpu_backend.h"
#include "gpu_cases.h"

#ifdef SDM_SIMULATOR /* which takes its time */
enum { COARSE = 3, W = 152, H = 104 };
#else
enum { COARSE = 3, W = 304, H = 208 };
#endif

static const SdmTuning *tuning; /* for the device; NULL: its own */

typedef struct Bench { /* a scene, its settings and coarse surface */
    SynScene scene;
    SdmMatchSettings settings;
    SdmSurface coarse;
    SdmTerrainMask terrain;
    SdmMatchInput in;
    SdmWindow win;
} Bench;

/* What is wrong with a scene: nothing; holes of nodata, and terrain that part of the surface does not fit;
 * and defects, too: saturated areas, filled and masked pixels. */
enum Trouble { NONE, TORN, DEFECTS };

/* Rectangles of the view lose their pixels, of small and of coarse ones. */
static void cut_holes(SdmPyramid *p, uint64_t *seed)
{
    SdmLevelImage *const im = &p->level[0];
    for (int l = 0; l < COARSE - 1; l++)
        for (int k = 0; k < 40 >> 2 * l; k++) {
            const int64_t x = (int64_t)(next_random(seed) % (uint64_t)im->w),
                          y = (int64_t)(next_random(seed) % (uint64_t)im->h);
            for (int64_t j = y; j < y + (6 << l) && j < im->h; j++)
                for (int64_t i = x; i < x + ((1 + k % 12) << l) && i < im->w; i++)
                    im->data[j * im->w + i] = SDM_PIXEL_NODATA;
        }
}

/* The levels of a view anew, from its finest one. */
static void make_levels(SdmPyramid *p)
{
    SdmPyramid made;
    SdmLevelImage *const im = &p->level[0];
    const int64_t bounds[4] = {im->x0, im->y0, im->x0 + im->w, im->y0 + im->h};
    const SdmPyramidSource source = {.kernels = &sdm_kernels_reference, .read = sdm_syn_read, .user = im};
    assert_int_equal(sdm_pyramid_build(test.ctx, &source, bounds, p->lmin, p->lmax, &made), SDM_OK);
    sdm_pyramid_free(p);
    *p = made;
}

static void make_trouble(Bench *b, enum Trouble trouble)
{
    uint64_t seed = 7;
    const size_t n = (size_t)b->coarse.win.w * (size_t)b->coarse.win.h;
    if (trouble == NONE)
        return;
    for (int side = 0; side < 2 - (trouble == TORN); side++) {
        SdmPyramid *const p = side ? &b->scene.right_pyramid : &b->scene.left_pyramid;
        cut_holes(p, &seed);
        make_levels(p);
    }
    b->terrain.win = b->coarse.win;
    assert_int_equal(sdm_alloc(test.ctx, &b->terrain.h_m, n, sizeof(float), "terrain"), SDM_OK);
    assert_int_equal(sdm_alloc(test.ctx, &b->terrain.distance_px, n, sizeof(uint16_t), "terrain"), SDM_OK);
    for (size_t i = 0; i < n; i++) {
        b->terrain.distance_px[i] = (uint16_t)(next_random(&seed) % 4 == 0 ? next_random(&seed) % 20 : 0);
        b->terrain.h_m[i] = b->coarse.h_m[i] + (next_random(&seed) % 8 == 0 ? 170.0f : 0.0f);
    }
    b->terrain.win.w -= 2; /* terrain that ends before the window */
    b->in.terrain = &b->terrain;
    b->in.terrain_pixel_m = 15.0f * (float)(1 << COARSE);
    b->settings.holes = trouble == DEFECTS;
    if (trouble != DEFECTS)
        return;
    for (int side = 0; side < 2; side++) {
        SdmPyramid *const p = side ? &b->scene.right_pyramid : &b->scene.left_pyramid;
        const size_t pixels = (size_t)(p->level[0].w * p->level[0].h);
        static const uint8_t kind[] = {SDM_DEFECT_FILLED, SDM_DEFECT_FILLED | SDM_DEFECT_BEYOND,
                                       SDM_DEFECT_FILLED | SDM_DEFECT_MASKED, SDM_DEFECT_MASKED};
        assert_int_equal(sdm_alloc(test.ctx, &p->defect, pixels, 1, "defects"), SDM_OK);
        for (size_t i = 0; i < pixels; i++)
            p->defect[i] = p->level[0].data[i] == SDM_PIXEL_NODATA ? i % 3 < 2 : i % 7 ? 0 : kind[i / 7 % 4];
    }
}

static void bench_open(Bench *b, const char *cost, double slope, float discontinuity_px)
{
    *b = (Bench){.win = {.w = W, .h = H},
                 .scene = {.width = W, .height = H, .slope = slope, .wave_px = 300.0, .seed = 42}};
    assert_int_equal(sdm_syn_open(test.ctx, &b->scene), SDM_OK);
    assert_int_equal(sdm_match_settings(test.ctx, NULL, cost, "auto", 8.0f, &b->settings), SDM_OK);
    b->settings.coarse_level = b->settings.coarsest_level = COARSE;
    b->settings.discontinuity_px = discontinuity_px;
    if (discontinuity_px <= 0.0f) /* some holes are too steep */
        b->settings.fill_limit =
            (SdmFillLimit){.rise_m = 0.5f * (float)SYN_GSD_M, .slant_px = {0.01f, -0.006f}};
    const SdmWindow win = {.level = COARSE, .w = W >> COARSE, .h = H >> COARSE};
    assert_int_equal(sdm_syn_surface(test.ctx, &b->scene, &win, 0.4, &b->coarse), SDM_OK);
    b->in = sdm_syn_input(&b->scene, &b->settings);
}

static void bench_close(Bench *b)
{
    sdm_terrain_mask_free(&b->terrain);
    sdm_surface_free(&b->coarse);
    sdm_syn_close(&b->scene);
}

/* The device under test, opened with the settings of the moment. */
static SdmDevice *open_device(void)
{
    SdmDevice *device = NULL;
    OK(sdm_device_open(test.ctx, sdm_device_info(test.device)->api, sdm_device_info(test.device)->index,
                       &device));
    if (tuning)
        sdm_device_set_tuning(device, tuning);
    return device;
}

static void compare(const void *want, const void *have, size_t size, const char *what, const char *which)
{
    for (size_t i = 0; i < (size_t)W * H * size; i++)
        if (((const unsigned char *)want)[i] != ((const unsigned char *)have)[i])
            fail_msg("%s: %s differ at (%d, %d)", which, what, (int)(i / size % W), (int)(i / size / W));
}

/* Gridded there, too, and the levels of the images made there where they can be: the cells of a surface that
 * the processor made. */
static void compare_cells(const Bench *b, SdmDevice *device, const SdmFineResult *surface,
                          const SdmWindow *need)
{
    const SdmGridding how = {.kernels = b->settings.kernels,
                             .lattice = &b->scene.lattice,
                             .x0 = -37.0,
                             .y0 = 100.0,
                             .spacing = 30.0,
                             .gsd_m = 15.0,
                             .spacing_m = 30.0,
                             .scale = 16.0,
                             .offset = -2048.0,
                             .ray_error_m_per_px = 15.0};
    SDM_CLOSED_BY(sdm_block_free) SdmBlock want = {.w = W / 2 + 7, .h = H / 2 + 3}, have = want;
    SdmPyramid left = b->scene.left_pyramid, right = b->scene.right_pyramid;
    SdmMatchInput in = b->in;
    SDM_CLOSED_BY(sdm_fine_result_free) SdmFineResult out = {0};
    in.left = &left;
    in.right = &right;
    left.lmax = right.lmax = 0;
    assert_int_equal(sdm_block_alloc(test.ctx, 0, 0, want.w, want.h, &want), SDM_OK);
    assert_int_equal(sdm_gridding_run(test.ctx, &how, surface, &want), SDM_OK);
    const SdmMatchCall call = {
        .in = &in, .coarse = &b->coarse, .win = &b->win, .need = need, .gridding = &how, .block = &have};
    OK(sdm_device_match(test.ctx, device, &call, &out));
    assert_int_equal(have.height_m != NULL, sdm_device_info(device)->doubles);
    assert_int_equal(out.surface.h_m == NULL, sdm_device_info(device)->doubles);
    const size_t cells = (size_t)(want.w * want.h);
    size_t valid = 0;
    for (size_t i = 0; i < cells; i++)
        valid += want.mask[i] & SDM_QA_VALID;
    assert_true(valid > cells / 3);
    if (!have.height_m) {
        compare(surface->surface.h_m, out.surface.h_m, 4, "heights", "the surface in place of cells");
        compare(surface->surface.flags, out.surface.flags, 2, "flags", "the surface in place of cells");
    } else {
        assert_memory_equal(want.height_m, have.height_m, 4 * cells);
        assert_memory_equal(want.score, have.score, 4 * cells);
        assert_memory_equal(want.ray_error_m, have.ray_error_m, 4 * cells);
        assert_memory_equal(want.spread_m, have.spread_m, 4 * cells);
        assert_memory_equal(want.ortho, have.ortho, 4 * cells);
        assert_memory_equal(want.count, have.count, 2 * cells);
        assert_memory_equal(want.mask, have.mask, 2 * cells);
    }
    assert_int_equal(sdm_device_used(device), 0);
}

/* One cost, terrain and need (part of the window) on every device. */
static void compare_chain(const char *cost, double slope, float discontinuity_px, enum Trouble trouble,
                          const SdmWindow *need)
{
    SDM_CLOSED_BY(bench_close) Bench b = {0};
    SdmFineResult want, have;
    bench_open(&b, cost, slope, discontinuity_px);
    make_trouble(&b, trouble);
    const SdmMatchCall call = {.in = &b.in, .coarse = &b.coarse, .win = &b.win, .need = need};
    assert_int_equal(sdm_match_window(test.ctx, &call, &want), SDM_OK);
    SDM_CLOSED_BY(sdm_device_close) SdmDevice *device = open_device();
    OK(sdm_device_match(test.ctx, device, &call, &have));
    assert_memory_equal(&want.surface.win, &have.surface.win, sizeof want.surface.win);
    compare(want.surface.h_m, have.surface.h_m, 4, "heights", cost);
    compare(want.surface.flags, have.surface.flags, 2, "flags", cost);
    compare(want.surface.score, have.surface.score, 1, "scores", cost);
    compare(want.ray_error_px, have.ray_error_px, 4, "ray gaps", cost);
    compare(want.left, have.left, 2, "left views", cost);
    assert_int_equal(sdm_device_used(device), 0);
    compare_cells(&b, device, &want, need); /* in the memory of the window before */
    assert_true(sdm_device_peak(device) <=
                sdm_device_match_bytes(device, &b.settings, W, H, (int64_t)(W + 64) * (H + 64) * 2));
    sdm_fine_result_free(&have);
    int64_t told[SDM_QA_BITS] = {0}, refused = 0;
    for (size_t i = 0; i < (size_t)W * H; i++) {
        refused += (want.surface.flags[i] & (SDM_QA_VALID | SDM_QA_FILLED)) == SDM_QA_FILLED;
        for (int bit = 0; bit < SDM_QA_BITS; bit++)
            told[bit] += want.surface.flags[i] >> bit & 1;
    }
    assert_true(told[0] > W * H / 3 && (trouble == NONE || (told[1] > refused && told[9] > 0)));
    assert_true(trouble == NONE || (refused > 0) == !isinf(b.settings.fill_limit.rise_m));
    assert_true(trouble != DEFECTS || (told[3] > 0 && told[11] > 0));
    sdm_fine_result_free(&want);
}

TEST(bytes_are_the_processors)
{
    const SdmWindow all = {.w = W, .h = H};
    compare_chain("zncc", 0.0, 0.0f, NONE, &all);
    compare_chain("zncc", 1.0, 0.0f, TORN, &all);
    compare_chain("zncc", 0.7, 12.0f, DEFECTS, &all); /* jumps to bridge: wider retries, on level 0, too */
    compare_chain("census", 0.7, 0.0f, TORN, &all);
    compare_chain("census", 0.7, 6.0f, TORN, &all);
}

/* Without doubles the surface comes down, before defects are told if there are any. */
TEST(doubles_are_not_needed)
{
    const SdmWindow all = {.w = W, .h = H};
    sdm_device_deny_doubles(true);
    compare_chain("zncc", 0.7, 0.0f, DEFECTS, &all);
    compare_chain("zncc", 0.7, 0.0f, TORN, &all);
    sdm_device_deny_doubles(false);
}

/* Sizes of the launches are a matter of time alone. */
TEST(sizes_of_launches_change_nothing)
{
    static const SdmTuning rows[] = {{"", 7, 5, 32, 9, 96, 5, 13, 5, 32},
                                     {"", 128, 128, 256, 1000, 256, 256, 1, 128, 256}};
    const SdmWindow all = {.w = W, .h = H};
    for (int i = 0; i < 2; i++) {
        assert_true(sdm_tuning_good(&rows[i]));
        tuning = &rows[i];
        /* where steps are larger, one cost for each row */
        for (int census = i % DEVICE_STEP; census < 2; census += DEVICE_STEP)
            compare_chain(census ? "census" : "zncc", 0.7, census ? 0.0f : 12.0f, TORN, &all);
    }
    tuning = NULL;
}

/* A row is found by the device's name, and is one that can run. */
TEST(every_device_has_a_row)
{
    const char *const name = sdm_device_info(test.device)->name;
    const SdmTuning *const row = sdm_tuning_find(name);
    assert_true(sdm_tuning_good(sdm_tuning_find("")));
    assert_ptr_equal(sdm_tuning_find("a device that nobody has heard of"), sdm_tuning_find(""));
    assert_true(sdm_tuning_good(row) && strstr(name, row->name));
    assert_memory_equal(sdm_device_tuning(test.device), row, sizeof *row);
    assert_false(sdm_tuning_good(&(SdmTuning){"", 0, 32, 64, 64, 64, 32, 8, 32, 64}));
    assert_false(sdm_tuning_good(&(SdmTuning){"", 32, 32, 64, 64, 64, 32, 9, 32, 64}));
}

/* Whatever call fails: its status, no result, nothing kept; and then it works again. */
TEST(failures_are_told)
{
    SDM_CLOSED_BY(bench_close) Bench b = {0};
    SdmFineResult r;
    bench_open(&b, "zncc", 0.3, 0.0f);
    const SdmGridding how = {.kernels = b.settings.kernels,
                             .lattice = &b.scene.lattice,
                             .spacing = 30.0,
                             .gsd_m = 15.0,
                             .spacing_m = 30.0,
                             .scale = 16.0,
                             .ray_error_m_per_px = 15.0};
    SdmBlock block = {.w = W / 2, .h = H / 2};
    const SdmMatchCall call = {
        .in = &b.in, .coarse = &b.coarse, .win = &b.win, .need = &b.win, .gridding = &how, .block = &block};
    SDM_CLOSED_BY(sdm_device_close) SdmDevice *device = open_device();
    for (int64_t n = 1; n < 4000; n = n * 5 / 2 + 1) {
        const SdmStatus fault = n % 2 ? SDM_ERR_DEVICE : SDM_ERR_MEMORY;
        sdm_device_fail_at(n, fault, false);
        const SdmStatus st = sdm_device_match(test.ctx, device, &call, &r);
        sdm_device_fail_at(0, SDM_OK, false);
        assert_true(st == fault || (st == SDM_OK && n > 100));
        assert_int_equal(sdm_device_used(device), 0);
        assert_true(st == SDM_OK || !block.height_m);
        sdm_block_free(&block);
        if (st == SDM_OK)
            break;
        assert_null(r.surface.h_m);
        assert_null(r.ray_error_px);
    }
    sdm_fine_result_free(&r);
    sdm_device_set_budget(device, 100000);
    assert_refused(test.ctx, sdm_device_match(test.ctx, device, &call, &r), SDM_ERR_MEMORY, "--tile");
}

int main(void)
{
    return run_on_devices();
}
