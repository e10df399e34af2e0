/* Stage 4: a window of an image -> its levels, by strips; and their local normalisation. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/pyramid.h"

#include <string.h>

enum { STRIP_PIXELS = 32 << 20, LEAST_ROWS = 16 };

void sdm_level_image_free(SdmLevelImage *im)
{
    sdm_free(&im->data);
}

void sdm_pyramid_free_pixels(SdmPyramid *p)
{
    for (int l = 0; p && l < SDM_MAX_LEVELS; l++)
        sdm_level_image_free(&p->level[l]);
}

SdmStatus sdm_level_image_copy(SdmContext *ctx, const SdmLevelImage *im, SdmLevelImage *out)
{
    const size_t n = (size_t)(im->w * im->h);
    *out = *im;
    out->data = NULL;
    PASS(sdm_alloc_raw(ctx, &out->data, n, sizeof *out->data, "a copy of an image"));
    memcpy(out->data, im->data, n * sizeof *out->data);
    return SDM_OK;
}

void sdm_pyramid_free(SdmPyramid *p)
{
    sdm_pyramid_free_pixels(p);
    SDM_FREE(&p->seen.data, &p->defect);
}

/* Half `in` into rows [begin, end) of `out` (absolute rows of out's level); rows and columns outside `in` are
 * nodata. */
static SdmStatus halve(SdmContext *ctx, const SdmKernels *k, const SdmLevelImage *in, SdmLevelImage *out,
                       int64_t begin, int64_t end)
{
    SDM_OWNED int16_t *scratch = NULL;
    const int64_t pad = 2 * out->w + 2; /* source pixels 2 x0 - 1 .. 2 (x0 + w) */
    const int threads = sdm_threads(ctx);
    PASS(sdm_alloc(ctx, &scratch, (size_t)(threads * 4 * pad), sizeof *scratch, "pyramid rows"));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        int16_t *const rows = scratch + (int64_t)t * 4 * pad;
        const int64_t y_begin = begin + (end - begin) * t / threads,
                      y_end = begin + (end - begin) * (t + 1) / threads;
        for (int64_t y = y_begin; y < y_end; y++) {
            const int16_t *src[4];
            for (int j = 0; j < 4; j++) {
                const int64_t yy = 2 * y - 1 + j - in->y0;
                int16_t *const row = rows + j * pad;
                for (int64_t i = 0; i < pad; i++)
                    row[i] = SDM_PIXEL_NODATA;
                const int64_t x0 = 2 * out->x0 - 1, from = x0 > in->x0 ? x0 : in->x0;
                const int64_t to = x0 + pad < in->x0 + in->w ? x0 + pad : in->x0 + in->w;
                if (yy >= 0 && yy < in->h && to > from)
                    memcpy(row + (from - x0), in->data + yy * in->w + (from - in->x0),
                           (size_t)(to - from) * sizeof *row);
                src[j] = row + 1;
            }
            k->half_row(src, (int)out->w, out->data + (y - out->y0) * out->w);
        }
    }
    return SDM_OK;
}

void sdm_level_place(const int64_t bounds[4], int level, SdmLevelImage *out)
{
    const int64_t one = ((int64_t)1 << level) - 1;
    out->x0 = bounds[0] >> level; /* arithmetic on every compiler we use */
    out->y0 = bounds[1] >> level;
    out->w = ((bounds[2] + one) >> level) - out->x0;
    out->h = ((bounds[3] + one) >> level) - out->y0;
}

static SdmStatus alloc_level(SdmContext *ctx, SdmLevelImage *im, const int64_t bounds[4], int l)
{
    sdm_level_place(bounds, l, im);
    return sdm_alloc_raw(ctx, &im->data, (size_t)(im->w * im->h), sizeof *im->data, "an image level");
}

