/* Systematic errors by robust least squares: bins of residuals, iterated weights, sines one after the other,
 * each checked by cross-validation. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/bias_model.h"
#include "core/dense.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

enum {
    MAX_ALONG = 4096,
    ACROSS = 16,    /* bins across the track */
    TILT_BINS = 64, /* bins along and across, for a plane */
    BLOCKS = 8, /* of the cross-validation, along and across: every second one is predicted from the others */
    MIN_ALONG = 100,    /* cells along the track that a profile needs */
    SHORTEST_BINS = 12, /* wavelength of the shortest sine */
    FIT_ROUNDS = 30,
    LINEAR = 2 + SDM_BIAS_DEGREE + 2 * SDM_BIAS_SINES,
    TERMS = LINEAR + SDM_BIAS_SINES + 1,
    SEARCH_BINS = 128, /* bins north and east, and strips, for the search of the direction of the track */
    TURNS = 3          /* of the direction of the track, to where the sines fit best */
};
static const double PI = 3.14159265358979323846;
static const double BIWEIGHT = 4.685;     /* residuals of so many NMADs have no weight */
static const double MIN_GAIN = 0.03;      /* of the cross-validated error, by which a term is taken */
static const double LEAST_ERROR_M = 0.01; /* cross-validated, from which on there is something to gain */
static const double SAME_TRACK_DEG = 0.01, MAX_TURN_DEG = 3.0; /* turns that are not made */
static const double FIRST_WAVES = 3.0;   /* waves along the track, at least, of the sines that come first */
static const double LONGEST_WAVE = 0.75; /* of all sines */
static const double WAVE_STEP = 0.125;   /* of the search, waves along the track */

/* ---- the model ---- */

static void along_across(const SdmBiasModel *m, double east_m, double north_m, double at[2])
{
    const double s = sin(m->track_deg * PI / 180.0), c = cos(m->track_deg * PI / 180.0);
    at[0] = east_m * s + north_m * c;
    at[1] = east_m * c - north_m * s;
}

double sdm_bias_at(const SdmBiasModel *m, double east_m, double north_m)
{
    double at[2], power = 1.0;
    if (m->kind == SDM_BIAS_NONE)
        return 0.0;
    along_across(m, east_m, north_m, at);
    const double s_m = at[0] - m->centre_m[0], u = s_m / m->half_m[0],
                 v = (at[1] - m->centre_m[1]) / m->half_m[1];
    double sum = m->constant_m + m->across_m * v;
    for (int k = 0; k < m->degree; k++)
        sum += m->along_m[k] * (power *= u);
    for (int k = 0; k < m->sines; k++)
        sum += m->sine[k].amplitude_m * cos(2.0 * PI * s_m / m->sine[k].wavelength_m - m->sine[k].phase_rad);
    return sum;
}

void sdm_bias_tilt(const SdmBiasModel *m, double tilt[2])
{
    tilt[0] = tilt[1] = 0.0;
    if (m->kind == SDM_BIAS_NONE)
        return;
    const double s = sin(m->track_deg * PI / 180.0), c = cos(m->track_deg * PI / 180.0);
    const double along = m->along_m[0] / m->half_m[0], across = m->across_m / m->half_m[1];
    tilt[0] = along * s + across * c;
    tilt[1] = along * c - across * s;
}

double sdm_bias_profile_rms(const SdmBiasModel *m)
{
    enum { STEPS = 1000 };
    SdmBiasModel profile = *m;
    double sum = 0.0, squares = 0.0;
    profile.across_m = profile.along_m[0] = 0.0;
    for (int i = 0; i < STEPS; i++) {
        const double s_m = m->centre_m[0] + m->half_m[0] * (2.0 * (i + 0.5) / STEPS - 1.0);
        const double angle = m->track_deg * PI / 180.0, t_m = m->centre_m[1];
        const double v =
            sdm_bias_at(&profile, s_m * sin(angle) + t_m * cos(angle), s_m * cos(angle) - t_m * sin(angle));
        sum += v;
        squares += v * v;
    }
    return sqrt(fmax(squares / STEPS - sum / STEPS * (sum / STEPS), 0.0));
}

/* ---- bins ---- */

