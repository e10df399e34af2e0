/* Raw rasters of a DEM -> a point cloud after ASPRS's LAS 1.4 (R15), point format 6 with extra bytes; LASzip,
 * which is opened at run time, compresses it. */
// SPDX-License-Identifier: Apache-2.0
#include "product/point_cloud.h"
#include "core/system.h"
#include "geo/gdal_errors.h"
#include "input/source.h"

#include <cpl_conv.h>
#include <errno.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <string.h>
#include <time.h>

enum {
    HEADER = 375,
    VLR_HEADER = 54,
    POINT = 30,       /* of format 6, without extra bytes */
    EXTRA_BYTES = 192 /* that describe a value of them */
};

/* ---- pieces of the file: little endian, as every machine that this program is built for ---- */

static void put(FILE *f, const void *value, size_t size)
{
    (void)fwrite(value, size, 1, f);
}

static void put_integer(FILE *f, uint64_t value, size_t size)
{
    put(f, &value, size);
}

static void put_doubles(FILE *f, const double *value, int n)
{
    put(f, value, (size_t)n * sizeof *value);
}

static void put_name(FILE *f, const char *name, size_t size)
{
    char text[64] = "";
    snprintf(text, sizeof text, "%s", name);
    put(f, text, size);
}

static void put_vlr(FILE *f, const char *user, int record, size_t size, const char *words)
{
    put_integer(f, 0, 2);
    put_name(f, user, 16);
    put_integer(f, (uint64_t)record, 2);
    put_integer(f, size, 2);
    put_name(f, words, 32);
}

/* A value of 16 bits in steps; 65535: none. */
static void put_extra(FILE *f, const char *name, double step, const char *words)
{
    static const char zero[24] = {0};
    put_integer(f, 0, 2);
    put_integer(f, 3, 1);            /* unsigned short */
    put_integer(f, 1U | 1U << 3, 1); /* with a value for none, with a scale */
    put_name(f, name, 32);
    put(f, zero, 4);
    put_integer(f, 65535, 8);
    put(f, zero, 16);
    put(f, zero, 24); /* smallest and largest value: not told */
    put(f, zero, 24);
    put_doubles(f, &step, 1);
    put(f, zero, 16);
    put(f, zero, 24);
    put_name(f, words, 32);
}

/* ---- header ---- */

/* x and y count from the corner of the grid: in millimetres where these hit the middles of cells. */
static double scale_of(const SdmGrid *g)
{
    const double half = 500.0 * g->spacing;
    return !g->geographic && fabs(half - round(half)) < 1e-9 ? 0.001 : 0.5 * g->spacing;
}

typedef struct Box {
    double low[3], high[3];
} Box;

static void put_header(FILE *f, const SdmPointCloud *of, size_t wkt, const Box *box)
{
    const int extras = (of->score != NULL) + (of->error != NULL);
    const double scale[3] = {scale_of(of->grid), scale_of(of->grid), of->step_m},
                 offset[3] = {of->grid->x0, of->grid->y0, 0.0};
    const time_t now = time(NULL);
    struct tm tm = {.tm_year = 0};
    (void)gmtime_r(&now, &tm);
    put(f, "LASF", 4);
    put_integer(f, 0, 2);
    put_integer(f, 1U << 4, 2); /* the CRS is told by WKT */
    put_integer(f, 0, 8);
    put_integer(f, 0, 8);
    put_integer(f, 1, 1);
    put_integer(f, 4, 1);
    put_name(f, "stereo images", 32);
    put_name(f, "stereodem " SDM_VERSION, 32);
    put_integer(f, (uint64_t)tm.tm_yday + 1, 2);
    put_integer(f, (uint64_t)tm.tm_year + 1900, 2);
    put_integer(f, HEADER, 2);
    put_integer(f, HEADER + VLR_HEADER + wkt + (extras ? VLR_HEADER + (size_t)extras * EXTRA_BYTES : 0), 4);
    put_integer(f, extras ? 2 : 1, 4);
    put_integer(f, 6, 1);
    put_integer(f, (uint64_t)(POINT + 2 * extras), 2);
    for (int i = 0; i < 6; i++) /* counts of older versions */
        put_integer(f, 0, 4);
    put_doubles(f, scale, 3);
    put_doubles(f, offset, 3);
    for (int k = 0; k < 3; k++) {
        put_doubles(f, &box->high[k], 1);
        put_doubles(f, &box->low[k], 1);
    }
    put_integer(f, 0, 8);
    put_integer(f, 0, 8);
    put_integer(f, 0, 4);
    put_integer(f, (uint64_t)of->count, 8);
    for (int i = 0; i < 15; i++) /* all are first returns */
        put_integer(f, i ? 0 : (uint64_t)of->count, 8);
}

