/* The 3-D move of one surface onto another: normal equations on slopes, search of walls, judgement. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/shift_fit.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDS = 25,
    TOGETHER = 128,        /* places that one thread measures at a time */
    SEARCH_PLACES = 200000 /* that a search measures */
};
static const double CUT_NMADS[] = {20.0, 10.0, 5.0, 3.0}; /* of each round; the last one of all later ones */
enum { CUTS = sizeof CUT_NMADS / sizeof *CUT_NMADS };
static const double SURE = 0.5,
                    FIRST_SURE = 2.0;   /* cells: largest standard error of a move, at the end and before */
static const double MIN_NMAD_M = 0.1;   /* of a cut */
static const double MIN_NOISE_M = 0.01; /* of a difference, when the error of the move is estimated */
static const double BOUND_M = 5.0;      /* of a difference in a search */
static const double FIRST_STEP = 4.0, HALF_STEP = 0.25, LAST_STEP = 0.002; /* of a search, cells */
static const double BASIN_CELLS = 0.5,
                    SAME_MEAN = 1.02; /* of a refined move: how far, and its mean at most */
static const double SAME_NMAD = 1.01; /* NMAD after the move / before, at most */
static const double GROSS_NMADS = 5.0, SAME_GROSS = 1.05, FEW_GROSS = 1e-4;
static const double LESS_NMAD = 0.95; /* that outweighs gross errors which rise */
static const double LONG_CELLS = 10.0,
                    LESS_BOUNDED = 0.9; /* what a longer move leaves of bounded differences */
static const double LEAST_BOTH = 0.05;  /* of the places, that are known at both moves */
static const double SHORT_CELLS = 0.02; /* a shorter move is not judged */
static const double HALVES_CELLS = 1.0, HALVES_WALL_CELLS = 3.0,
                    HALVES_SIGMAS = 4.0; /* between halves that agree, at most */

/* Runs of TOGETHER places from `first` on, of which every so many is taken. */
typedef struct Part {
    size_t first, end, every;
} Part;

static size_t part_count(Part p)
{
    const size_t all = p.end - p.first, period = p.every * TOGETHER, rest = all % period;
    return all / period * TOGETHER + (rest < TOGETHER ? rest : TOGETHER);
}

/* Measure the places of a part, side by side in the work space: differences, slopes east and north. */
static void measure(const SdmShiftTask *t, Part p, const double move_m[2], bool slopes)
{
    const size_t n = part_count(p);
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (size_t i = 0; i < n; i += TOGETHER) {
        float *const slope[2] = {t->work + t->count + i, t->work + 2 * t->count + i};
        t->measure(t->surfaces, move_m, p.first + i * p.every, n - i < TOGETHER ? (int)(n - i) : TOGETHER,
                   t->work + i, slopes ? slope : NULL);
    }
}

static bool counts(const SdmShiftTask *t, size_t i)
{
    const double e = (double)t->work[t->count + i], n = (double)t->work[2 * t->count + i];
    return !isnan(t->work[i]) && e * e + n * n < t->steepest * t->steepest;
}

/* Differences of the measured places that count -> the last quarter of the work space. */
static int64_t gather(const SdmShiftTask *t, size_t n, bool slopes)
{
    float *const to = t->work + 3 * t->count;
    int64_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (slopes ? counts(t, i) : !isnan(t->work[i]))
            to[found++] = t->work[i];
    return found;
}

/* Sums of the normal equations of  difference = slope east x east + slope north x north + offset . */
typedef struct Sums {
    double ee, en, e, nn, n, one, ed, nd, d;
} Sums;

static Sums add_places(const SdmShiftTask *t, size_t count, double median_m, double limit_m)
{
    Sums s = {0};
    for (size_t i = 0; i < count; i++) {
        const double d = (double)t->work[i], e = (double)t->work[t->count + i],
                     n = (double)t->work[2 * t->count + i];
        if (!counts(t, i) || !(fabs(d - median_m) < limit_m))
            continue;
        s.ee += e * e;
        s.en += e * n;
        s.e += e;
        s.nn += n * n;
        s.n += n;
        s.one += 1.0;
        s.ed += e * d;
        s.nd += n * d;
        s.d += d;
    }
    return s;
}

