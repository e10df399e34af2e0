/* Cells of a comparison: which count, by what they are told apart; what is taken out of them; the rasters to
 * write. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "core/lease.h"
#include "core/path.h"
#include "core/stats.h"
#include "core/system.h"
#include "coreg/compare_steps.h"
#include "coreg/coreg.h"
#include "coreg/input_raster.h"
#include "geo/gdal_scope.h"
#include "geo/grid.h"
#include "product/raster.h"
#include "product/report.h"
#include "product/product.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- the aligned DEM, by cubic spline ---- */

/* scratch(x, y) = DEM(x - east, y - north) + up: the DEM moved to where the reference has it.  A cell has a
 * height where the nearest cell of the DEM there has one, so holes keep their size; cells of a DEM that is
 * not moved keep their heights.  Overwrites residual_m. */
static SdmStatus resample_aligned(SdmContext *ctx, SdmCoregGrid *g, const double move_m[3])
{
    const double dcol = -move_m[0] / g->dx_m, drow = move_m[1] / g->dy_m;
    const bool moved = fabs(dcol) > 0.0 || fabs(drow) > 0.0;
    if (moved) {
        PASS(sdm_coreg_fit(ctx, g, g->dem_m, 0, 0));
        PASS(sdm_spline_shift(ctx, &g->spline, dcol, drow, g->scratch));
    }
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = 0; i < g->cols; i++) {
            const int64_t at = j * g->cols + i;
            const double x = floor((double)i + dcol + 0.5), y = floor((double)j + drow + 0.5);
            const bool inside = x >= 0.0 && y >= 0.0 && x < (double)g->cols && y < (double)g->rows;
            const float nearest = inside ? g->dem_m[(int64_t)y * g->cols + (int64_t)x] : NAN;
            const double height_m = moved ? g->base_m + (double)g->scratch[at] : (double)nearest;
            g->scratch[at] = isnan(nearest) ? NAN : (float)(height_m + move_m[2]);
        }
    return SDM_OK;
}

/* ---- files ---- */

/* Cells of the DEM, of which *first is the first on an axis of the grid, that lie in the grid: all, unless it
 * is a part of the DEM. */
static void cut_cells(int64_t *first, int64_t size, double corner, int64_t *count, double *from)
{
    *from = *first < 0 ? corner : *from;
    *count += *first < 0 ? *first : 0;
    *first = *first < 0 ? 0 : *first;
    *count = *first + *count > size ? size - *first : *count;
}

/* The cells of the grid that are the DEM's, as a raster in memory with the DEM's CRS and nodata.  value_m:
 * NaN becomes nodata.  items: its metadata. */
static SdmStatus describe(const SdmComparison *w, const char *path, float *value_m, char **items,
                          SdmRaster *out)
{
    const bool difference = path == w->opt->difference; /* no heights: without the band's name, the datum */
    const SdmRasterGrid *const grid = &w->grid;
    GDALDatasetH const dem = grid->dem->file;
    GDALRasterBandH const from = GDALGetRasterBand(dem, 1);
    int64_t left, up;
    int has = 0;
    double nodata = GDALGetRasterNoDataValue(from, &has);
    nodata = has ? (double)(float)nodata : (double)SDM_NODATA;
    SdmRasterGrid cells;
    PASS(sdm_raster_grid_own(w->ctx, grid->dem, &cells));
    sdm_raster_grid_offset(grid, &left, &up);
    cut_cells(&left, grid->cols, grid->transform[0], &cells.cols, &cells.transform[0]);
    cut_cells(&up, grid->rows, grid->transform[3], &cells.rows, &cells.transform[3]);
    float *const first = value_m + up * grid->cols + left;
    for (int64_t j = 0; j < cells.rows; j++)
        for (int64_t i = 0; i < cells.cols; i++)
            first[j * grid->cols + i] =
                isnan(first[j * grid->cols + i]) ? (float)nodata : first[j * grid->cols + i];
    out->dataset = sdm_raster_grid_wrap(&cells, first, grid->cols, nodata);
    if (!out->dataset ||
        GDALSetSpatialRef(out->dataset, difference ? grid->dem->srs : GDALGetSpatialRef(dem)) != CE_None)
        return sdm_fail(w->ctx, SDM_ERR_MEMORY, "%s: no raster of %lld x %lld cells can be made in memory",
                        path, (long long)cells.cols, (long long)cells.rows);
    GDALSetMetadata(out->dataset, items, NULL);
    GDALRasterBandH const to = GDALGetRasterBand(out->dataset, 1);
    GDALSetDescription(to, difference ? "difference" : GDALGetDescription(from));
    GDALSetRasterUnitType(to, "m");
    return SDM_OK;
}

