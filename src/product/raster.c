/* Grid, CRS and metadata of a DEM -> a raw raster to be filled, in memory or in a file. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"
#include "core/system.h"
#include "core/vector_loops.h"
#include "geo/gdal_scope.h"
#include "geo/vertical_datum.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* Horizontal CRS, compound with a vertical one where heights are above a geoid.  Heights above the ellipsoid:
 * EPSG:4326 becomes EPSG:4979; a map projection stays as it is, since GDAL cannot store one with ellipsoidal
 * heights in a GeoTIFF (docs/qgis.md). */
static SdmStatus set_crs(SdmContext *ctx, GDALDatasetH ds, const SdmGrid *grid, int vertical)
{
    char *wkt = (char *)(uintptr_t)grid->wkt;
    char name[512];
    SDM_CLOSED_BY(sdm_srs_free)
    OGRSpatialReferenceH flat = OSRNewSpatialReference(NULL), up = OSRNewSpatialReference(NULL),
                         both = OSRNewSpatialReference(NULL);
    OGRErr e = OSRImportFromWkt(flat, &wkt);
    const char *const code = e ? NULL : OSRGetAuthorityCode(flat, NULL);
    if (vertical == SDM_ELLIPSOID && code && strcmp(code, "4326") == 0 && OSRIsGeographic(flat))
        e = OSRImportFromEPSG(flat, 4979);
    if (vertical > SDM_ELLIPSOID) {
        const SdmVerticalDatum *const datum = sdm_vertical_datum(vertical);
        e = e ? e : OSRImportFromEPSG(up, datum->epsg);
        PASS(sdm_format(ctx, name, sizeof name, "%s + %s", e ? "" : OSRGetName(flat), datum->crs));
        e = e ? e : OSRSetCompoundCS(both, name, flat, up);
    }
    OGRSpatialReferenceH srs = vertical > SDM_ELLIPSOID ? both : flat;
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    if (e || GDALSetSpatialRef(ds, srs) != CE_None)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "the output CRS cannot be stored in a GeoTIFF; give another --t_srs than %.80s...",
                        grid->wkt);
    return SDM_OK;
}

/* Bytes that a cell takes in all raw rasters and their overviews; divisor of the budget that gives their
 * share. */
enum { CELL_BYTES = 32, MEMORY_SHARE = 8 };

/* A raster whose cells lie in memory of the program's account; GDAL's would be fresh from the system, and
 * slower to touch. */
static SdmStatus create_in_memory(SdmContext *ctx, const SdmGrid *grid, int bands, GDALDataType type,
                                  SdmRaster *out)
{
    const int bytes = GDALGetDataTypeSizeBytes(type);
    const size_t plane = (size_t)(grid->cols * grid->rows) * (size_t)bytes;
    PASS(sdm_alloc_raw(ctx, &out->cells, plane, (size_t)bands, "the raster to write"));
    const SdmSamples s = {out->cells, (int)grid->cols, (int)grid->rows,    bands,
                          type,       bytes,           bytes * grid->cols, (int64_t)plane};
    out->dataset = sdm_wrap_samples(&s);
    return SDM_OK;
}

SdmStatus sdm_raster_create(SdmContext *ctx, const SdmProduct *p, int file, GDALDataType type,
                            const char *path, SdmRaster *out)
{
    static const char *const options[] = {
        "INTERLEAVE=BAND",  "TILED=YES", "BLOCKXSIZE=128", "BLOCKYSIZE=128", "SPARSE_OK=TRUE",
        "BIGTIFF=IF_SAFER", NULL};
    SDM_CLOSED_BY(sdm_gdal_errors_end) SdmGdalErrors errors;
    const SdmGrid *const grid = &p->grid;
    const SdmOptions *const opt = p->request.options;
    const int64_t memory_bytes = p->request.keep ? INT64_MAX : opt->memory_bytes;
    const int bands = sdm_product_bands(p, file), vertical = file == SDM_FILE_DEM && !p->request.datum_unknown
                                                                 ? opt->vertical
                                                                 : SDM_VERTICAL_UNKNOWN;
    *out = (SdmRaster){0};
    sdm_gdal_errors_begin(&errors);
    if (grid->cols * grid->rows <= memory_bytes / MEMORY_SHARE / CELL_BYTES)
        PASS(create_in_memory(ctx, grid, bands, type, out));
    else
        out->dataset = GDALCreate(GDALGetDriverByName("GTiff"), path, (int)grid->cols, (int)grid->rows, bands,
                                  type, (char **)(uintptr_t)options);
    if (!out->dataset)
        return sdm_fail_write(ctx, path, errors.text);
    double transform[6] = {grid->x0, grid->spacing, 0.0, grid->y0, 0.0, -grid->spacing};
    GDALSetGeoTransform(out->dataset, transform);
    PASS(set_crs(ctx, out->dataset, grid, vertical));
    GDALSetMetadata(out->dataset, p->metadata, NULL);
    return errors.failed ? sdm_fail_write(ctx, path, errors.text) : SDM_OK;
}

