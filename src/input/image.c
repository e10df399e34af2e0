/* Raster, masks, radiometric table -> windows of quantised pixels. */
// SPDX-License-Identifier: Apache-2.0
#include "core/vector_loops.h"
#include "input/fill_nodata.h"
#include "input/image.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STRIP_PX = 1 << 20 };

int64_t sdm_image_width(const SdmImage *im)
{
    return im->width;
}

int64_t sdm_image_height(const SdmImage *im)
{
    return im->height;
}

void sdm_image_stretch(const SdmImage *im, double *scale, double *offset)
{
    *scale = im->scale;
    *offset = im->offset;
}

void sdm_image_radiometry(const SdmImage *im, SdmRadiometry *out)
{
    *out = (SdmRadiometry){im->scale, im->offset, im->saturated_at, {im->fill[0], im->fill[1]}};
}

void sdm_image_set_radiometry(SdmImage *im, const SdmRadiometry *r)
{
    im->scale = r->scale;
    im->offset = r->offset;
    im->saturated_at = r->saturated_at;
    memcpy(im->fill, r->fill, sizeof im->fill);
}

void sdm_image_describe(const SdmImage *im, char *mask, size_t size, double *unusable, double *saturated)
{
    char own[128] = "";
    int has_nodata = 0;
    const int flags = im->own_mask ? GDALGetMaskFlags(im->band) : 0;
    const double nodata = im->own_mask ? GDALGetRasterNoDataValue(im->band, &has_nodata) : 0.0;
    if (im->zero_is_fill)
        snprintf(own, sizeof own, "0 = no data");
    else if (flags & (GMF_ALPHA | GMF_ALL_VALID))
        snprintf(own, sizeof own, "alpha band");
    else if (flags & GMF_NODATA && has_nodata)
        snprintf(own, sizeof own, "nodata %.9g", nodata);
    else if (flags)
        snprintf(own, sizeof own, "mask of the file");
    for (int k = 0; k < 2 && !isnan(im->fill[k]); k++) {
        const size_t at = strlen(own);
        char value[24];
        sdm_fill_text(im->fill[k], value);
        snprintf(own + at, sizeof own - at, "%s%s = no data, not declared", at ? "; " : "", value);
    }
    snprintf(mask, size, "%s%s%s%.400s", own, *own && im->user_mask ? "; " : "",
             im->user_mask ? im->mask_option : "", im->user_mask ? GDALGetDescription(im->mask_dataset) : "");
    if (!*mask)
        snprintf(mask, size, "none");
    *unusable = im->unusable;
    *saturated = im->saturated;
}

/* Samples of a window as floats; false when GDAL fails. */
static bool read_band(GDALRasterBandH band, SdmImageWindow at, float *out)
{
    const int w = (int)at.w, h = (int)at.h;
    return GDALRasterIO(band, GF_Read, (int)at.x, (int)at.y, w, h, out, w, h, GDT_Float32, 0, 0) == CE_None;
}

static SdmStatus read_failed(SdmContext *ctx, const char *name, int64_t y0, int64_t h)
{
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: rows %lld to %lld cannot be read (%.300s); the file is cut short or damaged, "
                    "fetch it again",
                    name, (long long)y0, (long long)(y0 + h - 1), sdm_gdal_reason());
}

/* valid becomes 0 where the file's own mask (bytes) or the user's (any samples) is 0, or NaN. */
static SdmStatus apply_mask(SdmContext *ctx, const SdmImage *im, GDALRasterBandH band, SdmImageWindow at,
                            uint8_t *valid)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)(at.w * at.h);
    float *mask = NULL;
    if (!band)
        return SDM_OK;
    TRY(sdm_alloc(ctx, &mask, n, sizeof *mask, "image mask"));
    if (!read_band(band, at, mask))
        TRY(read_failed(ctx, band == im->user_mask ? GDALGetDescription(im->mask_dataset) : im->name, at.y,
                        at.h));
    for (size_t i = 0; i < n; ++i)
        valid[i] &= mask[i] != 0.0f && !isnan(mask[i]);
done:
    sdm_free(&mask);
    return st;
}

SdmStatus sdm_image_raw(SdmContext *ctx, SdmImage *im, SdmImageWindow at, float *raw, uint8_t *valid)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)(at.w * at.h);
    sdm_reading_begin(ctx, im->name);
    sdm_quiet_begin();
    if (im->raw)
        for (int64_t r = 0; r < at.h; ++r)
            for (int64_t c = 0; c < at.w; ++c)
                raw[r * at.w + c] = im->raw[(at.y + r) * im->width + at.x + c];
    else if (!read_band(im->band, at, raw))
        TRY(read_failed(ctx, im->name, at.y, at.h));
    for (size_t i = 0; i < n; ++i)
        valid[i] = isfinite(raw[i]) && !(im->zero_is_fill && raw[i] == 0.0f) && raw[i] != im->fill[0] &&
                   raw[i] != im->fill[1];
    TRY(apply_mask(ctx, im, im->own_mask, at, valid));
    TRY(apply_mask(ctx, im, im->user_mask, at, valid));
done:
    sdm_quiet_end();
    sdm_reading_end(ctx);
    return st;
}

/* The nearest integer, ties to even: beyond 2^23 floats are integers, and the lowest bits are those of the
 * number.  Unlike lrintf() this takes no call, so that loops become vectors. */
static inline int16_t quantise(float q)
{
    static const float far = 12582912.0f; /* 1.5 x 2^23 */
    int32_t bits, origin;
    q = q > (float)SDM_Q_MAX ? (float)SDM_Q_MAX : q < (float)-SDM_Q_MAX ? (float)-SDM_Q_MAX : q;
    q += far;
    memcpy(&bits, &q, sizeof bits);
    memcpy(&origin, &far, sizeof origin);
    return (int16_t)(bits - origin);
}

