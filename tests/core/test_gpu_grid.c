/* Gridding on every device here against that of the processor with the reference kernels, bit for bit. */
// SPDX-License-Identifier: Apache-2.0
#include "gpu_cases.h"

#define GSD_M 15.0

/* A window with random points, the ground under it, and a block for them. */
typedef struct Case {
    SdmLattice lattice;
    SdmFineResult fine;
    SdmGridding how;
    SdmBlock block;
} Case;

static const Shape shapes[] = {{1, 1}, {7, 2}, {65, 2}, {3, 70}, {33, 31}, {129, 67}};
static const double ratios[] = {0.5, 0.7, 1.0, 2.0, 3.3, 16.0};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, N_RATIOS = sizeof ratios / sizeof *ratios };

/* A map plane turned by 0.3 rad, with some noise; the ground under a pixel moves with its height. */
static void set_ground(Case *c, bool wild, uint64_t *seed)
{
    SdmLattice *const lat = &c->lattice;
    for (int j = 0; j < lat->nv; j++)
        for (int i = 0; i < lat->nu; i++) {
            SdmNode *const n = &lat->node[j * lat->nu + i];
            const double u = GSD_M * (double)(lat->u0 + i * lat->step),
                         v = GSD_M * (double)(lat->v0 + j * lat->step);
            const float far = wild ? 0.7f : 0.1f;
            n->ground[0] = 500000.0 + 0.955336 * u + 0.295520 * v + (double)real(seed, -4.0f, 4.0f);
            n->ground[1] = 4.0e6 + 0.295520 * u - 0.955336 * v + (double)real(seed, -4.0f, 4.0f);
            for (int k = 0; k < 2; k++) {
                n->ground_b[k] = real(seed, -far, far);
                n->ground_c[k] = real(seed, -2e-8f, 2e-8f);
            }
        }
}

static void set_points(Case *c, int turn, uint64_t *seed)
{
    SdmSurface *const s = &c->fine.surface;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    const float low = turn % 5 == 1 ? -500.0f : 480.0f, high = turn % 5 == 1 ? 9000.0f : 520.0f;
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = next_random(seed);
        s->h_m[i] = real(seed, low, high);
        s->flags[i] = (uint16_t)(turn % 4 == 3 || r % 8 < 2 ? 1u << (2 + r / 8 % 9) : r % 8 < 4 ? 3 : 1);
        s->score[i] = (uint8_t)(next_random(seed) % 251);
        c->fine.ray_error_px[i] = r % 16 == 5   ? NAN
                                  : r % 16 == 6 ? -2.0f
                                  : r % 16 == 7 ? 2.0f
                                                : real(seed, -1.0f, 1.0f);
    }
    fill_image(c->fine.left, n, (enum Fill)(turn / 3 % FILL_END), 0, seed);
}

/* Blocks: over all of it, in its middle, off it, a row. */
static void set_block(Case *c, int turn)
{
    const SdmWindow *const win = &c->fine.surface.win;
    const double u = GSD_M * (double)(win->u0 + win->w / 2), v = GSD_M * (double)(win->v0 + win->h / 2);
    const double x = 500000.0 + 0.955336 * u + 0.295520 * v, y = 4.0e6 + 0.295520 * u - 0.955336 * v;
    const int64_t around = (int64_t)(GSD_M * (win->w + win->h) / c->how.spacing) + 4;
    const int64_t wide[] = {around, around / 3 + 1, 5, around}, high[] = {around, around / 4 + 1, 7, 1};
    const int k = turn % 4;
    c->block = (SdmBlock){.w = wide[k], .h = high[k]};
    c->block.col0 = (int64_t)((x - c->how.x0) / c->how.spacing) - wide[k] / 2 + (k == 2 ? 2 * around : 0);
    c->block.row0 = (int64_t)((c->how.y0 - y) / c->how.spacing) - high[k] / 2;
    OK(sdm_block_alloc(test.ctx, c->block.col0, c->block.row0, c->block.w, c->block.h, &c->block));
}

static void case_open(Case *c, int turn)
{
    uint64_t seed = (uint64_t)turn + 77;
    const int w = shapes[turn % N_SHAPES].w, h = shapes[turn % N_SHAPES].h;
    const SdmWindow win = {.u0 = 16 * (turn % 5) - 32, .v0 = 16 * (turn % 3), .w = w, .h = h};
    const size_t n = (size_t)w * (size_t)h;
    *c = (Case){.fine = {.ray_error_px = NULL}};
    random_nodes(&c->lattice, &win, 16, &seed);
    c->lattice.u0 = c->lattice.u0 / 16 * 16;
    set_ground(c, turn % 7 == 2, &seed);
    OK(sdm_surface_alloc(test.ctx, &win, &c->fine.surface));
    OK(sdm_alloc(test.ctx, &c->fine.ray_error_px, n, sizeof(float), "ray gaps"));
    OK(sdm_alloc(test.ctx, &c->fine.left, n, sizeof(int16_t), "a view"));
    set_points(c, turn, &seed);
    c->how = (SdmGridding){.kernels = &sdm_kernels_reference,
                           .sharpest = SDM_GRIDDING_SMOOTH,
                           .lattice = &c->lattice,
                           .x0 = 499990.0,
                           .y0 = 4.00003e6,
                           .spacing = GSD_M * ratios[turn / N_SHAPES % N_RATIOS],
                           .gsd_m = GSD_M,
                           .middle = turn % 3 * 256000 - 99,
                           .scale = turn % 2 ? 16.0 : 0.37,
                           .offset = turn % 2 ? -2048.0 : 1.1,
                           .ray_error_m_per_px = 14.97};
    c->how.spacing_m = c->how.spacing;
    set_block(c, turn);
    if (c->block.w * c->block.h > 1000) /* it goes through all cells for each point */
        c->how.kernels = sdm_kernels_at("auto");
}

