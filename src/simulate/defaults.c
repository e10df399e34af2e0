/* Defaults of simulate. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/simulate.h"

#include <math.h>

void sdm_simulate_default(SdmSimulateOptions *opt)
{
    *opt = (SdmSimulateOptions){.layout = "aster",
                                .shape = "fractal",
                                .width = 820,
                                .height = 840,
                                .gsd_m = 15.0,
                                .lon_deg = NAN,
                                .lat_deg = NAN,
                                .roll_deg = 0.0,
                                .base_height = 0.6,
                                .relief_m = 600.0,
                                .base_m = 300.0,
                                .slope_azimuth_deg = 0.0,
                                .texture_dn = 16.0,
                                .noise_dn = 1.0,
                                .jitter_frequency = 0.0033,
                                .seed = 1};
}
