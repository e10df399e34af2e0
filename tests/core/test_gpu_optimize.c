/* Optimizers on every device here against their definitions, label for label: volumes of odd shapes, numbers
 * of labels and fills, several bands at once; little memory.  The energy: test_gpu_pair.c. */
// SPDX-License-Identifier: Apache-2.0
#include "gpu/optimize_device.h"
#include "gpu_cases.h"

typedef struct Case {
    int w, h, labels, first;
    int band; /* rows of a band */
} Case;
static const Case cases[] = {{1, 1, 1, 0, 0},       {1, 9, 3, 0, 0},       {17, 1, 16, -9, 0},
                             {40, 37, 7, -3, 0},    {65, 70, 17, -20, 0},  {33, 90, 32, 5, 0},
                             {130, 40, 33, -40, 0}, {21, 300, 64, -50, 0}, {9, 45, 65, -30, 0},
                             {50, 20, 100, -60, 0}, {12, 34, 128, -64, 0}, {70, 11, 129, 0, 0},
                             {200, 330, 15, -7, 0}, {35, 37, 300, -150, 0}};
enum { N_CASES = sizeof cases / sizeof *cases, REACH = SDM_OFFSET_REACH, MOST_BANDS = 64 };
enum Cost { COSTS_ANY, COSTS_SMALL, COSTS_ZERO, COSTS_MOST, COSTS_STEPS, COSTS_END };

typedef struct Costs {
    SdmVolume host;
    SdmGpuVolume device;
    int16_t *guide;
    uint8_t *cost;
} Costs;

static void fill_costs(uint8_t *cost, size_t pixels, int labels, int pitch, int most, int kind,
                       uint64_t *seed)
{
    for (size_t i = 0; i < pixels; i++)
        for (int l = 0; l < pitch; l++) {
            const int any = (int)(next_random(seed) % (uint64_t)(most + 1));
            const int c = kind == COSTS_ZERO    ? 0
                          : kind == COSTS_MOST  ? most
                          : kind == COSTS_SMALL ? any % 3
                          : kind == COSTS_STEPS ? ((int)(i / 37 % (size_t)labels) == l ? 0 : most)
                                                : any;
            cost[i * (size_t)pitch + (size_t)l] = (uint8_t)(l < labels ? c : SDM_COST_PAD);
        }
}

/* The volume's costs in blocks of 16 labels. */
static SdmBuffer *put_blocks(const SdmVolume *v)
{
    const int blocks = v->pitch / 16;
    const size_t n = (size_t)v->width * (size_t)v->height * (size_t)v->pitch;
    FREED uint8_t *const all = malloc(n);
    for (int y = 0; y < v->height; y++)
        for (int b = 0; b < blocks; b++)
            for (int x = 0; x < v->width; x++)
                memcpy(all + 16 * (((size_t)y * (size_t)blocks + (size_t)b) * (size_t)v->width + (size_t)x),
                       v->cost + ((size_t)y * (size_t)v->width + (size_t)x) * (size_t)v->pitch + 16 * b, 16);
    SdmBuffer *const out = put(all, n);
    return out;
}

static void volume_open(Costs *v, const Case *c, int most, int turn)
{
    const size_t n = (size_t)c->w * (size_t)c->h;
    uint64_t seed = (uint64_t)turn + 1;
    SdmVolume *const h = &v->host;
    *h = (SdmVolume){.width = c->w,
                     .height = c->h,
                     .labels = c->labels,
                     .pitch = sdm_volume_pitch(c->labels),
                     .first = c->first,
                     .most = most,
                     .guide_stride = c->w,
                     .guide_scale = turn % 4 ? 10 * (turn % 4) : 0};
    v->guide = malloc(2 * n);
    v->cost = malloc(n * (size_t)h->pitch + 64);
    for (size_t i = 0; i < n; i++)
        v->guide[i] = (int16_t)(next_random(&seed) % 9 == 0 ? SDM_PIXEL_NODATA
                                                            : (int)(next_random(&seed) % 4096) - 2048);
    fill_costs(v->cost, n, c->labels, h->pitch, most, (turn + turn / COSTS_END) % COSTS_END, &seed);
    h->cost = v->cost;
    h->guide = v->guide;
    v->device = (SdmGpuVolume){.width = c->w,
                               .rows = c->h,
                               .labels = c->labels,
                               .first = c->first,
                               .most = most,
                               .guide_scale = h->guide_scale,
                               .cost = put_blocks(h),
                               .guide = put(v->guide, 2 * n)};
}

static void volume_close(Costs *v)
{
    sdm_buffer_free(&v->device.cost);
    sdm_buffer_free(&v->device.guide);
    free(v->guide);
    free(v->cost);
}

