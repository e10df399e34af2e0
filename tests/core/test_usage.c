/* What the process has used: parts add up to the whole, time of other processes is not of it, and the peak of
 * a part does not hide that of the whole. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include "core/usage.h"

/* Use the processor for some milliseconds. */
static double work(void)
{
    volatile double sum = 0.0;
    const double until = sdm_now_s() + 0.03;
    while (sdm_now_s() < until)
        sum = sum + sqrt(sum + 1.0);
    return sum;
}

TEST_CTX(parts_add_up)
{
    SdmUsage start, mark, end, sum[2] = {{.wall_s = 0.0}, {.wall_s = 0.0}};
    sdm_usage_now(ctx, &start);
    mark = start;
    for (int i = 0; i < 6; i++) {
        const int around = sdm_stage_enter(ctx, 4 + i % 2);
        assert_true(work() > 0.0);
        sdm_stage_leave(ctx, around);
        sdm_usage_add(ctx, &mark, &sum[i % 2]);
    }
    end = mark;
    assert_true(fabs(sum[0].wall_s + sum[1].wall_s - (end.wall_s - start.wall_s)) < 1e-9);
    assert_true(fabs(sum[0].user_s + sum[1].user_s - (end.user_s - start.user_s)) < 1e-9);
    assert_true(fabs(sum[0].system_s + sum[1].system_s - (end.system_s - start.system_s)) < 1e-9);
    assert_true(sum[0].wall_s >= 0.09 && sum[1].wall_s >= 0.09 && end.user_s > 0.0);
    for (int k = 0; k < 2; k++) { /* each second is of its stage */
        assert_true(sum[k].stage_s[4 + k] >= 0.09 && sum[k].stage_s[4 + k] <= sum[k].wall_s + 1e-9);
        assert_true(fabs(sum[k].stage_s[5 - k]) < 1e-9);
    }
    sdm_stage_add(ctx, 7, 1000.0); /* of another process */
    sdm_usage_now(ctx, &end);
    assert_true(end.stage_s[7] < 1e-9 && sdm_stage_time(ctx, 7) >= 1000.0);
}

TEST_CTX(peaks_of_parts)
{
#ifdef __SANITIZE_ADDRESS__ /* which keeps freed memory, and has memory of its own */
    sdm_close(&ctx);        /* a skipped test does not return */
    skip();
#endif
    enum { BYTES = 64 << 20, SLACK = 4 << 20 }; /* the system counts by batches of pages */
    char *const block = malloc(BYTES);
    for (int64_t i = 0; i < BYTES; i += 512)
        ((volatile char *)block)[i] = 1;
    const int64_t large = sdm_memory_resident(ctx);
    free(block);
    sdm_memory_resident_restart(ctx);
    const int64_t since = sdm_memory_resident_since(ctx);
    assert_true(large >= BYTES - SLACK && since > 0 && since <= large + SLACK);
    assert_true(sdm_memory_resident(ctx) >= large - SLACK); /* the whole keeps its peak */
}

RUN_TESTS(NULL, NULL)
