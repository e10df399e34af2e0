/* Raster, masks, radiometric table -> windows of quantised pixels. */
// SPDX-License-Identifier: Apache-2.0
#include "core/turn.h"
#include "core/vector_loops.h"
#include "input/image.h"

#include <cpl_error.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRIP_PX = 1 << 20, TURN_ROWS = 32 };

void sdm_fill_text(float v, char out[24])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, 24, "%.*g", digits, (double)v);
        if (strtof(out, NULL) == v)
            return;
    }
}

void sdm_image_describe(const SdmImage *im, char *mask, size_t size)
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
    for (int k = 0; k < 2 && !isnan(im->q.fill[k]); k++) {
        const size_t at = strlen(own);
        char value[24];
        sdm_fill_text(im->q.fill[k], value);
        snprintf(own + at, sizeof own - at, "%s%s = no data, not declared", at ? "; " : "", value);
    }
    snprintf(mask, size, "%s%s%s%.400s", own, *own && im->user_mask ? "; " : "",
             im->user_mask ? im->mask_option : "", im->user_mask ? GDALGetDescription(im->mask_dataset) : "");
    if (!*mask)
        snprintf(mask, size, "none");
}

/* Samples of a window as floats; false when GDAL fails.  Its threads do not say why: a file that is opened
 * anew reads on this one. */
static bool read_band(GDALRasterBandH band, SdmImageWindow at, float *out)
{
    const int x = (int)at.x, y = (int)at.y, w = (int)at.w, h = (int)at.h;
    if (GDALRasterIO(band, GF_Read, x, y, w, h, out, w, h, GDT_Float32, 0, 0) == CE_None)
        return true;
    const GDALDatasetH again =
        *CPLGetLastErrorMsg() ? NULL : sdm_gdal_open(GDALGetDescription(GDALGetBandDataset(band)));
    const GDALRasterBandH same = again ? GDALGetRasterBand(again, GDALGetBandNumber(band)) : NULL;
    if (same)
        (void)!GDALRasterIO(same, GF_Read, x, y, w, h, out, w, h, GDT_Float32, 0, 0);
    if (again)
        GDALClose(again);
    return false;
}

static SdmStatus read_failed(SdmContext *ctx, const char *name, int64_t y0, int64_t h)
{
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: rows %lld to %lld cannot be read (%.300s); it, or a source of it, is missing, "
                    "cut short or damaged: fetch it again",
                    name, (long long)y0, (long long)(y0 + h - 1), sdm_gdal_reason());
}

/* Adds the flaws where the file's own mask (bytes) or the user's (any samples) is 0, or NaN. */
static SdmStatus apply_mask(SdmContext *ctx, const SdmImage *im, GDALRasterBandH band, SdmImageWindow at,
                            unsigned added, uint8_t *flaws)
{
    const size_t n = (size_t)(at.w * at.h);
    SDM_OWNED float *mask = NULL;
    if (!band)
        return SDM_OK;
    PASS(sdm_alloc(ctx, &mask, n, sizeof *mask, "image mask"));
    if (!read_band(band, at, mask))
        return read_failed(ctx, band == im->user_mask ? GDALGetDescription(im->mask_dataset) : im->name, at.y,
                           at.h);
    for (size_t i = 0; i < n; ++i)
        flaws[i] |= (uint8_t)(mask[i] != 0.0f && !isnan(mask[i]) ? 0 : added);
    return SDM_OK;
}

SDM_VECTOR_LOOPS static void find_nodata(const SdmImage *im, const float *raw, int64_t w, uint8_t *flaws)
{
    const float zero = im->zero_is_fill ? 0.0f : NAN, low = im->q.fill[0], high = im->q.fill[1];
    for (int64_t c = 0; c < w; ++c)
        flaws[c] = (!(fabsf(raw[c]) <= FLT_MAX) | (raw[c] == zero) | (raw[c] == low) | (raw[c] == high))
                       ? SDM_FLAW_NODATA
                       : 0;
}

