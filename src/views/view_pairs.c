/* Views -> their pairs: base, overlap and time of each from the cameras, and the choice of those to match. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geodesy.h"
#include "geometry/epipolar_frame.h"
#include "input/source.h"
#include "scene/scene.h"
#include "views/views.h"

#include <math.h>
#include <ogr_srs_api.h>
#include <string.h>

static const double LEAST_BASE_HEIGHT = 0.05, MOST_BASE_HEIGHT = 1.5, LEAST_OVERLAP = 0.1;
static const double SAME_BASE_HEIGHT = 5e-4; /* of two files of one exposure: cameras 300 m off */
static const double MATCH_NOISE_PX = 0.1;    /* of a parallax, of views from one direction; */
static const double NOISE_BASE_HEIGHT = 0.5; /* at this ratio the images differ by as much again */
static const double DAYS = 30.0; /* apart: the variance of a pair's heights is taken for twice as large */
static const double BEST_BASE_HEIGHT[2] = {0.2, 0.6}; /* pairs beyond are taken later */
static const double LEAST_AGREEMENT = 0.9; /* of the best pair's: others serve views that are in no pair */
static const double STEEPER = 0.02; /* by which the other view must be steeper to become the left one */

/* The last parts of a path, as many as `parts`. */
static const char *path_tail(const char *path, int parts)
{
    const char *tail = path + strlen(path);
    while (tail > path && (tail[-1] != '/' || --parts > 0))
        tail--;
    return tail;
}

const char *sdm_view_name(const SdmViews *v, int view)
{
    const char *const path = v->path[view];
    for (int parts = 1;; parts++) {
        const char *const tail = path_tail(path, parts);
        bool alone = true;
        for (int i = 0; i < v->count; i++)
            alone = alone && (i == view || strcmp(path_tail(v->path[i], parts), tail) != 0);
        if (alone || tail == path)
            return tail;
    }
}

void sdm_view_pair_refuse(SdmViewPair *p, const char *sentence)
{
    const char *const advice = strstr(sentence, "; ");
    const size_t n = advice ? (size_t)(advice - sentence) : strlen(sentence);
    snprintf(p->why, sizeof p->why, "%.*s", (int)(n < sizeof p->why ? n : sizeof p->why - 1), sentence);
}

/* ---- look ---- */

/* Horizontal way of a view's ray through the frame's centre for a metre of height. */
static double slant_of(const SdmView *view, const SdmFrame *f)
{
    enum { RISE_M = 100 };
    const double ground[3] = {f->lon_deg, f->lat_deg, f->h0_m};
    double image[3], above[3];
    sdm_camera_project(view->camera, 1, ground, image);
    image[2] = f->h0_m + RISE_M;
    sdm_camera_locate(view->camera, 1, image, above);
    const double east = remainder(above[0] - ground[0], 360.0) * cos(f->lat_deg / 57.29577951308232),
                 north = above[1] - ground[1];
    return hypot(east, north) * SDM_METRES_PER_DEGREE / RISE_M;
}

/* Figures of a pair from its frame. */
static SdmStatus describe(SdmViews *v, const SdmScene *scene, const SdmFrame *f, SdmViewPair *p)
{
    p->base_height = f->base_height;
    p->gsd_m = f->gsd_m;
    p->lon_deg = f->lon_deg;
    p->lat_deg = f->lat_deg;
    p->long_m = fmax((double)f->width, (double)f->height) * f->gsd_m;
    for (int k = 0; k < 2; k++)
        p->slant[k] = slant_of(&scene->view[k], f);
    PASS(sdm_scene_overlap(v->ctx, scene, f, &p->overlap));
    memcpy(v->time_utc[p->left], scene->time_utc, sizeof scene->time_utc);
    memcpy(v->time_utc[p->right], scene->right_time_utc, sizeof scene->right_time_utc);
    p->days = fabs(sdm_time_days(scene->time_utc) - sdm_time_days(scene->right_time_utc));
    memcpy(v->id[p->left], scene->id, sizeof v->id[0]);
    return SDM_OK;
}

