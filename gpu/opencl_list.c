/* The OpenCL loader, opened at run time, and the devices that it has. */
// SPDX-License-Identifier: Apache-2.0
#include "opencl.h"
#include "core/system.h"

#include <string.h>

enum { MOST_PLATFORMS = 16, EXTENSIONS = 16384 /* bytes of their names */ };

const char *sdm_cl_load(SdmClApi *api)
{
    memset(api, 0, sizeof *api);
    api->library = sdm_system_library(sdm_system_opencl);
    if (!api->library)
        return "libOpenCL.so.1 cannot be opened: install an OpenCL loader (ocl-icd-libopencl1) and a driver";
#define LOOK_UP(result, name, arguments)                                                                     \
    *(void **)(void *)&api->name = sdm_system_symbol(api->library, "cl" #name);                              \
    if (!api->name)                                                                                          \
        return "libOpenCL.so.1 lacks cl" #name ": OpenCL 1.2 is needed";
    SDM_CL_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return NULL;
}

const char *sdm_cl_error(int32_t code)
{
    switch (code) {
    case CL_DEVICE_NOT_AVAILABLE:
        return "the device is not available";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        return "memory of the device cannot be allocated";
    case CL_OUT_OF_RESOURCES:
        return "out of resources";
    case CL_OUT_OF_HOST_MEMORY:
        return "out of host memory";
    case CL_BUILD_PROGRAM_FAILURE:
        return "the program does not build";
    case CL_INVALID_WORK_GROUP_SIZE:
        return "the kernel cannot run with that many work items a group";
    default:
        return "the driver refused";
    }
}

static void ask_text(const SdmClApi *api, ClHandle device, uint32_t what, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    if (api->GetDeviceInfo(device, what, size - 1, out, &n) != CL_OK)
        out[0] = '\0';
    out[n < size ? n : size - 1] = '\0';
}

static uint64_t ask_number(const SdmClApi *api, ClHandle device, uint32_t what, size_t size)
{
    uint64_t value = 0; /* little end first, so that shorter ones fit */
    return api->GetDeviceInfo(device, what, size, &value, NULL) == CL_OK ? value : 0;
}

/* Why a device cannot run our kernels; "": it can. */
static const char *why_not(const SdmClApi *api, ClHandle device, const SdmDeviceInfo *info,
                           const char *version)
{
    char profile[64];
    int major = 0, minor = 0;
    ask_text(api, device, CL_DEVICE_PROFILE, profile, sizeof profile);
    if (!ask_number(api, device, CL_DEVICE_AVAILABLE, sizeof(uint32_t)))
        return "the driver says that it is not available";
    if (!ask_number(api, device, CL_DEVICE_COMPILER_AVAILABLE, sizeof(uint32_t)))
        return "its driver has no compiler";
    if (!ask_number(api, device, CL_DEVICE_ENDIAN_LITTLE, sizeof(uint32_t)))
        return "its numbers are big-endian";
    if (strcmp(profile, "FULL_PROFILE") != 0)
        return "it has the embedded profile only";
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || 10 * major + minor < 12)
        return "its OpenCL is older than 1.2";
    if (info->max_group < 256 || info->local_bytes < 32768)
        return "work groups of 256 and 32 KiB of local memory are needed";
    return "";
}