SdmStatus sdm_raster_close(SdmContext *ctx, SdmRaster *raster, const char *path)
{
    SdmGdalErrors errors = {0};
    if (raster->dataset) {
        sdm_gdal_errors_begin(&errors);
        GDALClose(raster->dataset);
        sdm_gdal_errors_end(&errors);
    }
    raster->dataset = NULL;
    sdm_free(&raster->cells);
    return errors.failed ? sdm_fail_write(ctx, path, errors.text) : SDM_OK;
}

/* ---- the orthoimage: floats -> the smallest type that holds them ---- */

/* 0 stands for no data, so a dark pixel becomes 1. */
static uint16_t to_integer(float in, float top)
{
    const float v = in + 0.5F, low = v > 1.0F ? v : 1.0F;
    return in == SDM_NODATA || isnan(in) ? 0 : (uint16_t)(low < top ? low : top);
}

SdmStatus sdm_ortho_convert(SdmContext *ctx, SdmProduct *p)
{
    enum { ROWS = 512 };
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE + 16];
    SDM_CLOSED_BY(sdm_gdal_errors_end) SdmGdalErrors errors;
    SDM_OWNED float *in = NULL;
    SDM_OWNED uint16_t *out = NULL;
    SdmRaster *const raw = &p->raster[SDM_FILE_ORTHO], typed = {0};
    GDALRasterBandH const from = GDALGetRasterBand(raw->dataset, 1);
    const int cols = (int)p->grid.cols, rows = (int)p->grid.rows;
    const float low = p->stats.ortho_low, high = p->stats.ortho_high;
    const GDALDataType type = low <= high && high >= 255.5F ? GDT_UInt16 : GDT_Byte;
    const float top = type == GDT_Byte ? 255.0F : 65535.0F;
    sdm_gdal_errors_begin(&errors);
    if (low <= high && (low < -0.5F || high > 65535.5F || high <= 2.0F)) { /* reflectance, radar in dB ... */
        GDALSetRasterNoDataValue(from, (double)SDM_NODATA);
        return SDM_OK;
    }
    TRY(sdm_format(ctx, path, sizeof path, "%s-typed", p->files->raw[SDM_FILE_ORTHO]));
    TRY(sdm_raster_create(ctx, p, SDM_FILE_ORTHO, type, path, &typed));
    GDALRasterBandH const to = GDALGetRasterBand(typed.dataset, 1);
    GDALSetRasterNoDataValue(to, 0.0);
    GDALSetDescription(to, GDALGetDescription(from));
    TRY(sdm_alloc(ctx, &in, (size_t)cols * ROWS, sizeof *in, "ortho rows"));
    TRY(sdm_alloc(ctx, &out, (size_t)cols * ROWS, sizeof *out, "ortho rows"));
    for (int r = 0; r < rows && !errors.failed; r += ROWS) {
        const int h = rows - r < ROWS ? rows - r : ROWS;
        errors.failed |=
            GDALRasterIO(from, GF_Read, 0, r, cols, h, in, cols, h, GDT_Float32, 0, 0) != CE_None;
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
        for (int64_t i = 0; i < (int64_t)cols * h; i++)
            out[i] = to_integer(in[i], top);
        errors.failed |= GDALRasterIO(to, GF_Write, 0, r, cols, h, out, cols, h, GDT_UInt16, 0, 0) != CE_None;
    }
    if (errors.failed)
        TRY(sdm_fail_write(ctx, path, errors.text));
    TRY(sdm_raster_close(ctx, raw, p->files->raw[SDM_FILE_ORTHO]));
    *raw = typed;
    typed = (SdmRaster){0};
