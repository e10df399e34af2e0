/* Seed -> houses, chimneys, trees and cars on the terrain as solids of exact shape; a line of sight -> where
 * it meets one first, and how bright that is.  A solid is a convex body that reaches down into the ground, so
 * that a line's way through it is one interval of heights.  Town axes: u along the streets, v to the left of
 * it, origin at the scene's centre. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"

static const double MARGIN_M = 60.0, BUCKET_M = 16.0, STREET_M = 6.0, YARD_M = 9.0, GABLE_M = 3.0,
                    CAR_M = 1.4;
static const double TREE_SPACING_M = 25.0, CAR_SPACING_M = 40.0;
static const float SHADOW = 0.45f, WINDOW_DN = 35.0f, LEAST_DN = 6.0f;
enum { ALWAYS = 7, FIELD = 301, CARS = 20 };

typedef struct SimSolid {
    double box[4];        /* footprint: lowest u, lowest v, highest u, highest v */
    double top, rise;     /* height of the eaves; a gable's ridge (along u) above them, a dome's centre to its
                       * top */
    float dn, contrast;   /* radiance in the sun: dn + contrast x texture of the ground, */
    float wall;           /* and of walls */
    uint8_t class, views; /* a bit for each view that it stands in, 4 for the truth */
    bool dome, glass;
} SimSolid;

struct SimTown {
    double axis[2]; /* map x, y of u's unit vector */
    double sun[2];  /* u, v that the line to the sun moves by for a metre of height */
    double reach_m, top;
    SimSolid *solid;
    int solids, room;
    int side;          /* buckets of BUCKET_M: side x side */
    int *first, *item; /* item[first[b] .. first[b + 1] - 1]: solids over bucket b */
};

/* A share 0..1 of its own for every purpose, row and place; from CARS on scenes of one town differ. */
static double draw(const SimScene *sc, uint32_t purpose, int64_t i, int64_t j)
{
    const uint32_t seed = purpose < CARS ? (uint32_t)sc->opt->seed * 8u + 7u : sim_error_seed(sc->opt);
    return sim_hash(seed, FIELD + purpose, i, j) / 4294967296.0;
}

static void to_town(const SimTown *t, double x, double y, double uv[2])
{
    uv[0] = x * t->axis[0] + y * t->axis[1];
    uv[1] = y * t->axis[0] - x * t->axis[1];
}

/* Append a solid; s->top is above the ground and becomes a height. */
static SdmStatus stand(SimScene *sc, SimTown *t, SimSolid s)
{
    float ground;
    const double u = 0.5 * (s.box[0] + s.box[2]), v = 0.5 * (s.box[1] + s.box[3]);
    if (t->solids == t->room) {
        const int room = 2 * t->room + 1024;
        SimSolid *more = NULL;
        PASS(sdm_alloc(sc->ctx, &more, (size_t)room, sizeof *more, "town"));
        for (int k = 0; k < t->solids; k++)
            more[k] = t->solid[k];
        sdm_free(&t->solid);
        t->solid = more;
        t->room = room;
    }
    PASS(sim_terrain_at(sc, sc->x + u * t->axis[0] - v * t->axis[1], sc->y + u * t->axis[1] + v * t->axis[0],
                        &ground));
    s.top += (double)ground;
    t->top = fmax(t->top, s.top + s.rise);
    t->solid[t->solids++] = s;
    return SDM_OK;
}

/* House n of the town: textured but for each eleventh, whose roof has one grey value, of glass every second
 * time; each third has a gable, each fourth a chimney of 1 x 1 m. */
static SdmStatus build_house(SimScene *sc, SimTown *t, int n, const double box[4])
{
    const bool plain = n % 11 == 0, gable = n % 3 == 0 && !plain;
    const double tall = 5.0 + 9.0 * draw(sc, 2, n, 0), u = 0.5 * (box[0] + box[2]),
                 v = 0.5 * (box[1] + box[3]);
    PASS(stand(sc, t,
               (SimSolid){.box = {box[0], box[1], box[2], box[3]},
                          .top = tall,
                          .rise = gable ? GABLE_M : 0.0,
                          .dn = (float)(60.0 + 110.0 * draw(sc, 3, n, 0)),
                          .wall = (float)(50.0 + 100.0 * draw(sc, 4, n, 0)),
                          .contrast = plain ? 0.0f : 0.8f,
                          .class = plain ? SIM_PLAIN_ROOF : SIM_ROOF,
                          .views = ALWAYS,
                          .glass = n % 22 == 0}));
    if (n % 4 == 1)
        PASS(stand(sc, t,
                   (SimSolid){.box = {u, v, u + 1.0, v + 1.0},
                              .top = tall + 2.0 + (gable ? GABLE_M : 0.0),
                              .dn = 90.0f,
                              .wall = 90.0f,
                              .contrast = 0.8f,
                              .class = SIM_ROOF,
                              .views = ALWAYS}));
    return SDM_OK;
}

