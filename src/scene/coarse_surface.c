/* The coarse surface: all heights at the coarsest level, then the levels down to the coarse one, with the
 * pointing fitted at each. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/coarse_surface.h"
#include "matching/coarse_match.h"

#include "pointing/pointing_fit.h"
#include "matching/pyramid.h"
#include "scene/window_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a level by strips of rows, each with a halo as wide as its passes reach ---- */

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
static SdmStatus match_rows(SdmContext *ctx, const SdmMatchInput *in, const SdmSurface *from,
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
        return match_rows(ctx, in, from, &win, to);
    PASS(sdm_surface_alloc(ctx, &win, to));
    for (int y = 0; y < win.h; y += rows) {
        const SdmWindow part = rows_of(&win, y - halo, y + rows + halo);
        PASS(match_rows(ctx, in, from, &part, &strip));
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

/* ---- the levels ---- */

enum {
    CLOUD_ROUNDS = 3,        /* of cloud removal and rematching, at most */
    GAP_ROUNDS = 8,          /* likewise between clouds */
    SHARPEN_ROUNDS = 6,      /* with the small window */
    LATTICE_NODES = 1 << 18, /* at most */
    AGAIN_STEP = 32,         /* of the lattice with the pointing of the full resolution: its profile bends */
    AGAIN_ROUNDS = 3,
    LEVEL_FITS = 3, /* of the pointing, on the coarse level, at most */
    SQUARE = 32     /* px: larger than the gaps of clouds that hide the ground */
};

#define PRIOR_RANGE_M 400.0 /* heights searched above and below a prior DEM */
/* NMAD of the ray errors of the coarse level, px of the images, that asks for another fit. */
#define LOOSE_PX 0.35
/* Share of the pixels that a round of rematching finds if another one is to follow. */
#define LEAST_FOUND 0.005
/* Share of the variance of the grey values that lies between their two classes: 0.64 for normal ones. */
#define LEAST_APART 0.7
/* Share of the pixels with texture that is matched without clouds; with less they are looked for, however
 * grey values lie. */
#define CLEAR_SHARE 0.6
/* Share of the dark ground at which the views must agree about what was found with bright pixels hidden. */
#define LEAST_GROUND_SHARE 0.07
#define AGREE_PX 0.5f            /* across the lines, of the level */
#define BETTER 1.1               /* what it must find more, since wide windows agree more */
#define BETTER_BELOW_CLOUDS 1.05 /* the same where less than CLOUD_SHARE of what is bright agrees */
#define CLOUD_SHARE 0.05
/* The views agree at the first of these shares of the dark ground where it was found.  If they agree at the
 * second one, a level finer, and the last one of what is bright is terrain, too, bright areas seem veils. */
#define RIGHT_SHARE 0.3
#define VEILED_SHARE 0.15
#define VEILED_GAIN 2.0 /* what the second search must find more, then */
#define BRIGHT_SHARE 0.5
/* Share of the dark pixels with texture: below the first, what is dark is water and what is bright is land;
 * from the second on it is ground, which clouds hide if the views agree nowhere. */
#define SOME_TEXTURE 0.2
#define MOSTLY_TEXTURE 0.75
/* Share of the dark pixels with texture in squares without a bright one from which they are open, and where
 * views that agree at less of these see waves: water. */
#define OPEN_SHARE 0.3
#define WATER_SHARE 0.15
/* Least score of wide census windows at the best height, in gaps between clouds. */
#define GAP_SCORE 0.2f

/* In use while the coarse surface is made. */
typedef struct Coarse {
    const SdmScene *scene;
    SdmPrepared *p;
    SdmLatticeRequest request;
    SdmLattice lattice;
    SdmPyramid left, right;
    SdmMatchInput in;
    SdmMatchSettings settings;   /* of these levels */
    SdmTerrainEvidence evidence; /* of the level in work */
    int16_t *hide;    /* the left view of the only level, with its bright pixels; NULL: none is hidden */
    bool distinct;    /* the grey values fall in two classes */
    SdmSurface prior; /* of --dem, coarse level; VALID where it covers */
} Coarse;

static void free_evidence(SdmTerrainEvidence *e)
{
    SDM_FREE(&e->grey, &e->ray_error_v, &e->score);
}

/* ---- a prior DEM as the first surface: it starts the search ---- */

/* Heights of the DEM above the ellipsoid at the pixels of s, whose arrays are allocated; its mean where it
 * has none.  SDM_ERR_INPUT where the DEM cannot be read or used, SDM_ERR_DATA where it does not cover the
 * scene. */
static SdmStatus fill_prior(SdmContext *ctx, const SdmScene *scene, const SdmFrame *f, const SdmLattice *lat,
                            SdmSurface *s, SdmPriorReport *report)
{
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *dem = NULL;
    const SdmOptions *const o = scene->options;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    double sum = 0.0;
    size_t known = 0;
    PASS(sdm_prior_open(ctx, o, &dem));
    sdm_height_raster_tell_datum(ctx, dem);
    PASS(sdm_prior_sample(ctx, scene, lat, dem, &s->win, s->h_m));
    for (size_t i = 0; i < n; i++) {
        const bool is_known = isfinite(s->h_m[i]);
        s->flags[i] = is_known ? SDM_QA_VALID : 0;
        known += is_known;
        sum += is_known ? (double)s->h_m[i] : 0.0;
    }
    report->covered = (double)known / (double)n;
    report->cell_px = sdm_height_raster_cell_m(dem, f->lon_deg, f->lat_deg) / f->gsd_m;
    snprintf(report->datum, sizeof report->datum, "%s", dem->phrase);
    const double absurd_m = dem->absurd_m;
    if (known < 16)
        PASS(sdm_fail(
            ctx, SDM_ERR_DATA,
            "--dem %s does not cover the scene: %zu of %zu places have a height%s; give %s one or none",
            o->dem, known, n, absurd_m != 0.0 ? ", others hold values beyond 12000 m" : "",
            absurd_m != 0.0 ? "a whole" : "a larger"));
    if (absurd_m != 0.0)
        sdm_log(ctx, SDM_LOG_WARNING, 2,
                "--dem %s: values such as %g m are no heights, though the file does not declare them as "
                "nodata; they are treated as nodata",
                o->dem, absurd_m);
    for (size_t i = 0; i < n; i++)
        s->h_m[i] = isfinite(s->h_m[i]) ? s->h_m[i] : (float)(sum / (double)known);
    return SDM_OK;
}

/* The pixel of the prior surface at the middle of a pixel of a level. */
static size_t prior_at(const SdmSurface *prior, int level, int x, int y)
{
    const int k = level - prior->win.level, half = k > 0 ? 1 << (k - 1) : 0, px = (x << k) + half,
              py = (y << k) + half;
    return (size_t)(py < prior->win.h ? py : prior->win.h - 1) * (size_t)prior->win.w +
           (size_t)(px < prior->win.w ? px : prior->win.w - 1);
}

/* The coarsest level: prior heights where a DEM gives them, then the search for the offset. */
static SdmStatus search_coarsest(SdmContext *ctx, Coarse *c, SdmSurface *best)
{
    const SdmFrame *const f = &c->p->frame;
    const int level = c->settings.coarsest_level;
    const bool known = c->scene->options->dem != NULL;
    const SdmWindow win = sdm_frame_level(f, level), last = sdm_frame_level(f, c->settings.coarse_level);
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface prior = {0};
    int offset = 0;
    SDM_STAGE(ctx, 2);
    if (known) {
        PASS(sdm_surface_alloc(ctx, &last, &c->prior));
        PASS(fill_prior(ctx, c->scene, &c->p->frame, &c->lattice, &c->prior, &c->p->prior));
        PASS(sdm_surface_alloc(ctx, &win, &prior));
        for (int y = 0; y < win.h; y++)
            for (int x = 0; x < win.w; x++)
                prior.h_m[(size_t)y * (size_t)win.w + (size_t)x] =
                    c->prior.h_m[prior_at(&c->prior, level, x, y)];
    }
    const SdmOffsetSearch q = {.scene = c->scene,
                               .frame = f,
                               .in = &c->in,
                               .prior = known ? &prior : NULL,
                               .half_range_m = known ? PRIOR_RANGE_M : 0.5 * (f->hmax_m - f->hmin_m)};
    PASS(sdm_pointing_search_offset(ctx, &q, best, &offset));
    sdm_pointing_set_offset(f, &c->lattice, level, offset, &c->p->pointing);
    return SDM_OK;
}

/* Heights that --hmin, --hmax and --dem leave to pixel (x, y) of a level. */
static void find_bounds(const Coarse *c, int level, int x, int y, float bound[2])
{
    const SdmOptions *const o = c->scene->options;
    bound[0] = isnan(o->hmin_m) ? -INFINITY : (float)o->hmin_m;
    bound[1] = isnan(o->hmax_m) ? INFINITY : (float)o->hmax_m;
    if (!c->prior.h_m)
        return;
    float lo = INFINITY, hi = -INFINITY; /* around, since a wall's place may be off by a pixel */
    for (int j = y > 0 ? y - 1 : 0; j <= y + 1; j++)
        for (int i = x > 0 ? x - 1 : 0; i <= x + 1; i++) {
            const size_t at = prior_at(&c->prior, level, i, j);
            if (!(c->prior.flags[at] & SDM_QA_VALID))
                return; /* not covered */
            lo = fminf(lo, c->prior.h_m[at]);
            hi = fmaxf(hi, c->prior.h_m[at]);
        }
    bound[0] = fmaxf(bound[0], lo - (float)PRIOR_RANGE_M);
    bound[1] = fminf(bound[1], hi + (float)PRIOR_RANGE_M);
}

static bool is_bounded(const Coarse *c)
{
    const SdmOptions *const o = c->scene->options;
    return c->prior.h_m || !isnan(o->hmin_m) || !isnan(o->hmax_m);
}

/* Matches outside the bounds are none; heights that are filled stay within them. */
static void apply_bounds(const Coarse *c, bool filled, SdmSurface *s)
{
    for (int y = 0; y < s->win.h && is_bounded(c); y++)
        for (int x = 0; x < s->win.w; x++) {
            const size_t i = (size_t)y * (size_t)s->win.w + (size_t)x;
            float bound[2];
            find_bounds(c, s->win.level, x, y, bound);
            if (filled)
                s->h_m[i] = fminf(fmaxf(s->h_m[i], bound[0]), bound[1]);
            else if ((s->flags[i] & SDM_QA_VALID) && (s->h_m[i] < bound[0] || s->h_m[i] > bound[1]))
                s->flags[i] = (uint16_t)((s->flags[i] & ~SDM_QA_VALID) | SDM_QA_ISOLATED);
        }
}

/* Separate terrain from clouds and false matches: *out is the mask, and heights outside the terrain are
 * interpolated from it: about the nearest terrain, from which matching goes on, but in the end, between
 * clouds, where most are guesses, as means of the heights around: steps would distort the right view. */
static SdmStatus find_terrain(SdmContext *ctx, const Coarse *c, bool last, SdmSurface *s, SdmTerrainMask *out)
{
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    const float pixel_m = (float)(c->p->frame.gsd_m * (double)(1 << s->win.level));
    const bool even = last && c->hide && !c->settings.semi_global;
    SDM_OWNED float *level_m = NULL;
    SDM_STAGE(ctx, 6);
    for (size_t i = 0; c->hide && i < n; i++)
        if (c->hide[i] > c->settings.hide_above[0] && (s->flags[i] & SDM_QA_VALID))
            s->flags[i] = SDM_QA_TEXTURELESS;
    apply_bounds(c, false, s);
    PASS(sdm_terrain_mask_find(ctx, s, pixel_m, &c->evidence, out));
    if (even)
        PASS(sdm_alloc_raw(ctx, &level_m, n, sizeof *level_m, "heights between clouds"));
    for (size_t i = 0; c->hide && i < n; i++)
        s->h_m[i] = s->flags[i] & SDM_QA_VALID ? s->h_m[i] : out->h_m[i];
    for (size_t i = 0; even && i < n; i++)
        level_m[i] = (float)c->p->frame.h0_m;
    PASS(sdm_fill_everywhere(ctx, c->p->settings.kernels, even ? level_m : out->h_m, s));
    apply_bounds(c, true, s);
    return SDM_OK;
}

/* Replace the heights outside the terrain by interpolation from the terrain around. */
static SdmStatus remove_clouds(SdmContext *ctx, const Coarse *c, SdmSurface *s)
{
    SDM_CLOSED_BY(sdm_terrain_mask_free) SdmTerrainMask terrain = {0};
    return find_terrain(ctx, c, false, s, &terrain);
}

/* Fit the pointing to the ray errors of a level's surface; the lattice follows it. */
static SdmStatus fit_level(SdmContext *ctx, Coarse *c, bool last, SdmSurface *s)
{
    SdmPrepared *const p = c->p;
    SdmFitTask task = sdm_fit_task(c->scene, &p->frame);
    SDM_CLOSED_BY(sdm_tie_points_free) SdmTiePoints points = {0};
    SDM_STAGE(ctx, 2);
    free_evidence(&c->evidence);
    PASS(sdm_coarse_evidence(ctx, &c->in, c->scene->options->memory_bytes, s, &c->evidence));
    if (c->hide || is_bounded(c)) /* else the next level goes on from clouds, too: they show the pointing */
        PASS(remove_clouds(ctx, c, s));
    task.certain = c->hide || p->points.rounds > 0; /* an earlier fit was checked */
    const int block = last && !c->hide ? SDM_COARSE_BLOCK : SDM_COARSE_BLOCK / 2;
    const SdmTiePointSource from = {.lattice = &c->lattice,
                                    .in_use = &p->pointing,
                                    .surface = s,
                                    .ray_error_v = c->evidence.ray_error_v,
                                    .block = block};
    PASS(sdm_tie_points_alloc(ctx, (size_t)(s->win.w / block) * (size_t)(s->win.h / block) + 1, &points));
    sdm_tie_points_add(&from, &points);
    PASS(sdm_pointing_fit_level(ctx, &task, &points, &s->win, last, &p->pointing, &p->points));
    return sdm_lattice_build(ctx, &c->request, &c->lattice);
}

/* Does the pointing need another fit on the coarse level?  A fit shows a part of an error.  RPCs are nearly
 * right, and one image under two of them must not be fitted until it looks like a pair. */
static bool is_loose(const Coarse *c)
{
    const SdmPointReport *const r = &c->p->points;
    const bool aster = c->scene->sensor == SDM_SENSOR_ASTER;
    return c->hide || (aster && r->rounds > 0 && r->round[r->rounds - 1].after_nmad_px > LOOSE_PX);
}

/* The levels down to the coarse one. */
static SdmStatus descend(SdmContext *ctx, Coarse *c, SdmSurface *s)
{
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface finer = {0};
    const int coarse = c->settings.coarse_level;
    SDM_STAGE(ctx, 5);
    PASS(fit_level(ctx, c, s->win.level == coarse && !c->hide, s));
    for (int l = c->settings.coarsest_level - 1; l >= coarse; l--) {
        finer.win = sdm_frame_level(&c->p->frame, l);
        PASS(sdm_coarse_level(ctx, &c->in, c->scene->options->memory_bytes, s, &finer));
        sdm_surface_free(s);
        *s = finer;
        finer = (SdmSurface){0};
        PASS(fit_level(ctx, c, l == coarse, s));
        sdm_progress(ctx, 2, 0.05 + 0.2 * ldexp(1.0, -2 * (l - coarse)), "coarse surface");
    }
    for (int round = 1; round < LEVEL_FITS && is_loose(c); round++) {
        PASS(sdm_coarse_pass(ctx, &c->in, c->scene->options->memory_bytes, SDM_COARSE_AGAIN, s));
        const SdmStatus st = fit_level(ctx, c, !c->hide || round + 1 == LEVEL_FITS, s);
        if (st == SDM_ERR_DATA && !c->hide)
            break; /* too few matches: the fit before stays */
        PASS(st);
    }
    return SDM_OK;
}

/* Beside clouds, the levels started from heights between those of the cloud and of the terrain, too far
 * from the terrain to be matched.  Once the clouds are known, these pixels are matched again from the
 * terrain around them; each round reaches a few pixels further.
 *
 * Windows of 9 pixels blur slopes that are not much wider, by more than the finer levels can correct.
 * Matching again with windows of 5 pixels restores these slopes by and by.  It is done after the clouds
 * are removed: it would steepen the edges of clouds, too, and without the false heights along these edges,
 * clouds would be connected to mountains. */
static SdmStatus refine_terrain(SdmContext *ctx, const Coarse *c, SdmSurface *s)
{
    const int64_t memory = c->scene->options->memory_bytes;
    SDM_STAGE(ctx, 5);
    const int rounds = c->hide ? GAP_ROUNDS : CLOUD_ROUNDS;
    double found = 1.0;
    for (int round = 0; round < rounds && found >= LEAST_FOUND; round++) {
        PASS(remove_clouds(ctx, c, s));
        const double before = sdm_surface_matched(s, 0);
        PASS(sdm_coarse_pass(ctx, &c->in, memory, SDM_COARSE_REMATCH, s));
        found = sdm_surface_matched(s, 0) - before;
    }
    PASS(remove_clouds(ctx, c, s));
    for (int round = 0; round < SHARPEN_ROUNDS; round++)
        PASS(sdm_coarse_pass(ctx, &c->in, memory, SDM_COARSE_SHARPEN, s));
    return SDM_OK;
}

static void close_coarse(Coarse *c)
{
    free_evidence(&c->evidence);
    sdm_free(&c->hide);
    sdm_surface_free(&c->prior);
    sdm_pyramid_free(&c->left);
    sdm_pyramid_free(&c->right);
    sdm_lattice_free(&c->lattice);
}

/* Lattice and levels of both images. */
static SdmStatus open_levels(SdmContext *ctx, Coarse *c)
{
    SdmPrepared *const p = c->p;
    const SdmMatchSettings *const set = &c->settings;
    const SdmFrame *const f = &p->frame;
    sdm_pointing_start(c->scene, f, &p->pointing);
    c->request = (SdmLatticeRequest){.scene = c->scene,
                                     .frame = f,
                                     .pointing = &p->pointing,
                                     .u1 = f->width + ((int64_t)1 << set->coarsest_level),
                                     .v1 = f->height + ((int64_t)1 << set->coarsest_level),
                                     .step = sdm_frame_lattice_step(f, 0),
                                     .hmin_m = f->hmin_m,
                                     .hmax_m = f->hmax_m,
                                     .again = true};
    while ((f->width / c->request.step) * (f->height / c->request.step) > LATTICE_NODES)
        c->request.step *= 2;
    PASS(sdm_lattice_build(ctx, &c->request, &c->lattice));
    c->in = (SdmMatchInput){.settings = set, .lattice = &c->lattice, .left = &c->left, .right = &c->right};
    const SdmWindow all = sdm_frame_level(f, 0);
    const SdmPyramidRequest request = {.scene = c->scene,
                                       .settings = set,
                                       .lattice = &c->lattice,
                                       .win = &all,
                                       .hmin_m = f->hmin_m,
                                       .hmax_m = f->hmax_m,
                                       .lmin = set->coarse_level,
                                       .lmax = set->coarsest_level};
    return sdm_pyramids_open(ctx, &request, &c->left, &c->right);
}

/* All levels, one after the other. */
static SdmStatus find_surface(SdmContext *ctx, Coarse *c)
{
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = {0};
    SdmPrepared *const p = c->p;
    const float least = c->settings.min_score;
    c->settings.min_score = c->hide ? GAP_SCORE : least;
    PASS(search_coarsest(ctx, c, &s));
    c->settings.min_score = least;
    PASS(sdm_lattice_build(ctx, &c->request, &c->lattice));
    PASS(descend(ctx, c, &s));
    PASS(refine_terrain(ctx, c, &s));
    PASS(find_terrain(ctx, c, true, &s, &p->terrain));
    p->coarse = s;
    s = (SdmSurface){0};
    return SDM_OK;
}

static void drop_found(SdmPrepared *p)
{
    sdm_pointing_free(&p->pointing);
    sdm_point_report_free(&p->points);
    sdm_surface_free(&p->coarse);
    sdm_terrain_mask_free(&p->terrain);
}

/* Settings to match small gaps between clouds: by a level finer, since windows of coarser ones show clouds
 * everywhere, and by a cost to which the rims of clouds and shadows are few of many pixels. */
static SdmStatus gap_settings(SdmContext *ctx, const SdmScene *scene, SdmMatchSettings *set)
{
    SdmMatchSettings census;
    PASS(sdm_match_settings(ctx, scene->options, "census", scene->options->cpu_level, 0.0f, &census));
    set->cost = census.cost;
    set->min_score = census.min_score;
    set->min_small_window_score = census.min_small_window_score;
    set->coarsest_level = set->coarse_level;
    set->coarse_level--;
    sdm_match_wide(set);
    return SDM_OK;
}

/* Hide the bright pixels of a level, and keep its left view with them. */
static SdmStatus hide_level(SdmContext *ctx, Coarse *c, int level)
{
    const SdmWindow win = sdm_frame_level(&c->p->frame, level);
    SdmPyramid *const view[2] = {&c->left, &c->right};
    sdm_free(&c->hide);
    PASS(sdm_alloc_raw(ctx, &c->hide, (size_t)win.w * (size_t)win.h, sizeof(int16_t), "the left view"));
    PASS(sdm_match_left_view(ctx, &c->in, &win, c->hide));
    for (int k = 0; k < 2; k++)
        PASS(sdm_hide_bright(ctx, c->settings.hide_above[k], k, &view[k]->level[level]));
    c->evidence.no_grey = true;
    return SDM_OK;
}

/* Share of the bright pixels that a surface takes for terrain. */
static double share_bright(const int16_t *grey, int above, const SdmSurface *s)
{
    int64_t bright = 0, terrain = 0;
    for (size_t i = 0; i < (size_t)s->win.w * (size_t)s->win.h; i++) {
        const bool is = grey[i] > above && !(s->flags[i] & SDM_QA_OUTSIDE);
        bright += is;
        terrain += is && (s->flags[i] & SDM_QA_VALID);
    }
    return (double)terrain / fmax((double)bright, 1.0);
}

/* Shares of the pixels that are darker than the border between the classes. */
typedef struct Dark {
    double textured; /* share of its pixels */
    double agree;    /* of these, those at which the images with hidden pixels agree about a surface */
    double open, open_agree; /* of these, those in squares without a bright pixel; of which the views agree */
} Dark;

typedef struct DarkCount {
    int64_t dark, textured, agree;
} DarkCount;

/* Adds the dark pixels of the square at (x, y). */
static void count_dark(const Coarse *hidden, const SdmSurface *s, const SdmTerrainEvidence *e, int x, int y,
                       DarkCount sum[2])
{
    const uint8_t least = (uint8_t)(hidden->settings.wide_score * 250.0f);
    DarkCount n = {0};
    bool bright = false;
    for (int r = y; r < y + SQUARE && r < s->win.h; r++)
        for (int c = x; c < x + SQUARE && c < s->win.w; c++) {
            const size_t i = (size_t)r * (size_t)s->win.w + (size_t)c;
            const bool is_bright = hidden->hide[i] > hidden->settings.hide_above[0];
            const bool dark = !is_bright && !(s->flags[i] & SDM_QA_OUTSIDE);
            const bool textured = dark && !(s->flags[i] & SDM_QA_TEXTURELESS);
            bright = bright || is_bright;
            n.dark += dark;
            n.textured += textured;
            n.agree += textured && fabsf(e->ray_error_v[i]) <= AGREE_PX && e->score[i] >= least;
        }
    for (int k = 0; k < (bright ? 1 : 2); k++) {
        sum[k].dark += n.dark;
        sum[k].textured += n.textured;
        sum[k].agree += n.agree;
    }
}

/* hidden: the search whose images are asked; s: the surface, by a lattice. */
static SdmStatus judge_dark(SdmContext *ctx, const Coarse *hidden, const SdmLattice *lattice,
                            const SdmSurface *s, Dark *out)
{
    SDM_CLOSED_BY(free_evidence) SdmTerrainEvidence e = {0};
    SdmMatchInput in = hidden->in;
    DarkCount sum[2] = {{0}}; /* all, and those of open squares */
    in.lattice = lattice;
    PASS(sdm_coarse_evidence(ctx, &in, hidden->scene->options->memory_bytes, s, &e));
    for (int y = 0; y < s->win.h; y += SQUARE)
        for (int x = 0; x < s->win.w; x += SQUARE)
            count_dark(hidden, s, &e, x, y, sum);
    out->textured = (double)sum[0].textured / fmax((double)sum[0].dark, 1.0);
    out->agree = (double)sum[0].agree / fmax((double)sum[0].textured, 1.0);
    out->open = (double)sum[1].textured / fmax((double)sum[0].textured, 1.0);
    out->open_agree = (double)sum[1].agree / fmax((double)sum[1].textured, 1.0);
    return SDM_OK;
}

/* The same of a coarser surface, at the level of the search. */
static SdmStatus judge_finer(SdmContext *ctx, const Coarse *hidden, const Coarse *found, Dark *out)
{
    const SdmWindow win = sdm_frame_level(&found->p->frame, hidden->settings.coarse_level);
    const SdmSurface *const s = &found->p->coarse;
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface finer = {0};
    PASS(sdm_surface_alloc(ctx, &win, &finer));
    sdm_surface_refine(ctx, hidden->settings.kernels, s, &finer);
    for (int y = 0; y < win.h; y++)
        for (int x = 0; x < win.w; x++)
            finer.flags[(size_t)y * (size_t)win.w + (size_t)x] =
                s->flags[(size_t)(y / 2) * (size_t)s->win.w + (size_t)(x / 2)];
    return judge_dark(ctx, hidden, &found->lattice, &finer, out);
}

static SdmStatus refuse_clouds(SdmContext *ctx, const SdmScene *scene, double agree)
{
    return sdm_fail(ctx, SDM_ERR_DATA,
                    "clouds hide the ground of %s and %s: the views agree at %.0f %% of what is darker than "
                    "clouds, expected at least %.0f %%; use a clearer scene, or cut the images to what is "
                    "clear",
                    scene->view[0].name, scene->view[1].name, 100.0 * agree, 100.0 * RIGHT_SHARE);
}

/* The scene once more, with bright pixels hidden: *better: it finds more of the dark ground.  A failure
 * where clouds hide the ground; where the first search found no surface (before), its own. */
static SdmStatus find_between_clouds(SdmContext *ctx, Coarse *first, SdmStatus before, const int above[2],
                                     Coarse *second, bool *better)
{
    Dark dark[2] = {{.textured = 1.0}, {.textured = 1.0}};
    char why[1024] = "";
    const SdmPrepared *const p = first->p;
    *better = false;
    PASS(gap_settings(ctx, first->scene, &second->settings));
    PASS(open_levels(ctx, second));
    memcpy(second->settings.hide_above, above, sizeof second->settings.hide_above);
    PASS(hide_level(ctx, second, p->settings.coarse_level));
    if (before == SDM_OK)
        PASS(judge_dark(ctx, second, &first->lattice, &p->coarse, &dark[0]));
    else
        snprintf(why, sizeof why, "%s", sdm_error(ctx));
    const double bright = before == SDM_OK ? share_bright(second->hide, above[0], &p->coarse) : 1.0;
    if (dark[0].textured < SOME_TEXTURE || (VEILED_GAIN * dark[0].agree >= 1.0 && bright >= BRIGHT_SHARE))
        return SDM_OK; /* bright ground beside water or dark rock */
    second->p->settings.coarse_level = second->settings.coarsest_level = second->settings.coarse_level;
    PASS(hide_level(ctx, second, second->settings.coarse_level));
    if (before == SDM_OK)
        PASS(judge_finer(ctx, second, first, &dark[0]));
    const SdmStatus after = find_surface(ctx, second);
    if (after != SDM_OK && after != SDM_ERR_DATA)
        return after;
    if (after == SDM_OK)
        PASS(judge_dark(ctx, second, &second->lattice, &second->p->coarse, &dark[1]));
    else
        sdm_log(ctx, SDM_LOG_VERBOSE, 5, "with bright areas hidden: %s", sdm_error(ctx));
    sdm_log(
        ctx, SDM_LOG_VERBOSE, 5,
        "of the darker ground %.1f %% are found, %.1f %% with bright areas hidden; of bright areas %.1f %%",
        100.0 * dark[0].agree, 100.0 * dark[1].agree, 100.0 * bright);
    if (before == SDM_OK && dark[0].agree >= VEILED_SHARE && bright >= BRIGHT_SHARE &&
        dark[1].agree < VEILED_GAIN * dark[0].agree)
        return SDM_OK; /* ground that veils brighten */
    if (before == SDM_OK && dark[0].open >= OPEN_SHARE &&
        fmax(dark[0].open_agree, dark[1].open_agree) < WATER_SHARE)
        return SDM_OK; /* bright land beside water with waves */
    const bool ground = second->distinct && fmin(dark[0].textured, dark[1].textured) >= MOSTLY_TEXTURE;
    *better = dark[1].agree > (bright < CLOUD_SHARE ? BETTER_BELOW_CLOUDS : BETTER) * dark[0].agree &&
              dark[1].agree >= (ground ? LEAST_GROUND_SHARE : RIGHT_SHARE);
    if (!*better && before != SDM_OK)
        return sdm_fail(ctx, before, "%s", why);
    if (!*better && ground && fmax(dark[0].agree, dark[1].agree) < RIGHT_SHARE)
        return refuse_clouds(ctx, first->scene, fmax(dark[0].agree, dark[1].agree));
    return SDM_OK;
}

/* Clouds and their shadows fill the windows of coarse levels: where grey values fall in two classes, as those
 * of ground and clouds do, or little was matched, the ground is searched once more without the bright one. */
SdmStatus sdm_coarse_find(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p, SdmPyramid images[2])
{
    SdmStatus st = SDM_OK;
    SdmPrepared other = *p;
    Coarse c = {.scene = scene, .p = p, .settings = p->settings},
           again = {.scene = scene, .p = &other, .settings = p->settings};
    const int level = p->settings.coarse_level;
    int above[2];
    double apart[2];
    bool better = false;
    TRY(open_levels(ctx, &c));
    st = find_surface(ctx, &c);
    if ((st != SDM_OK && st != SDM_ERR_DATA) || !c.right.level[level].data)
        goto done;
    above[0] = sdm_split_grey(&c.left.level[level], &apart[0]);
    above[1] = sdm_split_grey(&c.right.level[level], &apart[1]);
    again.distinct = fmin(apart[0], apart[1]) >= LEAST_APART;
    if (!again.distinct &&
        (st != SDM_OK || p->settings.semi_global ||
         sdm_surface_matched(&p->coarse, SDM_QA_OUTSIDE | SDM_QA_TEXTURELESS) >= CLEAR_SHARE))
        goto done;
    const SdmStatus before = st;
    st = SDM_OK;
    TRY(find_between_clouds(ctx, &c, before, above, &again, &better));
    if (better) {
        const SdmPrepared found = other;
        other = *p;
        *p = found;
        if (!p->settings.semi_global) /* towns show their clouds */
            memcpy(p->settings.hide_above, above, sizeof above);
    }
done:
    for (int k = 0; k < 2 && images && st == SDM_OK; k++) {
        Coarse *const from = better ? &again : &c;
        images[k] = k ? from->right : from->left;
        *(k ? &from->right : &from->left) = (SdmPyramid){0};
    }
    close_coarse(&c);
    close_coarse(&again);
    drop_found(&other);
    return st;
}

SdmStatus sdm_coarse_match_again(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p,
                                 const SdmPyramid images[2], SdmSurface *out)
{
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lattice = {0};
    const SdmSurface *const s = &p->coarse;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SdmLatticeRequest q = sdm_coarse_request(scene, p, 1 << p->settings.coarsest_level);
    q.grid = NULL;
    q.step = AGAIN_STEP;
    *out = (SdmSurface){0};
    while ((p->frame.width / q.step) * (p->frame.height / q.step) > LATTICE_NODES)
        q.step *= 2;
    PASS(sdm_lattice_build(ctx, &q, &lattice));
    PASS(sdm_surface_alloc(ctx, &s->win, out));
    memcpy(out->h_m, s->h_m, n * sizeof *s->h_m);
    memcpy(out->flags, s->flags, n * sizeof *s->flags);
    memset(out->score, 0, n * sizeof *out->score); /* those of another pointing: what it matched must not win
                                                    * by them */
    const SdmMatchInput in = {
        .settings = &p->settings, .lattice = &lattice, .left = &images[0], .right = &images[1]};
    for (int round = 0; round < AGAIN_ROUNDS; round++)
        PASS(sdm_coarse_pass(ctx, &in, scene->options->memory_bytes, SDM_COARSE_SHARPEN, out));
    return SDM_OK;
}
