/* OpenCL contexts: one for each device, however often it is open in this process. */
// SPDX-License-Identifier: Apache-2.0
#include "opencl.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static SdmClShared *contexts; /* behind the lock */

static void free_shared(SdmClShared *s)
{
    for (int i = 0; i < SDM_CL_PROGRAMS; i++)
        if (s->program[i])
            s->api.ReleaseProgram(s->program[i]);
    if (s->context)
        s->api.ReleaseContext(s->context);
    pthread_mutex_destroy(&s->building);
    sdm_free(&s);
}

static SdmStatus make(SdmContext *ctx, const SdmDeviceInfo *info, SdmClShared **out, int32_t *code)
{
    SdmStatus st = SDM_OK;
    SdmClShared *s = NULL;
    TRY(sdm_alloc(ctx, &s, 1, sizeof *s, "a context"));
    pthread_mutex_init(&s->building, NULL);
    const char *const why = sdm_cl_load(&s->api);
    if (why || !sdm_cl_find(&s->api, info->index, &s->platform, &s->device)) {
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "%s: %s", info->name, why ? why : "the device is gone");
        goto done;
    }
    const intptr_t properties[] = {CL_CONTEXT_PLATFORM, (intptr_t)s->platform, 0};
    s->context = s->api.CreateContext(properties, 1, &s->device, NULL, NULL, code);
    if (!s->context) {
        *code = *code == CL_OK ? CL_DEVICE_NOT_AVAILABLE : *code;
        st = SDM_ERR_DEVICE;
        goto done;
    }
    *out = s;
    s = NULL;
done:
    if (s)
        free_shared(s);
    return st;
}

/* The context of that device that is open and in order; NULL: none. */
static SdmClShared *find(const SdmClApi *api, int index)
{
    ClHandle platform = NULL, device = NULL;
    if (!contexts || !sdm_cl_find(api, index, &platform, &device))
        return NULL;
    SdmClShared *s = contexts;
    while (s && (s->device != device || s->platform != platform || atomic_load(&s->lost)))
        s = s->next;
    return s;
}

SdmStatus sdm_cl_join(SdmContext *ctx, const SdmDeviceInfo *info, SdmClShared **out, int32_t *code)
{
    SdmStatus st = SDM_OK;
    *out = NULL;
    *code = CL_OK;
    pthread_mutex_lock(&lock);
    SdmClShared *s = contexts ? find(&contexts->api, info->index) : NULL;
    if (!s) {
        TRY(make(ctx, info, &s, code));
        s->next = contexts;
        contexts = s;
    }
    s->users++;
    *out = s;
done:
    pthread_mutex_unlock(&lock);
    return st;
}

void sdm_cl_leave(SdmClShared *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&lock);
    if (--s->users == 0) {
        SdmClShared **at = &contexts;
        while (*at != s)
            at = &(*at)->next;
        *at = s->next;
        free_shared(s);
    }
    pthread_mutex_unlock(&lock);
}
