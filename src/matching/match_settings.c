/* Options, cost and sensor noise -> the settings of the matching. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/match_settings.h"

#include "matching/pyramid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Least correlation of a match while searching, and in the end, of two views whose texture is
 * Gaussian.  Each cost's own score for it follows. */
#define MIN_CORRELATION 0.5
#define FINAL_CORRELATION 0.7
#define CENSUS_FINAL_CORRELATION 0.6 /* as few false matches pass (docs/chain.md) */
/* At this correlation noise moves a match over 5 x 5 pixels by 0.2 px (docs/chain.md). */
#define SMALL_WINDOW_CORRELATION 0.8
/* Between clouds: of wide windows on coarse levels (docs/chain.md). */
#define WIDE_CORRELATION 0.3
enum { REPEATS = 2, WIDE_PX = 21 };
#define MIN_SIGMA_NOISES 1.2f /* least texture, in standard deviations of the noise */
/* Penalties of semi-global matching, in bits of a census word. */
enum { P1 = 13, P2 = 90 };
static const double PI = 3.14159265358979323846;

/* Share of equal signs of a census, less that of unequal ones: two signs differ with probability
 * acos(correlation) / pi. */
static float census_score(double correlation)
{
    return (float)(2.0 / PI * asin(correlation));
}

/* Pixels smaller than this, metres, show walls, trees and their shadows: outliers in a window, to which
 * census is less sensitive than correlation (docs/speed.md). */
#define WALLS_BELOW_M 5.0

const char *sdm_cost_for(const char *asked, double gsd_m)
{
    return strcmp(asked, "auto") != 0 ? asked : gsd_m < WALLS_BELOW_M ? "census" : "zncc";
}

/* tan 20 deg: steeper holes are cliffs that a mean of their rim does not show. */
#define STEEPEST_FILL 0.36397

float sdm_fill_rise(const char *fill, double gsd_m, bool semi_global)
{
    const bool gentle = strcmp(fill, "gentle") == 0 && (gsd_m >= WALLS_BELOW_M || semi_global);
    return strcmp(fill, "none") == 0 ? 0.0f : gentle ? (float)(STEEPEST_FILL * gsd_m) : INFINITY;
}

float sdm_final_score(const char *cost)
{
    return strcmp(cost, "zncc") == 0 ? (float)FINAL_CORRELATION : census_score(CENSUS_FINAL_CORRELATION);
}

SdmStatus sdm_match_settings(SdmContext *ctx, const SdmOptions *options, const char *cost,
                             const char *cpu_level, float noise_q, SdmMatchSettings *out)
{
    *out = (SdmMatchSettings){.kernels = sdm_kernels_at(cpu_level), .hide_above = {INT16_MAX, INT16_MAX}};
    if (!out->kernels)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "--cpu-level %s: this processor does not have it; it has %s", cpu_level,
                        sdm_kernels_name("auto"));
    snprintf(out->cost_name, sizeof out->cost_name, "%s", cost);
    out->min_sigma = MIN_SIGMA_NOISES * noise_q;
    out->borders = true;
    out->repeats = REPEATS;
    out->ray_error_limit_px = SDM_RAY_ERROR_LIMIT_PX;
    out->final_score = sdm_final_score(cost);
    out->fill_limit.rise_m = options && strcmp(options->fill, "none") == 0 ? 0.0f : INFINITY;
    if (strcmp(cost, "zncc") == 0) {
        out->cost = out->kernels->zncc;
        out->min_score = (float)MIN_CORRELATION;
        out->min_small_window_score = (float)SMALL_WINDOW_CORRELATION;
    } else if (strcmp(cost, "census") == 0) {
        out->cost = out->kernels->census;
        out->min_score = census_score(MIN_CORRELATION);
        out->min_small_window_score = census_score(SMALL_WINDOW_CORRELATION);
    } else {
        return sdm_fail(ctx, SDM_ERR_USAGE, "--cost %s is not one of zncc, census", cost);
    }
    const char *const filter = options ? options->surface_filter : "auto";
    out->wiener = strcmp(filter, "wiener") == 0 || (strcmp(filter, "auto") == 0 && strcmp(cost, "zncc") == 0);
    if (!options)
        return SDM_OK;
    out->sgm = (SdmOptimizer){.p1 = P1, .p2 = P2};
    const SdmStatus st = sdm_optimizer_settings(ctx, options, &out->sgm);
    out->sgm.kind = SDM_OPTIMIZER_SGM;
    return st;
}

void sdm_match_wide(SdmMatchSettings *set)
{
    set->wide_window = WIDE_PX;
    set->wide_score = census_score(WIDE_CORRELATION);
}
