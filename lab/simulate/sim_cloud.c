/* Share and kind -> decks of clouds; ray and time -> what they hide and add; ground and time -> their shadow.
 */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

enum { LEVEL = 2 /* octave of the finest nodes */, HEAP_STEPS = 2 };
#define WHITE_DN 195.0f
/* Share of the light of the ground: the edge of a patch hides it early; through a veil of an optical depth of
 * ln 2 half of its contrast is left. */
static const float CLEAR_PATCH = 0.97f, CLEAR_VEIL = 0.5f;

typedef struct Range {
    double lo, hi;
} Range;
typedef struct Kind {
    Range height_m, wave_m, heap_m, opacity; /* height: above the ground; clouds are 2 to 3 waves wide */
    double most_wave;                        /* share of the scene */
    double hurst, soft, shadow;
    float dn, rough_dn; /* a veil scatters most of what it takes forward */
} Kind;
static const Kind HEAPS = {{1e3, 3e3}, {350.0, 1.1e3}, {150.0, 500.0}, {1.0, 1.0}, 0.1, 0.85, 0.25,
                           0.6,        WHITE_DN,       15.0f},
                  SHEET = {{3e3, 5e3}, {4e3, 12e3}, {0.0, 0.0}, {1.0, 1.0}, 0.25,
                           0.8,        0.35,        0.6,        WHITE_DN,   6.0f},
                  VEIL = {{6e3, 10e3}, {3e3, 10e3}, {0.0, 0.0}, {0.3, 0.65}, 0.25,
                          0.9,         1.6,         0.0,        130.0f,      5.0f};

/* A value of the range by the seed; `what` tells the draws of a deck apart. */
static double draw(const SimScene *sc, uint32_t what, Range of)
{
    const double u = sim_hash(sim_error_seed(sc->opt) + 4u, 300, sc->decks, what) / 4294967296.0;
    return of.lo + (of.hi - of.lo) * u;
}

/* Field of the deck at a map point; at t = 0 it lies as its window does. */
static float field_at(const SimDeck *d, const SimWindow *w, double x, double y, double t_s)
{
    return sim_value(w, x - d->wind[0] * t_s, y - d->wind[1] * t_s);
}

static SdmStatus cloud_at(SimScene *sc, const void *deck, double x, double y, float *v)
{
    return sim_noise_at(sc->ctx, &((const SimDeck *)deck)->field, LEVEL, sc->unit_m, x, y, v);
}

/* The edge that gives the deck its share of the left image, whose middle is taken at t = 0. */
static SdmStatus find_edge(SimScene *sc, SimDeck *d, double share)
{
    return sim_quantile(sc, d->height, 1.0 - share, cloud_at, d, &d->edge);
}

static SdmStatus add_deck(SimScene *sc, const Kind *kind, double share)
{
    SimDeck *const d = &sc->deck[sc->decks];
    const double speed = draw(sc, 0, (Range){5.0, 20.0}), to = draw(sc, 1, (Range){0.0, 2.0 * SIM_PI});
    const double wave_m = fmin(draw(sc, 2, kind->wave_m), kind->most_wave * sc->extent_m);
    *d = (SimDeck){.soft = kind->soft,
                   .rise = 1.0,
                   .shadow = kind->shadow,
                   .dn = kind->dn,
                   .rough_dn = kind->rough_dn,
                   .wind = {speed * sin(to), speed * cos(to)}};
    d->opacity = draw(sc, 3, kind->opacity);
    d->height = fmax(sc->h_mean + draw(sc, 4, kind->height_m), sc->h_hi + 200.0); /* no peak reaches it */
    d->top = d->height + draw(sc, 5, kind->heap_m);
    sim_spectrum(&d->field, sim_error_seed(sc->opt) + 4u + 0x5bd1e995u * (uint32_t)(sc->decks + 1), LEVEL,
                 sim_octave(wave_m, sc->unit_m), kind->hurst, 1.0);
    sc->decks++;
    sdm_log(sc->ctx, SDM_LOG_INFO, 0, "clouds on %.0f %%, %.0f to %.0f m high, wind %.1f m/s to %.0f deg",
            100.0 * share, d->height, d->top, speed, to * 180.0 / SIM_PI);
    return find_edge(sc, d, share);
}

/* The clouds of the first version: one smooth deck at rest, without shadows. */
static SdmStatus add_patches(SimScene *sc)
{
    SimDeck *const d = &sc->deck[sc->decks++];
    *d = (SimDeck){.soft = 0.35, .opacity = 1.0, .dn = WHITE_DN, .rough_dn = 3.0f};
    d->height = d->top = sc->h_mean + fmin(3000.0, 0.25 * sc->extent_m);
    sim_spectrum(&d->field, sim_error_seed(sc->opt) + 4u, LEVEL, sim_octave(0.25 * sc->extent_m, sc->unit_m),
                 0.9, 1.0);
    sc->clear = CLEAR_PATCH;
    return find_edge(sc, d, sc->opt->cloud);
}