/* Labels of a band by the processor; rows begin..end - 1 into left and right. */
static void label_band(const Costs *v, const SdmOptimizer *how, const SdmGpuBand *b, uint16_t *left,
                       uint32_t *right)
{
    const size_t w = (size_t)v->host.width, rows = (size_t)(b->bottom - b->top);
    SdmVolume part = v->host;
    SdmLabels out = {.left = malloc(2 * w * rows), .right = malloc(2 * w * rows)};
    assert_true(out.left && out.right);
    memset(out.left, 0, 2 * w * rows);
    part.height = (int)rows;
    part.begin = b->begin - b->top;
    part.end = b->end - b->top;
    part.cost += (size_t)b->top * w * (size_t)part.pitch;
    part.guide += (size_t)b->top * w;
    OK(sdm_optimize(test.ctx, how, &part, &out));
    for (int y = b->begin; y < b->end; y++)
        for (size_t x = 0; x < w; x++) {
            const size_t from = (size_t)(y - b->top) * w + x, to = (size_t)(b->out + y - b->begin) * w + x;
            left[to] = out.left[from];
            right[to] = out.right[from];
        }
    free(out.left);
    free(out.right);
}

static void compare_labels(const Case *c, const SdmOptimizer *how, int most, int turn, bool right_too)
{
    SDM_CLOSED_BY(volume_close) Costs v = {0};
    SdmGpuBand bands[MOST_BANDS];
    int rows;
    const SdmGpuOwnRows own = {.y1 = c->h, .rows = c->band ? c->band : 256};
    const int count = sdm_gpu_bands(own, c->h, REACH, 0, bands, &rows);
    const size_t n = (size_t)c->w * (size_t)rows;
    FREED uint16_t *const want = malloc(2 * n);
    FREED uint32_t *const right = malloc(4 * n), *const have = malloc(4 * n);
    assert_true(want && right && have && count <= MOST_BANDS);
    volume_open(&v, c, most, turn);
    const SdmGpuLabels out = {put(NULL, 2 * n), right_too ? put(NULL, 4 * n) : NULL};
    char what[200];
    snprintf(what, sizeof what,
             "kind %d, %d x %d, %d labels, p %d %d, paths %d, tile %d, weight %d x %d, turn %d",
             (int)how->kind, c->w, c->h, c->labels, how->p1, how->p2, how->paths, how->bp.tile, how->weight,
             how->truncation, turn);
    for (int i = 0; i < count; i++)
        label_band(&v, how, &bands[i], want, right);
    OK(sdm_gpu_optimize(test.ctx, &test.gpu, how, &v.device, bands, count, &out));
    expect(out.left, want, 2 * n, what);
    if (right_too) {
        OK(sdm_download(test.ctx, out.right, 0, have, (int64_t)(4 * n), 0, true));
        for (size_t i = 0; i < n; i++) {
            const uint32_t l = have[i] == UINT32_MAX ? SDM_LABEL_NONE : 0xFFFF - (have[i] & 0xFFFF);
            if (l != right[i])
                fail_msg("%s: right pixel %zu has label %u, not %u", what, i, l, right[i]);
        }
    }
    SdmBuffer *last = out.right;
    sdm_buffer_free(&last);
}

/* Two penalties, or weight and truncation; the largest cost. */
TEST(labels_are_the_definitions)
{
    static const int settings[2][5][3] = {
        {{25, 120, 127}, {0, 0, 200}, {7, 7000, 254}, {3, 254, 0}, {300, 301, 90}},
        {{12, 4, 127}, {1, 1, 254}, {16319, 1, 254}, {4, 4079, 254}, {40, 9, 60}}};
    for (int bp = 0; bp < 2; bp++)
        for (int turn = 0; turn < 5 * N_CASES; turn += DEVICE_STEP) {
            const int *const s = settings[bp][turn % 5];
            const SdmOptimizer how = {.kind = bp ? SDM_OPTIMIZER_BP : SDM_OPTIMIZER_SGM,
                                      .p1 = s[0],
                                      .p2 = s[1],
                                      .paths = turn % 3 ? 8 : 4,
                                      .weight = s[0],
                                      .truncation = s[1],
                                      .bp = {(int[]){32, 4, 13, 1000}[turn % 4], 1 + turn % 2, 1 + turn % 3},
                                      .cpu_level = "reference"};
            Case c = cases[turn / 5];
            c.band = turn % 2 == 0 ? 0 : bp ? 70 : 24;
            compare_labels(&c, &how, s[2], turn, turn % 4 != 3);
        }
}

/* Little memory: bands go one after the other. */
TEST(bands_do_not_show)
{
    const int64_t budget = sdm_device_budget(test.device);
    const Case c = {90, 400, 40, -20, 40};
    for (int kind = SDM_OPTIMIZER_SGM; kind <= SDM_OPTIMIZER_BP; kind++) {
        const SdmOptimizer how = {.kind = (SdmOptimizerKind)kind,
                                  .p1 = 5,
                                  .p2 = 70,
                                  .paths = 8,
                                  .weight = 9,
                                  .truncation = 5,
                                  .bp = {16, 1, 1},
                                  .cpu_level = "auto"};
        sdm_gpu_close(&test.gpu); /* scratch of other sizes */
        OK(sdm_gpu_open(test.ctx, test.device, 0, &test.gpu));
        sdm_device_set_budget(test.device, (int64_t)8 << 20);
        compare_labels(&c, &how, 100, kind, true);
        sdm_device_set_budget(test.device, budget);
    }
}

int main(void)
{
    return run_on_devices();
}
