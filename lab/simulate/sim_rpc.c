/* Exact camera -> rational polynomial coefficients, by least squares over a grid of rays and heights. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

#include <cpl_string.h>

enum {
    SIDE = 19,
    HEIGHTS = 9,
    POINTS = SIDE * SIDE * HEIGHTS,
    TERMS = 20,
    UNKNOWNS = 2 * TERMS - 1,
    PASSES = 3
};
enum { ROW, COL, LAT, LON, HEIGHT, AXES };

typedef struct Fit {
    double (*at)[AXES]; /* POINTS normalised points */
    double off[AXES], scale[AXES];
    double *a, *b;            /* POINTS x UNKNOWNS, POINTS */
    double coef[2][UNKNOWNS]; /* row, column: numerator, denominator without its leading 1 */
} Fit;

static void terms(const double p[AXES], double t[TERMS])
{
    const double l = p[LON], f = p[LAT], h = p[HEIGHT];
    const double all[TERMS] = {1,         l,         f,         h,         l * f,     l * h,     f * h,
                               l * l,     f * f,     h * h,     f * l * h, l * l * l, l * f * f, l * h * h,
                               l * l * f, f * f * f, f * h * h, l * l * h, f * f * h, h * h * h};
    for (int k = 0; k < TERMS; k++)
        t[k] = all[k];
}

/* Ground point of an image position: latitude and longitude next to the scene's (no jump at 180 degrees). */
static void ground(const SimScene *sc, const SimCamera *cam, double p[AXES])
{
    double from[3], dir[3], hit[3], h;
    sim_ray(cam, p[COL], p[ROW], from, dir);
    sim_ray_at_height(from, dir, p[HEIGHT], hit);
    sim_to_geodetic(hit, &p[LON], &p[LAT], &h);
    p[LON] += 360.0 * round((sc->lon_deg - p[LON]) / 360.0);
}

static void sample(const SimScene *sc, const SimCamera *cam, Fit *fit)
{
    const double margin = 0.5 * (sc->h_hi - sc->h_lo) + 500.0 * fmin(1.0, sc->extent_m / 5000.0);
    const double lo = sc->h_lo - margin, hi = sc->h_hi + margin;
    double min[AXES], max[AXES];
    for (int a = 0; a < AXES; a++) {
        min[a] = INFINITY;
        max[a] = -INFINITY;
    }
    for (int k = 0; k < POINTS; k++) { /* Chebyshev nodes keep the error even up to the border */
        double *const p = fit->at[k];
        const double u = cos(SIM_PI * (k % SIDE) / (SIDE - 1)),
                     v = cos(SIM_PI * (k / SIDE % SIDE) / (SIDE - 1));
        const double w = cos(SIM_PI * (k / (SIDE * SIDE)) / (HEIGHTS - 1));
        p[COL] = 0.5 * (cam->width - 1) + u * (0.5 * cam->width + 2.0);
        p[ROW] = 0.5 * (cam->height - 1) + v * (0.5 * cam->height + 2.0);
        p[HEIGHT] = 0.5 * (lo + hi) + w * 0.5 * (hi - lo);
        ground(sc, cam, p);
        for (int a = 0; a < AXES; a++) {
            min[a] = fmin(min[a], p[a]);
            max[a] = fmax(max[a], p[a]);
        }
    }
    for (int a = 0; a < AXES; a++) {
        fit->off[a] = 0.5 * (min[a] + max[a]);
        fit->scale[a] = 0.5 * (max[a] - min[a]);
    }
    for (int k = 0; k < POINTS; k++)
        for (int a = 0; a < AXES; a++)
            fit->at[k][a] = (fit->at[k][a] - fit->off[a]) / fit->scale[a];
}

static double denominator(const double *coef, const double t[TERMS])
{
    double sum = 1.0;
    for (int k = 1; k < TERMS; k++)
        sum += coef[TERMS + k - 1] * t[k];
    return sum;
}

static SdmStatus solve(SimScene *sc, Fit *fit, int axis)
{
    double *const coef = fit->coef[axis];
    for (int pass = 0; pass < PASSES; pass++) {
        for (int k = 0; k < POINTS; k++) {
            double t[TERMS];
            terms(fit->at[k], t);
            const double z = fit->at[k][axis], w = pass ? 1.0 / denominator(coef, t) : 1.0;
            double *const a = fit->a + (size_t)k * UNKNOWNS;
            for (int m = 0; m < TERMS; m++)
                a[m] = w * t[m];
            for (int m = 1; m < TERMS; m++)
                a[TERMS + m - 1] = -w * z * t[m];
            fit->b[k] = w * z;
        }
        if (!sim_solve(POINTS, UNKNOWNS, 1e-11, fit->a, fit->b))
            return sdm_fail(sc->ctx, SDM_ERR_DATA, "the RPC of the simulated camera could not be fitted");
        for (int m = 0; m < UNKNOWNS; m++)
            coef[m] = fit->b[m];
    }
    return SDM_OK;
}

