/* The tests of the kernels on a simulated device, every kernel at least once; before, that it finds what is
 * wrong with faulty ones.
 *   test_simulator bounds|races [PART ...] */
// SPDX-License-Identifier: Apache-2.0
#include "simulator.h"
#include "tests/case.h"

#include <sys/wait.h>

int test_gpu_match(void);
int test_gpu_surface(void);
int test_gpu_grid(void);
int test_gpu_pair(void);
int test_gpu_chain(void);

static SdmContext *ctx;
static SdmDevice *device;

/* Two groups of the faulty kernel on a buffer of 100 numbers. */
static SdmStatus run_faulty(int wrong)
{
    enum { N = 100 };
    int32_t out[N];
    SdmBuffer *b = NULL;
    assert_int_equal(sdm_buffer_new(ctx, device, sizeof out, "numbers", &b), SDM_OK);
    const SdmArg args[] = {SDM_BUF(b), SDM_I32(N), SDM_I32(wrong)};
    const SdmStatus st = sdm_launch(ctx, device, 0, &(SdmLaunch){"faulty", {2, 1, 1}, {64, 1, 1}, 3, args});
    if (st == SDM_OK)
        assert_int_equal(sdm_download(ctx, b, 0, out, sizeof out, 0, true), SDM_OK);
    for (int i = 0; i < N && st == SDM_OK && wrong == 0; i++)
        assert_int_equal(out[i], i % 64 == 0 ? i + 1 + i + 2 + 64 : i == 63 ? 0 : i + 1);
    sdm_buffer_free(&b);
    return st;
}

static void finds(int wrong, const char *what)
{
    assert_int_equal(run_faulty(wrong), SDM_ERR_DEVICE);
    print_message("%s\n", sdm_error(ctx));
    if (!strstr(sdm_error(ctx), what))
        fail_msg("found '%s' instead of '%s'", sdm_error(ctx), what);
}

/* The sanitizer ends another process with that. */
static void sanitizer_finds(int wrong, const char *what)
{
    char text[4096] = "";
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        run_faulty(wrong);
        _exit(0);
    }
    close(ends[1]);
    for (size_t n = 0; n + 1 < sizeof text;) {
        const ssize_t got = read(ends[0], text + n, sizeof text - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    print_message("%.300s\n", text);
    assert_non_null(strstr(text, what));
}

TEST(good_kernel_passes)
{
    assert_ok(ctx, run_faulty(0));
}

TEST(divergent_barriers_are_found)
{
    finds(1 << 1, "divergent barrier: item 0 waits at faulty.cl:");
    finds(1 << 2, "divergent barrier: item 0 waits at faulty.cl:");
    assert_int_equal(run_faulty(0), SDM_OK);
}

TEST(bounds_are_checked)
{
    if (sdm_sim.races)
        return;
    sanitizer_finds(1 << 3, "runtime error: index 64 out of bounds");
    sanitizer_finds(1 << 5, "heap-buffer-overflow");
}

TEST(races_are_found)
{
    if (!sdm_sim.races)
        return;
    finds(1, "reads what was never written");
    finds(1 << 4, "reads what was never written in local memory");
    finds(1 << 5, "out of bounds");
    finds(1 << 6, "races: writes what another just wrote in 'numbers' at byte 0");
    finds(1 << 7, "races: reads what another just wrote in 'numbers'");
    finds(1 << 8, "races: ");
    assert_int_equal(run_faulty(0), SDM_OK);
}

TEST(words_are_copied)
{
    float in[16], out[16];
    SdmBuffer *from = NULL, *to = NULL;
    for (int i = 0; i < 16; i++)
        in[i] = (float)i;
    assert_int_equal(sdm_buffer_new(ctx, device, sizeof in, "in", &from), SDM_OK);
    assert_int_equal(sdm_buffer_new(ctx, device, sizeof out, "out", &to), SDM_OK);
    assert_int_equal(sdm_upload(ctx, from, 0, in, sizeof in, 0, true), SDM_OK);
    const SdmArg copy[] = {SDM_BUF(from), SDM_BUF(to), SDM_I64(4)};
    assert_int_equal(sdm_launch(ctx, device, 0, &(SdmLaunch){"copy_words", {1, 1, 1}, {64, 1, 1}, 3, copy}),
                     SDM_OK);
    assert_int_equal(sdm_download(ctx, to, 0, out, sizeof out, 0, true), SDM_OK);
    assert_memory_equal(in, out, sizeof in);
    const SdmArg test[] = {SDM_BUF(from), SDM_BUF(to),   SDM_BUF(NULL), SDM_I32(16),
                           SDM_F32(1.0f), SDM_F32(1.0f), SDM_I64(0)};
    assert_int_equal(
        sdm_launch(ctx, device, 0, &(SdmLaunch){"sdm_self_test", {1, 1, 1}, {64, 1, 1}, 7, test}), SDM_OK);
    sdm_buffer_free(&from);
    sdm_buffer_free(&to);
}

static int test_faults(void)
{
    if (sdm_open(&ctx, NULL) != SDM_OK || sdm_device_open(ctx, SDM_API_OPENCL, 0, &device) != SDM_OK) {
        print_message("%s\n", sdm_error(ctx));
        return 1;
    }
    const int failed = run_cases(NULL, NULL);
    sdm_device_close(&device);
    sdm_close(&ctx);
    return failed;
}

int main(int count, char **argument)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } parts[] = {{"match", test_gpu_match},
                 {"surface", test_gpu_surface},
                 {"grid", test_gpu_grid},
                 {"pair", test_gpu_pair},
                 {"chain", test_gpu_chain}};
    const bool races = count > 1 && strcmp(argument[1], "races") == 0;
    sdm_simulate(races ? SDM_SIM_RACES : SDM_SIM_BOUNDS);
    int failed = test_faults();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool wanted = count < 3;
        for (int k = 2; k < count; k++)
            wanted = wanted || strcmp(argument[k], parts[i].name) == 0;
        const double since = sdm_now_s();
        if (wanted)
            failed += parts[i].run();
        if (wanted)
            print_message("simulator: %s: %.1f s\n", parts[i].name, sdm_now_s() - since);
    }
    const char *const left = count < 3 ? sdm_sim_not_launched("faulty") : NULL;
    if (left)
        print_message("simulator: no test has launched kernel %s\n", left);
    return failed || left;
}
