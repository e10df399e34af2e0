/* A product -> the sections of its report that every DEM has. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product/product.h"

/* Work done for a DEM. */
typedef struct SdmReportWork {
    double wall_s;
    int blocks, blocks_resumed;
    int64_t frame_cols, frame_rows;  /* of the epipolar frame; 0: none */
    double lattice_error_px;         /* 0: no lattice */
    const char *device, *device_why; /* the back end as --device takes it, and why auto has left others;
                                      * borrowed; NULL: not known */
} SdmReportWork;

/* Scales of shares, per cent: of cells that have a height, of heights that were filled or are doubtful. */
extern const SdmScale sdm_scale_seen, sdm_scale_filled;

/* Each adds one section, in the order of the JSON report, and returns it where a caller adds items of its
 * own. */
void sdm_report_program(SdmReport *r, const SdmProduct *p); /* program, version, output; not a section */
/* Effective values of options that were not given. */
typedef struct SdmEffective {
    const SdmGrid *grid;
    const char *cost;      /* NULL: does not apply */
    double hmin_m, hmax_m; /* NaN: do not apply */
    int threads;
} SdmEffective;
/* command: SDM_CMD_*: who reads them.  The page has those that were given, the others folded away. */
SdmReportItem sdm_report_options(SdmReport *r, const SdmOptions *opt, unsigned command,
                                 const SdmEffective *found);
SdmReportItem sdm_report_grid(SdmReport *r, const SdmProduct *p);
/* Metres on the ground, from west to east, of a pixel of a map of the whole DEM that is `cols` wide. */
double sdm_report_pixel_m(const SdmProduct *p, int cols);
void sdm_report_maps(SdmReport *r, const SdmProduct *p);  /* relief and coverage */
void sdm_report_cells(SdmReport *r, const SdmProduct *p); /* counts of the QA mask */
SdmReportItem sdm_report_heights(SdmReport *r, const SdmProduct *p);
void sdm_report_work(SdmReport *r, SdmContext *ctx, const SdmProduct *p, const SdmReportWork *work);
/* The doubts about a DEM, above all else on the page: texts at a pitch of so many bytes. */
SdmReportItem sdm_report_doubts(SdmReport *r, const char *text, size_t pitch, int count);

/* Datum, spacing and size of the grid: "Heights in metres above ..., cells of ..., 100 x 200." */
const char *sdm_report_grid_phrase(SdmReport *r, const SdmProduct *p);

/* Complete the product, have its report built, and publish both.  work: part of `what`; wall_s, up to the
 * last block, grows by what the completion takes. */
SdmStatus sdm_report_publish(SdmContext *ctx, SdmProduct *p,
                             void (*build)(SdmContext *ctx, const SdmProduct *p, const void *what,
                                           SdmReport *r),
                             const void *what, SdmReportWork *work, SdmLease *lease);
