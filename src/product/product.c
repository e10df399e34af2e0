/* Stage 9: blocks of a DEM in any order -> its files, under temporary names, renamed when all are complete.
 */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"
#include "core/path.h"
#include "core/system.h"
#include "core/vector_loops.h"
#include "geo/geodesy.h"
#include "geo/geoid.h"
#include "geo/gdal_scope.h"
#include "geo/vertical_datum.h"
#include "product/dem_report.h"
#include "product/output_files.h"
#include "product/picture.h"
#include "product/raster.h"

#include <cpl_string.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- before any work ---- */

/* The names are too large for the stack of a thread.  kept: the product stays in memory. */
static SdmStatus name_files(SdmContext *ctx, const char *output, const char *points, bool kept,
                            SdmOutputFiles **out)
{
    PASS(sdm_alloc(ctx, out, 1, sizeof **out, "names"));
    for (int i = 0; kept && i < SDM_FILES; i++) {
        (*out)->made[i] = true;
        snprintf((*out)->path[i], SDM_PATH_SIZE, "the DEM in memory"); /* for messages */
    }
    if (kept)
        return SDM_OK;
    PASS(sdm_output_files_name(ctx, output, *out));
    (*out)->made[SDM_FILE_LAS] = strcmp(points, "las") == 0;
    (*out)->made[SDM_FILE_LAZ] = strcmp(points, "laz") == 0;
    return SDM_OK;
}

SdmStatus sdm_product_check(SdmContext *ctx, const SdmOptions *opt, const char *const *inputs,
                            int input_count)
{
    SDM_OWNED SdmOutputFiles *files = NULL;
    const char *const more[] = {opt->dem,       opt->mask_left,      opt->mask_right,
                                opt->reference, opt->reference_mask, opt->exclude,
                                opt->area};
    PASS(name_files(ctx, opt->output, opt->points, false, &files));
    for (int i = 0; i < input_count; i++)
        PASS(sdm_output_files_check_input(ctx, files, inputs[i]));
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        PASS(sdm_output_files_check_input(ctx, files, more[i]));
    PASS(sdm_output_files_check(ctx, files, opt->overwrite, !inputs));
    PASS(sdm_grid_check_srs(ctx, opt->t_srs));
    PASS(sdm_cog_check(ctx, opt->co));
    return sdm_point_cloud_check(ctx, opt->points);
}

bool sdm_product_finished(SdmContext *ctx, const char *output, uint64_t job)
{
    SDM_OWNED SdmOutputFiles *files = NULL;
    return name_files(ctx, output, "none", false, &files) == SDM_OK && sdm_output_files_finished(files, job);
}

void sdm_product_tidy(SdmContext *ctx, const char *output, uint64_t job)
{
    SDM_OWNED SdmOutputFiles *files = NULL;
    if (name_files(ctx, output, "none", false, &files) == SDM_OK)
        sdm_output_files_forget(files, job);
}

/* ---- open ---- */

double sdm_qa_step_m(const SdmGrid *grid)
{
    return pow(10.0, floor(log10(sdm_grid_spacing_m(grid) / 100.0)));
}

static char **metadata_of(const SdmProductRequest *r)
{
    const struct {
        const char *key, *value;
    } item[] = {
        {"AREA_OR_POINT", "Area"},
        {"STEREODEM_VERSION", SDM_VERSION},
        {"SCENE_ID", r->id},
        {"ACQUISITION_TIME_UTC", r->time_utc},
        {"SCENE_KIND", r->kind},
        {"VERTICAL_DATUM", r->datum_unknown ? NULL : sdm_vertical_datum(r->options->vertical)->name},
    };
    char **list = NULL;
    for (size_t i = 0; i < sizeof item / sizeof *item; i++)
        if (item[i].value && *item[i].value)
            list = CSLSetNameValue(list, item[i].key, item[i].value);
    return list;
}

