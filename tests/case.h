/* What tests in C share: cmocka with the headers that it and most tests need, and tests that list themselves:
 * TEST(name) { ... } anywhere in a program, RUN_TESTS(setup, teardown) at its end. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct CMUnitTest case_list[64];
static int case_line[64];
static size_t case_count;

/* Add a test in the order of the lines, whatever order constructors have. */
static inline void case_add(struct CMUnitTest test, int line)
{
    size_t at = case_count++;
    assert_true(case_count <= sizeof case_list / sizeof *case_list);
    for (; at > 0 && case_line[at - 1] > line; at--) {
        case_list[at] = case_list[at - 1];
        case_line[at] = case_line[at - 1];
    }
    case_list[at] = test;
    case_line[at] = line;
}

#define CASE_AT(line, name, setup, teardown)                                                                 \
    static void name(void **state);                                                                          \
    __attribute__((constructor)) static void name##_is_a_test(void)                                          \
    {                                                                                                        \
        case_add((struct CMUnitTest)cmocka_unit_test_setup_teardown(name, setup, teardown), line);           \
    }                                                                                                        \
    static void name(void **state __attribute__((unused)))
#define TEST(name) CASE_AT(__LINE__, name, NULL, NULL)
#define TEST_WITH(name, setup, teardown) CASE_AT(__LINE__, name, setup, teardown) /* of its own */
#define FIRST_TEST(name)                                                                                     \
    CASE_AT(__LINE__ - (1 << 20), name, NULL, NULL) /* one that forks, before any thread */

static inline int run_cases(int (*setup)(void **state), int (*teardown)(void **state))
{
    return _cmocka_run_group_tests("tests", case_list, case_count, setup, teardown);
}

#define RUN_TESTS(setup, teardown)                                                                           \
    int main(void)                                                                                           \
    {                                                                                                        \
        return run_cases(setup, teardown);                                                                   \
    }

/* A setup or teardown of all tests. */
#define FIXTURE(name) static inline int name(void **state __attribute__((unused)))

/* A pointer to memory of malloc() that is freed when its scope ends. */
#define FREED SDM_CLOSED_BY(case_free)
static inline void case_free(const void *p /* T ** */)
{
    void *at;
    memcpy(&at, p, sizeof at);
    free(at);
}

/* For qsort() of doubles. */
static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The call went through; else its sentence. */
#define assert_ok(ctx, call)                                                                                 \
    do {                                                                                                     \
        if ((call) != SDM_OK)                                                                                \
            fail_msg("%s", sdm_error(ctx));                                                                  \
    } while (0)

/* The call failed with this status and a sentence that holds the text. */
#define assert_refused(ctx, call, expected, text)                                                            \
    do {                                                                                                     \
        const SdmStatus refused_st = (call);                                                                 \
        assert_int_equal(refused_st, expected);                                                              \
        if (!strstr(sdm_error(ctx), (text)))                                                                 \
            fail_msg("expected '%s', found '%s'", (text), sdm_error(ctx));                                   \
    } while (0)

/* Whichever allocation of the call fails, its status says so and the check holds; until it goes through, as no allocation is
 * left.  There are more than `least`; from the 40th on, one in `step` fails. */
#define EACH_ALLOCATION_FAILS(call, check, least, step)                                                      \
    do {                                                                                                     \
        int nth = 1;                                                                                         \
        for (SdmStatus made = SDM_ERR_MEMORY; made != SDM_OK; nth += nth < 40 ? 1 : (step)) {                \
            sdm_alloc_fail_at(nth);                                                                          \
            made = (call);                                                                                   \
            sdm_alloc_fail_at(0);                                                                            \
            assert_true((made == SDM_OK || made == SDM_ERR_MEMORY) && nth < 10000);                          \
            check;                                                                                           \
        }                                                                                                    \
        assert_true(nth > (least));                                                                          \
    } while (0)

/* A context of the options, NULL: the defaults; the caller closes it. */
static inline SdmContext *context_of(const SdmOptions *options)
{
    SdmContext *made = NULL;
    assert_int_equal(sdm_open(&made, options), SDM_OK);
    return made;
}

static inline SdmOptions default_options(void)
{
    SdmOptions options;
    sdm_options_default(&options);
    return options;
}

static inline SdmContext *default_context(void)
{
    return context_of(NULL);
}

static inline SdmContext *threaded_context(int threads)
{
    SdmOptions options = default_options();
    options.threads = threads;
    return context_of(&options);
}

/* A test with a context `ctx`, of default options or as `open` opens it, that is closed behind it. */
#define TEST_IN(name, open)                                                                                  \
    static void name##_in(SdmContext *ctx);                                                                  \
    TEST(name)                                                                                               \
    {                                                                                                        \
        SdmContext *ctx = (open);                                                                            \
        name##_in(ctx);                                                                                      \
        sdm_close(&ctx);                                                                                     \
    }                                                                                                        \
    static void name##_in(SdmContext *ctx)
#define TEST_CTX(name) TEST_IN(name, default_context())
