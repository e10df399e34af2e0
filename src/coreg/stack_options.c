/* The options of `stereodem stack`, declared once; those that it shares with `run` are in
 * src/core/options.c. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack.h"

#define FIELD(name) offsetof(SdmStackOptions, name)

const SdmOptionSpec sdm_stack_options[] = {
    {.name = "--list",
     .metavar = "FILE",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(list),
     .commands = SDM_CMD_STACK,
     .help =
         "Text file with one DEM a line, relative to that file; empty lines and lines with # are skipped."},
    {.name = "--align",
     .metavar = "AXES",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(align),
     .choices = "z|xyz|none",
     .fallback = "z",
     .commands = SDM_CMD_STACK,
     .help = "Shift each DEM to the others over stable cells: z in height; xyz in place, too, by Nuth & Kaab "
             "(2011); none takes them as they are."},
    {.name = "--bias",
     .metavar = "MODE",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(bias),
     .choices = "auto|keep",
     .fallback = "auto",
     .commands = SDM_CMD_STACK,
     .help = "auto: what is smooth in a DEM's differences from the others (jitter, tilt) is brought to the "
             "mean of three or more DEMs before the median is taken, where it is a third of their NMAD or "
             "more; keep: left in. Needs --align z or xyz."},
    {.name = "--dem-vertical",
     .metavar = "DATUM",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(dem_vertical),
     .choices = "auto|ellipsoid|egm96|egm2008",
     .fallback = "auto",
     .commands = SDM_CMD_STACK,
     .help = "What the heights of those DEMs are above that do not say so; auto assumes nothing."},
    {.name = "--no-filled",
     .type = SDM_OPT_BOOL,
     .offset = FIELD(no_filled),
     .commands = SDM_CMD_STACK,
     .help =
         "Leave out cells that NAME_qa.tif beside a DEM marks as filled; else they serve where no DEM has "
         "a measured height."},
    {.name = NULL},
};
