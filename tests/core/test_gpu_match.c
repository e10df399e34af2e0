/* Matching on every device here against the chain's with the reference kernels, bit for bit: costs, odd
 * shapes, windows, ranges, fills. */
// SPDX-License-Identifier: Apache-2.0
#include "gpu_cases.h"

static const Shape shapes[] = {{1, 1}, {7, 2}, {65, 2}, {3, 70}, {5, 23}, {33, 31}, {129, 67}, {300, 40}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

typedef struct Case { /* a window with its views, lattice and surfaces */
    Shape s;
    enum SdmGpuCost cost;
    SdmPass pass;
    bool retry;
    SdmLattice lattice;
    SdmLevelTask task;
    int16_t *image[2];
    float *prior;
    SdmSurface surface;
} Case;

static const char *name_of(const Case *c, const char *what)
{
    static char text[200];
    snprintf(text, sizeof text,
             "%s, cost %d, %d x %d, window %d, range %d, margin %g, mismatch %g, shift %d%s", what,
             (int)c->cost, c->s.w, c->s.h, c->pass.window, c->pass.range, (double)c->pass.min_margin,
             (double)c->pass.max_mismatch, c->task.v_shift,
             c->retry                                ? ", retry"
             : c->pass.min_small_window_score > 0.0f ? ", small"
                                                     : "");
    return text;
}

static void case_open(Case *c, enum SdmGpuCost cost, Shape s, int window, int range, int turn)
{
    static const float margins[] = {-1.0f, 0.0f, 0.05f}, mismatches[] = {-1.0f, 0.7f, 0.3f, 2.0f};
    const size_t n = (size_t)s.w * (size_t)s.h;
    uint64_t seed = (uint64_t)turn + 1;
    const enum Fill fill = (enum Fill)(turn % FILL_END);
    *c = (Case){.s = s, .cost = cost, .retry = turn % 4 == 1};
    c->pass = (SdmPass){.window = window,
                        .range = range,
                        .min_score = 0.05f,
                        .min_margin = margins[turn % 3],
                        .max_mismatch = mismatches[turn / 3 % 4],
                        .min_sigma = turn % 4 == 3 ? 1200.0f : 0.0f,
                        .min_small_window_score = turn % 3 == 1 ? 0.5f : 0.0f};
    for (int side = 0; side < 2; side++) {
        c->image[side] = malloc(n * sizeof(int16_t));
        fill_image(c->image[side], n, side == 1 && turn / FILL_END % 3 == 0 ? NOISE : fill, side == 0, &seed);
    }
    if (turn % 3 == 2) /* alike, moved by a pixel */
        memcpy(c->image[1] + 1, c->image[0], (n - 1) * sizeof(int16_t));
    const SdmWindow win = {.level = turn % 4, .u0 = turn % 50, .v0 = turn % 31, .w = s.w, .h = s.h};
    random_nodes(&c->lattice, &win, turn % 7 == 0 ? 32 : 16, &seed);
    c->task = (SdmLevelTask){.kernels = &sdm_kernels_reference,
                             .lattice = &c->lattice,
                             .win = win,
                             .v_shift = turn / 5 % 3 - 1,
                             .left = c->image[0],
                             .right = c->image[1]};
    c->task.cost = cost == SDM_GPU_ZNCC ? sdm_kernels_reference.zncc : sdm_kernels_reference.census;
    c->prior = malloc(n * sizeof(float));
    OK(sdm_surface_alloc(test.ctx, &win, &c->surface));
    for (size_t i = 0; i < n; i++) {
        c->prior[i] = real(&seed, 100.0f, turn % 5 ? 110.0f : 300.0f);
        c->surface.h_m[i] = (float)i;
        c->surface.flags[i] = (uint16_t)(i % 3 == 0 ? SDM_QA_VALID : SDM_QA_FOLD);
        c->surface.score[i] = (uint8_t)(i * 37);
    }
}

static void case_close(Case *c)
{
    free(c->image[0]);
    free(c->image[1]);
    free(c->prior);
    free(c->lattice.node);
    sdm_surface_free(&c->surface);
}

/* Pixels that were matched, to know that there were some. */
static int64_t compare_match(const Case *c)
{
    const size_t n = (size_t)c->s.w * (size_t)c->s.h;
    SdmSurface want = c->surface;
    SdmLevelTask task = c->task;
    SdmGpuCells cells;
    int64_t valid = 0;
    SdmBuffer *const node = put(c->lattice.node, nodes_bytes(&c->lattice)),
                     *const left = put(c->image[0], 2 * n), *const right = put(c->image[1], 2 * n),
                     *const prior = put(c->prior, 4 * n);
    const SdmGpuMatch m = {.views = {.cost = c->cost,
                                     .w = c->s.w,
                                     .h = c->s.h,
                                     .left = left,
                                     .right = right,
                                     .v_shift = c->task.v_shift},
                           .pass = &c->pass,
                           .retry = c->retry,
                           .right_cells = &cells,
                           .prior = prior,
                           .h_m = put(want.h_m, 4 * n),
                           .flags = put(want.flags, 2 * n),
                           .score = put(want.score, n)};
    OK(sdm_gpu_cells_new(test.ctx, &test.gpu, &c->lattice, node, &c->task.win, SDM_RIGHT, &cells));
    OK(sdm_gpu_match(test.ctx, &test.gpu, &m));
    OK(sdm_level_match(test.ctx, &task, &c->pass, c->prior, c->retry, &want));
    for (size_t i = 0; i < n; i++)
        valid += want.flags[i] == SDM_QA_VALID;
    expect(m.flags, want.flags, 2 * n, name_of(c, "flags"));
    expect(m.h_m, want.h_m, 4 * n, name_of(c, "heights"));
    expect(m.score, want.score, n, name_of(c, "scores"));
    expect(left, c->image[0], 2 * n, name_of(c, "left"));
    expect(right, c->image[1], 2 * n, name_of(c, "right"));
    expect(prior, c->prior, 4 * n, name_of(c, "prior"));
    expect(node, c->lattice.node, nodes_bytes(&c->lattice), name_of(c, "nodes"));
    return valid;
}

static void compare_gap(const Case *c)
{
    const size_t n = (size_t)c->s.w * (size_t)c->s.h;
    SdmLevelTask task = c->task;
    FREED float *const gap = malloc(4 * n);
    FREED uint8_t *const score = malloc(n);
    SdmBuffer *const left = put(c->image[0], 2 * n), *const right = put(c->image[1], 2 * n),
                     *const ray_error_v = put(NULL, 4 * n), *const score0 = put(NULL, n);
    const SdmGpuViews views = {.cost = c->cost, .w = c->s.w, .h = c->s.h, .left = left, .right = right};
    OK(sdm_gpu_ray_error(test.ctx, &test.gpu, &views, &c->pass, ray_error_v, score0));
    OK(sdm_level_ray_error(test.ctx, &task, &c->pass, gap, score));
    expect(ray_error_v, gap, 4 * n, name_of(c, "gaps"));
    expect(score0, score, n, name_of(c, "scores of gaps"));
    expect(left, c->image[0], 2 * n, name_of(c, "left"));
    expect(right, c->image[1], 2 * n, name_of(c, "right"));
}

TEST(matches_are_the_references)
{
    static const int reaches[] = {0, 1, 2, 3, 5, 10};
    int64_t valid = 0;
    int turn = 0;
    for (int cost = 0; cost < 2; cost++)
        for (int i = 0; i < N_SHAPES; i++)
            for (int window = 3; window <= 21; window += 2)
                for (int r = 0; r < 6; r++, turn++) {
                    SDM_CLOSED_BY(case_close) Case c = {0};
                    if ((shapes[i].w * shapes[i].h > 5000 && (window + r) % 5 != 0) ||
                        turn % DEVICE_STEP != 0)
                        continue;
                    case_open(&c, (enum SdmGpuCost)cost, shapes[i], window, reaches[r], turn);
                    valid += compare_match(&c);
                    if (r == 0)
                        compare_gap(&c);
                }
    assert_true(valid > 1000);
}

/* The passes of the chain on images wider and higher than a strip. */
TEST(strips_do_not_show)
{
    static const int pass[][2] = {{9, 3}, {5, 1}, {13, 5}};
    int64_t valid = 0;
    for (int cost = 0; cost < 2; cost++)
        for (int turn = 0; turn < 3 * 8; turn += CASE_STEP) {
            SDM_CLOSED_BY(case_close) Case c = {0};
            case_open(&c, (enum SdmGpuCost)cost, (Shape){520 - 31 * (turn / 3), 71 - turn}, pass[turn % 3][0],
                      pass[turn % 3][1], 3 * turn + turn / 8);
            c.task.kernels = sdm_kernels_at("auto"); /* as the reference, and sooner */
            c.task.cost = cost == SDM_GPU_ZNCC ? c.task.kernels->zncc : c.task.kernels->census;
            valid += compare_match(&c);
            if (turn % 3 == 0)
                compare_gap(&c);
        }
    assert_true(valid > 1000);
}

/* The sums at their limit: 21 x 21 of +-2047, where 2^22 x 441 must fit. */
TEST(largest_sums_do_not_wrap)
{
    for (int cost = 0; cost < 2; cost++)
        for (int fill = 0; fill < FILL_END; fill++) {
            SDM_CLOSED_BY(case_close) Case c = {0};
            case_open(&c, (enum SdmGpuCost)cost, (Shape){48, 24}, 21, 2, fill + FILL_END);
            compare_match(&c);
        }
}

int main(void)
{
    return run_on_devices();
}
