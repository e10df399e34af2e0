/* Bands of disparities from the threads that match -> the thread that writes them, in order.  A band begins
 * only if it is among the next `slots` to be written, so that the one that all wait for always has room. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/row_queue.h"

#include <pthread.h>

struct SdmRowQueue {
    SdmContext *ctx, *io; /* io: of the thread that writes */
    const SdmRowWriter *writer;
    int width, height;
    pthread_t thread;
    bool running; /* the thread */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* under the mutex from here on */
    float *room; /* slots x rows x width: band i lies in slot i modulo `slots` */
    bool *whole; /* slots */
    int rows, slots, written; /* rows of a band; rows written so far */
    bool over;   /* no band begins or is written any more */
    SdmStatus st;
};

static float *slot_of(const SdmRowQueue *q, int y)
{
    return q->room + (ptrdiff_t)(y / q->rows % q->slots) * q->rows * q->width;
}

static void end_work(SdmRowQueue *q)
{
    pthread_mutex_lock(&q->mutex);
    q->over = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->mutex);
}

/* Wait for the next band and write it; false: there is none any more. */
static bool write_next(SdmRowQueue *q)
{
    /* only this thread sets it */
    const int y0 = q->written, y1 = q->height - y0 < q->rows ? q->height : y0 + q->rows;
    bool *const whole = &q->whole[y0 / q->rows % q->slots];
    pthread_mutex_lock(&q->mutex);
    while (!q->over && !*whole)
        pthread_cond_wait(&q->changed, &q->mutex);
    const bool over = q->over;
    pthread_mutex_unlock(&q->mutex);
    if (over)
        return false;
    q->st = q->writer->write(q->io, q->writer->user, y0, y1, slot_of(q, y0));
    if (q->st != SDM_OK)
        return false;
    pthread_mutex_lock(&q->mutex);
    *whole = false;
    q->written = y1;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->mutex);
    return true;
}

static void *write_bands(void *user)
{
    SdmRowQueue *const q = user;
    sdm_thread_begin(q->io);
    q->st = q->writer->open(q->io, q->writer->user);
    while (q->st == SDM_OK && q->written < q->height && write_next(q))
        ;
    const bool good = q->st == SDM_OK && q->written == q->height;
    const SdmStatus closed = q->writer->close(q->io, q->writer->user, good);
    if (q->st == SDM_OK)
        q->st = closed;
    end_work(q);
    return NULL;
}

static SdmStatus open_bands(void *user, int rows, int at_once)
{
    SdmStatus st = SDM_OK;
    SdmRowQueue *const q = user;
    const int bands = (q->height + rows - 1) / rows;
    q->rows = rows;
    q->slots = at_once + 2 < bands ? at_once + 2 : bands;
    TRY(sdm_alloc(q->ctx, &q->whole, (size_t)q->slots, sizeof *q->whole, "bands of disparities"));
    TRY(sdm_alloc_raw(q->ctx, &q->room, (size_t)q->slots * (size_t)rows * (size_t)q->width, sizeof *q->room,
                      "bands of disparities"));
    if (pthread_create(&q->thread, NULL, write_bands, q) != 0)
        return sdm_fail(q->ctx, SDM_ERR_MEMORY, "no thread could be started to write disparities");
    q->running = true;
done:
    return st;
}

static float *begin_band(void *user, int y0, int y1)
{
    SdmRowQueue *const q = user;
    (void)y1;
    if (sdm_check_stop(q->ctx) != SDM_OK)
        end_work(q);
    pthread_mutex_lock(&q->mutex);
    while (!q->over && y0 - q->written >= q->slots * q->rows)
        pthread_cond_wait(&q->changed, &q->mutex);
    float *const room = q->over ? NULL : slot_of(q, y0);
    pthread_mutex_unlock(&q->mutex);
    return room;
}

static void end_band(void *user, int y0, int y1)
{
    SdmRowQueue *const q = user;
    (void)y1;
    pthread_mutex_lock(&q->mutex);
    q->whole[y0 / q->rows % q->slots] = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->mutex);
}

SdmPairSink sdm_row_queue_sink(SdmRowQueue *queue)
{
    return (SdmPairSink){open_bands, begin_band, end_band, queue};
}

SdmStatus sdm_row_queue_open(SdmContext *ctx, int width, int height, const SdmRowWriter *writer,
                             SdmRowQueue **out)
{
    SdmStatus st = SDM_OK;
    SdmRowQueue *q = NULL;
    TRY(sdm_alloc(ctx, out, 1, sizeof *q, "a queue of disparities"));
    q = *out;
    q->ctx = ctx;
    q->writer = writer;
    q->width = width;
    q->height = height;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->changed, NULL);
    TRY(sdm_open_child(ctx, &q->io));
done:
    return st;
}

SdmStatus sdm_row_queue_close(SdmRowQueue **queue, SdmStatus matched)
{
    SdmRowQueue *const q = *queue;
    SdmStatus st = matched;
    if (!q)
        return st;
    if (matched != SDM_OK)
        end_work(q);
    if (q->running)
        pthread_join(q->thread, NULL);
    if (q->io)
        sdm_forward_log(q->ctx, q->io);
    if (st == SDM_OK && q->st != SDM_OK)
        st = sdm_fail(q->ctx, q->st, "%s", sdm_error(q->io));
    sdm_close(&q->io);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->mutex);
    sdm_free(&q->whole);
    sdm_free(&q->room);
    sdm_free(queue);
    return st;
}
