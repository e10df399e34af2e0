/* A raster with its overviews -> a GeoTIFF in the order of a Cloud-Optimised GeoTIFF. */
// SPDX-License-Identifier: Apache-2.0
#include "product/tiff_file.h"
#include "geo/deflate.h"
#include "geo/gdal_errors.h"

#include <assert.h>
#include <cpl_error.h>
#include <errno.h>
#include <omp.h>
#include <string.h>
#include <tiffio.h>

enum {
    TILE = 512,
    AT_ONCE = 2, /* tiles for each thread */
    LEADER = 4   /* bytes before and after a tile of the layout that GDAL calls COG */
};
static const double LARGEST_CLASSIC = 2e9; /* bytes before compression: beyond it offsets get 64 bits */

/* How the file is laid out, after its header (documentation of GDAL's COG driver): a tile's size stands
 * before it, its last bytes stand once more behind it. */
static const char structure[] = "GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\n"
                                "LAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\nBLOCK_LEADER=SIZE_AS_UINT4\n"
                                "BLOCK_TRAILER=LAST_4_BYTES_REPEATED\nKNOWN_INCOMPATIBLE_EDITION=NO\n ";

/* Tags of GeoTIFF and of GDAL, which libtiff alone does not know. */
enum { GROUND_TAGS = 8, NODATA_TAG = GROUND_TAGS - 1 };
static const TIFFFieldInfo ground_tag[GROUND_TAGS] = {
    {33550, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)(uintptr_t) "ModelPixelScale"},
    {33922, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)(uintptr_t) "ModelTiepoint"},
    {34264, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)(uintptr_t) "ModelTransformation"},
    {34735, -1, -1, TIFF_SHORT, FIELD_CUSTOM, 1, 1, (char *)(uintptr_t) "GeoKeyDirectory"},
    {34736, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)(uintptr_t) "GeoDoubleParams"},
    {34737, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)(uintptr_t) "GeoASCIIParams"},
    {42112, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)(uintptr_t) "GDALMetadata"},
    {42113, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)(uintptr_t) "GDALNoDataValue"}};

/* Memory of a tile: its cells, their differences, the compressed tile after its leader, scratch. */
typedef struct Packer {
    uint8_t *tile, *changes, *packed, *work;
    size_t size; /* of the compressed tile; 0: it failed */
} Packer;

typedef struct Writer {
    GDALDatasetH from;
    TIFF *file;
    const char *path;
    int bands, levels; /* levels: the raster and its overviews */
    GDALDataType type;
    size_t cell; /* bytes of one */
    bool framed; /* tiles have leaders */
    int slots;   /* tiles at once, each in a packer of its own */
    Packer *packer;
    double done, all; /* tiles */
    bool failed;
    char why[512];
} Writer;

static bool fail(Writer *w, const char *why)
{
    if (!w->failed)
        snprintf(w->why, sizeof w->why, "%s", why && *why ? why : strerror(errno));
    w->failed = true;
    return false;
}

/* ---- tags that georeference ---- */

/* The metadata of one GDAL object in another. */
static void copy_metadata(GDALMajorObjectH from, GDALMajorObjectH to)
{
    GDALSetMetadata(to, GDALGetMetadata(from, NULL), NULL);
    GDALSetDescription(to, GDALGetDescription(from));
}

/* A GeoTIFF of one cell with the metadata of the raster: GDAL knows how these become tags. */
static bool write_one_cell(const Writer *w)
{
    double transform[6];
    const GDALDatasetH one = GDALCreate(GDALGetDriverByName("MEM"), "", 1, 1, w->bands, w->type, NULL);
    if (!one)
        return false;
    GDALSetMetadata(one, GDALGetMetadata(w->from, NULL), NULL);
    GDALSetSpatialRef(one, GDALGetSpatialRef(w->from));
    if (GDALGetGeoTransform(w->from, transform) == CE_None)
        GDALSetGeoTransform(one, transform);
    for (int k = 1; k <= w->bands; k++) {
        int has = 0;
        const GDALRasterBandH from = GDALGetRasterBand(w->from, k), to = GDALGetRasterBand(one, k);
        const double nodata = GDALGetRasterNoDataValue(from, &has);
        if (has)
            GDALSetRasterNoDataValue(to, nodata);
        copy_metadata(from, to);
        GDALSetRasterUnitType(to, GDALGetRasterUnitType(from));
        const double scale = GDALGetRasterScale(from, &has);
        if (has)
            GDALSetRasterScale(to, scale);
    }
    const GDALDatasetH file =
        GDALCreateCopy(GDALGetDriverByName("GTiff"), w->path, one, FALSE, NULL, NULL, NULL);
    GDALClose(one);
    GDALClose(file);
    return file != NULL;
}

