/* The options of `stereodem compare`. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/compare.h"

#include <math.h>

#define FIELD(name) offsetof(SdmCompareOptions, name)
#define DATUMS "auto|" SDM_VERTICAL_WORDS

const SdmOptionSpec sdm_compare_options[] = {
    {.name = "--output",
     .metavar = "FILE.html",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(output),
     .commands = SDM_CMD_COMPARE | SDM_SHOWN_FIRST,
     .fallback = "none",
     .help = "Write a page with maps and histograms before and after alignment, differences by aspect (the "
             "curve of Nuth and Kaab), slope, height and class, and a semivariogram."},
    {.name = "--class",
     .metavar = "FILE",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(class_raster),
     .commands = SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     .help = "Score only the cells of class 1 (land) of this raster, or of these polygons by their field "
             "class (without one: 1); 2 (water) and 3 (cloud) are reported apart."},
    {.name = "--within",
     .metavar = "FILE",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(within),
     .commands = SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     .help = "Compare only where this raster is valid, too, or inside of these polygons: coverage is counted "
             "there, not over all of the reference."},
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
    {.name = "--mask",
     .metavar = "FILE",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(mask),
     .commands = SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     .help = "Stable ground: only cells where this raster is not 0, or inside of these polygons, are used "
             "for the shift and are scored; the others are reported apart."},
    {.name = "--exclude",
     .metavar = "FILE",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(exclude),
     .commands = SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     .help = "Unstable ground, such as outlines of glaciers: cells inside of these polygons, or where this "
             "raster is not 0, are not used for the shift and are reported apart."},
    {.name = "--where",
     .metavar = "SQL",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(where),
     .commands = SDM_CMD_COMPARE,
     .help = "Take only the polygons that this attribute filter selects, as behind WHERE in SQL: 'area_km2 > "
             "1'. It holds for every file of polygons that is given."},
    {.name = "--layer",
     .metavar = "NAME",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(layer),
     .fallback = "the only one of polygons",
     .commands = SDM_CMD_COMPARE,
     .help = "Layer of the polygons, for a file that has several."},
    {.name = "--aligned",
     .metavar = "FILE.tif",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(aligned),
     .commands = SDM_CMD_COMPARE,
     .help = "Write the DEM without the shift and the systematic error of --model: on the same cells, "
             "resampled once from the original by cubic spline."},
    {.name = "--difference",
     .metavar = "FILE.tif",
     .type = SDM_OPT_TEXT,
     .offset = FIELD(difference),
     .commands = SDM_CMD_COMPARE,
     .help = "Write the aligned DEM minus the reference in metres, in stable and other places, with "
             "statistics as "
             "metadata."},
    {.name = "--model",
     .metavar = "MODEL",
     .type = SDM_OPT_CHOICE,
     .offset = FIELD(model),
     .choices = "shift|tilt",
     .fallback = "shift",
     .commands = SDM_CMD_COMPARE,
     .help = "Systematic error that is estimated and removed: shift: a 3-D shift; tilt: also a plane."},
    {.name = "--json",
     .type = SDM_OPT_BOOL,
     .offset = FIELD(json),
     .commands = SDM_CMD_COMPARE,
     .help = "Print the figures as one line of JSON (metres, shares 0..1)."},
    {.name = NULL},
};

void sdm_compare_default(SdmCompareOptions *opt)
{
    *opt = (SdmCompareOptions){.dem_vertical = "auto", .reference_vertical = "auto", .model = "shift"};
}
