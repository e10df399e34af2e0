/* The reference on a plane about the scene's centre; pixels of the coarse surface placed on it; its masks. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/reference_samples.h"
#include "core/math.h"
#include "geo/bicubic.h"
#include "scene/window_input.h"

#include <math.h>
#include <string.h>

enum {
    POINT_SIDE = 2, /* samples a side of a point */
    LEAST_STEP = 2, /* coarse pixels between samples */
    MOST_SAMPLES = 400000,
    MOST_CELLS = 1 << 24, /* of the plane */
    WINDOW = 5,           /* coarse pixels a side that a match averages */
    LEAST_SCORE = 200,    /* 0.8 */
    SHIFT_EVERY = 3,      /* of the samples serve to find the shift */
    TOGETHER = 64,        /* samples */
    STRIP_ROWS = 128      /* of the plane, read at once */
};
static const double MARGIN_M = 400.0; /* of the plane about the scene: shifts are smaller */
static const double ENOUGH_M = 0.02;  /* last step of the shift */
static const double STEEPEST = 1.2;   /* tangent of the slope of samples that count */
/* Least share of a window's cells, and largest distance of their centroid from its centre in sides of
 * the window.  Measured on real terrain with small voids on 2 to 44 % of the cells: 91 to 100 % of the
 * windows have a mean, whose error is 0.6 to 3.5 m (RMS; plain means of at least 80 % of the cells: 1.4
 * to 3.9 m), without a pull along slopes. */
static const double KNOWN_SHARE = 0.25, CENTROID_SHARE = 0.2;

void sdm_reference_samples_free(SdmReferenceSamples *s)
{
    SDM_FREE(&s->plane.height_m, &s->sample);
    sdm_lattice_free(&s->lattice);
}

/* ---- the plane ---- */

static double coarse_pixel_m(const SdmPrepared *p)
{
    return p->frame.gsd_m * (double)(1 << p->coarse.win.level);
}

/* The CRS of a plane about the scene's centre, and its usual cell. */
static SdmStatus choose_plane(SdmContext *ctx, const SdmPrepared *p, SdmReferencePlane *out)
{
    SdmOptions none;
    char crs[128];
    const double spacing = fmax(coarse_pixel_m(p), 0.5 * fmin(out->cell_m, 1000.0));
    sdm_options_default(&none);
    snprintf(crs, sizeof crs, "+proj=tmerc +lon_0=%.9f +lat_0=%.9f +k=1 +datum=WGS84 +units=m +no_defs",
             p->frame.lon_deg, p->frame.lat_deg);
    return sdm_grid_choose_like(ctx, &none, crs, spacing, p->frame.lon_deg, p->frame.lat_deg, &out->grid);
}

/* The plane covers the ground of the coarse surface. */
static SdmStatus cover_plane(SdmContext *ctx, const double bounds[4], SdmReferencePlane *out)
{
    double b[4] = {bounds[0] - MARGIN_M, bounds[1] - MARGIN_M, bounds[2] + MARGIN_M, bounds[3] + MARGIN_M};
    double *const spacing = &out->grid.spacing;
    while ((b[2] - b[0]) * (b[3] - b[1]) > MOST_CELLS * *spacing * *spacing)
        *spacing *= 2.0;
    return sdm_grid_cover(ctx, b, &out->grid);
}

/* The mean of a window of which some cells are known: the value at its centre of the plane that fits these
 * best, by least squares.  A plain mean would be that at their centroid, off by the slope between.  NaN where
 * they are few or lie to one side. */
static float mean_of_known(const SdmReferencePlane *plane, int col, int row, int r)
{
    const int w = (int)plane->grid.cols, h = (int)plane->grid.rows, side = 2 * r + 1;
    double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0, yy = 0.0, v = 0.0, xv = 0.0, yv = 0.0;
    for (int j = row - r < 0 ? -row : -r; j <= r && row + j < h; j++)
        for (int i = col - r < 0 ? -col : -r; i <= r && col + i < w; i++) {
            const double value = (double)plane->height_m[(size_t)(row + j) * (size_t)w + (size_t)(col + i)];
            if (isnan(value))
                continue;
            n += 1.0;
            x += i;
            y += j;
            xx += i * i;
            xy += i * j;
            yy += j * j;
            v += value;
            xv += i * value;
            yv += j * value;
        }
    if (n < KNOWN_SHARE * side * side || hypot(x, y) > CENTROID_SHARE * side * n)
        return NAN;
    x /= n;
    y /= n;
    v /= n;
    xx -= n * x * x;
    xy -= n * x * y;
    yy -= n * y * y;
    xv -= n * x * v;
    yv -= n * y * v;
    const double det = xx * yy - xy * xy;
    return (float)(v - ((xv * yy - yv * xy) * x + (yv * xx - xv * xy) * y) / det);
}

