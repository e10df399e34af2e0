/* Disparities -> GeoTIFF or PFM and a preview, under temporary names until they are whole. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/disparity_steps.h"

#include "core/file.h"
#include "core/path.h"
#include "core/system.h"
#include "geo/gdal_scope.h"
#include "geo/png.h"
#include "input/source.h"

#include <cpl_error.h>
#include <cpl_string.h>
#include <errno.h>
#include <gdal.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* By the name's ending: SDM_FORMAT_TIF or _PFM; _AUTO where it is of neither. */
static int ending_of(const char *path)
{
    return sdm_path_ends_in(path, ".pfm")                                      ? SDM_FORMAT_PFM
           : sdm_path_ends_in(path, ".tif") || sdm_path_ends_in(path, ".tiff") ? SDM_FORMAT_TIF
                                                                               : SDM_FORMAT_AUTO;
}

/* ---- checks before any work ---- */

/* Is the file one of those that GDAL reads the input from, such as the source of a virtual raster? */
static bool is_read_from(const char *path, const char *input)
{
    bool found = false;
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH const ds = sdm_gdal_open(input);
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = ds ? GDALGetFileList(ds) : NULL;
    for (int i = 0; list && list[i]; i++)
        found |= sdm_system_is_same(path, list[i]);
    return found;
}

static SdmStatus check_output(SdmContext *ctx, const char *option, const char *path,
                              const SdmPairFiles *files, bool overwrite)
{
    struct stat s;
    const char *const inputs[2] = {files->left, files->right};
    PASS(sdm_file_check_output(ctx, option, path));
    for (int k = 0; k < 2; k++)
        if (sdm_system_is_same(path, inputs[k]))
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s would overwrite the input %s; give another name",
                            option, path, inputs[k]);
    if (sdm_system_look(path, &s) != 0)
        return SDM_OK;
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s is not a regular file; give another name", option, path);
    if (!overwrite)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s exists; give --overwrite or another name", option, path);
    for (int k = 0; k < 2; k++)
        if (is_read_from(path, inputs[k]))
            return sdm_fail(ctx, SDM_ERR_USAGE,
                            "%s %s would overwrite a file that the input %s is read from; give another name",
                            option, path, inputs[k]);
    return SDM_OK;
}

SdmStatus sdm_outputs_check(SdmContext *ctx, const SdmPairFiles *files, const SdmDisparityOptions *opt)
{
    PASS(check_output(ctx, "-o", files->output, files, opt->overwrite));
    const int ending = ending_of(files->output);
    if (opt->format && ending && ending != opt->format) /* it would mislead its readers */
        return sdm_fail(
            ctx, SDM_ERR_USAGE, "--format %s: -o %s ends in %s; leave --format out or change the name",
            opt->format == SDM_FORMAT_PFM ? "pfm" : "tif", files->output, strrchr(files->output, '.'));
    if (!opt->format && !ending)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "-o %s: expected a name that ends in .tif, .tiff or .pfm; or give --format",
                        files->output);
    if (!*files->preview)
        return SDM_OK;
    if (!sdm_path_ends_in(files->preview, ".png"))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--preview %s: expected a name that ends in .png",
                        files->preview);
    if (strcmp(files->preview, files->output) == 0 || sdm_system_is_same(files->preview, files->output))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--preview %s: the same file as -o; give another name",
                        files->preview);
    return check_output(ctx, "--preview", files->preview, files, opt->overwrite);
}

/* ---- the files ---- */

/* Rows of a PFM, which is little-endian; the bottom row comes first. */
static bool put_pfm(SdmOutput *o, int y0, int y1, const float *rows)
{
    const int64_t bytes = (int64_t)o->width * (int64_t)sizeof *o->row;
    bool good = fseeko(o->pfm, o->header + (o->height - y1) * bytes, SEEK_SET) == 0;
    for (int y = y1 - 1; good && y >= y0; y--) {
        const float *const from = rows + (ptrdiff_t)(y - y0) * o->width;
        for (int x = 0; x < o->width; x++)
            o->row[x] = isnan(from[x]) ? INFINITY : from[x];
        good = fwrite(o->row, sizeof *o->row, (size_t)o->width, o->pfm) == (size_t)o->width;
    }
    return good;
}

static SdmStatus open_pfm(SdmContext *ctx, SdmOutput *o)
{
    PASS(sdm_alloc(ctx, &o->row, (size_t)o->width, sizeof *o->row, "row of the PFM"));
    errno = 0;
    o->pfm = fopen(o->temporary, "wb");
    o->header = o->pfm ? fprintf(o->pfm, "Pf\n%d %d\n-1.0\n", o->width, o->height) : -1;
    if (o->header < 0)
        return sdm_fail_write(ctx, o->temporary, strerror(errno));
    return SDM_OK;
}

static SdmStatus open_tif(SdmContext *ctx, SdmOutput *o)
{
    char block[32];
    const char *const options[] = {"BIGTIFF=IF_SAFER", block, NULL};
    SDM_CLOSED_BY(sdm_gdal_errors_end) SdmGdalErrors errors = {0};
    snprintf(block, sizeof block, "BLOCKYSIZE=%d", SDM_PAIR_ROWS);
    sdm_gdal_errors_begin(&errors);
    o->tif = GDALCreate(GDALGetDriverByName("GTiff"), o->temporary, o->width, o->height, 1, GDT_Float32,
                        (char **)(uintptr_t)options);
    if (o->tif) {
        const GDALRasterBandH band = GDALGetRasterBand(o->tif, 1);
        GDALSetRasterNoDataValue(band, (double)NAN);
        GDALSetRasterUnitType(band, "px");
        GDALSetDescription(band, "disparity, x_right = x_left - d");
    }
    return o->tif && !errors.failed ? SDM_OK : sdm_fail_write(ctx, o->temporary, errors.text);
}

