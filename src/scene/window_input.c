/* A window of the frame -> lattice and image pyramids, whose pixels are mended as they are read. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/window_input.h"
#include "core/dense.h"
#include "geo/height_raster.h"
#include "input/scene_open.h"
#include "matching/filters.h"
#include "matching/pyramid.h"

#include <math.h>
#include <string.h>

/* ---- windows of a view's pixels: small holes filled, saturated areas without data ---- */

/* turned: windows and their places are those of SdmPyramid.turned. */
typedef struct ViewReader {
    SdmImage *image;
    bool turned;
    bool saturated;  /* saturated areas keep their pixels: their outlines tell their place (plain_areas.c) */
    bool keep;       /* remember the defects of the last window */
    uint8_t *defect; /* h x w of that window, SdmDefect; NULL: there are none; owned */
} ViewReader;

/* Width and height; of a turned image the other way round. */
static void view_size(const ViewReader *r, int64_t size[2])
{
    size[r->turned] = r->image->width;
    size[1 - r->turned] = r->image->height;
}

/* A window as the file has it, which has flaws, and REACH px around. */
typedef struct Flawed {
    SdmImageWindow at, wide;
    int64_t size[2];      /* of the image */
    int16_t *pixels;      /* of the wide window */
    uint8_t *flaws;       /* SdmFlaw of them */
    int64_t across, down; /* steps of out and defect to the next pixel of a row, and of a column */
    int16_t *out;
    uint8_t *defect; /* SdmDefect */
} Flawed;

enum {
    REACH = 5,    /* of what fills a hole */
    NEAREST = 12, /* pixels with data that fill it */
    SIDES = 4,    /* half of the window that tells whether data are on all sides: that of a match */
    RIM = 3,      /* of a saturated area, which keeps its pixels */
    MOST_TAPS = (2 * REACH + 1) * (2 * REACH + 1)
};

/* ---- saturated and masked pixels ---- */

/* columns: at.w counters, 0. */
static void find_saturated(const Flawed *q, uint8_t *columns)
{
    enum { SIDE = 2 * RIM + 1, MARGIN = REACH - RIM };
    const int64_t w = q->at.w, h = q->at.h;
    for (int64_t y = 0; y < h + 2 * RIM; y++) {
        const uint8_t *const row = q->flaws + (y + MARGIN) * q->wide.w + MARGIN;
        int run = 0;
        for (int64_t x = 0; x < w + 2 * RIM; x++) {
            run = row[x] & SDM_FLAW_SATURATED ? run + 1 : 0;
            if (x < 2 * RIM)
                continue;
            uint8_t *const rows = &columns[x - 2 * RIM]; /* up to here whose SIDE pixels are saturated */
            *rows = (uint8_t)(run < SIDE ? 0 : *rows < SIDE ? *rows + 1 : SIDE);
            if (y >= 2 * RIM && *rows == SIDE) {
                const int64_t i = (y - 2 * RIM) * q->down + (x - 2 * RIM) * q->across;
                q->defect[i] |= SDM_DEFECT_SATURATED;
                q->out[i] = SDM_Q_NODATA;
            }
        }
    }
}

static void find_masked(const Flawed *q)
{
    for (int64_t y = 0; y < q->at.h; y++)
        for (int64_t x = 0; x < q->at.w; x++)
            if (q->flaws[(y + REACH) * q->wide.w + x + REACH] & SDM_FLAW_MASKED)
                q->defect[y * q->down + x * q->across] |= SDM_DEFECT_MASKED;
}

/* ---- holes ---- */

/* Pixels within reach of a hole's, the nearest first. */
typedef struct Taps {
    int count, x[MOST_TAPS], y[MOST_TAPS];
    int64_t offset[MOST_TAPS];
} Taps;

static void list_taps(int64_t pitch, Taps *t)
{
    t->count = 0;
    for (int square = 1; square <= REACH * REACH; square++)
        for (int j = -REACH; j <= REACH; j++)
            for (int i = -REACH; i <= REACH; i++) {
                if (i * i + j * j != square)
                    continue;
                t->x[t->count] = i;
                t->y[t->count] = j;
                t->offset[t->count++] = j * pitch + i;
            }
}

