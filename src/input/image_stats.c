/* Opened image -> stretch to signed 12 bit and saturation level, from samples all over it. */
// SPDX-License-Identifier: Apache-2.0
#include "input/fill_nodata.h"
#include "input/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_PX_MAX = 1 << 20, READ_PX_MAX = 1 << 25, SAMPLES_MAX = 1 << 19 };

typedef struct Samples {
    float *value; /* of usable pixels, `count` of them */
    int64_t count, tried;
    float min, max; /* of every usable pixel read, not of the samples alone */
} Samples;

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The blocks to read: whole blocks as the file stores them; where these are too large, rows of them. */
typedef struct Sampling {
    int64_t bw, bh, nx, count; /* block size, blocks across, blocks in all */
    int64_t every;             /* blocks from one that is read to the next; the last is read, too */
    int64_t step;              /* pixels of a block from one sample to the next */
} Sampling;

static Sampling choose_sampling(const SdmImage *im)
{
    Sampling p = {im->width, 64, 1, 0, 1, 1};
    if (im->band) {
        int bw, bh;
        GDALGetBlockSize(im->band, &bw, &bh);
        p.bw = bw, p.bh = bh;
    }
    p.bw = p.bw < im->width ? p.bw : im->width;
    if (p.bw > BLOCK_PX_MAX)
        p.bw = BLOCK_PX_MAX;
    if (p.bw * p.bh > BLOCK_PX_MAX)
        p.bh = BLOCK_PX_MAX / p.bw;
    p.nx = (im->width + p.bw - 1) / p.bw;
    p.count = p.nx * ((im->height + p.bh - 1) / p.bh);
    while (p.count / p.every * p.bw * p.bh > READ_PX_MAX)
        ++p.every;
    p.step = p.count / p.every * p.bw * p.bh / SAMPLES_MAX + 1;
    while (p.step > 1 && (p.bw % p.step == 0 || p.nx % p.every == 0) && p.step % 2 == 0)
        ++p.step; /* not the same columns in every row */
    return p;
}

/* Sample a block of an ASTER band in memory, where 0 is fill, without a copy to floats. */
static void sample_bytes(const SdmImage *im, const Sampling *p, int64_t block, Samples *s)
{
    const int64_t x = block % p->nx * p->bw, y = block / p->nx * p->bh;
    const int64_t w = p->bw < im->width - x ? p->bw : im->width - x;
    const int64_t h = p->bh < im->height - y ? p->bh : im->height - y;
    uint8_t least = UINT8_MAX, most = 0; /* of the values minus one, so that fill is the largest */
    for (int64_t j = 0; j < h; ++j) {
        const uint8_t *const row = im->raw + (y + j) * im->width + x;
        for (int64_t i = 0; i < w; ++i) {
            const uint8_t less = (uint8_t)(row[i] - 1);
            least = less < least ? less : least;
            most = row[i] > most ? row[i] : most;
        }
    }
    if (most > 0) {
        s->min = fminf(s->min, (float)least + 1.0f);
        s->max = fmaxf(s->max, (float)most);
    }
    for (int64_t i = block % p->step; i < w * h && s->tried < SAMPLES_MAX; i += p->step) {
        const uint8_t v = im->raw[(y + i / w) * im->width + x + i % w];
        s->tried++;
        if (v)
            s->value[s->count++] = (float)v;
    }
}

static SdmStatus sample_block(SdmContext *ctx, SdmImage *im, const Sampling *p, int64_t block, float *raw,
                              uint8_t *valid, Samples *s)
{
    if (im->raw && !im->user_mask && im->zero_is_fill) {
        sample_bytes(im, p, block, s);
        return SDM_OK;
    }
    const int64_t x = block % p->nx * p->bw, y = block / p->nx * p->bh;
    const int64_t w = p->bw < im->width - x ? p->bw : im->width - x;
    const int64_t h = p->bh < im->height - y ? p->bh : im->height - y;
    const SdmStatus st = sdm_image_raw(ctx, im, x, y, w, h, raw, valid);
    for (int64_t i = 0; st == SDM_OK && i < w * h; ++i)
        if (valid[i]) {
            s->min = raw[i] < s->min ? raw[i] : s->min;
            s->max = raw[i] > s->max ? raw[i] : s->max;
        }
    for (int64_t i = block % p->step; st == SDM_OK && i < w * h && s->tried < SAMPLES_MAX; i += p->step) {
        s->tried++;
        if (valid[i])
            s->value[s->count++] = raw[i];
    }
    return st;
}

