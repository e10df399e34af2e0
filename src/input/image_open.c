/* Raster name, band, mask, radiometric table -> opened image. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/gdal_scope.h"
#include "input/image.h"

#include <cpl_conv.h>
#include <gdal_vrt.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum { MOST_COLOURS = 16 };
static const double SCALE_BYTES = 16.0, OFFSET_BYTES = -2048.0;

/* Colours of a file: those declared red, green or blue, without any all bands but alpha. */
static int list_colours(GDALDatasetH file, int bands[MOST_COLOURS])
{
    int count = 0;
    for (int declared = 1; declared >= 0 && !count; declared--)
        for (int b = 1; b <= GDALGetRasterCount(file) && count < MOST_COLOURS; b++) {
            const GDALColorInterp is = GDALGetRasterColorInterpretation(GDALGetRasterBand(file, b));
            if (declared ? is >= GCI_RedBand && is <= GCI_BlueBand : is != GCI_AlphaBand)
                bands[count++] = b;
        }
    return count;
}

/* The mean of some bands as a band of its own, which GDAL computes as it is read. */
static SdmStatus open_mean(SdmContext *ctx, SdmImage *im, const int *bands, int count)
{
    static const char *const kind[] = {"subclass=VRTDerivedRasterBand", "PixelFunctionType=sum",
                                       "SourceTransferType=Float32", NULL};
    const int w = GDALGetRasterXSize(im->dataset), h = GDALGetRasterYSize(im->dataset);
    char list[64] = "";
    int has = 0;
    const double nodata = GDALGetRasterNoDataValue(im->samples, &has);
    im->mean = VRTCreate(w, h);
    bool good = im->mean && GDALAddBand(im->mean, GDT_Float32, (char **)(uintptr_t)kind) == CE_None;
    im->band = good ? GDALGetRasterBand(im->mean, 1) : NULL;
    for (int k = 0; k < count && good; k++) {
        good = VRTAddComplexSource((VRTSourcedRasterBandH)im->band, GDALGetRasterBand(im->dataset, bands[k]),
                                   0, 0, w, h, 0, 0, w, h, 0.0, 1.0 / count, VRT_NODATA_UNSET) == CE_None;
        snprintf(list + strlen(list), sizeof list - strlen(list), k ? ", %d" : "%d", bands[k]);
    }
    if (good && has)
        good = GDALSetRasterNoDataValue(im->band, nodata) == CE_None;
    if (!good)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: GDAL cannot combine its bands (%.300s); choose one with --band", im->name,
                        sdm_gdal_reason());
    sdm_log(ctx, SDM_LOG_INFO, 1, "%s: the mean of bands %s (--band takes one of them)", im->name, list);
    return SDM_OK;
}

/* Choose the band, or the mean of the colours; alpha bands do not count. */
static SdmStatus choose_band(SdmContext *ctx, SdmImage *im, int wanted)
{
    const int count = GDALGetRasterCount(im->dataset);
    int bands[MOST_COLOURS];
    const int colours = list_colours(im->dataset, bands);
    if (!colours)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: no image band in it (%d bands); give the image itself",
                        im->name, count);
    im->single = count == 1;
    if (wanted > count && !im->single)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--band %d: %s has %d bands; give one of 1 to %d", wanted,
                        im->name, count, count);
    im->samples = im->band = GDALGetRasterBand(im->dataset, wanted && !im->single ? wanted : bands[0]);
    return !wanted && colours > 1 ? open_mean(ctx, im, bands, colours) : SDM_OK;
}

/* Are samples numbers of colours, which do not rise with the brightness? */
static bool is_palette(GDALRasterBandH band)
{
    const GDALColorTableH table = GDALGetRasterColorTable(band);
    int last = -1;
    for (int i = 0; table && i < GDALGetColorEntryCount(table); i++) {
        const GDALColorEntry *const c = GDALGetColorEntry(table, i);
        if (c->c1 != c->c2 || c->c2 != c->c3 || c->c1 < last)
            return true;
        last = c->c1;
    }
    return false;
}

