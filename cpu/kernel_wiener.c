/* Blurred surfaces and the noise of their matches -> the surface after a Wiener filter, a row at a time. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <stdbool.h>
#include <string.h>

sdm_blur_row_fn SDM_NAME(blur_row);
sdm_noise_row_fn SDM_NAME(noise_row);
sdm_square_row_fn SDM_NAME(square_row);
sdm_wiener_row_fn SDM_NAME(wiener_row);

enum { BLOCK = 256, HALF = 2, SIDE = 2 * HALF + 1 };

static inline float five(float a, float b, float c, float d, float e)
{
    return (((a + e) + 4.0f * (b + d)) + 6.0f * c) * 0.0625f;
}

/* By itself clang takes four vectors at a time, and leaves more of short rows to their ends than gcc does. */
#ifdef __clang__
#define ONE_BY_ONE _Pragma("clang loop interleave_count(1)")
#else
#define ONE_BY_ONE
#endif

/* A function apart, since loops of few would take registers from the others. */
static __attribute__((noinline)) void fill(float *out, int count, float value)
{
    for (int i = 0; i < count; i++)
        out[i] = value;
}

void SDM_NAME(blur_row)(const float *const row[5], int width, int step, float *restrict out)
{
    const float *restrict const a = row[0], *restrict const b = row[1], *restrict const c = row[2];
    const float *restrict const d = row[3], *restrict const e = row[4];
    _Alignas(64) float column[BLOCK + 4 * 8];
    const int reach = 2 * step;
    for (int x0 = 0; x0 < width; x0 += BLOCK) {
        const int n = width - x0 < BLOCK ? width - x0 : BLOCK, first = x0 - reach, end = x0 + n + reach;
        const int from = first > 0 ? first : 0, to = end < width ? end : width;
        ONE_BY_ONE
        for (int x = from; x < to; x++)
            column[x - first] = five(a[x], b[x], c[x], d[x], e[x]);
        if (first < 0)
            fill(column, -first, column[-first]);
        if (to < end)
            fill(column + to - first, end - to, column[to - 1 - first]);
        const float *restrict const at = column + reach;
        ONE_BY_ONE
        for (int i = 0; i < n; i++)
            out[x0 + i] = five(at[i - reach], at[i - step], at[i], at[i + step], at[i + reach]);
    }
}

/* Sums over five rows of the columns of a block and of two on either side.  A column with a pixel without
 * data has NO_DATA more in `sum`, which sums of the others do not reach. */
enum { NO_DATA = 1 << 20 };
typedef struct NoiseColumns {
    _Alignas(64) int32_t sum[BLOCK + 2 * HALF], square[BLOCK + 2 * HALF], rise[BLOCK + 2 * HALF];
} NoiseColumns;

/* Adds a pixel of a row; in 16 bits, so that compilers make vectors of as many lanes.  Without data it adds
 * what is not used. */
static inline void add_pixel(const int16_t *at, int16_t *sum, int16_t *bad, uint32_t *square, uint32_t *rise)
{
    const int none = (at[0] == SDM_PIXEL_NODATA) | (at[-1] == SDM_PIXEL_NODATA) | (at[1] == SDM_PIXEL_NODATA);
    const int16_t across = (int16_t)(at[1] - at[-1]);
    *sum = (int16_t)(*sum + at[0]);
    *bad |= (int16_t)-none;
    *square += (uint32_t)(at[0] * at[0]);
    *rise += (uint32_t)(across * across);
}

static inline void noise_columns(const SdmNoiseRow *in, int from, int to, int first, NoiseColumns *restrict s)
{
    const int16_t *restrict const a = in->left[0], *restrict const b = in->left[1],
                                  *restrict const c = in->left[2], *restrict const d = in->left[3],
                                  *restrict const e = in->left[4];
    for (int x = from; x < to; x++) {
        int16_t sum = 0, bad = 0;
        uint32_t square = 0, rise = 0;
        add_pixel(a + x, &sum, &bad, &square, &rise);
        add_pixel(b + x, &sum, &bad, &square, &rise);
        add_pixel(c + x, &sum, &bad, &square, &rise);
        add_pixel(d + x, &sum, &bad, &square, &rise);
        add_pixel(e + x, &sum, &bad, &square, &rise);
        s->sum[x - first] = sum + (bad & NO_DATA);
        s->square[x - first] = (int32_t)square & ~bad;
        s->rise[x - first] = (int32_t)rise & ~bad;
    }
}

