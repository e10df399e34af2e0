/* Every option, declared once; defaults; and the check of all fields against the table. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

#include <math.h>
#include <string.h>

#define AT(field) offsetof(SdmOptions, field)
#define SCENE (SDM_CMD_RUN | SDM_CMD_INFO | SDM_CMD_PLAN)
#define PLANNED (SCENE | SDM_CMD_COMPARE | SDM_CMD_OTHER | SDM_CMD_STACK | SDM_CMD_MATCH)
#define ALL (PLANNED | SDM_CMD_OTHER_MATCH | SDM_CMD_TILE | SDM_CMD_MERGE | SDM_CMD_STATUS | SDM_CMD_DEVICES)
#define MAKE (SDM_CMD_RUN | SDM_CMD_PLAN)
#define PLACE (SCENE | SDM_CMD_STACK) /* commands that lay out a grid */
#define DEM (MAKE | SDM_CMD_STACK)    /* commands that write a DEM, or plan one */
#define FIRST SDM_SHOWN_FIRST
#define BLOCKS SDM_CHANGES_BLOCKS
#define PRODUCTS SDM_CHANGES_PRODUCTS
#define INPUT SDM_NAMES_INPUT
#define AREAS SDM_NAMES_AREAS
#define MIB (1024.0 * 1024.0)

