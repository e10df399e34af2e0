/* Tiled belief propagation: one visit of each tile of a diagonal.  As cpu/bp_reference.c: messages of a
 * tile go right, left, down, up, `inner` times; those over its border are kept, those inside are not. A
 * group owns a tile, an item a row or a column and a way along it, with the messages of all labels in
 * registers, two in a word: 16 bits hold them (see cpu/bp.h).  Messages to the right do not depend on
 * those to the left, nor down on up, so both ways go at once: two phases an iteration.  A message is 2 x
 * blocks uint4, 16 bits a label.  inside: of each tile in flight, 4 ways x side x side messages, what
 * has come to a pixel travelling that way.  border: of each band, right and left (across + 1) x rows,
 * down and up (down + 1) x w messages.  A group whose band has no such tile goes along with a tile of no
 * pixels: PoCL does not bear a return before a barrier. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "optimize.cl"

#define BP_GROUP 64
#define BP_RIGHT 0
#define BP_LEFT 1
#define BP_DOWN 2
#define BP_UP 3

/* A tile that is visited. */
typedef struct BpTile {
    GLOBAL const uint4 *cost;
    GLOBAL uint4 *inside, *border;
    int w, labels, blocks, weight, truncation;
    int side, across, most_rows, most_down; /* of all tiles; most_: of the highest band */
    int i, j, x0, y0, width, height;        /* column and row among tiles; first pixel of the volume; size */
} BpTile;

FUNCTION long bp_inside(const BpTile *t, int way, int x, int y)
{
    return (((long)way * t->side + y) * t->side + x) * 2 * t->blocks;
}

/* Where the message over the tile's border lies that comes in or goes out by `way` at pixel `at` along it. */
FUNCTION long bp_border(const BpTile *t, int way, bool out, int at)
{
    const bool along = way < BP_DOWN;
    const int line = (along ? t->i : t->j) + (out == (way % 2 == 0) ? 1 : 0);
    const long rows = (long)(t->across + 1) * t->most_rows, columns = (long)(t->most_down + 1) * t->w;
    const long first = along ? way * rows : 2 * rows + (way - BP_DOWN) * columns;
    const long place =
        along ? (long)line * t->most_rows + t->j * t->side + at : (long)line * t->w + t->x0 + at;
    return (first + place) * 2 * t->blocks;
}

FUNCTION void bp_copy(GLOBAL uint4 *to, GLOBAL const uint4 *from, int count)
{
    for (int b = 0; b < count; b++)
        to[b] = from[b];
}

/* Hand messages that come in over the borders to the pixels beside them. */
FUNCTION void bp_enter(const BpTile *t)
{
    for (int n = ITEM(0); n < 2 * (t->width + t->height); n += BP_GROUP) {
        const bool along = n < 2 * t->height;
        const int m = along ? n : n - 2 * t->height, way = (along ? BP_RIGHT : BP_DOWN) + m % 2, at = m / 2;
        const int x = !along ? at : way == BP_RIGHT ? 0 : t->width - 1;
        const int y = along ? at : way == BP_DOWN ? 0 : t->height - 1;
        bp_copy(t->inside + bp_inside(t, way, x, y), t->border + bp_border(t, way, false, at), 2 * t->blocks);
    }
}

/* A line of a tile and a way along it: places in `inside` and in the costs are of its pixel in hand, steps to
 * the next one. */
typedef struct BpLine {
    GLOBAL const uint4 *cost;
    GLOBAL uint4 *inside, *out; /* out: the message that leaves the tile */
    int cost_step, inside_step, count;
    int own, one, other;        /* from there to the messages of the way gone, and of those that cross it */
    bool use_one, use_other;    /* there are such; else all are 0 */
} BpLine;

