/* Stage 2, second round: strips along u at full resolution -> tie points -> polynomial and profile by row. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/prepare.h"

#include "core/stats.h"
#include "matching/semi_global_surface.h"
#include "matching/validation.h"
#include "scene/window_input.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIPS = 5,
    ROUNDS = 2,           /* rays show some 0.6 of an error, so it is measured again with what the first one
                           * found */
    STRIP_PX = 320000,    /* of a strip, which has 80 to 112 rows: tie points enough for any scene */
    PIECE_COLUMNS = 8192, /* of a strip, at most */
    SHORT_COLUMNS = 2048, /* of a wider frame: pieces, of which two of the strips match each */
    STRIP_BYTES = 64,     /* a pixel of a piece in work */
    STRIP_SHARE = 16,     /* of the budget that all of them may take */
    BLOCK = 8,            /* pixels a side of a tie point */
    MANY_POINTS = 200,    /* fewer must agree */
    LEAST_POINTS = 50     /* fewer leave the pointing of the coarse levels */
};

#define FEW_AGREE_PX 0.15 /* NMAD; of accidents 0.3 px */
#define VEILS_GAIN 0.07   /* least gain, as a share, of matches with veils taken off */

/* Least RMS correction of the round before for measuring the response, px; least response. */
#define LEAST_FOUND_PX 0.02
#define LEAST_RESPONSE 0.4

/* ---- the limit of ray errors, and the final score ---- */

enum { BINS = 128 /* a pixel */, SCORES = 6 };

/* Histograms of ray errors of the frame: signed, from -1 to 1 px, of the pixels that were accepted, or
 * rejected for their ray error alone; without signs, of those with low scores, by score from NOISY_PART of
 * the final one up to it.  Zero to begin with. */
typedef struct RayErrors {
    int64_t bin[2 * BINS + 1], total, low[SCORES][BINS + 1], low_total[SCORES], tried;
} RayErrors;

static const float LEAST_LIMIT_PX = 0.25f, LEAST_TOWN_LIMIT_PX = 0.5f, LARGEST_LIMIT_PX = 0.6f;
/* Median ray error of low scores up to which they are right matches in noise.  Accidents have 0.4 px and
 * more; on steep slopes, where the median is 0.28 px, a quarter of the matches are accidents. */
#define NOISY_PX 0.25f
#define NOISY_SHARE                                                                                          \
    0.005                /* least share of low scores in a step, of the pixels that the usual score accepts */
#define NOISY_PART 0.57f /* of the usual final score, at least; ZNCC: 0.4 */

/* Count the pixels of a window. */
static void count_ray_errors(const SdmMatchSettings *set, const SdmFineResult *f, RayErrors *counts)
{
    const size_t n = (size_t)f->surface.win.w * (size_t)f->surface.win.h;
    SdmMatchSettings usual = *set;
    usual.final_score = sdm_final_score(set->cost_name);
    const int top = sdm_validation_min_score(&usual), least = (int)((float)top * NOISY_PART);
    for (size_t i = 0; i < n; i++) {
        const unsigned flags = f->surface.flags[i], met = flags & (SDM_QA_VALID | SDM_QA_RAY_ERROR);
        if (!isfinite(f->ray_error_px[i]))
            continue;
        counts->tried++;
        const float e = f->ray_error_px[i], v = e < -1.0f ? -1.0f : e > 1.0f ? 1.0f : e;
        const int bin = (int)lrintf(v * BINS), score = f->surface.score[i];
        if (score < top && (flags & SDM_QA_LOW_SCORE || (met && !(flags & SDM_QA_FILLED)))) {
            const int step = (score - least) * SCORES / (top - least);
            if (score >= least) {
                counts->low[step][abs(bin)]++;
                counts->low_total[step]++;
            }
        } else if (met) {
            counts->bin[BINS + bin]++;
            counts->total++;
        }
    }
}

/* Median of the absolute ray errors in a step of low scores, px; 1: too few are there. */
static float low_median_px(const RayErrors *c, int step)
{
    int64_t sum = c->low[step][0];
    int bin = 0;
    while (bin < BINS && 2 * sum < c->low_total[step])
        sum += c->low[step][++bin];
    return (double)c->low_total[step] <= NOISY_SHARE * (double)c->total ? 1.0f : (float)bin / BINS;
}

/* Three times the median distance from the median, px, within the bounds above; towns have their own, for
 * windows beside walls hold two heights. */