const SdmOptionSpec sdm_option_table[] = {
    {"--output", "FILE", SDM_OPT_TEXT, AT(output), SDM_NO_RANGE, "none, must be given",
     SDM_CMD_RUN | SDM_CMD_STACK | FIRST,
     "DEM to write, NAME.tif, a GeoTIFF; its companions NAME_qa.tif, NAME_ortho.tif (run alone), NAME.json, "
     "NAME.stac.json, NAME.html, NAME.png and NAME.log lie beside it."},
    {"--tr", "SPACING", SDM_OPT_REAL, AT(tr), 1e-6, 1e5, NULL,
     "the round step nearest to 2 x the ground sample distance, 30 m for ASTER; stack: as its DEMs",
     PLACE | BLOCKS | FIRST,
     "Spacing of the DEM in units of the output CRS: metres, or degrees for a geographic CRS."},
    {"--t_srs", "CRS", SDM_OPT_TEXT, AT(t_srs), SDM_NO_RANGE,
     "the UTM zone of the scene; stack: the CRS of most DEMs", PLACE | BLOCKS | FIRST,
     "Output CRS, anything that GDAL understands, such as EPSG:32633."},
    {"--vertical", "DATUM", SDM_OPT_ENUM, AT(vertical), 0.0, 0.0, SDM_VERTICAL_WORDS, "ellipsoid",
     DEM | PRODUCTS | FIRST,
     "Vertical datum of the heights: the WGS 84 ellipsoid or a geoid. Heights are in metres."},
    {"--bounds", "W S E N", SDM_OPT_TEXT, AT(bounds), SDM_NO_RANGE, "all of the scene",
     PLACE | SDM_CMD_COMPARE | PRODUCTS | FIRST,
     "Part to make: west, south, east and north, in degrees of WGS 84 where all four can be degrees (the "
     "part may cross longitude 180), else in units of the output CRS (compare: of the DEM's). Its cells are "
     "those of the whole DEM."},
    {"--area", "FILE", SDM_OPT_TEXT, AT(area), SDM_NO_RANGE, "none",
     PLACE | SDM_CMD_COMPARE | PRODUCTS | INPUT | AREAS,
     "Polygons in any CRS, where the DEM is made: cells outside of them have no height."},
    {"--cost", "COST", SDM_OPT_CHOICE, AT(cost), 0.0, 0.0, "auto|zncc|census", "auto", MAKE | BLOCKS,
     "Matching cost: zero-mean normalised cross-correlation or census transform; auto: census for pixels "
     "below 5 m, else zncc."},
    {"--optimizer", "NAME", SDM_OPT_CHOICE, AT(optimizer), 0.0, 0.0, "auto|local|sgm", "auto", MAKE | BLOCKS,
     "How matches are chosen from the costs: local takes the best one of each pixel; sgm (semi-global "
     "matching) also penalises differences between neighbours, which keeps the edges of roofs; auto: sgm "
     "for pixels below 3 m, else local."},
    {"--optimizer", "NAME", SDM_OPT_CHOICE, AT(optimizer), 0.0, 0.0, "auto|local|sgm|bp", "auto",
     SDM_CMD_MATCH,
     "How matches are chosen from the costs: local takes the best one of each pixel; sgm (semi-global "
     "matching) and bp (belief propagation) also penalise differences between neighbours; auto: local."},
    {"--surface-filter", "NAME", SDM_OPT_CHOICE, AT(surface_filter), 0.0, 0.0, "auto|wiener|none", "auto",
     MAKE | BLOCKS,
     "Filter of the matched heights: wiener smooths plain ground within the predicted noise, restores "
     "ridges that the correlation window blurs, and moves heights by least squares to where the pixels of "
     "both views agree; none: off; auto: wiener with zncc, else none."},
    {"--p1", "COST", SDM_OPT_INT, AT(p1), 1.0, SDM_P2_MAX, NULL, "by the cost", SDM_CMD_MATCH,
     "sgm: penalty where neighbours differ by one label, in units of the cost."},
    {"--p2", "COST", SDM_OPT_INT, AT(p2), 1.0, SDM_P2_MAX, NULL, "by the cost", SDM_CMD_MATCH,
     "sgm: penalty where neighbours differ by more labels, at least --p1; lower across edges of the left "
     "image."},
    {"--paths", "N", SDM_OPT_CHOICE, AT(paths), 0.0, 0.0, "4|8", "8", SDM_CMD_MATCH,
     "sgm: number of directions along which costs are aggregated, 4 or 8."},
    {"--bp-weight", "COST", SDM_OPT_INT, AT(bp_weight), 1.0, 4000.0, NULL, "by the cost", SDM_CMD_MATCH,
     "bp: penalty for each label by which neighbours differ, in units of the cost."},
    {"--bp-truncation", "N", SDM_OPT_INT, AT(bp_truncation), 1.0, SDM_BP_LABELS_MAX, NULL, "by the cost",
     SDM_CMD_MATCH, "bp: difference in labels above which the penalty no longer grows."},
    {"--bp-outer", "N", SDM_OPT_INT, AT(bp_outer), 1.0, 100.0, NULL, "1", SDM_CMD_MATCH,
     "bp: outer iterations; each visits every tile twice, in forward and in backward order."},
    {"--bp-inner", "N", SDM_OPT_INT, AT(bp_inner), 1.0, 100.0, NULL, "2", SDM_CMD_MATCH,
     "bp: inner iterations of each visit of a tile; each sends messages right, left, down and up."},
    {"--bp-tile", "PX", SDM_OPT_INT, AT(bp_tile), SDM_BP_TILE_MIN, 1024.0, NULL, "32", SDM_CMD_MATCH,
     "bp: side of a tile, in pixels; the messages of a tile should fit the cache."},
    {"--device", "NAME", SDM_OPT_CHOICE, AT(device), 0.0, 0.0, "auto|cpu|opencl[:N]|cuda[:N]", "auto",
     MAKE | SDM_CMD_MATCH | SDM_CMD_OTHER_MATCH | FIRST,
     "Where matching runs: the processor, or a device with the number that stereodem devices prints; auto "
     "takes CUDA devices that work, and logs it (commands other than run: the processor). The result does "
     "not depend on it."},
    {"--cpu-level", "LEVEL", SDM_OPT_CHOICE, AT(cpu_level), 0.0, 0.0,
     "auto|reference|c|neon|sse4.2|avx2|avx512bw|avx512", "auto",
     SDM_CMD_RUN | SDM_CMD_TILE | SDM_CMD_MATCH | SDM_CMD_OTHER_MATCH,
     "Instruction set to use on the CPU; reference is the slow definition of the kernels. The result does "
     "not depend on it."},
    {"--threads", "N", SDM_OPT_INT, AT(threads), 1.0, 1024.0, NULL,
     "one per processor, fewer by OMP_NUM_THREADS or the quota of a control group", ALL | FIRST,
     "Number of threads. The result does not depend on it."},
    {"--memory", "BYTES", SDM_OPT_BYTES, AT(memory_bytes), 64.0 * MIB, INFINITY, NULL,
     "2G, or 3/4 of what the machine or a control group grants", PLACE | SDM_CMD_COMPARE | FIRST,
     "Memory budget of the process, in bytes or with K, M, G or T (powers of 1024)."},
    {"--tile", "CELLS", SDM_OPT_INT, AT(tile), 64.0, 65536.0, NULL, "chosen from the memory budget", SCENE,
     "Edge of the blocks that the DEM is made in, in cells. The DEM does not depend on it."},
    {"--fill", "HOLES", SDM_OPT_CHOICE, AT(fill), 0.0, 0.0, "none|gentle|all", "gentle",
     MAKE | BLOCKS | FIRST,
     "Small holes to fill with interpolated heights: none of them, all, or gentle: holes on slopes of up to "
     "20 degrees. With pixels below 5 m gentle fills all; with --optimizer sgm it fills narrow holes beside "
     "no step and those that a step explains. NAME_qa.tif marks filled cells."},
    {"--hmin", "METRES", SDM_OPT_REAL, AT(hmin_m), -12000.0, 12000.0, NULL, "found from the scene",
     SCENE | BLOCKS, "Lowest height to search and to write, in metres above the ellipsoid."},
    {"--hmax", "METRES", SDM_OPT_REAL, AT(hmax_m), -12000.0, 12000.0, NULL, "found from the scene",
     SCENE | BLOCKS, "Highest height to search and to write, in metres above the ellipsoid."},
    {"--dem", "FILE", SDM_OPT_TEXT, AT(dem), SDM_NO_RANGE, "none", SCENE | BLOCKS | INPUT,
     "DEM to start from, heights in metres: only heights within 400 m of it are searched. It is not needed; "
     "it helps in extreme terrain, and between clouds, where one with cells of up to 8 pixels tells "
     "the shape of the ground that is seen but not matched."},
    {"--dem-vertical", "DATUM", SDM_OPT_CHOICE, AT(dem_vertical), 0.0, 0.0, "auto|" SDM_VERTICAL_WORDS,
     "auto", SCENE | BLOCKS, "Vertical datum of --dem; auto reads it from the file."},
    {"--reference", "FILE", SDM_OPT_TEXT, AT(reference), SDM_NO_RANGE, "none", MAKE | BLOCKS | INPUT | FIRST,
     "DEM that corrects the cameras, heights in metres: a 3-D shift and the jitter along the track, which a "
     "pair cannot show, are fitted to it where the ground has not changed. None of its heights enters the "
     "DEM."},
    {"--reference-mask", "FILE", SDM_OPT_TEXT, AT(reference_mask), SDM_NO_RANGE, "none",
     MAKE | BLOCKS | INPUT | AREAS,
     "Stable ground for --reference: a raster, which leaves out cells of 0, NaN or no data, or polygons, "
     "which leave out the ground outside. Not needed: changed ground is detected."},
    {"--exclude", "FILE", SDM_OPT_TEXT, AT(exclude), SDM_NO_RANGE, "none", MAKE | BLOCKS | INPUT | AREAS,
     "Ground that the fit to --reference leaves out: polygons, such as outlines of glaciers, or a raster "
     "that is not 0 there. The DEM itself is made there as elsewhere."},
    {"--where", "SQL", SDM_OPT_TEXT, AT(where), SDM_NO_RANGE, "none", MAKE | BLOCKS,
     "Take only the polygons of --reference-mask and --exclude that this attribute filter selects, as behind "
     "WHERE in SQL: 'area_km2 > 1'."},
    {"--layer", "NAME", SDM_OPT_TEXT, AT(layer), SDM_NO_RANGE, "the only one of polygons", MAKE | BLOCKS,
     "Layer of these polygons, for a file that has several."},
    {"--reference-vertical", "DATUM", SDM_OPT_CHOICE, AT(reference_vertical), 0.0, 0.0,
     "auto|" SDM_VERTICAL_WORDS, "auto", MAKE | BLOCKS,
     "Vertical datum of --reference; auto reads it from the file."},
    {"--band", "N", SDM_OPT_INT, AT(band), 1.0, 65535.0, NULL, "the only one, or their mean", SCENE | BLOCKS,
     "Band to match, counted from 1. Without it the mean of the red, green and blue bands is matched, or of "
     "all bands where the file declares no colours. A single band, such as a panchromatic one beside a "
     "multispectral one, is taken as it is."},
    {"--mask-left", "FILE", SDM_OPT_TEXT, AT(mask_left), SDM_NO_RANGE, "none", SCENE | BLOCKS | INPUT,
     "Raster of the size of the left image; 0 or NaN = do not use the pixel."},
    {"--mask-right", "FILE", SDM_OPT_TEXT, AT(mask_right), SDM_NO_RANGE, "none", SCENE | BLOCKS | INPUT,
     "Raster of the size of the right image; 0 or NaN = do not use the pixel."},
    {"--base-height", "RATIO", SDM_OPT_REAL, AT(base_height), 0.01, 5.0, NULL,
     "the images have cameras of their own", SCENE | BLOCKS,
     "Base/height ratio (no unit) of a georeferenced pair that lies in epipolar geometry already."},
    {"--points", "FORMAT", SDM_OPT_CHOICE, AT(points), 0.0, 0.0, "none|las|laz", "none", MAKE | PRODUCTS,
     "Write the heights as a point cloud, too, NAME.las or NAME.laz (LAS 1.4): with the grey value as "
     "intensity, score and predicted error. laz, which is smaller, needs the library LASzip."},
    {"--co", "NAME=VALUE", SDM_OPT_KEY_VALUES, AT(co), SDM_NO_RANGE, "none", DEM | PRODUCTS,
     "Creation option of GDAL's COG driver for the DEM, such as COMPRESS=ZSTD; may be given again."},
    {"--config", "NAME=VALUE", SDM_OPT_KEY_VALUES, AT(config), SDM_NO_RANGE, "none", PLANNED | BLOCKS,
     "Configuration option of GDAL, such as GDAL_HTTP_PROXY=HOST:PORT; may be given again."},
    {"--overwrite", NULL, SDM_OPT_BOOL, AT(overwrite), SDM_NO_RANGE, "off: existing files are refused",
     DEM | SDM_CMD_MERGE | SDM_CMD_COMPARE | SDM_CMD_STATUS | FIRST, "Overwrite existing output."},
    {"--keep-job", NULL, SDM_OPT_BOOL, AT(keep_job), SDM_NO_RANGE, "off: removed after success",
     SDM_CMD_RUN | SDM_CMD_MERGE,
     "Keep the finished units after success: with run the job folder NAME.tif.job, with merge the units of "
     "the scene."},
    {"--strict", NULL, SDM_OPT_BOOL, AT(strict), SDM_NO_RANGE, "off: doubts are told, and the exit code is 0",
     SDM_CMD_RUN | SDM_CMD_TILE | SDM_CMD_MERGE | SDM_CMD_STACK,
     "Exit code 1 where a DEM is doubtful, such as with a reference that was refused. Its files are written "
     "all the same."},
    {"--options", "FILE", SDM_OPT_TEXT, AT(options), SDM_NO_RANGE, "none", ALL | SDM_OF_SCREEN,
     "Options from a file: a JSON object of names and values, or NAME.json of an earlier run, whose inputs "
     "are taken, too, where none is given. What the command line gives counts."},
    {"--quiet", NULL, SDM_OPT_BOOL, AT(quiet), SDM_NO_RANGE, "off", ALL | SDM_OF_SCREEN,
     "Print errors only."},
    {"--verbose", NULL, SDM_OPT_BOOL, AT(verbose), SDM_NO_RANGE, "off", ALL | SDM_OF_SCREEN,
     "Print details of each stage."},
    {"--log", "FORMAT", SDM_OPT_CHOICE, AT(log), 0.0, 0.0, "text|json", "text", ALL | SDM_OF_SCREEN,
     "text: lines for people on standard error; json: one JSON object a line on standard output, the last "
     "one a summary."},
    {.name = NULL},
};