/* Half of the mean square difference of pixels (i, j) apart, up to a factor. */
static double variogram(int i, int j)
{
    const double square = 1.0 + i * i + j * j;
    return sqrt(square * sqrt(square));
}

/* The best linear prediction of p from the nearest pixels with data, of what differs from their mean; nodata
 * without any.  Source: simple kriging, Matheron 1963. */
static int16_t fill_pixel(const Taps *t, const int16_t *p)
{
    const double variance = 64.0, noise = 0.02; /* so large that the mean hardly matters */
    double a[NEAREST * NEAREST], weight[NEAREST], mean = 0.0;
    int at[NEAREST], n = 0;
    for (int k = 0; k < t->count && n < NEAREST; k++)
        if (p[t->offset[k]] != SDM_Q_NODATA)
            at[n++] = k;
    for (int k = 0; k < n; k++) {
        const int i = t->x[at[k]], j = t->y[at[k]];
        for (int l = 0; l <= k; l++) /* the lower triangle */
            a[k * n + l] = variance - variogram(i - t->x[at[l]], j - t->y[at[l]]) + (k == l ? noise : 0.0);
        weight[k] = variance - variogram(i, j);
        mean += (double)p[t->offset[at[k]]] / n;
    }
    if (n == 0 || !sdm_solve_cholesky(n, a, weight))
        return SDM_Q_NODATA;
    double value = mean;
    for (int k = 0; k < n; k++)
        value += weight[k] * ((double)p[t->offset[at[k]]] - mean);
    return (int16_t)floor(fmax(fmin(value, 2047.0), -2047.0) + 0.5);
}

/* Have less than half of the pixels around p data? */
static bool is_beyond(const int16_t *p, int64_t pitch)
{
    enum { ALL = (2 * SIDES + 1) * (2 * SIDES + 1) };
    int count = 0;
    for (int j = -SIDES; j <= SIDES; j++)
        for (int i = -SIDES; i <= SIDES; i++)
            count += p[j * pitch + i] != SDM_Q_NODATA;
    return 2 * count < ALL;
}

/* Count the pixels of row y of the wide window that have data, with a sign, by column. */
static void count_row(const Flawed *q, int64_t y, int sign, int16_t *restrict count)
{
    const int16_t *restrict const row = q->pixels + y * q->wide.w;
    for (int64_t x = 0; x < q->wide.w; x++)
        count[x] = (int16_t)(count[x] + (row[x] == SDM_Q_NODATA ? 0 : sign));
}

/* Row y; count: pixels with data in each column of the rows within reach. */
static void fill_row(const Flawed *q, const Taps *taps, int64_t y, const int16_t *count)
{
    const int64_t pitch = q->wide.w, first = q->at.x < 0 ? -q->at.x : 0,
                  end = q->size[0] - q->at.x < q->at.w ? q->size[0] - q->at.x : q->at.w;
    int near = 0;
    for (int64_t x = first; x < first + 2 * REACH; x++)
        near += count[x];
    for (int64_t x = first; x < end; near -= count[x], x++) {
        const int16_t *const p = q->pixels + (y + REACH) * pitch + x + REACH;
        near += count[x + 2 * REACH];
        if (*p != SDM_Q_NODATA || near == 0)
            continue;
        q->out[y * q->down + x * q->across] = fill_pixel(taps, p);
        q->defect[y * q->down + x * q->across] |=
            (uint8_t)(SDM_DEFECT_FILLED | (is_beyond(p, pitch) ? SDM_DEFECT_BEYOND : 0));
    }
}

