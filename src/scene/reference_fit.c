/* Fit the cameras to the reference: shift, change mask, correction along the lines, three times over. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/reference_fit.h"
#include "core/stats.h"
#include "geo/gdal_scope.h"
#include "geo/vertical_datum.h"
#include "input/source.h"
#include "scene/coarse_surface.h"
#include "scene/window_input.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDS = 3,
    TRIED_SIDE = 7,      /* cells a side of the frame that are read before any matching */
    LEAST_SAMPLES = 200, /* of the surface, with a reference */
    LEAST_USED = 50,     /* points that are not left out */
    BLOCK_POINTS = 2,    /* sides of a block of the change mask, in points */
    BIN_ROWS = 16,       /* of the plot */
    MOVE_STEP = 4,       /* coarse pixels between places at which the correction is evaluated for the
                              * surface */
    WINDOW = 5           /* coarse pixels a side that a match averages */
};
static const double LEAST_COVERED = 0.2; /* share of the surface */
static const double FARTHEST_M = 100.0;  /* horizontal shift; one of the height */
/* Largest ray separation on the ground that is attributed to pointing: refused above the first, questioned
 * above the second. */
static const double POINTING_MOST_M = 40.0, POINTING_USUAL_M = 10.0;
static const double ALIKE_SHARE = 0.25, ALIKE_M = 15.0; /* spread of the differences: of the relief's, or
                                                         * metres */
static const double CHANGE_NMADS = 3.0, CHANGE_LEAST_M = 2.0;
static const double COARSE_CELL_M = 60.0; /* references of larger cells are less exact over long
                                              * distances: */
static const double FINE_LONG_M = 1.5, COARSE_LONG_M = 2.5; /* RMS of long waves that may be their own */
/* Test the vertical shift against a geoid undulation of at least DATUM_LEAST_M: a wrong datum is suspected if
 * the undulation leaves at most DATUM_SHARE of the shift, and no more than usual errors of pointing. */
static const double DATUM_LEAST_M = 5.0, DATUM_SHARE = 0.5;

void sdm_reference_close(SdmReferenceFiles *files)
{
    sdm_height_raster_close(&files->dem);
    sdm_reference_mask_close(&files->mask);
}

SdmStatus sdm_reference_read_some(SdmContext *ctx, const SdmFrame *frame, SdmReferenceFiles *files)
{
    if (!files->dem)
        return SDM_OK;
    sdm_height_raster_tell_datum(ctx, files->dem);
    for (int i = 0; i < TRIED_SIDE * TRIED_SIDE; i++) {
        const double u = (double)frame->width * (i % TRIED_SIDE) / (TRIED_SIDE - 1),
                     v = (double)frame->height * (i / TRIED_SIDE) / (TRIED_SIDE - 1);
        double lon_deg, lat_deg;
        sdm_frame_ground(frame, u, v, &lon_deg, &lat_deg);
        SDM_QUIET;
        (void)sdm_height_raster_at(ctx, files->dem, lon_deg, lat_deg);
        PASS(sdm_height_raster_check(ctx, files->dem));
    }
    return SDM_OK;
}

SdmStatus sdm_reference_open(SdmContext *ctx, const SdmOptions *o, SdmReferenceFiles *out)
{
    const SdmHeightSource dem = {.option = "--reference",
                                 .path = o->reference,
                                 .datum_option = "--reference-vertical",
                                 .datum = o->reference_vertical};
    if (!o->reference)
        return SDM_OK;
    PASS(sdm_height_raster_open(ctx, &dem, &out->dem));
    return sdm_reference_mask_open(ctx, o, &out->mask);
}

SdmStatus sdm_reference_check(SdmContext *ctx, const SdmOptions *options)
{
    SDM_CLOSED_BY(sdm_gdal_config_end) SdmGdalConfig config = {.changed = false};
    SDM_CLOSED_BY(sdm_reference_close) SdmReferenceFiles files = {.dem = NULL};
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *prior = NULL;
    sdm_gdal_register();
    PASS(sdm_gdal_config_begin(ctx, options, &config));
    PASS(sdm_prior_open(ctx, options, &prior));
    return sdm_reference_open(ctx, options, &files);
}