void sdm_options_default(SdmOptions *opt)
{
    *opt = (SdmOptions){
        .cost = "auto",
        .optimizer = "auto",
        .surface_filter = "auto",
        .paths = "8",
        .bp_outer = 1,
        .bp_inner = 2,
        .bp_tile = 32,
        .device = "auto",
        .cpu_level = "auto",
        .memory_bytes = INT64_C(2) << 30,
        .fill = "gentle",
        .points = "none",
        .hmin_m = NAN,
        .hmax_m = NAN,
        .dem_vertical = "auto",
        .reference_vertical = "auto",
        .base_height = NAN,
        .log = "text",
    };
}

/* Has an option another text than the default? */
static bool differs(const SdmOptionSpec *spec, const void *opts, const void *defaults)
{
    char a[64], b[64];
    sdm_option_print(spec, opts, a, sizeof a);
    sdm_option_print(spec, defaults, b, sizeof b);
    return strcmp(a, b) != 0;
}

/* A default may lie outside the range (threads 0, heights NaN): it then means "not given".  So does a text
 * that is NULL where the default is. */
static bool is_default(const SdmOptionSpec *spec, const void *opts, const void *defaults)
{
    const char *text, *usual;
    if (spec->type != SDM_OPT_TEXT && spec->type != SDM_OPT_CHOICE)
        return spec->type != SDM_OPT_KEY_VALUES && !differs(spec, opts, defaults);
    memcpy(&text, (const char *)opts + spec->offset, sizeof text);
    memcpy(&usual, (const char *)defaults + spec->offset, sizeof usual);
    return !text && !usual;
}

