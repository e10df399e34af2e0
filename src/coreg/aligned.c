/* The aligned DEM by cubic spline, and the files of a comparison. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/aligned.h"
#include "core/file.h"
#include "core/lease.h"
#include "core/system.h"
#include "geo/gdal_errors.h"
#include "product/raster.h"

#include <cpl_string.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

SdmStatus sdm_aligned_resample(SdmContext *ctx, SdmCoregGrid *g, const double move_m[3])
{
    SdmStatus st = SDM_OK;
    const double dcol = -move_m[0] / g->dx_m, drow = move_m[1] / g->dy_m;
    const bool moved = fabs(dcol) > 0.0 || fabs(drow) > 0.0;
    if (moved) {
        TRY(sdm_coreg_fit(ctx, g, g->dem_m, 0, 0));
        TRY(sdm_spline_shift(ctx, &g->spline, dcol, drow, g->scratch));
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
done:
    return st;
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
    cut_cells(&left, grid->cols, grid->transform[0], &cells.cols, &cells.transform[0]);
    cut_cells(&up, grid->rows, grid->transform[3], &cells.rows, &cells.transform[3]);
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
    TRY(sdm_lease_check(ctx, owner));
    if (sdm_system_rename(part, file->path) != 0)
        st = sdm_fail_write(ctx, file->path, strerror(errno));
done:
    if (st && part[0])
        unlink(part);
    (void)sdm_raster_close(ctx, &raster, file->path);
    sdm_lease_release(&owner);
    return st;
}
