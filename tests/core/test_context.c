/* Context and memory: sentences, exit codes, checked sizes, the account, the n-th failure, stop. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include "core/core.h"

TEST(close_accepts_nothing)
{
    SdmContext *ctx = NULL;
    sdm_close(NULL);
    sdm_close(&ctx);
    assert_int_equal(sdm_open(&ctx, NULL), SDM_OK);
    assert_non_null(ctx);
    assert_string_equal(sdm_error(ctx), "");
    assert_true(sdm_threads(ctx) >= 1);
    sdm_close(&ctx);
    assert_null(ctx);
    assert_string_equal(sdm_error(NULL), "");
}

/* Work of less than a million units a thread gets fewer threads; the work around it its own again. */
TEST(teams_are_of_the_works_size)
{
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = threaded_context(2);
    const int most = sdm_threads(ctx); /* 1 without OpenMP */
    assert_int_equal(sdm_thread_limit_begin(ctx, INT64_MAX), 0);
    assert_int_equal(sdm_threads(ctx), most);
    const int around = sdm_thread_limit_begin(ctx, 1000);
    assert_int_equal(sdm_threads(ctx), 1);
    const int inner = sdm_thread_limit_begin(ctx, 3 << 20);
    assert_int_equal(sdm_threads(ctx), most);
    sdm_thread_limit_end(ctx, inner);
    assert_int_equal(sdm_threads(ctx), 1);
    sdm_thread_limit_end(ctx, around);
    assert_int_equal(sdm_threads(ctx), most);
    sdm_thread_limit_end(ctx, 0);
    assert_int_equal(sdm_threads(ctx), most);
}

TEST(exit_codes)
{
    assert_int_equal(sdm_exit_code(SDM_OK), 0);
    assert_int_equal(sdm_exit_code(SDM_ERR_USAGE), 2);
    for (int st = SDM_ERR_INPUT; st < SDM_STATUS_END; st++)
        assert_int_equal(sdm_exit_code((SdmStatus)st), 1);
}

TEST_CTX(failures_carry_a_sentence)
{
    char text[8], want[3000];
    assert_int_equal(sdm_fail(ctx, SDM_ERR_DATA, "%s has %d bands", "a.tif", 3), SDM_ERR_DATA);
    assert_string_equal(sdm_error(ctx), "a.tif has 3 bands");
    assert_int_equal(sdm_fail(NULL, SDM_ERR_IO, "nobody listens"), SDM_ERR_IO);
    memset(want, 'x', sizeof want - 1);
    want[sizeof want - 1] = '\0';
    (void)sdm_fail(ctx, SDM_ERR_DATA, "%s", want); /* longer than the context keeps: cut, never beyond */
    assert_true(strlen(sdm_error(ctx)) < sizeof want);
    assert_memory_equal(sdm_error(ctx), want, strlen(sdm_error(ctx)));
    assert_int_equal(sdm_format(ctx, text, sizeof text, "%d.tif", 123), SDM_OK);
    assert_string_equal(text, "123.tif");
    assert_refused(ctx, sdm_format(ctx, text, sizeof text, "%d.tif", 1234), SDM_ERR_USAGE, "too long");
}

TEST(bad_options_are_refused)
{
    SdmOptions opt = {0}; /* not filled by sdm_options_default() */
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = NULL;
    assert_int_equal(sdm_open(&ctx, &opt), SDM_ERR_USAGE);
    assert_non_null(ctx); /* so that it can say why */
    assert_true(sdm_error(ctx)[0] != '\0');
}

TEST_CTX(memory_is_zero_aligned_and_charged)
{
    unsigned char *a = NULL, *b = NULL;
    assert_int_equal(sdm_alloc(ctx, &a, 1000, 3, "a"), SDM_OK);
    assert_int_equal((uintptr_t)a % 64, 0);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(a[i], 0);
    memset(a, 1, 3000); /* all of it is ours */
    assert_int_equal(sdm_alloc(ctx, &b, 500, 1, "b"), SDM_OK);
    const int64_t peak = sdm_memory_peak(ctx);
    assert_true(peak >= 3500 && peak < 5000);
    sdm_free(&a);
    assert_null(a);
    sdm_free(&a);
    sdm_free(NULL);
    assert_int_equal(sdm_alloc(ctx, &a, 100, 1, "a"), SDM_OK);
    assert_int_equal(sdm_memory_peak(ctx), peak); /* what was freed is no longer charged */
    sdm_free(&a);
    sdm_free(&b);
    assert_int_equal(sdm_alloc(ctx, &a, 0, 8, "nothing"), SDM_OK);
    sdm_free(&a);
}