/* Texts of the baseline, which GDAL takes from metadata of the names TIFFTAG_... */
static const uint32_t text_tag[] = {TIFFTAG_DOCUMENTNAME, TIFFTAG_IMAGEDESCRIPTION, TIFFTAG_SOFTWARE,
                                    TIFFTAG_DATETIME,     TIFFTAG_ARTIST,           TIFFTAG_HOSTCOMPUTER,
                                    TIFFTAG_COPYRIGHT};

static void copy_texts(TIFF *from, TIFF *to)
{
    const char *text = NULL;
    for (size_t i = 0; i < sizeof text_tag / sizeof *text_tag; i++)
        if (TIFFGetField(from, text_tag[i], &text))
            TIFFSetField(to, text_tag[i], text);
}

static void copy_tag(TIFF *from, TIFF *to, const TIFFFieldInfo *tag)
{
    uint16_t count = 0;
    void *value = NULL;
    if (tag->field_passcount && TIFFGetField(from, tag->field_tag, &count, &value))
        TIFFSetField(to, tag->field_tag, (int)count, value);
    else if (!tag->field_passcount && TIFFGetField(from, tag->field_tag, &value))
        TIFFSetField(to, tag->field_tag, value);
}

/* ---- directories ---- */

/* TIFF's number of the differences that are stored. */
static int predictor(const Writer *w)
{
    return w->bands > 1             ? PREDICTOR_NONE
           : w->type == GDT_Float32 ? PREDICTOR_FLOATINGPOINT
                                    : PREDICTOR_HORIZONTAL;
}

/* Band k, from 1, of a level: the raster is level 0. */
static GDALRasterBandH band_of(const Writer *w, int level, int k)
{
    const GDALRasterBandH band = GDALGetRasterBand(w->from, k);
    return level > 0 ? GDALGetOverview(band, level - 1) : band;
}

/* The directory of a level, without the offsets of its tiles. */
static bool write_directory(Writer *w, TIFF *ground, int level)
{
    enum { MOST_BANDS = 64 };
    static const uint16_t unspecified[MOST_BANDS];
    assert(w->bands <= MOST_BANDS);
    TIFF *const t = w->file;
    const GDALRasterBandH band = band_of(w, level, 1);
    const int cols = GDALGetRasterBandXSize(band), rows = GDALGetRasterBandYSize(band);
    TIFFSetField(t, TIFFTAG_SUBFILETYPE, level > 0 ? FILETYPE_REDUCEDIMAGE : 0);
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, cols);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, rows);
    TIFFSetField(t, TIFFTAG_TILEWIDTH, TILE);
    TIFFSetField(t, TIFFTAG_TILELENGTH, TILE);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, (int)(8 * w->cell));
    TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, w->type == GDT_Float32 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, w->bands);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, w->bands > 1 ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    if (w->bands > 1)
        TIFFSetField(t, TIFFTAG_EXTRASAMPLES, w->bands - 1, unspecified);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(t, TIFFTAG_PREDICTOR, predictor(w));
    TIFFMergeFieldInfo(t, ground_tag, GROUND_TAGS);
    for (int k = level > 0 ? NODATA_TAG : 0; k < GROUND_TAGS; k++)
        copy_tag(ground, t, &ground_tag[k]);
    if (level == 0)
        copy_texts(ground, t);
    return TIFFDeferStrileArrayWriting(t) && TIFFWriteCheck(t, 1, w->path) && TIFFWriteDirectory(t);
}

static bool put_bytes(const Writer *w, const void *bytes, size_t n)
{
    const thandle_t at = TIFFClientdata(w->file);
    (void)TIFFGetSeekProc(w->file)(at, 0, SEEK_END);
    return TIFFGetWriteProc(w->file)(at, (void *)(uintptr_t)bytes, (tmsize_t)n) == (tmsize_t)n;
}