/* counts: rows of wide.w for each thread. */
static void fill_holes(const Flawed *q, int threads, int16_t *counts)
{
    enum { BAND = 64 /* rows */ };
    const int64_t first = q->at.y < 0 ? -q->at.y : 0,
                  end = q->size[1] - q->at.y < q->at.h ? q->size[1] - q->at.y : q->at.h;
    Taps taps;
    list_taps(q->wide.w, &taps);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t y0 = first; y0 < end; y0 += BAND) {
        int16_t *const count = counts + sdm_thread() * q->wide.w;
        const int64_t y1 = y0 + BAND < end ? y0 + BAND : end;
        memset(count, 0, (size_t)q->wide.w * sizeof *count);
        for (int64_t y = y0; y < y0 + 2 * REACH; y++)
            count_row(q, y, 1, count);
        for (int64_t y = y0; y < y1; y++) {
            count_row(q, y + 2 * REACH, 1, count);
            fill_row(q, &taps, y, count);
            count_row(q, y, -1, count);
        }
    }
}

/* ---- borders ---- */

/* The outermost pixels of the image once more beyond its border: taps for what the warp samples between the
 * image's last two columns or rows.  Beyond the image there is still no data, as more taps are missing. */
static void repeat_border(const int64_t size[2], SdmImageWindow at, int16_t *out)
{
    for (int k = 0; k < 2; k++) { /* columns, counted from the window's first */
        const int64_t to = k ? size[0] - at.x : -1 - at.x, from = k ? to - 1 : to + 1;
        for (int64_t y = 0; y < at.h && to >= 0 && from >= 0 && to < at.w && from < at.w; y++)
            out[y * at.w + to] = out[y * at.w + from];
    }
    for (int k = 0; k < 2; k++) { /* rows */
        const int64_t to = k ? size[1] - at.y : -1 - at.y, from = k ? to - 1 : to + 1;
        if (to >= 0 && from >= 0 && to < at.h && from < at.h)
            memcpy(out + to * at.w, out + from * at.w, (size_t)at.w * sizeof *out);
    }
}

/* ---- a window ---- */

static bool any_defect(const uint8_t *defect, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (defect[i])
            return true;
    return false;
}

/* Mend the pixels of a window, and keep its defects.  flaws: those that it has; at: as the file has it; out:
 * h x w, or w x h of a turned image. */
static SdmStatus mend(SdmContext *ctx, ViewReader *r, unsigned flaws, SdmImageWindow at, int16_t *out)
{
    const int threads = sdm_threads(ctx);
    const size_t n = (size_t)(at.w * at.h);
    const SdmImageWindow around = {at.x - REACH, at.y - REACH, at.w + 2 * REACH, at.h + 2 * REACH};
    const size_t wide = (size_t)(around.w * around.h);
    SDM_OWNED int16_t *pixels = NULL, *counts = NULL;
    SDM_OWNED uint8_t *flawed = NULL, *defect = NULL, *columns = NULL;
    PASS(SDM_ALLOC_RAW(ctx, "image window", SDM_ARRAY(pixels, wide), SDM_ARRAY(flawed, wide),
                       SDM_ARRAY(counts, (size_t)threads * (size_t)around.w)));
    PASS(SDM_ALLOC(ctx, "defects of an image", SDM_ARRAY(defect, n), SDM_ARRAY(columns, (size_t)at.w)));
    Flawed q = {.at = at,
                .wide = around,
                .size = {r->image->width, r->image->height},
                .across = r->turned ? at.h : 1,
                .down = r->turned ? 1 : at.w,
                .pixels = pixels,
                .flaws = flawed,
                .defect = defect,
                .out = out};
    PASS(sdm_image_read(ctx, r->image, around, false, pixels, flawed, NULL));
    find_masked(&q);
    if (flaws & SDM_FLAW_NODATA)
        fill_holes(&q, threads, counts);
    if (flaws & SDM_FLAW_SATURATED)
        find_saturated(&q, columns);
    if (r->keep && any_defect(defect, n)) {
        r->defect = defect;
        defect = NULL;
    }
    return SDM_OK;
}

/* An sdm_read_fn; user: an ViewReader.  A pixel does not depend on the window.
 *
 * A pixel without data is predicted from the 12 nearest with data within 5 px (kriging with the variogram
 * (1 + r^2)^0.75); where there are none it stays nodata, as beyond the image.  So windows are whole
 * around lost lines, dead columns and the specks of a mask.
 *
 * Pixels 3 px or more inside a saturated area become nodata: there is nothing to match, but detectors that
 * were brought to one level still differ by column, which would look like texture.  With `saturated` they
 * stay, as do white roofs of towns. */
