/* The back end that matches windows: the processor, or devices, each with two windows in work at a time.
 * While a device matches one, the images of the next are read and uploaded, and the cells of the last are
 * downloaded. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/gridding.h"

typedef struct SdmDevicePool SdmDevicePool;

enum { SDM_MAX_SLOTS = 64 };

/* device: as the option --device; without a number, all devices of its kind.  A device that was named and
 * cannot run fails with SDM_ERR_UNSUPPORTED or SDM_ERR_DEVICE; "auto" takes CUDA devices whose self test is
 * exact, else the processor, and logs why.  Where there may be a card, auto is still opening on return. */
SdmStatus sdm_device_pool_open(SdmContext *ctx, const char *device, SdmDevicePool **out);
/* Wait until the device is open; to be called before everything but name, log and close. */
SdmStatus sdm_device_pool_ready(SdmContext *ctx, SdmDevicePool *pool);
/* The back end as --device takes it: "cpu", "cuda:0"; of several devices "cuda"; "auto" until it is ready. */
const char *sdm_device_pool_name(const SdmDevicePool *pool);
/* Why a device was left or none was taken; "" where no device was expected.  Borrowed. */
const char *sdm_device_pool_why(const SdmDevicePool *pool);
/* Log the back end, as soon as it is ready. */
void sdm_device_pool_log(SdmContext *ctx, SdmDevicePool *pool);
/* After the last window: close the devices on a thread in the background, which frees their memory for other
 * programs.  Accepts NULL. */
void sdm_device_pool_finish(SdmDevicePool *pool);
void sdm_device_pool_close(SdmDevicePool **pool); /* accepts pointer to NULL */

/* How many windows will come; to be called before the first of them. */
void sdm_device_pool_expect(SdmDevicePool *pool, int64_t windows);
/* Windows that may be in work at a time: 1 on the processor, else 2 for each device, but no more than
 * come. */
int sdm_device_pool_slots(const SdmDevicePool *pool);

/* ---- for blocks ---- */

/* True if devices match the next windows; on the processor no window is begun again. */
bool sdm_device_pool_on_device(const SdmDevicePool *pool);

/* Can the slot that comes next take a window whose level 0 computes w x h pixels of an image window of
 * win_w x win_h? */
bool sdm_device_pool_has_room(SdmContext *ctx, SdmDevicePool *pool, const SdmMatchSettings *set, int64_t w,
                              int64_t h, int64_t win_w, int64_t win_h);

/* Does the back end make the levels of a window's images from the finest one by itself? */
bool sdm_device_pool_makes_levels(const SdmDevicePool *pool, const SdmMatchSettings *set);

/* Begin sdm_match_window(); a slot is free.  The processor does all of it here.  Data that the call
 * points to must stay where they are until the end.  call->block: its place is set; a device that grids,
 * too, gives it its arrays at the end.  *out: set at the end unless the block has its arrays; empty
 * after a failure.  *slot: for the end. */
SdmStatus sdm_device_pool_begin(SdmContext *ctx, SdmDevicePool *pool, const SdmMatchCall *call,
                                SdmFineResult *out, int *slot);
/* Wait for it.  After a failure the device is opened again and tries once more.  SDM_ERR_DEVICE: it failed
 * again, and a warning said so: begin the window again, the processor matches it and those that follow. */
SdmStatus sdm_device_pool_end(SdmContext *ctx, SdmDevicePool *pool, int slot);
void sdm_device_pool_abandon(SdmDevicePool *pool, int slot); /* instead of the end: wait, drop the result */
