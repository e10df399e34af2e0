/* Lattice and image -> resampled view.  Nodes become cells once for a level; a pixel then works out its
 * position from its cell with the operations of src/geometry/lattice.c and cpu/kernel_warp.c, in their
 * order. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

/* Cells (i0.., j0..) of the lattice at the places of a level's pixels; right: of the right view. */
KERNEL GROUP_SIZE(64, 1, 1) lattice_cells(GLOBAL const LatticeNode *node, int nu, int i0, int j0, int cols,
                                          int rows, int right, int level, GLOBAL LatticeCell *out)
{
    const int at = GROUP(0) * 64 + ITEM(0);
    if (at >= cols * rows)
        return;
    GLOBAL const LatticeNode *const n0 = node + (long)(j0 + at / cols) * nu + i0 + at % cols;
    GLOBAL LatticeCell *const cell = out + at;
    for (int axis = 0; axis < 2; axis++) {
        const long first = right ? n0->right[axis] : n0->left[axis];
        const long origin = first >> (16 + level), base = origin * (65536L << level);
        cell->origin[axis] = (int)origin;
        for (int k = 0; k < 4; k++) {
            GLOBAL const LatticeNode *const n = n0 + (k & 1) + (long)(k >> 1) * nu;
            ((GLOBAL float *)&cell->at[axis])[k] =
                (float)((right ? n->right[axis] : n->left[axis]) - base) * (1.0f / 65536.0f);
            ((GLOBAL float *)&cell->b[axis])[k] = right ? n->right_b[axis] : 0.0f;
            ((GLOBAL float *)&cell->c[axis])[k] = right ? n->right_c[axis] : 0.0f;
        }
    }
    for (int k = 0; k < 4; k++)
        ((GLOBAL float *)&cell->du_dh)[k] = n0[(k & 1) + (long)(k >> 1) * nu].du_dh;
}

/* One axis on a row of a cell: values at its left side, and how much more they are at its right one. */
typedef struct CellRow {
    float a, b, c, more_a, more_b, more_c;
    int origin; /* 1/256 px of the source */
} CellRow;

FUNCTION CellRow cell_row(float4 a, float4 b, float4 c, float fv, float inv, int origin)
{
    const float a0 = a.x + fv * (a.z - a.x), a1 = a.y + fv * (a.w - a.y);
    const float b0 = b.x + fv * (b.z - b.x), b1 = b.y + fv * (b.w - b.y);
    const float c0 = c.x + fv * (c.z - c.x), c1 = c.y + fv * (c.w - c.y);
    CellRow r;
    r.a = (a0 + 0.5f) * inv - 0.5f;
    r.b = b0 * inv;
    r.c = c0 * inv;
    r.more_a = (a1 - a0) * inv;
    r.more_b = (b1 - b0) * inv;
    r.more_c = (c1 - c0) * inv;
    r.origin = origin;
    return r;
}

/* Position in 1/256 px of the source, t metres above height0. */
FUNCTION int cell_position(const CellRow *r, float fu, float t)
{
    const float pa = r->a + fu * r->more_a, pb = r->b + fu * r->more_b, pc = r->c + fu * r->more_c;
    const float q = (pa + t * (pb + t * pc)) * 256.0f + 0.5f;
    return r->origin + (int)FLOOR(between(q, -8e6f, 8e6f));
}

/* Origin of a cell in 1/256 px of the source; far off when it does not fit. */
FUNCTION int from_source(int origin, int first)
{
    const long at = (long)origin - first, most = 1L << 22;
    return (int)(at > most ? most : at < -most ? -most : at) * 256;
}

/* The pixel at a position in 1/256 px of the source: 4 x 4 taps of cubic weights (cubic: of 256 phases). */
FUNCTION int sample_cubic(GLOBAL const short *source, int width, int height, GLOBAL const int4 *cubic,
                          int col256, int row256)
{
    const int col = col256 >> 8, row = row256 >> 8;
    const int inner_width = width > 3 ? width - 3 : 0, inner_height = height > 3 ? height - 3 : 0;
    if ((uint)(col - 1) >= (uint)inner_width || (uint)(row - 1) >= (uint)inner_height)
        return PIXEL_NODATA;
    GLOBAL const short *const p = source + (long)row * width + col;
    const int4 wx = cubic[col256 & 255], wy = cubic[row256 & 255];
    const int w0 = wx.x, w1 = wx.y, w2 = wx.z, w3 = wx.w, down[4] = {wy.x, wy.y, wy.z, wy.w};
    uint sum = 1u << 16; /* unsigned, since nodata makes it wrap */
    int least = 0;       /* of the samples: nodata is less than all others */
    UNROLL for (int j = 0; j < 4; j++) {
        GLOBAL const short *const q = p + (j - 1) * width;
        const int p0 = q[-1], p1 = q[0], p2 = q[1], p3 = q[2];
        const int line = p0 * w0 + p1 * w1 + p2 * w2 + p3 * w3 + 1024;
        least = LEAST(least, p0, p1);
        least = LEAST(least, p2, p3);
        sum += (uint)(line >> 11) * (uint)down[j];
    }
    const int value = (int)sum >> 17;
    return least == PIXEL_NODATA ? PIXEL_NODATA : value > 2047 ? 2047 : value < -2047 ? -2047 : value;
}

#define WARP_PIXELS 4 /* neighbours of a row that an item has: WARP_PIXELS of gpu/device_ops.c */

/* surface_m: h x w or null; source: pixel (col0, row0) of the level first.  The first item of a row
 * begins `before` pixels left of it, so that an item's pixels lie in one cell where cells are as wide. */
KERNEL ANY_GROUP
warp(GLOBAL const LatticeCell *cell, int cols, int u2, int v2, int stride2, int step2_log2, float inv,
     GLOBAL const float *surface_m, float height0_m, GLOBAL const short *source, int col0, int row0,
     int source_width, int source_height, GLOBAL const int4 *cubic, GLOBAL short *out, int w, int h,
     int before)
{
    const int first = PLACE(0) * WARP_PIXELS - before, y = PLACE(1);
    const int x0 = first > 0 ? first : 0, x1 = first + WARP_PIXELS < w ? first + WARP_PIXELS : w;
    CellRow col, row;
    int last = -1;
    if (y >= h)
        return;
    NO_UNROLL for (int x = x0; x < x1; x++) {
        const long at = (long)y * w + x;
        const float t = surface_m ? surface_m[at] - height0_m : 0.0f;
        const CellPlace p = cell_place(x, y, cols, u2, v2, stride2, step2_log2);
        GLOBAL const LatticeCell *const c = cell + p.cell;
        if (p.cell != last) {
            col = cell_row(c->at[0], c->b[0], c->c[0], p.fv, inv, from_source(c->origin[0], col0));
            row = cell_row(c->at[1], c->b[1], c->c[1], p.fv, inv, from_source(c->origin[1], row0));
            last = p.cell;
        }
        out[at] = (short)sample_cubic(source, source_width, source_height, cubic,
                                      cell_position(&col, p.fu, t), cell_position(&row, p.fu, t));
    }
}