/* Blocks of all sizes in any order, also those made of pages of several others: cleared on request, and nobody else's. */
TEST_CTX(large_blocks_keep_their_bytes)
{
    enum { SLOTS = 7, STEPS = 400, KIB = 1024 };
    char *p[SLOTS] = {NULL};
    size_t bytes[SLOTS] = {0};
    uint64_t seed = 5;
    for (int step = 0; step < STEPS; step++) {
        const int i = (int)(next_random(&seed) % SLOTS), mark = 1 + step % 100;
        const bool zeroed = next_random(&seed) % 2;
        for (size_t k = 1; p[i] && k < bytes[i]; k += 4 * KIB)
            assert_int_equal(p[i][k], p[i][bytes[i] - 1]);
        sdm_free(&p[i]);
        bytes[i] = (size_t)(1500 + next_random(&seed) % 20000) * KIB;
        assert_int_equal((zeroed ? sdm_alloc : sdm_alloc_raw)(ctx, &p[i], bytes[i], 1, "a block"), SDM_OK);
        for (size_t k = 0; zeroed && k < bytes[i]; k += KIB)
            assert_int_equal(p[i][k], 0);
        for (size_t k = 1; k < bytes[i]; k += 4 * KIB)
            p[i][k] = (char)mark;
        p[i][bytes[i] - 1] = (char)mark;
    }
    for (int i = 0; i < SLOTS; i++)
        sdm_free(&p[i]);
}

TEST(absurd_sizes_are_refused)
{
    static const size_t sizes[][2] = {{SIZE_MAX, 2}, {SIZE_MAX / 2 + 1, 2},
                                      {SIZE_MAX, 1}, {SIZE_MAX - 100, 1},
                                      {1, SIZE_MAX}, {(size_t)1 << 33, (size_t)1 << 33}};
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *p = &ctx;
        assert_int_equal(sdm_alloc(ctx, &p, sizes[i][0], sizes[i][1], "the whole world"), SDM_ERR_MEMORY);
        assert_null(p);
        assert_non_null(strstr(sdm_error(ctx), "the whole world"));
    }
    assert_int_equal(sdm_memory_peak(ctx), 0);
}

TEST_CTX(nth_allocation_fails)
{
    for (int n = 1; n <= 5; n++) {
        sdm_alloc_fail_at(n);
        for (int i = 1; i <= 7; i++) {
            SDM_OWNED void *p = NULL;
            assert_int_equal(sdm_alloc(ctx, &p, 10, 1, "a row"), i == n ? SDM_ERR_MEMORY : SDM_OK);
            assert_int_equal(p == NULL, i == n);
        }
    }
    sdm_alloc_fail_at(0);
    assert_non_null(strstr(sdm_error(ctx), "a row"));
}

static void keep_line(void *user, SdmLogLevel level, int stage, const char *text)
{
    assert_int_equal(level, SDM_LOG_WARNING);
    assert_int_equal(stage, 5);
    strcpy(user, text);
}

static void keep_progress(void *user, int stage, double done, const char *what)
{
    assert_int_equal(stage, 6);
    assert_true(done == 0.5);
    strcpy(user, what);
}

TEST_CTX(sinks_get_lines)
{
    char line[64] = "";
    sdm_log(ctx, SDM_LOG_ERROR, 1, "into the void");
    sdm_log(NULL, SDM_LOG_ERROR, 1, "into the void");
    sdm_set_log(ctx, keep_line, line);
    sdm_set_progress(ctx, keep_progress, line);
    sdm_log(ctx, SDM_LOG_WARNING, 5, "%d of %d", 2, 3);
    assert_string_equal(line, "2 of 3");
    sdm_progress(ctx, 6, 0.5, "median");
    assert_string_equal(line, "median");
}

