/* Stages 6 and 7 on the processor: refinement, median, rejection, filling and smoothing of a surface.  The
 * table of operations is matching/backend.h; devices run the same ones (gpu/device_ops.c); CONTRIBUTING.md
 * lists what a new filter needs. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/filters.h"

#include "core/math.h"
#include "core/vector_loops.h"

#include <math.h>
#include <string.h>

enum { MAX_SIDE = 15 };

/* Clamp an absolute index of the coarser level to its window. */
static int inside(int64_t at, int64_t first, int count)
{
    return sdm_clamp((int)(at - first), 0, count - 1);
}

/* Height of fine column i (u = f->u0 + i), from the two coarse rows. */
static float refined(const SdmWindow *c, const float *r0, const float *r1, int64_t u, float fy)
{
    const int64_t iu = (u - 1) >> 1, a = inside(iu, c->u0, c->w), b = inside(iu + 1, c->u0, c->w);
    const float fx = u & 1 ? 0.25f : 0.75f;
    const float top = r0[a] + fx * (r0[b] - r0[a]), low = r1[a] + fx * (r1[b] - r1[a]);
    return top + fy * (low - top);
}

void sdm_surface_refine(SdmContext *ctx, const SdmKernels *k, const SdmSurface *coarse, SdmSurface *fine)
{
    const SdmWindow *const c = &coarse->win, *const f = &fine->win;
    /* pairs of columns 2 m + 1, 2 m + 2 between the coarse columns m and m + 1, both inside */
    const int64_t first = f->u0 >> 1 > c->u0 ? f->u0 >> 1 : c->u0, end = (f->u0 + f->w - 1) >> 1;
    const int64_t last = end < c->u0 + c->w - 1 ? end : c->u0 + c->w - 1;
    const int pairs = last > first ? (int)(last - first) : 0;
    const int begin = pairs > 0 ? (int)(2 * first + 1 - f->u0) : f->w;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 16)
    for (int j = 0; j < f->h; j++) {
        const int64_t v = f->v0 + j, jv = (v - 1) >> 1; /* centre at (v - 0.5) / 2 of the coarser level */
        const float fy = v & 1 ? 0.25f : 0.75f;
        const float *const r0 = coarse->h_m + inside(jv, c->v0, c->h) * c->w;
        const float *const r1 = coarse->h_m + inside(jv + 1, c->v0, c->h) * c->w;
        float *const out = fine->h_m + (size_t)j * (size_t)f->w;
        for (int i = 0; i < begin; i++)
            out[i] = refined(c, r0, r1, f->u0 + i, fy);
        if (pairs > 0)
            k->refine_row(r0 + (first - c->u0), r1 + (first - c->u0), fy, pairs, out + begin);
        for (int i = begin + 2 * pairs; i < f->w; i++)
            out[i] = refined(c, r0, r1, f->u0 + i, fy);
    }
}

/* Filter the rows in place: each thread keeps the row above as it was, and first of all those of its
 * neighbours' rows that it needs. */
static SdmStatus filter_rows(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, bool is_median)
{
    const int w = s->win.w, h = s->win.h, threads = sdm_threads(ctx);
    const size_t n = (size_t)w;
    SDM_OWNED float *kept = NULL; /* of each thread: two rows that are read, and the one below its last */
    PASS(sdm_alloc(ctx, &kept, 3 * n * (size_t)threads, sizeof *kept, "rows of the surface"));
    for (int t = 0; t < threads; t++) {
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        memcpy(kept + 3 * n * (size_t)t, s->h_m + (size_t)(y0 > 0 ? y0 - 1 : 0) * n, n * sizeof *kept);
        memcpy(kept + (3 * (size_t)t + 2) * n, s->h_m + (size_t)(y1 < h ? y1 : h - 1) * n, n * sizeof *kept);
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        float *const mine = kept + 3 * n * (size_t)t;
        for (int y = y0; y < y1; y++) {
            float *const at = s->h_m + (size_t)y * n, *const above = mine + (y - y0) % 2 * w,
                         *const middle = mine + (y - y0 + 1) % 2 * w;
            const uint16_t *const flags = s->flags + (size_t)y * n;
            memcpy(middle, at, n * sizeof *at);
            const float *const row[3] = {above, middle, y + 1 < y1 ? at + n : mine + 2 * n};
            const uint16_t *const mask[3] = {y > 0 ? flags - n : flags, flags, y + 1 < h ? flags + n : flags};
            if (is_median)
                k->median_row(row, mask, w, at);
            else
                k->smooth_row(row, w, at);
        }
    }
    return SDM_OK;
}