static float limit_of(const RayErrors *c, bool semi_global)
{
    int64_t sum = 0;
    int median = 0, spread = 0; /* bins */
    while (median < 2 * BINS && (sum += c->bin[median]) * 2 < c->total)
        median++;
    for (sum = c->bin[median]; spread < BINS && sum * 2 < c->total; spread++)
        sum += (median - spread - 1 >= 0 ? c->bin[median - spread - 1] : 0) +
               (median + spread + 1 <= 2 * BINS ? c->bin[median + spread + 1] : 0);
    const float limit = 3.0f * ((float)spread + 0.5f) / BINS,
                least = semi_global ? LEAST_TOWN_LIMIT_PX : LEAST_LIMIT_PX;
    return limit < least ? least : limit > LARGEST_LIMIT_PX ? LARGEST_LIMIT_PX : limit;
}

/* Limits of the final matching.  Noise and veils lower scores: the final score is the least one down to which
 * rays meet.  The limit of their errors is the mean of those of all pixels that are accepted, for a few with
 * larger ones must not open it to false matches on slopes. */
static void find_limits(const RayErrors *c, SdmMatchSettings *set)
{
    set->final_score = sdm_final_score(set->cost_name);
    const float each = (1.0f - NOISY_PART) * set->final_score / SCORES;
    float limit_px = limit_of(c, set->semi_global);
    double all = (double)c->total;
    for (int step = SCORES - 1; step >= 0 && !set->semi_global; step--) {
        const float median_px = low_median_px(c, step), own_px = fminf(3.0f * median_px, LARGEST_LIMIT_PX);
        if (median_px > NOISY_PX)
            break;
        set->final_score -= each;
        all += (double)c->low_total[step];
        limit_px += (own_px - limit_px) * (float)((double)c->low_total[step] / all);
    }
    set->ray_error_limit_px = limit_px;
}

/* Share of the pixels that these limits accept. */
static double share_within(const RayErrors *c, const SdmMatchSettings *set)
{
    const int limit = (int)(set->ray_error_limit_px * BINS);
    const float usual = sdm_final_score(set->cost_name), each = (1.0f - NOISY_PART) * usual / SCORES;
    const int steps = (int)lrintf((usual - set->final_score) / each);
    int64_t sum = 0;
    for (int bin = -limit; bin <= limit; bin++)
        sum += c->bin[BINS + bin];
    for (int step = SCORES - steps; step < SCORES; step++)
        for (int bin = 0; bin <= limit; bin++)
            sum += c->low[step][bin];
    return (double)sum / fmax((double)c->tried, 1.0);
}

/* ---- strips ---- */

/* Rows of a strip begin and end where pixels of the coarse surface do. */
static int row_unit(const SdmPrepared *p)
{
    return 16 << (p->settings.coarse_level > 4 ? p->settings.coarse_level - 4 : 0);
}

static int strip_rows(const SdmPrepared *p)
{
    const int64_t rows = STRIP_PX / (p->frame.width > 0 ? p->frame.width : 1);
    const int unit = row_unit(p), least = rows < 80 ? 80 : rows > 112 ? 112 : (int)rows;
    return (least + unit - 1) / unit * unit;
}

/* Strips for which there is memory. */
static int64_t strips_that_fit(const SdmScene *scene, const SdmPrepared *p)
{
    const int64_t columns = p->frame.width < PIECE_COLUMNS ? p->frame.width : PIECE_COLUMNS;
    return scene->options->memory_bytes / STRIP_SHARE / (columns * strip_rows(p) * STRIP_BYTES + 1);
}

/* Match a piece of a strip; count its ray errors and collect its tie points.  input: as sdm_window_open()
 * takes it; where all strips have one piece and fit, its images stay for the next round. */
static SdmStatus match_piece(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p,
                             const SdmWindow *win, SdmWindowInput *input, RayErrors *errors,
                             SdmTiePoints *points)
{
    SdmStatus st = SDM_OK;
    const bool stay = win->w == p->frame.width && strips_that_fit(scene, p) >= STRIPS;
    SdmFineResult fine = {0};
    SdmMatchSettings settings = p->settings;
    if (settings.wiener) /* walls, which are matched without it, need the repeats: else rays miss there */
        settings.repeats = 0;
    settings.wiener = settings.edges = false; /* what filters do to heights moves nothing across the lines */
    settings.fill_limit.rise_m = sdm_fill_rise("gentle", p->frame.gsd_m, settings.semi_global);
    TRY(sdm_window_open(ctx, scene, p, win, NULL, p->settings.coarse_level, input));
    input->in.settings = &settings;
    for (int k = 0; k < 2 && stay; k++)
        input->in.spent[k] = NULL;
    const SdmMatchCall call = {.in = &input->in, .coarse = &p->coarse, .win = win, .need = win};
    TRY(sdm_match_window(ctx, &call, &fine));
    count_ray_errors(&settings, &fine, errors);
    const SdmTiePointSource from = {.lattice = &input->lattice,
                                    .in_use = &p->pointing,
                                    .surface = &fine.surface,
                                    .ray_error_v = fine.ray_error_px,
                                    .block = BLOCK};
    sdm_tie_points_add(&from, points);
done:
    sdm_fine_result_free(&fine);
    if (!stay)
        sdm_window_close(input);
    return st;
}

