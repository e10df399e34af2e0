/* Blocks of a DEM and prepared scenes <-> files of a job folder. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_UNIT_FILE_H
#define SDM_UNIT_FILE_H

#include "matching/gridding.h"
#include "scene/prepare.h"

enum { SDM_UNIT_STAGES = 10 }; /* seconds of each stage that a file's making took, see sdm_stage_time() */

/* Unit files: header with fingerprint and sizes, seven arrays, checksum of all. Written aside and renamed.
 * sync: down to the disk, so that a full one or a quota is met here; without it the file outlives the process
 * but perhaps not the machine, and its checksum tells.
 * read: SDM_OK (block allocated for the caller to free); SDM_ERR_INPUT when absent, damaged or of another job
 * (to be computed again).  stage_s: SDM_UNIT_STAGES, or NULL. */
SdmStatus sdm_unit_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmBlock *block,
                         const double *stage_s, bool sync);
SdmStatus sdm_unit_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmBlock *block,
                        double *stage_s);
SdmStatus sdm_unit_check(SdmContext *ctx, const char *path,
                         uint64_t fingerprint); /* read, but nothing is kept */
/* By header and length alone: is it there, and of this job? */
bool sdm_unit_peek(const char *path, uint64_t fingerprint, bool prepared, double stage_s[SDM_UNIT_STAGES]);

/* The scene products in one file of the same kind. */
SdmStatus sdm_prepared_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmPrepared *p,
                             const double *stage_s, bool sync);
SdmStatus sdm_prepared_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmPrepared *p,
                            double *stage_s);


#endif
