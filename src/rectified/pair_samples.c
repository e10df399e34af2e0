/* A row of an image -> samples of any columns, the edges of the image repeated. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair.h"

#include "core/math.h"

#include <string.h>

const int16_t *sdm_pair_samples(const SdmPairImage *im, int y, int x, int count, int16_t *row)
{
    const int16_t *const from = im->data + sdm_clamp(y, 0, im->height - 1) * im->stride;
    if (x >= 0 && x + count <= im->width)
        return from + x;
    const int first = sdm_clamp(-x, 0, count), end = sdm_clamp(im->width - x, first, count); /* on the image */
    for (int i = 0; i < first; i++)
        row[i] = from[sdm_clamp(x + i, 0, im->width - 1)];
    if (end > first)
        memcpy(row + first, from + x + first, (size_t)(end - first) * sizeof *row);
    for (int i = end; i < count; i++)
        row[i] = from[sdm_clamp(x + i, 0, im->width - 1)];
    return row;
}
