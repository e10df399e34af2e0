/* HDF4 file -> its swaths, text attributes, tables and images.  For src/input and tests. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

typedef struct SdmHdf4 SdmHdf4;

/* Read the list of contents.  path: GDAL's name of a file, which may lie on a disk, in an archive or on the
 * web; it stays open.  SDM_ERR_INPUT with a sentence: cut short or damaged.  Parts of the format that are
 * read: descriptors, Vgroups, numeric groups, Vdata of attributes, linked blocks, streams that are deflated
 * or coded by run lengths.  Source: HDF4 Specification and Developer's Guide, chapters 2, 9 and 10. */
SdmStatus sdm_hdf4_open(SdmContext *ctx, const char *path, SdmHdf4 **out);
void sdm_hdf4_close(SdmHdf4 **file);

/* The swath and the name of the i-th field of a swath, from 0; false: there are no more. */
bool sdm_hdf4_field(const SdmHdf4 *file, int i, const char **swath, const char **field);

/* Text attributes as GDAL's list of KEY=VALUE: those of the file by their names, and the values of objects
 * that stand in them (OBJECT = KEY ... VALUE = "VALUE").  Owned by the file. */
char **sdm_hdf4_metadata(const SdmHdf4 *file);

/* A field of two or three dimensions as double: shape[0] x shape[1] x shape[2], the first 1 where it has two.
 * The caller frees *out.  SDM_ERR_INPUT, SDM_ERR_UNSUPPORTED with a sentence. */
SdmStatus sdm_hdf4_table(SdmContext *ctx, SdmHdf4 *file, const char *swath, const char *field, double **out,
                         int shape[3]);

typedef struct SdmUnpackedBand {
    uint8_t *sample; /* height x width, or NULL where they were not asked for */
    int64_t width, height;
} SdmUnpackedBand;

/* The field ImageData of two swaths, 8-bit samples, which are unpacked side by side; without `samples` their
 * sizes alone.  The caller frees the samples.  Errors as above. */
SdmStatus sdm_hdf4_images(SdmContext *ctx, SdmHdf4 *file, const char *const swath[2], bool samples,
                          SdmUnpackedBand out[2]);
