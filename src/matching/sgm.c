/* Semi-global matching (Hirschmueller 2008): a volume of costs -> labels, by bands of rows and two passes
 * over each. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/label_subpixel.h"
#include "matching/sgm.h"
#include "instruction_set.h"

enum { BAND = SDM_SGM_BAND };

/* Scratch of a thread. */
typedef struct Room {
    uint16_t *sum;                /* BAND x width x pitch */
    uint8_t *path[SDM_SGM_PATHS]; /* [1..3]: width x pitch x 2; [0]: 4 pixels */
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

/* Lay the scratch of a thread into block (NULL: only count); returns its bytes. */
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

static int bands_of(int rows)
{
    return (rows + BAND - 1) / BAND;
}

int64_t sdm_sgm_bytes(int width, int height, int labels)
{
    Room none;
    const size_t room = room_cut(NULL, width, height < BAND ? height : BAND, sdm_volume_pitch(labels), &none);
    return (int64_t)room * bands_of(height);
}

/* Penalties of a larger step between the pixels of row y and those before them on a path: p2 without a step
 * of the left image, halfway to p1 at guide_scale. */
static void penalties(const Sgm *s, int y, int dx, int dy, uint16_t *p2)
{
    const SdmVolume *const v = s->volume;
    const bool guided = v->guide_scale > 0 && y + dy >= 0 && y + dy < v->height;
    const int from = guided ? dx < 0 : 0, to = guided ? v->width - (dx > 0) : 0;
    for (int x = 0; x < from; x++)
        p2[x] = (uint16_t)s->how->p2;
    if (to > from) {
        const int16_t *const row = v->guide + y * v->guide_stride;
        s->kernels->penalties(&(SdmSgmPenalties){.count = to - from,
                                                 .p1 = s->how->p1,
                                                 .p2 = s->how->p2,
                                                 .scale = v->guide_scale,
                                                 .here = row + from,
                                                 .before = row + dy * v->guide_stride + dx + from,
                                                 .out = p2 + from});
    }
    for (int x = to > from ? to : from; x < v->width; x++)
        p2[x] = (uint16_t)s->how->p2;
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
                   .wide = v->most + s->how->p2 > SDM_COST_MAX,
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
        if (!sum)
            continue;
        pick(s, room, y, sum);
        if (s->out->near)
            sdm_label_costs(v, y, s->out); /* the row's are in cache */
    }
}

SdmStatus sdm_sgm(SdmContext *ctx, const SdmOptimizer *how, const SdmVolume *v, const SdmLabels *out)
{
    const SdmCpuLevel *const level = sdm_cpu_level(how->cpu_level);
    Sgm s = {.how = how, .volume = v, .out = out, .kernels = level ? level->sgm : NULL};
    const int bands = bands_of(v->end - v->begin),
              threads = sdm_threads(ctx) < bands ? sdm_threads(ctx) : bands;
    const int rows = v->height < BAND ? v->height : BAND;
    Room none;
    const size_t bytes = room_cut(NULL, v->width, rows, v->pitch, &none);
    SDM_OWNED char *block = NULL;
    if (!s.kernels)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "--cpu-level %s: this processor does not have it; it has %s", how->cpu_level,
                        sdm_kernels_name("auto"));
    PASS(sdm_alloc_raw(ctx, &block, bytes, (size_t)threads, "rows in work of semi-global matching"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int y0 = v->begin; y0 < v->end; y0 += BAND) {
        Room room;
        room_cut(block + bytes * (size_t)sdm_thread(), v->width, rows, v->pitch, &room);
        if (sdm_check_stop(ctx) == SDM_OK)
            band(&s, &room, y0, y0 + BAND < v->end ? y0 + BAND : v->end);
    }
    return sdm_check_stop(ctx);
}
