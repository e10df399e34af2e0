/* Disparities of an optimizer where neither image shows anything: no smoothness makes a match of them. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_parts.h"
#include "rectified/pair_volume.h"

#include <math.h>
#include <string.h>

enum { SIDE_LEAST = 9, STRIP = 128 /* rows that a thread takes */ };

/* Scratch of a thread. */
typedef struct Room {
    SdmPairColumns columns;
    int16_t *row[2];
    uint8_t *flat[2]; /* of a row of either image */
} Room;

typedef struct Texture {
    const SdmPairImage *image[2];
    const SdmPairKernels *kernels;
    int side, before;
    double least; /* variance at and below which a window is flat */
    float *disparity;
} Texture;

static size_t room_cut(const Texture *t, char *block, Room *r)
{
    const size_t width = (size_t)t->image[0]->width, count = width + (size_t)t->side;
    int32_t *const sums = (int32_t *)(void *)block;
    int16_t *const rows = (int16_t *)(void *)(block + 3 * count * sizeof *sums);
    uint8_t *const flat = (uint8_t *)block + 3 * count * sizeof *sums + 2 * count * sizeof *rows;
    if (block)
        *r = (Room){.columns = {sums, sums + count, sums + 2 * count},
                    .row = {rows, rows + count},
                    .flat = {flat, flat + width}};
    return (3 * count * sizeof *sums + 2 * count * sizeof *rows + 2 * width + 63) / 64 * 64;
}

/* Row y of the columns of an image: its window's last row enters, the one before its first leaves. */
static void step(const Texture *t, const Room *r, int side, int y, bool full)
{
    const SdmPairImage *const im = t->image[side];
    const int count = im->width + t->side - 1, enters = y - t->before + t->side - 1;
    t->kernels->columns(&r->columns, sdm_pair_samples(im, enters, -t->before, count, r->row[0]),
                        full ? sdm_pair_samples(im, enters - t->side, -t->before, count, r->row[1]) : NULL,
                        count, im->eight_bit ? 128 : 0);
}

/* flat[x] = 1: variance n S(vv) - S(v)^2 of the n samples of the window about x is at most n^2 sigma^2. */
static void find_flat(const Texture *t, const SdmPairColumns *c, int width, uint8_t *flat)
{
    int64_t sum = 0, squares = 0, n = 0;
    for (int x = 1 - t->side; x < width; x++) {
        const int last = x + t->side - 1;
        sum += c->sum[last];
        squares += c->squares[last];
        n += t->side - c->holes[last];
        if (x < 0)
            continue;
        flat[x] = (double)(n * squares - sum * sum) <= t->least * (double)(n * n);
        sum -= c->sum[x];
        squares -= c->squares[x];
        n -= t->side - c->holes[x];
    }
}

static void reject_row(const Texture *t, const Room *r, float *disparity)
{
    const int width = t->image[0]->width;
    for (int x = 0; x < width; x++) {
        if (isnan(disparity[x]))
            continue;
        const int meets = (int)lrintf((float)x - disparity[x]);
        const int xr = meets < 0 ? 0 : meets >= width ? width - 1 : meets;
        disparity[x] = r->flat[0][x] || r->flat[1][xr] ? NAN : disparity[x];
    }
}

static void strip(const Texture *t, char *block[2], int y0, int y1)
{
    const int width = t->image[0]->width, count = width + t->side - 1;
    Room r[2];
    for (int side = 0; side < 2; side++) {
        room_cut(t, block[side], &r[side]);
        memset(r[side].columns.sum, 0, 3 * (size_t)(count + 1) * sizeof(int32_t));
        for (int y = y0 - t->side + 1; y < y0; y++)
            step(t, &r[side], side, y, false);
    }
    for (int y = y0; y < y1; y++) {
        for (int side = 0; side < 2; side++) {
            step(t, &r[side], side, y, y > y0);
            find_flat(t, &r[side].columns, width, r[0].flat[side]);
        }
        reject_row(t, &r[0], t->disparity + (ptrdiff_t)y * width);
    }
}

SdmStatus sdm_pair_reject_flat(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                               const SdmPairSettings *set, float *disparity)
{
    SdmStatus st = SDM_OK;
    const bool defined = strcmp(set->cpu_level, "reference") == 0;
    const int side = set->window < SIDE_LEAST ? SIDE_LEAST : set->window;
    const Texture t = {.image = {left, right},
                       .kernels = sdm_pair_kernels_at(defined ? "c" : set->cpu_level, SDM_PAIR_LANES_MAX),
                       .side = side,
                       .before = side / 2,
                       .least = (double)set->min_sigma * (double)set->min_sigma,
                       .disparity = disparity};
    const int threads = sdm_threads(ctx);
    const size_t bytes = room_cut(&t, NULL, NULL);
    char *block = NULL;
    if (!(set->min_sigma > 0.0f))
        return SDM_OK;
    TRY(sdm_alloc_raw(ctx, &block, 2 * bytes, (size_t)threads, "texture of rows"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int y0 = 0; y0 < left->height; y0 += STRIP) {
        char *const mine = block + 2 * bytes * (size_t)sdm_thread();
        char *both[2] = {mine, mine + bytes};
        strip(&t, both, y0, y0 + STRIP < left->height ? y0 + STRIP : left->height);
    }
done:
    sdm_free(&block);
    return st;
}