static bool write_directories(Writer *w)
{
    TIFF *const ground = write_one_cell(w) ? TIFFOpen(w->path, "rm") : NULL;
    bool good = ground != NULL;
    if (good) {
        TIFFMergeFieldInfo(ground, ground_tag,
                           GROUND_TAGS); /* read the tags again, now that they are known */
        good = TIFFSetDirectory(ground, 0);
    }
    w->file = good ? TIFFOpen(w->path, w->all * TILE * TILE * (double)w->cell > LARGEST_CLASSIC ? "w8" : "w")
                   : NULL;
    good = w->file && (!w->framed || put_bytes(w, structure, sizeof structure - 1));
    for (int level = 0; good && level < w->levels; level++)
        good = write_directory(w, ground, level);
    for (int level = 0; good && level < w->levels; level++)
        good = TIFFSetDirectory(w->file, (uint16_t)level) && TIFFForceStrileArrayWriting(w->file);
    if (ground)
        TIFFClose(ground);
    return good || fail(w, CPLGetLastErrorMsg());
}

/* ---- tiles ---- */

/* Differences of a row of bytes or of 16-bit samples. */
static void subtract_left(const uint8_t *in, size_t n, size_t cell, uint8_t *out)
{
    memcpy(out, in, cell);
    if (cell == 1) {
        for (size_t i = 1; i < n; i++)
            out[i] = (uint8_t)(in[i] - in[i - 1]);
        return;
    }
    const uint16_t *const from = (const uint16_t *)(const void *)in;
    uint16_t *const to = (uint16_t *)(void *)out;
    for (size_t i = 1; i < n; i++)
        to[i] = (uint16_t)(from[i] - from[i - 1]);
}

/* Differences of a row of floating-point numbers: the highest bytes of all, then the next ones, and so on, as
 * one row of bytes (Adobe Photoshop, TIFF Technical Note 3). */
static void subtract_float(const uint8_t *in, uint8_t *out)
{
    uint8_t sorted[4 * TILE];
    for (int i = 0; i < TILE; i++) {
        uint32_t bits;
        memcpy(&bits, in + 4 * (size_t)i, sizeof bits);
        for (int k = 0; k < 4; k++)
            sorted[k * TILE + i] = (uint8_t)(bits >> (24 - 8 * k));
    }
    subtract_left(sorted, sizeof sorted, 1, out);
}

/* Compress the tile. */
static void pack(const Writer *w, Packer *p)
{
    const size_t row = TILE * w->cell, n = TILE * row;
    const int kind = predictor(w);
    for (size_t r = 0; kind != PREDICTOR_NONE && r < n; r += row)
        if (kind == PREDICTOR_FLOATINGPOINT)
            subtract_float(p->tile + r, p->changes + r);
        else
            subtract_left(p->tile + r, TILE, w->cell, p->changes + r);
    p->size = sdm_deflate(kind == PREDICTOR_NONE ? p->tile : p->changes, n, p->work, p->packed + LEADER);
}

/* Tiles of a level are counted along rows of tiles, band after band. */
static bool read_tile(const Writer *w, int level, int tile, uint8_t *out)
{
    const GDALRasterBandH first = band_of(w, level, 1);
    const int cols = GDALGetRasterBandXSize(first), rows = GDALGetRasterBandYSize(first),
              across = (cols - 1) / TILE + 1, down = (rows - 1) / TILE + 1, at = tile % (across * down),
              x = at % across * TILE, y = at / across * TILE, width = cols - x < TILE ? cols - x : TILE,
              height = rows - y < TILE ? rows - y : TILE;
    if (width < TILE || height < TILE)
        memset(out, 0, TILE * TILE * w->cell);
    return GDALRasterIO(band_of(w, level, 1 + tile / (across * down)), GF_Read, x, y, width, height, out,
                        width, height, w->type, (int)w->cell, (int)(TILE * w->cell)) == CE_None;
}

static bool write_tile(const Writer *w, int tile, Packer *p)
{
    uint8_t *const data = p->packed + LEADER, *const end = data + p->size;
    for (int k = 0; k < LEADER; k++)
        p->packed[k] = (uint8_t)(p->size >> (8 * k));
    if (w->framed && !put_bytes(w, p->packed, LEADER))
        return false;
    return TIFFWriteRawTile(w->file, (uint32_t)tile, data, (tmsize_t)p->size) == (tmsize_t)p->size &&
           (!w->framed || put_bytes(w, end - LEADER, LEADER));
}