static SdmStatus check_kind(SdmContext *ctx, SdmImage *im)
{
    const GDALDataType type = GDALGetRasterDataType(im->samples);
    im->width = GDALGetRasterBandXSize(im->band);
    im->height = GDALGetRasterBandYSize(im->band);
    if (type == GDT_Unknown || GDALDataTypeIsComplex(type))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: samples are %s, expected 8- or 16-bit integers or 32-bit floating point; "
                        "convert with gdal_translate -ot UInt16",
                        im->name, GDALGetDataTypeName(type));
    if (is_palette(im->samples))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its samples are numbers of a palette's colours, expected grey values; expand it "
                        "with gdal_translate -expand rgb, which keeps the RPC",
                        im->name);
    im->bytes = type == GDT_Byte;
    const int flags = GDALGetMaskFlags(im->samples);
    if (!(flags & GMF_ALL_VALID)) /* a nodata value counts where the mean of the bands has it */
        im->own_mask = GDALGetMaskBand(flags & GMF_NODATA ? im->band : im->samples);
    else
        im->own_mask = sdm_alpha_band(im->dataset, im->samples);
    if (!im->own_mask)
        im->zero_is_fill = type == GDT_Byte || type == GDT_UInt16 || type == GDT_UInt32;
    return SDM_OK;
}

/* A raster of one band over samples; NULL where GDAL cannot make it. */
static GDALDatasetH wrap_samples(const SdmImageArray *a, const void *samples, GDALDataType type,
                                 int64_t row_bytes)
{
    const int64_t bytes = GDALGetDataTypeSizeBytes(type);
    const SdmSamples s = {
        samples, (int)a->width, (int)a->height, 1, type, bytes, row_bytes ? row_bytes : a->width * bytes, 0};
    return sdm_wrap_samples(&s);
}

static const GDALDataType TYPES[] = {GDT_Byte, GDT_UInt16, GDT_Int16, GDT_Float32}; /* of SdmSampleType */

SdmStatus sdm_array_check(SdmContext *ctx, const char *name, const SdmImageArray *a)
{
    if (!a->samples || a->width < 1 || a->height < 1 || a->width > INT_MAX || a->height > INT_MAX ||
        (unsigned)a->type > SDM_SAMPLE_FLOAT32)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: an array of %lld x %lld pixels of sample type %d%s, expected samples of a known "
                        "type and 1 to %d columns and rows",
                        name, (long long)a->width, (long long)a->height, (int)a->type,
                        a->samples ? "" : " at NULL", INT_MAX);
    const int64_t row = a->width * GDALGetDataTypeSizeBytes(TYPES[a->type]);
    if (a->row_bytes != 0 && a->row_bytes < row)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: rows of %lld bytes, expected 0 or at least %lld", name,
                        (long long)a->row_bytes, (long long)row);
    return SDM_OK;
}

SdmStatus sdm_array_open(SdmContext *ctx, const char *name, const SdmImageArray *a, GDALDatasetH *out)
{
    *out = NULL;
    PASS(sdm_array_check(ctx, name, a));
    *out = wrap_samples(a, a->samples, TYPES[a->type], a->row_bytes);
    if (!*out)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "%s: GDAL cannot use the array as an image (%.300s)", name,
                        sdm_gdal_reason());
    if (a->has_nodata)
        GDALSetRasterNoDataValue(GDALGetRasterBand(*out, 1), a->nodata);
    return SDM_OK;
}

static SdmStatus open_array(SdmContext *ctx, SdmImage *im, const SdmImageArray *a)
{
    PASS(sdm_array_open(ctx, im->name, a, &im->dataset));
    if (a->mask) {
        im->mask_dataset = wrap_samples(a, a->mask, GDT_Byte, a->mask_row_bytes);
        if (!im->mask_dataset)
            return sdm_fail(ctx, SDM_ERR_MEMORY, "%s: GDAL cannot use the array as a mask (%.300s)", im->name,
                            sdm_gdal_reason());
        im->user_mask = GDALGetRasterBand(im->mask_dataset, 1);
        im->mask_option = "mask in memory";
    }
    return SDM_OK;
}

