/* Processor or devices for the windows of a scene: which devices `auto` takes and leaves, and their tiles in
 * work. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/match_queue.h"

#include "gpu/gpu_backend.h"
#include "gpu/choose.h"
#include "scene/device_speed.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

enum {
    DEVICE_SLOTS = 2,            /* windows in work on a device */
    ON_PROCESSOR = SDM_MAX_SLOTS /* number of a window that the processor has matched */
};
_Static_assert(SDM_MAX_SLOTS >= DEVICE_SLOTS * SDM_MOST_DEVICES, "slots for every device");

/* A device and the window in work on it. */
typedef struct Slot {
    int index;         /* of the device among those of its API */
    SdmDevice *device; /* its own queues and memory; NULL: not opened yet, or lost */
    int64_t memory;    /* that buffers of the device may take, in all its slots */
    bool busy, on_thread;
    pthread_t thread;
    SdmContext *ctx; /* of the thread */
    int64_t need;    /* bytes of its memory that the window was taken to need; 0: not known */
    SdmMatchCall call;
    SdmFineResult *out;
    SdmStatus st;
    char error[512];
} Slot;

struct SdmMatchQueue {
    SdmChoice choice;
    bool automatic; /* --device auto: whatever goes wrong, another device or the processor goes on */
    bool opening, closing; /* the thread chooses and opens a device, or closes all */
    bool tell;             /* to log the back end when it has been opened */
    pthread_t thread;
    SdmContext *opener; /* of the thread that opens */
    bool chosen;        /* it has chosen a device ... */
    SdmStatus opened;   /* ... and opened it with this result */
    bool lost;          /* the devices failed: the processor matches the windows that come */
    int slot_count;
    int64_t most; /* bytes that a window may take since one found no memory; grows again; 0: no such limit */
    Slot *slot; /* SDM_MAX_SLOTS: each device once, then each a second time; NULL: the processor */
    char why[1024]; /* what auto has left, and why, a sentence each; "" */
};

/* Log once what auto leaves, and keep it for the report. */
static void leave_device(SdmContext *ctx, SdmMatchQueue *q, SdmLogLevel level, int stage, const char *fmt,
                         ...) __attribute__((format(printf, 5, 6)));
static void leave_device(SdmContext *ctx, SdmMatchQueue *q, SdmLogLevel level, int stage, const char *fmt,
                         ...)
{
    char text[768];
    const size_t at = strlen(q->why);
    va_list list;
    va_start(list, fmt);
    vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    sdm_log(ctx, level, stage, "%s", text);
    snprintf(q->why + at, sizeof q->why - at, "%s%s", at ? "; " : "", text);
}

/* ---- threads of slots ---- */

static void keep_error(SdmContext *ctx, Slot *slot)
{
    if (slot->st != SDM_OK)
        snprintf(slot->error, sizeof slot->error, "%s", sdm_error(ctx));
}

/* Wait for the thread of a slot and pass on its log. */
static void join(SdmContext *ctx, Slot *slot)
{
    if (slot->on_thread) {
        pthread_join(slot->thread, NULL);
        sdm_forward_log(ctx, slot->ctx);
    }
    slot->on_thread = false;
    sdm_close(&slot->ctx);
}

/* ---- open, close ---- */

static int slots_of(const SdmMatchQueue *q, int index)
{
    int n = 0;
    for (int i = 0; i < q->slot_count; i++)
        n += q->slot[i].index == index;
    return n > 0 ? n : 1;
}

/* The slots of a device share its memory.  What others have taken of it is not there; a window that cannot be
 * smaller may ask for more. */
static void share_memory(const SdmMatchQueue *q, const Slot *slot)
{
    sdm_device_set_budget(slot->device, slot->memory / slots_of(q, slot->index));
    sdm_device_set_limit(slot->device, q->most > 0 && slot->need > q->most ? 2 * slot->need : q->most);
}

/* Open the device of a slot unless it is open. */
static SdmStatus need_device(SdmContext *ctx, const SdmMatchQueue *q, Slot *slot)
{
    SdmStatus st = SDM_OK;
    if (slot->device)
        return SDM_OK;
    TRY(sdm_device_open(ctx, q->choice.api, slot->index, &slot->device));
    slot->memory = sdm_device_budget(slot->device);
    share_memory(q, slot);
done:
    return st;
}

