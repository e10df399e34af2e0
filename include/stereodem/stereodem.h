/** @file stereodem.h
 *  Public interface of stereodem: a stereo pair of satellite images in, a georeferenced DEM out.
 *
 *  A context is one piece of work: a command ("run", "match" ...) with its options, which are set by name,
 *  functions of the program that get log lines and progress, and the result.
 *
 *      SdmContext *ctx = NULL;
 *      if (sdm_context_open(&ctx, "run") || sdm_set(ctx, "output", "dem.tif") ||
 *          sdm_set(ctx, "vertical", "egm96") || sdm_run(ctx, "left.tif", "right.tif"))
 *          fprintf(stderr, "%s\n", sdm_error(ctx));
 *      sdm_context_close(&ctx);
 *
 *  Conventions:
 *  - pixel coordinates (col, row) are real numbers with (0, 0) at the *centre* of the first pixel;
 *    geotransforms are GDAL's and count from the corner of the first pixel;
 *  - ground points are (longitude, latitude, height): WGS 84 geodetic degrees, metres above its ellipsoid;
 *  - left is the reference view (ASTER 3N), right the other (3B);
 *  - arrays are row-major, the fastest axis last; row_bytes is the distance from a row to the next, 0 where
 *    rows have no gaps between them;
 *  - numbers are read and written with a decimal point, whatever locale the program has set: while a call
 *    works, the locale of its thread is "C".
 *
 *  Threads:
 *  - one thread at a time uses a context; several threads work at once, each with a context of its own, and
 *    get the same bytes as one after the other;
 *  - sdm_cancel() and sdm_stop() may be called from any thread, sdm_stop() from a signal handler, too;
 *  - sdm_version(), sdm_abi_number() and sdm_exit_code() may be called at any time;
 *  - functions of the program (log, progress, cancel) are called by the thread that works with the context or
 *    by threads that it starts, never two at a time for one context, and never after the call has returned.
 *    They may call sdm_cancel() for their context and nothing else for it, and must not throw or jump out;
 *  - shared by the process are the OpenMP threads, and GDAL with its block cache, whose limit belongs to the
 *    program.  A process that is forked after a call works with one thread, since threads do not outlive a
 *    fork.
 *
 *  Stability: structs are opaque or follow a fixed standard, so that programs need not be built again when
 *  options, layers or results are added; ::SDM_ABI is the number in the name of the shared library and grows
 *  when they must.
 *
 *  SPDX-License-Identifier: Apache-2.0
 */
#ifndef STEREODEM_STEREODEM_H
#define STEREODEM_STEREODEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @def SDM_API
 *  Exported by the shared library. */
#if defined(__GNUC__)
#define SDM_API __attribute__((visibility("default")))
#else
#define SDM_API
#endif

#define SDM_VERSION "0.3.0" /**< of this header */
#define SDM_ABI 1           /**< binary interface of this header: libstereodem.so.1 */

/** @return the version of the library, such as "0.3.0". */
SDM_API const char *sdm_version(void);
/** @return ::SDM_ABI of the library. */
SDM_API int sdm_abi_number(void);

/** Result of every call that can fail; 0 is success. */
typedef enum SdmStatus {
    SDM_OK = 0,
    SDM_ERR_USAGE,  /**< an option or argument is wrong; the program exits with 2 */
    SDM_ERR_INPUT,  /**< an input file is missing, damaged or of an unsupported kind; exit 1 like all below */
    SDM_ERR_DATA,   /**< inputs are readable but do not make a DEM (no overlap, too few matches ...) */
    SDM_ERR_IO,     /**< reading or writing failed (disk full, unwritable folder ...) */
    SDM_ERR_MEMORY, /**< an allocation failed */
    SDM_ERR_UNSUPPORTED, /**< this build or machine cannot do it (a format GDAL lacks, no geoid grid ...) */
    SDM_ERR_STOPPED,     /**< the program asked to stop; finished work is kept */
    SDM_ERR_DEVICE,      /**< a graphics device failed or was lost; finished work is kept */
    SDM_ERR_BUDGET,      /**< the memory budget is too small for the input */
    SDM_STATUS_END       /**< one past the last; not a status */
} SdmStatus;

/** @return the exit code of the program for @p st: 0, 1 or 2. */
SDM_API int sdm_exit_code(SdmStatus st);

/* ---- a context and its options ---- */

