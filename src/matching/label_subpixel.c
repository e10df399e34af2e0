/* Labels and costs -> sub-pixel positions about the labels, from the costs alone: smoothness would draw
 * them to whole pixels. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/optimize.h"

enum { HALF = 2 }; /* of the window over which costs are summed: those of one pixel are too coarse */

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Position of the minimum between labels with these costs, -0.5..0.5, by two lines of opposite slope, since
 * sums of magnitudes form a V. */
static float vertex(int before, int at, int after)
{
    const int steeper = before > after ? before - at : after - at;
    if (before < at || after < at) /* beyond half a label */
        return before < after ? -0.5f : before > after ? 0.5f : 0.0f;
    return steeper > 0 ? (float)(before - after) / (float)(2 * steeper) : 0.0f;
}

typedef struct Row { /* with HALF rows above and below */
    const SdmVolume *v;
    const uint8_t *cost[2 * HALF + 1];
    const uint16_t *label[2 * HALF + 1];
} Row;

/* Sums over a column of the window: at labels l - 1 and, 16 bits up, l + 1; at l. */
typedef struct Sums {
    uint32_t ends, middle;
} Sums;

/* Column col of the window, for label l: pixels whose labels are l - 1 .. l + 1, those of the same surface.
 * The four bytes are one load; the volume may be read on by one. */
static inline Sums sum_column(const Row *r, int col, int l)
{
    const ptrdiff_t x = clamp(col, 0, r->v->width - 1), at = x * r->v->pitch + l - 1;
    Sums s = {0, 0};
    for (int j = 0; j <= 2 * HALF; j++) {
        const uint8_t *const c = r->cost[j] + at;
        const uint32_t near = -(uint32_t)((unsigned)(r->label[j][x] - l + 1) <= 2),
                       four = ((uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24) & near;
        s.ends += four & 0x00FF00FF;
        s.middle += four >> 8 & 0xFF;
    }
    return s;
}

void sdm_volume_offsets(const SdmVolume *v, int y, const uint16_t *label, float *offset)
{
    enum { SIDE = 2 * HALF + 1 };
    Row r = {.v = v};
    Sums column[SIDE]; /* of columns x - HALF .. x + HALF, at their number modulo SIDE, for label `held` */
    int held = -1;
    for (int j = 0; j < SIDE; j++) {
        const ptrdiff_t row = (ptrdiff_t)clamp(y + j - HALF, 0, v->height - 1) * v->width;
        r.cost[j] = v->cost + row * v->pitch;
        r.label[j] = label + row;
    }
    for (int x = 0; x < v->width; x++) {
        const int l = r.label[HALF][x];
        Sums sum = {0, 0};
        offset[x] = 0.0f;
        if (l < 1 || l + 1 >= v->labels) {
            held = -1;
            continue;
        }
        for (int i = held == l ? x + HALF : x - HALF; i <= x + HALF; i++)
            column[(i + SIDE) % SIDE] = sum_column(&r, i, l);
        for (int i = 0; i < SIDE; i++) {
            sum.ends += column[i].ends;
            sum.middle += column[i].middle;
        }
        offset[x] = vertex((int)(sum.ends & 0xFFFF), (int)sum.middle, (int)(sum.ends >> 16));
        held = l;
    }
}
