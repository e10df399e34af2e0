/* The local Wiener filter of the surface on the processor, tile by tile of its window. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/filters.h"

#include "core/math.h"
#include "core/vector_loops.h"

#include <math.h>
#include <string.h>

enum {
    TILE_W = 512,
    TILE_H = 96,
    REACH = SDM_WIENER_REACH,
    MOST_W = TILE_W + 2 * REACH,
    MOST_H = TILE_H + 2 * REACH
};

void sdm_wiener_ratios(const SdmMatchSettings *set, float ratio[256])
{
    static const double half_pi = 1.57079632679489661923, least = 0.3, most = 0.998;
    for (int i = 0; i < 256; i++) {
        const double score = i < 250 ? i / 250.0 : 1.0;
        const double rho = set->cost == set->kernels->census ? sin(half_pi * score) : score;
        const double kept = rho < least ? least : rho > most ? most : rho;
        ratio[i] = (float)(floor(4096.0 * (1.0 - kept) / kept + 0.5) / 4096.0);
    }
}

/* A part of the window with what its filter needs around; arrays of rows of MOST_W. */
typedef struct Tile {
    int x0, y0, w, h; /* with the margin, inside the window */
    float blurred[SDM_WIENER_BLURS][MOST_H * MOST_W];
    int32_t noise[MOST_H * MOST_W], energy[2][MOST_H * MOST_W]; /* of pixels, then sums over windows */
    int32_t row[MOST_H * MOST_W];
} Tile;

typedef struct Work {
    const SdmKernels *k;
    const SdmSurface *s;
    const int16_t *left;
    const float *ratio;
    float scale; /* 1 / unit of the bands, 1/m */
    float *out;
} Work;

/* in: rows of `pitch`. */
static void blur(const Work *w, const Tile *t, const float *in, size_t pitch, int step, float *out)
{
    for (int y = 0; y < t->h; y++) {
        const float *row[5];
        for (int j = 0; j < 5; j++)
            row[j] = in + (size_t)sdm_clamp(y + (j - 2) * step, 0, t->h - 1) * pitch;
        w->k->blur_row(row, t->w, step, out + (size_t)y * MOST_W);
    }
}

/* Variances and squares of the tile's pixels. */
static void measure(const Work *w, Tile *t)
{
    const SdmWindow *const win = &w->s->win;
    for (int y = 0; y < t->h; y++) {
        const size_t at = (size_t)(t->y0 + y) * (size_t)win->w + (size_t)t->x0, i = (size_t)y * MOST_W;
        SdmNoiseRow row = {
            .valid = w->s->flags + at, .score = w->s->score + at, .ratio = w->ratio, .width = t->w};
        const int first = t->y0 + y - 2;
        for (int j = 0; j < 5; j++)
            row.left[j] =
                w->left + (size_t)sdm_clamp(first + j, 0, win->h - 1) * (size_t)win->w + (size_t)t->x0;
        if (first >= 0 && first + 4 < win->h)
            w->k->noise_row(&row, t->noise + i);
        else
            memset(t->noise + i, 0, (size_t)t->w * sizeof *t->noise);
        for (int b = 0; b < 2; b++)
            w->k->square_row(t->blurred[b] + i, t->blurred[b + 1] + i, w->s->flags + at, t->w, w->scale,
                             t->energy[b] + i);
    }
}

enum { HALF = SDM_WIENER_HALF };

/* Sums of 2 HALF + 1 pixels of a row with HALF more on either side. */
SDM_VECTOR_LOOPS static void sum_across(const int32_t *restrict row, int width, int32_t *restrict out)
{
    for (int x = 0; x < width; x++) {
        int32_t sum = 0;
        for (int k = 0; k <= 2 * HALF; k++)
            sum += row[x + k];
        out[x] = sum;
    }
}

/* The row of the sums of 2 HALF + 1 rows: one enters, one leaves; masks: -1, or 0 for a row that there is
 * not. */
SDM_VECTOR_LOOPS static void sum_down(const int32_t *restrict enters, int32_t in,
                                      const int32_t *restrict leaves, int32_t gone, int width,
                                      int32_t *restrict column)
{
    for (int x = 0; x < width; x++)
        column[x] += (enters[x] & in) - (leaves[x] & gone);
}

