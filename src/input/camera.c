/* Camera interface: dispatches to the kind of the camera. */
// SPDX-License-Identifier: Apache-2.0
#include "input/camera_kinds.h"

void sdm_camera_project(const SdmCamera *cam, size_t n, const double *ground, double *image)
{
    cam->project(cam, n, ground, image);
}

void sdm_camera_locate(const SdmCamera *cam, size_t n, const double *image, double *ground)
{
    cam->locate(cam, n, image, ground);
}

void sdm_camera_height_range(const SdmCamera *cam, double *hmin_m, double *hmax_m)
{
    *hmin_m = cam->hmin_m;
    *hmax_m = cam->hmax_m;
}

const char *sdm_camera_kind(const SdmCamera *cam)
{
    return cam->kind;
}

void sdm_camera_close(SdmCamera **cam)
{
    if (!cam || !*cam)
        return;
    if ((*cam)->release)
        (*cam)->release(*cam);
    sdm_free(cam);
}
