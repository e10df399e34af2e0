/* A window of the frame -> lattice and image pyramids. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/window_input.h"

#include <string.h>

/* ---- pixels of a view, nodata inside saturated areas ---- */

/* Reads windows of an image; turned: the windows and their places are those of SdmPyramid.turned. */
typedef struct ViewReader {
    SdmImage *image;
    bool turned;
    bool keep;      /* remember the mask of the last window in `core` */
    uint8_t *core;  /* h x w of that window, 1 = inside a saturated area; NULL: none is; owned */
} ViewReader;

enum { RIM = 3, SIDE = 2 * RIM + 1 };

/* core (h x w): 1 where all of the SIDE x SIDE pixels around are saturated.  wide: the mask of saturated
 * pixels, with a rim of RIM pixels; columns: w counters, 0. */
static void find_core(const uint8_t *wide, int64_t w, int64_t h, uint8_t *columns, uint8_t *core)
{
    for (int64_t y = 0; y < h + 2 * RIM; y++) {
        const uint8_t *const row = wide + y * (w + 2 * RIM);
        int run = 0;
        for (int64_t x = 0; x < w + 2 * RIM; x++) {
            run = row[x] ? run + 1 : 0;
            if (x < 2 * RIM)
                continue;
            uint8_t *const rows = &columns[x - 2 * RIM]; /* up to here whose SIDE pixels are saturated */
            *rows = (uint8_t)(run < SIDE ? 0 : *rows < SIDE ? *rows + 1 : SIDE);
            if (y >= 2 * RIM)
                core[(y - 2 * RIM) * w + x - 2 * RIM] = *rows == SIDE;
        }
    }
}

/* core: 1 inside saturated areas of the window. */
static SdmStatus read_core(SdmContext *ctx, const ViewReader *r, SdmImageWindow at, uint8_t *core)
{
    SdmStatus st = SDM_OK;
    const SdmImageWindow around = {at.x - RIM, at.y - RIM, at.w + 2 * RIM, at.h + 2 * RIM};
    const size_t n = (size_t)(around.w * around.h);
    int16_t *pixels = NULL;
    uint8_t *wide = NULL, *columns = NULL;
    TRY(sdm_alloc(ctx, &pixels, n, sizeof *pixels, "image window"));
    TRY(sdm_alloc(ctx, &wide, n, 1, "the mask of saturated pixels"));
    TRY(sdm_alloc(ctx, &columns, (size_t)at.w, 1, "the mask of saturated pixels"));
    TRY(sdm_image_read(ctx, r->image, around, pixels, wide, NULL));
    find_core(wide, at.w, at.h, columns, core);
done:
    sdm_free(&pixels);
    sdm_free(&wide);
    sdm_free(&columns);
    return st;
}

/* A column or row beside the image, and the image's own next to it, counted from the window's first. */
typedef struct Border {
    int64_t outside, inside;
} Border;

/* The outermost pixels of the image once more beyond its border: taps for what the warp samples between the
 * image's last two columns or rows.  Beyond the image there is still no data, as more taps are missing. */
static void repeat_border(const int64_t size[2], SdmImageWindow at, int16_t *out)
{
    const Border column[2] = {{-1 - at.x, -at.x}, {size[0] - at.x, size[0] - 1 - at.x}};
    const Border row[2] = {{-1 - at.y, -at.y}, {size[1] - at.y, size[1] - 1 - at.y}};
    for (int k = 0; k < 2; k++) {
        const int64_t to = column[k].outside, from = column[k].inside;
        for (int64_t y = 0; y < at.h && to >= 0 && from >= 0 && to < at.w && from < at.w; y++)
            out[y * at.w + to] = out[y * at.w + from];
    }
    for (int k = 0; k < 2; k++) {
        const int64_t to = row[k].outside, from = row[k].inside;
        if (to >= 0 && from >= 0 && to < at.h && from < at.h)
            memcpy(out + to * at.w, out + from * at.w, (size_t)at.w * sizeof *out);
    }
}

/* Width and height; of a turned image the other way round. */
static void find_size(const SdmImage *image, bool turned, int64_t size[2])
{
    size[turned] = sdm_image_width(image);
    size[1 - turned] = sdm_image_height(image);
}

static SdmStatus turn_mask(SdmContext *ctx, uint8_t **mask, int64_t w, int64_t h)
{
    uint8_t *turned = NULL;
    const SdmStatus st = sdm_alloc_raw(ctx, &turned, (size_t)(w * h), 1, "the mask of saturated pixels");
    if (st != SDM_OK)
        return st;
    for (int64_t x = 0; x < w; x++)
        for (int64_t y = 0; y < h; y++)
            turned[x * h + y] = (*mask)[y * w + x];
    sdm_free(mask);
    *mask = turned;
    return SDM_OK;
}

