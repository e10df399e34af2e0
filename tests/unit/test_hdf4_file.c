/* HDF4 files: samples and tables as GDAL has them where it can, else a sentence, also of files that are damaged. */
// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700 /* mkstemp, truncate */
#include "reading.h"

#include "input/hdf4_file.h"

#include <cpl_string.h>
#include <gdal.h>

#define SCENE SDM_SOURCE_DIR "/sampledata/AST_L1A_00401012001180005_sim.hdf"
static SdmContext *ctx;
static const char *const SWATH[2] = {"VNIR_Band3N", "VNIR_Band3B"};

/* All bands of a field; NULL: GDAL may lack HDF4. */
static double *gdal_values(const char *swath, const char *field, int *count)
{
    char name[1024];
    snprintf(name, sizeof name, "HDF4_EOS:EOS_SWATH:\"%s\":%s:%s", SCENE, swath, field);
    const GDALDatasetH ds = GDALOpen(name, GA_ReadOnly);
    if (!ds)
        return NULL;
    const int w = GDALGetRasterXSize(ds), h = GDALGetRasterYSize(ds), bands = GDALGetRasterCount(ds);
    double *const out = malloc((size_t)w * (size_t)h * (size_t)bands * sizeof *out);
    assert_int_equal(
        GDALDatasetRasterIO(ds, GF_Read, 0, 0, w, h, out, w, h, GDT_Float64, bands, NULL, 0, 0, 0), CE_None);
    GDALClose(ds);
    *count = w * h * bands;
    return out;
}

static SdmStatus unpack(const char *path, const char *const swath[2], SdmUnpackedBand band[2])
{
    SDM_CLOSED_BY(sdm_hdf4_close) SdmHdf4 *file = NULL;
    memset(band, 0, 2 * sizeof *band);
    SdmStatus st = sdm_hdf4_open(ctx, path, &file);
    if (st == SDM_OK)
        st = sdm_hdf4_images(ctx, file, swath, true, band);
    assert_true((st == SDM_OK) == (band[0].sample != NULL) && (st == SDM_OK || *sdm_error(ctx)));
    return st;
}

static void free_bands(SdmUnpackedBand band[2])
{
    sdm_free(&band[0].sample);
    sdm_free(&band[1].sample);
}

TEST(values_are_those_of_gdal)
{
    const char *swath, *field;
    SdmUnpackedBand band[2];
    SdmHdf4 *file;
    int fields = 0;
    assert_int_equal(unpack(SCENE, SWATH, band), SDM_OK);
    assert_int_equal(sdm_hdf4_open(ctx, SCENE, &file), SDM_OK);
    assert_string_equal(CSLFetchNameValue(sdm_hdf4_metadata(file), "HDFEOSVersion"), "HDFEOS_V2.20");
    for (; sdm_hdf4_field(file, fields, &swath, &field); fields++) {
        int shape[3], count = 0;
        double *table = NULL, *const want = gdal_values(swath, field, &count);
        assert_int_equal(sdm_hdf4_table(ctx, file, swath, field, &table, shape), SDM_OK);
        assert_true(!want || shape[0] * shape[1] * shape[2] == count);
        const SdmUnpackedBand *const b =
            strcmp(field, "ImageData") == 0 ? &band[strcmp(swath, SWATH[1]) == 0] : NULL;
        assert_true(!b || (b->width == shape[2] && b->height == shape[1]));
        for (int i = 0; want && i < count; i++)
            assert_true(want[i] == table[i] && (!b || want[i] == b->sample[i]));
        sdm_free(&table);
        free(want);
    }
    assert_int_equal(fields, 12);
    sdm_hdf4_close(&file);
    free_bands(band);
}

/* Bytes of the descriptors, groups and tables are changed, then the file is cut: the samples, or a sentence. */
TEST(damage_gives_the_same_or_none)
{
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
    assert_int_equal(unpack(SCENE, SWATH, whole), SDM_OK);
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
        unpack(name, SWATH, band);
        for (int k = 0; k < 2; k++) {
            same += band[k].sample != NULL;
            none += band[k].sample == NULL;
            if (band[k].sample && band[k].width == whole[k].width && band[k].height == whole[k].height)
                assert_memory_equal(band[k].sample, whole[k].sample,
                                    (size_t)(whole[k].width * whole[k].height));
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
    const int failed = run_cases(NULL, NULL);
    sdm_close(&ctx);
    return failed;
}
