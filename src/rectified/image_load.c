/* Files of two rectified images -> their samples on one scale. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/disparity_steps.h"

#include "core/stats.h"
#include "geo/gdal_scope.h"
#include "input/source.h"
#include "kernels.h"

#include <math.h>
#include <string.h>

enum {
    STRIP_PX = 1 << 20,       /* read at once */
    SAMPLE_PX = 1 << 20,      /* pixels of an image that quantiles are taken from, at most */
    FILL_SAMPLE_PX = 1 << 19, /* the same for the search for fill */
    BORDER_PX = 8,            /* zeros in a row from an edge on that are no data */
    Q_MAX = 2047
};

#define FILL_MIN 1e30f /* floats from here on are fill such as -3.4e38, which many files do not declare */

typedef struct Raster {
    const char *role, *path;    /* "LEFT", "RIGHT" */
    const SdmImageArray *array; /* in memory, called `path`; NULL: a file */
    GDALDatasetH dataset;
    int width, height;
    GDALDataType type;
    GDALRasterBandH band[3], mask[3]; /* mask: NULL when all of the band is valid */
    int bands;                        /* 1: grey, or a palette; 3: red, green, blue */
    bool colour;
    float *palette; /* 256 lumas, or NULL */
} Raster;

static float luma(double r, double g, double b) /* ITU-R BT.601 */
{
    return (float)((299.0 * r + 587.0 * g + 114.0 * b) / 1000.0);
}

/* Turn a table of colours into one of lumas; the image is grey if all entries are. */
static SdmStatus read_palette(SdmContext *ctx, Raster *im)
{
    const GDALColorTableH table = GDALGetRasterColorTable(im->band[0]);
    if (!table || im->type != GDT_Byte)
        return SDM_OK;
    PASS(sdm_alloc(ctx, &im->palette, 256, sizeof *im->palette, "palette"));
    for (int i = 0; i < GDALGetColorEntryCount(table) && i < 256; i++) {
        const GDALColorEntry *const e = GDALGetColorEntry(table, i);
        im->palette[i] = luma(e->c1, e->c2, e->c3);
        im->colour |= e->c1 != e->c2 || e->c2 != e->c3;
    }
    return SDM_OK;
}

/* The bands to use: --band, the only one that is not alpha, or red, green and blue. */
static SdmStatus choose_bands(SdmContext *ctx, Raster *im, int wanted)
{
    const int count = GDALGetRasterCount(im->dataset);
    int others = 0, rgb = 0;
    if (wanted > count)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--band %d: %s has %d band%s; give one of 1 to %d", wanted,
                        im->path, count, count == 1 ? "" : "s", count);
    for (int b = 1; b <= count; b++) {
        const GDALRasterBandH band = GDALGetRasterBand(im->dataset, b);
        const GDALColorInterp kind = GDALGetRasterColorInterpretation(band);
        if (kind == GCI_AlphaBand)
            continue;
        if (!others++)
            im->band[0] = band;
        if (kind >= GCI_RedBand && kind <= GCI_BlueBand) {
            im->band[kind - GCI_RedBand] = band;
            rgb |= 1 << (kind - GCI_RedBand);
        }
    }
    im->colour = !wanted && others == 3 && rgb == 7;
    im->bands = im->colour ? 3 : 1;
    if (wanted)
        im->band[0] = GDALGetRasterBand(im->dataset, wanted);
    else if (others != 1 && !im->colour)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s %s: %d bands, expected one, or red, green and blue; choose one with --band",
                        im->role, im->path, others);
    return SDM_OK;
}

static SdmStatus open_raster(SdmContext *ctx, Raster *im, int band)
{
    if (im->array)
        PASS(sdm_array_open(ctx, im->path, im->array, &im->dataset));
    else
        im->dataset = sdm_gdal_open(im->path);
    if (!im->dataset)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: not an image that GDAL can read (%.300s)", im->role,
                        im->path, sdm_gdal_reason());
    im->width = GDALGetRasterXSize(im->dataset);
    im->height = GDALGetRasterYSize(im->dataset);
    if (GDALGetRasterCount(im->dataset) < 1)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s: a container of several images, expected one; name it as gdalinfo "
                        "lists it",
                        im->role, im->path);
    PASS(choose_bands(ctx, im, band));
    im->type = GDALGetRasterDataType(im->band[0]);
    if (GDALDataTypeIsComplex(im->type))
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: samples are %s, expected integers or floating point",
                        im->role, im->path, GDALGetDataTypeName(im->type));
    for (int b = 0; b < im->bands; b++)
        im->mask[b] = GDALGetMaskFlags(im->band[b]) & GMF_ALL_VALID ? NULL : GDALGetMaskBand(im->band[b]);
    if (im->bands == 1 && !band)
        PASS(read_palette(ctx, im));
    return SDM_OK;
}

