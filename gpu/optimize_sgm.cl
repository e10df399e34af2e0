/* Semi-global matching: path costs of a volume, path by path; their sums and the labels.  As
 * cpu/sgm_reference.c: L(p, l) = C(p, l) + min(L(q, l), L(q, l -+ 1) + p1, m + p2) - m; L = C where a path
 * begins.
 *
 * An item goes along one line and holds the path costs of all its labels in registers, two in a word: 16 bits
 * hold them (at most 254 + 2 x 7000), so nothing crosses a word's halves, and no item
 * waits for another.  A path that leaves the image at its left or right edge begins anew at the other one, so
 * all lines are as long as the band is high.  Paths 0, 1 go along the rows, 2, 3 along the columns, 4 to 7
 * along the diagonals.  path: of each path bands' rows x blocks x w x 16 costs of 1 or 2 bytes. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "optimize.cl"

#define SGM_GROUP 64
#define SGM_PICK 128
#define SGM_LABELS_MOST 4096
#define SGM_PAD 0x1fff1fffu /* above every path cost, 254 + 7000 at most; such a half + 7000 | this is below
                             * SGM_MOST */
#define SGM_MOST 0x7bff7bffu /* above these and P1, P2 */

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

/* Labels are packed four in two words, labels 4 q and 4 q + 2 in even[q], 4 q + 1 and 4 q + 3 in odd[q], as
 * two operations unpack four bytes: neighbours of a word's labels are the other word, and that one with its
 * neighbour. */

/* Path costs of the labels of a block. */
FUNCTION void sgm_store_wide(GLOBAL uint4 *to, const uint *even, const uint *odd)
{
    uint4 a;
    UNROLL for (int i = 0; i < 2; i++) {
        a.x = LOW_HALVES(even[2 * i], odd[2 * i]);
        a.y = HIGH_HALVES(even[2 * i], odd[2 * i]);
        a.z = LOW_HALVES(even[2 * i + 1], odd[2 * i + 1]);
        a.w = HIGH_HALVES(even[2 * i + 1], odd[2 * i + 1]);
        to[i] = a;
    }
}

FUNCTION void sgm_store(GLOBAL uint4 *to, const uint *even, const uint *odd)
{
    uint4 a;
    a.x = even[0] + (odd[0] << 8);
    a.y = even[1] + (odd[1] << 8);
    a.z = even[2] + (odd[2] << 8);
    a.w = even[3] + (odd[3] << 8);
    to[0] = a;
}

/* Costs of a block, less the least of all labels before; products and differences of two keep the pipe of
 * multiplications busy beside that of minima. */
FUNCTION void sgm_unpack(uint4 c, uint less, uint *even, uint *odd)
{
    const uint v[4] = {c.x, c.y, c.z, c.w};
    UNROLL for (int i = 0; i < 4; i++) {
        const uint o = BYTES_ODD(v[i]);
        odd[i] = o - less;
        even[i] = v[i] - less - o * 256u;
    }
}

/* All ones in the halves l, l + 2 that are no label. */
FUNCTION uint sgm_no_label(int l, int labels)
{
    return (l < labels ? 0u : 0xffffu) | (l + 2 < labels ? 0u : 0xffff0000u);
}

/* Labels beyond the last one, of the block that holds it, never are the least. */
FUNCTION void sgm_pad(uint *even, uint *odd, int l0, int labels)
{
    UNROLL for (int q = 0; q < 4; q++) {
        even[q] |= sgm_no_label(l0 + 4 * q, labels) & SGM_PAD;
        odd[q] |= sgm_no_label(l0 + 4 * q + 1, labels) & SGM_PAD;
    }
}

