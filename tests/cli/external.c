/* A program of somebody else: the installed header and library alone. Prints what a scene is. */
// SPDX-License-Identifier: Apache-2.0
#include <stereodem/stereodem.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    SdmOptions options;
    SdmContext *context = NULL;
    SdmSceneInfo scene;
    sdm_options_default(&options);
    SdmStatus status = sdm_open(&context, &options);
    if (status == SDM_OK)
        status = sdm_describe(context, argc > 1 ? argv[1] : "", NULL, &scene);
    if (status == SDM_OK)
        printf("%s %s %s\n", sdm_version(), scene.sensor, scene.crs);
    else
        printf("failed: %s\n", sdm_error(context));
    sdm_close(&context);
    return sdm_exit_code(status);
}