/* Write a Cloud-Optimised GeoTIFF with the DEM's grid, CRS, nodata and metadata; whole or not at all. */
static SdmStatus write_raster(const SdmComparison *w, const char *path, float *value_m, char **items)
{
    SdmContext *const ctx = w->ctx;
    SdmStatus st = SDM_OK;
    SdmRaster raster = {0};
    char part[SDM_PATH_SIZE] = "";
    SDM_CLOSED_BY(sdm_lease_release) SdmLease *owner = NULL;
    TRY(sdm_lease_take_output(ctx, path, &owner));
    sdm_file_sweep(path);
    TRY(sdm_file_temporary_name(ctx, path, part, sizeof part));
    TRY(describe(w, path, value_m, items, &raster));
    const SdmCogRequest request = {.path = part,
                                   .memory_bytes = w->opt->memory_bytes ? w->opt->memory_bytes : INT64_MAX};
    TRY(sdm_cog_write(ctx, &raster, &request));
    TRY(sdm_lease_check(ctx, owner));
    if (sdm_system_rename(part, path) != 0)
        st = sdm_fail_write(ctx, path, strerror(errno));
done:
    if (st && part[0])
        unlink(part);
    (void)sdm_raster_close(ctx, &raster, path);
    return st;
}

enum { MODEL_ROUNDS = 5, MAP_PX = 480, MAP_PX_OF_POINTS = 160 };
static const double SAME_EDGE = 1e-6;     /* of a cell: bounds that lie on an edge */
static const double SAME_SHIFT_M = 0.005; /* a shift that moved less by the model is final */

static SdmStatus check_memory(SdmContext *ctx, const SdmRasterGrid *grid, int64_t limit)
{
    const double need = (double)(grid->cols * grid->rows) * SDM_COREG_CELL_BYTES;
    if (limit == 0 || need <= (double)limit)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_MEMORY,
                    "DEM and reference have %lld x %lld cells in common, which take %.1f GiB of memory; "
                    "raise --memory, or "
                    "compare a part (gdal_translate -projwin)",
                    (long long)grid->cols, (long long)grid->rows, need / 1073741824.0);
}

/* Cut the grid to the part that --bounds and --area ask for. */
static SdmStatus cut_grid(SdmContext *ctx, SdmRasterGrid *grid)
{
    double *const t = grid->transform, b[4];
    const double whole[4] = {t[0], t[3] + (double)grid->rows * t[5], t[0] + (double)grid->cols * t[1], t[3]};
    const SdmOptions *const o = sdm_options(ctx);
    if (!o->bounds && !o->area)
        return SDM_OK;
    PASS(sdm_part_bounds(ctx, o, grid->dem->wkt, whole, true, b));
    const double col = floor((b[0] - t[0]) / t[1] + SAME_EDGE), row = floor((b[3] - t[3]) / t[5] + SAME_EDGE),
                 cols = ceil((b[2] - t[0]) / t[1] - SAME_EDGE) - col,
                 rows = ceil((b[1] - t[3]) / t[5] - SAME_EDGE) - row;
    t[0] += col * t[1];
    t[3] += row * t[5];
    grid->cols = (int64_t)fmax(cols, 1.0);
    grid->rows = (int64_t)fmax(rows, 1.0);
    return SDM_OK;
}

