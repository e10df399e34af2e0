/* Semi-global matching: path costs of a volume, path by path; their sums and the labels.  As
 * cpu/sgm_reference.c: L(p, l) = C(p, l) + min(L(q, l), L(q, l -+ 1) + p1, m + p2) - m; L = C where a path
 * begins.
 *
 * An item goes along one line and holds the path costs of all its labels in registers, two in a word: 16 bits
 * hold them (at most 254 + 2 x 7000, see docs/optimizers.md), so nothing crosses a word's halves, and no item
 * waits for another.  A path that leaves the image at its left or right edge begins anew at the other one, so
 * all lines are as long as the band is high.  Paths 0, 1 go along the rows, 2, 3 along the columns, 4 to 7
 * along the diagonals.  path: of each path bands' rows x blocks x w x 16 costs of 1 or 2 bytes. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "optimize.cl"

#define SGM_GROUP 64
#define SGM_PICK 128
#define SGM_LABELS_MOST 4096
#define SGM_PAD 0x3fff3fffu /* above every path cost */

/* Where an item goes. */
typedef struct SgmLine {
    int x, y, dx, dy, steps;
    int skip; /* steps whose path costs nobody wants */
    int out;  /* row of `path` of the first row that counts, less that row */
} SgmLine;

/* Line `line` of path `k` in a band; steps 0: there is none. */
FUNCTION SgmLine sgm_line(LabelBand b, int k, int line, int w)
{
    SgmLine a;
    const bool back = k % 2 == 1, along = k < 2;
    a.dx = k < 2 ? (back ? -1 : 1) : k < 4 ? 0 : k < 6 ? 1 : -1;
    a.dy = along ? 0 : back ? -1 : 1;
    a.x = !along ? line : back ? w - 1 : 0;
    a.y = along ? b.begin + line : back ? b.bottom - 1 : b.top;
    a.steps = along ? w : back ? b.bottom - b.begin : b.end - b.top;
    a.skip = along ? 0 : back ? b.bottom - b.end : b.begin - b.top;
    a.out = b.out - b.begin;
    if (line >= (along ? b.end - b.begin : w))
        a.steps = 0;
    return a;
}

#define SGM_STEPS 4096 /* of the guide that have a P2 of their own; larger ones have the last one's */

/* P2, twice in a word, of a step of the guide from a pixel's value to the next one's. */
FUNCTION uint sgm_p2(GLOBAL const uint *p2, int from, int to)
{
    const int step = from < to ? to - from : from - to;
    return p2[step < SGM_STEPS ? step : SGM_STEPS - 1];
}

/* Path costs of the labels of a block, from words 2 a half each. */
FUNCTION void sgm_store(GLOBAL uint4 *to, const uint *v, int wide)
{
    uint4 a;
    if (!wide) {
        a.x = HALVES_TO_BYTES(v[0], v[1]);
        a.y = HALVES_TO_BYTES(v[2], v[3]);
        a.z = HALVES_TO_BYTES(v[4], v[5]);
        a.w = HALVES_TO_BYTES(v[6], v[7]);
        to[0] = a;
        return;
    }
    a.x = v[0];
    a.y = v[1];
    a.z = v[2];
    a.w = v[3];
    to[0] = a;
    a.x = v[4];
    a.y = v[5];
    a.z = v[6];
    a.w = v[7];
    to[1] = a;
}

#define SGM_ARGUMENTS \
    GLOBAL const uint4 *cost, GLOBAL const short *guide, GLOBAL const LabelBand *band, int w, int labels, \
        int p1, GLOBAL const uint *p2, int wide, long path_blocks, GLOBAL uint4 *path

