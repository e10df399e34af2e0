/* Memory of the host -> page-locked pieces -> device, and back; see staging.h. */
// SPDX-License-Identifier: Apache-2.0
#include "staging.h"
#include "device_inside.h"

#include <string.h>

enum { MOST_THREADS = 8, SHARE = 256 << 10 /* bytes of a thread, at least */, LEAST_PIECE = 512 << 10 };

bool sdm_staging_takes(SdmContext *ctx, SdmDevice *d, int64_t bytes)
{
    SdmStaging *const s = &d->stage;
    if (!s->wanted || bytes < SDM_STAGE_LEAST)
        return false;
    if (!s->data && d->back_end->lock(d, (int64_t)SDM_STAGE_SLOTS * SDM_STAGE_BYTES, s) != SDM_OK) {
        s->wanted = false;
        s->data = NULL;
        sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s: no page-locked memory is available: copies take longer",
                d->info.name);
    }
    return s->wanted;
}

static void copy_piece(const SdmContext *ctx, char *to, const char *from, int64_t bytes)
{
    const int64_t shares = bytes / SHARE, most = ctx ? sdm_threads(ctx) : 1;
    const int64_t few = shares < most ? shares : most, threads = few < 1              ? 1
                                                                 : few < MOST_THREADS ? few
                                                                                      : MOST_THREADS;
    const int64_t each = (bytes + threads - 1) / threads;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
    for (int64_t i = 0; i < threads; i++)
        if (i * each < bytes)
            memcpy(to + i * each, from + i * each,
                   (size_t)(bytes - i * each < each ? bytes - i * each : each));
}

/* Pieces of a copy: several of them, so that the ends of the copies overlap. */
static int64_t piece_of(int64_t bytes)
{
    const int64_t eighth = (bytes / 8 + LEAST_PIECE - 1) / LEAST_PIECE * LEAST_PIECE;
    return eighth < LEAST_PIECE ? LEAST_PIECE : eighth < SDM_STAGE_BYTES ? eighth : SDM_STAGE_BYTES;
}

/* The copy that uses a slot is over. */
static SdmStatus settle(SdmContext *ctx, SdmDevice *d, int slot)
{
    SdmStaging *const s = &d->stage;
    if (!s->slot[slot].busy)
        return SDM_OK;
    s->slot[slot].busy = false;
    return d->back_end->await(ctx, d, s->slot[slot].mark);
}

/* The slot whose turn it is, free to be used. */
static SdmStatus take_slot(SdmContext *ctx, SdmDevice *d, int *slot)
{
    *slot = d->stage.next;
    d->stage.next = (*slot + 1) % SDM_STAGE_SLOTS;
    return settle(ctx, d, *slot);
}

static char *data_of(const SdmDevice *d, int slot)
{
    return d->stage.data + (int64_t)slot * SDM_STAGE_BYTES;
}

/* A copy from or to the slot was queued. */
static SdmStatus mark_slot(SdmContext *ctx, SdmDevice *d, int queue, int slot)
{
    const SdmStatus st = d->back_end->mark(ctx, d, queue, &d->stage.slot[slot].mark);
    d->stage.slot[slot].busy = st == SDM_OK;
    if (st != SDM_OK) /* nobody else would wait for it */
        (void)d->back_end->finish(NULL, d, queue);
    return st;
}

SdmStatus sdm_staging_upload(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes,
                           int queue, bool wait)
{
    SdmStatus st = SDM_OK;
    SdmDevice *const d = to->device;
    const int64_t piece = piece_of(bytes);
    int slot = 0;
    for (int64_t at = 0; at < bytes; at += piece) {
        const int64_t n = bytes - at < piece ? bytes - at : piece;
        TRY(take_slot(ctx, d, &slot));
        copy_piece(ctx, data_of(d, slot), (const char *)from + at, n);
        TRY(d->back_end->upload(ctx, to, offset + at, data_of(d, slot), n, queue, false));
        TRY(mark_slot(ctx, d, queue, slot));
    }
    if (wait)
        TRY(settle(ctx, d, slot)); /* the last: copies of a queue end in their order */
done:
    return st;
}

SdmStatus sdm_staging_download(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to,
                               int64_t bytes, int queue)
{
    SdmStatus st = SDM_OK;
    SdmDevice *const d = from->device;
    const int64_t piece = piece_of(bytes);
    int slots[SDM_STAGE_SLOTS]; /* of the pieces on their way, round robin */
    int64_t asked = 0;
    for (int64_t got = 0; got < bytes; got += piece) {
        for (; asked < bytes && asked < got + piece * SDM_STAGE_SLOTS; asked += piece) {
            int *const slot = &slots[asked / piece % SDM_STAGE_SLOTS];
            TRY(take_slot(ctx, d, slot));
            TRY(d->back_end->download(ctx, from, offset + asked, data_of(d, *slot),
                                      bytes - asked < piece ? bytes - asked : piece, queue, false));
            TRY(mark_slot(ctx, d, queue, *slot));
        }
        const int slot = slots[got / piece % SDM_STAGE_SLOTS];
        TRY(settle(ctx, d, slot));
        copy_piece(ctx, (char *)to + got, data_of(d, slot), bytes - got < piece ? bytes - got : piece);
    }
done:
    return st;
}

void sdm_staging_close(SdmDevice *d)
{
    SdmStaging *const s = &d->stage;
    for (int i = 0; i < SDM_STAGE_SLOTS; i++)
        if (s->slot[i].mark)
            d->back_end->forget(d, s->slot[i].mark);
    if (s->data)
        d->back_end->unlock(d, s);
    *s = (SdmStaging){.wanted = false};
}
