/* Gaps along the rows of a surface -> heights of the lower side, of their own match, or between their
 * sides. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/validation.h"
#include "matching/edge_filters.h"

#include <math.h>

enum {
    SLACK_PX = 3,  /* a gap may be so much wider than the step hides: windows lose matches beside it */
    PLACED_PX = 6, /* likewise where its edge was placed (matching/edge_filters.h) */
    NARROW_PX = 8  /* widest gap without a step that is interpolated */
};

#define WALL_LEAST_PX 2.0f   /* narrower walls do not count */
#define SLANT_LEAST_PX 0.02f /* for a metre; below it 100 m of wall are that wide */

/* Pixels x0..x1 - 1 of a row without a match, and the heights of their neighbours. */
typedef struct Gap {
    int x0, x1;
    float left_m, right_m;
} Gap;

typedef struct Row {
    float *h_m;
    uint16_t *flags;
    int width;
} Row;

/* The next gap between two valid pixels from column *x on; false: there is none. */
static bool next_gap(const Row *row, int *x, Gap *g)
{
    g->x0 = sdm_next_gap(row->flags, row->width, x);
    g->x1 = *x;
    if (g->x0 < 0)
        return false;
    g->left_m = row->h_m[g->x0 - 1];
    g->right_m = row->h_m[g->x1];
    return true;
}

/* Has a pixel of the gap one of these flags? */
static bool has_any(const Row *row, const Gap *g, uint16_t flags)
{
    for (int x = g->x0; x < g->x1; x++)
        if (row->flags[x] & flags)
            return true;
    return false;
}

/* Height of pixel x of a gap.  hidden_px > 0: so many pixels beside the lower side get its height, the others
 * the higher side's.  Else, at a step, the height of the nearer side; without a step, linear. */
static float height_in(const Gap *g, int x, int hidden_px, bool step)
{
    const int n = g->x1 - g->x0, i = x - g->x0;
    const bool left_low = g->left_m < g->right_m;
    if (hidden_px > 0)
        return ((left_low ? i : n - 1 - i) < hidden_px) == left_low ? g->left_m : g->right_m;
    if (step)
        return 2 * i < n ? g->left_m : g->right_m;
    return g->left_m + (g->right_m - g->left_m) * (float)(i + 1) / (float)(n + 1);
}

/* The left view shows a wall at pixel x if ground of the lower side would lie under the higher side there.
 * Returns the wall's height there, as a share of the step; negative: no wall. */
static float wall_share(const SdmMatchSettings *set, const Gap *g, int x)
{
    /* of the higher side */
    const float slant_px = set->fill_limit.slant_px[0] * fabsf(g->left_m - g->right_m),
                way = g->left_m < g->right_m ? (float)(g->x1 - x) : (float)(x - (g->x0 - 1)),
                length = g->left_m < g->right_m ? -slant_px : slant_px;
    return way <= length ? 1.0f - way / (length + 1.0f) : -1.0f;
}

/* The right view sees left pixel u at u + px_per_m h, so pixels vanish where that shrinks: beside one side of
 * a house only. */
static void fill_gap(const SdmMatchSettings *set, const Row *row, const Gap *g)
{
    const float metre_px = fabsf(set->px_per_m), shrinks_px = (g->left_m - g->right_m) * set->px_per_m,
                step_px = fabsf(shrinks_px), low = g->left_m < g->right_m ? g->left_m : g->right_m,
                high = low + step_px / metre_px;
    const int n = g->x1 - g->x0;
    const bool placed = has_any(row, g, SDM_QA_FOLD),
               hidden = shrinks_px > 1.0f && (float)n <= shrinks_px + (float)(placed ? PLACED_PX : SLACK_PX),
               step = step_px > (float)SLACK_PX, all = isinf(set->fill_limit.rise_m),
               none = set->fill_limit.rise_m == 0.0f;
    const int hidden_px = !hidden ? 0 : placed ? n : (int)lrintf(shrinks_px);
    for (int x = g->x0; x < g->x1; x++) {
        const bool matched = !(row->flags[x] & (SDM_QA_LEFT_RIGHT | SDM_QA_ISOLATED | SDM_QA_FOLD)) &&
                             row->h_m[x] >= low - 1.0f / metre_px && row->h_m[x] <= high + 1.0f / metre_px;
        if (hidden && (row->flags[x] & SDM_QA_LEFT_RIGHT))
            row->flags[x] = SDM_QA_FOLD;
        if (none || !(matched || hidden || all || (!step && n <= NARROW_PX)))
            continue; /* which side it is, nobody knows */
        float h = matched ? row->h_m[x] : height_in(g, x, hidden_px, step);
        const float wall = step && !matched && h == low ? wall_share(set, g, x) : -1.0f;
        h += wall >= 0.0f ? wall * (high - low) : 0.0f;
        row->h_m[x] = h;
        row->flags[x] = SDM_QA_VALID | SDM_QA_FILLED;
    }
    /* what is left lies between pixels that have a height now */
    const Row inner = {row->h_m + g->x0 - 1, row->flags + g->x0 - 1, n + 2};
    Gap rest;
    for (int x = 0; next_gap(&inner, &x, &rest);)
        if (rest.x1 - rest.x0 < n && fabsf(rest.left_m - rest.right_m) * metre_px <= 1.0f)
            fill_gap(set, &inner, &rest);
}

