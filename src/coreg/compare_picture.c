/* Errors -> a grey PNG. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg_grid.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <gdal.h>
#include <math.h>
#include <string.h>

/* Grey of every cell -> bytes, rows x cols. */
static void paint(const SdmCells *c, uint8_t *grey)
{
    for (int64_t i = 0; i < c->rows * c->cols; i++) {
        const double e = fmin(fmax((double)c->work[i], -20.0), 20.0);
        grey[i] = isnan(c->work[i]) ? 0 : (uint8_t)lround(1.0 + (e + 20.0) / 40.0 * 254.0);
    }
}

/* rows x cols bytes -> the file `name` as PNG, through GDAL. */
static SdmStatus encode(SdmContext *ctx, const SdmCells *c, uint8_t *grey, const char *path, const char *name)
{
    char pointer[64] = "", item[96];
    GDALDriverH memory = GDALGetDriverByName("MEM"), png = GDALGetDriverByName("PNG");
    GDALDatasetH image =
        memory && png ? GDALCreate(memory, "", (int)c->cols, (int)c->rows, 0, GDT_Byte, NULL) : NULL;
    if (!image)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "--png %s: this GDAL has no PNG driver", path);
    pointer[CPLPrintPointer(pointer, grey, sizeof pointer - 1)] = '\0';
    snprintf(item, sizeof item, "DATAPOINTER=%s", pointer);
    char *options[] = {item, NULL};
    GDALDatasetH copy = NULL;
    if (GDALAddBand(image, GDT_Byte, options) == CE_None)
        copy = GDALCreateCopy(png, name, image, FALSE, NULL, NULL, NULL);
    GDALClose(image);
    if (!copy)
        return sdm_fail(ctx, SDM_ERR_IO, "--png %s: GDAL cannot make the picture (%s)", path,
                        CPLGetLastErrorMsg());
    GDALClose(copy);
    return SDM_OK;
}

static SdmStatus write_whole(SdmContext *ctx, const char *path, const void *bytes, size_t size)
{
    SdmStatus st = SDM_OK;
    char aside[1100];
    TRY(sdm_format(ctx, aside, sizeof aside, "%s.part", path));
    errno = 0;
    FILE *const file = fopen(aside, "wb");
    if (!file)
        return sdm_fail(ctx, SDM_ERR_IO, "--png %s: cannot be written (%s)", path, strerror(errno));
    bool good = fwrite(bytes, 1, size, file) == size;
    int why = errno;
    if (fclose(file) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good && rename(aside, path) != 0) {
        good = false;
        why = errno;
    }
    if (!good) {
        remove(aside);
        st = sdm_fail(ctx, SDM_ERR_IO, "--png %s: cannot be written (%s)", path, strerror(why));
    }
done:
    return st;
}

SdmStatus sdm_cells_picture(SdmContext *ctx, SdmCells *c, const char *path)
{
    SdmStatus st = SDM_OK;
    char name[64] = "";
    vsi_l_offset size = 0;
    GByte *bytes = NULL;
    uint8_t *const grey = (uint8_t *)(void *)c->scratch;
    paint(c, grey);
    TRY(sdm_format(ctx, name, sizeof name, "/vsimem/sdm_compare_%p.png", (void *)c));
    TRY(encode(ctx, c, grey, path, name));
    bytes = VSIGetMemFileBuffer(name, &size, TRUE);
    if (!bytes)
        st = sdm_fail(ctx, SDM_ERR_MEMORY, "--png %s: no memory for the picture", path);
    else
        st = write_whole(ctx, path, bytes, (size_t)size);
done:
    VSIFree(bytes);
    VSIUnlink(name);
    return st;
}