/* The only optimizer that accepts the option; NULL: all do. */
static const char *optimizer_of(const char *name)
{
    static const char *const sgm[] = {"--p1", "--p2", "--paths"};
    for (size_t i = 0; i < sizeof sgm / sizeof *sgm; i++)
        if (strcmp(name, sgm[i]) == 0)
            return "sgm";
    return strncmp(name + strlen("--"), "bp-", strlen("bp-")) == 0 ? "bp" : NULL;
}

SdmStatus sdm_options_check_optimizer(SdmContext *ctx, const SdmOptions *opt, uint64_t given)
{
    for (int i = 0; sdm_option_table[i].name; i++) {
        const char *const needs = optimizer_of(sdm_option_table[i].name);
        if (needs && (given >> i & 1) && strcmp(needs, opt->optimizer) != 0)
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s: needs --optimizer %s, found %s; give it, too",
                            sdm_option_table[i].name, needs, opt->optimizer);
    }
    return SDM_OK;
}

/* Bit i: option i of the table has another value than the default. */
static uint64_t changed(const SdmOptions *opt, const SdmOptions *usual)
{
    uint64_t bits = 0;
    for (int i = 0; sdm_option_table[i].name; i++)
        bits |= (uint64_t)differs(&sdm_option_table[i], opt, usual) << i;
    return bits;
}

