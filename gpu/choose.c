/* --device: name -> device.  scene/device_pool.c replaces devices that fail. */
// SPDX-License-Identifier: Apache-2.0
#include "choose.h"
#include "core/system.h"

#include <stdlib.h>
#include <string.h>

static void take(const SdmDeviceInfo *d, SdmChoice *out)
{
    *out = (SdmChoice){.api = d->api, .index = d->index, .exact = d->exact, .count = 1, .all = {d->index}};
    snprintf(out->text, sizeof out->text, "%s:%d", sdm_api_name(d->api), d->index);
    snprintf(out->name, sizeof out->name, "%s", d->name);
}

static void take_cpu(SdmChoice *out)
{
    *out = (SdmChoice){.cpu = true, .exact = true, .text = "cpu", .name = "the processor"};
}

void sdm_choice_tell(SdmContext *ctx, const SdmChoice *c)
{
    char more[64] = "";
    if (c->count > 1)
        snprintf(more, sizeof more, " and %d more", c->count - 1);
    if (c->cpu)
        sdm_log(ctx, SDM_LOG_INFO, 0, "device: %s%s%s", c->name, c->expected ? "; " : "",
                c->expected ? c->why_not : "");
    else
        sdm_log(ctx, SDM_LOG_INFO, 0, "device: %s%s (%s)", c->name, more, c->text);
    if (c->why_not[0] && !c->expected)
        sdm_log(ctx, SDM_LOG_VERBOSE, 0, "no other device: %s", c->why_not);
    if (!c->exact)
        sdm_log(ctx, SDM_LOG_WARNING, 0,
                "%s does not round as the processor does: heights may differ from the processor's by some "
                "millimetres",
                c->name);
}

const SdmDeviceInfo *sdm_first_device(const SdmDeviceInfo *list, int count, bool by_itself)
{
    const SdmDeviceInfo *found = NULL;
    for (int i = 0; i < count; i++) {
        const SdmDeviceInfo *const d = &list[i];
        if (!d->why_not[0] && !(by_itself && (d->is_cpu || !d->exact)) &&
            (!found || (found->is_cpu && !d->is_cpu)))
            found = d;
    }
    return found;
}

bool sdm_may_have_card(void)
{
    return SDM_HAVE_CUDA && sdm_system_library(sdm_system_cuda);
}

static void choose_auto(SdmDeviceInfo *list, SdmChoice *out)
{
    char reason[SDM_REASON_SIZE];
    const int n = sdm_devices(SDM_API_CUDA, list, SDM_MOST_DEVICES, reason);
    const SdmDeviceInfo *const d = sdm_first_device(list, n, true);
    if (d) {
        take(d, out);
        return;
    }
    if (n > 0)
        snprintf(out->why_not, sizeof out->why_not, "cuda: %.100s: %.180s", list[0].name, list[0].why_not);
    else
        snprintf(out->why_not, sizeof out->why_not, "cuda: %.250s", reason);
    out->expected = n > 0 || strncmp(reason, SDM_DRIVER_THERE, strlen(SDM_DRIVER_THERE)) == 0;
}

static SdmStatus choose_named(SdmContext *ctx, enum SdmApi api, const char *number, SdmDeviceInfo *list,
                              SdmChoice *out)
{
    char reason[SDM_REASON_SIZE];
    const char *const name = sdm_api_name(api);
    const int n = sdm_devices(api, list, SDM_MOST_DEVICES, reason), index = number ? atoi(number) : 0;
    if (n == 0)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "--device %s: %s", name, reason);
    if (number && index >= n && n == 1)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "--device %s:%d: there is one device, %s:0; stereodem devices lists it", name, index,
                        name);
    if (number && index >= n)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "--device %s:%d: found %d devices, expected 0 to %d; stereodem devices lists them",
                        name, index, n, n - 1);
    const SdmDeviceInfo *const d = number ? &list[index] : sdm_first_device(list, n, false);
    if (!d || d->why_not[0])
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "--device %s: %s: %s", name, d ? d->name : list[0].name,
                        d ? d->why_not : list[0].why_not);
    take(d, out);
    return SDM_OK;
}

SdmStatus sdm_choose_device(SdmContext *ctx, const char *name, SdmChoice *out)
{
    SdmStatus st = SDM_OK;
    SdmDeviceInfo *list = NULL;
    const char *const colon = strchr(name, ':'), *const number = colon ? colon + 1 : NULL;
    take_cpu(out);
    if (strcmp(name, "cpu") == 0)
        return SDM_OK;
    TRY(sdm_alloc(ctx, &list, SDM_MOST_DEVICES, sizeof *list, "the list of devices"));
    if (strcmp(name, "auto") == 0)
        choose_auto(list, out);
    else
        TRY(choose_named(ctx, strncmp(name, "cuda", 4) == 0 ? SDM_API_CUDA : SDM_API_OPENCL, number, list,
                         out));
done:
    sdm_free(&list);
    return st;
}

/* Can a device share the work of another of its API?  Those of one platform can, with the same rounding. */
static bool alike(const SdmDeviceInfo *a, const SdmDeviceInfo *b)
{
    return !b->why_not[0] && a->is_cpu == b->is_cpu && a->exact == b->exact &&
           (a->api == SDM_API_CUDA || strcmp(a->platform, b->platform) == 0);
}

SdmStatus sdm_choose_devices(SdmContext *ctx, const char *name, SdmChoice *out)
{
    SdmStatus st = SDM_OK;
    SdmDeviceInfo *list = NULL;
    char reason[SDM_REASON_SIZE];
    TRY(sdm_choose_device(ctx, name, out));
    if (out->cpu || strchr(name, ':'))
        return SDM_OK;
    TRY(sdm_alloc(ctx, &list, SDM_MOST_DEVICES, sizeof *list, "the list of devices"));
    const int n = sdm_devices(out->api, list, SDM_MOST_DEVICES, reason);
    for (int i = 0; i < n && out->index < n; i++)
        if (i != out->index && alike(&list[out->index], &list[i]))
            out->all[out->count++] = i;
    if (out->count > 1)
        snprintf(out->text, sizeof out->text, "%s", sdm_api_name(out->api));
done:
    sdm_free(&list);
    return st;
}