/* Line n of a phase; `first`: the tile's first sweeps, when only its borders hold messages. */
FUNCTION BpLine bp_line(const BpTile *t, bool along, bool first, int n)
{
    BpLine s;
    const int lines = along ? t->height : t->width, each = t->side * t->side * 2 * t->blocks;
    const bool back = n >= lines;
    const int way = (along ? BP_RIGHT : BP_DOWN) + (back ? 1 : 0), line = back ? n - lines : n;
    s.count = along ? t->width : t->height;
    const int at = back ? s.count - 1 : 0, x = along ? at : line, y = along ? line : at;
    s.cost = t->cost + block_at(t->y0 + y, 0, t->x0 + x, t->w, t->blocks);
    s.cost_step = (back ? -1 : 1) * (along ? 1 : t->w * t->blocks);
    s.inside = t->inside + bp_inside(t, 0, x, y);
    s.inside_step = (back ? -1 : 1) * (along ? 1 : t->side) * 2 * t->blocks;
    s.out = t->border + bp_border(t, way, true, line);
    s.own = way * each;
    s.one = (along ? BP_DOWN : BP_RIGHT) * each;
    s.other = (along ? BP_UP : BP_LEFT) * each;
    s.use_one = !along || !first || line == 0;
    s.use_other = !along || !first || line == lines - 1;
    return s;
}

/* Where the message of pixel i of the line goes. */
FUNCTION GLOBAL uint4 *bp_to(const BpLine *s, int i)
{
    return i + 1 < s->count ? s->inside + s->inside_step + s->own : s->out;
}

FUNCTION void bp_next(BpLine *s)
{
    s->cost += s->cost_step;
    s->inside += s->inside_step;
}

FUNCTION void bp_add(GLOBAL const uint4 *message, uint *v)
{
    const uint4 a = message[0], b = message[1];
    v[0] += a.x;
    v[1] += a.y;
    v[2] += a.z;
    v[3] += a.w;
    v[4] += b.x;
    v[5] += b.y;
    v[6] += b.z;
    v[7] += b.w;
}

FUNCTION void bp_store(GLOBAL uint4 *message, const uint *v)
{
    uint4 a, b;
    a.x = v[0];
    a.y = v[1];
    a.z = v[2];
    a.w = v[3];
    b.x = v[4];
    b.y = v[5];
    b.z = v[6];
    b.w = v[7];
    message[0] = a;
    message[1] = b;
}

/* bp_gather: costs of the pixel in hand and the messages that cross the line there.
 * bp_sweep: along a line, more than half of LABELS = 2^LOG labels, or any up to 16.  The truncation comes
 * first: what is no better than the least value and weight x truncation stays so; then the transform by
 * doubling, each step of which may read what it has written, as that only comes nearer to the whole
 * transform. */
#define BP_SWEEP(LABELS, LOG) \
    FUNCTION void bp_gather_##LABELS(const BpTile *t, const BpLine *s, uint *c) \
    { \
        UNROLL for (int b = 0; b < LABELS / 16; b++) \
            if (b < LABELS / 32 || b < t->blocks) { \
                unpack_costs(s->cost[b * t->w], c + 8 * b); \
                if (s->use_one) \
                    bp_add(s->inside + s->one + 2 * b, c + 8 * b); \
                if (s->use_other) \
                    bp_add(s->inside + s->other + 2 * b, c + 8 * b); \
            } \
    } \
    FUNCTION void bp_sweep_##LABELS(const BpTile *t, BpLine *s) \
    { \
        uint v[LABELS / 2], c[LABELS / 2]; \
        UNROLL for (int j = 0; j < LABELS / 2; j++) \
            v[j] = c[j] = 0u; \
        UNROLL for (int b = 0; b < LABELS / 16; b++) \
            if (b < LABELS / 32 || b < t->blocks) \
                bp_add(s->inside + s->own + 2 * b, v + 8 * b); \
        bp_gather_##LABELS(t, s, c); \
        for (int i = 0; i < s->count; i++) { \
            GLOBAL uint4 *const to = bp_to(s, i); \
            uint low = 0xffffffffu, before; \
            UNROLL for (int j = 0; j < LABELS / 2; j++) \
                v[j] += c[j]; \
            bp_next(s); \
            if (i + 1 < s->count) /* on its way while this pixel is worked out */ \
                bp_gather_##LABELS(t, s, c); \
            UNROLL for (int j = 0; j < LABELS / 2; j++) { \
                if (LABELS == 16 || j >= LABELS / 4) \
                    v[j] |= no_label(j, t->labels); \
                low = MIN16X2(low, v[j]); \
            } \
            const uint least = twice(lesser_half(low)); \
            const uint most = least + twice((uint)(t->weight * t->truncation)); \
            UNROLL for (int j = 0; j < LABELS / 2; j++) \
                v[j] = MIN16X2(v[j], most); \
            before = v[0] << 16 | (v[0] & 0xffffu); \
            if (t->truncation > 1) \
                UNROLL for (int j = 0; j < LABELS / 2; j++) { \
                    const uint after = \
                        v[j] >> 16 | (j + 1 < LABELS / 2 ? v[j + 1] << 16 : v[j] & 0xffff0000u); \
                    v[j] = MIN16X2(v[j], MIN16X2(before, after) + twice((uint)t->weight)); \
                    before = after; \
                } \
            UNROLL for (int q = 0; q < LOG - 1; q++) { /* by 2 << q labels */ \
                if (2 << q < t->truncation) { \
                    const uint step = twice((uint)(t->weight << (q + 1))); \
                    UNROLL for (int j = 0; j < LABELS / 2; j++) { \
                        const int under = 1 << q; \
                        const uint a = j >= under ? v[j - under] : v[j], \
                                   b = j + under < LABELS / 2 ? v[j + under] : v[j]; \
                        v[j] = MIN16X2(v[j], MIN16X2(a, b) + step); \
                    } \
                } \
            } \
            UNROLL for (int j = 0; j < LABELS / 2; j++) \
                v[j] -= least; \
            UNROLL for (int b = 0; b < LABELS / 16; b++) \
                if (b < LABELS / 32 || b < t->blocks) \
                    bp_store(to + 2 * b, v + 8 * b); \
        } \
    }