/* Strips of the file, past the cache of blocks; the last one, of fewer rows, through it. */
static bool put_tif(const SdmOutput *o, int y0, int y1, const float *rows)
{
    const GDALRasterBandH band = GDALGetRasterBand(o->tif, 1);
    int width, high;
    bool good = true;
    GDALGetBlockSize(band, &width, &high);
    for (int y = y0; good && y < y1; y += high) {
        const int n = high < y1 - y ? high : y1 - y;
        void *const from = (void *)(uintptr_t)(rows + (ptrdiff_t)(y - y0) * o->width);
        good = n == high ? GDALWriteBlock(band, 0, y / high, from) == CE_None
                         : GDALRasterIO(band, GF_Write, 0, y, width, n, from, width, n, GDT_Float32, 0, 0) ==
                               CE_None;
    }
    return good;
}

/* 1..255 from dmin to dmax; 0: none.  Filled and sub-pixel ones beyond the range are cut. */
static unsigned char shade(float d, int dmin, int dmax)
{
    const float t = dmax > dmin ? (d - (float)dmin) / (float)(dmax - dmin) : 1.0f;
    const float cut = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    return isnan(d) ? 0 : (unsigned char)lrintf(1.0f + 254.0f * cut);
}

static SdmStatus write_preview(SdmContext *ctx, const SdmOutput *o)
{
    SDM_CLOSED_BY(sdm_png_close) SdmPng png = {.data = NULL};
    SdmFileWriter file;
    PASS(sdm_png_encode(ctx, o->grey, o->width, o->height, 1, &png));
    PASS(sdm_file_create(ctx, o->files->preview, &file));
    sdm_file_put(&file, png.data, png.size);
    return sdm_file_commit(ctx, &file, false);
}

SdmStatus sdm_output_open(SdmContext *ctx, SdmOutput *o)
{
    const int format = o->opt->format ? o->opt->format : ending_of(o->files->output);
    PASS(sdm_lease_take_output(ctx, o->files->output, &o->owner));
    sdm_file_sweep(o->files->output);
    sdm_file_sweep(sdm_lease_path(o->owner));
    if (*o->files->preview)
        sdm_file_sweep(o->files->preview);
    PASS(sdm_file_temporary_name(ctx, o->files->output, o->temporary, sizeof o->temporary));
    if (*o->files->preview)
        PASS(sdm_alloc(ctx, &o->grey, (size_t)o->width * (size_t)o->height, 1, "preview"));
    return format == SDM_FORMAT_PFM ? open_pfm(ctx, o) : open_tif(ctx, o);
}

SdmStatus sdm_output_rows(SdmContext *ctx, SdmOutput *o, int y0, int y1, const float *rows)
{
    SdmGdalErrors errors;
    const size_t n = (size_t)(y1 - y0) * (size_t)o->width, first = (size_t)y0 * (size_t)o->width;
    errno = 0;
    sdm_gdal_errors_begin(&errors);
    const bool good = o->pfm ? put_pfm(o, y0, y1, rows) : put_tif(o, y0, y1, rows);
    sdm_gdal_errors_end(&errors);
    for (size_t i = 0; o->grey && i < n; i++)
        o->grey[first + i] = shade(rows[i], o->opt->min_disparity, o->opt->max_disparity);
    return good && !errors.failed ? SDM_OK
                                  : sdm_fail_write(ctx, o->temporary, o->pfm ? strerror(errno) : errors.text);
}

/* Close the file of disparities; returns st, or why its end could not be written. */
static SdmStatus close_data(SdmContext *ctx, SdmOutput *o, SdmStatus st)
{
    SdmGdalErrors errors;
    errno = 0;
    sdm_gdal_errors_begin(&errors);
    const bool good = !o->pfm || fclose(o->pfm) == 0;
    if (o->tif)
        GDALClose(o->tif);
    sdm_gdal_errors_end(&errors);
    if (st == SDM_OK && !(good && !errors.failed))
        st = sdm_fail_write(ctx, o->temporary, o->pfm ? strerror(errno) : errors.text);
    o->pfm = NULL;
    o->tif = NULL;
    sdm_free(&o->row);
    return st;
}

SdmStatus sdm_output_close(SdmContext *ctx, SdmOutput *o, SdmStatus st)
{
    char statistics[SDM_PATH_SIZE + 16];
    const char *const path = o->files->output;
    st = close_data(ctx, o, st);
    if (st == SDM_OK && o->grey)
        st = write_preview(ctx, o);
    if (st == SDM_OK)
        st = sdm_lease_check(ctx, o->owner);
    if (st == SDM_OK && sdm_system_rename(o->temporary, path) != 0)
        st = sdm_fail(ctx, SDM_ERR_IO, "%s: cannot give the finished file its name: %s", path,
                      strerror(errno));
    if (st != SDM_OK && *o->temporary)
        unlink(o->temporary);
    else if (snprintf(statistics, sizeof statistics, "%s.aux.xml", path) > 0)
        unlink(statistics); /* those of the file that was replaced */
    sdm_lease_release(&o->owner);
    sdm_free(&o->grey);
    return st;
}

SdmStatus sdm_outputs_write(SdmContext *ctx, const SdmPairFiles *files, const SdmDisparityOptions *opt,
                            int width, int height, const float *disparity)
{
    SdmOutput o = {.files = files, .opt = opt, .width = width, .height = height};
    const SdmStatus st = sdm_output_open(ctx, &o);
    return sdm_output_close(ctx, &o, st ? st : sdm_output_rows(ctx, &o, 0, height, disparity));
}