/** One piece of work; for one thread at a time. */
typedef struct SdmContext SdmContext;

/** Open a context for a command, with all options at their defaults.
 *  @param command  "run", "info", "compare", "stack" or "match"; borrowed for the call
 *  @param[out] out  set unless SDM_ERR_MEMORY, so that sdm_error() can say why; the caller's, for
 *      sdm_context_close()
 *  @return SDM_OK, SDM_ERR_USAGE (no such command), SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_context_open(SdmContext **out, const char *command);

/** Free the context with all that it owns and set *ctx to NULL.  Accepts NULL and pointer to NULL. */
SDM_API void sdm_context_close(SdmContext **ctx);

/** @return one sentence on the last failure in @p ctx ("" if none), owned by @p ctx until its next
 *      failure. */
SDM_API const char *sdm_error(const SdmContext *ctx);

/** Set an option.
 *  @param name   as `stereodem COMMAND --help` lists it, without the dashes in front; "dem_vertical" and
 *                "dem-vertical" are the same
 *  @param value  as on the command line, with its units; "true" or "false" for switches; copied.  An option
 *                of the kind NAME=VALUE gets one more entry with each call.  NULL: back to the default
 *  @return SDM_OK, SDM_ERR_USAGE (no such option; a value out of its range), SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_set(SdmContext *ctx, const char *name, const char *value);

/** Describe the options of the context's command.
 *  @param[out] json  an array of objects with name, type ("switch", "integer", "number", "bytes", "text",
 *                    "choice", "pairs"), range, default and help; owned by @p ctx until it is closed
 *  @return SDM_OK, SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_options_json(SdmContext *ctx, const char **json);

/* ---- log, progress, cancel ---- */

/** Importance of a log line. */
typedef enum SdmLogLevel { SDM_LOG_ERROR, SDM_LOG_WARNING, SDM_LOG_INFO, SDM_LOG_VERBOSE } SdmLogLevel;

/** Gets a log line without newline.  @param user  of the program @param level  importance
 *  @param stage  1..9 as in docs/chain.md, 0 = none @param text  valid during the call */
typedef void sdm_log_fn(void *user, SdmLogLevel level, int stage, const char *text);

/** Gets the progress of the call.  @param user  of the program @param stage  as above
 *  @param done  share of the work, 0..1, never falling @param what  a phrase such as "block 3 of 12" */
typedef void sdm_progress_fn(void *user, int stage, double done, const char *what);

/** Called regularly; return nonzero to cancel.  @param user  of the program
 *  @return 0 to go on; anything else ends the call with SDM_ERR_STOPPED, as sdm_cancel() does */
typedef int sdm_cancel_fn(void *user);

/** Send log lines to a function of the program; NULL = drop them.  The library itself prints nothing. */
SDM_API void sdm_set_log(SdmContext *ctx, sdm_log_fn *log, void *user);
/** Send the progress to a function of the program; NULL = nowhere. */
SDM_API void sdm_set_progress(SdmContext *ctx, sdm_progress_fn *progress, void *user);
/** Let the library ask a function of the program whether to stop; NULL = do not ask. */
SDM_API void sdm_set_cancel(SdmContext *ctx, sdm_cancel_fn *cancel, void *user);

/** Ask the work of @p ctx to stop soon with SDM_ERR_STOPPED; finished blocks are kept.  Any thread may call
 *  it.  The context stays cancelled: close it and open another. */
SDM_API void sdm_cancel(SdmContext *ctx);

/** Ask the work of every context that is open in the process to stop soon with SDM_ERR_STOPPED.  Contexts
 *  that are opened later are not concerned.  Async-signal-safe. */
SDM_API void sdm_stop(void);

/* ---- work on files ----
 * Names of files are borrowed for the call.  Results are read with sdm_result_json() and
 * sdm_result_number(). */

/** "run": make the DEM that the option output names, and its companions (_qa.tif, _ortho.tif, .json, .html,
 *  .png).  Finished blocks are kept in `<output>.job` until all is written, and taken up by the next call.
 *  @param left   an ASTER scene (HDF, folder, zip), or the left image of a pair
 *  @param right  the right image of a pair, NULL for an ASTER scene
 *  @return SDM_OK; any other with a sentence in sdm_error() */
SDM_API SdmStatus sdm_run(SdmContext *ctx, const char *left, const char *right);

