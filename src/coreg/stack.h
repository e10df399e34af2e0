/* DEMs of one place -> one DEM: median, NMAD and count of each cell, each DEM shifted to the others; its
 * product and the report on it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "core/options.h"
#include "product/dem_report.h"

/* One DEM of a stack: what moves it to the others, and how well it fits them. */
typedef struct SdmStackedDem {
    char *path;
    double move_m[3]; /* applied to it: east, north, up */
    double nmad_m;    /* of its heights, moved, minus the median of the DEMs there; NaN: none */
    int64_t samples;  /* cells compared for that */
    double smooth_m;  /* NMAD of its smooth errors (jitter, tilt), taken out; NaN: left in */
    char date[32];    /* of a trend: ISO 8601; else "" */
    int group;        /* DEMs of one group overlap, directly or through others; from 0 */
    int partners;     /* DEMs that it was compared with */
} SdmStackedDem;

/* Views that one DEM may be fused from. */
enum { SDM_MAX_VIEWS = 32, SDM_MAX_VIEW_PAIRS = SDM_MAX_VIEWS * (SDM_MAX_VIEWS - 1) / 2 };

/* A DEM that was made from a pair of common views.  Such DEMs lie on one grid, and have the QA raster and the
 * orthoimage that run makes. */
typedef struct SdmFusedDem {
    double sigma_m; /* predicted precision of a height */
    double trust;   /* > 0: weight of its vote where the DEMs disagree */
    bool ortho;     /* its orthoimage shows the view that is wanted */
    int view[2];    /* numbers of its two views */
} SdmFusedDem;

/* The first DEM keeps its height: the others are brought to it. */
typedef struct SdmStackFusion {
    const SdmFusedDem *dem; /* in the order of the arguments */
    double least_m;         /* heights agree that differ by no more than a few times this */
    int place;              /* the DEM that keeps its place east and north; it is not resampled */
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

/* The DEMs in the order of their content, whatever the order of the arguments; owned, free with
 * sdm_stack_free(). */
typedef struct SdmStackResult {
    SdmStackedDem *dems;
    int count, groups, pairs; /* DEMs, connected groups of them, pairs compared */
    double disagree_m;        /* two DEMs farther apart than this are marked SDM_QA_DISAGREE */
    bool datum_unknown;       /* no input declares its vertical datum, and neither will the DEM */
    SdmDoubt *doubt;          /* DEMs that may not belong to the others */
    int doubts;
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
