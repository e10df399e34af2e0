/* The binary interface of libstereodem.so.1, written down a second time: what differs from the header does not compile.
 * A new function is added here; a change of what is here needs another SDM_ABI. */
// SPDX-License-Identifier: Apache-2.0
#include <stereodem/stereodem.h>

/* ---- functions ---- */
int sdm_abi_number(void);
SdmStatus sdm_add_raster(SdmContext *ctx, const SdmRasterShape *shape, const void *samples,
                         const char **name);
void sdm_cancel(SdmContext *ctx);
SdmStatus sdm_compare(SdmContext *ctx, const char *dem, const char *reference);
void sdm_context_close(SdmContext **ctx);
SdmStatus sdm_context_open(SdmContext **out, const char *command);
void sdm_dem_close(SdmDem **dem);
int64_t sdm_dem_cols(const SdmDem *dem);
const char *sdm_dem_crs(const SdmDem *dem);
void sdm_dem_geotransform(const SdmDem *dem, double out[6]);
int sdm_dem_has_layer(const SdmDem *dem, SdmDemLayer layer);
SdmStatus sdm_dem_read(SdmContext *ctx, const SdmDem *dem, SdmDemLayer layer, void *cells, int64_t row_bytes);
const char *sdm_dem_report_html(const SdmDem *dem);
const char *sdm_dem_report_json(const SdmDem *dem);
int64_t sdm_dem_rows(const SdmDem *dem);
const char *sdm_dem_vertical(const SdmDem *dem);
const char *sdm_error(const SdmContext *ctx);
int sdm_exit_code(SdmStatus st);
SdmStatus sdm_info(SdmContext *ctx, const char *left, const char *right);
SdmStatus sdm_make_dem(SdmContext *ctx, const char *left, const char *right, SdmDem **out);
SdmStatus sdm_make_dem_views(SdmContext *ctx, const char *const *views, int count, SdmDem **out);
SdmStatus sdm_make_stack(SdmContext *ctx, const char *const *dems, int count, SdmDem **out);
SdmStatus sdm_match(SdmContext *ctx, const char *left, const char *right);
SdmStatus sdm_match_images(SdmContext *ctx, float *disparity, int64_t row_bytes);
SdmStatus sdm_options_json(SdmContext *ctx, const char **json);
const char *sdm_result_json(const SdmContext *ctx);
SdmStatus sdm_result_number(SdmContext *ctx, const char *path, double *value);
SdmStatus sdm_run(SdmContext *ctx, const char *left, const char *right);
SdmStatus sdm_run_views(SdmContext *ctx, const char *const *views, int count);
SdmStatus sdm_set(SdmContext *ctx, const char *name, const char *value);
void sdm_set_cancel(SdmContext *ctx, sdm_cancel_fn *cancel, void *user);
SdmStatus sdm_set_image(SdmContext *ctx, SdmSide side, SdmSampleType type, const void *samples, int64_t width,
                        int64_t height, int64_t row_bytes);
SdmStatus sdm_set_image_mask(SdmContext *ctx, SdmSide side, const uint8_t *mask, int64_t row_bytes);
SdmStatus sdm_set_image_nodata(SdmContext *ctx, SdmSide side, double nodata);
void sdm_set_log(SdmContext *ctx, sdm_log_fn *log, void *user);
void sdm_set_progress(SdmContext *ctx, sdm_progress_fn *progress, void *user);
SdmStatus sdm_set_raster_mask(SdmContext *ctx, const char *name, const uint16_t *mask, int64_t row_bytes);
SdmStatus sdm_set_raster_time(SdmContext *ctx, const char *name, const char *time_utc);
SdmStatus sdm_set_raster_vertical(SdmContext *ctx, const char *name, const char *datum);
SdmStatus sdm_set_raster_rpc(SdmContext *ctx, const char *name, const SdmRpc *rpc);
SdmStatus sdm_set_rpc(SdmContext *ctx, SdmSide side, const SdmRpc *rpc);
SdmStatus sdm_stack(SdmContext *ctx, const char *const *dems, int count);
void sdm_stop(void);
const char *sdm_version(void);

