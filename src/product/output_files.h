/* Name of the DEM -> the files of a product: their names, checks before any work, renames at the end. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_OUTPUT_FILES_H
#define SDM_OUTPUT_FILES_H

#include "core/path.h"

/* In the order in which they are renamed: the DEM last, so that it stands for the whole. */
enum { SDM_FILE_HTML, SDM_FILE_PNG, SDM_FILE_JSON, SDM_FILE_QA, SDM_FILE_ORTHO, SDM_FILE_DEM, SDM_FILES };

typedef struct SdmOutputFiles {
    char path[SDM_FILES][SDM_PATH_SIZE]; /* NAME.html, NAME.png, ... */
    char part[SDM_FILES][SDM_PATH_SIZE]; /* OUTPUT.part-html, ...: until the product is complete */
    char raw[SDM_FILES][SDM_PATH_SIZE];  /* OUTPUT.part-raw-dem, ...: rasters that are being filled */
    bool made[SDM_FILES];       /* false: the product has no such file, and an earlier one is removed */
    char marker[SDM_PATH_SIZE]; /* OUTPUT.part-naming: there from the first rename until all is tidied up */
    char folder[SDM_PATH_SIZE],
        prefix[SDM_PATH_SIZE]; /* temporary files are folder/prefix*: "DEM.tif.part-" */
} SdmOutputFiles;

/* output: name of the DEM.  SDM_ERR_USAGE for a name that is missing, a folder's, too long, or of another
 * format. */
SdmStatus sdm_output_files_name(SdmContext *ctx, const char *output, SdmOutputFiles *files);
/* Can every file be written?  SDM_ERR_IO, _USAGE when not.  may_be_own: a DEM of that name may be the result
 * of a run that was stopped while it renamed its files; see sdm_output_files_finished(). */
SdmStatus sdm_output_files_check(SdmContext *ctx, const SdmOutputFiles *files, bool overwrite,
                                 bool may_be_own);
/* SDM_ERR_USAGE when a product would overwrite the input (NULL: none). */
SdmStatus sdm_output_files_check_input(SdmContext *ctx, const SdmOutputFiles *files, const char *input);
/* Remove the temporary files of this run and of earlier ones. */
void sdm_output_files_sweep(const SdmOutputFiles *files);
/* Rename the complete files, the DEM last.  job: fingerprint of the run, kept in the marker. */
SdmStatus sdm_output_files_rename(SdmContext *ctx, const SdmOutputFiles *files, uint64_t job);
/* After a run that was stopped while it renamed its files: remove those it had renamed. */
void sdm_output_files_recover(const SdmOutputFiles *files);
/* Was a run with the fingerprint `job` stopped after its last rename, so that only tidying is left? */
bool sdm_output_files_finished(const SdmOutputFiles *files, uint64_t job);

#endif
