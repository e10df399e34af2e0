/* Stage 6: coarse surface -> pieces that are connected without discontinuities -> terrain, and the nearest
 * terrain of every pixel. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/terrain_mask.h"
#include "core/disjoint_sets.h"

#include <math.h>
#include <string.h>

enum {
    FAR = 65535,
    LEAST_PIECE = 12,      /* pixels */
    LEAST_IN_GAPS = 24,    /* the same between clouds, where chance makes pieces, too */
    LEAST_WALLED = 64,     /* of a piece beyond a wall that is believed */
    LARGEST_CHANCE = 1024, /* pixels of a piece of chance matches, far above or below the terrain */
    LEAST_GROUND = 24,     /* of the ground below a cloud that is the largest piece, and */
    GROUND_SHARE = 50,     /* one in so many of its pixels */
    CLOUD_LAYERS = 8,
    RESIDUAL_UNIT = 1024
};
#define BRIGHTER_SIGMAS 1.5 /* of the grey values of the darker one */
#define HIGHEST_WALL_M 2000 /* below which a small piece is believed */
#define MEET_PX 0.15        /* residuals of a piece beyond a wall, against those of the terrain */
#define MEET_SPREAD_PX 0.25
#define CHANCE_SPREAD_PX 0.35 /* that of chance matches is 0.4 and more */

void sdm_terrain_mask_free(SdmTerrainMask *g)
{
    SDM_FREE(&g->h_m, &g->distance_px);
}

