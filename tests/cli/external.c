/* A program of somebody else: the installed header and library alone. Prints what a scene is. */
// SPDX-License-Identifier: Apache-2.0
#include <stereodem/stereodem.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    SdmContext *context = NULL;
    double gsd_m = 0.0;
    SdmStatus status = sdm_context_open(&context, "info");
    if (status == SDM_OK)
        status = sdm_info(context, argc > 1 ? argv[1] : "", NULL);
    if (status == SDM_OK)
        status = sdm_result_number(context, "gsd_m", &gsd_m);
    if (status == SDM_OK)
        printf("%s %.0f\n", sdm_version(), gsd_m);
    else
        printf("failed: %s\n", sdm_error(context));
    sdm_context_close(&context);
    return sdm_exit_code(status);
}