/* Open a pair in the order that it has, and describe it, or (pixels) measure how well its images agree; what
 * it lacks to be a pair goes to `why`. */
static SdmStatus open_pair(SdmViews *v, SdmViewPair *p, bool pixels)
{
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    SdmFrame frame = {.base_height = NAN};
    SdmOptions options = v->options;
    memcpy(options.move_deg[0], v->move_deg[p->left], sizeof options.move_deg[0]);
    memcpy(options.move_deg[1], v->move_deg[p->right], sizeof options.move_deg[1]);
    SdmStatus st = sdm_scene_open_to(v->ctx, &options, v->path[p->left], v->path[p->right],
                                     pixels ? SDM_DEPTH_WHOLE : SDM_DEPTH_CAMERAS, &scene);
    if (st == SDM_OK)
        st = pixels ? sdm_scene_agreement(v->ctx, scene, &p->look) : sdm_frame_find(v->ctx, scene, &frame);
    if (st == SDM_OK && !pixels)
        st = describe(v, scene, &frame, p);
    if (st == SDM_ERR_DATA) {
        p->same_camera = !pixels && frame.base_height < SAME_BASE_HEIGHT;
        sdm_view_pair_refuse(p, sdm_error(v->ctx));
        st = SDM_OK;
    }
    return st;
}

/* Precision, trust and merit from the figures. */
static void judge(SdmViewPair *p)
{
    const double aged = 1.0 + (isnan(p->days) ? 0.0 : p->days / DAYS), both = p->slant[0] + p->slant[1];
    if (*p->why)
        return;
    if (p->overlap < LEAST_OVERLAP)
        snprintf(p->why, sizeof p->why, "they share %.0f %% of the left image, at least %.0f %% are expected",
                 100.0 * p->overlap, 100.0 * LEAST_OVERLAP);
    else if (p->base_height < LEAST_BASE_HEIGHT || p->base_height > MOST_BASE_HEIGHT)
        snprintf(p->why, sizeof p->why, "its base/height ratio is %.3f, expected %g to %g", p->base_height,
                 LEAST_BASE_HEIGHT, MOST_BASE_HEIGHT);
    if (*p->why)
        return;
    p->sigma_m =
        MATCH_NOISE_PX * p->gsd_m * hypot(1.0 / p->base_height, 1.0 / NOISE_BASE_HEIGHT) * sqrt(aged);
    p->trust = 1.0 / (fmax(both * both, 1e-4) * aged);
    p->merit = p->overlap * fmin(1.0, p->base_height / BEST_BASE_HEIGHT[0]) *
               fmin(1.0, BEST_BASE_HEIGHT[1] / p->base_height) / aged;
}

static void exchange(SdmViewPair *p)
{
    const int left = p->left;
    const double slant = p->slant[0];
    p->left = p->right;
    p->right = left;
    p->slant[0] = p->slant[1];
    p->slant[1] = slant;
}

static SdmStatus look_at(SdmViews *v, SdmViewPair *p, int left, int right)
{
    *p = (SdmViewPair){.left = left, .right = right, .days = NAN, .look.share = NAN};
    PASS(sdm_check_stop(v->ctx));
    PASS(open_pair(v, p, false));
    if (!*p->why && p->slant[1] < p->slant[0] - STEEPER) { /* it sees more of the ground */
        exchange(p);
        PASS(open_pair(v, p, false));
    }
    judge(p);
    return SDM_OK;
}

/* Measure how well the images of a pair agree.  Views of one town on three days, the times unknown: the
 * coarse levels match 98, 98 and 91 % in the pairs of a day or a season, 67 to 85 % in the twelve others; of
 * textured cells at full size some fourth power of that is matched. */
