/* Stage 6: pieces of the coarse surface, connected without jumps; nearest terrain of every pixel. */
// SPDX-License-Identifier: Apache-2.0
#include "surface/ground.h"

#include <math.h>
#include <string.h>

enum { FAR = 65535 };

void sdm_ground_free(SdmGround *g)
{
    sdm_free(&g->h_m);
    sdm_free(&g->away);
}

static int32_t find_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

static void join(int32_t *parent, int32_t a, int32_t b)
{
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

static void connect_pieces(const SdmSurface *s, float limit, int32_t *parent)
{
    const int w = s->win.w, h = s->win.h;
    for (int32_t i = 0; i < w * h; i++)
        parent[i] = i;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const int32_t i = y * w + x;
            if (!(s->flags[i] & SDM_QA_VALID))
                continue;
            if (x > 0 && (s->flags[i - 1] & SDM_QA_VALID) && fabsf(s->h_m[i] - s->h_m[i - 1]) < limit)
                join(parent, i, i - 1);
            if (y > 0 && (s->flags[i - w] & SDM_QA_VALID) && fabsf(s->h_m[i] - s->h_m[i - w]) < limit)
                join(parent, i, i - w);
        }
}

/* Two sweeps of chamfer distances (1 and 1.5 px, kept in half pixels) from the pixels with away == 0. */
static void spread_nearest(int w, int h, uint16_t *away, float *near)
{
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < w * h; k++) {
            const int i = pass ? w * h - 1 - k : k, x = i % w, y = i / w, step = pass ? 1 : -1;
            const int dx[4] = {step, 0, step, -step}, dy[4] = {0, step, step, step}, cost[4] = {2, 2, 3, 3};
            for (int n = 0; n < 4; n++) {
                const int xx = x + dx[n], yy = y + dy[n];
                if (xx < 0 || yy < 0 || xx >= w || yy >= h)
                    continue;
                const int j = yy * w + xx;
                if (away[j] < FAR - 4 && away[j] + cost[n] < away[i]) {
                    away[i] = (uint16_t)(away[j] + cost[n]);
                    near[i] = near[j];
                }
            }
        }
}

/* Sums over the pieces, by root. */
typedef struct Piece {
    int32_t size, edge, off; /* pixels; those near terrain; of them, beyond a jump */
    int32_t nearest;         /* least distance to terrain, half px */
} Piece;

/* What a piece is: nothing, terrain, or terrain large enough to vouch for others. */
enum { NOT_TERRAIN, TERRAIN, MAIN_TERRAIN, MAIN_SHARE = 100 /* of the largest piece's size */ };

/* Nearest pixel of terrain that is at least `least`. */
static void seed(const SdmSurface *s, const int32_t *parent, const uint8_t *terrain, int least, SdmGround *g)
{
    for (int32_t i = 0; i < s->win.w * s->win.h; i++) {
        const bool is = (s->flags[i] & SDM_QA_VALID) && terrain[parent[i]] >= least;
        g->away[i] = is ? 0 : FAR;
        g->h_m[i] = s->h_m[i];
    }
    spread_nearest(s->win.w, s->win.h, g->away, g->h_m);
}

/* Pieces without a jump to the main terrain become terrain; true when a large one did.  Small ones do not
 * vouch for others: a few false matches between mountain and cloud would lead up to it. */
static bool accept_pieces(const SdmSurface *s, const int32_t *parent, float pixel_m, const SdmGround *g,
                          int32_t main_size, Piece *piece, uint8_t *terrain)
{
    const int32_t n = s->win.w * s->win.h;
    bool any = false;
    for (int32_t i = 0; i < n; i++) {
        piece[i].edge = piece[i].off = 0;
        piece[i].nearest = FAR;
    }
    for (int32_t i = 0; i < n; i++)
        if ((s->flags[i] & SDM_QA_VALID) && g->away[i] < piece[parent[i]].nearest)
            piece[parent[i]].nearest = g->away[i];
    for (int32_t i = 0; i < n; i++) { /* the rim that faces the terrain */
        Piece *const p = &piece[parent[i]];
        if (!(s->flags[i] & SDM_QA_VALID) || g->away[i] > 2 * p->nearest + 8)
            continue;
        p->edge++;
        p->off += fabsf(s->h_m[i] - g->h_m[i]) > sdm_ground_limit(0.5f * (float)g->away[i], pixel_m);
    }
    for (int32_t i = 0; i < n; i++)
        if (parent[i] == i && (s->flags[i] & SDM_QA_VALID) && !terrain[i] && piece[i].size >= 12 &&
            piece[i].off * 2 <= piece[i].edge) {
            terrain[i] = piece[i].size >= main_size ? MAIN_TERRAIN : TERRAIN;
            any |= terrain[i] == MAIN_TERRAIN;
        }
    return any;
}

SdmStatus sdm_ground_find(SdmContext *ctx, SdmSurface *s, float pixel_m, SdmGround *out)
{
    SdmStatus st = SDM_OK;
    const int32_t n = s->win.w * s->win.h;
    int32_t *parent = NULL, largest = 0;
    Piece *piece = NULL;
    uint8_t *terrain = NULL;
    *out = (SdmGround){.win = s->win};
    TRY(sdm_alloc(ctx, &out->h_m, (size_t)n, sizeof(float), "the terrain"));
    TRY(sdm_alloc(ctx, &out->away, (size_t)n, sizeof(uint16_t), "the terrain"));
    TRY(sdm_alloc(ctx, &parent, (size_t)n, sizeof *parent, "pieces of the surface"));
    TRY(sdm_alloc(ctx, &piece, (size_t)n, sizeof *piece, "pieces of the surface"));
    TRY(sdm_alloc(ctx, &terrain, (size_t)n, 1, "pieces of the surface"));
    connect_pieces(s, SDM_GROUND_NOISE_M + SDM_GROUND_SLOPE * pixel_m, parent);
    for (int32_t i = 0; i < n; i++) {
        parent[i] = find_root(parent, i);
        piece[parent[i]].size += (s->flags[i] & SDM_QA_VALID) ? 1 : 0;
    }
    for (int32_t i = 0; i < n; i++)
        largest = piece[i].size > piece[largest].size ? i : largest;
    terrain[largest] = MAIN_TERRAIN;
    for (int round = 0; round < 4; round++) { /* what was accepted brings its neighbours */
        seed(s, parent, terrain, MAIN_TERRAIN, out);
        if (!accept_pieces(s, parent, pixel_m, out, piece[largest].size / MAIN_SHARE, piece, terrain))
            break;
    }
    seed(s, parent, terrain, TERRAIN, out);
    for (int32_t i = 0; i < n; i++) {
        if ((s->flags[i] & SDM_QA_VALID) && !terrain[parent[i]])
            s->flags[i] = (uint16_t)((s->flags[i] & ~SDM_QA_VALID) | SDM_QA_ISOLATED);
        out->away[i] = (uint16_t)(out->away[i] == FAR ? FAR : (out->away[i] + 1) / 2);
    }
done:
    sdm_free(&parent);
    sdm_free(&piece);
    sdm_free(&terrain);
    if (st != SDM_OK)
        sdm_ground_free(out);
    return st;
}