typedef struct Bins {     /* those that have samples, along the track, then across it */
    int64_t along, count; /* bins along the track, of all; bins in the arrays */
    double *u, *v;        /* -1..1 */
    double *value_m;      /* median of the samples */
    double *weight;       /* number of samples, at most that of the median bin */
    double *robust;       /* weight times the biweight of the last fit */
    double *residual_m, *spare;
    double *held_m;  /* residuals of bins that were predicted from others */
    int32_t *row;    /* bin along the track */
    double *profile; /* along x 2: sums over the bins across the track */
    double *room;    /* owned: the arrays of doubles */
} Bins;

static void bins_close(Bins *b)
{
    sdm_free(&b->room);
    sdm_free(&b->row);
    sdm_free(&b->profile);
}

static SdmStatus bins_open(SdmContext *ctx, int64_t most, int64_t along, Bins *b)
{
    SdmStatus st = SDM_OK;
    double **const part[] = {&b->u,      &b->v,          &b->value_m, &b->weight,
                             &b->robust, &b->residual_m, &b->spare,   &b->held_m};
    TRY(sdm_alloc(ctx, &b->room, 8 * (size_t)most, sizeof *b->room, "bins of residuals"));
    TRY(sdm_alloc(ctx, &b->row, (size_t)most, sizeof *b->row, "bins of residuals"));
    TRY(sdm_alloc(ctx, &b->profile, 2 * (size_t)along, sizeof *b->profile, "profile along the track"));
    for (int i = 0; i < 8; i++)
        *part[i] = b->room + (size_t)i * (size_t)most;
    b->along = along;
done:
    return st;
}

/* Extent of the samples along and across the track -> centre and half extent of the model. */
static void find_extent(const SdmBiasSamples *s, SdmBiasModel *m)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, at[2];
    for (int64_t i = 0; i < s->count; i++) {
        along_across(m, (double)s->east_m[i], (double)s->north_m[i], at);
        for (int k = 0; k < 2; k++) { /* gcc 12 for aarch64 does not compile fmin() here */
            low[k] = at[k] < low[k] ? at[k] : low[k];
            high[k] = at[k] > high[k] ? at[k] : high[k];
        }
    }
    for (int k = 0; k < 2; k++) {
        m->centre_m[k] = 0.5 * (low[k] + high[k]);
        m->half_m[k] = fmax(0.5 * (high[k] - low[k]), 1e-6) * (1.0 + 1e-9);
    }
}

/* The bin of each sample -> key, along x across. */
static void find_keys(const SdmBiasSamples *s, const SdmBiasModel *m, int64_t along, int64_t across,
                      int32_t *key)
{
    const int64_t n[2] = {along, across};
    for (int64_t i = 0; i < s->count; i++) {
        double at[2];
        int64_t bin[2];
        along_across(m, (double)s->east_m[i], (double)s->north_m[i], at);
        for (int k = 0; k < 2; k++) {
            const int64_t b = (int64_t)(((at[k] - m->centre_m[k]) / m->half_m[k] + 1.0) * 0.5 * (double)n[k]);
            bin[k] = b < 0 ? 0 : b >= n[k] ? n[k] - 1 : b;
        }
        key[i] = (int32_t)(bin[0] * across + bin[1]);
    }
}

/* Medians of the samples of each bin.  first: bins + 1, the first sample of each bin in `sorted`. */
static void fill_bins(const int64_t *first, float *sorted, int64_t along, int64_t across, Bins *b)
{
    for (int64_t k = 0; k < along * across; k++) {
        const int64_t n = first[k + 1] - first[k];
        if (n == 0)
            continue;
        const int64_t i = b->count++;
        b->row[i] = (int32_t)(k / across);
        b->u[i] = 2.0 * ((double)(k / across) + 0.5) / (double)along - 1.0;
        b->v[i] = 2.0 * ((double)(k % across) + 0.5) / (double)across - 1.0;
        b->value_m[i] = sdm_median_f32(sorted + first[k], n);
        b->weight[i] = b->spare[i] = (double)n;
    }
    const double cap = sdm_median_f64(b->spare, b->count);
    for (int64_t i = 0; i < b->count; i++)
        b->weight[i] = fmin(b->weight[i], cap) / cap;
}