/* A fit in work. */
typedef struct Work {
    const SdmReferenceFiles *files;
    SdmPrepared *p;
    SdmReferenceSamples s;
    SdmShift shift; /* lays the surface on the reference */
    SdmAlongCorrection along;
    float *moved_m;       /* of each sample: change of height by the correction so far */
    float *scratch;       /* SDM_REFERENCE_SHIFT_FLOATS of the samples */
    SdmAlongPoint *point; /* those that have a value */
    float *per_m, *raw_m; /* of each of them: px per metre; difference before anything is corrected */
    float *place;         /* of each of them: column and row of the plane */
    uint8_t *allowed;     /* of each of them: by the masks of the user */
    int32_t *number;      /* of each piece of ground: which point it is; -1: none */
    uint8_t *use;         /* of each piece of ground: not left out */
    size_t points, pieces;
    double undulation_m; /* of the geoid at the scene's centre; 0: not known */
    int threads;
} Work;

/* Say why the reference is not used.  @return false */
__attribute__((format(printf, 4, 5))) static bool refuse(SdmContext *ctx, Work *w, int state, const char *fmt,
                                                         ...)
{
    SdmReferenceReport *const r = &w->p->reference;
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->reason, sizeof r->reason, fmt, args);
    va_end(args);
    r->state = state;
    sdm_log(ctx, SDM_LOG_WARNING, 2, "--reference: %s; %s", r->reason,
            state == SDM_REFERENCE_REFUSED ? "the cameras stay as they are"
                                           : "the 3-D shift alone is corrected");
    return false;
}

/* For sentences: what else may leave ground out. */
static const char *masks_of(const Work *w)
{
    const SdmReferenceMask *const m = &w->files->mask;
    const bool stable = m->raster[0] || m->outlines[0].file, exclude = m->raster[1] || m->outlines[1].file;
    return stable && exclude ? " or by --reference-mask and --exclude"
           : stable          ? " or by --reference-mask"
           : exclude         ? " or by --exclude"
                             : "";
}

/* ---- does it serve? ---- */

/* NMAD of the heights of the reference under the samples: of the relief. */
static double relief_m(const Work *w)
{
    int64_t n = 0;
    for (size_t i = 0; i < w->s.count; i++)
        if (w->s.sample[i].point >= 0 && !isnan(w->s.sample[i].d_m))
            w->scratch[n++] = w->s.sample[i].h_m - w->s.sample[i].d_m;
    return sdm_nmad_f32(w->scratch, n, NULL);
}

static void find_undulation(Work *w)
{
    SDM_CLOSED_BY(sdm_geoid_close) SdmGeoid *geoid = NULL;
    const SdmFrame *const f = &w->p->frame;
    if (sdm_geoid_open(NULL, SDM_EGM96, &geoid) != SDM_OK ||
        sdm_geoid_undulation(NULL, geoid, 1, &f->lon_deg, &f->lat_deg, &w->undulation_m) != SDM_OK)
        w->undulation_m = 0.0;
}

static const char *above(double up_m)
{
    return up_m > 0.0 ? "above" : "below";
}

/* Heights that an error of the cameras' pointing may be off by, for rays so far from each other on the
 * ground. */
static double height_by_pointing(const Work *w, double ground_m)
{
    return fmin(ground_m / w->p->frame.base_height, FARTHEST_M);
}

/* Is the reference above a geoid?  Then heights that are those above the ellipsoid already lie too high by
 * the undulation; else heights above a geoid lie too low by it. */
static bool is_above_geoid(const Work *w)
{
    const int vertical = w->files->dem->datum.vertical;
    return vertical != SDM_ELLIPSOID && vertical != SDM_VERTICAL_UNKNOWN;
}

/* The vertical shift that the other kind of datum would leave. */
static double shift_otherwise_m(const Work *w, double up_m)
{
    return up_m - (is_above_geoid(w) ? w->undulation_m : -w->undulation_m);
}

/* Is the vertical shift that of a geoid which was not taken into account, or was without need?  Errors of
 * ASTER's pointing reach 15 to 20 m, so an undulation of less cannot be told from them by the shift alone. */
static bool is_geoid(const Work *w, double up_m)
{
    const double left_m = fabs(shift_otherwise_m(w, up_m));
    return fabs(w->undulation_m) > DATUM_LEAST_M && left_m <= DATUM_SHARE * fabs(up_m) &&
           left_m <= height_by_pointing(w, POINTING_USUAL_M);
}

/* A vertical shift that looks like a geoid's ends the fit, since the heights of the DEM would be moved by it:
 * unless --reference-vertical names the datum, and errors of pointing usually reach so far. */
static bool refuses_geoid(SdmContext *ctx, Work *w, double up_m)
{
    const bool given = w->files->dem->datum.by == SDM_DATUM_GIVEN;
    char datum[360];
    if (!is_geoid(w, up_m) || (given && fabs(up_m) <= height_by_pointing(w, POINTING_USUAL_M)))
        return false;
    sdm_vertical_phrase(&w->files->dem->datum, datum, sizeof datum);
    refuse(ctx, w, SDM_REFERENCE_REFUSED,
           "it lies %.1f m %s the scene, as with a wrong datum (the geoid is at %.1f m here); give "
           "--reference-vertical: %s would leave %.1f m; it was taken as above %s",
           fabs(up_m), above(up_m), w->undulation_m, is_above_geoid(w) ? "ellipsoid" : "egm96 or egm2008",
           fabs(shift_otherwise_m(w, up_m)), datum);
    return true;
}

