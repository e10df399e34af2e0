/* Median of several DEMs -> its product and the report on it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product/dem_report.h"
#include "product/dem_result.h"

/* One DEM of a stack: what moves it to the others, and how well it fits them. */
typedef struct SdmStackedDem {
    const char *path;
    double move_m[3]; /* applied to it: east, north, up */
    double nmad_m;    /* of its heights, moved, minus the median of the DEMs there; NaN: none */
    int64_t samples;  /* cells compared for that */
    double smooth_m;  /* NMAD of its smooth errors (jitter, tilt), taken out; NaN: left in */
    char date[32];    /* of a trend: ISO 8601; else "" */
    int group;        /* DEMs of one group overlap, directly or through others; from 0 */
    int partners;     /* DEMs that it was compared with */
} SdmStackedDem;

typedef struct SdmStackReport {
    const SdmStackedDem *dems;
    int count, groups, pairs;     /* DEMs, connected groups of them, pairs compared */
    const char *align;            /* "z", "xyz", "none" */
    double disagree_m;            /* two DEMs farther apart than this are marked SDM_QA_DISAGREE */
    const struct SdmStack *trend; /* while it is made, a stack with a trend; NULL: none */
    bool datum_unknown;           /* no input declares its vertical datum, and neither will the DEM */
    const SdmDoubt *doubt;        /* DEMs that may not belong to the others */
    int doubts;
} SdmStackReport;

/* As sdm_product_open(), for a stack: no ortho image; NMAD (SdmBlock's spread_m), count and mask as QA
 * raster. opt, grid and report are borrowed until the product is closed.  keep: see SdmProductRequest. */
SdmStatus sdm_stack_product_open(SdmContext *ctx, const SdmOptions *opt, const SdmGrid *grid,
                                 const SdmStackReport *report, SdmKeptProduct *keep, SdmProduct **out);
/* Complete the product, and publish it with its report.  work: wall_s up to the last block.  lease: see
 * sdm_product_publish(). */
SdmStatus sdm_stack_product_finish(SdmContext *ctx, SdmProduct *p, const SdmStackReport *report,
                                   const SdmReportWork *work, SdmLease *lease);
