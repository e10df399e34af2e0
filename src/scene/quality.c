/* Figures of a run -> how far its DEM can be trusted.  Each limit is what the measurement itself leads to
 * expect; none depends on the terrain. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/quality.h"

#include <math.h>

/* Half of what shows texture finds its partner, or something is wrong with scene or cameras. */
#define LEAST_SHARE 0.5
/* Below that, and rays that meet like chance ones: nothing to go by. */
#define HOPELESS_SHARE 0.25
/* Chance spreads gaps evenly up to the limit: the median is half of it.  True matches crowd at 0. */
#define CHANCE_GAP (0.8 * 0.5)
/* Spread of a match's position by noise alone, px of its level: sqrt(2 (1 - rho) / rho) / (g W) for the
 * weakest correlation let pass, rho = 0.7, a window of W = 9 px, and texture whose gradient is g = 0.7 of its
 * sigma a pixel (Foerstner 1982). */
#define NOISE_PX 0.15
/* Jitter across the lines that is seen stands for as much along them that is not. */
#define JITTER_PX 0.2

void sdm_quality_add(SdmQualitySums *t, const SdmBlock *b, double px_per_m, double ray_error_limit_px, int threads)
{
    int64_t tried = 0, matched = 0, gap[SDM_GAP_BINS] = {0};
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : tried, matched, gap)
    for (int64_t i = 0; i < b->w * b->h; i++) {
        const unsigned m = b->mask[i];
        const bool valid = m & SDM_QA_VALID;
        if (!valid && (m & (SDM_QA_OUTSIDE | SDM_QA_TEXTURELESS | SDM_QA_SATURATED)))
            continue;
        tried++;
        if (!valid || (m & SDM_QA_FILLED))
            continue;
        matched++;
        const double share = (double)b->ray_error_m[i] * px_per_m / ray_error_limit_px;
        if (share >= 0.0)
            gap[share < 1.0 ? (int)(share * SDM_GAP_BINS) : SDM_GAP_BINS - 1]++;
    }
    t->tried += tried;
    t->matched += matched;
    for (int i = 0; i < SDM_GAP_BINS; i++)
        t->gap[i] += gap[i];
}

double sdm_quality_ray_error_share(const SdmQualitySums *t)
{
    int64_t total = 0, sum = 0;
    for (int i = 0; i < SDM_GAP_BINS; i++)
        total += t->gap[i];
    for (int i = 0; i < SDM_GAP_BINS && total > 0; i++)
        if ((sum += t->gap[i]) * 2 >= total)
            return (i + 0.5) / SDM_GAP_BINS;
    return NAN;
}

static void doubt_pointing(const SdmPrepared *p, SdmQuality *d)
{
    const int rounds = p->points.rounds;
    const SdmPointRound *const last = &p->points.round[rounds > 0 ? rounds - 1 : 0];
    const double parallax_m = p->frame.gsd_m / fmax(p->frame.base_height, 1e-3);
    const double limit_px = NOISE_PX * (double)(1 << last->level);
    if (rounds < 1)
        return;
    if (last->after_nmad_px > limit_px)
        sdm_quality_warn(
            d,
            "the pointing correction leaves %.2f px (NMAD) across the rays, noise alone at most %.2f px%s: "
            "the same along them is %.0f m of height",
            last->after_nmad_px, limit_px, last->level ? " at the coarse level it is known from" : "",
            last->after_nmad_px * parallax_m);
    if (last->profile_rms_px > JITTER_PX)
        sdm_quality_warn(
            d,
            "jitter of %.2f px (RMS) by row was found across the rays: the same along them, which no pair "
            "shows, is waves of %.0f m in the heights",
            last->profile_rms_px, last->profile_rms_px * parallax_m);
}

/* Terrain can be followed out of a range that the user gave, but not found there from the start. */
static void doubt_heights(const SdmOptions *o, const SdmPrepared *p, SdmQuality *d)
{
    const double lo = p->hmin_m + p->max_update_m, hi = p->hmax_m - p->max_update_m;
    if (!o || !(lo < o->hmin_m - p->max_update_m || hi > o->hmax_m + p->max_update_m)) /* not given: NaN */
        return;
    sdm_quality_warn(
        d,
        "the terrain lies at %.0f to %.0f m, outside --hmin and --hmax, so parts of it may be missing or "
        "less exact; leave the heights out",
        lo, hi);
}

SdmStatus sdm_quality_assess(SdmContext *ctx, const SdmOptions *options, const SdmQualitySums *t,
                             const SdmPrepared *p, const char *left, const char *right, SdmQuality *d)
{
    const double share = (double)t->matched / fmax((double)t->tried, 1.0), gap = sdm_quality_ray_error_share(t);
    *d = (SdmQuality){.matched_share = share, .ray_error_median_px = gap * (double)p->settings.ray_error_limit_px};
    if (share < HOPELESS_SHARE && gap > CHANCE_GAP)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "too few matches to trust in %s%s%s: %.1f %% of the cells with texture, and their rays miss "
            "each other by %.2f px in the median, where chance makes %.2f px; cameras that do not fit "
            "the images, %s",
            left, *right ? " and " : "", right, 100.0 * share, d->ray_error_median_px,
            0.5 * (double)p->settings.ray_error_limit_px, sdm_few_matches_hint(options, sdm_frame_pixels(&p->frame)));
    if (share < LEAST_SHARE)
        sdm_quality_warn(
            d,
            "only %.0f %% of the cells with texture were matched (clouds, moving water, noise, or cameras "
            "that do not fit), so matched cells may be clouds or accidents, too",
            100.0 * share);
    doubt_pointing(p, d);
    doubt_heights(options, p, d);
    return SDM_OK;
}