/* Open the first of the devices that were chosen: it must run, and auto's must round as it was taken to. */
static SdmStatus open_first(SdmContext *ctx, SdmMatchQueue *q)
{
    SdmStatus st = SDM_OK;
    TRY(need_device(ctx, q, &q->slot[0]));
    const SdmDeviceInfo *const info = sdm_device_info(q->slot[0].device);
    if (q->automatic && !info->exact) {
        st = sdm_fail(ctx, SDM_ERR_DEVICE, "%s does not round as the processor does (%s)", info->name,
                      info->differs);
        sdm_device_close(&q->slot[0].device);
    }
done:
    return st;
}

/* Is it worth taking?  Of OpenCL's devices auto takes those alone that were measured to be faster than the
 * processor.  SDM_ERR_DEVICE: it computes other heights. */
static SdmStatus weigh(SdmContext *ctx, SdmMatchQueue *q, bool *slower)
{
    SdmStatus st = SDM_OK;
    SdmDeviceSpeed speed;
    SdmDevice *const device = q->slot[0].device;
    *slower = false;
    if (!q->automatic || q->choice.api != SDM_API_OPENCL)
        return SDM_OK;
    if (!sdm_device_speed_known(ctx, sdm_device_info(device), &speed))
        TRY(sdm_device_speed_measure(ctx, device, &speed));
    sdm_device_speed_text(&speed, q->choice.speed);
    *slower = speed.device_s >= speed.processor_s;
    if (!speed.same)
        st = sdm_fail(ctx, SDM_ERR_DEVICE,
                      "%s: its heights of a test scene are not the processor's: driver or device are faulty",
                      q->choice.name);
done:
    return st;
}

/* Choose devices that were not refused; a slot for each, which opens nothing yet. */
static SdmStatus choose(SdmContext *ctx, const char *device, SdmMatchQueue *q)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_choose_devices(ctx, device, &q->choice));
    if (q->choice.cpu)
        sdm_free(&q->slot);
    else if (!q->slot)
        TRY(sdm_alloc(ctx, &q->slot, SDM_MAX_SLOTS, sizeof *q->slot, "devices"));
    for (int i = 0; i < DEVICE_SLOTS * q->choice.count && q->slot; i++)
        q->slot[i] = (Slot){.index = q->choice.all[i % q->choice.count]};
done:
    return st;
}

/* st: how opening the first of the devices ended.  Where they cannot be used or are slow, auto goes on to
 * others, in the end to the processor. */
static SdmStatus settle(SdmContext *ctx, SdmMatchQueue *q, SdmStatus st)
{
    while (!q->choice.cpu) {
        bool slower = false;
        if (st == SDM_OK) {
            q->choice.exact = sdm_device_info(q->slot[0].device)->exact;
            st = weigh(ctx, q, &slower);
        }
        if (st == SDM_OK && !slower)
            break;
        if (!q->automatic || st == SDM_ERR_STOPPED)
            goto done;
        if (st == SDM_OK)
            leave_device(ctx, q, SDM_LOG_INFO, 0, "%s (%s) is slower than the processor: %s", q->choice.name,
                         q->choice.text, q->choice.speed);
        else
            leave_device(ctx, q, SDM_LOG_WARNING, 0, "%s cannot be used: %s", q->choice.text, sdm_error(ctx));
        sdm_device_close(&q->slot[0].device);
        sdm_choice_refuse(&q->choice);
        TRY(choose(ctx, "auto", q));
        st = q->choice.cpu ? SDM_OK : open_first(ctx, q);
    }
done:
    return st;
}

/* Choose, and open the first of the devices.  *chosen: the status is that of opening. */
static SdmStatus open_chosen(SdmContext *ctx, const char *device, SdmMatchQueue *q, bool *chosen)
{
    SdmStatus st = SDM_OK;
    *chosen = false;
    TRY(choose(ctx, device, q));
    *chosen = true;
    st = q->choice.cpu ? SDM_OK : open_first(ctx, q);
done:
    return st;
}

