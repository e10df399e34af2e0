/* --bounds and --area -> bounds in the CRS of a grid -> cells of the grid. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/grid_part.h"
#include "core/options.h"
#include "core/qa_reasons.h"
#include "geo/geodesy.h"
#include "geo/outlines.h"

#include <math.h>
#include <ogr_srs_api.h>
#include <string.h>

enum { EDGE_POINTS = 64, STRIP_ROWS = 256 };
static const double SAME_EDGE = 1e-6; /* of a cell: bounds that lie on an edge */

/* ---- bounds ---- */

/* Points along the edges of a box -> the bounds of their images.  inverse: from the CRS to degrees. */
static SdmStatus move_box(SdmContext *ctx, const char *wkt, bool inverse, const double box[4], double out[4])
{
    enum { N = 4 * EDGE_POINTS };
    SdmStatus st = SDM_OK;
    SdmProjector *p = NULL;
    double x[N], y[N];
    TRY(sdm_projector_open(ctx, wkt, &p));
    for (int k = 0; k < N; k++) {
        const double t = (double)(k % EDGE_POINTS) / EDGE_POINTS;
        const double u = k < N / 4       ? t
                         : k < N / 2     ? 1.0
                         : k < 3 * N / 4 ? 1.0 - t
                                         : 0.0,
                     v = k < N / 4       ? 0.0
                         : k < N / 2     ? t
                         : k < 3 * N / 4 ? 1.0
                                         : 1.0 - t;
        x[k] = box[0] + u * (box[2] - box[0]);
        y[k] = box[1] + v * (box[3] - box[1]);
    }
    (inverse ? sdm_projector_inverse : sdm_projector_forward)(p, N, x, y);
    out[0] = out[1] = INFINITY;
    out[2] = out[3] = -INFINITY;
    for (int k = 0; k < N; k++) {
        const double at = inverse ? sdm_longitude_near(x[k], x[0]) : x[k];
        out[0] = fmin(out[0], at);
        out[1] = fmin(out[1], y[k]);
        out[2] = fmax(out[2], at);
        out[3] = fmax(out[3], y[k]);
    }
done:
    sdm_projector_close(&p);
    return st;
}

static bool is_geographic(const char *wkt)
{
    OGRSpatialReferenceH const srs = OSRNewSpatialReference(wkt);
    const bool out = srs && OSRIsGeographic(srs);
    OSRDestroySpatialReference(srs);
    return out;
}

static bool meet(const double a[4], const double b[4])
{
    return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

static SdmStatus fail_outside(SdmContext *ctx, const char *text, const char *wkt, const double whole[4],
                              bool is_degrees)
{
    double lies[4];
    if (!is_degrees || move_box(ctx, wkt, true, whole, lies) != SDM_OK)
        memcpy(lies, whole, sizeof lies);
    const char *const as = is_degrees ? "degrees" : "units of the output CRS";
    const int digits = is_degrees ? 4 : 0;
    return sdm_fail(ctx, SDM_ERR_USAGE,
                    "--bounds %s, taken as %s, lies outside of the DEM, whose W S E N are %.*f %.*f %.*f "
                    "%.*f",
                    text, as, digits, lies[0], digits, lies[1], digits, lies[2], digits, lies[3]);
}

/* --bounds in the CRS of the grid.  Numbers that can be degrees are degrees. */
static SdmStatus given_bounds(SdmContext *ctx, const char *text, const SdmGrid *crs, const double whole[4],
                              bool tell, double out[4])
{
    double b[4];
    bool is_degrees;
    char name[80];
    PASS(sdm_option_bounds(ctx, text, b, &is_degrees));
    sdm_grid_name(crs, name, sizeof name);
    if (crs->geographic && !is_degrees)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--bounds %s: the output CRS %s is in degrees, found metres",
                        text, name);
    memcpy(out, b, sizeof b);
    if (crs->geographic) {
        const double turn_deg = sdm_longitude_near(b[0], 0.5 * (whole[0] + whole[2])) - b[0];
        out[0] += turn_deg;
        out[2] += turn_deg;
    } else if (is_degrees) {
        PASS(move_box(ctx, crs->wkt, false, b, out));
    }
    if (!meet(out, whole))
        PASS(fail_outside(ctx, text, crs->wkt, whole, is_degrees));
    if (tell && is_degrees && !crs->geographic)
        sdm_log(ctx, SDM_LOG_INFO, 8, "--bounds %s, taken as degrees: %.0f %.0f %.0f %.0f in %s", text,
                out[0], out[1], out[2], out[3], name);
    return SDM_OK;
}

static SdmOutlineSource area_of(const SdmOptions *o, bool tell)
{
    return (SdmOutlineSource){.option = "--area", .path = o->area, .quiet = !tell};
}

/* Bounds of the polygons near the box, in its CRS. */
static SdmStatus area_bounds(SdmContext *ctx, const SdmOptions *o, const char *wkt, const double whole[4],
                             bool tell, double out[4])
{
    SdmStatus st = SDM_OK;
    SdmOutlines outlines;
    const SdmOutlineSource source = area_of(o, tell);
    const SdmOutlineGrid box = {
        .wkt = wkt,
        .transform = {whole[0], whole[2] - whole[0], 0.0, whole[3], 0.0, whole[1] - whole[3]},
        .cols = 1,
        .rows = 1};
    TRY(sdm_outlines_open(ctx, &source, &outlines));
    TRY(sdm_outlines_bounds(ctx, &outlines, &box, out));
    if (!meet(out, whole))
        st = sdm_fail(ctx, SDM_ERR_DATA, "--area %s: its polygons lie outside of the DEM", o->area);
done:
    sdm_outlines_close(&outlines);
    return st;
}

