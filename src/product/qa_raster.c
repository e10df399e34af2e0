/* Bands of a product's rasters: names, units, steps; of the QA raster also the names of the mask's bits, and
 * the one reason that stands for a mask. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"

const char *const sdm_qa_names[SDM_QA_BITS] = {
    "valid",      "filled",  "outside",  "saturated", "textureless", "low_score", "ambiguous",
    "left_right", "ray_gap", "isolated", "fold",      "sparse",      "disagree",  "masked"};
static const char *const words[SDM_QA_BITS] = {"height",
                                               "height, filled over a small hole",
                                               "not seen by both views",
                                               "saturated",
                                               "too little texture",
                                               "poor match",
                                               "ambiguous match",
                                               "left-right check failed",
                                               "ray intersection error too large",
                                               "outlier among its neighbours",
                                               "hidden by terrain",
                                               "too few points",
                                               "",
                                               "left out by a mask"};

const SdmQaReason sdm_qa_reasons[SDM_QA_REASONS] = {
    {0, {40, 44, 52}},
    {SDM_QA_VALID, {46, 134, 110}},
    {SDM_QA_FILLED, {240, 180, 60}},
    {SDM_QA_DISAGREE, {205, 92, 36}},
    {SDM_QA_SATURATED, {225, 225, 235}},
    {SDM_QA_FOLD, {120, 80, 160}},
    {SDM_QA_TEXTURELESS, {90, 150, 210}},
    {SDM_QA_LEFT_RIGHT, {230, 110, 90}},
    {SDM_QA_LOW_SCORE, {200, 70, 70}},
    {SDM_QA_AMBIGUOUS, {220, 120, 170}},
    {SDM_QA_RAY_ERROR, {150, 60, 100}},
    {SDM_QA_ISOLATED, {130, 100, 70}},
    {SDM_QA_SPARSE, {170, 170, 110}},
    {SDM_QA_OUTSIDE, {40, 44, 52}},
    {SDM_QA_MASKED, {96, 104, 120}},
};

int sdm_qa_reason(unsigned mask)
{
    enum { HEIGHT = 1, FILLED, DISAGREE, FIRST_WITHOUT, MASKED = SDM_QA_REASONS - 1 };
    if (mask & SDM_QA_VALID)
        return mask & SDM_QA_FILLED ? FILLED : mask & SDM_QA_DISAGREE ? DISAGREE : HEIGHT;
    for (int i = FIRST_WITHOUT; i < SDM_QA_REASONS; i++)
        if (mask & sdm_qa_reasons[i].bit)
            return mask & SDM_QA_MASKED && sdm_qa_reasons[i].bit == SDM_QA_OUTSIDE ? MASKED : i;
    return 0;
}

double sdm_qa_scale(SdmQaBandKind kind, double metres_step)
{
    return kind == SDM_BAND_SCORE                                  ? SDM_SCORE_STEP
           : kind == SDM_BAND_ERROR                                ? metres_step / SDM_ERROR_STEPS
           : kind == SDM_BAND_RAY_ERROR || kind == SDM_BAND_SPREAD ? metres_step
                                                                   : 0.0;
}

const char *sdm_qa_words(const SdmQaLayout *layout, unsigned bit)
{
    return bit == SDM_QA_OUTSIDE    ? layout->outside
           : bit == SDM_QA_DISAGREE ? layout->disagree
           : bit                    ? words[__builtin_ctz(bit)]
                                    : "reason not known";
}

/* The first bands of every DEM that was matched. */
#define OF_A_MATCH                                                                                           \
    {SDM_BAND_SCORE, "score"}, {SDM_BAND_RAY_ERROR, "ray intersection error"},                               \
        {SDM_BAND_SPREAD, "spread of the heights in the cell"}, {SDM_BAND_COUNT, "points in the cell"},      \
        {SDM_BAND_MASK, "mask"},                                                                             \
    {                                                                                                        \
        SDM_BAND_REASON, "reason"                                                                            \
    }

#define OF_A_SCENE ((1U << SDM_QA_BITS) - 1U - SDM_QA_DISAGREE)

const SdmQaLayout sdm_qa_scene = {
    7,
    {OF_A_MATCH, {SDM_BAND_ERROR, "predicted standard error"}},
    OF_A_SCENE,
    OF_A_SCENE,
    "not seen by both views",
    "height, two DEMs that disagree",
};

const SdmQaLayout sdm_qa_views = {
    8,
    {OF_A_MATCH, {SDM_BAND_PAIRS, "pairs in the cell"}, {SDM_BAND_ERROR, "predicted standard error"}},
    (1U << SDM_QA_BITS) - 1U,
    (1U << SDM_QA_BITS) - 1U,
    "not seen by two views",
    "height, pairs that disagree",
};

const SdmQaLayout sdm_qa_stack = {
    4,
    {{SDM_BAND_SPREAD, "NMAD of the heights in the cell"},
     {SDM_BAND_COUNT, "DEMs in the cell"},
     {SDM_BAND_MASK, "mask"},
     {SDM_BAND_REASON, "reason"}},
    (1U << SDM_QA_BITS) - 1U - SDM_QA_MASKED,
    SDM_QA_VALID | SDM_QA_FILLED | SDM_QA_DISAGREE | SDM_QA_OUTSIDE,
    "no DEM has a height",
    "height, two DEMs that disagree",
};

/* ---- bands of all rasters ---- */

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
