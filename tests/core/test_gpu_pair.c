/* Rectified matching on every device here against its definition, bit for bit: costs, windows of all sides,
 * ranges of both signs, fills, checks, optimizers. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_device.h"
#include "gpu_cases.h"

static const Shape shapes[] = {{1, 1}, {7, 2}, {65, 2}, {3, 70}, {33, 31}, {129, 40}, {301, 21}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

typedef struct Pair {
    SdmPairImage image[2];
    int16_t *data[2];
    float *want, *have;
    size_t n;
} Pair;

static void pair_open(Pair *p, Shape s, bool eight_bit, int turn)
{
    const int pad = turn % 3; /* between rows, never to be read */
    const size_t all = (size_t)(s.w + pad) * (size_t)s.h;
    uint64_t seed = (uint64_t)turn + 1;
    p->n = (size_t)s.w * (size_t)s.h;
    for (int side = 0; side < 2; side++) {
        p->data[side] = malloc(all * sizeof(int16_t));
        fill_image(p->data[side], all,
                   turn / FILL_END % 3 == 0 && side ? NOISE : (enum Fill)(turn % FILL_END), !side, &seed);
        for (size_t i = 0; i < all && eight_bit; i++)
            p->data[side][i] = p->data[side][i] == SDM_PIXEL_NODATA
                                   ? (int16_t)SDM_PIXEL_NODATA
                                   : (int16_t)((p->data[side][i] + 2048) >> 4);
        p->image[side] = (SdmPairImage){s.w, s.h, s.w + pad, p->data[side], eight_bit, NULL};
    }
    for (size_t i = 3; i < all && turn % 4 == 1; i++) /* alike, 3 pixels apart */
        p->data[1][i - 3] = p->data[0][i];
    p->want = malloc(p->n * sizeof(float));
    p->have = malloc(p->n * sizeof(float));
}

static void pair_close(Pair *p)
{
    free(p->data[0]);
    free(p->data[1]);
    free(p->want);
    free(p->have);
}

/* Disparities and, with an optimizer, the energy. */
static int64_t compare_pair(Shape s, const SdmPairSettings *set, bool eight_bit, int turn)
{
    SDM_CLOSED_BY(pair_close) Pair p = {0};
    int64_t valid = 0, energy[2][2] = {{0}};
    SdmPairSettings mine[2] = {*set, *set};
    for (int k = 0; k < 2 && set->optimizer; k++)
        mine[k].energy = energy[k];
    pair_open(&p, s, eight_bit, turn);
    OK(sdm_pair_match(test.ctx, &p.image[0], &p.image[1], &mine[0], p.want));
    OK(sdm_pair_match_device(test.ctx, &test.gpu, &p.image[0], &p.image[1], &mine[1], p.have));
    assert_memory_equal(energy[0], energy[1], sizeof energy[0]);
    for (size_t i = 0; i < p.n; i++) {
        valid += !isnan(p.want[i]);
        if (memcmp(&p.want[i], &p.have[i], 4) != 0)
            fail_msg("cost %d, %d x %d, window %d, d %d..%d, %d bit, turn %d: pixel %zu is %g, not %g",
                     (int)set->cost, s.w, s.h, set->window, set->dmin, set->dmax, eight_bit ? 8 : 12, turn, i,
                     (double)p.have[i], (double)p.want[i]);
    }
    return valid;
}

static SdmPairSettings settings_of(SdmPairCost cost, int window, Range r, int turn)
{
    static const int census[][2] = {{5, 5}, {7, 7}, {9, 7}, {9, 9}};
    return (SdmPairSettings){.cost = cost,
                             .window = window,
                             .dmin = r.dmin,
                             .dmax = r.dmax,
                             .census_width = census[turn % 4][0],
                             .census_height = census[turn % 4][1],
                             .lr_threshold = (float)(turn / 3 % 4 - 1),
                             .min_sigma = (float[]){0.0f, 1e-3f, 40.0f}[turn / 2 % 3],
                             .subpixel = turn / 4 % 2 == 0,
                             .cpu_level = "auto"};
}

TEST(pairs_are_the_definition)
{
    static const Range d_ranges[] = {{0, 0}, {0, 15}, {-6, 3}, {-20, -12}, {2, 66}};
    int64_t valid = 0;
    int turn = 0;
    for (int cost = SDM_PAIR_SAD; cost <= SDM_PAIR_CENSUS; cost++)
        for (int i = 0; i < N_SHAPES; i++)
            for (int window = cost == SDM_PAIR_SAD ? 2 : 3; window <= (cost == SDM_PAIR_SAD ? 32 : 21);
                 window += cost == SDM_PAIR_SAD ? 1 : 2, turn++) {
                const Range r = d_ranges[turn % 5];
                if (r.dmin <= -shapes[i].w || r.dmax >= shapes[i].w || (shapes[i].w > 100 && turn % 4 != 1) ||
                    turn % DEVICE_STEP != 0)
                    continue;
                SdmPairSettings set = settings_of((SdmPairCost)cost, window, r, turn);
                set.uniqueness = turn % 4 == 2 ? 0.1f : 0.0f;
                set.cpu_level = "reference";
                valid += compare_pair(shapes[i], &set, turn / 2 % 2 == 0, turn);
            }
    assert_true(valid > 1000);
}

