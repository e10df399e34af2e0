/* Stages 6, 7: median, rejection, filling, smoothing, refinement of a surface. */
// SPDX-License-Identifier: Apache-2.0
#include "surface/surface.h"

#include <math.h>
#include <string.h>

enum { MAX_SIDE = 15 };

SdmStatus sdm_surface_alloc(SdmContext *ctx, const SdmWindow *win, SdmSurface *out)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)win->w * (size_t)win->h;
    *out = (SdmSurface){.win = *win};
    TRY(sdm_alloc(ctx, &out->h_m, n, sizeof *out->h_m, "the surface"));
    TRY(sdm_alloc(ctx, &out->flags, n, sizeof *out->flags, "the surface's flags"));
    TRY(sdm_alloc(ctx, &out->score, n, sizeof *out->score, "the surface's scores"));
done:
    if (st != SDM_OK)
        sdm_surface_free(out);
    return st;
}

void sdm_surface_free(SdmSurface *s)
{
    sdm_free(&s->h_m);
    sdm_free(&s->flags);
    sdm_free(&s->score);
}

/* Clamp an absolute index of the coarser level to its window. */
static int64_t inside(int64_t at, int64_t first, int count)
{
    const int64_t i = at - first;
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

void sdm_surface_refine(SdmContext *ctx, const SdmSurface *coarse, SdmSurface *fine)
{
    const SdmWindow *const c = &coarse->win, *const f = &fine->win;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int j = 0; j < f->h; j++) {
        const int64_t v = f->v0 + j, jv = (v - 1) >> 1; /* centre at (v - 0.5) / 2 of the coarser level */
        const float fy = v & 1 ? 0.25f : 0.75f;
        const float *const r0 = coarse->h_m + inside(jv, c->v0, c->h) * c->w;
        const float *const r1 = coarse->h_m + inside(jv + 1, c->v0, c->h) * c->w;
        float *const out = fine->h_m + (size_t)j * (size_t)f->w;
        for (int i = 0; i < f->w; i++) {
            const int64_t u = f->u0 + i, iu = (u - 1) >> 1;
            const float fx = u & 1 ? 0.25f : 0.75f;
            const int64_t a = inside(iu, c->u0, c->w), b = inside(iu + 1, c->u0, c->w);
            const float top = r0[a] + fx * (r0[b] - r0[a]), low = r1[a] + fx * (r1[b] - r1[a]);
            out[i] = top + fy * (low - top);
        }
    }
}

void sdm_surface_median(SdmContext *ctx, const SdmKernels *k, const SdmSurface *s, const float *in, float *out)
{
    const int w = s->win.w, h = s->win.h;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < h; y++) {
        const float *row[3];
        const uint16_t *flags[3];
        for (int j = 0; j < 3; j++) {
            const int yy = y + j - 1 < 0 ? 0 : y + j - 1 >= h ? h - 1 : y + j - 1;
            row[j] = in + (size_t)yy * (size_t)w;
            flags[j] = s->flags + (size_t)yy * (size_t)w;
        }
        k->median_row(row, flags, w, out + (size_t)y * (size_t)w);
    }
}

/* Change of a row since the prior; NaN where there is no match. */
static void change_row(const SdmSurface *s, const float *prior, int y, float *restrict out)
{
    const size_t at = (size_t)y * (size_t)s->win.w;
    const float *restrict const h = s->h_m + at, *restrict const p = prior + at;
    const uint16_t *restrict const f = s->flags + at;
    for (int x = 0; x < s->win.w; x++)
        out[x] = f[x] & SDM_QA_VALID ? h[x] - p[x] : NAN;
}

static void judge_row(const SdmKernels *k, const SdmSurface *s, int y, int half, float tol_m, int least, const float *ring,
                      uint8_t *count, uint16_t *new_flags)
{
    const int w = s->win.w, side = 2 * half + 1;
    const size_t at = (size_t)y * (size_t)w;
    const float *row[MAX_SIDE];
    for (int j = 0; j < side; j++) {
        const int yy = y + j - half;
        row[j] = yy >= 0 && yy < s->win.h ? ring + (size_t)(yy % side) * (size_t)w : NULL;
    }
    k->agree_row(row, half, w, tol_m, count);
    for (int x = 0; x < w; x++) {
        const uint16_t f = s->flags[at + (size_t)x];
        new_flags[at + (size_t)x] = (f & SDM_QA_VALID) && count[x] < least ?
                                        (uint16_t)((f & ~SDM_QA_VALID) | SDM_QA_ISOLATED) : f;
    }
}