SdmStatus sdm_compare_open_grid(SdmComparison *w)
{
    const SdmRasterGrid *const grid = &w->grid;
    PASS(cut_grid(w->ctx, &w->grid));
    PASS(check_memory(w->ctx, grid, w->opt->memory_bytes));
    w->g = (SdmCoregGrid){.cols = grid->cols,
                          .rows = grid->rows,
                          .dx_m = grid->dx_m,
                          .dy_m = grid->dy_m,
                          .threads = sdm_threads(w->ctx)};
    PASS(sdm_coreg_open(w->ctx, &w->g));
    for (int k = 0; w->opt->output && k < 2; k++)
        PASS(sdm_mean_map_open(w->ctx, grid->cols, grid->rows, w->out->points ? MAP_PX_OF_POINTS : MAP_PX,
                               &w->page.view[k].map));
    return sdm_input_raster_load(w->ctx, &w->in[SDM_IN_DEM], grid, SDM_KERNEL_NEAREST, w->g.dem_m);
}

/* Class of every cell -> mask; all is land without a raster. */
static SdmStatus load_class(SdmComparison *w)
{
    SdmCoregGrid *const g = &w->g;
    const SdmInputRaster *const in = &w->in[SDM_IN_CLASS];
    bool land = false;
    if (in->file) {
        PASS(sdm_input_raster_load(w->ctx, in, &w->grid, SDM_KERNEL_NEAREST, g->scratch));
        PASS(sdm_alloc(w->ctx, &w->class, (size_t)(g->cols * g->rows), 1, "classes"));
    }
    for (int64_t i = 0; i < g->cols * g->rows; i++) {
        const float value = in->file ? g->scratch[i] : 1.0f;
        const unsigned class = value == 1.0f ? 1 : value == 2.0f ? 2 : value == 3.0f ? 3 : 0;
        g->mask[i] = (uint8_t)(class << SDM_CELL_CLASS_SHIFT);
        land = land || class == 1;
        if (w->class)
            w->class[i] = value >= 0.0f && value < 256.0f ? (uint8_t)value : 0;
    }
    if (!land)
        return sdm_fail(
            w->ctx, SDM_ERR_DATA,
            "--class %s: no cell where DEM and reference lie is of class 1 (land), so nothing can be scored",
            in->path);
    return SDM_OK;
}

/* Land outside of --within or --area has no class; outside of --area there is no DEM. */
static SdmStatus keep_within(SdmComparison *w, const SdmInputRaster *within)
{
    SdmCoregGrid *const g = &w->g;
    if (!within->file)
        return SDM_OK;
    PASS(sdm_input_raster_load(w->ctx, within, &w->grid, SDM_KERNEL_NEAREST, g->scratch));
    for (int64_t i = 0; i < g->cols * g->rows; i++) {
        if (!isnan(g->scratch[i]))
            continue;
        if ((g->mask[i] & SDM_CELL_CLASS) == SDM_CELL_LAND)
            g->mask[i] &= (uint8_t)~SDM_CELL_CLASS;
        if (within == &w->in[SDM_IN_AREA])
            g->dem_m[i] = NAN;
    }
    return SDM_OK;
}

/* Stable are the cells that are not 0 in --mask, nor in --exclude. */
static SdmStatus keep_stable(SdmComparison *w, const SdmInputRaster *in, bool is_mask, int64_t *stable)
{
    SdmCoregGrid *const g = &w->g;
    if (!in->file)
        return SDM_OK;
    PASS(sdm_input_raster_load(w->ctx, in, &w->grid, SDM_KERNEL_NEAREST, g->scratch));
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        if ((g->mask[i] & SDM_COREG_STABLE) && (fabsf(g->scratch[i]) > 0.0f) != is_mask) {
            g->mask[i] &= (uint8_t)~SDM_COREG_STABLE;
            --*stable;
        }
    return *stable
               ? SDM_OK
               : sdm_fail(w->ctx, SDM_ERR_DATA, "%s %s: %s, so nothing can be compared", in->role, in->path,
                          is_mask ? "no cell where DEM and reference lie is stable ground (not 0)"
                                  : "leaves no cell where DEM and reference lie");
}