/* Names, units and scales of the bands of a raster, and the names of the mask's bits. */
static void describe_bands(const SdmProduct *p, int file)
{
    GDALDatasetH raster = p->raster[file].dataset;
    for (int k = 0; k < sdm_product_bands(p, file); k++) {
        const SdmProductBand b = sdm_product_band(p, file, k);
        GDALRasterBandH band = GDALGetRasterBand(raster, k + 1);
        GDALSetDescription(band, b.name);
        if (*b.unit)
            GDALSetRasterUnitType(band, b.unit);
        if (b.scale > 0.0 && b.scale != 1.0) {
            GDALSetRasterScale(band, b.scale);
            GDALSetRasterOffset(band, 0.0);
        }
        if (file != SDM_FILE_ORTHO && file != SDM_FILE_QA)
            GDALSetRasterNoDataValue(band, (double)SDM_NODATA);
    }
    if (file != SDM_FILE_QA)
        return;
    GDALSetRasterNoDataValue(GDALGetRasterBand(raster, 1), SDM_QA_NODATA);
    for (int b = 0; b < SDM_QA_BITS; b++)
        if (p->request.qa->bits >> b & 1U)
            GDALSetMetadataItem(raster, CPLSPrintf("MASK_BIT_%d", b), sdm_qa_names[b], NULL);
}

