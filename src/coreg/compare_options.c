/* The options of `stereodem compare`. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/compare.h"

#define FIELD(name) offsetof(SdmCompareOptions, name)
#define DATUMS "auto|ellipsoid|egm96|egm2008"

const SdmOptionSpec sdm_compare_options[] = {
    {.name = "--class",
     .metavar = "RASTER",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(class_raster),
     .commands = SDM_CMD_COMPARE,
     .help = "Score only the cells of class 1 (land) of this raster; 2 (water) and 3 (cloud) are reported "
             "apart."},
    {.name = "--within",
     .metavar = "RASTER",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(within),
     .commands = SDM_CMD_COMPARE,
     .help = "Compare only where this raster is valid, too: coverage is counted there, not over all of the "
             "reference."},
    {.name = "--dem-vertical",
     .metavar = "DATUM",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(dem_vertical),
     .choices = DATUMS,
     .fallback = "auto",
     .commands = SDM_CMD_COMPARE,
     .help = "Vertical datum of the DEM's heights; auto reads its vertical CRS or VERTICAL_DATUM."},
    {.name = "--reference-vertical",
     .metavar = "DATUM",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(reference_vertical),
     .choices = DATUMS,
     .fallback = "auto",
     .commands = SDM_CMD_COMPARE,
     .help = "Vertical datum of the reference's heights; auto reads its vertical CRS or VERTICAL_DATUM."},
    {.name = "--png",
     .metavar = "FILE",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(png),
     .commands = SDM_CMD_COMPARE,
     .help = "Picture of the errors after alignment: -20..20 m as grey 1..255, 0 where there is none."},
    {.name = "--json",
     .type = SDM_OPT_BOOL,
     .offset = FIELD(json),
     .commands = SDM_CMD_COMPARE,
     .help = "Print the figures as one line of JSON (metres, shares 0..1)."},
    {.name = NULL},
};