static SdmStatus open_mask(SdmContext *ctx, SdmImage *im, const SdmImageSource *src)
{
    const SdmOptions *const o = src->scene->options;
    const char *const mask = src->view ? o->mask_right : o->mask_left;
    if (!mask)
        return SDM_OK;
    im->mask_option = src->view ? "--mask-right " : "--mask-left ";
    im->mask_dataset = sdm_gdal_open(mask);
    if (!im->mask_dataset || GDALGetRasterCount(im->mask_dataset) < 1)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s%s: not a raster that GDAL can read (%.300s); give a raster of the image's size, "
                        "0 where not to use it",
                        im->mask_option, mask, sdm_gdal_reason());
    im->user_mask = GDALGetRasterBand(im->mask_dataset, 1);
    const int w = GDALGetRasterXSize(im->mask_dataset), h = GDALGetRasterYSize(im->mask_dataset);
    if (w != im->width || h != im->height)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s%s: %d x %d pixels, but the image %s has %lld x %lld; make the mask on the "
                        "image's own pixels",
                        im->mask_option, mask, w, h, im->name, (long long)im->width, (long long)im->height);
    return SDM_OK;
}

/* ASTER: read the band into memory and turn its radiometric table into gain and bias. */
static SdmStatus load_aster(SdmContext *ctx, SdmImage *im, const SdmImageSource *src)
{
    if (!im->bytes)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: samples are %s, expected ASTER's 8-bit integers; fetch it again", im->name,
                        GDALGetDataTypeName(GDALGetRasterDataType(im->band)));
    if (src->table_lines != im->width)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %d lines, but the image %s has %lld columns; the files are of different "
                        "bands or scenes (3N and 3B exchanged?), fetch the scene again",
                        src->table_name, src->table_lines, im->name, (long long)im->width);
    const size_t w = (size_t)im->width, h = (size_t)im->height;
    PASS(SDM_ALLOC(ctx, "radiometric table", SDM_ARRAY(im->gain, w), SDM_ARRAY(im->bias, w)));
    for (size_t c = 0; c < w; ++c) {
        const double *const t = src->table + 3 * c, gain = t[1] / t[2];
        if (!(fabs(gain) > 1e-3) || !(fabs(gain) < 1e3) || !(fabs(t[0]) < 1e3))
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: line %zu is (%g, %g, %g), which makes no brightness of DN * C1 / C2 + C0; "
                            "the file is damaged, fetch it again",
                            src->table_name, c + 1, t[0], t[1], t[2]);
        im->gain[c] = (float)(gain * SCALE_BYTES);
        im->bias[c] = (float)(t[0] * SCALE_BYTES + OFFSET_BYTES);
    }
    if (src->scene->depth == SDM_DEPTH_CAMERAS)
        return SDM_OK;
    if (src->unpacked) {
        im->raw = src->unpacked->sample;
        src->unpacked->sample = NULL;
        return SDM_OK;
    }
    PASS(sdm_alloc_raw(ctx, &im->raw, w * h, 1, "ASTER band"));
    const int wide = (int)w, high = (int)h;
    if (GDALRasterIO(im->band, GF_Read, 0, 0, wide, high, im->raw, wide, high, GDT_Byte, 0, 0) != CE_None)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the image cannot be read (%.300s); the file is cut short or damaged, fetch it "
                        "again",
                        im->name, sdm_gdal_reason());
    GDALClose(im->dataset);
    im->dataset = NULL;
    im->band = im->samples = im->own_mask = NULL;
    im->zero_is_fill = true;
    return SDM_OK;
}