static SdmStatus check_pair(SdmContext *ctx, const Raster *l, const Raster *r)
{
    if (l->width != r->width || l->height != r->height)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "LEFT %s has %d x %d pixels, RIGHT %s has %d x %d; a rectified pair has "
                        "one size",
                        l->path, l->width, l->height, r->path, r->width, r->height);
    if (l->colour != r->colour)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s is in colour, %s %s is grey; give two of a kind, or choose a band of "
                        "both with --band",
                        l->colour ? "LEFT" : "RIGHT", l->colour ? l->path : r->path,
                        l->colour ? "RIGHT" : "LEFT", l->colour ? r->path : l->path);
    if ((l->type == GDT_Byte) != (r->type == GDT_Byte))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "LEFT %s has %s samples, RIGHT %s %s; give both the same type, such as "
                        "with gdal_translate -ot",
                        l->path, GDALGetDataTypeName(l->type), r->path, GDALGetDataTypeName(r->type));
    return SDM_OK;
}

static SdmStatus read_failed(SdmContext *ctx, const Raster *im, int y0, int rows)
{
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s %s: rows %d to %d cannot be read (%.300s); it, or a source of it, is missing, cut "
                    "short or damaged",
                    im->role, im->path, y0, y0 + rows - 1, sdm_gdal_reason());
}

/* valid: 1 where any of the bands is; of red, green and blue one may well be the nodata value by chance.
 * mask: room for as many. */
static SdmStatus read_masks(SdmContext *ctx, const Raster *im, int y0, int rows, uint8_t *valid,
                            uint8_t *mask)
{
    const size_t n = (size_t)rows * (size_t)im->width;
    memset(valid, im->mask[0] == NULL, n);
    for (int b = 0; b < im->bands && im->mask[b]; b++) {
        if (GDALRasterIO(im->mask[b], GF_Read, 0, y0, im->width, rows, mask, im->width, rows, GDT_Byte, 0,
                         0) != CE_None)
            return read_failed(ctx, im, y0, rows);
        for (size_t i = 0; i < n; i++)
            valid[i] |= mask[i] != 0;
    }
    return SDM_OK;
}

/* Rows y0.. -> out: grey values, NaN where there is none.  band: room for the bands, valid: twice. */
static SdmStatus read_strip(SdmContext *ctx, const Raster *im, int y0, int rows, float *band, uint8_t *valid,
                            float *out)
{
    const size_t n = (size_t)rows * (size_t)im->width;
    for (int b = 0; b < im->bands; b++)
        if (GDALRasterIO(im->band[b], GF_Read, 0, y0, im->width, rows, band + (size_t)b * n, im->width, rows,
                         GDT_Float32, 0, 0) != CE_None)
            return read_failed(ctx, im, y0, rows);
    PASS(read_masks(ctx, im, y0, rows, valid, valid + n));
    for (size_t i = 0; i < n; i++) {
        const float v = im->palette     ? im->palette[(int)band[i]]
                        : im->bands > 1 ? luma(band[i], band[n + i], band[2 * n + i])
                                        : band[i];
        out[i] = valid[i] && fabsf(v) < FILL_MIN ? v : NAN; /* not NaN, either */
    }
    return SDM_OK;
}

/* Are the samples of the file those of the image, 8-bit grey ones without a mask? */
static bool is_plain(const Raster *im)
{
    return im->type == GDT_Byte && im->bands == 1 && !im->palette && !im->mask[0];
}

/* A plain image, height x width. */
static SdmStatus read_plain(SdmContext *ctx, const Raster *im, uint8_t *out)
{
    const int w = im->width, fit = STRIP_PX / w, rows = fit > 1 ? fit : 1;
    for (int y = 0; y < im->height; y += rows) {
        const int h = rows < im->height - y ? rows : im->height - y;
        PASS(sdm_check_stop(ctx));
        uint8_t *const to = out + (size_t)y * (size_t)w;
        if (GDALRasterIO(im->band[0], GF_Read, 0, y, w, h, to, w, h, GDT_Byte, 0, 0) != CE_None)
            return read_failed(ctx, im, y, h);
    }
    return SDM_OK;
}

