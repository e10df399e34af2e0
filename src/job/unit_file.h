/* Blocks and prepared scenes <-> the files that the tasks of a job exchange.
 *
 * A file is little-endian throughout, every field by itself:
 *   magic "SDMUNIT\n", 32-bit format number, 32-bit kind (1 block, 2 prepared scene), 64-bit build, 64-bit
 *   fingerprint, 64-bit size of the body, seconds of each stage (10 doubles), 64-bit checksum of all that;
 *   the body; its 64-bit checksum.
 * Checksums are sdm_hash() by pieces of SDM_UNIT_PIECE bytes.  A file of another format, build or fingerprint
 * is refused by its header alone, so what made it is never read as something else. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_UNIT_FILE_H
#define SDM_UNIT_FILE_H

#include "core/lease.h"
#include "scene/scene.h"

enum { SDM_UNIT_STAGES = 10 }; /* seconds that each stage took, see sdm_stage_time() */
enum { SDM_UNIT_FORMAT = 4, SDM_UNIT_PIECE = 1 << 16 };

/* When a written file gets its name: after it is on the disk (sync: see sdm_file_commit()), and only if the
 * leases are still held then (NULL: none), so that a process that was suspended while it wrote puts nothing
 * in place. */
typedef struct SdmUnitCommit {
    bool sync;
    SdmLease *output, *unit;
} SdmUnitCommit;

/* fingerprint: of the inputs and options that the content depends on.  stage_s: seconds that each stage took,
 * or NULL.  SDM_ERR_IO with a sentence. */
SdmStatus sdm_unit_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmBlock *block,
                         const double *stage_s, const SdmUnitCommit *commit);
SdmStatus sdm_prepared_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmPrepared *p,
                             const double *stage_s, const SdmUnitCommit *commit);

/* What was written with the same fingerprint by the same build; freed by the caller.  SDM_ERR_INPUT with a
 * sentence when the file is not there, damaged, or of another format, build or fingerprint: it is to be
 * computed again. */
SdmStatus sdm_unit_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmBlock *block,
                        double *stage_s);
/* The coarse surface has its heights alone; flags and score are NULL.  The settings have no kernels yet. */
SdmStatus sdm_prepared_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmPrepared *p,
                            double *stage_s);

/* Would sdm_unit_read() read it?  Nothing is kept. */
SdmStatus sdm_unit_check(SdmContext *ctx, const char *path, uint64_t fingerprint);
/* By header and length alone: is it there, and of this job? */
bool sdm_unit_peek(const char *path, uint64_t fingerprint, bool prepared, double stage_s[SDM_UNIT_STAGES]);

#endif
