/* Layout of the QA raster: its bands, and the names of the mask's bits. */
// SPDX-License-Identifier: Apache-2.0
#include "product/qa_raster.h"

const char *const sdm_qa_names[SDM_QA_BITS] = {
    "valid",      "filled",  "outside",  "saturated", "textureless", "low_score", "ambiguous",
    "left_right", "ray_gap", "isolated", "fold",      "sparse",      "disagree"};
const char *const sdm_qa_words[SDM_QA_BITS] = {
    "height",           "filled small hole", "outside both views", "saturated", "no texture",
    "low score",        "ambiguous",         "left-right check",   "ray intersection error",
    "outlier",          "hidden by terrain", "too few points",     "DEMs disagree"};

const SdmQaLayout sdm_qa_scene = {
    5,
    {{SDM_BAND_SCORE, "score"},
     {SDM_BAND_RAY_ERROR, "ray intersection error"},
     {SDM_BAND_SPREAD, "spread of the heights in the cell"},
     {SDM_BAND_COUNT, "points in the cell"},
     {SDM_BAND_MASK, "mask"}},
    SDM_QA_SCENE_BITS,
    (1U << SDM_QA_SCENE_BITS) - 1U,
};

const SdmQaLayout sdm_qa_stack = {
    3,
    {{SDM_BAND_SPREAD, "NMAD of the heights in the cell"},
     {SDM_BAND_COUNT, "DEMs in the cell"},
     {SDM_BAND_MASK, "mask"}},
    SDM_QA_BITS,
    SDM_QA_VALID | SDM_QA_FILLED,
};
