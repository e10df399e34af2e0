/* Every device of this machine: memory, copies, launches, arguments, clock, budget, faults.  Without one:
 * skipped, saying so. */
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE /* mkdtemp */
#include "core/hash.h"
#include "gpu/choose.h"
#include "gpu/device_cache.h"
#include "gpu/device_inside.h"
#include "tests/core/devices.h"
#include "tests/folder.h"

#include <sys/stat.h>

static SdmContext *ctx;

/* A test of every device, one after the other. */
#define TEST_DEVICE(name)                                                                                    \
    static void name##_of(SdmDevice *device);                                                                \
    TEST(name)                                                                                               \
    {                                                                                                        \
        on_every_device(name##_of);                                                                          \
    }                                                                                                        \
    static void name##_of(SdmDevice *device)

static void on_every_device(void (*test)(SdmDevice *device))
{
    for (int i = 0; i < device_count; i++) {
        SdmDevice *device = NULL;
        assert_ok(ctx, sdm_device_open(ctx, devices[i].api, devices[i].index, &device));
        assert_true(sdm_device_info(device)->exact ||
                    !devices[i].exact); /* the test at opening finds what it claims */
        assert_true(sdm_device_info(device)->exact == !sdm_device_info(device)->differs[0] ||
                    !devices[i].doubles);
        test(device);
        assert_int_equal(sdm_device_used(device), 0);
        sdm_device_close(&device);
        assert_null(device);
    }
}

/* A buffer that has room in the budget. */
static SdmBuffer *buffer_of(SdmDevice *device, int64_t bytes)
{
    SdmBuffer *b = NULL;
    assert_ok(ctx, sdm_buffer_new(ctx, device, bytes, "bytes", &b));
    return b;
}

static void memory_is(const SdmDevice *device, int64_t used, int64_t kept, int64_t peak)
{
    assert_int_equal(sdm_device_used(device), used);
    assert_int_equal(device->kept_bytes, kept);
    assert_int_equal(sdm_device_peak(device), peak);
}

TEST_DEVICE(copies)
{
    enum { N = 1000 };
    uint8_t in[N], out[N];
    SDM_CLOSED_BY(sdm_buffer_free) SdmBuffer *b = buffer_of(device, N);
    for (int i = 0; i < N; i++)
        in[i] = (uint8_t)(i * 7);
    assert_int_equal(sdm_buffer_bytes(b), N);
    assert_int_equal(sdm_device_used(device), N);
    for (int queue = 0; queue < SDM_QUEUES; queue++) {
        memset(out, 0, N);
        assert_int_equal(sdm_upload(ctx, b, 0, in, N, queue, false), SDM_OK);
        assert_int_equal(sdm_fill_bytes(ctx, b, 10, 0xAB, 20, queue), SDM_OK);
        assert_int_equal(sdm_upload(ctx, b, 500, in, 100, queue, false), SDM_OK);
        assert_int_equal(sdm_download(ctx, b, 5, out + 5, N - 5, queue, true), SDM_OK);
        for (int i = 5; i < N; i++)
            assert_int_equal(out[i], i >= 10 && i < 30 ? 0xAB : i >= 500 && i < 600 ? in[i - 500] : in[i]);
        assert_int_equal(out[4], 0);
    }
    assert_refused(ctx, sdm_upload(ctx, b, N - 1, in, 2, 0, true), SDM_ERR_DEVICE,
                   "does not fit"); /* one byte too far */
    assert_int_equal(sdm_download(ctx, b, -1, out, 1, 0, true), SDM_ERR_DEVICE);
    sdm_buffer_free(&b);
    assert_null(b);
}

static SdmStatus launch(SdmDevice *device, int queue, const char *name, int groups, int down,
                        const SdmArg *args)
{
    return sdm_launch(ctx, device, queue, &(SdmLaunch){name, {groups, down, 1}, {64, 1, 1}, 7, args});
}

/* The result is that of single operations, correctly rounded, where the device says that it is exact. */
TEST_DEVICE(launches)
{
    enum { N = 1000, GROUPS = (N + 63) / 64 };
    float x[N], y[N];
    int32_t sums[GROUPS];
    const float a = 3.1f, b = 0.7f;
    SDM_CLOSED_BY(sdm_buffer_free)
    SdmBuffer *bx = buffer_of(device, sizeof x), *by = buffer_of(device, sizeof y),
              *bs = buffer_of(device, sizeof sums);
    for (int i = 0; i < N; i++)
        x[i] = 0.001f * (float)(i * i + 1);
    assert_int_equal(sdm_upload(ctx, bx, 0, x, sizeof x, 0, false), SDM_OK);
    const SdmArg args[] = {
        SDM_BUF(bx), SDM_BUF(by), SDM_BUF(bs), SDM_I32(N), SDM_F32(a), SDM_F32(b), SDM_I64(INT64_C(5) << 32)};
    for (int again = 0; again < 2; again++)
        assert_int_equal(launch(device, 0, "sdm_self_test", GROUPS, 1, args), SDM_OK);
    assert_int_equal(sdm_download(ctx, by, 0, y, sizeof y, 0, false), SDM_OK);
    assert_int_equal(sdm_download(ctx, bs, 0, sums, sizeof sums, 0, false), SDM_OK);
    assert_int_equal(sdm_finish(ctx, device, 0), SDM_OK);
    for (int i = 0; i < N; i++) {
        const volatile float product = a * x[i], sum = x[i] + b, quotient = product / sum, root = sqrtf(x[i]);
        assert_true(fabsf(y[i] - (quotient - root)) <= (sdm_device_info(device)->exact ? 0.0f : 1e-5f));
    }
    for (int g = 0; g < GROUPS; g++) {
        int32_t want = 0;
        for (int i = g * 64; i < N && i < g * 64 + 64; i++)
            want += i + 5;
        assert_int_equal(sums[g], want);
    }
    double seconds = -1.0;
    assert_int_equal(sdm_device_seconds(ctx, device, 0, &seconds), SDM_OK);
    assert_true(seconds > 0.0 && seconds < 10.0);
    assert_int_equal(sdm_device_seconds(ctx, device, 0, &seconds), SDM_OK);
    assert_true(seconds == 0.0);
    SdmArg none[7];
    memcpy(none, args, sizeof none);
    none[2] = SDM_BUF(NULL); /* a null pointer */
    assert_int_equal(launch(device, 1, "sdm_self_test", GROUPS, 1, none), SDM_OK);
    assert_int_equal(sdm_finish(ctx, device, 1), SDM_OK);
    assert_int_equal(launch(device, 0, "sdm_no_such", 1, 1, args), SDM_ERR_DEVICE);
    assert_refused(ctx, launch(device, 0, "sdm_self_test", 1, 65536, args), SDM_ERR_DEVICE, "at most 65535");
    assert_int_equal(launch(device, 0, "sdm_no_such", 0, 1, args), SDM_OK);
}

TEST_DEVICE(budgets)
{
    SdmBuffer *a, *b = NULL;
    assert_true(sdm_device_budget(device) > (8 << 20));
    assert_true(sdm_device_budget(device) < sdm_device_info(device)->memory_bytes);
    sdm_device_set_budget(device, 3000);
    a = buffer_of(device, 2000);
    assert_refused(ctx, sdm_buffer_new(ctx, device, 2000, "the second image", &b), SDM_ERR_MEMORY,
                   "the second image");
    assert_null(b);
    sdm_buffer_free(&a);
    b = buffer_of(device, 3000);
    assert_int_equal(sdm_device_peak(device), 3000);
    sdm_buffer_free(&b);
    sdm_device_set_budget(device, 1000);
    memory_is(device, 0, 0, 3000); /* what is kept goes, too */
    assert_int_equal(sdm_buffer_new(ctx, device, 2000, "b", &b), SDM_ERR_MEMORY);
    sdm_device_set_budget(device, 3000);
    b = buffer_of(device, 2000);
    sdm_buffer_free(&b);
}

TEST_DEVICE(memory_is_kept)
{
    SdmBuffer *a, *b = NULL;
    sdm_device_set_budget(device, 10000);
    assert_int_equal(device->kept_bytes, 0); /* the test of its arithmetic leaves nothing */
    a = buffer_of(device, 8000);
    sdm_buffer_free(&a);
    memory_is(device, 0, 8000, 8000);
    a = buffer_of(device, 7000); /* in the memory that was kept */
    assert_int_equal(sdm_buffer_bytes(a), 7000);
    memory_is(device, 8000, 0, 8000);
    assert_int_equal(sdm_buffer_new(ctx, device, 2500, "b", &b), SDM_ERR_MEMORY);
    sdm_buffer_free(&a);
    assert_true(sdm_device_trim(device)); /* 7000 and 2500 have room now */
    assert_false(sdm_device_trim(device));
    a = buffer_of(device, 7000);
    b = buffer_of(device, 2500);
    sdm_buffer_free(&a);
    sdm_buffer_free(&b);
    memory_is(device, 0, 9500, 9500);
    a = buffer_of(device, 4000); /* in its place: no more than ever */
    assert_true(sdm_device_used(device) + device->kept_bytes <= 9500);
    assert_int_equal(sdm_device_peak(device), 9500);
    sdm_device_set_budget(device, 5000);
    assert_true(sdm_device_used(device) + device->kept_bytes <= 5000);
    sdm_buffer_free(&a);
}

/* Copies of all sizes through page-locked memory, in both queues, one after the other and at once. */
static void copy_large(SdmDevice *device)
{
    enum { MOST = (9 << 20) + 4099, SLACK = 64 };
    static const int64_t sizes[] = {SDM_STAGE_LEAST - 1, SDM_STAGE_LEAST,         SDM_STAGE_LEAST + 1,
                                    SDM_STAGE_BYTES,     3 * SDM_STAGE_BYTES + 7, MOST};
    FREED uint8_t *in = malloc(MOST + SLACK), *out = malloc(MOST + SLACK);
    SdmBuffer *b[SDM_QUEUES];
    for (int64_t i = 0; i < MOST; i++)
        in[i] = (uint8_t)((uint64_t)i * 2654435761u >> 13);
    for (int q = 0; q < SDM_QUEUES; q++)
        b[q] = buffer_of(device, MOST + SLACK);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int64_t n = sizes[k] < MOST ? sizes[k] : MOST;
        const int wait = (int)(k & 1);
        for (int q = 0; q < SDM_QUEUES; q++) { /* shifted by one, so that nothing is as it was */
            assert_int_equal(sdm_fill_bytes(ctx, b[q], 0, 0xEE, MOST + SLACK, q), SDM_OK);
            assert_int_equal(sdm_upload(ctx, b[q], 5, in + q + k, n - q - (int64_t)k, q, wait), SDM_OK);
        }
        for (int q = SDM_QUEUES - 1; q >= 0; q--) {
            memset(out, 0x55, MOST + SLACK);
            assert_int_equal(sdm_download(ctx, b[q], 3, out + 1, n + 4, q, true), SDM_OK);
            assert_true(out[0] == 0x55 && out[1] == 0xEE && out[2] == 0xEE && out[n + 5] == 0x55);
            assert_int_equal(memcmp(out + 3, in + q + k, (size_t)(n - q - (int64_t)k)), 0);
            assert_int_equal(out[3 + n - q - (int64_t)k], 0xEE);
        }
    }
    for (int q = 0; q < SDM_QUEUES; q++)
        sdm_buffer_free(&b[q]);
}