/* OpenCL C 1.2 takes doubles where the extension is; then division and root are rounded correctly. */
static bool has_doubles(const SdmClApi *api, ClHandle device)
{
    const uint64_t wanted = CL_FP_ROUND_TO_NEAREST | CL_FP_DENORM | CL_FP_INF_NAN;
    char extensions[EXTENSIONS];
    ask_text(api, device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    return strstr(extensions, "cl_khr_fp64") &&
           (ask_number(api, device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(ClBits)) & wanted) == wanted;
}

static void describe(const SdmClApi *api, ClHandle platform, ClHandle device, int index, SdmDeviceInfo *out)
{
    char version[SDM_NAME_SIZE], driver[SDM_NAME_SIZE];
    const uint64_t exact = CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT | CL_FP_DENORM;
    *out = (SdmDeviceInfo){.api = SDM_API_OPENCL, .index = index};
    ask_text(api, device, CL_DEVICE_NAME, out->name, sizeof out->name);
    if (!out->name[0])
        snprintf(out->name, sizeof out->name, "OpenCL device %d", index);
    ask_text(api, device, CL_DEVICE_VERSION, version, sizeof version);
    ask_text(api, device, CL_DRIVER_VERSION, driver, sizeof driver);
    if (api->GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof out->platform - 1, out->platform, NULL) !=
        CL_OK)
        out->platform[0] = '\0';
    snprintf(out->driver, sizeof out->driver, "%.90s, %.30s", version, driver);
    out->is_cpu = ask_number(api, device, CL_DEVICE_TYPE, sizeof(ClBits)) & CL_DEVICE_TYPE_CPU;
    const uint64_t single = ask_number(api, device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof(ClBits));
    out->exact = (single & exact) == exact;
    out->divides = single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    out->doubles = has_doubles(api, device);
    out->staged = !out->is_cpu && !ask_number(api, device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(uint32_t));
    out->memory_bytes = (int64_t)ask_number(api, device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(uint64_t));
    out->most_bytes = (int64_t)ask_number(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(uint64_t));
    out->local_bytes = (int64_t)ask_number(api, device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(uint64_t));
    out->units = (int)ask_number(api, device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(uint32_t));
    out->max_group = (int)ask_number(api, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    snprintf(out->why_not, sizeof out->why_not, "%s", why_not(api, device, out, version));
}

typedef bool visit_fn(const SdmClApi *api, ClHandle platform, ClHandle device, int index, void *user);

/* All devices of all platforms, in the loader's order, until visit() is content; how many were seen. */
static int visit_all(const SdmClApi *api, visit_fn *visit, void *user)
{
    ClHandle platforms[MOST_PLATFORMS], devices[SDM_MOST_DEVICES];
    uint32_t platform_count = 0, device_count = 0;
    int seen = 0;
    if (api->GetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count) != CL_OK)
        return 0;
    for (uint32_t p = 0; p < platform_count && p < MOST_PLATFORMS; p++) {
        if (api->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, SDM_MOST_DEVICES, devices, &device_count) !=
            CL_OK)
            continue;
        for (uint32_t d = 0; d < device_count && d < SDM_MOST_DEVICES; d++)
            if (visit(api, platforms[p], devices[d], seen++, user))
                return seen;
    }
    return seen;
}

typedef struct Wanted {
    int index;
    ClHandle platform, device;
} Wanted;

static bool is_wanted(const SdmClApi *api, ClHandle platform, ClHandle device, int index, void *user)
{
    Wanted *const w = user;
    (void)api;
    if (index != w->index)
        return false;
    w->platform = platform;
    w->device = device;
    return true;
}

bool sdm_cl_find(const SdmClApi *api, int index, ClHandle *platform, ClHandle *device)
{
    Wanted w = {.index = index};
    visit_all(api, is_wanted, &w);
    *platform = w.platform;
    *device = w.device;
    return w.device != NULL;
}

typedef struct List {
    SdmDeviceInfo *out;
    int most;
} List;

static bool add_to_list(const SdmClApi *api, ClHandle platform, ClHandle device, int index, void *user)
{
    const List *const list = user;
    describe(api, platform, device, index, &list->out[index]);
    return index + 1 == list->most;
}

int sdm_cl_list(SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE])
{
    SdmClApi api;
    List list = {.out = out, .most = most};
    const char *const why = sdm_cl_load(&api);
    const int count = why ? 0 : visit_all(&api, add_to_list, &list);
    if (count == 0)
        snprintf(
            reason, SDM_REASON_SIZE, "%s",
            why ? why
                : "no OpenCL platform has a device: install the driver of the device (or pocl-opencl-icd); "
                  "where it is installed, it may need a cache folder that this user can write (HOME, "
                  "POCL_CACHE_DIR)");
    return count; /* the loader stays open: drivers do not bear being closed */
}
