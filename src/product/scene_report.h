/* DEM of one stereo pair -> its product and the report on it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/height_raster.h"
#include "input/scene_open.h"
#include "pointing/pointing_fit.h"
#include "pointing/reference_report.h"
#include "product/dem_report.h"
#include "product/dem_result.h"
#include "scene/quality.h"

/* Report items of a scene that the product does not know. */
typedef struct SdmSceneReport {
    char scene_id[256], time_utc[32], scene_kind[64], left[1024], right[1024];
    const SdmCameraNote *camera; /* of both views, borrowed; NULL: nothing to say */
    char cost[8];                /* that matched: what --cost auto stood for */
    const SdmInputFile *files;   /* borrowed */
    int file_count;
    double centre_lon_deg, centre_lat_deg, base_height, convergence_deg, gsd_m;
    double hmin_m, hmax_m; /* range searched */
    bool semi_global;      /* --optimizer sgm, or what auto stood for */
    const SdmPointing *pointing;
    const SdmPointReport *points;
    const SdmAlongCorrection *along;     /* by the reference */
    const SdmReferenceReport *reference; /* NULL: none */
    const SdmPriorReport *prior;         /* of --dem; NULL: none */
    SdmHeightRaster *reference_dem;      /* borrowed; NULL: to be opened */
    SdmReportWork work;                  /* wall_s: up to the last block */
    const SdmQuality *quality;           /* borrowed; NULL: not assessed */
    uint64_t job;                        /* fingerprint of inputs and parameters; not printed */
    SdmKeptProduct *keep;                /* see SdmProductRequest */
} SdmSceneReport;

/* As sdm_product_open(), for the DEM of a scene.  opt, grid and report are borrowed until the product is
 * closed. */
SdmStatus sdm_scene_product_open(SdmContext *ctx, const SdmOptions *opt, const SdmGrid *grid,
                                 const SdmSceneReport *report, SdmProduct **out);
/* Complete the product, and publish it with its report.  lease: see sdm_product_publish().  *result: what the
 * report says, to be freed by the caller, also after a failure. */
SdmStatus sdm_scene_product_finish(SdmContext *ctx, SdmProduct *p, const SdmSceneReport *report,
                                   SdmLease *lease, SdmDemResult *result);