/* Write `count` tiles of a level from `first` on.  They are compressed as tasks, by any thread of the
 * caller's team; GDAL and libtiff are entered by the caller alone. */
static void write_tiles(Writer *w, int level, int first, int count)
{
    for (int i = 0; i < count && !w->failed; i++) {
        Packer *const p = &w->packer[i];
        if (!read_tile(w, level, first + i, p->tile))
            fail(w, CPLGetLastErrorMsg());
#pragma omp task firstprivate(w, p)
        pack(w, p);
    }
#pragma omp taskwait
    errno = 0;
    for (int i = 0; i < count && !w->failed; i++)
        if (w->packer[i].size == 0 || !write_tile(w, first + i, &w->packer[i]))
            fail(w, errno ? strerror(errno) : CPLGetLastErrorMsg()); /* libtiff tells no reason */
}

/* Number of tiles of a level, in all bands. */
static int tiles_of(const Writer *w, int level)
{
    const GDALRasterBandH band = band_of(w, level, 1);
    return ((GDALGetRasterBandXSize(band) - 1) / TILE + 1) * ((GDALGetRasterBandYSize(band) - 1) / TILE + 1) *
           w->bands;
}

static void write_levels(Writer *w, GDALProgressFunc go_on, void *watch)
{
    for (int level = w->levels - 1; level >= 0 && !w->failed; level--) {
        const int tiles = tiles_of(w, level);
        if (!TIFFSetDirectory(w->file, (uint16_t)level))
            fail(w, "");
        for (int tile = 0; tile < tiles && !w->failed; tile += w->slots) {
            const int count = tiles - tile < w->slots ? tiles - tile : w->slots;
            if (!go_on(w->done / w->all, NULL, watch))
                return;
            write_tiles(w, level, tile, count);
            w->done += count;
        }
        if (!w->failed && !TIFFForceStrileArrayWriting(w->file)) /* the offsets of its tiles */
            fail(w, "");
    }
}

static Writer open_writer(GDALDatasetH from, const char *path, int slots)
{
    const GDALRasterBandH band = GDALGetRasterBand(from, 1);
    Writer w = {.from = from,
                .path = path,
                .bands = GDALGetRasterCount(from),
                .levels = 1 + GDALGetOverviewCount(band),
                .type = GDALGetRasterDataType(band),
                .slots = slots};
    w.cell = (size_t)GDALGetDataTypeSizeBytes(w.type);
    w.framed = w.bands == 1;
    for (int level = 0; level < w.levels; level++)
        w.all += tiles_of(&w, level);
    return w;
}

SdmStatus sdm_tiff_write(SdmContext *ctx, GDALDatasetH dataset, const char *path, int threads,
                         GDALProgressFunc go_on, void *watch)
{
    SdmStatus st = SDM_OK;
    SdmGdalErrors errors;
    Writer w = open_writer(dataset, path, AT_ONCE * threads);
    const size_t tile = TILE * TILE * w.cell, packed = (LEADER + sdm_deflate_bound(tile) + 63) / 64 * 64,
                 each = 2 * tile + packed + SDM_DEFLATE_WORK;
    uint8_t *memory = NULL;
    sdm_gdal_errors_begin(&errors);
    TRY(sdm_alloc(ctx, &w.packer, (size_t)w.slots, sizeof *w.packer, "tiles to compress"));
    TRY(sdm_alloc_raw(ctx, &memory, (size_t)w.slots, each, "tiles to compress"));
    for (int i = 0; i < w.slots; i++) {
        uint8_t *const own = memory + (size_t)i * each;
        w.packer[i] = (Packer){own, own + tile, own + 2 * tile, own + 2 * tile + packed, 0};
    }
    if (!write_directories(&w)) {
        ;                           /* failed */
    } else if (omp_in_parallel()) { /* the caller's team compresses */
        write_levels(&w, go_on, watch);
    } else {
#pragma omp parallel num_threads(threads)
#pragma omp master
        write_levels(&w, go_on, watch);
    }
done:
    if (w.file)
        TIFFClose(w.file);
    sdm_gdal_errors_end(&errors);
    sdm_free(&memory);
    sdm_free(&w.packer);
    if (st == SDM_OK && (w.failed || errors.failed))
        st = sdm_fail_write(ctx, path, w.failed ? w.why : errors.text);
    return st;
}
