/* Rational polynomial coefficients (RPC00B) -> camera. */
// SPDX-License-Identifier: Apache-2.0
#include "input/camera.h"

#include <math.h>

const char *const sdm_rpc_tags[SDM_RPC_TAGS] = {
    "LINE_OFF",       "SAMP_OFF",       "LAT_OFF",        "LONG_OFF",      "HEIGHT_OFF",
    "LINE_SCALE",     "SAMP_SCALE",     "LAT_SCALE",      "LONG_SCALE",    "HEIGHT_SCALE",
    "LINE_NUM_COEFF", "LINE_DEN_COEFF", "SAMP_NUM_COEFF", "SAMP_DEN_COEFF"};

static const double FAR = 10.0; /* normalised coordinates beyond this are not the camera's business */

typedef struct Rpc {
    SdmCamera base;
    SdmRpc c;
} Rpc;

/* Terms of RPC00B in normalised latitude p, longitude l, height h, and their slopes along l and p. */
static void terms(double p, double l, double h, double t[20])
{
    const double pp = p * p, ll = l * l, hh = h * h;
    t[0] = 1, t[1] = l, t[2] = p, t[3] = h, t[4] = l * p, t[5] = l * h, t[6] = p * h, t[7] = ll, t[8] = pp,
    t[9] = hh;
    t[10] = p * l * h, t[11] = ll * l, t[12] = l * pp, t[13] = l * hh, t[14] = ll * p, t[15] = pp * p;
    t[16] = p * hh, t[17] = ll * h, t[18] = pp * h, t[19] = hh * h;
}

static void term_slopes(double p, double l, double h, double tl[20], double tp[20])
{
    const double pp = p * p, ll = l * l, hh = h * h;
    tl[0] = 0, tl[1] = 1, tl[2] = 0, tl[3] = 0, tl[4] = p, tl[5] = h, tl[6] = 0, tl[7] = 2 * l, tl[8] = 0,
    tl[9] = 0;
    tl[10] = p * h, tl[11] = 3 * ll, tl[12] = pp, tl[13] = hh, tl[14] = 2 * l * p, tl[15] = 0;
    tl[16] = 0, tl[17] = 2 * l * h, tl[18] = 0, tl[19] = 0;
    tp[0] = 0, tp[1] = 0, tp[2] = 1, tp[3] = 0, tp[4] = l, tp[5] = 0, tp[6] = h, tp[7] = 0, tp[8] = 2 * p,
    tp[9] = 0;
    tp[10] = l * h, tp[11] = 0, tp[12] = 2 * l * p, tp[13] = 0, tp[14] = ll, tp[15] = 3 * pp;
    tp[16] = hh, tp[17] = 0, tp[18] = 2 * p * h, tp[19] = 0;
}