/* A window of the raster itself. */
static SdmStatus read_raster(SdmContext *ctx, SdmImage *im, SdmImageWindow at, float *raw, uint8_t *flaws)
{
    SDM_QUIET;
    if (im->raw)
        for (int64_t r = 0; r < at.h; ++r)
            for (int64_t c = 0; c < at.w; ++c)
                raw[r * at.w + c] = im->raw[(at.y + r) * im->width + at.x + c];
    else if (!read_band(im->band, at, raw))
        return read_failed(ctx, im->name, at.y, at.h);
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int64_t r = 0; r < at.h; ++r)
        find_nodata(im, raw + r * at.w, at.w, flaws + r * at.w);
    PASS(apply_mask(ctx, im, im->own_mask, at, SDM_FLAW_NODATA, flaws));
    return apply_mask(ctx, im, im->user_mask, at, SDM_FLAW_NODATA | SDM_FLAW_MASKED, flaws);
}

/* The mean of the usable pixels of w x h bins; a bin of which not most can be used has their flaws. */
static void average_bins(int bin, int64_t w, int64_t h, const float *in, const uint8_t *found, float *raw,
                         uint8_t *flaws)
{
    for (int64_t b = 0; b < w * h; b++) {
        const int64_t first = (b / w * bin * w + b % w) * bin;
        double sum = 0.0;
        int usable = 0;
        uint8_t any = 0;
        for (int i = 0; i < bin * bin; i++) {
            const int64_t at = first + i / bin * bin * w + i % bin;
            any |= found[at];
            sum += found[at] ? 0.0 : (double)in[at];
            usable += !found[at];
        }
        raw[b] = usable ? (float)(sum / usable) : 0.0f;
        flaws[b] = 2 * usable > bin * bin ? 0 : any;
    }
}