SdmStatus sdm_product_open(SdmContext *ctx, const SdmProductRequest *request, SdmProduct **out)
{
    static const int rasters[] = {SDM_FILE_DEM, SDM_FILE_QA, SDM_FILE_ORTHO, SDM_FILE_CHANGE, SDM_FILE_TREND};
    static const int for_people[] = {SDM_FILE_PNG,   SDM_FILE_HTML,     SDM_FILE_STAC,
                                     SDM_FILE_STYLE, SDM_FILE_QA_STYLE, SDM_FILE_REASON};
    SDM_STAGE(ctx, 9);
    SDM_CLOSED_BY(sdm_product_close) SdmProduct *p = NULL;
    *out = NULL;
    sdm_gdal_register();
    if (!request->keep)
        PASS(sdm_product_check(ctx, request->options, NULL, 0));
    else if (strcmp(request->options->points, "none") != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--points: needs a DEM that is a file, found one in memory");
    PASS(sdm_alloc(ctx, &p, 1, sizeof *p, "product"));
    p->request = *request;
    p->grid = *request->grid;
    p->request.grid = &p->grid;
    p->request.id = p->request.kind = p->request.time_utc = NULL;
    p->metres_step = sdm_qa_step_m(&p->grid);
    for (unsigned mask = 0; mask < 1U << SDM_QA_BITS; mask++)
        p->reason[mask] = (uint8_t)sdm_qa_reason(mask);
    p->metadata = metadata_of(request);
    PASS(name_files(ctx, request->options->output, request->options->points, request->keep != NULL,
                    &p->files));
    for (size_t i = 0; i < sizeof for_people / sizeof *for_people && request->options->rasters_alone; i++)
        p->files->made[for_people[i]] = false;
    p->files->made[SDM_FILE_ORTHO] = request->ortho;
    p->files->made[SDM_FILE_CHANGE] = p->files->made[SDM_FILE_CHANGE_STYLE] = request->reference != NULL;
    p->files->made[SDM_FILE_TREND] = p->files->made[SDM_FILE_TREND_STYLE] = request->trend != NULL;
    if (!request->keep) {
        sdm_output_files_recover(p->files);
        sdm_output_files_sweep(p->files);
    }
    PASS(sdm_dem_stats_open(ctx, &p->grid, &p->stats));
    PASS(sdm_undulation_open(ctx, &p->grid, request->options->vertical, &p->undulation));
    p->geoid = p->undulation.geoid ? sdm_geoid_source(p->undulation.geoid) : "";
    if (p->undulation.geoid)
        sdm_log(ctx, SDM_LOG_INFO, 8, "heights above %s, whose undulation is of %s",
                sdm_vertical_datum(request->options->vertical)->phrase, p->geoid);
    if (request->reference)
        PASS(sdm_change_open(ctx, &p->request, &p->change));
    for (int i = 0; i < 5; i++)
        if (p->files->made[rasters[i]]) {
            const int file = rasters[i];
            PASS(sdm_raster_create(ctx, p, file, file == SDM_FILE_QA ? GDT_UInt16 : GDT_Float32,
                                   p->files->raw[file], &p->raster[file]));
            describe_bands(p, file);
        }
    *out = p;
    p = NULL;
    return SDM_OK;
}

/* ---- write a block ---- */

enum { STRIP_ROWS = 256, CHANGE_STEPS = 8 /* of the heights: in a difference finer ones are noise */ };

typedef struct Strip { /* rows of a block, of its width, as they are stored */
    float *height_m, *ortho, *undulation_m;
    float *change; /* SDM_CHANGE_BANDS planes */
    uint16_t *qa;  /* planes, the bands of the QA raster */
    int64_t plane; /* cells from band to band */
} Strip;

/* Value in steps of 1 / inverse, as a band holds it.  (The C library's fminf, fmaxf and nearbyintf are
 * calls.) */
static inline uint16_t to_steps(float value, float inverse)
{
    const float steps = value * inverse, above = steps > 0.0F ? steps : 0.0F;
    const uint16_t n = (uint16_t)((above < 65534.0F ? above : 65534.0F) + 0.5F);
    return isnan(value) ? SDM_QA_NODATA : n;
}

/* Round to the nearest whole number, halves to the even one: at 2^23 a float has no digits left for
 * fractions. */
static inline float round_even(float x)
{
    const float whole = 0x1p23F, size = fabsf(x), rounded = (size + whole) - whole;
    return copysignf(size < whole ? rounded : size, x);
}

static void convert_heights(const SdmProduct *p, const SdmBlock *b, int64_t row, int64_t r, const Strip *s)
{
    const float step = (float)p->stats.step_m, inverse = 1.0F / step; /* powers of two: exact */
    const float *const in = b->height_m + row * b->w;
    const float *const n = p->undulation.geoid ? s->undulation_m + r * b->w : NULL;
    float *const out = s->height_m + r * b->w;
    for (int64_t c = 0; c < b->w; c++) {
        const float h = n ? in[c] - n[c] : in[c];
        out[c] = isnan(h) ? SDM_NODATA : round_even(h * inverse) * step;
    }
}

/* value in steps; nodata where there is no height. */
SDM_VECTOR_LOOPS static void convert_values(const float *restrict value, const float *restrict height_m,
                                            int n, float inverse, uint16_t *restrict out)
{
    for (int c = 0; c < n; c++)
        out[c] = height_m[c] == SDM_NODATA ? SDM_QA_NODATA : to_steps(value[c], inverse);
}

/* A QA band of n cells of a row, from cell `first` of the block on.  height_m: theirs, as written. */
static void convert_band(const SdmProduct *p, SdmQaBandKind kind, const SdmBlock *b, int64_t first, int n,
                         const float *height_m, uint16_t *out)
{
    switch (kind) {
    case SDM_BAND_MASK:
        memcpy(out, b->mask + first, (size_t)n * sizeof *out);
        return;
    case SDM_BAND_PAIRS:
        memcpy(out, b->pairs + first, (size_t)n * sizeof *out);
        return;
    case SDM_BAND_REASON:
        for (int c = 0; c < n; c++)
            out[c] = p->reason[b->mask[first + c] % (1U << SDM_QA_BITS)];
        return;
    case SDM_BAND_COUNT:
        for (int c = 0; c < n; c++)
            out[c] = b->count[first + c] == SDM_QA_NODATA ? SDM_QA_NODATA - 1 : b->count[first + c];
        return;
    case SDM_BAND_SCORE:
        convert_values(b->score + first, height_m, n, (float)(1.0 / SDM_SCORE_STEP), out);
        return;
    case SDM_BAND_ERROR:
        convert_values(
            (b->error_m ? b->error_m : b->score) + first, height_m, n,
            b->error_m ? (float)(1.0 / sdm_qa_scale(kind, p->metres_step)) : (float)SDM_ERROR_SCORES, out);
        return;
    case SDM_BAND_RAY_ERROR:
    case SDM_BAND_SPREAD:
        convert_values((kind == SDM_BAND_SPREAD ? b->spread_m : b->ray_error_m) + first, height_m, n,
                       (float)(1.0 / p->metres_step), out);
    }
}

/* Row `row` of the block into row r of the strip. */
static void convert_row(const SdmProduct *p, const SdmBlock *b, int64_t row, int64_t r, const Strip *s)
{
    const int64_t first = row * b->w, at = r * b->w;
    convert_heights(p, b, row, r, s);
    for (int64_t c = 0; s->ortho && c < b->w; c++)
        s->ortho[at + c] = isnan(b->ortho[first + c]) ? SDM_NODATA : b->ortho[first + c];
    for (int k = 0; k < p->request.qa->bands; k++)
        convert_band(p, p->request.qa->band[k].kind, b, first, (int)b->w, s->height_m + at,
                     s->qa + k * s->plane + at);
}

/* Cells of a file at column, row, w, h; cells: the bands, `plane` cells apart. */
static SdmStatus write_cells(SdmContext *ctx, const SdmProduct *p, int file, const int64_t at[4],
                             int64_t plane, const void *cells)
{
    SDM_CLOSED_BY(sdm_gdal_errors_end) SdmGdalErrors errors = {0};
    GDALDatasetH const to = p->raster[file].dataset;
    const GDALDataType type = file == SDM_FILE_QA ? GDT_UInt16 : GDT_Float32;
    const GSpacing cell = GDALGetDataTypeSizeBytes(type);
    const int w = (int)at[2], h = (int)at[3];
    if (!to)
        return SDM_OK;
    sdm_gdal_errors_begin(&errors);
    const CPLErr e =
        GDALDatasetRasterIOEx(to, GF_Write, (int)at[0], (int)at[1], w, h, (void *)(uintptr_t)cells, w, h,
                              type, GDALGetRasterCount(to), NULL, cell, cell * w, cell * plane, NULL);
    return e == CE_None && !errors.failed ? SDM_OK : sdm_fail_write(ctx, p->files->path[file], errors.text);
}

static SdmStatus write_strip(SdmContext *ctx, SdmProduct *p, const SdmBlock *b, int64_t row, int64_t h,
                             const Strip *s)
{
    const SdmDemCells cells = {.col0 = b->col0,
                               .row0 = b->row0 + row,
                               .w = b->w,
                               .h = h,
                               .height_m = s->height_m,
                               .mask = b->mask + row * b->w,
                               .ortho = p->request.ortho ? b->ortho + row * b->w : NULL};
    if (p->undulation.geoid)
        PASS(sdm_undulation_window(ctx, &p->undulation, (const int64_t[]){b->col0, b->row0 + row, b->w, h},
                                   s->undulation_m));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int64_t r = 0; r < h; r++)
        convert_row(p, b, row + r, r, s);
    if (p->request.reference)
        PASS(sdm_change_rows(ctx, &p->change, (const int64_t[]){b->col0, b->row0 + row, b->w, h},
                             b->height_m + row * b->w, CHANGE_STEPS * p->stats.step_m, s->change,
                             s->change + s->plane));
    const int64_t at[4] = {b->col0, b->row0 + row, b->w, h};
    PASS(write_cells(ctx, p, SDM_FILE_DEM, at, s->plane, s->height_m));
    PASS(write_cells(ctx, p, SDM_FILE_ORTHO, at, s->plane, s->ortho));
    PASS(write_cells(ctx, p, SDM_FILE_CHANGE, at, s->plane, s->change));
    PASS(write_cells(ctx, p, SDM_FILE_QA, at, s->plane, s->qa));
    sdm_dem_stats_add(&p->stats, &cells);
    return SDM_OK;
}