static void let_pass(double seconds)
{
    for (const double start = sdm_now_s(); sdm_now_s() - start < seconds;)
        ;
}

TEST_CTX(each_second_counts_for_one_stage)
{
    const double start = sdm_now_s();
    const int none = sdm_stage_enter(ctx, 5);
    let_pass(0.01);
    const int match = sdm_stage_enter(ctx, 6);
    assert_int_equal(match, 5);
    let_pass(0.02);
    assert_true(sdm_stage_time(ctx, 6) >= 0.02); /* while it still runs, as the report asks */
    sdm_stage_leave(ctx, match);
    const int around = sdm_stage_enter(ctx, 2);
    const int point = sdm_stage_enter(ctx, 6); /* filtering for the pointing is pointing */
    let_pass(0.01);
    sdm_stage_leave(ctx, point);
    sdm_stage_leave(ctx, around);
    sdm_stage_leave(ctx, none);
    const double all = sdm_now_s() - start;
    let_pass(0.01); /* belongs to none */
    assert_true(sdm_stage_time(ctx, 5) >= 0.01 && sdm_stage_time(ctx, 6) >= 0.02 &&
                sdm_stage_time(ctx, 2) >= 0.01);
    double sum = 0.0;
    for (int i = 1; i < 10; i++)
        sum += sdm_stage_time(ctx, i);
    assert_true(sum <= all && sum > 0.99 * all - 1e-4);
    sdm_stage_leave(ctx, -1);
    sdm_stage_leave(ctx, 99);
    assert_true(sdm_stage_time(ctx, 99) == 0.0 && sdm_stage_time(ctx, -1) == 0.0);
    sdm_stage_leave(NULL, sdm_stage_enter(NULL, 3));
}

TEST(utf8_is_told)
{
    static const struct {
        const char *text;
        int length;
    } cases[] = {{"a", 1},
                 {"\xC3\xA9", 2},
                 {"\xE2\x82\xAC", 3},
                 {"\xF0\x9F\x9B\xB0", 4},
                 {"\xE9 caf", 0},
                 {"\xC3", 0},
                 {"\x80", 0},
                 {"\xC0\xAF", 0},
                 {"\xE0\x9F\xBF", 0},
                 {"\xED\xA0\x80", 0},
                 {"\xF4\x90\x80\x80", 0},
                 {"\xF5\x80\x80\x80", 0},
                 {"\xE2\x82", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sdm_utf8_length(cases[i].text), cases[i].length);
}

TEST(stop_concerns_open_contexts)
{
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = NULL, *later = NULL;
    assert_int_equal(sdm_open(&ctx, NULL), SDM_OK);
    assert_int_equal(sdm_check_stop(ctx), SDM_OK);
    sdm_stop();
    assert_refused(ctx, sdm_check_stop(ctx), SDM_ERR_STOPPED, "stopped");
    assert_int_equal(sdm_open(&later, NULL), SDM_OK);
    assert_int_equal(sdm_check_stop(later), SDM_OK);
    assert_int_equal(sdm_check_stop(ctx), SDM_ERR_STOPPED);
}

TEST(cancel_concerns_one_context_and_its_children)
{
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = NULL, *child = NULL, *other = NULL;
    assert_int_equal(sdm_open(&ctx, NULL), SDM_OK);
    assert_int_equal(sdm_open(&other, NULL), SDM_OK);
    assert_int_equal(sdm_open_child(ctx, &child), SDM_OK);
    assert_int_equal(sdm_check_stop(child), SDM_OK);
    sdm_cancel(ctx);
    assert_int_equal(sdm_check_stop(ctx), SDM_ERR_STOPPED);
    assert_int_equal(sdm_check_stop(child), SDM_ERR_STOPPED);
    assert_int_equal(sdm_check_stop(other), SDM_OK);
}

RUN_TESTS(NULL, NULL)