/* Each pixel joins the pieces of its left neighbour and of the one above. */
static void connect_pieces(const SdmSurface *s, float limit, int32_t *parent)
{
    const int32_t w = s->win.w;
    for (int32_t i = 0; i < w * s->win.h; i++) {
        parent[i] = i;
        for (int above = 0; above < 2; above++) {
            const int32_t to = i - (above ? w : 1);
            if ((above ? to >= 0 : i % w > 0) && (s->flags[i] & s->flags[to] & SDM_QA_VALID) &&
                fabsf(s->h_m[i] - s->h_m[to]) < limit)
                sdm_sets_join(parent, i, to);
        }
    }
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

/* Count, sum and sum of squares of what a piece's pixels show. */
typedef struct Sums {
    int64_t n, sum, square;
} Sums;

/* Sums over the pieces. */
typedef struct Piece {
    int32_t size, edge;  /* pixels; those near terrain */
    int32_t off, below;  /* of these: beyond a discontinuity; downwards */
    int32_t nearest;     /* least distance to terrain, half px */
    int64_t jump_m;      /* sum of the discontinuities that it faces, metres */
    Sums grey, residual; /* of the left view; across the epipolar lines, 1/RESIDUAL_UNIT px */
} Piece;

/* The surface in pieces. */
typedef struct Pieces {
    int32_t *of;              /* of each pixel: its piece */
    int32_t *other, others;   /* pixels outside the main piece, in raster order */
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

static void add(int32_t value, Sums *to)
{
    to->n++;
    to->sum += value;
    to->square += (int64_t)value * value;
}

static double mean(const Sums *s)
{
    return s->n > 0 ? (double)s->sum / (double)s->n : 0.0;
}

static double sigma(const Sums *s)
{
    return s->n > 0 ? sqrt(fmax(0.0, (double)s->square / (double)s->n - mean(s) * mean(s))) : 0.0;
}

/* Sizes of the pieces of n pixels, and what they show. */
static void measure_pieces(int32_t n, const SdmTerrainEvidence *e, Pieces *p)
{
    for (int32_t i = 0; i < n; i++) {
        if (p->of[i] < 0)
            continue;
        Piece *const piece = &p->piece[p->of[i]];
        piece->size++;
        if (!e)
            continue;
        add(e->grey[i], &piece->grey);
        if (fabsf(e->ray_error_v[i]) <= 1.0f) /* not NaN */
            add((int32_t)(e->ray_error_v[i] * RESIDUAL_UNIT), &piece->residual);
    }
}

/* Class of a piece; only pieces of main terrain make their neighbours terrain. */
enum { NOT_TERRAIN, TERRAIN, MAIN_TERRAIN, CLOUD, MAIN_SHARE = 100 /* of the largest piece's size */ };

/* The largest piece that is no cloud; the pixels outside it. */
static int32_t choose_main(int32_t n, Pieces *p)
{
    int32_t largest = 0;
    for (int32_t i = 0; i < p->count; i++)
        if (p->terrain[largest] == CLOUD ||
            (p->terrain[i] != CLOUD && p->piece[i].size > p->piece[largest].size))
            largest = i;
    p->others = 0;
    for (int32_t i = 0; i < n; i++) {
        p->other[p->others] = i;
        p->others += p->of[i] != largest;
    }
    return largest;
}

/* Nearest terrain of every pixel, of pieces of kind `least` or above, from the distances 0 and the heights
 * of the largest piece: two sweeps of chamfer distances (1 and 1.5 px, kept in half pixels). */
static void spread_nearest(const SdmSurface *s, const Pieces *p, int least, SdmTerrainMask *g)
{
    for (int32_t k = 0; k < p->others; k++) {
        const int32_t i = p->other[k];
        const int kind = p->of[i] >= 0 ? p->terrain[p->of[i]] : NOT_TERRAIN;
        g->distance_px[i] = kind >= least && kind != CLOUD ? 0 : FAR;
        g->h_m[i] = s->h_m[i];
    }
    sweep(&s->win, p, 1, g->distance_px, g->h_m);
    sweep(&s->win, p, -1, g->distance_px, g->h_m);
}

/* Count each piece's pixels that face the terrain, and those of them beyond a discontinuity. */
static void face_terrain(const SdmSurface *s, float pixel_m, const SdmTerrainMask *g, Pieces *all)
{
    const int32_t *const of = all->of;
    Piece *const piece = all->piece;
    for (int32_t i = 0; i < all->count; i++) {
        piece[i].edge = piece[i].off = piece[i].below = 0;
        piece[i].jump_m = 0;
        piece[i].nearest = FAR;
    }
    for (int32_t k = 0; k < all->others; k++) {
        const int32_t i = all->other[k];
        if (of[i] >= 0 && g->distance_px[i] < piece[of[i]].nearest)
            piece[of[i]].nearest = g->distance_px[i];
    }
    for (int32_t k = 0; k < all->others; k++) {
        const int32_t i = all->other[k];
        if (of[i] < 0 || g->distance_px[i] > 2 * piece[of[i]].nearest + 8)
            continue;
        Piece *const p = &piece[of[i]];
        const float off = s->h_m[i] - g->h_m[i];
        p->edge++;
        if (fabsf(off) <= sdm_terrain_limit(0.5f * (float)g->distance_px[i], pixel_m))
            continue;
        p->off++;
        p->jump_m += (int64_t)fabsf(off);
        p->below += off < 0.0f;
    }
}

/* Is a piece brighter than another, as a cloud is? */
static bool is_brighter(const Piece *a, const Sums *than)
{
    return mean(&a->grey) > mean(than) + BRIGHTER_SIGMAS * sigma(than);
}

/* Do rays of a piece meet as those of the terrain do? */
static bool rays_meet(const Piece *p, const Sums *terrain)
{
    return p->residual.n * 2 > p->size &&
           sigma(&p->residual) <= fmin(fmax(2.0 * sigma(terrain), RESIDUAL_UNIT * MEET_SPREAD_PX),
                                       RESIDUAL_UNIT * CHANCE_SPREAD_PX) &&
           fabs(mean(&p->residual) - mean(terrain)) <= RESIDUAL_UNIT * MEET_PX;
}

static void join_sums(const Sums *s, Sums *to)
{
    to->n += s->n;
    to->sum += s->sum;
    to->square += s->square;
}

/* Pieces without a discontinuity to the main terrain become terrain; true when a large one did.  Small ones
 * do not make their neighbours terrain: a few false matches between mountain and cloud would lead up to the
 * cloud. */
static bool accept_pieces(const SdmSurface *s, float pixel_m, const SdmTerrainMask *g,
                          const SdmTerrainEvidence *e, Pieces *all)
{
    const Piece *const piece = all->piece;
    uint8_t *const terrain = all->terrain;
    bool any = false;
    Sums grey = {0}, residual = {0};
    const int32_t least = e && e->no_grey ? LEAST_IN_GAPS : LEAST_PIECE;
    for (int32_t i = 0; i < all->count; i++)
        if (terrain[i] == MAIN_TERRAIN) {
            join_sums(&piece[i].grey, &grey);
            join_sums(&piece[i].residual, &residual);
        }
    face_terrain(s, pixel_m, g, all);
    for (int32_t i = 0; i < all->count; i++) {
        if (terrain[i] || piece[i].size < least)
            continue;
        bool is = piece[i].off * 2 <= piece[i].edge;
        if (!is && e && !e->no_grey && piece[i].size >= LEAST_WALLED)
            is = (piece[i].size > LARGEST_CHANCE ||
                  piece[i].jump_m <= (int64_t)HIGHEST_WALL_M * piece[i].off) &&
                 !is_brighter(&piece[i], &grey) && rays_meet(&piece[i], &residual);
        if (is) {
            terrain[i] = piece[i].size >= all->main_size ? MAIN_TERRAIN : TERRAIN;
            any |= terrain[i] == MAIN_TERRAIN;
        }
    }
    return any;
}

/* Size of the largest darker piece below the piece from which the distances count. */
static int32_t count_below(const SdmSurface *s, float pixel_m, const SdmTerrainMask *g, int32_t main,
                           Pieces *all)
{
    int32_t below = 0;
    face_terrain(s, pixel_m, g, all);
    for (int32_t i = 0; i < all->count; i++) {
        const Piece *const p = &all->piece[i];
        if (i != main && p->size >= LEAST_PIECE && p->below * 2 > p->edge &&
            is_brighter(&all->piece[main], &p->grey) &&
            sigma(&p->residual) < RESIDUAL_UNIT * CHANCE_SPREAD_PX)
            below = p->size > below ? p->size : below;
    }
    return below;
}

/* The main terrain: the largest piece but for clouds, which are brighter than what lies below them. */
static void find_main(const SdmSurface *s, float pixel_m, const SdmTerrainEvidence *e, SdmTerrainMask *g,
                      Pieces *all)
{
    const int32_t n = s->win.w * s->win.h;
    for (int round = 0; round < CLOUD_LAYERS; round++) {
        const int32_t main = choose_main(n, all);
        const int32_t size = all->piece[main].size;
        memcpy(g->h_m, s->h_m, (size_t)n * sizeof *g->h_m);
        memset(g->distance_px, 0, (size_t)n * sizeof *g->distance_px);
        all->terrain[main] = MAIN_TERRAIN;
        all->main_size = size / MAIN_SHARE;
        if (!e || e->no_grey)
            return;
        spread_nearest(s, all, MAIN_TERRAIN, g);
        int32_t below = count_below(s, pixel_m, g, main, all);
        if (below < LEAST_GROUND || below < size / GROUND_SHARE)
            return;
        all->terrain[main] = CLOUD;
    }
}

SdmStatus sdm_terrain_mask_find(SdmContext *ctx, SdmSurface *s, float pixel_m, const SdmTerrainEvidence *e,
                                SdmTerrainMask *out)
{
    SdmStatus st = SDM_OK;
    const int32_t n = s->win.w * s->win.h;
    const int threads = sdm_threads(ctx);
    Pieces p = {.of = NULL};
    *out = (SdmTerrainMask){.win = s->win};
    TRY(sdm_alloc(ctx, &p.of, (size_t)n, sizeof *p.of, "pieces of the surface"));
    TRY(sdm_alloc_raw(ctx, &p.other, (size_t)n, sizeof *p.other, "pieces of the surface"));
    connect_pieces(s, SDM_TERRAIN_NOISE_M + SDM_TERRAIN_SLOPE * pixel_m, p.of);
    p.count = number_pieces(s, p.of);
    TRY(sdm_alloc(ctx, &out->h_m, (size_t)n, sizeof(float), "the terrain"));
    TRY(sdm_alloc(ctx, &out->distance_px, (size_t)n, sizeof(uint16_t), "the terrain"));
    TRY(sdm_alloc(ctx, &p.piece, (size_t)p.count + 1, sizeof *p.piece, "pieces of the surface"));
    TRY(sdm_alloc(ctx, &p.terrain, (size_t)p.count + 1, 1, "pieces of the surface"));
    measure_pieces(n, e, &p);
    find_main(s, pixel_m, e, out, &p);
    for (int round = 0; round < 4; round++) { /* accepted pieces may connect others */
        spread_nearest(s, &p, MAIN_TERRAIN, out);
        if (!accept_pieces(s, pixel_m, out, e, &p))
            break;
    }
    spread_nearest(s, &p, TERRAIN, out);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int32_t i = 0; i < n; i++) {
        if ((s->flags[i] & SDM_QA_VALID) && (!p.terrain[p.of[i]] || p.terrain[p.of[i]] == CLOUD))
            s->flags[i] = (uint16_t)((s->flags[i] & ~SDM_QA_VALID) | SDM_QA_ISOLATED);
        out->distance_px[i] = (uint16_t)(out->distance_px[i] == FAR ? FAR : (out->distance_px[i] + 1) / 2);
    }
done:
    SDM_FREE(&p.of, &p.other, &p.piece, &p.terrain);
    if (st != SDM_OK)
        sdm_terrain_mask_free(out);
    return st;
}