static double sum20(const double coef[20], const double t[20])
{
    double s[4] = {0, 0, 0, 0};
    for (int i = 0; i < 20; i += 4)
        for (int k = 0; k < 4; ++k)
            s[k] += coef[i + k] * t[i + k];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* Normalised image position (samp, line); false where a denominator passes through zero. */
static bool evaluate(const SdmRpc *c, const double t[20], double out[2])
{
    const double ds = sum20(c->samp_den, t), dl = sum20(c->line_den, t);
    if (!(ds * c->samp_den[0] > 0.0) || !(dl * c->line_den[0] > 0.0))
        return false;
    out[0] = sum20(c->samp_num, t) / ds;
    out[1] = sum20(c->line_num, t) / dl;
    return true;
}

static void project(const SdmCamera *base, size_t n, const double *ground, double *image)
{
    const SdmRpc *const c = &((const Rpc *)(const void *)base)->c;
    for (size_t k = 0; k < n; ++k, ground += 3, image += 2) {
        double dlon = ground[0] - c->long_off;
        if (!(fabs(dlon) <= 180.0))
            dlon = remainder(dlon, 360.0); /* the nearest turn, so the antimeridian is no border */
        const double l = dlon / c->long_scale, p = (ground[1] - c->lat_off) / c->lat_scale;
        double t[20], out[2];
        terms(p, l, (ground[2] - c->height_off) / c->height_scale, t);
        const bool seen = fabs(l) <= FAR && fabs(p) <= FAR && evaluate(c, t, out);
        image[0] = seen ? c->samp_off + c->samp_scale * out[0] : NAN;
        image[1] = seen ? c->line_off + c->line_scale * out[1] : NAN;
    }
}

/* One Newton step of (l, p) towards the image position want; false where it is lost.
 * *left_px: error of the position before the step. */
static bool newton(const SdmRpc *c, const double want[2], double h, double *l, double *p, double *left_px)
{
    double t[20], tl[20], tp[20], got[2];
    terms(*p, *l, h, t);
    term_slopes(*p, *l, h, tl, tp);
    if (!evaluate(c, t, got))
        return false;
    const double ds = sum20(c->samp_den, t), dl = sum20(c->line_den, t);
    const double sl = (sum20(c->samp_num, tl) - got[0] * sum20(c->samp_den, tl)) / ds;
    const double sp = (sum20(c->samp_num, tp) - got[0] * sum20(c->samp_den, tp)) / ds;
    const double ll = (sum20(c->line_num, tl) - got[1] * sum20(c->line_den, tl)) / dl;
    const double lp = (sum20(c->line_num, tp) - got[1] * sum20(c->line_den, tp)) / dl;
    const double det = sl * lp - sp * ll, es = want[0] - got[0], el = want[1] - got[1];
    *left_px = fmax(fabs(es * c->samp_scale), fabs(el * c->line_scale));
    const double step_l = (es * lp - el * sp) / det, step_p = (el * sl - es * ll) / det;
    if (!(fabs(step_l) < 2 * FAR) || !(fabs(step_p) < 2 * FAR))
        return false;
    *l += step_l;
    *p += step_p;
    return fabs(*l) <= FAR && fabs(*p) <= FAR;
}

static void locate(const SdmCamera *base, size_t n, const double *image, double *ground)
{
    const SdmRpc *const c = &((const Rpc *)(const void *)base)->c;
    for (size_t k = 0; k < n; ++k, image += 3, ground += 3) {
        const double want[2] = {(image[0] - c->samp_off) / c->samp_scale,
                                (image[1] - c->line_off) / c->line_scale};
        const double h = (image[2] - c->height_off) / c->height_scale;
        double l = 0.0, p = 0.0, left_px = INFINITY;
        bool found = isfinite(h);
        for (int i = 0; i < 30 && found && !(left_px < 1e-7); ++i)
            found = newton(c, want, h, &l, &p, &left_px);
        found = found && left_px < 1e-3;
        ground[0] = found ? remainder(c->long_off + l * c->long_scale, 360.0) : NAN;
        ground[1] = found ? c->lat_off + p * c->lat_scale : NAN;
        ground[2] = found ? image[2] : NAN;
    }
}

/* Some suppliers count latitude downwards (PlanetScope: LAT_SCALE below 0). Turn the sign of a scale, and of
 * what has an odd power of its coordinate. */
static void make_positive(SdmRpc *c)
{
    static const unsigned odd_l = 0x3c32, odd_p = 0x1c454, odd_h = 0xe0468; /* bit i: of term i */
    const struct {
        double *scale;
        unsigned odd;
    } ground[] = {{&c->long_scale, odd_l}, {&c->lat_scale, odd_p}, {&c->height_scale, odd_h}};
    double *const coef[4] = {c->line_num, c->line_den, c->samp_num, c->samp_den};
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 4 * 20 && *ground[k].scale < 0.0; ++i)
            if (ground[k].odd >> (i % 20) & 1)
                coef[i / 20][i % 20] = -coef[i / 20][i % 20];
        *ground[k].scale = fabs(*ground[k].scale);
    }
    for (int i = 0; i < 20; ++i) {
        c->line_num[i] = c->line_scale < 0.0 ? -c->line_num[i] : c->line_num[i];
        c->samp_num[i] = c->samp_scale < 0.0 ? -c->samp_num[i] : c->samp_num[i];
    }
    c->line_scale = fabs(c->line_scale);
    c->samp_scale = fabs(c->samp_scale);
}

static SdmStatus check(SdmContext *ctx, const char *name, const SdmRpc *c)
{
    enum { SCALES = 5 /* behind as many offsets */ };
    static const double limit[SCALES] = {1e7, 1e7, 90, 360, 2e4};
    const double *const number = (const double *)(const void *)c, *const scale = number + SCALES;
    for (int i = 0; i < SCALES; ++i)
        if (!(scale[i] > 0.0) || !(scale[i] <= limit[i]))
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: RPC %s is %g, expected a number other than 0 up to %g; get the image's RPC "
                            "from its supplier again",
                            name, sdm_rpc_tags[SCALES + i], scale[i], limit[i]);
    if (!sdm_all_finite(SCALES, number) || !(fabs(c->lat_off) <= 90.0) || !(fabs(c->long_off) <= 360.0) ||
        !(fabs(c->height_off) <= 2e4))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: RPC offsets are no place on Earth (LAT_OFF %g, LONG_OFF %g, HEIGHT_OFF %g); "
                        "get the image's RPC from its supplier again",
                        name, c->lat_off, c->long_off, c->height_off);
    if (!sdm_all_finite(4 * SDM_RPC_COEFFICIENTS, number + SDM_RPC_SINGLE) || c->line_den[0] == 0.0 ||
        c->samp_den[0] == 0.0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: RPC coefficients are not all numbers, or a denominator begins with 0; get the "
                        "image's RPC from its supplier again",
                        name);
    return SDM_OK;
}

SdmStatus sdm_camera_open_rpc(SdmContext *ctx, const char *name, const SdmRpc *given, SdmCamera **out)
{
    SDM_OWNED Rpc *cam = NULL;
    SdmRpc turned = *given, *const rpc = &turned;
    make_positive(rpc);
    *out = NULL;
    PASS(check(ctx, name, rpc));
    PASS(sdm_alloc(ctx, &cam, 1, sizeof *cam, "camera"));
    cam->base = (SdmCamera){.kind = "rpc",
                            .hmin_m = rpc->height_off - rpc->height_scale,
                            .hmax_m = rpc->height_off + rpc->height_scale,
                            .project = project,
                            .locate = locate};
    cam->c = *rpc;
    double image[3] = {rpc->samp_off, rpc->line_off, rpc->height_off}, ground[3];
    locate(&cam->base, 1, image, ground);
    if (!isfinite(ground[0]))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the RPC puts no ground point into the middle of its image; get the image's RPC "
                        "from its supplier again",
                        name);
    *out = &cam->base;
    cam = NULL;
    return SDM_OK;
}
