/* ASTER HDF-EOS (V004, V003): swath of one telescope -> band. */
// SPDX-License-Identifier: Apache-2.0
#include "input/aster_files.h"

#include <math.h>
#include <string.h>

static bool all_finite(size_t n, const double *v)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* A field as bands x lines x columns of double; its sizes in shape[3]. */
static SdmStatus read_field(SdmContext *ctx, SdmHdf4 *hdf, const char *path, const char *telescope,
                            const char *field, double **out, int shape[3])
{
    char swath[16];
    snprintf(swath, sizeof swath, "VNIR_Band%s", telescope);
    const SdmStatus st = sdm_hdf4_table(ctx, hdf, swath, field, out, shape);
    const size_t count = st == SDM_OK ? (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2] : 0;
    if (!all_finite(count, *out))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: field %s of VNIR_Band%s holds NaN; the file is damaged, fetch it again", path,
                        field, telescope);
    return st;
}

static SdmStatus read_shaped(SdmContext *ctx, SdmHdf4 *hdf, const char *path, const char *telescope,
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

SdmStatus sdm_aster_read_hdf(SdmContext *ctx, SdmHdf4 *hdf, const char *path, const char *telescope,
                             SdmAsterBand *out)
{
    SdmStatus st = SDM_OK;
    int s[3] = {0, 0, 0};
    memset(out, 0, sizeof *out);
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
