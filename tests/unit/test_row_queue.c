/* Bands of disparities: written in order whatever order they end in; ends where writing or matching fails. */
// SPDX-License-Identifier: Apache-2.0

#include "rectified/row_queue.h"
#include "tests/case.h"

enum { WIDTH = 3, HEIGHT = 62, ROWS = 8, BANDS = 8 }; /* the last band has 6 rows */

typedef struct Written {
    int fails_at;    /* row of the band that cannot be written; -1: none */
    int rows, close; /* written so far; 1: closed as good, 2: as bad */
} Written;

static SdmStatus open_file(SdmContext *ctx, void *user)
{
    (void)ctx, (void)user;
    return SDM_OK;
}

static SdmStatus write_rows(SdmContext *ctx, void *user, int y0, int y1, const float *rows)
{
    Written *const w = user;
    if (y0 == w->fails_at)
        return sdm_fail(ctx, SDM_ERR_IO, "no room for row %d", y0);
    if (y0 != w->rows)
        return sdm_fail(ctx, SDM_ERR_DATA, "found row %d, expected %d", y0, w->rows);
    for (int y = y0; y < y1; y++)
        for (int x = 0; x < WIDTH; x++)
            if (rows[(y - y0) * WIDTH + x] != (float)(10 * y + x))
                return sdm_fail(ctx, SDM_ERR_DATA, "row %d is not what was matched", y);
    w->rows = y1;
    return SDM_OK;
}

static SdmStatus close_file(SdmContext *ctx, void *user, bool good)
{
    (void)ctx;
    ((Written *)user)->close = good ? 1 : 2;
    return SDM_OK;
}

static int end_of(int band) { return band * ROWS + ROWS < HEIGHT ? band * ROWS + ROWS : HEIGHT; }

/* Match a band; false: it is not wanted. */
static bool match(const SdmPairSink *sink, int band)
{
    float *const room = sink->begin(sink->user, band * ROWS, end_of(band));
    for (int y = band * ROWS; room && y < end_of(band); y++)
        for (int x = 0; x < WIDTH; x++)
            room[(y - band * ROWS) * WIDTH + x] = (float)(10 * y + x);
    return room != NULL;
}

/* Bands of two threads, of which the second one is always done first; up to band `count`. */
static SdmStatus run(SdmContext *ctx, Written *w, int count, SdmStatus matched)
{
    const SdmRowWriter writer = {open_file, write_rows, close_file, w};
    SdmRowQueue *queue = NULL;
    assert_int_equal(sdm_row_queue_open(ctx, WIDTH, HEIGHT, &writer, &queue), SDM_OK);
    const SdmPairSink sink = sdm_row_queue_sink(queue);
    assert_int_equal(sink.open(sink.user, ROWS, 2), SDM_OK);
    for (int band = 0; band < count; band += 2) {
        const bool first = match(&sink, band), second = match(&sink, band + 1);
        if (second)
            sink.end(sink.user, (band + 1) * ROWS, end_of(band + 1));
        if (first)
            sink.end(sink.user, band * ROWS, end_of(band));
    }
    const SdmStatus st = sdm_row_queue_close(&queue, matched);
    assert_null(queue);
    return st;
}

TEST(rows_are_written_in_order)
{
    Written w = {.fails_at = -1};
    SdmContext *ctx = default_context();
    const SdmStatus st = run(ctx, &w, BANDS, SDM_OK);
    if (st != SDM_OK)
        fail_msg("%s", sdm_error(ctx));
    assert_int_equal(w.rows, HEIGHT);
    assert_int_equal(w.close, 1);
    sdm_close(&ctx);
}

TEST(a_failure_ends_the_work)
{
    SdmContext *ctx = default_context();
    for (int fails_at = 0; fails_at < HEIGHT; fails_at += ROWS) {
        Written w = {.fails_at = fails_at};
        assert_refused(ctx, run(ctx, &w, BANDS, SDM_OK), SDM_ERR_IO, "no room for row");
        assert_int_equal(w.close, 2);
    }
    for (int count = 0; count < BANDS; count += 2) { /* matching fails in between */
        Written w = {.fails_at = -1};
        assert_int_equal(run(ctx, &w, count, SDM_ERR_MEMORY), SDM_ERR_MEMORY);
        assert_int_equal(w.close, 2);
    }
    Written w = {.fails_at = -1};
    sdm_cancel(ctx); /* no band begins any more */
    assert_int_equal(run(ctx, &w, BANDS, SDM_ERR_STOPPED), SDM_ERR_STOPPED);
    assert_int_equal(w.rows, 0);
    assert_int_equal(w.close, 2);
    sdm_close(&ctx);
}

RUN_TESTS(NULL, NULL)
