/* Rectified matching: every copy that runs here gives the definition's bits, whatever the shape, range,
 * window, fill, number of threads; nothing is written beside the output. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include "core/core.h"
#include "rectified/pair.h"

typedef struct Case {
    SdmPairImage image[2];
    SdmPairSettings set;
    SdmOptimizer how; /* local */
    int threads;
} Case;

static const SdmPairSettings usual = {.cost = SDM_PAIR_CENSUS,
                                      .window = 5,
                                      .dmax = 15,
                                      .census_width = 9,
                                      .census_height = 7,
                                      .lr_threshold = 1.0f,
                                      .cpu_level = "auto"};

static int pick(uint64_t *seed, int lo, int hi)
{
    return lo + (int)(next_random(seed) % (unsigned)(hi - lo + 1));
}

/* A pair whose right image is the left one moved by some pixels, with noise; fills at their extremes; nodata.
 */
static void fill_pair(Case *c, uint64_t *seed)
{
    const int top = c->image[0].eight_bit ? 255 : 2047, bottom = c->image[0].eight_bit ? 0 : -2047;
    const int kind = pick(seed, 0, 7), shift = pick(seed, c->set.dmin, c->set.dmax),
              grain = pick(seed, 1, 40);
    const ptrdiff_t stride = c->image[0].stride;
    int16_t *const left = (int16_t *)c->image[0].data, *const right = (int16_t *)c->image[1].data;
    for (ptrdiff_t i = 0; i < stride * c->image[0].height; i++) {
        left[i] = (int16_t)(kind == 0 ? top : kind == 1 ? bottom : pick(seed, bottom, top));
        right[i] = (int16_t)(kind == 0 ? bottom : kind == 1 ? bottom : pick(seed, bottom, top));
        if (kind == 2)
            left[i] = right[i] = (int16_t)(i / 3 % 2 ? top : bottom);
        if (kind == 3) /* many ties */
            left[i] = (int16_t)(left[i] & 1), right[i] = (int16_t)(right[i] & 1);
    }
    for (ptrdiff_t i = 0; kind >= 4 && i < stride * c->image[0].height; i++)
        if (i + shift >= 0 && i + shift < stride * c->image[0].height) {
            const int v = left[i + shift] + pick(seed, -grain, grain);
            right[i] = (int16_t)(v > top ? top : v < bottom ? bottom : v);
        }
    for (int n = kind == 5 ? 12 : 0; n > 0; n--) { /* holes */
        const ptrdiff_t at = (ptrdiff_t)(next_random(seed) % (unsigned)(stride * c->image[0].height));
        (n % 2 ? left : right)[at] = SDM_PIXEL_NODATA;
    }
}

static void random_range(Case *c, uint64_t *seed)
{
    static const int depths[] = {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 80, 97, 129, 200};
    const int w = c->image[0].width, most = 2 * w - 1;
    const int depth = depths[next_random(seed) % 14] < most ? depths[next_random(seed) % 14] : most;
    const int fits = depth < most ? depth : most;
    c->set.dmin = pick(seed, 1 - w, w - fits);
    if (next_random(seed) % 3)
        c->set.dmin = c->set.dmin < 0 && -c->set.dmin > fits ? -fits / 2 : c->set.dmin > 5 ? 5 : c->set.dmin;
    c->set.dmax = c->set.dmin + fits - 1 < w ? c->set.dmin + fits - 1 : w - 1;
}

static void random_case(Case *c, SdmPairCost cost, uint64_t *seed)
{
    static const int widths[] = {1, 2, 7, 33, 65, 100, 150, 260}, heights[] = {1, 2, 9, 30, 55};
    static const int words[4][2] = {{5, 5}, {7, 7}, {9, 7}, {9, 9}};
    const int w = widths[next_random(seed) % 8], h = heights[next_random(seed) % 5], word = pick(seed, 0, 3);
    const bool eight_bit = next_random(seed) % 2;
    for (int side = 0; side < 2; side++)
        c->image[side] = (SdmPairImage){.width = w,
                                        .height = h,
                                        .stride = w + 3,
                                        .eight_bit = eight_bit,
                                        .data = malloc((size_t)((w + 3) * h) * sizeof(int16_t))};
    c->set = (SdmPairSettings){.cost = cost,
                               .window = 3 + 2 * pick(seed, 0, 9),
                               .census_width = words[word][0],
                               .census_height = words[word][1],
                               .lr_threshold = (float)pick(seed, -1, 3),
                               .uniqueness = next_random(seed) % 2 ? 0.0f : 0.05f * (float)pick(seed, 0, 4),
                               .min_sigma = next_random(seed) % 3 ? 0.0f : (float)(eight_bit ? 74 : 1190),
                               .subpixel = next_random(seed) % 2};
    if (cost == SDM_PAIR_SAD)
        c->set.window = pick(seed, 2, next_random(seed) % 4 ? 16 : 32);
    else if (next_random(seed) % 2)
        c->set.window = 3 + 2 * pick(seed, 0, 3);
    c->threads = pick(seed, 1, 3);
    random_range(c, seed);
    fill_pair(c, seed);
}