static SdmStatus make_bins(SdmContext *ctx, const SdmBiasSamples *s, const SdmBiasModel *m, int64_t along,
                           int64_t across, Bins *b)
{
    SdmStatus st = SDM_OK;
    int32_t *key = NULL;
    int64_t *first = NULL;
    float *sorted = NULL;
    const int64_t bins = along * across;
    TRY(bins_open(ctx, bins, along, b));
    TRY(sdm_alloc(ctx, &key, (size_t)s->count, sizeof *key, "bins of residuals"));
    TRY(sdm_alloc(ctx, &sorted, (size_t)s->count, sizeof *sorted, "bins of residuals"));
    TRY(sdm_alloc(ctx, &first, (size_t)bins + 2, sizeof *first, "bins of residuals"));
    find_keys(s, m, along, across, key);
    for (int64_t i = 0; i < s->count; i++)
        first[key[i] + 2]++;
    for (int64_t k = 2; k < bins + 2; k++)
        first[k] += first[k - 1];
    for (int64_t i = 0; i < s->count; i++)
        sorted[first[key[i] + 1]++] = s->error_m[i];
    fill_bins(first, sorted, along, across, b);
done:
    sdm_free(&first);
    sdm_free(&sorted);
    sdm_free(&key);
    return st;
}

/* ---- least squares ---- */

typedef struct Fit {
    int degree, sines;
    double term[LINEAR];          /* constant, across, along^1.., then cosine and sine of each wave */
    double omega[SDM_BIAS_SINES]; /* radians over half the extent */
    double turn;                  /* of the waves against the bins: they go along u + turn x v */
} Fit;

typedef struct Fold { /* the bins of some of BLOCKS blocks along (axis 0) or across (axis 1) the track */
    int axis;
    unsigned blocks; /* bit k: block k */
} Fold;
enum { EVERY_BLOCK = (1 << BLOCKS) - 1 };
static const Fold ALL = {0, EVERY_BLOCK};

/* What cross-validation predicts from the rest: every second block along, every second across, each quarter
 * along. */
enum { ALONG_BLOCKS, ACROSS_BLOCKS, ALONG_QUARTERS, SCHEMES };
static const struct {
    int axis, folds;
    unsigned held[4];
} schemes[SCHEMES] = {{0, 2, {0x55, 0xaa}}, {1, 2, {0x55, 0xaa}}, {0, 4, {0x03, 0x0c, 0x30, 0xc0}}};

static int linear_terms(const Fit *f)
{
    return 2 + f->degree + 2 * f->sines;
}

static bool in_fold(const Bins *b, int64_t i, Fold fold)
{
    const int block = (int)(((fold.axis ? b->v[i] : b->u[i]) + 1.0) * 0.5 * BLOCKS);
    return (fold.blocks >> block & 1U) != 0;
}

/* Terms of a bin: those of Fit.term, then the derivative of the model by the frequency of each wave, and by
 * the turn. */
static void terms_at(const Fit *f, double u, double v, double out[TERMS])
{
    double power = 1.0, by_turn = 0.0;
    const double along = u + f->turn * v;
    int n = 0;
    out[n++] = 1.0;
    out[n++] = v;
    for (int k = 0; k < f->degree; k++)
        out[n++] = power *= u;
    const int waves = n, slopes = linear_terms(f);
    for (int k = 0; k < f->sines; k++) {
        const double c = cos(f->omega[k] * along),
                     s = sin(f->omega[k] * along), *const a = f->term + waves + 2 * k;
        out[n++] = c;
        out[n++] = s;
        out[slopes + k] = along * (a[1] * c - a[0] * s);
        by_turn += f->omega[k] * v * (a[1] * c - a[0] * s);
    }
    out[slopes + f->sines] = by_turn;
}

static double residual_at(const Bins *b, const Fit *f, int64_t i, double terms[TERMS])
{
    double r = b->value_m[i];
    terms_at(f, b->u[i], b->v[i], terms);
    for (int k = 0; k < linear_terms(f); k++)
        r -= f->term[k] * terms[k];
    return r;
}

/* Residuals of all bins; their NMAD within the fold. */
static double measure(Bins *b, const Fit *f, Fold fold)
{
    double terms[TERMS];
    int64_t n = 0;
    for (int64_t i = 0; i < b->count; i++) {
        b->residual_m[i] = residual_at(b, f, i, terms);
        if (in_fold(b, i, fold))
            b->spare[n++] = b->residual_m[i];
    }
    return n ? sdm_nmad_f64(b->spare, n, NULL) : NAN;
}

/* One step of Gauss and Newton with weights for the residuals of measure().  n: terms that are free.
 * @return false where the equations cannot be solved */