SdmStatus sdm_image_raw(SdmContext *ctx, SdmImage *im, SdmImageWindow at, float *raw, uint8_t *flaws)
{
    const int bin = im->bin;
    SDM_OWNED float *in = NULL;
    SDM_OWNED uint8_t *found = NULL;
    if (!bin)
        return read_raster(ctx, im, at, raw, flaws);
    const SdmImageWindow pixels = {at.x * bin, at.y * bin, at.w * bin, at.h * bin};
    const size_t n = (size_t)(pixels.w * pixels.h);
    PASS(SDM_ALLOC(ctx, "image strip", SDM_ARRAY(in, n), SDM_ARRAY(found, n)));
    PASS(read_raster(ctx, im, pixels, in, found));
    average_bins(bin, at.w, at.h, in, found, raw, flaws);
    return SDM_OK;
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

/* A row of an ASTER band that lies in memory, no mask: the fast way.  Returns the flaws of its pixels. */
SDM_VECTOR_LOOPS static unsigned row_of_bytes(const SdmImage *im, const uint8_t *in, int64_t x0, int64_t w,
                                              int16_t *out, uint8_t *flaws)
{
    const float *const gain = im->gain + x0, *const bias = im->bias + x0;
    uint8_t most = 0, least = UINT8_MAX;
    for (int64_t c = 0; c < w; ++c)
        out[c] = in[c] ? quantise((float)in[c] * gain[c] + bias[c]) : SDM_Q_NODATA;
    for (int64_t c = 0; c < w; ++c) {
        most = in[c] > most ? in[c] : most;
        least = in[c] < least ? in[c] : least;
    }
    for (int64_t c = 0; flaws && c < w; ++c)
        flaws[c] = (uint8_t)(in[c] == UINT8_MAX ? SDM_FLAW_SATURATED : in[c] ? 0 : SDM_FLAW_NODATA);
    return (most == UINT8_MAX ? SDM_FLAW_SATURATED : 0U) | (least ? 0U : SDM_FLAW_NODATA);
}

/* found: the flaws of each pixel but for saturation. */
SDM_VECTOR_LOOPS static unsigned row_of_floats(const SdmImage *im, const float *raw, const uint8_t *found,
                                               int64_t x0, int64_t w, int16_t *out, uint8_t *flaws)
{
    const float scale = (float)im->q.scale, offset = (float)im->q.offset;
    uint8_t any = 0;
    for (int64_t c = 0; c < w; ++c) {
        const float gain = im->gain ? im->gain[x0 + c] : scale, bias = im->bias ? im->bias[x0 + c] : offset;
        const uint8_t bright = !found[c] && raw[c] >= im->q.saturated_at ? SDM_FLAW_SATURATED : 0;
        out[c] = found[c] ? SDM_Q_NODATA : quantise(raw[c] * gain + bias);
        any |= (uint8_t)(found[c] | bright);
        if (flaws)
            flaws[c] = (uint8_t)(found[c] | bright);
    }
    return any;
}

/* Destination of pixels: pixel (c, r) goes to out[r * pitch + c], of a turned image to out[c * pitch + r]. */
typedef struct Target {
    int16_t *out;
    uint8_t *flaws; /* h x w, or NULL; not of a turned image */
    int64_t pitch;
    bool turned;
} Target;

enum {
    TILE_PITCH = SDM_TURN_TILE_W + 32, /* rows lie in different cache sets */
    AHEAD = 24                         /* rows from a row that is asked for to the one that is read */
};

/* The part p of a band that lies in memory. */
static unsigned read_bytes(SdmContext *ctx, const SdmImage *im, SdmImageWindow p, const Target *to)
{
    unsigned found = 0;
    const int64_t tiles = sdm_turn_tiles(p.w, p.h);
    const uint8_t *const first = im->raw + p.y * im->width + p.x;
    if (!to->turned) {
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static) reduction(| : found)
        for (int64_t r = 0; r < p.h; ++r)
            found |= row_of_bytes(im, first + r * im->width, p.x, p.w, to->out + r * to->pitch,
                                  to->flaws ? to->flaws + r * to->pitch : NULL);
        return found;
    }
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static) reduction(| : found)
    for (int64_t t = 0; t < tiles; ++t) {
        int16_t pixel[SDM_TURN_TILE_H * TILE_PITCH];
        const SdmTurnTile tile = sdm_turn_tile(p.w, p.h, t);
        const uint8_t *const in = first + tile.y * im->width + tile.x;
        for (int64_t i = 0; i < tile.h; ++i) {
            if (i + AHEAD < tile.h) /* the processor foresees no steps of whole rows */
                __builtin_prefetch(in + (i + AHEAD) * im->width + tile.w - 1);
            found |= row_of_bytes(im, in + i * im->width, p.x + tile.x, tile.w, pixel + i * TILE_PITCH, NULL);
        }
        sdm_turn_pixels(pixel, TILE_PITCH, tile.w, tile.h, to->out + tile.x * to->pitch + tile.y, to->pitch);
    }
    return found;
}

