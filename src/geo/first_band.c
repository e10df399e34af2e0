/* A raster of several bands -> its first band with the mask that the raster gives it. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/first_band.h"

#include <gdal_utils.h>
#include <stdio.h>

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

GDALDatasetH sdm_first_band(GDALDatasetH file)
{
    if (GDALGetRasterCount(file) == 1)
        return file;
    GDALRasterBandH const alpha = sdm_alpha_band(file, GDALGetRasterBand(file, 1));
    char format[] = "-of", vrt[] = "VRT", band[] = "-b", one[] = "1", mask[] = "-mask", number[16] = "auto";
    char *arguments[] = {format, vrt, band, one, mask, number, NULL};
    if (alpha)
        snprintf(number, sizeof number, "%d", GDALGetBandNumber(alpha));
    GDALTranslateOptions *const options = GDALTranslateOptionsNew(arguments, NULL);
    GDALDatasetH const out = options ? GDALTranslate("", file, options, NULL) : NULL;
    GDALTranslateOptionsFree(options);
    return out;
}

GDALRasterBandH sdm_band_mask(GDALRasterBandH band)
{
    return GDALGetMaskFlags(band) & (GMF_ALL_VALID | GMF_NODATA) ? NULL : GDALGetMaskBand(band);
}
