/* Differences of two surfaces at places -> the 3-D move that lays one on the other, after Nuth and Kaab
 * (2011). For compare, points, stack and the reference of a scene. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* The places where the surfaces are compared. */
typedef struct SdmShiftTask {
    /* Differences, moved surface minus the other one, at the places first .. first + n - 1, with the surface
     * moved by move_m (east, north): difference_m, metres, NaN where a surface has no height.  slope[0],
     * slope[1]: slopes of the surface that is resampled, metres per metre east and north; NULL: not wanted.
     * Called from several threads. */
    void (*measure)(const void *surfaces, const double move_m[2], size_t first, int n, float *difference_m,
                    float *const slope[2]);
    const void *surfaces;
    size_t count;
    double cell_m;      /* side of a cell: the move must be known to half of it */
    double correlated;  /* so many places count as one, since errors of neighbours are correlated */
    double steepest;    /* tangent of the steepest slope that takes part; INFINITY: all do */
    double last_step_m; /* a shorter step ends the rounds */
    bool walls; /* the surface may have vertical walls: search the least mean of bounded differences, too */
    int threads;
    float *work; /* SDM_SHIFT_FLOATS(count) */
} SdmShiftTask;

#define SDM_SHIFT_FLOATS(count) (4 * (count) + 4)
enum { SDM_SHIFT_CORRELATED = 25 }; /* of all cells of a DEM */
#define SDM_SHIFT_WALL_CELL_M 5.0   /* smaller cells show walls */

typedef enum SdmShiftVerdict {
    SDM_SHIFT_FOUND,
    SDM_SHIFT_NOT_BETTER,   /* NMAD or gross errors are larger after the move, or a long one takes nothing out
                             */
    SDM_SHIFT_HALVES_DIFFER /* the two halves of the places ask for different moves */
} SdmShiftVerdict;

typedef struct SdmShift {
    double move_m[3]; /* east, north, up: to be applied to the moved surface */
    double nmad_m;    /* of the differences that remain */
    bool converged;
    int undetermined; /* 0..2 horizontal directions in which the ground does not determine the move; it is 0
                         there */
    SdmShiftVerdict verdict;
    double
        found_m[2]; /* east, north: what was found, also where the verdict keeps the surface in its place */
    double half_m[2][2]; /* the same from each half of the places; NaN: not determined */
} SdmShift;

/* Find the move, beginning at out->move_m.  Rounds of least squares on the slopes with a wide cut of outliers
 * first, then 3 NMAD; with `walls` then the least mean of differences bounded at 5 m, which are walls that do
 * not lie on each other.  Does not depend on the number of threads.
 * @return SDM_OK, SDM_ERR_STOPPED */
SdmStatus sdm_shift_fit(SdmContext *ctx, const SdmShiftTask *task, SdmShift *out);

/* After sdm_shift_fit() from a move of 0: where the move raises NMAD or the share of gross errors, or the
 * halves of the places disagree, set the verdict and take the horizontal move back.  The first half of the
 * places is one half. */
SdmStatus sdm_shift_judge(SdmContext *ctx, const SdmShiftTask *task, SdmShift *out);

/* Meaning of a verdict, after "moved in height only: "; "" for SDM_SHIFT_FOUND. */
const char *sdm_shift_verdict_text(SdmShiftVerdict verdict);
