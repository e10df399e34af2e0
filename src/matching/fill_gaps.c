/* Heights between clouds: of the labels, and of weighted least-squares planes through the matches around. */
// SPDX-License-Identifier: Apache-2.0
#include "core/vector_loops.h"
#include "matching/pieces.h"
#include "matching/validation.h"

#include <math.h>

enum { STEPS = 4 /* 1, 2, 4, 8 px between the heights: as near as there are enough */, NEAR_PX2 = 4 };
enum {
    HALF = SDM_GAP_HALF >> (STEPS - 1),
    SIDE = 2 * HALF + 1 /* of the heights that a plane goes through */
};
#define LEAST_WEIGHT 0.5   /* of the heights around, for a plane through all of them */
#define FAR_WEIGHT 0.1     /* through every second or fewer, */
#define FAR_ERROR_M 30.0   /* of the height that it predicts, at most */
#define PIECE_STEP_PX 1.0f /* between neighbours of a piece, at most */
#define RIDGE_PX2 5.0 /* added to the spread of the places, so that few of them on a line tilt no plane */

/* Heights that planes go through, or their differences from a prior. */
typedef struct Known {
    const SdmWindow *win;
    const float *h_m;                     /* h x w, NaN: none */
    int32_t *before;                      /* h x (w + 1): of a row, how many lie before a column; owned */
    double weight[STEPS][HALF + 1][SIDE]; /* by step and rows off */
    double far_error_m;                   /* of planes through every second height or fewer */
} Known;

/* Weighted sums of the columns of heights about a place; z: heights, v: px down. */
typedef struct ColumnSums {
    double n[SIDE], v[SIDE], vv[SIDE], z[SIDE], vz[SIDE], zz[SIDE];
} ColumnSums;

/* Sums of all columns; u: px along. */
typedef struct PlaneSums {
    double n, u, v, uu, uv, vv, z, uz, vz, zz;
} PlaneSums;

/* Columns from .. to - 1 of a row of heights `step` px apart. */
SDM_VECTOR_LOOPS static void add_row(const double *restrict weight, const float *restrict h_m, int step,
                                     double v, int from, int to, ColumnSums *restrict s)
{
    for (int c = from; c < to; c++) {
        const float at = h_m[(c - HALF) * step];
        const double z = isnan(at) ? 0.0 : (double)at, k = isnan(at) ? 0.0 : weight[c];
        s->n[c] += k;
        s->v[c] += k * v;
        s->vv[c] += k * v * v;
        s->z[c] += k * z;
        s->vz[c] += k * z * v;
        s->zz[c] += k * z * z;
    }
}

static PlaneSums join_columns(const ColumnSums *c, int step)
{
    PlaneSums s = {0};
    for (int i = 0; i < SIDE; i++) {
        const double u = (i - HALF) * step;
        s.n += c->n[i];
        s.u += c->n[i] * u;
        s.uu += c->n[i] * u * u;
        s.v += c->v[i];
        s.uv += c->v[i] * u;
        s.vv += c->vv[i];
        s.z += c->z[i];
        s.uz += c->z[i] * u;
        s.vz += c->vz[i];
        s.zz += c->zz[i];
    }
    return s;
}

/* The plane's height (x, y) px off; square[0]: the mean square of the heights about it, [1]: of what it rises
 * by from their middle to there. */
static double height_of(const PlaneSums *s, int x, int y, double square[2])
{
    const double a = s->uu - s->u * s->u / s->n + RIDGE_PX2 * s->n, b = s->uv - s->u * s->v / s->n,
                 c = s->vv - s->v * s->v / s->n + RIDGE_PX2 * s->n, p = s->uz - s->u * s->z / s->n,
                 q = s->vz - s->v * s->z / s->n, det = a * c - b * b, du = (c * p - b * q) / det,
                 dv = (a * q - b * p) / det, right = x - s->u / s->n, down = y - s->v / s->n;
    square[0] = (s->zz - s->z * s->z / s->n - du * p - dv * q) / s->n;
    square[1] = (du * du + dv * dv) * (right * right + down * down);
    return s->z / s->n + du * right + dv * down;
}

