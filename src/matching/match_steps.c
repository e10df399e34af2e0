/* Windows, ranges and reaches of all passes and filters, and what is summed from them. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/match_steps.h"

#include "matching/filters.h"
#include "matching/validation.h"

#include <math.h>

/* ---- the table ---- */

enum {
    RETRY_RANGE = 5, /* without discontinuities */
    RETRY_WINDOW = 13,
    WIDE_RANGE = 16, /* with discontinuities, at most */
    FAR_WINDOW = 9,
    PLANE_WINDOW = 9,
    SHARPEN_WINDOW = 5,
    SHARPEN_RANGE = 2,
    FAR_HALF = 16,
    NEAR_HALF = 4,
    HOLE_HALF = 6,
    REJECT_WINDOW = 7,
    CENSUS_ROWS = 4 /* rows of the words of a census beyond its window: 3, and one more */
};
#define REJECT_SHARE 0.3f

/* Kind, window, range. */
#define CLEAN                                                                                                \
    {SDM_STEP_REJECT, REJECT_WINDOW, 0, SDM_ALWAYS},                                                         \
    {                                                                                                        \
        SDM_STEP_MEDIAN, 3, 0, SDM_ALWAYS                                                                    \
    }
#define RETRY(when)                                                                                          \
    {SDM_STEP_RETRY, RETRY_WINDOW, RETRY_RANGE, (when)}, {SDM_STEP_REJECT, REJECT_WINDOW, 0, (when)},        \
    {                                                                                                        \
        SDM_STEP_MEDIAN, 3, 0, (when)                                                                        \
    }
#define FILL                                                                                                 \
    {                                                                                                        \
        SDM_STEP_FILL, 2 * FAR_HALF + 1, 0, SDM_ALWAYS                                                       \
    }
#define SMOOTH(when)                                                                                         \
    {                                                                                                        \
        SDM_STEP_SMOOTH, 3, 0, (when)                                                                        \
    }
#define AFTER_MATCH CLEAN, RETRY(SDM_IF_RETRIED), FILL, SMOOTH(SDM_ABOVE_LEVEL_0)

static const SdmStep fine_level[] = {{SDM_STEP_REFINE, 3, 0, SDM_ALWAYS},
                                     {SDM_STEP_MATCH, 9, 3, SDM_ALWAYS},
                                     {SDM_STEP_BORDER, 9, 0, SDM_IF_BORDERS},
                                     AFTER_MATCH};
/* Residuals are within a pixel by now.  Noise of the surface would come back through the warp: smooth. */
static const SdmStep repeat[] = {SMOOTH(SDM_ALWAYS),
                                 {SDM_STEP_REPEAT, 5, 1, SDM_ALWAYS},
                                 {SDM_STEP_BORDER, 5, 0, SDM_IF_BORDERS},
                                 CLEAN,
                                 FILL};
static const SdmStep restore[] = {{SDM_STEP_WIENER, 2 * SDM_WIENER_REACH + 1, 0, SDM_IF_WIENER},
                                  {SDM_STEP_LEAST_SQUARES, 2 * SDM_LS_REACH + 1, 0, SDM_IF_WIENER},
                                  {SDM_STEP_LEAST_SQUARES, 2 * SDM_LS_REACH + 1, 0, SDM_IF_HOLES}};
/* its reach: sdm_semi_global_reach() */
static const SdmStep semi_global[] = {{SDM_STEP_SEMI_GLOBAL, 1, 0, SDM_ALWAYS}};
/* The warp of the last repeat, or of the least squares, serves again unless heights have moved far since. */
static const SdmStep validate[] = {{SDM_STEP_WARP, 1, 0, SDM_IF_OLD_WARP},
                                   {SDM_STEP_RAY_ERROR, 9, 1, SDM_ALWAYS},
                                   {SDM_STEP_VALIDATE, 2 * SDM_RAY_ERROR_HALF + 1, 0, SDM_ALWAYS}};