/* Means of (2 r + 1) x (2 r + 1) cells. */
static SdmStatus average_plane(SdmContext *ctx, int r, SdmReferencePlane *plane)
{
    const int w = (int)plane->grid.cols, h = (int)plane->grid.rows, side = 2 * r + 1;
    SDM_OWNED float *sum = NULL, *mean = NULL;
    if (r < 1)
        return SDM_OK;
    PASS(sdm_alloc_raw(ctx, &sum, (size_t)w * (size_t)h, sizeof *sum, "means of the reference"));
    PASS(sdm_alloc_raw(ctx, &mean, (size_t)w * (size_t)h, sizeof *mean, "means of the reference"));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int j = 0; j < h; j++)
        for (int i = 0; i < w; i++) {
            const float *const row = plane->height_m + (size_t)j * (size_t)w;
            float s = i < r || i + r >= w ? NAN : 0.0f;
            for (int k = i - r; k <= i + r && !isnan(s); k++)
                s += row[k];
            sum[(size_t)j * (size_t)w + (size_t)i] = s;
        }
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int j = 0; j < h; j++)
        for (int i = 0; i < w; i++) {
            double s = j < r || j + r >= h ? (double)NAN : 0.0;
            for (int k = j - r; k <= j + r && !isnan(s); k++)
                s += (double)sum[(size_t)k * (size_t)w + (size_t)i];
            mean[(size_t)j * (size_t)w + (size_t)i] =
                isnan(s) ? mean_of_known(plane, i, j, r) : (float)(s / (side * side));
        }
    sdm_free(&plane->height_m);
    plane->height_m = mean;
    mean = NULL;
    return SDM_OK;
}

/* Heights of the cells, averaged. */
static SdmStatus read_plane(SdmContext *ctx, const SdmPrepared *p, SdmHeightRaster *reference,
                            SdmReferencePlane *out)
{
    SDM_CLOSED_BY(sdm_heights_on_grid_close) SdmHeightsOnGrid on = {0};
    const SdmGrid *const g = &out->grid;
    const int r = (int)(0.5 * (WINDOW * coarse_pixel_m(p) / g->spacing - 1.0) + 0.5);
    PASS(sdm_alloc_raw(ctx, &out->height_m, (size_t)(g->cols * g->rows), sizeof *out->height_m,
                       "the reference"));
    PASS(sdm_heights_on_grid_open(ctx, reference, g, p->frame.lon_deg, p->frame.lat_deg, &on));
    for (int64_t row = 0; row < g->rows; row += STRIP_ROWS) {
        const int64_t window[4] = {0, row, g->cols, g->rows - row < STRIP_ROWS ? g->rows - row : STRIP_ROWS};
        PASS(sdm_heights_on_grid(ctx, &on, window, NULL, out->height_m + row * g->cols));
    }
    return average_plane(ctx, r, out);
}

/* ---- the samples ---- */

/* Where samples lie on the coarse surface. */
static void lay_out(const SdmPrepared *p, SdmReferenceSamples *s)
{
    const SdmWindow *const w = &p->coarse.win;
    const double cells = s->plane.cell_m / (POINT_SIDE * coarse_pixel_m(p));
    s->step = cells > LEAST_STEP ? (int)fmin(ceil(cells), fmax(w->w / 8, LEAST_STEP)) : LEAST_STEP;
    while ((int64_t)(w->w / s->step) * (w->h / s->step) > MOST_SAMPLES)
        s->step++;
    s->wide = w->w / s->step;
    s->count = (size_t)s->wide * (size_t)(w->h / s->step);
    s->points_wide = (s->wide + POINT_SIDE - 1) / POINT_SIDE;
    s->points_high = (w->h / s->step + POINT_SIDE - 1) / POINT_SIDE;
    s->pixel_m = p->frame.gsd_m;
    s->point_m = POINT_SIDE * s->step * coarse_pixel_m(p);
}