/* ---- walls that the left view shows ---- */

/* How far the ground of a pixel moves for a metre of height, px, and the pixels on the way there. */
typedef struct Slant {
    float px;
    int u[SDM_WALL_PX + 1], v[SDM_WALL_PX + 1];
} Slant;

/* Mark the pixels whose ground would lie under that of pixel x, y.  least_m: no pixel is lower. */
static void mark_covered(const SdmSurface *s, const Slant *slant, float least_m, int x, int y, uint8_t *wall)
{
    const int w = s->win.w, h = s->win.h;
    const float own_m = s->h_m[(size_t)y * (size_t)w + (size_t)x];
    const float most_px = slant->px * (own_m - least_m);
    for (int t = 1; t <= SDM_WALL_PX && most_px >= WALL_LEAST_PX && most_px >= (float)t - 0.5f; t++) {
        const int u = x + slant->u[t], v = y + slant->v[t];
        if (u < 0 || v < 0 || u >= w || v >= h)
            return;
        const size_t at = (size_t)v * (size_t)w + (size_t)u;
        const float over_px = slant->px * (own_m - s->h_m[at]);
        if ((s->flags[at] & SDM_QA_VALID) && over_px >= WALL_LEAST_PX && over_px >= (float)t - 0.5f) {
#pragma omp atomic write
            wall[at] = 1;
        }
    }
}

/* Where a pixel's ground would lie under a roof that is seen beside it, the left view shows the roof's
 * wall. */
static SdmStatus drop_walls(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s)
{
    const float *const slant_px = in->settings->fill_limit.slant_px;
    const int w = s->win.w, h = s->win.h;
    Slant slant = {.px = sqrtf(slant_px[0] * slant_px[0] + slant_px[1] * slant_px[1])};
    SDM_OWNED uint8_t *wall = NULL;
    if (!(slant.px >= SLANT_LEAST_PX))
        return SDM_OK;
    for (int t = 0; t <= SDM_WALL_PX; t++) {
        slant.u[t] = (int)lrintf(slant_px[0] / slant.px * (float)t);
        slant.v[t] = (int)lrintf(slant_px[1] / slant.px * (float)t);
    }
    PASS(sdm_alloc(ctx, &wall, (size_t)w * (size_t)h, 1, "walls"));
    float least_m = INFINITY;
    for (size_t i = 0; i < (size_t)w * (size_t)h; i++)
        least_m = s->flags[i] & SDM_QA_VALID && s->h_m[i] < least_m ? s->h_m[i] : least_m;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            if (s->flags[(size_t)y * (size_t)w + (size_t)x] & SDM_QA_VALID)
                mark_covered(s, &slant, least_m, x, y, wall);
    for (size_t i = 0; i < (size_t)w * (size_t)h; i++)
        s->flags[i] = wall[i] ? SDM_QA_FOLD : s->flags[i];
    return SDM_OK;
}

SdmStatus sdm_fill_hidden(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s)
{
    const SdmPieces pieces = {s->win.w, s->win.h, s->h_m,
                              s->score, s->flags, STEP_PX / fabsf(in->settings->px_per_m)};
    PASS(sdm_drop_pieces(ctx, &pieces, 0, SDM_WEAK_PX, sdm_validation_min_score(in->settings)));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < s->win.h; y++) {
        const size_t at = (size_t)y * (size_t)s->win.w;
        const Row row = {s->h_m + at, s->flags + at, s->win.w};
        Gap g;
        for (int x = 0; next_gap(&row, &x, &g);)
            if (g.x1 - g.x0 <= SDM_FILL_RUN &&
                !has_any(&row, &g, SDM_QA_OUTSIDE | SDM_QA_SATURATED | SDM_PIXEL_MASKED))
                fill_gap(in->settings, &row, &g);
    }
    return drop_walls(ctx, in, s);
}