static void run(const Case *c, const char *level, float *out)
{
    SdmPairSettings set = c->set;
    SdmOptimizer how = c->how;
    how.cpu_level = level;
    set.optimizer = &how;
    const size_t bytes = (size_t)c->image[0].width * (size_t)c->image[0].height * sizeof(float);
    set.cpu_level = level;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = threaded_context(c->threads);
    memset(out, 0x55, bytes);
    assert_ok(ctx, sdm_pair_match(ctx, &c->image[0], &c->image[1], &set, out));
    guarded_check(out, bytes);
}

static void compare(const Case *c, const float *want, const float *have, const char *level)
{
    const int w = c->image[0].width, h = c->image[0].height;
    for (int i = 0; i < w * h; i++)
        if (memcmp(&want[i], &have[i], sizeof *want) != 0) /* NaN, too */
            fail_msg("%s, cost %d, %d x %d, window %d, d %d..%d, lr %g: pixel %d, %d is %g, not %g", level,
                     (int)c->set.cost, w, h, c->set.window, c->set.dmin, c->set.dmax,
                     (double)c->set.lr_threshold, i % w, i / w, (double)have[i], (double)want[i]);
}

/* The same images as bytes, if they are of 8 bits and have no holes; false: they are not. */
static bool as_bytes(const Case *c, Case *out)
{
    *out = *c;
    for (int side = 0; side < 2; side++) {
        const SdmPairImage *const im = &c->image[side];
        const size_t n = (size_t)im->stride * (size_t)im->height;
        if (!im->eight_bit || sdm_pair_has_holes(im, 0, im->height - 1))
            return false;
        uint8_t *const bytes = guarded_alloc(n);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)im->data[i];
        out->image[side].bytes = bytes;
        out->image[side].data = NULL;
    }
    return true;
}

/* Every level that runs here gives what is wanted; have: room for it, guarded; slow: the reference, too. */
static void compare_levels(const Case *c, const float *want, float *have, bool slow)
{
    Case other;
    if (as_bytes(c, &other)) {
        if (slow) {
            run(&other, "reference", have);
            compare(c, want, have, "reference, of bytes");
        }
        run(&other, "auto", have);
        compare(c, want, have, "the best level, of bytes");
    }
    for (int side = 0; side < 2; side++)
        if (other.image[side].bytes)
            guarded_free((void *)(uintptr_t)other.image[side].bytes);
    for (int l = 0; l < N_LEVELS; l++)
        if (sdm_kernels_at(level_names[l])) {
            run(c, level_names[l], have);
            compare(c, want, have, level_names[l]);
        }
}

static void levels_are_the_definition(SdmPairCost cost, int turns)
{
    uint64_t seed = 1234 + (uint64_t)cost;
    int matched = 0;
    for (int turn = 0; turn < turns; turn += CASE_STEP) {
        Case c;
        random_case(&c, cost, &seed);
        c.how = (SdmOptimizer){.kind = SDM_OPTIMIZER_LOCAL};
        const double work = (double)c.image[0].width * c.image[0].height * (c.set.dmax - c.set.dmin + 1) *
                            c.set.window * c.set.window;
        const size_t pixels = (size_t)c.image[0].width * (size_t)c.image[0].height;
        float *const want = guarded_alloc(pixels * sizeof(float)), *const have =
                                                                       guarded_alloc(pixels * sizeof(float));
        if (work < 4e7) {
            run(&c, "reference", want);
            for (size_t i = 0; i < pixels; i++)
                matched += !isnan(want[i]);
            compare_levels(&c, want, have, true);
        }
        guarded_free(want);
        guarded_free(have);
        free((void *)(uintptr_t)c.image[0].data);
        free((void *)(uintptr_t)c.image[1].data);
    }
    assert_true(matched > (CASE_STEP == 1 ? 50 * turns : 0));
}

/* With optimizers: test_sgm.c, test_bp.c. */
TEST(costs_are_the_definition)
{
    levels_are_the_definition(SDM_PAIR_SAD, 300);
    levels_are_the_definition(SDM_PAIR_ZNCC, 200);
    levels_are_the_definition(SDM_PAIR_CENSUS, 200);
}

/* Ranges beyond 256 and negative ones: the definition's bits on a few rows, and the same on many rows, where
 * several threads have work. */
