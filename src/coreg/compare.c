/* DEM and reference, resampled to one grid -> coverage and error statistics by class and slope. */
// SPDX-License-Identifier: Apache-2.0
#include "core/path.h"
#include "core/stats.h"
#include "core/system.h"
#include "coreg/compare_steps.h"
#include "geo/gdal_scope.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SAMPLES = 2000000 }; /* residuals that a model is fitted to */

/* ---- figures ---- */

static double share(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : 0.0;
}

static SdmCompareClass class_share(const SdmCoregGrid *g, int class)
{
    int64_t cells = 0, filled = 0, over10 = 0, over30 = 0;
    for (int64_t i = 0; i < g->rows * g->cols; i++) {
        if ((g->mask[i] & SDM_CELL_CLASS) != class << SDM_CELL_CLASS_SHIFT)
            continue;
        cells++;
        filled += !isnan(g->dem_m[i]);
        const double error_m =
            fabs((double)g->dem_m[i] - (double)g->reference_m[i]); /* NaN exceeds nothing */
        over10 += error_m > 10.0;
        over30 += error_m > 30.0;
    }
    return (SdmCompareClass){.cells = cells,
                             .filled = share(filled, cells),
                             .over10 = share(over10, filled),
                             .over30 = share(over30, filled)};
}

/* Statistics before co-registration: land, water, cloud. */
static void raw_stats(SdmComparison *w)
{
    SdmCoregGrid *const g = &w->g;
    const SdmResiduals r = sdm_compare_cell_residuals(w);
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        g->residual_m[i] = g->dem_m[i] - g->reference_m[i];
    sdm_coreg_stats(g, g->residual_m, &w->out->raw);
    sdm_compare_height_ratio(&r, &w->out->height_ratio);
    w->out->water = class_share(g, 2);
    w->out->cloud = class_share(g, 3);
    if (!w->opt->output)
        return;
    for (int64_t i = 0; i < g->rows * g->cols; i++) { /* the map has all cells */
        sdm_mean_map_add(&w->page.view[0].map, i % g->cols, i / g->cols, (double)g->residual_m[i]);
        g->residual_m[i] = g->mask[i] & SDM_COREG_COMMON ? g->residual_m[i] : NAN;
    }
    sdm_compare_page_add(&r, 0, &w->out->raw);
}

/* Statistics of the residuals by slope and by height of the reference, and at distances. */
static void residual_stats(SdmComparison *w)
{
    SdmCoregGrid *const g = &w->g;
    const SdmResiduals r = sdm_compare_cell_residuals(w);
    const double longest_m = fmax((double)g->cols * g->dx_m, (double)g->rows * g->dy_m);
    int64_t n = 0;
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        if (g->mask[i] & SDM_COREG_COMMON)
            g->scratch[n++] = g->reference_m[i];
    sdm_compare_height_ratio(&r, &w->out->height_ratio);
    sdm_compare_stats_by_ground(&r, n, w->out);
    sdm_compare_page_add(&r, 1, &w->out->aligned);
    for (int k = 0; k < SDM_LAGS; k++)
        w->out->lag[k] = sdm_error_lag_grid(g, sdm_lags_m[k]);
    for (int k = 0; w->opt->output && k < SDM_PLOTTED_LAGS && 2.0 * sdm_plotted_lag_m(k) <= longest_m; k++)
        w->page.lag[k] = sdm_error_lag_grid(g, sdm_plotted_lag_m(k));
}

/* ---- shift and model ---- */

/* Every n-th cell in both axes is a sample. */
static int64_t sample_step(const SdmCoregGrid *g)
{
    return (int64_t)fmax(ceil(sqrt((double)(g->cols * g->rows) / MAX_SAMPLES)), 1.0);
}

static void take_samples(void *of, const SdmTilt *taken_out, SdmTiltSamples *s)
{
    const SdmCoregGrid *const g = &((const SdmComparison *)of)->g;
    const int64_t step = sample_step(g);
    s->count = 0;
    for (int64_t j = 0; j < g->rows; j += step)
        for (int64_t i = 0; i < g->cols; i += step) {
            const float r = g->residual_m[j * g->cols + i];
            const double east_m = ((double)i - 0.5 * (double)(g->cols - 1)) * g->dx_m,
                         north_m = (0.5 * (double)(g->rows - 1) - (double)j) * g->dy_m;
            if (isnan(r))
                continue;
            s->east_m[s->count] = (float)east_m;
            s->north_m[s->count] = (float)north_m;
            s->error_m[s->count++] = (float)((double)r + sdm_tilt_at(taken_out, east_m, north_m));
        }
}

