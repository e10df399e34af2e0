/* Exact camera -> lattice of map positions at three heights, and back by iteration on the lattice. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

enum { EDGE = 3, HEIGHTS = 3, PER_NODE = 6 }; /* nodes outside the image; heights; numbers a node */

static double node_px(int i)
{
    return (double)(i - EDGE) * SIM_LATTICE;
}

/* Map positions of a row's n nodes at one height: n times x, n times y. */
static SdmStatus project(const SimScene *sc, const SimCamera *cam, int n, double row, double h, double *xy)
{
    double *const x = xy, *const y = xy + n;
    for (int i = 0; i < n; i++) {
        double from[3], dir[3], hit[3], height;
        sim_ray(cam, node_px(i), row, from, dir);
        sim_ray_at_height(from, dir, h, hit);
        sim_to_geodetic(hit, &x[i], &y[i], &height);
    }
    if (!OCTTransform(sc->to_map, n, x, y, NULL))
        return sdm_fail(sc->ctx, SDM_ERR_DATA, "a ray of the simulated view %g does not meet the map", row);
    return SDM_OK;
}

/* Three positions at s = -1, 0, 1 -> polynomial in s. */
static void to_polynomial(const double at[HEIGHTS], double out[3])
{
    out[0] = at[1];
    out[1] = 0.5 * (at[2] - at[0]);
    out[2] = 0.5 * (at[2] + at[0]) - at[1];
}

static SdmStatus lattice_line(const SimScene *sc, const SimView *view, int j, double *xy)
{
    const SimLattice *const lat = &view->lattice;
    const size_t n = (size_t)lat->nx;
    for (int k = 0; k < HEIGHTS; k++)
        PASS(project(sc, &view->cam, lat->nx, node_px(j), lat->h_mid + (k - 1) * lat->h_half,
                     xy + (size_t)(2 * k) * n));
    for (size_t i = 0; i < n; i++) {
        double *const out = lat->node + ((size_t)j * n + i) * PER_NODE;
        to_polynomial((double[]){xy[i], xy[i + 2 * n], xy[i + 4 * n]}, out);
        to_polynomial((double[]){xy[i + n], xy[i + 3 * n], xy[i + 5 * n]}, out + 3);
    }
    return SDM_OK;
}

SdmStatus sim_lattice_open(SimScene *sc, SimView *view)
{
    SimLattice *const lat = &view->lattice;
    SDM_OWNED double *xy = NULL;
    lat->nx = view->cam.width / SIM_LATTICE + 2 * EDGE + 2;
    lat->ny = view->cam.height / SIM_LATTICE + 2 * EDGE + 2;
    lat->h_mid = 0.5 * (sc->h_lo + sc->h_hi);
    lat->h_half = 0.5 * (sc->h_hi - sc->h_lo);
    PASS(SDM_ALLOC(sc->ctx, "lattice", SDM_ARRAY(lat->node, (size_t)lat->nx * (size_t)lat->ny * PER_NODE),
                   SDM_ARRAY(xy, (size_t)lat->nx * 2 * HEIGHTS)));
    for (int j = 0; j < lat->ny; j++)
        PASS(lattice_line(sc, view, j, xy));
    return SDM_OK;
}

