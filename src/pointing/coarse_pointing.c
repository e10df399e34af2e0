/* Pointing at the coarse levels. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/coarse_pointing.h"
#include "matching/coarse_match.h"

#include <math.h>
#include <stdlib.h>

enum {
    OFFSET_RANGE_PX = 32, /* offsets searched across the epipolar lines, full resolution */
    MOST_OFFSETS = 128,   /* rows of the coarsest level */
    FIT_POINTS = 60,      /* fewer tie points leave the correction as it is, but at the last level */
    TILT_POINTS = 300,    /* up to this many give a constant alone */
    CHANCE_ROWS = 3,      /* off the best offset, from which matches are chance */
    LAST_DEGREE = 4       /* of the correction at the last level, at most */
};
static const double OFFSET_RANGE_M =
    45.0;                               /* the same where none of those stands out: raw RPCs are 30 m off */
static const double OFFSET_GAIN = 1.02; /* an offset farther from 0 must match that much more */
static const double LEAST_MATCHED = 0.03;
/* Share of matched pixels at an offset that ends the search, where those two rows off match so much less. */
static const double CLEAR_SHARE = 0.75, CLEAR_RATIO = 0.9;
/* The same where less match on either side: another offset could match little more. */
static const double PEAK_SHARE = 0.9;
static const double CHANCE_RATIO = 3.0; /* of matches over those that chance makes */
/* Shares of the places in the overlap that must give a tie point: at least; and without asking whether
 * rays meet. */
static const double LEAST_SHARE = 0.005, CERTAIN_SHARE = 0.15;

void sdm_pointing_start(const SdmScene *scene, const SdmFrame *frame, SdmPointing *p)
{
    const double size[2] = {(double)sdm_image_width(scene->view[1].image),
                            (double)sdm_image_height(scene->view[1].image)};
    for (int k = 0; k < 2; k++) {
        p->dir[k] = frame->across[k];
        p->centre[k] = 0.5 * (size[k] - 1.0);
        p->scale[k] = 0.5 * size[k];
    }
    p->terms = 1;
}

/* Is the best offset, by the shares of the offsets -reach .. reach (NaN: not searched), beyond doubt? */
static bool is_clear(const double *share, int reach, int best)
{
    const int at = best + reach;
    const bool peak = share[at] >= PEAK_SHARE && abs(best) < reach && share[at - 1] < share[at] &&
                      share[at + 1] < share[at];
    return peak || (share[at] >= CLEAR_SHARE && abs(best) <= reach - 2 &&
                    share[at - 2] < CLEAR_RATIO * share[at] && share[at + 2] < CLEAR_RATIO * share[at]);
}

/* Where clouds are hidden, few matches are left.  They are no chance if those CHANCE_ROWS off and more, as
 * far as searched, are fewer by CHANCE_RATIO; reach: of the offsets, searched: of those to ask. */
static bool is_no_chance(const double *share, int reach, int searched, int best)
{
    double chance = 0.0;
    for (int k = -searched; k <= searched; k++)
        if (abs(k - best) >= CHANCE_ROWS)
            chance = fmax(chance, share[k + reach]);
    return searched >= abs(best) + CHANCE_ROWS && share[best + reach] > CHANCE_RATIO * chance;
}

