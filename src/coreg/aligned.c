/* The aligned DEM by cubic spline, and the files of a comparison. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/aligned.h"
#include "core/file.h"
#include "core/lease.h"
#include "core/stats.h"
#include "geo/gdal_errors.h"
#include "product/raster.h"

#include <cpl_string.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    FILL_ROUNDS = 12, /* cells that a hole is filled inwards: the spline's response falls by 0.27 a cell */
    LINEAR_ROUNDS =
        2 /* of these by extrapolation: cells at the rim may be resampled from half a cell inside */
};

/* Mean of the neighbours that have a height or, for `linear`, of what they and those behind them extrapolate
 * to, where there are such; NaN without any. */
static float surroundings(const float *h, int64_t cols, int64_t rows, int64_t at, bool linear)
{
    double sum[2] = {0.0, 0.0};
    int n[2] = {0, 0};
    for (int k = 0; k < 9; k++) {
        const int64_t dx = k % 3 - 1, dy = k / 3 - 1, x = at % cols + dx, y = at / cols + dy;
        if (x < 0 || y < 0 || x >= cols || y >= rows || isnan(h[y * cols + x]))
            continue;
        const double near = (double)h[y * cols + x];
        sum[0] += near;
        n[0]++;
        if (x + dx < 0 || y + dy < 0 || x + dx >= cols || y + dy >= rows ||
            isnan(h[(y + dy) * cols + x + dx]))
            continue;
        sum[1] += 2.0 * near - (double)h[(y + dy) * cols + x + dx];
        n[1]++;
    }
    const int kind = linear && n[1] > 0;
    return n[0] ? (float)(sum[kind] / n[kind]) : NAN;
}

/* Cells without a height beside one, in order. */
static int64_t find_rim(const float *h, int64_t cols, int64_t rows, int64_t *out, int64_t room)
{
    int64_t n = 0;
    for (int64_t at = 0; at < cols * rows; at++)
        if (isnan(h[at]) && !isnan(surroundings(h, cols, rows, at, false))) {
            if (n < room)
                out[n] = at;
            n++;
        }
    return n;
}

/* Cells without a height that are filled next. */
typedef struct Rim {
    int64_t *cell, count, room;
} Rim;

/* Cells without a height beside those of the rim -> out, each once: mark[] of it becomes 0. */
static void next_rim(const float *h, int64_t cols, int64_t rows, const Rim *rim, float *mark, Rim *out)
{
    out->count = 0;
    for (int64_t k = 0; k < rim->count; k++) {
        const int64_t row = rim->cell[k] / cols, col = rim->cell[k] % cols;
        for (int64_t y = row - 1; y <= row + 1; y++)
            for (int64_t x = col - 1; x <= col + 1; x++) {
                const int64_t at = y * cols + x;
                if (y < 0 || x < 0 || y >= rows || x >= cols || !isnan(h[at]) || !isnan(mark[at]) ||
                    out->count == out->room)
                    continue;
                mark[at] = 0.0f;
                out->cell[out->count++] = at;
            }
    }
}

/* Fill the holes of h from their rims inwards, some cells far, linearly at first; 0 beyond.
 * mark: rows x cols, overwritten. */
static SdmStatus fill_holes(SdmContext *ctx, float *h, int64_t cols, int64_t rows, float *mark)
{
    SdmStatus st = SDM_OK;
    const int64_t found = find_rim(h, cols, rows, NULL, 0), room = 4 * found + 1;
    Rim rim = {.count = found, .room = room}, next = {.room = room};
    float *value = NULL;
    TRY(sdm_alloc(ctx, &rim.cell, (size_t)room, sizeof *rim.cell, "holes of the DEM"));
    TRY(sdm_alloc(ctx, &next.cell, (size_t)room, sizeof *next.cell, "holes of the DEM"));
    TRY(sdm_alloc(ctx, &value, (size_t)room, sizeof *value, "holes of the DEM"));
    memcpy(mark, h, (size_t)(cols * rows) * sizeof *mark);
    find_rim(h, cols, rows, rim.cell, room);
    for (int64_t k = 0; k < rim.count; k++)
        mark[rim.cell[k]] = 0.0f;
    for (int round = 0; round < FILL_ROUNDS && rim.count > 0; round++) {
        for (int64_t k = 0; k < rim.count; k++)
            value[k] = surroundings(h, cols, rows, rim.cell[k], round < LINEAR_ROUNDS);
        for (int64_t k = 0; k < rim.count; k++)
            h[rim.cell[k]] = value[k];
        next_rim(h, cols, rows, &rim, mark, &next);
        const Rim last = rim;
        rim = next;
        next = last;
    }
    for (int64_t i = 0; i < cols * rows; i++)
        h[i] = isnan(h[i]) ? 0.0f : h[i];
done:
    sdm_free(&value);
    sdm_free(&next.cell);
    sdm_free(&rim.cell);
    return st;
}

