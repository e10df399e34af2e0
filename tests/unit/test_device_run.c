/* Runs on a device with little memory.  Skipped where there is no device.  Devices that fail: faults/fault_device.py. */
// SPDX-License-Identifier: Apache-2.0
#include "core/core.h"
#include "gpu/device.h"
#include "job/job_commands.h"
#include "simulate/simulate.h"
#include "tests/folder.h"

#include <gdal.h>

static char scene[300], device[32];
static char said[16384];

static void keep_log(void *user, SdmLogLevel level, int stage, const char *text)
{
    (void)user, (void)level, (void)stage;
    const size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s\n", text);
}

/* One run; why it failed goes to `why`. */
static SdmStatus run(const char *name, const char *on, char why[1024])
{
    SdmOptions opt = default_options();
    opt.output = in_folder(name);
    opt.device = on;
    opt.threads = 2;
    said[0] = '\0';
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&opt);
    sdm_set_log(ctx, keep_log, NULL);
    SdmDemResult result;
    const SdmStatus st = sdm_run_scene(ctx, scene, NULL, NULL, NULL, &result);
    sdm_dem_result_free(&result);
    snprintf(why, 1024, "%s", sdm_error(ctx));
    return st;
}

static void same_file(const char *a, const char *b)
{
    size_t sizes[2];
    FREED char *const one = read_all(a, &sizes[0]), *const other = read_all(b, &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(one, other, sizes[0]);
}

/* A tile that the device's memory does not hold is cut; where no piece fits, the processor goes on. */
TEST(little_memory)
{
    char why[1024];
    assert_int_equal(run("cpu.tif", "cpu", why), SDM_OK);
    for (int mib = 1; mib <= 7; mib += 6) {
        char name[16];
        snprintf(name, sizeof name, "little%d.tif", mib);
        sdm_device_limit_budget((int64_t)mib << 20);
        const SdmStatus st = run(name, device, why);
        sdm_device_limit_budget(0);
        if (st != SDM_OK)
            fail_msg("%s", why);
        if (!strstr(said, ", in parts") || !strstr(said, "; the processor goes on") != (mib == 7))
            fail_msg("%s", said);
        same_file("cpu.tif", name);
    }
}

static bool find_device(void)
{
    SdmDeviceInfo list[SDM_MOST_DEVICES];
    char reason[SDM_REASON_SIZE];
    for (int api = SDM_API_COUNT - 1; api >= 0; api--) {
        const int n = sdm_devices((enum SdmApi)api, list, SDM_MOST_DEVICES, reason);
        for (int i = 0; i < n; i++)
            if (!list[i].why_not[0] && list[i].exact) {
                snprintf(device, sizeof device, "%s:%d", sdm_api_name((enum SdmApi)api), i);
                return true;
            }
    }
    return false;
}

FIXTURE(make_scene)
{
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = NULL;
    SdmSimulateOptions q;
    if (make_folder(state) != 0)
        return 1;
    snprintf(scene, sizeof scene, "%s/scene", folder);
    sdm_simulate_default(&q);
    q.output = scene;
    q.width = q.height = 256;
    q.lon_deg = 7.0;
    q.lat_deg = 45.0;
    SdmStatus st = sdm_open(&ctx, NULL);
    if (st == SDM_OK)
        st = sdm_simulate(ctx, &q);
    if (st != SDM_OK)
        fprintf(stderr, "%s\n", sdm_error(ctx));
    return st != SDM_OK;
}

int main(void)
{
    GDALAllRegister();
    if (!find_device()) {
        printf("skipped: no device that rounds as the processor does\n");
        return 77;
    }
    return run_cases(make_scene, remove_folder);
}