SdmStatus sdm_pointing_search_offset(SdmContext *ctx, const SdmOffsetSearch *q, SdmSurface *best,
                                     int *offset_rows)
{
    const SdmFrame *const f = q->frame;
    const int level = q->in->settings->coarsest_level, near = (OFFSET_RANGE_PX + (1 << level) - 1) >> level,
              far = (int)fmin(OFFSET_RANGE_M / f->gsd_m / (1 << level), MOST_OFFSETS),
              reach = far > near ? far : near;
    const SdmWindow win = sdm_frame_level(f, level);
    const double size = (double)(1 << level);
    const bool gaps = sdm_hides_clouds(q->in->settings);
    bool certain = false;
    double best_share = -1.0, shares[2 * MOST_OFFSETS + 1];
    for (int i = 0; i <= 2 * reach; i++)
        shares[i] = NAN;
    for (int i = 0; i <= 2 * reach && !certain; i++) {
        const int offset = i & 1 ? (i + 1) / 2 : -(i / 2); /* 0, 1, -1, 2, ... */
        const SdmCoarsestSearch search = {.half_range_px = q->half_range_m * fabs(f->du_dh) / size,
                                          .pixel_m = f->gsd_m * size,
                                          .v_shift = offset};
        double share = 0.0;
        SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = {0};
        PASS(sdm_surface_alloc(ctx, &win, &s));
        for (size_t k = 0; k < (size_t)win.w * (size_t)win.h; k++)
            s.h_m[k] = q->prior ? q->prior->h_m[k] : (float)q->in->lattice->height0_m;
        PASS(sdm_coarsest_search(ctx, q->in, &search, &s, &share));
        sdm_log(ctx, SDM_LOG_VERBOSE, 2, "level %d, %d rows across: %.1f %% matched", level, offset,
                100.0 * share);
        shares[offset + reach] = share;
        if (share > best_share * OFFSET_GAIN + 1e-9) {
            best_share = share;
            *offset_rows = offset;
            sdm_surface_free(best);
            *best = s;
            s = (SdmSurface){0};
        }
        certain = gaps || i == 2 * near ? is_no_chance(shares, reach, i / 2, *offset_rows)
                                        : is_clear(shares, reach, *offset_rows);
    }
    if (gaps ? !certain : best_share < LEAST_MATCHED)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "too few matches: %.1f %% of the overlap of %s and %s at 1/%d of the size, at least 3 "
            "%% are needed; %s",
            100.0 * best_share, q->scene->view[0].name, q->scene->view[1].name, 1 << level,
            sdm_fit_task(q->scene, f).hint.text);
    return SDM_OK;
}

void sdm_pointing_set_offset(const SdmFrame *frame, const SdmLattice *lattice, int level, int offset_rows,
                             SdmPointing *p)
{
    const double u = 0.5 * (double)frame->width, v = 0.5 * (double)frame->height;
    double at[2], next[2];
    sdm_lattice_right(lattice, u, v, lattice->height0_m, at);
    sdm_lattice_right(lattice, u, v + 1.0, lattice->height0_m, next);
    const double per_px = (next[0] - at[0]) * p->dir[0] + (next[1] - at[1]) * p->dir[1];
    p->coef[0] = per_px * offset_rows * (double)(1 << level);
}

/* Chance makes a few matches anywhere, but does not let their rays meet to within the spread by noise
 * alone. */
static SdmStatus check_matches(SdmContext *ctx, const SdmWindow *level, const SdmFitTask *task,
                               const SdmPointRound *r)
{
    const double blocks = (double)(level->w / SDM_COARSE_BLOCK) * (double)(level->h / SDM_COARSE_BLOCK),
                 share = (double)task->count / fmax(blocks, 1.0);
    const double spread = r->after_nmad_px / (double)(1 << level->level);
    if (share >= LEAST_SHARE && (share >= CERTAIN_SHARE || spread <= SDM_MATCH_NOISE_PX))
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_DATA,
                    "too few matches between %s and %s: %zu of %.0f places at 1/%d of the size, their rays "
                    "miss each other by %.1f px; %s",
                    task->left, task->right, task->count, blocks, 1 << level->level, r->after_nmad_px,
                    task->hint.text);
}

SdmStatus sdm_pointing_fit_level(SdmContext *ctx, const SdmFitTask *scene, const SdmTiePoints *points,
                                 const SdmWindow *level, bool last, SdmPointing *p, SdmPointReport *report)
{
    SdmStatus st = SDM_OK;
    SdmFitTask task = *scene;
    SdmPointRound round = {.level = level->level};
    task.point = points->point;
    task.count = points->count;
    task.max_degree = last ? LAST_DEGREE : points->count > TILT_POINTS ? 1 : 0;
    if (points->count >= FIT_POINTS || last)
        TRY(sdm_pointing_fit(ctx, &task, p, &round));
    if (last && !task.certain)
        TRY(check_matches(ctx, level, &task, &round));
    sdm_log(ctx, SDM_LOG_VERBOSE, 2,
            "level %d: %zu matches, across %.3f px, spread %.3f -> %.3f px, degree %d", level->level,
            points->count, round.before_median_px, round.before_nmad_px, round.after_nmad_px, round.degree);
    if (last) {
        if (report->rounds > 0) /* an earlier fit of the level */
            sdm_free(&report->round[--report->rounds].samples);
        report->round[report->rounds++] = round;
        round.samples = NULL;
    }
done:
    sdm_free(&round.samples);
    return st;
}