/* A line that has left the image goes on at the other edge; one along a row ends there. */
FUNCTION void sgm_turn(int w, int *x, int *here, long *at)
{
    const int turn = *x < 0 ? w : -w;
    *x += turn;
    *here += turn;
    *at += turn;
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
        uint even[LABELS / 4], odd[LABELS / 4], least = 0u; /* of all labels, twice */ \
        long at = block_at(a.y, 0, a.x, w, blocks); /* of the volume */ \
        int here = a.y * w + a.x, x = a.x, before_value = 0; /* of the guide */ \
        const int next = a.dy * w + a.dx; \
        const long next_at = (long)(a.dy * blocks) * w + a.dx; \
        bool begins = true; \
        UNROLL for (int i = 0; i < LABELS / 4; i++) \
            even[i] = odd[i] = 0u; \
        path += k * path_blocks + block_at(a.out, 0, 0, w, blocks) * (wide ? 2 : 1); \
        for (int i = 0; i < a.steps; i++) { \
            GLOBAL const uint4 *const from = cost + at; \
            const int value = guide ? guide[here] : 0; \
            /* least + P2 is what a label costs at most, before p1 is added; nothing where a path begins */ \
            const uint less = begins ? 0u : least, step = begins ? 0u : step1, \
                       most = begins ? 0u : least + sgm_p2(p2, before_value, value) - step1; \
            uint low = SGM_MOST, last = LOW_HALVES(0u, even[0]), c[LABELS / 4], d[LABELS / 4]; \
            UNROLL for (int b = 0; b < LABELS / 16; b++) \
                if (b < LABELS / 32 || b < blocks) \
                    sgm_unpack(from[(uint)(b * w)], less, c + 4 * b, d + 4 * b); \
                else /* no labels */ \
                    UNROLL for (int j = 4 * b; j < 4 * b + 4; j++) \
                        c[j] = SGM_PAD - less, d[j] = SGM_PAD - less; \
            UNROLL for (int j = 0; j < LABELS / 4; j++) { \
                const uint e = even[j], o = odd[j], before = last >> 16 | o << 16, \
                           after = j + 1 < LABELS / 4 ? e >> 16 | even[j + 1 < LABELS / 4 ? j + 1 : 0] << 16 \
                                                      : HIGH_HALVES(e, o); \
                even[j] = SUM_OR16X2(LEAST16X2(before, o, most), step, e) + c[j]; \
                odd[j] = SUM_OR16X2(LEAST16X2(e, after, most), step, o) + d[j]; \
                last = o; \
            } \
            if (labels % 16) \
                UNROLL for (int b = 0; b < LABELS / 16; b++) \
                    if (b >= LABELS / 32) \
                        sgm_pad(even + 4 * b, odd + 4 * b, 16 * b, labels); \
            UNROLL for (int j = 0; j < LABELS / 4; j++) \
                low = LEAST16X2(low, even[j], odd[j]); \
            least = twice(lesser_half(low)); \
            if (i >= a.skip) \
                UNROLL for (int b = 0; b < LABELS / 16; b++) \
                    if (b < LABELS / 32 || b < blocks) { \
                        if (wide) \
                            sgm_store_wide(path + 2 * at + (uint)b * stride, even + 4 * b, odd + 4 * b); \
                        else \
                            sgm_store(path + at + (uint)b * stride, even + 4 * b, odd + 4 * b); \
                    } \
            before_value = value; \
            x += a.dx; \
            here += next; \
            at += next_at; \
            begins = (uint)x >= (uint)w; \
            if (begins) \
                sgm_turn(w, &x, &here, &at); \
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
        const int step2 =
            begins
                ? 0
                : (int)(sgm_p2(p2, guide ? guide[here] : 0, guide ? guide[here - (long)a.dy * w - a.dx] : 0) &
                        0xffffu);
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
        const int spare = labels + ITEM(0); /* sgm_pick() reads whole blocks */
        const long at = 16 * block_at(a.y + a.out, blocks - 1, a.x, w, blocks) + spare % 16;
        if (i >= a.skip && spare < 16 * blocks && wide)
            words[at] = 0;
        else if (i >= a.skip && spare < 16 * blocks)
            bytes[at] = 0;
        LOCAL_MIN(&low[(i + 1) % 2], mine);
        BARRIER();
        a.y += a.dy;
        a.x += a.dx;
        if (a.dy != 0)
            a.x = a.x < 0 ? w - 1 : a.x >= w ? 0 : a.x;
    }
}

/* Sums of the path costs of a block.  Bytes: those of whole words, less those of their odd bytes, are those
 * of the even ones. */
FUNCTION void sgm_sum_wide(GLOBAL const uint4 *path, long path_blocks, long at, int paths, uint *even,
                           uint *odd)
{
    NO_UNROLL for (int k = 0; k < paths; k++)
        UNROLL for (int i = 0; i < 2; i++) {
            const uint4 v = path[k * path_blocks + 2 * at + i];
            even[2 * i] += LOW_HALVES(v.x, v.y);
            odd[2 * i] += HIGH_HALVES(v.x, v.y);
            even[2 * i + 1] += LOW_HALVES(v.z, v.w);
            odd[2 * i + 1] += HIGH_HALVES(v.z, v.w);
        }
}