SdmStatus sdm_product_write(SdmContext *ctx, SdmProduct *p, const SdmBlock *b)
{
    SDM_STAGE(ctx, 9);
    SDM_OWNED float *height_m = NULL, *ortho = NULL, *undulation_m = NULL, *change = NULL;
    SDM_OWNED uint16_t *qa = NULL;
    if (b->w <= 0 || b->h <= 0 || b->col0 < 0 || b->row0 < 0 || b->w > p->grid.cols - b->col0 ||
        b->h > p->grid.rows - b->row0)
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "block of %lld x %lld cells at (%lld, %lld) lies outside the DEM of %lld x %lld",
                        (long long)b->w, (long long)b->h, (long long)b->col0, (long long)b->row0,
                        (long long)p->grid.cols, (long long)p->grid.rows);
    const size_t rows = (size_t)(b->h < STRIP_ROWS ? b->h : STRIP_ROWS), n = rows * (size_t)b->w;
    PASS(sdm_alloc_raw(ctx, &height_m, n, sizeof *height_m, "rows to write"));
    PASS(sdm_alloc_raw(ctx, &qa, n, (size_t)p->request.qa->bands * sizeof *qa, "rows to write"));
    if (p->request.ortho)
        PASS(sdm_alloc_raw(ctx, &ortho, n, sizeof *ortho, "rows to write"));
    if (p->request.reference)
        PASS(sdm_alloc_raw(ctx, &change, n, SDM_CHANGE_BANDS * sizeof *change, "rows to write"));
    if (p->undulation.geoid)
        PASS(sdm_alloc_raw(ctx, &undulation_m, n, sizeof *undulation_m, "rows to write"));
    const Strip s = {height_m, ortho, undulation_m, change, qa, (int64_t)n};
    for (int64_t row = 0; row < b->h; row += STRIP_ROWS)
        PASS(write_strip(ctx, p, b, row, b->h - row < STRIP_ROWS ? b->h - row : STRIP_ROWS, &s));
    return SDM_OK;
}

