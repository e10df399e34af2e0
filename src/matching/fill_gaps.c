/* Weighted least-squares planes through the matches around each pixel of a gap. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/fill_gaps.h"

#include <math.h>

enum { HALF = SDM_GAP_HALF, LEAST_AROUND = 60, NEAR_PX2 = 4 };
#define AGREE_PX 1.0f /* of parallax, from the height that the levels gave */
#define RIDGE_PX2 5.0 /* added to the spread of the places, so that few of them on a line tilt no plane */

/* Weighted sums about a pixel; z: heights above `base`. */
typedef struct PlaneSums {
    int count;
    double n, u, v, uu, uv, vv, z, uz, vz;
} PlaneSums;

static void add_height(PlaneSums *s, int i, int j, double z)
{
    const double k = 1.0 / (NEAR_PX2 + i * i + j * j);
    s->count++;
    s->n += k;
    s->u += k * i;
    s->v += k * j;
    s->uu += k * i * i;
    s->uv += k * i * j;
    s->vv += k * j * j;
    s->z += k * z;
    s->uz += k * i * z;
    s->vz += k * j * z;
}

/* The plane's height at the pixel. */
static double height_of(const PlaneSums *s)
{
    const double a = s->uu - s->u * s->u / s->n + RIDGE_PX2 * s->n, b = s->uv - s->u * s->v / s->n,
                 c = s->vv - s->v * s->v / s->n + RIDGE_PX2 * s->n, p = s->uz - s->u * s->z / s->n,
                 q = s->vz - s->v * s->z / s->n, det = a * c - b * b;
    return (s->z - (c * p - b * q) / det * s->u - (a * q - b * p) / det * s->v) / s->n;
}

/* Through the matches around (x, y); false: too few. */
static bool find_height(const SdmSurface *s, int x, int y, float *height)
{
    const int w = s->win.w, h = s->win.h;
    const double base = (double)s->h_m[(size_t)y * (size_t)w + (size_t)x];
    PlaneSums sums = {0};
    for (int j = y > HALF ? -HALF : -y; j <= HALF && y + j < h; j++)
        for (int i = x > HALF ? -HALF : -x; i <= HALF && x + i < w; i++) {
            const size_t at = (size_t)(y + j) * (size_t)w + (size_t)(x + i);
            if (s->flags[at] & SDM_QA_VALID)
                add_height(&sums, i, j, (double)s->h_m[at] - base);
        }
    if (sums.count < LEAST_AROUND)
        return false;
    *height = (float)(base + height_of(&sums));
    return true;
}

/* Is a view as bright as clouds at an image position (px)? */
static bool is_bright(const SdmPyramid *p, const double at[2])
{
    const SdmLevelImage *const im = &p->level[0];
    const int64_t x = (int64_t)floor(at[p->turned] + 0.5) - im->x0,
                  y = (int64_t)floor(at[1 - p->turned] + 0.5) - im->y0;
    return x >= 0 && y >= 0 && x < im->w && y < im->h && p->defect[y * im->w + x] & SDM_DEFECT_BRIGHT;
}

static bool fill_pixel(const SdmMatchInput *in, const SdmSurface *s, int x, int y, float *height)
{
    const double u = (double)(s->win.u0 + x), v = (double)(s->win.v0 + y);
    const float levels_m = s->h_m[(size_t)y * (size_t)s->win.w + (size_t)x];
    double at[2];
    sdm_lattice_left(in->lattice, u, v, at);
    if (is_bright(in->left, at) || !find_height(s, x, y, height) ||
        !(fabsf((*height - levels_m) * in->settings->px_per_m) <= AGREE_PX))
        return false;
    sdm_lattice_right(in->lattice, u, v, (double)*height, at);
    return !is_bright(in->right, at);
}

void sdm_fill_gaps(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s, uint8_t *filled)
{
    const int w = s->win.w;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 4)
    for (int y = 0; y < s->win.h; y++)
        for (int x = 0; x < w; x++) {
            const size_t i = (size_t)y * (size_t)w + (size_t)x;
            float height;
            filled[i] = !(s->flags[i] & (SDM_QA_VALID | SDM_QA_OUTSIDE)) && fill_pixel(in, s, x, y, &height);
            if (filled[i]) /* no plane goes through it */
                s->h_m[i] = height;
        }
}
