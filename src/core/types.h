/* What the folders share besides the public header: the options of a call, requests and results of jobs, the
 * description of a scene, statistics of errors.  Internal; not installed.
 *
 * Conventions as in stereodem.h.  Strings and pointers of requests are borrowed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_TYPES_H
#define SDM_TYPES_H

#include "stereodem/stereodem.h"

#include <stdbool.h>

/* Heights of the DEM. */
typedef enum SdmVertical { SDM_ELLIPSOID, SDM_EGM96, SDM_EGM2008 } SdmVertical;
#define SDM_VERTICAL_WORDS "ellipsoid|egm96|egm2008" /* choices of the options that name one */

/* Most values that --co and --config hold each. */
#define SDM_MAX_KEY_VALUES 32

/* Options of the commands.  Fill with sdm_options_default(), change fields, pass by const pointer.  Strings
 * are borrowed.  Ranges, units and help stand in the table of src/core/options.c; `stereodem run --help`
 * prints them. */
typedef struct SdmOptions {
    const char *output;       /* -o: the DEM to write */
    double tr;                /* DEM spacing in units of the output CRS; 0 = 2 x ground sample distance */
    const char *t_srs;        /* output CRS, anything GDAL understands; NULL = UTM zone of the scene */
    int vertical;             /* SdmVertical */
    const char *cost;         /* "auto" (by the pixels' size), "zncc", "census" */
    const char *optimizer;    /* "auto", "local", "sgm", "bp" */
    int p1, p2; /* sgm: penalties of steps by one label and by more, steps of the cost; 0 = by the cost */
    const char *paths;        /* sgm: "4" or "8" */
    int bp_weight; /* bp: penalty of a step by one label, in steps of the cost; 0 = by the cost */
    int bp_truncation;        /* bp: labels from which on steps cost the same; 0 = by the cost */
    int bp_outer, bp_inner;   /* bp: visits of all tiles there and back; iterations of each visit */
    int bp_tile;              /* bp: side of a tile, px */
    const char *device;       /* "auto", "cpu", "opencl", "cuda", "cuda:1": see `stereodem devices` */
    const char *cpu_level;    /* "auto", or a copy of the kernels: "reference", "c", "sse4.2", "avx2" ... */
    int threads;              /* 0 = one per processor */
    int64_t memory_bytes;     /* budget of the process, bytes */
    int tile;                 /* edge of a tile of the DEM, cells; 0 = chosen from the budget */
    const char *fill;         /* holes that take interpolated heights: "none", "gentle", "all" */
    const char *surface_filter; /* filter of the heights: "auto", "wiener", "none" */
    double hmin_m, hmax_m;    /* height range above the ellipsoid, metres; NaN = found without */
    const char *dem;          /* prior DEM that starts the surface; NULL = none */
    const char *dem_vertical; /* "auto", "ellipsoid", "egm96", "egm2008": datum of dem */
    const char *reference;          /* DEM that corrects the cameras; NULL = none */
    const char *reference_mask;     /* raster, 0 = not stable ground, or polygons of it; NULL = none */
    const char *exclude;            /* polygons of unstable ground, or raster, not 0; NULL = none */
    const char *layer, *where;      /* of these polygons; NULL = the only one, all */
    const char *reference_vertical; /* "auto", "ellipsoid", "egm96", "egm2008": datum of reference */
    const char *co[SDM_MAX_KEY_VALUES + 1];     /* GDAL creation options NAME=VALUE, NULL-terminated */
    const char *config[SDM_MAX_KEY_VALUES + 1]; /* GDAL configuration options NAME=VALUE, NULL-terminated */
    int band;                 /* band of both images, from 1; 0 = the only one */
    const char *mask_left, *mask_right; /* rasters, 0 = do not use the pixel; NULL = none */
    double base_height;       /* B/H of a georeferenced parallel pair; NaN = not such a pair */
    bool overwrite, strict, quiet, verbose; /* strict: a doubtful DEM is a failure */
    const char *log;          /* "text" or "json" */
    bool keep_job;            /* keep the job folder after success */
} SdmOptions;

void sdm_options_default(SdmOptions *opt); /* set every field to its default */

