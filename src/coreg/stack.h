/* DEMs of one place -> one DEM: per cell median, NMAD and count, each DEM shifted to the others. */
#ifndef SDM_STACK_H
#define SDM_STACK_H

#include "core/options.h"
#include "coreg/stack_report.h"

typedef struct SdmStackOptions {
    const char *list;         /* --list: a file with one DEM a line, relative to it; NULL = none */
    const char *align;        /* "z", "xyz", "none" */
    const char *bias;         /* "auto", "keep" */
    const char *dem_vertical; /* of DEMs that do not say: "auto", "ellipsoid", "egm96", "egm2008" */
    bool no_filled;           /* leave out cells that the DEM's own QA raster marks as filled */
} SdmStackOptions;

extern const SdmOptionSpec sdm_stack_options[]; /* offsets into SdmStackOptions; ends with name == NULL */

/* What was found; the DEMs in the order of their content, whatever the order of the arguments.  Paths and
 * array are owned; give back with sdm_stack_free(). */
typedef struct SdmStackResult {
    SdmStackReport report;
    SdmStackedDem *dems;
    char **paths;
    SdmGrid grid;
} SdmStackResult;

/* Stack `count` DEMs and those of opt->list into sdm_options(ctx)->output and its companions.
 * Grid: --t_srs and --tr, else the CRS that has the most cells and the median cell size.  DEMs are resampled
 * bilinearly (averaged where their cells are smaller than two thirds of the grid's).  Heights above a geoid
 * are brought to the ellipsoid, and written as --vertical asks.
 * The result is the same for any order of the DEMs, any --threads and any --memory.
 * Memory: within --memory for the arrays; files are read by windows.
 * @return SDM_OK; SDM_ERR_USAGE, _INPUT, _DATA, _UNSUPPORTED, _MEMORY, _IO, _STOPPED with one sentence */
SdmStatus sdm_stack(SdmContext *ctx, const char *const *dems, int count, const SdmStackOptions *opt,
                    SdmStackResult *out);
void sdm_stack_free(SdmStackResult *r);

#endif