done:
    (void)sdm_raster_close(NULL, &typed, "");
    return st;
}

/* ---- overviews: each level halves the one before, independent of GDAL's chunks ---- */

enum { ROWS = 256, SMALLEST = 512, MAX_LEVELS = 30 }; /* rows at a time; side that needs no overview */

typedef struct Half { /* one level to the next */
    GDALRasterBandH from, to;
    int cols, rows;      /* of `from` */
    double nodata, step; /* step > 0: means are rounded to multiples of it */
    double *sums;        /* of a row: sums, their weights, shares of the three columns; half of cols each */
} Half;

/* The shares that cell k of a level has of the cells 2 k - 1, 2 k and 2 k + 1 of one with n: both span the
 * same ground, so of an odd n each takes n / ((n + 1) / 2) cells. */
static void find_shares(int n, int k, double share[3])
{
    const double half = (n + 1) / 2;
    share[0] = n % 2 ? k / half : 0.0;
    share[1] = 1.0;
    share[2] = n % 2 ? 1.0 - (k + 1) / half : 1.0;
}

/* Add every second cell of a row, times its share, to n sums; cells without a value do not count. */
SDM_VECTOR_LOOPS static void add_cells(const float *restrict in, const double *restrict share,
                                       double row_share, float none, int n, double *restrict sum,
                                       double *restrict weight)
{
    for (int c = 0; c < n; c++) {
        const float v = in[2 * c];
        const double w = row_share * share[c];
        const bool seen = (w > 0.0) & (v != none) & (v == v); /* nodata may be NaN */
        sum[c] += seen ? w * (double)v : 0.0;
        weight[c] += seen ? w : 0.0;
    }
}

/* Means of n sums; step: as of Half. */
SDM_VECTOR_LOOPS static void divide_sums(const double *restrict sum, const double *restrict weight,
                                         double step, float none, int n, float *restrict out)
{
    const double inverse = step > 0.0 ? 1.0 / step : 0.0;
    for (int c = 0; c < n; c++) {
        const double mean = sum[c] / (weight[c] > 0.0 ? weight[c] : 1.0),
                     rounded = step > 0.0 ? nearbyint(mean * inverse) * step : mean;
        out[c] = weight[c] > 0.0 ? (float)rounded : none;
    }
}

/* Means of the cells of 2 x 2 squares, or 3 x 3 by shares, that have a value; nodata without any.
 * row: the one above the square's first, it, and the next; those with a share of 0 are not read. */
static void mean_row(const Half *l, const float *const row[3], const double row_share[3], float *out)
{
    const int half = (l->cols + 1) / 2, odd = l->cols % 2;
    const float none = (float)l->nodata;
    double *const sum = l->sums, *const weight = sum + half;
    const double *const share[3] = {weight + half, weight + 2 * half, weight + 3 * half};
    memset(sum, 0, 2 * (size_t)half * sizeof *sum);
    for (int k = 0; k < 3; k++) {
        if (!(row_share[k] > 0.0))
            continue;
        if (odd)
            add_cells(row[k] + 1, share[0] + 1, row_share[k], none, half - 1, sum + 1, weight + 1);
        add_cells(row[k], share[1], row_share[k], none, half, sum, weight);
        add_cells(row[k] + 1, share[2], row_share[k], none, half - odd, sum, weight);
    }
    divide_sums(sum, weight, l->step, none, half, out);
}

