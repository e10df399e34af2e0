/* A raster of several bands -> one band with the mask that the raster gives it. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/first_band.h"
#include "core/address.h"
#include "core/file.h"

#include <cpl_conv.h>
#include <gdal_utils.h>
#include <string.h>

GDALDatasetH sdm_open_file(const char *name, unsigned flags)
{
    char path[SDM_PATH_SIZE];
    const char *rest, *const beginning = sdm_address_split(name, &rest);
    const int n = snprintf(path, sizeof path, "%s%s", beginning, rest);
    const bool fits = n > 0 && (size_t)n < sizeof path;
    GDALDatasetH const file = fits ? GDALOpenEx(path, flags, NULL, NULL, NULL) : NULL;
    /* a server that gives no parts: GDAL's driver fetches the whole */
    return file || !*beginning ? file : GDALOpenEx(name, flags, NULL, NULL, NULL);
}

GDALDatasetH sdm_wrap_samples(const SdmSamples *s)
{
    GDALDatasetH ds = GDALCreate(GDALGetDriverByName("MEM"), "", s->width, s->height, 0, s->type, NULL);
    for (int k = 0; ds && k < s->bands; k++) {
        char at[40] = "", data[80], pixel[40], row[40];
        char *options[] = {data, pixel, row, NULL};
        CPLPrintPointer(at, (char *)(uintptr_t)s->first + k * s->band_bytes, (int)sizeof at - 1);
        snprintf(data, sizeof data, "DATAPOINTER=%s", at);
        snprintf(pixel, sizeof pixel, "PIXELOFFSET=%lld", (long long)s->pixel_bytes);
        snprintf(row, sizeof row, "LINEOFFSET=%lld", (long long)s->row_bytes);
        if (GDALAddBand(ds, s->type, options) != CE_None) {
            GDALClose(ds);
            ds = NULL;
        }
    }
    return ds;
}

GDALRasterBandH sdm_alpha_band(GDALDatasetH file, GDALRasterBandH band)
{
    const int flags = GDALGetMaskFlags(band);
    if (!(flags & (GMF_ALL_VALID | GMF_ALPHA)))
        return NULL;
    for (int b = 1; b <= GDALGetRasterCount(file); b++) {
        GDALRasterBandH const other = GDALGetRasterBand(file, b);
        if (other != band && GDALGetRasterColorInterpretation(other) == GCI_AlphaBand)
            return other;
    }
    return NULL;
}

GDALDatasetH sdm_one_band(GDALDatasetH file, int number)
{
    if (GDALGetRasterCount(file) == 1)
        return file;
    GDALRasterBandH const alpha = sdm_alpha_band(file, GDALGetRasterBand(file, number));
    char format[] = "-of", vrt[] = "VRT", band[] = "-b", one[16], mask[] = "-mask", of[16] = "auto";
    char *arguments[] = {format, vrt, band, one, mask, of, NULL};
    snprintf(one, sizeof one, "%d", number);
    if (alpha)
        snprintf(of, sizeof of, "%d", GDALGetBandNumber(alpha));
    GDALTranslateOptions *const options = GDALTranslateOptionsNew(arguments, NULL);
    GDALDatasetH const out = options ? GDALTranslate("", file, options, NULL) : NULL;
    GDALTranslateOptionsFree(options);
    return out;
}

GDALRasterBandH sdm_band_mask(GDALRasterBandH band)
{
    return GDALGetMaskFlags(band) & (GMF_ALL_VALID | GMF_NODATA) ? NULL : GDALGetMaskBand(band);
}

bool sdm_is_companion(GDALDatasetH file)
{
    const char *const of = GDALGetDescription(GDALGetRasterBand(file, 1));
    return *of && strcmp(of, "height") != 0 &&
           (GDALGetMetadataItem(file, "STEREODEM_VERSION", NULL) ||
            GDALGetMetadataItem(file, "MASK_BIT_1", NULL));
}

SdmStatus sdm_check_heights(SdmContext *ctx, const char *role, const char *path, GDALDatasetH file)
{
    GDALRasterBandH const band = GDALGetRasterBand(file, 1);
    const GDALColorInterp colour = GDALGetRasterColorInterpretation(band);
    const int bands = GDALGetRasterCount(file) - (sdm_alpha_band(file, band) != NULL);
    if (sdm_is_companion(file))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s: its first band is '%.60s', it lies beside a DEM of stereodem and holds no "
                        "heights; give the DEM itself",
                        role, path, GDALGetDescription(band));
    if (colour == GCI_PaletteIndex || (bands > 1 && colour >= GCI_RedBand && colour <= GCI_BlueBand))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s: its bands are colours, it is an image; give a raster of heights", role, path);
    if (bands > 1)
        sdm_log(ctx, SDM_LOG_WARNING, 1, "%s %s has %d bands: the first is taken for heights in metres", role,
                path, bands);
    return SDM_OK;
}