SdmStatus sdm_compare_load_cells(SdmComparison *w)
{
    SdmCoregGrid *const g = &w->g;
    int64_t stable = 0;
    PASS(load_class(w));
    PASS(keep_within(w, &w->in[SDM_IN_WITHIN]));
    PASS(keep_within(w, &w->in[SDM_IN_AREA]));
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        if ((g->mask[i] & SDM_CELL_CLASS) == SDM_CELL_LAND) {
            g->mask[i] |= SDM_COREG_STABLE;
            stable++;
        }
    PASS(keep_stable(w, &w->in[SDM_IN_MASK], true, &stable));
    return keep_stable(w, &w->in[SDM_IN_EXCLUDE], false, &stable);
}

/* ---- bins ---- */

/* Derivative from a value and its neighbours on one axis: central, else one-sided, else NaN. */
static double derivative(double before, double here, double after, double step)
{
    if (isfinite(before) && isfinite(after))
        return (after - before) / (2.0 * step);
    if (isfinite(after))
        return (after - here) / step;
    return (here - before) / step;
}

/* SdmResiduals.ground of a grid: slopes of the reference; NaN: not known. */
static double ground_of_cell(const void *of, int64_t at, double slope[2])
{
    const SdmCoregGrid *const g = of;
    const int64_t i = at % g->cols, j = at / g->cols;
    const float *const h = g->reference_m + at;
    const double here = (double)*h;
    if (!slope)
        return here;
    slope[0] = derivative(i > 0 ? (double)h[-1] : NAN, here, i + 1 < g->cols ? (double)h[1] : NAN, g->dx_m);
    slope[1] = derivative(j + 1 < g->rows ? (double)h[g->cols] : NAN, here, j > 0 ? (double)h[-g->cols] : NAN,
                          g->dy_m);
    return here;
}

SdmResiduals sdm_compare_cell_residuals(SdmComparison *w)
{
    return (SdmResiduals){.w = w,
                          .count = w->g.rows * w->g.cols,
                          .residual_m = w->g.residual_m,
                          .value = w->g.scratch,
                          .spare = w->g.spline.coefficient,
                          .class = w->class,
                          .ground = ground_of_cell,
                          .of = &w->g};
}

int sdm_compare_class_bin(const SdmResiduals *r, int64_t at)
{
    return r->class[at];
}

static int slope_bin(const SdmResiduals *r, int64_t at)
{
    double slope[2];
    r->ground(r->of, at, slope);
    const double slope_deg = atan(hypot(slope[0], slope[1])) * 57.295779513082321;
    return !isfinite(slope_deg) ? -1 : slope_deg >= 50.0 ? 5 : (int)(slope_deg / 10.0);
}

static int height_bin(const SdmResiduals *r, int64_t at)
{
    const double height_m = r->ground(r->of, at, NULL);
    int k = 0;
    while (k + 1 < SDM_COMPARE_BANDS && height_m >= r->w->out->band[k].hi)
        k++;
    return k;
}

