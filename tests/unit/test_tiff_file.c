/* Rasters of odd shapes -> GeoTIFFs, read back with GDAL. */
// SPDX-License-Identifier: Apache-2.0
#include "product/tiff_file.h"
#include "geo/deflate.h"
#include <stereodem/stereodem.h>

#include <cpl_conv.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#define NAME "tiff_file.tif"

/* Cells that compress badly: every byte by chance, but for rows of one value.
 */
static void fill(uint8_t *cells, size_t cols, size_t rows, size_t cell)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < cols * rows * cell; i++) {
        seed = seed * 1664525U + 1013904223U;
        cells[i] = i / (cols * cell) % 7 == 3 ? 66 : (uint8_t)(seed >> 24);
    }
}

static GDALDatasetH make_raster(int cols, int rows, int bands, GDALDataType type, bool overviews)
{
    const size_t cell = (size_t)GDALGetDataTypeSizeBytes(type), plane = (size_t)cols * (size_t)rows * cell;
    uint8_t *const cells = malloc(plane);
    int level = 2;
    double transform[6] = {500000.0, 0.5, 0.0, 4000000.0, 0.0, -0.5};
    const GDALDatasetH ds = GDALCreate(GDALGetDriverByName("MEM"), "", cols, rows, bands, type, NULL);
    assert_non_null(cells);
    assert_non_null(ds);
    GDALSetGeoTransform(ds, transform);
    GDALSetMetadataItem(ds, "SCENE_ID", "<one> & \"two\"", NULL);
    GDALSetMetadataItem(ds, "TIFFTAG_SOFTWARE", "a program", NULL); /* a tag of its own in the file */
    assert_true(!overviews || GDALBuildOverviews(ds, "NONE", 1, &level, 0, NULL, NULL, NULL) == CE_None);
    for (int k = 1; k <= bands; k++) {
        const GDALRasterBandH band = GDALGetRasterBand(ds, k), half = GDALGetOverview(band, 0);
        GDALSetRasterNoDataValue(band, 3.0);
        GDALSetDescription(band, k == 1 ? "first" : "other");
        fill(cells, (size_t)cols, (size_t)rows, cell);
        assert_int_equal(GDALRasterIO(band, GF_Write, 0, 0, cols, rows, cells, cols, rows, type, 0, 0),
                         CE_None);
        if (half)
            assert_int_equal(GDALRasterIO(half, GF_Write, 0, 0, (cols + 1) / 2, (rows + 1) / 2, cells,
                                          (cols + 1) / 2, (rows + 1) / 2, type, 0, 0),
                             CE_None);
    }
    free(cells);
    return ds;
}

static void check_band(GDALRasterBandH one, GDALRasterBandH other)
{
    const int cols = GDALGetRasterBandXSize(one), rows = GDALGetRasterBandYSize(one);
    const GDALDataType type = GDALGetRasterDataType(one);
    const size_t size = (size_t)cols * (size_t)rows * (size_t)GDALGetDataTypeSizeBytes(type);
    uint8_t *const a = malloc(size), *const b = malloc(size);
    int has = 0;
    assert_true(a && b);
    assert_int_equal(cols, GDALGetRasterBandXSize(other));
    assert_int_equal(rows, GDALGetRasterBandYSize(other));
    assert_int_equal(type, GDALGetRasterDataType(other));
    assert_int_equal(GDALRasterIO(one, GF_Read, 0, 0, cols, rows, a, cols, rows, type, 0, 0), CE_None);
    assert_int_equal(GDALRasterIO(other, GF_Read, 0, 0, cols, rows, b, cols, rows, type, 0, 0), CE_None);
    assert_memory_equal(a, b, size);
    assert_true(GDALGetRasterNoDataValue(other, &has) == 3.0 && has);
    free(a);
    free(b);
}

typedef struct Stop {
    double at;
    int asked;
} Stop;

static int CPL_STDCALL go_on(double done, const char *text, void *stop)
{
    Stop *const s = stop;
    (void)text;
    s->asked++;
    return done < s->at;
}