/* An accepted vertical shift may still be an error of the datum: ask. */
static void ask_for_datum(SdmContext *ctx, Work *w)
{
    SdmReferenceReport *const r = &w->p->reference;
    const double up_m = r->shift_m[2], usual_m = height_by_pointing(w, POINTING_USUAL_M);
    if (is_geoid(w, up_m))
        snprintf(r->question, sizeof r->question,
                 "it lies %.1f m %s the scene, and the geoid is at %.1f m here: is its vertical datum right "
                 "(--reference-vertical)?",
                 fabs(up_m), above(up_m), w->undulation_m);
    else if (fabs(up_m) > usual_m)
        snprintf(r->question, sizeof r->question,
                 "it lies %.1f m %s the scene, where errors of pointing usually stay within %.1f m: are its "
                 "heights and its vertical datum right (--reference-vertical)?",
                 fabs(up_m), above(up_m), usual_m);
    if (r->question[0])
        sdm_log(ctx, SDM_LOG_WARNING, 2, "--reference: %s", r->question);
}

/* False after a refusal. */
static bool serves(SdmContext *ctx, Work *w, size_t known)
{
    SdmReferenceReport *const r = &w->p->reference;
    const SdmShift *const shift = &w->shift;
    r->covered = (double)known / fmax((double)w->s.valid, 1.0);
    if (known < LEAST_SAMPLES || r->covered < LEAST_COVERED)
        return refuse(ctx, w, SDM_REFERENCE_REFUSED,
                      "it has heights for %.1f %% of the terrain, at least %.0f %% are needed%s",
                      100.0 * r->covered, 100.0 * LEAST_COVERED,
                      w->files->dem->absurd_m != 0.0 ? "; others are values beyond 12000 m" : "");
    const double far_m = hypot(shift->move_m[0], shift->move_m[1]), relief = relief_m(w);
    if (!(shift->nmad_m <= fmax(ALIKE_SHARE * relief, ALIKE_M)))
        return refuse(
            ctx, w, SDM_REFERENCE_REFUSED,
            "its heights differ by %.0f m (NMAD) from the scene's, whose relief is %.0f m: another place, "
            "or not heights in metres",
            shift->nmad_m, relief);
    if (!shift->converged || !(far_m <= FARTHEST_M))
        return refuse(
            ctx, w, SDM_REFERENCE_REFUSED,
            "it lies %.0f m from the scene horizontally, at most %.0f m is taken for an error of the "
            "cameras; check its coordinate system",
            far_m, FARTHEST_M);
    const double up_m = shift->move_m[2], most_m = height_by_pointing(w, POINTING_MOST_M);
    char datum[360];
    find_undulation(w);
    if (refuses_geoid(ctx, w, up_m))
        return false;
    sdm_vertical_phrase(&w->files->dem->datum, datum, sizeof datum);
    if (!(fabs(up_m) <= most_m))
        return refuse(
            ctx, w, SDM_REFERENCE_REFUSED,
            "it lies %.0f m %s the scene, errors of pointing make %.0f m at most, and the geoid is at "
            "%.0f m here; it was taken as above %s; check --reference-vertical",
            fabs(up_m), above(up_m), most_m, w->undulation_m, datum);
    return true;
}

/* ---- points ---- */

/* Move every sample to the height and place that the correction gives it. */
static void move_samples(Work *w)
{
    SdmReferenceSample *const sample = w->s.sample;
#pragma omp parallel for schedule(static) num_threads(w->threads)
    for (size_t i = 0; i < w->s.count; i++) {
        SdmReferenceSample *const a = &sample[i];
        if (a->point < 0)
            continue;
        const double right[2] = {(double)a->col, (double)a->row[0]};
        const double f = sdm_along_value(&w->along, &w->p->pointing, right, (double)a->row[1]);
        const float to_m = (float)(-f / (double)a->px_per_m), more = to_m - w->moved_m[i];
        w->moved_m[i] = to_m;
        a->h_m += more;
        a->place[0] += more * a->place_per_m[0];
        a->place[1] += more * a->place_per_m[1];
    }
}