/* The same with little memory, which takes the pair band by band. */
static int64_t compare_in_bands(int mebibytes, Shape s, const SdmPairSettings *set, int turn)
{
    const int64_t budget = sdm_device_budget(test.device);
    sdm_gpu_close(&test.gpu); /* scratch of other sizes */
    OK(sdm_gpu_open(test.ctx, test.device, 0, &test.gpu));
    sdm_device_set_budget(test.device, (int64_t)mebibytes << 20);
    const int64_t valid = compare_pair(s, set, true, turn);
    sdm_device_set_budget(test.device, budget);
    return valid;
}

/* Every kernel's numbers of labels; penalties that 8 bits bear just so, or not, and the largest. */
TEST(pairs_by_labels_are_the_definition)
{
    static const struct {
        Shape s;
        Range r;
    } cases[] = {{{1, 1}, {0, 0}},       {{5, 90}, {-2, 0}},     {{40, 37}, {-3, 3}},
                 {{17, 1}, {-6, 9}},     {{65, 70}, {-9, 7}},    {{33, 90}, {-26, 5}},
                 {{130, 40}, {-7, 25}},  {{70, 300}, {-50, 13}}, {{129, 41}, {2, 66}},
                 {{140, 12}, {-64, 63}}, {{200, 34}, {-60, 68}}, {{301, 15}, {-150, 149}},
                 {{130, 600}, {-20, 19}}};
    enum { CASES = sizeof cases / sizeof *cases };
    static const int penalties[][2] = {{8, 60}, {0, 0}, {7, SDM_P2_MAX}, {3, 127}, {25, 128}, {300, 301}};
    static const int weights[][2] = {{11, 4}, {1, 1}, {16319, 1}, {4, 4079}, {40, 9}, {9, 5}};
    int64_t valid = 0;
    for (int kind = SDM_OPTIMIZER_SGM; kind <= SDM_OPTIMIZER_BP; kind++)
        for (int turn = 0; turn < 6 * CASES; turn += DEVICE_STEP) {
            const Shape s = cases[turn % CASES].s;
            const SdmPairCost cost =
                (SdmPairCost[]){SDM_PAIR_SAD, SDM_PAIR_CENSUS, SDM_PAIR_AD_CENSUS}[turn % 3];
            const int window = (int[]){1, 3, cost == SDM_PAIR_SAD ? 2 : 1, 21}[turn / 7 % 4];
            const SdmOptimizer how = {
                .kind = (SdmOptimizerKind)kind,
                .p1 = penalties[turn / CASES][0],
                .p2 = penalties[turn / CASES][1],
                .paths = turn % 8 ? 8 : 4,
                .weight = weights[turn / CASES][0],
                .truncation = weights[turn / CASES][1],
                .bp = {(int[]){32, 4, 13, s.h < 500 ? 1000 : 100}[turn % 4], 1 + turn % 2, 1 + turn % 3},
                .cpu_level = "auto"};
            SdmPairSettings set = settings_of(cost, window, cases[turn % CASES].r, turn);
            set.optimizer = &how;
            valid += s.h < 500 ? compare_pair(s, &set, turn / 2 % 2 == 0, turn)
                               : compare_in_bands(28, s, &set, turn);
        }
    assert_true(valid > 1000);
}

/* Many bands of rows give what one gives. */
TEST(bands_do_not_show)
{
    for (int cost = SDM_PAIR_SAD; cost <= SDM_PAIR_CENSUS; cost++) {
        const SdmPairSettings set = settings_of((SdmPairCost)cost, 21, (Range){-2, 3}, 81);
        assert_true(compare_in_bands(2, (Shape){40, 470}, &set, 81) > 0);
    }
}

/* Sizes of the launches are a matter of time alone. */
TEST(sizes_of_launches_change_nothing)
{
    const SdmTuning before = *sdm_device_tuning(test.device);
    const SdmTuning odd = {"", 7, 5, 32, 9, 96, 5, 13, 5, 96};
    assert_true(sdm_tuning_good(&odd));
    sdm_device_set_tuning(test.device, &odd);
    pairs_are_the_definition(state);
    sdm_device_set_tuning(test.device, &before);
}

int main(void)
{
    return run_on_devices();
}