/* The sample of column i, row j; its place in metres of the plane's CRS. */
static void place_sample(const SdmReferenceSamples *l, const SdmSurface *s, int i, int j,
                         SdmReferenceSample *out)
{
    const SdmLattice *const lattice = &l->lattice;
    const double size = (double)(1 << s->win.level), reach_m = 50.0;
    const int x = i * l->step + l->step / 2, y = j * l->step + l->step / 2;
    const size_t at = (size_t)y * (size_t)s->win.w + (size_t)x;
    const double u = (x + 0.5) * size - 0.5, v = (y + 0.5) * size - 0.5, h = (double)s->h_m[at];
    double left[2], right[2], lo[2], hi[2], ground[2], above[2];
    *out = (SdmReferenceSample){.d_m = NAN, .point = -1};
    if (!(s->flags[at] & SDM_QA_VALID) || s->score[at] < LEAST_SCORE)
        return;
    sdm_lattice_left(lattice, u, v, left);
    sdm_lattice_right(lattice, u, v, h, right);
    sdm_lattice_right(lattice, u, v, h - reach_m, lo);
    sdm_lattice_right(lattice, u, v, h + reach_m, hi);
    sdm_lattice_ground(lattice, u, v, h, ground);
    sdm_lattice_ground(lattice, u, v, h + reach_m, above);
    *out = (SdmReferenceSample){
        .h_m = s->h_m[at],
        .place = {(float)ground[0], (float)ground[1]},
        .place_per_m = {(float)((above[0] - ground[0]) / reach_m), (float)((above[1] - ground[1]) / reach_m)},
        .px_per_m = (float)(hypot(hi[0] - lo[0], hi[1] - lo[1]) / (2.0 * reach_m)),
        .col = (float)right[0],
        .row = {(float)right[1], (float)left[1]},
        .d_m = NAN,
        .point = (j / POINT_SIDE) * l->points_wide + i / POINT_SIDE};
}

/* From metres of the CRS to columns and rows of the plane. */
static void to_cells(const SdmGrid *g, SdmReferenceSample *s)
{
    s->place[0] = (float)(((double)s->place[0] - g->x0) / g->spacing - 0.5);
    s->place[1] = (float)((g->y0 - (double)s->place[1]) / g->spacing - 0.5);
    s->place_per_m[0] = (float)((double)s->place_per_m[0] / g->spacing);
    s->place_per_m[1] = (float)(-(double)s->place_per_m[1] / g->spacing);
}

SdmStatus sdm_reference_samples_open(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p,
                                     const SdmSurface *surface, SdmHeightRaster *reference,
                                     SdmReferenceSamples *out)
{
    SdmLatticeRequest q = sdm_coarse_request(scene, p, 16);
    double b[4] = SDM_NO_BOUNDS;
    *out = (SdmReferenceSamples){0};
    out->plane.cell_m = sdm_height_raster_cell_m(reference, p->frame.lon_deg, p->frame.lat_deg);
    if (!isfinite(out->plane.cell_m)) /* a CRS that does not reach here */
        out->plane.cell_m = coarse_pixel_m(p);
    PASS(choose_plane(ctx, p, &out->plane));
    q.grid = &out->plane.grid;
    PASS(sdm_lattice_build(ctx, &q, &out->lattice));
    lay_out(p, out);
    PASS(sdm_alloc_raw(ctx, &out->sample, out->count + 1, sizeof *out->sample, "samples of the surface"));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (size_t i = 0; i < out->count; i++)
        place_sample(out, surface, (int)(i % (size_t)out->wide), (int)(i / (size_t)out->wide),
                     &out->sample[i]);
    for (size_t i = 0; i < out->count; i++) {
        const SdmReferenceSample *const s = &out->sample[i];
        out->valid += s->point >= 0;
        if (s->point >= 0)
            sdm_bounds_add(b, (double)s->place[0], (double)s->place[1]);
    }
    if (out->valid == 0)
        return SDM_OK;
    PASS(cover_plane(ctx, b, &out->plane));
    for (size_t i = 0; i < out->count; i++)
        to_cells(&out->plane.grid, &out->sample[i]);
    return read_plane(ctx, p, reference, &out->plane);
}