/* More than half of LABELS labels, or any up to 16. */
#define SGM_PATHS(LABELS) \
    KERNEL GROUP_SIZE(SGM_GROUP, 1, 1) sgm_paths_##LABELS(SGM_ARGUMENTS) \
    { \
        const int blocks = (labels + 15) / 16, k = GROUP(2); \
        const uint stride = (uint)(wide ? 2 * w : w); \
        const SgmLine a = sgm_line(band[GROUP(1)], k, GROUP(0) * SGM_GROUP + ITEM(0), w); \
        const uint step1 = twice((uint)p1); \
        uint v[LABELS / 2], least = 0u; \
        long at = block_at(a.y, 0, a.x, w, blocks); /* of the volume */ \
        int here = a.y * w + a.x, x = a.x, before_value = 0; /* of the guide */ \
        const int next = a.dy * w + a.dx; \
        const long next_at = (long)(a.dy * blocks) * w + a.dx; \
        bool begins = true; \
        UNROLL for (int i = 0; i < LABELS / 2; i++) \
            v[i] = 0u; \
        path += k * path_blocks + block_at(a.out, 0, 0, w, blocks) * (wide ? 2 : 1); \
        for (int i = 0; i < a.steps; i++) { \
            GLOBAL const uint4 *const from = cost + at; \
            const int value = guide ? guide[here] : 0; \
            /* from path costs of 0, every label costs what it costs: none is larger than P2 above the least */ \
            const uint less = begins ? 0u : twice((0u - least) & 0xffffu), \
                       most = begins ? 0u : sgm_p2(p2, before_value, value); \
            uint low = 0xffffffffu, before, c[LABELS / 2]; \
            UNROLL for (int b = 0; b < LABELS / 16; b++) \
                if (b < LABELS / 32 || b < blocks) \
                    unpack_costs(from[(uint)(b * w)], c + 8 * b); \
                else /* no labels */ \
                    UNROLL for (int j = 0; j < 8; j++) \
                        c[8 * b + j] = SGM_PAD; \
            before = (v[0] << 16 | (v[0] & 0xffffu)) + step1; \
            UNROLL for (int j = 0; j < LABELS / 2; j++) { \
                const uint after = \
                    (v[j] >> 16 | (j + 1 < LABELS / 2 ? v[j + 1] << 16 : v[j] & 0xffff0000u)) + step1; \
                v[j] = SUM_OR16X2(LEAST16X2(v[j], before, after), less, most) + c[j]; \
                before = after; \
            } \
            if (labels % 16) \
                UNROLL for (int j = LABELS == 16 ? 0 : LABELS / 4; j < LABELS / 2; j++) \
                    v[j] |= no_label(j, labels) & SGM_PAD; \
            UNROLL for (int j = 0; j < LABELS / 2; j += 2) \
                low = LEAST16X2(low, v[j], v[j + 1]); \
            least = lesser_half(low); \
            if (i >= a.skip) \
                UNROLL for (int b = 0; b < LABELS / 16; b++) \
                    if (b < LABELS / 32 || b < blocks) \
                        sgm_store(path + (wide ? 2 * at : at) + (uint)b * stride, v + 8 * b, wide); \
            before_value = value; \
            x += a.dx; \
            here += next; \
            at += next_at; \
            begins = (uint)x >= (uint)w; \
            if (begins) { /* at the other edge; a line along a row ends there */ \
                const int turn = x < 0 ? w : -w; \
                x += turn; \
                here += turn; \
                at += turn; \
            } \
        } \
    }
SGM_PATHS(16)
SGM_PATHS(32)
SGM_PATHS(64)
SGM_PATHS(128)