/* Means of the samples of each piece of ground: the correction it asks for. */
static void fill_points(Work *w)
{
    const SdmReferenceSample *const sample = w->s.sample;
    for (size_t i = 0; i < w->points; i++)
        w->scratch[i] = w->point[i].value_px = 0.0f;
    for (size_t i = 0; i < w->s.count; i++) {
        const SdmReferenceSample *const a = &sample[i];
        const int32_t at = a->point < 0 ? -1 : w->number[a->point];
        if (at < 0 || isnan(a->d_m))
            continue;
        w->point[at].value_px += (a->d_m - w->moved_m[i]) * a->px_per_m;
        w->scratch[at] += 1.0f;
    }
    for (size_t i = 0; i < w->points; i++)
        w->point[i].value_px =
            w->scratch[i] > 0.0f ? w->point[i].value_px / w->scratch[i] : NAN; /* moved off the reference */
}

/* Sums of the samples over each point become means. */
static void place_points(Work *w, const int32_t *count)
{
    for (size_t i = 0; i < w->s.count; i++) {
        const SdmReferenceSample *const a = &w->s.sample[i];
        const int32_t at = a->point < 0 ? -1 : w->number[a->point];
        if (at < 0 || isnan(a->d_m))
            continue;
        SdmAlongPoint *const p = &w->point[at];
        const float share = 1.0f / (float)count[a->point];
        p->col += share * a->col;
        p->row[0] += share * a->row[0];
        p->row[1] += share * a->row[1];
        p->slope += share * hypotf(a->slope[0], a->slope[1]);
        w->per_m[at] += share * a->px_per_m;
        w->raw_m[at] += share * a->d_m;
        w->place[2 * at] += share * a->place[0];
        w->place[2 * at + 1] += share * a->place[1];
    }
}

/* Number the pieces of ground with at least two samples, and place them. */
static SdmStatus make_points(SdmContext *ctx, Work *w)
{
    const SdmReferenceSamples *const s = &w->s;
    SDM_OWNED int32_t *count = NULL;
    PASS(sdm_alloc(ctx, &count, w->pieces, sizeof *count, "points of the reference"));
    for (size_t i = 0; i < s->count; i++)
        if (s->sample[i].point >= 0 && !isnan(s->sample[i].d_m))
            count[s->sample[i].point]++;
    for (size_t i = 0; i < w->pieces; i++)
        w->number[i] = count[i] >= 2 ? (int32_t)w->points++ : -1;
    PASS(SDM_ALLOC(ctx, "points of the reference", SDM_ARRAY(w->point, w->points + 1),
                   SDM_ARRAY(w->per_m, 4 * w->points + 4), SDM_ARRAY(w->allowed, w->points + 1)));
    w->raw_m = w->per_m + w->points;
    w->place = w->raw_m + w->points;
    memset(w->allowed, 1, w->points + 1);
    place_points(w, count);
    return sdm_reference_mask_apply(ctx, &w->files->mask, &s->plane.grid, w->place, w->points, w->allowed);
}

/* Difference that the correction leaves at a point, metres; NaN off the reference. */
static double left_m(const Work *w, size_t i)
{
    const SdmAlongPoint *const a = &w->point[i];
    const double right[2] = {(double)a->col, (double)a->row[0]};
    return ((double)a->value_px - sdm_along_value(&w->along, &w->p->pointing, right, (double)a->row[1])) /
           (double)w->per_m[i];
}

/* ---- change ---- */

/* The grid of the change mask: some cells of the plane make a block. */
static SdmStatus open_mask(SdmContext *ctx, Work *w)
{
    SdmReferenceReport *const r = &w->p->reference;
    const SdmGrid *const plane = &w->s.plane.grid;
    const double side_m = BLOCK_POINTS * w->s.point_m;
    const int64_t cells = (int64_t)fmax(floor(side_m / plane->spacing + 0.5), 1.0);
    r->grid = *plane;
    r->grid.spacing *= (double)cells;
    r->grid.cols = (plane->cols + cells - 1) / cells;
    r->grid.rows = (plane->rows + cells - 1) / cells;
    return sdm_alloc(ctx, &r->left_out, (size_t)(r->grid.cols * r->grid.rows), 1,
                     "the blocks left out of the fit");
}

static size_t block_of(const Work *w, size_t i)
{
    const SdmGrid *const g = &w->p->reference.grid, *const plane = &w->s.plane.grid;
    const double cells = g->spacing / plane->spacing;
    const int64_t col = (int64_t)(((double)w->place[2 * i] + 0.5) / cells),
                  row = (int64_t)(((double)w->place[2 * i + 1] + 0.5) / cells);
    const int64_t c = col < 0          ? 0
                      : col >= g->cols ? g->cols - 1
                                       : col,
                  r = row < 0          ? 0
                      : row >= g->rows ? g->rows - 1
                                       : row;
    return (size_t)(r * g->cols + c);
}

