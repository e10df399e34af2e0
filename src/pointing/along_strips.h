/* Points along the track -> strips: robust means of 16 rows and an eighth of the columns. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_ALONG_STRIPS_H
#define SDM_ALONG_STRIPS_H

#include "pointing/along_model.h"

/* Sort the points into strips. */
SdmStatus sdm_along_sort_points(SdmContext *ctx, SdmAlongState *f);
/* Residuals of the points from a model, whether they are used or not -> residual. */
void sdm_along_residuals(const SdmAlongState *f, const SdmAlongModel *m, double *residual);
/* The residuals of the points that are used, of one class of slope or of all (-1) -> point_work; @return how
 * many. */
int64_t sdm_along_gather(const SdmAlongState *f, const double *residual, int class_wanted);
/* All strips about a model, with weights of at most the median one. */
void sdm_along_make_strips(SdmAlongState *f, const SdmAlongModel *m);

#endif
