/* Blocks, prepared scenes and records of products <-> the files that the tasks of a job exchange.
 *
 * A file is little-endian throughout:
 *   magic "SDMUNIT\n", 32-bit format number, 32-bit kind (1 block, 2 prepared scene, 3 record of a product),
 *   64-bit build, 64-bit fingerprint, 64-bit size of the body, what making it has used (SdmUsage), 64-bit
 *   checksum of all that; the body: the struct of its kind as it lies in memory, then its arrays; its 64-bit
 *   checksum.
 * Checksums are sdm_hash() of the struct and of each array by pieces of SDM_UNIT_PIECE bytes.  A file of
 * another format, build or fingerprint is refused by its header alone, so what made it is never read as
 * something else; a record of a product is taken of any build. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/file.h"
#include "core/lease.h"
#include "core/usage.h"
#include "product/dem_report.h"
#include "scene/scene.h"

enum { SDM_UNIT_FORMAT = 9, SDM_UNIT_PIECE = 1 << 16 };
typedef enum SdmUnitKind { SDM_UNIT_BLOCK = 1, SDM_UNIT_PREPARED, SDM_UNIT_RECORD } SdmUnitKind;

/* A file: its name, the hash of the inputs and options that its content depends on, and its kind. */
typedef struct SdmUnitName {
    char path[SDM_PATH_SIZE];
    uint64_t fingerprint;
    SdmUnitKind kind;
} SdmUnitName;

/* A finished product: its figures, the size, time and hash of its DEM, and the resources that each of its
 * units used. */
typedef struct SdmProductRecord {
    SdmDemResult result;             /* of one pair */
    int64_t dem_bytes, dem_mtime_us; /* -1: not known */
    uint64_t dem_hash;
    SdmUsage *unit; /* owned; in the order of the units */
    int64_t units;
} SdmProductRecord;
void sdm_product_record_free(SdmProductRecord *record);

/* Write `what`: an SdmBlock, SdmPrepared or SdmProductRecord, as the name says.  usage: of making it; NULL:
 * none.  lease: of the output that it is for (NULL: none): a process that was suspended while it wrote, and
 * has lost it, puts nothing in place.  sync: down to the disk first, see sdm_file_commit().  SDM_ERR_IO with
 * a sentence. */
SdmStatus sdm_unit_write(SdmContext *ctx, const SdmUnitName *name, const void *what, const SdmUsage *usage,
                         bool sync, SdmLease *lease);

/* Read the file of that name; the result is freed by the caller.  usage: NULL, where it does not matter.
 * SDM_ERR_INPUT with a sentence when the file is not there, damaged, or of another format, build or
 * fingerprint: it is to be made again.  The coarse surface of a prepared scene has no score, and the settings
 * have no kernels yet. */
SdmStatus sdm_unit_read(SdmContext *ctx, const SdmUnitName *name, void *what, SdmUsage *usage);
/* Would sdm_unit_read() read it?  Nothing is kept. */
SdmStatus sdm_unit_check(SdmContext *ctx, const SdmUnitName *name);
/* By header and length alone: is it there, and of this job? */
bool sdm_unit_peek(const SdmUnitName *name, SdmUsage *usage);
