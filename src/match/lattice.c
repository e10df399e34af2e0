/* Stage 3: rows of lattice cells for the warp; all in single floats of a fixed order, relative to the cell.
 */
// SPDX-License-Identifier: Apache-2.0
#include "match/lattice.h"

#include <math.h>

void sdm_lattice_free(SdmLattice *lat)
{
    sdm_free(&lat->node);
}

size_t sdm_row_cells_bytes(int width)
{
    const size_t n = ((size_t)width + 31) / 16 * 16;
    return (n + 16) *
           (sizeof(SdmWarpCell) + sizeof(SdmCellCorners) + 2 * sizeof(int32_t) + 2 * sizeof(float));
}

void sdm_row_cells_cut(SdmRowCells *r, void *scratch, int width)
{
    const size_t n = ((size_t)width + 31) / 16 * 16 + 16;
    r->cells = scratch;
    r->begin = (int32_t *)(void *)(r->cells + n);
    r->fraction = (float *)(void *)(r->begin + n);
    r->du_dh = r->fraction + n;
    r->corners = (SdmCellCorners *)(void *)(r->du_dh + n);
    r->column = (int32_t *)(void *)(r->corners + n);
    r->key = (SdmRowKey){.node = NULL};
    r->count = 0;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Corners of a cell, from the level's pixel in which the first one lies. */
static void find_corners(const SdmNode *n0, int nu, enum SdmSide side, int level, SdmCellCorners *out)
{
    const SdmNode *const corner[4] = {n0, n0 + 1, n0 + nu, n0 + nu + 1};
    for (int axis = 0; axis < 2; axis++) {
        const int64_t first = side == SDM_LEFT ? n0->left[axis] : n0->right[axis];
        const int64_t origin = first >> (16 + level),
                      base = origin * ((int64_t)65536 << level); /* rounded down */
        out->origin[axis] = (int32_t)origin;
        for (int i = 0; i < 4; i++) {
            const int64_t p = side == SDM_LEFT ? corner[i]->left[axis] : corner[i]->right[axis];
            out->at[axis][i] = (float)(p - base) * (float)(1.0 / SDM_FIX);
        }
    }
}

/* One axis of one cell: interpolate the nodes above and below in v; the level's pixels. */
static void cell_axis(const SdmNode *n00, const SdmNode *n10, enum SdmSide side, int axis, float fv,
                      const float a[4], float inv, float out[6])
{
    const float a0 = a[0] + fv * (a[2] - a[0]), a1 = a[1] + fv * (a[3] - a[1]);
    out[0] = (a0 + 0.5f) * inv - 0.5f;
    out[1] = (a1 - a0) * inv;
    out[2] = out[3] = out[4] = out[5] = 0.0f;
    if (side == SDM_LEFT)
        return;
    const float b0 = n00->right_b[axis] + fv * (n10->right_b[axis] - n00->right_b[axis]);
    const float b1 = n00[1].right_b[axis] + fv * (n10[1].right_b[axis] - n00[1].right_b[axis]);
    const float c0 = n00->right_c[axis] + fv * (n10->right_c[axis] - n00->right_c[axis]);
    const float c1 = n00[1].right_c[axis] + fv * (n10[1].right_c[axis] - n00[1].right_c[axis]);
    out[2] = b0 * inv;
    out[3] = (b1 - b0) * inv;
    out[4] = c0 * inv;
    out[5] = (c1 - c0) * inv;
}

static void fill_cell(const SdmNode *n0, int nu, enum SdmSide side, float fv, float inv,
                      const SdmCellCorners *c, SdmWarpCell *cell)
{
    cell->origin_col = c->origin[0];
    cell->origin_row = c->origin[1];
    cell_axis(n0, n0 + nu, side, 0, fv, c->at[0], inv, cell->col);
    cell_axis(n0, n0 + nu, side, 1, fv, c->at[1], inv, cell->row);
}

/* Which columns each cell has, and where they lie in it: the same for every row of a window. */
static void find_columns(const SdmLattice *lat, const SdmWindow *win, SdmRowCells *r)
{
    const int l = win->level, stride = 2 << l;
    const float inv_step = 1.0f / (float)lat->step;
    r->count = 0;
    for (int i = 0; i < win->w;) {
        const int64_t u2 = (2 * (win->u0 + i) + 1) * ((int64_t)1 << l) - 1 - 2 * lat->u0;
        const int64_t ic = floor_div(u2, 2 * lat->step);
        /* the cell's pixels: those before twice the position of the next node */
        const int first = (int)(u2 - ic * 2 * lat->step);
        const int64_t in_cell = (2 * lat->step - first + stride - 1) / stride;
        const int count = in_cell < win->w - i ? (int)in_cell : win->w - i;
        r->column[r->count] = (int32_t)ic;
        r->begin[r->count++] = i;
        for (int k = 0; k < count; k++)
            r->fraction[i + k] = (float)(first + k * stride) * 0.5f * inv_step;
        i += count;
    }
    r->begin[r->count] = win->w;
}

void sdm_lattice_row(const SdmLattice *lat, const SdmWindow *win, int j, enum SdmSide side, SdmRowCells *r)
{
    const int l = win->level;
    const float inv = 1.0f / (float)(1 << l), inv_step = 1.0f / (float)lat->step;
    /* twice the full-resolution position, so that half pixels stay integers */
    const int64_t v2 = (2 * (win->v0 + j) + 1) * ((int64_t)1 << l) - 1 - 2 * lat->v0;
    const int64_t jc = floor_div(v2, 2 * lat->step);
    const float fv = (float)(v2 - jc * 2 * lat->step) * 0.5f * inv_step;
    const SdmNode *const row_nodes = lat->node + jc * lat->nu;
    const SdmRowKey key = {.node = lat->node,
                           .row = row_nodes,
                           .u0 = win->u0,
                           .lattice_u0 = lat->u0,
                           .step = lat->step,
                           .level = l,
                           .w = win->w,
                           .side = (int)side};
    const bool columns = r->key.node == key.node && r->key.u0 == key.u0 &&
                         r->key.lattice_u0 == key.lattice_u0 && r->key.step == key.step &&
                         r->key.level == l && r->key.w == key.w;
    const bool corners = columns && r->key.row == key.row && r->key.side == key.side;
    if (!columns)
        find_columns(lat, win, r);
    r->key = key;
    for (int c = 0; c < r->count; c++) {
        const SdmNode *const n0 = row_nodes + r->column[c];
        if (r->cells && !corners)
            find_corners(n0, lat->nu, side, l, &r->corners[c]);
        if (r->cells)
            fill_cell(n0, lat->nu, side, fv, inv, &r->corners[c], &r->cells[c]);
        if (r->du_dh) {
            const float k0 = n0->du_dh + fv * (n0[lat->nu].du_dh - n0->du_dh);
            const float k1 = n0[1].du_dh + fv * (n0[lat->nu + 1].du_dh - n0[1].du_dh);
            float *restrict const du_dh = r->du_dh;
            for (int i = r->begin[c]; i < r->begin[c + 1]; i++)
                du_dh[i] = (k0 + r->fraction[i] * (k1 - k0)) * inv;
        }
    }
}

void sdm_lattice_bounds(const SdmLattice *lat, const SdmWindow *win, enum SdmSide side, double hmin_m,
                        double hmax_m, int margin, int64_t bounds[4])
{
    const int64_t size = (int64_t)1 << win->level;
    const int64_t i0 = floor_div(win->u0 * size - lat->u0, lat->step);
    const int64_t i1 = floor_div((win->u0 + win->w) * size - lat->u0, lat->step) + 1;
    const int64_t j0 = floor_div(win->v0 * size - lat->v0, lat->step);
    const int64_t j1 = floor_div((win->v0 + win->h) * size - lat->v0, lat->step) + 1;
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    for (int64_t j = j0 < 0 ? 0 : j0; j <= j1 && j < lat->nv; j++)
        for (int64_t i = i0 < 0 ? 0 : i0; i <= i1 && i < lat->nu; i++) {
            const SdmNode *const n = &lat->node[j * lat->nu + i];
            for (int k = 0; k < (side == SDM_LEFT ? 1 : 2); k++)
                for (int a = 0; a < 2; a++) {
                    const double t = (k ? hmax_m : hmin_m) - lat->height0_m;
                    const double p = side == SDM_LEFT
                                         ? (double)n->left[a] / SDM_FIX
                                         : (double)n->right[a] / SDM_FIX +
                                               t * ((double)n->right_b[a] + t * (double)n->right_c[a]);
                    lo[a] = fmin(lo[a], p);
                    hi[a] = fmax(hi[a], p);
                }
        }
    for (int a = 0; a < 2; a++) {
        bounds[a] = (int64_t)floor(lo[a]) - margin;
        bounds[2 + a] = (int64_t)ceil(hi[a]) + 1 + margin;
    }
}

/* The cell of a position, cut to the lattice; f: 0..1 across it. */
static const SdmNode *cell_of(const SdmLattice *lat, double u, double v, double f[2])
{
    const double x = (u - (double)lat->u0) / lat->step, y = (v - (double)lat->v0) / lat->step;
    const int i = (int)fmin(fmax(floor(x), 0.0), lat->nu - 2.0),
              j = (int)fmin(fmax(floor(y), 0.0), lat->nv - 2.0);
    f[0] = x - i;
    f[1] = y - j;
    return lat->node + (size_t)j * (size_t)lat->nu + (size_t)i;
}

static double bilinear(const double c[4], const double f[2])
{
    const double top = c[0] + f[0] * (c[1] - c[0]), low = c[2] + f[0] * (c[3] - c[2]);
    return top + f[1] * (low - top);
}

void sdm_lattice_right(const SdmLattice *lat, double u, double v, double h_m, double right[2])
{
    double f[2], c[4];
    const SdmNode *const n = cell_of(lat, u, v, f), *const at[4] = {n, n + 1, n + lat->nu, n + lat->nu + 1};
    const double t = h_m - lat->height0_m;
    for (int a = 0; a < 2; a++) {
        for (int k = 0; k < 4; k++)
            c[k] = (double)at[k]->right[a] / SDM_FIX +
                   t * ((double)at[k]->right_b[a] + t * (double)at[k]->right_c[a]);
        right[a] = bilinear(c, f);
    }
}

void sdm_lattice_left(const SdmLattice *lat, double u, double v, double left[2])
{
    double f[2], c[4];
    const SdmNode *const n = cell_of(lat, u, v, f), *const at[4] = {n, n + 1, n + lat->nu, n + lat->nu + 1};
    for (int a = 0; a < 2; a++) {
        for (int k = 0; k < 4; k++)
            c[k] = (double)at[k]->left[a] / SDM_FIX;
        left[a] = bilinear(c, f);
    }
}

void sdm_lattice_ground(const SdmLattice *lat, double u, double v, double h_m, double ground[2])
{
    double f[2], c[4];
    const SdmNode *const n = cell_of(lat, u, v, f), *const at[4] = {n, n + 1, n + lat->nu, n + lat->nu + 1};
    const double t = h_m - lat->height0_m;
    for (int a = 0; a < 2; a++) {
        for (int k = 0; k < 4; k++)
            c[k] = at[k]->ground[a] + t * ((double)at[k]->ground_b[a] + t * (double)at[k]->ground_c[a]);
        ground[a] = bilinear(c, f);
    }
}
