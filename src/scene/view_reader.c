/* Window of an image -> quantised pixels, nodata inside saturated areas. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/view_reader.h"

#include <string.h>

enum { RIM = 3, SIDE = 2 * RIM + 1, STRIP = 1024 };

/* core (h x w): 1 where all of the SIDE x SIDE pixels around are saturated.  wide: the mask with RIM more all
 * around; columns: w counters, 0. */
static void find_core(const uint8_t *wide, int64_t w, int64_t h, uint8_t *columns, uint8_t *core)
{
    for (int64_t y = 0; y < h + 2 * RIM; y++) {
        const uint8_t *const row = wide + y * (w + 2 * RIM);
        int run = 0;
        for (int64_t x = 0; x < w + 2 * RIM; x++) {
            run = row[x] ? run + 1 : 0;
            if (x < 2 * RIM)
                continue;
            uint8_t *const rows = &columns[x - 2 * RIM]; /* so far, whose SIDE pixels are saturated */
            *rows = (uint8_t)(run < SIDE ? 0 : *rows < SIDE ? *rows + 1 : SIDE);
            if (y >= 2 * RIM)
                core[(y - 2 * RIM) * w + x - 2 * RIM] = *rows == SIDE;
        }
    }
}

static SdmStatus clear_core(SdmContext *ctx, SdmViewReader *r, int64_t x0, int64_t y0, int64_t w, int64_t h,
                            int16_t *out, uint8_t *core)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)((w + 2 * RIM) * (h + 2 * RIM));
    int16_t *pixels = NULL;
    uint8_t *wide = NULL, *columns = NULL;
    TRY(sdm_alloc(ctx, &pixels, n, sizeof *pixels, "image window"));
    TRY(sdm_alloc(ctx, &wide, n, 1, "the mask of saturated pixels"));
    TRY(sdm_alloc(ctx, &columns, (size_t)w, 1, "the mask of saturated pixels"));
    TRY(sdm_image_read(ctx, r->image, x0 - RIM, y0 - RIM, w + 2 * RIM, h + 2 * RIM, pixels, wide));
    find_core(wide, w, h, columns, core);
    for (int64_t i = 0; i < w * h; i++)
        out[i] = core[i] ? (int16_t)SDM_Q_NODATA : out[i];
done:
    sdm_free(&pixels);
    sdm_free(&wide);
    sdm_free(&columns);
    return st;
}

/* Read by strips, with a mask of a strip; *any: a pixel is saturated. */
static SdmStatus read_strips(SdmContext *ctx, SdmViewReader *r, int64_t x0, int64_t y0, int64_t w, int64_t h,
                             int16_t *out, bool *any)
{
    SdmStatus st = SDM_OK;
    const int64_t rows = h < STRIP ? h : STRIP;
    uint8_t *mask = NULL;
    *any = false;
    TRY(sdm_alloc(ctx, &mask, (size_t)(w * rows), 1, "the mask of saturated pixels"));
    for (int64_t y = 0; y < h; y += rows) {
        const int64_t count = y + rows < h ? rows : h - y;
        TRY(sdm_image_read(ctx, r->image, x0, y0 + y, w, count, out + y * w, mask));
        *any = *any || memchr(mask, 1, (size_t)(w * count));
    }
done:
    sdm_free(&mask);
    return st;
}

SdmStatus sdm_view_read(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                        int16_t *out)
{
    SdmStatus st = SDM_OK;
    SdmViewReader *const r = user;
    const size_t n = (size_t)(w * h);
    uint8_t *mask = NULL;
    bool any = false;
    sdm_free(&r->core);
    TRY(read_strips(ctx, r, x0, y0, w, h, out, &any));
    if (!any)
        goto done;
    TRY(sdm_alloc(ctx, &mask, n, 1, "the mask of saturated pixels"));
    TRY(clear_core(ctx, r, x0, y0, w, h, out, mask));
    if (r->keep && memchr(mask, 1, n)) {
        r->core = mask;
        mask = NULL;
    }
done:
    sdm_free(&mask);
    return st;
}
