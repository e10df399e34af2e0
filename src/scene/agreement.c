/* Two views -> what their coarse levels alone tell: how well the images agree, and the cameras. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/agreement.h"
#include "geo/geodesy.h"
#include "scene/coarse_surface.h"

#include <math.h>

/* The constant of the pointing on the ground, and the separation of the rays. */
static void find_rays(const SdmScene *scene, const SdmPrepared *p, SdmAgreement *out)
{
    const SdmFrame *const f = &p->frame;
    const SdmCamera *const right = scene->view[1].camera;
    const double ground[3] = {f->lon_deg, f->lat_deg, f->h0_m};
    double at[3], moved[3];
    sdm_camera_project(right, 1, ground, at);
    for (int k = 0; k < 2; k++)
        at[k] += p->pointing.coef[0] * p->pointing.dir[k];
    at[2] = f->h0_m;
    sdm_camera_locate(right, 1, at, moved);
    out->miss_m[0] =
        remainder(moved[0] - ground[0], 360.0) * SDM_METRES_PER_DEGREE * cos(f->lat_deg * SDM_DEG);
    out->miss_m[1] = (moved[1] - ground[1]) * SDM_METRES_PER_DEGREE;
    out->far_m = sdm_frame_far_m(f);
    out->base[0] = f->base_height * cos(f->angle_rad);
    out->base[1] = f->base_height * sin(f->angle_rad);
}

static int node_of(double value, double pitch)
{
    return (int)((int64_t)floor(value / pitch) & (SDM_AGREEMENT_SIDE - 1));
}

static void find_heights(const SdmPrepared *p, SdmAgreement *out)
{
    enum { MOST = 128 }; /* pixels along the frame */
    const SdmFrame *const f = &p->frame;
    const SdmWindow *const win = &p->coarse.win;
    const int longest = win->w > win->h ? win->w : win->h, step = (longest + MOST - 1) / MOST;
    const double size = (double)(1 << win->level);
    int count[SDM_AGREEMENT_NODES] = {0};
    double sum[SDM_AGREEMENT_NODES] = {0.0};
    for (int y = 0; y < win->h; y += step)
        for (int x = 0; x < win->w; x += step) {
            const size_t i = (size_t)y * (size_t)win->w + (size_t)x;
            const double rise_m = (double)p->coarse.h_m[i] - f->h0_m;
            double lon, lat;
            if (!(p->coarse.flags[i] & SDM_QA_VALID))
                continue;
            sdm_frame_ground(f, size * x + f->slant_px[0] * rise_m, size * y + f->slant_px[1] * rise_m, &lon,
                             &lat);
            const int at =
                SDM_AGREEMENT_SIDE * node_of(lat, out->pitch_deg[1]) + node_of(lon, out->pitch_deg[0]);
            count[at]++;
            sum[at] += (double)p->coarse.h_m[i];
        }
    for (int i = 0; i < SDM_AGREEMENT_NODES; i++)
        out->height_m[i] = count[i] ? (float)(sum[i] / count[i]) : NAN;
}

SdmStatus sdm_scene_agreement(SdmContext *ctx, const SdmScene *scene, SdmAgreement *out)
{
    SDM_CLOSED_BY(sdm_prepared_free) SdmPrepared p = {0};
    PASS(sdm_prepare_frame(ctx, scene, &p));
    PASS(sdm_coarse_find(ctx, scene, &p, NULL));
    out->share = sdm_surface_matched(&p.coarse, SDM_QA_OUTSIDE);
    find_rays(scene, &p, out);
    find_heights(&p, out);
    return SDM_OK;
}