/* Open a context.
 * opt  copied; the strings in it are borrowed for the life of the context.  NULL = defaults
 * out  set unless SDM_ERR_MEMORY, so that sdm_error() can say why; close with sdm_close()
 * Returns SDM_OK, SDM_ERR_USAGE (an option out of its range), SDM_ERR_MEMORY. */
SdmStatus sdm_open(SdmContext **out, const SdmOptions *opt);
/* Take other options for what follows.  Errors as above. */
SdmStatus sdm_use_options(SdmContext *ctx, const SdmOptions *opt);
/* Free the context and set *ctx to NULL.  Accepts NULL and pointer to NULL. */
void sdm_close(SdmContext **ctx);
/* Send log lines and progress to functions; NULL = drop them. */
void sdm_set_sinks(SdmContext *ctx, sdm_log_fn *log, sdm_progress_fn *progress, void *user);

/* Make the DEM opt->output and its companions (_qa.tif, _ortho.tif, .json, .html, .png) from a scene.
 * left   an ASTER scene (HDF, folder, zip), or the left image of a pair
 * right  the right image of a pair, NULL for an ASTER scene
 * Finished blocks are kept in `<output>.job` until all is written, and taken up by the next call. */
SdmStatus sdm_run_scene(SdmContext *ctx, const char *left, const char *right);

/* The same from three views or more, at most SDM_MAX_VIEWS: images with RPC, or folders of products.  They
 * are paired, each pair is matched on one grid, and the DEMs are fused; see docs/views.md.  DEMs of finished
 * pairs are kept in
 * `<output>.views` until all is written, and taken up by the next call. */
enum { SDM_MAX_VIEWS = 8, SDM_MAX_VIEW_PAIRS = SDM_MAX_VIEWS * (SDM_MAX_VIEWS - 1) / 2 };
SdmStatus sdm_run_several(SdmContext *ctx, const char *const *views, int count);

/* What `stereodem plan` is given. */
typedef struct SdmPlanRequest {
    const char *job;          /* folder to make */
    const char *left, *right; /* as in sdm_run_scene(), or NULL */
    const char *list;         /* file with a scene or a pair a line, relative to it; or NULL */
} SdmPlanRequest;

typedef struct SdmPlanSummary {
    int scenes, failed, tiled; /* scenes; those that cannot be opened; those cut into tiles */
    int64_t units;             /* units of work, 0 .. units - 1 */
    double cpu_s;              /* expected processor time of all units */
    double most_cpu_s;         /* of the unit that takes most */
    int64_t most_bytes;        /* expected peak of the unit that needs most */
} SdmPlanSummary;

/* Write JOB/plan.json: inputs, parameters and units of one or many scenes.  Opens cameras, reads no pixel.
 * A scene that cannot be opened is reported (log, plan.json) and skipped. */
SdmStatus sdm_plan(SdmContext *ctx, const SdmPlanRequest *request, SdmPlanSummary *out);

/* Which units a task computes: unit[0 .. count - 1], or first .. first + count - 1 where unit is NULL. */
typedef struct SdmTileRequest {
    const char *job;
    const int64_t *unit;
    int64_t first, count;
    double wait_s; /* longest wait for another task that prepares the scene, seconds */
} SdmTileRequest;

typedef struct SdmTileSummary {
    int64_t done;    /* finished units */
    int64_t skipped; /* of these, units that were finished before */
    int64_t failed;  /* units that failed */
} SdmTileSummary;

/* Compute units of a job with the parameters of its plan.  A finished unit of this plan is skipped; after a
 * unit that fails, the others are still computed. */
SdmStatus sdm_tile(SdmContext *ctx, const SdmTileRequest *request, SdmTileSummary *out);

typedef struct SdmMergeRequest {
    const char *job;
    const char *folder; /* where the DEMs go; NULL = JOB/dem; of one scene, the name of its DEM, too */
    int scene;          /* number of the only scene to merge; -1 = all */
} SdmMergeRequest;

typedef struct SdmMergeSummary {
    int scenes, merged, already, incomplete, failed; /* already: of merged; incomplete: units are missing */
    int permanent;                                    /* of failed: another try would end so, too */
    int doubtful;                                     /* of merged: their reports have doubts */
    int64_t missing;                                 /* units */
} SdmMergeSummary;

