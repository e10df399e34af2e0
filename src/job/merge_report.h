/* What a merge reports of its scene besides the blocks.  For merge.c. */
#ifndef SDM_MERGE_REPORT_H
#define SDM_MERGE_REPORT_H

#include "job/job.h"
#include "product/scene_report.h"

/* The files of the plan with their sizes and times; *out is allocated, also after a failure the caller's to
 * free. */
SdmStatus sdm_merge_inputs(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *s, SdmInputFile **out,
                           int *count);

/* All else that is known before the blocks; borrows the job's pointing. */
SdmStatus sdm_merge_report(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *s, SdmSceneReport *out);

#endif