SdmStatus sdm_aligned_fit(SdmContext *ctx, SdmCoregGrid *g, double *base_m)
{
    SdmStatus st = SDM_OK;
    const int64_t cells = g->cols * g->rows;
    memcpy(g->scratch, g->dem_m, (size_t)cells * sizeof *g->scratch);
    const double median = *base_m = sdm_median_f32(g->scratch, sdm_drop_nan_f32(g->scratch, cells));
    for (int64_t i = 0; i < cells; i++)
        g->scratch[i] = (float)((double)g->dem_m[i] - median);
    TRY(fill_holes(ctx, g->scratch, g->cols, g->rows, g->residual_m));
    TRY(sdm_spline_fit(ctx, &g->spline, g->scratch));
done:
    return st;
}

SdmStatus sdm_aligned_resample(SdmContext *ctx, SdmCoregGrid *g, const double shift_m[3])
{
    SdmStatus st = SDM_OK;
    double base_m = 0.0;
    const double dcol = -shift_m[0] / g->dx_m, drow = shift_m[1] / g->dy_m;
    const bool moved = fabs(dcol) > 0.0 || fabs(drow) > 0.0;
    if (moved) {
        TRY(sdm_aligned_fit(ctx, g, &base_m));
        TRY(sdm_spline_shift(ctx, &g->spline, dcol, drow, g->scratch));
    }
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = 0; i < g->cols; i++) {
            const int64_t at = j * g->cols + i;
            const double x = floor((double)i + dcol + 0.5), y = floor((double)j + drow + 0.5);
            const bool inside = x >= 0.0 && y >= 0.0 && x < (double)g->cols && y < (double)g->rows;
            const float nearest = inside ? g->dem_m[(int64_t)y * g->cols + (int64_t)x] : NAN;
            const double height_m = moved ? base_m + (double)g->scratch[at] : (double)nearest;
            g->scratch[at] = isnan(nearest) ? NAN : (float)(height_m - shift_m[2]);
        }
done:
    return st;
}

/* ---- files ---- */

/* The cells of the grid that are the DEM's, as a raster in memory with the DEM's CRS, nodata and metadata. */
static SdmStatus describe(SdmContext *ctx, const SdmAlignedFile *file, SdmRaster *out)
{
    const SdmRasterGrid *const grid = file->grid;
    GDALDatasetH const dem = grid->dem->file;
    GDALRasterBandH const from = GDALGetRasterBand(dem, 1);
    int64_t left, up;
    int has = 0;
    double nodata = GDALGetRasterNoDataValue(from, &has);
    nodata = has ? (double)(float)nodata : (double)SDM_NODATA;
    SdmRasterGrid cells;
    sdm_raster_grid_own(grid->dem, &cells);
    sdm_raster_grid_offset(grid, &left, &up);
    float *const first = file->value_m + up * grid->cols + left;
    for (int64_t j = 0; j < cells.rows; j++)
        for (int64_t i = 0; i < cells.cols; i++)
            first[j * grid->cols + i] =
                isnan(first[j * grid->cols + i]) ? (float)nodata : first[j * grid->cols + i];
    out->dataset = sdm_raster_grid_wrap(&cells, first, grid->cols, nodata);
    if (!out->dataset ||
        GDALSetSpatialRef(out->dataset, file->difference ? grid->dem->srs : GDALGetSpatialRef(dem)) !=
            CE_None)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "%s: no raster of %lld x %lld cells can be made in memory",
                        file->path, (long long)cells.cols, (long long)cells.rows);
    char **items = CSLMerge(CSLDuplicate(GDALGetMetadata(dem, NULL)), file->metadata);
    if (file->difference)
        items = CSLSetNameValue(items, "VERTICAL_DATUM", NULL);
    GDALSetMetadata(out->dataset, items, NULL);
    CSLDestroy(items);
    GDALRasterBandH const to = GDALGetRasterBand(out->dataset, 1);
    GDALSetDescription(to, file->difference ? "difference" : GDALGetDescription(from));
    GDALSetRasterUnitType(to, "m");
    return SDM_OK;
}

SdmStatus sdm_aligned_write(SdmContext *ctx, const SdmAlignedFile *file)
{
    SdmStatus st = SDM_OK;
    SdmRaster raster = {0};
    char part[SDM_PATH_SIZE] = "";
    SdmLease *owner = NULL;
    TRY(sdm_lease_take_output(ctx, file->path, &owner));
    sdm_file_sweep(file->path);
    TRY(sdm_file_temporary_name(ctx, file->path, part, sizeof part));
    TRY(describe(ctx, file, &raster));
    const SdmCogRequest request = {.path = part, .memory_bytes = file->memory_bytes};
    TRY(sdm_cog_write(ctx, &raster, &request));
    if (rename(part, file->path) != 0)
        st = sdm_fail_write(ctx, file->path, strerror(errno));
done:
    if (st && part[0])
        unlink(part);
    (void)sdm_raster_close(ctx, &raster, file->path);
    sdm_lease_release(&owner);
    return st;
}
