/* Disparities -> GeoTIFF or PFM and a preview, under temporary names until they are whole. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/disparity_write.h"

#include "core/file.h"
#include "geo/gdal_errors.h"
#include "geo/png.h"
#include "input/source.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <errno.h>
#include <gdal.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), k = strlen(ending);
    return n > k && path[n - k - 1] != '/' && strcasecmp(path + n - k, ending) == 0;
}

/* SDM_FORMAT_TIF or _PFM; _AUTO where the name has no ending of either. */
static int format_of(const char *path, const SdmDisparityOptions *opt)
{
    if (opt->format != SDM_FORMAT_AUTO)
        return opt->format;
    if (ends_in(path, ".pfm"))
        return SDM_FORMAT_PFM;
    return ends_in(path, ".tif") || ends_in(path, ".tiff") ? SDM_FORMAT_TIF : SDM_FORMAT_AUTO;
}

/* ---- checks before any work ---- */

static bool same_file(const char *a, const char *b)
{
    struct stat s, t;
    return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

/* Is the file one of those that GDAL reads the input from, such as the source of a virtual raster? */
static bool is_read_from(const char *path, const char *input)
{
    bool found = false;
    sdm_quiet_begin();
    const GDALDatasetH ds = sdm_gdal_open(input);
    char **const list = ds ? GDALGetFileList(ds) : NULL;
    for (int i = 0; list && list[i]; i++)
        found |= same_file(path, list[i]);
    CSLDestroy(list);
    if (ds)
        GDALClose(ds);
    sdm_quiet_end();
    return found;
}

static SdmStatus check_output(SdmContext *ctx, const char *option, const char *path,
                              const SdmPairFiles *files, bool overwrite)
{
    SdmStatus st = SDM_OK;
    struct stat s;
    const char *const inputs[2] = {files->left, files->right};
    TRY(sdm_file_check_output(ctx, option, path));
    for (int k = 0; k < 2; k++)
        if (same_file(path, inputs[k]))
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s would overwrite the input %s; give another name",
                            option, path, inputs[k]);
    if (lstat(path, &s) != 0)
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
done:
    return st;
}

SdmStatus sdm_outputs_check(SdmContext *ctx, const SdmPairFiles *files, const SdmDisparityOptions *opt)
{
    SdmStatus st = SDM_OK;
    TRY(check_output(ctx, "-o", files->output, files, opt->overwrite));
    if (format_of(files->output, opt) == SDM_FORMAT_AUTO)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "-o %s: expected a name that ends in .tif, .tiff or .pfm; or give --format",
                        files->output);
    if (!*files->preview)
        return SDM_OK;
    if (!ends_in(files->preview, ".png"))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--preview %s: expected a name that ends in .png",
                        files->preview);
    if (strcmp(files->preview, files->output) == 0 || same_file(files->preview, files->output))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--preview %s: the same file as -o; give another name",
                        files->preview);
    TRY(check_output(ctx, "--preview", files->preview, files, opt->overwrite));
done:
    return st;
}

/* ---- the files ---- */

/* Four bytes of a float, lowest first. */
static void put_float(float value, unsigned char *to)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int k = 0; k < 4; k++)
        to[k] = (unsigned char)(bits >> (8 * k));
}

SdmStatus sdm_pfm_write(SdmContext *ctx, const char *path, int width, int height, const float *disparity)
{
    SdmStatus st = SDM_OK;
    unsigned char *row = NULL;
    errno = 0;
    FILE *const f = fopen(path, "wb");
    bool bad = !f || fprintf(f, "Pf\n%d %d\n-1.0\n", width, height) < 0;
    if (!bad)
        TRY(sdm_alloc(ctx, &row, (size_t)width, 4, "row of the PFM"));
    for (int y = height - 1; !bad && y >= 0; y--) {
        for (int x = 0; x < width; x++) {
            const float d = disparity[(ptrdiff_t)y * width + x];
            put_float(isnan(d) ? INFINITY : d, row + 4 * (ptrdiff_t)x);
        }
        bad = fwrite(row, 4, (size_t)width, f) != (size_t)width;
    }
done:
    if (f)
        bad |= fclose(f) != 0;
    if (st == SDM_OK && bad)
        st = sdm_fail_write(ctx, path, strerror(errno));
    sdm_free(&row);
    return st;
}