/* The overview's rows of means from h rows of `from`, r and following, and the one before. */
static bool average(const Half *l, int r, int h, float *in, float *out)
{
    const int half = (l->cols + 1) / 2, low = (h + 1) / 2, before = r > 0;
    const size_t w = (size_t)l->cols;
    const int all = h + before;
    if (GDALRasterIO(l->from, GF_Read, 0, r - before, l->cols, all, in, l->cols, all, GDT_Float32, 0, 0) !=
        CE_None)
        return false;
    const float *const rows = in + (before ? w : 0);
    for (int i = 0; i < low; i++) {
        const float *const first = rows + (size_t)(2 * i) * w;
        const bool above = r + 2 * i > 0, below = 2 * i + 1 < h;
        const float *const row[3] = {above ? first - w : NULL, first, below ? first + w : NULL};
        double share[3];
        find_shares(l->rows, r / 2 + i, share);
        mean_row(l, row, share, out + (size_t)i * (size_t)half);
    }
    return GDALRasterIO(l->to, GF_Write, 0, r / 2, half, low, out, half, low, GDT_Float32, 0, 0) == CE_None;
}

/* A mask has no mean: the first cell of each square stands for it. */
static bool first_cells(const Half *l, int r, int h, uint16_t *in)
{
    const int half = (l->cols + 1) / 2, low = (h + 1) / 2;
    if (GDALRasterIO(l->from, GF_Read, 0, r, l->cols, h, in, l->cols, h, GDT_UInt16, 0, 0) != CE_None)
        return false;
    for (int i = 0; i < low; i++) {
        const uint16_t *const row = in + (size_t)(2 * i) * (size_t)l->cols;
        for (int c = 0; c < half; c++)
            in[(size_t)i * (size_t)half + (size_t)c] = row[2 * c];
    }
    return GDALRasterIO(l->to, GF_Write, 0, r / 2, half, low, in, half, low, GDT_UInt16, 0, 0) == CE_None;
}

/* From level k, 0 being the raster, to the next one, of a band. */
static Half half_of(const SdmCogRequest *request, GDALDatasetH raster, int number, int k, double *sums)
{
    int has = 0;
    const GDALRasterBandH band = GDALGetRasterBand(raster, number),
                          from = k > 0 ? GDALGetOverview(band, k - 1) : band;
    const double nodata = GDALGetRasterNoDataValue(band, &has);
    return (Half){.from = from,
                  .to = GDALGetOverview(band, k),
                  .cols = GDALGetRasterBandXSize(from),
                  .rows = GDALGetRasterBandYSize(from),
                  .nodata = has ? nodata : NAN,
                  .step = request->step,
                  .sums = sums};
}

static SdmStatus halve_band(SdmContext *ctx, const SdmCogRequest *request, const Half *l, float *in,
                            float *out)
{
    const int half = (l->cols + 1) / 2;
    for (int c = 0; c < half; c++) {
        double share[3];
        find_shares(l->cols, c, share);
        for (int k = 0; k < 3; k++)
            l->sums[(2 + k) * half + c] = share[k];
    }
    for (int r = 0; r < l->rows; r += ROWS) {
        const int h = l->rows - r < ROWS ? l->rows - r : ROWS;
        PASS(sdm_check_stop(ctx));
        if (request->first_cell ? !first_cells(l, r, h, (uint16_t *)(void *)in) : !average(l, r, h, in, out))
            PASS(sdm_fail_write(ctx, request->path, CPLGetLastErrorMsg()));
    }
    return SDM_OK;
}

SdmStatus sdm_overviews_build(SdmContext *ctx, const SdmRaster *raster, const SdmCogRequest *request)
{
    const GDALDatasetH ds = raster->dataset;
    SDM_OWNED float *in = NULL, *out = NULL;
    SDM_OWNED double *sums = NULL;
    int level[MAX_LEVELS], n = 0;
    const int w = GDALGetRasterXSize(ds), h = GDALGetRasterYSize(ds), longest = w > h ? w : h;
    while (longest >> n > SMALLEST && n < MAX_LEVELS) {
        level[n] = 2 << n;
        n++;
    }
    if (n == 0)
        return SDM_OK;
    /* Where tiles were overwritten in place after their directory had been, libtiff takes no other directory
     * until this one is written again. */
    SDM_CLOSED_BY(sdm_string_list_free) char **const metadata = CSLDuplicate(GDALGetMetadata(ds, NULL));
    GDALFlushCache(ds);
    GDALSetMetadata(ds, metadata, NULL);
    if (GDALBuildOverviews(ds, "NONE", n, level, 0, NULL, NULL, NULL) != CE_None) /* allocates them */
        return sdm_fail_write(ctx, request->path, CPLGetLastErrorMsg());
    PASS(sdm_alloc_raw(ctx, &in, (size_t)w * (ROWS + 1), sizeof *in, "rows of an overview"));
    PASS(sdm_alloc_raw(ctx, &out, (size_t)w * ROWS, sizeof *out, "rows of an overview"));
    PASS(sdm_alloc_raw(ctx, &sums, ((size_t)w + 1) / 2 * 5, sizeof *sums, "a row of an overview"));
    for (int b = 1; b <= GDALGetRasterCount(ds); b++)
        for (int k = 0; k < n && k < GDALGetOverviewCount(GDALGetRasterBand(ds, b)); k++) {
            const Half l = half_of(request, ds, b, k, sums);
            PASS(halve_band(ctx, request, &l, in, out));
        }
    return SDM_OK;
}

