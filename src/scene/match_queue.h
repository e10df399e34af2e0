/* The back end that matches windows: the processor, or devices, each with two windows in work at a time.
 * While a device matches one, the images of the next are read and uploaded, and the cells of the last are
 * downloaded. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_MATCH_QUEUE_H
#define SDM_MATCH_QUEUE_H

#include "matching/gridding.h"

typedef struct SdmMatchQueue SdmMatchQueue;

enum { SDM_MAX_SLOTS = 64 };

/* device: as the option --device; without a number, all devices of its kind.  A device that was named and
 * cannot run fails with SDM_ERR_UNSUPPORTED or SDM_ERR_DEVICE; "auto" goes on to the next, in the end to the
 * processor, and logs why.  Where there may be a card, auto is still choosing and opening at the return. */
SdmStatus sdm_match_queue_open(SdmContext *ctx, const char *device, SdmMatchQueue **out);
/* Wait until the device is open; to be called before everything but name, log and close. */
SdmStatus sdm_match_queue_ready(SdmContext *ctx, SdmMatchQueue *queue);
/* The back end as --device takes it: "cpu", "cuda:0"; of several devices "cuda"; "auto" until it is ready. */
const char *sdm_match_queue_name(const SdmMatchQueue *queue);
/* Which devices auto has left so far, and why; "" where there is nothing to tell.  Borrowed. */
const char *sdm_match_queue_why(const SdmMatchQueue *queue);
/* Log the back end, as soon as it is ready. */
void sdm_match_queue_log(SdmContext *ctx, SdmMatchQueue *queue);
/* No window comes any more: devices are closed on a thread beside what follows, and others have their memory
 * meanwhile.  Accepts NULL. */
void sdm_match_queue_finish(SdmMatchQueue *queue);
void sdm_match_queue_close(SdmMatchQueue **queue); /* accepts pointer to NULL */

/* How many windows will come; to be called before the first of them. */
void sdm_match_queue_expect(SdmMatchQueue *queue, int64_t windows);
/* Windows that may be in work at a time: 1 on the processor, else 2 for each device, but no more than
 * come. */
int sdm_match_queue_slots(const SdmMatchQueue *queue);

/* ---- for blocks ---- */

/* Do devices match the windows that come?  Else none is begun again. */
bool sdm_match_queue_on_device(const SdmMatchQueue *queue);

/* Can the slot that comes next take a window whose level 0 computes w x h pixels of an image window of
 * win_w x win_h? */
bool sdm_match_queue_has_room(SdmContext *ctx, SdmMatchQueue *queue, const SdmMatchSettings *set, int64_t w,
                              int64_t h, int64_t win_w, int64_t win_h);

/* Does the back end make the levels of a window's images from the finest one by itself? */
bool sdm_match_queue_makes_levels(const SdmMatchQueue *queue, const SdmMatchSettings *set);

/* Begin sdm_match_window(); a slot is free.  The processor does all of it here.  What the call points to must
 * stay where it is until the end.  call->block: its place is set; a device that grids, too, gives it its
 * arrays at the end.  *out: set at the end unless the block has its arrays; empty after a failure.  *slot:
 * for the end. */
SdmStatus sdm_match_queue_begin(SdmContext *ctx, SdmMatchQueue *queue, const SdmMatchCall *call,
                                SdmFineResult *out, int *slot);
/* Wait for it.  After a failure the device is opened again and tries once more, where memory is missing for
 * some time; the sentence of a second failure says how to go on.
 * may_cut: where other programs have the memory for long, it is SDM_ERR_MEMORY without such a sentence: begin
 * the window again, sdm_match_queue_has_room() wants it in parts by then.
 * Of --device auto it is SDM_ERR_DEVICE, and sdm_match_queue_lost(): begin the window again, the processor
 * matches it and those that follow. */
SdmStatus sdm_match_queue_end(SdmContext *ctx, SdmMatchQueue *queue, int slot, bool may_cut);
bool sdm_match_queue_lost(const SdmMatchQueue *queue);
void sdm_match_queue_abandon(SdmMatchQueue *queue, int slot); /* instead of the end: wait, drop the result */

#endif
