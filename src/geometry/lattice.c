/* Stage 3: rows of lattice cells for the warp, in single floats of a fixed order, relative to the cell. */
// SPDX-License-Identifier: Apache-2.0
#include "geometry/lattice.h"
#include "core/math.h"
#include "core/vector_loops.h"

#include <math.h>

void sdm_lattice_free(SdmLattice *lat)
{
    SDM_FREE(&lat->node, &lat->sample);
}

size_t sdm_row_cells_bytes(int width)
{
    const size_t n = ((size_t)width + 31) / 16 * 16;
    return (n + 16) *
           (sizeof(SdmWarpCell) + sizeof(SdmCellCorners) + 2 * sizeof(int32_t) + 6 * sizeof(float));
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
    r->corner_du_dh = (float *)(void *)(r->column + n);
    r->key = (SdmRowKey){.node = NULL};
    r->count = 0;
}

/* Corners of a cell, relative to the level's pixel in which the first one lies. */
static void find_corners(const SdmNode *n0, int nu, enum SdmSide side, int level, SdmCellCorners *out)
{
    for (int axis = 0; axis < 2; axis++) {
        const int64_t first = side == SDM_LEFT ? n0->left[axis] : n0->right[axis];
        const int64_t origin = first >> (16 + level),
                      base = origin * ((int64_t)65536 << level); /* rounded down */
        out->origin[axis] = (int32_t)origin;
        for (int right = 0; right < 2; right++) {
            const SdmNode *const n[2] = {n0 + right, n0 + nu + right};
            float at[2][4] = {{0.0f}};
            for (int low = 0; low < 2; low++) {
                const int64_t p = side == SDM_LEFT ? n[low]->left[axis] : n[low]->right[axis];
                at[low][0] = (float)(p - base) * (float)(1.0 / SDM_FIX);
                at[low][1] = side == SDM_LEFT ? 0.0f : n[low]->right_b[axis];
                at[low][2] = side == SDM_LEFT ? 0.0f : n[low]->right_c[axis];
            }
            for (int k = 0; k < 4; k++) {
                out->top[right][4 * axis + k] = at[0][k];
                out->delta[right][4 * axis + k] = at[1][k] - at[0][k];
            }
        }
    }
}

/* Both axes of each cell: interpolate between the upper and the lower nodes.  inv: level pixels for one of
 * full resolution. */
SDM_VECTOR_LOOPS static void fill_cells(const SdmCellCorners *restrict corners, int count, float fv,
                                        float inv, SdmWarpCell *restrict cells)
{
    static const float centre[8] = {0.5f, [4] = 0.5f}; /* positions count from the pixel's centre */
    const float scale = 256.0f * inv;
    for (int c = 0; c < count; c++) {
        const SdmCellCorners *const in = &corners[c];
        SdmWarpCell *const out = &cells[c];
        out->origin_col = in->origin[0];
        out->origin_row = in->origin[1];
#pragma omp simd /* the compiler would rather write the eight out */
        for (int k = 0; k < 8; k++) {
            const float a0 = in->top[0][k] + fv * in->delta[0][k], a1 = in->top[1][k] + fv * in->delta[1][k];
            out->begin[k] = (a0 + centre[k]) * scale - 256.0f * centre[k];
            out->change[k] = (a1 - a0) * scale;
        }
    }
}

/* du/dh at the pixels of the cells, interpolated between the sides of each. */
SDM_VECTOR_LOOPS static void fill_du_dh(const SdmRowCells *r, float fv, float inv)
{
    const float *restrict const fraction = r->fraction;
    float *restrict const du_dh = r->du_dh;
    for (int c = 0; c < r->count; c++) {
        const float *const corner = r->corner_du_dh + 4 * (size_t)c;
        const float k0 = corner[0] + fv * corner[1], k1 = corner[2] + fv * corner[3], delta = k1 - k0;
        const int first = r->begin[c], end = r->begin[c + 1];
        if (end - first == 16) { /* a whole cell at full resolution */
#pragma omp simd                 /* the compiler would rather write the sixteen out */
            for (int i = first; i < first + 16; i++)
                du_dh[i] = (k0 + fraction[i] * delta) * inv;
        } else {
            for (int i = first; i < end; i++)
                du_dh[i] = (k0 + fraction[i] * delta) * inv;
        }
    }
}