/* Shares of the preparation's time: the coarse surface, which comes before, and the strips. */
#define COARSE 0.25
#define PIECES 0.6

/* Tie points of a strip, at most. */
static size_t strip_room(const SdmPrepared *p)
{
    return ((size_t)(p->frame.width / BLOCK) + 64) * (size_t)(strip_rows(p) / BLOCK) + 64;
}

/* A strip in work, and what it has shown. */
typedef struct Strip {
    SdmContext *ctx; /* of its own where strips are matched side by side, else NULL */
    RayErrors errors;
    SdmTiePoints points;
    SdmStatus st;
} Strip;

/* share: of the progress, from and to. */
static SdmStatus match_strip(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, int i,
                             const double share[2], SdmWindowInput *input, Strip *strip)
{
    const SdmFrame *const f = &p->frame;
    const int unit = row_unit(p), rows = strip_rows(p);
    int64_t v0 = (int64_t)((i + 0.5) / STRIPS * (double)f->height) - rows / 2;
    v0 = v0 < 0 ? 0 : v0 / unit * unit;
    const int64_t v1 = v0 + rows < f->height ? v0 + rows : f->height;
    const int64_t columns = f->width > PIECE_COLUMNS ? SHORT_COLUMNS : PIECE_COLUMNS;
    for (int64_t u0 = 0; u0 < f->width; u0 += columns) {
        const int64_t u1 = u0 + columns < f->width ? u0 + columns : f->width, piece = u0 / columns;
        if (f->width > PIECE_COLUMNS && piece % STRIPS != i && (piece + 2) % STRIPS != i)
            continue;
        const SdmWindow win = {.u0 = u0, .v0 = v0, .w = (int)(u1 - u0), .h = (int)((v1 - v0) / unit * unit)};
        const double all = share[1] - share[0], width = (double)f->width;
        SDM_PROGRESS(ctx, share[0] + all * (double)u0 / width, share[0] + all * (double)u1 / width);
        sdm_progress(ctx, 2, 0.0, "pointing at full resolution");
        if (win.w >= unit && win.h >= unit)
            PASS(match_piece(ctx, scene, p, &win, input, &strip->errors, &strip->points));
    }
    return SDM_OK;
}

/* Add what the strips have shown, in their order. */
static SdmStatus gather(SdmContext *ctx, Strip *strip, RayErrors *errors, SdmTiePoints *points)
{
    for (int i = 0; i < STRIPS; i++) {
        if (strip[i].ctx)
            sdm_forward_log(ctx, strip[i].ctx);
        if (strip[i].st != SDM_OK)
            return strip[i].ctx ? sdm_fail(ctx, strip[i].st, "%s", sdm_error(strip[i].ctx)) : strip[i].st;
        const int64_t *const counts = (const int64_t *)&strip[i].errors; /* all that it has */
        for (size_t k = 0; k < sizeof *errors / sizeof *counts; k++)
            ((int64_t *)errors)[k] += counts[k];
        for (size_t k = 0; k < strip[i].points.count && points->count < points->room; k++)
            points->point[points->count++] = strip[i].points.point[k];
    }
    return SDM_OK;
}