/* Grey values of the whole image to `grey`, or as 8-bit samples to `samples`; the other is NULL. */
static SdmStatus read_raster(SdmContext *ctx, const Raster *im, float *grey, int16_t *samples)
{
    SDM_OWNED float *band = NULL, *spare = NULL;
    SDM_OWNED uint8_t *valid = NULL;
    const int fit = STRIP_PX / im->width > 1 ? STRIP_PX / im->width : 1,
              rows = fit < im->height ? fit : im->height;
    const size_t most = (size_t)rows * (size_t)im->width;
    PASS(SDM_ALLOC(ctx, "strip of an image", SDM_ARRAY(band, most * (size_t)im->bands),
                   SDM_ARRAY(valid, 2 * most), SDM_ARRAY(spare, samples ? most : 0)));
    for (int y = 0; y < im->height; y += rows) {
        const int h = rows < im->height - y ? rows : im->height - y;
        const ptrdiff_t first = (ptrdiff_t)y * im->width, n = (ptrdiff_t)h * im->width;
        float *const out = samples ? spare : grey + first;
        PASS(sdm_check_stop(ctx));
        PASS(read_strip(ctx, im, y, h, band, valid, out));
        for (ptrdiff_t i = 0; samples && i < n; i++)
            samples[first + i] = isnan(out[i]) ? SDM_PIXEL_NODATA : (int16_t)floorf(out[i] + 0.5f);
    }
    return SDM_OK;
}

/* ---- fill that a file does not declare ---- */

/* n grey values, NaN where there is none: values that look like fill become NaN, with a warning. */
static SdmStatus mask_fill(SdmContext *ctx, const Raster *im, float *grey, int64_t n)
{
    SDM_OWNED float *sample = NULL, *spare = NULL;
    float fill[2] = {NAN, NAN};
    char value[2][24];
    int64_t count = 0, from = 0, masked = 0;
    const int64_t step = n / FILL_SAMPLE_PX + 1;
    PASS(sdm_alloc(ctx, &sample, (size_t)(n / step + 1), sizeof *sample, "sample of an image"));
    for (int64_t i = 0; i < n; i += step)
        if (!isnan(grey[i]))
            sample[count++] = grey[i];
    PASS(sdm_alloc_raw(ctx, &spare, (size_t)count + 1, sizeof *spare, "sample of an image"));
    sdm_sort_f32(sample, count, spare);
    const int found = sdm_fill_find(sample, &from, &count, false, fill);
    if (!found)
        return SDM_OK;
    for (int64_t i = 0; i < n; i++)
        if (grey[i] == fill[0] || grey[i] == fill[1]) {
            grey[i] = NAN;
            masked++;
        }
    for (int k = 0; k < found; k++)
        sdm_fill_text(fill[k], value[k]);
    sdm_log(ctx, SDM_LOG_WARNING, 1,
            "%s %s: %s%s%s %s taken for no data, though the file does not declare it (%.1f %% of the "
            "pixels); declare it with gdal_edit.py -a_nodata %s",
            im->role, im->path, value[0], found > 1 ? " and " : "", found > 1 ? value[1] : "",
            found > 1 ? "are" : "is", 100.0 * (double)masked / (double)n, value[0]);
    return SDM_OK;
}

/* Mark zeros from an end of n samples, `step` apart, where they are BORDER_PX or more.  Marked samples
 * count as zeros.  Returns how many were marked. */
static int64_t clear_run(int16_t *first, int n, ptrdiff_t step)
{
    int run = 0;
    int64_t marked = 0;
    while (run < n && (first[run * step] == 0 || first[run * step] == SDM_PIXEL_NODATA))
        run++;
    for (int i = 0; run >= BORDER_PX && i < run; i++) {
        marked += first[i * step] == 0;
        first[i * step] = SDM_PIXEL_NODATA;
    }
    return marked;
}

/* 8-bit samples, height x width: zeros that run BORDER_PX or more from an edge inwards, along a row or a
 * column, become SDM_PIXEL_NODATA, with a warning: images that were warped to rectified ones have them. */
