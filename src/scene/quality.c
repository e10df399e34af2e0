/* Cells of a DEM and the residuals of its pointing -> its quality.  Each limit follows from the
 * measurement itself; none depends on the terrain. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/quality.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Fewer matched cells of those with texture point to a fault of scene or cameras. */
#define EXPECTED_SHARE 0.5
/* A prior DEM that covers less of the frame helps little. */
#define PRIOR_SHARE 0.5
/* Fewer than that, with the ray errors of chance matches, make no DEM. */
#define LEAST_SHARE 0.25
/* Chance spreads ray errors evenly up to the limit: the median is half of it.  Those of true matches lie
 * near 0. */
#define CHANCE_RAY_ERROR (0.8 * 0.5)
/* Jitter across the epipolar lines is measured; jitter along them is as large, but moves heights unseen. */
#define JITTER_PX 0.2
#define LEAST_BASE_HEIGHT 0.1

/* Less than that is not a DEM but a handful of accidents. */
enum { LEAST_VALID = 100, CELLS_PER_VALID = 2000 };

void sdm_quality_warn(SdmQuality *q, const char *fmt, ...)
{
    va_list args;
    if (q->count >= SDM_MAX_WARNINGS)
        return;
    va_start(args, fmt);
    vsnprintf(q->text[q->count++], sizeof q->text[0], fmt, args);
    va_end(args);
}

void sdm_quality_warn_inputs(const SdmPrepared *p, SdmQuality *q)
{
    const SdmReferenceReport *const r = &p->reference;
    if (r->state == SDM_REFERENCE_REFUSED)
        sdm_quality_warn(q, "the reference was not used: %s", r->reason);
    else if (sdm_reference_limited(r))
        sdm_quality_warn(q, "the reference corrects the 3-D shift alone: %s", r->reason);
    if (sdm_reference_applied(r) && r->question[0])
        sdm_quality_warn(q, "the reference: %s", r->question);
    if (p->prior.datum[0] && p->prior.covered < PRIOR_SHARE)
        sdm_quality_warn(q, "--dem has heights for %.0f %% of the scene alone", 100.0 * p->prior.covered);
    if (p->prior.datum[0] && sdm_hides_clouds(&p->settings) && !(p->prior.cell_px <= SDM_PRIOR_COARSEST_PX))
        sdm_quality_warn(
            q,
            "cells of --dem are %.1f px wide, too wide for the shape of the ground between clouds: "
            "give one with cells of at most %d px",
            p->prior.cell_px, (int)SDM_PRIOR_COARSEST_PX);
}

/* Fails where fewer of the cells have a height than a DEM needs. */
static SdmStatus check_count(SdmContext *ctx, const SdmOptions *options, const SdmQualitySums *sums,
                             const SdmPrepared *p, const char *left, const char *right)
{
    const int64_t share = sums->cells / CELLS_PER_VALID, least = share > LEAST_VALID ? share : LEAST_VALID;
    if (sums->valid >= least)
        return SDM_OK;
    if (options->tr > 0.0 && 2 * sums->valid >= sums->cells) /* matches there are */
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "--tr %g: the DEM has %lld cells in all, at least %d with a height are needed; give "
                        "%.2g or less",
                        options->tr, (long long)sums->cells, (int)LEAST_VALID,
                        options->tr * sqrt((double)sums->valid / (2.0 * LEAST_VALID)));
    if ((options->bounds || options->area) && sums->cells < 2 * LEAST_VALID)
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "%s: the part has %lld cells, %lld of them with a height, at least %d are needed; "
                        "take a larger one",
                        options->bounds ? "--bounds" : "--area", (long long)sums->cells,
                        (long long)sums->valid, (int)LEAST_VALID);
    return sdm_fail(
        ctx, SDM_ERR_DATA,
        "too few matches: %lld of %lld cells have a height, at least %lld are needed for a DEM of %s%s%s; %s",
        (long long)sums->valid, (long long)sums->cells, (long long)least, left, *right ? " and " : "", right,
        sdm_few_matches_hint(options, &p->frame, p->camera).text);
}

void sdm_quality_add(SdmQualitySums *sums, const SdmBlock *b, const SdmPrepared *p, int threads)
{
    const double px_per_m = 1.0 / p->frame.gsd_m, limit_px = (double)p->settings.ray_error_limit_px;
    int64_t all = 0, inside = 0, tried = 0, matched = 0, errors[SDM_RAY_ERROR_SHARES] = {0};
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : all, inside, tried, matched, errors)
    for (int64_t i = 0; i < b->w * b->h; i++) {
        const unsigned m = b->mask[i];
        const bool valid = m & SDM_QA_VALID;
        all += valid;
        inside += valid || !(m & SDM_QA_MASKED);
        if (!valid && (m & (SDM_QA_OUTSIDE | SDM_QA_MASKED | SDM_QA_TEXTURELESS | SDM_QA_SATURATED)))
            continue;
        tried++;
        if (!valid || (m & SDM_QA_FILLED))
            continue;
        matched++;
        const double share = (double)b->ray_error_m[i] * px_per_m / limit_px;
        if (share >= 0.0)
            errors[share < 1.0 ? (int)(share * SDM_RAY_ERROR_SHARES) : SDM_RAY_ERROR_SHARES - 1]++;
    }
    sums->cells += inside;
    sums->valid += all;
    sums->tried += tried;
    sums->matched += matched;
    for (int i = 0; i < SDM_RAY_ERROR_SHARES; i++)
        sums->ray_error[i] += errors[i];
}