void sdm_compare_stats_by(const SdmResiduals *r, SdmCompareBin *bin_of, int bins, const double *middle_m,
                          SdmCompareRange *out)
{
    int64_t end[SDM_COMPARE_CLASSES + 1] = {0};
    int16_t *const bin = (int16_t *)(void *)r->spare;
#pragma omp parallel for num_threads(r->w->g.threads) schedule(static)
    for (int64_t i = 0; i < r->count; i++)
        bin[i] = (int16_t)(isnan(r->residual_m[i]) ? -1 : bin_of(r, i));
    for (int64_t i = 0; i < r->count; i++)
        end[bin[i] + 1] += bin[i] >= 0;
    for (int k = 0; k < bins; k++)
        end[k + 1] += end[k];
    for (int64_t i = 0; i < r->count; i++) {
        double slope[2];
        if (bin[i] < 0)
            continue;
        float *const value = &r->value[end[bin[i]]++];
        *value = r->residual_m[i];
        if (middle_m) {
            r->ground(r->of, i, slope);
            *value = (float)(((double)*value - *middle_m) / hypot(slope[0], slope[1]));
        }
    }
    for (int k = 0; k < bins; k++) {
        const int64_t first = k ? end[k - 1] : 0;
        sdm_error_stats(r->value + first, end[k] - first, r->spare, &out[k].aligned);
    }
}

/* Heights of one ground in two units share such a part of their variance. */
static const double LEAST_COMMON = 0.9, ROUNDING = 1e-9; /* of sums of squares */

void sdm_compare_height_ratio(const SdmResiduals *r, double *ratio)
{
    double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    for (int64_t i = 0; i < r->count; i++) {
        const double a = (double)(float)r->ground(r->of, i, NULL), b = a + (double)r->residual_m[i];
        if (isnan(r->residual_m[i]))
            continue;
        n += 1.0, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    }
    const double vx = xx - x * x / n, vy = yy - y * y / n, both = xy - x * y / n;
    if (vy > ROUNDING * yy && both * both > LEAST_COMMON * vx * vy)
        *ratio = both / vx;
}

void sdm_compare_stats_by_ground(const SdmResiduals *r, int64_t n, SdmCompareResult *out)
{
    const double low = sdm_quantile_f32(r->value, n, 0.01), high = sdm_quantile_f32(r->value, n, 0.99),
                 step = sdm_round_up(fmax((high - low) / (SDM_COMPARE_BANDS - 2), 1.0)),
                 first = floor(low / step) * step;
    for (int k = 0; k < SDM_COMPARE_SLOPES; k++) {
        out->slope[k].lo = 10.0 * k;
        out->slope[k].hi = k + 1 < SDM_COMPARE_SLOPES ? 10.0 * (k + 1) : 90.0;
    }
    for (int k = 0; k < SDM_COMPARE_BANDS; k++) {
        out->band[k].lo = k ? first + k * step : -INFINITY;
        out->band[k].hi = k + 1 < SDM_COMPARE_BANDS ? first + (k + 1) * step : INFINITY;
    }
    sdm_compare_stats_by(r, slope_bin, SDM_COMPARE_SLOPES, NULL, out->slope);
    sdm_compare_stats_by(r, height_bin, SDM_COMPARE_BANDS, NULL, out->band);
}

/* ---- the model ---- */

/* Replace a plane that was taken out of the DEM's heights by another. */
static void take_out(SdmComparison *w, const SdmTilt *before, const SdmTilt *now)
{
    SdmCoregGrid *const g = &w->g;
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++) {
        const double north_m = (0.5 * (double)(g->rows - 1) - (double)j) * g->dy_m;
        for (int64_t i = 0; i < g->cols; i++) {
            float *const h = &g->dem_m[j * g->cols + i];
            const double east_m = ((double)i - 0.5 * (double)(g->cols - 1)) * g->dx_m;
            if (!isnan(*h))
                *h = (float)((double)*h + sdm_tilt_at(before, east_m, north_m) -
                             sdm_tilt_at(now, east_m, north_m));
        }
    }
}

