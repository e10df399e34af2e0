/* Stage 2, second round: strips along u at full resolution -> v residuals -> polynomial and jitter profile.
 */
// SPDX-License-Identifier: Apache-2.0
#include "scene/prepare.h"

#include <math.h>

enum {
    STRIPS = 5,
    STRIP_ROWS = 128,
    STRIP_HALO = 64,
    SAMPLE = 8,
    LENGTH = 8192,
    BINS = 128
};
#define MIN_GAP 0.25f /* px */
#define MAX_GAP 0.6f
#define LATTICE_WARN_PX 0.1

/* How far rays miss each other where the match is good: counts of the gap from -1 to 1 px. */
typedef struct GapCounts {
    int64_t bin[2 * BINS + 1], total;
} GapCounts;

static void count_gaps(const SdmFineResult *f, GapCounts *g)
{
    const size_t n = (size_t)f->surface.win.w * (size_t)f->surface.win.h;
    for (size_t i = 0; i < n; i++) {
        if (!(f->surface.flags[i] & (SDM_QA_VALID | SDM_QA_RAY_ERROR)) || !isfinite(f->ray_error_px[i]))
            continue;
        const float v = f->ray_error_px[i] < -1.0f ? -1.0f : f->ray_error_px[i] > 1.0f ? 1.0f : f->ray_error_px[i];
        g->bin[BINS + (int)lrintf(v * BINS)]++;
        g->total++;
    }
}

/* Rays that miss by several times the scene's usual gap (median distance from the median) are false matches.
 */
static float gap_limit(const GapCounts *g)
{
    int64_t sum = 0;
    int mid = 0, far = 0;
    while (mid < 2 * BINS && (sum += g->bin[mid]) * 2 < g->total)
        mid++;
    for (sum = g->bin[mid]; far < BINS && sum * 2 < g->total; far++)
        sum += (mid - far - 1 >= 0 ? g->bin[mid - far - 1] : 0) +
               (mid + far + 1 <= 2 * BINS ? g->bin[mid + far + 1] : 0);
    const float limit = 3.0f * ((float)far + 0.5f) / BINS;
    return limit < MIN_GAP ? MIN_GAP : limit > MAX_GAP ? MAX_GAP : limit;
}

/* One piece of a strip: the fine chain on it, its residuals collected. */
static SdmStatus look(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win,
                      GapCounts *gaps, SdmFitSample **sample, size_t *count, size_t room)
{
    SdmStatus st = SDM_OK;
    SdmFineInput input = {.in = {0}};
    SdmFineResult fine = {0};
    TRY(sdm_fine_open(ctx, scene, p, win, NULL, p->settings.coarse_level, &input));
    TRY(sdm_chain_fine(ctx, &input.in, &p->coarse, win, win, &fine));
    count_gaps(&fine, gaps);
    TRY(sdm_collect_samples(ctx, &input.lattice, &fine.surface, fine.ray_error_px, SAMPLE, &p->pointing, sample,
                            count, room));
done:
    sdm_fine_result_free(&fine);
    sdm_fine_close(&input);
    return st;
}

/* How well the lattices of blocks follow the cameras: the worst of 3 x 3 pieces spread over the frame. */
static SdmStatus measure_lattice(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    enum { SIDE = 3, PIECE = 256 };
    SdmStatus st = SDM_OK;
    SdmLattice lat = {0};
    const int64_t w = p->frame.width, h = p->frame.height;
    p->lattice_error_px = NAN;
    const int64_t pw = w < PIECE ? w : PIECE, ph = h < PIECE ? h : PIECE;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int64_t u0 = (w - pw) * (i % SIDE) / (SIDE - 1), v0 = (h - ph) * (i / SIDE) / (SIDE - 1);
        const SdmWindow piece = {.u0 = u0, .v0 = v0, .w = (int)pw, .h = (int)ph};
        const SdmLatticeRequest q = sdm_window_request(scene, p, &piece);
        TRY(sdm_lattice_build(ctx, &q, &lat));
        p->lattice_error_px = fmax(p->lattice_error_px, sdm_lattice_error(&q, &lat));
        sdm_lattice_free(&lat);
    }
    sdm_log(ctx, p->lattice_error_px > LATTICE_WARN_PX ? SDM_LOG_WARNING : SDM_LOG_VERBOSE, 3,
            "lattice of %d px: at most %.5f px from the cameras and their correction", (int)SDM_BLOCK_STEP,
            p->lattice_error_px);
