/* A small synthetic scene -> its time on a device and on the processor. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/device_speed.h"

#include "gpu/device_cache.h"
#include "gpu/gpu_backend.h"
#include "instruction_set.h"
#include "matching/synthetic.h"
#include "sdm_build.h"

#include <inttypes.h>
#include <string.h>

enum {
    WIDTH = 1024, HEIGHT = 768, /* px of the scene: work for a large card, too */
    FIRST = 256,                /* px a side of a window before: it builds the kernels, and ends the
                                 * measurement of a slow device */
    COARSE = 3,                 /* level of the surface that is there */
    TIMES = 2,                  /* of which the faster one counts */
    KEY_SIZE = 1024
};
static const float NOISE_Q = 8.0f;
static const double SLOW_S = 0.03; /* a device that takes so long for the first window, and longer than the
                                    * processor, is not asked for the whole scene */

typedef struct Trial {
    SynScene scene;
    SdmSurface coarse;
    SdmMatchSettings settings;
} Trial;

static void make_key(SdmContext *ctx, const SdmDeviceInfo *info, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "speed 1\n%s\n%s\n%s\n%s\nbuild %016" PRIx64 "\n%d threads with %s\n",
             sdm_api_name(info->api), info->platform, info->name, info->driver, (uint64_t)SDM_BUILD_HASH,
             sdm_threads(ctx), sdm_kernels_name("auto"));
}

bool sdm_device_speed_known(SdmContext *ctx, const SdmDeviceInfo *info, SdmDeviceSpeed *out)
{
    char key[KEY_SIZE], text[SDM_SPEED_TEXT] = "", *data = NULL;
    size_t bytes = 0;
    int same = 0, end = 0;
    make_key(ctx, info, key);
    sdm_cache_read(ctx, key, &data, &bytes);
    if (data && bytes < sizeof text)
        memcpy(text, data, bytes);
    sdm_free(&data);
    *out = (SdmDeviceSpeed){.w = 0};
    if (sscanf(text, "%d x %d: %lf %lf %d%n", &out->w, &out->h, &out->device_s, &out->processor_s, &same,
               &end) != 5 ||
        text[end] != '\n' || out->device_s <= 0.0 || out->processor_s <= 0.0)
        return false;
    out->same = same == 1;
    return true;
}

static void keep(SdmContext *ctx, const SdmDeviceInfo *info, const SdmDeviceSpeed *s)
{
    char key[KEY_SIZE], text[SDM_SPEED_TEXT];
    make_key(ctx, info, key);
    const int n = snprintf(text, sizeof text, "%d x %d: %.6f %.6f %d\n", s->w, s->h, s->device_s,
                           s->processor_s, (int)s->same);
    sdm_cache_write(ctx, key, text, (size_t)n);
}

void sdm_device_speed_text(const SdmDeviceSpeed *s, char out[SDM_SPEED_TEXT])
{
    snprintf(out, SDM_SPEED_TEXT, "%d x %d px take %.3f s, on the processor %.3f s", s->w, s->h, s->device_s,
             s->processor_s);
}

/* Match a window that begins where the scene does; device NULL: on the processor.  *seconds becomes the time
 * where it is less. */
static SdmStatus match(SdmContext *ctx, const Trial *t, SdmDevice *device, const SdmWindow *win,
                       double *seconds, SdmFineResult *out)
{
    const SdmMatchInput in = {.settings = &t->settings,
                              .lattice = &t->scene.lattice,
                              .left = &t->scene.left_pyramid,
                              .right = &t->scene.right_pyramid};
    const SdmMatchCall call = {.in = &in, .coarse = &t->coarse, .win = win, .need = win};
    const double since = sdm_now_s();
    sdm_fine_result_free(out);
    const SdmStatus st =
        device ? sdm_device_match(ctx, device, &call, out) : sdm_match_window(ctx, &call, out);
    const double took = sdm_now_s() - since;
    *seconds = *seconds > 0.0 && *seconds < took ? *seconds : took;
    return st;
}

