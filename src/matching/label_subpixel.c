/* Labels and costs -> sub-pixel positions about the labels, from the costs alone: smoothness would draw
 * them to whole pixels. */
// SPDX-License-Identifier: Apache-2.0
#include "core/math.h"
#include "matching/label_subpixel.h"

/* Costs first .. first + 3 of a pixel as bytes of a word, the first one lowest. */
static uint32_t four_costs(const uint8_t *cost, int first)
{
    const uint8_t *const c = cost + first;
    return (uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
}

void sdm_label_costs(const SdmVolume *v, int y, const SdmLabels *labels)
{
    const uint16_t *const label = labels->left + (ptrdiff_t)y * v->width;
    const uint8_t *cost = v->cost + (ptrdiff_t)y * v->width * v->pitch;
    uint32_t *const low = labels->near + 2 * (ptrdiff_t)y * v->width, *const high = low + v->width;
    for (int x = 0; x < v->width; x++, cost += v->pitch) {
        const int l = label[x];
        if (l < 2) { /* below label 0 anything */
            const uint32_t first = four_costs(cost, 0);
            low[x] = first << 8 * (2 - l);
            high[x] = l == 1 ? first : first << 8;
        } else {
            const uint32_t four = four_costs(cost, l - 2);
            low[x] = four;
            high[x] = four >> 8 | (uint32_t)cost[l + 2] << 24;
        }
    }
}

void sdm_label_offsets(const SdmVolume *v, const SdmSgmKernels *kernels, const SdmLabels *labels, int y,
                       float *offset)
{
    SdmSgmOffsets o = {.width = v->width, .labels = v->labels, .offset = offset};
    for (int j = 0; j < SDM_SGM_SIDE; j++) {
        const ptrdiff_t row = sdm_clamp(y + j - SDM_SGM_SIDE / 2, 0, v->height - 1);
        o.label[j] = labels->left + row * v->width;
        o.low[j] = labels->near + 2 * row * v->width;
        o.high[j] = o.low[j] + v->width;
    }
    kernels->offsets(&o);
}
