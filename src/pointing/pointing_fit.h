/* Stage 2: ray intersection errors of a matched surface -> tie points (means of blocks of pixels, no feature
 * matching) -> correction of the right camera across the epipolar lines. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/epipolar_frame.h"
#include "geometry/pointing.h"
#include "matching/level_loop.h"

/* A point that both views show: where it lies in the right image, and how far from its epipolar line. */
typedef struct SdmTiePoint {
    double col, row;      /* right image, px */
    double residual_px;   /* across the epipolar line, with the correction in use; along pointing->dir */
    double correction_px; /* the whole correction that the point asks for: that in use and the residual */
} SdmTiePoint;

typedef struct SdmTiePoints {
    SdmTiePoint *point; /* owned */
    size_t count, room;
} SdmTiePoints;

SdmStatus sdm_tie_points_alloc(SdmContext *ctx, size_t room, SdmTiePoints *out);
void sdm_tie_points_free(SdmTiePoints *t);

/* Where tie points come from; borrowed. */
typedef struct SdmTiePointSource {
    const SdmLattice *lattice; /* of the cameras with the correction in use */
    const SdmPointing *in_use;
    const SdmSurface *surface;
    const float *ray_error_v; /* h x w of the surface: v residual, px of its level; NaN: unknown */
    int block;                /* a tie point is the mean of block x block pixels */
} SdmTiePointSource;

/* Append a tie point for each block of which at least half are valid pixels with a residual of up to 1 px,
 * while there is room. */
void sdm_tie_points_add(const SdmTiePointSource *from, SdmTiePoints *t);

/* Spread of a match's position by noise alone, px of its level: sqrt(2 (1 - rho) / rho) / (g W) for the
 * weakest correlation that is accepted, rho = 0.7, a window of W = 9 px, and texture whose gradient is g =
 * 0.7 of its sigma a pixel (Foerstner 1982). */
#define SDM_MATCH_NOISE_PX 0.15

/* A tie point as the report plots it. */
typedef struct SdmPointSample {
    float col, row;     /* right image, px */
    float residual_px;  /* along dir, before the correction */
    float corrected_px; /* what the correction leaves */
} SdmPointSample;

/* Report of one round (0: sparse matches at a coarse level; 1: full resolution). */
typedef struct SdmPointRound {
    int matches, inliers, degree, level;
    double before_median_px, before_nmad_px, after_nmad_px, cross_validation_px;
    double profile_rms_px;   /* of the jitter profile, 0 without */
    SdmPointSample *samples; /* at most 4000, owned */
    int sample_count;
} SdmPointRound;

typedef struct SdmPointReport {
    SdmPointRound round[4];
    int rounds;
} SdmPointReport;
void sdm_point_report_free(SdmPointReport *r);

/* The end of a sentence on too few matches: likely causes and what to do.  The first cause named is a camera
 * that is in doubt, then the prior DEM or the height range, where the options (or NULL) give one, the heights
 * that an RPC is for, an overlap of few pixels. camera: of both views. */
typedef struct SdmHint {
    char text[2 * SDM_CAMERA_DOUBT + 400];
} SdmHint;
SdmHint sdm_few_matches_hint(const SdmOptions *options, const SdmFrame *frame, const SdmCameraNote camera[2]);

typedef struct SdmFitTask {
    const SdmTiePoint *point; /* count of them */
    size_t count;
    int max_degree;
    bool with_profile;
    bool certain;             /* the points are no chance matches: sdm_pointing_search_offset() */
    double response;          /* share of an error that the residuals of the points show; their corrections
                                 * are whole */
    int64_t rows;             /* of the right image */
    const char *left, *right; /* names of the images, for messages */
    SdmHint hint;             /* where there are too few points */
} SdmFitTask;

/* The task of a scene, without tie points: names, rows and hint. */
SdmFitTask sdm_fit_task(const SdmScene *scene, const SdmFrame *frame);

/* Fit a polynomial (degree 0..max_degree, chosen by cross-validation over blocks of the image) and,
 * with_profile, a profile by row (its smoothness chosen by cross-validation; none where it does not help).
 * Residuals are weighted by Tukey's biweight.  p: dir, centre and scale are set; the other fields are
 * replaced.  round: filled. SDM_ERR_DATA with fewer than 30 points. */
SdmStatus sdm_pointing_fit(SdmContext *ctx, const SdmFitTask *task, SdmPointing *p, SdmPointRound *round);

/* ---- coarse levels: the offset at the coarsest one by search, then a fit at each finer one ---- */

/* Input of the search for the offset; borrowed. */
typedef struct SdmOffsetSearch {
    const SdmScene *scene; /* for messages */
    const SdmFrame *frame;
    const SdmMatchInput *in; /* lattice and pyramids of the whole frame */
    const SdmSurface *prior; /* heights to search about, coarsest level; NULL: the lattice's height0_m */
    double half_range_m;     /* heights searched, above and below */
} SdmOffsetSearch;

/* The correction before anything is known: zero, across the epipolar lines of the frame.  p: 0. */
void sdm_pointing_start(const SdmScene *scene, const SdmFrame *frame, SdmPointing *p);

/* Match the coarsest level at each offset of the right image across the epipolar lines, up to 32 px of full
 * resolution either way, and keep the offset with the most matches.  *best: its surface, to be freed by the
 * caller.  *offset_rows: level pixels.  SDM_ERR_DATA where less than 3 % of the overlap is matched; where
 * clouds are hidden: where there are hardly more matches than chance makes three rows off. */
SdmStatus sdm_pointing_search_offset(SdmContext *ctx, const SdmOffsetSearch *q, SdmSurface *best,
                                     int *offset_rows);

/* That offset of a level becomes the constant of the correction. */
void sdm_pointing_set_offset(const SdmFrame *frame, const SdmLattice *lattice, int level, int offset_rows,
                             SdmPointing *p);

/* Pixels a side of the last coarse level that make a tie point (see SdmTiePointSource); of others half. */
enum { SDM_COARSE_BLOCK = 8 };

/* Fit the correction to the tie points of a coarse level.  level: the surface they come from, of the whole
 * frame. last: the finest of the coarse levels, which allows a higher degree, enters the report and must
 * have enough tie points whose rays meet, unless these are certain: else SDM_ERR_DATA. */
SdmStatus sdm_pointing_fit_level(SdmContext *ctx, const SdmFitTask *scene, const SdmTiePoints *points,
                                 const SdmWindow *level, bool last, SdmPointing *p, SdmPointReport *report);