static void mask_border(SdmContext *ctx, const Raster *im, int16_t *samples)
{
    const int width = im->width, height = im->height;
    int64_t n = 0;
    for (ptrdiff_t y = 0; y < height; y++) {
        n += clear_run(samples + y * width, width, 1);
        n += clear_run(samples + (y + 1) * width - 1, width, -1);
    }
    for (ptrdiff_t x = 0; x < width; x++) {
        n += clear_run(samples + x, height, width);
        n += clear_run(samples + (ptrdiff_t)(height - 1) * width + x, height, -(ptrdiff_t)width);
    }
    if (n == (int64_t)width * height) /* a black image, such as one of a sequence: no border */
        memset(samples, 0, (size_t)n * sizeof *samples);
    else if (n)
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "%s %s: zeros along the edges are taken for no data, though the file does not declare it "
                "(%.1f %% of the pixels)",
                im->role, im->path, 100.0 * (double)n / ((double)width * height));
}

/* ---- one scale ---- */

typedef struct Scaling { /* q = (v - middle) * gain, cut to +-Q_MAX */
    float middle, gain;
} Scaling;

/* The scale of both images, from the quantiles of at most SAMPLE_PX evenly spread pixels of each. */
static SdmStatus find_scaling(SdmContext *ctx, const float *const grey[2], int64_t n, Scaling *out)
{
    SDM_OWNED float *sample = NULL;
    int64_t count = 0;
    const int64_t step = (n + SAMPLE_PX - 1) / SAMPLE_PX;
    PASS(sdm_alloc(ctx, &sample, (size_t)(2 * (n / step + 1)), sizeof *sample, "sample of the images"));
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < n; i += step)
            if (!isnan(grey[k][i]))
                sample[count++] = grey[k][i];
    float lo = (float)sdm_quantile_f32(sample, count, 0.001),
          hi = (float)sdm_quantile_f32(sample, count, 0.999);
    if (count && !(hi > lo)) {
        lo = sdm_select_f32(sample, count, 0);
        hi = sdm_select_f32(sample, count, count - 1);
    }
    *out = (Scaling){.middle = 0.5f * lo + 0.5f * hi,
                     .gain = hi > lo ? (float)Q_MAX / (0.5f * hi - 0.5f * lo) : 0.0f};
    return SDM_OK;
}

static void quantise(const float *grey, int64_t n, Scaling s, int16_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        const float q = (grey[i] - s.middle) * s.gain;
        const float cut = q > (float)Q_MAX ? (float)Q_MAX : q < (float)-Q_MAX ? (float)-Q_MAX : q;
        out[i] = isnan(grey[i]) ? SDM_PIXEL_NODATA : (int16_t)lrintf(cut);
    }
}

static SdmStatus read_wide(SdmContext *ctx, const Raster im[2], SdmImagePair *out)
{
    const int64_t n = (int64_t)out->width * out->height;
    SDM_OWNED float *left = NULL, *right = NULL;
    float **const grey[2] = {&left, &right};
    Scaling scaling;
    for (int k = 0; k < 2; k++) {
        PASS(sdm_alloc(ctx, grey[k], (size_t)n, sizeof(float), "image"));
        PASS(read_raster(ctx, &im[k], *grey[k], NULL));
        if (!im[k].mask[0])
            PASS(mask_fill(ctx, &im[k], *grey[k], n));
    }
    PASS(find_scaling(ctx, (const float *const[2]){left, right}, n, &scaling));
    for (int k = 0; k < 2; k++) {
        PASS(sdm_alloc(ctx, &out->samples[k], (size_t)n, sizeof **out->samples, "image"));
        quantise(*grey[k], n, scaling, out->samples[k]);
        sdm_free(grey[k]);
    }
    return SDM_OK;
}

/* ---- 8 bits ---- */

static bool all_zero(const uint8_t *p, int n, ptrdiff_t step)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum |= p[i * step];
    return sum == 0;
}

/* Would mask_border() mark a pixel? */
static bool has_border(const uint8_t *p, int width, int height)
{
    const ptrdiff_t w = width, h = height, n = BORDER_PX;
    bool found = false;
    for (ptrdiff_t y = 0; y < h && w >= n; y++)
        found |= all_zero(p + y * w, BORDER_PX, 1) || all_zero(p + (y + 1) * w - n, BORDER_PX, 1);
    for (ptrdiff_t x = 0; x < w && h >= n; x++)
        found |= all_zero(p + x, BORDER_PX, w) || all_zero(p + (h - n) * w + x, BORDER_PX, w);
    return found;
}

