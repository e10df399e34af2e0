/* Stages 8, 9: the DEM's grid, its vertical datum, and the products.  Blocks -> files. */
#ifndef SDM_PRODUCT_H
#define SDM_PRODUCT_H

#include "core/block.h"
#include "core/core.h"
#include "core/qa.h"
#include "geo/geoid.h"
#include "pointing/pointing_fit.h"
#include "input/scene_open.h"

extern const char *const sdm_qa_names[SDM_QA_BITS]; /* "valid", "filled", ... as in the report */

#define SDM_NODATA (-9999.0f)

/* A DEM of a stack: what was found and taken out of it. */
typedef struct SdmStackedDem {
    const char *path;
    double shift_m[3]; /* how far it lay off: east, north, up; metres */
    double nmad_m;     /* of its heights, shift taken out, minus the median of the DEMs there; NaN: none */
    int64_t samples;   /* cells compared for that */
    double smooth_m;   /* NMAD of its smooth part (jitter, tilt), brought to the mean; NaN: left in */
    int group;         /* DEMs of one group hang together; from 0 */
    int partners;      /* DEMs that it was compared with */
} SdmStackedDem;

/* What a stack's products say in place of a scene's. */
typedef struct SdmStackReport {
    const SdmStackedDem *dems;
    int count, groups, ties;
    const char *align;   /* "z", "xyz", "none" */
    double disagree_m;   /* two DEMs farther apart than this are marked SDM_QA_DISAGREE */
    bool datum_unknown;  /* no input says what its heights are above, and neither will the DEM */
} SdmStackReport;

/* What makes a DEM doubtful, one clause each, and the figures behind it. */
enum { SDM_MAX_WARNINGS = 4 };
typedef struct SdmQuality {
    int count;
    char text[SDM_MAX_WARNINGS][320];
    double matched_share; /* matched cells of those with texture, 0..1 */
    double ray_error_median_px; /* median ray gap of the matched cells, px of the frame */
} SdmQuality;
/* Add one; more than SDM_MAX_WARNINGS are dropped. */
void sdm_quality_warn(SdmQuality *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Everything the report says that the blocks do not hold. */
typedef struct SdmReport {
    char scene_id[256], time_utc[32], scene_kind[64], left[1024], right[1024];
    char cost[8]; /* that matched: what --cost auto stood for */
    const SdmInputFile *files; /* borrowed */
    int file_count;
    double centre_lon_deg, centre_lat_deg, base_height, convergence_deg, gsd_m;
    double hmin_m, hmax_m;        /* range searched */
    double lattice_error_px;
    const SdmPointing *pointing;
    const SdmPointReport *points;
    int blocks, blocks_resumed;
    int64_t frame_cols, frame_rows;
    double wall_s;
    const SdmQuality *doubts;      /* borrowed; NULL: not judged */
    const SdmStackReport *stack;  /* borrowed; NULL for a scene.  A stack has no ortho image, and in its QA
                                   * raster NMAD (SdmBlock's spread_m), count and mask alone */
    uint64_t job;                 /* tells runs with other inputs or parameters apart; not printed */
} SdmReport;

/* Products of one run, written aside and renamed when whole:
 * NAME.tif (DEM, Float32 COG, nodata -9999), NAME_qa.tif, NAME_ortho.tif, NAME.json, NAME.html, NAME.png.
 * open:   checks that every file can be written (folder there, not a folder, not an input, --overwrite).
 * write:  takes a block in any order; converts to the vertical datum; every cell exactly once.
 * finish: statistics, overviews, COG, report, pictures, rename.
 * close without finish removes what was written aside.  A full disk at any point is SDM_ERR_IO with a
 * sentence. */
typedef struct SdmProduct SdmProduct;
/* To be called before any work: same checks as open, touches nothing.  inputs: paths that must not be
 * overwritten, or NULL while they are not known; a DEM that may be this job's own, see sdm_product_finished,
 * is let pass till then. */
SdmStatus sdm_product_check(SdmContext *ctx, const char *const *inputs, int input_count);
/* Was a run with the same `job` stopped after it had named every product?  Then nothing but tidying is left.
 */
bool sdm_product_finished(SdmContext *ctx, uint64_t job);
void sdm_product_tidy(SdmContext *ctx);
SdmStatus sdm_product_open(SdmContext *ctx, const SdmGrid *grid, const SdmReport *report, SdmProduct **out);
SdmStatus sdm_product_write(SdmContext *ctx, SdmProduct *p, const SdmBlock *block); /* serialise calls */
/* Adds its own seconds to stage 9 and to report->wall_s before it writes the report. */
SdmStatus sdm_product_finish(SdmContext *ctx, SdmProduct *p, const SdmReport *report);
void sdm_product_close(SdmProduct **p);

#endif
