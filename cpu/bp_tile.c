/* A visit of a tile in belief propagation: messages that arrive -> messages that leave.  Messages have 16
 * bits, with one label per lane, and equal those of cpu/bp_reference.c.
 *
 * The transform of a message's truncated linear smoothness by doubling: after the step of n labels h(l) =
 * min(h(l), h(l - n) + n weight, h(l + n) + n weight), every label within 2 n - 1 is taken into account;
 * labels `truncation` or more away are never cheaper than the least one at weight x truncation, so steps
 * end there.  Messages to the right and to the left do not depend on each other, nor do those down and up:
 * both sweeps share a sum, and four of them run side by side. */
// SPDX-License-Identifier: Apache-2.0
#include "bp.h"
#include "core/arena.h"
#include "simd.h"

#include <string.h>

enum { STEPS = 10, SHORT_STEPS = 3 }; /* of the transform; of the one without memory */

/* The state of a visit.  Messages lie where they arrive: right[y][x] for x = 0..width (the last one
 * leaves), left[y][x + 1], down[y][x] for y = 0..height, up[y + 1][x]. */
typedef struct Visit {
    const SdmBpTile *tile;
    const SdmBpField *field;
    int w, h, n;   /* n: labels, rounded up to lanes */
    int steps;     /* of the transform */
    uint16_t most; /* weight x truncation */
    uint16_t step_weight[STEPS];
    uint16_t *right, *left, *down, *up;
    uint16_t *shared;       /* h x w x n: data, right and left */
    uint16_t *row[2];       /* w x n: data, down and up */
    uint16_t *pad;          /* n: 65535 for labels that do not exist, else 0 */
    uint16_t *transform[2]; /* 3 n: labels in the middle, 65535 on both sides */
} Visit;

static void take_arrays(Visit *v, SdmArena *arena)
{
    const size_t w = (size_t)v->w, h = (size_t)v->h, n = (size_t)v->n, message = n * sizeof(uint16_t);
    v->right = sdm_arena_take(arena, h * (w + 1), message);
    v->left = sdm_arena_take(arena, h * (w + 1), message);
    v->down = sdm_arena_take(arena, (h + 1) * w, message);
    v->up = sdm_arena_take(arena, (h + 1) * w, message);
    v->shared = sdm_arena_take(arena, h * w, message);
    v->pad = sdm_arena_take(arena, 1, message);
    for (int k = 0; k < 2; k++) {
        v->row[k] = sdm_arena_take(arena, w, message);
        v->transform[k] = sdm_arena_take(arena, 3, message);
    }
}

/* One vector holds all labels. */
VEC v16 message_short(const Visit *v, v16 h, int steps)
{
    const v16 low = v16_least_all(h), most = v16_add(low, v16_set(v->most)), none = v16_set(0xFFFF);
    if (steps >= 1)
        h = v16_min(h,
                    v16_adds(v16_min(v16_up(h, none, 1), v16_down(h, none, 1)), v16_set(v->step_weight[0])));
    if (steps >= 2)
        h = v16_min(h,
                    v16_adds(v16_min(v16_up(h, none, 2), v16_down(h, none, 2)), v16_set(v->step_weight[1])));
    if (steps >= 3)
        h = v16_min(h,
                    v16_adds(v16_min(v16_up(h, none, 4), v16_down(h, none, 4)), v16_set(v->step_weight[2])));
    return v16_sub(v16_min(h, most), low);
}

/* Any number of labels; h lies in the middle of transform[0]. */
static void message_long(const Visit *v, v16 low, uint16_t *out)
{
    const v16 least = v16_least_all(low), most = v16_add(least, v16_set(v->most));
    const uint16_t *from = v->transform[0] + v->n;
    uint16_t *to = v->transform[1] + v->n;
    for (int k = 0; k < v->steps; k++) {
        const v16 weight = v16_set(v->step_weight[k]);
        const ptrdiff_t n = (ptrdiff_t)1 << k;
        for (int l = 0; l < v->n; l += VL) {
            const v16 near = v16_min(v16_load(from + l - n), v16_load(from + l + n));
            v16_store(to + l, v16_min(v16_load(from + l), v16_adds(near, weight)));
        }
        from = to;
        to = v->transform[k % 2] + v->n;
    }
    for (int l = 0; l < v->n; l += VL)
        v16_store(out + l, v16_sub(v16_min(v16_load(from + l), most), least));
}