/* A stretch from percentiles with head-room, so that the darkest and brightest pixels keep their texture. */
static void set_stretch(SdmImage *im, const Samples *s)
{
    const double low = s->value[s->count / 1000], high = s->value[s->count - 1 - s->count / 1000];
    const double min = s->min, max = s->max, range = fmax(high - low, 1e-3 * (max - min));
    const double from = fmax(min, low - 0.5 * range), to = fmin(max, high + 1.5 * range);
    im->scale = 2 * SDM_Q_MAX / (to - from);
    im->offset = -SDM_Q_MAX - from * im->scale;
}

/* A clipped sensor leaves many pixels at the highest value; noise does not. */
static void set_saturation(SdmImage *im, const Samples *s)
{
    const float max = s->max;
    int64_t saturated = 0;
    while (saturated < s->count && s->value[s->count - 1 - saturated] == max)
        ++saturated;
    if (saturated >= 32 && saturated * 5000 >= s->count)
        im->saturated_at = max;
    else if (GDALGetRasterDataType(im->band) == GDT_UInt16)
        im->saturated_at = UINT16_MAX;
}

static void set_shares(SdmImage *im, const Samples *s)
{
    int64_t saturated = 0;
    for (int64_t i = 0; i < s->count; ++i)
        saturated += s->value[i] >= im->saturated_at;
    im->unusable = s->tried ? 1.0 - (double)s->count / (double)s->tried : 0.0;
    im->saturated = s->tried ? (double)saturated / (double)s->tried : 0.0;
}

/* Undeclared fill, dropped from the sorted samples. */
static void drop_fill(SdmImage *im, Samples *s)
{
    int64_t from = 0, to = s->count;
    if (!sdm_fill_find(s->value, &from, &to, im->fill))
        return;
    memmove(s->value, s->value + from, (size_t)(to - from) * sizeof *s->value);
    s->count = to - from;
    s->min = s->value[0];
    s->max = s->value[s->count - 1];
}

static void warn_fill(SdmContext *ctx, const SdmImage *im, int64_t before, const Samples *s)
{
    char value[24];
    for (int k = 0; k < 2 && !isnan(im->fill[k]); ++k) {
        sdm_fill_text(im->fill[k], value);
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "%s: %s is taken for no data, though the file does not declare it (%.1f %% of the pixels "
                "looked at are fill, the others lie in %.6g..%.6g); declare it with gdal_edit.py -a_nodata "
                "%s, or what is not to be used with --mask-left and --mask-right",
                im->name, value, 100.0 * (double)(before - s->count) / (double)before, (double)s->min,
                (double)s->max, value);
    }
}

/* Stretch, saturation and undeclared fill from the samples. */
static SdmStatus set_radiometry(SdmContext *ctx, SdmImage *im, Samples *s)
{
    const int64_t before = s->count;
    if (!(s->min <= s->max))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: has no usable pixel (all of %lld looked at are 0, nodata, masked or NaN); give "
                        "another image or mask",
                        im->name, (long long)s->tried);
    if (!(s->max > s->min))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: has no usable pixel (all of %lld looked at have the value %g); give another "
                        "image",
                        im->name, (long long)s->tried, (double)s->min);
    if (!im->bytes) {
        if (!s->count) /* a few usable pixels, none of them a sample */
            s->value[s->count++] = s->min;
        qsort(s->value, (size_t)s->count, sizeof *s->value, by_value);
        if (!im->own_mask && !im->zero_is_fill)
            drop_fill(im, s);
        warn_fill(ctx, im, before, s);
        set_stretch(im, s);
        set_saturation(im, s);
    }
    set_shares(im, s);
    return SDM_OK;
}

SdmStatus sdm_image_measure(SdmContext *ctx, SdmImage *im)
{
    SdmStatus st = SDM_OK;
    Samples s = {NULL, 0, 0, INFINITY, -INFINITY};
    float *raw = NULL;
    uint8_t *valid = NULL;
    const Sampling p = choose_sampling(im);
    TRY(sdm_alloc(ctx, &s.value, SAMPLES_MAX, sizeof *s.value, "image samples"));
    TRY(sdm_alloc(ctx, &raw, (size_t)(p.bw * p.bh), sizeof *raw, "image block"));
    TRY(sdm_alloc(ctx, &valid, (size_t)(p.bw * p.bh), 1, "image block"));
    for (int64_t block = 0; block < p.count - 1; block += p.every)
        TRY(sample_block(ctx, im, &p, block, raw, valid, &s));
    TRY(sample_block(ctx, im, &p, p.count - 1, raw, valid, &s));
    TRY(set_radiometry(ctx, im, &s));
done:
    sdm_free(&s.value);
    sdm_free(&raw);
    sdm_free(&valid);
    return st;
}