SdmStatus sim_cloud_plan(SimScene *sc)
{
    const char *const kind = sc->opt->cloud_kind ? sc->opt->cloud_kind : "patches";
    const double share = sc->opt->cloud;
    if (!(share > 0.0))
        return SDM_OK;
    if (strcmp(kind, "patches") == 0)
        return add_patches(sc);
    sc->clear = CLEAR_VEIL;
    const bool layers = strcmp(kind, "layers") == 0;
    const double each = layers ? 1.0 - sqrt(1.0 - share) : share; /* two decks hide `share` together */
    if (strcmp(kind, "cirrus") == 0 || (layers && draw(sc, 9, (Range){0.0, 1.0}) < 0.5))
        PASS(add_deck(sc, &VEIL, share));
    if (layers)
        PASS(add_deck(sc, &SHEET, each));
    if (layers || strcmp(kind, "broken") == 0)
        PASS(add_deck(sc, &HEAPS, each));
    return SDM_OK;
}

/* Map metres that the sun's ray moves by for a metre of height. */
static const double SUN_LEAN[2] = {0.354 / 0.7071, -0.612 / 0.7071};

/* *box grows to hold `part` moved by x, y. */
static void hold(SimBox *box, const SimBox *part, double x, double y)
{
    *box = (SimBox){fmin(box->x0, part->x0 + x), fmin(box->y0, part->y0 + y), fmax(box->x1, part->x1 + x),
                    fmax(box->y1, part->y1 + y)};
}

SdmStatus sim_cloud_open(SimScene *sc, const SimBox sky[SIM_DECKS], const SimBox *ground, SimGround *g)
{
    for (int k = 0; k < sc->decks; k++) {
        const SimDeck *const d = &sc->deck[k];
        SimBox seen = sky[k], box = {INFINITY, INFINITY, -INFINITY, -INFINITY};
        for (int e = 0; e < 2 && ground && d->shadow > 0.0; e++) {
            const double rise = d->height - (e ? sc->h_hi : sc->h_lo);
            hold(&seen, ground, rise * SUN_LEAN[0], rise * SUN_LEAN[1]);
        }
        for (int e = 0; e < 4; e++) { /* first and last row of each view */
            const SimCamera *const cam = &sc->view[e >> 1].cam;
            const double t_s = sim_row_time(cam, e & 1 ? cam->height : 0.0);
            hold(&box, &seen, -d->wind[0] * t_s, -d->wind[1] * t_s);
        }
        g->deck[k] = sim_window(&box, ldexp(sc->unit_m, LEVEL), 4);
        PASS(sim_noise(sc->ctx, &d->field, LEVEL, &g->deck[k]));
    }
    return SDM_OK;
}

static float cover_of(const SimDeck *d, float field)
{
    const double s = ((double)field - d->edge) / d->soft + 0.5;
    return (float)(d->opacity * (s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s * s * (3.0 - 2.0 * s)));
}

float sim_cloud_view(const SimScene *sc, const SimGround *g, const SimLattice *lat, const SimRay *ray,
                     double t_s, float *dn)
{
    float through = 1.0f;
    *dn = 0.0f;
    for (int k = 0; k < sc->decks && through > 0.0f; k++) {
        const SimDeck *const d = &sc->deck[k];
        double x, y;
        sim_ray_xy(lat, ray, d->height, &x, &y);
        float field = field_at(d, &g->deck[k], x, y, t_s);
        for (int n = 0; n < HEAP_STEPS && d->top > d->height; n++) { /* where the ray meets the heap */
            const double up = fmin(fmax((double)field - d->edge, 0.0) / d->rise, 1.0);
            sim_ray_xy(lat, ray, d->height + up * (d->top - d->height), &x, &y);
            field = field_at(d, &g->deck[k], x, y, t_s);
        }
        const float cover = cover_of(d, field);
        *dn += through * cover * (d->dn + d->rough_dn * (field - (float)d->edge));
        through *= 1.0f - cover;
    }
    return through;
}

float sim_cloud_shadow(const SimScene *sc, const SimGround *g, const double p[3], double t_s)
{
    float light = 1.0f;
    for (int k = 0; k < sc->decks; k++) {
        const SimDeck *const d = &sc->deck[k];
        const double rise = d->height - p[2];
        if (d->shadow > 0.0)
            light *= 1.0f - (float)d->shadow * cover_of(d, field_at(d, &g->deck[k], p[0] + rise * SUN_LEAN[0],
                                                                    p[1] + rise * SUN_LEAN[1], t_s));
    }
    return light;
}
