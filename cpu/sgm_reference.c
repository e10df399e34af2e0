/* The definition of semi-global matching (Hirschmueller 2008), a row at a time: costs of labels -> path
 * costs, their sums, labels; one label after the other, in 16 bits. */
// SPDX-License-Identifier: Apache-2.0
#include "sgm_kernels.h"

#include <string.h>

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Path cost of label l from the pixel before, whose path costs are `from` and their least m. */
static int path_cost(const SdmSgmRow *r, int cost, const uint16_t *from, int m, int p2, int l)
{
    int best = smaller(from[l], m + p2);
    if (l > 0)
        best = smaller(best, from[l - 1] + r->p1);
    if (l + 1 < r->labels)
        best = smaller(best, from[l + 1] + r->p1);
    return cost + best - m;
}

static int least_of(const uint16_t *path, int labels)
{
    int m = path[0];
    for (int l = 1; l < labels; l++)
        m = smaller(m, path[l]);
    return m;
}

/* The path costs of pixel x on path k, from those of the pixel before (NULL: the path begins). */
static void go(const SdmSgmRow *r, int k, int x, const uint16_t *from, uint16_t *to)
{
    const uint8_t *const cost = r->cost + (ptrdiff_t)x * r->pitch;
    const int m = from ? least_of(from, r->labels) : 0;
    for (int l = 0; l < r->labels; l++)
        to[l] = (uint16_t)(from ? path_cost(r, cost[l], from, m, r->p2[k][x], l) : cost[l]);
}

static void gather(const SdmSgmRow *r, int x, const uint16_t *path, bool add)
{
    uint16_t *const sum = r->sum + (ptrdiff_t)x * r->pitch;
    for (int l = 0; l < r->labels; l++)
        sum[l] = (uint16_t)((add ? sum[l] : 0) + path[l]);
    for (int l = r->labels; l < r->pitch; l++)
        sum[l] = UINT16_MAX;
}

/* Go on with path k at pixel x.  r->path[0] holds path 0 at the pixel before, path 1 of the row before at
 * the pixel before, and the new pixel. */
static void walk(const SdmSgmRow *r, int k, int x, bool first, bool add)
{
    uint16_t *const room = r->path[0], *const fresh = room + 2 * (ptrdiff_t)r->pitch;
    uint16_t *const row = k > 0 ? r->path[k] : NULL, *const mine = row ? row + (ptrdiff_t)x * r->pitch : room;
    const uint16_t *from = first ? NULL : room; /* of path 0 */
    const int next = x + r->step;
    if (k == 1 && !first)
        from = room + r->pitch;
    else if (k == 2)
        from = mine;
    else if (k == 3)
        from = next >= 0 && next < r->width ? row + (ptrdiff_t)next * r->pitch : NULL;
    go(r, k, x, k > 0 && r->begins ? NULL : from, fresh);
    if (k == 1)
        memcpy(room + r->pitch, mine, (size_t)r->pitch * sizeof *room);
    memcpy(mine, fresh, (size_t)r->pitch * sizeof *room);
    if (r->sum)
        gather(r, x, fresh, add);
}

static void sgm_row(const SdmSgmRow *r)
{
    for (int i = 0; i < r->width; i++) {
        const int x = r->step > 0 ? i : r->width - 1 - i;
        bool add = r->add;
        for (int k = r->sum ? 0 : 1; k < SDM_SGM_PATHS; k++) {
            if (!r->p2[k])
                continue;
            walk(r, k, x, i == 0, add);
            add = true;
        }
    }
}

static void sgm_pick(const SdmSgmPick *p)
{
    for (int x = 0; x < p->width; x++) {
        const uint16_t *const sum = p->sum + (ptrdiff_t)x * p->pitch;
        p->left[x] = 0;
        for (int l = 1; l < p->labels; l++)
            if (sum[l] < sum[p->left[x]])
                p->left[x] = (uint16_t)l;
    }
    for (int xr = 0; xr < p->width && p->right; xr++) {
        int least = UINT16_MAX;
        p->right[xr] = UINT16_MAX;
        for (int l = 0; l < p->labels; l++) {
            const ptrdiff_t x = (ptrdiff_t)xr - p->first - l;
            if (x >= 0 && x < p->width && p->sum[x * p->pitch + l] <= least) {
                least = p->sum[x * p->pitch + l];
                p->right[xr] = (uint16_t)l;
            }
        }
    }
}

