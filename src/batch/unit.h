/* One unit of work and its file: a block of the DEM. */
#ifndef SDM_UNIT_H
#define SDM_UNIT_H

#include "batch/prepare.h"
#include "dem/gridding.h"

/* Compute a block of the DEM (arrays of `block` allocated by the caller, see sdm_block_alloc). */
SdmStatus sdm_unit_compute(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmGrid *grid,
                           SdmBlock *block);

/* Bytes that the window of a block of side x side cells needs at most. */
int64_t sdm_unit_bytes(const SdmPrepared *p, const SdmGrid *grid, double spacing_m, int64_t cols, int64_t rows);

double sdm_grid_spacing_m(const SdmGrid *grid); /* metres of a side of a cell */

/* Unit files: header with fingerprint and sizes, seven arrays, checksum of all. Written aside and renamed.
 * read: SDM_OK; SDM_ERR_INPUT when absent, damaged or of another job (the caller computes it again). */
SdmStatus sdm_unit_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmBlock *block);
SdmStatus sdm_unit_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmBlock *block);

/* The scene products in one file of the same kind. */
SdmStatus sdm_prepared_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmPrepared *p);
SdmStatus sdm_prepared_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmPrepared *p);

uint64_t sdm_hash(uint64_t seed, const void *data, size_t size); /* FNV-1a, 64 bits, by words */

#endif