static void case_close(Case *c)
{
    sdm_block_free(&c->block);
    sdm_fine_result_free(&c->fine);
    free(c->lattice.node);
}

/* `count` arrays of `bytes`, one behind the other in `b`, and nothing written behind them. */
static void compare(SdmBuffer *b, const void *const want[], int count, size_t bytes, const char *what,
                    int turn)
{
    const size_t all = (size_t)sdm_buffer_bytes(b), end = (size_t)count * bytes;
    FREED unsigned char *const have = malloc(all);
    assert_true(all >= end);
    OK(sdm_download(test.ctx, b, 0, have, (int64_t)all, 0, true));
    for (int k = 0; k < count; k++)
        for (size_t i = 0; i < bytes; i++)
            if (have[(size_t)k * bytes + i] != ((const unsigned char *)want[k])[i])
                fail_msg("turn %d: byte %zu of %zu of %s %d differs", turn, i, bytes, what, k);
    for (size_t i = end; i < all; i++)
        if (have[i] != CANARY)
            fail_msg("turn %d: %s: byte %zu of %zu is written", turn, what, i, end);
}

static bool has_doubles(void)
{
    if (!sdm_device_info(test.device)->doubles)
        print_message("it has no doubles: the processor grids\n");
    return sdm_device_info(test.device)->doubles;
}

TEST(grids_are_the_processors)
{
    if (!has_doubles())
        return;
    int64_t valid = 0, filled = 0, sparse = 0, outside = 0, told = 0;
    for (int turn = 0; turn < 4 * N_SHAPES * N_RATIOS; turn++) {
        SDM_CLOSED_BY(case_close) Case c = {0};
        SdmBuffer *real_part, *whole;
        case_open(&c, turn);
        const SdmBlock *const b = &c.block;
        const size_t n = (size_t)c.fine.surface.win.w * (size_t)c.fine.surface.win.h,
                     cells = (size_t)(b->w * b->h);
        OK(sdm_gridding_run(test.ctx, &c.how, &c.fine, &c.block));
        SDM_CLOSED_BY(sdm_buffer_free)
        SdmBuffer *h_m = put(c.fine.surface.h_m, 4 * n), *flags = put(c.fine.surface.flags, 2 * n),
                  *score = put(c.fine.surface.score, n), *gap = put(c.fine.ray_error_px, 4 * n),
                  *left = put(c.fine.left, 2 * n);
        const SdmGpuGrid q = {.gridding = &c.how,
                              .win = c.fine.surface.win,
                              .block = b,
                              .h_m = h_m,
                              .flags = flags,
                              .score = score,
                              .ray_error_px = gap,
                              .left = left};
        assert_true(sdm_gpu_can_grid(&test.gpu, &q));
        for (int i = 0; i < 2; i++) { /* the second time into poisoned memory */
            OK(sdm_gpu_grid(test.ctx, &test.gpu, &q, &real_part, &whole));
            if (i == 0)
                OK(sdm_fill_bytes(test.ctx, real_part, 0, CANARY, sdm_buffer_bytes(real_part), 0));
            if (i == 0)
                OK(sdm_fill_bytes(test.ctx, whole, 0, CANARY, sdm_buffer_bytes(whole), 0));
        }
        compare(real_part,
                (const void *const[]){b->height_m, b->score, b->ray_error_m, b->spread_m, b->ortho}, 5,
                4 * cells, "heights, scores, gaps, spreads, ortho image", turn);
        compare(whole, (const void *const[]){b->count, b->mask}, 2, 2 * cells, "counts, masks", turn);
        for (size_t i = 0; i < cells; i++) {
            valid += b->mask[i] & SDM_QA_VALID;
            filled += (b->mask[i] & SDM_QA_FILLED) != 0;
            sparse += b->mask[i] == SDM_QA_SPARSE;
            outside += b->mask[i] == SDM_QA_OUTSIDE;
            told += (b->mask[i] & SDM_QA_LOW_SCORE) != 0;
        }
    }
    assert_true(valid > 5000 && filled > 500 && sparse > 500 && outside > 500 && told > 100);
}

/* What it cannot do, it says. */
TEST(limits_are_told)
{
    if (!has_doubles())
        return;
    SDM_CLOSED_BY(case_close) Case c = {0};
    case_open(&c, 4);
    SdmGpuGrid q = {.gridding = &c.how, .win = c.fine.surface.win, .block = &c.block};
    assert_true(sdm_gpu_can_grid(&test.gpu, &q));
    c.how.spacing_m = 0.49 * GSD_M;
    assert_false(sdm_gpu_can_grid(&test.gpu, &q));
    c.how.spacing_m = 16.1 * GSD_M;
    assert_false(sdm_gpu_can_grid(&test.gpu, &q));
    c.how.spacing_m = 2.0 * GSD_M;
    q.win.w = q.win.h = 1 << 16;
    assert_false(sdm_gpu_can_grid(&test.gpu, &q));
}

int main(void)
{
    return run_on_devices();
}
