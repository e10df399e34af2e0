/* A window of the frame -> what the chain works on there: lattice, pyramids of both images. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/prepare.h"
#include "scene/view_reader.h"

static SdmStatus open_pyramid(SdmContext *ctx, const SdmView *view, const SdmMatchSettings *set, int64_t b[4],
                              int lmin, int lmax, SdmPyramid *out)
{
    SdmStatus st = SDM_OK;
    const int64_t size[2] = {sdm_image_width(view->image), sdm_image_height(view->image)};
    SdmViewReader reader = {.image = view->image, .keep = lmin == 0};
    const int around = sdm_stage_enter(ctx, 4);
    for (int k = 0; k < 2; k++) { /* cut to the image and a little more */
        b[k] = b[k] < -64 ? -64 : b[k];
        b[2 + k] = b[2 + k] > size[k] + 64 ? size[k] + 64 : b[2 + k];
        b[k] = b[k] > size[k] ? size[k] : b[k];
        b[2 + k] = b[2 + k] < b[k] + 16 ? b[k] + 16 : b[2 + k];
        b[k] &= ~(int64_t)63;
        b[2 + k] = (b[2 + k] + 63) & ~(int64_t)63;
    }
    TRY(sdm_pyramid_build(ctx, set->kernels, sdm_view_read, &reader, b, lmin, lmax, out));
    out->saturated = reader.core;
    reader.core = NULL;
    if (set->cost == set->kernels->sad)
        TRY(sdm_pyramid_normalise(ctx, out, set->norm_floor));
done:
    sdm_free(&reader.core);
    sdm_stage_leave(ctx, around);
    return st;
}

SdmStatus sdm_open_pyramids(SdmContext *ctx, const SdmScene *scene, const SdmMatchSettings *set,
                            const SdmLattice *lat, const SdmWindow *win, double hmin_m, double hmax_m,
                            int lmin, int lmax, SdmPyramid *left, SdmPyramid *right)
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

SdmLatticeRequest sdm_window_request(const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win)
{
    return (SdmLatticeRequest){.scene = scene,
                               .frame = &p->frame,
                               .pointing = &p->pointing,
                               .u0 = win->u0,
                               .v0 = win->v0,
                               .u1 = win->u0 + win->w,
                               .v1 = win->v0 + win->h,
                               .step = SDM_BLOCK_STEP,
                               .hmin_m = p->hmin_m,
                               .hmax_m = p->hmax_m};
}

SdmStatus sdm_fine_open(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win,
                        const SdmGrid *grid, int lmax, SdmFineInput *out)
{
    SdmStatus st = SDM_OK;
    SdmLatticeRequest q = sdm_window_request(scene, p, win);
    q.grid = grid;
    *out = (SdmFineInput){
        .in = {.settings = &p->settings,
               .lattice = &out->lattice,
               .left = &out->left,
               .right = &out->right,
               .terrain = &p->terrain,
               .terrain_pixel_m = (float)(p->frame.gsd_m * (double)(1 << p->coarse.win.level))}};
    TRY(sdm_lattice_build(ctx, &q, &out->lattice));
    TRY(sdm_open_pyramids(ctx, scene, &p->settings, &out->lattice, win, p->hmin_m, p->hmax_m, 0, lmax,
                          &out->left, &out->right));
done:
    return st;
}

void sdm_fine_close(SdmFineInput *f)
{
    sdm_pyramid_free(&f->left);
    sdm_pyramid_free(&f->right);
    sdm_lattice_free(&f->lattice);
}
