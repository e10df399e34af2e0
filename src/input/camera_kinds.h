/* The fields of SdmCamera, for src/input only: the struct of every kind of camera begins with it.  A new
 * sensor: see SdmSensor in input/scene_open.h. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/geodesy.h"
#include "core/math.h"
#include "input/camera.h"

struct SdmCamera {
    const char *kind;
    double hmin_m, hmax_m;
    int bin; /* for the image whose pixels are the means of bin x bin; 0: none */
    void (*project)(const SdmCamera *cam, size_t n, const double *ground, double *image);
    void (*locate)(const SdmCamera *cam, size_t n, const double *image, double *ground);
    void (*release)(SdmCamera *cam); /* frees what the kind owns besides its own struct; may be NULL */
};

/* Polynomial with coefficients from the constant up, by Horner's rule. */
static inline double sdm_poly(int degree, const double *coef, double t)
{
    double v = coef[degree];
    for (int i = degree - 1; i >= 0; --i)
        v = v * t + coef[i];
    return v;
}

static inline double sdm_poly_slope(int degree, const double *coef, double t)
{
    double v = degree * coef[degree];
    for (int i = degree - 1; i >= 1; --i)
        v = v * t + i * coef[i];
    return v;
}

enum { SDM_POLYFIT_MAX = 256, SDM_POLYFIT_DEGREE = 8 };

/* Least-squares polynomial through n <= SDM_POLYFIT_MAX points (x about -1..1) by orthogonal columns.
 * degree <= SDM_POLYFIT_DEGREE and < n.
 * @return root mean square of the residuals, in units of y */
double sdm_polyfit(int n, const double *x, const double *y, int degree, double *coef);
