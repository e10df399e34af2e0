/* Flags of pixels whose place in a view has defects, as sdm_mark_defects(): positions in double, as on the
 * processor; pixels that are set aside while others are moved. */
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

#define DEFECT_SATURATED 1
#define DEFECT_FILLED 2
#define DEFECT_BEYOND 4
#define DEFECT_MASKED 8

/* Defects of the pixels of a view, w x h. */
typedef struct Defects {
    GLOBAL const uchar *at;
    int w, h;
} Defects;

/* All defects within `reach` px of (x, y). */
FUNCTION int defects_around(const Defects *d, int x, int y, int reach)
{
    const int x0 = x > reach ? x - reach : 0, x1 = x + reach < d->w ? x + reach : d->w - 1;
    const int y0 = y > reach ? y - reach : 0, y1 = y + reach < d->h ? y + reach : d->h - 1;
    int all = 0;
    NO_UNROLL for (int b = y0; b <= y1; b++)
        NO_UNROLL for (int a = x0; a <= x1; a++)
            all |= d->at[(long)b * d->w + a];
    return all;
}

FUNCTION int judge_place(const Defects *d, int x, int y, int fills, int flags)
{
    const int own = defects_around(d, x, y, 0);
    if (own & DEFECT_MASKED)
        return (flags & QA_VALID) | QA_MASKED;
    if (own & DEFECT_BEYOND)
        return QA_OUTSIDE;
    if (own & DEFECT_FILLED && flags & QA_VALID)
        return fills ? flags | QA_FILLED : QA_OUTSIDE;
    if (!(flags & QA_OUTSIDE))
        return flags;
    return defects_around(d, x, y, 3) & DEFECT_SATURATED ? QA_SATURATED
           : defects_around(d, x, y, 4) & DEFECT_MASKED  ? QA_MASKED
                                                         : flags;
}

/* One view; defect: defect_w x defect_h, its first pixel x0, y0 of the image.  u, v: of pixel (0, 0) from the
 * first node; height0_m: bits of a double; fills: do filled pixels keep their heights? */
KERNEL ANY_GROUP mark_defects(GLOBAL const LatticeNode *node, int nu, int nv, int u, int v, int step_log2,
                              long height0_m, int right, int fills, GLOBAL const uchar *defect, int x0,
                              int y0, int defect_w, int defect_h, GLOBAL const float *h_m, int w, int h,
                              GLOBAL ushort *flags)
{
    const int x = PLACE(0), y = PLACE(1), step = 1 << step_log2;
    const Defects d = {defect, defect_w, defect_h};
    if (x >= w || y >= h)
        return;
    const long at = (long)y * w + x;
    const int i = clamp_index((x + u) >> step_log2, nu - 1), j = clamp_index((y + v) >> step_log2, nv - 1);
    const double fu = (double)(x + u - i * step) / (double)step,
                 fv = (double)(y + v - j * step) / (double)step, t = (double)h_m[at] - AS_DOUBLE(height0_m);
    GLOBAL const LatticeNode *const n = node + (long)j * nu + i;
    const int col = (int)floor(node_position(n, nu, right, 0, fu, fv, t) + 0.5) - x0,
              row = (int)floor(node_position(n, nu, right, 1, fu, fv, t) + 0.5) - y0;
    flags[at] = (ushort)judge_place(&d, col, row, fills, flags[at]);
}
#endif

/* Pixels with a height whose samples of a view are not its own (filled: warped from 2047 and -2047) are set
 * aside. */
KERNEL ANY_GROUP set_aside(GLOBAL const short *filled, int w, int h, GLOBAL ushort *flags)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= h)
        return;
    const long at = (long)y * w + x;
    if (flags[at] & QA_VALID && filled[at] > 0)
        flags[at] = QA_ASIDE;
}

KERNEL ANY_GROUP bring_back(int w, int h, GLOBAL ushort *flags)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= h)
        return;
    const long at = (long)y * w + x;
    if (flags[at] & QA_ASIDE)
        flags[at] = QA_VALID;
}
