/* DEMs of one place -> one DEM: median, NMAD and count of each cell, each DEM shifted to the others. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "core/options.h"
#include "coreg/stack_report.h"

/* Views that one DEM may be fused from. */
enum { SDM_MAX_VIEWS = 32, SDM_MAX_VIEW_PAIRS = SDM_MAX_VIEWS * (SDM_MAX_VIEWS - 1) / 2 };

/* Properties of DEMs that were made from pairs of common views; arrays in the order of the arguments. Such
 * DEMs lie on one grid, and have the QA raster and the orthoimage that run makes. */
typedef struct SdmStackFusion {
    const double *sigma_m; /* predicted precision of a height */
    const double *trust;   /* > 0: weight of its vote where the DEMs disagree */
    double least_m;        /* heights agree that differ by no more than a few times this */
    const bool *ortho;     /* its orthoimage shows the view that is wanted */
    int (*views)[2];       /* numbers of its two views */
    int reference;         /* the DEM that keeps its height: the others are brought to it */
    int place;             /* the same of the place east and north; it is not resampled */
} SdmStackFusion;

typedef struct SdmStackOptions {
    const char *list;             /* --list: a file with one DEM a line, relative to it; NULL = none */
    const char *align;            /* "z", "xyz", "none" */
    const char *bias;             /* "auto", "keep" */
    const char *dem_vertical;     /* of DEMs that declare none: "auto", "ellipsoid", "egm96", "egm2008" */
    bool trend;                   /* a line through the heights of each cell by date, too */
    const char *dates;            /* --dates: a file with the dates of DEMs; NULL = none */
    bool no_filled;               /* leave out cells that a DEM's own QA raster marks as filled */
    const SdmStackFusion *fusion; /* no option; NULL: each cell gets the median */
} SdmStackOptions;

extern const SdmOptionSpec sdm_stack_options[]; /* offsets into SdmStackOptions; ends with name == NULL */
void sdm_stack_default(SdmStackOptions *opt);

/* The DEMs in the order of their content, whatever the order of the arguments.  Paths and arrays are owned;
 * free with sdm_stack_free(). */
typedef struct SdmStackResult {
    SdmStackReport report;
    SdmStackedDem *dems;
    SdmDoubt *doubt;
    char **paths;
    SdmGrid grid;
} SdmStackResult;

/* Stack `count` DEMs and those of opt->list into options->output and its companions, or (keep) in memory.
 * Grid: --t_srs and --tr, else the CRS that has the most pixels and the median pixel size.  DEMs are read as
 * geo/height_raster.h says, averaged where their pixels are smaller than two thirds of a cell.  Heights above
 * a geoid are converted to the ellipsoid, and written as --vertical asks.  The result does not depend on the
 * order of the DEMs, --threads and --memory.  Memory: arrays stay within --memory; files are read by windows.
 * options: the context's; out: free after failure, too.
 * @return SDM_OK; SDM_ERR_USAGE, _INPUT, _DATA, _UNSUPPORTED, _MEMORY, _IO, _STOPPED with one sentence */
SdmStatus sdm_stack_dems(SdmContext *ctx, const SdmOptions *options, const SdmStackOptions *opt,
                         const char *const *dems, int count, SdmKeptProduct *keep, SdmStackResult *out);
void sdm_stack_free(SdmStackResult *r);
