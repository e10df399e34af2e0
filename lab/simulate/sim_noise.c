/* Seed and grid -> fractal B-spline surfaces.  Every octave is white noise on its own nodes; a coarse octave
 * is carried to finer nodes by exact subdivision, so any window of any size has the same values. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

uint32_t sim_hash(uint32_t seed, uint32_t level, int64_t i, int64_t j)
{
    uint32_t h = seed * 0x9e3779b1u ^ (level + 1u) * 0x85ebca6bu;
    h ^= (uint32_t)i * 0xc2b2ae35u;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h ^= (uint32_t)j * 0x27d4eb2fu;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return h ^ h >> 15;
}

uint32_t sim_error_seed(const SdmSimulateOptions *opt)
{
    return (uint32_t)(opt->error_seed ? opt->error_seed : opt->seed) * 8u;
}

double sim_gauss(uint32_t seed, int64_t i, int64_t j)
{
    const uint32_t a = sim_hash(seed, 101, i, j), b = sim_hash(seed, 102, i, j);
    const double sum = (double)(a & 0xffffu) + (double)(a >> 16) + (double)(b & 0xffffu) + (double)(b >> 16);
    return (sum / 65535.0 - 2.0) * sqrt(3.0); /* four uniforms: variance 4/12 */
}

SimWindow sim_window(const SimBox *box, double step_m, int margin)
{
    const double i0 = floor(box->x0 / step_m) - margin, i1 = ceil(box->x1 / step_m) + margin;
    const double j0 = floor(-box->y1 / step_m) - margin, j1 = ceil(-box->y0 / step_m) + margin;
    return (SimWindow){.i0 = (int64_t)i0,
                       .j0 = (int64_t)j0,
                       .nx = (int)(i1 - i0) + 1,
                       .ny = (int)(j1 - j0) + 1,
                       .step_m = step_m};
}

void sim_spectrum(SimSpectrum *spec, uint32_t seed, int bottom, int top, double hurst, double sigma)
{
    const double one = 151.0 / 315.0; /* sum of squares of B3 over nodes, mean over positions, one axis */
    double power = 0.0;
    *spec = (SimSpectrum){.seed = seed, .top = top < SIM_LEVELS ? top : SIM_LEVELS - 1};
    for (int k = bottom; k <= spec->top; k++) {
        spec->amp[k] = pow(2.0, k * hurst);
        power += spec->amp[k] * spec->amp[k] * one * one;
    }
    for (int k = bottom; k <= spec->top; k++)
        spec->amp[k] *= sigma / sqrt(power);
}

/* Window of the next coarser octave that the subdivision of `fine` reads. */
static SimWindow parent(const SimWindow *fine)
{
    const int64_t i0 = sdm_floor_div(fine->i0, 2) - 1, j0 = sdm_floor_div(fine->j0, 2) - 1;
    return (SimWindow){.i0 = i0,
                       .j0 = j0,
                       .nx = (int)(sdm_floor_div(fine->i0 + fine->nx - 1, 2) + 2 - i0),
                       .ny = (int)(sdm_floor_div(fine->j0 + fine->ny - 1, 2) + 2 - j0),
                       .step_m = 2.0 * fine->step_m};
}

static float column_of(const SimWindow *c, int64_t i, const float *row)
{
    const int64_t h = sdm_floor_div(i, 2) - c->i0;
    return i & 1 ? 0.5f * (row[h] + row[h + 1]) : 0.125f * (row[h - 1] + row[h + 1]) + 0.75f * row[h];
}

/* fine += subdivided coarse: masks (1 6 1)/8 on even nodes, (4 4)/8 on odd ones.  line: coarse->nx floats. */
static void subdivide_row(const SimWindow *coarse, SimWindow *fine, int j, float *line)
{
    const int64_t jj = fine->j0 + j, h = sdm_floor_div(jj, 2) - coarse->j0;
    const float *const r = coarse->v + (size_t)h * (size_t)coarse->nx;
    const ptrdiff_t n = coarse->nx;
    for (int i = 0; i < coarse->nx; i++)
        line[i] = jj & 1 ? 0.5f * (r[i] + r[i + n]) : 0.125f * (r[i - n] + r[i + n]) + 0.75f * r[i];
    float *const out = fine->v + (size_t)j * (size_t)fine->nx;
    for (int i = 0; i < fine->nx; i++)
        out[i] += column_of(coarse, fine->i0 + i, line);
}

static void white_row(const SimSpectrum *spec, int level, SimWindow *win, int j)
{
    float *const out = win->v + (size_t)j * (size_t)win->nx;
    const float scale = (float)(spec->amp[level] * sqrt(12.0) / 4294967296.0);
    for (int i = 0; i < win->nx; i++)
        out[i] =
            scale * ((float)sim_hash(spec->seed, (uint32_t)level, win->i0 + i, win->j0 + j) - 2147483648.0f);
}

