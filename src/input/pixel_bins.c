/* A pair of unlike pixels -> the finer view with about the pixels of the other. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geodesy.h"
#include "input/image.h"

#include <math.h>

/* The coarser view's pixels to the bins of the finer one: such pairs gave the best heights. */
static const double BINS_FINER = 1.5;

/* The ground sample distance at the middle of a view, m: the root of a pixel's area. */
static double measure_gsd_m(const SdmView *v)
{
    double image[3][3], ground[3][3], p[3][3], hmin, hmax, cross[3];
    sdm_camera_height_range(v->camera, &hmin, &hmax);
    for (int k = 0; k < 3; k++) { /* a pixel, the next of its row, and of its column */
        image[k][0] = floor(0.5 * (double)v->image->width) + (k == 1);
        image[k][1] = floor(0.5 * (double)v->image->height) + (k == 2);
        image[k][2] = 0.5 * (hmin + hmax);
    }
    sdm_camera_locate(v->camera, 3, image[0], ground[0]);
    for (int k = 0; k < 3; k++)
        sdm_geodetic_to_ecef(ground[k][0], ground[k][1], ground[k][2], p[k]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, l = (i + 2) % 3;
        cross[i] = (p[1][j] - p[0][j]) * (p[2][l] - p[0][l]) - (p[1][l] - p[0][l]) * (p[2][j] - p[0][j]);
    }
    return sqrt(sqrt(cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]));
}

SdmStatus sdm_bin_finer_view(SdmContext *ctx, SdmScene *scene)
{
    const double gsd_m[2] = {measure_gsd_m(&scene->view[0]), measure_gsd_m(&scene->view[1])};
    const int finer = gsd_m[1] < gsd_m[0];
    const double ratio = gsd_m[!finer] / gsd_m[finer];
    SdmView *const v = &scene->view[finer];
    const int64_t side = v->image->width < v->image->height ? v->image->width : v->image->height;
    const long bin = lround(ratio / BINS_FINER);
    if (!(bin > 1)) /* or a camera that is refused later */
        return SDM_OK;
    if (side < bin * SDM_IMAGE_MIN_PX)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its %lld x %lld pixels of %.3g m are few of the %.3g m of %s, expected at least "
                        "%d of these a side; give a larger image",
                        v->name, (long long)v->image->width, (long long)v->image->height, gsd_m[finer],
                        gsd_m[!finer], scene->view[!finer].name, (int)SDM_IMAGE_MIN_PX);
    v->note.bin = (int)bin;
    if (scene->depth == SDM_DEPTH_WHOLE)
        sdm_log(ctx, SDM_LOG_INFO, 1,
                "%s has pixels of %.3g m, %s of %.3g m: the mean of %d x %d of the former is matched",
                v->name, gsd_m[finer], scene->view[!finer].name, gsd_m[!finer], v->note.bin, v->note.bin);
    sdm_image_bin(v->image, v->note.bin);
    sdm_camera_bin(v->camera, v->note.bin);
    return SDM_OK;
}
