/* Stage 6: coarse surface -> pieces that are connected without discontinuities -> terrain, and the nearest
 * terrain of every pixel. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/terrain_mask.h"
#include "core/disjoint_sets.h"

#include <math.h>
#include <string.h>

enum { FAR = 65535, BAND = 64 /* rows */ };

void sdm_terrain_mask_free(SdmTerrainMask *g)
{
    sdm_free(&g->h_m);
    sdm_free(&g->distance_px);
}

/* Joins the piece of pixel i to that of the pixel above it, which is most often the same. */
static void join_above(const SdmSurface *s, float limit, int32_t *parent, int32_t i)
{
    const int32_t w = s->win.w;
    if ((s->flags[i] & s->flags[i - w] & SDM_QA_VALID) && parent[i] != parent[i - w] &&
        fabsf(s->h_m[i] - s->h_m[i - w]) < limit)
        sdm_sets_join(parent, i, i - w);
}

/* In raster order each pixel of the rows takes the piece of its left neighbour, or begins one. */
static void connect_rows(const SdmSurface *s, float limit, int first, int end, int32_t *parent)
{
    const int w = s->win.w;
    for (int y = first; y < end; y++)
        for (int x = 0; x < w; x++) {
            const int32_t i = y * w + x;
            parent[i] = i;
            if (!(s->flags[i] & SDM_QA_VALID))
                continue;
            if (x > 0 && (s->flags[i - 1] & SDM_QA_VALID) && fabsf(s->h_m[i] - s->h_m[i - 1]) < limit)
                parent[i] = parent[i - 1];
            if (y > first)
                join_above(s, limit, parent, i);
        }
}

/* Bands of rows side by side, then what meets at their borders. */
static void connect_pieces(const SdmSurface *s, float limit, int threads, int32_t *parent)
{
    const int w = s->win.w, h = s->win.h, bands = (h + BAND - 1) / BAND;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int b = 0; b < bands; b++)
        connect_rows(s, limit, b * BAND, b + 1 < bands ? (b + 1) * BAND : h, parent);
    for (int b = 1; b < bands; b++)
        for (int x = 0; x < w; x++)
            join_above(s, limit, parent, b * BAND * w + x);
}

/* Parents -> numbers 0.. of the pieces, in the order of their first pixels, which are their roots; -1 for
 * invalid pixels. */
static int32_t number_pieces(const SdmSurface *s, int32_t *parent)
{
    const int32_t n = s->win.w * s->win.h;
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) /* a parent comes before its children, so that it has its number
                                     * already */
        parent[i] = !(s->flags[i] & SDM_QA_VALID) ? -1 : parent[i] == i ? count++ : parent[parent[i]];
    return count;
}

/* A neighbour's distance and nearest height, if they are better by way of it. */
static inline void take_nearer(int way, float height, uint16_t *distance, float *near)
{
    if (way < *distance) {
        *distance = (uint16_t)way;
        *near = height;
    }
}

/* Sums over the pieces. */
typedef struct Piece {
    int32_t size, edge, off; /* pixels; those near terrain; of them, beyond a discontinuity */
    int32_t nearest;         /* least distance to terrain, half px */
} Piece;

/* The surface in pieces. */
typedef struct Pieces {
    int32_t *of; /* of each pixel: its piece */
    int32_t *other, others; /* pixels outside the largest piece, in raster order */
    int32_t count, main_size; /* pieces; size from which one is main terrain */
    Piece *piece;
    uint8_t *terrain; /* of each piece: its class */
} Pieces;

/* One sweep, over the pixels outside the largest piece: the least distance by way of the pixel before and of
 * the three in the row before. */
static void sweep(const SdmWindow *win, const Pieces *p, int step, uint16_t *distance, float *near)
{
    const int32_t w = win->w, first = step > 0 ? 0 : w - 1;
    for (int32_t k = 0; k < p->others; k++) {
        const int32_t i = p->other[step > 0 ? k : p->others - 1 - k], x = i % w, row = i - step * w;
        if (distance[i] == 0)
            continue;
        if (x != first)
            take_nearer(distance[i - step] + 2, near[i - step], &distance[i], &near[i]);
        if (row < 0 || row >= w * win->h)
            continue;
        take_nearer(distance[row] + 2, near[row], &distance[i], &near[i]);
        if (x != first)
            take_nearer(distance[row - step] + 3, near[row - step], &distance[i], &near[i]);
        if (x != w - 1 - first)
            take_nearer(distance[row + step] + 3, near[row + step], &distance[i], &near[i]);
    }
}

/* Sizes of the pieces of n pixels; the largest piece, and the pixels outside it. */
static int32_t measure_pieces(int32_t n, Pieces *p)
{
    int32_t largest = 0;
    for (int32_t i = 0, run = 1; i < n; i += run, run = 1) {
        while (i + run < n && p->of[i + run] == p->of[i])
            run++;
        if (p->of[i] >= 0)
            p->piece[p->of[i]].size += run;
    }
    for (int32_t i = 0; i < p->count; i++)
        largest = p->piece[i].size > p->piece[largest].size ? i : largest;
    for (int32_t i = 0; i < n; i++) {
        p->other[p->others] = i;
        p->others += p->of[i] != largest;
    }
    return largest;
}

