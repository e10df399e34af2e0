/* Census words and values of a row -> costs of its pixels, labels along the lanes.  See sgm_kernels.h. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_kernels.h"
#include "simd.h"
#include "sgm_kernels.h"

#include <string.h>

extern sdm_sgm_costs_fn SDM_NAME(sgm_costs);

VEC v8 cost_of(const SdmSgmCosts *c, ptrdiff_t x, int l, int planes)
{
    const v8 most = v8_set(c->difference_max);
    v8 sum = v8_min(v8_absdiff(v8_set(c->left_value[x]), v8_load(c->right_value + x + l)), most);
    for (int p = 0; p < planes; p++)
        sum = v8_add(sum, v8_hamming(v8_set(c->left[x + p * c->left_plane]),
                                     v8_load(c->right + x + l + p * c->right_plane)));
    return sum;
}

/* Pixels x0..x1 - 1, where vectors may be stored beyond the labels of a pixel. */
VEC void pixels(const SdmSgmCosts *c, ptrdiff_t x0, ptrdiff_t x1, int planes, v8 last)
{
    for (ptrdiff_t x = x0; x < x1; x++)
        for (int l = 0; l < c->pitch; l += LANES) {
            const v8 cost = cost_of(c, x, l, planes);
            v8_store(c->out + x * c->pitch + l, l + LANES < c->labels ? cost : v8_max(cost, last));
        }
}

/* Pixels x0..x1 - 1 without a byte stored beyond the row. */
VEC void last_pixels(const SdmSgmCosts *c, ptrdiff_t x0, ptrdiff_t x1, int planes, v8 last)
{
    uint8_t room[LANES];
    for (ptrdiff_t x = x0; x < x1; x++)
        for (int l = 0; l < c->pitch; l += LANES) {
            const v8 cost = cost_of(c, x, l, planes);
            v8_store(room, l + LANES < c->labels ? cost : v8_max(cost, last));
            memcpy(c->out + x * c->pitch + l, room, (size_t)(c->pitch - l < LANES ? c->pitch - l : LANES));
        }
}

VEC void row_of(const SdmSgmCosts *c, int planes)
{
    const ptrdiff_t over = c->pitch % LANES ? (LANES + c->pitch - 1) / c->pitch : 0;
    const ptrdiff_t whole = c->width > over ? c->width - over : 0;
    uint8_t pad[LANES];
    for (int i = 0; i < LANES; i++) /* of the last vector of a pixel */
        pad[i] = (c->labels - 1) / LANES * LANES + i < c->labels ? 0 : 255;
    const v8 last = v8_load(pad);
    pixels(c, 0, whole, planes, last);
    last_pixels(c, whole, c->width, planes, last);
}

void SDM_NAME(sgm_costs)(const SdmSgmCosts *c)
{
    if (c->planes == 8)
        row_of(c, 8);
    else
        row_of(c, c->planes);
}