static bool step(Bins *b, const Fit *f, Fold fold, double limit_m, int n, double x[TERMS])
{
    double a[TERMS * TERMS] = {0}, terms[TERMS];
    memset(x, 0, TERMS * sizeof *x);
    for (int64_t i = 0; i < b->count; i++) {
        const double z = b->residual_m[i] / limit_m, w = fabs(z) < 1.0 ? (1.0 - z * z) * (1.0 - z * z) : 0.0;
        b->robust[i] = b->weight[i] * w;
        if (!(w > 0.0) || !in_fold(b, i, fold))
            continue;
        terms_at(f, b->u[i], b->v[i], terms);
        for (int r = 0; r < n; r++) {
            for (int c = 0; c <= r; c++)
                a[r * n + c] += b->robust[i] * terms[r] * terms[c];
            x[r] += b->robust[i] * terms[r] * b->residual_m[i];
        }
    }
    for (int r = 0; r < n; r++)
        a[r * n + r] *= 1.0 + 1e-9;
    return sdm_solve_cholesky(n, a, x);
}

/* Fit the bins of a fold; the frequencies and the turn, too, where they are free.  @return false where that
 * is impossible */
static bool fit_bins(Bins *b, Fold fold, bool free_waves, Fit *f)
{
    double x[TERMS];
    const int linear = linear_terms(f), waves = linear + f->sines, n = free_waves ? waves + 1 : linear;
    for (int round = 0; round < FIT_ROUNDS; round++) {
        double largest = 0.0;
        const double nmad_m = measure(b, f, fold);
        if (!step(b, f, fold, BIWEIGHT * fmax(nmad_m, 1e-4), n, x))
            return false;
        for (int k = 0; k < linear; k++) {
            f->term[k] += x[k];
            largest = fmax(largest, fabs(x[k]));
        }
        for (int k = linear; k < n; k++) {
            double *const to = k < waves ? &f->omega[k - linear] : &f->turn;
            const double most = k < waves ? 0.2 : 0.02;
            *to += fmin(fmax(x[k], -most), most);
        }
        if (largest < 1e-5)
            break;
    }
    return true;
}

/* Cross-validated error: 1.4826 x the median of |residual| of blocks when the others are fitted with the same
 * frequencies, so that change has no say in it; INFINITY where they cannot be. */
static double validate(Bins *b, const Fit *f, int scheme)
{
    int64_t n = 0;
    for (int k = 0; k < schemes[scheme].folds; k++) {
        Fit part = *f;
        const Fold held = {schemes[scheme].axis, schemes[scheme].held[k]};
        if (!fit_bins(b, (Fold){held.axis, EVERY_BLOCK & ~held.blocks}, false, &part))
            return INFINITY;
        measure(b, &part, ALL);
        for (int64_t i = 0; i < b->count; i++)
            if (in_fold(b, i, held))
                b->held_m[n++] = fabs(b->residual_m[i]);
    }
    return n > 0 ? 1.4826 * sdm_median_f64(b->held_m, n) : INFINITY;
}

/* Is the second fit better than the first by enough, in the first few schemes? */
static bool gains(Bins *b, const Fit *first, const Fit *second, int count)
{
    for (int k = 0; k < count; k++) {
        const double before_m = validate(b, first, k);
        if (!(before_m > LEAST_ERROR_M && validate(b, second, k) <= (1.0 - MIN_GAIN) * before_m))
            return false;
    }
    return true;
}

/* ---- sines ---- */

/* Weighted mean of the residuals at each bin along the track: sums of weight x residual, and of weights.
 * Residuals are clipped at their NMAD, which is that of a sine's amplitude, so that a change is not taken for
 * long waves. */
static void collapse(Bins *b)
{
    memset(b->profile, 0, 2 * (size_t)b->along * sizeof *b->profile);
    memcpy(b->spare, b->residual_m, (size_t)b->count * sizeof *b->spare);
    const double limit_m = sdm_nmad_f64(b->spare, b->count, NULL);
    for (int64_t i = 0; i < b->count; i++) {
        b->profile[2 * b->row[i]] += b->weight[i] * fmin(fmax(b->residual_m[i], -limit_m), limit_m);
        b->profile[2 * b->row[i] + 1] += b->weight[i];
    }
}

/* Cosine and sine of a frequency that fit the profile best -> term.  @return how much they lower its squares
 */