/* An sdm_read_fn; user: a ViewReader.  A pixel does not depend on the window. */
static SdmStatus read_view(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                           int16_t *out)
{
    SdmStatus st = SDM_OK;
    ViewReader *const r = user;
    const SdmImageWindow at = {x0, y0, w, h}, in_file = r->turned ? (SdmImageWindow){y0, x0, h, w} : at;
    const size_t n = (size_t)(w * h);
    int64_t size[2];
    uint8_t *mask = NULL;
    bool any = false;
    sdm_free(&r->core);
    TRY(r->turned ? sdm_image_read_turned(ctx, r->image, in_file, out, &any)
                  : sdm_image_read(ctx, r->image, in_file, out, NULL, &any));
    find_size(r->image, r->turned, size);
    repeat_border(size, at, out);
    if (!any)
        goto done;
    TRY(sdm_alloc(ctx, &mask, n, 1, "the mask of saturated pixels"));
    TRY(read_core(ctx, r, in_file, mask));
    if (r->turned)
        TRY(turn_mask(ctx, &mask, in_file.w, in_file.h));
    for (size_t i = 0; i < n; i++)
        out[i] = mask[i] ? (int16_t)SDM_Q_NODATA : out[i];
    if (r->keep && memchr(mask, 1, n)) {
        r->core = mask;
        mask = NULL;
    }
done:
    sdm_free(&mask);
    return st;
}

/* ---- windows ---- */

/* Are these the levels of the window b? */
static bool is_of(const SdmPyramid *p, const SdmPyramidRequest *q, const int64_t b[4], bool turned)
{
    SdmLevelImage place;
    const SdmLevelImage *const first = &p->level[q->lmin];
    sdm_level_place(b, q->lmin, &place);
    return first->data && p->turned == turned && p->lmin == q->lmin && p->lmax == q->lmax &&
           first->x0 == place.x0 && first->y0 == place.y0 && first->w == place.w && first->h == place.h;
}

/* b: columns and rows from, to (of a turned image rows and columns); changed to what is read. */
static SdmStatus open_pyramid(SdmContext *ctx, enum SdmSide side, const SdmPyramidRequest *q, int64_t b[4],
                              SdmPyramid *out)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = q->settings;
    SdmImage *const image = q->scene->view[side].image;
    const bool turned = q->lattice->turned[side];
    ViewReader reader = {.image = image, .turned = turned, .keep = q->lmin == 0};
    const int around = sdm_stage_enter(ctx, 4);
    int64_t size[2];
    find_size(image, turned, size);
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
    const SdmPyramidSource source = {.kernels = set->kernels, .read = read_view, .user = &reader};
    TRY(sdm_pyramid_build(ctx, &source, b, q->lmin, q->lmax, out));
    out->turned = turned;
    out->saturated = reader.core;
    reader.core = NULL;
    if (set->cost == set->kernels->sad)
        TRY(sdm_pyramid_normalise(ctx, out, set->norm_floor));
done:
    sdm_free(&reader.core);
    sdm_stage_leave(ctx, around);
    return st;
}

SdmStatus sdm_pyramids_open(SdmContext *ctx, const SdmPyramidRequest *q, SdmPyramid *left, SdmPyramid *right)
{
    SdmStatus st = SDM_OK;
    int64_t b[4];
    const int margin = 24 << q->lmax;
    sdm_lattice_bounds(q->lattice, q->win, SDM_LEFT, q->hmin_m, q->hmax_m, margin, b);
    TRY(open_pyramid(ctx, SDM_LEFT, q, b, left));
    sdm_lattice_bounds(q->lattice, q->win, SDM_RIGHT, q->hmin_m, q->hmax_m, margin, b);
    TRY(open_pyramid(ctx, SDM_RIGHT, q, b, right));
done:
    return st;
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
    SdmStatus st = SDM_OK;
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
    TRY(sdm_lattice_build(ctx, &q, &out->lattice));
    const SdmPyramidRequest images = {.scene = scene, .settings = &p->settings, .lattice = &out->lattice,
                                      .win = win, .hmin_m = p->hmin_m, .hmax_m = p->hmax_m, .lmax = lmax};
    TRY(sdm_pyramids_open(ctx, &images, &out->left, &out->right));
done:
    return st;
}

void sdm_window_close(SdmWindowInput *w)
{
    sdm_pyramid_free(&w->left);
    sdm_pyramid_free(&w->right);
    sdm_lattice_free(&w->lattice);
}