static void *run_open(void *data)
{
    SdmMatchQueue *const q = data;
    sdm_thread_begin(q->opener);
    q->opened = open_chosen(q->opener, "auto", q, &q->chosen);
    return NULL;
}

/* Where there may be a card, auto asks its driver and opens it on a thread of its own, while the scene is
 * read and prepared: a driver takes a tenth of a second, or seconds where nothing keeps it awake.  What is
 * named is opened here, so that it is told at once why it cannot run. */
static bool open_beside(SdmContext *ctx, SdmMatchQueue *q)
{
    if (!q->automatic || !sdm_may_have_card() || sdm_open_child(ctx, &q->opener) != SDM_OK)
        return false;
    q->opening = pthread_create(&q->thread, NULL, run_open, q) == 0;
    if (!q->opening)
        sdm_close(&q->opener);
    return q->opening;
}

SdmStatus sdm_match_queue_open(SdmContext *ctx, const char *device, SdmMatchQueue **out)
{
    SdmStatus st = SDM_OK;
    SdmMatchQueue *q = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &q, 1, sizeof *q, "a device"));
    q->slot_count = 1;
    q->automatic = strcmp(device, "auto") == 0;
    if (!open_beside(ctx, q)) {
        bool chosen = false;
        st = open_chosen(ctx, device, q, &chosen);
        if (chosen)
            st = settle(ctx, q, st);
        TRY(st);
    }
    *out = q;
    q = NULL;
done:
    sdm_match_queue_close(&q);
    return st;
}

/* Wait for the thread that opens, and pass on its log. */
static void join_opener(SdmContext *ctx, SdmMatchQueue *q)
{
    if (q->opening) {
        pthread_join(q->thread, NULL);
        sdm_forward_log(ctx, q->opener);
    }
    q->opening = false;
}

SdmStatus sdm_match_queue_ready(SdmContext *ctx, SdmMatchQueue *queue)
{
    SdmStatus st = SDM_OK;
    if (!queue->opening)
        return SDM_OK;
    join_opener(ctx, queue);
    st = queue->opened;
    if (st != SDM_OK)
        (void)sdm_fail(ctx, st, "%s", sdm_error(queue->opener));
    sdm_close(&queue->opener);
    if (queue->chosen)
        st = settle(ctx, queue, st);
    TRY(st);
    if (queue->tell)
        sdm_match_queue_log(ctx, queue);
done:
    return st;
}

const char *sdm_match_queue_name(const SdmMatchQueue *queue)
{
    return queue->opening ? "auto" : queue->choice.text;
}

const char *sdm_match_queue_why(const SdmMatchQueue *queue)
{
    return queue->why[0] ? queue->why : queue->choice.seen;
}

void sdm_match_queue_log(SdmContext *ctx, SdmMatchQueue *queue)
{
    queue->tell = queue->opening;
    if (!queue->opening)
        sdm_choice_tell(ctx, &queue->choice);
}

/* Wait for the windows in work and close the devices. */
static void *close_devices(void *data)
{
    SdmMatchQueue *const q = data;
    for (int i = 0; q->slot && i < SDM_MAX_SLOTS; i++) {
        join(NULL, &q->slot[i]);
        sdm_device_close(&q->slot[i].device);
    }
    return NULL;
}

void sdm_match_queue_finish(SdmMatchQueue *queue)
{
    if (queue && queue->slot && !queue->opening && !queue->closing)
        queue->closing = pthread_create(&queue->thread, NULL, close_devices, queue) == 0;
}

void sdm_match_queue_close(SdmMatchQueue **queue)
{
    SdmMatchQueue *const q = queue ? *queue : NULL;
    if (!q)
        return;
    join_opener(NULL, q);
    sdm_close(&q->opener);
    if (q->closing)
        pthread_join(q->thread, NULL);
    (void)close_devices(q);
    sdm_free(&q->slot);
    sdm_free(queue);
}

void sdm_match_queue_expect(SdmMatchQueue *q, int64_t windows)
{
    const int most = !q->slot || q->lost ? 1 : DEVICE_SLOTS * q->choice.count,
              count = windows < 1 ? 1 : windows < most ? (int)windows : most;
    if (count == q->slot_count)
        return;
    q->slot_count = count;
    for (int i = 0; q->slot && i < SDM_MAX_SLOTS; i++) /* the share of a slot changes */
        if (i >= count)
            sdm_device_close(&q->slot[i].device);
        else if (q->slot[i].device)
            share_memory(q, &q->slot[i]);
}