static double power_at(const Bins *b, double omega, double term[2])
{
    const double du = 2.0 / (double)b->along, dc = cos(omega * du), ds = sin(omega * du);
    double c = cos(omega * (0.5 * du - 1.0)), s = sin(omega * (0.5 * du - 1.0));
    double yc = 0.0, ys = 0.0, cc = 0.0, cs = 0.0, ss = 0.0;
    for (int64_t k = 0; k < b->along; k++) {
        const double y = b->profile[2 * k], w = b->profile[2 * k + 1];
        yc += y * c;
        ys += y * s;
        cc += w * c * c;
        cs += w * c * s;
        ss += w * s * s;
        const double next = c * dc - s * ds;
        s = s * dc + c * ds;
        c = next;
    }
    const double determinant = cc * ss - cs * cs;
    if (!(determinant > 1e-9 * (cc + ss) * (cc + ss)))
        return 0.0;
    term[0] = (ss * yc - cs * ys) / determinant;
    term[1] = (cc * ys - cs * yc) / determinant;
    return term[0] * yc + term[1] * ys;
}

/* Add the strongest sine of what the fit leaves, then adjust all terms.  @return false where there is none */
static bool add_sine(Bins *b, double least_waves, Fit *f)
{
    double best = 0.0, omega = 0.0, term[2], found[2] = {0.0, 0.0};
    const double most = (double)b->along / SHORTEST_BINS;
    collapse(b);
    for (double waves = least_waves; waves <= most; waves += WAVE_STEP) {
        bool taken = false;
        for (int k = 0; k < f->sines; k++)
            taken = taken || fabs(f->omega[k] - PI * waves) < 0.5 * PI;
        const double power = taken ? 0.0 : power_at(b, PI * waves, term);
        if (power > best) {
            best = power;
            omega = PI * waves;
            memcpy(found, term, sizeof found);
        }
    }
    if (!(best > 0.0))
        return false;
    const int at = linear_terms(f);
    f->term[at] = found[0];
    f->term[at + 1] = found[1];
    f->omega[f->sines++] = omega;
    return fit_bins(b, ALL, true, f) && fabs(f->omega[f->sines - 1] - omega) < PI;
}

/* Sines, one more while each gains, also where it is extrapolated over a quarter of the track: a change that
 * is as long as two blocks predicts half of itself. */
static SdmStatus choose_sines(SdmContext *ctx, Bins *b, double least_waves, Fit *f)
{
    SdmStatus st = SDM_OK;
    while (f->sines < SDM_BIAS_SINES) {
        Fit more = *f;
        TRY(sdm_check_stop(ctx));
        if (!fit_bins(b, ALL, false, f) || !add_sine(b, least_waves, &more) || !gains(b, f, &more, SCHEMES))
            break;
        *f = more;
    }
done:
    return st;
}

/* The terms of the model.  Short sines first: as long as they are left in, residuals are so large that a
 * change is no outlier among them, and it looks like a long sine. */
static SdmStatus choose_terms(SdmContext *ctx, Bins *b, Fit *f)
{
    SdmStatus st = SDM_OK;
    TRY(choose_sines(ctx, b, FIRST_WAVES, f));
    for (int degree = 2; degree <= SDM_BIAS_DEGREE; degree++) {
        Fit more = *f; /* the terms of the sines move up by one */
        memmove(more.term + 2 + degree, f->term + 2 + f->degree, 2 * (size_t)f->sines * sizeof *f->term);
        memset(more.term + 2 + f->degree, 0, (size_t)(degree - f->degree) * sizeof *more.term);
        more.degree = degree;
        if (fit_bins(b, ALL, false, &more) && gains(b, f, &more, ALONG_QUARTERS))
            *f = more;
    }
    TRY(choose_sines(ctx, b, LONGEST_WAVE, f));
done:
    return st;
}

/* ---- the fit ---- */

