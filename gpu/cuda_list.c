/* CUDA's driver, opened at run time, and its devices. */
// SPDX-License-Identifier: Apache-2.0
#include "cuda.h"
#include "core/system.h"

#include <string.h>

enum { LEAST_CAPABILITY = 75 }; /* the oldest that the embedded kernels are made for */

/* The driver with which a major version of CUDA came; 0: not known here.  A driver runs kernels of its own
 * major version's toolkits and of older ones. */
static int least_driver(int major)
{
    return major == 11 ? 450 : major == 12 ? 525 : major == 13 ? 580 : 0;
}

const char *sdm_cu_load(SdmCuApi *api)
{
    memset(api, 0, sizeof *api);
    api->library = sdm_system_library(sdm_system_cuda);
    if (!api->library)
        return "libcuda.so.1 cannot be opened: there is no NVIDIA driver on this machine";
#define LOOK_UP(symbol, name, arguments)                                                                     \
    *(void **)(void *)&api->name = sdm_system_symbol(api->library, symbol);                                  \
    if (!api->name)                                                                                          \
        return "libcuda.so.1 lacks " symbol ": the NVIDIA driver is too old";
    SDM_CU_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return NULL;
}

const char *sdm_cu_error(const SdmCuApi *api, CuResult code)
{
    const char *text = NULL;
    return api->GetErrorString(code, &text) == CUDA_SUCCESS && text ? text : "the driver refused";
}

static int ask(const SdmCuApi *api, CuDevice device, int what)
{
    int value = 0;
    return api->DeviceGetAttribute(&value, what, device) == CUDA_SUCCESS ? value : 0;
}

/* SDM_CUDA_TOOLKIT: 1000 x major + 10 x minor version of the nvcc that made the kernels. */
static void say_old_driver(int version, SdmDeviceInfo *out)
{
    const int major = SDM_CUDA_TOOLKIT / 1000, least = least_driver(major);
    char driver[32] = "";
    if (least > 0)
        snprintf(driver, sizeof driver, " (driver %d or newer)", least);
    snprintf(out->why_not, sizeof out->why_not,
             "its driver is for CUDA %d.%d, and the kernels of this build need one for CUDA %d%s; --device "
             "opencl may serve it",
             version / 1000, version % 1000 / 10, major, driver);
}

static void describe(const SdmCuApi *api, CuDevice device, int index, SdmDeviceInfo *out)
{
    size_t bytes = 0;
    int version = 0;
    const int major = ask(api, device, CU_COMPUTE_CAPABILITY_MAJOR),
              minor = ask(api, device, CU_COMPUTE_CAPABILITY_MINOR);
    *out = (SdmDeviceInfo){.api = SDM_API_CUDA, .index = index, .exact = true, .doubles = true,
                            .staged = !ask(api, device, CU_INTEGRATED)};
    if (api->DeviceGetName(out->name, sizeof out->name - 1, device) != CUDA_SUCCESS)
        snprintf(out->name, sizeof out->name, "CUDA device %d", index);
    (void)api->DriverGetVersion(&version);
    (void)api->DeviceTotalMem(&bytes, device);
    snprintf(out->platform, sizeof out->platform, "CUDA, compute capability %d.%d", major, minor);
    snprintf(out->driver, sizeof out->driver, "driver for CUDA %d.%d", version / 1000, version % 1000 / 10);
    out->memory_bytes = out->most_bytes = (int64_t)bytes;
    out->local_bytes = ask(api, device, CU_MAX_SHARED_MEMORY_PER_BLOCK);
    out->clock_hz = 1e3 * ask(api, device, CU_CLOCK_RATE);
    out->units = ask(api, device, CU_MULTIPROCESSOR_COUNT);
    out->max_group = ask(api, device, CU_MAX_THREADS_PER_BLOCK);
    if (10 * major + minor < LEAST_CAPABILITY)
        snprintf(out->why_not, sizeof out->why_not,
                 "compute capability %d.%d is older than 7.5; --device opencl serves it", major, minor);
    else if (version / 1000 < SDM_CUDA_TOOLKIT / 1000)
        say_old_driver(version, out);
}

int sdm_cu_list(SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE])
{
    SdmCuApi api;
    int count = 0;
    const char *const why = sdm_cu_load(&api);
    CuResult code = why ? CUDA_SUCCESS : api.Init(0);
    if (!why && code == CUDA_SUCCESS)
        code = api.DeviceGetCount(&count);
    if (why)
        snprintf(reason, SDM_REASON_SIZE, "%s", why);
    else if (code != CUDA_SUCCESS)
        snprintf(reason, SDM_REASON_SIZE, SDM_DRIVER_THERE " does not start: %.150s (CUDA error %d)",
                 sdm_cu_error(&api, code), (int)code);
    else if (count == 0)
        snprintf(reason, SDM_REASON_SIZE, SDM_DRIVER_THERE " has no device");
    if (why || code != CUDA_SUCCESS)
        return 0;
    count = count < most ? count : most;
    for (int i = 0; i < count; i++) {
        CuDevice device = 0;
        (void)api.DeviceGet(&device, i);
        describe(&api, device, i, &out[i]);
    }
    return count; /* the library stays open: the driver does not bear being closed */
}
