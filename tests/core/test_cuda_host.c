/* The CUDA back end over a driver without a device (tests/faults/fake_cuda.c, by LD_LIBRARY_PATH): copies and
 * who waits for them, what is left open, failures of each call.  Reasons: faults/fault_cuda.py. */
// SPDX-License-Identifier: Apache-2.0
#include "gpu/device_inside.h"
#include "tests/case.h"

#include <dlfcn.h>

typedef void fail_fn(const char *name, long at, long times, int code);
typedef void count_fn(long out[7]);
typedef long pushed_fn(void);

static SdmContext *ctx;
static fail_fn *fail_call;
static count_fn *count_open;
static pushed_fn *count_pushed;

enum { N = (9 << 20) + 4099, FEW = (2 << 20) + 3, MEMORY = 2, LOST = 719, COPIES = 5 };

static bool find_fake(void)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    *(void **)(void *)&fail_call = dlsym(library, "fake_cuda_fail");
    *(void **)(void *)&count_open = dlsym(library, "fake_cuda_count");
    *(void **)(void *)&count_pushed = dlsym(library, "fake_cuda_pushed");
    return fail_call && count_open && count_pushed;
}

static SdmStatus open_device(SdmDevice **d)
{
    return sdm_device_open(ctx, SDM_API_CUDA, 0, d);
}

static void nothing_is_open(void)
{
    long count[7];
    count_open(count);
    assert_int_equal(count_pushed(), 0); /* a program around us has its own context in hand again */
    for (int i = 0; i < COPIES; i++)
        if (count[i] != 0)
            fail_msg("contexts, streams, events, modules, blocks: number %d: %ld left", i, count[i]);
}

static uint8_t *made(int seed, int64_t n)
{
    uint8_t *const p = malloc((size_t)n);
    for (int64_t i = 0; i < n; i++)
        p[i] = (uint8_t)((uint64_t)(i + seed) * 2654435761u >> 11);
    return p;
}

/* A round trip of n bytes in both queues at once; nothing but sdm_* waits.  Frees everything. */
static SdmStatus round_trip(SdmDevice *d, int64_t n, bool compare)
{
    SdmStatus st = SDM_OK;
    uint8_t *const in[2] = {made(1, n), made(2, n)}, *const out = calloc(1, (size_t)n);
    SdmBuffer *b[2] = {NULL, NULL};
    for (int q = 0; q < 2; q++)
        TRY(sdm_buffer_new(ctx, d, n, "bytes", &b[q]));
    for (int q = 0; q < 2; q++)
        TRY(sdm_upload(ctx, b[q], 0, in[q], n, q, q == 1));
    TRY(sdm_launch(
        ctx, d, 0,
        &(SdmLaunch){
            "copy_words", {1, 1, 1}, {256, 1, 1}, 3, (SdmArg[]){SDM_BUF(b[0]), SDM_BUF(b[1]), SDM_I64(1)}}));
    TRY(sdm_fill_bytes(ctx, b[0], 7, 0xEE, 1, 0));
    for (int q = 1; q >= 0; q--) {
        TRY(sdm_download(ctx, b[q], 0, out, n, q, false));
        TRY(sdm_finish(ctx, d, q));
        in[0][7] = 0xEE;
        if (compare)
            assert_int_equal(memcmp(out, in[q], (size_t)n), 0);
    }
    double seconds;
    TRY(sdm_device_pause(ctx, d, 0));
    TRY(sdm_device_seconds(ctx, d, 0, &seconds));
    if (compare)
        assert_true(seconds > 0.0);
done:
    for (int q = 0; q < 2; q++)
        sdm_buffer_free(&b[q]);
    free(in[0]);
    free(in[1]);
    free(out);
    return st;
}

TEST(copies)
{
    SdmDevice *d = NULL;
    long before[7], after[7];
    assert_int_equal(open_device(&d), SDM_OK);
    assert_string_equal(sdm_device_info(d)->name, "Fake 0");
    count_open(before);
    for (int i = 0; i < 3; i++)
        assert_int_equal(round_trip(d, N, true), SDM_OK);
    count_open(after);
    assert_true(after[COPIES] - before[COPIES] >= 3 * 4 * (N / SDM_STAGE_BYTES));
    assert_int_equal(after[COPIES + 1], before[COPIES + 1]); /* none by the driver's detour */
    sdm_device_close(&d);
    nothing_is_open();
}