SdmStatus sdm_product_write_trend(SdmContext *ctx, SdmProduct *p, const SdmBlock *b, const float *plane)
{
    return write_cells(ctx, p, SDM_FILE_TREND, (const int64_t[]){b->col0, b->row0, b->w, b->h}, b->w * b->h,
                       plane);
}

/* ---- complete and publish ---- */

static SdmStatus compress(SdmContext *ctx, SdmProduct *p, int file)
{
    SdmRaster *const raw = &p->raster[file];
    const SdmOptions *const opt = p->request.options;
    SdmCogRequest request = {.path = p->files->part[file], .memory_bytes = opt->memory_bytes};
    if (!p->files->made[file] || p->request.keep)
        return SDM_OK;
    if (file == SDM_FILE_DEM || opt->rasters_alone)
        request.co = opt->co;
    request.first_cell = file == SDM_FILE_QA;
    request.tell_from = file == SDM_FILE_QA ? 0.3 : 0.0;
    request.step = file == SDM_FILE_DEM      ? p->stats.step_m
                   : file == SDM_FILE_CHANGE ? CHANGE_STEPS * p->stats.step_m
                   : file == SDM_FILE_TREND  ? 1.0 / 1024.0
                   : GDALGetRasterDataType(GDALGetRasterBand(raw->dataset, 1)) == GDT_Float32 ? 0.0
                                                                                              : 1.0;
    PASS(sdm_cog_write(ctx, raw, &request));
    return sdm_raster_close(ctx, raw, p->files->raw[file]);
}

static SdmStatus draw_pictures(SdmContext *ctx, SdmProduct *p)
{
    if (!p->files->made[SDM_FILE_PNG])
        return SDM_OK;
    PASS(sdm_picture_relief(ctx, &p->stats, sdm_grid_spacing_m(&p->grid), &p->relief, &p->page_relief));
    PASS(sdm_picture_coverage(ctx, &p->stats, &p->coverage));
    if (p->request.reference)
        PASS(sdm_mean_map_draw(ctx, &p->change.map, -SDM_CHANGE_MAP_M / SDM_CHANGE_STEP_M,
                               SDM_CHANGE_MAP_M / SDM_CHANGE_STEP_M, sdm_change_ramp, &p->change_map));
    for (int k = 0; k < SDM_BAND_MAPS; k++)
        if (p->band[k].high > 0.0)
            PASS(sdm_mean_map_draw(ctx, &p->band[k].map, 0.0, p->band[k].high, sdm_error_ramp,
                                   &p->band[k].png));
    return SDM_OK;
}

static void set_statistics(const SdmProduct *p)
{
    static const char *const key[] = {"STATISTICS_MINIMUM", "STATISTICS_MAXIMUM", "STATISTICS_MEAN",
                                      "STATISTICS_STDDEV", "STATISTICS_VALID_PERCENT"};
    const SdmDemStats *const s = &p->stats;
    const double value[] = {(double)s->low * s->step_m, (double)s->high * s->step_m, sdm_dem_stats_mean_m(s),
                            sdm_dem_stats_std_m(s), 100.0 * (double)s->valid / (double)s->cells};
    char text[40];
    for (int i = 0; i < 5 && s->valid; i++) {
        snprintf(text, sizeof text, "%.*g", i < 4 ? 12 : 4, value[i]);
        GDALSetMetadataItem(GDALGetRasterBand(p->raster[SDM_FILE_DEM].dataset, 1), key[i], text, NULL);
    }
}

