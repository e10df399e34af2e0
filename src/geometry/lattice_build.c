/* Stage 3: sample the cameras on the nodes of the lattice. */
// SPDX-License-Identifier: Apache-2.0
#include "core/math.h"
#include "geo/geodesy.h"
#include "geometry/epipolar_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEIGHTS = 3 };

/* Scratch of one row of nodes. */
typedef struct NodeRow {
    bool again;       /* the cameras have been asked: the lattice has what they said */
    double about_deg; /* x of the scene's centre in a geographic CRS; NaN: of another CRS */
    double *at0;      /* n x 3 ground at h0 */
    double *left;     /* n x 2 */
    double *ray;      /* n x 3 (col, row, h) */
    double *ground;   /* HEIGHTS x n x 3 */
    double *right;    /* HEIGHTS x n x 2 */
    double *x, *y;    /* HEIGHTS x n: the ground on the map */
} NodeRow;

static SdmStatus row_alloc(SdmContext *ctx, size_t n, NodeRow *r)
{
    return SDM_ALLOC(ctx, "lattice nodes", SDM_ARRAY(r->at0, 3 * n), SDM_ARRAY(r->left, 2 * n),
                     SDM_ARRAY(r->ray, 3 * n), SDM_ARRAY(r->ground, HEIGHTS * 3 * n),
                     SDM_ARRAY(r->right, HEIGHTS * 2 * n), SDM_ARRAY(r->x, HEIGHTS * n),
                     SDM_ARRAY(r->y, HEIGHTS * n));
}

/* Height of a surface at a frame position, bilinear, continued outside. */
static double surface_at(const SdmSurface *s, double u, double v)
{
    const double size = (double)(1 << s->win.level);
    const double x = fmin(fmax((u + 0.5) / size - 0.5 - (double)s->win.u0, 0.0), s->win.w - 1.0),
                 y = fmin(fmax((v + 0.5) / size - 0.5 - (double)s->win.v0, 0.0), s->win.h - 1.0);
    const int i = (int)x, j = (int)y, ni = i + 1 < s->win.w ? 1 : 0, nj = j + 1 < s->win.h ? s->win.w : 0;
    const float *const h = s->h_m + (size_t)j * (size_t)s->win.w + (size_t)i;
    const double top = (double)h[0] + (x - i) * ((double)h[ni] - (double)h[0]),
                 low = (double)h[nj] + (x - i) * ((double)h[nj + ni] - (double)h[nj]);
    return top + (y - j) * (low - top);
}

/* Add the correction along the lines to the right positions of a node, which are given at the heights h. */
static void along_shift(const SdmLatticeRequest *q, double u, double v, const double left[2],
                        const double h[HEIGHTS], const double *const right[HEIGHTS], double shift[2])
{
    const double a = h[2] - h[1], t = q->surface ? surface_at(q->surface, u, v) - h[1] : 0.0;
    double at[2], change[2];
    for (int k = 0; k < 2; k++) {
        const double slope = (right[2][k] - right[0][k]) / (2.0 * a),
                     bend = (right[2][k] - 2.0 * right[1][k] + right[0][k]) / (2.0 * a * a);
        at[k] = right[1][k] + t * (slope + t * bend);
        change[k] = slope;
    }
    const double f = sdm_along_value(q->along, q->pointing, at, left[1]) / hypot(change[0], change[1]);
    shift[0] = f * change[0];
    shift[1] = f * change[1];
}

/* Degrees of longitude and latitude that the correction moves the ground by, at a latitude. */
static void ground_shift(const SdmAlongCorrection *a, double lat_deg, double *lon_deg, double *lat_shift_deg)
{
    const double e2 = SDM_WGS84_F * (2.0 - SDM_WGS84_F), s = sin(lat_deg * SDM_DEG), w = 1.0 - e2 * s * s;
    *lon_deg = a->east_m * sqrt(w) / (SDM_WGS84_A * fmax(cos(lat_deg * SDM_DEG), 1e-6)) / SDM_DEG;
    *lat_shift_deg = a->north_m * w * sqrt(w) / (SDM_WGS84_A * (1.0 - e2)) / SDM_DEG;
}