BP_SWEEP(16, 4)
BP_SWEEP(32, 5)
BP_SWEEP(64, 6)

/* Any number of labels: messages are worked out where they will lie, in two passes. */
FUNCTION void bp_sweep_any(const BpTile *t, BpLine *s)
{
    for (int i = 0; i < s->count; i++, bp_next(s)) {
        GLOBAL const ushort *const from = (GLOBAL const ushort *)(s->inside + s->own);
        GLOBAL const ushort *const one = (GLOBAL const ushort *)(s->inside + s->one);
        GLOBAL const ushort *const other = (GLOBAL const ushort *)(s->inside + s->other);
        GLOBAL ushort *const to = (GLOBAL ushort *)bp_to(s, i);
        int least = 0xffff, near = 0xffff;
        for (int l = 0; l < t->labels; l++) {
            const int h = ((GLOBAL const uchar *)(s->cost + (long)(l / 16) * t->w))[l % 16] + from[l] +
                          (s->use_one ? one[l] : 0) + (s->use_other ? other[l] : 0);
            to[l] = (ushort)h;
            least = h < least ? h : least;
        }
        const int most = least + t->weight * t->truncation;
        for (int l = 0; l < t->labels; l++) {
            const int h = to[l] < most ? to[l] : most;
            near = near + t->weight < h ? near + t->weight : h;
            to[l] = (ushort)near;
        }
        for (int l = t->labels - 1; l >= 0; l--) {
            near = near + t->weight < to[l] ? near + t->weight : to[l];
            to[l] = (ushort)(near - least);
        }
        for (int l = t->labels; l < 16 * t->blocks; l++) /* copied with the others */
            to[l] = 0;
    }
}

/* The labels of the tile's rows begin..end - 1 of the volume, which come out from row `out` on: data and all
 * messages least, of equal ones the lowest. */
FUNCTION void bp_decide(const BpTile *t, int begin, int end, int out, GLOBAL ushort *label)
{
    for (int n = ITEM(0); n < t->width * t->height; n += BP_GROUP) {
        const int x = n % t->width, y = n / t->width, row = t->y0 + y;
        uint best = KEY_NONE;
        if (row < begin || row >= end)
            continue;
        for (int b = 0; b < t->blocks; b++) {
            uint v[8];
            unpack_costs(t->cost[block_at(row, b, t->x0 + x, t->w, t->blocks)], v);
            for (int way = 0; way < 4; way++)
                bp_add(t->inside + bp_inside(t, way, x, y) + 2 * b, v);
            UNROLL for (int j = 0; j < 16; j++) {
                const uint key = left_key(j % 2 ? v[j / 2] >> 16 : v[j / 2] & 0xffffu, 16 * b + j);
                best = 16 * b + j < t->labels && key < best ? key : best;
            }
        }
        label[(long)(out + row - begin) * t->w + t->x0 + x] = (ushort)(best & 0xffffu);
    }
}