/* Median of what the correction leaves, by block, of what the masks of the user allow. */
static SdmStatus measure_blocks(SdmContext *ctx, Work *w, size_t count, float *median_m)
{
    SDM_OWNED size_t *begin = NULL, *order = NULL;
    PASS(SDM_ALLOC(ctx, "blocks of the change mask", SDM_ARRAY(begin, count + 2),
                   SDM_ARRAY(order, w->points + 1)));
    for (size_t i = 0; i < w->points; i++)
        begin[block_of(w, i) + 2]++;
    for (size_t c = 0; c < count; c++)
        begin[c + 2] += begin[c + 1];
    for (size_t i = 0; i < w->points; i++)
        order[begin[block_of(w, i) + 1]++] = i;
    for (size_t c = 0; c < count; c++) {
        int64_t n = 0;
        for (size_t i = begin[c]; i < begin[c + 1]; i++)
            if (w->allowed[order[i]])
                w->scratch[n++] = (float)left_m(w, order[i]);
        n = sdm_drop_nan_f32(w->scratch, n);
        median_m[c] = (float)sdm_median_f32(w->scratch, n);
    }
    return SDM_OK;
}

/* Mark the blocks that differ from the reference beyond the spread of the blocks that were unchanged so far,
 * and those beside them. */
static SdmStatus find_change(SdmContext *ctx, Work *w)
{
    SdmReferenceReport *const r = &w->p->reference;
    const int64_t cols = r->grid.cols, rows = r->grid.rows;
    const size_t count = (size_t)(cols * rows);
    SDM_OWNED float *median_m = NULL;
    double middle;
    PASS(sdm_alloc(ctx, &median_m, count, sizeof *median_m, "blocks of the change mask"));
    PASS(measure_blocks(ctx, w, count, median_m));
    int64_t n = 0;
    for (size_t c = 0; c < count; c++)
        if (!isnan(median_m[c]) && !r->left_out[c])
            w->scratch[n++] = median_m[c];
    const double limit = fmax(CHANGE_NMADS * sdm_nmad_f32(w->scratch, n, &middle), CHANGE_LEAST_M);
    memset(r->left_out, 0, count);
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < cols; i++)
            for (int64_t k = 0; k < 9; k++) {
                const int64_t y = j + k / 3 - 1, x = i + k % 3 - 1;
                if (x >= 0 && y >= 0 && x < cols && y < rows &&
                    fabs((double)median_m[y * cols + x] - middle) > limit)
                    r->left_out[j * cols + i] = 1;
            }
    return SDM_OK;
}

/* Set which points and pieces of ground are used, and the share that is left out. */
static void apply_change(Work *w)
{
    SdmReferenceReport *const r = &w->p->reference;
    size_t masked = 0;
    for (size_t i = 0; i < w->points; i++) {
        const bool changed = r->left_out[block_of(w, i)] != 0;
        w->point[i].use = w->allowed[i] && !changed && !isnan(w->point[i].value_px);
        masked += changed || !w->allowed[i];
    }
    for (size_t i = 0; i < w->pieces; i++)
        w->use[i] = w->number[i] >= 0 && w->point[w->number[i]].use;
    r->masked = (double)masked / fmax((double)w->points, 1.0);
}

/* Use the pieces of ground that the masks of the user allow; false: there are no masks, or they leave too
 * little. */
static bool use_allowed(Work *w)
{
    size_t allowed = 0;
    for (size_t i = 0; i < w->pieces; i++) {
        w->use[i] = w->number[i] >= 0 && w->allowed[w->number[i]];
        allowed += w->use[i];
    }
    return *masks_of(w) && allowed >= LEAST_USED;
}

static size_t used_points(const Work *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->points; i++)
        n += w->point[i].use;
    return n;
}

/* Blocks without a point that is used are left out, by the masks of the user, too. */
static void mark_left_out(Work *w)
{
    uint8_t *const left_out = w->p->reference.left_out;
    for (size_t i = 0; i < w->points; i++)
        if (!w->allowed[i])
            left_out[block_of(w, i)] = 1;
    for (size_t i = 0; i < w->points; i++)
        if (w->point[i].use)
            left_out[block_of(w, i)] = 0;
}

/* ---- the fit ---- */

