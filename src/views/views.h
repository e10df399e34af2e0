/* Three views or more -> pairs of them, the DEM of each pair on one grid, one DEM; docs/views.md.
 * Order of the steps: look (cameras alone), choose, pairs, fuse. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease.h"
#include "core/options.h"
#include "core/path.h"
#include "geo/grid.h"
#include "scene/agreement.h"
#include "views/run_views.h"

/* Two of the views. */
typedef struct SdmViewPair {
    int left, right;                    /* views, in the order of the arguments; left is the steeper one */
    double base_height, gsd_m, overlap; /* overlap: share of the left image, 0..1 */
    double slant[2];         /* of left and right: horizontal way of its rays for a metre of height */
    double days;             /* between the views; NaN: unknown */
    SdmAgreement look;       /* of the coarse levels; share NaN: not measured */
    double lon_deg, lat_deg; /* centre of the overlap */
    double long_m;           /* its longer side */
    double sigma_m;          /* predicted precision of a height */
    double trust;            /* weight of its vote where pairs disagree: of slant and time */
    double merit;            /* order in which pairs are taken; 0: cannot be used */
    char why[400];           /* it cannot be used, or failed */
    bool same_camera;        /* of both views: one exposure */
    int number;              /* of its DEM, from 1; 0: not chosen */
    bool has_dem;
    char dem[SDM_PATH_SIZE];
    SdmDemResult result; /* of its DEM; owned */
} SdmViewPair;

typedef struct SdmViews {
    SdmContext *ctx;
    SdmOptions options; /* the caller's */
    double started_s;
    int count;
    const char *path[SDM_MAX_VIEWS]; /* borrowed */
    char time_utc[SDM_MAX_VIEWS][32];
    char id[SDM_MAX_VIEWS][256];
    SdmViewPair pair[SDM_MAX_VIEW_PAIRS + SDM_MAX_VIEWS]; /* those beyond: chosen ones with views exchanged */
    int pairs;
    SdmViewPair *chosen[SDM_MAX_VIEW_PAIRS]; /* by weight: the first is the reference */
    int chosen_count;
    SdmGrid grid; /* CRS and spacing of all DEMs */
    char t_srs[sizeof(((SdmGrid *)0)->wkt)];
    int joined, first;                  /* views that are not left out, the first of them */
    char left_out[SDM_MAX_VIEWS][1024]; /* why a view is; "": it is not */
    double pitch_deg[2];                /* of the heights that are compared; see SdmAgreement */
    double move_deg[SDM_MAX_VIEWS][2];  /* of its camera to those of most views: longitude, latitude */
    bool is_guess;                      /* other views may be the right ones just as well */
    char failure[1024];                 /* of the first pair that made no DEM; "": none */
    char folder[SDM_PATH_SIZE];         /* OUTPUT.views, or a temporary one; "" before it is made */
    uint64_t fingerprint;               /* of the inputs and parameters of all pairs */
    SdmLease *lease;                    /* of the output; NULL in memory */
    SdmKeptProduct *keep;               /* see SdmProductRequest */
    bool has_log;                       /* NAME.log is this run's */
} SdmViews;

/* Name of a view without its folder, or with as many of its last folders as tell it from other views. */
const char *sdm_view_name(const SdmViews *v, int view);

/* ---- view_pairs.c ---- */

/* Open the cameras of all pairs, and match their coarse levels; sets the
 * pairs' figures, and why some cannot be used.  Cameras that are far from those of most views are moved. */
SdmStatus sdm_views_look(SdmViews *v);
/* Choose as many pairs as there are views, with every view in one of them, some with their views exchanged;
 * chooses CRS and spacing, and logs the choice.  Views that no pair joins with most are left out.
 * SDM_ERR_DATA where no pair can be used, or no more than half of the views are left. */
SdmStatus sdm_views_choose(SdmViews *v);
/* No pair can be used, or (made) fewer than two have a DEM: SDM_ERR_DATA with the reasons. */
SdmStatus sdm_views_check_left(SdmViews *v, bool made);
/* Choose one more pair, in the place of one that failed; NULL: there is none. */
SdmViewPair *sdm_views_spare(SdmViews *v);

/* Keep why a pair is not used: a sentence up to its advice, which is for a pair alone. */
void sdm_view_pair_refuse(SdmViewPair *p, const char *sentence);

/* ---- view_cameras.c ---- */

/* Add to the moves of cameras that are far from those of most views, and of those that were moved before.
 * moved: SDM_MAX_VIEWS.  @return any */
bool sdm_views_move_cameras(SdmViews *v, bool *moved);
/* How far a camera was moved, m. */
double sdm_views_move_m(const SdmViews *v, int view);

/* ---- pair_dems.c ---- */

/* Make the DEMs of the chosen pairs, in the folder.  Those that are finished are taken up; a pair that makes
 * no DEM is left out with a warning, and another one takes its place.  SDM_ERR_DATA where fewer than two have
 * one. */
SdmStatus sdm_views_make_dems(SdmViews *v);
/* Remove all files of ours, and the folder when it is empty then. */
void sdm_views_remove(const SdmViews *v);

/* ---- fuse_views.c ---- */

#define SDM_VIEWS_FUSING 0.93 /* share of the run's time when the pairs are matched */

/* *result: of the fused DEM, freed by the caller, also after a failure. */
SdmStatus sdm_views_fuse(SdmViews *v, SdmDemResult *result);
