/* Raw rasters of a DEM -> a point cloud after ASPRS's LAS 1.4 (R15), point format 6 with extra bytes; LASzip,
 * which is opened at run time, compresses it. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"
#include "core/system.h"
#include "geo/gdal_scope.h"

#include <assert.h>
#include <cpl_conv.h>
#include <errno.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <string.h>
#include <time.h>

/* ---- pieces of the file: little endian, as every machine that this program is built for; reserved and
 * unknown fields are 0 ---- */

#define PACKED __attribute__((packed))

typedef struct PACKED Header {
    char signature[4];
    uint16_t source, encoding;
    uint8_t guid[16], major, minor;
    char system[32], software[32];
    uint16_t day, year, size;
    uint32_t points_at, records;
    uint8_t format;
    uint16_t point_size;
    uint32_t old_counts[6];
    double scale[3], offset[3], range[3][2]; /* range: from high to low */
    uint64_t waveforms_at, late_records_at;
    uint32_t late_records;
    uint64_t count, returns[15];
} Header;

typedef struct PACKED Record { /* variable length record */
    uint16_t reserved;
    char user[16];
    uint16_t id, size;
    char words[32];
} Record;

typedef struct PACKED Extra { /* describes a value of 16 bits in steps that follows each point */
    uint16_t reserved;
    uint8_t type, options;
    char name[32], unused[4];
    uint64_t none[3], least[3], most[3];
    double scale[3], offset[3];
    char words[32];
} Extra;

typedef struct PACKED Point { /* of format 6 */
    int32_t at[3];
    uint16_t intensity;
    uint8_t returns, flags, class, user;
    int16_t angle;
    uint16_t source;
    double time;
} Point;

static_assert(sizeof(Header) == 375 && sizeof(Record) == 54 && sizeof(Extra) == 192 && sizeof(Point) == 30,
              "sizes of LAS 1.4");

/* ---- header ---- */

enum { HEIGHT, GREY, SCORE, ERROR, BANDS };

typedef struct Cloud {
    const SdmProduct *p;
    FILE *file;
    GDALRasterBandH band[BANDS]; /* all but HEIGHT may be NULL */
    float *row;                  /* BANDS x cols: samples of a row */
    char *wkt;                   /* CPLFree() */
    double range[3][2];          /* of the places so far */
} Cloud;

/* x and y count from the corner of the grid: in millimetres where these hit the middles of cells. */
static double scale_of(const SdmGrid *g)
{
    const double half = 500.0 * g->spacing;
    return !g->geographic && fabs(half - round(half)) < 1e-9 ? 0.001 : 0.5 * g->spacing;
}

static void put(const Cloud *c, const void *piece, size_t size)
{
    (void)fwrite(piece, size, 1, c->file);
}

static void put_extra(const Cloud *c, const char *name, double step, const char *words)
{
    enum { UNSIGNED_SHORT = 3, HAS_NONE = 1, HAS_SCALE = 1 << 3 };
    Extra e = {
        .type = UNSIGNED_SHORT, .options = HAS_NONE | HAS_SCALE, .none = {SDM_QA_NODATA}, .scale = {step}};
    snprintf(e.name, sizeof e.name, "%s", name);
    snprintf(e.words, sizeof e.words, "%s", words);
    put(c, &e, sizeof e);
}

