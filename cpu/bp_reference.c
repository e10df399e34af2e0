/* The definition of belief propagation: costs of labels -> labels, with the messages of the whole image,
 * one label after the other. */
// SPDX-License-Identifier: Apache-2.0
#include "bp.h"

#include <stdlib.h>
#include <string.h>

/* Pixels x0..x1-1, y0..y1-1. */
typedef struct Part {
    int x0, y0, x1, y1;
} Part;

/* message[way]: height x width x labels; the messages that reached each pixel on that way */
typedef struct State {
    const SdmBpField *f;
    uint16_t *message[SDM_BP_WAYS];
} State;

static size_t place(const SdmBpField *f, int x, int y)
{
    return ((size_t)y * (size_t)f->width + (size_t)x) * (size_t)f->labels;
}

static int least(const int *v, int n)
{
    int low = v[0];
    for (int l = 1; l < n; l++)
        low = v[l] < low ? v[l] : low;
    return low;
}

/* out(l) = min over k of h(k) + weight min(|l - k|, truncation), less the least h: Felzenszwalb and
 * Huttenlocher 2006, two passes, then the truncation.  h is overwritten. */
static void make_message(const SdmBpField *f, int *h, uint16_t *out)
{
    const int n = f->labels, low = least(h, n), most = low + f->weight * f->truncation;
    for (int l = 1; l < n; l++)
        h[l] = h[l - 1] + f->weight < h[l] ? h[l - 1] + f->weight : h[l];
    for (int l = n - 2; l >= 0; l--)
        h[l] = h[l + 1] + f->weight < h[l] ? h[l + 1] + f->weight : h[l];
    for (int l = 0; l < n; l++)
        out[l] = (uint16_t)((h[l] < most ? h[l] : most) - low);
}

/* Data costs plus all messages at a pixel except those of way `but` (-1: plus all). */
static void gather(const State *s, int x, int y, int but, int *h)
{
    const size_t at = place(s->f, x, y);
    const uint8_t *const data = sdm_bp_data(s->f, x, y);
    for (int l = 0; l < s->f->labels; l++) {
        h[l] = data[l];
        for (int way = 0; way < SDM_BP_WAYS; way++)
            h[l] += way == but ? 0 : s->message[way][at + (size_t)l];
    }
}

static void send(const State *s, int x, int y, int way)
{
    static const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, 1, -1};
    const int to_x = x + dx[way], to_y = y + dy[way];
    int h[SDM_BP_LABELS_MAX];
    if (to_x < 0 || to_y < 0 || to_x >= s->f->width || to_y >= s->f->height)
        return;
    gather(s, x, y, way ^ 1, h); /* right and left, down and up: what came from where this goes */
    make_message(s->f, h, s->message[way] + place(s->f, to_x, to_y));
}

/* One iteration: four sweeps, each along its way. */
static void iterate(const State *s, const Part *p)
{
    for (int y = p->y0; y < p->y1; y++)
        for (int x = p->x0; x < p->x1; x++)
            send(s, x, y, SDM_BP_RIGHT);
    for (int y = p->y0; y < p->y1; y++)
        for (int x = p->x1 - 1; x >= p->x0; x--)
            send(s, x, y, SDM_BP_LEFT);
    for (int y = p->y0; y < p->y1; y++)
        for (int x = p->x0; x < p->x1; x++)
            send(s, x, y, SDM_BP_DOWN);
    for (int y = p->y1 - 1; y >= p->y0; y--)
        for (int x = p->x0; x < p->x1; x++)
            send(s, x, y, SDM_BP_UP);
}

static void decide(const State *s, const Part *p, uint16_t *label)
{
    int h[SDM_BP_LABELS_MAX];
    for (int y = p->y0; y < p->y1; y++)
        for (int x = p->x0; x < p->x1; x++) {
            int best = 0;
            gather(s, x, y, -1, h);
            for (int l = 1; l < s->f->labels; l++)
                best = h[l] < h[best] ? l : best;
            label[(size_t)y * (size_t)s->f->width + (size_t)x] = (uint16_t)best;
        }
}

/* Messages from pixel to pixel inside the tile are 0 again. */
static void forget(const State *s, const Part *p)
{
    const size_t bytes = (size_t)s->f->labels * sizeof(uint16_t);
    for (int y = p->y0; y < p->y1; y++)
        for (int x = p->x0; x < p->x1; x++) {
            const size_t at = place(s->f, x, y);
            const bool inside[SDM_BP_WAYS] = {x > p->x0, x<p->x1 - 1, y> p->y0, y < p->y1 - 1};
            for (int way = 0; way < SDM_BP_WAYS; way++)
                if (inside[way])
                    memset(s->message[way] + at, 0, bytes);
        }
}

static State open_state(const SdmBpField *f, void *scratch)
{
    State s = {.f = f};
    for (int way = 0; way < SDM_BP_WAYS; way++)
        s.message[way] = (uint16_t *)scratch + (size_t)way * place(f, 0, f->height);
    memset(scratch, 0, sdm_bp_reference_scratch(f));
    return s;
}

size_t sdm_bp_reference_scratch(const SdmBpField *f)
{
    return SDM_BP_WAYS * place(f, 0, f->height) * sizeof(uint16_t);
}

void sdm_bp_reference(const SdmBpField *f, const SdmBpPlan *plan, void *scratch, uint16_t *label)
{
    const int t = plan->tile, across = (f->width + t - 1) / t, tiles = across * ((f->height + t - 1) / t);
    const State s = open_state(f, scratch);
    for (int pass = 0; pass < 2 * plan->outer; pass++)
        for (int i = 0; i < tiles; i++) {
            const int k = pass % 2 ? tiles - 1 - i : i, x0 = k % across * t, y0 = k / across * t;
            const Part p = {x0, y0, x0 + t < f->width ? x0 + t : f->width,
                            y0 + t < f->height ? y0 + t : f->height};
            forget(&s, &p);
            for (int n = 0; n < plan->inner; n++)
                iterate(&s, &p);
            if (pass == 2 * plan->outer - 1)
                decide(&s, &p, label);
        }
}

void sdm_bp_untiled_reference(const SdmBpField *f, int iterations, void *scratch, uint16_t *label)
{
    const State s = open_state(f, scratch);
    const Part all = {0, 0, f->width, f->height};
    for (int n = 0; n < iterations; n++)
        iterate(&s, &all);
    decide(&s, &all, label);
}

void sdm_bp_energy(const SdmBpField *f, const uint16_t *label, int64_t sums[2])
{
    sdm_bp_energy_rows(f, label, 0, f->height, sums);
}

void sdm_bp_energy_rows(const SdmBpField *f, const uint16_t *label, int y0, int y1, int64_t sums[2])
{
    sums[0] = sums[1] = 0;
    for (int y = y0; y < y1; y++)
        for (int x = 0; x < f->width; x++) {
            const size_t i = (size_t)y * (size_t)f->width + (size_t)x;
            const int near[2] = {x > 0 ? label[i - 1] : label[i],
                                 y > 0 ? label[i - (size_t)f->width] : label[i]};
            sums[0] += sdm_bp_data(f, x, y)[label[i]];
            for (int k = 0; k < 2; k++) {
                const int apart = abs(label[i] - near[k]);
                sums[1] += f->weight * (apart < f->truncation ? apart : f->truncation);
            }
        }
}
