/** @file stereodem.h
 *  Public interface of stereodem: a stereo pair of satellite images in, a georeferenced DEM out.
 *
 *  Conventions, fixed here once:
 *  - pixel coordinates (col, row) are real numbers with (0, 0) at the *centre* of the first pixel;
 *    GDAL geotransforms count from pixel corners, and every boundary converts;
 *  - ground points are (lon_deg, lat_deg, h_m): WGS 84 geodetic degrees, metres above its ellipsoid;
 *  - left is the reference view (ASTER 3N), right the other (3B);
 *  - arrays are row-major, the fastest axis last;
 *  - numbers are read and written with the decimal point of LC_NUMERIC: a program that sets a locale
 *    leaves that at "C".
 *
 *  Threads: a context may be used by one thread at a time; several contexts may work at once.  Of the process are
 *  sdm_stop(), the OpenMP threads, and GDAL's block cache, whose limit belongs to the program.
 *
 *  SPDX-License-Identifier: Apache-2.0
 */
#ifndef STEREODEM_STEREODEM_H
#define STEREODEM_STEREODEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SDM_API __attribute__((visibility("default"))) /**< exported by a shared library */
#else
#define SDM_API
#endif

#define SDM_VERSION "0.1.0" /**< of this header */

/** @return the version of the library, such as "0.1.0". */
SDM_API const char *sdm_version(void);

/** Result of every call that can fail; 0 is success. */
typedef enum SdmStatus {
    SDM_OK = 0,
    SDM_ERR_USAGE,  /**< an option or argument is wrong; the program exits with 2 */
    SDM_ERR_INPUT,  /**< an input file is missing, damaged or of an unsupported kind; exit 1 like all below */
    SDM_ERR_DATA,   /**< inputs are readable but do not make a DEM (no overlap, too few matches ...) */
    SDM_ERR_IO,     /**< reading or writing failed (disk full, unwritable folder ...) */
    SDM_ERR_MEMORY, /**< an allocation failed */
    SDM_ERR_UNSUPPORTED, /**< this build or machine cannot do it (GDAL without HDF4, no geoid grid ...) */
    SDM_ERR_STOPPED,     /**< a signal or sdm_stop() asked to stop; finished work is kept */
    SDM_ERR_DEVICE,      /**< a graphics device failed or was lost; finished work is kept */
    SDM_ERR_BUDGET,      /**< the memory budget is too small for the input */
    SDM_STATUS_END       /**< one past the last; not a status */
} SdmStatus;

/** @return the exit code of the program for @p st: 0, 1 or 2. */
SDM_API int sdm_exit_code(SdmStatus st);

/** Heights of the DEM. */
typedef enum SdmVertical { SDM_ELLIPSOID, SDM_EGM96, SDM_EGM2008 } SdmVertical;

/** Most values that --co and --config hold each. */
#define SDM_MAX_KEY_VALUES 32

/** Options of the commands.  Fill with sdm_options_default(), change fields, pass by const pointer.  Strings are
 *  borrowed.  Ranges, units and help stand in the table of src/core/options.c; `stereodem run --help` prints them. */
typedef struct SdmOptions {
    size_t size;              /**< sizeof(SdmOptions) as the program was compiled, set by sdm_options_default() */
    const char *output;       /**< -o: the DEM to write */
    double tr;                /**< DEM spacing in units of the output CRS; 0 = 2 x ground sample distance */
    const char *t_srs;        /**< output CRS, anything GDAL understands; NULL = UTM zone of the scene */
    int vertical;             /**< SdmVertical */
    const char *cost;         /**< "auto" (by the pixels' size), "zncc", "census", "sad" */
    const char *optimizer;    /**< "local", "sgm", "bp" */
    int p1, p2; /**< sgm: penalties of steps by one label and by more, steps of the cost; 0 = by the cost */
    const char *paths;        /**< sgm: "4" or "8" */
    int bp_weight; /**< bp: penalty of a step by one label, in steps of the cost; 0 = by the cost */
    int bp_truncation;        /**< bp: labels from which on steps cost the same; 0 = by the cost */
    int bp_outer, bp_inner;   /**< bp: visits of all tiles there and back; iterations of each visit */
    int bp_tile;              /**< bp: side of a tile, px */
    const char *device;       /**< "auto", "cpu", "opencl", "cuda", "cuda:1": see `stereodem devices` */
    const char *cpu_level;    /**< "auto", or a copy of the kernels: "reference", "c", "sse4.2", "avx2" ... */
    int threads;              /**< 0 = one per processor */
    int64_t memory_bytes;     /**< budget of the process, bytes */
    int tile;                 /**< edge of a tile of the DEM, cells; 0 = chosen from the budget */
    double hmin_m, hmax_m;    /**< height range above the ellipsoid, metres; NaN = found without */
    const char *dem;          /**< prior DEM that starts the surface; NULL = none */
    const char *dem_vertical; /**< "auto", "ellipsoid", "egm96", "egm2008": datum of @ref dem */
    const char *co[SDM_MAX_KEY_VALUES + 1];     /**< GDAL creation options NAME=VALUE, NULL-terminated */
    const char *config[SDM_MAX_KEY_VALUES + 1]; /**< GDAL configuration options NAME=VALUE, NULL-terminated */
    int band;                 /**< band of both images, from 1; 0 = the only one */
    const char *mask_left, *mask_right; /**< rasters, 0 = do not use the pixel; NULL = none */
    double base_height;       /**< B/H of a georeferenced parallel pair; NaN = not such a pair */
    bool overwrite, quiet, verbose;
    const char *log;          /**< "text" or "json" */
    bool keep_job;            /**< keep the job folder after success */
} SdmOptions;