/* Everything before the points. */
static void put_head(const Cloud *c)
{
    enum { WKT = 1 << 4 };
    const SdmGrid *const g = &c->p->grid;
    const size_t extras = (size_t)(c->band[SCORE] != NULL) + (size_t)(c->band[ERROR] != NULL),
                 length = strlen(c->wkt) + 1;
    const uint64_t count = (uint64_t)c->p->stats.valid;
    const Record crs = {.user = "LASF_Projection", .id = 2112, .size = (uint16_t)length, .words = "CRS"},
                 more = {.user = "LASF_Spec",
                         .id = 4,
                         .size = (uint16_t)(extras * sizeof(Extra)),
                         .words = "extra bytes"};
    Header h = {.signature = {'L', 'A', 'S', 'F'},
                .encoding = WKT,
                .major = 1,
                .minor = 4,
                .system = "stereo images",
                .software = "stereodem " SDM_VERSION,
                .size = sizeof h,
                .points_at = (uint32_t)(sizeof h + sizeof crs + length +
                                        (extras ? sizeof more + extras * sizeof(Extra) : 0)),
                .records = extras ? 2 : 1,
                .format = 6,
                .point_size = (uint16_t)(sizeof(Point) + extras * sizeof(uint16_t)),
                .scale = {scale_of(g), scale_of(g), c->p->stats.step_m},
                .offset = {g->x0, g->y0},
                .count = count,
                .returns = {count}}; /* all are first ones */
    const time_t now = time(NULL);
    struct tm tm = {.tm_year = 0};
    (void)gmtime_r(&now, &tm);
    h.day = (uint16_t)(tm.tm_yday + 1);
    h.year = (uint16_t)(tm.tm_year + 1900);
    if (count)
        memcpy(h.range, c->range, sizeof h.range);
    put(c, &h, sizeof h);
    put(c, &crs, sizeof crs);
    put(c, c->wkt, length);
    if (extras)
        put(c, &more, sizeof more);
    if (c->band[SCORE])
        put_extra(c, "score", SDM_SCORE_STEP, "correlation of the match");
    if (c->band[ERROR])
        put_extra(c, "predicted_error", sdm_qa_scale(SDM_BAND_ERROR, c->p->metres_step),
                  "standard error of height, m");
}

/* ---- points ---- */

/* LAS 1.4: "always normalized to a 16 bit, unsigned value", of 8 bits 256 times the grey value; of floats the
 * range of the image is. */
static uint16_t intensity(const SdmDemStats *s, GDALDataType type, float grey)
{
    const double low = (double)s->ortho_low, range = (double)s->ortho_high - low;
    double value = (double)grey;
    if (type == GDT_Byte)
        value *= 256.0;
    else if (type == GDT_Float32)
        value = range > 0.0 ? (value - low) / range * 65535.0 : 0.0;
    return (uint16_t)fmin(fmax(value + 0.5, 0.0), 65535.0);
}

