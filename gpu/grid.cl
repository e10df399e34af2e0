/* Stage 8: points of a window -> cells of the DEM, as src/matching/gridding.c.  Points are hung into lists,
 * one a cell; then each cell gathers from the lists around it.  Sums are integers, so the order of a list
 * does not matter.  Sums that end in floating point use the processor's operations in double. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

/* A cell of the lattice, SdmGriddingPatch: ground in cells of the DEM's grid. */
typedef struct GridPatch {
    float4 a[2];      /* x, y: corners 00 10 01 11, from `base` */
    float b[2], c[2]; /* per metre above height0, per metre^2 */
    int base[2];      /* from the block's corner */
    int rest[2];
} GridPatch;

/* floor(x + 1/2) */
FUNCTION int round_half_up(float x)
{
    const float y = x + 0.5f;
    const int i = (int)y;
    return i - ((float)i > y);
}

/* One axis, 1/256 cell from the patch's base. */
FUNCTION int grid_position(float4 a, float b, float c, float fu, float fv, float t)
{
    const float top = a.x + fu * (a.y - a.x), low = a.z + fu * (a.w - a.z);
    return round_half_up(((top + fv * (low - top)) + t * (b + t * c)) * 256.0f);
}

/* Hang the points of a window (w x h) into the lists of the cells that they lie in: of the block (cols x
 * rows) and `reach` more around.  head: a list's first point, -1: none; next: h x w.  The fields of a
 * point: height (1/256 m), spot (image << 16 | column << 8 | row, 1/256 cell from its cell's corner), rest
 * (flags << 20 | ray intersection error, 1/1024 px << 8 | score).  u, v: of pixel (0, 0) from the first
 * patch's first node. */
KERNEL ANY_GROUP grid_points(GLOBAL const GridPatch *patch, int nu, int u, int v, int step_log2,
                             float height0_m, GLOBAL const float *h_m, GLOBAL const ushort *flags,
                             GLOBAL const uchar *score, GLOBAL const float *ray_error_px,
                             GLOBAL const short *left, int w, int h, int cols, int rows, int reach,
                             GLOBAL int *head, GLOBAL int *next, GLOBAL int *height, GLOBAL uint *spot,
                             GLOBAL uint *rest)
{
    const int x = PLACE(0), y = PLACE(1), mask = (1 << step_log2) - 1;
    if (x >= w || y >= h)
        return;
    const int i = y * w + x;
    const float share = 1.0f / (float)(1 << step_log2), fu = (float)((x + u) & mask) * share,
                fv = (float)((y + v) & mask) * share, m = h_m[i], t = m - height0_m, gap = ray_error_px[i];
    GLOBAL const GridPatch *const p = patch + (long)((y + v) >> step_log2) * nu + ((x + u) >> step_log2);
    const int px = p->base[0] * 256 + grid_position(p->a[0], p->b[0], p->c[0], fu, fv, t),
              py = p->base[1] * 256 + grid_position(p->a[1], p->b[1], p->c[1], fu, fv, t);
    const int col = (px >> 8) + reach, row = (py >> 8) + reach, pitch = cols + 2 * reach;
    if (col < 0 || row < 0 || col >= pitch || row >= rows + 2 * reach)
        return;
    height[i] = round_half_up(m * 256.0f);
    spot[i] = (uint)(ushort)left[i] << 16 | (uint)(px & 255) << 8 | (uint)(py & 255);
    rest[i] =
        (uint)flags[i] << 20 | (uint)(gap == gap ? round_half_up(FABS(gap) * 1024.0f) : 0) << 8 | score[i];
    next[i] = GLOBAL_EXCHANGE(&head[row * pitch + col], i);
}

#ifdef HAVE_DOUBLES
typedef struct GridSums { /* of weights x what stands in SdmSpread */
    long weight, height, square, score, gap, filled, image_weight, image;
    int count, refused; /* pixels in the cell: with a height; too steep to be filled */
    uint reasons;
} GridSums;