/* Class of a piece; only pieces of main terrain make their neighbours terrain. */
enum { NOT_TERRAIN, TERRAIN, MAIN_TERRAIN, MAIN_SHARE = 100 /* of the largest piece's size */ };

/* Nearest terrain of every pixel, of pieces of class `least` or above, from the distances 0 and the heights
 * of the largest piece: two sweeps of chamfer distances (1 and 1.5 px, kept in half pixels). */
static void spread_nearest(const SdmSurface *s, const Pieces *p, int least, SdmTerrainMask *g)
{
    for (int32_t k = 0; k < p->others; k++) {
        const int32_t i = p->other[k];
        g->distance_px[i] = p->of[i] >= 0 && p->terrain[p->of[i]] >= least ? 0 : FAR;
        g->h_m[i] = s->h_m[i];
    }
    sweep(&s->win, p, 1, g->distance_px, g->h_m);
    sweep(&s->win, p, -1, g->distance_px, g->h_m);
}

/* Pieces without a discontinuity to the main terrain become terrain; true when a large one did.  Small ones
 * do not make their neighbours terrain: a few false matches between mountain and cloud would lead up to the
 * cloud. */
static bool accept_pieces(const SdmSurface *s, float pixel_m, const SdmTerrainMask *g, Pieces *all)
{
    const int32_t *const of = all->of;
    Piece *const piece = all->piece;
    uint8_t *const terrain = all->terrain;
    bool any = false;
    for (int32_t i = 0; i < all->count; i++) {
        piece[i].edge = piece[i].off = 0;
        piece[i].nearest = FAR;
    }
    for (int32_t k = 0; k < all->others; k++) {
        const int32_t i = all->other[k];
        if (of[i] >= 0 && !terrain[of[i]] && g->distance_px[i] < piece[of[i]].nearest)
            piece[of[i]].nearest = g->distance_px[i];
    }
    for (int32_t k = 0; k < all->others; k++) { /* pixels that face the terrain */
        const int32_t i = all->other[k];
        if (of[i] < 0 || terrain[of[i]])
            continue;
        Piece *const p = &piece[of[i]];
        if (g->distance_px[i] > 2 * p->nearest + 8)
            continue;
        p->edge++;
        p->off += fabsf(s->h_m[i] - g->h_m[i]) > sdm_terrain_limit(0.5f * (float)g->distance_px[i], pixel_m);
    }
    for (int32_t i = 0; i < all->count; i++)
        if (!terrain[i] && piece[i].size >= 12 && piece[i].off * 2 <= piece[i].edge) {
            terrain[i] = piece[i].size >= all->main_size ? MAIN_TERRAIN : TERRAIN;
            any |= terrain[i] == MAIN_TERRAIN;
        }
    return any;
}

SdmStatus sdm_terrain_mask_find(SdmContext *ctx, SdmSurface *s, float pixel_m, SdmTerrainMask *out)
{
    SdmStatus st = SDM_OK;
    const int32_t n = s->win.w * s->win.h;
    const int threads = sdm_threads(ctx);
    int32_t largest;
    Pieces p = {.of = NULL};
    *out = (SdmTerrainMask){.win = s->win};
    TRY(sdm_alloc(ctx, &p.of, (size_t)n, sizeof *p.of, "pieces of the surface"));
    TRY(sdm_alloc_raw(ctx, &p.other, (size_t)n, sizeof *p.other, "pieces of the surface"));
    connect_pieces(s, SDM_TERRAIN_NOISE_M + SDM_TERRAIN_SLOPE * pixel_m, threads, p.of);
    p.count = number_pieces(s, p.of);
    TRY(sdm_alloc(ctx, &out->h_m, (size_t)n, sizeof(float), "the terrain"));
    TRY(sdm_alloc(ctx, &out->distance_px, (size_t)n, sizeof(uint16_t), "the terrain"));
    TRY(sdm_alloc(ctx, &p.piece, (size_t)p.count + 1, sizeof *p.piece, "pieces of the surface"));
    TRY(sdm_alloc(ctx, &p.terrain, (size_t)p.count + 1, 1, "pieces of the surface"));
    largest = measure_pieces(n, &p);
    memcpy(out->h_m, s->h_m, (size_t)n * sizeof *out->h_m); /* the distances are 0 */
    p.terrain[largest] = MAIN_TERRAIN;
    p.main_size = p.piece[largest].size / MAIN_SHARE;
    for (int round = 0; round < 4; round++) { /* accepted pieces may connect others */
        spread_nearest(s, &p, MAIN_TERRAIN, out);
        if (!accept_pieces(s, pixel_m, out, &p))
            break;
    }
    spread_nearest(s, &p, TERRAIN, out);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int32_t i = 0; i < n; i++) {
        if ((s->flags[i] & SDM_QA_VALID) && !p.terrain[p.of[i]])
            s->flags[i] = (uint16_t)((s->flags[i] & ~SDM_QA_VALID) | SDM_QA_ISOLATED);
        out->distance_px[i] = (uint16_t)(out->distance_px[i] == FAR ? FAR : (out->distance_px[i] + 1) / 2);
    }
done:
    sdm_free(&p.of);
    sdm_free(&p.other);
    sdm_free(&p.piece);
    sdm_free(&p.terrain);
    if (st != SDM_OK)
        sdm_terrain_mask_free(out);
    return st;
}
