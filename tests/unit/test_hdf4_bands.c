/* Bands that are unpacked beside GDAL: its samples, or none, also of files that are damaged. */
// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700 /* mkstemp, truncate */
#include "reading.h"

#include "input/hdf4_bands.h"

#include <gdal.h>
#include <unistd.h>

#define SCENE SDM_SOURCE_DIR "/sampledata/AST_L1A_00401012001180005_sim.hdf"
static SdmContext *ctx;
static const char *const SWATH[2] = {"VNIR_Band3N", "VNIR_Band3B"};

static uint8_t *gdal_samples(const char *swath, size_t *bytes)
{
    char name[1024];
    snprintf(name, sizeof name, "HDF4_EOS:EOS_SWATH:\"%s\":%s:ImageData", SCENE, swath);
    const GDALDatasetH ds = GDALOpen(name, GA_ReadOnly);
    if (!ds)
        return NULL;
    const int w = GDALGetRasterXSize(ds), h = GDALGetRasterYSize(ds);
    uint8_t *const out = malloc((size_t)w * (size_t)h);
    assert_non_null(out);
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Read, 0, 0, w, h, out, w, h, GDT_Byte, 0, 0), CE_None);
    GDALClose(ds);
    *bytes = (size_t)w * (size_t)h;
    return out;
}

static void free_bands(SdmUnpackedBand band[2])
{
    sdm_free(&band[0].sample);
    sdm_free(&band[1].sample);
}

static void samples_are_those_of_gdal(void **state)
{
    (void)state;
    SdmUnpackedBand band[2];
    assert_int_equal(sdm_hdf4_unpack(ctx, SCENE, SWATH, band), SDM_OK);
    for (int k = 0; k < 2; k++) {
        size_t bytes = 0;
        uint8_t *const want = gdal_samples(SWATH[k], &bytes);
        assert_non_null(band[k].sample);
        if (want) { /* GDAL may lack HDF4 */
            assert_int_equal(band[k].bytes, bytes);
            assert_memory_equal(band[k].sample, want, bytes);
        }
        free(want);
    }
    free_bands(band);
}

static void other_files_have_none(void **state)
{
    (void)state;
    static const char *const path[] = {SDM_SOURCE_DIR "/sampledata/truth.tif", SDM_SOURCE_DIR "/README.md", "/dev/null",
                                       "/no/such/file", SDM_SOURCE_DIR};
    static const char *const other[2] = {"VNIR_Band3N", "TIR_Band10"};
    SdmUnpackedBand band[2];
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        assert_int_equal(sdm_hdf4_unpack(ctx, path[i], SWATH, band), SDM_OK);
        assert_true(!band[0].sample && !band[1].sample);
    }
    assert_int_equal(sdm_hdf4_unpack(ctx, SCENE, other, band), SDM_OK);
    assert_true(!band[0].sample && !band[1].sample);
}

/* Bytes of the descriptors, groups and tables are changed, then the file is cut: the samples, or none. */
static void damage_gives_the_same_or_none(void **state)
{
    (void)state;
    enum { ROUNDS = 800, HEAD = 3000, TAIL = 24000, CUTS = 60 };
    char name[] = "/tmp/sdm_hdf4_XXXXXX";
    SdmUnpackedBand whole[2], band[2];
    uint64_t seed = 3;
    long same = 0, none = 0;
    FILE *const in = fopen(SCENE, "rb");
    assert_non_null(in);
    static uint8_t file[4 << 20];
    const long size = (long)fread(file, 1, sizeof file, in);
    fclose(in);
    const int fd = mkstemp(name);
    assert_true(fd >= 0 && size > HEAD + TAIL && write(fd, file, (size_t)size) == size);
    assert_int_equal(sdm_hdf4_unpack(ctx, SCENE, SWATH, whole), SDM_OK);
    for (int round = 0; round < ROUNDS + CUTS; round++) {
        long at[3];
        for (int i = 0; i < 3 && round < ROUNDS; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            const uint8_t byte = (uint8_t)(seed >> 33);
            at[i] = (seed >> 60) % 2 ? (long)(seed >> 42) % HEAD : size - 1 - (long)(seed >> 42) % TAIL;
            assert_int_equal(pwrite(fd, &byte, 1, at[i]), 1);
        }
        if (round >= ROUNDS)
            assert_int_equal(truncate(name, size - (long)(round - ROUNDS + 1) * (size / (CUTS + 1))), 0);
        assert_int_equal(sdm_hdf4_unpack(ctx, name, SWATH, band), SDM_OK);
        for (int k = 0; k < 2; k++) {
            same += band[k].sample != NULL;
            none += band[k].sample == NULL;
            if (band[k].sample && band[k].bytes == whole[k].bytes)
                assert_memory_equal(band[k].sample, whole[k].sample, whole[k].bytes);
        }
        free_bands(band);
        for (int i = 0; i < 3 && round < ROUNDS; i++)
            assert_int_equal(pwrite(fd, file + at[i], 1, at[i]), 1);
    }
    assert_true(same > 0 && none > CUTS);
    free_bands(whole);
    close(fd);
    unlink(name);
}

int main(void)
{
    GDALAllRegister();
    if (sdm_open(&ctx, NULL) != SDM_OK)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_are_those_of_gdal),
                                       cmocka_unit_test(other_files_have_none),
                                       cmocka_unit_test(damage_gives_the_same_or_none)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sdm_close(&ctx);
    return failed;
}
