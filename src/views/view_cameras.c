/* Coarse matches of all pairs -> which cameras are far from those of most views, and where they belong.
 *
 * An error o of a camera on the ground moves its rays.  Those of a pair meet at a height that is wrong by d
 * where o_right - o_left = miss across the epipolar lines + base d.  So where the cameras of one pair are
 * taken as right, its heights give the errors of all others.  The pair is believed that leaves the least to
 * be explained: of cameras that are far off the number counts, not how far. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "geo/geodesy.h"
#include "views/views.h"

#include <math.h>
#include <string.h>

enum { LEAST_NODES = 8 /* that two pairs share, to be compared */, APART = 6 /* nodes, of their centres */ };

/* Errors of all cameras where those of one pair are right. */
typedef struct Errors {
    double error_m[SDM_MAX_VIEWS][2]; /* east, north */
    double far_m[SDM_MAX_VIEWS];
    bool known[SDM_MAX_VIEWS], home[SDM_MAX_VIEWS];
    int views, fit; /* known ones, and those whose error is so small that they confirm the pair */
    double cost;
} Errors;

/* How far the heights of a pair lie above those of another; NaN: they share too few, or are so far apart that
 * other places have the same nodes. */
static double height_off(const SdmViewPair *p, const SdmViewPair *base)
{
    float off_m[SDM_AGREEMENT_NODES];
    int n = 0;
    if (!(fabs(remainder(p->lon_deg - base->lon_deg, 360.0)) < APART * p->look.pitch_deg[0] &&
          fabs(p->lat_deg - base->lat_deg) < APART * p->look.pitch_deg[1]))
        return (double)NAN;
    for (int i = 0; i < SDM_AGREEMENT_NODES; i++) {
        const float d = p->look.height_m[i] - base->look.height_m[i];
        if (!isnan(d))
            off_m[n++] = d;
    }
    return n < LEAST_NODES ? (double)NAN : (double)sdm_median_f32(off_m, n);
}

/* The pair whose images agree best of those that join a view with known ones, and how far it lies above the
 * base. */
static const SdmViewPair *find_next(const SdmViews *v, const double *up_m, const bool *known)
{
    const SdmViewPair *best = NULL;
    for (int k = 0; k < v->pairs; k++) {
        const SdmViewPair *const p = &v->pair[k];
        if (p->merit > 0.0 && known[p->left] != known[p->right] && !isnan(up_m[k]) &&
            (!best || p->look.share > best->look.share))
            best = p;
    }
    return best;
}

static void find_errors(const SdmViews *v, const SdmViewPair *base, Errors *e)
{
    double up_m[SDM_MAX_VIEW_PAIRS];
    *e = (Errors){.views = 1, .fit = 1};
    e->known[base->left] = e->home[base->left] = true;
    for (int k = 0; k < v->pairs; k++)
        up_m[k] = v->pair[k].merit > 0.0 && isfinite(v->pair[k].look.miss_m[0] + v->pair[k].look.miss_m[1])
                      ? height_off(&v->pair[k], base)
                      : (double)NAN;
    for (const SdmViewPair *p; (p = find_next(v, up_m, e->known)) != NULL;) {
        const bool right = e->known[p->left];
        const int to = right ? p->right : p->left, from = right ? p->left : p->right;
        for (int i = 0; i < 2; i++) {
            const double off_m = p->look.miss_m[i] + p->look.base[i] * up_m[p - v->pair];
            e->error_m[to][i] = e->error_m[from][i] + (right ? off_m : -off_m);
        }
        const double size_m = hypot(e->error_m[to][0], e->error_m[to][1]);
        e->known[to] = true;
        e->far_m[to] = p->look.far_m;
        e->home[to] = size_m < p->look.far_m;
        e->fit += size_m < 0.5 * p->look.far_m;
        e->cost += size_m / (size_m + p->look.far_m);
        e->views++;
    }
    e->cost -= e->views; /* views that it tells nothing of cost as much as those far off */
}

/* The errors that cost least.  false: no two cameras that were not moved fit each other.  *is_guess: other
 * cameras could be right as well. */
static bool find_best(const SdmViews *v, const bool *moved, Errors *best, bool *is_guess)
{
    bool found = false;
    int rivals = 0;
    Errors e;
    for (int pass = 0; pass < 2; pass++) /* first the best, then who comes near it */
        for (int k = 0; k < v->pairs; k++) {
            const SdmViewPair *const p = &v->pair[k];
            if (!(p->merit > 0.0) || moved[p->left] || moved[p->right] ||
                !(hypot(p->look.miss_m[0], p->look.miss_m[1]) < p->look.far_m))
                continue;
            find_errors(v, p, &e);
            rivals += pass && e.fit == best->fit && memcmp(e.home, best->home, sizeof e.home) != 0;
            if (!pass && (!found || e.cost < best->cost))
                *best = e;
            found = true;
        }
    *is_guess = found && (rivals > 0 || 2 * best->fit <= best->views);
    return found;
}

bool sdm_views_move_cameras(SdmViews *v, bool *moved)
{
    Errors e;
    bool is_guess, any = false;
    if (!find_best(v, moved, &e, &is_guess))
        return false;
    for (int i = 0; i < v->count; i++) {
        moved[i] = e.known[i] && (moved[i] || !e.home[i]);
        if (!moved[i])
            continue;
        any = true;
        for (int k = 0; k < 2; k++)
            v->move_deg[i][k] -= e.error_m[i][k] / SDM_METRES_PER_DEGREE * v->pitch_deg[k] / v->pitch_deg[1];
        if (sdm_views_move_m(v, i) < e.far_m[i]) /* it came back: the move before was of false heights */
            memset(v->move_deg[i], 0, sizeof v->move_deg[i]);
        sdm_log(v->ctx, SDM_LOG_INFO, 1, "%s: its camera is moved by %.1f m in all, to those of most views",
                v->path[i], sdm_views_move_m(v, i));
    }
    v->is_guess = v->is_guess || (any && is_guess);
    return any;
}

double sdm_views_move_m(const SdmViews *v, int view)
{
    const double *const move_deg = v->move_deg[view], *const pitch_deg = v->pitch_deg;
    return SDM_METRES_PER_DEGREE * hypot(move_deg[0] * pitch_deg[1] / pitch_deg[0], move_deg[1]);
}