/* Rows of houses, 10 to 18 m deep and 10 to 22 m long, a street of 7 m between rows, streets of 6 and yards
 * of 9 m between houses. */
static SdmStatus build_houses(SimScene *sc, SimTown *t)
{
    int n = 0, row = 0;
    for (double v = -t->reach_m; v < t->reach_m; row++) {
        const double deep = 10.0 + 8.0 * draw(sc, 0, row, 0);
        for (double u = -t->reach_m + 20.0 * draw(sc, 0, row, 1); u < t->reach_m;) {
            const double length = 10.0 + 12.0 * draw(sc, 1, ++n, 0);
            PASS(build_house(sc, t, n, (double[]){u, v, u + length, v + deep}));
            u += length + (n % 2 ? STREET_M : YARD_M);
        }
        PASS(sdm_check_stop(sc->ctx));
        v += deep + STREET_M + 1.0;
    }
    return SDM_OK;
}

typedef struct Span {
    int i0, i1, j0, j1;
} Span; /* buckets, the last ones included */

static int bucket(const SimTown *t, double at)
{
    return sdm_clamp((int)floor((at + t->reach_m + MARGIN_M) / BUCKET_M), 0, t->side - 1);
}

static Span span(const SimTown *t, const double box[4])
{
    return (Span){bucket(t, box[0]), bucket(t, box[2]), bucket(t, box[1]), bucket(t, box[3])};
}

/* List what stands over each bucket. */
static SdmStatus sort_solids(SimScene *sc, SimTown *t)
{
    const size_t buckets = (size_t)t->side * (size_t)t->side;
    SDM_FREE(&t->first, &t->item);
    PASS(sdm_alloc(sc->ctx, &t->first, buckets + 2, sizeof *t->first, "town"));
    for (int pass = 0; pass < 2; pass++) { /* count, then list; first[b + 1] is where b's next goes */
        for (int k = 0; k < t->solids; k++) {
            const Span at = span(t, t->solid[k].box);
            for (int j = at.j0; j <= at.j1; j++)
                for (int i = at.i0; i <= at.i1; i++)
                    if (pass)
                        t->item[t->first[j * t->side + i + 1]++] = k;
                    else
                        t->first[j * t->side + i + 2]++;
        }
        if (pass)
            break;
        for (size_t b = 2; b < buckets + 2; b++)
            t->first[b] += t->first[b - 1];
        PASS(sdm_alloc(sc->ctx, &t->item, (size_t)t->first[buckets + 1] + 1, sizeof *t->item, "town"));
    }
    return SDM_OK;
}

static bool is_free(const SimTown *t, const double box[4])
{
    const Span at = span(t, box);
    for (int j = at.j0; j <= at.j1; j++)
        for (int i = at.i0; i <= at.i1; i++)
            for (int n = t->first[j * t->side + i]; n < t->first[j * t->side + i + 1]; n++) {
                const double *const b = t->solid[t->item[n]].box;
                if (box[0] < b[2] && box[2] > b[0] && box[1] < b[3] && box[3] > b[1])
                    return false;
            }
    return true;
}

/* Up to two trees in each square of 25 m, of 3 to 8 m across, where no house stands. */
static SdmStatus plant_trees(SimScene *sc, SimTown *t)
{
    const int n = (int)ceil(2.0 * t->reach_m / TREE_SPACING_M);
    PASS(sort_solids(sc, t));
    for (int k = 0, tries = 2; k < n * n * tries; k++) {
        const int i = k / tries % n, j = k / tries / n;
        const double r = 1.5 + 2.5 * draw(sc, 10, k, 0);
        const double u = -t->reach_m + (i + draw(sc, 11, k, 0)) * TREE_SPACING_M,
                     v = -t->reach_m + (j + draw(sc, 12, k, 0)) * TREE_SPACING_M;
        const SimSolid tree = {.box = {u - r, v - r, u + r, v + r},
                               .rise = 4.0 + 5.0 * draw(sc, 13, k, 0),
                               .dn = 50.0f,
                               .contrast = 0.8f,
                               .class = SIM_TREE,
                               .views = ALWAYS,
                               .dome = true};
        if (is_free(t, tree.box))
            PASS(stand(sc, t, tree));
    }
    return SDM_OK;
}

