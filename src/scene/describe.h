/* An opened scene -> its description for people, before any matching. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/epipolar_frame.h"

/* One view of a scene, for people. */
typedef struct SdmViewInfo {
    char name[512];          /* file or subdataset */
    char camera[32];         /* "aster", "rpc", "parallel" */
    char camera_source[256]; /* of an RPC: "metadata in the file",
                                "left_RPC.TXT"; else "" */
    char camera_doubt[320];  /* why it may not be the image's; "" */
    char mask[600];          /* pixels that are not used: "none", "nodata 0", "--mask-left FILE" */
    double unusable;         /* share of pixels that are masked, nodata or NaN, 0..1; from samples of all */
    double saturated;        /* share of pixels where the sensor was saturated, the same way */
    int64_t width, height;   /* pixels */
    int bin;                 /* each the mean of bin x bin of the file; 0: of one */
} SdmViewInfo;

/* Description of a scene before any matching.  Unknown numbers are NaN, unknown integers 0. */
typedef struct SdmSceneInfo {
    char sensor[16];           /* "aster", "rpc", "parallel" */
    char kind[64];             /* "ASTER L1A V004 (HDF)" */
    char id[256];              /* granule or file base name */
    char time_utc[32];         /* acquisition of the left view, ISO 8601; "" if unknown */
    SdmViewInfo view[2];       /* left, right */
    double convergence_deg;    /* angle between the rays at the scene centre */
    double base_height;        /* B/H, no unit */
    double gsd_m, right_gsd_m; /* ground sample distances of the images */
    double centre_lon_deg, centre_lat_deg;
    double corner_deg[4][2]; /* lon, lat of the left image's: upper left, upper right, lower right,
                                         * lower left; at the middle of the heights */
    double overlap;          /* share of the left footprint that the right view sees, 0..1 */
    double footprint_m2;     /* area seen by both */
    double hmin_m, hmax_m;   /* height range to be searched, above the ellipsoid */
    char crs[128];           /* output CRS, such as "EPSG:32610" */
    double spacing;          /* of the DEM, units of its CRS */
    int64_t cols, rows;      /* cells of the DEM */
    int64_t tiles;           /* blocks that it is made in */
    int64_t memory_bytes;    /* expected peak of the process (resident) */
    double seconds;          /* expected wall time of `stereodem run` on this machine */
} SdmSceneInfo;

/* Describe an opened scene: its cameras, their overlap, the DEM it would make; matches nothing. */
SdmStatus sdm_scene_describe(SdmContext *ctx, const SdmScene *scene, SdmSceneInfo *out);

/* The share of the left image's pixels, 0..1, whose ground the right one shows at the frame's height;
 * estimated. */
SdmStatus sdm_scene_overlap(SdmContext *ctx, const SdmScene *scene, const SdmFrame *frame, double *share);