/* A step of the move and what is known of it. */
typedef struct Step {
    double move_m[3]; /* up: the offset that remains, not a step */
    double sigma_m;   /* standard error of the horizontal step, of the worse direction that is determined */
    int undetermined;
} Step;

/* Solve about the means, along the principal axes of the slopes.  In a direction where the standard error of
 * the move, noise / standard deviation of the slope / sqrt(independent places), is sure_m or more (a plane,
 * flat ground), the step is 0. */
static Step solve(const Sums *s, double noise_m, const SdmShiftTask *t, double sure_m)
{
    const double n = fmax(s->one, 1.0), e = s->e / n, north = s->n / n, d = s->d / n;
    const double ee = s->ee / n - e * e, en = s->en / n - e * north, nn = s->nn / n - north * north;
    const double ed = s->ed / n - e * d, nd = s->nd / n - north * d;
    const double middle = 0.5 * (ee + nn), half = hypot(0.5 * (ee - nn), en),
                 angle = 0.5 * atan2(2.0 * en, ee - nn);
    Step out = {.undetermined = 0};
    for (int k = 0; k < 2; k++) { /* the axis of the larger variance first */
        const double variance = fmax(k ? middle - half : middle + half, 0.0);
        const double axis[2] = {k ? -sin(angle) : cos(angle), k ? cos(angle) : sin(angle)};
        const double sigma_m = noise_m / sqrt(variance * n / t->correlated);
        if (!(sigma_m < sure_m)) {
            out.undetermined++;
            continue;
        }
        const double step = (axis[0] * ed + axis[1] * nd) / variance;
        out.move_m[0] += step * axis[0];
        out.move_m[1] += step * axis[1];
        out.sigma_m = sigma_m;
    }
    out.move_m[2] = -(d - e * out.move_m[0] - north * out.move_m[1]);
    return out;
}

/* Measure a part at a move, and find the step from there.  *nmad_m: of the differences. */
static Step find_step(const SdmShiftTask *t, Part p, const double move_m[2], double cut_nmads, double sure_m,
                      double *nmad_m)
{
    double median_m = 0.0;
    const size_t n = part_count(p);
    measure(t, p, move_m, true);
    const int64_t known = gather(t, n, true);
    *nmad_m = known ? sdm_nmad_f32(t->work + 3 * t->count, known, &median_m) : (double)NAN;
    const Sums s = add_places(t, n, median_m, cut_nmads * fmax(*nmad_m, MIN_NMAD_M));
    return solve(&s, fmax(*nmad_m, MIN_NOISE_M), t, sure_m);
}

/* Rounds of steps, whose cuts are those from CUT_NMADS[cut] on, in directions that are known to sure_m.  out:
 * as of sdm_shift_fit(), without the verdict.  *sigma_m: standard error of the horizontal move. */
static SdmStatus iterate(SdmContext *ctx, const SdmShiftTask *t, Part p, int cut, double sure_m,
                         SdmShift *out, double *sigma_m)
{
    double before_m[2] = {0.0, 0.0};
    out->converged = false;
    for (int round = 0; round < ROUNDS && !out->converged; round++, cut++) {
        PASS(sdm_check_stop(ctx));
        const Step step =
            find_step(t, p, out->move_m, CUT_NMADS[cut < CUTS ? cut : CUTS - 1], sure_m, &out->nmad_m);
        if (!isfinite(out->nmad_m)) { /* moved off the other surface */
            out->undetermined = 2;
            break;
        }
        const double length_m = hypot(step.move_m[0], step.move_m[1]);
        /* to and fro between two sets of outliers: the middle */
        const bool swings = cut >= CUTS && hypot(step.move_m[0] + before_m[0], step.move_m[1] + before_m[1]) <
                                               fmax(t->last_step_m, 0.1 * length_m);
        out->converged = cut >= CUTS - 1 && length_m < t->last_step_m;
        for (int k = 0; k < 2; k++)
            out->move_m[k] += before_m[k] = swings ? 0.5 * step.move_m[k] : step.move_m[k];
        out->move_m[2] = step.move_m[2];
        out->undetermined = step.undetermined;
        *sigma_m = step.sigma_m;
    }
    return SDM_OK;
}