double sdm_quality_ray_error_share(const SdmQualitySums *sums)
{
    int64_t total = 0, sum = 0;
    for (int i = 0; i < SDM_RAY_ERROR_SHARES; i++)
        total += sums->ray_error[i];
    for (int i = 0; i < SDM_RAY_ERROR_SHARES && total > 0; i++)
        if ((sum += sums->ray_error[i]) * 2 >= total)
            return (i + 0.5) / SDM_RAY_ERROR_SHARES;
    return NAN;
}

static void warn_pointing(const SdmPrepared *p, SdmQuality *out)
{
    const int rounds = p->points.rounds;
    const SdmPointRound *const last = &p->points.round[rounds > 0 ? rounds - 1 : 0];
    const double parallax_m = p->frame.gsd_m / fmax(p->frame.base_height, 1e-3);
    const double limit_px = SDM_MATCH_NOISE_PX * (double)(1 << last->level);
    if (p->frame.base_height < LEAST_BASE_HEIGHT)
        sdm_quality_warn(out,
                         SDM_BASE_DOUBT "%.2f: where a match or a camera is off by 0.1 px, the height is off "
                                        "by %.1f m; views that are farther apart show heights better",
                         p->frame.base_height, 0.1 * parallax_m);
    if (rounds < 1)
        return;
    const double off_m = fabs(p->pointing.coef[0]) * p->frame.right_gsd_m;
    if (off_m > sdm_frame_far_m(&p->frame) && !sdm_reference_applied(&p->reference))
        sdm_quality_warn(out,
                         "the rays of the two cameras miss each other by %.0f m: the DEM may lie as far off, "
                         "and in height",
                         off_m);
    if (last->after_nmad_px > limit_px)
        sdm_quality_warn(
            out,
            "the pointing correction leaves %.2f px (NMAD) across the rays, noise alone at most %.2f px%s: "
            "the same along them is %.1f m of height",
            last->after_nmad_px, limit_px, last->level ? " at the coarse level it is known from" : "",
            last->after_nmad_px * parallax_m);
    if (last->profile_rms_px > JITTER_PX && !sdm_reference_validates(&p->reference, JITTER_PX))
        sdm_quality_warn(
            out,
            "jitter of %.2f px (RMS) by row was found across the rays: the same along them, which no pair "
            "shows, is waves of %.0f m in the heights",
            last->profile_rms_px, last->profile_rms_px * parallax_m);
}

/* Terrain outside the heights of RPCs can be followed, but not found from the start. */
static void warn_heights(const SdmOptions *o, const SdmPrepared *p, SdmQuality *out)
{
    const double lo = p->hmin_m + p->max_update_m, hi = p->hmax_m - p->max_update_m;
    const double hmin = p->frame.hmin_m, hmax = p->frame.hmax_m, half = 0.5 * (hmax - hmin);
    if (*p->camera[0].source && (!o || (isnan(o->hmin_m) && isnan(o->hmax_m))) &&
        (lo < hmin - half || hi > hmax + half))
        sdm_quality_warn(
            out,
            "the terrain lies at %.0f to %.0f m, outside the heights of the RPCs (%.0f to %.0f m), so "
            "parts of it may be missing or less exact; give its own with --hmin and --hmax",
            lo, hi, hmin, hmax);
}

SdmStatus sdm_quality_assess(SdmContext *ctx, const SdmOptions *options, const SdmQualitySums *sums,
                             const SdmPrepared *p, const char *left, const char *right, SdmQuality *out)
{
    const SdmStatus counted = check_count(ctx, options, sums, p, left, right);
    const double share = (double)sums->matched / fmax((double)sums->tried, 1.0),
                 error = sdm_quality_ray_error_share(sums);
    *out = (SdmQuality){.matched_share = share,
                        .ray_error_median_px = error * (double)p->settings.ray_error_limit_px};
    if (counted != SDM_OK)
        return counted;
    if (share < LEAST_SHARE && error > CHANCE_RAY_ERROR)
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "too few matches to trust in %s%s%s: %.1f %% of the cells with texture, and their "
                        "rays miss each other by %.2f px in the median, where chance makes %.2f px; cameras "
                        "that do not fit the images, %s",
                        left, *right ? " and " : "", right, 100.0 * share, out->ray_error_median_px,
                        0.5 * (double)p->settings.ray_error_limit_px,
                        sdm_few_matches_hint(options, &p->frame, p->camera).text);
    for (int i = 0; i < 2; i++)
        if (*p->camera[i].doubt)
            sdm_quality_warn(out, "%s", p->camera[i].doubt);
    if (share < EXPECTED_SHARE)
        sdm_quality_warn(
            out,
            "only %.0f %% of the cells with texture were matched (clouds, moving water, noise, or cameras "
            "that do not fit), so matched cells may be clouds or accidents, too%s",
            100.0 * share,
            sdm_hides_clouds(&p->settings) && !p->prior.datum[0]
                ? "; a global DEM (--dem) helps between clouds"
                : "");
    sdm_quality_warn_inputs(p, out);
    warn_pointing(p, out);
    warn_heights(options, p, out);
    return SDM_OK;
}
