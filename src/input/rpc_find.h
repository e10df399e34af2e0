/* An opened image -> the RPC of its camera and the file that it came from; is that camera the image's? */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/image.h"

typedef struct SdmFoundRpc {
    SdmRpc rpc;
    char source[SDM_CAMERA_SOURCE]; /* for people: "metadata in the file", "left_RPC.TXT" */
    char path[SDM_PATH_SIZE];       /* of the file; "": the image itself */
} SdmFoundRpc;

/* The RPC of the image: of the file that the description of a product names, else as GDAL finds it in the
 * file and beside it.  SDM_ERR_INPUT where there is none, where it cannot be read, and where the file and
 * what lies beside it give two cameras. */
SdmStatus sdm_rpc_find(SdmContext *ctx, const char *name, GDALDatasetH ds, SdmFoundRpc *out);

/* The RPC of an image -> its camera, with its source and doubts.  Coefficients in the order of RPC00A,
 * which bend the rays, are put into that of RPC00B.  SDM_ERR_INPUT where the RPC cannot be the image's. */
SdmStatus sdm_rpc_judge(SdmContext *ctx, const char *name, const SdmImage *im, const SdmFoundRpc *found,
                        SdmCamera **out, SdmCameraNote *note);