static void put_head(FILE *f, const SdmPointCloud *of, const char *wkt, const Box *box)
{
    const int extras = (of->score != NULL) + (of->error != NULL);
    put_header(f, of, strlen(wkt) + 1, box);
    put_vlr(f, "LASF_Projection", 2112, strlen(wkt) + 1, "CRS");
    put(f, wkt, strlen(wkt) + 1);
    if (extras)
        put_vlr(f, "LASF_Spec", 4, (size_t)extras * EXTRA_BYTES, "extra bytes");
    if (of->score)
        put_extra(f, "score", of->score_step, "correlation of the match");
    if (of->error)
        put_extra(f, "predicted_error", of->error_step, "standard error of height, m");
}

/* ---- points ---- */

typedef struct Row {
    float *height_m, *grey;
    uint16_t *score, *error;
} Row;

static bool read_row(GDALRasterBandH band, int row, int cols, GDALDataType type, void *out)
{
    return !band || GDALRasterIO(band, GF_Read, 0, row, cols, 1, out, cols, 1, type, 0, 0) == CE_None;
}

/* LAS 1.4: "always normalized to a 16 bit, unsigned value", of 8 bits 256 times the grey value; of floats the
 * range of the image is. */
static uint64_t intensity(const SdmPointCloud *of, GDALDataType type, float grey)
{
    const double range = of->high - of->low, value = type == GDT_Byte      ? 256.0 * (double)grey
                                                     : type != GDT_Float32 ? (double)grey
                                                     : range > 0.0
                                                         ? ((double)grey - of->low) / range * 65535.0
                                                         : 0.0;
    return (uint64_t)fmin(fmax(value + 0.5, 0.0), 65535.0);
}

static void put_points(FILE *f, const SdmPointCloud *of, int row, const Row *r, Box *box)
{
    const SdmGrid *const g = of->grid;
    const double scale = scale_of(g), half = 0.5 * g->spacing / scale;
    const GDALDataType type = of->grey ? GDALGetRasterDataType(of->grey) : GDT_Unknown;
    for (int64_t c = 0; c < g->cols; c++) {
        if (r->height_m[c] == SDM_NODATA)
            continue;
        const int32_t at[3] = {(int32_t)lround((double)(2 * c + 1) * half),
                               (int32_t)-lround((double)(2 * row + 1) * half),
                               (int32_t)lround((double)r->height_m[c] / of->step_m)};
        const double place[3] = {g->x0 + at[0] * scale, g->y0 + at[1] * scale, at[2] * of->step_m};
        for (int k = 0; k < 3; k++) {
            box->low[k] = fmin(box->low[k], place[k]);
            box->high[k] = fmax(box->high[k], place[k]);
        }
        put(f, at, sizeof at);
        put_integer(f, of->grey ? intensity(of, type, r->grey[c]) : 0, 2);
        put_integer(f, 1U | 1U << 4, 2); /* the first of one return; no flags */
        put_integer(f, 0, 8);            /* class, user data, angle, source: not known */
        put_integer(f, 0, 6);            /* and the time */
        if (of->score)
            put_integer(f, r->score[c], 2);
        if (of->error)
            put_integer(f, r->error[c], 2);
    }
}