static const SdmStep finish[] = {
    {SDM_STEP_DEFECTS, 1, 0, SDM_ALWAYS},
    {SDM_STEP_FILL_HOLES, 2 * (HOLE_HALF + SDM_SLOPE_HALF + SDM_STEEP_HALF) + 1, 0, SDM_IF_PASSES},
    {SDM_STEP_FILL_HIDDEN, 2 * SDM_FILL_HIDDEN_REACH + 1, 0, SDM_IF_SEMI_GLOBAL}};
static const SdmStep coarse_first[] = {{SDM_STEP_MATCH, 9, 4, SDM_ALWAYS}, AFTER_MATCH};
static const SdmStep coarse_second[] = {{SDM_STEP_MATCH, 9, 2, SDM_ALWAYS}, AFTER_MATCH};
/* A window of 5 sees less of a cloud's edge. */
static const SdmStep rematch[] = {{SDM_STEP_REMATCH, 5, 6, SDM_ALWAYS}, CLEAN, RETRY(SDM_IF_WIDE), FILL};
static const SdmStep clean[] = {CLEAN};

#define STEPS(array)                                                                                         \
    {                                                                                                        \
        (array), (int)(sizeof(array) / sizeof *(array))                                                      \
    }

SdmSteps sdm_steps(SdmSequence sequence)
{
    static const SdmSteps all[SDM_SEQUENCE_COUNT] = {
        [SDM_SEQUENCE_FINE_LEVEL] = STEPS(fine_level),
        [SDM_SEQUENCE_REPEAT] = STEPS(repeat),
        [SDM_SEQUENCE_RESTORE] = STEPS(restore),
        [SDM_SEQUENCE_SEMI_GLOBAL] = STEPS(semi_global),
        [SDM_SEQUENCE_VALIDATE] = STEPS(validate),
        [SDM_SEQUENCE_FINISH] = STEPS(finish),
        [SDM_SEQUENCE_COARSE_FIRST] = STEPS(coarse_first),
        [SDM_SEQUENCE_COARSE_SECOND] = STEPS(coarse_second),
        [SDM_SEQUENCE_REMATCH] = STEPS(rematch),
        [SDM_SEQUENCE_CLEAN] = STEPS(clean),
    };
    return all[sequence];
}

int sdm_step_cost(SdmStepKind kind)
{
    static const int cost[] = {
        [SDM_STEP_REFINE] = 9,        [SDM_STEP_MATCH] = 24,         [SDM_STEP_RETRY] = 18,
        [SDM_STEP_REPEAT] = 14,       [SDM_STEP_REMATCH] = 14,       [SDM_STEP_REJECT] = 2,
        [SDM_STEP_MEDIAN] = 2,        [SDM_STEP_FILL] = 4,           [SDM_STEP_SMOOTH] = 1,
        [SDM_STEP_WIENER] = 9,        [SDM_STEP_RAY_ERROR] = 5,      [SDM_STEP_VALIDATE] = 2,
        [SDM_STEP_DEFECTS] = 1,       [SDM_STEP_FILL_HOLES] = 17,    [SDM_STEP_FILL_HIDDEN] = 1,
        [SDM_STEP_SEMI_GLOBAL] = 120, [SDM_STEP_LEAST_SQUARES] = 20, [SDM_STEP_BORDER] = 1,
        [SDM_STEP_WARP] = 4};
    return cost[kind];
}

const SdmFill sdm_fill_far = {.half = FAR_HALF, .least = 60, .else_prior = true},
              sdm_fill_near = {.half = NEAR_HALF, .least = 12},
              sdm_fill_hole = {.half = HOLE_HALF, .least = 42, .else_prior = true};

/* ---- reaches ---- */

/* Range of a level's retry, px. */
static int retry_range(const SdmMatchSettings *s, int level)
{
    const int range = (int)ceilf(s->discontinuity_px / (float)(1 << level));
    return range > WIDE_RANGE ? WIDE_RANGE : range > RETRY_RANGE ? range : RETRY_RANGE;
}

/* The first step of a kind in a table that has one. */
static SdmStep step_of(const SdmStep *step, SdmStepKind kind)
{
    while (step->kind != kind)
        step++;
    return *step;
}

