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
         "Text file with one DEM per line, relative to that file; empty lines and lines with # are skipped."},
    {.name = "--align",
     .metavar = "AXES",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(align),
     .choices = "z|xyz|none",
     .fallback = "z",
     .commands = SDM_CMD_STACK,
     .help =
         "Shift each DEM to the others over stable cells: z in height; xyz horizontally, too, by Nuth & Kaab "
         "(2011); none takes them as they are."},
    {.name = "--bias",
     .metavar = "MODE",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(bias),
     .choices = "auto|keep",
     .fallback = "auto",
     .commands = SDM_CMD_STACK,
     .help =
         "auto: with three or more DEMs, the smooth error of each (jitter, tilt), seen in its differences "
         "from the others, is reduced to the mean of all before the median is taken, where it is a third "
         "of the NMAD or more; keep: it is left in. Needs --align z or xyz."},
    {.name = "--dem-vertical",
     .metavar = "DATUM",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(dem_vertical),
     .choices = "auto|" SDM_VERTICAL_WORDS,
     .fallback = "auto",
     .commands = SDM_CMD_STACK,
     .help = "Vertical datum of DEMs that declare none; auto assumes nothing."},
    {.name = "--trend",
     .type = SDM_OPT_BOOL,
     .offset = FIELD(trend),
     .commands = SDM_CMD_STACK,
     .help = "Fit a robust line to the heights of each cell by date: NAME_trend.tif has its rate (m a year), "
             "standard error, dates, span and residual NMAD. Takes DEMs of three dates or more."},
    {.name = "--dates",
     .metavar = "FILE",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(dates),
     .commands = SDM_CMD_STACK,
     .help = "Text file for --trend with a DEM and its date per line (dem.tif 2003-05-06), which go before "
             "those of metadata, NAME.json and names."},
    {.name = "--no-filled",
     .type = SDM_OPT_BOOL,
     .offset = FIELD(no_filled),
     .commands = SDM_CMD_STACK,
     .help = "Leave out cells that NAME_qa.tif beside a DEM marks as filled; otherwise they are used where "
             "no DEM "
             "has a measured height."},
    {.name = NULL},
};

void sdm_stack_default(SdmStackOptions *opt)
{
    *opt = (SdmStackOptions){.align = "z", .bias = "auto", .dem_vertical = "auto"};
}