/* Message that a pixel passes on: from the shared sum (`base`) and the message that arrives. */
VEC void pass_on(const Visit *v, const uint16_t *base, const uint16_t *arrives, uint16_t *out, int steps)
{
    if (steps >= 0) {
        v16_store(out, message_short(v, v16_adds(v16_load(base), v16_load(arrives)), steps));
        return;
    }
    v16 low = v16_set(0xFFFF);
    for (int l = 0; l < v->n; l += VL) {
        const v16 h = v16_adds(v16_load(base + l), v16_load(arrives + l));
        v16_store(v->transform[0] + v->n + l, h);
        low = v16_min(low, h);
    }
    message_long(v, low, out);
}

/* Data of row y plus the messages down and up; in the first iteration only those over the tile's border. */
VEC void sum_row(const Visit *v, int y, bool first, uint16_t *out)
{
    const SdmBpTile *const t = v->tile;
    const uint8_t *data = sdm_bp_data(v->field, t->x0, t->y0 + y);
    const size_t at = (size_t)y * (size_t)v->w * (size_t)v->n;
    const uint16_t *const down = !first || y == 0 ? v->down + at : NULL;
    const uint16_t *const up = !first || y == v->h - 1 ? v->up + at + (size_t)v->w * (size_t)v->n : NULL;
    for (int x = 0; x < v->w; x++, data += v->field->pitch)
        for (int l = 0; l < v->n; l += VL) {
            const int i = x * v->n + l;
            v16 sum = v16_or(v16_from_bytes(data + l), v16_load(v->pad + l));
            if (down)
                sum = v16_adds(sum, v16_load(down + i));
            if (up)
                sum = v16_adds(sum, v16_load(up + i));
            v16_store(out + i, sum);
        }
}

/* Right and left, two rows at a time. */
VEC void sweep_rows(const Visit *v, bool first, int n, int steps)
{
    for (int y = 0; y < v->h; y += 2) {
        const int below = y + 1 < v->h ? y + 1 : y; /* an odd last row: twice the same */
        const int pair[2] = {y, below};
        uint16_t *right[2], *left[2];
        for (int k = 0; k < 2; k++) {
            sum_row(v, pair[k], first, v->row[k]);
            right[k] = v->right + pair[k] * (v->w + 1) * n;
            left[k] = v->left + (pair[k] * (v->w + 1) + v->w) * n;
        }
        for (int x = 0; x < v->w; x++)
            for (int k = 0; k < 2; k++) {
                pass_on(v, v->row[k] + x * n, right[k], right[k] + n, steps);
                pass_on(v, v->row[k] + (v->w - 1 - x) * n, left[k], left[k] - n, steps);
                right[k] += n;
                left[k] -= n;
            }
    }
}

/* Data and the messages right and left of a pixel into `out`. */
VEC void share(const Visit *v, int x, int y, const uint8_t *data, uint16_t *out, int n)
{
    const uint16_t *const right = v->right + (y * (v->w + 1) + x) * n, *const left =
                                                                           v->left +
                                                                           (y * (v->w + 1) + x + 1) * n;
    for (int l = 0; l < n; l += VL) {
        const v16 sum = v16_adds(v16_or(v16_from_bytes(data + l), v16_load(v->pad + l)), v16_load(right + l));
        v16_store(out + l, v16_adds(sum, v16_load(left + l)));
    }
}

/* Down, then up. */
VEC void sweep_columns(const Visit *v, int n, int steps)
{
    const SdmBpTile *const t = v->tile;
    const size_t row = (size_t)v->w * (size_t)n;
    for (int y = 0; y < v->h; y++) {
        const uint8_t *data = sdm_bp_data(v->field, t->x0, t->y0 + y);
        uint16_t *shared = v->shared + (size_t)y * row, *down = v->down + (size_t)y * row;
        for (int x = 0; x < v->w; x++, data += v->field->pitch, shared += n, down += n) {
            share(v, x, y, data, shared, n);
            pass_on(v, shared, down, down + row, steps);
        }
    }
    for (int y = v->h - 1; y >= 0; y--) {
        const uint16_t *shared = v->shared + (size_t)y * row;
        uint16_t *up = v->up + (size_t)y * row;
        for (int x = 0; x < v->w; x++, shared += n, up += n)
            pass_on(v, shared, up + row, up, steps);
    }
}