int sdm_match_queue_slots(const SdmMatchQueue *queue)
{
    return queue->slot_count;
}

/* ---- a window ---- */

bool sdm_match_queue_on_device(const SdmMatchQueue *q)
{
    return q->slot && !q->lost;
}

static int free_slot(const SdmMatchQueue *q)
{
    int i = 0;
    while (i + 1 < q->slot_count && q->slot[i].busy)
        i++;
    return i;
}

bool sdm_match_queue_has_room(SdmContext *ctx, SdmMatchQueue *queue, const SdmMatchSettings *set, int64_t w,
                         int64_t h, int64_t win_w, int64_t win_h)
{
    Slot *const slot =
        sdm_match_queue_on_device(queue) && !set->semi_global ? &queue->slot[free_slot(queue)] : NULL;
    if (!slot)
        return true;
    if (need_device(ctx, queue, slot) != SDM_OK) { /* beginning the window tries again */
        sdm_log(ctx, SDM_LOG_VERBOSE, 5, "%s: another queue cannot be opened now: %s", queue->choice.text,
                sdm_error(ctx));
        return true;
    }
    slot->need = 0;
    share_memory(queue, slot);
    slot->need = sdm_device_match_bytes(slot->device, set, w, h, 2 * win_w * win_h);
    return slot->need <= sdm_device_room(slot->device);
}

static void match(SdmContext *ctx, Slot *slot)
{
    slot->st = sdm_device_match(ctx, slot->device, &slot->call, slot->out);
    keep_error(ctx, slot);
}

static void *run_slot(void *data)
{
    Slot *const slot = data;
    sdm_thread_begin(slot->ctx);
    match(slot->ctx, slot);
    return NULL;
}

bool sdm_match_queue_makes_levels(const SdmMatchQueue *queue, const SdmMatchSettings *set)
{
    return set->semi_global || (sdm_match_queue_on_device(queue) && sdm_device_makes_levels(set));
}

SdmStatus sdm_match_queue_begin(SdmContext *ctx, SdmMatchQueue *queue, const SdmMatchCall *call,
                                SdmFineResult *out, int *number)
{
    const bool here = !sdm_match_queue_on_device(queue) || call->in->settings->semi_global;
    const int i = *number = here ? ON_PROCESSOR : free_slot(queue);
    *out = (SdmFineResult){.ray_error_px = NULL};
    if (i == ON_PROCESSOR)
        return sdm_match_window(ctx, call, out);
    Slot *const slot = &queue->slot[i];
    slot->call = *call;
    slot->out = out;
    slot->st = need_device(ctx, queue, slot);
    keep_error(ctx, slot);
    slot->busy = true;
    if (slot->st != SDM_OK)
        return SDM_OK; /* the end handles it */
    share_memory(queue, slot);
    if (queue->slot_count > 1 && sdm_open_child(ctx, &slot->ctx) == SDM_OK)
        slot->on_thread = pthread_create(&slot->thread, NULL, run_slot, slot) == 0;
    if (!slot->on_thread)
        match(ctx, slot);
    return SDM_OK;
}

/* Close the device in every slot that has it: a driver may lose it for all of them at once. */
static void close_device(SdmContext *ctx, SdmMatchQueue *q, int index)
{
    for (int i = 0; i < q->slot_count; i++)
        if (q->slot[i].index == index) {
            join(ctx, &q->slot[i]);
            sdm_device_close(&q->slot[i].device);
        }
}