/* ---- callbacks ---- */
typedef void log_fn(void *, SdmLogLevel, int, const char *);
typedef void progress_fn(void *, int, double, const char *);
typedef int cancel_fn(void *);
static log_fn *const log_type = (sdm_log_fn *)0;
static progress_fn *const progress_type = (sdm_progress_fn *)0;
static cancel_fn *const cancel_type = (sdm_cancel_fn *)0;

/* ---- structs and numbers ---- */
#define IS(...) _Static_assert(__VA_ARGS__, #__VA_ARGS__)
IS(SDM_ABI == 1);
IS(SDM_OK == 0 && SDM_ERR_USAGE == 1 && SDM_ERR_INPUT == 2 && SDM_ERR_DATA == 3 && SDM_ERR_IO == 4);
IS(SDM_ERR_MEMORY == 5 && SDM_ERR_UNSUPPORTED == 6 && SDM_ERR_STOPPED == 7 && SDM_ERR_DEVICE == 8 &&
   SDM_ERR_BUDGET == 9);
IS(SDM_LOG_ERROR == 0 && SDM_LOG_WARNING == 1 && SDM_LOG_INFO == 2 && SDM_LOG_VERBOSE == 3);
IS(SDM_LEFT == 0 && SDM_RIGHT == 1);
IS(SDM_SAMPLE_UINT8 == 0 && SDM_SAMPLE_UINT16 == 1 && SDM_SAMPLE_INT16 == 2 && SDM_SAMPLE_FLOAT32 == 3);
IS(SDM_LAYER_HEIGHT == 0 && SDM_LAYER_SCORE == 1 && SDM_LAYER_RAY_ERROR == 2 && SDM_LAYER_SPREAD == 3);
IS(SDM_LAYER_ORTHO == 4 && SDM_LAYER_COUNT == 5 && SDM_LAYER_MASK == 6);
IS(SDM_LAYER_REASON == 7 && SDM_LAYER_ERROR == 8 && SDM_LAYER_CHANGE == 9 && SDM_LAYER_LEFT_OUT == 10 &&
   SDM_LAYER_PAIRS == 11);
IS(sizeof(SdmRpc) == 90 * sizeof(double));
#define HAS(type, field, kind, at)                                                                           \
    IS(_Generic(((type *)0)->field, kind : offsetof(type, field) == (at), default : 0))
HAS(SdmRpc, line_off, double, 0);
HAS(SdmRpc, samp_off, double, 8);
HAS(SdmRpc, lat_off, double, 16);
HAS(SdmRpc, long_off, double, 24);
HAS(SdmRpc, height_off, double, 32);
HAS(SdmRpc, line_scale, double, 40);
HAS(SdmRpc, samp_scale, double, 48);
HAS(SdmRpc, lat_scale, double, 56);
HAS(SdmRpc, long_scale, double, 64);
HAS(SdmRpc, height_scale, double, 72);
HAS(SdmRpc, line_num, double *, 80);
HAS(SdmRpc, line_den, double *, 240);
HAS(SdmRpc, samp_num, double *, 400);
HAS(SdmRpc, samp_den, double *, 560);
IS(sizeof(SdmRasterShape) == 88 + sizeof(char *));
HAS(SdmRasterShape, type, SdmSampleType, 0);
HAS(SdmRasterShape, width, int64_t, 8);
HAS(SdmRasterShape, height, int64_t, 16);
HAS(SdmRasterShape, row_bytes, int64_t, 24);
HAS(SdmRasterShape, geotransform, double *, 32);
HAS(SdmRasterShape, crs, const char *, 80);
HAS(SdmRasterShape, nodata, double, 80 + sizeof(char *));

int main(void)
{
    return log_type || progress_type || cancel_type || sdm_abi_number() != SDM_ABI;
}
