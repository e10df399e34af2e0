/* Heights between clouds: of the labels, and of weighted least-squares planes through the matches around. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/validation.h"
#include "matching/pieces.h"

#include <math.h>

enum { FAR_STEP = 2 /* px, where few heights are near */, HALF = SDM_GAP_HALF / FAR_STEP, NEAR_PX2 = 4 };
#define LEAST_WEIGHT 0.5   /* of the heights around: a plane from afar errs */
#define FAR_RMS_M 30.0     /* of the heights about a plane from afar, at most */
#define PIECE_STEP_PX 1.0f /* between neighbours of a piece, at most */
#define RIDGE_PX2 5.0 /* added to the spread of the places, so that few of them on a line tilt no plane */

/* Weighted sums about a pixel; z: heights. */
typedef struct PlaneSums {
    double n, u, v, uu, uv, vv, z, uz, vz, zz;
} PlaneSums;

static void add_height(PlaneSums *s, int i, int j, double z)
{
    const double k = 1.0 / (NEAR_PX2 + i * i + j * j);
    s->n += k;
    s->u += k * i;
    s->v += k * j;
    s->uu += k * i * i;
    s->uv += k * i * j;
    s->vv += k * j * j;
    s->z += k * z;
    s->uz += k * i * z;
    s->vz += k * j * z;
    s->zz += k * z * z;
}

/* The plane's height at the pixel; *square: the mean square of the heights about it. */
static double height_of(const PlaneSums *s, double *square)
{
    const double a = s->uu - s->u * s->u / s->n + RIDGE_PX2 * s->n, b = s->uv - s->u * s->v / s->n,
                 c = s->vv - s->v * s->v / s->n + RIDGE_PX2 * s->n, p = s->uz - s->u * s->z / s->n,
                 q = s->vz - s->v * s->z / s->n, det = a * c - b * b, du = (c * p - b * q) / det,
                 dv = (a * q - b * p) / det;
    *square = (s->zz - s->z * s->z / s->n - du * p - dv * q) / s->n;
    return (s->z - du * s->u - dv * s->v) / s->n;
}

/* Through every step-th of the matches around (x, y); false: too few, or too rough a ground. */
static bool find_height(const SdmSurface *s, const float *agreed_m, int x, int y, int step, float *height)
{
    const int w = s->win.w, h = s->win.h;
    double square;
    PlaneSums sums = {0};
    for (int j = -HALF * step; j <= HALF * step; j += step)
        for (int i = -HALF * step; i <= HALF * step; i += step) {
            if (x + i < 0 || x + i >= w || y + j < 0 || y + j >= h)
                continue;
            const size_t at = (size_t)(y + j) * (size_t)w + (size_t)(x + i);
            const float h_m = s->flags[at] & SDM_QA_VALID ? s->h_m[at] : agreed_m[at];
            if (!isnan(h_m))
                add_height(&sums, i, j, (double)h_m);
        }
    if (sums.n * step * step < LEAST_WEIGHT)
        return false;
    *height = (float)height_of(&sums, &square);
    return step == 1 || square <= FAR_RMS_M * FAR_RMS_M;
}

/* Is a view as bright as clouds at an image position (px)? */
static bool is_bright(const SdmPyramid *p, const double at[2])
{
    const SdmLevelImage *const im = &p->level[0];
    const int64_t x = (int64_t)floor(at[p->turned] + 0.5) - im->x0,
                  y = (int64_t)floor(at[1 - p->turned] + 0.5) - im->y0;
    return x >= 0 && y >= 0 && x < im->w && y < im->h && p->defect[y * im->w + x] & SDM_DEFECT_BRIGHT;
}

/* Do both views show a height of pixel (x, y) darker than clouds? */
static bool is_dark(const SdmMatchInput *in, const SdmWindow *win, int x, int y, float height)
{
    const double u = (double)(win->u0 + x), v = (double)(win->v0 + y);
    double at[2];
    sdm_lattice_left(in->lattice, u, v, at);
    if (is_bright(in->left, at))
        return false;
    sdm_lattice_right(in->lattice, u, v, (double)height, at);
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
            if (s->score[i] < least || !is_dark(in, &s->win, x, y, s->h_m[i]))
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

void sdm_fill_gaps(SdmContext *ctx, const SdmMatchInput *in, const float *agreed_m, SdmSurface *s,
                   uint8_t *filled)
{
    const int w = s->win.w;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 4)
    for (int y = 0; y < s->win.h; y++)
        for (int x = 0; x < w; x++) {
            const size_t i = (size_t)y * (size_t)w + (size_t)x;
            float height = agreed_m[i];
            filled[i] = !(s->flags[i] & (SDM_QA_VALID | SDM_QA_OUTSIDE)) &&
                        (!isnan(height) || ((find_height(s, agreed_m, x, y, 1, &height) ||
                                             find_height(s, agreed_m, x, y, FAR_STEP, &height)) &&
                                            is_dark(in, &s->win, x, y, height)));
            if (filled[i]) /* no plane goes through it but by agreed_m */
                s->h_m[i] = height;
        }
}