/* shown: the progress at the end of the round before, and of this one. */
static SdmStatus match_strips(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p,
                              const double shown[2], SdmWindowInput input[STRIPS], RayErrors *errors,
                              SdmTiePoints *points)
{
    SdmStatus st = SDM_OK;
    Strip strip[STRIPS] = {{.ctx = NULL}};
    const double each = (shown[1] - shown[0]) / STRIPS;
    /* Strips are matched side by side, a thread each: several threads in one wait for each other a third of
     * the time.  Semi-global matching takes more memory, and has more to do. */
    const int64_t fit = strips_that_fit(scene, p);
    const int threads = sdm_threads(ctx), most = threads < STRIPS ? threads : STRIPS,
              at_once = p->settings.semi_global || fit < 1 ? 1
                        : fit < most                       ? (int)fit
                                                           : most;
    for (int i = 0; i < STRIPS; i++) {
        TRY(sdm_tie_points_alloc(ctx, strip_room(p), &strip[i].points));
        if (at_once > 1)
            TRY(sdm_open_child(ctx, &strip[i].ctx));
    }
    sdm_progress(ctx, 2, shown[0], "pointing at full resolution");
#pragma omp parallel for num_threads(at_once) schedule(dynamic, 1)
    for (int i = 0; i < STRIPS; i++) {
        const double share[2] = {shown[0] + each * i, shown[0] + each * (i + 1)};
        strip[i].st =
            match_strip(strip[i].ctx ? strip[i].ctx : ctx, scene, p, i, share, &input[i], &strip[i]);
    }
    TRY(gather(ctx, strip, errors, points));
done:
    for (int i = 0; i < STRIPS; i++) {
        sdm_tie_points_free(&strip[i].points);
        sdm_close(&strip[i].ctx);
    }
    return st;
}

/* response: share of an error that the ray intersection errors show. */
static SdmStatus fit(SdmContext *ctx, const SdmScene *scene, const SdmTiePoints *points, double response,
                     SdmPrepared *p)
{
    SdmPointRound *const round = &p->points.round[p->points.rounds++];
    SdmFitTask task = sdm_fit_task(scene, &p->frame);
    *round = (SdmPointRound){.level = 0};
    task.point = points->point;
    task.count = points->count;
    task.max_degree = SDM_POINT_MAX_DEGREE;
    task.with_profile = points->count >= MANY_POINTS;
    task.response = response;
    PASS(sdm_pointing_fit(ctx, &task, &p->pointing, round));
    sdm_log(ctx, SDM_LOG_VERBOSE, 2,
            "full resolution: %zu matches, across %.3f px, spread %.3f -> %.3f px, degree %d, "
            "jitter %.3f px rms; the rays show %.0f %% of a pointing error",
            points->count, round->before_median_px, round->before_nmad_px, round->after_nmad_px,
            round->degree, round->profile_rms_px, 100.0 * response);
    return SDM_OK;
}

/* Share of a pointing error that ray intersection errors show: 1 - sum(r d) / sum(d^2), r: residual with the
 * correction in use, d: change of the correction since `before`. */
static double measure_response(const SdmTiePoints *points, const SdmPointing *before,
                               const SdmPointing *in_use)
{
    double both = 0.0, square = 0.0;
    for (size_t i = 0; i < points->count; i++) {
        const SdmTiePoint *const t = &points->point[i];
        const double found =
            sdm_pointing_value(in_use, t->col, t->row) - sdm_pointing_value(before, t->col, t->row);
        both += found * t->residual_px;
        square += found * found;
    }
    const double share =
        square > LEAST_FOUND_PX * LEAST_FOUND_PX * (double)points->count ? 1.0 - both / square : 1.0;
    return share < LEAST_RESPONSE ? LEAST_RESPONSE : share > 1.0 ? 1.0 : share;
}

/* Are there enough tie points, or do a few agree? */
static SdmStatus can_fit(SdmContext *ctx, const SdmTiePoints *points, bool *can)
{
    SDM_OWNED double *residual_px = NULL;
    *can = points->count >= MANY_POINTS;
    if (*can || points->count < LEAST_POINTS)
        return SDM_OK;
    PASS(sdm_alloc_raw(ctx, &residual_px, points->count, sizeof *residual_px, "residuals"));
    for (size_t i = 0; i < points->count; i++)
        residual_px[i] = points->point[i].residual_px;
    *can = sdm_nmad_f64(residual_px, (int64_t)points->count, NULL) <= FEW_AGREE_PX;
    return SDM_OK;
}

/* Edges of veils that move lower scores and part the rays.  Where the strips lower the final score, they are
 * matched twice more, as they are and with what is smooth taken off the views.  Where the stricter of
 * both limits accept clearly more of the latter, all windows are matched so, by its own limits. */