/* The CRS as LAS 1.4 asks for it: WKT of OGC 2001, which has no heights above an ellipsoid; freed with
 * CPLFree(). */
static char *crs_of(GDALDatasetH dem)
{
    static const char *const form[] = {"FORMAT=WKT1_GDAL", NULL};
    const OGRSpatialReferenceH own = GDALGetSpatialRef(dem), srs = own ? OSRClone(own) : NULL;
    char *wkt = NULL;
    SDM_QUIET;
    if (srs && OSRExportToWktEx(srs, &wkt, form) != OGRERR_NONE) {
        CPLFree(wkt);
        wkt = NULL;
        OSRDemoteTo2D(srs, NULL);
        (void)OSRExportToWktEx(srs, &wkt, form);
    }
    OSRRelease(srs);
    return wkt ? wkt : CPLStrdup("");
}

SdmStatus sdm_point_cloud_write(SdmContext *ctx, const SdmPointCloud *of)
{
    SdmStatus st = SDM_OK;
    const int cols = (int)of->grid->cols;
    const size_t n = (size_t)cols;
    const GDALRasterBandH dem = GDALGetRasterBand(of->dem, 1);
    Row r = {0};
    Box box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    FILE *const f = fopen(of->path, "wb");
    if (!f)
        return sdm_fail_write(ctx, of->path, strerror(errno));
    char *const wkt = crs_of(of->dem);
    TRY(SDM_ALLOC_RAW(ctx, "rows of points", SDM_ARRAY(r.height_m, n), SDM_ARRAY(r.grey, n),
                      SDM_ARRAY(r.score, n), SDM_ARRAY(r.error, n)));
    put_head(f, of, wkt, &box);
    for (int row = 0; row < (int)of->grid->rows; row++) {
        TRY(sdm_check_stop(ctx));
        if (!read_row(dem, row, cols, GDT_Float32, r.height_m) ||
            !read_row(of->grey, row, cols, GDT_Float32, r.grey) ||
            !read_row(of->score, row, cols, GDT_UInt16, r.score) ||
            !read_row(of->error, row, cols, GDT_UInt16, r.error))
            TRY(sdm_fail_write(ctx, of->path, CPLGetLastErrorMsg()));
        put_points(f, of, row, &r, &box);
    }
    if (of->count == 0)
        box = (Box){{0.0}, {0.0}};
    if (fseek(f, 0, SEEK_SET) == 0)
        put_head(f, of, wkt, &box);
    if (ferror(f) || fflush(f) != 0)
        st = sdm_fail_write(ctx, of->path, strerror(errno));
done:
    if (fclose(f) != 0 && st == SDM_OK)
        st = sdm_fail_write(ctx, of->path, strerror(errno));
    if (st == SDM_OK && sdm_system_sync_path(of->path) != 0)
        st = sdm_fail_write(ctx, of->path, strerror(errno));
    CPLFree(wkt);
    SDM_FREE(&r.height_m, &r.grey, &r.score, &r.error);
    return st;
}

/* ---- LASzip ---- */

/* Functions of its laszip_api.h, version 3; each returns 0 when it did what it was asked for. */
#define LASZIP_FUNCTIONS(F)                                                                                  \
    F(create, (void **zip))                                                                                  \
    F(destroy, (void *zip))                                                                                  \
    F(get_error, (void *zip, char **text))                                                                   \
    F(open_reader, (void *zip, const char *path, int32_t *is_compressed))                                    \
    F(get_header_pointer, (void *zip, void **header))                                                        \
    F(get_point_pointer, (void *zip, void **point))                                                          \
    F(read_point, (void *zip))                                                                               \
    F(close_reader, (void *zip))                                                                             \
    F(set_header, (void *zip, const void *header))                                                           \
    F(preserve_generating_software, (void *zip, int32_t yes))                                                \
    F(request_native_extension, (void *zip, int32_t yes))                                                    \
    F(open_writer, (void *zip, const char *path, int32_t compress))                                          \
    F(set_point, (void *zip, const void *point))                                                             \
    F(write_point, (void *zip))                                                                              \
    F(close_writer, (void *zip))

