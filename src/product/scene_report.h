/* DEM of one stereo pair -> its product and the report on it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product/dem_report.h"
#include "product/dem_result.h"
#include "scene/quality.h"

/* Items of a scene in the report; pointers are borrowed. */
typedef struct SdmSceneReport {
    const char *scene_id, *time_utc, *scene_kind;
    char left[1024], right[1024];
    const SdmPrepared *prepared;
    const SdmInputFile *files;
    int file_count;
    SdmReportWork work;        /* wall_s: up to the last block */
    const SdmQuality *quality; /* NULL: not assessed */
    uint64_t job;              /* fingerprint of inputs and parameters; not printed */
    SdmKeptProduct *keep;      /* see SdmProductRequest */
} SdmSceneReport;

/* As sdm_product_open(), for the DEM of a scene.  opt, grid and report are borrowed until the product is
 * closed. */
SdmStatus sdm_scene_product_open(SdmContext *ctx, const SdmOptions *opt, const SdmGrid *grid,
                                 const SdmSceneReport *report, SdmProduct **out);
/* Complete the product, and publish it with its report.  lease: see sdm_product_publish().  *result: what the
 * report says, to be freed by the caller, also after a failure. */
SdmStatus sdm_scene_product_finish(SdmContext *ctx, SdmProduct *p, const SdmSceneReport *report,
                                   SdmLease *lease, SdmDemResult *result);
