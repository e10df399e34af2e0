/* ASTER level 1A files -> tables and image of each telescope -> views.  For src/input and tests. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/hdf4_file.h"
#include "input/source.h"

/* Tables of one telescope, and where its image is.  Arrays as in SdmAsterArrays. */
typedef struct SdmAsterBand {
    char image[1024];  /* GDAL's name of ImageData, "" for tables alone and in an HDF file */
    char source[1024]; /* name of the tables in messages: a file, or the common start of several */
    char table[1024];  /* name of the radiometric table in messages */
    int nrow, ncol;
    double *lattice_px, *sight, *position_m, *velocity_mps, *geocentric_deg; /* the last two may be NULL */
    double *radiometry; /* radiometry_lines x 3: C0 C1 C2 */
    int radiometry_lines;
} SdmAsterBand;

/* Open the camera of the text tables that begin with base_path, without an image. */
SdmStatus sdm_aster_open_tables(SdmContext *ctx, const char *base_path, const char *telescope,
                                SdmCamera **out);

/* Scenes: fill view[0] (3N) and view[1] (3B), id, time, kind and files.
 * On failure the caller closes the scene. */
SdmStatus sdm_aster_open_hdf(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene);
SdmStatus sdm_aster_open_folder(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene);

/* Name, for people, of an ASTER product other than level 1A, by metadata (KEY=VALUE), else by the name of the
 * file; NULL for anything else. */
const char *sdm_aster_product_of(CSLConstList metadata, const char *path);
/* Fail with SDM_ERR_UNSUPPORTED: the product is `other`; the sentence says what to order instead. */
SdmStatus sdm_aster_refuse(SdmContext *ctx, const char *path, const char *other);