SdmStatus sdm_compare_align(SdmComparison *w, const SdmCompareSteps *steps)
{
    SDM_OWNED float *room = NULL;
    const size_t most = steps->samples;
    SdmTilt taken_out = {.fitted = false};
    const double *const move_m = w->out->move.move_m;
    double before_m[3] = {0.0, 0.0, 0.0};
    const double *const t = w->grid.transform;
    w->out->centre_m[0] = t[0] + 0.5 * (double)w->grid.cols * t[1];
    w->out->centre_m[1] = t[3] + 0.5 * (double)w->grid.rows * t[5];
    w->tilts = w->opt->model && strcmp(w->opt->model, "tilt") == 0;
    PASS(steps->find_shift(steps->of));
    if (!w->tilts)
        return SDM_OK;
    PASS(sdm_alloc(w->ctx, &room, most, 3 * sizeof *room, "residuals"));
    SdmTiltSamples samples = {0, room, room + most, room + 2 * most};
    for (int round = 0; round < MODEL_ROUNDS; round++) {
        memcpy(before_m, move_m, sizeof before_m);
        steps->take_samples(steps->of, &taken_out, &samples);
        PASS(sdm_tilt_fit(w->ctx, &samples, &w->out->tilt));
        take_out(w, &taken_out, &w->out->tilt);
        taken_out = w->out->tilt;
        if (steps->dem_changed)
            PASS(steps->dem_changed(steps->of));
        PASS(steps->find_shift(steps->of));
        if (hypot(move_m[0] - before_m[0], move_m[1] - before_m[1]) < SAME_SHIFT_M &&
            fabs(move_m[2] - before_m[2]) < SAME_SHIFT_M)
            break;
    }
    return SDM_OK;
}

/* ---- the resampled DEM ---- */

/* Metadata of both files: those of the DEM, and shift and tilt that were taken out. */
static char **alignment_items(const SdmComparison *w)
{
    const SdmCompareResult *const r = w->out;
    const double *const move_m = r->move.move_m;
    char **list = CSLDuplicate(GDALGetMetadata(w->grid.dem->file, NULL));
    double tilt[2];
    list = CSLSetNameValue(list, "ALIGNED_TO", w->in[SDM_IN_REFERENCE].path);
    list = CSLSetNameValue(list, "ALIGNED_BY_EAST_NORTH_UP_M",
                           CPLSPrintf("%.3f %.3f %.3f", move_m[0], move_m[1], move_m[2]));
    list = CSLSetNameValue(list, "ALIGNED_MODEL", w->opt->model ? w->opt->model : "shift");
    sdm_tilt_slope(&r->tilt, tilt);
    return r->tilt.fitted ? CSLSetNameValue(list, "ALIGNED_TILT_M_PER_KM",
                                            CPLSPrintf("%.6g %.6g", 1000.0 * tilt[0], 1000.0 * tilt[1]))
                          : list;
}

static char **difference_items(const SdmComparison *w, const SdmErrorStats *s)
{
    char **list = CSLSetNameValue(alignment_items(w), "VERTICAL_DATUM", NULL);
    list = CSLSetNameValue(list, "DIFFERENCE", "aligned DEM minus reference, metres");
    list = CSLSetNameValue(list, "DIFFERENCE_OVER",
                           w->opt->mask || w->opt->exclude || w->opt->class_raster || w->opt->within
                               ? "stable cells that were compared"
                               : "all cells");
    list = CSLSetNameValue(list, "DIFFERENCE_COUNT", CPLSPrintf("%.9g", (double)s->count));
    list = CSLSetNameValue(list, "DIFFERENCE_BIAS_M", CPLSPrintf("%.9g", s->bias_m));
    list = CSLSetNameValue(list, "DIFFERENCE_MEDIAN_M", CPLSPrintf("%.9g", s->median_m));
    list = CSLSetNameValue(list, "DIFFERENCE_STANDARD_DEVIATION_M", CPLSPrintf("%.9g", s->std_m));
    list = CSLSetNameValue(list, "DIFFERENCE_NMAD_M", CPLSPrintf("%.9g", s->nmad_m));
    list = CSLSetNameValue(list, "DIFFERENCE_RMSE_M", CPLSPrintf("%.9g", s->rmse_m));
    return CSLSetNameValue(list, "DIFFERENCE_LE90_M", CPLSPrintf("%.9g", s->le90_m));
}

