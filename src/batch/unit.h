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

/* Edge of the blocks, cells, and their number: --tile, or the largest for which a run keeps to the memory budget.
 * Of p: frame, settings and the window of the coarse surface.  SDM_ERR_MEMORY when no block of 64 cells fits. */
SdmStatus sdm_tile_choose(SdmContext *ctx, const SdmPrepared *p, const SdmGrid *grid, int64_t *tile, int64_t *across,
                          int64_t *down);
/* Bytes that a run with blocks of that edge needs. */
int64_t sdm_run_bytes(const SdmPrepared *p, const SdmGrid *grid, int64_t tile);

/* Unit files: header with fingerprint and sizes, seven arrays, checksum of all. Written aside and renamed.
 * read: SDM_OK; SDM_ERR_INPUT when absent, damaged or of another job (the caller computes it again). */
SdmStatus sdm_unit_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmBlock *block);
SdmStatus sdm_unit_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmBlock *block);

/* The scene products in one file of the same kind. */
SdmStatus sdm_prepared_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmPrepared *p);
SdmStatus sdm_prepared_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmPrepared *p);

uint64_t sdm_hash(uint64_t seed, const void *data, size_t size); /* FNV-1a, 64 bits, by words */

#endif
