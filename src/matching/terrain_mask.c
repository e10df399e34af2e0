/* Stage 6: coarse surface -> pieces that are connected without discontinuities -> terrain, and the nearest
 * terrain of every pixel. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/terrain_mask.h"
#include "core/disjoint_sets.h"

#include <math.h>
#include <string.h>

enum { FAR = 65535 };

void sdm_terrain_mask_free(SdmTerrainMask *g)
{
    sdm_free(&g->h_m);
    sdm_free(&g->distance_px);
}

/* In raster order each pixel takes the piece of its left neighbour, or begins one, and joins it to the
 * piece of the pixel above, which is most often the same. */
static void connect_pieces(const SdmSurface *s, float limit, int32_t *parent)
{
    const int w = s->win.w, h = s->win.h;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const int32_t i = y * w + x;
            parent[i] = i;
            if (!(s->flags[i] & SDM_QA_VALID))
                continue;
            if (x > 0 && (s->flags[i - 1] & SDM_QA_VALID) && fabsf(s->h_m[i] - s->h_m[i - 1]) < limit)
                parent[i] = parent[i - 1];
            if (y > 0 && (s->flags[i - w] & SDM_QA_VALID) && parent[i] != parent[i - w] &&
                fabsf(s->h_m[i] - s->h_m[i - w]) < limit)
                sdm_sets_join(parent, i, i - w);
        }
}

/* Roots -> numbers 0.. of the pieces, in the order of their first pixels; -1 for invalid pixels. */
static int32_t number_pieces(const SdmSurface *s, int32_t *parent)
{
    const int32_t n = s->win.w * s->win.h;
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        parent[i] = sdm_sets_root(parent, i);
    for (int32_t i = 0; i < n; i++) /* a piece's root is its first pixel; numbers are negative till the end */
        parent[i] = !(s->flags[i] & SDM_QA_VALID) ? 0 : parent[i] == i ? -1 - count++ : parent[parent[i]];
    for (int32_t i = 0; i < n; i++)
        parent[i] = -1 - parent[i];
    return count;
}

/* One pixel of a sweep: the least distance by way of the four pixels before it. */
static void step_nearest(int w, int h, int x, int y, int step, uint16_t *distance, float *near)
{
    static const uint16_t cost[4] = {2, 2, 3, 3};
    const int dx[4] = {step, 0, step, -step}, dy[4] = {0, step, step, step}, i = y * w + x;
    for (int n = 0; n < 4; n++) {
        const int xx = x + dx[n], yy = y + dy[n];
        if (xx < 0 || yy < 0 || xx >= w || yy >= h)
            continue;
        const int j = yy * w + xx;
        if (distance[j] < FAR - 4 && distance[j] + cost[n] < distance[i]) {
            distance[i] = (uint16_t)(distance[j] + cost[n]);
            near[i] = near[j];
        }
    }
}

/* Two sweeps of chamfer distances (1 and 1.5 px, kept in half pixels) from the pixels whose distance is 0. */
static void spread_nearest(int w, int h, uint16_t *distance, float *near)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            if (distance[y * w + x] > 0)
                step_nearest(w, h, x, y, -1, distance, near);
    for (int y = h - 1; y >= 0; y--)
        for (int x = w - 1; x >= 0; x--)
            if (distance[y * w + x] > 0)
                step_nearest(w, h, x, y, 1, distance, near);
}

/* Sums over the pieces. */
typedef struct Piece {
    int32_t size, edge, off; /* pixels; those near terrain; of them, beyond a discontinuity */
    int32_t nearest;         /* least distance to terrain, half px */
} Piece;

/* The surface in pieces. */
typedef struct Pieces {
    int32_t *of; /* of each pixel: its piece */
    int32_t count, main_size; /* pieces; size from which one is main terrain */
    Piece *piece;
    uint8_t *terrain; /* of each piece: its class */
} Pieces;

/* Class of a piece; only pieces of main terrain make their neighbours terrain. */
enum { NOT_TERRAIN, TERRAIN, MAIN_TERRAIN, MAIN_SHARE = 100 /* of the largest piece's size */ };