/* In each view other cars: one in most squares of 40 m that have room, along or across the streets. */
static SdmStatus park_cars(SimScene *sc, SimTown *t)
{
    const int n = (int)ceil(2.0 * t->reach_m / CAR_SPACING_M);
    PASS(sort_solids(sc, t));
    for (int view = 0; view < 2; view++)
        for (int k = 0; k < n * n; k++) {
            const int64_t m = 2 * k + view;
            const double u = -t->reach_m + (k % n + draw(sc, 20, m, 0)) * CAR_SPACING_M;
            const double v = -t->reach_m + (k / n + draw(sc, 21, m, 0)) * CAR_SPACING_M;
            const double length = draw(sc, 22, m, 0) < 0.5 ? 4.5 : 2.0, width = 6.5 - length;
            const SimSolid car = {.box = {u, v, u + length, v + width},
                                  .top = CAR_M,
                                  .dn = draw(sc, 23, m, 0) < 0.5 ? 30.0f : 220.0f,
                                  .wall = 60.0f,
                                  .class = SIM_CAR,
                                  .views = (uint8_t)(1 << view)};
            if (is_free(t, car.box))
                PASS(stand(sc, t, car));
        }
    return sort_solids(sc, t);
}

SdmStatus sim_town_open(SimScene *sc)
{
    SimTown *t = NULL;
    const double a = sc->opt->town_azimuth_deg * SIM_PI / 180.0;
    PASS(sdm_alloc(sc->ctx, &t, 1, sizeof *t, "town"));
    sc->town = t;
    t->axis[0] = sin(a);
    t->axis[1] = cos(a);
    to_town(t, (double)sim_sun[0] / (double)sim_sun[2], (double)sim_sun[1] / (double)sim_sun[2], t->sun);
    t->reach_m = 0.6 * sc->opt->gsd_m * hypot(sc->opt->width, sc->opt->height) + 2.0 * MARGIN_M;
    t->side = (int)ceil(2.0 * (t->reach_m + MARGIN_M) / BUCKET_M);
    t->top = -INFINITY;
    PASS(build_houses(sc, t));
    PASS(plant_trees(sc, t));
    PASS(park_cars(sc, t));
    sc->h_hi = fmax(sc->h_hi, t->top + 1.0);
    return SDM_OK;
}

void sim_town_close(SimTown **town)
{
    if (!*town)
        return;
    SDM_FREE(&(*town)->solid, &(*town)->first, &(*town)->item);
    sdm_free(town);
}

/* A line through (u, v, h) = at that moves by lean (u, v) for a metre of height. */
typedef struct Line {
    double at[3], lean[2];
} Line;

/* Dome: the ellipsoid that its box holds, around the foot.  @return greatest height on it, or -INFINITY. */
static double meet_dome(const SimSolid *s, const Line *l, double normal[3])
{
    double a = 1.0 / (s->rise * s->rise), b = (l->at[2] - s->top) * a, c = (l->at[2] - s->top) * b - 1.0;
    for (int k = 0; k < 2; k++) {
        const double r = 0.5 * (s->box[k + 2] - s->box[k]), p = (l->at[k] - s->box[k]) / r - 1.0,
                     d = l->lean[k] / r;
        a += d * d;
        b += p * d;
        c += p * p;
    }
    const double root = b * b - a * c;
    if (root <= 0.0)
        return -INFINITY;
    const double rise = (sqrt(root) - b) / a, h = l->at[2] + rise;
    for (int k = 0; k < 2; k++) {
        const double r = 0.5 * (s->box[k + 2] - s->box[k]);
        normal[k] = (l->at[k] + rise * l->lean[k] - s->box[k] - r) / (r * r);
    }
    normal[2] = (h - s->top) / (s->rise * s->rise);
    return h;
}

/* @return the greatest height at which the line is inside the solid, with the face's outward normal, or
 * -INFINITY. */
static double meet(const SimSolid *s, const Line *l, double normal[3])
{
    double low = -INFINITY, high = INFINITY;
    for (int k = 0; k < 2; k++) {
        const double to[2] = {s->box[k] - l->at[k], s->box[k + 2] - l->at[k]};
        if (fabs(l->lean[k]) < 1e-9) {
            if (to[0] > 0.0 || to[1] < 0.0)
                return -INFINITY;
            continue;
        }
        const int out = l->lean[k] > 0.0; /* the side where the rising line leaves */
        const double leaves = l->at[2] + to[out] / l->lean[k];
        low = fmax(low, l->at[2] + to[!out] / l->lean[k]);
        if (leaves < high) {
            high = leaves;
            normal[k] = out ? 1.0 : -1.0;
            normal[!k] = normal[2] = 0.0;
        }
    }
    if (low >= high)
        return -INFINITY;
    if (s->dome)
        return meet_dome(s, l, normal);
    const double half = 0.5 * (s->box[3] - s->box[1]), v = l->at[1] - s->box[1] - half;
    for (int k = s->rise > 0.0 ? -1 : 1; k < 2; k += 2) { /* sides of the roof fall towards -v and v */
        const double slope = k * s->rise / half,
                     plane = (s->top + s->rise - slope * (v - l->at[2] * l->lean[1])) /
                             (1.0 + slope * l->lean[1]);
        if (plane < high) {
            high = plane;
            normal[0] = 0.0;
            normal[1] = slope;
            normal[2] = 1.0;
        }
    }
    return low < high ? high : -INFINITY;
}