/* First of the four nodes around a pixel and their cubic (Lagrange) weights. */
static int cubic(double px, int n, double w[4])
{
    const double t = px / SIM_LATTICE + EDGE;
    int i = (int)floor(t);
    i = i < 1 ? 1 : i > n - 3 ? n - 3 : i;
    const double f = t - i;
    w[0] = -f * (f - 1.0) * (f - 2.0) / 6.0;
    w[1] = (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0;
    w[2] = -(f + 1.0) * f * (f - 2.0) / 2.0;
    w[3] = (f + 1.0) * f * (f - 1.0) / 6.0;
    return i - 1;
}

/* Weighted sum of four arrays of n numbers that begin `pitch` apart. */
static inline void blend(const double w[4], const double *a, size_t pitch, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = w[0] * a[i] + w[1] * a[i + pitch] + w[2] * a[i + 2 * pitch] + w[3] * a[i + 3 * pitch];
}

void sim_lattice_row(const SimLattice *lat, double row, double *out)
{
    double w[4];
    const size_t n = (size_t)lat->nx * PER_NODE, j = (size_t)cubic(row, lat->ny, w);
    blend(w, lat->node + j * n, n, n, out);
}

void sim_lattice_ray(const SimLattice *lat, const double *row, double col, SimRay *ray)
{
    double w[4];
    const size_t i = (size_t)cubic(col, lat->nx, w);
    blend(w, row + i * PER_NODE, PER_NODE, PER_NODE, ray->c);
}

void sim_ray_xy(const SimLattice *lat, const SimRay *ray, double h, double *x, double *y)
{
    const double s = (h - lat->h_mid) / lat->h_half;
    *x = ray->c[0] + s * (ray->c[1] + s * ray->c[2]);
    *y = ray->c[3] + s * (ray->c[4] + s * ray->c[5]);
}

void sim_ray_lean(const SimLattice *lat, const SimRay *ray, double h, double lean[2])
{
    const double s = (h - lat->h_mid) / lat->h_half;
    lean[0] = (ray->c[1] + 2.0 * s * ray->c[2]) / lat->h_half;
    lean[1] = (ray->c[4] + 2.0 * s * ray->c[5]) / lat->h_half;
}

void sim_lattice_at(const SimLattice *lat, double col, double row, SimRay *ray)
{
    double wx[4], wy[4], rows[4 * PER_NODE];
    const size_t j = (size_t)cubic(row, lat->ny, wy), i = (size_t)cubic(col, lat->nx, wx);
    const size_t n = (size_t)lat->nx * PER_NODE;
    blend(wy, lat->node + j * n + i * PER_NODE, n, 4 * PER_NODE, rows);
    blend(wx, rows, PER_NODE, PER_NODE, ray->c);
}

void sim_lattice_xy(const SimLattice *lat, double col, double row, double h, double *x, double *y)
{
    SimRay ray;
    sim_lattice_at(lat, col, row, &ray);
    sim_ray_xy(lat, &ray, h, x, y);
}

void sim_lattice_find(const SimLattice *lat, double x, double y, double h, double *col, double *row)
{
    double x0, y0, xc, yc, xr, yr;
    sim_lattice_xy(lat, *col, *row, h, &x0, &y0);
    sim_lattice_xy(lat, *col + 1.0, *row, h, &xc, &yc);
    sim_lattice_xy(lat, *col, *row + 1.0, h, &xr, &yr);
    const double a = xc - x0, b = xr - x0, c = yc - y0, d = yr - y0, det = a * d - b * c;
    for (int k = 0; k < 12; k++) {
        const double ex = x - x0, ey = y - y0;
        const double dc = (d * ex - b * ey) / det, dr = (a * ey - c * ex) / det;
        *col += dc;
        *row += dr;
        if (fabs(dc) + fabs(dr) < 1e-4)
            break;
        sim_lattice_xy(lat, *col, *row, h, &x0, &y0);
    }
}

SimBox sim_lattice_box(const SimLattice *lat, const double px[4], double h0, double h1)
{
    SimBox box = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    const int n = 8; /* the border is nearly straight: nine points a side */
    for (int k = 0; k < (n + 1) * (n + 1); k++) {
        const double col = px[0] + (px[2] - px[0]) * (k % (n + 1)) / n;
        const double row = px[1] + (px[3] - px[1]) * (k / (n + 1)) / n;
        for (int e = 0; e < 2; e++) {
            double x, y;
            sim_lattice_xy(lat, col, row, e ? h1 : h0, &x, &y);
            box = (SimBox){fmin(box.x0, x), fmin(box.y0, y), fmax(box.x1, x), fmax(box.y1, y)};
        }
    }
    return box;
}