static SdmStatus find_shift(void *of)
{
    SdmComparison *const w = of;
    SdmCoregShift found;
    if (w->g.own_cells) {
        PASS(sdm_input_raster_load(w->ctx, &w->in[SDM_IN_REFERENCE], &w->own, SDM_KERNEL_NEAREST,
                                   w->g.residual_m));
        PASS(sdm_input_raster_match_datum(w->ctx, &w->own, &w->in[SDM_IN_REFERENCE], w->g.residual_m,
                                          w->out->note));
    }
    PASS(sdm_coreg_shift(w->ctx, &w->g, !w->tilts, &found));
    w->out->move = found.move;
    w->out->aligned = found.residual;
    return SDM_OK;
}

/* Extend a row or a column, from its first height to one after its last. */
static void extend(int64_t ends[2], int64_t at)
{
    ends[0] = ends[1] ? ends[0] : at;
    ends[1] = at + 1;
}

/* The share of the reference's cells that have a height of the DEM, within the DEM's footprint: the cells
 * that have heights on both sides in their row, and in their column. */
static SdmStatus measure_footprint(SdmComparison *w, int64_t common)
{
    const SdmCoregGrid *const g = &w->g;
    SDM_OWNED int64_t *row = NULL, *col = NULL;
    int64_t count = 0;
    PASS(SDM_ALLOC(w->ctx, "the footprint", SDM_ARRAY(row, 2 * (size_t)g->rows),
                   SDM_ARRAY(col, 2 * (size_t)g->cols)));
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = 0; i < g->cols; i++)
            if (!isnan(g->dem_m[j * g->cols + i])) {
                extend(row + 2 * j, i);
                extend(col + 2 * i, j);
            }
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = row[2 * j]; i < row[2 * j + 1]; i++)
            count +=
                (g->mask[j * g->cols + i] & SDM_COREG_REFERENCE) && j >= col[2 * i] && j < col[2 * i + 1];
    w->out->footprint_coverage = share(common, count);
    return SDM_OK;
}

static SdmStatus compare_rasters(SdmComparison *w)
{
    SdmCoregGrid *const g = &w->g;
    const SdmInputRaster *const dem = &w->in[SDM_IN_DEM], *const reference = &w->in[SDM_IN_REFERENCE];
    const bool whole = w->opt->aligned || w->opt->difference;
    PASS(sdm_raster_grid_common(w->ctx, dem, reference, whole, &w->grid));
    PASS(sdm_compare_open_grid(w));
    const bool same_size = sdm_raster_grid_of_reference(reference, &w->grid, &w->own, g->phase),
               same_cells = same_size && !(hypot(g->phase[0], g->phase[1]) > 0.0);
    PASS(sdm_input_raster_load(w->ctx, reference, &w->grid, same_cells ? SDM_KERNEL_NEAREST : SDM_KERNEL_MEAN,
                               g->reference_m));
    g->own_cells = same_size && !same_cells;
    PASS(sdm_check_stop(w->ctx));
    PASS(sdm_input_raster_match_datum(w->ctx, &w->grid, reference, g->reference_m, w->out->note));
    PASS(sdm_compare_load_cells(w));
    const int64_t common = sdm_coreg_mark(g, &w->out->cells);
    w->out->coverage = share(common, w->out->cells);
    if (common == 0) {
        const double far_m = dem->reader ? sdm_height_raster_absurd_m(dem->reader) : 0.0;
        char why[80] = "";
        if (far_m != 0.0)
            snprintf(why, sizeof why, "; values such as %g m are no heights: give metres", far_m);
        return sdm_fail(w->ctx, SDM_ERR_DATA,
                        "no cell in common: DEM %s has no height where reference %s %s%s", dem->path,
                        reference->path, w->out->cells ? "has one that counts" : "counts", why);
    }
    PASS(measure_footprint(w, common));
    raw_stats(w);
    const int64_t step = sample_step(g);
    PASS(sdm_compare_align(
        w, &(SdmCompareSteps){.of = w,
                              .find_shift = find_shift,
                              .take_samples = take_samples,
                              .samples = (size_t)((g->cols / step + 1) * (g->rows / step + 1))}));
    residual_stats(w);
    return sdm_compare_write(w);
}

/* ---- files ---- */

static bool same_file(const char *a, const char *b)
{
    return a && b && (strcmp(a, b) == 0 || sdm_system_is_same(a, b));
}

/* Do two names denote one file, though it may not exist yet? */
static bool same_output(const char *a, const char *b)
{
    char folder_a[SDM_PATH_SIZE], folder_b[SDM_PATH_SIZE];
    if (!a || !b || same_file(a, b))
        return a && b;
    sdm_file_folder(a, folder_a);
    sdm_file_folder(b, folder_b);
    return strcmp(sdm_path_base(a), sdm_path_base(b)) == 0 && same_file(folder_a, folder_b);
}

/* Can a file be made, before any work?  It is none of the inputs, its folder can be written to, and it is not
 * there, or to be overwritten. */