/* A value is good when its text can be read back. */
static SdmStatus check_field(SdmContext *ctx, const SdmOptionSpec *spec, const void *opts)
{
    union {
        int whole;
        double real;
        int64_t bytes;
        const char *text, *pairs[SDM_MAX_KEY_VALUES + 1];
    } copy = {.pairs = {NULL}};
    const char *const *const pairs = (const char *const *)(const void *)((const char *)opts + spec->offset);
    SdmOptionSpec to_copy = *spec;
    char text[64];
    const char *word;
    to_copy.offset = 0;
    switch (spec->type) {
    case SDM_OPT_BOOL:
        return SDM_OK;
    case SDM_OPT_KEY_VALUES:
        for (int i = 0; i <= SDM_MAX_KEY_VALUES && pairs[i]; i++)
            PASS(sdm_option_set(ctx, &to_copy, &copy, pairs[i]));
        return SDM_OK;
    case SDM_OPT_TEXT:
    case SDM_OPT_CHOICE:
        memcpy(&word, (const char *)opts + spec->offset, sizeof word);
        if (!word && spec->type == SDM_OPT_TEXT)
            return SDM_OK;
        return sdm_option_set(ctx, &to_copy, &copy, word ? word : "");
    default:
        sdm_option_print(spec, opts, text, sizeof text);
        return sdm_option_set(ctx, &to_copy, &copy, *text ? text : "nan");
    }
}