/* Apply the correction along the lines to a row of nodes. */
static void correct_row(const SdmLatticeRequest *q, const SdmLattice *lat, int j, NodeRow *r)
{
    const size_t n = (size_t)lat->nu;
    const double h[HEIGHTS] = {lat->hmin_m, lat->height0_m, lat->hmax_m};
    for (size_t i = 0; i < n; i++) {
        double *const right[HEIGHTS] = {r->right + 2 * i, r->right + 2 * (n + i), r->right + 2 * (2 * n + i)};
        double shift[2];
        along_shift(q, (double)(lat->u0 + (int64_t)i * lat->step), (double)(lat->v0 + (int64_t)j * lat->step),
                    r->left + 2 * i, h, (const double *const *)right, shift);
        for (int k = 0; k < HEIGHTS; k++) {
            double *const g = r->ground + 3 * (n * (size_t)k + i);
            double lon_deg, lat_deg;
            right[k][0] += shift[0];
            right[k][1] += shift[1];
            ground_shift(q->along, g[1], &lon_deg, &lat_deg);
            g[0] += lon_deg;
            g[1] += lat_deg;
        }
    }
}

/* Positions of a row of nodes by the cameras. */
static void sample_row(const SdmLatticeRequest *q, const SdmLattice *lat, int j, NodeRow *r)
{
    const size_t n = (size_t)lat->nu;
    const double h[HEIGHTS] = {lat->hmin_m, lat->height0_m, lat->hmax_m};
    for (size_t i = 0; i < n; i++) {
        sdm_frame_ground(q->frame, (double)(lat->u0 + (int64_t)i * lat->step),
                         (double)(lat->v0 + (int64_t)j * lat->step), &r->at0[3 * i], &r->at0[3 * i + 1]);
        r->at0[3 * i + 2] = q->frame->h0_m;
    }
    sdm_camera_project(q->scene->view[0].camera, n, r->at0, r->left);
    for (int k = 0; k < HEIGHTS; k++) {
        for (size_t i = 0; i < n; i++) {
            r->ray[3 * i] = r->left[2 * i];
            r->ray[3 * i + 1] = r->left[2 * i + 1];
            r->ray[3 * i + 2] = h[k];
        }
        double *const g = r->ground + 3 * n * (size_t)k, *const at = r->right + 2 * n * (size_t)k;
        sdm_camera_locate(q->scene->view[0].camera, n, r->ray, g);
        sdm_camera_project(q->scene->view[1].camera, n, g, at);
    }
}

/* The same from what was kept, or into it.  Left and right positions lie one after the other. */
static void keep_row(const SdmLattice *lat, int j, NodeRow *r)
{
    const size_t n = SDM_NODE_SAMPLES * (size_t)lat->nu;
    double *const kept = lat->sample + n * (size_t)j, *const left = r->left, *const right = r->right;
    const size_t first = 2 * (size_t)lat->nu;
    memcpy(r->again ? left : kept, r->again ? kept : left, first * sizeof *kept);
    memcpy(r->again ? right : kept + first, r->again ? kept + first : right, (n - first) * sizeof *kept);
}

/* Positions of a row of nodes, with the corrections. */
static void place_row(const SdmLatticeRequest *q, const SdmLattice *lat, int j, NodeRow *r)
{
    if (!r->again)
        sample_row(q, lat, j, r);
    if (lat->sample)
        keep_row(lat, j, r);
    if (q->pointing)
        sdm_pointing_apply(q->pointing, HEIGHTS * (size_t)lat->nu, r->right);
    if (q->along)
        correct_row(q, lat, j, r);
}

/* Second-degree differences over t = h - h0 of three samples at -a, 0, +a. */
static void differences(double lo, double mid, double hi, double a, float *b, float *c)
{
    *b = (float)((hi - lo) / (2.0 * a));
    *c = (float)((hi - 2.0 * mid + lo) / (2.0 * a * a));
}

static bool fill_node(const SdmLattice *lat, const NodeRow *r, size_t i, SdmNode *out)
{
    const size_t n = (size_t)lat->nu;
    const double a = 0.5 * (lat->hmax_m - lat->hmin_m);
    for (int k = 0; k < 2; k++) {
        const double lo = r->right[2 * i + (size_t)k], mid = r->right[2 * n + 2 * i + (size_t)k];
        const double hi = r->right[4 * n + 2 * i + (size_t)k], l = r->left[2 * i + (size_t)k];
        if (!isfinite(lo + mid + hi + l) || fabs(mid) > 1e9 || fabs(l) > 1e9)
            return false;
        const int left = lat->turned[SDM_LEFT] ? 1 - k : k, right = lat->turned[SDM_RIGHT] ? 1 - k : k;
        out->left[left] = llrint(l * SDM_FIX);
        out->right[right] = llrint(mid * SDM_FIX);
        differences(lo, mid, hi, a, &out->right_b[right], &out->right_c[right]);
    }
    const double *const gx = r->x + i, *const gy = r->y + i;
    out->ground[0] = gx[n];
    out->ground[1] = gy[n];
    differences(gx[0], gx[n], gx[2 * n], a, &out->ground_b[0], &out->ground_c[0]);
    differences(gy[0], gy[n], gy[2 * n], a, &out->ground_b[1], &out->ground_c[1]);
    return true;
}