/* Label of least belief: the sum of data and all four messages. */
VEC void decide(const Visit *v, int n)
{
    const SdmBpTile *const t = v->tile;
    uint16_t *const belief = v->transform[0];
    for (int y = 0; y < v->h; y++) {
        uint16_t *const label = t->label + (size_t)(t->y0 + y) * (size_t)v->field->width + t->x0;
        for (int x = 0; x < v->w; x++) {
            const size_t at = ((size_t)y * (size_t)v->w + (size_t)x) * (size_t)n;
            const uint16_t *const up = v->up + at + (size_t)v->w * (size_t)n;
            v16 low = v16_set(0xFFFF);
            for (int l = 0; l < n; l += VL) {
                const v16 sum = v16_adds(v16_adds(v16_load(v->shared + at + l), v16_load(v->down + at + l)),
                                         v16_load(up + l));
                low = v16_min(low, sum);
                v16_store(belief + l, sum);
            }
            const v16 least = v16_least_all(low);
            int l = 0, found = VL;
            for (; (found = v16_first_equal(v16_load(belief + l), least)) == VL; l += VL)
                ;
            label[x] = (uint16_t)(l + found);
        }
    }
}

VEC void iterate(const Visit *v, int n, int steps)
{
    for (int i = 0; i < v->tile->inner; i++) {
        sweep_rows(v, i == 0, n, steps);
        sweep_columns(v, n, steps);
    }
    if (v->tile->label)
        decide(v, n);
}

static void enter(const Visit *v)
{
    const SdmBpTile *const t = v->tile;
    const size_t n = (size_t)v->n, bytes = n * sizeof(uint16_t), w = (size_t)v->w, h = (size_t)v->h;
    for (size_t y = 0; y < h; y++) {
        memcpy(v->right + y * (w + 1) * n, t->in[SDM_BP_RIGHT] + y * n, bytes);
        memcpy(v->left + (y * (w + 1) + w) * n, t->in[SDM_BP_LEFT] + y * n, bytes);
    }
    memcpy(v->down, t->in[SDM_BP_DOWN], w * bytes);
    memcpy(v->up + h * w * n, t->in[SDM_BP_UP], w * bytes);
}

static void leave(const Visit *v)
{
    const SdmBpTile *const t = v->tile;
    const size_t n = (size_t)v->n, bytes = n * sizeof(uint16_t), w = (size_t)v->w, h = (size_t)v->h;
    for (size_t y = 0; y < h; y++) {
        memcpy(t->out[SDM_BP_RIGHT] + y * n, v->right + (y * (w + 1) + w) * n, bytes);
        memcpy(t->out[SDM_BP_LEFT] + y * n, v->left + y * (w + 1) * n, bytes);
    }
    memcpy(t->out[SDM_BP_DOWN], v->down + h * w * n, w * bytes);
    memcpy(t->out[SDM_BP_UP], v->up, w * bytes);
}

static void prepare(Visit *v)
{
    const SdmBpField *const f = v->field;
    v->most = (uint16_t)(f->weight * f->truncation);
    for (int n = 1; n < f->truncation && n < f->labels; n *= 2) /* within 2 n - 1 after the step of n */
        v->step_weight[v->steps++] = (uint16_t)(n * f->weight);
    for (int l = 0; l < v->n; l++)
        v->pad[l] = l < f->labels ? 0 : 0xFFFF;
    memset(v->transform[0], 0xFF, 3 * (size_t)v->n * sizeof(uint16_t));
    memset(v->transform[1], 0xFF, 3 * (size_t)v->n * sizeof(uint16_t));
}

/* The common cases, compiled with their constants. */
static void run(const Visit *v)
{
    const int steps = v->n > VL || v->steps > SHORT_STEPS ? -1 : v->steps;
    switch (steps) {
    case 0:
        iterate(v, VL, 0);
        break;
    case 1:
        iterate(v, VL, 1);
        break;
    case 2:
        iterate(v, VL, 2);
        break;
    case 3:
        iterate(v, VL, 3);
        break;
    default:
        iterate(v, v->n, -1);
    }
}

extern sdm_bp_tile_fn SDM_NAME(bp_tile);
void SDM_NAME(bp_tile)(const SdmBpTile *t)
{
    Visit v = {.tile = t,
               .field = t->field,
               .w = t->width,
               .h = t->height,
               .n = (t->field->labels + VL - 1) / VL * VL};
    take_arrays(&v, &(SdmArena){t->scratch, 0});
    prepare(&v);
    enter(&v);
    run(&v);
    leave(&v); /* on the last visit, too: tiles after it on the way back read it */
}

extern sdm_bp_scratch_fn SDM_NAME(bp_scratch);
size_t SDM_NAME(bp_scratch)(int labels, int width, int height)
{
    SdmArena arena = {NULL, 0};
    take_arrays(&(Visit){.w = width, .h = height, .n = (labels + VL - 1) / VL * VL}, &arena);
    return arena.used;
}