/* A window, px, or the settings' wide one. */
static int wider(const SdmMatchSettings *set, int window)
{
    return set->wide_window > window ? set->wide_window : window;
}

/* Wider than that of the last matches. */
static int validation_window(const SdmMatchSettings *set, int window)
{
    const int last = step_of(repeat, SDM_STEP_REPEAT).window;
    return set->wide_window > 0 ? set->wide_window + window - last : window;
}

bool sdm_warps_to_validate(const SdmMatchSettings *set)
{
    return set->semi_global || (set->repeats == 0 && !set->wiener);
}

bool sdm_step_applies(const SdmStep *step, const SdmMatchSettings *set, int level)
{
    if (step->when == SDM_ABOVE_LEVEL_0)
        return level > 0;
    if (step->when == SDM_IF_WIENER)
        return set->wiener;
    if (step->when == SDM_IF_HOLES)
        return set->wiener && set->holes;
    if (step->when == SDM_IF_BORDERS)
        return set->borders;
    if (step->when == SDM_IF_PASSES || step->when == SDM_IF_SEMI_GLOBAL)
        return set->semi_global == (step->when == SDM_IF_SEMI_GLOBAL);
    if (step->when == SDM_IF_OLD_WARP)
        return sdm_warps_to_validate(set);
    if (step->when == SDM_IF_WIDE)
        return set->wide_window > 0;
    return step->when == SDM_ALWAYS || set->wide_window > 0 || level > 0 ||
           retry_range(set, level) > RETRY_RANGE;
}

int sdm_step_reach(const SdmStep *step, const SdmMatchSettings *set, int level)
{
    switch (step->kind) {
    case SDM_STEP_MATCH: /* both ways in the left-right check; the prior is read between two pixels */
    case SDM_STEP_REPEAT:
    case SDM_STEP_REMATCH:
        return step->window / 2 + 2 * step->range + 1;
    case SDM_STEP_RETRY:
        return wider(set, step->window) / 2 + 2 * retry_range(set, level) + 1;
    case SDM_STEP_BORDER:
        return sdm_border_reach(step->window / 2);
    case SDM_STEP_FILL_HOLES:
        return sdm_hides_clouds(set) ? SDM_GAP_REACH : step->window / 2;
    case SDM_STEP_RAY_ERROR: /* more than window / 2 + 1: a smaller value would change the layout of tiles */
        return validation_window(set, step->window);
    default:
        return step->window / 2;
    }
}

static int reach_of(SdmSequence sequence, const SdmMatchSettings *set, int level)
{
    const SdmSteps steps = sdm_steps(sequence);
    int sum = 0;
    for (int i = 0; i < steps.count; i++)
        if (sdm_step_applies(&steps.step[i], set, level))
            sum += sdm_step_reach(&steps.step[i], set, level);
    return sum;
}

int sdm_match_halo(const SdmMatchSettings *set, int level)
{
    int sum = reach_of(SDM_SEQUENCE_VALIDATE, set, 0) + reach_of(SDM_SEQUENCE_FINISH, set, 0);
    if (sdm_has_labels(set))
        sum += sdm_semi_global_reach(set);
    if (sdm_hides_clouds(set))
        sum += SDM_GAP_PIECE + SDM_GAP_REACH + reach_of(SDM_SEQUENCE_COARSE_SECOND, set, 0);
    if (!set->semi_global)
        sum += set->repeats * reach_of(SDM_SEQUENCE_REPEAT, set, 0) +
               (set->wiener ? reach_of(SDM_SEQUENCE_RESTORE, set, 0) : 0);
    for (int l = 0; l <= level && l < set->coarse_level && !sdm_has_labels(set); l++)
        sum += reach_of(SDM_SEQUENCE_FINE_LEVEL, set, l) << l;
    const int unit = 1 << set->coarse_level;
    return (sum + 2 * unit + 15) / 16 * 16;
}

