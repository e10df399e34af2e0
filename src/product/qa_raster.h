/* Layout of the QA raster: its bands, and the names of the mask's bits. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_QA_RASTER_H
#define SDM_QA_RASTER_H

#include "core/qa_reasons.h"

/* Of bit 1 << i: its key in files ("valid", "ray_gap", ...), which stays as it was first published, and its words
 * for people ("ray intersection error"). */
extern const char *const sdm_qa_names[SDM_QA_BITS], *const sdm_qa_words[SDM_QA_BITS];

/* Every band is UInt16 with the same nodata. */
enum { SDM_QA_BANDS = 5, SDM_QA_NODATA = 65535 };
#define SDM_SCORE_STEP 0.01

/* What a band holds of a block's cells. */
typedef enum SdmQaBandKind {
    SDM_BAND_SCORE,     /* in steps of SDM_SCORE_STEP */
    SDM_BAND_RAY_ERROR, /* in steps of the product's metres_step */
    SDM_BAND_SPREAD,    /* the same */
    SDM_BAND_COUNT,
    SDM_BAND_MASK /* SdmQaBit */
} SdmQaBandKind;

typedef struct SdmQaLayout {
    int bands;
    struct {
        SdmQaBandKind kind;
        const char *name; /* the band's description */
    } band[SDM_QA_BANDS];
    int mask_bits;   /* how many bits of the mask are in use, from the first on */
    unsigned legend; /* bits whose colours the legend of the coverage map explains */
} SdmQaLayout;

extern const SdmQaLayout sdm_qa_scene; /* DEM of one pair */
extern const SdmQaLayout sdm_qa_stack; /* median of several DEMs */

#endif