static SdmStatus measure_agreement(SdmViews *v, SdmViewPair *p)
{
    PASS(sdm_check_stop(v->ctx));
    memcpy(p->look.pitch_deg, v->pitch_deg, sizeof v->pitch_deg);
    if (p->merit > 0.0)
        PASS(open_pair(v, p, true));
    p->merit = *p->why ? 0.0 : p->merit * pow(p->look.share, 8.0);
    return SDM_OK;
}

/* So many nodes along the longest pair that none of its places share one. */
static void choose_pitch(SdmViews *v)
{
    enum { ALONG = 10 };
    double long_m = 0.0;
    for (int k = 0; k < v->pairs; k++) {
        const SdmViewPair *const p = &v->pair[k];
        if (!(p->merit > 0.0) || p->long_m <= long_m)
            continue;
        long_m = p->long_m;
        v->pitch_deg[1] = long_m / (ALONG * SDM_METRES_PER_DEGREE);
        v->pitch_deg[0] = v->pitch_deg[1] / cos(p->lat_deg * SDM_DEG);
    }
}

SdmStatus sdm_views_look(SdmViews *v)
{
    enum { ROUNDS = 2 }; /* of moves: the second one has matches of heights that are almost right */
    bool moved[SDM_MAX_VIEWS] = {false};
    for (int i = 0; i < v->count; i++)
        for (int j = i + 1; j < v->count; j++)
            PASS(look_at(v, &v->pair[v->pairs++], i, j));
    choose_pitch(v);
    for (int k = 0; k < v->pairs; k++)
        PASS(measure_agreement(v, &v->pair[k]));
    for (int round = 0; round < ROUNDS && sdm_views_move_cameras(v, moved); round++)
        for (int k = 0; k < v->pairs; k++) {
            SdmViewPair *const p = &v->pair[k];
            if (!moved[p->left] && !moved[p->right])
                continue;
            PASS(look_at(v, p, p->left, p->right));
            PASS(measure_agreement(v, p));
        }
    return SDM_OK;
}

/* ---- choose ---- */

static void log_pair(const SdmViews *v, const SdmViewPair *p)
{
    char time[48] = "";
    if (!isnan(p->days))
        snprintf(time, sizeof time, p->days < 1.0 ? ", %.0f s apart" : ", %.0f days apart",
                 p->days < 1.0 ? 86400.0 * p->days : p->days);
    if (*p->why)
        sdm_log(v->ctx, SDM_LOG_INFO, 1, "%s and %s: not matched, %s", sdm_view_name(v, p->left),
                sdm_view_name(v, p->right), p->why);
    else
        sdm_log(v->ctx, SDM_LOG_INFO, 1,
                "%s and %s: %s, base/height %.2f%s, overlap %.0f %%, agreement %.0f %%, heights to some "
                "%.2g m%s",
                sdm_view_name(v, p->left), sdm_view_name(v, p->right), p->number ? "matched" : "not needed",
                p->base_height, time, 100.0 * p->overlap, 100.0 * p->look.share, p->sigma_m,
                p->number == 1 ? ": the reference" : "");
}

/* How many of the chosen pairs have the view as their left one, which decides what ground is seen. */
static int times_left(const SdmViews *v, int view)
{
    int n = 0;
    for (int k = 0; k < v->chosen_count; k++)
        n += v->chosen[k]->left == view;
    return n;
}

/* The usable pair of most merit that is not chosen yet, and agrees at least as well as asked; of equal ones
 * the first.  fresh: one with a view that is in none. */
static SdmViewPair *best_left(SdmViews *v, const bool *seen, bool fresh, double least)
{
    SdmViewPair *best = NULL;
    for (int k = 0; k < v->pairs; k++) {
        SdmViewPair *const p = &v->pair[k];
        if (p->merit > 0.0 && p->look.share >= least && !p->number && !*p->why &&
            (!fresh || !seen[p->left] || !seen[p->right]) && (!best || p->merit > best->merit))
            best = p;
    }
    return best;
}

/* The reference comes first: of the pairs that agree at least as well as asked, and whose cameras were not
 * moved, that of the largest weight, by precision and overlap. */