/* The format of a file that this GDAL has no driver for, by its first bytes; NULL: not known to be such. */
static const char *format_without_driver(const char *path)
{
    static const struct {
        const char *name, *bytes;
        size_t count;
        const char *drivers[6];
    } formats[] = {
        {"JPEG 2000", "\0\0\0\x0cjP  ", 8, {"JP2OpenJPEG", "JP2KAK", "JP2ECW", "JP2MrSID", "JPEG2000"}},
        {"JPEG 2000", "\xff\x4f\xff\x51", 4, {"JP2OpenJPEG", "JP2KAK", "JP2ECW", "JP2MrSID", "JPEG2000"}},
        {"NITF", "NITF0", 5, {"NITF"}},
        {"TIFF", "II*", 3, {"GTiff"}},
        {"TIFF", "MM\0*", 4, {"GTiff"}}};
    char head[8] = "";
    const size_t count = sdm_read_head(path, head, sizeof head);
    const char *found = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (count < formats[i].count || memcmp(head, formats[i].bytes, formats[i].count) != 0)
            continue;
        found = formats[i].name;
        for (const char *const *driver = formats[i].drivers; *driver; driver++)
            found = GDALGetDriverByName(*driver) ? NULL : found;
    }
    return found;
}

/* Say why an image cannot be opened: it may be whole, and GDAL lack the driver for it. */
static SdmStatus fail_open(SdmContext *ctx, const char *name)
{
    char reason[320];
    const char *const format = format_without_driver(name), *const skip = CPLGetConfigOption("GDAL_SKIP", "");
    return format
               ? sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                          "%s: a %s image, and this GDAL (%s) has no driver for it%s%.100s; take a GDAL "
                          "that has one, or convert the image",
                          name, format, GDALVersionInfo("RELEASE_NAME"), *skip ? ", by GDAL_SKIP=" : "", skip)
               : sdm_fail(ctx, SDM_ERR_INPUT,
                          "%s: not an image that GDAL can read (%s); it is cut short or no image, fetch "
                          "it again",
                          name, sdm_open_reason(name, reason));
}

/* GDAL inflates the blocks of a file that are read at once on all threads; servers say what fails to one. */
static GDALDatasetH open_file(SdmContext *ctx, const char *name)
{
    static const char option[] = "GDAL_NUM_THREADS";
    char count[12];
    const bool given = CPLGetConfigOption(option, NULL) != NULL || strncmp(name, "/vsi", 4) == 0;
    snprintf(count, sizeof count, "%d", sdm_threads(ctx));
    if (!given)
        CPLSetThreadLocalConfigOption(option, count);
    const GDALDatasetH out = sdm_gdal_open(name);
    if (!given)
        CPLSetThreadLocalConfigOption(option, NULL);
    return out;
}

static SdmStatus build(SdmContext *ctx, const SdmImageSource *src, SdmImage *im)
{
    PASS(sdm_format(ctx, im->name, sizeof im->name, "%s", src->label ? src->label : src->name));
    if (src->array)
        PASS(open_array(ctx, im, src->array));
    else if (src->unpacked) {
        im->width = src->unpacked->width;
        im->height = src->unpacked->height;
        im->bytes = im->zero_is_fill = true;
    } else if (!(im->dataset = open_file(ctx, src->name)))
        return fail_open(ctx, im->name);
    if (im->dataset) {
        PASS(choose_band(ctx, im, src->scene->options->band));
        PASS(check_kind(ctx, im));
    }
    if (im->width < SDM_IMAGE_MIN_PX || im->height < SDM_IMAGE_MIN_PX)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %lld x %lld pixels, expected at least %d x %d; give the full image", im->name,
                        (long long)im->width, (long long)im->height, (int)SDM_IMAGE_MIN_PX,
                        (int)SDM_IMAGE_MIN_PX);
    PASS(open_mask(ctx, im, src));
    im->q = (SdmRadiometry){SCALE_BYTES, OFFSET_BYTES, im->bytes ? 255.0f : INFINITY, {NAN, NAN}};
    if (src->table)
        PASS(load_aster(ctx, im, src));
    if (src->scene->depth == SDM_DEPTH_WHOLE)
        PASS(sdm_image_measure(ctx, im));
    return SDM_OK;
}

SdmStatus sdm_image_open(SdmContext *ctx, const SdmImageSource *src, SdmImage **out)
{
    *out = NULL;
    PASS(sdm_alloc(ctx, out, 1, sizeof **out, "image"));
    SDM_QUIET;
    const SdmStatus st = build(ctx, src, *out);
    if (st != SDM_OK)
        sdm_image_close(out);
    return st;
}