/* du/dh: the part of the right position's change with height that lies along its change with u. */
static void set_du_dh(SdmLattice *lat)
{
    for (int j = 0; j < lat->nv; j++)
        for (int i = 0; i < lat->nu; i++) {
            SdmNode *const n = &lat->node[(size_t)j * (size_t)lat->nu + (size_t)i];
            const SdmNode *const a = i > 0 ? n - 1 : n, *const b = i + 1 < lat->nu ? n + 1 : n;
            const double span = (double)lat->step * (double)(b - a) * SDM_FIX;
            const double c = (double)(b->right[0] - a->right[0]) / span,
                         r = (double)(b->right[1] - a->right[1]) / span;
            const double k = ((double)n->right_b[0] * c + (double)n->right_b[1] * r) / (c * c + r * r);
            n->du_dh = (float)k;
        }
}

/* "pixel COL, ROW of NAME", or "no pixel of NAME". */
static void describe_pixel(const char *name, const double at[2], char *out, size_t size)
{
    if (isfinite(at[0] + at[1]))
        snprintf(out, size, "pixel %lld, %lld of %s", llrint(at[0]), llrint(at[1]), name);
    else
        snprintf(out, size, "no pixel of %s", name);
}

/* Node i of a row cannot be projected from the left image to the right one: say where, and at which
 * height. */
static SdmStatus fail_node(SdmContext *ctx, const SdmLatticeRequest *q, const SdmLattice *lat, int j,
                           const NodeRow *r, size_t i)
{
    const size_t n = (size_t)lat->nu;
    const double h[HEIGHTS] = {lat->hmin_m, lat->height0_m, lat->hmax_m};
    char left[640], right[640];
    double lon_deg, lat_deg;
    int k = 0;
    sdm_frame_ground(q->frame, (double)(lat->u0 + (int64_t)i * lat->step),
                     (double)(lat->v0 + (int64_t)j * lat->step), &lon_deg, &lat_deg);
    while (k < HEIGHTS - 1 &&
           isfinite(r->right[2 * (n * (size_t)k + i)] + r->right[2 * (n * (size_t)k + i) + 1]))
        k++;
    describe_pixel(q->scene->view[0].name, r->left + 2 * i, left, sizeof left);
    describe_pixel(q->scene->view[1].name, r->right + 2 * (n * (size_t)k + i), right, sizeof right);
    return sdm_fail(
        ctx, SDM_ERR_DATA,
        "the cameras cannot be followed over heights of %.0f to %.0f m: lon %.5f, lat %.5f at %.0f m "
        "is %s and %s; give heights near the terrain with --hmin and --hmax, or images whose cameras belong "
        "to "
        "them",
        lat->hmin_m, lat->hmax_m, lon_deg, lat_deg, h[k], left, right);
}

/* One row of nodes: cameras, then the output CRS. */
static SdmStatus build_row(SdmContext *ctx, const SdmLatticeRequest *q, SdmLattice *lat, int j, NodeRow *r,
                           SdmProjector *proj)
{
    const size_t n = (size_t)lat->nu;
    place_row(q, lat, j, r);
    for (size_t i = 0; proj && i < HEIGHTS * n; i++) {
        r->x[i] = r->ground[3 * i];
        r->y[i] = r->ground[3 * i + 1];
    }
    if (proj)
        sdm_projector_forward(proj, HEIGHTS * n, r->x, r->y);
    for (size_t i = 0; !isnan(r->about_deg) && i < HEIGHTS * n; i++)
        r->x[i] = sdm_longitude_near(r->x[i], r->about_deg);
    for (size_t i = 0; i < n; i++)
        if (!fill_node(lat, r, i, &lat->node[(size_t)j * n + i]))
            return fail_node(ctx, q, lat, j, r, i);
    return SDM_OK;
}

/* The same nodes? */
static bool is_same(const SdmLattice *a, const SdmLattice *b)
{
    return a->u0 == b->u0 && a->v0 == b->v0 && a->step == b->step && a->nu == b->nu && a->nv == b->nv &&
           a->hmin_m == b->hmin_m && a->hmax_m == b->hmax_m;
}

/* Room for the nodes; what the cameras said of the same ones before is taken over: *again.  `before` is
 * freed. */
