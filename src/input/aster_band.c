/* Tables of one ASTER telescope -> its camera. */
// SPDX-License-Identifier: Apache-2.0
#include "input/aster_files.h"

#include <math.h>
#include <string.h>

void sdm_aster_band_free(SdmAsterBand *band)
{
    sdm_free(&band->lattice_px);
    sdm_free(&band->sight);
    sdm_free(&band->position_m);
    sdm_free(&band->velocity_mps);
    sdm_free(&band->geocentric_deg);
    sdm_free(&band->radiometry);
}

static int count_zero(const SdmAsterBand *band)
{
    int zero = 0;
    for (int i = 0; i < band->nrow * band->ncol; ++i)
        zero += band->sight[3 * i] == 0.0 && band->sight[3 * i + 1] == 0.0 && band->sight[3 * i + 2] == 0.0;
    return zero;
}

SdmStatus sdm_aster_open_camera(SdmContext *ctx, const SdmAsterBand *band, const char *telescope,
                                SdmCamera **out)
{
    const SdmAsterArrays in = {band->nrow,       band->ncol,         band->lattice_px,     band->sight,
                               band->position_m, band->velocity_mps, band->geocentric_deg, band->once_more};
    const double *const s = band->sight + 3 * (band->ncol / 2); /* 3N looks down, 3B 27.6 degrees back */
    const bool back = strcmp(telescope, "3B") == 0;
    const int zero = count_zero(band);
    *out = NULL;
    if (zero)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %d of its %d sight vectors are 0, so where band %s looked was not recorded; "
                        "take another scene of the place",
                        band->source, zero, band->nrow * band->ncol, telescope);
    if (back ? !(s[0] < -0.3 * s[2]) : !(fabs(s[0]) < 0.15 * s[2]))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: sight vectors look %.1f degrees back, expected %s for band %s; 3N and 3B are "
                        "exchanged or damaged, fetch the scene again",
                        band->source, atan2(-s[0], s[2]) / 3.14159265358979323846 * 180.0,
                        back ? "about 27.6" : "about 0", telescope);
    return sdm_camera_open_aster(ctx, band->source, &in, out);
}
