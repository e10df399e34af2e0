/* Two views -> ray intersection error and score, in one walk down a strip as in gpu/window_match.cl, with its
 * sums: windows of the left view against those of the right one at the same column, a row above, beside and
 * below.
 *
 * Of the right view the sums are a row ahead, and the last three windows of each pixel stay in registers. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"
#include "ray_error.cl"
#include "window_match.cl"

#define RAY_W 9
#define RAY_REACH (RAY_W / 2)
#define RAY_ROWS (RAY_W + 3) /* in local memory: the right windows', and the next one */

/* Place of row y + k where row y - RAY_REACH - 1 has `slot`. */
FUNCTION int ray_slot(int slot, int k)
{
    const int at = slot + k + RAY_REACH + 1;
    return at >= RAY_ROWS ? at - RAY_ROWS : at;
}

/* A row of W + 3 samples. */
FUNCTION void ray_take(IN_LOCAL const short *rows, int slot, int *v)
{
    UNROLL for (int i = 0; i < RAY_W + 3; i += 4)
        strip_take(rows + slot * STRIP_PITCH(RAY_W, 0) + COLUMNS * ITEM(0) + i, v + i);
}

/* Row y + k of one view enters its windows (sign 1) or leaves them (-1). */
FUNCTION void ray_view(StripSums *s, const StripLocal *m, const int side, int y, int k, int slot, int sign)
{
    const int at = ray_slot(slot, k);
    int v[RAY_W + 3];
    ray_take(side == 0 ? m->left : m->right, at, v);
    strip_view(s, side, v, RAY_W, sign);
    if (m->nodata[at] == y + k) /* the same for all items of the group */
        strip_nodata(s, side, v, RAY_W, sign);
}

/* Products of the left row y + k with the right rows above, beside and below it. */
FUNCTION void ray_products(StripSums *s, const StripLocal *m, int k, int slot, int sign)
{
    int l[RAY_W + 3], r[RAY_W + 3];
    ray_take(m->left, ray_slot(slot, k), l);
    UNROLL for (int d = 0; d < 3; d++) {
        uint row = 0;
        ray_take(m->right, ray_slot(slot, k + d - 1), r);
        UNROLL for (int i = 0; i < RAY_W; i++)
            row += product_of(l[i], r[i]);
        s->cost[d][0] += (uint)sign * row;
        UNROLL for (int c = 1; c < COLUMNS; c++) {
            row += product_of(l[RAY_W + c - 1], r[RAY_W + c - 1]) - product_of(l[c - 1], r[c - 1]);
            s->cost[d][c] += (uint)sign * row;
        }
    }
}

/* Error and score of pixel c of an item; right: its windows in the rows above, beside and below. */
FUNCTION void ray_store(const StripSums *s, const int c, StripWindow left, const StripWindow *right,
                        GLOBAL float *ray_error_v, GLOBAL uchar *quality)
{
    float score[3];
    UNROLL for (int d = 0; d < 3; d++) {
        const float any = zncc_score(s->cost[d][c], left.mean, right[d].mean, RAY_W * RAY_W,
                                     1.0f / (float)(RAY_W * RAY_W), left.texture, right[d].texture);
        score[d] = left.texture >= 0.0f && right[d].texture >= 0.0f ? any : SCORE_NONE;
    }
    set_ray_error(score[0], score[1], score[2], ray_error_v, quality);
}

/* As volume_zncc along v and ray_error, windows of 9; rows: of a strip. */
KERNEL GROUP_SIZE(STRIP_ITEMS, 1, 1)
ray_zncc_9(GLOBAL const short *left_view, GLOBAL const short *right_view, int w, int h, float least,
           int rows, GLOBAL float *ray_error_v, GLOBAL uchar *quality)
{
    LOCAL short4 left_rows[RAY_ROWS * STRIP_PITCH(RAY_W, 0) / 4];
    LOCAL short4 right_rows[RAY_ROWS * STRIP_PITCH(RAY_W, 0) / 4];
    LOCAL int nodata[RAY_ROWS];
    const int y0 = GROUP(1) * rows, y1 = y0 + rows < h ? y0 + rows : h, x0 = GROUP(0) * SPAN;
    const StripInput in = {left_view, right_view, w, h, 0, x0, y0, y1, least};
    const StripLocal m = {(IN_LOCAL short *)left_rows, (IN_LOCAL short *)right_rows, 0, 0, 0, 0, nodata};
    StripSums s;
    StripWindow right[COLUMNS][3];
    int slot = 0; /* of row y - RAY_REACH - 1 */
    UNROLL for (int c = 0; c < COLUMNS; c++) {
        UNROLL for (int d = 0; d < 3; d++) {
            s.cost[d][c] = 0;
            right[c][d].mean = 0;
            right[c][d].texture = -1.0f;
        }
        UNROLL for (int side = 0; side < 2; side++) {
            s.sum[side][c] = s.bad[side][c] = 0;
            s.squares[side][c] = 0;
        }
    }
    for (int i = ITEM(0); i < RAY_ROWS; i += STRIP_ITEMS)
        nodata[i] = -0x7fffffff;
    BARRIER();
    for (int i = 0; i < RAY_ROWS - 2; i++)
        strip_load(&in, &m, y0 - RAY_REACH - 1 + i, i, RAY_W, 0);
    BARRIER();
    NO_UNROLL for (int k = -RAY_REACH; k < RAY_REACH; k++) { /* all rows of the first windows but the last */
        ray_view(&s, &m, 0, y0, k, 0, 1);
        ray_view(&s, &m, 1, y0, k - 1, 0, 1);
        ray_products(&s, &m, k, 0, 1);
    }
    slot = RAY_ROWS - 2; /* the right windows of the rows y0 - 1 and y0 come first */
    NO_UNROLL for (int y = y0 - 2; y < y1; y++) {
        BARRIER(); /* the row that is loaded now takes the place of one that is no longer read */
        strip_load(&in, &m, y + RAY_REACH + 2, slot > 0 ? slot - 1 : RAY_ROWS - 1, RAY_W, 0);
        ray_view(&s, &m, 1, y, RAY_REACH + 1, slot, 1);
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            right[c][0] = right[c][1];
            right[c][1] = right[c][2];
            right[c][2] = strip_window(&s, &in, 1, c, y + 1 >= RAY_REACH && y + 1 + RAY_REACH < h, RAY_W);
        }
        ray_view(&s, &m, 1, y, 1 - RAY_REACH, slot, -1);
        if (y >= y0) { /* the same for all items of the group */
            ray_view(&s, &m, 0, y, RAY_REACH, slot, 1);
            ray_products(&s, &m, RAY_REACH, slot, 1);
            UNROLL for (int c = 0; c < COLUMNS; c++) {
                const int x = x0 + COLUMNS * ITEM(0) + c;
                const long at = (long)y * w + x;
                if (x < w)
                    ray_store(&s, c,
                             strip_window(&s, &in, 0, c, y >= RAY_REACH && y + RAY_REACH < h, RAY_W),
                             right[c], ray_error_v + at, quality + at);
            }
            ray_view(&s, &m, 0, y, -RAY_REACH, slot, -1);
            ray_products(&s, &m, -RAY_REACH, slot, -1);
        }
        slot = slot + 1 < RAY_ROWS ? slot + 1 : 0;
    }
}
