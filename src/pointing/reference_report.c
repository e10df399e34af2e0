/* Free the report on a reference. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/reference_report.h"

void sdm_reference_report_free(SdmReferenceReport *r)
{
    sdm_free(&r->bins[0].value_px);
    sdm_free(&r->bins[1].value_px);
    sdm_free(&r->left_out);
}
