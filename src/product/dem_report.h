/* A product -> the sections of its report that every DEM has; the report of a scene; figures for the caller.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/scene_open.h"
#include "product/product.h"
#include "scene/quality.h"

/* A reason to doubt the DEM, a clause. */
typedef struct SdmDoubt {
    char text[2048];
} SdmDoubt;

/* A pair of a run with several views, whose DEM was fused. */
typedef struct SdmPairResult {
    const char *left, *right; /* names of the views, borrowed from the caller of the run */
    char names[512];          /* "left, right", as short as they can be told apart */
    bool reference;           /* the DEM that the others are aligned to */
    double base_height, days_apart, overlap, sigma_m, weight, apply_m[3], smooth_m, coverage,
        pointing_residual_px, tie_points, wall_s;
    double agreement, trust; /* share matched at coarse levels; weight of its vote, that of the reference 1 */
} SdmPairResult;

typedef struct SdmDemResult {
    bool known; /* false: the DEM was finished by an earlier run; its report tells the rest */
    int64_t cols, rows;
    double spacing, coverage; /* coverage: cells with a height of those seen by two views, 0..1 */
    double pointing_residual_px, tie_points; /* NMAD; NaN: no correction was estimated */
    double matched_share;                    /* matched cells of those with texture, 0..1; NaN: not known */
    double wall_s;
    SdmDoubt *doubt;     /* owned, as all below */
    SdmInputFile *file;  /* that it was made from */
    SdmPairResult *pair; /* NULL: of one pair */
    int doubts, files, pairs;
} SdmDemResult;

/* Grid and coverage of a product whose blocks are written. */
void sdm_dem_result_take(const SdmProduct *product, SdmDemResult *out);
void sdm_dem_result_free(SdmDemResult *result);
/* With --strict SDM_ERR_DATA where there are doubts about the DEM, which is made. */
SdmStatus sdm_check_doubts(SdmContext *ctx, const char *output, const SdmDoubt *doubt, int count);

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

/* ---- scene_report.c: DEM of one stereo pair -> its product and the report on it ---- */

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
