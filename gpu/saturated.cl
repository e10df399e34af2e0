/* Flags of pixels without data -> SATURATED where a view is saturated, as sdm_mark_saturated(): positions in
 * double, as on the processor. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

#ifdef HAVE_DOUBLES
/* Bilinear: c at corners 00 10 01 11. */
FUNCTION double node_between(const double *c, double fu, double fv)
{
    const double top = c[0] + fu * (c[1] - c[0]), low = c[2] + fu * (c[3] - c[2]);
    return top + fv * (low - top);
}

/* Position of one axis in a view's full-resolution image, t metres above height0. */
FUNCTION double node_position(GLOBAL const LatticeNode *n0, int nu, int right, int axis, double fu, double fv,
                              double t)
{
    double c[4];
    UNROLL for (int k = 0; k < 4; k++) {
        GLOBAL const LatticeNode *const n = n0 + (k & 1) + (long)(k >> 1) * nu;
        c[k] = right ? (double)n->right[axis] / 65536.0 +
                           t * ((double)n->right_b[axis] + t * (double)n->right_c[axis])
                     : (double)n->left[axis] / 65536.0;
    }
    return node_between(c, fu, fv);
}

/* One view: where flags say OUTSIDE and the mask (mask_w x mask_h, its first pixel x0, y0 of the image) is
 * set within 3 px of the pixel's place, they say SATURATED.  u, v: of pixel (0, 0) from the first node;
 * height0_m: bits of a double. */
KERNEL ANY_GROUP mark_saturated(GLOBAL const LatticeNode *node, int nu, int nv, int u, int v, int step_log2,
                                long height0_m, int right, GLOBAL const uchar *mask, int x0, int y0,
                                int mask_w, int mask_h, GLOBAL const float *h_m, int w, int h,
                                GLOBAL ushort *flags)
{
    const int x = PLACE(0), y = PLACE(1), step = 1 << step_log2;
    if (x >= w || y >= h)
        return;
    const long at = (long)y * w + x;
    if (!(flags[at] & QA_OUTSIDE))
        return;
    const int i = clamp_index((x + u) >> step_log2, nu - 1), j = clamp_index((y + v) >> step_log2, nv - 1);
    const double fu = (double)(x + u - i * step) / (double)step,
                 fv = (double)(y + v - j * step) / (double)step, t = (double)h_m[at] - AS_DOUBLE(height0_m);
    GLOBAL const LatticeNode *const n = node + (long)j * nu + i;
    const long col = (long)floor(node_position(n, nu, right, 0, fu, fv, t) + 0.5) - x0,
               row = (long)floor(node_position(n, nu, right, 1, fu, fv, t) + 0.5) - y0;
    for (long b = row - 3; b <= row + 3; b++)
        for (long a = col - 3; a <= col + 3; a++)
            if (a >= 0 && b >= 0 && a < mask_w && b < mask_h && mask[b * mask_w + a])
                flags[at] = QA_SATURATED;
}
#endif
