/* ASTER HDF-EOS (V004, V003): subdatasets of one telescope -> band. */
// SPDX-License-Identifier: Apache-2.0
#include "input/aster_files.h"

#include <cpl_string.h>
#include <math.h>
#include <string.h>

/* GDAL's name of the subdataset that ends in :VNIR_Band<telescope>:<field>; NULL when there is none. */
static const char *subdataset(GDALDatasetH hdf, const char *telescope, const char *field)
{
    char tail[96];
    CSLConstList const list = GDALGetMetadata(hdf, "SUBDATASETS");
    snprintf(tail, sizeof tail, ":VNIR_Band%s:%s", telescope, field);
    const size_t length = strlen(tail);
    for (int i = 0; list && list[i]; ++i) {
        const char *const value = strchr(list[i], '=');
        const size_t n = value ? strlen(value) : 0;
        if (n > length && strncmp(value - 5, "_NAME", 5) == 0 && strcmp(value + n - length, tail) == 0)
            return value + 1;
    }
    return NULL;
}

static bool all_finite(size_t n, const double *v)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* A field as bands x lines x columns of double; its sizes in shape[3]. */
static SdmStatus read_field(SdmContext *ctx, GDALDatasetH hdf, const char *path, const char *telescope,
                            const char *field, double **out, int shape[3])
{
    SdmStatus st = SDM_OK;
    GDALDatasetH ds = NULL;
    const char *const name = subdataset(hdf, telescope, field);
    if (!name)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                     "%s: no field %s of VNIR_Band%s in it, expected an ASTER level 1A scene; the file is "
                     "damaged or incomplete, fetch it again",
                     path, field, telescope));
    ds = sdm_gdal_open(name);
    if (!ds)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                     "%s: field %s of VNIR_Band%s cannot be opened (%.300s); the file is damaged, fetch it "
                     "again",
                     path, field, telescope, sdm_gdal_reason()));
    shape[0] = GDALGetRasterCount(ds);
    shape[1] = GDALGetRasterYSize(ds);
    shape[2] = GDALGetRasterXSize(ds);
    const size_t plane = (size_t)shape[1] * (size_t)shape[2], count = (size_t)shape[0] * plane;
    TRY(sdm_alloc(ctx, out, count, sizeof **out, "table"));
    bool ok = true;
    for (int b = 0; b < shape[0] && ok; ++b)
        ok = GDALRasterIO(GDALGetRasterBand(ds, b + 1), GF_Read, 0, 0, shape[2], shape[1],
                          *out + (size_t)b * plane, shape[2], shape[1], GDT_Float64, 0, 0)
             == CE_None;
    if (!ok || !all_finite(count, *out))
        TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                     "%s: field %s of VNIR_Band%s %s (%.300s); the file is cut short or damaged, fetch it "
                     "again",
                     path, field, telescope, ok ? "holds NaN" : "cannot be read", sdm_gdal_reason()));
done:
    if (ds)
        GDALClose(ds);
    return st;
}

static SdmStatus read_shaped(SdmContext *ctx, GDALDatasetH hdf, const char *path, const char *telescope,
                             const char *field, const int expected[3], double **out)
{
    int s[3] = {0, 0, 0};
    const SdmStatus st = read_field(ctx, hdf, path, telescope, field, out, s);
    if (st != SDM_OK || memcmp(s, expected, sizeof s) == 0)
        return st;
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: field %s of VNIR_Band%s has %d x %d x %d values, expected %d x %d x %d to go with "
                    "LatticePoint; the file is damaged, fetch it again",
                    path, field, telescope, s[0], s[1], s[2], expected[0], expected[1], expected[2]);
}

SdmStatus sdm_aster_read_hdf(SdmContext *ctx, GDALDatasetH hdf, const char *path, const char *telescope,
                             SdmAsterBand *out)
{
    SdmStatus st = SDM_OK;
    int s[3] = {0, 0, 0};
    memset(out, 0, sizeof *out);
    const char *const image = subdataset(hdf, telescope, "ImageData");
    if (!image)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                     "%s: no VNIR_Band%s image in it; a DEM needs both telescopes: order the scene as "
                     "AST_L1A V004",
                     path, telescope));
    TRY(sdm_format(ctx, out->image, sizeof out->image, "%s", image));
    TRY(sdm_format(ctx, out->label, sizeof out->label, "%s (VNIR_Band%s)", path, telescope));
    TRY(sdm_format(ctx, out->source, sizeof out->source, "%s (VNIR_Band%s)", path, telescope));
    TRY(read_field(ctx, hdf, path, telescope, "LatticePoint", &out->lattice_px, s));
    if (s[2] != 2)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                     "%s: field LatticePoint of VNIR_Band%s has %d values a point, expected 2 (column, row); "
                     "the file is damaged, fetch it again",
                     path, telescope, s[2]));
    out->nrow = s[0];
    out->ncol = s[1];
    const int sight[3] = {out->nrow, out->ncol, 3}, state[3] = {1, out->nrow, 3};
    TRY(read_shaped(ctx, hdf, path, telescope, "SightVector", sight, &out->sight));
    TRY(read_shaped(ctx, hdf, path, telescope, "SatellitePosition", state, &out->position_m));
    TRY(read_shaped(ctx, hdf, path, telescope, "SatelliteVelocity", state, &out->velocity_mps));
    TRY(sdm_format(ctx, out->table, sizeof out->table, "%s (RadiometricCorrTable of VNIR_Band%s)", path,
                   telescope));
    TRY(read_field(ctx, hdf, path, telescope, "RadiometricCorrTable", &out->radiometry, s));
    out->radiometry_lines = s[1];
    if (s[0] != 1 || s[2] != 3)
        st = sdm_fail(ctx, SDM_ERR_INPUT,
                      "%s: field RadiometricCorrTable of VNIR_Band%s has %d values a line, expected 3 (C0 C1 "
                      "C2); the file is damaged, fetch it again",
                      path, telescope, s[2]);
done:
    if (st != SDM_OK)
        sdm_aster_band_free(out);
    return st;
}