/* ---- comparison and shift ---- */

/* The reference at places of samples: its height, and what that changes by per column and row. */
typedef struct Together {
    double col[TOGETHER], row[TOGETHER], value[TOGETHER], per_col[TOGETHER], per_row[TOGETHER];
} Together;

/* At n samples, by number, moved by metres east and north. */
static void find_heights(const SdmReferenceSamples *s, const double shift_m[2], const uint32_t *number, int n,
                         Together *t)
{
    const SdmGrid *const g = &s->plane.grid;
    const SdmBicubicPlane of = {s->plane.height_m, (int)g->cols, (int)g->rows};
    const double shift[2] = {shift_m[0] / g->spacing, -shift_m[1] / g->spacing};
    for (int i = 0; i < n; i++) {
        t->col[i] = (double)s->sample[number[i]].place[0] + shift[0];
        t->row[i] = (double)s->sample[number[i]].place[1] + shift[1];
    }
    sdm_bicubic(&of, n, t->col, t->row, t->value, t->per_col, t->per_row);
}

size_t sdm_reference_compare(const SdmReferenceSamples *s, const double shift_m[2], int threads)
{
    const SdmGrid *const g = &s->plane.grid;
    size_t known = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : known)
    for (size_t first = 0; first < s->count; first += TOGETHER) {
        const size_t end = s->count - first < TOGETHER ? s->count : first + TOGETHER;
        uint32_t number[TOGETHER];
        Together t;
        int n = 0;
        for (size_t i = first; i < end; i++)
            if (s->sample[i].point >= 0)
                number[n++] = (uint32_t)i;
        find_heights(s, shift_m, number, n, &t);
        for (int i = 0; i < n; i++) {
            SdmReferenceSample *const a = &s->sample[number[i]];
            a->d_m = (float)((double)a->h_m - t.value[i]);
            a->slope[0] = (float)(t.per_col[i] / g->spacing);
            a->slope[1] = (float)(-t.per_row[i] / g->spacing);
            known += isnan(t.value[i]) ? 0 : 1;
        }
    }
    return known;
}

/* The samples that find the shift: some of all. */
typedef struct ShiftSamples {
    const SdmReferenceSamples *of;
    uint32_t *number; /* of each */
    size_t count;
} ShiftSamples;

/* SdmShiftTask.measure: the surface moves over the reference. */
static void measure_samples(const void *surfaces, const double move_m[2], size_t first, int n,
                            float *difference_m, float *const slope[2])
{
    const ShiftSamples *const s = surfaces;
    const double spacing = s->of->plane.grid.spacing;
    for (int k = 0; k < n; k += TOGETHER) {
        const int some = n - k < TOGETHER ? n - k : TOGETHER;
        const uint32_t *const number = s->number + first + k;
        Together t;
        find_heights(s->of, move_m, number, some, &t);
        for (int i = 0; i < some; i++) {
            difference_m[k + i] = (float)((double)s->of->sample[number[i]].h_m - t.value[i]);
            if (slope) {
                slope[0][k + i] = (float)(t.per_col[i] / spacing);
                slope[1][k + i] = (float)(-t.per_row[i] / spacing);
            }
        }
    }
}

SdmStatus sdm_reference_shift(SdmContext *ctx, const SdmReferenceSamples *s, const uint8_t *use, float *work,
                              int threads, SdmShift *out)
{
    ShiftSamples some = {.of = s, .number = (uint32_t *)(void *)work};
    for (size_t i = 0; i < s->count; i += SHIFT_EVERY)
        if (s->sample[i].point >= 0 && (!use || use[s->sample[i].point]))
            some.number[some.count++] = (uint32_t)i;
    const SdmShiftTask task = {.measure = measure_samples,
                               .surfaces = &some,
                               .count = some.count,
                               .cell_m = s->pixel_m,
                               .correlated = SDM_SHIFT_CORRELATED,
                               .steepest = STEEPEST,
                               .last_step_m = ENOUGH_M,
                               .threads = threads,
                               .work = work + some.count};
    return sdm_shift_fit(ctx, &task, out);
}