/* Keep the constant alone where the ground does not support a fit along the lines. */
static void check_fit(SdmContext *ctx, Work *w)
{
    SdmReferenceReport *const r = &w->p->reference;
    r->state = SDM_REFERENCE_FITTED;
    if (r->masked > SDM_REFERENCE_MOST_MASKED)
        refuse(ctx, w, SDM_REFERENCE_SHIFT,
               "%.0f %% of the ground is left out for its differences%s, at most %.0f %% may be",
               100.0 * r->masked, masks_of(w), 100.0 * SDM_REFERENCE_MOST_MASKED);
    else if (r->fit.rows_seen < SDM_REFERENCE_LEAST_ROWS)
        refuse(ctx, w, SDM_REFERENCE_SHIFT,
               "%.0f %% of the rows have ground that is not left out, at least %.0f %% are needed",
               100.0 * r->fit.rows_seen, 100.0 * SDM_REFERENCE_LEAST_ROWS);
    else if (w->along.degree == 0 && w->along.waves[0] + w->along.waves[1] == 0) {
        r->state = SDM_REFERENCE_SHIFT;
        snprintf(r->reason, sizeof r->reason, "nothing else lowers the error of cross-validation");
    }
    if (r->state == SDM_REFERENCE_SHIFT) {
        w->along.waves[0] = w->along.waves[1] = w->along.degree = 0;
        for (int i = 1; i < SDM_ALONG_MAX_TERMS; i++)
            w->along.coef[i] = 0.0;
    }
}

/* The constant alone: the median of what is used. */
static void fit_constant(Work *w)
{
    int64_t n = 0;
    for (size_t i = 0; i < w->points; i++)
        if (w->point[i].use)
            w->scratch[n++] = w->point[i].value_px;
    w->along.coef[0] = sdm_median_f32(w->scratch, n);
}

/* Shift, correction and change mask, in turn. */
static SdmStatus iterate(SdmContext *ctx, Work *w)
{
    SdmReferenceReport *const r = &w->p->reference;
    const double long_m = r->cell_m > COARSE_CELL_M ? COARSE_LONG_M : FINE_LONG_M;
    const SdmAlongTask task = {.point = w->point,
                               .count = w->points,
                               .scale = &w->p->pointing,
                               .least_long_px = long_m * fabs(w->p->frame.du_dh),
                               .point_rows = w->s.point_m / w->p->frame.gsd_m,
                               .average_rows = WINDOW * (double)(1 << w->p->coarse.win.level)};
    apply_change(w);
    for (int round = 0; round < ROUNDS; round++) {
        PASS(sdm_check_stop(ctx));
        PASS(sdm_reference_shift(ctx, &w->s, w->use, w->scratch, w->threads, &w->shift));
        if (w->shift.undetermined) /* a shift that is no better known than that does more harm than good */
            w->shift.move_m[0] = w->shift.move_m[1] = 0.0;
        (void)sdm_reference_compare(&w->s, w->shift.move_m, w->threads);
        fill_points(w);
        apply_change(w);
        if (used_points(w) < LEAST_USED) {
            refuse(ctx, w, SDM_REFERENCE_REFUSED,
                   "of %zu places with heights of both, fewer than %d are not left out for their "
                   "differences%s",
                   w->points, (int)LEAST_USED, masks_of(w));
            return SDM_OK;
        }
        PASS(sdm_along_fit(ctx, &task, &w->along, &r->fit));
        w->along.east_m = w->shift.move_m[0];
        w->along.north_m = w->shift.move_m[1];
        if (round + 1 == ROUNDS)
            break;
        PASS(find_change(ctx, w));
        apply_change(w);
        move_samples(w);
    }
    mark_left_out(w);
    check_fit(ctx, w);
    if (r->state == SDM_REFERENCE_SHIFT)
        fit_constant(w);
    return SDM_OK;
}

/* ---- what was found ---- */

static void measure_spread(const Work *w, int when, int where)
{
    SdmReferenceReport *const r = &w->p->reference;
    int64_t n = 0;
    for (size_t i = 0; i < w->points; i++) {
        const double d = when == SDM_REFERENCE_BEFORE ? (double)w->raw_m[i] : left_m(w, i);
        if (w->point[i].use == (where == SDM_REFERENCE_USED) && !isnan(d))
            w->scratch[n++] = (float)d;
    }
    r->spread[when][where].nmad_m = sdm_nmad_f32(w->scratch, n, &r->spread[when][where].median_m);
}

