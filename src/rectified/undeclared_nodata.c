/* Samples of an image whose file declares no nodata -> the same without fill. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/disparity_inside.h"
#include "kernels.h"
#include "input/fill_nodata.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SURVEY_PX = 1 << 19, BORDER_PX = 8 };

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

SdmStatus sdm_leave_out_fill(SdmContext *ctx, const char *role, const char *path, float *grey, int64_t n)
{
    SdmStatus st = SDM_OK;
    float *sample = NULL, fill[2] = {NAN, NAN};
    char value[2][24];
    int64_t count = 0, from = 0, left_out = 0;
    const int64_t step = n / SURVEY_PX + 1;
    TRY(sdm_alloc(ctx, &sample, (size_t)(n / step + 1), sizeof *sample, "survey of an image"));
    for (int64_t i = 0; i < n; i += step)
        if (!isnan(grey[i]))
            sample[count++] = grey[i];
    qsort(sample, (size_t)count, sizeof *sample, by_value);
    const int found = sdm_fill_find(sample, &from, &count, fill);
    if (!found)
        goto done;
    for (int64_t i = 0; i < n; i++)
        if (grey[i] == fill[0] || grey[i] == fill[1]) {
            grey[i] = NAN;
            left_out++;
        }
    for (int k = 0; k < found; k++)
        sdm_fill_text(fill[k], value[k]);
    sdm_log(ctx, SDM_LOG_WARNING, 1,
            "%s %s: %s%s%s %s taken for no data, though the file does not declare it (%.1f %% of the "
            "pixels); declare it with gdal_edit.py -a_nodata %s",
            role, path, value[0], found > 1 ? " and " : "", found > 1 ? value[1] : "",
            found > 1 ? "are" : "is", 100.0 * (double)left_out / (double)n, value[0]);
done:
    sdm_free(&sample);
    return st;
}

/* Zeros from an end of n samples, `step` apart, when they are BORDER_PX or more: marked.  What was marked
 * before counts as zero.  Returns how many are new. */
static int64_t clear_run(int16_t *first, int n, ptrdiff_t step)
{
    int run = 0;
    int64_t fresh = 0;
    while (run < n && (first[run * step] == 0 || first[run * step] == SDM_PIXEL_NODATA))
        run++;
    for (int i = 0; run >= BORDER_PX && i < run; i++) {
        fresh += first[i * step] == 0;
        first[i * step] = SDM_PIXEL_NODATA;
    }
    return fresh;
}

void sdm_leave_out_border(SdmContext *ctx, const char *role, const char *path, int16_t *samples, int width,
                          int height)
{
    int64_t n = 0;
    for (ptrdiff_t y = 0; y < height; y++) {
        n += clear_run(samples + y * width, width, 1);
        n += clear_run(samples + (y + 1) * width - 1, width, -1);
    }
    for (ptrdiff_t x = 0; x < width; x++) {
        n += clear_run(samples + x, height, width);
        n += clear_run(samples + (ptrdiff_t)(height - 1) * width + x, height, -(ptrdiff_t)width);
    }
    if (n == (int64_t)width * height) /* a black image, such as a frame of a sequence: no border */
        memset(samples, 0, (size_t)n * sizeof *samples);
    else if (n)
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "%s %s: zeros along the edges are taken for no data, though the file does not declare it "
                "(%.1f %% of the pixels)",
                role, path, 100.0 * (double)n / ((double)width * height));
}
