/* What tests/core uses of cmocka, for machines that have none (a bare one with a graphics device): the same
 * names, a failed check ends its test, a failed test the program with 1.  Where cmocka is installed, it is
 * taken. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SMALL_CMOCKA_H
#define SDM_SMALL_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    int (*setup)(void **state), (*teardown)(void **state);
} CMUnitTest;
#define cmocka_unit_test_setup_teardown(f, up, down)                                                         \
    {                                                                                                        \
#f, f, up, down                                                                                      \
    }

static jmp_buf small_end;

static inline _Noreturn void small_fail(const char *file, int line, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
static inline _Noreturn void small_fail(const char *file, int line, const char *form, ...)
{
    va_list list;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(list, form);
    vfprintf(stderr, form, list);
    va_end(list);
    fputc('\n', stderr);
    longjmp(small_end, 1);
}

#define fail_msg(...) small_fail(__FILE__, __LINE__, __VA_ARGS__)
#define print_message(...) (void)printf(__VA_ARGS__)
#define assert_true(c) ((c) ? (void)0 : small_fail(__FILE__, __LINE__, "%s", #c))
#define assert_false(c) assert_true(!(c))
#define assert_null(p) assert_true((p) == NULL)
#define assert_non_null(p) assert_true((p) != NULL)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))
#define assert_ptr_not_equal(a, b) assert_true((const void *)(a) != (const void *)(b))
#define assert_string_equal(a, b) small_strings((a), (b), 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) small_strings((a), (b), 0, __FILE__, __LINE__)
#define assert_memory_equal(a, b, n) assert_true(memcmp((a), (b), (n)) == 0)
#define assert_int_equal(a, b) small_numbers((int64_t)(a), (int64_t)(b), 1, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) small_numbers((int64_t)(a), (int64_t)(b), 0, __FILE__, __LINE__)
#define assert_in_range(v, lo, hi) assert_true((int64_t)(v) >= (int64_t)(lo) && (int64_t)(v) <= (int64_t)(hi))

static inline void small_strings(const char *a, const char *b, int same, const char *file, int line)
{
    if ((strcmp(a, b) == 0) != same)
        small_fail(file, line, "\"%s\" and \"%s\"", a, b);
}

static inline void small_numbers(int64_t a, int64_t b, int same, const char *file, int line)
{
    if ((a == b) != same)
        small_fail(file, line, "%lld and %lld", (long long)a, (long long)b);
}

/* One test between what comes before and after it; 1 = it failed. */
static inline int small_run(const struct CMUnitTest *t, void **state)
{
    volatile int failed = 1;
    if (t->setup && t->setup(state) != 0)
        return 1;
    if (setjmp(small_end) == 0) {
        t->test_func(state);
        failed = 0;
    }
    if (t->teardown && t->teardown(state) != 0)
        failed = 1;
    printf("[ %s ] %s\n", failed ? "FAILED" : "    OK", t->name);
    return failed;
}

static inline int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
                                          int (*setup)(void **state), int (*teardown)(void **state))
{
    void *state = NULL;
    int failed = 0;
    if (setup && setup(&state) != 0)
        return 1;
    for (size_t i = 0; i < count; i++)
        failed += small_run(&tests[i], &state);
    if (teardown && teardown(&state) != 0)
        failed++;
    printf("%d of %zu %s failed\n", failed, count, group);
    return failed;
}
#endif