/* The solid of the views (bits) that the line meets at the greatest height above its point; NULL if it meets
 * none. */
static const SimSolid *first_on(const SimTown *t, const Line *l, int views, const SimSolid *but,
                                double *height, double normal[3])
{
    const double rise = fmax(t->top - l->at[2], 0.0);
    const double to[2] = {l->at[0] + rise * l->lean[0], l->at[1] + rise * l->lean[1]};
    const Span at = span(t, (double[]){fmin(l->at[0], to[0]), fmin(l->at[1], to[1]), fmax(l->at[0], to[0]),
                                       fmax(l->at[1], to[1])});
    const SimSolid *found = NULL;
    *height = l->at[2];
    for (int j = at.j0; j <= at.j1; j++)
        for (int i = at.i0; i <= at.i1; i++)
            for (int n = t->first[j * t->side + i]; n < t->first[j * t->side + i + 1]; n++) {
                const SimSolid *const s = &t->solid[t->item[n]];
                double face[3] = {0.0, 0.0, 1.0};
                if (s == but || !(s->views & views) || s->top + s->rise <= *height)
                    continue;
                const double h = meet(s, l, face);
                if (h > *height) {
                    *height = h;
                    found = s;
                    for (int k = 0; k < 3; k++)
                        normal[k] = face[k];
                }
            }
    return found;
}

static Line line_of(const SimScene *sc, const double p[3], const double lean[2])
{
    Line l = {.at = {0.0, 0.0, p[2]}};
    to_town(sc->town, p[0] - sc->x, p[1] - sc->y, l.at);
    to_town(sc->town, lean[0], lean[1], l.lean);
    return l;
}

double sim_town_height(const SimScene *sc, int views, const double p[3], const double lean[2], int *class)
{
    double h, normal[3];
    const Line l = line_of(sc, p, lean);
    const SimSolid *const s = first_on(sc->town, &l, views, NULL, &h, normal);
    *class = s ? s->class : SIM_LAND;
    return h;
}

/* Is the sun hidden from a point of the solid `of` (NULL: of the ground)? */
static bool in_shadow(const SimTown *t, const double at[3], int views, const SimSolid *of)
{
    double h, normal[3];
    const Line l = {.at = {at[0], at[1], at[2] + 0.02}, .lean = {t->sun[0], t->sun[1]}};
    return first_on(t, &l, views, of, &h, normal) != NULL;
}

/* Sun on a face, as a share of that on level ground. */
static float shading(const SimTown *t, const double n[3], bool shadow)
{
    const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    const double cosine = (n[0] * t->sun[0] + n[1] * t->sun[1] + n[2]) / length;
    return SHADOW + (1.0f - SHADOW) * (float)(shadow || cosine < 0.0 ? 0.0 : cosine);
}

/* Walls have windows of 1.2 x 1.4 m every 3 m. */
static float wall_dn(const SimSolid *s, const double at[3], const double n[3])
{
    const double along = n[0] != 0.0 ? at[1] - s->box[1] : at[0] - s->box[0], down = s->top - at[2];
    const bool window = fmod(along + 0.6, 3.0) < 1.2 && down > 0.8 && fmod(down - 0.8, 3.0) < 1.4;
    return window ? WINDOW_DN : s->wall;
}

float sim_town_dn(const SimScene *sc, int view, const double p[3], const double lean[2],
                  const SimWindow *light)
{
    const SimTown *const t = sc->town;
    double h, n[3] = {0.0, 0.0, 1.0};
    const Line l = line_of(sc, p, lean);
    const SimSolid *const s = first_on(t, &l, 1 << view, NULL, &h, n);
    const double rise = h - p[2], at[3] = {l.at[0] + rise * l.lean[0], l.at[1] + rise * l.lean[1], h};
    const bool shadow = in_shadow(t, at, 1 << view, s);
    const float ground = sim_value(light, p[0] + rise * lean[0], p[1] + rise * lean[1]);
    if (!s)
        return shadow ? SHADOW * ground : ground;
    float dn = n[2] == 0.0 ? wall_dn(s, at, n) : s->dn + s->contrast * (ground - SIM_LAND_DN);
    if (s->glass && n[2] > 0.0) /* a mirror of the sky, which every view sees another part of */
        dn = view ? 0.6f * s->dn : 200.0f;
    return fmaxf(dn * shading(t, n, shadow), LEAST_DN);
}
