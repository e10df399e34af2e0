/* A window of the frame -> pyramids of both images. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/prepare.h"

static SdmStatus read_view(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h, int16_t *out)
{
    return sdm_image_read(ctx, user, x0, y0, w, h, out, NULL);
}

static SdmStatus open_pyramid(SdmContext *ctx, const SdmView *view, const SdmMatchSettings *set, int64_t b[4], int lmin,
                              int lmax, SdmPyramid *out)
{
    SdmStatus st = SDM_OK;
    const int64_t size[2] = {sdm_image_width(view->image), sdm_image_height(view->image)};
    const double t0 = sdm_now_s();
    for (int k = 0; k < 2; k++) { /* cut to the image and a little more */
        b[k] = b[k] < -64 ? -64 : b[k];
        b[2 + k] = b[2 + k] > size[k] + 64 ? size[k] + 64 : b[2 + k];
        b[k] = b[k] > size[k] ? size[k] : b[k];
        b[2 + k] = b[2 + k] < b[k] + 16 ? b[k] + 16 : b[2 + k];
        b[k] &= ~(int64_t)63;
        b[2 + k] = (b[2 + k] + 63) & ~(int64_t)63;
    }
    TRY(sdm_pyramid_build(ctx, set->kernels, read_view, view->image, b, lmin, lmax, out));
    if (set->cost == set->kernels->sad)
        TRY(sdm_pyramid_normalise(ctx, out));
done:
    sdm_add_time(ctx, 4, sdm_now_s() - t0);
    return st;
}

SdmStatus sdm_open_pyramids(SdmContext *ctx, const SdmScene *scene, const SdmMatchSettings *set, const SdmLattice *lat,
                            const SdmWindow *win, double hmin_m, double hmax_m, int lmin, int lmax, SdmPyramid *left,
                            SdmPyramid *right)
{
    SdmStatus st = SDM_OK;
    int64_t b[4];
    const int margin = 24 << lmax;
    sdm_lattice_bounds(lat, win, SDM_LEFT, hmin_m, hmax_m, margin, b);
    TRY(open_pyramid(ctx, &scene->view[0], set, b, lmin, lmax, left));
    sdm_lattice_bounds(lat, win, SDM_RIGHT, hmin_m, hmax_m, margin, b);
    TRY(open_pyramid(ctx, &scene->view[1], set, b, lmin, lmax, right));
done:
    return st;
}

float sdm_noise_q(const SdmRadiometry *left)
{
    return left->scale == 16.0 ? 16.0f : 6.0f; /* 8 bit: a DN of noise at least */
}