/** Set every field of a struct of `size` bytes to its default.  Programs call sdm_options_default(). */
SDM_API void sdm_options_init(SdmOptions *opt, size_t size);

/** Set every field to its default. */
static inline void sdm_options_default(SdmOptions *opt)
{
    sdm_options_init(opt, sizeof *opt);
}

/** One run: options, error text, log, memory account.  For one thread at a time. */
typedef struct SdmContext SdmContext;

/** Open a context.
 *  @param opt  copied; the strings in it are borrowed for the life of the context.  NULL = defaults
 *  @param[out] out  set unless SDM_ERR_MEMORY, so that sdm_error() can say why; close with sdm_close()
 *  @return SDM_OK, SDM_ERR_USAGE (an option out of its range), SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_open(SdmContext **out, const SdmOptions *opt);

/** Importance of a log line. */
typedef enum SdmLogLevel { SDM_LOG_ERROR, SDM_LOG_WARNING, SDM_LOG_INFO, SDM_LOG_VERBOSE } SdmLogLevel;

/** Gets a log line without newline.  @param stage  1..9 as in docs/chain.md, 0 = none */
typedef void sdm_log_fn(void *user, SdmLogLevel level, int stage, const char *text);

/** Gets the progress of the whole run.  @param done  0..1  @param what  a phrase such as "match block 3 of 12" */
typedef void sdm_progress_fn(void *user, int stage, double done, const char *what);

/** Send log lines and progress of @p ctx to functions of the program; NULL = drop them.  The library prints nothing. */
SDM_API void sdm_set_sinks(SdmContext *ctx, sdm_log_fn *log, sdm_progress_fn *progress, void *user);

/** Free the context and set *ctx to NULL.  Accepts NULL and pointer to NULL. */
SDM_API void sdm_close(SdmContext **ctx);

/** @return one sentence on the last failure in @p ctx ("" if none), owned by @p ctx. */
SDM_API const char *sdm_error(const SdmContext *ctx);

/** Ask the work of @p ctx to stop soon with SDM_ERR_STOPPED; finished blocks are kept.  Any thread may call it.  The
 *  context stays cancelled: close it and open another. */
SDM_API void sdm_cancel(SdmContext *ctx);

/** Ask the work of every context that is open in the process to stop soon with SDM_ERR_STOPPED.  Contexts that are
 *  opened later are not concerned.  Async-signal-safe. */
SDM_API void sdm_stop(void);

/** Make the DEM opt->output and its companions (_qa.tif, _ortho.tif, .json, .html, .png) from a scene.
 *  @param left   an ASTER scene (HDF, folder, zip), or the left image of a pair
 *  @param right  the right image of a pair, NULL for an ASTER scene
 *  Finished blocks are kept in `<output>.job` until all is written, and taken up by the next call. */
SDM_API SdmStatus sdm_run(SdmContext *ctx, const char *left, const char *right);

/** What `stereodem plan` is given. */
typedef struct SdmPlanRequest {
    const char *job;          /**< folder to make */
    const char *left, *right; /**< as in sdm_run(), or NULL */
    const char *list;         /**< file with a scene or a pair a line, relative to it; or NULL */
} SdmPlanRequest;

typedef struct SdmPlanSummary {
    int scenes, failed, tiled; /**< scenes; those that cannot be opened; those cut into tiles */
    int64_t units;             /**< units of work, 0 .. units - 1 */
    double cpu_s;              /**< expected processor time of all units */
} SdmPlanSummary;

/** Write JOB/plan.json: inputs, parameters and units of one or many scenes.  Opens cameras, reads no pixel.
 *  A scene that cannot be opened is reported (log, plan.json) and skipped. */
SDM_API SdmStatus sdm_plan(SdmContext *ctx, const SdmPlanRequest *request, SdmPlanSummary *out);

/** Which units a task computes: unit[0 .. count - 1], or first .. first + count - 1 where unit is NULL. */
typedef struct SdmTileRequest {
    const char *job;
    const int64_t *unit;
    int64_t first, count;
    double wait_s; /**< longest wait for another task that prepares the scene, seconds */
} SdmTileRequest;

typedef struct SdmTileSummary {
    int64_t done;    /**< finished units */
    int64_t skipped; /**< of these, units that were finished before */
    int64_t failed;  /**< units that failed */
} SdmTileSummary;

/** Compute units of a job with the parameters of its plan.  A finished unit of this plan is skipped; after a unit that
 *  fails, the others are still computed. */
