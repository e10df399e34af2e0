/* Fuzz HDF4 files: contents, attributes, tables and images of both telescopes. */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "input/hdf4_file.h"

#include <cpl_error.h>
#include <cpl_vsi.h>

#define PATH "/vsimem/fuzz.hdf"

static void judge(const SdmContext *ctx, SdmStatus st, const void *out)
{
    if ((st == SDM_OK) != (out != NULL) || (st != SDM_OK && !*sdm_error(ctx)))
        abort();
}

/* A sum of all that is read, so that a sanitizer sees each byte. */
static double read_all(SdmContext *ctx, SdmHdf4 *file)
{
    static const char *const telescopes[2] = {"VNIR_Band3N", "VNIR_Band3B"};
    const char *swath, *name;
    SdmUnpackedBand band[2];
    double sum = 0.0;
    for (int i = 0; i < 100 && sdm_hdf4_field(file, i, &swath, &name); i++) {
        double *table = NULL;
        int shape[3] = {0, 0, 0};
        const SdmStatus st = sdm_hdf4_table(ctx, file, swath, name, &table, shape);
        judge(ctx, st, table);
        for (int k = 0; table && k < shape[0] * shape[1] * shape[2]; k++)
            sum += table[k];
        sdm_free(&table);
    }
    const SdmStatus st = sdm_hdf4_images(ctx, file, telescopes, true, band);
    judge(ctx, st, band[0].sample);
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; band[k].sample && i < band[k].width * band[k].height; i++)
            sum += band[k].sample[i];
        sdm_free(&band[k].sample);
    }
    return sum;
}

FUZZ_IN(ctx)
{
    SdmHdf4 *file = NULL;
    CPLPushErrorHandler(CPLQuietErrorHandler);
    VSIFCloseL(VSIFileFromMemBuffer(PATH, (GByte *)(uintptr_t)data, size, FALSE));
    const SdmStatus st = sdm_hdf4_open(ctx, PATH, &file);
    judge(ctx, st, file);
    if (file && read_all(ctx, file) == 0.12345) /* never */
        abort();
    sdm_hdf4_close(&file);
    VSIUnlink(PATH);
    CPLPopErrorHandler();
}
