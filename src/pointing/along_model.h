/* Strips of points and a model of waves along the track -> its columns, its least squares, its errors of
 * cross-validation; shared by the files of the fit (along_strips.c, along_model.c, along_fit.c). */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pointing/along_fit.h"

#define SDM_ALONG_TURN 6.28318530717958647692 /* 2 pi */
#define SDM_ALONG_STRIP_TUKEY 6.0 /* biweight of strips: beyond so many sigmas a residual counts 0 */
#define SDM_ALONG_LEAST_SCALE_PX 1e-4
enum {
    SDM_ALONG_COLUMNS = SDM_ALONG_MAX_TERMS + 4 * SDM_ALONG_WAVES,
    SDM_ALONG_CACHED = 32, /* columns that are kept while candidates are tried */
    SDM_ALONG_FOLDINGS = 3 /* of cross-validation: by rows, by columns in two ways */
};

/* A robust mean of points: STRIP_ROWS rows of an eighth of the columns. */
typedef struct SdmAlongStrip {
    double value_px, weight, row[2], x, y;
    int bin[2]; /* number of its rows, by view */
    int fold[SDM_ALONG_FOLDINGS];
} SdmAlongStrip;

/* Cosine and sine of a wave at each strip: columns of the basis. */
typedef struct SdmAlongWaveColumns {
    double per_row; /* 0: none yet */
    int view;
    double *value; /* strips x 2 */
} SdmAlongWaveColumns;

/* The fitted model; rows count from row0. */
typedef struct SdmAlongModel {
    int degree, waves[2];
    double per_row[2][SDM_ALONG_WAVES];
    double coef[SDM_ALONG_COLUMNS]; /* terms; then cosine and sine of each wave, right view first */
} SdmAlongModel;

/* The state of a fit. */
typedef struct SdmAlongState {
    const SdmAlongTask *task;
    size_t *order, *begin; /* points by strip; cell c has order[begin[c]] .. order[begin[c + 1] - 1] */
    int cells, bins[2];    /* rows of strips, of the right and of the left view; strips follow those of the
                            * left */
    double *bin_sum, *bin_weight; /* of the larger number of bins */
    double row0[2], span[2];      /* origin of the phases, in the middle of the rows; rows that points span */
    double rows;                  /* of the right image */
    double *class_weight;         /* of each point */
    SdmAlongStrip *strip;
    int strips;
    double *basis;                                /* strips x SDM_ALONG_COLUMNS */
    SdmAlongWaveColumns cached[SDM_ALONG_CACHED]; /* the oldest is replaced */
    int cached_next;
    double *residual, *weight, *work, *point_work;
    double step, strip_rows; /* rows of a strip; those that its mean averages, windows included */
    double scale_px;         /* NMAD of the strips' residuals with the best model so far */
} SdmAlongState;

/* The strips that a fit uses: all, or those outside a fold of a scheme. */
typedef struct SdmAlongPart {
    int scheme, without; /* without -1: all */
} SdmAlongPart;

/* Samples of the cross-validation: means by row of the view whose waves are tried, since the terrain sets the
 * rows of the other one apart; or strips, since terms of a degree leave the means as they are. */
typedef enum SdmAlongMeasure {
    SDM_BY_RIGHT_ROW = SDM_ALONG_RIGHT,
    SDM_BY_LEFT_ROW = SDM_ALONG_LEFT,
    SDM_BY_STRIP,
    SDM_ALONG_MEASURES
} SdmAlongMeasure;

/* Columns of the basis: terms, then cosine and sine of each wave. */
int sdm_along_columns(const SdmAlongModel *m);
/* Tukey's weight of a residual, 0 beyond the scale. */
double sdm_along_biweight(double residual, double scale);
/* The columns of a model at a place, for means over so many rows. */
void sdm_along_basis_at(const SdmAlongState *f, const SdmAlongModel *m, const double row[2], double x,
                        double y, double rows, double *out);
/* Value of a model from its columns at a place, px. */
double sdm_along_model_value(const SdmAlongModel *m, const double *basis);
/* Place of a point as the terms take it, -1..1; the model's value there, px. */
double sdm_along_point_x(const SdmAlongState *f, const SdmAlongPoint *p);
double sdm_along_point_y(const SdmAlongState *f, const SdmAlongPoint *p);
double sdm_along_at_point(const SdmAlongState *f, const SdmAlongModel *m, const SdmAlongPoint *p);
/* The columns at every strip -> f->basis. */
void sdm_along_fill_basis(SdmAlongState *f, const SdmAlongModel *m);
/* Robust fit of a model whose basis is filled, starting at the residuals of the best one so far. */
bool sdm_along_fit_model(const SdmAlongState *f, const SdmAlongPart *part, SdmAlongModel *m);
/* A model becomes the best one: residuals of the strips, and their NMAD. */
void sdm_along_keep_model(SdmAlongState *f, const SdmAlongModel *m);
/* Errors of a model by cross-validation, each measure and scheme.  least: a model that leaves not less than
 * GAIN of these in one of the measures of `asked` (bits) is of no use, the schemes after the first such one
 * are left out; NULL: none is.
 * @return false for such a model */
bool sdm_along_cross_validate(SdmAlongState *f, const SdmAlongModel *model, double clip, unsigned asked,
                              const double (*least)[SDM_ALONG_FOLDINGS],
                              double error_px[SDM_ALONG_MEASURES][SDM_ALONG_FOLDINGS]);

/* Sort the points into strips. */
SdmStatus sdm_along_sort_points(SdmContext *ctx, SdmAlongState *f);
/* Residuals of the points from a model, whether they are used or not -> residual. */
void sdm_along_residuals(const SdmAlongState *f, const SdmAlongModel *m, double *residual);
/* The residuals of the points that are used, of one class of slope or of all (-1) -> point_work; @return how
 * many. */
int64_t sdm_along_gather(const SdmAlongState *f, const double *residual, int class_wanted);
/* All strips about a model, with weights of at most the median one. */
void sdm_along_make_strips(SdmAlongState *f, const SdmAlongModel *m);