static SdmStatus judge_veils(SdmContext *ctx, const SdmScene *scene, SdmWindowInput input[STRIPS],
                             SdmPrepared *p, SdmMatchSettings *found)
{
    SdmStatus st = SDM_OK;
    SdmTiePoints points = {0};
    RayErrors errors[2] = {{.total = 0}, {.total = 0}}; /* veils taken off: 1 */
    SdmMatchSettings limits[2], strict = p->settings;
    const double shown[2] = {COARSE + PIECES, COARSE + PIECES};
    if (p->settings.semi_global || sdm_hides_clouds(&p->settings) ||
        p->frame.gsd_m < SDM_SEMI_GLOBAL_BELOW_M || strcmp(p->settings.cost_name, "zncc") != 0 ||
        found->final_score >= sdm_final_score(found->cost_name))
        return SDM_OK;
    TRY(sdm_tie_points_alloc(ctx, STRIPS * strip_room(p), &points));
    for (int k = 0; k < 2; k++) {
        p->settings.veils = k;
        points.count = 0;
        TRY(match_strips(ctx, scene, p, shown, input, &errors[k], &points));
        for (int i = 0; i < STRIPS; i++) /* of views with their veils */
            sdm_window_close(&input[i]);
        limits[k] = p->settings;
        find_limits(&errors[k], &limits[k]);
    }
    strict.ray_error_limit_px = fminf(limits[0].ray_error_limit_px, limits[1].ray_error_limit_px);
    strict.final_score = fmaxf(limits[0].final_score, limits[1].final_score);
    const double seen = share_within(&errors[0], &strict), taken_off = share_within(&errors[1], &strict);
    sdm_log(ctx, SDM_LOG_VERBOSE, 2, "of the strips %.1f %% are matched, %.1f %% with veils taken off",
            100.0 * seen, 100.0 * taken_off);
    p->settings.veils = taken_off > (1.0 + VEILS_GAIN) * seen;
    if (p->settings.veils)
        *found = limits[1];
done:
    sdm_tie_points_free(&points);
    return st;
}

SdmStatus sdm_pointing_at_full_resolution(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    SdmTiePoints points = {0};
    SdmWindowInput input[STRIPS] = {{.in = {0}}}; /* of the strips */
    const int around = sdm_stage_enter(ctx, 2);
    SdmMatchSettings found = p->settings; /* its limits */
    RayErrors errors;
    bool can;
    double shown[2] = {COARSE, COARSE};
    TRY(sdm_tie_points_alloc(ctx, STRIPS * strip_room(p), &points));
    const SdmPointing coarse = p->pointing;
    assert(!coarse.profile_px);
    for (int i = 0; i < ROUNDS; i++) {
        errors = (RayErrors){.total = 0};
        points.count = 0;
        shown[1] = COARSE + PIECES * (i + 1) / ROUNDS;
        TRY(match_strips(ctx, scene, p, shown, input, &errors, &points));
        shown[0] = shown[1]; /* a round that is done again moves nothing */
        found = p->settings;
        find_limits(&errors, &found);
        TRY(can_fit(ctx, &points, &can));
        if (!can && found.final_score < p->settings.final_score) { /* once more, with what noise leaves */
            p->settings.final_score = found.final_score;
            p->settings.min_score = fminf(p->settings.min_score, found.final_score);
            i--;
            continue;
        }
        if (!can) {
            if (i == 0) { /* the coarse levels leave 0.3 px, which tell no noise */
                found.ray_error_limit_px = LARGEST_LIMIT_PX;
                found.final_score = sdm_final_score(found.cost_name);
            }
            sdm_log(ctx, SDM_LOG_WARNING, 2,
                    "pointing: only %zu matches at full resolution; that of the %s stays", points.count,
                    i > 0 ? "round before" : "coarse levels");
            break;
        }
        const double response = i > 0 ? measure_response(&points, &coarse, &p->pointing) : 1.0;
        for (size_t k = 0; k < points.count; k++)
            points.point[k].correction_px += (1.0 / response - 1.0) * points.point[k].residual_px;
        TRY(fit(ctx, scene, &points, response, p));
    }
    if (can)
        TRY(judge_veils(ctx, scene, input, p, &found));
    p->settings.ray_error_limit_px = found.ray_error_limit_px;
    p->settings.final_score = found.final_score;
    if (sdm_hides_clouds(&p->settings)) /* heights lie near those on which both views agree */
        p->settings.final_score = fminf(found.final_score, p->settings.min_score);
    sdm_log(ctx, SDM_LOG_VERBOSE, 2,
            "ray intersection errors beyond %.2f px and scores below %.2f are taken for false matches",
            (double)p->settings.ray_error_limit_px, (double)p->settings.final_score);
done:
    for (int i = 0; i < STRIPS; i++)
        sdm_window_close(&input[i]);
    sdm_tie_points_free(&points);
    sdm_stage_leave(ctx, around);
    return st;
}