/** "run": make one DEM of three to 32 views, and its companions, as sdm_run() does of two: pairs are
 * chosen, matched and fused.  DEMs of finished pairs are kept in `<output>.views` until all is written, and
 * taken up by the next call.
 *  @param views  @p count names of images with RPC cameras, or of folders of products
 *  @return SDM_OK; any other with a sentence in sdm_error() */
SDM_API SdmStatus sdm_run_views(SdmContext *ctx, const char *const *views, int count);

/** "info": describe a scene: cameras, overlap, grid of the DEM, expected memory and time.  Matches nothing.
 *  @param left, right  as in sdm_run(); both NULL: the images in memory, see sdm_set_image() */
SDM_API SdmStatus sdm_info(SdmContext *ctx, const char *left, const char *right);

/** "compare": error statistics of a DEM against a reference, before and after co-registration. */
SDM_API SdmStatus sdm_compare(SdmContext *ctx, const char *dem, const char *reference);

/** "stack": combine DEMs of one place, and those of the option list, into the DEM that the option output
 *  names.
 *  @param dems  @p count names */
SDM_API SdmStatus sdm_stack(SdmContext *ctx, const char *const *dems, int count);

/** "match": disparities of a rectified pair, or of sequences of pairs, into the file that the option output
 *  names. */
SDM_API SdmStatus sdm_match(SdmContext *ctx, const char *left, const char *right);

/** @return the result of the last call as a JSON object, the fields of the program's last line with `--log
 *      json`; "{}"
 *  after a failure; owned by @p ctx until its next call. */
SDM_API const char *sdm_result_json(const SdmContext *ctx);

/** A number of the result.
 *  @param path  its place, such as "aligned.nmad" or "dems.0.apply_m.2"
 *  @param[out] value  NaN where the result says null
 *  @return SDM_OK, SDM_ERR_USAGE (no number there) */
SDM_API SdmStatus sdm_result_number(SdmContext *ctx, const char *path, double *value);

/* ---- images and cameras from memory ---- */

/** The two views. */
typedef enum SdmSide { SDM_LEFT, SDM_RIGHT } SdmSide;

/** Types of samples. */
typedef enum SdmSampleType {
    SDM_SAMPLE_UINT8,
    SDM_SAMPLE_UINT16,
    SDM_SAMPLE_INT16,
    SDM_SAMPLE_FLOAT32
} SdmSampleType;

/** Take an image from memory.  It is treated as a file of these samples: unsigned samples of 0 are no data
 *  unless sdm_set_image_nodata() says otherwise, NaN always is.
 *  @param samples  height x width, of @p type; borrowed and only read until another image takes its place or
 *                  the context is closed
 *  @return SDM_OK, SDM_ERR_USAGE */
SDM_API SdmStatus sdm_set_image(SdmContext *ctx, SdmSide side, SdmSampleType type, const void *samples,
                                int64_t width, int64_t height, int64_t row_bytes);
/** Samples of this value are no data.  To be called after sdm_set_image(), which forgets it. */
SDM_API SdmStatus sdm_set_image_nodata(SdmContext *ctx, SdmSide side, double nodata);
/** Pixels that shall not be used.  To be called after sdm_set_image(), which forgets it; not for
 *  sdm_match_images().
 *  @param mask  height x width, 0 = do not use the pixel; borrowed as the samples are */
SDM_API SdmStatus sdm_set_image_mask(SdmContext *ctx, SdmSide side, const uint8_t *mask, int64_t row_bytes);

/** RPC00B coefficients, in the order and with the units of the standard; offsets count pixels from the centre
 *  of the first one (GDAL's metadata convention).  The standard is fixed: nothing will be added. */
typedef struct SdmRpc {
    double line_off;     /**< pixels */
    double samp_off;     /**< pixels */
    double lat_off;      /**< degrees */
    double long_off;     /**< degrees */
    double height_off;   /**< metres */
    double line_scale;   /**< pixels */
    double samp_scale;   /**< pixels */
    double lat_scale;    /**< degrees */
    double long_scale;   /**< degrees */
    double height_scale; /**< metres */
    double line_num[20]; /**< numerator of the row */
    double line_den[20]; /**< denominator of the row */
    double samp_num[20]; /**< numerator of the column */
    double samp_den[20]; /**< denominator of the column */
} SdmRpc;

