/* Every copy of the costs that runs here against the reference, bit for bit: odd shapes, windows, ranges,
 * row sub-ranges and fills, with guard bytes around what they write. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

typedef struct Shape {
    int w, h;
} Shape;
static const Shape shapes[] = {{1, 1},   {7, 2},    {65, 2},   {3, 70},   {5, 23},
                               {33, 31}, {129, 67}, {533, 23}, {1045, 11}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static sdm_cost_strip_fn *cost_of(const SdmKernels *k, int c)
{
    return c == 0 ? k->zncc : k->census;
}

static void compare_costs(const SdmCostJob *job, int c, int fill)
{
    Volume want, have;
    const size_t bytes = (size_t)job->width * (size_t)job->height * sizeof(float);
    volume_of(&sdm_kernels_reference, cost_of(&sdm_kernels_reference, c), job, &want);
    for (int l = 0; l < N_LEVELS; l++) {
        const SdmKernels *const k = sdm_kernels_at(level_names[l]);
        if (!k)
            continue;
        volume_of(k, cost_of(k, c), job, &have);
        if (want.rows != have.rows || memcmp(want.left, have.left, bytes) != 0 ||
            memcmp(want.score, have.score, bytes * (size_t)volume_depth(&want)) != 0)
            fail_msg("%s cost %d, %d x %d, rows %d..%d, window %d, d %d..%d, shift %d, fill %d",
                     level_names[l], c, job->width, job->height, job->row_begin, job->row_end, job->window,
                     job->dmin, job->dmax, job->right_shift, fill);
        volume_free(&have);
    }
    volume_free(&want);
}

/* All fills, shifts and row ranges in turn for a shape, window and range of d. */
static void compare_case(int c, Shape s, int window, Range range, int turn)
{
    enum { PAD = 5 }; /* between rows, never to be read */
    const size_t n = (size_t)(s.w + PAD) * (size_t)s.h;
    FREED int16_t *const left = malloc(n * sizeof *left), *const right = malloc(n * sizeof *right);
    uint64_t seed = (uint64_t)turn + 1;
    const enum Fill fill = (enum Fill)(turn % FILL_END);
    fill_image(left, n, fill, 1, &seed);
    fill_image(right, n, turn / FILL_END % 3 == 0 ? NOISE : fill, 0, &seed);
    const int rows = turn / 2 % 3;
    const SdmCostJob job = {.left = left,
                            .right = right,
                            .stride = s.w + PAD,
                            .width = s.w,
                            .height = s.h,
                            .row_begin = rows == 1 ? s.h / 3 : 0,
                            .row_end = rows == 2 ? (s.h + 1) / 2 : s.h,
                            .right_shift = turn / 5 % 3 - 1,
                            .window = window,
                            .dmin = range.dmin,
                            .dmax = range.dmax,
                            .min_sigma = turn % 4 == 3 ? 1200.0f : 0.0f};
    compare_costs(&job, c, (int)fill);
    SdmCostJob along_v = job;
    along_v.along_v = true;
    along_v.dmin = turn % 3 == 0 ? 0 : -1;
    along_v.dmax = turn % 4 == 0 ? 0 : 1;
    compare_costs(&along_v, c, (int)fill);
}

TEST(costs_are_the_references)
{
    int turn = 0;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < N_SHAPES; i++)
            for (int window = 3; window <= 21; window += 2)
                for (int r = 0; r < N_RANGES; r++, turn++) {
                    const bool large = shapes[i].w * shapes[i].h > 5000;
                    if ((large && (window + r) % 4 != 0) || turn % CASE_STEP != 0)
                        continue;
                    compare_case(c, shapes[i], window, ranges[r], turn);
                }
}

/* The sums at their limit: 21 x 21 of +-2047, where 2^22 x 441 must fit. */
TEST(largest_sums_do_not_wrap)
{
    const Shape s = {48, 24};
    for (int c = 0; c < 3; c++)
        for (int fill = 0; fill < FILL_END; fill++)
            compare_case(c, s, 21, (Range){-2, 2}, fill + FILL_END); /* both sides alike */
}

int main(void)
{
    for (int l = 0; l < N_LEVELS; l++)
        print_message("%-7s %s\n", level_names[l],
                      sdm_kernels_at(level_names[l]) ? "here" : "not on this machine");
    return run_cases(NULL, NULL);
}
