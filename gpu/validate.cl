/* Validation of a window at full resolution, as src/matching/validation.c: which heights and which filled
 * holes are accepted. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"
#include "../src/matching/point_formulas.h"

#define ERROR_HALF 5
#define ERROR_UNIT 1024.0f

/* |error| up to a pixel in 1/1024 px, 0 where it is not known. */
FUNCTION int error_size(float error)
{
    const float size = error < 0.0f ? -error : error;
    return size >= 0.0f ? (int)((size < 1.0f ? size : 1.0f) * ERROR_UNIT) : 0;
}

/* Row y of a column, if there is such a row, enters sums of |error| and of known ones, or leaves them. */
FUNCTION void add_error(GLOBAL const float *error, int x, int y, int w, int h, int sign, int *sum, int *count)
{
    if (y >= 0 && y < h) {
        const float g = error[(long)y * w + x];
        *sum += sign * error_size(g);
        *count += g == g ? sign : 0;
    }
}

/* Over the rows y - ERROR_HALF .. y + ERROR_HALF of each column: sums of |error|, and the number of known
 * ones. An item has `rows` rows of a column. */
KERNEL ANY_GROUP
ray_error_columns(GLOBAL const float *error, int w, int h, int rows, GLOBAL int *sum, GLOBAL ushort *count)
{
    const int x = PLACE(0), y0 = GROUP(1) * rows, y1 = y0 + rows < h ? y0 + rows : h;
    int s = 0, n = 0;
    if (x >= w)
        return;
    NO_UNROLL for (int y = y0 - ERROR_HALF; y < y0 + ERROR_HALF; y++)
        add_error(error, x, y, w, h, 1, &s, &n);
    if (y0 >= ERROR_HALF && y1 + ERROR_HALF <= h) { /* all rows are there */
        GLOBAL const float *from = error + (long)y0 * w + x;
        const int far = ERROR_HALF * w;
        const long first = (long)y0 * w + x;
        NO_UNROLL for (int y = 0; y < y1 - y0; y++, from += w) {
            const float in = from[far], gone = from[-far];
            s += error_size(in);
            n += in == in;
            sum[first + y * w] = s;
            count[first + y * w] = (ushort)n;
            s -= error_size(gone);
            n -= gone == gone;
        }
        return;
    }
    NO_UNROLL for (int y = y0; y < y1; y++) {
        const long out = (long)y * w + x;
        add_error(error, x, y + ERROR_HALF, w, h, 1, &s, &n);
        sum[out] = s;
        count[out] = (ushort)n;
        add_error(error, x, y - ERROR_HALF, w, h, -1, &s, &n);
    }
}

/* Place of a pixel in the terrain mask; -1: beyond it. */
FUNCTION int terrain_at(int x, int y, int u0, int v0, int level, int terrain_w, int terrain_h)
{
    const int u = (u0 + x) >> level, v = (v0 + y) >> level;
    return u < terrain_w && v < terrain_h ? v * terrain_w + u : -1;
}

/* Data that validate a pixel, besides its ray intersection errors. */
typedef struct Validation {
    GLOBAL const float *h_m, *terrain_m;
    GLOBAL const ushort *distance_px;
    int u0, v0, level, terrain_w, terrain_h, min_score;
    float limit, pixel_m;
} Validation;

/* The flags of a valid pixel; sum, count: of the ray intersection errors around. */
FUNCTION ushort validated(const Validation *v, int x, int y, long i, int sum, int count, int score,
                          ushort old)
{
    const ushort flags = (ushort)(score < v->min_score                   ? QA_LOW_SCORE
                                  : (float)sum > v->limit * (float)count ? QA_RAY_ERROR
                                                                         : old);
    if (!v->terrain_m)
        return flags;
    const int at = terrain_at(x, y, v->u0, v->v0, v->level, v->terrain_w, v->terrain_h);
    const float most = at >= 0 ? sdm_terrain_limit((float)v->distance_px[at], v->pixel_m) : -1.0f;
    return (ushort)(FABS(v->h_m[i] - v->terrain_m[at >= 0 ? at : 0]) <= most ? flags : QA_ISOLATED);
}

#define VALIDATE_PIXELS 4 /* neighbours of a row that an item has: VALIDATE_PIXELS of gpu/device_ops.c */

/* Flags and scores from the ray intersection errors, the scores over the larger window (score0) and the
 * terrain (terrain_m, distance_px; null: there is none).  limit: mean error, 1/1024 px. */