/** Give a view its camera.  @param rpc  copied */
SDM_API SdmStatus sdm_set_rpc(SdmContext *ctx, SdmSide side, const SdmRpc *rpc);

/** Shape of a raster in memory.  Nothing will be added. */
typedef struct SdmRasterShape {
    SdmSampleType type;     /**< of its samples */
    int64_t width;          /**< columns */
    int64_t height;         /**< rows */
    int64_t row_bytes;      /**< from a row to the next, 0: no gaps */
    double geotransform[6]; /**< GDAL's */
    const char *crs;        /**< anything that GDAL understands: WKT, "EPSG:32633"; NULL: an image */
    double nodata;          /**< samples of this value are no data; NaN: none */
} SdmRasterShape;

/** Give a raster in memory a name, which every function and option of this context takes as the name of a
 *  file: a DEM to compare, a reference, a mask, a prior DEM.
 *  @param shape    all of it
 *  @param samples  height x width, copied
 *  @param[out] name  owned by @p ctx; NULL after a failure
 *  @return SDM_OK, SDM_ERR_USAGE (shape or CRS), SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_add_raster(SdmContext *ctx, const SdmRasterShape *shape, const void *samples,
                                 const char **name);

/** Say what the heights of a raster in memory are above, where its CRS does not.
 *  @param name  of sdm_add_raster()
 *  @param datum  "ellipsoid", "egm96" or "egm2008"
 *  @return SDM_OK, SDM_ERR_USAGE (no such raster or datum), SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_set_raster_vertical(SdmContext *ctx, const char *name, const char *datum);

/** Say when the heights of a raster in memory are from, for the option trend of "stack".
 *  @param name  of sdm_add_raster()
 *  @param time_utc  such as "2003-05-06T10:11:12Z" or "2003-05-06"
 *  @return SDM_OK, SDM_ERR_USAGE (no such raster, no time), SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_set_raster_time(SdmContext *ctx, const char *name, const char *time_utc);

/** Give a raster in memory a camera, so that its name is that of a view.
 *  @param name  of sdm_add_raster(), whose CRS may be NULL then
 *  @param rpc  copied
 *  @return SDM_OK, SDM_ERR_USAGE (no such raster), SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_set_raster_rpc(SdmContext *ctx, const char *name, const SdmRpc *rpc);

/** Give a DEM in memory the bits of its QA mask, as ::SDM_LAYER_MASK has them: "stack" takes heights that are
 *  filled in only where no DEM has a measured one.
 *  @param name  of sdm_add_raster()
 *  @param mask  height x width of the raster, copied
 *  @return SDM_OK, SDM_ERR_USAGE (no such raster), SDM_ERR_MEMORY */
SDM_API SdmStatus sdm_set_raster_mask(SdmContext *ctx, const char *name, const uint16_t *mask,
                                      int64_t row_bytes);

/* ---- a DEM in memory ---- */

/** A DEM in memory; to be closed before its context. */
typedef struct SdmDem SdmDem;

/** Layers of a DEM, each rows x cols. */
typedef enum SdmDemLayer {
    SDM_LAYER_HEIGHT,     /**< float, metres above the datum of the option vertical; NaN = none */
    SDM_LAYER_SCORE,      /**< float, match score 0..1 */
    SDM_LAYER_RAY_ERROR,  /**< float, ray intersection error, metres */
    SDM_LAYER_SPREAD,     /**< float, spread of the heights in a cell, metres */
    SDM_LAYER_ORTHO,      /**< float, the left image on the grid of the DEM, its samples; NaN = none */
    SDM_LAYER_COUNT,      /**< uint16_t, points of a cell */
    SDM_LAYER_MASK,       /**< uint16_t, bits of the QA mask as docs/output.md lists them */
    SDM_LAYER_REASON,     /**< uint16_t, why a cell has no height, or how it got it: docs/output.md */
    SDM_LAYER_ERROR,      /**< float, predicted error of a height, metres; of pairs alone */
    SDM_LAYER_CHANGE,     /**< float, height minus reference, metres; with the option reference */
    SDM_LAYER_LEFT_OUT,   /**< float, 1 where the fit to the reference left the cell out, else 0 */
    SDM_LAYER_PAIRS,      /**< uint16_t, pairs whose heights agree in the cell; of three views or more */
    SDM_LAYER_RATE,       /**< float, metres a year; of a stack with the option trend, as the four below */
    SDM_LAYER_RATE_ERROR, /**< float, standard error of the rate, metres a year */
    SDM_LAYER_DATES,      /**< float, dates that count */
    SDM_LAYER_SPAN,       /**< float, years from the first of them to the last */
    SDM_LAYER_TREND_NMAD  /**< float, NMAD of the heights about the line, metres */
} SdmDemLayer;