/* p: the part of the window that lies in the image.  *any: flaws of its pixels are added. */
static SdmStatus read_part(SdmContext *ctx, SdmImage *im, SdmImageWindow p, const Target *to, unsigned *any)
{
    SdmStatus st;
    SDM_OWNED float *raw = NULL;
    SDM_OWNED uint8_t *found = NULL;
    SDM_OWNED int16_t *row = NULL;
    if (im->raw && !im->user_mask) {
        *any |= read_bytes(ctx, im, p, to);
        return SDM_OK;
    }
    const int64_t row_px = p.w * (im->bin ? im->bin * im->bin : 1);
    const int64_t fit = STRIP_PX / row_px > 1 ? STRIP_PX / row_px : 1, strip = p.h < fit ? p.h : fit;
    const int64_t row_pitch = (p.w + 63) / 64 * 64 + 32; /* an odd number of lines, see TILE_PITCH */
    const size_t n = (size_t)(strip * p.w);
    PASS(SDM_ALLOC(ctx, "image strip", SDM_ARRAY(raw, n), SDM_ARRAY(found, n)));
    if (to->turned)
        PASS(sdm_alloc(ctx, &row, (size_t)(TURN_ROWS * row_pitch), sizeof *row, "image strip"));
    for (int64_t y = 0; y < p.h; y += strip) {
        const int64_t h = strip < p.h - y ? strip : p.h - y;
#pragma omp critical(sdm_image) /* GDAL's datasets are for one thread at a time */
        st = sdm_image_raw(ctx, im, (SdmImageWindow){p.x, p.y + y, p.w, h}, raw, found);
        PASS(st);
        unsigned seen = 0;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static) reduction(| : seen) if (!to->turned)
        for (int64_t r = 0; r < h; ++r) {
            int16_t *const out = to->turned ? row + r % TURN_ROWS * row_pitch : to->out + (y + r) * to->pitch;
            seen |= row_of_floats(im, raw + r * p.w, found + r * p.w, p.x, p.w, out,
                                  to->flaws ? to->flaws + (y + r) * to->pitch : NULL);
            if (to->turned && (r % TURN_ROWS == TURN_ROWS - 1 || r == h - 1))
                sdm_turn_pixels(row, row_pitch, p.w, r % TURN_ROWS + 1, to->out + y + r - r % TURN_ROWS,
                                to->pitch);
        }
        *any |= seen;
    }
    return SDM_OK;
}

static void clear_pixels(int16_t *out, uint8_t *flaws, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        out[i] = SDM_Q_NODATA;
    if (flaws)
        memset(flaws, 0, (size_t)n);
}

static int64_t within(int64_t a, int64_t most)
{
    return a < 0 ? 0 : a < most ? a : most;
}

/* No data in the h rows of `pitch` pixels, except in columns a[0] to a[1] - 1 of rows b[0] to b[1] - 1. */
static void clear_around(const Target *to, int64_t h, const int64_t a[2], const int64_t b[2])
{
    for (int64_t y = 0; y < h; ++y) {
        const bool inside = a[0] < a[1] && y >= b[0] && y < b[1];
        const int64_t from = inside ? a[0] : to->pitch, end = inside ? a[1] : to->pitch, at = y * to->pitch;
        clear_pixels(to->out + at, to->flaws ? to->flaws + at : NULL, from);
        clear_pixels(to->out + at + end, to->flaws ? to->flaws + at + end : NULL, to->pitch - end);
    }
}

SdmStatus sdm_image_read(SdmContext *ctx, SdmImage *im, SdmImageWindow at, bool turned, int16_t *out,
                         uint8_t *flaws, unsigned *any)
{
    unsigned found = 0;
    const int64_t column[2] = {within(-at.x, at.w), within(im->width - at.x, at.w)},
                  row[2] = {within(-at.y, at.h), within(im->height - at.y, at.h)};
    if (at.w <= 0 || at.h <= 0)
        return SDM_OK;
    Target to = {.out = out, .flaws = flaws, .pitch = turned ? at.h : at.w, .turned = turned};
    clear_around(&to, turned ? at.w : at.h, turned ? row : column, turned ? column : row);
    if (column[0] >= column[1] || row[0] >= row[1])
        return SDM_OK;
    const int64_t first = turned ? column[0] * to.pitch + row[0] : row[0] * to.pitch + column[0];
    to.out += first;
    to.flaws = to.flaws ? to.flaws + first : NULL;
    at = (SdmImageWindow){at.x + column[0], at.y + row[0], column[1] - column[0], row[1] - row[0]};
    return read_part(ctx, im, at, &to, any ? any : &found);
}

void sdm_image_close(SdmImage **im)
{
    if (!im || !*im)
        return;
    SDM_QUIET;
    sdm_dataset_close(&(*im)->mask_dataset);
    sdm_dataset_close(&(*im)->mean);
    sdm_dataset_close(&(*im)->dataset);
    SDM_FREE(&(*im)->raw, &(*im)->gain, &(*im)->bias);
    sdm_free(im);
}