/* Any number of labels: a group a line, its path costs in local memory. */
KERNEL GROUP_SIZE(SGM_GROUP, 1, 1) sgm_paths_any(SGM_ARGUMENTS)
{
    LOCAL ushort held[2][SGM_LABELS_MOST];
    LOCAL uint low[2];
    const int blocks = (labels + 15) / 16, k = GROUP(2);
    SgmLine a = sgm_line(band[GROUP(1)], k, GROUP(0), w);
    GLOBAL uchar *const bytes = (GLOBAL uchar *)(path + k * path_blocks);
    GLOBAL ushort *const words = (GLOBAL ushort *)(path + k * path_blocks);
    for (int i = 0; i < a.steps; i++) {
        IN_LOCAL const ushort *const from = held[i % 2];
        IN_LOCAL ushort *const to = held[(i + 1) % 2];
        const bool begins = i == 0 || a.x - a.dx < 0 || a.x - a.dx >= w;
        const long here = (long)a.y * w + a.x;
        const int step2 = begins ? 0 : (int)(sgm_p2(p2, guide ? guide[here] : 0, guide ? guide[here - (long)a.dy * w - a.dx] : 0) & 0xffffu);
        if (ITEM(0) == 0)
            low[(i + 1) % 2] = KEY_NONE;
        BARRIER();
        const int m = begins ? 0 : (int)low[i % 2];
        uint mine = KEY_NONE;
        for (int l = ITEM(0); l < labels; l += SGM_GROUP) {
            int best = begins ? 0 : from[l] < m + step2 ? from[l] : m + step2;
            if (!begins && l > 0 && from[l - 1] + p1 < best)
                best = from[l - 1] + p1;
            if (!begins && l + 1 < labels && from[l + 1] + p1 < best)
                best = from[l + 1] + p1;
            const int v =
                (int)volume_cost((GLOBAL const uchar *)cost, a.y, a.x, l, w, blocks) + best - m;
            const long at = 16 * block_at(a.y + a.out, l / 16, a.x, w, blocks) + l % 16;
            to[l] = (ushort)v;
            mine = (uint)v < mine ? (uint)v : mine;
            if (i >= a.skip && wide)
                words[at] = (ushort)v;
            else if (i >= a.skip)
                bytes[at] = (uchar)v;
        }
        LOCAL_MIN(&low[(i + 1) % 2], mine);
        BARRIER();
        a.y += a.dy;
        a.x += a.dx;
        if (a.dy != 0)
            a.x = a.x < 0 ? w - 1 : a.x >= w ? 0 : a.x;
    }
}

/* Add the path costs of a block to sums, two in a word. */
FUNCTION void sgm_add(GLOBAL const uint4 *path, long at, int wide, uint *sum)
{
    uint v[8];
    if (wide) {
        const uint4 a = path[2 * at], b = path[2 * at + 1];
        v[0] = a.x;
        v[1] = a.y;
        v[2] = a.z;
        v[3] = a.w;
        v[4] = b.x;
        v[5] = b.y;
        v[6] = b.z;
        v[7] = b.w;
    } else
        unpack_costs(path[at], v);
    UNROLL for (int j = 0; j < 8; j++)
        sum[j] += v[j];
}

/* Rows row0 .. row0 + count - 1 of the labels, whose paths begin at row 0 of `path`: where the sum is least,
 * of equal ones the lowest; right: keys of the right pixels, all ones before, or NULL. */
KERNEL GROUP_SIZE(SGM_PICK, 1, 1)
sgm_pick(GLOBAL const uint4 *path, long path_blocks, int paths, int wide, int w, int labels, int first,
         int row0, GLOBAL ushort *left, GLOBAL uint *right)
{
    LOCAL uint met[SGM_PICK + SGM_LABELS_MOST];
    const int x0 = GROUP(0) * SGM_PICK, x = x0 + ITEM(0), y = GROUP(1), blocks = (labels + 15) / 16;
    GLOBAL uint *const row = right + (long)(row0 + y) * w;
    uint best = KEY_NONE;
    for (int i = ITEM(0); right && i < SGM_PICK + labels; i += SGM_PICK)
        met[i] = KEY_NONE;
    BARRIER();
    for (int b = 0; b < blocks && x < w; b++) {
        uint sum[8] = {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};
        const long at = block_at(y, b, x, w, blocks);
        for (int k = 0; k < paths; k++)
            sgm_add(path + k * path_blocks, at, wide, sum);
        UNROLL for (int j = 0; j < 16; j++) {
            const int l = 16 * b + j;
            if (l < labels) {
                const uint s = j % 2 ? sum[j / 2] >> 16 : sum[j / 2] & 0xffffu, key = left_key(s, l);
                best = key < best ? key : best;
                if (right)
                    LOCAL_MIN(&met[ITEM(0) + l], right_key(s, l));
            }
        }
    }
    if (x < w)
        left[(long)(row0 + y) * w + x] = (ushort)(best & 0xffffu);
    BARRIER();
    for (int i = ITEM(0); right && i < SGM_PICK + labels; i += SGM_PICK) {
        const int xr = x0 + first + i;
        if (xr >= 0 && xr < w && met[i] != KEY_NONE)
            GLOBAL_MIN(&row[xr], met[i]);
    }
}