FUNCTION void sgm_sum_bytes(GLOBAL const uint4 *path, long path_blocks, long at, int paths, uint *even,
                            uint *odd)
{
    NO_UNROLL for (int k = 0; k < paths; k += 4) { /* 4 or 8 */
        uint4 v[4];
        UNROLL for (int i = 0; i < 4; i++)
            v[i] = path[(k + i) * path_blocks + at];
        UNROLL for (int i = 0; i < 4; i += 2) {
            even[0] += v[i].x + v[i + 1].x;
            even[1] += v[i].y + v[i + 1].y;
            even[2] += v[i].z + v[i + 1].z;
            even[3] += v[i].w + v[i + 1].w;
            odd[0] += BYTES_ODD(v[i].x) + BYTES_ODD(v[i + 1].x);
            odd[1] += BYTES_ODD(v[i].y) + BYTES_ODD(v[i + 1].y);
            odd[2] += BYTES_ODD(v[i].z) + BYTES_ODD(v[i + 1].z);
            odd[3] += BYTES_ODD(v[i].w) + BYTES_ODD(v[i + 1].w);
        }
    }
    UNROLL for (int i = 0; i < 4; i++)
        even[i] -= odd[i] << 8;
}

/* Key of label 4 q + i of a block, from its sum and what decides among equal ones. */
FUNCTION uint sgm_key(const uint *even, const uint *odd, const int q, const int i, uint rank)
{
    const uint v = i % 2 ? odd[q] : even[q];
    return i < 2 ? (v << 16) + rank : (v & 0xffff0000u) + rank;
}

/* Key of the best label of the last block, which may have fewer labels. */
FUNCTION uint sgm_pick_few(const uint *even, const uint *odd, int count, IN_LOCAL uint *met, int item)
{
    uint best = KEY_NONE;
    UNROLL for (int l = 0; l < 16; l++)
        if (l < count) {
            const uint key = sgm_key(even, odd, l / 4, l % 4, (uint)l);
            best = key < best ? key : best;
            if (met)
                LOCAL_MIN(&met[l], sgm_key(even, odd, l / 4, l % 4, (uint)item));
        }
    return best;
}

/* Rows row0 .. row0 + count - 1 of the labels, whose paths begin at row 0 of `path`: where the sum is least,
 * of equal ones the lowest; right: keys of the right pixels, all ones before, or NULL. */
KERNEL GROUP_SIZE(SGM_PICK, 1, 1)
sgm_pick(GLOBAL const uint4 *path, long path_blocks, int paths, int wide, int w, int labels, int first,
         int row0, GLOBAL ushort *left, GLOBAL uint *right)
{
    LOCAL uint met[SGM_PICK + SGM_LABELS_MOST]; /* sum and left pixel: of equal ones the leftmost has the
                                                 * highest label */
    const int x0 = GROUP(0) * SGM_PICK, x = x0 + ITEM(0), y = GROUP(1), blocks = (labels + 15) / 16;
    GLOBAL uint *const row = right + (long)(row0 + y) * w;
    uint best = KEY_NONE;
    NO_UNROLL for (int i = ITEM(0); right && i < SGM_PICK + labels; i += SGM_PICK)
        met[i] = KEY_NONE;
    BARRIER();
    for (int b = 0; b < blocks && x < w; b++) {
        IN_LOCAL uint *const mine = met + ITEM(0) + 16 * b;
        uint even[4] = {0u, 0u, 0u, 0u}, odd[4] = {0u, 0u, 0u, 0u}, here = KEY_NONE;
        const long at = block_at(y, b, x, w, blocks);
        if (wide)
            sgm_sum_wide(path, path_blocks, at, paths, even, odd);
        else
            sgm_sum_bytes(path, path_blocks, at, paths, even, odd);
        if (16 * b + 16 > labels)
            here = sgm_pick_few(even, odd, labels - 16 * b, right ? mine : 0, ITEM(0));
        else {
            UNROLL for (int l = 0; l < 16; l += 2)
                here = LEASTU(here, sgm_key(even, odd, l / 4, l % 4, (uint)l),
                              sgm_key(even, odd, l / 4, l % 4 + 1, (uint)l + 1u));
            if (right)
                UNROLL for (int l = 0; l < 16; l++)
                    LOCAL_MIN(&mine[l], sgm_key(even, odd, l / 4, l % 4, (uint)ITEM(0)));
        }
        here += 16u * (uint)b;
        best = here < best ? here : best;
    }
    if (x < w)
        left[(long)(row0 + y) * w + x] = (ushort)(best & 0xffffu);
    BARRIER();
    NO_UNROLL for (int i = ITEM(0); right && i < SGM_PICK + labels; i += SGM_PICK) {
        const int xr = x0 + first + i;
        if (xr >= 0 && xr < w && met[i] != KEY_NONE)
            GLOBAL_MIN(&row[xr], right_key(met[i] >> 16, i - (int)(met[i] & 0xffffu)));
    }
}
