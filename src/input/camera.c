/* Camera interface: dispatches to the kind of the camera. */
// SPDX-License-Identifier: Apache-2.0
#include "input/camera.h"

enum { CHUNK = 64 };

void sdm_camera_project(const SdmCamera *cam, size_t n, const double *ground, double *image)
{
    cam->project(cam, n, ground, image);
    for (size_t i = 0; cam->bin && i < 2 * n; i++)
        image[i] = (image[i] + 0.5) / cam->bin - 0.5;
}

void sdm_camera_locate(const SdmCamera *cam, size_t n, const double *image, double *ground)
{
    double at[CHUNK][3];
    if (!cam->bin) {
        cam->locate(cam, n, image, ground);
        return;
    }
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = n - first < CHUNK ? n - first : CHUNK;
        for (size_t i = 0; i < count; i++) {
            const double *const px = image + 3 * (first + i);
            at[i][0] = (px[0] + 0.5) * cam->bin - 0.5;
            at[i][1] = (px[1] + 0.5) * cam->bin - 0.5;
            at[i][2] = px[2];
        }
        cam->locate(cam, count, at[0], ground + 3 * first);
    }
}

void sdm_camera_close(SdmCamera **cam)
{
    if (!cam || !*cam)
        return;
    if ((*cam)->release)
        (*cam)->release(*cam);
    sdm_free(cam);
}