SdmStatus sdm_surface_median(SdmContext *ctx, const SdmKernels *k, SdmSurface *s)
{
    return filter_rows(ctx, k, s, true);
}

SdmStatus sdm_surface_smooth(SdmContext *ctx, const SdmKernels *k, SdmSurface *s)
{
    return filter_rows(ctx, k, s, false);
}

SDM_VECTOR_LOOPS static void reject_few(const uint8_t *restrict count, int least, int width,
                                        const uint16_t *restrict old, uint16_t *restrict fresh)
{
    for (int x = 0; x < width; x++) { /* without branches */
        const uint16_t few = count[x] < least ? SDM_QA_VALID : 0, lost = old[x] & few;
        fresh[x] = (uint16_t)((old[x] & ~lost) | (lost ? SDM_QA_ISOLATED : 0));
    }
}

/* ring: changes of the rows about y, row y at y modulo the window's side. */
static void reject_row(const SdmKernels *k, const SdmSurface *s, int y, const SdmRejection *r,
                       const int16_t *ring, uint8_t *count, uint16_t *new_flags)
{
    const int w = s->win.w, half = r->half, side = 2 * half + 1,
              least = (int)ceilf(r->share * (float)(side * side));
    const size_t at = (size_t)y * (size_t)w;
    const int16_t *row[MAX_SIDE];
    for (int j = 0; j < side; j++) {
        const int yy = y + j - half;
        row[j] = yy >= 0 && yy < s->win.h ? ring + (size_t)(yy % side) * (size_t)w : NULL;
    }
    k->agree_row(row, half, w, count);
    reject_few(count, least, w, s->flags + at, new_flags + at);
}