SdmStatus sdm_compare_style_name(SdmContext *ctx, const char *raster, char out[SDM_PATH_SIZE])
{
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%.*s.qml", (int)sdm_path_stem(raster), raster);
}

double sdm_difference_limit_m(const SdmErrorStats *s)
{
    return sdm_round_up(fmax(fmax(s->le90_m, 3.0 * s->nmad_m), 0.1));
}

/* A file and its style for QGIS; frees its metadata. */
static SdmStatus write_file(SdmComparison *w, const char *path, float *value_m, char **given)
{
    SDM_CLOSED_BY(sdm_string_list_free) char **const items = given;
    SDM_CLOSED_BY(sdm_text_close) SdmText style = {.ctx = w->ctx};
    char name[SDM_PATH_SIZE];
    float *const known_m = w->g.spline.coefficient;
    memcpy(known_m, value_m, (size_t)(w->g.cols * w->g.rows) * sizeof *known_m);
    const int64_t n = sdm_drop_nan_f32(known_m, w->g.cols * w->g.rows);
    if (path == w->opt->difference)
        sdm_style_change(&style, sdm_difference_limit_m(&w->out->aligned), "m");
    else
        sdm_style_dem(&style, sdm_quantile_f32(known_m, n, 0.01), sdm_quantile_f32(known_m, n, 0.99));
    PASS(style.st);
    PASS(write_raster(w, path, value_m, items));
    PASS(sdm_compare_style_name(w->ctx, path, name));
    return sdm_file_write(w->ctx, name, style.data, style.size);
}

static int unstable_bin(const SdmResiduals *r, int64_t at)
{
    return (r->w->g.mask[at] & (SDM_CELL_CLASS | SDM_COREG_STABLE)) == SDM_CELL_LAND ? 0 : -1;
}

/* Figures of the difference, by value of --class and on land that --mask or --exclude leaves out.  Class 1 is
 * what was scored already. */
static void class_stats(SdmComparison *w)
{
    const SdmResiduals r = sdm_compare_cell_residuals(w);
    if (w->class) {
        sdm_compare_stats_by(&r, sdm_compare_class_bin, SDM_COMPARE_CLASSES, NULL, w->out->class);
        w->out->class[1].aligned = w->out->aligned;
    }
    if (w->opt->mask || w->opt->exclude)
        sdm_compare_stats_by(&r, unstable_bin, 1, NULL, &w->out->unstable);
}

SdmStatus sdm_compare_write(SdmComparison *w)
{
    const SdmCompareOptions *const opt = w->opt;
    SdmCoregGrid *const g = &w->g;
    SdmErrorStats stats;
    const bool differs =
        !w->out->points && (opt->difference || opt->class_raster || opt->mask || opt->exclude || opt->output);
    if (!opt->aligned && !differs)
        return SDM_OK;
    PASS(resample_aligned(w->ctx, g, w->out->move.move_m));
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        g->residual_m[i] = differs ? g->scratch[i] - g->reference_m[i] : NAN;
    for (int64_t i = 0; differs && opt->output && i < g->cols * g->rows; i++)
        sdm_mean_map_add(&w->page.view[1].map, i % g->cols, i / g->cols, (double)g->residual_m[i]);
    if (opt->aligned)
        PASS(write_file(w, opt->aligned, g->scratch, alignment_items(w)));
    if (!differs)
        return SDM_OK;
    class_stats(w);
    if (!opt->difference)
        return SDM_OK;
    int64_t n = 0;
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        if ((g->mask[i] & SDM_COREG_STABLE) && !isnan(g->residual_m[i]))
            g->scratch[n++] = g->residual_m[i];
    sdm_error_stats(g->scratch, n, g->spline.coefficient, &stats);
    return write_file(w, opt->difference, g->residual_m, difference_items(w, &stats));
}