/* ---- Cloud-Optimised GeoTIFF, by GDAL ---- */

/* The user's creation options over ours. */
static char **add_user_options(char **co, const char *const *user)
{
    for (const char *const *o = user; o && *o; o++) {
        char *name = NULL;
        const char *const value = CPLParseNameValue(*o, &name);
        if (name && value) {
            co = CSLSetNameValue(co, name, value);
            if (EQUAL(name, "COMPRESS") &&
                !EQUAL(value, "DEFLATE")) { /* LEVEL and PREDICTOR were for DEFLATE */
                co = CSLSetNameValue(co, "LEVEL", NULL);
                if (!EQUAL(value, "LZW") && !EQUAL(value, "ZSTD"))
                    co = CSLSetNameValue(co, "PREDICTOR", NULL);
            }
        }
        CPLFree(name);
    }
    return co;
}

/* For GDAL's drivers: COG for one band; GTiff for several, which lie apart: COG's bands side by side take a
 * third more room. */
static char **creation_options(const SdmContext *ctx, const SdmCogRequest *request, int bands,
                               GDALDataType type)
{
    static const char *const apart[] = {"COPY_SRC_OVERVIEWS=YES",
                                        "TILED=YES",
                                        "BLOCKXSIZE=512",
                                        "BLOCKYSIZE=512",
                                        "INTERLEAVE=BAND",
                                        "ZLEVEL=1",
                                        NULL};
    char threads[16], **co = bands > 1 ? CSLDuplicate((char **)(uintptr_t)apart) : NULL;
    const int64_t fit = request->memory_bytes / (INT64_C(256) << 20); /* GDAL holds some 20 MB for each */
    snprintf(threads, sizeof threads, "%d",
             fit < 1                  ? 1
             : fit < sdm_threads(ctx) ? (int)fit
                                      : sdm_threads(ctx));
    co = CSLSetNameValue(co, "COMPRESS", "DEFLATE");
    if (bands == 1) {
        co = CSLSetNameValue(co, "LEVEL", "1");
        co = CSLSetNameValue(co, "PREDICTOR", type == GDT_Float32 ? "3" : "2");
    }
    co = CSLSetNameValue(co, "NUM_THREADS", threads);
    co = CSLSetNameValue(co, "BIGTIFF", "IF_SAFER");
    return add_user_options(co, request->co);
}

/* Write a DEM of 64 x 64 cells in memory: what fails there would fail after hours. */
static bool try_small(char **co)
{
    char name[64];
    snprintf(name, sizeof name, "/vsimem/stereodem_co_%p.tif", (void *)co);
    GDALDatasetH mem = GDALCreate(GDALGetDriverByName("MEM"), "", 64, 64, 1, GDT_Float32, NULL);
    if (mem)
        GDALSetRasterNoDataValue(GDALGetRasterBand(mem, 1), (double)SDM_NODATA);
    GDALDatasetH cog =
        mem ? GDALCreateCopy(GDALGetDriverByName("COG"), name, mem, FALSE, co, NULL, NULL) : NULL;
    const bool good = cog != NULL;
    GDALClose(cog);
    GDALClose(mem);
    VSIUnlink(name);
    return good;
}