/* Columns off the row. */
static inline void no_columns(int from, int to, NoiseColumns *s)
{
    for (int i = from; i < to; i++) {
        s->sum[i] = NO_DATA;
        s->square[i] = s->rise[i] = 0;
    }
}

/* The first columns of a block are the last ones of the block before; returns how many. */
static inline int keep_columns(NoiseColumns *s)
{
    const size_t size = 2 * HALF * sizeof *s->sum;
    memcpy(s->sum, s->sum + BLOCK, size);
    memcpy(s->square, s->square + BLOCK, size);
    memcpy(s->rise, s->rise + BLOCK, size);
    return 2 * HALF;
}

static inline int32_t sum_of(const int32_t *v, int i)
{
    return v[i] + v[i + 1] + v[i + 2] + v[i + 3] + v[i + 4];
}

/* Without branches and tables, so that the compiler makes vectors of it. */
static void noise_of_block(const NoiseColumns *restrict s, const float *restrict ratio,
                           const uint16_t *restrict valid, int n, int32_t *restrict out)
{
    for (int i = 0; i < n; i++) {
        const int32_t sum = sum_of(s->sum, i), rise = sum_of(s->rise, i);
        const float all = (float)sum, v = (float)sum_of(s->square, i) - all * all * 0.04f;
        const float g = (float)(rise > 1 ? rise : 1);
        const float noise = ratio[i] * v / (3.0f * g) * 1048576.0f;
        const float least = noise > 0.0f ? noise : 0.0f;
        const float most = least < 1048576.0f ? least : 1048576.0f;
        const int32_t whole = sum < NO_DATA / 2 ? (int32_t)most : 0;
        out[i] = valid[i] & 1 ? whole : 0;
    }
}

void SDM_NAME(noise_row)(const SdmNoiseRow *in, int32_t *restrict out)
{
    NoiseColumns s;
    float ratio[BLOCK];
    for (int x0 = 0; x0 < in->width; x0 += BLOCK) {
        const int n = in->width - x0 < BLOCK ? in->width - x0 : BLOCK, first = x0 - HALF, end = x0 + n + HALF;
        int from = 1;
        const int to = end < in->width - 1 ? end : in->width - 1;
        if (x0 == 0)
            no_columns(0, from - first, &s);
        else
            from = first + keep_columns(&s);
        no_columns(to - first, n + 2 * HALF, &s);
        noise_columns(in, from, to, first, &s);
        for (int i = 0; i < n; i++)
            ratio[i] = in->ratio[in->score[x0 + i]];
        noise_of_block(&s, ratio, in->valid + x0, n, out + x0);
    }
}

void SDM_NAME(square_row)(const float *restrict a, const float *restrict b, const uint16_t *restrict valid,
                          int width, float scale, int32_t *restrict out)
{
    for (int x = 0; x < width; x++) {
        float d = (a[x] - b[x]) * scale;
        d = d > -4000.0f ? d : -4000.0f;
        d = d < 4000.0f ? d : 4000.0f;
        const int32_t q = (int32_t)d;
        out[x] = valid[x] & 1 ? q * q : 0;
    }
}

static inline float shrunk(float noise, int32_t energy, float gain)
{
    const float e = (float)energy;
    return e > noise ? gain * (1.0f - noise / e) : 0.0f;
}

void SDM_NAME(wiener_row)(const SdmWienerRow *in, float *restrict out)
{
    const float *restrict const high = in->high, *restrict const middle = in->middle,
                                *restrict const low = in->low;
    const int32_t *restrict const noise = in->noise, *restrict const first = in->energy[0],
                                  *restrict const second = in->energy[1];
    const float share = in->share, gain0 = in->gain[0], gain1 = in->gain[1];
    for (int x = 0; x < in->width; x++) {
        const float n = share * (float)noise[x];
        const float g0 = shrunk(n, first[x], gain0), g1 = shrunk(n, second[x], gain1);
        out[x] = (low[x] + g1 * (middle[x] - low[x])) + g0 * (high[x] - middle[x]);
    }
}
