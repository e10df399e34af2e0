/* Fit to a reference DEM: cameras and ground -> a section of the report of a scene. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_REFERENCE_SECTION_H
#define SDM_REFERENCE_SECTION_H

#include "product/product.h"

/* report: state other than NONE. */
void sdm_report_reference(SdmReport *r, const SdmProduct *p, const SdmReferenceReport *report,
                          const SdmAlongCorrection *along);

#endif