/* ---- walls ---- */

/* Where a search stands. */
typedef struct Search {
    double move_m[2], up_m;
    double mean_m; /* of the bounded differences */
    int64_t known; /* places with a difference */
} Search;

static Search bounded_mean(const SdmShiftTask *t, Part p, double east_m, double north_m)
{
    Search s = {.move_m = {east_m, north_m}, .mean_m = INFINITY};
    float *const d = t->work + 3 * t->count;
    measure(t, p, s.move_m, false);
    s.known = gather(t, part_count(p), false);
    if (s.known == 0)
        return s;
    const double median_m = sdm_median_f32(d, s.known);
    double sum = 0.0;
    for (int64_t i = 0; i < s.known; i++)
        sum += fmin(fabs((double)d[i] - median_m), BOUND_M);
    s.mean_m = sum / (double)s.known;
    s.up_m = -median_m;
    return s;
}

/* From the best of the places tried, by steps along the axes that become shorter.  from_cells: first step. */
static SdmStatus search(SdmContext *ctx, const SdmShiftTask *t, Part p, double from_cells, Search *best)
{
    static const double along[4][2] = {{1.0, 0.0}, {-1.0, 0.0}, {0.0, 1.0}, {0.0, -1.0}};
    const int64_t enough = best->known / 2;
    for (double step = from_cells; step > LAST_STEP; step *= 0.5)
        for (bool moved = true; moved;) {
            moved = false;
            PASS(sdm_check_stop(ctx));
            for (int k = 0; k < 4; k++) {
                const Search s = bounded_mean(t, p, best->move_m[0] + along[k][0] * step * t->cell_m,
                                              best->move_m[1] + along[k][1] * step * t->cell_m);
                if (s.known < enough || !(s.mean_m < best->mean_m))
                    continue;
                *best = s;
                moved = true;
            }
        }
    return SDM_OK;
}

static Part thinned(Part p, size_t most)
{
    p.every = (p.end - p.first) / most + 1;
    return p;
}

/* The mean is lowest where the grids lie on each other, in a basin of a fraction of a cell: there the slopes
 * tell more, as long as the mean says the same. */
static SdmStatus refine(SdmContext *ctx, const SdmShiftTask *t, Part p, Search *best)
{
    SdmShift fine = {.move_m = {best->move_m[0], best->move_m[1], 0.0}};
    double sigma_m;
    PASS(iterate(ctx, t, (Part){0, t->count, 1}, CUTS - 1, SURE * t->cell_m, &fine, &sigma_m));
    const Search s = bounded_mean(t, p, fine.move_m[0], fine.move_m[1]);
    if (fine.undetermined == 0 && s.mean_m < SAME_MEAN * best->mean_m &&
        hypot(s.move_m[0] - best->move_m[0], s.move_m[1] - best->move_m[1]) < BASIN_CELLS * t->cell_m)
        *best = s;
    return SDM_OK;
}

/* The search after the rounds: from the start, from what they found, whichever is better. */
static SdmStatus search_walls(SdmContext *ctx, const SdmShiftTask *t, const double start_m[2], SdmShift *out)
{
    const Part p = thinned((Part){0, t->count, 1}, SEARCH_PLACES);
    Search best = bounded_mean(t, p, start_m[0], start_m[1]);
    const Search found = bounded_mean(t, p, out->move_m[0], out->move_m[1]);
    if (found.known >= best.known / 2 && found.mean_m < best.mean_m)
        best = found;
    PASS(search(ctx, t, p, FIRST_STEP, &best));
    PASS(refine(ctx, t, p, &best));
    out->move_m[0] = best.move_m[0];
    out->move_m[1] = best.move_m[1];
    out->move_m[2] = best.up_m;
    out->converged = true;
    return SDM_OK;
}