typedef struct LasZip {
#define MEMBER(name, parameters) int32_t(*name) parameters;
    LASZIP_FUNCTIONS(MEMBER)
#undef MEMBER
} LasZip;

static bool open_laszip(LasZip *out)
{
#define NAME(name, parameters) "laszip_" #name,
    static const char *const function[] = {LASZIP_FUNCTIONS(NAME)};
#undef NAME
    void *const library = sdm_system_library(sdm_system_laszip);
    bool good = library != NULL;
    for (size_t i = 0; good && i < sizeof function / sizeof *function; i++) {
        void *const found = sdm_system_symbol(library, function[i]);
        memcpy((char *)out + i * sizeof found, &found, sizeof found);
        good = found != NULL;
    }
    return good;
}

SdmStatus sdm_point_cloud_check(SdmContext *ctx, const char *format)
{
    LasZip z;
    if (strcmp(format, "laz") != 0 || open_laszip(&z))
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                    "--points laz: the library LASzip (%s) is not on this machine; install it, or take "
                    "--points las",
                    sdm_system_laszip);
}

/* Points of the open reader to the writer; false: one of them tells why. */
static bool copy_points(SdmContext *ctx, const LasZip *z, void *reader, void *writer, int64_t count)
{
    void *point = NULL;
    bool good = z->get_point_pointer(reader, &point) == 0;
    for (int64_t i = 0; i < count && good; i++)
        good = !z->read_point(reader) && !z->set_point(writer, point) && !z->write_point(writer) &&
               (i % 65536 || sdm_check_stop(ctx) == SDM_OK);
    return good;
}

/* The reason of the last failure, of the writer or else of the reader. */
static void read_reason(const LasZip *z, void *writer, void *reader, char why[256])
{
    char *text = NULL;
    if (z->get_error(writer, &text) || !text || !*text)
        (void)z->get_error(reader, &text);
    snprintf(why, 256, "LASzip: %s", text && *text ? text : "no reason is told");
}

SdmStatus sdm_point_cloud_compress(SdmContext *ctx, const char *las, const char *laz, int64_t count)
{
    SdmStatus st = SDM_OK;
    LasZip z;
    void *reader = NULL, *writer = NULL, *header = NULL;
    int32_t compressed;
    char why[256];
    PASS(sdm_point_cloud_check(ctx, "laz"));
    if (!open_laszip(&z) || z.create(&reader) || z.create(&writer))
        return sdm_fail(ctx, SDM_ERR_MEMORY, "%s: LASzip cannot be started", laz);
    bool good = !z.open_reader(reader, las, &compressed) && !z.get_header_pointer(reader, &header) &&
                !z.set_header(writer, header) && !z.preserve_generating_software(writer, 1) &&
                !z.request_native_extension(writer, 1) && !z.open_writer(writer, laz, 1);
    good = good && copy_points(ctx, &z, reader, writer, count);
    if (!good) /* before it is closed, which forgets the reason */
        read_reason(&z, writer, reader, why);
    if (z.close_writer(writer) && good) {
        good = false;
        read_reason(&z, writer, reader, why);
    }
    TRY(sdm_check_stop(ctx));
    if (!good)
        TRY(sdm_fail_write(ctx, laz, why));
    if (sdm_system_sync_path(laz) != 0)
        st = sdm_fail_write(ctx, laz, strerror(errno));
done:
    if (reader && writer) {
        (void)z.close_reader(reader);
        (void)z.destroy(reader);
        (void)z.destroy(writer);
    }
    return st;
}
