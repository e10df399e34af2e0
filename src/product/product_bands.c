/* Bands of a product's rasters: names, units, steps. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"

int sdm_product_bands(const SdmProduct *p, int file)
{
    return file == SDM_FILE_QA       ? p->request.qa->bands
           : file == SDM_FILE_CHANGE ? SDM_CHANGE_BANDS
           : file == SDM_FILE_TREND  ? SDM_TREND_BANDS
                                     : 1;
}

SdmProductBand sdm_product_band(const SdmProduct *p, int file, int k)
{
    static const SdmProductBand height = {"height", "m", 0.0}, ortho = {"left image", "", 0.0},
                                change[SDM_CHANGE_BANDS] = {{"height minus reference", "m", 0.0},
                                                            {"left out of the fit", "", 0.0}},
                                trend[SDM_TREND_BANDS] = {{"rate", "m/year", 0.0},
                                                          {"standard error of the rate", "m/year", 0.0},
                                                          {"dates", "", 0.0},
                                                          {"span of the dates", "years", 0.0},
                                                          {"NMAD of the residuals", "m", 0.0}};
    if (file != SDM_FILE_QA)
        return file == SDM_FILE_DEM      ? height
               : file == SDM_FILE_ORTHO  ? ortho
               : file == SDM_FILE_CHANGE ? change[k]
                                         : trend[k];
    const SdmQaBandKind kind = p->request.qa->band[k].kind;
    const double scale = sdm_qa_scale(kind, p->metres_step);
    return (SdmProductBand){p->request.qa->band[k].name, scale > 0.0 && kind != SDM_BAND_SCORE ? "m" : "",
                            scale};
}

GDALRasterBandH sdm_product_qa_band(const SdmProduct *p, SdmQaBandKind kind)
{
    for (int k = 0; k < p->request.qa->bands; k++)
        if (p->request.qa->band[k].kind == kind)
            return GDALGetRasterBand(p->raster[SDM_FILE_QA].dataset, k + 1);
    return NULL;
}
