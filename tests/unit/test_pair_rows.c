/* Rows of a match: the sink gets them in order, those of the array; a failure or a stop ends the work. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair.h"
#include "tests/case.h"

enum { WIDTH = 40, HEIGHT = 622 }; /* three bands of the optimizer; the last one is not whole */

static uint8_t left[HEIGHT * WIDTH], right[HEIGHT * WIDTH];
static float whole[HEIGHT * WIDTH];

typedef struct Written {
    int fails_at, rows; /* the band with that row cannot be written, -1: none; rows written so far */
} Written;

static SdmStatus put_rows(SdmContext *ctx, void *user, int y0, int y1, const float *rows)
{
    Written *const w = user;
    if (w->fails_at >= y0 && w->fails_at < y1)
        return sdm_fail(ctx, SDM_ERR_IO, "no room for row %d", w->fails_at);
    if (y0 != w->rows || y0 % SDM_PAIR_ROWS != 0)
        return sdm_fail(ctx, SDM_ERR_DATA, "found row %d, expected %d", y0, w->rows);
    if (memcmp(rows, whole + y0 * WIDTH, (size_t)((y1 - y0) * WIDTH) * sizeof *rows) != 0)
        return sdm_fail(ctx, SDM_ERR_DATA, "rows from %d on differ from those of the array", y0);
    w->rows = y1;
    return SDM_OK;
}

static SdmPairImage image_of(const uint8_t *bytes)
{
    return (SdmPairImage){
        .width = WIDTH, .height = HEIGHT, .stride = WIDTH, .eight_bit = true, .bytes = bytes};
}

/* Match with one optimizer and instruction set: into an array, then by rows. */
static void check(SdmContext *ctx, const char *optimizer, const char *level)
{
    SdmOptions options;
    SdmOptimizer chosen;
    const SdmPairImage image[2] = {image_of(left), image_of(right)};
    const SdmPairSettings set = {.cost = SDM_PAIR_CENSUS,
                                 .window = 5,
                                 .dmax = 7,
                                 .census_width = 9,
                                 .census_height = 7,
                                 .lr_threshold = 1.0f,
                                 .subpixel = true,
                                 .cpu_level = level,
                                 .optimizer = &chosen};
    sdm_options_default(&options);
    options.optimizer = optimizer;
    assert_int_equal(sdm_pair_optimizer(ctx, &options, set.cost, &chosen), SDM_OK);
    assert_int_equal(sdm_pair_match(ctx, &image[0], &image[1], &set, whole), SDM_OK);
    for (int fails_at = -1; fails_at < HEIGHT; fails_at += 207) {
        Written w = {.fails_at = fails_at};
        SdmPairSink sink = {.put = put_rows, .user = &w};
        const SdmStatus st = sdm_pair_match_rows(ctx, &image[0], &image[1], &set, &sink);
        if (fails_at < 0 && st != SDM_OK)
            fail_msg("%s, %s: %s", optimizer, level, sdm_error(ctx));
        if (fails_at < 0)
            assert_int_equal(w.rows, HEIGHT);
        else
            assert_int_equal(st, SDM_ERR_IO);
        assert_true(fails_at < 0 || (w.rows <= fails_at && strstr(sdm_error(ctx), "no room for row")));
    }
}

TEST(rows_come_in_order)
{
    unsigned seed = 1;
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        left[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    for (int i = 0; i < HEIGHT * WIDTH - 3; i++)
        right[i] = left[i + 3];
    for (int threads = 1; threads < 5; threads++) {
        SDM_CLOSED_BY(sdm_close) SdmContext *ctx = threaded_context(threads);
        check(ctx, "local", "auto");
        check(ctx, "local", "reference");
        check(ctx, "sgm", "auto");
    }
}

TEST_CTX(a_stop_ends_the_work)
{
    const SdmPairImage image = image_of(left);
    const SdmPairSettings set = {.cost = SDM_PAIR_SAD, .window = 5, .dmax = 7, .cpu_level = "auto"};
    Written w = {.fails_at = -1};
    SdmPairSink sink = {.put = put_rows, .user = &w};
    sdm_cancel(ctx);
    assert_int_equal(sdm_pair_match_rows(ctx, &image, &image, &set, &sink), SDM_ERR_STOPPED);
    assert_int_equal(w.rows, 0);
}

RUN_TESTS(NULL, NULL)