/* Page-locked memory cannot be had: the driver's own way. */
TEST(no_locked_memory)
{
    SdmDevice *d = NULL;
    long before[7], after[7];
    assert_int_equal(open_device(&d), SDM_OK);
    count_open(before);
    fail_call("cuMemHostAlloc", 1, 0, MEMORY);
    assert_int_equal(round_trip(d, N, true), SDM_OK);
    fail_call("", 0, 0, 0);
    assert_int_equal(round_trip(d, N, true), SDM_OK); /* it is not asked for again */
    count_open(after);
    assert_int_equal(after[COPIES], before[COPIES]);
    assert_int_equal(after[COPIES + 1] - before[COPIES + 1], 8);
    sdm_device_close(&d);
    nothing_is_open();
}

/* Every call fails once, or from then on: a sentence, nothing left open, and a device opened anew works. */
TEST(every_call_fails)
{
    int failed = 0, passed = 0;
    for (int lasts = 0; lasts < 2; lasts++)
        for (long at = 1; at < 1000; at++) {
            SdmDevice *d = NULL;
            const int error = at % 2 ? LOST : MEMORY;
            fail_call("*", at, !lasts, error);
            SdmStatus st = open_device(&d);
            if (st == SDM_OK)
                st = round_trip(d, FEW, false);
            sdm_device_close(&d);
            fail_call("", 0, 0, 0);
            nothing_is_open();
            if (st == SDM_OK) { /* that of page-locked memory, or beyond the last */
                passed++;
                if (passed > 3)
                    break;
                continue;
            }
            failed++;
            passed = 0;
            assert_int_equal(st, error == LOST ? SDM_ERR_DEVICE : SDM_ERR_MEMORY);
            assert_non_null(strstr(sdm_error(ctx), error == LOST ? "Fake 0: " : "out of memory"));
        }
    assert_true(failed > 100);
    SdmDevice *d = NULL;
    assert_int_equal(open_device(&d), SDM_OK);
    assert_int_equal(round_trip(d, N, true), SDM_OK);
    sdm_device_close(&d);
    nothing_is_open();
}

/* What others have taken of the device's memory is not ours. */
TEST(memory_of_others)
{
    SdmDevice *d = NULL;
    assert_int_equal(open_device(&d), SDM_OK);
    const int64_t budget = sdm_device_budget(d);
    assert_int_equal(budget, INT64_C(3072) << 20);
    assert_int_equal(sdm_device_room(d), budget);
    setenv("FAKE_CUDA_FREE_MIB", "1000", 1);
    assert_int_equal(sdm_device_room(d), INT64_C(900) << 20);
    sdm_device_set_budget(d, budget / 2); /* as where two tiles share it */
    assert_int_equal(sdm_device_room(d), INT64_C(450) << 20);
    fail_call("cuMemGetInfo_v2", 1, 1, LOST);
    assert_int_equal(sdm_device_room(d), budget / 2);
    unsetenv("FAKE_CUDA_FREE_MIB");
    sdm_device_close(&d);
    nothing_is_open();
}

/* A device in the host's memory: half of it, at most half of --memory, and no page-locked pieces. */
TEST(memory_of_the_host)
{
    SdmDevice *d = NULL;
    long before[7], after[7];
    setenv("FAKE_CUDA_INTEGRATED", "1", 1);
    setenv("FAKE_CUDA_MIB", "1048576", 1);
    assert_int_equal(open_device(&d), SDM_OK);
    assert_int_equal(sdm_device_budget(d), sdm_options(ctx)->memory_bytes / 2);
    count_open(before);
    assert_int_equal(round_trip(d, N, true), SDM_OK);
    count_open(after);
    assert_int_equal(after[COPIES], before[COPIES]);
    sdm_device_close(&d);
    setenv("FAKE_CUDA_MIB", "100", 1);
    assert_int_equal(open_device(&d), SDM_OK);
    assert_int_equal(sdm_device_budget(d), INT64_C(50) << 20);
    sdm_device_close(&d);
    unsetenv("FAKE_CUDA_MIB");
    unsetenv("FAKE_CUDA_INTEGRATED");
    nothing_is_open();
}

int main(void)
{
    char reason[SDM_REASON_SIZE];
    SdmDeviceInfo one;
    if (!find_fake() || sdm_devices(SDM_API_CUDA, &one, 1, reason) == 0) {
        printf("skipped: no CUDA back end, or not over the driver without a device (see "
               "tests/CMakeLists.txt)\n");
        return 77;
    }
    if (sdm_open(&ctx, NULL) != SDM_OK)
        return 1;
    const int failed = run_cases(NULL, NULL);
    sdm_close(&ctx);
    return failed;
}
