/* stereodem devices: the devices of this machine that can match. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "gpu/device.h"
#include "instruction_set.h"

#include <string.h>

/* --verbose: open the device, which builds the kernels and tests its arithmetic. */
static void test_device(SdmContext *ctx, SdmDeviceInfo *d)
{
    SDM_CLOSED_BY(sdm_device_close) SdmDevice *device = NULL;
    if (d->why_not[0])
        return;
    if (sdm_device_open(ctx, d->api, d->index, &device) == SDM_OK)
        *d = *sdm_device_info(device);
    else
        snprintf(d->why_not, sizeof d->why_not, "%.250s", sdm_error(ctx));
}

/* Why auto does not take the device. */
static const char *of_auto(const SdmDeviceInfo *d)
{
    return d->is_cpu ? "; never taken by auto, for it is the processor"
           : !d->exact && !d->differs[0]
               ? "; never taken by auto, for it does not claim to round as the processor does"
           : !d->exact                ? "; never taken by auto, for it does not round as the processor does"
           : d->api == SDM_API_OPENCL ? "; the processor's bytes; taken by name alone: --device opencl"
                                      : "; the processor's bytes";
}

/* One line of what a device can do. */
static void describe_device(const SdmDeviceInfo *d, char *out, size_t size)
{
    if (d->why_not[0])
        snprintf(out, size, "cannot run: %s", d->why_not);
    else
        snprintf(out, size, "run%s%s%s%s%s", of_auto(d),
                 d->is_cpu && !d->exact && !d->differs[0] ? "; does not claim to round as the others do" : "",
                 d->doubles ? "" : "; has no doubles, so the processor grids",
                 d->differs[0] ? "; rounds otherwise: " : "", d->differs);
}

static cJSON *device_json(const SdmDeviceInfo *d, const char *what)
{
    cJSON *const o = cJSON_CreateObject();
    char name[32];
    snprintf(name, sizeof name, "%s:%d", sdm_api_name(d->api), d->index);
    SDM_JSON(o, SDM_FIELD("device", name), SDM_FIELD("name", d->name), SDM_FIELD("platform", d->platform),
             SDM_FIELD("driver", d->driver), SDM_FIELD("memory_bytes", d->memory_bytes),
             SDM_FIELD("local_bytes", d->local_bytes), SDM_FIELD("compute_units", d->units),
             SDM_FIELD("is_processor", d->is_cpu), SDM_FIELD("rounds_as_processor", d->exact),
             SDM_FIELD("has_doubles", d->doubles), SDM_FIELD("can_run", (bool)!d->why_not[0]),
             SDM_FIELD("what", what));
    return o;
}

static void print_api(SdmCall *call, enum SdmApi api, SdmDeviceInfo *list, cJSON *to)
{
    char reason[SDM_REASON_SIZE], what[SDM_REASON_SIZE + 256];
    const int n = sdm_devices(api, list, SDM_MOST_DEVICES, reason);
    if (n == 0) {
        sdm_screen_print(&call->screen, "%-10s none: %s", sdm_api_name(api), reason);
        cJSON_AddStringToObject(call->summary, api == SDM_API_CUDA ? "cuda_missing" : "opencl_missing",
                                reason);
    }
    for (int i = 0; i < n; i++) {
        SdmDeviceInfo *const d = &list[i];
        char name[32];
        if (call->screen.verbose)
            test_device(call->ctx, d);
        describe_device(d, what, sizeof what);
        snprintf(name, sizeof name, "%s:%d", sdm_api_name(api), i);
        sdm_screen_print(&call->screen, "%-10s %s (%s; %s): %.1f GiB, %d compute units", name, d->name,
                         d->platform, d->driver, (double)d->memory_bytes / 1073741824.0, d->units);
        sdm_screen_print(&call->screen, "%-10s %s", "", what);
        if (to)
            cJSON_AddItemToArray(to, device_json(d, what));
    }
}

/* The kernels' copies for instruction sets: which this processor has. */
static void print_processor(SdmCall *call)
{
    char here[64] = "", missing[64] = "";
    cJSON *const list = cJSON_AddArrayToObject(call->summary, "cpu_levels");
    for (int i = 1; i < SDM_CPU_LEVELS; i++) { /* the first one is the definition */
        const char *const name = sdm_cpu_levels[i].name;
        char *const text = sdm_cpu_levels[i].here() ? here : missing;
        snprintf(text + strlen(text), 64 - strlen(text), " %s", name);
        if (list && text == here)
            cJSON_AddItemToArray(list, cJSON_CreateString(name));
    }
    sdm_screen_print(&call->screen, "%-10s %d threads; instruction sets:%s%s%s", "cpu",
                     sdm_threads(call->ctx), here, *missing ? "; not here:" : "", missing);
    cJSON_AddNumberToObject(call->summary, "threads", sdm_threads(call->ctx));
}

SdmStatus sdm_command_devices(SdmCall *call)
{
    SDM_OWNED SdmDeviceInfo *list = NULL;
    PASS(sdm_alloc(call->ctx, &list, SDM_MOST_DEVICES, sizeof *list, "the list of devices"));
    cJSON *const devices = cJSON_AddArrayToObject(call->summary, "devices");
    print_processor(call);
    print_api(call, SDM_API_OPENCL, list, devices);
    print_api(call, SDM_API_CUDA, list, devices);
    return SDM_OK;
}