static SdmStatus check_output(SdmContext *ctx, const char *option, const char *path, bool overwrite,
                              const char *const input[SDM_INPUTS])
{
    for (int k = 0; k < SDM_INPUTS; k++)
        if (same_file(path, input[k]))
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s would overwrite the input %s; give another name",
                            option, path, input[k]);
    PASS(sdm_file_check_output(ctx, option, path));
    if (overwrite || access(path, F_OK) != 0)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s is there already; give another name, or --overwrite", option,
                    path);
}

static SdmStatus check_outputs(SdmContext *ctx, const SdmCompareOptions *opt,
                               const char *const input[SDM_INPUTS])
{
    static const char *const option[2] = {"--aligned", "--difference"};
    const char *const raster[2] = {opt->aligned, opt->difference};
    char name[SDM_PATH_SIZE];
    if (opt->output) {
        PASS(sdm_compare_page_name(ctx, opt->output, name));
        PASS(check_output(ctx, "-o", name, opt->overwrite, input));
    }
    for (int k = 0; k < 2; k++) {
        if (!raster[k])
            continue;
        if (!sdm_path_ends_in(raster[k], ".tif"))
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s: expected a name that ends in .tif", option[k],
                            raster[k]);
        PASS(check_output(ctx, option[k], raster[k], opt->overwrite, input));
        PASS(sdm_compare_style_name(ctx, raster[k], name));
        PASS(check_output(ctx, option[k], name, opt->overwrite, input));
    }
    if (same_output(opt->aligned, opt->difference))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--aligned and --difference both name %s; give two names",
                        opt->aligned);
    return SDM_OK;
}

static SdmStatus open_inputs(SdmComparison *w, const char *const path[SDM_INPUTS])
{
    SdmContext *const ctx = w->ctx;
    const SdmCompareOptions *const opt = w->opt;
    static const char *const role[SDM_INPUTS] = {"DEM",    "reference", "--class", "--within",
                                                 "--mask", "--exclude", "--area"};
    bool outlines = false;
    w->out->points = sdm_input_is_points(path[SDM_IN_REFERENCE]);
    for (int k = 0; k < SDM_INPUTS; k++) {
        if (k == SDM_IN_REFERENCE && w->out->points)
            PASS(sdm_input_points_open(ctx, path[k], &w->in[SDM_IN_DEM], &w->in[k], &w->points));
        else if (path[k] && k < SDM_IN_CLASS)
            PASS(sdm_input_raster_open(ctx, path[k], role[k], &w->in[k]));
        else if (path[k])
            PASS(sdm_input_areas_open(ctx,
                                      &(SdmOutlineSource){.option = role[k],
                                                          .path = path[k],
                                                          .layer = k < SDM_IN_AREA ? opt->layer : NULL,
                                                          .where = k < SDM_IN_AREA ? opt->where : NULL,
                                                          .is_single = k >= SDM_IN_AREA,
                                                          .field = k == SDM_IN_CLASS ? "class" : NULL,
                                                          .may_miss = k == SDM_IN_EXCLUDE},
                                      &w->in[k]));
        if (k == SDM_IN_DEM)
            PASS(sdm_input_raster_check_dem(ctx, &w->in[k]));
        outlines = outlines || (k < SDM_IN_AREA && w->in[k].outlines.file);
    }
    if ((opt->where || opt->layer) && !outlines)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: needs polygons given by --mask, --exclude, --class or --within, found none",
                        opt->where ? "--where" : "--layer");
    PASS(sdm_input_raster_set_datum(ctx, &w->in[SDM_IN_DEM], "--dem-vertical", opt->dem_vertical));
    return sdm_input_raster_set_datum(ctx, &w->in[SDM_IN_REFERENCE], "--reference-vertical",
                                      opt->reference_vertical);
}

SdmStatus sdm_compare_dems(SdmContext *ctx, const char *dem, const char *reference,
                           const SdmCompareOptions *opt, SdmCompareResult *out)
{
    SdmStatus st = SDM_OK;
    SdmComparison w = {.ctx = ctx, .opt = opt, .out = out};
    const char *const path[SDM_INPUTS] = {dem,       reference,    opt->class_raster,     opt->within,
                                          opt->mask, opt->exclude, sdm_options(ctx)->area};
    *out = (SdmCompareResult){0};
    for (int k = 0; k < SDM_COMPARE_CLASSES; k++)
        out->class[k].lo = out->class[k].hi = k;
    sdm_gdal_register();
    SDM_QUIET;
    TRY(check_outputs(ctx, opt, path));
    TRY(open_inputs(&w, path));
    TRY(out->points ? sdm_compare_points(&w) : compare_rasters(&w));
    if (opt->output)
        TRY(sdm_compare_page_write(&w));
done:
    for (int k = 0; k < 2; k++)
        sdm_mean_map_close(&w.page.view[k].map);
    sdm_free(&w.class);
    sdm_coreg_close(&w.g);
    sdm_input_points_close(&w.points);
    for (int k = 0; k < SDM_INPUTS; k++)
        sdm_input_raster_close(&w.in[k]);
    return st;
}