static double evaluate(const double *coef, const double t[TERMS])
{
    double sum = 0.0;
    for (int k = 0; k < TERMS; k++)
        sum += coef[k] * t[k];
    return sum / denominator(coef, t);
}

/* Error at random points between the fitted ones. */
static void measure_error(const SimScene *sc, const SimCamera *cam, const Fit *fit, double *rms_px,
                          double *worst_px)
{
    const int n = 4000;
    double sum = 0.0;
    *worst_px = 0.0;
    for (int k = 0; k < n; k++) {
        double p[AXES], q[AXES], t[TERMS], u[3];
        for (int a = 0; a < 3; a++)
            u[a] = sim_hash(11, (uint32_t)a, k, 0) / 4294967296.0;
        p[COL] = u[0] * (cam->width - 1);
        p[ROW] = u[1] * (cam->height - 1);
        p[HEIGHT] = fit->off[HEIGHT] + (2.0 * u[2] - 1.0) * fit->scale[HEIGHT];
        ground(sc, cam, p);
        for (int a = 0; a < AXES; a++)
            q[a] = (p[a] - fit->off[a]) / fit->scale[a];
        terms(q, t);
        const double dr = evaluate(fit->coef[0], t) * fit->scale[ROW] + fit->off[ROW] - p[ROW];
        const double dc = evaluate(fit->coef[1], t) * fit->scale[COL] + fit->off[COL] - p[COL];
        sum += dr * dr + dc * dc;
        *worst_px = fmax(*worst_px, hypot(dr, dc));
    }
    *rms_px = sqrt(sum / n);
}

static char **coefficients(char **list, const char *name, const double *c, bool leading_one)
{
    char text[TERMS * 28] = "";
    size_t used = 0;
    for (int k = 0; k < TERMS; k++) {
        const double v = !leading_one ? c[k] : k == 0 ? 1.0 : c[k - 1];
        used += (size_t)snprintf(text + used, sizeof text - used, "%.16g ", v);
    }
    return CSLSetNameValue(list, name, text);
}

static char **describe(const Fit *fit)
{
    static const char *const names[AXES] = {"LINE", "SAMP", "LAT", "LONG", "HEIGHT"};
    char **list = NULL;
    for (int a = 0; a < AXES; a++) {
        const double off = fit->off[a] - (a == LON ? 360.0 * round(fit->off[a] / 360.0) : 0.0);
        list = CSLSetNameValue(list, CPLSPrintf("%s_OFF", names[a]), CPLSPrintf("%.16g", off));
        list = CSLSetNameValue(list, CPLSPrintf("%s_SCALE", names[a]), CPLSPrintf("%.16g", fit->scale[a]));
    }
    list = coefficients(list, "LINE_NUM_COEFF", fit->coef[0], false);
    list = coefficients(list, "LINE_DEN_COEFF", fit->coef[0] + TERMS, true);
    list = coefficients(list, "SAMP_NUM_COEFF", fit->coef[1], false);
    return coefficients(list, "SAMP_DEN_COEFF", fit->coef[1] + TERMS, true);
}

SdmStatus sim_rpc_fit(SimScene *sc, int view, char ***metadata, double *rms_px, double *worst_px)
{
    const SimCamera *const cam = &sc->view[view].cam;
    SDM_OWNED double(*at)[AXES] = NULL;
    SDM_OWNED double *a = NULL, *b = NULL;
    PASS(SDM_ALLOC(sc->ctx, "RPC fit", SDM_ARRAY(at, POINTS), SDM_ARRAY(a, (size_t)POINTS * UNKNOWNS),
                   SDM_ARRAY(b, POINTS)));
    Fit fit = {.at = at, .a = a, .b = b};
    sample(sc, cam, &fit);
    PASS(solve(sc, &fit, 0));
    PASS(solve(sc, &fit, 1));
    measure_error(sc, cam, &fit, rms_px, worst_px);
    *metadata = describe(&fit);
    return SDM_OK;
}