static SdmStatus octave(SdmContext *ctx, const SimSpectrum *spec, int level, const SimWindow *coarse,
                        SimWindow *win)
{
    SDM_OWNED float *lines = NULL;
    const int threads = sdm_threads(ctx), stripe = 64, stripes = (win->ny + stripe - 1) / stripe;
    const size_t width = coarse ? (size_t)coarse->nx : 1;
    PASS(sdm_alloc(ctx, &win->v, (size_t)win->nx * (size_t)win->ny, sizeof *win->v, "simulated surface"));
    PASS(sdm_alloc(ctx, &lines, (size_t)stripes * width, sizeof *lines, "simulated surface, scratch"));
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (stripes > 1)
    for (int s = 0; s < stripes; s++)
        for (int j = s * stripe; j < win->ny && j < (s + 1) * stripe; j++) {
            if (spec->amp[level] > 0.0)
                white_row(spec, level, win, j);
            if (coarse)
                subdivide_row(coarse, win, j, lines + (size_t)s * width);
        }
    return SDM_OK;
}

SdmStatus sim_noise(SdmContext *ctx, const SimSpectrum *spec, int level, SimWindow *win)
{
    SdmStatus st = SDM_OK;
    SimWindow at[SIM_LEVELS];
    const int top = spec->top > level ? spec->top : level;
    at[level] = *win;
    at[level].v = NULL;
    for (int k = level; k < top; k++)
        at[k + 1] = parent(&at[k]);
    for (int k = top; k >= level; k--) {
        st = octave(ctx, spec, k, k < top ? &at[k + 1] : NULL, &at[k]);
        if (k < top)
            sdm_free(&at[k + 1].v);
        if (st != SDM_OK) {
            sdm_free(&at[k].v);
            return st;
        }
    }
    win->v = at[level].v;
    return SDM_OK;
}

SdmStatus sim_noise_at(SdmContext *ctx, const SimSpectrum *spec, int level, double unit_m, double x, double y,
                       float *value)
{
    const SimBox box = {x, y, x, y};
    SDM_CLOSED_BY(sim_window_free) SimWindow win = sim_window(&box, ldexp(unit_m, level), 2);
    PASS(sim_noise(ctx, spec, level, &win));
    *value = sim_value(&win, x, y);
    return SDM_OK;
}

int sim_octave(double wave_m, double unit_m)
{
    const int k = (int)lround(log2(wave_m / unit_m));
    return k < 0 ? 0 : k >= SIM_LEVELS ? SIM_LEVELS - 1 : k;
}

/* Weights of the four nodes around fraction f and their derivatives. */
static void weights(float f, float w[4], float d[4])
{
    const float g = 1.0f - f, f2 = f * f;
    w[0] = g * g * g / 6.0f;
    w[1] = (4.0f - 6.0f * f2 + 3.0f * f2 * f) / 6.0f;
    w[3] = f2 * f / 6.0f;
    w[2] = 1.0f - w[0] - w[1] - w[3];
    d[0] = -0.5f * g * g;
    d[1] = 1.5f * f2 - 2.0f * f;
    d[3] = 0.5f * f2;
    d[2] = -d[0] - d[1] - d[3];
}

/* Node left of or above a position, held so that all four nodes exist; *f: fraction from it. */
static int node_of(double t, int n, float *f)
{
    int i = t < 1.0 ? 1 : t > n - 2 ? n - 3 : (int)t;
    if (i > n - 3)
        i = n - 3;
    const double r = t - i;
    *f = (float)(r < 0.0 ? 0.0 : r > 1.0 ? 1.0 : r);
    return i - 1;
}

/* The first of the 4 x 4 nodes around a map position; weights of columns and rows, and their derivatives. */
static inline const float *nodes_at(const SimWindow *win, double x, double y, float w[2][4], float d[2][4])
{
    float fx, fy;
    const int i = node_of(x * (1.0 / win->step_m) - (double)win->i0, win->nx, &fx);
    const int j = node_of(-y * (1.0 / win->step_m) - (double)win->j0, win->ny, &fy);
    weights(fx, w[0], d[0]);
    weights(fy, w[1], d[1]);
    return win->v + (size_t)j * (size_t)win->nx + i;
}

static inline float weigh(const float w[4], const float *r)
{
    return w[0] * r[0] + w[1] * r[1] + w[2] * r[2] + w[3] * r[3];
}

float sim_value(const SimWindow *win, double x, double y)
{
    float w[2][4], d[2][4], sum = 0.0f;
    const float *const node = nodes_at(win, x, y, w, d);
    for (int k = 0; k < 4; k++)
        sum += w[1][k] * weigh(w[0], node + k * win->nx);
    return sum;
}

void sim_slope(const SimWindow *win, double x, double y, float slope[2])
{
    float w[2][4], d[2][4], sx = 0.0f, sy = 0.0f;
    const float *const node = nodes_at(win, x, y, w, d);
    for (int k = 0; k < 4; k++) {
        sx += w[1][k] * weigh(d[0], node + k * win->nx);
        sy += d[1][k] * weigh(w[0], node + k * win->nx);
    }
    slope[0] = sx * (float)(1.0 / win->step_m);
    slope[1] = -sy * (float)(1.0 / win->step_m);
}