SdmStatus sdm_surface_reject(SdmContext *ctx, const SdmKernels *k, const SdmSurface *s, const float *prior, int half,
                             float tol_m, float share, uint16_t *new_flags)
{
    SdmStatus st = SDM_OK;
    const int w = s->win.w, h = s->win.h, side = 2 * half + 1, threads = sdm_threads(ctx);
    const int least = (int)ceilf(share * (float)(side * side));
    float *ring = NULL; /* of each thread: `side` rows of changes */
    uint8_t *counts = NULL;
    TRY(sdm_alloc(ctx, &ring, (size_t)threads * (size_t)side * (size_t)w, sizeof *ring, "changes of the surface"));
    TRY(sdm_alloc(ctx, &counts, (size_t)threads * (size_t)w, 1, "agreeing neighbours"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        float *const mine = ring + (size_t)t * (size_t)side * (size_t)w;
        uint8_t *const count = counts + (size_t)t * (size_t)w;
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        for (int y = y0 - half > 0 ? y0 - half : 0; y < y1 + half && y < h; y++) {
            change_row(s, prior, y, mine + (size_t)(y % side) * (size_t)w);
            if (y - half >= y0)
                judge_row(k, s, y - half, half, tol_m, least, mine, count, new_flags);
        }
        for (int y = h - half > y0 ? h - half : y0; y < y1; y++) /* the last rows have no rows below */
            judge_row(k, s, y, half, tol_m, least, mine, count, new_flags);
    }
done:
    sdm_free(&ring);
    sdm_free(&counts);
    return st;
}

typedef struct Box { /* running sums of a box over columns */
    int64_t *sum;
    int32_t *count;
} Box;

static void box_add(const SdmSurface *s, const float *prior, int y, int sign, const Box *b)
{
    if (y < 0 || y >= s->win.h)
        return;
    const size_t row = (size_t)y * (size_t)s->win.w;
    for (int x = 0; x < s->win.w; x++) {
        const int ok = s->flags[row + (size_t)x] & SDM_QA_VALID;
        const float c = (s->h_m[row + (size_t)x] - prior[row + (size_t)x]) * 64.0f;
        b->sum[x] += ok ? sign * (int64_t)(int32_t)floorf(c + 0.5f) : 0;
        b->count[x] += ok ? sign : 0;
    }
}

static void fill_row(const SdmSurface *s, const float *prior, int y, int half, int least, const Box *b, float *out,
                     uint8_t *filled)
{
    const int w = s->win.w;
    const size_t row = (size_t)y * (size_t)w;
    int64_t sum = 0;
    int32_t n = 0;
    for (int x = -half; x < w; x++) {
        if (x + half < w) {
            sum += b->sum[x + half];
            n += b->count[x + half];
        }
        if (x - half - 1 >= 0) {
            sum -= b->sum[x - half - 1];
            n -= b->count[x - half - 1];
        }
        if (x < 0)
            continue;
        const size_t at = row + (size_t)x;
        const bool valid = s->flags[at] & SDM_QA_VALID, can = !valid && n >= least;
        out[at] = valid ? s->h_m[at] : can ? prior[at] + (float)((double)sum / n) * 0.015625f : prior[at];
        if (filled)
            filled[at] = can;
    }
}

SdmStatus sdm_surface_fill(SdmContext *ctx, SdmSurface *s, const float *prior, int half, int least, uint8_t *filled)
{
    SdmStatus st = SDM_OK;
    const int w = s->win.w, h = s->win.h, threads = sdm_threads(ctx);
    float *out = NULL;
    int64_t *sums = NULL;
    int32_t *counts = NULL;
    TRY(sdm_alloc(ctx, &out, (size_t)w * (size_t)h, sizeof *out, "the filled surface"));
    TRY(sdm_alloc(ctx, &sums, (size_t)w * (size_t)threads, sizeof *sums, "fill sums"));
    TRY(sdm_alloc(ctx, &counts, (size_t)w * (size_t)threads, sizeof *counts, "fill counts"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        const Box b = {sums + (size_t)w * (size_t)t, counts + (size_t)w * (size_t)t};
        const int y0 = (int)((int64_t)h * t / threads), y1 = (int)((int64_t)h * (t + 1) / threads);
        for (int y = y0 - half; y < y0 + half; y++)
            box_add(s, prior, y, 1, &b);
        for (int y = y0; y < y1; y++) {
            box_add(s, prior, y + half, 1, &b);
            fill_row(s, prior, y, half, least, &b, out, filled);
            box_add(s, prior, y - half, -1, &b);
        }
    }
    sdm_free(&s->h_m);
    s->h_m = out;
    out = NULL;
done:
    sdm_free(&out);
    sdm_free(&sums);
    sdm_free(&counts);
    return st;
}

SdmStatus sdm_surface_smooth(SdmContext *ctx, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const int w = s->win.w, h = s->win.h;
    float *out = NULL;
    TRY(sdm_alloc(ctx, &out, (size_t)w * (size_t)h, sizeof *out, "the smoothed surface"));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < h; y++) {
        const float *const m = s->h_m + (size_t)y * (size_t)w, *const a = y > 0 ? m - w : m, *const b = y + 1 < h ? m + w : m;
        float *const o = out + (size_t)y * (size_t)w;
        for (int x = 0; x < w; x++) {
            const int l = x > 0 ? x - 1 : x, r = x + 1 < w ? x + 1 : x;
            const float p = a[l] + 2.0f * m[l] + b[l], q = a[x] + 2.0f * m[x] + b[x], t = a[r] + 2.0f * m[r] + b[r];
            o[x] = (p + 2.0f * q + t) * 0.0625f;
        }
    }
    sdm_free(&s->h_m);
    s->h_m = out;
done:
    return st;
}