/* Maps of the bands that are errors, while one thread has the raster. */
static SdmStatus read_maps(SdmContext *ctx, SdmProduct *p)
{
    static const SdmQaBandKind kind[SDM_BAND_MAPS] = {
        [SDM_MAP_ERROR] = SDM_BAND_ERROR, [SDM_MAP_RAY_ERROR] = SDM_BAND_RAY_ERROR};
    for (int k = 0; k < SDM_BAND_MAPS; k++)
        if (sdm_product_qa_band(p, kind[k]))
            PASS(sdm_band_map_read(ctx, sdm_product_qa_band(p, kind[k]), SDM_QA_NODATA,
                                   p->files->path[SDM_FILE_QA], &p->band[k]));
    return SDM_OK;
}

SdmStatus sdm_product_complete(SdmContext *ctx, SdmProduct *p)
{
    enum { JOBS = 6, WRITE_CACHE = 16 << 20 /* of tiles that are not read again */ };
    /* -1: pictures, by one thread: first */
    static const int file[JOBS] = {
        -1, SDM_FILE_QA, SDM_FILE_DEM, SDM_FILE_ORTHO, SDM_FILE_CHANGE, SDM_FILE_TREND};
    SdmStatus st = SDM_OK, job_st[JOBS] = {SDM_OK};
    SDM_STAGE(ctx, 9);
    const int64_t cells = p->grid.cols * p->grid.rows;
    if (p->stats.cells != cells)
        return sdm_fail(ctx, SDM_ERR_DATA, "%s: %lld of %lld cells were written, expected every one once",
                        p->files->path[SDM_FILE_DEM], (long long)p->stats.cells, (long long)cells);
    const GIntBig cache = GDALGetCacheMax64();
    TRY(sdm_check_stop(ctx));
    sdm_progress(ctx, 9, 0.15, "writing");
    set_statistics(p);
    if (p->request.error.gsd_m > 0.0)
        TRY(sdm_height_error_write(ctx, p));
    TRY(read_maps(ctx, p));
    if (p->request.ortho && !p->request.keep)
        TRY(sdm_ortho_convert(ctx, p));
    TRY(sdm_point_cloud_write(ctx, p));
    sdm_cache_release(ctx); /* the memory below is GDAL's */
    GDALSetCacheMax64(cache < WRITE_CACHE ? cache : WRITE_CACHE);
    /* GDAL takes some 100 MB for each file: a small budget has them written one after the other */
    const int threads = p->request.options->memory_bytes < INT64_C(1) << 30 ? 1 : sdm_threads(ctx);
    /* the thread that fails first sets the error; the others still finish, as they share nothing */
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int job = 0; job < JOBS; job++) {
        const SdmLocale own = sdm_thread_begin(ctx);
        job_st[job] = file[job] < 0 ? draw_pictures(ctx, p) : compress(ctx, p, file[job]);
        sdm_thread_end(own);
    }
    for (int job = 0; job < JOBS; job++)
        TRY(job_st[job]);
done:
    GDALSetCacheMax64(cache);
    return st;
}

static SdmStatus write_file(SdmContext *ctx, const char *path, const void *data, size_t size)
{
    FILE *const f = fopen(path, "wb");
    const bool whole = f && fwrite(data, 1, size, f) == size;
    const int why = errno;
    if (f && fclose(f) == 0 && whole)
        return SDM_OK;
    return sdm_fail_write(ctx, path, strerror(whole ? errno : why));
}

/* The text of a companion: the reports, styles of QGIS, the reasons with their words, the entry for
 * catalogues. */
static SdmStatus write_text(SdmContext *ctx, const SdmProduct *p, int file, const SdmText *report)
{
    SDM_CLOSED_BY(sdm_text_close) SdmText own = {.ctx = ctx};
    const SdmText *const text = report ? report : &own;
    if (!p->files->made[file])
        return SDM_OK;
    if (file == SDM_FILE_STYLE)
        sdm_style_dem(&own, sdm_dem_stats_quantile_m(&p->stats, 0.01),
                      sdm_dem_stats_quantile_m(&p->stats, 0.99));
    else if (file == SDM_FILE_QA_STYLE)
        sdm_style_qa(&own, p->request.qa);
    else if (file == SDM_FILE_CHANGE_STYLE)
        sdm_style_change(&own, SDM_CHANGE_MAP_M, "m");
    else if (file == SDM_FILE_TREND_STYLE)
        sdm_style_change(&own, *p->request.trend, "m/year");
    else if (file == SDM_FILE_REASON)
        sdm_reason_raster(&own, &p->grid, p->request.qa, sdm_path_base(p->files->path[SDM_FILE_QA]));
    else if (file == SDM_FILE_STAC)
        sdm_stac_item(p, &own);
    PASS(text->st);
    return write_file(ctx, p->files->part[file], text->data, text->size);
}