static void order_chosen(SdmViews *v, double least)
{
    int first = -1;
    double most = 0.0;
    for (int k = 0; k < v->chosen_count; k++) {
        const SdmViewPair *const p = v->chosen[k];
        const bool moved = sdm_views_move_m(v, p->left) + sdm_views_move_m(v, p->right) > 0.0;
        const double weight = p->look.share < least || moved ? 0.0 : p->overlap / (p->sigma_m * p->sigma_m);
        if (first < 0 || weight > most) {
            most = weight;
            first = k;
        }
    }
    SdmViewPair *const reference = v->chosen[first];
    for (int k = first; k > 0; k--)
        v->chosen[k] = v->chosen[k - 1];
    v->chosen[0] = reference;
    for (int k = 0; k < v->chosen_count; k++)
        v->chosen[k]->number = k + 1;
}

/* CRS and spacing of all DEMs: those of the reference. */
static SdmStatus choose_grid(SdmViews *v)
{
    const SdmViewPair *const p = v->chosen[0];
    PASS(sdm_grid_choose(v->ctx, &v->options, p->lon_deg, p->lat_deg, p->gsd_m, &v->grid));
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH srs = OSRNewSpatialReference(v->grid.wkt);
    const char *const code = srs ? OSRGetAuthorityCode(srs, NULL) : NULL;
    if (code && !v->options.t_srs)
        return sdm_format(v->ctx, v->t_srs, sizeof v->t_srs, "%s:%s", OSRGetAuthorityName(srs, NULL), code);
    return sdm_format(v->ctx, v->t_srs, sizeof v->t_srs, "%s",
                      v->options.t_srs ? v->options.t_srs : v->grid.wkt);
}

SdmStatus sdm_views_check_left(SdmViews *v, bool made)
{
    const SdmViewPair *good = NULL, *bad = NULL;
    int usable = 0;
    for (int k = v->pairs - 1; k >= 0; k--) {
        SdmViewPair *const p = &v->pair[k];
        const bool left = made ? p->has_dem : !*p->why;
        usable += left;
        good = left ? p : good;
        bad = *p->why ? p : bad;
    }
    if (usable == 1 && made && bad)
        return sdm_fail(
            v->ctx, SDM_ERR_DATA,
            "of the %d views %s and %s alone make a pair (%s and %s: %s); give these two without the others",
            v->count, v->path[good->left], v->path[good->right], sdm_view_name(v, bad->left),
            sdm_view_name(v, bad->right), bad->why);
    if (usable == 0 && made && *v->failure)
        return sdm_fail(v->ctx, SDM_ERR_DATA, "no pair of the %d views could be matched; the first: %s",
                        v->count, v->failure);
    if (usable == 0 && bad)
        return sdm_fail(v->ctx, SDM_ERR_DATA,
                        "no two of the %d views make a pair (%s and %s: %s); give views of one place",
                        v->count, sdm_view_name(v, bad->left), sdm_view_name(v, bad->right), bad->why);
    return SDM_OK;
}

/* Views that a chain of usable pairs joins with this one, itself, too.  @return how many */
static int join_views(const SdmViews *v, int first, bool *joined)
{
    int n = 0;
    memset(joined, 0, SDM_MAX_VIEWS * sizeof *joined);
    joined[first] = true;
    for (int turn = 0; turn < v->count; turn++)
        for (int k = 0; k < v->pairs; k++)
            if (v->pair[k].merit > 0.0 && (joined[v->pair[k].left] || joined[v->pair[k].right]))
                joined[v->pair[k].left] = joined[v->pair[k].right] = true;
    for (int i = 0; i < v->count; i++)
        n += joined[i];
    return n;
}

/* Why no pair has the view and one of those that are joined: of its first one. */
static const char *why_alone(const SdmViews *v, int view, const bool *joined)
{
    const char *why = "";
    for (int k = v->pairs - 1; k >= 0; k--) {
        const SdmViewPair *const p = &v->pair[k];
        if ((p->left == view && joined[p->right]) || (p->right == view && joined[p->left]))
            why = p->why;
    }
    return why;
}

