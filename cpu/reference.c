/* The definition of the kernels of kernels.h, written from their descriptions: no recursion, no tables of
 * sums, nothing shared with the copies that are compared with it, never tuned.  Resampling and filters;
 * costs and picks are in reference_costs.c and reference_pick.c.  Verified by tests/core/test_reference.c
 * and test_reference_rows.c. */
// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <math.h>

enum { ONE = 16384 };

/* ---- resampling ---- */

/* floor(a / b + 1/2), b > 0 */
static int64_t round_half_up(int64_t a, int64_t b)
{
    const int64_t num = 2 * a + b, den = 2 * b;
    return num >= 0 ? num / den : -((den - 1 - num) / den);
}

/* Position along one axis in 1/256 px from the cell's origin, kept within +-8e6. */
static int32_t position(const SdmWarpCell *cell, int axis, float f, float t)
{
    const float *const l = cell->begin + 4 * axis, *const c = cell->change + 4 * axis;
    const float p = (l[0] + f * c[0]) + t * ((l[1] + f * c[1]) + t * (l[2] + f * c[2]));
    return (int32_t)floorf(fminf(fmaxf(p + 0.5f, -8e6f), 8e6f));
}

static int16_t sample(const SdmWarpRow *in, int64_t col256, int64_t row256)
{
    const int px = (int)(col256 & 255), py = (int)(row256 & 255);
    const int64_t col = (col256 - px) / 256, row = (row256 - py) / 256;
    int64_t sum = 0;
    for (int j = 0; j < 4; j++) {
        int64_t line = 0;
        for (int i = 0; i < 4; i++) {
            const int64_t x = col - 1 + i, y = row - 1 + j;
            if (x < 0 || y < 0 || x >= in->source_width || y >= in->source_height)
                return SDM_PIXEL_NODATA;
            const int16_t v = in->source[y * in->source_stride + x];
            if (v == SDM_PIXEL_NODATA)
                return SDM_PIXEL_NODATA;
            line += (int64_t)v * sdm_cubic_weights[px][i];
        }
        sum += round_half_up(line, ONE / 8) * sdm_cubic_weights[py][j]; /* lines keep three fractional bits */
    }
    const int64_t value = round_half_up(sum, (int64_t)8 * ONE);
    return (int16_t)(value > 2047 ? 2047 : value < -2047 ? -2047 : value);
}

static void warp_row_reference(const SdmWarpRow *in, int16_t *out)
{
    for (int x = 0; x < in->width; x++) {
        int c = 0;
        while (c + 1 < in->cell_count && in->cell_begin[c + 1] <= x)
            c++;
        const SdmWarpCell *const cell = &in->cells[c];
        const float f = in->fraction[x], t = in->surface_m ? in->surface_m[x] - in->height0_m : 0.0f;
        const int64_t col = (int64_t)cell->origin_col - in->source_col0;
        const int64_t row = (int64_t)cell->origin_row - in->source_row0;
        out[x] = sample(in, col * 256 + position(cell, 0, f, t), row * 256 + position(cell, 1, f, t));
    }
}

static void half_row_reference(const int16_t *const src[4], int width, int16_t *out)
{
    static const int weight[4] = {1, 3, 3, 1};
    for (int x = 0; x < width; x++) {
        int64_t sum = 0, have = 0;
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 4; i++)
                if (src[j][2 * x - 1 + i] != SDM_PIXEL_NODATA) {
                    sum += weight[j] * weight[i] * src[j][2 * x - 1 + i];
                    have += weight[j] * weight[i];
                }
        out[x] = have > 32 ? (int16_t)round_half_up(sum, have) : (int16_t)SDM_PIXEL_NODATA;
    }
}

/* ---- filters ---- */

/* Median of n values, the mean of the middle two of an even number; v is sorted on return. */
static float middle(float *v, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && v[j] < v[j - 1]; j--) {
            const float t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
    return n % 2 ? v[n / 2] : 0.5f * (v[n / 2 - 1] + v[n / 2]);
}

static void median_row_reference(const float *const row[3], const uint16_t *const valid[3], int width,
                                 float *out)
{
    for (int x = 0; x < width; x++) {
        float v[9];
        int n = 0;
        for (int j = 0; j < 3; j++)
            for (int i = x - 1; i <= x + 1; i++)
                if (i >= 0 && i < width && (valid[j][i] & 1))
                    v[n++] = row[j][i];
        const bool inside = x > 0 && x < width - 1;
        out[x] = inside && (valid[1][x] & 1) && n >= 5 ? middle(v, n) : row[1][x];
    }
}

static float clamp(float v, float lo, float hi)
{
    return fminf(fmaxf(v, lo), hi);
}