/* Terms of the fit -> model, with a mean of 0 over the bins. */
static void set_model(const Bins *b, const Fit *f, SdmBiasModel *m)
{
    double sum = 0.0, weights = 0.0;
    m->across_m = f->term[1];
    m->degree = f->degree;
    m->sines = f->sines;
    for (int k = 0; k < f->degree; k++)
        m->along_m[k] = f->term[2 + k];
    for (int k = 0; k < f->sines; k++) {
        const double *const a = f->term + 2 + f->degree + 2 * k;
        m->sine[k] = (SdmSine){.wavelength_m = 2.0 * PI * m->half_m[0] / f->omega[k],
                               .amplitude_m = hypot(a[0], a[1]),
                               .phase_rad = atan2(a[1], a[0])};
    }
    for (int64_t i = 0; i < b->count; i++) {
        double terms[TERMS];
        terms_at(f, b->u[i], b->v[i], terms);
        for (int k = 1; k < linear_terms(f); k++)
            sum += b->weight[i] * f->term[k] * terms[k];
        weights += b->weight[i];
    }
    m->constant_m = -sum / weights;
}

/* Fit the model for its direction of the track.  *turn_deg: by how much the sines ask for another one. */
static SdmStatus fit_direction(SdmContext *ctx, const SdmBiasSamples *samples, double cell_m, SdmBiasModel *m,
                               double *turn_deg)
{
    SdmStatus st = SDM_OK;
    Bins b = {0};
    Fit fit = {.degree = 1}, plane;
    const bool track = m->kind == SDM_BIAS_TRACK;
    *m = (SdmBiasModel){
        .kind = m->kind, .track_deg = track ? m->track_deg : 0.0, .low_order_m = NAN, .chosen_m = NAN};
    *turn_deg = 0.0;
    find_extent(samples, m);
    const double cells = samples->count ? floor(2.0 * m->half_m[0] / cell_m + 1.5) : 0.0;
    if (track && cells < MIN_ALONG)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "--model track: DEM and reference have %.0f cells in common along the track, and %d are needed; "
            "take --model tilt",
            cells, MIN_ALONG);
    const int64_t along = track ? (int64_t)fmin(cells, MAX_ALONG) : TILT_BINS;
    TRY(make_bins(ctx, samples, m, along, track ? ACROSS : TILT_BINS, &b));
    if (b.count < 8 || !fit_bins(&b, ALL, false, &fit)) {
        st = sdm_fail(
            ctx, SDM_ERR_DATA,
            "--model %s: DEM and reference have too little ground in common for a plane; take --model shift",
            track ? "track" : "tilt");
        goto done;
    }
    plane = fit;
    if (track) {
        TRY(choose_terms(ctx, &b, &fit));
        m->low_order_m = validate(&b, &plane, ALONG_BLOCKS);
        m->chosen_m = validate(&b, &fit, ALONG_BLOCKS);
        *turn_deg = fit.turn * m->half_m[0] / m->half_m[1] * 180.0 / PI;
    }
    set_model(&b, &fit, m);
done:
    bins_close(&b);
    return st;
}

/* How much the residuals of bins (a plane taken out) have in common across a track of a direction: the
 * squares of the means of SEARCH_BINS strips, less what chance would leave.  half_m: of the bins, north and
 * east. */
static double common_across(Bins *b, double track_deg, const double half_m[2])
{
    const double s = sin(track_deg * PI / 180.0), c = cos(track_deg * PI / 180.0),
                 reach_m = hypot(half_m[0], half_m[1]);
    double squares = 0.0, weights = 0.0, score = 0.0;
    int64_t strips = 0;
    memset(b->profile, 0, 2 * SEARCH_BINS * sizeof *b->profile);
    for (int64_t i = 0; i < b->count; i++) {
        const double along = (b->v[i] * half_m[1] * s + b->u[i] * half_m[0] * c) / reach_m, w = b->robust[i];
        double *const strip =
            b->profile + 2 * (int64_t)fmin((along + 1.0) * 0.5 * SEARCH_BINS, SEARCH_BINS - 1);
        strip[0] += w * b->residual_m[i];
        strip[1] += w;
        squares += w * b->residual_m[i] * b->residual_m[i];
        weights += w;
    }
    for (int k = 0; k < SEARCH_BINS; k++)
        if (b->profile[2 * k + 1] > 0.0) {
            score += b->profile[2 * k] * b->profile[2 * k] / b->profile[2 * k + 1];
            strips++;
        }
    return weights > 0.0 ? score - (double)strips * squares / weights : 0.0;
}

