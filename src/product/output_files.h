/* Name of the DEM -> the files of a product: their names, checks before any work, renames at the end. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease.h"
#include "core/path.h"

/* In the order in which they are renamed: the DEM last, so that it stands for the whole. */
enum {
    SDM_FILE_HTML,
    SDM_FILE_PNG,
    SDM_FILE_JSON,
    SDM_FILE_STAC,
    SDM_FILE_STYLE, /* of the DEM, for QGIS, as the two below */
    SDM_FILE_QA_STYLE,
    SDM_FILE_CHANGE_STYLE,
    SDM_FILE_TREND_STYLE,
    SDM_FILE_REASON, /* the band "reason" of the QA raster, with colours and words */
    SDM_FILE_QA,
    SDM_FILE_ORTHO,
    SDM_FILE_CHANGE,
    SDM_FILE_TREND,
    SDM_FILE_LAS, /* points, uncompressed or compressed */
    SDM_FILE_LAZ,
    SDM_FILE_DEM,
    SDM_FILES
};

typedef struct SdmOutputFiles {
    char path[SDM_FILES][SDM_PATH_SIZE]; /* NAME.html, NAME.png, ... */
    char run[12];                        /* 8 hexadecimal digits in the names of this run's temporary files */
    char part[SDM_FILES][SDM_PATH_SIZE]; /* OUTPUT.part-html-RUN, ...: until the product is complete */
    char raw[SDM_FILES][SDM_PATH_SIZE];  /* OUTPUT.part-raw-dem-RUN, ...: rasters that are being filled */
    bool made[SDM_FILES];       /* false: the product has no such file, and an earlier one is removed */
    char marker[SDM_PATH_SIZE]; /* OUTPUT.part-naming: there from the first rename until all is tidied up;
                                 * names the run that renames */
    bool is_lost;               /* another run took the output over while this one renamed */
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
/* Remove the temporary files of all runs, which are over.  The caller holds the output. */
void sdm_output_files_sweep(const SdmOutputFiles *files);
/* Remove the temporary files of this run, then the marker if it is this run's. */
void sdm_output_files_leave(const SdmOutputFiles *files);
/* Rename the complete files, the DEM last.  job: fingerprint of the run, kept in the marker.  lease: of the
 * output, checked before each rename; NULL: none. */
SdmStatus sdm_output_files_rename(SdmContext *ctx, SdmOutputFiles *files, uint64_t job, SdmLease *lease);
/* After a run that was stopped while it renamed its files: remove those it had renamed. */
void sdm_output_files_recover(const SdmOutputFiles *files);
/* Was a run with the fingerprint `job` stopped after its last rename, so that only tidying is left? */
bool sdm_output_files_finished(const SdmOutputFiles *files, uint64_t job);
/* After that, when the rest is tidied up: remove its temporary files and its marker. */
void sdm_output_files_forget(const SdmOutputFiles *files, uint64_t job);