/* A point dx, dy (1/256 cell, both within the radius) from the cell's centre. */
FUNCTION void grid_add(GridSums *s, int weight, int h, int middle, uint spot, uint rest)
{
    const int image = (short)(spot >> 16), apart = h - middle;
    const int valid = rest >> 20 & QA_VALID ? weight : 0, seen = image == PIXEL_NODATA ? 0 : weight;
    s->weight += valid;
    s->height += (long)valid * h;
    s->square += valid * (((long)apart * apart + 128) >> 8);
    s->score += valid * (int)(rest & 255); /* weights are at most 2^14 */
    s->gap += valid * (int)(rest >> 8 & 4095);
    s->filled += rest >> 20 & QA_FILLED ? valid : 0;
    s->image_weight += seen;
    s->image += seen * image;
}

FUNCTION float grid_ortho(const GridSums *s, double scale, double offset)
{
    return (float)(((double)s->image / (double)s->image_weight - offset) / scale);
}

/* Reasons of pixels -> reasons of a cell. */
FUNCTION uint reasons_of_cell(uint reasons)
{
    return reasons & QA_MASKED ? (reasons & ~(uint)QA_MASKED) | QA_CELL_MASKED : reasons;
}

/* Cells of the block.  table: weight by distance, radius + 1 of them.  scale, offset, ray_error_m: bits of
 * doubles; middle: see SdmGridding.  real: heights, scores, ray intersection errors, spreads, ortho image,
 * rows x cols each; whole: counts, masks. */
KERNEL ANY_GROUP grid_cells(GLOBAL const int *head, GLOBAL const int *next, GLOBAL const int *height,
                            GLOBAL const uint *spot, GLOBAL const uint *rest, GLOBAL const int *table,
                            int radius, int reach, int cols, int rows, int middle, long least, long scale,
                            long offset, long ray_error_m, GLOBAL float *real, GLOBAL ushort *whole)
{
    const int x = PLACE(0), y = PLACE(1), pitch = cols + 2 * reach;
    if (x >= cols || y >= rows)
        return;
    GridSums s = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int row = -reach; row <= reach; row++)
        for (int col = -reach; col <= reach; col++) {
            int i = head[(y + reach + row) * pitch + x + reach + col];
            while (i >= 0) {
                const uint at = spot[i];
                const int dx = 128 - (int)(at >> 8 & 255) - col * 256, dy = 128 - (int)(at & 255) - row * 256;
                const int far_x = dx < 0 ? -dx : dx, far_y = dy < 0 ? -dy : dy;
                if (far_x <= radius && far_y <= radius) { /* as all of its own are */
                    const uint more = rest[i];
                    grid_add(&s, table[far_x] * table[far_y] >> 10, height[i], middle, at, more);
                    if (row == 0 && col == 0) {
                        const uint own = more >> 20, masked = own & QA_MASKED;
                        s.count += (own & QA_VALID) && !masked;
                        s.refused += masked || (own & (QA_VALID | QA_FILLED)) == QA_FILLED;
                        s.reasons |= more >> 20 & ~(uint)(QA_VALID | QA_FILLED);
                    }
                }
                i = next[i];
            }
        }
    const long cells = (long)cols * rows, out = (long)y * cols + x;
    const float none = AS_FLOAT(0x7fc00000);
    const bool valid = s.weight >= least && s.refused <= s.count;
    whole[out] = (ushort)(s.count > 65535 ? 65535 : s.count);
    whole[cells + out] = (ushort)(valid            ? QA_VALID | (2 * s.filled > s.weight ? QA_FILLED : 0)
                                  : s.reasons      ? reasons_of_cell(s.reasons)
                                  : s.image_weight ? QA_SPARSE
                                                   : QA_OUTSIDE);
    real[4 * cells + out] =
        s.image_weight >= least ? grid_ortho(&s, AS_DOUBLE(scale), AS_DOUBLE(offset)) : none;
    real[out] = real[cells + out] = real[2 * cells + out] = real[3 * cells + out] = none;
    if (!valid)
        return;
    const double weight = (double)s.weight, mean = (double)s.height / weight;
    real[out] = (float)(mean / 256.0);
    const double apart = (double)(s.height - s.weight * middle) / weight,
                 var = (double)s.square * 256.0 / weight - apart * apart;
    real[3 * cells + out] = var > 0.0 ? (float)(sqrt(var) / 256.0) : 0.0f;
    real[cells + out] = (float)((double)s.score / weight / 250.0);
    real[2 * cells + out] = (float)((double)s.gap / weight / 1024.0 * AS_DOUBLE(ray_error_m));
}
#endif
