/* Semi-global matching (Hirschmueller 2008): a volume of costs -> labels, by bands of rows and two passes over each. */
// SPDX-License-Identifier: Apache-2.0
#include "optimize/optimize.h"
#include "sgm_kernels.h"

#include <string.h>

enum { BAND = 128 }; /* rows; a band's paths begin SDM_OVERLAP rows before it */

/* Room of a thread. */
typedef struct Room {
    uint16_t *sum;                 /* BAND x width x pitch */
    uint8_t *path[SDM_SGM_PATHS];  /* [1..3]: width x pitch x 2; [0]: 4 pixels */
    uint16_t *least[SDM_SGM_PATHS];
    uint16_t *p2[SDM_SGM_PATHS];
    uint32_t *pick;
} Room;

typedef struct Sgm {
    const SdmOptimizer *how;
    const SdmVolume *volume;
    const SdmLabels *out;
    const SdmSgmKernels *kernels;
} Sgm;

static void *take(char *block, size_t *used, size_t bytes)
{
    void *const at = block ? block + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return at;
}

/* Lay a thread's room into block (NULL: only count); its bytes. */
static size_t room_cut(char *block, int width, int rows, int pitch, Room *r)
{
    const size_t w = (size_t)width, p = (size_t)pitch;
    size_t used = 0;
    r->sum = take(block, &used, (size_t)rows * w * p * sizeof *r->sum);
    for (int k = 0; k < SDM_SGM_PATHS; k++) {
        r->path[k] = take(block, &used, (k ? w : 4) * p * sizeof(uint16_t));
        r->least[k] = take(block, &used, w * sizeof(uint16_t));
        r->p2[k] = take(block, &used, w * sizeof(uint16_t));
    }
    r->pick = take(block, &used, (w + 2 * p) * sizeof *r->pick);
    return used;
}

int64_t sdm_sgm_bytes(int width, int height, int labels, int threads)
{
    Room none;
    return (int64_t)room_cut(NULL, width, height < BAND ? height : BAND, sdm_volume_pitch(labels), &none) * threads;
}

/* Penalty of a larger step between pixel x of row y and the pixel before it on a path: it halves its way from p2 to p1
 * where the left image steps by guide_scale. */
static void penalties(const Sgm *s, int y, int dx, int dy, uint16_t *p2)
{
    const SdmVolume *const v = s->volume;
    const int low = s->how->p1, high = s->how->p2, scale = v->guide_scale;
    const int16_t *const row = v->guide + y * v->guide_stride, *const other = row + dy * v->guide_stride;
    for (int x = 0; x < v->width; x++) {
        const int at = x + dx;
        int step = 0;
        if (scale > 0 && y + dy >= 0 && y + dy < v->height && at >= 0 && at < v->width)
            step = row[x] > other[at] ? row[x] - other[at] : other[at] - row[x];
        p2[x] = (uint16_t)(low + (scale > 0 ? (high - low) * scale / (scale + step) : high - low));
    }
}

/* Row y of a pass; sum = NULL: before the band. */
static void pass_row(const Sgm *s, const Room *room, int y, int step, bool begins, uint16_t *sum)
{
    const SdmVolume *const v = s->volume;
    SdmSgmRow r = {.width = v->width,
                   .labels = v->labels,
                   .pitch = v->pitch,
                   .step = step,
                   .begins = begins,
                   .wide = v->most + s->how->p2 > SDM_COST_MOST,
                   .p1 = s->how->p1,
                   .cost = v->cost + (ptrdiff_t)y * v->width * v->pitch,
                   .sum = sum,
                   .add = step < 0};
    for (int k = 0; k < SDM_SGM_PATHS; k++) {
        r.path[k] = room->path[k];
        r.least[k] = room->least[k];
        if ((k % 2 == 1 && s->how->paths == 4) || (k == 0 && !sum))
            continue;
        penalties(s, y, k < 2 ? -step : k == 2 ? 0 : step, k == 0 ? 0 : -step, room->p2[k]);
        r.p2[k] = room->p2[k];
    }
    s->kernels->row(&r);
}

static void pick(const Sgm *s, const Room *room, int y, const uint16_t *sum)
{
    const SdmVolume *const v = s->volume;
    const ptrdiff_t at = (ptrdiff_t)y * v->width;
    const SdmSgmPick p = {.width = v->width,
                          .labels = v->labels,
                          .pitch = v->pitch,
                          .first = v->first,
                          .sum = sum,
                          .left = s->out->left + at,
                          .right = s->out->right ? s->out->right + at : NULL,
                          .offset = s->out->offset ? s->out->offset + at : NULL,
                          .room = room->pick};
    s->kernels->pick(&p);
}

/* Rows y0..y1 - 1. */
static void band(const Sgm *s, const Room *room, int y0, int y1)
{
    const SdmVolume *const v = s->volume;
    const ptrdiff_t row = (ptrdiff_t)v->width * v->pitch;
    const int top = y0 > SDM_OVERLAP ? y0 - SDM_OVERLAP : 0;
    const int bottom = y1 + SDM_OVERLAP < v->height ? y1 + SDM_OVERLAP : v->height;
    for (int y = top; y < y1; y++)
        pass_row(s, room, y, 1, y == top, y >= y0 ? room->sum + (y - y0) * row : NULL);
    for (int y = bottom - 1; y >= y0; y--) {
        uint16_t *const sum = y < y1 ? room->sum + (y - y0) * row : NULL;
        pass_row(s, room, y, -1, y == bottom - 1, sum);
        if (sum)
            pick(s, room, y, sum);
    }
}

SdmStatus sdm_sgm(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out)
{
    SdmStatus st = SDM_OK;
    const Sgm s = {how, v, out, sdm_sgm_kernels_at(how->cpu_level)};
    const int threads = sdm_threads(ctx), rows = v->height < BAND ? v->height : BAND;
    Room none;
    const size_t bytes = room_cut(NULL, v->width, rows, v->pitch, &none);
    char *block = NULL;
    if (!s.kernels)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "--cpu-level %s: this processor does not have it; it has %s",
                        how->cpu_level, sdm_kernels_name("auto"));
    TRY(sdm_alloc_raw(ctx, &block, bytes, (size_t)threads, "rows in flight of semi-global matching"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int y0 = 0; y0 < v->height; y0 += BAND) {
        Room room;
        room_cut(block + bytes * (size_t)sdm_thread(), v->width, rows, v->pitch, &room);
        if (sdm_check_stop(ctx) == SDM_OK)
            band(&s, &room, y0, y0 + BAND < v->height ? y0 + BAND : v->height);
    }
    TRY(sdm_check_stop(ctx));
done:
    sdm_free(&block);
    return st;
}
