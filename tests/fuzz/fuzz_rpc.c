/* Fuzz RPC metadata: the input is a _RPC.TXT beside a small raster, opened as the left image of a pair. */
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "input/scene_open.h"

#include <cpl_error.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <stdlib.h>

#define LEFT "/vsimem/rpc/left.tif"
#define RIGHT "/vsimem/rpc/right.tif"

enum { SIDE = 64 };

static void write_raster(const char *path)
{
    uint8_t row[SIDE];
    GDALDatasetH ds = GDALCreate(GDALGetDriverByName("GTiff"), path, SIDE, SIDE, 1, GDT_Byte, NULL);
    for (int y = 0; ds && y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++)
            row[x] = (uint8_t)(x * 3 + y * 5 + 1);
        if (GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Write, 0, y, SIDE, 1, row, SIDE, 1, GDT_Byte, 0, 0) !=
            CE_None)
            abort();
    }
    GDALClose(ds);
}

static void write_text(const char *path, const void *text, size_t size)
{
    VSILFILE *const file = VSIFOpenL(path, "wb");
    if (file) {
        VSIFWriteL(text, 1, size, file);
        VSIFCloseL(file);
    }
}

FUZZ_IN(ctx)
{
    SdmScene *scene = NULL;
    if (GDALGetDriverCount() == 0)
        GDALAllRegister();
    CPLPushErrorHandler(CPLQuietErrorHandler);
    write_raster(LEFT);
    write_raster(RIGHT);
    write_text("/vsimem/rpc/left_RPC.TXT", data, size);
    write_text("/vsimem/rpc/right_RPC.TXT", data, size);
    const SdmStatus st = sdm_scene_open(ctx, sdm_options(ctx), LEFT, RIGHT, &scene);
    if (st != SDM_OK && (scene || !*sdm_error(ctx)))
        abort();
    if (st == SDM_OK) {
        const double image[3] = {10.0, 20.0, 100.0};
        double ground[3], back[2];
        sdm_camera_locate(scene->view[0].camera, 1, image, ground);
        sdm_camera_project(scene->view[0].camera, 1, ground, back);
    }
    sdm_scene_close(&scene);
    VSIRmdirRecursive("/vsimem/rpc");
    CPLPopErrorHandler();
}