done:
    sdm_lattice_free(&lat);
    return st;
}

SdmStatus sdm_refine_pointing(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    SdmFitSample *sample = NULL;
    size_t count = 0;
    const SdmFrame *const f = &p->frame;
    const int unit = 16 << (p->settings.coarse_level > 4 ? p->settings.coarse_level - 4 : 0);
    const int rows = STRIP_ROWS + 2 * STRIP_HALO;
    const size_t room = (size_t)STRIPS * ((size_t)(f->width / SAMPLE) + 64) * (size_t)(rows / SAMPLE) + 64;
    SdmPointRound round = {.level = 0};
    GapCounts gaps = {0};
    const int around = sdm_stage_enter(ctx, 2);
    for (int i = 0; i < STRIPS; i++) {
        int64_t v0 = (int64_t)((i + 0.5) / STRIPS * (double)f->height) - rows / 2;
        v0 = v0 < 0 ? 0 : v0 / unit * unit;
        const int64_t v1 = v0 + rows < f->height ? v0 + rows : f->height;
        for (int64_t u0 = 0; u0 < f->width; u0 += LENGTH) {
            const int64_t u1 = u0 + LENGTH < f->width ? u0 + LENGTH : f->width;
            const SdmWindow win = {
                .u0 = u0, .v0 = v0, .w = (int)(u1 - u0), .h = (int)((v1 - v0) / unit * unit)};
            sdm_progress(ctx, 2, 0.2 + 0.1 * (i + (double)u0 / (double)f->width) / STRIPS,
                         "pointing at full resolution");
            if (win.w >= unit && win.h >= unit)
                TRY(look(ctx, scene, p, &win, &gaps, &sample, &count, room));
        }
    }
    p->settings.ray_error_limit_px = gap_limit(&gaps);
    if (count < 200) {
        sdm_log(ctx, SDM_LOG_WARNING, 2,
                "pointing: only %zu matches at full resolution; that of the coarse levels stays", count);
        TRY(measure_lattice(ctx, scene, p));
        goto done;
    }
    const SdmFitTask task = {.sample = sample,
                             .count = count,
                             .max_degree = SDM_POINT_MAX_DEGREE,
                             .with_profile = true,
                             .options = scene->options,
                             .rows = sdm_image_height(scene->view[1].image),
                             .overlap_px = sdm_frame_pixels(&p->frame),
                             .left = scene->view[0].name,
                             .right = scene->view[1].name};
    TRY(sdm_pointing_fit(ctx, &task, &p->pointing, &round));
    sdm_log(ctx, SDM_LOG_VERBOSE, 2,
            "full resolution: %zu matches, across %.3f px, spread %.3f -> %.3f px, degree %d, "
            "jitter %.3f px rms",
            count, round.before_median_px, round.before_nmad_px, round.after_nmad_px, round.degree,
            round.profile_rms_px);
    sdm_log(ctx, SDM_LOG_VERBOSE, 2, "ray gaps beyond %.2f px are taken for false matches",
            (double)p->settings.ray_error_limit_px);
    p->points.round[p->points.rounds++] = round;
    round.samples = NULL;
    TRY(measure_lattice(ctx, scene, p));
done:
    sdm_free(&round.samples);
    sdm_free(&sample);
    sdm_stage_leave(ctx, around);
    return st;
}
