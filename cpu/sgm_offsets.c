/* Labels of rows and the costs about them -> sub-pixel places; steps of the guide -> penalties.  Plain loops
 * that the compiler turns into vectors.  See sgm_kernels.h. */
// SPDX-License-Identifier: Apache-2.0
#include "sgm_kernels.h"

extern sdm_sgm_offsets_fn SDM_NAME(sgm_offsets);
extern sdm_sgm_penalties_fn SDM_NAME(sgm_penalties);

enum { CHUNK = 64, HALF = SDM_SGM_SIDE / 2 };

/* Sums of a window: at labels l - 1 and, 16 bits up, l + 1; at l. */
typedef struct Sums {
    uint32_t ends[CHUNK], middle[CHUNK];
} Sums;

/* Add what pixels of the window bring to `count` pixels with labels l: bytes of the costs at l - 1, l, l +
 * 1. */
static inline __attribute__((always_inline)) void
add(const uint16_t *l, const uint16_t *label, const uint32_t *low, const uint32_t *high, int count, Sums *s)
{
#pragma omp simd
    for (int i = 0; i < count; i++) {
        const int up = l[i] - label[i]; /* -1, 0, 1: labels that differ by at most 1; masks, since branches
                                         * are mispredicted */
        const uint32_t v = (low[i] & -(uint32_t)(up == -1)) | (low[i] >> 8 & -(uint32_t)(up == 0)) |
                           (high[i] >> 8 & -(uint32_t)(up == 1));
        s->ends[i] += v & 0x00FF00FF;
        s->middle[i] += v >> 8 & 0xFF;
    }
}

/* Places between labels with these sums of costs. */
static inline __attribute__((always_inline)) void places(const uint16_t *l, int labels, const Sums *s,
                                                         int count, float *offset)
{
#pragma omp simd
    for (int i = 0; i < count; i++) {
        const int before = (int)(s->ends[i] & 0xFFFF), after = (int)(s->ends[i] >> 16),
                  at = (int)s->middle[i];
        const int larger = before > after ? before : after, steeper = larger - at, apart = before - after;
        const float half = apart < 0 ? -0.5f : apart > 0 ? 0.5f : 0.0f; /* beyond half a label */
        const float between = (float)apart / (float)(steeper > 0 ? 2 * steeper : 1);
        const float place = ((before < at) | (after < at)) ? half : between;
        offset[i] = ((l[i] < 1) | (l[i] + 1 >= labels)) ? 0.0f : place;
    }
}

/* Pixels x .. x + count - 1; one, if its window goes beyond the row, whose ends are repeated. */
static inline __attribute__((always_inline)) void chunk(const SdmSgmOffsets *o, int x, const int count)
{
    const uint16_t *const l = o->label[HALF] + x;
    Sums s = {{0}, {0}};
    for (int j = 0; j < SDM_SGM_SIDE; j++)
        for (int i = x - HALF; i <= x + HALF; i++) {
            const int at = i < 0 ? 0 : i >= o->width ? o->width - 1 : i;
            add(l, o->label[j] + at, o->low[j] + at, o->high[j] + at, count, &s);
        }
    places(l, o->labels, &s, count, o->offset + x);
}

void SDM_NAME(sgm_offsets)(const SdmSgmOffsets *o)
{
    for (int x = 0; x < o->width;)
        if (x >= HALF && x + CHUNK + HALF <= o->width) {
            chunk(o, x, CHUNK);
            x += CHUNK;
        } else {
            chunk(o, x++, 1);
        }
}

void SDM_NAME(sgm_penalties)(const SdmSgmPenalties *p)
{
    const int p1 = p->p1, scale = p->scale;
    const float most = (float)((p->p2 - p1) * scale); /* whole numbers below 2^24: the quotient's floor is
                                                       * right */
#pragma omp simd
    for (int x = 0; x < p->count; x++) {
        const int apart = p->here[x] - p->before[x], size = apart < 0 ? -apart : apart,
                  step = size < 4095 ? size : 4095;
        p->out[x] = (uint16_t)(p1 + (int)(most / (float)(scale + step)));
    }
}