/* Tiles of a diagonal: column + row of them all is `diagonal`, rows from first_row on; group (g, k) is tile
 * first_row + g of band k. */
#define BP_VISIT(NAME) \
    KERNEL GROUP_SIZE_FEW(BP_GROUP) \
        bp_visit_##NAME(GLOBAL const uint4 *cost, GLOBAL uint4 *inside, GLOBAL uint4 *border, \
                        GLOBAL const LabelBand *band, int w, int labels, int weight, int truncation, \
                        int side, int inner, int most_rows, int first_row, int tiles, int diagonal, \
                        int last, GLOBAL ushort *label) \
    { \
        const LabelBand of = band[GROUP(1)]; \
        BpTile t; \
        t.w = w; \
        t.labels = labels; \
        t.blocks = (labels + 15) / 16; \
        t.weight = weight; \
        t.truncation = truncation; \
        t.side = side; \
        t.across = (w + side - 1) / side; \
        t.most_rows = most_rows; \
        t.most_down = (most_rows + side - 1) / side; \
        t.j = first_row + GROUP(0); \
        t.i = diagonal - t.j; \
        t.x0 = t.i * side; \
        t.y0 = of.top + t.j * side; \
        t.width = clamp_index(w - t.x0, side + 1); /* 0: this band has no such tile */ \
        t.height = t.i < 0 ? 0 : clamp_index(of.bottom - t.y0, side + 1); \
        t.width = t.height > 0 ? t.width : 0; \
        t.height = t.width > 0 ? t.height : 0; \
        t.cost = cost; \
        t.inside = inside + ((long)GROUP(1) * tiles + GROUP(0)) * 8 * side * side * t.blocks; \
        t.border = border + (long)GROUP(1) * 4 * t.blocks * \
                                ((long)(t.across + 1) * most_rows + (long)(t.most_down + 1) * w); \
        bp_enter(&t); \
        BARRIER_GLOBAL(); \
        for (int phase = 0; phase < 2 * inner; phase++) { \
            const bool along = phase % 2 == 0; \
            for (int n = ITEM(0); n < 2 * (along ? t.height : t.width); n += BP_GROUP) { \
                BpLine s = bp_line(&t, along, phase == 0, n); \
                bp_sweep_##NAME(&t, &s); \
            } \
            BARRIER_GLOBAL(); \
        } \
        if (last) \
            bp_decide(&t, of.begin, of.end, of.out, label); \
    }
BP_VISIT(16)
BP_VISIT(32)
BP_VISIT(64)
BP_VISIT(any)

/* Energy of the labels of `rows` rows, from row label_row of them and row cost_row of the volume on: sums of
 * each group of 256 pixels, [0] of data, [1] of steps to the left and up, from row sums_row on.  first: the
 * first row has none above. */
KERNEL GROUP_SIZE(256, 1, 1)
bp_energy(GLOBAL const uchar *cost, GLOBAL const ushort *label, int w, int labels, int weight,
          int truncation, int label_row, int cost_row, int sums_row, int first, GLOBAL uint *sums)
{
    LOCAL uint sum[2];
    const int x = GROUP(0) * 256 + ITEM(0), y = GROUP(1), blocks = (labels + 15) / 16;
    const long at = (long)(label_row + y) * w + x;
    if (ITEM(0) < 2)
        sum[ITEM(0)] = 0u;
    BARRIER();
    if (x < w) {
        const int l = label[at], beside = x > 0 ? label[at - 1] : l,
                  above = y > 0 || !first ? label[at - w] : l;
        const int across = l > beside ? l - beside : beside - l, down = l > above ? l - above : above - l;
        LOCAL_ADD(&sum[0], (uint)volume_cost(cost, cost_row + y, x, l, w, blocks));
        LOCAL_ADD(&sum[1], (uint)(weight * ((across < truncation ? across : truncation) +
                                            (down < truncation ? down : truncation))));
    }
    BARRIER();
    if (ITEM(0) < 2)
        sums[2 * ((long)(sums_row + y) * ((w + 255) / 256) + GROUP(0)) + ITEM(0)] = sum[ITEM(0)];
}