/* From a pixel's place in the frame to the nearest whole step, px. */
static int to_step(int64_t at, int step)
{
    const int after = (int)(at & (step - 1));
    return after < (step + 1) / 2 ? -after : step - after;
}

/* At (x, y), through the heights around at whole steps of 2^level px in the frame, so that neighbours see the
 * same; false: too few, or the height may err. */
static bool find_height_of(const Known *k, int x, int y, int level, float *height)
{
    const int w = k->win->w, step = 1 << level, off_x = to_step(k->win->u0 + x, step),
              off_y = to_step(k->win->v0 + y, step), at = x + off_x;
    if (at < 0 || at >= w)
        return false;
    const int left = at >> level < HALF ? at >> level : HALF, after = (w - 1 - at) >> level,
              right = after < HALF ? after : HALF;
    ColumnSums columns = {0};
    double square[2];
    for (int j = -HALF; j <= HALF; j++) {
        const int row = y + off_y + j * step;
        if (row < 0 || row >= k->win->h)
            continue;
        const int32_t *const before = k->before + (size_t)row * ((size_t)w + 1) + at;
        if (before[right * step + 1] > before[-left * step])
            add_row(k->weight[level][j < 0 ? -j : j], k->h_m + (size_t)row * (size_t)w + at, step, j * step,
                    HALF - left, HALF + right + 1, &columns);
    }
    const PlaneSums sums = join_columns(&columns, step);
    const double weight = sums.n * step * step;
    if (weight < (level == 0 ? LEAST_WEIGHT : FAR_WEIGHT))
        return false;
    *height = (float)height_of(&sums, -off_x, -off_y, square);
    return level == 0 ||
           square[0] + (weight < LEAST_WEIGHT ? square[1] : 0.0) <= k->far_error_m * k->far_error_m;
}

static bool find_height(const Known *k, int x, int y, float *height)
{
    bool found = false;
    for (int level = 0; level < STEPS && !found; level++)
        found = find_height_of(k, x, y, level, height);
    return found;
}

/* Is a view as bright as clouds at an image position (px)? */
static bool is_bright(const SdmPyramid *p, const double at[2])
{
    const SdmLevelImage *const im = &p->level[0];
    const int64_t x = (int64_t)floor(at[p->turned] + 0.5) - im->x0,
                  y = (int64_t)floor(at[1 - p->turned] + 0.5) - im->y0;
    return x >= 0 && y >= 0 && x < im->w && y < im->h && p->defect[y * im->w + x] & SDM_DEFECT_BRIGHT;
}

/* Does the left view show pixel (x, y) darker than clouds? */
static bool is_dark_left(const SdmMatchInput *in, const SdmWindow *win, int x, int y)
{
    double at[2];
    sdm_lattice_left(in->lattice, (double)(win->u0 + x), (double)(win->v0 + y), at);
    return !is_bright(in->left, at);
}

/* Does the right view show it so, at a height? */
static bool is_dark_right(const SdmMatchInput *in, const SdmWindow *win, int x, int y, float height)
{
    double at[2];
    sdm_lattice_right(in->lattice, (double)(win->u0 + x), (double)(win->v0 + y), (double)height, at);
    return !is_bright(in->right, at);
}

SdmStatus sdm_keep_agreed(SdmContext *ctx, const SdmMatchInput *in, int least, SdmSurface *s)
{
    const SdmPieces pieces = {s->win.w, s->win.h, s->h_m,
                              s->score, s->flags, PIECE_STEP_PX / fabsf(in->settings->px_per_m)};
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < s->win.h; y++)
        for (int x = 0; x < s->win.w; x++) {
            const size_t i = (size_t)y * (size_t)s->win.w + (size_t)x;
            if (s->score[i] < least || !is_dark_left(in, &s->win, x, y) ||
                !is_dark_right(in, &s->win, x, y, s->h_m[i]))
                s->flags[i] = SDM_QA_ISOLATED;
        }
    return sdm_drop_pieces(ctx, &pieces, SDM_GAP_PIECE, 0, 0);
}