static SdmStatus open_nodes(SdmContext *ctx, const SdmLatticeRequest *q, SdmLattice *before, SdmLattice *lat,
                            bool *again)
{
    const size_t nodes = (size_t)lat->nu * (size_t)lat->nv;
    *again = before->sample && is_same(before, lat);
    if (*again) {
        lat->sample = before->sample;
        before->sample = NULL;
    }
    sdm_lattice_free(before);
    PASS(sdm_alloc(ctx, &lat->node, nodes, sizeof *lat->node, "the lattice"));
    if (q->again && !*again)
        PASS(sdm_alloc_raw(ctx, &lat->sample, nodes, SDM_NODE_SAMPLES * sizeof(double), "the lattice"));
    return SDM_OK;
}

/* Do the frame's rows run along the columns of a view, at its centre?  Not a matter of the window: the warp
 * rounds along the rows first, and a pixel is the same in all windows. */
static bool runs_down(const SdmLatticeRequest *q, enum SdmSide side)
{
    const SdmFrame *const f = q->frame;
    double at[2][3], px[4];
    for (int k = 0; k < 2; k++) {
        at[k][2] = f->h0_m;
        sdm_frame_ground(f, (double)(f->width / 2 + 16 * k), (double)(f->height / 2), &at[k][0], &at[k][1]);
    }
    sdm_camera_project(q->scene->view[side].camera, 2, at[0], px);
    return fabs(px[3] - px[1]) > fabs(px[2] - px[0]);
}

/* Longitude of the scene's centre in the grid's CRS, from which those of all nodes go on, past 180 degrees,
 * too; NaN: the CRS is not geographic. */
static double centre_x(const SdmLatticeRequest *q, SdmProjector *projector)
{
    double x = q->frame->lon_deg, y = q->frame->lat_deg;
    if (!projector || !q->grid->geographic)
        return NAN;
    sdm_projector_forward(projector, 1, &x, &y);
    return x;
}

SdmStatus sdm_lattice_build(SdmContext *ctx, const SdmLatticeRequest *q, SdmLattice *lat)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *first = NULL;
    SDM_STAGE(ctx, 3);
    SdmLattice before = {.node = NULL};
    bool again = false;
    if (q->again)
        before = *lat;
    *lat = (SdmLattice){.step = q->step,
                        .hmin_m = q->hmin_m,
                        .hmax_m = q->hmax_m,
                        .height0_m = (double)(float)(0.5 * (q->hmin_m + q->hmax_m))};
    for (int side = 0; side < 2; side++)
        lat->turned[side] = q->turn && runs_down(q, (enum SdmSide)side);
    /* one node more on every side: du/dh of a node comes from its neighbours and must not depend on the
     * tile */
    lat->u0 = (sdm_floor_div(q->u0, q->step) - 1) * q->step;
    lat->v0 = (sdm_floor_div(q->v0, q->step) - 1) * q->step;
    lat->nu = (int)(sdm_floor_div(q->u1, q->step) - sdm_floor_div(q->u0, q->step)) + 4;
    lat->nv = (int)(sdm_floor_div(q->v1, q->step) - sdm_floor_div(q->v0, q->step)) + 4;
    PASS(open_nodes(ctx, q, &before, lat, &again));
    if (q->grid)
        PASS(sdm_projector_open(ctx, q->grid->wkt, &first));
    const double about_deg = centre_x(q, first);
    const int threads = sdm_threads(ctx);
    SdmStatus worst = SDM_OK;
#pragma omp parallel num_threads(threads)
    {
        NodeRow r = {.again = again, .about_deg = about_deg};
        SdmProjector *proj = NULL;
        SdmStatus mine = row_alloc(ctx, (size_t)lat->nu, &r);
        if (mine == SDM_OK && first) {
#pragma omp critical(sdm_projector)
            mine = sdm_projector_clone(ctx, first, &proj);
        }
#pragma omp for schedule(dynamic, 4)
        for (int j = 0; j < lat->nv; j++)
            if (mine == SDM_OK)
                mine = build_row(ctx, q, lat, j, &r, proj);
        if (mine != SDM_OK) {
#pragma omp critical(sdm_lattice)
            worst = mine;
        }
        sdm_projector_close(&proj);
        SDM_FREE(&r.at0, &r.left, &r.ray, &r.ground, &r.right, &r.x, &r.y);
    }
    PASS(worst);
    set_du_dh(lat);
    return SDM_OK;
}