static SdmStatus write_tif(SdmContext *ctx, const char *path, int width, int height, const float *disparity)
{
    static const char *const options[] = {"BIGTIFF=IF_SAFER", NULL};
    SdmGdalErrors errors;
    sdm_gdal_errors_begin(&errors);
    const GDALDatasetH ds = GDALCreate(GDALGetDriverByName("GTiff"), path, width, height, 1, GDT_Float32,
                                       (char **)(uintptr_t)options);
    bool good = ds != NULL;
    if (good) {
        const GDALRasterBandH band = GDALGetRasterBand(ds, 1);
        GDALSetRasterNoDataValue(band, (double)NAN);
        GDALSetRasterUnitType(band, "px");
        GDALSetDescription(band, "disparity, x_right = x_left - d");
        good = GDALRasterIO(band, GF_Write, 0, 0, width, height, (void *)(uintptr_t)disparity, width, height,
                            GDT_Float32, 0, 0) == CE_None;
        GDALClose(ds);
    }
    sdm_gdal_errors_end(&errors);
    return good && !errors.failed ? SDM_OK : sdm_fail_write(ctx, path, errors.text);
}

/* 1..255 from dmin to dmax; 0: none.  Filled and sub-pixel ones beyond the range are cut. */
static unsigned char shade(float d, int dmin, int dmax)
{
    const float t = dmax > dmin ? (d - (float)dmin) / (float)(dmax - dmin) : 1.0f;
    const float cut = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    return isnan(d) ? 0 : (unsigned char)lrintf(1.0f + 254.0f * cut);
}

static SdmStatus write_preview(SdmContext *ctx, const char *path, const SdmDisparityOptions *opt, int width,
                               int height, const float *disparity)
{
    SdmStatus st = SDM_OK;
    unsigned char *grey = NULL;
    SdmPng png = {.data = NULL};
    SdmFileWriter file;
    const size_t n = (size_t)width * (size_t)height;
    TRY(sdm_alloc(ctx, &grey, n, 1, "preview"));
    for (size_t i = 0; i < n; i++)
        grey[i] = shade(disparity[i], opt->min_disparity, opt->max_disparity);
    TRY(sdm_png_encode(ctx, grey, width, height, 1, &png));
    TRY(sdm_file_create(ctx, path, &file));
    sdm_file_put(&file, png.data, png.size);
    TRY(sdm_file_commit(ctx, &file, false));
done:
    sdm_png_close(&png);
    sdm_free(&grey);
    return st;
}

SdmStatus sdm_outputs_write(SdmContext *ctx, const SdmPairFiles *files, const SdmDisparityOptions *opt,
                            int width, int height, const float *disparity)
{
    SdmStatus st = SDM_OK;
    char temporary[SDM_PATH_SIZE + 32], statistics[SDM_PATH_SIZE + 16];
    TRY(sdm_file_temporary_name(ctx, files->output, temporary, sizeof temporary));
    if (format_of(files->output, opt) == SDM_FORMAT_PFM)
        st = sdm_pfm_write(ctx, temporary, width, height, disparity);
    else
        st = write_tif(ctx, temporary, width, height, disparity);
    if (st == SDM_OK && *files->preview)
        st = write_preview(ctx, files->preview, opt, width, height, disparity);
    if (st == SDM_OK && rename(temporary, files->output) != 0)
        st = sdm_fail(ctx, SDM_ERR_IO, "%s: cannot give the finished file its name: %s", files->output,
                      strerror(errno));
    if (st != SDM_OK)
        unlink(temporary);
    else if (snprintf(statistics, sizeof statistics, "%s.aux.xml", files->output) > 0)
        unlink(statistics); /* those of the file that was replaced */
done:
    return st;
}