int sdm_match_row_reach(const SdmMatchSettings *set, int level)
{
    const SdmSteps steps = sdm_steps(SDM_SEQUENCE_COARSE_FIRST);
    int sum = 0;
    for (int i = 0; i < steps.count; i++) {
        const SdmStep *const step = &steps.step[i];
        const int window = step->kind == SDM_STEP_RETRY ? wider(set, step->window) : step->window,
                  matched = window / 2 + CENSUS_ROWS; /* residuals lie along the rows */
        if (step->kind == SDM_STEP_MATCH)
            sum += matched;
        else if (step->kind == SDM_STEP_RETRY) /* from the prior, too */
            sum = sum > matched ? sum : matched;
        else
            sum += sdm_step_reach(step, set, level);
    }
    return sum;
}

int sdm_match_max_update(const SdmMatchSettings *set, int level)
{
    if (sdm_has_labels(set)) /* labels about the base */
        return level > 0 ? 0 : set->coarse_offset_px + set->label_range_px + 1;
    return retry_range(set, level) + 1; /* no pass at a level is wider */
}

/* ---- what passes ask of a match ---- */

uint8_t sdm_pass_min_quality(const SdmPass *pass)
{
    return (uint8_t)(pass->min_small_window_score * 250.0f);
}

/* Least texture; shadows of clouds leave half of it. */
static float least_sigma(const SdmMatchSettings *set)
{
    return sdm_hides_clouds(set) ? 0.5f * set->min_sigma : set->min_sigma;
}

static SdmPass search_pass(const SdmMatchSettings *set, int window, int range)
{
    return (SdmPass){.window = window,
                     .range = range,
                     .min_score = set->min_score,
                     .min_margin = 0.0f,
                     .max_mismatch = 0.7f,
                     .min_sigma = least_sigma(set)};
}

SdmPass sdm_step_pass(const SdmStep *step, const SdmMatchSettings *set, int level)
{
    SdmPass pass = search_pass(set, step->window, step->range);
    if (step->kind == SDM_STEP_RETRY) {
        pass.range = retry_range(set, level);
        pass.window = wider(set, pass.range > RETRY_RANGE ? FAR_WINDOW : RETRY_WINDOW);
        pass.min_score = set->wide_window > 0 ? set->wide_score : set->min_score;
    } else if (step->kind == SDM_STEP_REPEAT) {
        pass.min_margin = pass.max_mismatch = -1.0f;
        pass.min_small_window_score = set->min_small_window_score;
    }
    return pass;
}

SdmPass sdm_plane_pass(const SdmMatchSettings *set, int range)
{
    SdmPass pass = search_pass(set, wider(set, PLANE_WINDOW), range);
    pass.min_margin = 0.02f;
    pass.max_mismatch = 1.0f;
    return pass;
}

SdmPass sdm_sharpen_pass(const SdmMatchSettings *set)
{
    return search_pass(set, SHARPEN_WINDOW, SHARPEN_RANGE);
}

SdmPass sdm_ray_error_pass(const SdmMatchSettings *set)
{
    const SdmStep step = step_of(validate, SDM_STEP_RAY_ERROR);
    return (SdmPass){
        .window = validation_window(set, step.window), .range = step.range, .min_sigma = least_sigma(set)};
}

/* The change of residuals with height at the scene's centre. */
static float du_dh(const SdmLattice *lat)
{
    return lat->node[(size_t)(lat->nv / 2) * (size_t)lat->nu + (size_t)(lat->nu / 2)].du_dh;
}

float sdm_metres_per_pixel(const SdmMatchSettings *set, const SdmLattice *lat, int level)
{
    return set->discontinuity_px > 0.0f
               ? (float)(1 << level) * (float)SDM_DISCONTINUITY_M / set->discontinuity_px
               : (float)(1 << level) / fabsf(du_dh(lat));
}

float sdm_px_per_metre(const SdmMatchSettings *set, const SdmLattice *lat, int level)
{
    return (du_dh(lat) < 0.0f ? -1.0f : 1.0f) / sdm_metres_per_pixel(set, lat, level);
}

SdmRejection sdm_rejection(const SdmStep *step, float metres_per_pixel)
{
    return (SdmRejection){.half = step->window / 2, .tol_m = metres_per_pixel, .share = REJECT_SHARE};
}
