/* Noisy satellite positions (and velocities) by image row -> smooth position and attitude by image row. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

enum { SDM_ORBIT_DEGREE = 5 };

/* Polynomials in t = (row - row_mid) / row_half; |t| = 1 at the ends of the lattice, good to
 * |t| = SDM_ORBIT_T.
 * Axes of the telescope on Earth-fixed axes: z = -P / |P|, y = -(P x V) / |P x V|, x = y x z (V inertial). */
#define SDM_ORBIT_T 3.0
typedef struct SdmOrbit {
    double row_mid, row_half;
    double line_time_s;
    double position[3][SDM_ORBIT_DEGREE + 1]; /* metres, Earth-fixed */
    double y[3][SDM_ORBIT_DEGREE + 1], z[3][SDM_ORBIT_DEGREE + 1];
    double position_rms_m, velocity_rms_mps; /* noise of the given values, per axis; 0 without velocity */
} SdmOrbit;

/* row: n lattice rows, increasing; position_m: n x 3 Earth-fixed; velocity_mps: n x 3 or NULL, inertial or
 * Earth-fixed (its length distinguishes them).  name: file for messages.  SDM_ERR_INPUT when this is no such
 * orbit. */
SdmStatus sdm_orbit_fit(SdmContext *ctx, const char *name, int n, const double *row, const double *position_m,
                        const double *velocity_mps, SdmOrbit *out);