/* Means by row of what the waves of one view were fitted to. */
static SdmStatus fill_bins(SdmContext *ctx, const Work *w, int view, SdmReferenceBins *b)
{
    SDM_OWNED double *sum = NULL;
    float last = 0.0f;
    for (size_t i = 0; i < w->points; i++)
        last = fmaxf(last, w->point[i].row[view]);
    b->step_px = BIN_ROWS;
    b->count = (int)(last / BIN_ROWS) + 1;
    PASS(sdm_alloc(ctx, &b->value_px, (size_t)b->count, sizeof *b->value_px, "means by row"));
    PASS(sdm_alloc(ctx, &sum, 2 * (size_t)b->count, sizeof *sum, "means by row"));
    const double limit = 3.0 * w->p->reference.fit.point_px;
    for (size_t i = 0; i < w->points; i++) {
        const SdmAlongPoint *const a = &w->point[i];
        const double left_px = left_m(w, i) * (double)w->per_m[i];
        const int at = (int)(fmaxf(a->row[view], 0.0f) / BIN_ROWS);
        if (!a->use || !(fabs(left_px) < limit))
            continue;
        sum[2 * at] += left_px + sdm_along_profile(&w->along, view, (double)a->row[view]);
        sum[2 * at + 1] += 1.0;
    }
    for (int i = 0; i < b->count; i++)
        b->value_px[i] = sum[2 * i + 1] >= 8.0 ? (float)(sum[2 * i] / sum[2 * i + 1]) : NAN;
    return SDM_OK;
}

static SdmStatus report_fit(SdmContext *ctx, Work *w)
{
    SdmReferenceReport *const r = &w->p->reference;
    double per_m = 0.0;
    for (int i = 0; i < 4; i++)
        measure_spread(w, i / 2, i % 2);
    for (size_t i = 0; i < w->points; i++)
        per_m += (double)w->per_m[i];
    r->px_per_m = per_m / fmax((double)w->points, 1.0);
    r->row_m = w->p->frame.gsd_m;
    r->shift_m[0] = w->along.east_m;
    r->shift_m[1] = w->along.north_m;
    r->shift_m[2] = -w->along.coef[0] / r->px_per_m;
    ask_for_datum(ctx, w);
    for (int k = 0; k < 2; k++)
        PASS(fill_bins(ctx, w, k, &r->bins[k]));
    sdm_log(
        ctx, SDM_LOG_VERBOSE, 2,
        "reference: shift %.2f %.2f %.2f m, degree %d, %d + %d waves, %.0f %% masked, NMAD %.2f -> %.2f m, "
        "cross-validation by rows %.3f -> %.3f px, by columns %.3f -> %.3f px",
        r->shift_m[0], r->shift_m[1], r->shift_m[2], w->along.degree, w->along.waves[0], w->along.waves[1],
        100.0 * r->masked, r->spread[0][0].nmad_m, r->spread[1][0].nmad_m, r->fit.constant_px[0],
        r->fit.fitted_px[0], r->fit.constant_px[1], r->fit.fitted_px[1]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < w->along.waves[k]; i++)
            sdm_log(ctx, SDM_LOG_VERBOSE, 2, "reference: wave of %.1f rows of the %s view, %.3f px",
                    1.0 / w->along.wave[k][i].per_row, k ? "left" : "right",
                    hypot(w->along.wave[k][i].cos_px, w->along.wave[k][i].sin_px));
    return SDM_OK;
}

/* ---- what follows from it ---- */

/* The change of height by the correction at places MOVE_STEP coarse pixels apart: cols x rows. */
typedef struct HeightChange {
    float *more_m; /* owned */
    int cols, rows;
} HeightChange;

static void fill_change(const SdmPrepared *p, const SdmAlongCorrection *along, const SdmLattice *lattice,
                        int threads, HeightChange *c)
{
    const SdmSurface *const s = &p->coarse;
    const double size = (double)(1 << s->win.level), reach_m = 50.0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int j = 0; j < c->rows; j++)
        for (int i = 0; i < c->cols; i++) {
            const int x = i * MOVE_STEP < s->win.w ? i * MOVE_STEP : s->win.w - 1,
                      y = j * MOVE_STEP < s->win.h ? j * MOVE_STEP : s->win.h - 1;
            const double u = (i * MOVE_STEP + 0.5) * size - 0.5, v = (j * MOVE_STEP + 0.5) * size - 0.5,
                         h = (double)s->h_m[(size_t)y * (size_t)s->win.w + (size_t)x];
            double left[2], right[2], lo[2], hi[2];
            sdm_lattice_left(lattice, u, v, left);
            sdm_lattice_right(lattice, u, v, h, right);
            sdm_lattice_right(lattice, u, v, h - reach_m, lo);
            sdm_lattice_right(lattice, u, v, h + reach_m, hi);
            const double px_per_m = hypot(hi[0] - lo[0], hi[1] - lo[1]) / (2.0 * reach_m);
            c->more_m[(size_t)j * (size_t)c->cols + (size_t)i] =
                (float)(-sdm_along_value(along, &p->pointing, right, left[1]) / px_per_m);
        }
}

