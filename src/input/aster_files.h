/* ASTER level 1A files -> tables and image of each telescope -> views.  For src/input and tests. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_ASTER_H
#define SDM_ASTER_H

#include "input/source.h"

/* What one telescope's delivery holds besides the image.  Arrays as in SdmAsterArrays. */
typedef struct SdmAsterBand {
    char image[1024];  /* GDAL's name of ImageData, "" for tables alone */
    char label[1024];  /* what to name in messages about the image */
    char source[1024]; /* what to name in messages about the tables: a file, or the start of several */
    char table[1024];  /* the same for the radiometric table */
    int nrow, ncol;
    double *lattice_px, *sight, *position_m, *velocity_mps, *geocentric_deg; /* the last two may be NULL */
    double *radiometry; /* radiometry_lines x 3: C0 C1 C2 */
    int radiometry_lines;
} SdmAsterBand;

void sdm_aster_band_free(SdmAsterBand *band);

/* V003: files <base>.VNIR_Band<telescope>.<suffix>.txt; radiometry only when `image` is asked for.
 * scene: gets the files, or NULL. */
SdmStatus sdm_aster_read_text(SdmContext *ctx, const char *base, const char *telescope, bool image,
                              SdmScene *scene, SdmAsterBand *out);

/* V004 or V003 HDF-EOS through GDAL's HDF4 driver: subdatasets of VNIR_Band<telescope>. */
SdmStatus sdm_aster_read_hdf(SdmContext *ctx, GDALDatasetH hdf, const char *path, const char *telescope,
                             SdmAsterBand *out);

/* Camera of a band, and whether the telescope looks where `telescope` ("3N", "3B") should. */
SdmStatus sdm_aster_open_camera(SdmContext *ctx, const SdmAsterBand *band, const char *telescope,
                                SdmCamera **out);

/* Camera from the text tables that begin with base_path, without an image. */
SdmStatus sdm_aster_open_tables(SdmContext *ctx, const char *base_path, const char *telescope,
                                SdmCamera **out);

/* Scenes: fill view[0] (3N) and view[1] (3B), id, time, kind and files.
 * On failure the caller closes the scene. */
SdmStatus sdm_aster_open_hdf(SdmContext *ctx, const char *path, SdmScene *scene);
SdmStatus sdm_aster_open_folder(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene);

/* What a product other than level 1A is, for people; NULL when nothing says that it is one.
 * other_product: by a word such as ASTL1B in a text.  product_of: by a data set's metadata, by the name of
 * its file where they say nothing.  product_in: by the names of the files in a folder (GDAL's name) and
 * `depth` levels below. */
const char *sdm_aster_other_product(const char *text);
const char *sdm_aster_product_of(GDALDatasetH ds, const char *path);
const char *sdm_aster_product_in(const char *folder, int depth);
/* SDM_ERR_UNSUPPORTED: what it is, and what to order instead. */
SdmStatus sdm_aster_refuse(SdmContext *ctx, const char *path, const char *other);

/* Pairs of plain rasters with RPC or, with base_height, georeferenced ones. */
SdmStatus sdm_pair_open(SdmContext *ctx, const char *left, const char *right, SdmScene *scene);

#endif
