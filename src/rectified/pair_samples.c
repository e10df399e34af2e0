/* A row of an image -> samples of any columns, the edges of the image repeated. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair.h"

#include "core/math.h"

#include <string.h>

static void copy_samples(const SdmPairImage *im, ptrdiff_t from, int count, int16_t *out)
{
    if (!im->bytes)
        memcpy(out, im->data + from, (size_t)count * sizeof *out);
    for (int i = 0; im->bytes && i < count; i++)
        out[i] = im->bytes[from + i];
}

const int16_t *sdm_pair_samples(const SdmPairImage *im, int y, int x, int count, int16_t *row)
{
    const ptrdiff_t from = sdm_clamp(y, 0, im->height - 1) * im->stride;
    if (!im->bytes && x >= 0 && x + count <= im->width)
        return im->data + from + x;
    /* on the image */
    const int first = sdm_clamp(-x, 0, count), end = sdm_clamp(im->width - x, first, count);
    if (end > first) {
        copy_samples(im, from + x + first, end - first, row + first);
    } else { /* all to the left of the image, or all to the right: one sample */
        copy_samples(im, from + (x < 0 ? 0 : im->width - 1), 1, row);
    }
    const int16_t before = row[end > first ? first : 0], after = row[end > first ? end - 1 : 0];
    for (int i = 0; i < first; i++)
        row[i] = before;
    for (int i = end; i < count; i++)
        row[i] = after;
    return row;
}

bool sdm_pair_has_holes(const SdmPairImage *im, int y0, int y1)
{
    uint16_t any = 0;
    if (im->bytes)
        return false;
    for (int y = sdm_clamp(y0, 0, im->height - 1); y <= sdm_clamp(y1, 0, im->height - 1) && !any; y++) {
        const int16_t *const row = im->data + y * im->stride;
        for (int x = 0; x < im->width; x++) /* without an early return: the compiler makes vectors of the
                                             * loop */
            any = (uint16_t)(any | (row[x] == SDM_PIXEL_NODATA));
    }
    return any != 0;
}
