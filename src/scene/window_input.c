/* A window of the frame -> lattice and image pyramids. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/window_input.h"

#include "matching/bright_areas.h"
#include "scene/view_reader.h"

#include <string.h>

/* Are these the levels of the window b? */
static bool is_of(const SdmPyramid *p, const SdmPyramidRequest *q, const int64_t b[4], bool turned)
{
    SdmLevelImage place;
    const SdmLevelImage *const first = &p->level[q->lmin];
    sdm_level_place(b, q->lmin, &place);
    return first->data && p->turned == turned && p->lmin == q->lmin && p->lmax == q->lmax &&
           first->x0 == place.x0 && first->y0 == place.y0 && first->w == place.w && first->h == place.h;
}

/* Hide the clouds of coarse levels; the full resolution shows them to all but the search by labels. */
static SdmStatus hide_clouds(SdmContext *ctx, enum SdmSide side, const SdmPyramidRequest *q, SdmPyramid *p)
{
    for (int l = q->lmin; l > 0 && l <= q->lmax && sdm_hides_clouds(q->settings); l++)
        PASS(sdm_hide_bright(ctx, q->settings->hide_above[side], (int)side, &p->level[l]));
    return SDM_OK;
}

/* Where clouds are hidden: the pixels of the full resolution that are as bright as they. */
static SdmStatus mark_bright(SdmContext *ctx, int above, const SdmLevelImage *image, uint8_t **defect)
{
    const size_t n = (size_t)(image->w * image->h);
    if (!*defect)
        PASS(sdm_alloc(ctx, defect, n, 1, "defects of an image"));
    for (size_t i = 0; i < n; i++)
        if (image->data[i] > above)
            (*defect)[i] |= SDM_DEFECT_BRIGHT;
    return SDM_OK;
}

/* b: columns and rows from, to (of a turned image rows and columns); changed to what is read. */
static SdmStatus open_pyramid(SdmContext *ctx, enum SdmSide side, const SdmPyramidRequest *q, int64_t b[4],
                              SdmPyramid *out)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = q->settings;
    SdmImage *const image = q->scene->view[side].image;
    const bool turned = q->lattice->turned[side];
    SdmViewReader reader = {
        .image = image, .turned = turned, .saturated = set->semi_global, .keep = q->lmin == 0};
    const int around = sdm_stage_enter(ctx, 4);
    int64_t size[2];
    sdm_view_size(&reader, size);
    for (int k = 0; k < 2; k++) { /* cut to the image and a little more */
        b[k] = b[k] < -64 ? -64 : b[k];
        b[2 + k] = b[2 + k] > size[k] + 64 ? size[k] + 64 : b[2 + k];
        b[k] = b[k] > size[k] ? size[k] : b[k];
        b[2 + k] = b[2 + k] < b[k] + 16 ? b[k] + 16 : b[2 + k];
        b[k] &= ~(int64_t)63;
        b[2 + k] = (b[2 + k] + 63) & ~(int64_t)63;
    }
    if (is_of(out, q, b, turned))
        goto done;
    sdm_pyramid_free(out);
    const SdmPyramidSource source = {.kernels = set->kernels, .read = sdm_view_read, .user = &reader};
    TRY(sdm_pyramid_build(ctx, &source, b, q->lmin, q->lmax, out));
    out->turned = turned;
    TRY(hide_clouds(ctx, side, q, out));
    if (q->lmin == 0 && sdm_hides_clouds(set))
        TRY(mark_bright(ctx, set->hide_above[side], &out->level[0], &reader.defect));
    out->defect = reader.defect;
    reader.defect = NULL;
done:
    sdm_free(&reader.defect);
    sdm_stage_leave(ctx, around);
    return st;
}

SdmStatus sdm_pyramids_open(SdmContext *ctx, const SdmPyramidRequest *q, SdmPyramid *left, SdmPyramid *right)
{
    int64_t b[4];
    const int margin = 24 << q->lmax;
    sdm_lattice_bounds(q->lattice, q->win, SDM_LEFT, q->hmin_m, q->hmax_m, margin, b);
    PASS(open_pyramid(ctx, SDM_LEFT, q, b, left));
    sdm_lattice_bounds(q->lattice, q->win, SDM_RIGHT, q->hmin_m, q->hmax_m, margin, b);
    return open_pyramid(ctx, SDM_RIGHT, q, b, right);
}

SdmLatticeRequest sdm_window_request(const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win)
{
    return (SdmLatticeRequest){.scene = scene,
                               .frame = &p->frame,
                               .pointing = &p->pointing,
                               .along = sdm_along_given(&p->along) ? &p->along : NULL,
                               .surface = &p->coarse,
                               .u0 = win->u0,
                               .v0 = win->v0,
                               .u1 = win->u0 + win->w,
                               .v1 = win->v0 + win->h,
                               .step = SDM_LATTICE_STEP,
                               .hmin_m = p->hmin_m,
                               .hmax_m = p->hmax_m};
}

SdmLatticeRequest sdm_coarse_request(const SdmScene *scene, const SdmPrepared *p, int margin)
{
    SdmLatticeRequest q = sdm_window_request(scene, p, &(SdmWindow){.level = 0});
    q.u1 = p->frame.width + margin;
    q.v1 = p->frame.height + margin;
    q.grid = &p->grid;
    q.step = sdm_frame_lattice_step(&p->frame, p->coarse.win.level);
    return q;
}

SdmStatus sdm_window_open(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win,
                          const SdmGrid *grid, int lmax, SdmWindowInput *out)
{
    SdmLatticeRequest q = sdm_window_request(scene, p, win);
    q.grid = grid;
    q.again = !grid;
    q.turn = true;
    const SdmLattice lattice = out->lattice;
    const SdmPyramid left = out->left, right = out->right;
    *out = (SdmWindowInput){
        .lattice = lattice,
        .left = left,
        .right = right,
        .in = {.settings = &p->settings,
               .lattice = &out->lattice,
               .left = &out->left,
               .right = &out->right,
               .spent = {&out->left, &out->right},
               .terrain = &p->terrain,
               .terrain_pixel_m = (float)(p->frame.gsd_m * (double)(1 << p->coarse.win.level))}};
    PASS(sdm_lattice_build(ctx, &q, &out->lattice));
    const SdmPyramidRequest images = {.scene = scene,
                                      .settings = &p->settings,
                                      .lattice = &out->lattice,
                                      .win = win,
                                      .hmin_m = p->hmin_m,
                                      .hmax_m = p->hmax_m,
                                      .lmax = lmax};
    return sdm_pyramids_open(ctx, &images, &out->left, &out->right);
}

void sdm_window_close(SdmWindowInput *w)
{
    sdm_pyramid_free(&w->left);
    sdm_pyramid_free(&w->right);
    sdm_lattice_free(&w->lattice);
}