/* A bit per neighbour, set where it is darker than the middle. */
static void words(const int16_t *const *rows, int width, int word_width, int word_height, uint8_t *out,
                  ptrdiff_t plane)
{
    const int middle = word_width * word_height / 2;
    memset(out, 0, (size_t)width);
    for (int p = 1; p < (word_width * word_height + 6) / 8; p++)
        memset(out + p * plane, 0, (size_t)width);
    for (int x = 0; x < width; x++)
        for (int i = 0, bit = 0; i < word_width * word_height; i++) {
            const int darker =
                rows[i / word_width][x + i % word_width] < rows[word_height / 2][x + word_width / 2];
            if (i == middle)
                continue;
            out[bit / 8 * plane + x] = (uint8_t)(out[bit / 8 * plane + x] | darker << bit % 8);
            bit++;
        }
}

static int ones(unsigned v)
{
    int n = 0;
    for (; v; v &= v - 1)
        n++;
    return n;
}

static void costs(const SdmSgmCosts *c)
{
    for (ptrdiff_t x = 0; x < c->width; x++)
        for (int l = 0; l < c->pitch; l++) {
            const int apart = c->left_value[x] - c->right_value[x + l], size = apart < 0 ? -apart : apart;
            int cost = smaller(size, c->difference_max);
            for (int p = 0; p < c->planes; p++)
                cost += ones((unsigned)c->left[x + p * c->left_plane] ^ c->right[x + l + p * c->right_plane]);
            c->out[x * c->pitch + l] = (uint8_t)(l < c->labels ? cost : 255);
        }
}

static int clamped(int v, int most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* Sums over the window about pixel x at labels l - 1, l, l + 1. */
static void sum_window(const SdmSgmOffsets *o, int x, int sum[3])
{
    const int l = o->label[SDM_SGM_SIDE / 2][x];
    for (int j = 0; j < SDM_SGM_SIDE; j++)
        for (int i = 0; i < SDM_SGM_SIDE; i++) {
            const int at = clamped(x + i - SDM_SGM_SIDE / 2, o->width - 1), other = o->label[j][at];
            /* at other - 2 .. other + 2 */
            const uint64_t costs = o->low[j][at] | (uint64_t)(o->high[j][at] >> 24) << 32;
            for (int k = -1; k <= 1 && other - l <= 1 && l - other <= 1; k++)
                sum[k + 1] += (int)(costs >> 8 * (l + k - other + 2) & 255);
        }
}

static void offsets(const SdmSgmOffsets *o)
{
    for (int x = 0; x < o->width; x++) {
        const int l = o->label[SDM_SGM_SIDE / 2][x];
        int sum[3] = {0, 0, 0};
        sum_window(o, x, sum);
        const int before = sum[0], at = sum[1], after = sum[2],
                  steeper = before > after ? before - at : after - at;
        if (l < 1 || l + 1 >= o->labels)
            o->offset[x] = 0.0f;
        else if (before < at || after < at) /* beyond half a label */
            o->offset[x] = before < after ? -0.5f : before > after ? 0.5f : 0.0f;
        else
            o->offset[x] = steeper > 0 ? (float)(before - after) / (float)(2 * steeper) : 0.0f;
    }
}

static void penalties(const SdmSgmPenalties *p)
{
    for (int x = 0; x < p->count; x++) {
        const int step = p->here[x] > p->before[x] ? p->here[x] - p->before[x] : p->before[x] - p->here[x];
        p->out[x] = (uint16_t)(p->p1 + (p->p2 - p->p1) * p->scale / (p->scale + smaller(step, 4095)));
    }
}

const SdmSgmKernels sdm_sgm_kernels_reference = {sgm_row, sgm_pick, words, costs, offsets, penalties};