/* Rows [begin, end) of level lmin, through a strip of the full image with its margins. */
static SdmStatus build_strip(SdmContext *ctx, const SdmPyramidSource *source, const int64_t bounds[4],
                             int lmin, int64_t begin, int64_t end, SdmLevelImage *out)
{
    const SdmKernels *const k = source->kernels;
    SDM_CLOSED_BY(sdm_level_image_free) SdmLevelImage a = {0}, b = {0};
    const int64_t margin = (int64_t)3 << lmin;
    int64_t strip[4] = {bounds[0], begin * ((int64_t)1 << lmin) - margin, bounds[2],
                        end * ((int64_t)1 << lmin) + margin};
    strip[1] = strip[1] > bounds[1] ? strip[1] : bounds[1];
    strip[3] = strip[3] < bounds[3] ? strip[3] : bounds[3];
    PASS(alloc_level(ctx, &a, strip, 0));
    PASS(source->read(ctx, source->user, a.x0, a.y0, a.w, a.h, a.data));
    for (int l = 1; l < lmin; l++) {
        PASS(alloc_level(ctx, &b, strip, l));
        PASS(halve(ctx, k, &a, &b, b.y0, b.y0 + b.h));
        sdm_free(&a.data);
        a = b;
        b.data = NULL;
    }
    return halve(ctx, k, &a, out, begin, end);
}

/* Rows of level lmin that are built at once: more of a narrow image. */
static int64_t strip_rows(int64_t width, int lmin)
{
    const int64_t rows = 1024 >> lmin > 32 ? 1024 >> lmin : 32, fit = (STRIP_PIXELS / width) >> lmin;
    return fit > rows ? rows : fit > LEAST_ROWS ? fit : LEAST_ROWS;
}

int64_t sdm_pyramid_strip_bytes(int64_t width, int lmin)
{
    const int64_t rows = (strip_rows(width, lmin) + 6) * ((int64_t)1 << lmin);
    return width * rows * 7 / 2; /* pixels, those of the next level, a mask */
}

SdmStatus sdm_pyramid_build(SdmContext *ctx, const SdmPyramidSource *source, const int64_t bounds[4],
                            int lmin, int lmax, SdmPyramid *out)
{
    SdmStatus st = SDM_OK;
    *out = (SdmPyramid){.lmin = lmin, .lmax = lmax};
    SdmLevelImage *const first = &out->level[lmin];
    TRY(alloc_level(ctx, first, bounds, lmin));
    if (lmin == 0)
        TRY(source->read(ctx, source->user, first->x0, first->y0, first->w, first->h, first->data));
    const int64_t rows = strip_rows(bounds[2] - bounds[0], lmin);
    for (int64_t y = first->y0; lmin > 0 && y < first->y0 + first->h; y += rows) {
        const int64_t end = y + rows < first->y0 + first->h ? y + rows : first->y0 + first->h;
        TRY(sdm_check_stop(ctx));
        TRY(build_strip(ctx, source, bounds, lmin, y, end, first));
    }
    for (int l = lmin + 1; l <= lmax; l++) {
        SdmLevelImage *const im = &out->level[l];
        TRY(alloc_level(ctx, im, bounds, l));
        TRY(halve(ctx, source->kernels, &out->level[l - 1], im, im->y0, im->y0 + im->h));
    }
done:
    if (st != SDM_OK)
        sdm_pyramid_free(out);
    return st;
}

SdmStatus sdm_pyramid_filled(SdmContext *ctx, const SdmPyramid *p, SdmLevelImage *out)
{
    const SdmLevelImage *const im = &p->level[0];
    const int64_t n = im->w * im->h;
    unsigned any = 0;
    *out = *im;
    out->data = NULL;
    for (int64_t i = 0; p->defect && i < n; i++)
        any |= p->defect[i];
    if (!(any & SDM_DEFECT_FILLED))
        return SDM_OK;
    PASS(sdm_alloc_raw(ctx, &out->data, (size_t)n, sizeof *out->data, "filled pixels"));
    for (int64_t i = 0; i < n; i++)
        out->data[i] = p->defect[i] & SDM_DEFECT_FILLED ? 2047 : -2047;
    return SDM_OK;
}