SdmStatus sdm_join_agreed(SdmContext *ctx, const SdmSurface *areas, SdmSurface *s, float **out)
{
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    PASS(sdm_alloc_raw(ctx, out, n, sizeof **out, "heights between clouds"));
    for (size_t i = 0; i < n; i++) {
        if (areas->flags[i] & ~s->flags[i] & SDM_QA_VALID) {
            s->h_m[i] = areas->h_m[i];
            s->flags[i] = areas->flags[i];
            s->score[i] = areas->score[i];
        }
        (*out)[i] = s->flags[i] & SDM_QA_VALID ? s->h_m[i] : NAN;
    }
    return SDM_OK;
}

/* Count the heights known in a row. */
static void count_known(const Known *k, int y, int32_t *before)
{
    const size_t w = (size_t)k->win->w, row = (size_t)y * w;
    before += row + (size_t)y;
    *before = 0;
    for (size_t x = 0; x < w; x++)
        before[x + 1] = before[x] + !isnan(k->h_m[row + x]);
}

/* Fill the pixels where the prior has a height, or those where it has none.  h_m: heights known, in the
 * former case less the prior's. */
static SdmStatus fill_gaps_about(SdmContext *ctx, const SdmMatchInput *in, bool prior, const float *h_m,
                                 SdmSurface *s, uint8_t *filled)
{
    const int w = s->win.w, h = s->win.h, threads = sdm_threads(ctx);
    SDM_OWNED int32_t *before = NULL;
    PASS(sdm_alloc_raw(ctx, &before, ((size_t)w + 1) * (size_t)h, sizeof *before, "heights between clouds"));
    Known k = {.win = &s->win, .h_m = h_m, .before = before, .far_error_m = filled ? FAR_ERROR_M : INFINITY};
    for (int level = 0; level < STEPS; level++)
        for (int j = 0; j <= HALF; j++)
            for (int i = -HALF; i <= HALF; i++)
                k.weight[level][j][HALF + i] = 1.0 / (NEAR_PX2 + ((i * i + j * j) << (2 * level)));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int y = 0; y < h; y++)
        count_known(&k, y, before);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const size_t i = (size_t)y * (size_t)w + (size_t)x;
            const float base = in->prior_m ? in->prior_m[i] : NAN;
            if (!isnan(base) != prior)
                continue;
            float height = h_m[i];
            bool found = !(s->flags[i] & (SDM_QA_VALID | SDM_QA_OUTSIDE));
            if (found && isnan(height))
                found = (!filled || is_dark_left(in, &s->win, x, y)) && find_height(&k, x, y, &height) &&
                        (!filled || is_dark_right(in, &s->win, x, y, prior ? height + base : height));
            if (filled)
                filled[i] = found;
            if (found)
                s->h_m[i] = prior ? height + base : height;
        }
    return SDM_OK;
}

SdmStatus sdm_fill_gaps(SdmContext *ctx, const SdmMatchInput *in, float *known_m, SdmSurface *s,
                        uint8_t *filled)
{
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SDM_OWNED float *off_m = NULL;
    for (size_t i = 0; i < n; i++)
        if (s->flags[i] & SDM_QA_VALID)
            known_m[i] = s->h_m[i];
    if (in->prior_m) {
        PASS(sdm_alloc_raw(ctx, &off_m, n, sizeof *off_m, "differences from a prior DEM"));
        for (size_t i = 0; i < n; i++)
            off_m[i] = known_m[i] - in->prior_m[i];
        PASS(fill_gaps_about(ctx, in, true, off_m, s, filled));
    }
    return fill_gaps_about(ctx, in, false, known_m, s, filled);
}
