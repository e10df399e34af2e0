/* Types of all folders besides the public header: the options of a call, statistics of errors.  Internal; not
 * installed.
 *
 * Conventions as in stereodem.h. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stereodem/stereodem.h"

#include <stdbool.h>

/* Heights of the DEM. */
typedef enum SdmVertical { SDM_ELLIPSOID, SDM_EGM96, SDM_EGM2008 } SdmVertical;
#define SDM_VERTICAL_WORDS "ellipsoid|egm96|egm2008" /* choices of the options that name one */

/* Most values that --co and --config hold each. */
#define SDM_MAX_KEY_VALUES 32

/* Options of the commands.  Fill with sdm_options_default(), change fields, pass by const pointer.  Strings
 * are borrowed.  Ranges, units and help stand in the table of src/core/options.c; `stereodem run --help`
 * prints them. */
typedef struct SdmOptions {
    const char *output;    /* -o: the DEM to write */
    double tr;             /* DEM spacing in units of the output CRS; 0 = 2 x ground sample distance */
    const char *t_srs;     /* output CRS, anything GDAL understands; NULL = UTM zone of the scene */
    int vertical;          /* SdmVertical */
    const char *cost;      /* "auto" (by the pixels' size), "zncc", "census" */
    const char *optimizer; /* "auto", "local", "sgm", "bp" */
    int p1, p2; /* sgm: penalties of steps by one label and by more, steps of the cost; 0 = by the cost */
    const char *paths;      /* sgm: "4" or "8" */
    int bp_weight;          /* bp: penalty of a step by one label, in steps of the cost; 0 = by the cost */
    int bp_truncation;      /* bp: labels from which on steps cost the same; 0 = by the cost */
    int bp_outer, bp_inner; /* bp: visits of all tiles there and back; iterations of each visit */
    int bp_tile;            /* bp: side of a tile, px */
    const char *device;     /* "auto", "cpu", "opencl", "cuda", "cuda:1": see `stereodem devices` */
    const char *cpu_level;  /* "auto", or a copy of the kernels: "reference", "c", "sse4.2", "avx2" ... */
    int threads;            /* 0 = one per processor */
    int64_t memory_bytes;   /* budget of the process, bytes */
    int tile;               /* edge of a tile of the DEM, cells; 0 = chosen from the budget */
    const char *fill;       /* holes that take interpolated heights: "none", "gentle", "all" */
    const char *surface_filter;     /* filter of the heights: "auto", "wiener", "none" */
    double hmin_m, hmax_m;          /* height range above the ellipsoid, metres; NaN = found without */
    const char *dem;                /* prior DEM: starts the search, guides it between clouds; NULL = none */
    const char *dem_vertical;       /* "auto", "ellipsoid", "egm96", "egm2008": datum of dem */
    const char *reference;          /* DEM that corrects the cameras; NULL = none */
    const char *reference_mask;     /* raster, 0 = not stable ground, or polygons of it; NULL = none */
    const char *exclude;            /* polygons of unstable ground, or raster, not 0; NULL = none */
    const char *layer, *where;      /* of these polygons; NULL = the only one, all */
    const char *bounds;             /* part of the DEM, "W S E N"; see sdm_option_bounds(); NULL = all */
    const char *area;               /* polygons at whose outline the DEM ends; NULL = none */
    const char *reference_vertical; /* "auto", "ellipsoid", "egm96", "egm2008": datum of reference */
    const char *points;             /* point cloud beside the DEM: "none", "las", "laz" */
    const char *co[SDM_MAX_KEY_VALUES + 1];     /* GDAL creation options NAME=VALUE, NULL-terminated */
    const char *config[SDM_MAX_KEY_VALUES + 1]; /* GDAL configuration options NAME=VALUE, NULL-terminated */
    int band;                                   /* band of both images, from 1; 0 = the only one */
    const char *mask_left, *mask_right;         /* rasters, 0 = do not use the pixel; NULL = none */
    double base_height;                     /* B/H of a georeferenced parallel pair; NaN = not such a pair */
    bool overwrite, strict, quiet, verbose; /* strict: a doubtful DEM is a failure */
    const char *options;                    /* file of options that the program reads; NULL = none */
    const char *log;                        /* "text" or "json" */
    bool keep_job;                          /* keep the job folder after success */
    bool rasters_alone;                     /* no option: what people look at is left out */
    double move_deg[2][2]; /* no option: longitude and latitude to add to those of the left and right RPC */
} SdmOptions;

void sdm_options_default(SdmOptions *opt); /* set every field to its default */

/* Open a context.
 * opt  copied; the strings in it are borrowed for the life of the context.  NULL = defaults
 * out  set unless SDM_ERR_MEMORY, so that sdm_error() can say why; close with sdm_close()
 * Returns SDM_OK, SDM_ERR_USAGE (an option out of its range), SDM_ERR_MEMORY. */
SdmStatus sdm_open(SdmContext **out, const SdmOptions *opt);
/* Take other options for later calls.  Errors as above. */
SdmStatus sdm_use_options(SdmContext *ctx, const SdmOptions *opt);
/* Free the context and set *ctx to NULL.  Accepts NULL and pointer to NULL. */
void sdm_close(SdmContext **ctx);

/* Statistics of the errors of a DEM, DEM minus reference, metres. */
typedef struct SdmErrorStats {
    int64_t count;
    double bias_m; /* mean */
    double median_m;
    double std_m;  /* standard deviation */
    double nmad_m; /* 1.4826 x median absolute deviation from the median */
    double rmse_m;
    double le90_m; /* 90 % quantile of |error| */
    double p99_m;  /* 99 % quantile of |error| */
    double over30; /* share of |error| > 30 m, 0..1 */
} SdmErrorStats;