SdmStatus sdm_surface_reject(SdmContext *ctx, const SdmKernels *k, const SdmSurface *s, const float *prior,
                             const SdmRejection *r, uint16_t *new_flags)
{
    const int w = s->win.w, h = s->win.h, half = r->half, side = 2 * half + 1, threads = sdm_threads(ctx);
    SDM_OWNED int16_t *ring = NULL; /* of each thread: `side` rows of changes */
    SDM_OWNED uint8_t *counts = NULL;
    PASS(sdm_alloc(ctx, &ring, (size_t)threads * (size_t)side * (size_t)w, sizeof *ring,
                   "changes of the surface"));
    PASS(sdm_alloc(ctx, &counts, (size_t)threads * (size_t)w, 1, "agreeing neighbours"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        int16_t *const mine = ring + (size_t)t * (size_t)side * (size_t)w;
        uint8_t *const count = counts + (size_t)t * (size_t)w;
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        for (int y = y0 - half > 0 ? y0 - half : 0; y < y1 + half && y < h; y++) {
            const size_t at = (size_t)y * (size_t)w;
            k->change_row(s->h_m + at, prior + at, s->flags + at, w, r->tol_m,
                          mine + (size_t)(y % side) * (size_t)w);
            if (y - half >= y0)
                reject_row(k, s, y - half, r, mine, count, new_flags);
        }
        for (int y = h - half > y0 ? h - half : y0; y < y1; y++) /* the last rows have no rows below */
            reject_row(k, s, y, r, mine, count, new_flags);
    }
    return SDM_OK;
}

enum {
    STRIP = 128, /* columns of a strip of the filling; one without holes costs nothing */
    AHEAD = 8    /* rows further down, whose flags are fetched */
};

/* Sums over columns of the changes of the rows y - half .. y + half, for a strip with `half` columns on
 * either side. */
typedef struct Columns {
    int x0, x1;   /* of the surface: what there is room for */
    int from, to; /* those that hold the sums of row y */
    int y, half;
    bool any; /* y is set */
    int32_t *sum, *count;
    const SdmKernels *k;
    SdmSurface *s;
    const float *prior;
} Columns;

static bool any_valid(const uint16_t *flags, int n)
{
    uint16_t any = 0;
    for (int i = 0; i < n; i++)
        any |= flags[i];
    return any & SDM_QA_VALID;
}

static void add_row(const Columns *c, int y, int sign, int from, int to)
{
    const SdmSurface *const s = c->s;
    const size_t at = (size_t)y * (size_t)s->win.w + (size_t)from;
    if (y < 0 || y >= s->win.h || !any_valid(s->flags + at, to - from)) /* in clouds none is */
        return;
    c->k->add_changes(s->h_m + at, c->prior + at, s->flags + at, to - from, sign, c->sum + (from - c->x0),
                      c->count + (from - c->x0));
}

/* Sums of the rows about c->y, of columns that hold none yet. */
static void add_columns(const Columns *c, int from, int to)
{
    memset(c->sum + (from - c->x0), 0, sizeof *c->sum * (size_t)(to - from));
    memset(c->count + (from - c->x0), 0, sizeof *c->count * (size_t)(to - from));
    for (int j = c->y - c->half; j <= c->y + c->half; j++)
        add_row(c, j, 1, from, to);
}

/* Columns beside those that a hole needs: the next row's may be further out.  With the nine of a near hole
 * they are whole vectors. */
enum { ROUND_HOLE = 7 };

/* Move the sums to row y, for the columns first - half..end + half - 1 at least: by adding and removing rows,
 * or from scratch where that is less work. */
static void move_columns(Columns *c, int y, int first, int end)
{
    const int half = c->half, least = first - half > c->x0 ? first - half : c->x0,
              most = end + half < c->x1 ? end + half : c->x1;
    if (!c->any || y - c->y > half) {
        c->from = c->to = least;
    } else {
        for (int j = c->y; j < y; j++) {
            add_row(c, j + half + 1, 1, c->from, c->to);
            add_row(c, j - half, -1, c->from, c->to);
        }
    }
    c->y = y;
    c->any = true;
    if (least < c->from) {
        const int from = least - ROUND_HOLE > c->x0 ? least - ROUND_HOLE : c->x0;
        add_columns(c, from, c->from);
        c->from = from;
    }
    if (most > c->to) {
        const int to = most + ROUND_HOLE < c->x1 ? most + ROUND_HOLE : c->x1;
        add_columns(c, c->to, to);
        c->to = to;
    }
}

/* Fewer than `least` valid pixels in all columns: no window has more. */
static bool are_few(const Columns *c, int least)
{
    int32_t n = 0;
    for (int i = c->from - c->x0; i < c->to - c->x0; i++)
        n += c->count[i];
    return n < least;
}

/* Fill the pixels x0..x1 - 1 of row y that have no match and are not done; done: of the strip that begins at
 * `strip`. */
static void fill_pixels(const Columns *c, int x0, int x1, const SdmFill *f, int strip, uint8_t *done)
{
    SdmSurface *const s = c->s;
    const float *const prior = c->prior;
    const size_t row = (size_t)c->y * (size_t)s->win.w;
    int64_t sum = 0;
    int32_t n = 0;
    if (are_few(c, f->least)) {
        for (int x = x0; x < x1 && f->else_prior; x++)
            if (!(s->flags[row + (size_t)x] & SDM_QA_VALID) && !done[x - strip])
                s->h_m[row + (size_t)x] = prior[row + (size_t)x];
        return;
    }
    for (int x = x0 - f->half > 0 ? x0 - f->half : 0; x < x0 + f->half && x < s->win.w; x++) {
        sum += c->sum[x - c->x0];
        n += c->count[x - c->x0];
    }
    for (int x = x0; x < x1; x++) {
        const size_t at = row + (size_t)x;
        if (x + f->half < s->win.w) {
            sum += c->sum[x + f->half - c->x0];
            n += c->count[x + f->half - c->x0];
        }
        if (!(s->flags[at] & SDM_QA_VALID) && !done[x - strip]) {
            const bool can = n >= f->least;
            if (can)
                s->h_m[at] = prior[at] + (float)((double)sum / n) * 0.015625f;
            else if (f->else_prior)
                s->h_m[at] = prior[at];
            done[x - strip] = can;
        }
        if (x - f->half >= 0) {
            sum -= c->sum[x - f->half - c->x0];
            n -= c->count[x - f->half - c->x0];
        }
    }
}

static bool all_valid(const uint16_t *flags, int n)
{
    uint16_t all = SDM_QA_VALID;
    for (int i = 0; i < n; i++)
        all &= flags[i];
    return all;
}

/* Narrow the range *first..*end - 1 to the pixels that are neither matched nor done; false: none is left. */
static bool find_left(const uint16_t *flags, const uint8_t *done, int strip, int *first, int *end)
{
    while (*first < *end && ((flags[*first] & SDM_QA_VALID) || done[*first - strip]))
        ++*first;
    while (*first < *end && ((flags[*end - 1] & SDM_QA_VALID) || done[*end - 1 - strip]))
        --*end;
    return *first < *end;
}

/* Columns x0..x1 - 1, at most STRIP, of the rows y0..y1 - 1; sums: room for those of two windows. */
static void fill_strip(const SdmKernels *k, SdmSurface *s, const float *prior, const SdmFill *const fill[2],
                       const int box[4], int32_t *sums, uint8_t *filled)
{
    const int w = s->win.w, x0 = box[0], x1 = box[2];
    Columns c[2] = {{.any = false}};
    for (int i = 0; i < 2 && fill[i]; i++) {
        const int half = fill[i]->half, room = STRIP + 2 * half;
        c[i] = (Columns){.x0 = x0 > half ? x0 - half : 0,
                         .x1 = x1 + half < w ? x1 + half : w,
                         .half = half,
                         .sum = sums,
                         .count = sums + room,
                         .k = k,
                         .s = s,
                         .prior = prior};
        sums += 2 * room;
    }
    for (int y = box[1]; y < box[3]; y++) {
        const SdmRowExtent extent = sdm_row_extent(s->extent, w, y);
        const uint16_t *const flags = s->flags + (size_t)y * (size_t)w;
        int first = x0, end = x1;
        for (int x = x0; x < x1 && y + AHEAD < box[3]; x += 32) /* a strip's rows lie in different pages */
            __builtin_prefetch(flags + AHEAD * (ptrdiff_t)w + x);
        if (x1 <= extent.x0 || x0 >= extent.x1 || all_valid(flags + x0, x1 - x0))
            continue;
        uint8_t done[STRIP] = {0};
        for (int i = 0; i < 2 && fill[i] && find_left(flags, done, x0, &first, &end); i++) {
            move_columns(&c[i], y, first, end);
            fill_pixels(&c[i], first, end, fill[i], x0, done);
        }
        if (filled)
            memcpy(filled + (size_t)y * (size_t)w + (size_t)x0, done, (size_t)(x1 - x0));
    }
}

SdmStatus sdm_surface_fill(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, const float *prior,
                           const SdmFill *near, const SdmFill *far, uint8_t *filled)
{
    const int w = s->win.w, h = s->win.h, threads = sdm_threads(ctx), strips = (w + STRIP - 1) / STRIP;
    const SdmFill *const fill[2] = {near, far};
    const size_t room =
        2 * (size_t)(STRIP + 2 * near->half) + (far ? 2 * (size_t)(STRIP + 2 * far->half) : 0);
    SDM_OWNED int32_t *sums = NULL;
    PASS(sdm_alloc(ctx, &sums, room * (size_t)threads, sizeof *sums, "fill sums"));
    if (filled)
        memset(filled, 0, (size_t)w * (size_t)h);
        /* heights of pixels without a match are not read, so the surface is filled in place */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int i = 0; i < 4 * threads * strips; i++) {
        const int x0 = i % strips * STRIP, part = i / strips;
        const int box[4] = {x0, (int)((int64_t)h * part / (4 * threads)), x0 + STRIP < w ? x0 + STRIP : w,
                            (int)((int64_t)h * (part + 1) / (4 * threads))};
        fill_strip(k, s, prior, fill, box, sums + room * (size_t)sdm_thread(), filled);
    }
    return SDM_OK;
}
