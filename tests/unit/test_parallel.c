/* Parallel camera: values worked by hand, unsuitable systems, threads. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"
#include "input/camera_kinds.h"

static const char *const UTM31 = "EPSG:32631";

TEST_CTX(parallel)
{
    SdmParallel in = {.wkt = UTM31, .geotransform = {499995, 10, 0, 5000005, 0, -10}, .shift = 0.6};
    SdmCamera *cam = NULL;
    assert_int_equal(sdm_camera_open_parallel(ctx, "p", &in, &cam), SDM_OK);
    /* pixel (0, 0) at height 0 is map (500000, 5000000): the central meridian, 3 deg E */
    const double image[6] = {0, 0, 0, 0, 0, 1000};
    double g[6], back[4];
    sdm_camera_locate(cam, 2, image, g);
    assert_true(fabs(g[0] - 3.0) < 1e-10 && fabs(g[1] - 45.153477183) < 1e-8);
    /* at 1,000 m the point lies 600 m further east: 600 / (0.9996 N cos(lat)) rad */
    const double n = 6378137.0 / sqrt(1 - 0.00669438 * pow(sin(g[1] * SDM_DEG), 2));
    assert_true(fabs(g[3] - 3.0 - 600 / (0.9996 * n * cos(g[1] * SDM_DEG)) / SDM_DEG) < 1e-8);
    sdm_camera_project(cam, 2, g, back);
    assert_true(hypot(back[0], back[1]) < 1e-6 && hypot(back[2], back[3]) < 1e-6);
    sdm_camera_close(&cam);

    in.wkt = "EPSG:4326";
    assert_int_equal(sdm_camera_open_parallel(ctx, "degrees", &in, &cam), SDM_ERR_INPUT);
    in.wkt = "";
    assert_int_equal(sdm_camera_open_parallel(ctx, "no CRS", &in, &cam), SDM_ERR_INPUT);
    in.wkt = UTM31;
    in.geotransform[1] = 0;
    assert_int_equal(sdm_camera_open_parallel(ctx, "singular", &in, &cam), SDM_ERR_INPUT);
    assert_null(cam);
}

/* Threads share a camera. */
TEST_CTX(parallel_threads)
{
    SdmParallel in = {.wkt = UTM31, .geotransform = {499995, 10, 0, 5000005, 0, -10}, .shift = 0.6};
    SDM_CLOSED_BY(sdm_camera_close) SdmCamera *cam = NULL;
    assert_int_equal(sdm_camera_open_parallel(ctx, "p", &in, &cam), SDM_OK);
    int wrong = 0;
#pragma omp parallel for num_threads(8) reduction(+ : wrong)
    for (int i = 0; i < 400; ++i) {
        const double image[3] = {i, 2.0 * i, 100};
        double g[3], back[2];
        sdm_camera_locate(cam, 1, image, g);
        sdm_camera_project(cam, 1, g, back);
        wrong += !(hypot(back[0] - image[0], back[1] - image[1]) < 1e-5);
    }
    assert_int_equal(wrong, 0);
}

RUN_TESTS(NULL, NULL)
