/* Median of several DEMs -> its product and the report on it. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_STACK_REPORT_H
#define SDM_STACK_REPORT_H

#include "coreg/error_lag.h"
#include "product/dem_report.h"

/* One DEM of a stack: what moves it to the others, and how well it fits them. */
typedef struct SdmStackedDem {
    const char *path;
    double move_m[3];  /* applied to it: east, north, up */
    double nmad_m;     /* of its heights, moved, minus the median of the DEMs there; NaN: none */
    int64_t samples;   /* cells compared for that */
    double smooth_m;   /* NMAD of its smooth errors (jitter, tilt), taken out; NaN: left in */
    char date[32];     /* of a trend: ISO 8601; else "" */
    int group;         /* DEMs of one group overlap, directly or through others; from 0 */
    int partners;      /* DEMs that it was compared with */
} SdmStackedDem;

/* Figures of a trend; rates and errors in metres a year. */
enum { SDM_TREND_AREAS = 4 };
typedef struct SdmTrendFigures {
    char first[32], last[32]; /* dates; "": there is no trend */
    int64_t cells;            /* with a rate */
    double stable;            /* share of the ground whose rate is taken for 0 */
    double rate, error;       /* medians of the rates and their standard errors */
    double certain;           /* share of the rates beyond two standard errors */
    SdmErrorLag area[SDM_TREND_AREAS]; /* of mean rates over squares of stable ground */
} SdmTrendFigures;

typedef struct SdmStackReport {
    const SdmStackedDem *dems;
    int count, groups, pairs; /* DEMs, connected groups of them, pairs compared */
    const char *align;        /* "z", "xyz", "none" */
    double disagree_m;        /* two DEMs farther apart than this are marked SDM_QA_DISAGREE */
    const struct SdmStackTrend *trend; /* while the stack is made; NULL: none */
    SdmTrendFigures rates;             /* afterwards */
    bool datum_unknown;       /* no input declares its vertical datum, and neither will the DEM */
} SdmStackReport;

/* As sdm_product_open(), for a stack: no ortho image; NMAD (SdmBlock's spread_m), count and mask as QA
 * raster. opt, grid and report are borrowed until the product is closed.  keep: see SdmProductRequest. */
SdmStatus sdm_stack_product_open(SdmContext *ctx, const SdmOptions *opt, const SdmGrid *grid,
                                 const SdmStackReport *report, SdmKeptProduct *keep, SdmProduct **out);
/* Complete the product, and publish it with its report.  work: wall_s up to the last block.  lease: see
 * sdm_product_publish(). */
SdmStatus sdm_stack_product_finish(SdmContext *ctx, SdmProduct *p, const SdmStackReport *report,
                                   const SdmReportWork *work, SdmLease *lease);

/* Rate of the strongest colour of its map, once it is known. */
const double *sdm_trend_limit(const struct SdmStackTrend *t);
/* The sections on a trend (stack_trend_report.c).  cell_m: side of a cell from west to east. */
void sdm_trend_report(SdmReport *r, const struct SdmStackTrend *t, double cell_m);

#endif
