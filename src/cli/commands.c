/* The commands of stereodem: the table drives calls, --help and the manual.  To add one: a bit SDM_CMD_* in
 * core/options.h, a file cmd_NAME.c, an entry here, and for options of its own a table, a member of
 * SdmCall.own and its defaults. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "views/run_views.h"

static const SdmCommand commands[] = {
    {"run", SDM_CMD_RUN, 1, SDM_MAX_POSITIONAL,
     "the scene, the left and the right image, or three views or more",
     "SCENE -o DEM.tif [options]\nLEFT RIGHT -o DEM.tif [options]\nVIEW VIEW VIEW ... -o DEM.tif [options]",
     "make a DEM from a scene, a pair of images, or several views",
     "Make a DEM. SCENE is an ASTER level 1A scene: an .hdf file (V004), or the folder or .zip of V003. LEFT "
     "and RIGHT are two images with RPC cameras, or the folders of such products, or with --base-height a "
     "georeferenced epipolar pair. Of three to 32 VIEWs with RPC cameras, pairs are chosen by base and "
     "time, and their DEMs are fused into one. A run "
     "that was interrupted goes on where it stopped when the same command is given again.",
     NULL, NULL, sdm_command_run},
    {"info", SDM_CMD_INFO, 1, SDM_MAX_VIEWS, "the scene, or the left and the right image",
     "SCENE [options]\nLEFT RIGHT [options]", "describe a scene: sensor, cameras, overlap, expected cost",
     "Print what a scene is and what its DEM would be: sensor, cameras, overlap, base/height ratio, height "
     "range, expected memory and time. Matches nothing and writes nothing.",
     NULL, NULL, sdm_command_info},
    {"compare", SDM_CMD_COMPARE, 2, 2, "the DEM and the reference", "DEM REFERENCE [options]",
     "compare a DEM with a reference: bias, NMAD, RMSE, LE90; align it",
     "Print the errors of a DEM against a reference (DEM minus reference) in metres: bias (mean), NMAD, "
     "RMSE and LE90, as it is and after co-registration by Nuth & Kaab (2011), by slope, class and height, "
     "at distances of 30, 300 and 3,000 m, and the share of cells that it covers. REFERENCE is a DEM, or "
     "points with heights: any vector file, or a table (.csv, .txt, .tsv) with columns x, y or lon, lat and "
     "z or height. -o writes a page with maps and plots, --aligned the aligned DEM.",
     sdm_compare_options, NULL, sdm_command_compare},
    {"stack", SDM_CMD_STACK, 0, SDM_MAX_POSITIONAL, "",
     "DEM DEM ... -o STACKED.tif [options]\n"
     "--list DEMS.txt -o STACKED.tif [options]",
     "make one DEM from DEMs of one place: median, NMAD, count",
     "Combine DEMs of one place, such as run makes of several scenes: co-register them on stable cells, then "
     "give each cell the median of their heights. NAME_qa.tif holds NMAD and count of each cell and a mask.",
     sdm_stack_options, NULL, sdm_command_stack},
    {"plan", SDM_CMD_PLAN, 0, SDM_MAX_VIEWS, "",
     "SCENE -o JOB [options]\nLEFT RIGHT -o JOB [options]\n--list SCENES.txt -o JOB [options]",
     "plan a job: units of work of one or many scenes",
     "Write a job folder: inputs with sizes and time stamps, all parameters, and the units of work of one or "
     "many scenes, numbered from 0, for tile to compute on any machine. A scene within the memory budget is "
     "one unit; a larger one is its preparation and its tiles. Reads cameras, no pixels.",
     sdm_job_options_table, sdm_job_defaults, sdm_command_plan},
    {"tile", SDM_CMD_TILE, 1, 2, "the job folder", "JOB I [options]\nJOB --index-env NAME [options]",
     "compute units of a job",
     "Compute task I of a job: unit I, or with --count K the units I x K to I x K + K - 1; or a list of "
     "units such as 4,7-9. Finished units of this plan are skipped, damaged ones are computed again. The "
     "parameters are those of the plan.",
     sdm_job_options_table, sdm_job_defaults, sdm_command_tile},
    {"merge", SDM_CMD_MERGE, 1, 2, "the job folder", "JOB [SCENE] [options]",
     "build the DEMs of a job from its units",
     "Build the DEM of every scene of a job, or of the scene with this number, with all companions. Prints "
     "which units are missing and how to compute them. Skips scenes that are merged already.",
     sdm_job_options_table, sdm_job_defaults, sdm_command_merge},
    {"status", SDM_CMD_STATUS, 1, 1, "the job folder", "JOB [options]", "print the progress of a job",
     "Print for each scene of a job how many units are done, running, failed and missing, the last error, "
     "and the time left.",
     sdm_job_options_table, sdm_job_defaults, sdm_command_status},
    {"match", SDM_CMD_MATCH, 2, 2, "the left and the right image",
     "LEFT RIGHT -o DISPARITY.tif [options]\nl_%04d.png r_%04d.png -o d_%04d.tif [options]",
     "match a rectified pair: disparities of its left image",
     "Match two images whose rows are epipolar lines, or sequences of them. Writes for each pixel x of the "
     "left image the disparity d of its match, x_right = x_left - d. Takes any images that GDAL reads: "
     "8-bit, grey or colour, or wider ones; ignores nodata, masked pixels and NaN.",
     sdm_disparity_options, NULL, sdm_command_match},
    {"devices", SDM_CMD_DEVICES, 0, 0, "", "[options]", "list the devices of this machine that can match",
     "Print the instruction sets of the processor, the OpenCL platforms and devices, and the CUDA devices of "
     "this machine, each by its name for --device, with what it can run, or why it cannot.  With --verbose "
     "each device is opened, its arithmetic is tested, and it is timed beside the processor; the times are "
     "kept.",
     NULL, NULL, sdm_command_devices},
    {.name = NULL},
};

const SdmProgram sdm_program = {
    "stereodem", "a stereo pair of satellite images in, a georeferenced DEM out",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 (plan, merge, status) finished, but some\nscenes failed "
    "for good.\nExample: stereodem run AST_L1A.hdf -o dem.tif\n",
    commands};