/* Direction of the track, to a degree, from the residuals themselves. */
static SdmStatus search_track(SdmContext *ctx, const SdmBiasSamples *samples, double *track_deg)
{
    SdmStatus st = SDM_OK;
    Bins b = {0};
    Fit plane = {.degree = 1};
    SdmBiasModel level = {.kind = SDM_BIAS_TILT};
    double best = -INFINITY;
    *track_deg = 0.0;
    find_extent(samples, &level);
    TRY(make_bins(ctx, samples, &level, SEARCH_BINS, SEARCH_BINS, &b));
    if (b.count < 8 || !fit_bins(&b, ALL, false, &plane))
        goto done;
    for (int deg = -89; deg <= 90; deg++) {
        const double score = common_across(&b, deg, level.half_m);
        if (score > best) {
            best = score;
            *track_deg = deg;
        }
    }
done:
    bins_close(&b);
    return st;
}

SdmStatus sdm_bias_fit(SdmContext *ctx, const SdmBiasSamples *samples, double cell_m, SdmBiasModel *m)
{
    SdmStatus st = SDM_OK;
    double turn_deg = 0.0;
    if (m->kind == SDM_BIAS_TRACK && isnan(m->track_deg))
        TRY(search_track(ctx, samples, &m->track_deg));
    const double asked_deg = m->track_deg;
    for (int round = 0; round <= TURNS; round++) {
        TRY(fit_direction(ctx, samples, cell_m, m, &turn_deg));
        if (round == TURNS || fabs(turn_deg) < SAME_TRACK_DEG ||
            fabs(m->track_deg + turn_deg - asked_deg) > MAX_TURN_DEG)
            break;
        m->track_deg += turn_deg;
    }
done:
    return st;
}

/* ---- the direction of the track ---- */

enum { EDGE_ROWS = 200 };

/* Columns of an edge at rows -> its slope (columns a row) by Theil and Sen, and the NMAD of the columns about
 * it. */
static double edge_slope(const double *col, const double *row, int n, double *slopes, double *nmad)
{
    int64_t k = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            slopes[k++] = (col[i] - col[j]) / (row[i] - row[j]);
    const double slope = sdm_median_f64(slopes, k);
    for (int i = 0; i < n; i++)
        slopes[i] = col[i] - slope * row[i];
    *nmad = sdm_nmad_f64(slopes, n, NULL);
    return slope;
}

/* First or last column that has a height in a row; -1: none. */
static int64_t edge_of_row(const float *line, int64_t cols, bool right)
{
    for (int64_t i = 0; i < cols; i++) {
        const int64_t at = right ? cols - 1 - i : i;
        if (!isnan(line[at]))
            return at;
    }
    return -1;
}

SdmStatus sdm_bias_find_track(SdmContext *ctx, const float *height_m, int64_t cols, int64_t rows,
                              int64_t pitch, const double cell_m[2], double *track_deg)
{
    SdmStatus st = SDM_OK;
    double *slopes = NULL, angle[2];
    double edge[2][EDGE_ROWS], row[EDGE_ROWS], nmad;
    int n = 0, rim[2] = {0, 0};
    bool straight = true;
    *track_deg = NAN;
    TRY(sdm_alloc(ctx, &slopes, EDGE_ROWS * EDGE_ROWS, sizeof *slopes, "edges of the footprint"));
    for (int k = 0; k < EDGE_ROWS; k++) { /* the middle half of the rows */
        const int64_t j = rows / 4 + (int64_t)((double)k * (double)rows / (2.0 * EDGE_ROWS));
        if (n && row[n - 1] >= (double)j)
            continue;
        const int64_t left = edge_of_row(height_m + j * pitch, cols, false);
        if (left < 0)
            continue;
        const int64_t right = edge_of_row(height_m + j * pitch, cols, true);
        rim[0] += left == 0;
        rim[1] += right == cols - 1;
        edge[0][n] = (double)left;
        edge[1][n] = (double)right;
        row[n++] = (double)j;
    }
    for (int k = 0; k < 2 && n >= 20; k++) {
        const double slope = edge_slope(edge[k], row, n, slopes, &nmad);
        straight = straight && nmad < 3.0 + 0.01 * (double)cols && 2 * rim[k] < n;
        angle[k] = atan2(-slope * cell_m[0], cell_m[1]) * 180.0 / PI;
    }
    if (n >= 20 && straight && fabs(angle[0] - angle[1]) < 3.0 && fabs(angle[0]) < 30.0)
        *track_deg = 0.5 * (angle[0] + angle[1]);
done:
    sdm_free(&slopes);
    return st;
}