TEST(large_copies)
{
    on_every_device(copy_large); /* as the device likes them */
    sdm_device_stage_always(true);
    on_every_device(copy_large);
    sdm_device_stage_always(false);
}

/* Pauses take nothing from the clock but the time between, however many. */
TEST_DEVICE(pauses)
{
    double whole = 0.0, none = -1.0;
    const int64_t n = 1 << 16;
    SDM_CLOSED_BY(sdm_buffer_free) SdmBuffer *b = buffer_of(device, 32 * n);
    assert_int_equal(sdm_fill_bytes(ctx, b, 0, 1, 32 * n, 0), SDM_OK);
    assert_int_equal(sdm_device_pause(ctx, device, 0), SDM_OK); /* before any launch */
    const double begin = sdm_now_s();
    for (int i = 0; i < SDM_STRETCHES + 3; i++) {
        const SdmLaunch copy = {"copy_words",
                                {(int)(n / 256), 1, 1},
                                {256, 1, 1},
                                3,
                                (SdmArg[]){SDM_BUF(b), SDM_BUF(b), SDM_I64(n)}};
        assert_int_equal(sdm_launch(ctx, device, 0, &copy), SDM_OK);
        for (int k = 0; k <= i % 2; k++)
            assert_int_equal(sdm_device_pause(ctx, device, 0), SDM_OK);
    }
    assert_int_equal(sdm_device_seconds(ctx, device, 0, &whole), SDM_OK);
    assert_true(whole > 0.0 && whole <= sdm_now_s() - begin + 1e-3);
    assert_int_equal(sdm_device_seconds(ctx, device, 0, &none), SDM_OK);
    assert_true(none == 0.0);
}