/* Views that no pair joins with most are left out, since clouds hide the ground in them or they see another
 * place; two places are a mistake. */
static SdmStatus leave_out_views(SdmViews *v)
{
    bool joined[SDM_MAX_VIEWS];
    int best = 0, most = 0, alone = -1;
    for (int i = 0; i < v->count; i++) {
        const int n = join_views(v, i, joined);
        best = n > most ? i : best;
        most = n > most ? n : most;
        alone = n == 1 && alone < 0 ? i : alone;
    }
    v->joined = join_views(v, best, joined);
    v->first = best;
    if (v->joined == v->count)
        return SDM_OK;
    const bool few = 2 * v->joined <= v->count;
    if (few && alone >= 0)
        return sdm_fail(v->ctx, SDM_ERR_DATA,
                        "%s makes a pair with none of the other %d views (the first: %s); leave it out",
                        v->path[alone], v->count - 1, why_alone(v, alone, joined));
    for (int i = 0; i < v->count && few; i++)
        if (!joined[i])
            return sdm_fail(v->ctx, SDM_ERR_DATA,
                            "%s sees another place than %s: no pairs join them; give views of one place",
                            v->path[i], v->path[best]);
    for (int i = 0; i < v->count; i++)
        if (!joined[i])
            snprintf(v->left_out[i], sizeof v->left_out[i],
                     "no pair joins it with the %d others; the first: %s", v->joined,
                     why_alone(v, i, joined));
    for (int k = 0; k < v->pairs; k++)
        if (!joined[v->pair[k].left])
            v->pair[k].merit = 0.0;
    return SDM_OK;
}

static SdmViewPair *take(SdmViews *v, SdmViewPair *p)
{
    if (p) {
        if (times_left(v, p->left) > times_left(v, p->right) + 1)
            exchange(p);
        v->chosen[v->chosen_count++] = p;
        p->number = v->chosen_count;
    }
    return p;
}

SdmViewPair *sdm_views_spare(SdmViews *v)
{
    return take(v, best_left(v, NULL, false, 0.0));
}

/* The chosen pairs once more, the best first, with their right views as left ones: they see the ground on the
 * other sides of houses. */
static void choose_reversed(SdmViews *v)
{
    const int straight = v->pairs;
    while (v->chosen_count < v->joined) {
        const SdmViewPair *best = NULL;
        for (int k = 0; k < straight; k++) {
            const SdmViewPair *const p = &v->pair[k];
            bool done = !p->number;
            for (int i = straight; i < v->pairs; i++)
                done = done || (v->pair[i].left == p->right && v->pair[i].right == p->left);
            best = !done && (!best || p->merit > best->merit) ? p : best;
        }
        if (!best)
            return;
        SdmViewPair *const back = &v->pair[v->pairs++];
        *back = *best;
        exchange(back);
        (void)take(v, back);
    }
}

SdmStatus sdm_views_choose(SdmViews *v)
{
    bool seen[SDM_MAX_VIEWS] = {false};
    double least = 0.0;
    PASS(sdm_views_check_left(v, false));
    PASS(leave_out_views(v));
    for (int k = 0; k < v->pairs; k++)
        least = v->pair[k].merit > 0.0 ? fmax(least, LEAST_AGREEMENT * v->pair[k].look.share) : least;
    for (int fresh = 1; fresh >= 0; fresh--)
        for (SdmViewPair *p;
             v->chosen_count < v->joined && (p = best_left(v, seen, fresh, fresh ? 0.0 : least)) != NULL;) {
            (void)take(v, p);
            seen[p->left] = seen[p->right] = true;
        }
    choose_reversed(v);
    order_chosen(v, least);
    for (int k = 0; k < v->pairs; k++)
        log_pair(v, &v->pair[k]);
    return choose_grid(v);
}