/* Sums over windows of (2 HALF + 1)^2 px, in place; what lies outside of the tile counts nothing. */
static void sum_windows(Tile *t, int32_t *v)
{
    int32_t column[MOST_W] = {0}, row[MOST_W + 2 * HALF] = {0};
    for (int y = 0; y < t->h; y++) {
        memcpy(row + HALF, v + (size_t)y * MOST_W, (size_t)t->w * sizeof *v);
        sum_across(row, t->w, t->row + (size_t)y * MOST_W);
    }
    for (int y = 0; y < t->h + HALF; y++) {
        const int32_t *const enters = t->row + (size_t)sdm_clamp(y, 0, t->h - 1) * MOST_W,
                             *const leaves =
                                 t->row + (size_t)sdm_clamp(y - 2 * HALF - 1, 0, t->h - 1) * MOST_W;
        sum_down(enters, y < t->h ? -1 : 0, leaves, y > 2 * HALF ? -1 : 0, t->w, column);
        if (y >= HALF)
            memcpy(v + (size_t)(y - HALF) * MOST_W, column, (size_t)t->w * sizeof *v);
    }
}

/* The inside of a tile: columns x0..x1 - 1 and rows y0..y1 - 1 of the window. */
static void filter_tile(const Work *w, int x0, int y0, int x1, int y1, Tile *t)
{
    const SdmWindow *const win = &w->s->win;
    t->x0 = x0 > REACH ? x0 - REACH : 0;
    t->y0 = y0 > REACH ? y0 - REACH : 0;
    t->w = (x1 + REACH < win->w ? x1 + REACH : win->w) - t->x0;
    t->h = (y1 + REACH < win->h ? y1 + REACH : win->h) - t->y0;
    const float *in = w->s->h_m + (size_t)t->y0 * (size_t)win->w + (size_t)t->x0;
    size_t pitch = (size_t)win->w;
    for (int k = 0; k < SDM_WIENER_BLURS; k++) {
        blur(w, t, in, pitch, 1 << k, t->blurred[k]);
        in = t->blurred[k];
        pitch = MOST_W;
    }
    measure(w, t);
    sum_windows(t, t->noise);
    sum_windows(t, t->energy[0]);
    sum_windows(t, t->energy[1]);
    for (int y = y0; y < y1; y++) {
        const size_t i = (size_t)(y - t->y0) * MOST_W + (size_t)(x0 - t->x0);
        const SdmWienerRow row = {.high = t->blurred[0] + i,
                                  .middle = t->blurred[1] + i,
                                  .low = t->blurred[2] + i,
                                  .noise = t->noise + i,
                                  .energy = {t->energy[0] + i, t->energy[1] + i},
                                  .share = SDM_WIENER_NOISE,
                                  .gain = {SDM_WIENER_DETAIL, 1.0f},
                                  .width = x1 - x0};
        w->k->wiener_row(&row, w->out + (size_t)y * (size_t)win->w + (size_t)x0);
    }
}

SdmStatus sdm_surface_wiener(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, const int16_t *left,
                             const float ratio[256], float metres_per_px)
{
    const int w = s->win.w, h = s->win.h, wide = (w + TILE_W - 1) / TILE_W, high = (h + TILE_H - 1) / TILE_H;
    SDM_OWNED float *out = NULL;
    SDM_OWNED Tile *tiles = NULL;
    PASS(sdm_alloc_raw(ctx, &out, (size_t)w * (size_t)h, sizeof *out, "the filtered surface"));
    PASS(sdm_alloc(ctx, &tiles, (size_t)sdm_threads(ctx), sizeof *tiles, "tiles of the surface"));
    const Work work = {k, s, left, ratio, SDM_WIENER_UNIT / metres_per_px, out};
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 1)
    for (int i = 0; i < wide * high; i++) {
        const int x0 = i % wide * TILE_W, y0 = i / wide * TILE_H;
        filter_tile(&work, x0, y0, x0 + TILE_W < w ? x0 + TILE_W : w, y0 + TILE_H < h ? y0 + TILE_H : h,
                    &tiles[sdm_thread()]);
    }
    sdm_free(&s->h_m);
    s->h_m = out;
    out = NULL;
    return SDM_OK;
}