/* Is one of the axes of the map cut between two nodes?  Smooth maps spread their extent over all of them. */
static bool is_cut(const SdmLattice *lat)
{
    for (int a = 0; a < 2; a++) {
        double lo = INFINITY, hi = -INFINITY, step = 0.0;
        for (int i = 0; i < lat->nu * lat->nv; i++) {
            const SdmNode *const n = &lat->node[i];
            lo = fmin(lo, n->ground[a]);
            hi = fmax(hi, n->ground[a]);
            if ((i + 1) % lat->nu) /* fmax ignores NaN */
                step = fmax(step, fabs(n[1].ground[a] - n->ground[a]));
            if (i + lat->nu < lat->nu * lat->nv)
                step = fmax(step, fabs(n[lat->nu].ground[a] - n->ground[a]));
        }
        if (step > 0.5 * (hi - lo))
            return true;
    }
    return false;
}

SdmStatus sdm_lattice_check_map(SdmContext *ctx, const SdmLatticeRequest *q, const SdmLattice *lat)
{
    const char *const t_srs = q->scene->options->t_srs;
    char other[128] = "";
    if (!is_cut(lat))
        return SDM_OK;
    if (!q->grid->geographic && fabs(q->frame->lat_deg) < 84.0) /* else polar stereographic alone serves */
        snprintf(other, sizeof other,
                 ", or give EPSG:4326, whose longitudes go on past 180, or a projection about that place "
                 "(+lon_0=%.0f)",
                 q->frame->lon_deg);
    return sdm_fail(ctx, SDM_ERR_USAGE,
                    "--t_srs %s: its map is cut where the scene lies (lon %.3f lat %.3f), so the DEM would "
                    "reach from one end of the map to the other; leave the option out%s",
                    t_srs ? t_srs : "(chosen by the scene)", q->frame->lon_deg, q->frame->lat_deg, other);
}

static bool inside(const SdmView *view, const double at[2])
{
    return at[0] >= 0.0 && at[1] >= 0.0 && at[0] <= (double)(view->image->width - 1) &&
           at[1] <= (double)(view->image->height - 1);
}

/* The right position that the cameras and their correction give for a left position and a height. */
static void exact_right(const SdmLatticeRequest *q, double left[3], double h_m, double right[2])
{
    double g[3];
    left[2] = h_m;
    sdm_camera_locate(q->scene->view[0].camera, 1, left, g);
    sdm_camera_project(q->scene->view[1].camera, 1, g, right);
    if (q->pointing)
        sdm_pointing_apply(q->pointing, 1, right);
}

/* Does a view have no pixels there, by the surface?  Corrections are not known where nothing was matched. */
static bool is_outside(const SdmSurface *s, double u, double v)
{
    if (!s || !s->flags)
        return false;
    const double size = (double)(1 << s->win.level);
    const double x = fmin(fmax((u + 0.5) / size - (double)s->win.u0, 0.0), s->win.w - 1.0),
                 y = fmin(fmax((v + 0.5) / size - (double)s->win.v0, 0.0), s->win.h - 1.0);
    return s->flags[(size_t)y * (size_t)s->win.w + (size_t)x] & SDM_QA_OUTSIDE;
}

double sdm_lattice_error(const SdmLatticeRequest *q, const SdmLattice *lat)
{
    const double range[HEIGHTS] = {lat->hmin_m, lat->height0_m, lat->hmax_m};
    double worst_px = NAN;
    for (int j = 0; j < 7; j++)
        for (int i = 0; i < 7; i++)
            for (int k = 0; k <= 4; k++) {
                const double u = (double)lat->u0 + lat->step * (floor((lat->nu - 1.001) * i / 7.0) + 0.5);
                const double v = (double)lat->v0 + lat->step * (floor((lat->nv - 1.001) * j / 7.0) + 0.5);
                const double h = q->surface ? surface_at(q->surface, u, v) /* else they are not known */
                                            : lat->hmin_m + (lat->hmax_m - lat->hmin_m) * k / 4.0;
                double g[3] = {0, 0, q->frame->h0_m}, ray[3], exact[2], mine[2], at[HEIGHTS][2],
                       shift[2] = {0.0};
                sdm_frame_ground(q->frame, u, v, &g[0], &g[1]);
                sdm_camera_project(q->scene->view[0].camera, 1, g, ray);
                exact_right(q, ray, h, exact);
                for (int m = 0; q->along && m < HEIGHTS; m++)
                    exact_right(q, ray, range[m], at[m]);
                if (q->along)
                    along_shift(q, u, v, ray, range, (const double *const[]){at[0], at[1], at[2]}, shift);
                exact[0] += shift[0];
                exact[1] += shift[1];
                sdm_lattice_right(lat, u, v, h, mine);
                if (inside(&q->scene->view[0], ray) && inside(&q->scene->view[1], exact) &&
                    !is_outside(q->surface, u, v))
                    worst_px = fmax(worst_px, hypot(exact[0] - mine[0], exact[1] - mine[1]));
            }
    return worst_px;
}
