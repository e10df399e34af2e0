/* What the cost kernels share: scratch of a strip, rows with nodata as 0, window sums.  Included by
 * kernel_*.c only. */
#ifndef SDM_COST_ROWS_H
#define SDM_COST_ROWS_H

#include "kernels.h"

#include <math.h>
#include <string.h>

typedef struct CostScratch {
    ptrdiff_t pitch;          /* elements of a row of width pixels, a multiple of 64 bytes */
    int32_t *stat[6];         /* column sums of left and right */
    int32_t *sum[2];          /* window sums of left and right */
    float *texture[2];
    int32_t *temp;            /* 2 rows */
    int16_t *clean[4], *zero; /* rows with nodata as 0: left in, right in, left out, right out */
    int16_t *nodata;          /* a row of nodata */
    const int16_t *raw[4];    /* the same rows as they are in the image */
    uint64_t *word[4];        /* census words of the rows in `clean` */
    int32_t *column;          /* (dmax - dmin + 1) rows of column sums */
    float *score;             /* (dmax - dmin + 1) rows */
} CostScratch;

static inline ptrdiff_t cost_pitch(int width)
{
    return ((ptrdiff_t)width + 15) / 16 * 16;
}

/* Bytes of the arrays that cost_scratch_cut() lays out. */
static inline size_t cost_scratch_bytes(int width, int dmin, int dmax)
{
    const size_t nd = (size_t)(dmax - dmin + 1);
    return (size_t)cost_pitch(width) * (14 * 4 + 6 * 4 + 4 * 8 + 8 * nd) + 64;
}

static inline void *cost_take(char **at, size_t bytes)
{
    void *const p = *at;
    *at += bytes;
    return p;
}

static inline void cost_scratch_cut(CostScratch *s, const SdmCostJob *job)
{
    const ptrdiff_t p = s->pitch = cost_pitch(job->width);
    const size_t n = (size_t)p, nd = (size_t)(job->dmax - job->dmin + 1);
    char *at = job->scratch;
    memset(at, 0, cost_scratch_bytes(job->width, job->dmin, job->dmax));
    for (int i = 0; i < 6; i++)
        s->stat[i] = cost_take(&at, 4 * n);
    for (int i = 0; i < 2; i++)
        s->sum[i] = cost_take(&at, 4 * n);
    for (int i = 0; i < 2; i++)
        s->texture[i] = cost_take(&at, 4 * n);
    s->temp = cost_take(&at, 4 * 4 * n);
    for (int i = 0; i < 4; i++)
        s->clean[i] = cost_take(&at, 4 * n);
    s->zero = cost_take(&at, 4 * n);
    s->nodata = cost_take(&at, 4 * n);
    for (int i = 0; i < 4; i++)
        s->word[i] = cost_take(&at, 8 * n);
    s->column = cost_take(&at, 4 * n * nd);
    s->score = cost_take(&at, 4 * n * nd);
    for (ptrdiff_t x = 0; x < p; x++)
        s->nodata[x] = SDM_PIXEL_NODATA;
    for (int i = 0; i < 4; i++)
        s->raw[i] = s->nodata;
}

/* Row y of an image (which: 0, 2 = left; 1, 3 = right) with nodata as 0; s->raw[which] is the row as it is.
 */
static inline const int16_t *cost_row(const SdmCostJob *job, CostScratch *s, int y, int which)
{
    const int16_t *const image = which & 1 ? job->right : job->left;
    const int at = which & 1 ? y + job->right_shift : y;
    const int16_t *restrict const raw =
        at >= 0 && at < job->height ? image + (ptrdiff_t)at * job->stride : s->nodata;
    int16_t *restrict const clean = s->clean[which];
    for (int x = 0; x < job->width; x++)
        clean[x] = raw[x] == SDM_PIXEL_NODATA ? (int16_t)0 : raw[x];
    s->raw[which] = raw;
    return clean;
}

static inline void cost_clear(float *score, int width)
{
    for (int x = 0; x < width; x++)
        score[x] = SDM_SCORE_NONE;
}

/* out[x] = sum of in[x - window/2 .. x + window/2]; 0 where the window leaves 0..width-1.  Exact. */
static inline void cost_sum_window(const int32_t *restrict in, int32_t *restrict out, int width, int window)
{
    const int half = window / 2, count = width - window + 1;
    if (count < 1) {
        memset(out, 0, sizeof *out * (size_t)width);
        return;
    }
    memset(out, 0, sizeof *out * (size_t)half);
    int32_t *restrict const mid = out + half;
    for (int x = 0; x < count; x++)
        mid[x] = in[x] + in[x + 1] + in[x + 2];
    for (int i = 3; i + 1 < window; i += 2) {
        const int32_t *restrict const more = in + i;
        for (int x = 0; x < count; x++)
            mid[x] += more[x] + more[x + 1];
    }
    memset(mid + count, 0, sizeof *out * (size_t)half);
}

typedef struct CostStats { /* of one image: column sums over the window's rows */
    int32_t *sum, *squares, *bad;
} CostStats;

static inline void cost_add_stats(const CostStats *s, const int16_t *restrict row, int width, int sign)
{
    int32_t *restrict const sum = s->sum, *restrict const squares = s->squares, *restrict const bad = s->bad;
    for (int x = 0; x < width; x++) {
        const int32_t v = row[x] == SDM_PIXEL_NODATA ? 0 : row[x];
        sum[x] += sign * v;
        squares[x] += sign * v * v;
        bad[x] += sign * (row[x] == SDM_PIXEL_NODATA);
    }
}

/* Window sums and 1 / sqrt(n SII - SI^2): 0 without texture, -1 with nodata inside. */
static inline void cost_finish_stats(const CostStats *s, int width, int window, float min_sigma,
                                     int32_t *scratch, int32_t *restrict sum, float *restrict inverse)
{
    const int half = window / 2, n = window * window;
    int32_t *restrict const squares = scratch, *restrict const bad = scratch + width;
    cost_sum_window(s->sum, sum, width, window);
    cost_sum_window(s->squares, squares, width, window);
    cost_sum_window(s->bad, bad, width, window);
    const float floor_var = min_sigma * min_sigma * (float)n * (float)n;
    for (int x = 0; x < width; x++) {
        const double var = (double)n * (double)squares[x] - (double)sum[x] * (double)sum[x];
        const float v = (float)var;
        const float r = v > floor_var ? 1.0f / sqrtf(v) : 0.0f;
        inverse[x] = bad[x] != 0 ? -1.0f : r;
    }
    for (int x = 0; x < half && x < width; x++)
        inverse[x] = inverse[width - 1 - x] = -1.0f;
}

#endif