static SdmStatus read_view(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                           int16_t *out)
{
    ViewReader *const r = user;
    const SdmImageWindow at = {x0, y0, w, h}, in_file = r->turned ? (SdmImageWindow){y0, x0, h, w} : at;
    unsigned flaws = 0;
    int64_t size[2];
    sdm_free(&r->defect);
    view_size(r, size);
    PASS(sdm_image_read(ctx, r->image, in_file, r->turned, out, NULL, &flaws));
    if (r->saturated)
        flaws &= ~(unsigned)SDM_FLAW_SATURATED;
    if (flaws)
        PASS(mend(ctx, r, flaws, in_file, out));
    repeat_border(size, at, out);
    return SDM_OK;
}

/* ---- lattice and pyramids ---- */

/* Are these the levels of the window b? */
static bool is_of(const SdmPyramid *p, const SdmPyramidRequest *q, const int64_t b[4], bool turned)
{
    SdmLevelImage place;
    const SdmLevelImage *const first = &p->level[q->lmin];
    sdm_level_place(b, q->lmin, &place);
    return first->data && p->turned == turned && p->lmin == q->lmin && p->lmax == q->lmax &&
           first->x0 == place.x0 && first->y0 == place.y0 && first->w == place.w && first->h == place.h;
}

/* Hide clouds, or take veils off; orthoimages show the left view with them. */
static SdmStatus prepare_levels(SdmContext *ctx, enum SdmSide side, const SdmPyramidRequest *q, SdmPyramid *p)
{
    const SdmMatchSettings *const set = q->settings;
    if ((set->veils || sdm_hides_clouds(set)) && q->lmin == 0 && side == SDM_LEFT)
        PASS(sdm_level_image_copy(ctx, &p->level[0], &p->seen));
    for (int l = q->lmin; l <= q->lmax; l++)
        if (set->veils)
            PASS(sdm_take_veil_off(ctx, &p->level[l]));
        else if (sdm_hides_clouds(set))
            PASS(sdm_hide_bright(ctx, set->hide_above[side], (int)side, &p->level[l]));
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
    ViewReader reader = {
        .image = image, .turned = turned, .saturated = set->semi_global, .keep = q->lmin == 0};
    const int around = sdm_stage_enter(ctx, 4);
    int64_t size[2];
    view_size(&reader, size);
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
    if (q->lmin == 0 && sdm_hides_clouds(set))
        TRY(mark_bright(ctx, set->hide_above[side], &out->level[0], &reader.defect));
    TRY(prepare_levels(ctx, side, q, out));
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

/* ---- a prior DEM ---- */

SdmStatus sdm_prior_open(SdmContext *ctx, const SdmOptions *o, SdmHeightRaster **out)
{
    const SdmHeightSource source = {
        .option = "--dem", .path = o->dem, .datum_option = "--dem-vertical", .datum = o->dem_vertical};
    return o->dem ? sdm_height_raster_open(ctx, &source, out) : SDM_OK;
}

SdmStatus sdm_prior_sample(SdmContext *ctx, const SdmScene *scene, const SdmLattice *lat,
                           SdmHeightRaster *dem, const SdmWindow *win, float *h_m)
{
    enum { ROUNDS = 3 }; /* from a height to the ray's place there, and back */
    const double size = (double)(1 << win->level);
    for (int y = 0; y < win->h; y++)
        for (int x = 0; x < win->w; x++) {
            double at[3], g[3], h = lat->height0_m;
            sdm_lattice_left(lat, ((double)(win->u0 + x) + 0.5) * size - 0.5,
                             ((double)(win->v0 + y) + 0.5) * size - 0.5, at);
            for (int k = 0; k < ROUNDS && isfinite(h); k++) {
                at[2] = h;
                sdm_camera_locate(scene->view[0].camera, 1, at, g);
                h = sdm_height_raster_at(ctx, dem, g[0], g[1]);
            }
            h_m[(size_t)y * (size_t)win->w + (size_t)x] = (float)h;
        }
    return sdm_height_raster_check(ctx, dem);
}

/* Squares of 3 x 3 px of one height, but for the geoid, become none: voids of a value that the DEM does not
 * declare, or plains and lakes, whose shape needs no prior. */
static SdmStatus drop_flat(SdmContext *ctx, const SdmWindow *win, float *h_m)
{
    enum { SIDE = 3 };
    const float same_m = 0.02f;
    const size_t w = (size_t)win->w, n = w * (size_t)win->h;
    SDM_OWNED uint8_t *flat = NULL;
    PASS(sdm_alloc(ctx, &flat, n, 1, "flat cells of a prior DEM"));
    for (size_t y = 0; y + SIDE <= (size_t)win->h; y++)
        for (size_t x = 0; x + SIDE <= w; x++) {
            const size_t at = y * w + x;
            int same = 0;
            while (same < SIDE * SIDE &&
                   fabsf(h_m[at + (size_t)(same / SIDE) * w + (size_t)(same % SIDE)] - h_m[at]) <= same_m)
                same++;
            for (int k = 0; k < SIDE * SIDE && same == SIDE * SIDE; k++)
                flat[at + (size_t)(k / SIDE) * w + (size_t)(k % SIDE)] = 1;
        }
    for (size_t i = 0; i < n; i++)
        h_m[i] = flat[i] ? NAN : h_m[i];
    return SDM_OK;
}

/* *out: heights of a prior DEM at the pixels of a window between clouds, kept where it has them already.
 * They are read at the level whose pixels are about as wide as its cells. */
static SdmStatus open_prior(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p,
                            const SdmWindow *win, const SdmLattice *lattice, float **out)
{
    const double cell_px = p->prior.cell_px;
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *dem = NULL;
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = {0};
    if (!scene->options->dem || !sdm_hides_clouds(&p->settings) || *out ||
        !(cell_px <= SDM_PRIOR_COARSEST_PX))
        return SDM_OK;
    PASS(sdm_prior_open(ctx, scene->options, &dem));
    const int first = cell_px < 1.0 ? 0 : ilogb(1.25 * cell_px);
    for (int level = first; level >= 0; level--) {
        const int unit = 1 << level;
        SdmSurface finer = {.win = {level, win->u0 >> level, win->v0 >> level, (win->w + unit - 1) >> level,
                                    (win->h + unit - 1) >> level}};
        PASS(sdm_alloc_raw(ctx, &finer.h_m, (size_t)finer.win.w * (size_t)finer.win.h, sizeof *finer.h_m,
                           "heights of a prior DEM"));
        if (level < first)
            sdm_surface_refine(ctx, p->settings.kernels, &s, &finer);
        sdm_surface_free(&s);
        s = finer;
        if (level == first) {
            PASS(sdm_prior_sample(ctx, scene, lattice, dem, &s.win, s.h_m));
            PASS(drop_flat(ctx, &s.win, s.h_m));
        }
    }
    *out = s.h_m;
    s.h_m = NULL;
    return SDM_OK;
}

/* ---- the window of all ---- */

SdmStatus sdm_window_open(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win,
                          const SdmGrid *grid, int lmax, SdmWindowInput *out)
{
    SdmLatticeRequest q = sdm_window_request(scene, p, win);
    q.grid = grid;
    q.again = !grid;
    q.turn = true;
    out->in =
        (SdmMatchInput){.settings = &p->settings,
                        .lattice = &out->lattice,
                        .left = &out->left,
                        .right = &out->right,
                        .spent = {&out->left, &out->right},
                        .terrain = &p->terrain,
                        .terrain_pixel_m = (float)(p->frame.gsd_m * (double)(1 << p->coarse.win.level))};
    PASS(sdm_lattice_build(ctx, &q, &out->lattice));
    PASS(open_prior(ctx, scene, p, win, &out->lattice, &out->prior_m));
    out->in.prior_m = out->prior_m;
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
    sdm_free(&w->prior_m);
}