static void change_row_reference(const float *h_m, const float *prior_m, const uint16_t *valid, int width,
                                 float unit_m, int16_t *out)
{
    for (int x = 0; x < width; x++) {
        const float c = floorf(clamp((h_m[x] - prior_m[x]) * (256.0f / unit_m) + 0.5f, -16000.0f, 16000.0f));
        out[x] = (valid[x] & 1) != 0 ? (int16_t)c : SDM_CHANGE_NONE;
    }
}

static void agree_row_reference(const int16_t *const *row, int half, int width, uint8_t *count)
{
    for (int x = 0; x < width; x++) {
        count[x] = 0;
        for (int j = 0; j <= 2 * half; j++)
            for (int i = x - half; i <= x + half; i++) {
                if (row[j] == NULL || i < 0 || i >= width)
                    continue;
                const int a = row[half][x], b = row[j][i];
                if (a != SDM_CHANGE_NONE && b != SDM_CHANGE_NONE && a - b <= 256 && b - a <= 256)
                    count[x]++;
            }
    }
}

static void add_changes_reference(const float *h_m, const float *prior_m, const uint16_t *valid, int width,
                                  int sign, int32_t *sum, int32_t *count)
{
    for (int x = 0; x < width; x++)
        if ((valid[x] & 1) != 0) {
            const float c = clamp((h_m[x] - prior_m[x]) * 64.0f + 0.5f, -960000.0f, 960000.0f);
            sum[x] += sign * (int32_t)floorf(c);
            count[x] += sign;
        }
}

static void ray_error_row_reference(const float *const score[3], int width, float *ray_error_v,
                                    uint8_t *quality)
{
    for (int x = 0; x < width; x++) {
        const float before = score[0][x], at = score[1][x], after = score[2][x],
                    bend = before - 2.0f * at + after;
        const bool peak = at > 0.0f && bend < -0.06f;
        const bool all = before > SDM_SCORE_NONE && at > SDM_SCORE_NONE && after > SDM_SCORE_NONE;
        ray_error_v[x] = NAN;
        if (all && peak)
            ray_error_v[x] = clamp(0.5f * (before - after) / bend, -2.0f, 2.0f);
        else if (all && at < 0.7f)
            ray_error_v[x] = 2.0f;
        quality[x] = at > 0.0f ? (uint8_t)(at * 250.0f + 0.5f) : 0;
    }
}

static void refine_row_reference(const float *upper, const float *lower, float share_low, int pairs,
                                 float *out)
{
    for (int i = 0; i < 2 * pairs; i++) {
        const float share = i % 2 ? 0.75f : 0.25f;
        const float top = upper[i / 2] + share * (upper[i / 2 + 1] - upper[i / 2]);
        const float low = lower[i / 2] + share * (lower[i / 2 + 1] - lower[i / 2]);
        out[i] = top + share_low * (low - top);
    }
}

static int32_t half_up(float x)
{
    return (int32_t)floorf(x + 0.5f);
}

static void ground_points_reference(const SdmGroundRow *r, int count, SdmSpreadPoint *out)
{
    for (int i = 0; i < count; i++) {
        const float fu = (float)(r->u + i) * r->inv, fv = (float)r->v * r->inv, t = r->h_m[i] - r->height0_m;
        const float error = isnan(r->ray_error_px[i]) ? 0.0f : fabsf(r->ray_error_px[i]);
        int32_t at[2];
        for (int k = 0; k < 2; k++) {
            const float *const a = r->a[k];
            const float top = a[0] + fu * (a[1] - a[0]), low = a[2] + fu * (a[3] - a[2]);
            at[k] = half_up(((top + fv * (low - top)) + t * (r->b[k] + t * r->c[k])) * 256.0f) + r->corner[k];
        }
        out[i] = (SdmSpreadPoint){.x = at[0], .y = at[1]};
        if (r->flags[i] & r->valid) {
            const int32_t h = half_up(r->h_m[i] * 256.0f);
            const int32_t value[6] = {
                1, h, h - r->middle, r->score[i], half_up(error * 1024.0f), (r->flags[i] & r->filled) != 0};
            for (int k = 0; k < 6; k++)
                out[i].value[k] = value[k];
        }
        if (r->left[i] != SDM_PIXEL_NODATA) {
            out[i].value[6] = 1;
            out[i].value[7] = r->left[i];
        }
    }
}

static void spread_points_reference(const SdmSpread *s, const SdmSpreadPoint *points, int count)
{
    for (int row = 0; row < s->rows; row++)
        for (int col = 0; col < s->cols; col++)
            for (int n = 0; n < count; n++) {
                const SdmSpreadPoint *const p = &points[n];
                const int64_t dx = col * 256 + 128 - p->x, dy = row * 256 + 128 - p->y;
                if (dx > s->radius || dx < -s->radius || dy > s->radius || dy < -s->radius)
                    continue;
                const int64_t weight =
                    (int64_t)s->table[dx < 0 ? -dx : dx] * s->table[dy < 0 ? -dy : dy] / 1024;
                int64_t *const c = s->cell + 8 * ((ptrdiff_t)row * s->pitch + col);
                for (int k = 0; k < 8; k++)
                    c[k] += weight * (k == 2 ? ((int64_t)p->value[k] * p->value[k] + 128) >> 8 : p->value[k]);
            }
}