/* The device is opened anew and asked once more; memory that another program has taken, `times` more. */
static void ask_again(SdmContext *ctx, SdmMatchQueue *queue, Slot *slot, int times)
{
    struct timespec wait = {.tv_nsec = 50 * 1000 * 1000};
    for (int i = 0;; i++) {
        slot->st = need_device(ctx, queue, slot);
        keep_error(ctx, slot);
        if (slot->st == SDM_OK) { /* no other slot has the device now */
            sdm_device_set_budget(slot->device, slot->memory);
            sdm_device_set_limit(slot->device, 0);
            match(ctx, slot);
        }
        if (slot->st != SDM_ERR_MEMORY || i == times || sdm_check_stop(ctx) != SDM_OK)
            return;
        close_device(ctx, queue, slot->index);
        nanosleep(&wait, NULL);
        const long twice_ms = wait.tv_sec * 2000 + wait.tv_nsec / 500000;
        wait = (struct timespec){.tv_sec = twice_ms / 1000, .tv_nsec = twice_ms % 1000 * 1000000};
    }
}

/* After a window: those that follow may take a little more again, or half of what this one could not have. */
static void limit_windows(SdmContext *ctx, SdmMatchQueue *q, const Slot *slot, bool fits)
{
    const bool smaller = !fits && slot->need > 0;
    if (smaller) {
        q->most = slot->need / 2;
        sdm_log(ctx, SDM_LOG_VERBOSE, 5, "%s: windows take at most %lld MiB of its memory for now",
                q->choice.text, (long long)(q->most >> 20));
    } else if (q->most > 0) {
        q->most += q->most / 8;
    }
    for (int i = 0; i < q->slot_count; i++)
        if (q->slot[i].device && (smaller || &q->slot[i] == slot) && !q->slot[i].on_thread)
            share_memory(q, &q->slot[i]);
}

static SdmStatus end_slot(SdmContext *ctx, SdmMatchQueue *queue, Slot *slot, bool may_cut)
{
    enum { TRIES = 6, NEXT_TRIES = 2, LAST_TRIES = 9 }; /* of memory: 3.2 s; 0.2 s for the parts; 25 s where
                                                         * there are no smaller ones */
    join(ctx, slot);
    if (slot->st != SDM_ERR_DEVICE && slot->st != SDM_ERR_MEMORY) {
        limit_windows(ctx, queue, slot, true);
        return slot->st == SDM_OK ? SDM_OK : sdm_fail(ctx, slot->st, "%s", slot->error);
    }
    close_device(ctx, queue, slot->index);
    if (!queue->lost) {
        sdm_log(ctx, queue->automatic ? SDM_LOG_VERBOSE : SDM_LOG_WARNING, 5,
                "%s; the device is opened anew and asked once more", slot->error);
        ask_again(ctx, queue, slot,
                  !may_cut && !queue->automatic ? LAST_TRIES
                  : queue->most > 0             ? NEXT_TRIES
                                                : TRIES);
    }
    if (slot->st == SDM_OK || slot->st == SDM_ERR_STOPPED)
        return slot->st;
    close_device(ctx, queue, slot->index);
    if (slot->st == SDM_ERR_MEMORY && may_cut && !queue->lost) {
        limit_windows(ctx, queue, slot, false);
        return sdm_fail(ctx, SDM_ERR_MEMORY, "%s", slot->error);
    }
    if (queue->automatic) {
        if (!queue->lost)
            leave_device(ctx, queue, SDM_LOG_WARNING, 5, "%s; the processor goes on", slot->error);
        queue->lost = true;
        return sdm_fail(ctx, SDM_ERR_DEVICE, "%s", slot->error);
    }
    return sdm_fail(ctx, slot->st,
                    "%s; finished blocks are kept: give the same command to go on, or --device cpu",
                    slot->error);
}

SdmStatus sdm_match_queue_end(SdmContext *ctx, SdmMatchQueue *queue, int number, bool may_cut)
{
    if (number == ON_PROCESSOR)
        return SDM_OK;
    Slot *const slot = &queue->slot[number];
    const int around = sdm_stage_enter(ctx, 5);
    const SdmStatus st = end_slot(ctx, queue, slot, may_cut);
    sdm_stage_leave(ctx, around);
    slot->busy = false;
    return st;
}

bool sdm_match_queue_lost(const SdmMatchQueue *queue)
{
    return queue->lost;
}

void sdm_match_queue_abandon(SdmMatchQueue *queue, int number)
{
    if (number == ON_PROCESSOR)
        return;
    Slot *const slot = &queue->slot[number];
    join(NULL, slot);
    slot->busy = false;
}