/* Nearest terrain of every pixel, of pieces of class `least` or above. */
static void seed(const SdmSurface *s, const Pieces *p, int least, int threads, SdmTerrainMask *g)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int32_t i = 0; i < s->win.w * s->win.h; i++) {
        const bool is = (s->flags[i] & SDM_QA_VALID) && p->terrain[p->of[i]] >= least;
        g->distance_px[i] = is ? 0 : FAR;
        g->h_m[i] = s->h_m[i];
    }
    spread_nearest(s->win.w, s->win.h, g->distance_px, g->h_m);
}

/* Pieces without a discontinuity to the main terrain become terrain; true when a large one did.  Small ones
 * do not make their neighbours terrain: a few false matches between mountain and cloud would lead up to the
 * cloud. */
static bool accept_pieces(const SdmSurface *s, float pixel_m, const SdmTerrainMask *g, Pieces *all)
{
    const int32_t n = s->win.w * s->win.h, *const of = all->of;
    Piece *const piece = all->piece;
    uint8_t *const terrain = all->terrain;
    bool any = false;
    for (int32_t i = 0; i < all->count; i++) {
        piece[i].edge = piece[i].off = 0;
        piece[i].nearest = FAR;
    }
    for (int32_t i = 0; i < n; i++)
        if ((s->flags[i] & SDM_QA_VALID) && !terrain[of[i]] && g->distance_px[i] < piece[of[i]].nearest)
            piece[of[i]].nearest = g->distance_px[i];
    for (int32_t i = 0; i < n; i++) { /* pixels of other pieces that face the terrain */
        if (!(s->flags[i] & SDM_QA_VALID) || terrain[of[i]])
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
    int32_t largest = 0;
    Pieces p = {.of = NULL};
    *out = (SdmTerrainMask){.win = s->win};
    TRY(sdm_alloc(ctx, &p.of, (size_t)n, sizeof *p.of, "pieces of the surface"));
    connect_pieces(s, SDM_TERRAIN_NOISE_M + SDM_TERRAIN_SLOPE * pixel_m, p.of);
    p.count = number_pieces(s, p.of);
    TRY(sdm_alloc(ctx, &out->h_m, (size_t)n, sizeof(float), "the terrain"));
    TRY(sdm_alloc(ctx, &out->distance_px, (size_t)n, sizeof(uint16_t), "the terrain"));
    TRY(sdm_alloc(ctx, &p.piece, (size_t)p.count + 1, sizeof *p.piece, "pieces of the surface"));
    TRY(sdm_alloc(ctx, &p.terrain, (size_t)p.count + 1, 1, "pieces of the surface"));
    for (int32_t i = 0; i < n; i++)
        if (s->flags[i] & SDM_QA_VALID)
            p.piece[p.of[i]].size++;
    for (int32_t i = 0; i < p.count; i++)
        largest = p.piece[i].size > p.piece[largest].size ? i : largest;
    p.terrain[largest] = MAIN_TERRAIN;
    p.main_size = p.piece[largest].size / MAIN_SHARE;
    for (int round = 0; round < 4; round++) { /* accepted pieces may connect others */
        seed(s, &p, MAIN_TERRAIN, threads, out);
        if (!accept_pieces(s, pixel_m, out, &p))
            break;
    }
    seed(s, &p, TERRAIN, threads, out);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int32_t i = 0; i < n; i++) {
        if ((s->flags[i] & SDM_QA_VALID) && !p.terrain[p.of[i]])
            s->flags[i] = (uint16_t)((s->flags[i] & ~SDM_QA_VALID) | SDM_QA_ISOLATED);
        out->distance_px[i] = (uint16_t)(out->distance_px[i] == FAR ? FAR : (out->distance_px[i] + 1) / 2);
    }
done:
    sdm_free(&p.of);
    sdm_free(&p.piece);
    sdm_free(&p.terrain);
    if (st != SDM_OK)
        sdm_terrain_mask_free(out);
    return st;
}