/** "run": the DEM of a scene, in memory; writes no file.  The option output is not needed.  All layers hold
 *  the values that sdm_run() writes, NaN instead of nodata; the orthoimage is not rounded.
 *  @param left, right  as in sdm_run(); both NULL: the images and cameras in memory
 *  @param[out] out  the caller's, for sdm_dem_close(); NULL after a failure */
SDM_API SdmStatus sdm_make_dem(SdmContext *ctx, const char *left, const char *right, SdmDem **out);

/** "run": the DEM of three to 32 views, in memory.  The DEMs of pairs lie in a folder of the system's
 *  temporary files (TMPDIR) until the call ends.
 *  @param views  as in sdm_run_views(), or names of sdm_add_raster() with a camera of sdm_set_raster_rpc()
 *  @param[out] out  as in sdm_make_dem() */
SDM_API SdmStatus sdm_make_dem_views(SdmContext *ctx, const char *const *views, int count, SdmDem **out);

/** "stack": combine DEMs of one place, and those of the option list, in memory; writes no file.  The option
 *  output is not needed.  Heights are those that sdm_stack() writes.  The layers are ::SDM_LAYER_HEIGHT,
 *  ::SDM_LAYER_SPREAD (NMAD of the heights in a cell, metres), ::SDM_LAYER_COUNT (DEMs) and ::SDM_LAYER_MASK;
 *  with the option trend, ::SDM_LAYER_RATE and those after it.
 *  @param dems  @p count names, of files or of sdm_add_raster()
 *  @param[out] out  the caller's, for sdm_dem_close(); NULL after a failure */
SDM_API SdmStatus sdm_make_stack(SdmContext *ctx, const char *const *dems, int count, SdmDem **out);

/** @return columns of the DEM */
SDM_API int64_t sdm_dem_cols(const SdmDem *dem);
/** @return rows of the DEM */
SDM_API int64_t sdm_dem_rows(const SdmDem *dem);
/** @param[out] out  GDAL's geotransform: x of the corner, cell width, 0, y of the corner, 0, minus cell
 *      height */
SDM_API void sdm_dem_geotransform(const SdmDem *dem, double out[6]);
/** @return the horizontal CRS as WKT, axes in the order x, y; owned by @p dem */
SDM_API const char *sdm_dem_crs(const SdmDem *dem);
/** @return what the heights are above: "ellipsoid", "egm96" or "egm2008"; "" for a stack of DEMs that do not
 *      say */
SDM_API const char *sdm_dem_vertical(const SdmDem *dem);
/** @return 1 where the DEM has the layer, else 0 */
SDM_API int sdm_dem_has_layer(const SdmDem *dem, SdmDemLayer layer);
/** @return the report, as sdm_run() writes it to NAME.json; owned by @p dem */
SDM_API const char *sdm_dem_report_json(const SdmDem *dem);
/** @return the report as a page, as sdm_run() writes it to NAME.html; owned by @p dem */
SDM_API const char *sdm_dem_report_html(const SdmDem *dem);
/** Copy a layer.
 *  @param[out] cells  rows x cols of the layer's type, the caller's
 *  @return SDM_OK, SDM_ERR_USAGE (the DEM has no such layer) */
SDM_API SdmStatus sdm_dem_read(SdmContext *ctx, const SdmDem *dem, SdmDemLayer layer, void *cells,
                               int64_t row_bytes);
/** Free the DEM and set *dem to NULL.  Accepts NULL and pointer to NULL. */
SDM_API void sdm_dem_close(SdmDem **dem);

/** "match": disparities of the two images in memory, whose rows are epipolar lines; writes no file.  The
 *  option output is not needed.
 *  @param[out] disparity  the caller's: height x width of the images, both divided by the option downscale
 *                         and rounded down; pixels, x_right = x_left - d, NaN = no match */
SDM_API SdmStatus sdm_match_images(SdmContext *ctx, float *disparity, int64_t row_bytes);

#ifdef __cplusplus
}
#endif
#endif