SdmStatus sdm_options_check_table(SdmContext *ctx, const SdmOptionSpec *table, const void *opts,
                                  const void *defaults)
{
    SdmStatus st = SDM_OK;
    for (const SdmOptionSpec *spec = table; spec->name && st == SDM_OK; spec++) {
        const bool again = spec[1].name && strcmp(spec[1].name, spec->name) == 0;
        if (!again && !is_default(spec, opts, defaults))
            st = check_field(ctx, spec, opts);
    }
    return st;
}

SdmStatus sdm_options_check(SdmContext *ctx, const SdmOptions *opt)
{
    SdmOptions usual;
    sdm_options_default(&usual);
    PASS(sdm_options_check_table(ctx, sdm_option_table, opt, &usual));
    if (opt->bounds)
        PASS(sdm_option_bounds(ctx, opt->bounds, (double[4]){0.0}, &(bool){false}));
    if (!isnan(opt->hmin_m) && !isnan(opt->hmax_m) && !(opt->hmin_m < opt->hmax_m))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--hmin: found %g m, expected less than --hmax, which is %g m",
                        opt->hmin_m, opt->hmax_m);
    const bool datum = strcmp(opt->reference_vertical, usual.reference_vertical) != 0;
    if (!opt->dem && strcmp(opt->dem_vertical, usual.dem_vertical) != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--dem-vertical: needs --dem FILE, found none");
    if (!opt->reference && (datum || opt->reference_mask || opt->exclude))
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: needs --reference FILE, found none",
                        datum                 ? "--reference-vertical"
                        : opt->reference_mask ? "--reference-mask"
                                              : "--exclude");
    if (!opt->reference_mask && !opt->exclude && (opt->where || opt->layer))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: needs polygons given by --reference-mask or --exclude, found none",
                        opt->where ? "--where" : "--layer");
    PASS(sdm_options_check_optimizer(ctx, opt, changed(opt, &usual)));
    if ((int64_t)opt->bp_weight * opt->bp_truncation > SDM_BP_PENALTY_MAX)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--bp-weight: found %d with --bp-truncation %d, expected a product of at most %d; messages "
            "have 16 bits",
            opt->bp_weight, opt->bp_truncation, (int)SDM_BP_PENALTY_MAX);
    if (opt->quiet && opt->verbose)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--quiet and --verbose contradict each other, give one of them");
    return SDM_OK;
}
