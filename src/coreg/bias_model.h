/* Residuals of a comparison with their places -> the systematic error in them: a plane, or a profile along
 * the track of low order with a few sines, by robust least squares; and the direction of the track from a
 * footprint. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BIAS_MODEL_H
#define SDM_BIAS_MODEL_H

#include "core/core.h"

typedef enum SdmBiasKind { SDM_BIAS_NONE, SDM_BIAS_TILT, SDM_BIAS_TRACK } SdmBiasKind;

enum { SDM_BIAS_DEGREE = 3, SDM_BIAS_SINES = 6 };

typedef struct SdmSine {
    double wavelength_m, amplitude_m;
    double
        phase_rad; /* the sine is amplitude x cos(2 pi s / wavelength - phase), s from the model's centre */
} SdmSine;

/* Height error at a place, metres: constant + across v + sum of along[k] u^(k + 1) + sines, where u and v are
 * the distances from the centre along the track and to its right, each divided by half the extent. */
typedef struct SdmBiasModel {
    SdmBiasKind kind;   /* SDM_BIAS_NONE: 0 everywhere */
    double track_deg;   /* direction of the track, clockwise from north; 0 for a tilt */
    double centre_m[2]; /* along, across */
    double half_m[2];   /* half the extent along and across */
    double constant_m;  /* such that the mean of the model over the samples is 0 */
    double across_m, along_m[SDM_BIAS_DEGREE];
    int degree, sines;
    SdmSine sine[SDM_BIAS_SINES]; /* in the order in which they were found, the strongest first */
    double low_order_m,
        chosen_m; /* cross-validated error of the plane alone, and of the model; NaN for a tilt */
} SdmBiasModel;

double sdm_bias_at(const SdmBiasModel *m, double east_m, double north_m);
/* Slope of the linear terms towards east and north, metres per metre. */
void sdm_bias_tilt(const SdmBiasModel *m, double tilt[2]);
/* Root mean square of the part of the model that depends on the distance along the track, without its linear
 * term. */
double sdm_bias_profile_rms(const SdmBiasModel *m);

typedef struct SdmBiasSamples {
    int64_t count;
    float *east_m, *north_m, *error_m; /* count each; places relative to any centre */
} SdmBiasSamples;

/* Fit a model of m->kind, for a track of about the direction m->track_deg (NaN: it is searched, too), which
 * sines turn to where they fit best, by 3 degrees at most.  cell_m: distance below which samples are not told
 * apart.  The medians of the samples in bins (one cell or more along, 1/16 of the extent across) are fitted
 * with Tukey's biweight, so that changed ground counts little.  Terms of order 2 and 3 and up to six sines,
 * strongest first, are taken while each lowers the cross-validated error by 3 % or more, over blocks along
 * the track and over blocks across it: what is found in one place alone does not predict the others and stays
 * in the heights.
 * @return SDM_OK; SDM_ERR_DATA with a sentence where the samples do not suffice; SDM_ERR_MEMORY, _STOPPED */
SdmStatus sdm_bias_fit(SdmContext *ctx, const SdmBiasSamples *samples, double cell_m, SdmBiasModel *m);

/* Direction of the track, degrees clockwise from the grid's north, from the left and the right edge of a
 * footprint that runs within 30 degrees of north; NaN where the edges are the raster's, are not parallel
 * within 3 degrees, or are not straight.  height_m: rows x cols, NaN outside; rows are `pitch` values apart.
 * cell_m: size of a cell east and north. */
SdmStatus sdm_bias_find_track(SdmContext *ctx, const float *height_m, int64_t cols, int64_t rows,
                              int64_t pitch, const double cell_m[2], double *track_deg);

#endif
