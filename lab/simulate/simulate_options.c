/* The options of `stereodem-lab simulate`: their table, defaults and checks. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "simulate/sim.h"

#include <stdlib.h>

#define AT(field) offsetof(SdmSimulateOptions, field)
#define ENTRY(option, meta, kind, field, low, high, list, usual, text)                                       \
    {                                                                                                        \
        .name = (option), .metavar = (meta), .type = (kind), .offset = AT(field), .lo = (low), .hi = (high), \
        .choices = (list), .fallback = (usual), .commands = SDM_CMD_OTHER, .help = (text)                    \
    }
#define REAL(option, meta, field, low, high, usual, text)                                                    \
    ENTRY(option, meta, SDM_OPT_REAL, field, low, high, NULL, usual, text)
#define INTEGER(option, meta, field, low, high, usual, text)                                                 \
    ENTRY(option, meta, SDM_OPT_INT, field, low, high, NULL, usual, text)
#define FLAG(option, field, text) ENTRY(option, NULL, SDM_OPT_BOOL, field, 0, 0, NULL, "off", text)
#define CHOICE(option, field, list, usual, text)                                                             \
    ENTRY(option, "NAME", SDM_OPT_CHOICE, field, 0, 0, list, usual, text)
#define TEXT(option, meta, field, usual, text)                                                               \
    ENTRY(option, meta, SDM_OPT_TEXT, field, 0, 0, NULL, usual, text)

const SdmOptionSpec sdm_simulate_options[] = {
    TEXT("--output", "DIR", output, "none, must be given",
         "Folder to make; written under a temporary name and renamed when complete."),
    CHOICE("--layout", layout, "aster|rpc", "aster", "aster: V003 folder; rpc: any pair with RPC."),
    FLAG("--with-rpc", with_rpc, "With --layout aster: left.tif and right.tif with RPC, too."),
    TEXT("--terrain", "DEM", terrain, "none, the terrain of --shape",
         "Terrain to use, a raster of heights in metres above the WGS 84 ellipsoid."),
    CHOICE("--shape", shape, "fractal|plane|flat", "fractal", "Terrain when there is no --terrain."),
    FLAG("--town", town,
         "A town on the terrain, with --layout rpc and --gsd of at most 2 (m): houses of 5 to 14 m with flat "
         "roofs and gables, streets of 6 m, chimneys, trees, shadows, cars that moved between the views, "
         "roofs of one grey value or of glass. truth.tif has the heights at the centres of cells of 1 x gsd, "
         "class.tif 1 streets and yards, 4 roofs, 5 roofs without texture, 6 trees, 7 cars of either view; 0 "
         "what one view does not see."),
    REAL("--town-azimuth", "DEG", town_azimuth_deg, -360, 360, "0",
         "With --town: direction of the streets, degrees clockwise from the map's north."),
    INTEGER("--width", "PX", width, 64, 100000, "820", "Columns of the left image, pixels."),
    INTEGER("--height", "PX", height, 64, 100000, "840", "Rows of the left image, pixels."),
    REAL("--gsd", "METRES", gsd_m, 0.05, 1000, "15", "Ground sample distance of the left image, metres."),
    REAL("--lon", "DEG", lon_deg, -180, 180, "centre of the terrain, 4.75 without one",
         "Longitude of the scene centre, degrees, east > 0."),
    REAL("--lat", "DEG", lat_deg, -89.98, 89.98, "centre of the terrain, 44.45 without one",
         "Latitude of the scene centre, degrees, north > 0."),
    REAL("--roll", "DEG", roll_deg, -8.55, 8.55, "0",
         "Cross-track pointing of both views, degrees, right of flight > 0."),
    REAL("--base-height", "RATIO", base_height, 0.02, 1.5, "0.6",
         "With --layout rpc: base/height ratio, no unit."),
    FLAG("--symmetric", symmetric,
         "With --layout rpc: both views are tilted, each by half of the base, instead of the right one "
         "alone."),
    REAL("--relief", "METRES", relief_m, 0, 9000, "600",
         "With --shape fractal: highest minus lowest height, metres."),
    REAL("--base", "METRES", base_m, -500, 9000, "300", "Lowest height above the ellipsoid, metres."),
    REAL("--slope", "DEG", slope_deg, 0, 70, "0", "With --shape plane: tilt, degrees."),
    REAL("--slope-azimuth", "DEG", slope_azimuth_deg, -360, 360, "0",
         "With --shape plane: direction in which it falls, degrees clockwise from the map's north."),
    REAL("--texture", "DN", texture_dn, 0, 60, "16",
         "Sigma of the ground's texture, digital numbers of 8 bit."),
    REAL("--noise", "DN", noise_dn, 0, 50, "1", "Sigma of the sensor noise, digital numbers of 8 bit."),
    REAL("--striping", "SHARE", striping, 0, 1, "0",
         "Share, 0..1, of detector differences (gain 2 %, offset 1 DN) that the radiometric table undoes."),
    REAL("--pointing-across", "PX", pointing_px[0], -200, 200, "0",
         "Pointing error of the right view, columns."),
    REAL("--pointing-along", "PX", pointing_px[1], -200, 200, "0", "Pointing error of the right view, rows."),
    REAL("--jitter", "PX", jitter_px, 0, 10, "0",
         "Amplitude of the right view's jitter on both axes, of 0.0033 cycles a row, pixels."),
    TEXT("--jitter-left", "LIST", jitter_left, "none",
         "Jitter of the left view as a sum of up to 8 sines, AMPLITUDE:WAVELENGTH in pixels and rows, "
         "separated by commas, such as 0.15:300,0.08:90. --seed or --error-seed gives their phases on either "
         "axis."),
    TEXT("--jitter-right", "LIST", jitter_right, "none", "The same of the right view, added to --jitter."),
    REAL("--orbit-noise", "METRES", orbit_noise_m, 0, 100, "0", "Sigma of the metadata's positions, metres."),
    REAL("--velocity-noise", "M/S", velocity_noise_mps, 0, 10, "0",
         "Sigma of the metadata's velocities, metres a second."),
    REAL("--cloud", "SHARE", cloud, 0, 0.9, "0", "Share of the left image under cloud, 0..1."),
    CHOICE("--cloud-kind", cloud_kind, "patches|broken|cirrus|layers", "patches",
           "With --cloud, whose kinds but patches move with winds of 5 to 20 m/s, by the seed, while ASTER's "
           "second view follows 55 s after the first. patches: large, smooth and at rest; broken: many small "
           "heaps of 150 to 500 m, 1 to 3 km above the ground, that cast shadows; cirrus: a veil, 6 to 10 km "
           "above it, through which the ground shows; layers: heaps, a sheet that casts shadows 3 to 5 km "
           "above the ground, and with every second seed cirrus."),
    REAL("--snow", "SHARE", snow, 0, 0.9, "0",
         "Share of the scene, 0..1, under snow that saturates, on the highest ground; it blooms along the "
         "rows by up to 3 pixels."),
    INTEGER("--lost-lines", "N", lost_lines, 0, 10000, "0",
            "Rows of zeros in each view, by the seed in groups of 1 to 4."),
    INTEGER("--dead-columns", "N", dead_columns, 0, 10000, "0",
            "Columns of zeros in each view, by the seed."),
    REAL("--lake", "SHARE", lake, 0, 0.9, "0", "Share of the scene under a lake, 0..1."),
    REAL("--ocean", "SHARE", ocean, 0, 0.9, "0",
         "Share of the scene under an ocean at height 0, in the west, 0..1."),
    REAL("--reference", "METRES", reference_m, 0, 10000, "0: none",
         "Posting of a reference DEM to write, reference.tif, metres: as global DEMs of 30 or 90 m are, with "
         "noise that grows with the slope, a long-wave error, forest on 15 %, voids on 3 %, shifted by 7, -5 "
         "and 3 m (east, north, up). change.tif is the height of the scene minus that at the time of the "
         "reference."),
    REAL("--change-share", "SHARE", change_share, 0, 0.5, "0.1",
         "With --reference: share of the scene, 0..0.5, that has changed since, in patches of 10 to 30 m, up "
         "or down."),
    INTEGER("--seed", "N", seed, 0, 1000000000, "1",
            "Seed of terrain, texture and noise: another one, another scene."),
    INTEGER("--error-seed", "N", error_seed, 0, 1000000000, "0",
            "Seed of noise, striping, metadata noise, clouds and waves, and of the phase of the jitter: "
            "another value makes another scene of the same ground; 0 takes --seed."),
    FLAG("--overwrite", overwrite, "Replace an existing folder."),
    {.name = NULL},
};

void sdm_simulate_default(SdmSimulateOptions *opt)
{
    *opt = (SdmSimulateOptions){.layout = "aster",
                                .shape = "fractal",
                                .width = 820,
                                .height = 840,
                                .gsd_m = 15.0,
                                .lon_deg = NAN,
                                .lat_deg = NAN,
                                .base_height = 0.6,
                                .relief_m = 600.0,
                                .base_m = 300.0,
                                .texture_dn = 16.0,
                                .noise_dn = 1.0,
                                .change_share = 0.1,
                                .seed = 1};
}

enum { LISTED_WAVES = 8 };
_Static_assert((int)LISTED_WAVES < (int)SIM_WAVES, "and that of --jitter");

SdmStatus sim_parse_jitter(SdmContext *ctx, int view, const char *list, SimWave *wave, int *count)
{
    const char *const name = view ? "--jitter-right" : "--jitter-left";
    const int first = *count;
    for (const char *at = list; at;) {
        char *end = NULL, *last = NULL;
        const double amplitude = strtod(at, &end), length = *end == ':' ? strtod(end + 1, &last) : NAN;
        const bool good = end > at && last && last > end + 1 && (*last == ',' || *last == '\0') &&
                          amplitude >= 0.0 && amplitude <= 10.0 && length >= 2.0 && length <= 1e7;
        if (!good || *count - first == LISTED_WAVES)
            return sdm_fail(
                ctx, SDM_ERR_USAGE,
                "%s: found '%s', expected up to %d sines AMPLITUDE:WAVELENGTH with amplitudes of 0 to 10 "
                "pixels and wavelengths of 2 to 1e7 rows, separated by commas, such as 0.15:300,0.08:90",
                name, list, (int)LISTED_WAVES);
        wave[(*count)++] = (SimWave){.amplitude_px = amplitude, .frequency = 1.0 / length};
        at = *last ? last + 1 : NULL;
    }
    return SDM_OK;
}

static SdmStatus check_town(SdmContext *ctx, const SdmSimulateOptions *opt)
{
    if (!opt->town && opt->town_azimuth_deg != 0.0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--town-azimuth: needs --town, found none");
    if (!opt->town)
        return SDM_OK;
    if (strcmp(opt->layout, "rpc") != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--town: needs --layout rpc, found %s", opt->layout);
    if (opt->gsd_m > 2.0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--town: needs --gsd of at most 2 (m), found %g: houses are 10 m wide", opt->gsd_m);
    if (opt->lake > 0.0 || opt->ocean > 0.0 || opt->snow > 0.0 || opt->reference_m > 0.0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--town: has no water, snow or reference; leave out %s",
                        opt->lake > 0.0    ? "--lake"
                        : opt->ocean > 0.0 ? "--ocean"
                        : opt->snow > 0.0  ? "--snow"
                                           : "--reference");
    return SDM_OK;
}

SdmStatus sim_check(SdmContext *ctx, const SdmSimulateOptions *opt)
{
    SdmSimulateOptions usual;
    sdm_simulate_default(&usual);
    SimWave wave[SIM_WAVES];
    int waves[2] = {0, 0};
    PASS(sdm_options_check_table(ctx, sdm_simulate_options, opt, &usual));
    PASS(sim_parse_jitter(ctx, 0, opt->jitter_left, wave, &waves[0]));
    PASS(sim_parse_jitter(ctx, 1, opt->jitter_right, wave, &waves[1]));
    if (!opt->output || !opt->output[0])
        return sdm_fail(ctx, SDM_ERR_USAGE, "simulate needs a folder to write; give --output DIR");
    if (opt->cloud_kind && !(opt->cloud > 0.0))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--cloud-kind: needs --cloud SHARE, found none");
    if (isnan(opt->lon_deg) != isnan(opt->lat_deg))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--lon and --lat belong together, found %s alone",
                        isnan(opt->lat_deg) ? "--lon" : "--lat");
    if (opt->with_rpc && strcmp(opt->layout, "rpc") == 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--with-rpc belongs to --layout aster; the layout %s has RPC anyway", opt->layout);
    PASS(check_town(ctx, opt));
    if (opt->symmetric && strcmp(opt->layout, "rpc") != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--symmetric belongs to --layout rpc; the views of ASTER look down and back");
    if (opt->lost_lines > opt->height / 2 || opt->dead_columns > opt->width / 2)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--lost-lines %d and --dead-columns %d: expected at most half of the %d rows and of "
                        "the %d columns",
                        opt->lost_lines, opt->dead_columns, opt->height, opt->width);
    if (opt->lake + opt->ocean > 0.95)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--lake %g and --ocean %g leave no land; give at most 0.95 together", opt->lake,
                        opt->ocean);
    return SDM_OK;
}