TEST(long_ranges_are_the_definition)
{
    enum { WIDTH = 640, FEW = 10, MANY = 72 };
    static const int spans[][2] = {{-64, -1}, {0, 255}, {0, 256}, {-520, -201}, {-150, 149}, {0, 511}};
    uint64_t seed = 77;
    for (int turn = 0; turn < 18; turn += CASE_STEP) {
        const int cost = turn % 3, *const range = spans[turn / 3];
        Case c = {.set = usual, .how = {.kind = SDM_OPTIMIZER_LOCAL}, .threads = 1};
        c.set.cost = (SdmPairCost)cost;
        c.set.dmin = range[0];
        c.set.dmax = range[1];
        c.set.subpixel = true;
        for (int side = 0; side < 2; side++)
            c.image[side] = (SdmPairImage){.width = WIDTH,
                                           .height = MANY,
                                           .stride = WIDTH,
                                           .eight_bit = turn % 2,
                                           .data = malloc(WIDTH * MANY * sizeof(int16_t))};
        fill_pair(&c, &seed);
        for (int rows = FEW; rows <= MANY; rows += MANY - FEW) {
            GUARDED float *const want = guarded_alloc(WIDTH * (size_t)rows * sizeof(float)),
                                 *const have = guarded_alloc(WIDTH * (size_t)rows * sizeof(float));
            c.image[0].height = c.image[1].height = rows;
            c.threads = 1;
            run(&c, rows == FEW ? "reference" : "c", want);
            c.threads = rows == FEW ? 1 : 3;
            compare_levels(&c, want, have, false);
        }
        free((void *)(uintptr_t)c.image[0].data);
        free((void *)(uintptr_t)c.image[1].data);
    }
}

/* ---- settings that cannot be; memory ---- */

typedef struct Plain { /* a case of noise that can be matched */
    Case c;
    int16_t pixel[2][60 * 40];
    float out[60 * 40];
} Plain;

static void plain_open(Plain *p)
{
    uint64_t seed = 5;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 60 * 40; i++)
            p->pixel[side][i] = (int16_t)(next_random(&seed) % 256);
        p->c.image[side] = (SdmPairImage){
            .width = 60, .height = 40, .stride = 60, .data = p->pixel[side], .eight_bit = true};
    }
    p->c.set = usual;
}

static void refused(const Plain *p, SdmStatus status, const char *sentence)
{
    float out[60 * 40];
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    const SdmStatus st = sdm_pair_check_settings(ctx, &p->c.set);
    assert_int_equal(st ? st : sdm_pair_match(ctx, &p->c.image[0], &p->c.image[1], &p->c.set, out), status);
    if (!strstr(sdm_error(ctx), sentence))
        fail_msg("\"%s\" lacks \"%s\"", sdm_error(ctx), sentence);
}

#define REFUSED(sentence, change)                                                                            \
    do {                                                                                                     \
        plain_open(&p);                                                                                      \
        p.c.change;                                                                                          \
        refused(&p, SDM_ERR_USAGE, sentence);                                                                \
    } while (0)

TEST(impossible_settings_are_refused)
{
    static Plain p;
    REFUSED("--min-disparity: found 16 px", set.dmin = 16);
    REFUSED("--window 1: needs --optimizer sgm or bp", set.window = 1);
    REFUSED("--window 23: expected an odd one from 3 to 21", set.window = 23);
    REFUSED("even windows need --cost sad", set.window = 6);
    plain_open(&p);
    p.c.set.cpu_level = "mips";
    refused(&p, SDM_ERR_UNSUPPORTED, "--cpu-level mips");
}

TEST(a_failed_allocation_is_told)
{
    static Plain p;
    const char *const levels[] = {"reference", "auto"};
    for (int i = 0; i < 2; i++) {
        plain_open(&p);
        p.c.set.cpu_level = levels[i];
        sdm_alloc_fail_at(1);
        refused(&p, SDM_ERR_MEMORY, "out of memory");
        sdm_alloc_fail_at(0);
    }
}

/* Peak of matching noise of so many rows and disparities, bytes. */
static int64_t peak_of(int height, int depth, SdmPairCost cost)
{
    enum { WIDTH = 600 };
    const size_t count = (size_t)(WIDTH * height);
    FREED int16_t *const pixel = malloc(count * sizeof *pixel);
    FREED float *const out = malloc(count * sizeof *out);
    uint64_t seed = 9;
    for (size_t i = 0; i < count; i++)
        pixel[i] = (int16_t)(next_random(&seed) % 256);
    const SdmPairImage image = {
        .width = WIDTH, .height = height, .stride = WIDTH, .data = pixel, .eight_bit = true};
    SdmPairSettings set = usual;
    set.cost = cost;
    set.window = 9;
    set.dmax = depth - 1;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = threaded_context(1);
    assert_int_equal(sdm_pair_match(ctx, &image, &image, &set, out), SDM_OK);
    return sdm_memory_peak(ctx);
}

TEST(memory_is_that_of_rows_in_flight)
{
    enum { ROWS = 128 + 8, PIXEL = 40 /* bytes: terms, texture, best, words of a right pixel in flight */ };
    for (int cost = 0; cost < 3; cost++) {
        const int64_t least = peak_of(600, 64, (SdmPairCost)cost),
                      wide = peak_of(600, 512, (SdmPairCost)cost);
        assert_true(peak_of(2400, 64, (SdmPairCost)cost) == least);
        /* the rows in flight reach 448 right pixels further; 448 more planes of 600 x 128 costs would be 69
         * MB */
        assert_true(wide - least < (512 - 64 + 128) * (int64_t)(ROWS * PIXEL) + (1 << 20));
    }
}

RUN_TESTS(NULL, NULL)