/* A row of an ASTER band that lies in memory, no mask: the fast way.  Returns whether a pixel is saturated.
 */
SDM_VECTOR_LOOPS static bool row_of_bytes(const SdmImage *im, const uint8_t *in, int64_t x0, int64_t w,
                                          int16_t *out, uint8_t *saturated)
{
    const float *const gain = im->gain + x0, *const bias = im->bias + x0;
    uint8_t any = 0;
    for (int64_t c = 0; c < w; ++c)
        out[c] = in[c] ? quantise((float)in[c] * gain[c] + bias[c]) : SDM_Q_NODATA;
    for (int64_t c = 0; c < w; ++c)
        any |= in[c] == UINT8_MAX;
    for (int64_t c = 0; saturated && c < w; ++c)
        saturated[c] = in[c] == UINT8_MAX;
    return any;
}

SDM_VECTOR_LOOPS static bool row_of_floats(const SdmImage *im, const float *raw, const uint8_t *valid,
                                           int64_t x0, int64_t w, int16_t *out, uint8_t *saturated)
{
    const float scale = (float)im->scale, offset = (float)im->offset;
    uint8_t any = 0;
    for (int64_t c = 0; c < w; ++c) {
        const float gain = im->gain ? im->gain[x0 + c] : scale, bias = im->bias ? im->bias[x0 + c] : offset;
        const uint8_t is = valid[c] && raw[c] >= im->saturated_at;
        out[c] = valid[c] ? quantise(raw[c] * gain + bias) : SDM_Q_NODATA;
        any |= is;
        if (saturated)
            saturated[c] = is;
    }
    return any;
}

/* p: the part of the window that lies in the image.  *any becomes true where a pixel is saturated. */
static SdmStatus read_part(SdmContext *ctx, SdmImage *im, SdmImageWindow p, int64_t pitch, int16_t *out,
                           uint8_t *saturated, bool *any)
{
    SdmStatus st = SDM_OK;
    float *raw = NULL;
    uint8_t *valid = NULL;
    bool found = false;
    if (im->raw && !im->user_mask) {
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static) reduction(|| : found)
        for (int64_t r = 0; r < p.h; ++r)
            found = row_of_bytes(im, im->raw + (p.y + r) * im->width + p.x, p.x, p.w, out + r * pitch,
                                 saturated ? saturated + r * pitch : NULL) ||
                    found;
        *any = *any || found;
        return SDM_OK;
    }
    const int64_t fit = STRIP_PX / p.w > 1 ? STRIP_PX / p.w : 1, strip = p.h < fit ? p.h : fit;
    TRY(sdm_alloc(ctx, &raw, (size_t)(strip * p.w), sizeof *raw, "image strip"));
    TRY(sdm_alloc(ctx, &valid, (size_t)(strip * p.w), 1, "image strip"));
    for (int64_t y = 0; y < p.h; y += strip) {
        const int64_t h = strip < p.h - y ? strip : p.h - y;
#pragma omp critical(sdm_image) /* GDAL's datasets are for one thread at a time */
        st = sdm_image_raw(ctx, im, (SdmImageWindow){p.x, p.y + y, p.w, h}, raw, valid);
        TRY(st);
        for (int64_t r = 0; r < h; ++r)
            found = row_of_floats(im, raw + r * p.w, valid + r * p.w, p.x, p.w, out + (y + r) * pitch,
                                  saturated ? saturated + (y + r) * pitch : NULL) ||
                    found;
    }
    *any = *any || found;
done:
    sdm_free(&raw);
    sdm_free(&valid);
    return st;
}

static void clear_pixels(int16_t *out, uint8_t *saturated, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        out[i] = SDM_Q_NODATA;
    if (saturated)
        memset(saturated, 0, (size_t)n);
}

SdmStatus sdm_image_read(SdmContext *ctx, SdmImage *im, SdmImageWindow at, int16_t *out, uint8_t *saturated,
                         bool *any)
{
    const int64_t left = at.x > 0 ? at.x : 0, right = at.x + at.w < im->width ? at.x + at.w : im->width;
    const int64_t top = at.y > 0 ? at.y : 0, bottom = at.y + at.h < im->height ? at.y + at.h : im->height;
    bool found = false;
    if (at.w <= 0 || at.h <= 0)
        return SDM_OK;
    for (int64_t y = 0; y < at.h; ++y) { /* outside of the image */
        const bool inside = left < right && at.y + y >= top && at.y + y < bottom;
        const int64_t from = inside ? left - at.x : at.w, to = inside ? right - at.x : at.w;
        clear_pixels(out + y * at.w, saturated ? saturated + y * at.w : NULL, from);
        clear_pixels(out + y * at.w + to, saturated ? saturated + y * at.w + to : NULL, at.w - to);
    }
    if (left >= right || top >= bottom)
        return SDM_OK;
    const int64_t first = (top - at.y) * at.w + left - at.x;
    return read_part(ctx, im, (SdmImageWindow){left, top, right - left, bottom - top}, at.w, out + first,
                     saturated ? saturated + first : NULL, any ? any : &found);
}

void sdm_image_spend(SdmImage *im)
{
    sdm_free(&im->raw);
}

void sdm_image_close(SdmImage **im)
{
    if (!im || !*im)
        return;
    sdm_quiet_begin();
    if ((*im)->mask_dataset)
        GDALClose((*im)->mask_dataset);
    if ((*im)->dataset)
        GDALClose((*im)->dataset);
    sdm_quiet_end();
    sdm_free(&(*im)->raw);
    sdm_free(&(*im)->gain);
    sdm_free(&(*im)->bias);
    sdm_free(im);
}