SdmStatus sdm_shift_fit(SdmContext *ctx, const SdmShiftTask *task, SdmShift *out)
{
    const double start_m[2] = {out->move_m[0], out->move_m[1]};
    const Part all = {0, task->count, 1};
    double sigma_m, nmad_m;
    out->verdict = SDM_SHIFT_FOUND;
    /* the noise at the start is that of surfaces that do not lie on each other: it is the end that tells what
     * is known */
    PASS(iterate(ctx, task, all, 0, FIRST_SURE * task->cell_m, out, &sigma_m));
    if (find_step(task, all, out->move_m, CUT_NMADS[CUTS - 1], SURE * task->cell_m, &nmad_m).undetermined) {
        memcpy(out->move_m, start_m, sizeof start_m);
        PASS(iterate(ctx, task, all, 0, SURE * task->cell_m, out, &sigma_m));
    }
    if (task->walls && out->undetermined == 0)
        PASS(search_walls(ctx, task, start_m, out));
    memcpy(out->found_m, out->move_m, sizeof out->found_m);
    return SDM_OK;
}

/* ---- judgement ---- */

/* How differences spread about their median. */
typedef struct Spread {
    double nmad_m;
    double gross;     /* share beyond gross_m */
    double chance;    /* twice the standard error of that share */
    double bounded_m; /* mean of the distances from the median, none larger than gross_m */
} Spread;

/* Spread of the differences at the move; other: only of places that have one there, too; or NULL.  *gross_m
 * is set where it is 0. */
static Spread spread(const SdmShiftTask *t, const double move_m[2], const float *other, double *gross_m)
{
    float *const d = t->work + 3 * t->count;
    double median_m = 0.0, sum = 0.0;
    int64_t n = 0, over = 0;
    measure(t, (Part){0, t->count, 1}, move_m, false);
    for (size_t i = 0; i < t->count; i++)
        if (!isnan(t->work[i]) && !(other && isnan(other[i])))
            d[n++] = t->work[i];
    const double nmad_m = sdm_nmad_f32(d, n, &median_m); /* d: distances from the median */
    if (!(*gross_m > 0.0))
        *gross_m = GROSS_NMADS * fmax(nmad_m, MIN_NMAD_M);
    for (int64_t i = 0; i < n; i++) {
        over += (double)d[i] > *gross_m;
        sum += fmin((double)d[i], *gross_m);
    }
    const double all = fmax((double)n, 1.0);
    return (Spread){nmad_m, (double)over / all, 2.0 * sqrt((double)over) / all, sum / all};
}

/* Is the surface better where it was moved to?  Gross errors may rise where the NMAD falls: changed ground
 * lies beyond any limit then, and was within it before.  A long move takes a good part out of the
 * differences, unless the surfaces have nothing in common. */
static bool is_better(const SdmShiftTask *t, const double move_m[2])
{
    static const double none_m[2] = {0.0, 0.0};
    float *const other = t->work + t->count;
    double gross_m = 0.0;
    size_t both = 0, known = 0;
    measure(t, (Part){0, t->count, 1}, move_m, false);
    memcpy(other, t->work, t->count * sizeof *other);
    measure(t, (Part){0, t->count, 1}, none_m, false);
    for (size_t i = 0; i < t->count; i++) {
        known += isnan(other[i]) ? 0 : 1;
        both += isnan(other[i]) || isnan(t->work[i]) ? 0 : 1;
    }
    const bool same =
        (double)both > LEAST_BOTH * (double)known; /* not so with voids narrower than the move */
    const Spread before = spread(t, none_m, same ? other : NULL, &gross_m);
    memcpy(other, t->work, t->count * sizeof *other);
    const Spread after = spread(t, move_m, same ? other : NULL, &gross_m);
    if (!(after.nmad_m <= SAME_NMAD * fmax(before.nmad_m, MIN_NOISE_M)))
        return false;
    if (after.gross > SAME_GROSS * before.gross + fmax(FEW_GROSS, before.chance) &&
        after.nmad_m > LESS_NMAD * before.nmad_m)
        return false;
    return !(hypot(move_m[0], move_m[1]) > LONG_CELLS * t->cell_m) ||
           after.bounded_m < LESS_BOUNDED * before.bounded_m;
}