/* The columns of each cell, and their place in it: the same for every row of a window. */
static void find_columns(const SdmLattice *lat, const SdmWindow *win, SdmRowCells *r)
{
    const int l = win->level, stride = 2 << l;
    const float inv_step = 1.0f / (float)lat->step;
    r->count = 0;
    for (int i = 0; i < win->w;) {
        const int64_t u2 = (2 * (win->u0 + i) + 1) * ((int64_t)1 << l) - 1 - 2 * lat->u0;
        const int64_t ic = sdm_floor_div(u2, 2 * lat->step);
        /* the pixels of the cell lie before the next node; positions are doubled */
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
    const int64_t jc = sdm_floor_div(v2, 2 * lat->step);
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
    for (int k = 0; r->du_dh && !corners && k < 2 * r->count; k++) {
        const SdmNode *const n = row_nodes + r->column[k / 2] + k % 2;
        r->corner_du_dh[2 * k] = n->du_dh;
        r->corner_du_dh[2 * k + 1] = n[lat->nu].du_dh - n->du_dh;
    }
    for (int c = 0; r->cells && !corners && c < r->count; c++)
        find_corners(row_nodes + r->column[c], lat->nu, side, l, &r->corners[c]);
    if (r->cells)
        fill_cells(r->corners, r->count, fv, inv, r->cells);
    if (r->du_dh)
        fill_du_dh(r, fv, inv);
}

/* The axis of a node's position in an image, px, at height0 + t. */
static double position(const SdmNode *n, enum SdmSide side, int axis, double t)
{
    return side == SDM_LEFT ? (double)n->left[axis] / SDM_FIX
                            : (double)n->right[axis] / SDM_FIX +
                                  t * ((double)n->right_b[axis] + t * (double)n->right_c[axis]);
}

void sdm_lattice_bounds(const SdmLattice *lat, const SdmWindow *win, enum SdmSide side, double hmin_m,
                        double hmax_m, int margin, int64_t bounds[4])
{
    const int64_t size = (int64_t)1 << win->level;
    const int64_t i0 = sdm_floor_div(win->u0 * size - lat->u0, lat->step);
    const int64_t i1 = sdm_floor_div((win->u0 + win->w) * size - lat->u0, lat->step) + 1;
    const int64_t j0 = sdm_floor_div(win->v0 * size - lat->v0, lat->step);
    const int64_t j1 = sdm_floor_div((win->v0 + win->h) * size - lat->v0, lat->step) + 1;
    double b[4] = SDM_NO_BOUNDS;
    for (int64_t j = j0 < 0 ? 0 : j0; j <= j1 && j < lat->nv; j++)
        for (int64_t i = i0 < 0 ? 0 : i0; i <= i1 && i < lat->nu; i++) {
            const SdmNode *const n = &lat->node[j * lat->nu + i];
            for (int k = 0; k < (side == SDM_LEFT ? 1 : 2); k++) {
                const double t = (k ? hmax_m : hmin_m) - lat->height0_m;
                sdm_bounds_add(b, position(n, side, 0, t), position(n, side, 1, t));
            }
        }
    for (int a = 0; a < 2; a++) {
        bounds[a] = (int64_t)floor(b[a]) - margin;
        bounds[2 + a] = (int64_t)ceil(b[2 + a]) + 1 + margin;
    }
}

/* Interpolate in the cell of a position, which is clamped to the lattice: the axis of an image, or, side 2,
 * of the ground. */
static double interpolate(const SdmLattice *lat, double u, double v, double h_m, int side, int axis)
{
    const double x = (u - (double)lat->u0) / lat->step, y = (v - (double)lat->v0) / lat->step;
    const int i = (int)fmin(fmax(floor(x), 0.0), lat->nu - 2.0),
              j = (int)fmin(fmax(floor(y), 0.0), lat->nv - 2.0);
    const double t = h_m - lat->height0_m;
    double c[4];
    for (int k = 0; k < 4; k++) {
        const SdmNode *const n = lat->node + (size_t)(j + k / 2) * (size_t)lat->nu + (size_t)(i + k % 2);
        c[k] = side < 2 ? position(n, (enum SdmSide)side, axis, t)
                        : n->ground[axis] + t * ((double)n->ground_b[axis] + t * (double)n->ground_c[axis]);
    }
    const double top = c[0] + (x - i) * (c[1] - c[0]), low = c[2] + (x - i) * (c[3] - c[2]);
    return top + (y - j) * (low - top);
}

void sdm_lattice_right(const SdmLattice *lat, double u, double v, double h_m, double right[2])
{
    for (int a = 0; a < 2; a++)
        right[lat->turned[SDM_RIGHT] ? 1 - a : a] = interpolate(lat, u, v, h_m, SDM_RIGHT, a);
}

void sdm_lattice_left(const SdmLattice *lat, double u, double v, double left[2])
{
    for (int a = 0; a < 2; a++)
        left[lat->turned[SDM_LEFT] ? 1 - a : a] = interpolate(lat, u, v, lat->height0_m, SDM_LEFT, a);
}

void sdm_lattice_ground(const SdmLattice *lat, double u, double v, double h_m, double ground[2])
{
    for (int a = 0; a < 2; a++)
        ground[a] = interpolate(lat, u, v, h_m, 2, a);
}