static void read_back(void **state)
{
    (void)state;
    static const struct {
        int cols, rows, bands;
        GDALDataType type;
        bool overviews;
    } c[] = {
        {1, 1, 1, GDT_Float32, false},    {512, 512, 1, GDT_Byte, false},    {513, 3, 1, GDT_UInt16, false},
        {3, 513, 1, GDT_Float32, true},   {1025, 700, 1, GDT_Byte, true},    {700, 1025, 3, GDT_UInt16, true},
        {511, 1537, 1, GDT_UInt16, true}, {1300, 520, 2, GDT_Float32, true}, {1, 1, 4, GDT_Byte, true}};
    Stop never = {2.0, 0};
    SdmContext *ctx = NULL;
    assert_int_equal(sdm_open(&ctx, NULL), SDM_OK);
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            const GDALDatasetH ds = make_raster(c[i].cols, c[i].rows, c[i].bands, c[i].type, c[i].overviews);
            assert_int_equal(sdm_tiff_write(ctx, ds, NAME, threads, go_on, &never), SDM_OK);
            const GDALDatasetH back = GDALOpen(NAME, GA_ReadOnly);
            double a[6], b[6];
            assert_non_null(back);
            assert_int_equal(GDALGetRasterCount(back), c[i].bands);
            assert_true(GDALGetGeoTransform(ds, a) == CE_None && GDALGetGeoTransform(back, b) == CE_None);
            assert_memory_equal(a, b, sizeof a);
            assert_string_equal(GDALGetMetadataItem(back, "SCENE_ID", NULL), "<one> & \"two\"");
            assert_string_equal(GDALGetMetadataItem(back, "TIFFTAG_SOFTWARE", NULL), "a program");
            for (int k = 1; k <= c[i].bands; k++) {
                const GDALRasterBandH from = GDALGetRasterBand(ds, k), to = GDALGetRasterBand(back, k);
                assert_string_equal(GDALGetDescription(to), GDALGetDescription(from));
                assert_int_equal(GDALGetOverviewCount(to), c[i].overviews);
                check_band(from, to);
                if (c[i].overviews)
                    check_band(GDALGetOverview(from, 0), GDALGetOverview(to, 0));
            }
            GDALClose(back);
            GDALClose(ds);
        }
    unlink(NAME);
    sdm_close(&ctx);
}

static void stops_and_fails(void **state)
{
    (void)state;
    Stop half = {0.5, 0}, never = {2.0, 0};
    SdmContext *ctx = NULL;
    assert_int_equal(sdm_open(&ctx, NULL), SDM_OK);
    const GDALDatasetH ds = make_raster(9000, 520, 1, GDT_Byte, false);
    assert_int_equal(sdm_tiff_write(ctx, ds, NAME, 1, go_on, &half), SDM_OK);
    assert_int_equal(half.asked, 10); /* two of 36 tiles between */
    assert_int_equal(sdm_tiff_write(ctx, ds, "no/folder.tif", 2, go_on, &never), SDM_ERR_IO);
    assert_non_null(strstr(sdm_error(ctx), "no/folder.tif"));
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(sdm_tiff_write(ctx, ds, NAME, 2, go_on, &never), SDM_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(sdm_error(ctx), strerror(EFBIG)));
    GDALClose(ds);
    unlink(NAME);
    sdm_close(&ctx);
}

/* Bytes by chance cannot be made fewer: the bound holds them, of any number. */
static void bound_holds(void **state)
{
    (void)state;
    enum { MOST = 300000 };
    static uint8_t in[MOST], work[SDM_DEFLATE_WORK], out[MOST + MOST / 16 + 1024];
    fill(in, 1, MOST, 1);
    for (size_t i = 3; i < MOST; i += 7)
        in[i] = (uint8_t)(i * i >> 5);
    for (size_t n = 0; n < MOST; n = n * 3 + 1) {
        const size_t size = sdm_deflate(in, n, work, out);
        assert_true(size > 0 && size <= sdm_deflate_bound(n));
        size_t whole = 0;
        void *const back = CPLZLibInflate(out, size, NULL, 0, &whole);
        assert_non_null(back);
        assert_int_equal(whole, n);
        assert_memory_equal(back, in, n);
        VSIFree(back);
    }
}

/* A stream and where its compressor runs. */
typedef struct Place {
    const uint8_t *in;
    size_t n, size;
    uint8_t *out;
} Place;

static void *compress(void *place)
{
    static uint8_t work[SDM_DEFLATE_WORK];
    Place *const p = place;
    p->size = sdm_deflate(p->in, p->n, work, p->out);
    return NULL;
}

/* Equal bytes become equal streams, at whatever address of the stack they are compressed. */
static void depends_on_input_alone(void **state)
{
    (void)state;
    enum { STACK = 1 << 18, STEP = 1 << 16, STEPS = 300, MOST = 4000 };
    static const size_t size[] = {16, 17, 20, 40, MOST};
    static uint8_t in[MOST], first[2 * MOST], out[2 * MOST];
    uint8_t *const stacks = malloc((size_t)STEP * STEPS + STACK + STEP);
    assert_non_null(stacks);
    uint8_t *const begin = stacks + (STEP - (uintptr_t)stacks % STEP) % STEP;
    for (size_t i = 0; i < MOST; i++)
        in[i] = i % 2 ? 0 : 4;
    for (size_t k = 0; k < sizeof size / sizeof size[0]; k++) {
        Place reference = {in, size[k], 0, first}, p = {in, size[k], 0, out};
        compress(&reference);
        for (size_t i = 0; i < STEPS; i++) {
            pthread_attr_t how;
            pthread_t thread;
            assert_int_equal(pthread_attr_init(&how), 0);
            assert_int_equal(pthread_attr_setstack(&how, begin + i * STEP, STACK), 0);
            assert_int_equal(pthread_create(&thread, &how, compress, &p), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
            pthread_attr_destroy(&how);
            assert_int_equal(p.size, reference.size);
            assert_memory_equal(out, first, p.size);
        }
    }
    free(stacks);
}

int main(void)
{
    GDALAllRegister();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_back),
        cmocka_unit_test(stops_and_fails),
        cmocka_unit_test(bound_holds),
        cmocka_unit_test(depends_on_input_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