SdmStatus sdm_part_bounds(SdmContext *ctx, const SdmOptions *o, const char *wkt, const double whole[4],
                          bool tell, double out[4])
{
    SdmGrid crs = {.spacing = 1.0};
    double part[4];
    memcpy(out, whole, 4 * sizeof *out);
    snprintf(crs.wkt, sizeof crs.wkt, "%s", wkt);
    crs.geographic = is_geographic(wkt);
    for (int k = 0; k < 2; k++) {
        if (!(k ? o->area : o->bounds))
            continue;
        PASS(k ? area_bounds(ctx, o, wkt, whole, tell, part)
               : given_bounds(ctx, o->bounds, &crs, whole, tell, part));
        for (int i = 0; i < 4; i++)
            out[i] = i < 2 ? fmax(out[i], part[i]) : fmin(out[i], part[i]);
    }
    if (!(out[0] < out[2]) || !(out[1] < out[3]))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--bounds %s and --area %s have nothing in common", o->bounds,
                        o->area);
    return SDM_OK;
}

/* ---- cells ---- */

SdmStatus sdm_part_cut(SdmContext *ctx, const SdmOptions *o, bool tell, SdmGrid *grid)
{
    const double s = grid->spacing, left = round(grid->x0 / s), top = round(grid->y0 / s);
    const double whole[4] = {grid->x0, grid->y0 - (double)grid->rows * s, grid->x0 + (double)grid->cols * s,
                             grid->y0};
    double b[4];
    if (!o->bounds && !o->area)
        return SDM_OK;
    PASS(sdm_part_bounds(ctx, o, grid->wkt, whole, tell, b));
    const double col = fmax(floor((b[0] - grid->x0) / s + SAME_EDGE), 0.0),
                 row = fmax(floor((grid->y0 - b[3]) / s + SAME_EDGE), 0.0),
                 col1 = fmin(ceil((b[2] - grid->x0) / s - SAME_EDGE), (double)grid->cols),
                 row1 = fmin(ceil((grid->y0 - b[1]) / s - SAME_EDGE), (double)grid->rows);
    grid->x0 = (left + col) * s;
    grid->y0 = (top - row) * s;
    grid->cols = (int64_t)fmax(col1 - col, 1.0);
    grid->rows = (int64_t)fmax(row1 - row, 1.0);
    return SDM_OK;
}

static void clear_cell(SdmBlock *b, int64_t at)
{
    float *const value[] = {b->height_m, b->spread_m, b->score, b->ray_error_m, b->ortho};
    for (int k = 0; k < 5; k++)
        if (value[k])
            value[k][at] = NAN;
    b->count[at] = 0;
    b->mask[at] = b->score ? SDM_QA_MASKED : SDM_QA_OUTSIDE; /* a stack has no masks */
    if (b->pairs)
        b->pairs[at] = 0;
}

/* The block's rows of a strip of the grid. */
static SdmStatus clear_strip(SdmContext *ctx, const SdmOutlines *area, const SdmGrid *grid, int64_t strip,
                             uint8_t *inside, SdmBlock *b)
{
    const int64_t row0 = strip * STRIP_ROWS,
                  rows = grid->rows - row0 < STRIP_ROWS ? grid->rows - row0 : STRIP_ROWS;
    const SdmOutlineGrid on = {.wkt = grid->wkt,
                               .transform = {grid->x0, grid->spacing, 0.0,
                                             grid->y0 - (double)row0 * grid->spacing, 0.0, -grid->spacing},
                               .cols = grid->cols,
                               .rows = rows};
    PASS(sdm_outlines_burn(ctx, area, &on, inside));
    for (int64_t r = 0; r < b->h; r++) {
        const int64_t row = b->row0 + r - row0;
        for (int64_t c = 0; c < b->w && row >= 0 && row < rows; c++)
            if (!inside[row * grid->cols + b->col0 + c])
                clear_cell(b, r * b->w + c);
    }
    return SDM_OK;
}

void sdm_part_at(const SdmGrid *grid, const SdmGrid *part, int64_t out[2])
{
    out[0] = llround((part->x0 - grid->x0) / grid->spacing);
    out[1] = llround((grid->y0 - part->y0) / grid->spacing);
}

SdmStatus sdm_part_take(SdmContext *ctx, const SdmOptions *o, const SdmGrid *grid, const SdmGrid *part,
                        SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    SdmOutlines area;
    uint8_t *inside = NULL;
    int64_t at[2];
    sdm_part_at(grid, part, at);
    b->col0 -= at[0];
    b->row0 -= at[1];
    if (!o->area || b->w < 1 || b->h < 1)
        return SDM_OK;
    const SdmOutlineSource source = area_of(o, false);
    TRY(sdm_outlines_open(ctx, &source, &area));
    TRY(sdm_alloc_raw(ctx, &inside, (size_t)part->cols * STRIP_ROWS, 1, "cells inside of polygons"));
    for (int64_t s = b->row0 / STRIP_ROWS; s * STRIP_ROWS < b->row0 + b->h; s++)
        TRY(clear_strip(ctx, &area, part, s, inside, b));
done:
    sdm_free(&inside);
    sdm_outlines_close(&area);
    return st;
}
