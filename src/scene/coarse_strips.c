/* A coarse level of the whole frame by strips of rows, each with a halo as wide as its passes reach. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/coarse_strips.h"
#include "matching/coarse_match.h"

#include <string.h>

enum {
    STRIP_BYTES = 24, /* a pixel: surface, prior, two views, the output of a filter */
    STRIP_SHARE = 8,  /* of the budget */
    LEAST_ROWS = 64,
    ROWS_UNIT = 8 /* tie points are means of blocks of that many rows at most */
};

/* Rows of the halo on either side of a strip. */
static int strip_halo(const SdmMatchSettings *set, int level)
{
    return (2 * sdm_match_row_reach(set, level) + ROWS_UNIT) / ROWS_UNIT * ROWS_UNIT;
}

static int strip_rows(int64_t memory_bytes, const SdmMatchSettings *set, const SdmWindow *win)
{
    const int64_t row = (int64_t)win->w * STRIP_BYTES;
    int64_t rows = memory_bytes / STRIP_SHARE / row;
    if (rows >= win->h)
        return win->h;
    rows = (rows - 2 * strip_halo(set, win->level)) / ROWS_UNIT * ROWS_UNIT;
    rows = rows > LEAST_ROWS ? rows : LEAST_ROWS;
    return (int)(rows < win->h ? rows : win->h);
}

int64_t sdm_coarse_strip_bytes(int64_t memory_bytes, const SdmMatchSettings *set, const SdmWindow *win)
{
    const int64_t most = strip_rows(memory_bytes, set, win) + 2 * (int64_t)strip_halo(set, win->level);
    const int64_t rows = most < win->h ? most : win->h;
    return rows * win->w * STRIP_BYTES;
}

/* Rows y0..y1 - 1 of a window, as far as they lie in it. */
static SdmWindow rows_of(const SdmWindow *win, int y0, int y1)
{
    SdmWindow part = *win;
    y0 = y0 > 0 ? y0 : 0;
    part.v0 += y0;
    part.h = (y1 < win->h ? y1 : win->h) - y0;
    return part;
}

/* Match a window of whole rows. */
static SdmStatus match_window(SdmContext *ctx, const SdmMatchInput *in, const SdmSurface *from,
                              const SdmWindow *win, SdmSurface *out)
{
    PASS(sdm_surface_alloc(ctx, win, out));
    sdm_surface_refine(ctx, in->settings->kernels, from, out);
    PASS(sdm_coarse_run_sequence(ctx, in, SDM_SEQUENCE_COARSE_FIRST, out));
    return sdm_coarse_run_sequence(ctx, in, SDM_SEQUENCE_COARSE_SECOND, out);
}

/* Rows y0.. of `to` from the strip that covers them. */
static void copy_rows(const SdmSurface *strip, int y0, int rows, SdmSurface *to)
{
    const size_t w = (size_t)to->win.w, n = w * (size_t)rows, at = w * (size_t)y0;
    const size_t in_strip = w * (size_t)(to->win.v0 + y0 - strip->win.v0);
    memcpy(to->h_m + at, strip->h_m + in_strip, n * sizeof *to->h_m);
    memcpy(to->flags + at, strip->flags + in_strip, n * sizeof *to->flags);
    memcpy(to->score + at, strip->score + in_strip, n * sizeof *to->score);
}

/* Some rows of a surface, borrowed. */
static SdmSurface rows_view(const SdmSurface *s, const SdmWindow *rows)
{
    const size_t at = (size_t)(rows->v0 - s->win.v0) * (size_t)s->win.w;
    return (SdmSurface){.win = *rows, .h_m = s->h_m + at, .flags = s->flags + at, .score = s->score + at};
}

/* The pass changes a surface in place. */
static SdmStatus run_pass(SdmContext *ctx, const SdmMatchInput *in, SdmCoarsePass pass, SdmSurface *s)
{
    if (pass == SDM_COARSE_SHARPEN)
        return sdm_sharpen_level(ctx, in, s);
    return sdm_coarse_run_sequence(
        ctx, in, pass == SDM_COARSE_REMATCH ? SDM_SEQUENCE_REMATCH : SDM_SEQUENCE_COARSE_SECOND, s);
}