/* ---- the masks of the reference: stable ground, and what is to be left out ---- */

enum { STABLE, EXCLUDE };

void sdm_reference_mask_close(SdmReferenceMask *mask)
{
    for (int k = 0; k < SDM_REFERENCE_MASKS; k++) {
        sdm_height_raster_close(&mask->raster[k]);
        sdm_outlines_close(&mask->outlines[k]);
    }
}

SdmStatus sdm_reference_mask_open(SdmContext *ctx, const SdmOptions *options, SdmReferenceMask *out)
{
    *out = (SdmReferenceMask){.raster = {NULL}};
    for (int k = 0; k < SDM_REFERENCE_MASKS; k++) {
        const char *const option = k == STABLE ? "--reference-mask" : "--exclude",
                          *const path = k == STABLE ? options->reference_mask : options->exclude;
        const SdmHeightSource raster = {.option = option, .path = path};
        const SdmOutlineSource outlines = {.option = option,
                                           .path = path,
                                           .layer = options->layer,
                                           .where = options->where,
                                           .may_miss = true};
        if (path && sdm_is_raster(path))
            PASS(sdm_height_raster_open(ctx, &raster, &out->raster[k]));
        else if (path)
            PASS(sdm_outlines_open(ctx, &outlines, &out->outlines[k]));
    }
    if ((options->where || options->layer) && !out->outlines[STABLE].file && !out->outlines[EXCLUDE].file)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: needs polygons given by --reference-mask or --exclude, found none",
                        options->where ? "--where" : "--layer");
    return SDM_OK;
}

static SdmStatus apply_raster(SdmContext *ctx, SdmHeightRaster *raster, bool inside_counts, const SdmGrid *g,
                              const float *place, size_t count, uint8_t *allowed)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *projector = NULL;
    PASS(sdm_projector_open(ctx, g->wkt, &projector));
    for (size_t i = 0; i < count; i++) {
        double x = g->x0 + ((double)place[2 * i] + 0.5) * g->spacing,
               y = g->y0 - ((double)place[2 * i + 1] + 0.5) * g->spacing;
        sdm_projector_inverse(projector, 1, &x, &y);
        const double value = sdm_height_raster_at(ctx, raster, x, y);
        if ((!isnan(value) && value != 0.0) != inside_counts)
            allowed[i] = 0;
    }
    return sdm_height_raster_check(ctx, raster);
}

static SdmStatus apply_outlines(SdmContext *ctx, const SdmOutlines *outlines, bool inside_counts,
                                const SdmGrid *g, const float *place, size_t count, uint8_t *allowed)
{
    SDM_OWNED uint8_t *inside = NULL;
    const SdmOutlineGrid on = {.wkt = g->wkt,
                               .transform = {g->x0, g->spacing, 0.0, g->y0, 0.0, -g->spacing},
                               .cols = g->cols,
                               .rows = g->rows};
    PASS(sdm_alloc_raw(ctx, &inside, (size_t)(g->cols * g->rows), 1, "cells inside of polygons"));
    PASS(sdm_outlines_burn(ctx, outlines, &on, inside));
    for (size_t i = 0; i < count; i++) {
        const double col = floor((double)place[2 * i] + 0.5), row = floor((double)place[2 * i + 1] + 0.5);
        const bool on_grid = col >= 0.0 && row >= 0.0 && col < (double)g->cols && row < (double)g->rows;
        if ((on_grid && inside[(int64_t)row * g->cols + (int64_t)col]) != inside_counts)
            allowed[i] = 0;
    }
    return SDM_OK;
}

SdmStatus sdm_reference_mask_apply(SdmContext *ctx, const SdmReferenceMask *mask, const SdmGrid *grid,
                                   const float *place, size_t count, uint8_t *allowed)
{
    for (int k = 0; k < SDM_REFERENCE_MASKS; k++) {
        if (mask->raster[k])
            PASS(apply_raster(ctx, mask->raster[k], k == STABLE, grid, place, count, allowed));
        if (mask->outlines[k].file)
            PASS(apply_outlines(ctx, &mask->outlines[k], k == STABLE, grid, place, count, allowed));
    }
    return SDM_OK;
}
