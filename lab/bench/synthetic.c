/* Terrain -> a pair: band-limited texture on the ground, seen through the lattice's own formula, so that
 * truth is exact. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/synthetic.h"

#include <math.h>

static const double scale_u = 1.0005, height0_m = 1000.0, two_pi = 6.283185307179586;

double sdm_syn_height(const SynScene *s, double u, double v)
{
    const double a = SYN_GSD_M * s->slope * s->wave_px / two_pi, w = s->wave_px;
    return height0_m + a * sin(two_pi * u / w) + a * 4.0 / 9.0 * sin(two_pi * 0.75 * v / w + 1.0);
}

/* ---- texture: uniform cubic B-splines over two grids of random numbers ---- */

static double random_knot(uint64_t seed, int64_t i, int64_t j)
{
    uint64_t h =
        seed ^ ((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15)) ^ ((uint64_t)j * UINT64_C(0xC2B2AE3D27D4EB4F));
    h = (h ^ (h >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    h = (h ^ (h >> 29)) * UINT64_C(0x94D049BB133111EB);
    return (double)((h ^ (h >> 32)) & 0xFFFF) / 32767.5 - 1.0;
}

static void spline_weights(double t, double w[4])
{
    const double s = 1.0 - t;
    w[0] = s * s * s / 6.0;
    w[1] = (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0;
    w[2] = (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0;
    w[3] = t * t * t / 6.0;
}

/* One octave along a line v: the knots of the line, so that a pixel costs four of them. */
typedef struct Octave {
    double spacing_px, gain;
    int64_t first;
    double *knot;
    int count;
} Octave;

enum { OCTAVES = 2 };

static void octave_line(Octave *o, uint64_t seed, double v)
{
    const double y = v / o->spacing_px, fy = floor(y);
    double w[4];
    spline_weights(y - fy, w);
    for (int i = 0; i < o->count; i++) {
        o->knot[i] = 0.0;
        for (int j = 0; j < 4; j++)
            o->knot[i] += w[j] * random_knot(seed, o->first + i, (int64_t)fy - 1 + j);
    }
}

static double octave_at(const Octave *o, double u)
{
    const double x = u / o->spacing_px, fx = floor(x);
    const double *const k = o->knot + ((int64_t)fx - 1 - o->first);
    double w[4];
    spline_weights(x - fx, w);
    return o->gain * (w[0] * k[0] + w[1] * k[1] + w[2] * k[2] + w[3] * k[3]);
}

/* Frame u that right column c shows on line v: Newton on a growing function. */
static double right_u(const SynScene *s, double c, double v, double guess)
{
    const double k = SYN_DU_DH * scale_u;
    double u = guess;
    for (int i = 0; i < 12; i++) {
        const double f = scale_u * u + SYN_MARGIN + 0.25 + k * (sdm_syn_height(s, u, v) - height0_m) - c;
        const double slope = SYN_GSD_M * s->slope * cos(two_pi * u / s->wave_px);
        const double step = f / (scale_u + k * slope);
        u -= step;
        if (fabs(step) < 1e-6)
            break;
    }
    return u;
}

static void draw_row(const SynScene *s, Octave line[OCTAVES], bool right, int64_t y, SdmLevelImage *im)
{
    const double v = (double)(y - SYN_MARGIN) - (right ? 0.5 : 0.0);
    double u = -2.0 * SYN_MARGIN;
    for (int o = 0; o < OCTAVES; o++)
        octave_line(&line[o], s->seed + (uint64_t)o, v);
    for (int64_t x = 0; x < s->width + 2 * SYN_MARGIN; x++) {
        u = right ? right_u(s, (double)x, v, u + 1.0) : (double)x - SYN_MARGIN - 0.25;
        double q = 0.0;
        for (int o = 0; o < OCTAVES; o++)
            q += octave_at(&line[o], u);
        im->data[s->down ? x * im->w + y : y * im->w + x] = (int16_t)lrint(fmin(fmax(q, -2047.0), 2047.0));
    }
}

static SdmStatus draw(SdmContext *ctx, const SynScene *s, bool right, SdmLevelImage *im)
{
    Octave line[OCTAVES] = {{.spacing_px = 2.3, .gain = 1100.0}, {.spacing_px = 11.0, .gain = 500.0}};
    SDM_OWNED double *knots = NULL;
    const int threads = sdm_threads(ctx);
    const int64_t w = s->width + 2 * SYN_MARGIN, h = s->height + 2 * SYN_MARGIN;
    *im = (SdmLevelImage){.w = s->down ? h : w, .h = s->down ? w : h};
    size_t total = 0;
    for (int o = 0; o < OCTAVES; o++) { /* u from -4 margins to 4 margins beyond the frame */
        line[o].first = (int64_t)floor(-4.0 * SYN_MARGIN / line[o].spacing_px) - 2;
        line[o].count = (int)((s->width + 8.0 * SYN_MARGIN) / line[o].spacing_px) + 8;
        total += (size_t)line[o].count;
    }
    PASS(sdm_alloc(ctx, &im->data, (size_t)(im->w * im->h), sizeof *im->data, "a synthetic image"));
    PASS(sdm_alloc(ctx, &knots, total * (size_t)threads, sizeof *knots, "texture"));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int64_t y = 0; y < h; y++) {
        Octave mine[OCTAVES];
        double *at = knots + total * (size_t)sdm_thread();
        for (int o = 0; o < OCTAVES; o++) {
            mine[o] = line[o];
            mine[o].knot = at;
            at += mine[o].count;
        }
        draw_row(s, mine, right, y, im);
    }
    return SDM_OK;
}

/* ---- lattice ---- */

static SdmStatus make_lattice(SdmContext *ctx, const SynScene *s, SdmLattice *lat)
{
    *lat = (SdmLattice){.u0 = -32,
                        .v0 = -32,
                        .step = 16,
                        .nu = (s->width + 15) / 16 + 5,
                        .nv = (s->height + 15) / 16 + 5,
                        .height0_m = height0_m,
                        .hmin_m = -4000.0,
                        .hmax_m = 6000.0};
    PASS(sdm_alloc(ctx, &lat->node, (size_t)lat->nu * (size_t)lat->nv, sizeof *lat->node, "a lattice"));
    for (int j = 0; j < lat->nv; j++)
        for (int i = 0; i < lat->nu; i++) {
            const double u = (double)lat->u0 + 16.0 * i, v = (double)lat->v0 + 16.0 * j;
            const int x = s->down, y = !s->down; /* columns, rows of images */
            SdmNode *const n = &lat->node[j * lat->nu + i];
            n->left[x] = llrint((u + SYN_MARGIN + 0.25) * SDM_FIX);
            n->left[y] = llrint((v + SYN_MARGIN) * SDM_FIX);
            n->right[x] = llrint((scale_u * u + SYN_MARGIN + 0.25) * SDM_FIX);
            n->right[y] = llrint((v + SYN_MARGIN + 0.5) * SDM_FIX);
            n->right_b[x] = (float)(SYN_DU_DH * scale_u);
            n->ground[0] = SYN_GSD_M * u;
            n->ground[1] = -SYN_GSD_M * v;
            n->du_dh = (float)SYN_DU_DH;
        }
    return SDM_OK;
}

SdmStatus sdm_syn_read(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                       int16_t *out)
{
    (void)ctx;
    const SdmLevelImage *const im = user;
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) {
            const int64_t xx = x0 + x - im->x0, yy = y0 + y - im->y0;
            const bool in = xx >= 0 && yy >= 0 && xx < im->w && yy < im->h;
            out[y * w + x] = (int16_t)(in ? im->data[yy * im->w + xx] : SDM_PIXEL_NODATA);
        }
    return SDM_OK;
}

static SdmStatus make_pyramids(SdmContext *ctx, SynScene *s)
{
    SdmPyramidSource source = {.kernels = sdm_kernels_at("auto"), .read = sdm_syn_read, .user = &s->left};
    const int64_t bounds[4] = {0, 0, s->left.w, s->left.h};
    PASS(sdm_pyramid_build(ctx, &source, bounds, 0, SYN_LEVELS - 1, &s->left_pyramid));
    source.user = &s->right;
    return sdm_pyramid_build(ctx, &source, bounds, 0, SYN_LEVELS - 1, &s->right_pyramid);
}

SdmStatus sdm_syn_open(SdmContext *ctx, SynScene *s)
{
    SdmStatus st = SDM_OK;
    TRY(make_lattice(ctx, s, &s->lattice));
    TRY(draw(ctx, s, false, &s->left));
    TRY(draw(ctx, s, true, &s->right));
    TRY(make_pyramids(ctx, s));
done:
    if (st != SDM_OK)
        sdm_syn_close(s);
    return st;
}

void sdm_syn_close(SynScene *s)
{
    sdm_lattice_free(&s->lattice);
    SDM_FREE(&s->left.data, &s->right.data);
    sdm_pyramid_free(&s->left_pyramid);
    sdm_pyramid_free(&s->right_pyramid);
}

SdmStatus sdm_syn_surface(SdmContext *ctx, const SynScene *s, const SdmWindow *win, double error_px,
                          SdmSurface *out)
{
    const double size = (double)((int64_t)1 << win->level);
    PASS(sdm_surface_alloc(ctx, win, out));
    for (int j = 0; j < win->h; j++)
        for (int i = 0; i < win->w; i++) {
            const double u = ((double)(win->u0 + i) + 0.5) * size - 0.5,
                         v = ((double)(win->v0 + j) + 0.5) * size - 0.5;
            const double error = error_px * size / SYN_DU_DH * sin(u / 40.0 + 0.3) * cos(v / 50.0);
            out->h_m[(size_t)j * (size_t)win->w + (size_t)i] = (float)(sdm_syn_height(s, u, v) + error);
        }
    return SDM_OK;
}