static void keep(SdmProduct *p, SdmText *json, SdmText *html)
{
    SdmKeptProduct *const kept = p->request.keep;
    *kept = (SdmKeptProduct){
        .grid = p->grid, .qa = p->request.qa, .metres_step = p->metres_step, .json = *json, .html = *html};
    memcpy(kept->raster, p->raster, sizeof kept->raster);
    memset(p->raster, 0, sizeof p->raster);
    *json = *html = (SdmText){0};
}

void sdm_kept_product_free(SdmKeptProduct *kept)
{
    for (int i = 0; i < SDM_FILES; i++)
        (void)sdm_raster_close(NULL, &kept->raster[i], "");
    sdm_text_close(&kept->json);
    sdm_text_close(&kept->html);
}

SdmStatus sdm_product_publish(SdmContext *ctx, SdmProduct *p, SdmReport *report, SdmLease *lease)
{
    SDM_STAGE(ctx, 9);
    SDM_CLOSED_BY(sdm_text_close) SdmText json = {.ctx = ctx}, html = {.ctx = ctx};
    PASS(sdm_report_json(report, &json));
    if (p->files->made[SDM_FILE_HTML])
        PASS(sdm_report_html(report, &html));
    if (p->request.keep) {
        keep(p, &json, &html);
        return SDM_OK;
    }
    if (p->files->made[SDM_FILE_PNG])
        PASS(write_file(ctx, p->files->part[SDM_FILE_PNG], p->relief.data, p->relief.size));
    for (int i = 0; i < SDM_FILE_QA; i++)
        if (i != SDM_FILE_PNG)
            PASS(write_text(ctx, p, i, i == SDM_FILE_JSON ? &json : i == SDM_FILE_HTML ? &html : NULL));
    PASS(sdm_check_stop(ctx));
    return sdm_output_files_rename(ctx, p->files, p->request.job, lease);
}

double sdm_product_error_m(const SdmProduct *p)
{
    return p->band[SDM_MAP_ERROR].map.sum
               ? p->band[SDM_MAP_ERROR].median * sdm_qa_scale(SDM_BAND_ERROR, p->metres_step)
               : (double)NAN;
}

void sdm_product_close(SdmProduct **out)
{
    SdmProduct *const p = out ? *out : NULL;
    if (!p)
        return;
    for (int i = 0; i < SDM_FILES; i++)
        (void)sdm_raster_close(NULL, &p->raster[i], "");
    if (p->files && !p->request.keep)
        sdm_output_files_leave(p->files);
    sdm_change_close(&p->change);
    sdm_png_close(&p->relief);
    sdm_png_close(&p->page_relief);
    sdm_png_close(&p->coverage);
    sdm_png_close(&p->change_map);
    for (int k = 0; k < SDM_BAND_MAPS; k++)
        sdm_band_map_close(&p->band[k]);
    sdm_dem_stats_close(&p->stats);
    sdm_undulation_close(&p->undulation);
    CSLDestroy(p->metadata);
    sdm_free(&p->files);
    sdm_free(out);
}

/* ---- figures for the caller ---- */

void sdm_dem_result_take(const SdmProduct *p, SdmDemResult *out)
{
    const SdmGrid *const grid = p->request.grid;
    const SdmDemStats *const stats = &p->stats;
    out->known = true;
    out->cols = grid->cols;
    out->rows = grid->rows;
    out->spacing = grid->spacing;
    out->coverage = fmin((double)stats->valid / fmax((double)(stats->cells - stats->unseen), 1.0), 1.0);
}

void sdm_dem_result_free(SdmDemResult *result)
{
    SDM_FREE(&result->doubt, &result->file, &result->pair);
    *result = (SdmDemResult){.known = false};
}

SdmStatus sdm_check_doubts(SdmContext *ctx, const char *output, const SdmDoubt *doubt, int count)
{
    if (!sdm_options(ctx)->strict || count == 0)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_DATA, "--strict: %s is made, but doubtful (%d doubt%s): %s", output, count,
                    count == 1 ? "" : "s", doubt[0].text);
}
