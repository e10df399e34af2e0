/* Simulated stereo pairs over known terrain, with exact cameras and truth.  Shares no matching and no
 * inverse-camera code with the chain that it judges: it has its own orbit, its own rays and its own
 * intersection with the terrain. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"
#include "core/options.h"

typedef struct SdmSimulateOptions {
    const char *output;      /* -o: folder to make */
    const char *layout;      /* "aster" (V003 text layout), "rpc" */
    bool with_rpc;           /* aster: write the same as GeoTIFFs with RPC, too */
    const char *terrain;     /* DEM to use (heights above the ellipsoid), NULL = fractal */
    bool town;               /* houses, trees and cars on the terrain */
    double town_azimuth_deg; /* of its streets, clockwise from map north */
    const char *shape;       /* "fractal", "plane" (tilted by slope_deg towards slope_azimuth_deg), "flat" */
    int width, height;       /* left image, px; the right one is as large as it takes */
    double gsd_m;            /* left ground sample distance, m (ASTER: 15) */
    double lon_deg, lat_deg; /* scene centre; NaN = centre of the terrain */
    double roll_deg;         /* cross-track pointing, -8.55..8.55 */
    double base_height;      /* rpc: B/H */
    bool symmetric;          /* rpc: each view is tilted by half of the base; else the right one alone */
    double relief_m, base_m; /* fractal: peak to peak; lowest height */
    double slope_deg, slope_azimuth_deg; /* azimuth: where the plane goes down, clockwise from map north */
    double texture_dn;                   /* sigma of the reflectance texture, DN */
    double noise_dn;                     /* sensor noise sigma, DN */
    double striping;       /* 0..1: detector gain and offset differences, undone by the radiometric table */
    double pointing_px[2]; /* constant error of the right view, columns and rows: pixel c shows what by the
                             * metadata lies at c + pointing */
    double jitter_px;      /* amplitude on both axes of the right view */
    const char *jitter_left, *jitter_right; /* more sines, "AMPLITUDE_PX:WAVELENGTH_ROWS,..."; NULL = none */
    double orbit_noise_m, velocity_noise_mps; /* of the metadata */
    double cloud;                             /* share of the scene, 0..0.9 */
    const char *cloud_kind;                   /* "patches", "broken", "cirrus", "layers"; NULL: patches */
    double snow;                              /* share under saturated snow, on the highest ground, 0..0.9 */
    int lost_lines, dead_columns;             /* rows, columns of zeros in each view */
    double lake;                              /* share under a lake, 0..0.9 */
    double ocean;                             /* share under an ocean at height 0, 0..0.9 */
    double reference_m;                       /* posting of the reference to write, m; 0 = none */
    double change_share;                      /* of the scene, since the reference */
    int seed;
    int error_seed; /* of what differs between scenes of one terrain; 0 = as seed */
    bool overwrite;
} SdmSimulateOptions;
void sdm_simulate_default(SdmSimulateOptions *opt);

/* Write the pair, truth.tif (cell means of the terrain, 2 x gsd, of a town heights at cells' centres, 1 x
 * gsd; UTM, metres above the ellipsoid) and class.tif into opt->output, by blocks of rows.  Classes: 0 not
 * seen by both views, 1 land, 2 water, 3 hidden by a cloud in either view (less than half of the light of the
 * ground comes through; of patches less than 97 %), 8 saturated snow and what it blooms into; of a town 1
 * streets and yards, 4 roof, 5 roof without texture, 6 tree, 7 car in either view.  Lost lines and dead
 * columns have no class: the ground goes on below them. */
SdmStatus sdm_simulate(SdmContext *ctx, const SdmSimulateOptions *opt);

/* The options of the command; ends with name == NULL. */
extern const SdmOptionSpec sdm_simulate_options[];