SDM_API SdmStatus sdm_tile(SdmContext *ctx, const SdmTileRequest *request, SdmTileSummary *out);

typedef struct SdmMergeRequest {
    const char *job;
    const char *folder; /**< where the DEMs go; NULL = JOB/dem */
    int scene;          /**< number of the only scene to merge; -1 = all */
} SdmMergeRequest;

typedef struct SdmMergeSummary {
    int scenes, merged, already, incomplete, failed; /**< already: of merged; incomplete: units are missing */
    int64_t missing;                                 /**< units */
} SdmMergeSummary;

/** Build the products of every scene whose units are finished: FOLDER/NAME.tif and its companions.
 *  @return SDM_OK when every scene has its products; else the sentence names the missing units and how to compute
 *  them. */
SDM_API SdmStatus sdm_merge(SdmContext *ctx, const SdmMergeRequest *request, SdmMergeSummary *out);

/** Progress of a scene of a job. */
typedef struct SdmSceneProgress {
    int number;
    char name[320];
    /** "merged", "merging", "ready to merge", "merge failed", "running", "failed", "begun", "not begun",
     *  "not planned" */
    const char *state;
    int64_t first_unit, units, done, running, failed, missing; /**< units */
    int64_t error_unit;  /**< the last unit that failed, -1 if none */
    char error[1024];    /**< its sentence, or the scene's */
} SdmSceneProgress;

/** Progress of a job.  Open, ask for the scenes in order, then for the time left, close. */
typedef struct SdmJobProgress SdmJobProgress;
SDM_API SdmStatus sdm_job_progress_open(SdmContext *ctx, const char *job, SdmJobProgress **out);
SDM_API int sdm_job_progress_scenes(const SdmJobProgress *progress);
SDM_API SdmStatus sdm_job_progress_scene(SdmContext *ctx, SdmJobProgress *progress, int scene, SdmSceneProgress *out);
/** Expected wall time until the running tasks finish the job, seconds; NaN when no task runs. */
SDM_API double sdm_job_progress_left_s(const SdmJobProgress *progress);
/** Expected time that a single task would need for the rest, seconds. */
SDM_API double sdm_job_progress_work_s(const SdmJobProgress *progress);
SDM_API void sdm_job_progress_close(SdmJobProgress **progress);

/** One view of a scene, for people. */
typedef struct SdmViewInfo {
    char name[512];        /**< file or subdataset */
    char camera[32];       /**< "aster", "rpc", "parallel" */
    char mask[600];        /**< pixels that are not used: "none", "nodata 0", "--mask-left FILE" */
    double unusable;       /**< share of pixels that are masked, nodata or NaN, 0..1; from samples of all */
    double saturated;      /**< share of pixels where the sensor was saturated, the same way */
    int64_t width, height; /**< pixels */
} SdmViewInfo;

/** Description of a scene before any matching.  Unknown numbers are NaN, unknown integers 0. */
typedef struct SdmSceneInfo {
    char sensor[16];                    /**< "aster", "rpc", "parallel" */
    char kind[64];                      /**< "ASTER L1A V004 (HDF)" */
    char id[256];                       /**< granule or file base name */
    char time_utc[32];                  /**< acquisition of the left view, ISO 8601; "" if unknown */
    SdmViewInfo view[2];                /**< left, right */
    double convergence_deg;             /**< angle between the rays at the scene centre */
    double base_height;                 /**< B/H, no unit */
    double gsd_m;                       /**< ground sample distance of the left image */
    double centre_lon_deg, centre_lat_deg;
    double overlap;                     /**< share of the left footprint that the right view sees, 0..1 */
    double footprint_m2;                /**< area seen by both */
    double hmin_m, hmax_m;              /**< height range to be searched, above the ellipsoid */
    char crs[128];                      /**< output CRS, such as "EPSG:32610" */
    double spacing;                     /**< of the DEM, units of its CRS */
    int64_t cols, rows;                 /**< cells of the DEM */
    int64_t tiles;                      /**< blocks that it is made in */
    int64_t memory_bytes;               /**< expected peak of the process (resident) */
    double seconds;                     /**< expected wall time of `stereodem run` on this machine */
} SdmSceneInfo;

/** Describe a scene: opens it, checks both cameras and their overlap, matches nothing.
 *  @param left, right  as in sdm_run()
 *  @param[out] out     filled on SDM_OK */
SDM_API SdmStatus sdm_describe(SdmContext *ctx, const char *left, const char *right, SdmSceneInfo *out);

/** Statistics of the errors of a DEM, DEM minus reference, metres. */
typedef struct SdmErrorStats {
    int64_t count;
    double bias_m;  /**< median */
    double mean_m;
    double nmad_m;  /**< 1.4826 x median absolute deviation from the median */
    double rmse_m;
    double le90_m;  /**< 90 % quantile of |error| */
    double p99_m;   /**< 99 % quantile of |error| */
    double over30;  /**< share of |error| > 30 m, 0..1 */
} SdmErrorStats;

#ifdef __cplusplus
}
#endif
#endif
