/* Layout of the QA raster: its bands, the names of the mask's bits, and the one reason that stands for a
 * mask. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/qa_reasons.h"

/* Name of bit 1 << i: its key in files ("valid", "ray_gap", ...), which stays as it was first published. */
extern const char *const sdm_qa_names[SDM_QA_BITS];

/* The one reason of a cell, in the order in which they are looked for: the value of the band "reason" is the
 * place in this table, which stays as it was first published. */
enum { SDM_QA_REASONS = 15 };
typedef struct SdmQaReason {
    unsigned bit; /* SdmQaBit; 0: no height, and no bit that says why */
    unsigned char rgb[3];
} SdmQaReason;
extern const SdmQaReason sdm_qa_reasons[SDM_QA_REASONS];
/* Place in the table for the mask of a cell, or the masks of several that one pixel shows. */
int sdm_qa_reason(unsigned mask);

/* Every band is UInt16 with the same nodata. */
enum { SDM_QA_BANDS = 8, SDM_QA_NODATA = 65535 };
#define SDM_SCORE_STEP 0.01
enum { SDM_ERROR_STEPS = 2 }; /* of the predicted error in one of the product's metres_step */

/* Content of a band for a block's cells. */
typedef enum SdmQaBandKind {
    SDM_BAND_SCORE,     /* in steps of SDM_SCORE_STEP */
    SDM_BAND_RAY_ERROR, /* in steps of the product's metres_step */
    SDM_BAND_SPREAD,    /* the same */
    SDM_BAND_COUNT,
    SDM_BAND_MASK,   /* SdmQaBit */
    SDM_BAND_REASON, /* sdm_qa_reason() of the mask */
    SDM_BAND_PAIRS,
    SDM_BAND_ERROR /* predicted standard error of the height; see sdm_qa_scale() */
} SdmQaBandKind;

typedef struct SdmQaLayout {
    int bands;
    struct {
        SdmQaBandKind kind;
        const char *name; /* the band's description */
    } band[SDM_QA_BANDS];
    unsigned bits;                  /* of the mask, that are in use */
    unsigned legend;                /* bits whose colours the legend of the coverage map explains */
    const char *outside, *disagree; /* words for SDM_QA_OUTSIDE and SDM_QA_DISAGREE */
} SdmQaLayout;

extern const SdmQaLayout sdm_qa_scene; /* DEM of one pair, with the predicted error */
extern const SdmQaLayout
    sdm_qa_views; /* DEM of several pairs; the bands of one, and the number of pairs behind them */
extern const SdmQaLayout sdm_qa_stack; /* median of several DEMs */

/* Value of a step of a band; 0: it has no steps.  metres_step: of the product. */
double sdm_qa_scale(SdmQaBandKind kind, double metres_step);

enum { SDM_TREND_BANDS = 5 /* of NAME_trend.tif */ };

/* A bit in words, the same in the report, in styles and in tables of attributes; 0: "reason not known". */
const char *sdm_qa_words(const SdmQaLayout *layout, unsigned bit);