static void smooth_row_reference(const float *const row[3], int width, float *out)
{
    for (int x = 0; x < width; x++) {
        float column[3]; /* at x - 1, x, x + 1 */
        for (int i = 0; i < 3; i++) {
            const int at = x + i - 1 < 0 ? 0 : x + i - 1 >= width ? width - 1 : x + i - 1;
            column[i] = row[0][at] + 2.0f * row[1][at] + row[2][at];
        }
        out[x] = (column[0] + 2.0f * column[1] + column[2]) * 0.0625f;
    }
}

/* ---- Wiener filter ---- */

static int column_at(int x, int width)
{
    return x < 0 ? 0 : x >= width ? width - 1 : x;
}

static float five_taps(const float v[5])
{
    return (((v[0] + v[4]) + 4.0f * (v[1] + v[3])) + 6.0f * v[2]) * 0.0625f;
}

static void blur_row_reference(const float *const row[5], int width, int step, float *out)
{
    for (int x = 0; x < width; x++) {
        float across[5];
        for (int i = 0; i < 5; i++) {
            float down[5];
            for (int j = 0; j < 5; j++)
                down[j] = row[j][column_at(x + (i - 2) * step, width)];
            across[i] = five_taps(down);
        }
        out[x] = five_taps(across);
    }
}

static int32_t noise_reference(const SdmNoiseRow *in, int x)
{
    int32_t sum = 0, squares = 0, rises = 0;
    if (!(in->valid[x] & 1) || x < 3 || x + 3 >= in->width)
        return 0;
    for (int j = 0; j < 5; j++)
        for (int i = x - 3; i <= x + 3; i++)
            if (in->left[j][i] == SDM_PIXEL_NODATA)
                return 0;
    for (int j = 0; j < 5; j++)
        for (int i = x - 2; i <= x + 2; i++) {
            const int32_t v = in->left[j][i], rise = in->left[j][i + 1] - in->left[j][i - 1];
            sum += v;
            squares += v * v;
            rises += rise * rise;
        }
    const float v = (float)squares - (float)sum * (float)sum * 0.04f, g = (float)(rises > 1 ? rises : 1);
    const float noise = in->ratio[in->score[x]] * v / (3.0f * g) * 1048576.0f;
    return (int32_t)fminf(fmaxf(noise, 0.0f), (float)SDM_NOISE_MOST);
}

static void noise_row_reference(const SdmNoiseRow *in, int32_t *out)
{
    for (int x = 0; x < in->width; x++)
        out[x] = noise_reference(in, x);
}

static void square_row_reference(const float *a, const float *b, const uint16_t *valid, int width,
                                 float scale, int32_t *out)
{
    for (int x = 0; x < width; x++) {
        const int32_t d = (int32_t)fminf(fmaxf((a[x] - b[x]) * scale, -4000.0f), 4000.0f);
        out[x] = valid[x] & 1 ? d * d : 0;
    }
}

static void wiener_row_reference(const SdmWienerRow *in, float *out)
{
    for (int x = 0; x < in->width; x++) {
        const float noise = in->share * (float)in->noise[x];
        float g[2];
        for (int k = 0; k < 2; k++) {
            const float e = (float)in->energy[k][x];
            g[k] = e > noise ? in->gain[k] * (1.0f - noise / e) : 0.0f;
        }
        out[x] = (in->low[x] + g[1] * (in->middle[x] - in->low[x])) + g[0] * (in->high[x] - in->middle[x]);
    }
}

const SdmKernels sdm_kernels_reference = {
    .cost_scratch = sdm_reference_cost_scratch,
    .zncc = sdm_reference_zncc,
    .census = sdm_reference_census,
    .warp_row = warp_row_reference,
    .half_row = half_row_reference,
    .pick_row = sdm_reference_pick_row,
    .update_row = sdm_reference_update_row,
    .median_row = median_row_reference,
    .change_row = change_row_reference,
    .agree_row = agree_row_reference,
    .add_changes = add_changes_reference,
    .ray_error_row = ray_error_row_reference,
    .refine_row = refine_row_reference,
    .ground_points = ground_points_reference,
    .spread_points = spread_points_reference,
    .smooth_row = smooth_row_reference,
    .blur_row = blur_row_reference,
    .noise_row = noise_row_reference,
    .square_row = square_row_reference,
    .wiener_row = wiener_row_reference,
};