static bool agree(const SdmFineResult *a, const SdmFineResult *b)
{
    const SdmSurface *const p = &a->surface, *const q = &b->surface;
    const size_t n = (size_t)p->win.w * (size_t)p->win.h;
    return memcmp(p->h_m, q->h_m, n * sizeof *p->h_m) == 0 &&
           memcmp(p->flags, q->flags, n * sizeof *p->flags) == 0 &&
           memcmp(p->score, q->score, n * sizeof *p->score) == 0;
}

/* By much, whatever else the machine does. */
static bool is_slower(const SdmDeviceSpeed *s)
{
    return s->device_s > 2.0 * s->processor_s;
}

/* Both by turns, so that what else the machine does meets both; once where that says enough. */
static SdmStatus race(SdmContext *ctx, const Trial *t, SdmDevice *device, int times, SdmDeviceSpeed *s)
{
    SdmStatus st = SDM_OK;
    SdmFineResult there = {.left = NULL}, here = {.left = NULL};
    const SdmWindow win = {.w = s->w, .h = s->h};
    for (int i = 0; i < times && !(i && is_slower(s)); i++) {
        TRY(match(ctx, t, device, &win, &s->device_s, &there));
        TRY(match(ctx, t, NULL, &win, &s->processor_s, &here));
    }
    s->same = agree(&there, &here);
done:
    sdm_fine_result_free(&there);
    sdm_fine_result_free(&here);
    return st;
}

static SdmStatus measure(SdmContext *ctx, SdmDevice *device, SdmDeviceSpeed *out)
{
    SdmStatus st = SDM_OK;
    Trial t = {.coarse = {.h_m = NULL}};
    SdmDeviceSpeed first = {.w = FIRST, .h = FIRST};
    TRY(sdm_match_settings(ctx, NULL, "zncc", "auto", NOISE_Q, &t.settings));
    t.settings.coarse_level = t.settings.coarsest_level = COARSE;
    TRY(sdm_syn_open(ctx, WIDTH, HEIGHT, 0.5, 300.0, 42, &t.scene));
    TRY(sdm_syn_surface(ctx, &t.scene,
                        &(SdmWindow){.level = COARSE, .w = WIDTH >> COARSE, .h = HEIGHT >> COARSE}, 0.4,
                        &t.coarse));
    TRY(race(ctx, &t, device, 1, &first)); /* builds the kernels */
    first.device_s = first.processor_s = 0.0;
    TRY(race(ctx, &t, device, 1, &first));
    *out = first;
    if (first.device_s > SLOW_S && is_slower(&first))
        goto done;
    *out = (SdmDeviceSpeed){.w = WIDTH, .h = HEIGHT};
    TRY(race(ctx, &t, device, TIMES, out));
done:
    sdm_surface_free(&t.coarse);
    sdm_syn_close(&t.scene);
    return st;
}

SdmStatus sdm_device_speed_measure(SdmContext *ctx, SdmDevice *device, SdmDeviceSpeed *out)
{
    SdmStatus st = SDM_OK;
    SdmContext *child = NULL; /* its progress and its lines are nobody's */
    char text[SDM_SPEED_TEXT];
    const double since = sdm_now_s();
    *out = (SdmDeviceSpeed){.w = 0};
    TRY(sdm_open_child(ctx, &child));
    st = measure(child, device, out);
    if (st != SDM_OK) {
        st = sdm_fail(ctx, st, "%s", sdm_error(child));
        goto done;
    }
    (void)sdm_device_trim(device);
    sdm_device_speed_text(out, text);
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s was measured in %.1f s: %s", sdm_device_info(device)->name,
            sdm_now_s() - since, text);
    keep(ctx, sdm_device_info(device), out);
done:
    sdm_close(&child);
    return st;
}