static float change_at(const HeightChange *c, int x, int y)
{
    const int i = x / MOVE_STEP, j = y / MOVE_STEP;
    const float fx = (float)(x % MOVE_STEP) / (float)MOVE_STEP,
                fy = (float)(y % MOVE_STEP) / (float)MOVE_STEP;
    const float *const m = c->more_m + (size_t)j * (size_t)c->cols + (size_t)i, *const below = m + c->cols;
    const float top = m[0] + fx * (m[1] - m[0]), low = below[0] + fx * (below[1] - below[0]);
    return top + fy * (low - top);
}

/* Move the coarse surface and the terrain mask so that every pixel keeps its match: exactly every fourth
 * pixel, since jitter is longer. */
static SdmStatus move_surface(SdmContext *ctx, const SdmLattice *lattice, SdmPrepared *p,
                              const SdmAlongCorrection *along)
{
    const SdmSurface *const s = &p->coarse;
    HeightChange c = {.cols = s->win.w / MOVE_STEP + 2, .rows = s->win.h / MOVE_STEP + 2};
    PASS(sdm_alloc_raw(ctx, &c.more_m, (size_t)c.cols * (size_t)c.rows, sizeof *c.more_m,
                       "changes of height"));
    fill_change(p, along, lattice, sdm_threads(ctx), &c);
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int j = 0; j < s->win.h; j++)
        for (int i = 0; i < s->win.w; i++) {
            const size_t at = (size_t)j * (size_t)s->win.w + (size_t)i;
            const float more_m = change_at(&c, i, j);
            s->h_m[at] += more_m;
            p->terrain.h_m[at] += more_m;
        }
    sdm_free(&c.more_m);
    return SDM_OK;
}

static SdmStatus open_work(SdmContext *ctx, const SdmScene *scene, const SdmPyramid images[2], Work *w)
{
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface surface = {0};
    PASS(sdm_coarse_match_again(ctx, scene, w->p, images, &surface));
    PASS(sdm_reference_samples_open(ctx, scene, w->p, &surface, w->files->dem, &w->s));
    w->pieces = (size_t)w->s.points_wide * (size_t)w->s.points_high;
    return SDM_ALLOC(ctx, "samples of the surface", SDM_ARRAY(w->moved_m, w->s.count + 1),
                     SDM_ARRAY(w->scratch, SDM_REFERENCE_SHIFT_FLOATS(w->s.count)),
                     SDM_ARRAY(w->number, w->pieces + 1), SDM_ARRAY(w->use, w->pieces + 1));
}

static void close_work(Work *w)
{
    sdm_reference_samples_free(&w->s);
    SDM_FREE(&w->moved_m, &w->scratch, &w->point, &w->per_m, &w->allowed, &w->number, &w->use);
}

SdmStatus sdm_reference_correct(SdmContext *ctx, const SdmScene *scene, const SdmReferenceFiles *files,
                                const SdmPyramid images[2], SdmPrepared *p)
{
    SDM_CLOSED_BY(close_work) Work w = {.files = files, .p = p, .threads = sdm_threads(ctx)};
    SDM_STAGE(ctx, 2);
    p->along = (SdmAlongCorrection){0};
    sdm_progress(ctx, 2, 0.85, "cameras against the reference");
    PASS(open_work(ctx, scene, images, &w));
    p->reference.cell_m = w.s.plane.cell_m;
    snprintf(p->reference.datum, sizeof p->reference.datum, "%s", files->dem->phrase);
    const size_t known = w.s.valid ? sdm_reference_compare(&w.s, w.shift.move_m, w.threads) : 0;
    if (known >= LEAST_SAMPLES) {
        PASS(make_points(ctx, &w));
        PASS(sdm_reference_shift(ctx, &w.s, use_allowed(&w) ? w.use : NULL, w.scratch, w.threads, &w.shift));
    }
    if (!serves(ctx, &w, known))
        return SDM_OK;
    PASS(open_mask(ctx, &w));
    fill_points(&w);
    PASS(iterate(ctx, &w));
    if (!sdm_reference_applied(&p->reference))
        return SDM_OK;
    PASS(report_fit(ctx, &w));
    PASS(move_surface(ctx, &w.s.lattice, p, &w.along));
    p->along = w.along;
    return SDM_OK;
}

void sdm_reference_keep(SdmReferenceFiles *files, SdmPrepared *p)
{
    if (!sdm_reference_applied(&p->reference) || !sdm_height_raster_is_cached(files->dem))
        return;
    p->reference_dem = files->dem;
    files->dem = NULL;
}