/* Bytes -> samples, with the borders marked. */
static SdmStatus widen(SdmContext *ctx, const Raster im[2], SdmImagePair *out)
{
    const size_t n = (size_t)out->width * (size_t)out->height;
    for (int k = 0; k < 2; k++) {
        PASS(sdm_alloc_raw(ctx, &out->samples[k], n, sizeof **out->samples, "image"));
        for (size_t i = 0; i < n; i++)
            out->samples[k][i] = out->bytes[k][i];
        sdm_free(&out->bytes[k]);
        mask_border(ctx, &im[k], out->samples[k]);
    }
    return SDM_OK;
}

static SdmStatus read_bytes(SdmContext *ctx, const Raster im[2], bool as_bytes, SdmImagePair *out)
{
    const size_t n = (size_t)out->width * (size_t)out->height;
    for (int k = 0; k < 2; k++) {
        PASS(sdm_alloc_raw(ctx, &out->bytes[k], n, 1, "image"));
        PASS(read_plain(ctx, &im[k], out->bytes[k]));
        as_bytes = as_bytes && !has_border(out->bytes[k], out->width, out->height);
    }
    return as_bytes ? SDM_OK : widen(ctx, im, out);
}

static SdmStatus read_samples(SdmContext *ctx, const Raster im[2], SdmImagePair *out)
{
    const size_t n = (size_t)out->width * (size_t)out->height;
    for (int k = 0; k < 2; k++) {
        PASS(sdm_alloc_raw(ctx, &out->samples[k], n, sizeof **out->samples, "image"));
        PASS(read_raster(ctx, &im[k], NULL, out->samples[k]));
        if (!im[k].mask[0])
            mask_border(ctx, &im[k], out->samples[k]);
    }
    return SDM_OK;
}

static SdmStatus check_usable(SdmContext *ctx, const Raster *im, const int16_t *samples)
{
    const int64_t n = (int64_t)im->width * im->height;
    for (int64_t i = 0; i < n; i++)
        if (samples[i] != SDM_PIXEL_NODATA)
            return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_DATA, "%s %s: no usable pixel in it, all are nodata, masked or NaN",
                    im->role, im->path);
}

static SdmStatus load(SdmContext *ctx, Raster im[2], int band, bool as_bytes, SdmImagePair *out)
{
    SdmStatus st = SDM_OK;
    SDM_QUIET;
    *out = (SdmImagePair){.width = 0};
    TRY(open_raster(ctx, &im[0], band));
    TRY(open_raster(ctx, &im[1], band));
    TRY(check_pair(ctx, &im[0], &im[1]));
    *out = (SdmImagePair){.width = im[0].width, .height = im[0].height, .eight_bit = im[0].type == GDT_Byte};
    TRY(!out->eight_bit                        ? read_wide(ctx, im, out)
        : is_plain(&im[0]) && is_plain(&im[1]) ? read_bytes(ctx, im, as_bytes, out)
                                               : read_samples(ctx, im, out));
    for (int k = 0; k < 2 && out->samples[k]; k++)
        TRY(check_usable(ctx, &im[k], out->samples[k]));
done:
    for (int k = 0; k < 2; k++) {
        sdm_dataset_close(&im[k].dataset);
        sdm_free(&im[k].palette);
    }
    if (st != SDM_OK)
        sdm_image_pair_free(out);
    return st;
}

SdmStatus sdm_image_pair_load(SdmContext *ctx, const char *left, const char *right, int band, bool as_bytes,
                              SdmImagePair *out)
{
    Raster im[2] = {{.role = "LEFT", .path = left}, {.role = "RIGHT", .path = right}};
    return load(ctx, im, band, as_bytes, out);
}

SdmStatus sdm_image_pair_take(SdmContext *ctx, const SdmImageArray array[2], SdmImagePair *out)
{
    Raster im[2] = {{.role = "LEFT", .path = "image in memory", .array = &array[0]},
                    {.role = "RIGHT", .path = "image in memory", .array = &array[1]}};
    sdm_gdal_register();
    return load(ctx, im, 0, false, out);
}

void sdm_image_pair_free(SdmImagePair *pair)
{
    for (int k = 0; k < 2; k++)
        SDM_FREE(&pair->samples[k], &pair->bytes[k]);
}