/* above, kept: rows over a strip as they were before the pass. */
SdmStatus sdm_coarse_pass(SdmContext *ctx, const SdmMatchInput *in, int64_t memory_bytes, SdmCoarsePass pass,
                          SdmSurface *s)
{
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface strip = {0}, above = {0}, kept = {0};
    const SdmWindow win = s->win;
    const int halo = strip_halo(in->settings, win.level), rows = strip_rows(memory_bytes, in->settings, &win);
    if (rows >= win.h)
        return run_pass(ctx, in, pass, s);
    for (int y = 0; y < win.h; y += rows) {
        const SdmWindow part = rows_of(&win, y - halo, y + rows + halo),
                        last = rows_of(&win, y + rows - halo, y + rows);
        const SdmSurface before = rows_view(s, &part);
        PASS(sdm_surface_alloc(ctx, &part, &strip));
        copy_rows(&before, 0, part.h, &strip);
        if (above.h_m)
            copy_rows(&above, 0, above.win.h, &strip);
        if (y + rows < win.h) {
            PASS(sdm_surface_alloc(ctx, &last, &kept));
            copy_rows(&strip, 0, last.h, &kept);
        }
        sdm_surface_free(&above);
        above = kept;
        kept = (SdmSurface){0};
        PASS(run_pass(ctx, in, pass, &strip));
        copy_rows(&strip, y, rows < win.h - y ? rows : win.h - y, s);
        sdm_surface_free(&strip);
    }
    return SDM_OK;
}

SdmStatus sdm_coarse_level(SdmContext *ctx, const SdmMatchInput *in, int64_t memory_bytes,
                           const SdmSurface *from, SdmSurface *to)
{
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface strip = {0};
    const SdmWindow win = to->win;
    const int halo = strip_halo(in->settings, win.level), rows = strip_rows(memory_bytes, in->settings, &win);
    if (rows >= win.h)
        return match_window(ctx, in, from, &win, to);
    PASS(sdm_surface_alloc(ctx, &win, to));
    for (int y = 0; y < win.h; y += rows) {
        const SdmWindow part = rows_of(&win, y - halo, y + rows + halo);
        PASS(match_window(ctx, in, from, &part, &strip));
        copy_rows(&strip, y, rows < win.h - y ? rows : win.h - y, to);
        sdm_surface_free(&strip);
    }
    return SDM_OK;
}

SdmStatus sdm_coarse_evidence(SdmContext *ctx, const SdmMatchInput *in, int64_t memory_bytes,
                              const SdmSurface *s, SdmTerrainEvidence *out)
{
    SDM_OWNED float *errors = NULL;
    SDM_OWNED int16_t *grey = NULL;
    SDM_OWNED uint8_t *score = NULL;
    const SdmWindow *const win = &s->win;
    const size_t w = (size_t)win->w, n = w * (size_t)win->h;
    const int rows = strip_rows(memory_bytes, in->settings, win), halo = ROWS_UNIT; /* a window reaches 4 */
    PASS(SDM_ALLOC_RAW(ctx, "ray errors", SDM_ARRAY(out->ray_error_v, n), SDM_ARRAY(out->score, n),
                       SDM_ARRAY(out->grey, n)));
    for (int y = 0; y < win->h; y += rows) {
        const SdmWindow inner = rows_of(win, y, y + rows), outer = rows_of(win, y - halo, y + rows + halo);
        const SdmSurface with_halo = rows_view(s, &outer);
        const size_t above = (size_t)(inner.v0 - outer.v0) * w, at = (size_t)y * w, m = w * (size_t)inner.h,
                     wide = w * (size_t)outer.h;
        PASS(SDM_ALLOC(ctx, "ray errors", SDM_ARRAY(errors, wide), SDM_ARRAY(grey, wide),
                       SDM_ARRAY(score, wide)));
        PASS(sdm_match_ray_error(ctx, in, &with_halo, errors, score, grey));
        memcpy(out->score + at, score + above, m);
        memcpy(out->ray_error_v + at, errors + above, m * sizeof *errors);
        memcpy(out->grey + at, grey + above, m * sizeof *grey);
        SDM_FREE(&errors, &grey, &score);
    }
    return SDM_OK;
}