KERNEL ANY_GROUP
validate(GLOBAL const float *error, GLOBAL const int *sum, GLOBAL const ushort *count,
         GLOBAL const uchar *score0, GLOBAL const float *h_m, int w, int h, int min_score, float limit,
         GLOBAL const float *terrain_m, GLOBAL const ushort *distance_px, int u0, int v0, int level,
         int terrain_w, int terrain_h, float pixel_m, GLOBAL ushort *flags, GLOBAL uchar *score)
{
    const int x0 = PLACE(0) * VALIDATE_PIXELS, y = PLACE(1);
    const Validation v = {h_m,       terrain_m, distance_px, u0,    v0,     level,
                          terrain_w, terrain_h, min_score,   limit, pixel_m};
    const long row = (long)y * w;
    int s = 0, n = 0;
    if (x0 >= w || y >= h)
        return;
    UNROLL for (int k = -ERROR_HALF; k < ERROR_HALF; k++)
        if (x0 + k >= 0 && x0 + k < w) {
            s += sum[row + x0 + k];
            n += count[row + x0 + k];
        }
    NO_UNROLL for (int x = x0; x < x0 + VALIDATE_PIXELS && x < w; x++) {
        const long i = row + x;
        if (x + ERROR_HALF < w) {
            s += sum[i + ERROR_HALF];
            n += count[i + ERROR_HALF];
        }
        if (error[i] == error[i])
            score[i] = score0[i];
        if (flags[i] & QA_VALID)
            flags[i] = validated(&v, x, y, i, s, n, score[i], flags[i]);
        if (x >= ERROR_HALF) {
            s -= sum[i - ERROR_HALF];
            n -= count[i - ERROR_HALF];
        }
    }
}

/* Data that decide whether filled heights are accepted, as Filling of src/matching/validation.c. */
typedef struct Filling {
    GLOBAL const uchar *filled;
    GLOBAL const ushort *flags, *distance_px;
    int w, h, u0, v0, level, terrain_w, terrain_h;
} Filling;

FUNCTION bool can_fill(const Filling *f, int x, int y)
{
    const long i = (long)y * f->w + x;
    if (!f->filled[i] || (f->flags[i] & (QA_OUTSIDE | QA_SATURATED | QA_MASKED | QA_VALID)))
        return false;
    if (!f->distance_px)
        return true;
    const int at = terrain_at(x, y, f->u0, f->v0, f->level, f->terrain_w, f->terrain_h);
    return at >= 0 && f->distance_px[at] == 0;
}

/* The least-squares plane through the heights around is within the limit: is_gentle() there. */
FUNCTION bool is_gentle(const Filling *f, GLOBAL const float *h_m, int x, int y, float rise_m, float slant_u,
                        float slant_v)
{
    const float own = h_m[(long)y * f->w + x];
    SdmSlopeSums sums = {0, 0, 0, 0, 0, 0, 0.0f, 0.0f, 0.0f};
    NO_UNROLL for (int j = -SDM_SLOPE_HALF; j <= SDM_SLOPE_HALF; j++)
        NO_UNROLL for (int i = -SDM_SLOPE_HALF; i <= SDM_SLOPE_HALF; i++) {
            const long at = (long)(y + j) * f->w + x + i;
            if (x + i < 0 || x + i >= f->w || y + j < 0 || y + j >= f->h ||
                (!(f->flags[at] & QA_VALID) && !can_fill(f, x + i, y + j)))
                continue;
            sdm_slope_add(&sums, i, j, h_m[at] - own);
        }
    return sdm_slope_within(&sums, rise_m, slant_u, slant_v);
}

/* all_gentle() there. */
FUNCTION bool all_gentle(const Filling *f, GLOBAL const float *h_m, int x, int y, float rise_m, float slant_u,
                         float slant_v)
{
    NO_UNROLL for (int j = y - SDM_STEEP_HALF; j <= y + SDM_STEEP_HALF; j++)
        NO_UNROLL for (int i = x - SDM_STEEP_HALF; i <= x + SDM_STEEP_HALF; i++)
            if (i >= 0 && i < f->w && j >= 0 && j < f->h && can_fill(f, i, j) &&
                !is_gentle(f, h_m, i, j, rise_m, slant_u, slant_v))
                return false;
    return true;
}

/* Filled pixels that both views see, over terrain and gentle, become valid and filled in `out`; the others
 * keep their flags, those that are too steep with QA_FILLED.  limited 0: however steep they are. */
KERNEL ANY_GROUP_WIDE
accept_filled(GLOBAL const uchar *filled, int w, int h, GLOBAL const ushort *distance_px, int u0, int v0,
              int level, int terrain_w, int terrain_h, GLOBAL const float *h_m, GLOBAL const ushort *flags,
              int limited, float rise_m, float slant_u, float slant_v, GLOBAL ushort *out)
{
    const int x = PLACE(0), y = PLACE(1);
    const Filling f = {filled, flags, distance_px, w, h, u0, v0, level, terrain_w, terrain_h};
    if (x >= w || y >= h)
        return;
    const long i = (long)y * w + x;
    const ushort old = flags[i];
    const bool can = can_fill(&f, x, y),
               gentle = can && (!limited || all_gentle(&f, h_m, x, y, rise_m, slant_u, slant_v));
    out[i] = (ushort)(gentle ? QA_VALID | QA_FILLED : can ? old | QA_FILLED : old);
}
