/* --device: name -> device.  What `auto` does with devices that are slow, wrong or lost:
 * scene/match_queue.c. */
// SPDX-License-Identifier: Apache-2.0
#include "choose.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Forget everything but what was refused. */
static void reset(const SdmChoice *to, SdmChoice *out)
{
    SdmChoice fresh = *to;
    memcpy(fresh.refused, out->refused, sizeof fresh.refused);
    *out = fresh;
}

void sdm_choice_refuse(SdmChoice *c)
{
    for (int i = 0; i < c->count; i++)
        c->refused[c->api] |= UINT32_C(1) << c->all[i];
}

static void take(const SdmDeviceInfo *d, SdmChoice *out)
{
    reset(&(SdmChoice){.api = d->api, .index = d->index, .exact = d->exact, .count = 1, .all = {d->index}},
          out);
    snprintf(out->text, sizeof out->text, "%s:%d", sdm_api_name(d->api), d->index);
    snprintf(out->name, sizeof out->name, "%s", d->name);
}

static void take_cpu(SdmChoice *out)
{
    reset(&(SdmChoice){.cpu = true, .exact = true}, out);
    snprintf(out->text, sizeof out->text, "cpu");
    snprintf(out->name, sizeof out->name, "the processor");
}

void sdm_choice_tell(SdmContext *ctx, const SdmChoice *c)
{
    char more[32] = "";
    if (c->count > 1)
        snprintf(more, sizeof more, " and %d more", c->count - 1);
    sdm_log(ctx, SDM_LOG_INFO, 0, "device: %s%s%s%s%s%s%s%s", c->name, more, c->cpu ? "" : " (",
            c->cpu ? "" : c->text, c->cpu ? "" : ")", c->speed[0] || c->seen[0] ? "; " : "", c->speed,
            c->seen);
    if (c->why_not[0] && !c->seen[0])
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

/* Does the system have any graphics device?  Asking OpenCL's drivers takes time and memory. */
static bool has_graphics(void)
{
    static const char *const places[] = {"/dev/nvidiactl", "/dev/kfd", "/dev/dri", "/dev/dxg", "/dev/mali0"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], F_OK) == 0)
            return true;
    return false;
}

bool sdm_may_have_card(void)
{
    return has_graphics() || (SDM_HAVE_CUDA && dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
}

/* The device that auto takes of those not refused yet; NULL: none. */
static const SdmDeviceInfo *first_untried(SdmDeviceInfo *list, int count, uint32_t refused)
{
    for (int i = 0; i < count; i++)
        if (refused >> list[i].index & 1 && !list[i].why_not[0])
            snprintf(list[i].why_not, sizeof list[i].why_not,
                     "it was tried, and cannot be used or is slower than the processor");
    return sdm_first_device(list, count, true);
}

/* Is there a device, or CUDA's driver, that a user would expect to be taken? */
static bool is_expected(enum SdmApi api, const SdmDeviceInfo *list, int count, const char *reason)
{
    for (int i = 0; i < count; i++)
        if (!list[i].is_cpu)
            return true;
    return api == SDM_API_CUDA && count == 0 &&
           strncmp(reason, SDM_DRIVER_THERE, strlen(SDM_DRIVER_THERE)) == 0;
}

static void choose_auto(SdmDeviceInfo *list, SdmChoice *out)
{
    static const enum SdmApi order[] = {SDM_API_CUDA, SDM_API_OPENCL};
    char reason[2][SDM_REASON_SIZE] = {"", "there is no graphics device"}, seen[sizeof out->seen] = "";
    for (int i = 0; i < 2; i++) {
        const int n = i == 0 || has_graphics() ? sdm_devices(order[i], list, SDM_MOST_DEVICES, reason[i]) : 0;
        const SdmDeviceInfo *const d = first_untried(list, n, out->refused[order[i]]);
        if (d) {
            take(d, out);
            return;
        }
        if (n > 0)
            snprintf(reason[i], sizeof reason[i], "%.100s: %.150s", list[0].name,
                     list[0].why_not[0] ? list[0].why_not
                     : list[0].is_cpu   ? "it is the processor"
                                        : "it does not round as the processor does");
        const size_t at = strlen(seen);
        if (!out->refused[order[i]] && is_expected(order[i], list, n, reason[i]))
            snprintf(seen + at, sizeof seen - at, "%s%s: %s", at ? "; " : "", sdm_api_name(order[i]),
                     reason[i]);
    }
    take_cpu(out);
    memcpy(out->seen, seen, sizeof seen);
    snprintf(out->why_not, sizeof out->why_not, "cuda: %s; opencl: %s", reason[0], reason[1]);
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

/* Can a device share the work of another of its API?  Those of one platform, as exact as it; of OpenCL's that
 * auto takes, which were measured, those of one name. */
static bool alike(const SdmDeviceInfo *a, const SdmDeviceInfo *b, bool automatic)
{
    return !b->why_not[0] && a->is_cpu == b->is_cpu && a->exact == b->exact &&
           (a->api == SDM_API_CUDA ||
            (strcmp(a->platform, b->platform) == 0 && (!automatic || strcmp(a->name, b->name) == 0)));
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
        if (i != out->index && !(out->refused[out->api] >> i & 1) &&
            alike(&list[out->index], &list[i], strcmp(name, "auto") == 0))
            out->all[out->count++] = i;
    if (out->count > 1)
        snprintf(out->text, sizeof out->text, "%s", sdm_api_name(out->api));
done:
    sdm_free(&list);
    return st;
}