/* Build the products of every scene whose units are finished: FOLDER/NAME.tif and its companions.
 * Returns SDM_OK when every scene has its products; else the sentence names the missing units and how to
 * compute them. */
SdmStatus sdm_merge(SdmContext *ctx, const SdmMergeRequest *request, SdmMergeSummary *out);

/* Progress of a scene of a job. */
typedef struct SdmSceneProgress {
    int number;
    char name[320];
    /* "merged", "merging", "ready to merge", "merge failed", "running", "failed", "begun", "not begun",
     * "not planned" */
    const char *state;
    int64_t first_unit, units, done, running, failed, missing; /* units */
    int64_t error_unit;  /* the last unit that failed, -1 if none */
    char error[1024];    /* its sentence, or the scene's */
    bool is_permanent;    /* another try would end so, too; also of scenes that are not planned */
} SdmSceneProgress;

/* Progress of a job.  Open, ask for the scenes in order, then for the time left, close. */
typedef struct SdmJobProgress SdmJobProgress;
SdmStatus sdm_job_progress_open(SdmContext *ctx, const char *job, SdmJobProgress **out);
int sdm_job_progress_scenes(const SdmJobProgress *progress);
SdmStatus sdm_job_progress_scene(SdmContext *ctx, SdmJobProgress *progress, int scene, SdmSceneProgress *out);
/* Expected wall time until the running tasks finish the job, seconds; NaN when no task runs. */
double sdm_job_progress_left_s(const SdmJobProgress *progress);
/* Expected time that a single task would need for the rest, seconds. */
double sdm_job_progress_work_s(const SdmJobProgress *progress);
void sdm_job_progress_close(SdmJobProgress **progress);

/* One view of a scene, for people. */
typedef struct SdmViewInfo {
    char name[512];        /* file or subdataset */
    char camera[32];       /* "aster", "rpc", "parallel" */
    char camera_source[256]; /* of an RPC: "metadata in the file",
                                "left_RPC.TXT"; else "" */
    char camera_doubt[320];  /* why it may not be the image's; "" */
    char mask[600];        /* pixels that are not used: "none", "nodata 0", "--mask-left FILE" */
    double unusable;       /* share of pixels that are masked, nodata or NaN, 0..1; from samples of all */
    double saturated;      /* share of pixels where the sensor was saturated, the same way */
    int64_t width, height; /* pixels */
} SdmViewInfo;

/* Description of a scene before any matching.  Unknown numbers are NaN, unknown integers 0. */
typedef struct SdmSceneInfo {
    char sensor[16];                    /* "aster", "rpc", "parallel" */
    char kind[64];                      /* "ASTER L1A V004 (HDF)" */
    char id[256];                       /* granule or file base name */
    char time_utc[32];                  /* acquisition of the left view, ISO 8601; "" if unknown */
    SdmViewInfo view[2];                /* left, right */
    double convergence_deg;             /* angle between the rays at the scene centre */
    double base_height;                 /* B/H, no unit */
    double gsd_m, right_gsd_m;          /* ground sample distances of the images */
    double centre_lon_deg, centre_lat_deg;
    double overlap;                     /* share of the left footprint that the right view sees, 0..1 */
    double footprint_m2;                /* area seen by both */
    double hmin_m, hmax_m;              /* height range to be searched, above the ellipsoid */
    char crs[128];                      /* output CRS, such as "EPSG:32610" */
    double spacing;                     /* of the DEM, units of its CRS */
    int64_t cols, rows;                 /* cells of the DEM */
    int64_t tiles;                      /* blocks that it is made in */
    int64_t memory_bytes;               /* expected peak of the process (resident) */
    double seconds;                     /* expected wall time of `stereodem run` on this machine */
} SdmSceneInfo;

/* Statistics of the errors of a DEM, DEM minus reference, metres. */
typedef struct SdmErrorStats {
    int64_t count;
    double bias_m;  /* mean */
    double median_m;
    double std_m;   /* standard deviation */
    double nmad_m;  /* 1.4826 x median absolute deviation from the median */
    double rmse_m;
    double le90_m;  /* 90 % quantile of |error| */
    double p99_m;   /* 99 % quantile of |error| */
    double over30;  /* share of |error| > 30 m, 0..1 */
} SdmErrorStats;

#endif