static void read_back(const char *key, const char *want)
{
    SDM_OWNED char *data = NULL;
    size_t bytes = 0;
    sdm_cache_read(ctx, key, &data, &bytes);
    assert_int_equal(data != NULL, want != NULL);
    assert_true(!want || (bytes == strlen(want) && memcmp(data, want, bytes) == 0));
}

/* The cache gives back what was written for a key, and nothing of a file that is damaged. */
TEST(cache_is_checked)
{
    static const long damaged[] = {47, 42, -1}; /* a byte of the data, of the key; all of it */
    char path[512], command[600];
    assert_int_equal(make_folder(state), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    snprintf(path, sizeof path, "%s/stereodem/%016llx.bin", folder,
             (unsigned long long)sdm_hash(0, "key a", 5));
    read_back("key a", NULL);
    sdm_cache_write(ctx, "key a", "another", 7);
    sdm_cache_write(ctx, "key b", "program b", 9);
    read_back("key a", "another");
    for (int i = 0; i < 3; i++) {
        sdm_cache_write(ctx, "key a", "program a", 9);
        read_back("key a", "program a");
        FILE *const f = fopen(path, damaged[i] < 0 ? "w" : "r+");
        assert_non_null(f);
        assert_int_equal(fseek(f, damaged[i] < 0 ? 0 : damaged[i], SEEK_SET), 0);
        assert_true(fputs(damaged[i] < 0 ? "" : "X", f) >= 0);
        fclose(f);
        read_back("key a", NULL);
    }
    read_back("key b", "program b");
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* which would be waited for */
    read_back("key a", NULL);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/none", 1), 0); /* no place for one */
    sdm_cache_write(ctx, "key c", "program c", 9);
    read_back("key c", NULL);
    snprintf(command, sizeof command, "ls %s/stereodem | grep -vc bin$", folder); /* nothing is left aside */
    assert_int_not_equal(system(command), 0);
    assert_int_equal(remove_folder(state), 0);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
}

/* auto takes CUDA devices alone, none that rounds otherwise or cannot run. */
TEST(auto_never_takes_the_processor)
{
    const SdmDeviceInfo list[] = {{.index = 0, .is_cpu = true, .exact = true},
                                  {.index = 1, .exact = true, .why_not = "too old"},
                                  {.index = 2},
                                  {.index = 3, .exact = true}};
    assert_null(sdm_first_device(list, 1, true));
    assert_null(sdm_first_device(list, 3, true));
    assert_ptr_equal(sdm_first_device(list, 4, true), &list[3]);
    assert_ptr_equal(sdm_first_device(list, 1, false), &list[0]); /* named, it may */
    assert_ptr_equal(sdm_first_device(list, 4, false), &list[2]);
    assert_null(sdm_first_device(NULL, 0, true));
    SdmChoice taken;
    assert_int_equal(sdm_choose_device(ctx, "auto", &taken), SDM_OK);
    bool any = false;
    for (int i = 0; i < device_count; i++)
        any = any || (devices[i].api == SDM_API_CUDA && devices[i].exact);
    assert_int_equal(taken.cpu, !any);
    assert_true(any || strstr(taken.why_not, "cuda: "));
}

int main(void)
{
    ctx = default_context();
    find_devices();
    const int failed = run_cases(NULL, NULL); /* without a device, most have nothing to do */
    sdm_close(&ctx);
    return failed || device_count ? failed : 77;
}