/* The move that a part asks for, from that of all places on. */
static SdmStatus fit_half(SdmContext *ctx, const SdmShiftTask *t, Part p, const double from_m[2],
                          double move_m[2], double *sigma_m)
{
    SdmShift half = {.move_m = {from_m[0], from_m[1], 0.0}};
    PASS(iterate(ctx, t, p, CUTS - 1, SURE * t->cell_m, &half, sigma_m));
    if (t->walls && half.undetermined == 0) {
        const Part some = thinned(p, SEARCH_PLACES / 2);
        Search best = bounded_mean(t, some, from_m[0], from_m[1]);
        PASS(search(ctx, t, some, HALF_STEP, &best));
        memcpy(half.move_m, best.move_m, sizeof best.move_m);
    }
    for (int k = 0; k < 2; k++)
        move_m[k] = half.undetermined ? (double)NAN : half.move_m[k];
    return SDM_OK;
}

/* Half of the places that have a difference lie before it. */
static size_t middle_place(const SdmShiftTask *t, const double move_m[2])
{
    size_t known = 0, before = 0, at = 0;
    measure(t, (Part){0, t->count, 1}, move_m, false);
    for (size_t i = 0; i < t->count; i++)
        known += isnan(t->work[i]) ? 0 : 1;
    for (; at < t->count && 2 * before < known; at++)
        before += isnan(t->work[at]) ? 0 : 1;
    return at;
}

static SdmStatus halves_agree(SdmContext *ctx, const SdmShiftTask *t, SdmShift *out, bool *agree)
{
    double sigma_m[2] = {0.0, 0.0};
    const size_t middle = middle_place(t, out->move_m);
    for (size_t k = 0; k < 2; k++) {
        const Part half = {k ? middle : 0, k ? t->count : middle, 1};
        PASS(fit_half(ctx, t, half, out->move_m, out->half_m[k], &sigma_m[k]));
    }
    const double apart_m =
        hypot(out->half_m[0][0] - out->half_m[1][0], out->half_m[0][1] - out->half_m[1][1]);
    *agree = !(apart_m > fmax((t->walls ? HALVES_WALL_CELLS : HALVES_CELLS) * t->cell_m,
                              HALVES_SIGMAS * hypot(sigma_m[0], sigma_m[1])));
    return SDM_OK;
}

SdmStatus sdm_shift_judge(SdmContext *ctx, const SdmShiftTask *task, SdmShift *out)
{
    static const double none_m[2] = {0.0, 0.0};
    bool agree = true;
    out->half_m[0][0] = out->half_m[0][1] = out->half_m[1][0] = out->half_m[1][1] = (double)NAN;
    if (!(hypot(out->move_m[0], out->move_m[1]) > SHORT_CELLS * task->cell_m))
        return SDM_OK;
    if (out->undetermined == 0)
        PASS(halves_agree(ctx, task, out, &agree));
    out->verdict = !agree                          ? SDM_SHIFT_HALVES_DIFFER
                   : !is_better(task, out->move_m) ? SDM_SHIFT_NOT_BETTER
                                                   : SDM_SHIFT_FOUND;
    if (out->verdict == SDM_SHIFT_FOUND)
        return SDM_OK;
    measure(task, (Part){0, task->count, 1}, none_m, false);
    const int64_t n = gather(task, task->count, false);
    double median_m = 0.0;
    out->nmad_m = sdm_nmad_f32(task->work + 3 * task->count, n, &median_m);
    out->move_m[0] = out->move_m[1] = 0.0;
    out->move_m[2] = -median_m;
    return SDM_OK;
}

const char *sdm_shift_verdict_text(SdmShiftVerdict verdict)
{
    switch (verdict) {
    case SDM_SHIFT_NOT_BETTER:
        return "the move that was found raises NMAD or gross errors, or is long and explains little";
    case SDM_SHIFT_HALVES_DIFFER:
        return "the two halves of the area ask for different moves";
    default:
        return "";
    }
}