SdmStatus sdm_cog_check(SdmContext *ctx, const char *const *co)
{
    static const char *const fixed[] = {"TILING_SCHEME", "TARGET_SRS",     "RES",
                                        "EXTENT",        "ALIGNED_LEVELS", "ADD_ALPHA"};
    const SdmCogRequest request = {.co = co};
    sdm_gdal_register();
    GDALDriverH driver = GDALGetDriverByName("COG");
    if (!driver)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "this GDAL (%s) has no COG driver; version 3.1 or newer is needed",
                        GDALVersionInfo("RELEASE_NAME"));
    if (!co || !co[0])
        return SDM_OK; /* DEFLATE is always there */
    for (const char *const *o = co; *o; o++) {
        if (!strchr(*o, '='))
            return sdm_fail(ctx, SDM_ERR_USAGE, "--co %s: expected NAME=VALUE", *o);
        for (int i = 0; i < 6; i++)
            if (!strncasecmp(*o, fixed[i], strlen(fixed[i])) && (*o)[strlen(fixed[i])] == '=')
                return sdm_fail(ctx, SDM_ERR_USAGE,
                                "--co %s would change the grid of the DEM; use --t_srs and --tr", *o);
    }
    SDM_CLOSED_BY(sdm_gdal_errors_end) SdmGdalErrors errors;
    sdm_gdal_errors_begin(&errors);
    SDM_CLOSED_BY(sdm_string_list_free) char **options = creation_options(ctx, &request, 1, GDT_Float32);
    options = CSLSetNameValue(options, "NUM_THREADS", NULL); /* errors of other threads would not be caught */
    if (!GDALValidateCreationOptions(driver, options) || !try_small(options) || errors.failed)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--co: GDAL's COG driver cannot write a DEM with these options: %s", errors.text);
    return SDM_OK;
}

typedef struct Watch {
    SdmContext *ctx;
    double tell_from; /* 0: no progress */
} Watch;

static int CPL_STDCALL go_on(double done, const char *text, void *watch)
{
    const Watch *const w = watch;
    (void)text;
    if (w->tell_from > 0.0)
        sdm_progress(w->ctx, 9, w->tell_from + (1.0 - w->tell_from) * 0.99 * done, "writing");
    return sdm_check_stop(w->ctx) == SDM_OK;
}

static SdmStatus write_by_gdal(SdmContext *ctx, const SdmRaster *from, const SdmCogRequest *request,
                               char **co, Watch *watch)
{
    SdmGdalErrors errors;
    const char *const driver = GDALGetRasterCount(from->dataset) > 1 ? "GTiff" : "COG";
    sdm_gdal_errors_begin(&errors);
    errno = 0;
    const GDALDatasetH file =
        GDALCreateCopy(GDALGetDriverByName(driver), request->path, from->dataset, FALSE, co, go_on, watch);
    GDALClose(file);
    const int why = errno; /* libtiff tells no reason */
    sdm_gdal_errors_end(&errors);
    if (file && !errors.failed)
        return SDM_OK;
    return sdm_fail_write(ctx, request->path,
                          why == ENOSPC || why == EDQUOT || why == EFBIG ? strerror(why) : errors.text);
}

SdmStatus sdm_cog_write(SdmContext *ctx, const SdmRaster *from, const SdmCogRequest *request)
{
    Watch watch = {ctx, request->tell_from};
    SDM_CLOSED_BY(sdm_string_list_free)
    char **const co = creation_options(ctx, request, GDALGetRasterCount(from->dataset),
                                       GDALGetRasterDataType(GDALGetRasterBand(from->dataset, 1)));
    (void)go_on(0.0, NULL, &watch);
    if (!CSLFetchNameValue(co, "OVERVIEW_RESAMPLING") && /* the user asks for others: GDAL makes them */
        !EQUAL(CSLFetchNameValueDef(co, "OVERVIEWS", ""), "NONE"))
        PASS(sdm_overviews_build(ctx, from, request));
    const SdmStatus written = write_by_gdal(ctx, from, request, co, &watch);
    PASS(sdm_check_stop(ctx)); /* to GDAL a stop is a failure */
    PASS(written);
    /* bytes in the system's buffers may still meet a full disk or quota */
    return sdm_system_sync_path(request->path) ? sdm_fail_write(ctx, request->path, strerror(errno)) : SDM_OK;
}
