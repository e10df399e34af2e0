/* Formulas of single pixels and blocks, and their constants, for C, OpenCL and CUDA: this file is included by
 * the processor's code and by the kernels of gpu, which differ in the walk over the image alone. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_POINT_FORMULAS_H
#define SDM_POINT_FORMULAS_H

#ifdef FUNCTION /* in a kernel: words of gpu/portable.h */
#define SDM_POINT FUNCTION
#define SDM_POINT_SQRT(v) SQRT(v)
#define SDM_POINT_LONG long
#else
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#define SDM_POINT static inline
#define SDM_POINT_SQRT(v) sqrtf(v)
#define SDM_POINT_LONG int64_t
#endif

enum {
    SDM_SLOPE_HALF = 2,  /* of the window that tells how steep a filled height is, px */
    SDM_STEEP_HALF = 2,  /* of the window in which a pixel that is too steep keeps others from being filled,
                           * px */
    SDM_WIENER_HALF = 5, /* of the window of noise and energy, px */
    SDM_LS_BLOCK = 8,    /* px, of a block of statistics; blocks begin at multiples of it in the frame */
    SDM_LS_LEAST = 144,  /* valid px of the 24 x 24 of 3 x 3 blocks: with fewer neither views nor the plate
                           * move the middle one */
    SDM_LS_NOISE_UNIT = 256,       /* of a px of residual */
    SDM_LS_MOST_DIFFERENCE = 4096, /* second difference, in that unit */
    SDM_LS_ROUGH_SHIFT = 4         /* of squares before they are summed: 9 blocks of 64 would not fit */
};

/* ---- terrain ---- */

#define SDM_TERRAIN_STEP_M 80.0f
#define SDM_TERRAIN_FAR_SLOPE 0.15f /* beyond 5 pixels: relief of high mountains over kilometres */
#define SDM_TERRAIN_FAR_M 4000.0f   /* distance from which the limit no longer grows */
#define SDM_TERRAIN_SLOPE 1.43f /* tan 55 deg: steeper slopes appear so after a window of 9 coarse pixels */

/* Largest height difference from the nearest terrain that a pixel at that distance can have, metres. */
SDM_POINT float sdm_terrain_limit(float distance_px, float pixel_m)
{
    const float steep_px = distance_px < 5.0f ? distance_px + 1.0f : 6.0f,
                far_px = distance_px < 5.0f ? 0.0f : distance_px - 5.0f;
    const float far_m = pixel_m * far_px < SDM_TERRAIN_FAR_M ? pixel_m * far_px : SDM_TERRAIN_FAR_M;
    return SDM_TERRAIN_STEP_M + SDM_TERRAIN_SLOPE * pixel_m * steep_px + SDM_TERRAIN_FAR_SLOPE * far_m;
}

/* ---- slope of a plane through heights ---- */

typedef struct SdmSlopeSums {
    int n, u, v, uu, uv, vv;
    float sum, along_u, along_v;
} SdmSlopeSums;

/* Add a height `rise` above the middle pixel, i columns and j rows from it. */
SDM_POINT void sdm_slope_add(SdmSlopeSums *s, int i, int j, float rise)
{
    s->n++;
    s->u += i;
    s->v += j;
    s->uu += i * i;
    s->uv += i * j;
    s->vv += j * j;
    s->sum += rise;
    s->along_u += (float)i * rise;
    s->along_v += (float)j * rise;
}

/* Is the ground's slope within rise_m?  The gradient g of the plane, metres a pixel of the frame, is that of
 * the left view; a pixel's ground moves by `slant` times its height, so the ground's own gradient is
 * g / (1 + slant g).  Both sides are multiplied by the plane's determinant. */
SDM_POINT bool sdm_slope_within(const SdmSlopeSums *s, float rise_m, float slant_u, float slant_v)
{
    const int a = s->n * s->uu - s->u * s->u, b = s->n * s->uv - s->u * s->v, c = s->n * s->vv - s->v * s->v,
              det = a * c - b * b;
    const float p = (float)s->n * s->along_u - (float)s->u * s->sum,
                q = (float)s->n * s->along_v - (float)s->v * s->sum;
    const float du = (float)c * p - (float)b * q, dv = (float)a * q - (float)b * p;
    const float ground = (float)det + slant_u * du + slant_v * dv, most = rise_m * ground;
    return det > 0 && most > 0.0f && du * du + dv * dv <= most * most;
}

/* ---- blocks of the least squares ---- */

/* Sums over the valid pixels of a block: clouds, water and other ground without a match would bias gain,
 * offset and noise. */
typedef struct SdmLsSums {
    SDM_POINT_LONG left, right, left2, right2, product;
    int count, rough, rough_count;
} SdmLsSums;

/* A block's parameters of its pixels; with fewer than SDM_LS_LEAST valid ones around, inverse and lambda are
 * 0. */
typedef struct SdmLsFit {
    float gain, offset, inverse, lambda;
} SdmLsFit;

SDM_POINT float sdm_point_held(float v, float low, float high)
{
    return v < low ? low : v > high ? high : v;
}

/* s: sums of the 3 x 3 blocks about a block, `rough` of squares shifted; own_...: of the block alone.  The
 * offset goes halfway to that of a full block alone: haze at the rim of a cloud changes within a few
 * pixels. */
SDM_POINT SdmLsFit sdm_ls_fit(const SdmLsSums *s, float own_left, float own_right, float own_n)
{
    const float least_noise = 16.0f /* square of a quarter of a digital number */, plate = 0.05f,
                lambda_least = 2.0f, lambda_most = 3000.0f;
    const float n = (float)s->count, /* the fewer pixels of the plate views weigh, the softer it is */
        weighed = (float)(s->count < s->rough_count ? s->count : s->rough_count);
    const float left = (float)(s->count * s->left2 - s->left * s->left),
                right = (float)(s->count * s->right2 - s->right * s->right),
                both = (float)(s->count * s->product - s->left * s->right);
    const float gain =
        left > 0.0f && right > 0.0f ? sdm_point_held(SDM_POINT_SQRT(left / right), 0.25f, 4.0f) : 1.0f;
    const float noise = s->count ? ((left - 2.0f * gain * both) + gain * gain * right) / (n * n) : 0.0f;
    const float offset = s->count ? ((float)s->left - gain * (float)s->right) / n : 0.0f;
    const float unit = (float)(SDM_LS_NOISE_UNIT * SDM_LS_NOISE_UNIT >> SDM_LS_ROUGH_SHIFT);
    const float rough = weighed > 0.0f ? (float)s->rough / (weighed * unit) : 0.0f;
    const float lambda = sdm_point_held(plate / (rough > 1e-6f ? rough : 1e-6f), lambda_least, lambda_most);
    SdmLsFit out;
    out.gain = gain;
    out.offset = offset + ((own_left - gain * own_right) - own_n * offset) /
                              (own_n + (float)(SDM_LS_BLOCK * SDM_LS_BLOCK));
    out.inverse = s->count >= SDM_LS_LEAST ? 1.0f / (noise > least_noise ? noise : least_noise) : 0.0f;
    out.lambda = s->count >= SDM_LS_LEAST ? lambda : 0.0f;
    return out;
}

#endif
