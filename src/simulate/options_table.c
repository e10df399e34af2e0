/* The options of `stereodem simulate`, declared once. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "simulate/simulate.h"

#define AT(field) offsetof(SdmSimulateOptions, field)
#define ENTRY(option, meta, kind, field, low, high, list, usual, text)                                       \
    {                                                                                                        \
        .name = (option), .metavar = (meta), .type = (kind), .offset = AT(field), .lo = (low), .hi = (high), \
        .choices = (list), .fallback = (usual), .commands = SDM_CMD_SIMULATE, .help = (text)                 \
    }
#define REAL(option, meta, field, low, high, usual, text) \
    ENTRY(option, meta, SDM_OPT_REAL, field, low, high, NULL, usual, text)
#define INTEGER(option, meta, field, low, high, usual, text) \
    ENTRY(option, meta, SDM_OPT_INT, field, low, high, NULL, usual, text)
#define FLAG(option, field, text) ENTRY(option, NULL, SDM_OPT_BOOL, field, 0, 0, NULL, "off", text)
#define CHOICE(option, field, list, usual, text) \
    ENTRY(option, "NAME", SDM_OPT_CHOICE, field, 0, 0, list, usual, text)
#define TEXT(option, meta, field, usual, text)                                                               \
    ENTRY(option, meta, SDM_OPT_TEXT, field, 0, 0, NULL, usual, text)

const SdmOptionSpec sdm_simulate_options[] = {
    TEXT("--output", "DIR", output, "none", "folder to make; written aside and renamed when whole (also -o)"),
    CHOICE(
        "--layout", layout, "aster|aster-rpc|rpc", "aster",
        "aster: V003 folder; aster-rpc: the same scene as left.tif, right.tif with RPC; rpc: any RPC pair"),
    FLAG("--with-rpc", with_rpc, "layout aster: left.tif and right.tif with RPC, too"),
    TEXT("--terrain", "DEM", terrain, "none", "terrain to use, metres above the WGS 84 ellipsoid"),
    CHOICE("--shape", shape, "fractal|plane|flat", "fractal", "terrain when there is no --terrain"),
    INTEGER("--width", "PX", width, 64, 100000, "820", "columns of the left image"),
    INTEGER("--height", "PX", height, 64, 100000, "840", "rows of the left image"),
    REAL("--gsd", "METRES", gsd_m, 0.05, 1000, "15", "ground sample distance of the left image, m"),
    REAL("--lon", "DEG", lon_deg, -180, 180, "centre of the terrain", "longitude of the scene centre"),
    REAL("--lat", "DEG", lat_deg, -89, 89, "centre of the terrain", "latitude of the scene centre"),
    REAL("--roll", "DEG", roll_deg, -8.55, 8.55, "0",
         "cross-track pointing of both views, right of flight > 0"),
    REAL("--base-height", "RATIO", base_height, 0.02, 1.5, "0.6", "layout rpc: base over height"),
    REAL("--relief", "METRES", relief_m, 0, 9000, "600", "fractal: highest minus lowest height, m"),
    REAL("--base", "METRES", base_m, -500, 9000, "300", "lowest height above the ellipsoid, m"),
    REAL("--slope", "DEG", slope_deg, 0, 70, "0", "plane: tilt"),
    REAL("--slope-azimuth", "DEG", slope_azimuth_deg, -360, 360, "0",
         "plane: where it goes down, clockwise from the map's north"),
    REAL("--texture", "DN", texture_dn, 0, 60, "16", "sigma of the ground's texture, DN"),
    REAL("--noise", "DN", noise_dn, 0, 50, "1", "sigma of the sensor noise, DN"),
    REAL("--striping", "SHARE", striping, 0, 1, "0",
         "detector gain (2 %) and offset (1 DN) differences, undone by the radiometric table"),
    REAL("--pointing-across", "PX", pointing_px[0], -200, 200, "0", "error of the right view, columns"),
    REAL("--pointing-along", "PX", pointing_px[1], -200, 200, "0", "error of the right view, rows"),
    REAL("--jitter", "PX", jitter_px, 0, 10, "0", "jitter amplitude of the right view on both axes, px"),
    REAL("--jitter-frequency", "CYCLES", jitter_frequency, 0, 0.5, "0.0033", "jitter, cycles a line"),
    REAL("--orbit-noise", "METRES", orbit_noise_m, 0, 100, "0", "sigma of the metadata's positions, m"),
    REAL("--velocity-noise", "M/S", velocity_noise_mps, 0, 10, "0",
         "sigma of the metadata's velocities, m/s"),
    REAL("--cloud", "SHARE", cloud, 0, 0.9, "0", "share of the left image under cloud"),
    REAL("--lake", "SHARE", lake, 0, 0.9, "0", "share of the scene under a lake"),
    REAL("--ocean", "SHARE", ocean, 0, 0.9, "0",
         "share of the scene under an ocean at height 0, in the west"),
    INTEGER("--seed", "N", seed, 0, 1000000000, "1", "another seed, another scene"),
    INTEGER("--error-seed", "N", error_seed, 0, 1000000000, "0",
            "another scene of the same ground: seed of noise, striping, metadata noise, clouds and waves, and "
            "the phase of the jitter; 0: as --seed"),
    FLAG("--overwrite", overwrite, "replace an existing folder"),
    {.name = NULL},
};