static void put_points(Cloud *c, int row)
{
    const SdmGrid *const g = &c->p->grid;
    const double scale = scale_of(g), half = 0.5 * g->spacing / scale, step_m = c->p->stats.step_m;
    const GDALDataType type = c->band[GREY] ? GDALGetRasterDataType(c->band[GREY]) : GDT_Unknown;
    for (int64_t i = 0; i < g->cols; i++) {
        if (c->row[i] == SDM_NODATA)
            continue;
        const Point point = {
            .at = {(int32_t)lround((double)(2 * i + 1) * half),
                   (int32_t)-lround((double)(2 * row + 1) * half),
                   (int32_t)lround((double)c->row[i] / step_m)},
            .intensity = c->band[GREY] ? intensity(&c->p->stats, type, c->row[GREY * g->cols + i]) : 0,
            .returns = 1 | 1 << 4}; /* the first of one */
        const double place[3] = {g->x0 + point.at[0] * scale, g->y0 + point.at[1] * scale,
                                 point.at[2] * step_m};
        for (int k = 0; k < 3; k++) {
            c->range[k][0] = fmax(c->range[k][0], place[k]);
            c->range[k][1] = fmin(c->range[k][1], place[k]);
        }
        put(c, &point, sizeof point);
        for (int k = SCORE; k < BANDS; k++) {
            const uint16_t value = (uint16_t)c->row[k * g->cols + i];
            put(c, &value, c->band[k] ? sizeof value : 0);
        }
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

/* The rows, then the head once more, which tells their range. */
static SdmStatus put_rows(SdmContext *ctx, Cloud *c, const char *path)
{
    const int cols = (int)c->p->grid.cols;
    put_head(c);
    for (int row = 0; row < (int)c->p->grid.rows; row++) {
        PASS(sdm_check_stop(ctx));
        for (int k = 0; k < BANDS; k++)
            if (c->band[k] && GDALRasterIO(c->band[k], GF_Read, 0, row, cols, 1, c->row + (ptrdiff_t)k * cols,
                                           cols, 1, GDT_Float32, 0, 0) != CE_None)
                return sdm_fail_write(ctx, path, CPLGetLastErrorMsg());
        put_points(c, row);
    }
    if (fseek(c->file, 0, SEEK_SET) == 0)
        put_head(c);
    return SDM_OK;
}

static SdmStatus write_las(SdmContext *ctx, const SdmProduct *p, const char *path)
{
    SDM_OWNED float *row = NULL;
    PASS(sdm_alloc(ctx, &row, (size_t)p->grid.cols, BANDS * sizeof *row, "rows of points"));
    Cloud c = {.p = p,
               .file = fopen(path, "wb"),
               .band = {GDALGetRasterBand(p->raster[SDM_FILE_DEM].dataset, 1),
                        p->request.ortho ? GDALGetRasterBand(p->raster[SDM_FILE_ORTHO].dataset, 1) : NULL,
                        sdm_product_qa_band(p, SDM_BAND_SCORE), sdm_product_qa_band(p, SDM_BAND_ERROR)},
               .row = row,
               .range = {{-INFINITY, INFINITY}, {-INFINITY, INFINITY}, {-INFINITY, INFINITY}}};
    if (!c.file)
        return sdm_fail_write(ctx, path, strerror(errno));
    c.wkt = crs_of(p->raster[SDM_FILE_DEM].dataset);
    SdmStatus st = put_rows(ctx, &c, path);
    const bool bad = ferror(c.file) || fflush(c.file) != 0;
    if ((fclose(c.file) != 0 || bad || sdm_system_sync_path(path) != 0) && st == SDM_OK)
        st = sdm_fail_write(ctx, path, strerror(errno));
    CPLFree(c.wkt);
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

/* A .las -> a .laz of as many points. */
static SdmStatus compress(SdmContext *ctx, const char *las, const char *laz, int64_t count)
{
    LasZip z;
    void *reader = NULL, *writer = NULL, *header = NULL;
    char *text = NULL, why[256];
    int32_t compressed;
    if (!open_laszip(&z) || z.create(&reader) || z.create(&writer))
        return sdm_fail(ctx, SDM_ERR_MEMORY, "%s: LASzip cannot be started", laz);
    const bool good = !z.open_reader(reader, las, &compressed) && !z.get_header_pointer(reader, &header) &&
                      !z.set_header(writer, header) && !z.preserve_generating_software(writer, 1) &&
                      !z.request_native_extension(writer, 1) && !z.open_writer(writer, laz, 1) &&
                      copy_points(ctx, &z, reader, writer, count) && !z.close_writer(writer);
    if (!good && (z.get_error(writer, &text) || !text || !*text)) /* closing forgets the reason */
        (void)z.get_error(reader, &text);
    snprintf(why, sizeof why, "LASzip: %s", text && *text ? text : "no reason is told");
    (void)z.close_reader(reader);
    (void)z.destroy(reader);
    (void)z.destroy(writer);
    PASS(sdm_check_stop(ctx));
    return good && sdm_system_sync_path(laz) == 0 ? SDM_OK
                                                  : sdm_fail_write(ctx, laz, good ? strerror(errno) : why);
}

SdmStatus sdm_point_cloud_write(SdmContext *ctx, const SdmProduct *p)
{
    const SdmOutputFiles *const files = p->files;
    if (p->request.keep || !(files->made[SDM_FILE_LAS] || files->made[SDM_FILE_LAZ]))
        return SDM_OK;
    PASS(write_las(ctx, p, files->part[SDM_FILE_LAS]));
    if (!files->made[SDM_FILE_LAZ])
        return SDM_OK;
    return compress(ctx, files->part[SDM_FILE_LAS], files->part[SDM_FILE_LAZ], p->stats.valid);
}
