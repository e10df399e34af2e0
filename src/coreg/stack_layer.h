/* The DEMs of a stack, as layers of one common grid, and the steps that turn them into one DEM; for the files
 * of the stack.  Order of the steps: inputs, grid, samples, align (pairs, adjustment, residuals), bias,
 * combine. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coreg/stack.h"
#include "core/core.h"
#include "geo/geoid.h"

#include <ogr_srs_api.h>

typedef struct SdmObservation {
    int a, b;        /* nodes, a < b */
    double value;    /* of a minus that of b */
    double weight;   /* > 0: inverse variance up to a factor */
    double nmad;     /* spread of the samples whose median the value is; not used by the adjustment */
    int64_t samples; /* number of them; the same */
    double spread;   /* of a fusion: the same as nmad with the unstable samples */
} SdmObservation;

/* Values x of n nodes that minimise the sum of weight rho(x_a - x_b - value), with rho by Huber (k = 1.345):
 * least squares with iterated weights, scale = 1.4826 x median of the weighted residuals.  Where that is 0
 * (no redundancy) it is plain least squares.  Only differences are known: in each connected group of nodes
 * the median of x is 0, and a node without observations is a group of its own with x = 0.  Sums are taken in
 * the order of the observations. group: n, numbered from 0 in the order of their first nodes; groups: how
 * many, or NULL.
 * @return SDM_OK, SDM_ERR_MEMORY, _STOPPED */
SdmStatus sdm_adjust_network(SdmContext *ctx, int n, const SdmObservation *observations, int count, double *x,
                             int *group, int *groups);

typedef struct SdmLayer {
    char *path, *qa;                /* owned (sdm_alloc); qa: NAME_qa.tif that marks filled cells, or NULL */
    int qa_band;                    /* band of its mask */
    char acquisition[64], kind[32]; /* of a DEM of `run`: time or name of its scene, and its kind; "": none */
    int given;                      /* its number among the arguments */
    double weight;         /* in means over the DEMs: 1, or of a fusion 1 / sigma_m^2, 1 for the reference */
    int crs;               /* index into SdmStack.crs */
    int vertical;          /* SdmVertical, or SDM_VERTICAL_UNKNOWN */
    int64_t width, height; /* pixels of the file */
    double transform[6];   /* geotransform (corners) */
    double pixel;          /* edge of a pixel, units of its CRS */
    double ratio;          /* edge of the grid's cell / edge of a pixel */
    double lon_deg, lat_deg;        /* of its centre */
    int64_t col0, row0, cols, rows; /* cells of the grid that it may cover */
    double shift_m[3];              /* its offset from the others: east, north, up; to be taken out */
    double tilt_m[3]; /* of a trend, to be taken out like shift_m[2]: at cell (0, 0), by column and row */
    char date[32];    /* of a trend: ISO 8601 */
    bool date_given;  /* by --dates */
    double year;      /* the same as a number, and its standard error that all its heights share */
    double scene_m;
    double line_m;    /* of the trend at its date: standard error */
    bool hides_voids; /* have void_value, which the file does not declare */
    double void_value;
    int error_band; /* of the QA raster: predicted errors; 0: none */
    /* samples: every sample_step-th cell of the grid in both axes, counted over the whole grid */
    int64_t sample_col0, sample_row0, sample_cols, sample_rows;
    float *sample;     /* sample_rows x sample_cols heights, metres; NaN: none, or filled */
    float *residual;   /* sample, shift and bias taken out, minus the median of all layers there; NaN:
                        * no other layer there */
    uint8_t *unstable; /* 1: the residual is an outlier among three or more layers */
    uint64_t checksum; /* of the samples as they were read first */
    float *texture;    /* of a fusion, rows x cols: its orthoimage, while layers are laid on each other */
    /* smooth errors, to be taken out like shift_m[2]: metres at bias_rows x bias_cols nodes, counted over the
     * whole grid; NULL: none */
    float *bias_m;
    int64_t bias_col0, bias_row0, bias_cols, bias_rows;
    double residual_nmad_m; /* NaN: no residuals */
    int64_t residual_count;
    /* for the report */
    double nmad_m;       /* residual_nmad_m with the bias left in */
    int64_t compared;    /* residual_count of that */
    double bias_nmad_m;  /* NMAD of its smooth errors; NaN: left in */
    int group, partners; /* group: of layers connected by overlaps; partners: layers compared with */
    char doubt[200];     /* why it may not belong to the others; "": none */
} SdmLayer;

typedef struct SdmLayerCrs {
    OGRSpatialReferenceH srs;             /* horizontal */
    char *wkt;                            /* CPLFree */
    int64_t pixels;                       /* of all its layers */
    bool same;                            /* as the grid's */
    OGRCoordinateTransformationH to_grid; /* NULL when same */
} SdmLayerCrs;

typedef struct SdmStack {
    SdmContext *ctx;
    const SdmOptions *options; /* --t_srs, --tr, --vertical, --memory, -o */
    const SdmStackOptions *opt;
    SdmKeptProduct *keep; /* see SdmProductRequest */
    int threads;
    SdmLayer *layer;
    int count;
    SdmLayerCrs *crs;
    int crs_count;
    bool datum_unknown;               /* no DEM declares a vertical datum */
    SdmGrid grid;                     /* of all DEMs */
    SdmGrid part;                     /* the cells of it that are asked for */
    double dx_m, dy_m;                /* size of a cell on the ground, at the centre of the grid */
    int64_t sample_step;              /* cells */
    int64_t sample_cols, sample_rows; /* samples of the grid */
    int64_t pair_step;                /* samples: pairs are compared at every pair_step-th, in both axes */
    int64_t bias_step;                /* samples between nodes of bias_m */
    int sampled;                      /* layers, so far */
    int pairs, groups;                /* pairs that were compared, connected groups of layers */
    double disagree_m;                /* two heights farther apart disagree; INFINITY without pairs */
    struct SdmStackTrend *trend;      /* owned; NULL: none is asked for */
    double *tolerance_m; /* of a fusion, count x count: the same for the heights of two layers; owned */
    double error_scale;  /* of a fusion: how far its DEMs differ, in units of their predicted errors */
} SdmStack;

/* All steps from the grid to the smooth errors (stack.c), after sdm_stack_open(). */
SdmStatus sdm_stack_prepare(SdmStack *s);

/* ---- stack_inputs.c: files -> layers ---- */

typedef struct SdmPaths {
    char **path; /* owned, each, too */
    int count;
} SdmPaths;
/* Paths of the arguments and of --list (NULL: none), those of the list relative to it. */
SdmStatus sdm_stack_paths(SdmContext *ctx, const char *const *dems, int count, const char *list,
                          SdmPaths *out);
void sdm_paths_free(SdmPaths *paths);

/* Open and describe each DEM of the arguments and of --list; close after failure, too. */
SdmStatus sdm_stack_open(SdmStack *s, const char *const *dems, int count);
void sdm_stack_close(SdmStack *s);

/* Leave out all layers but one of each acquisition whose heights agree, with a note; layers of one
 * acquisition alone stay, with a warning.  After sdm_stack_sample(). */
SdmStatus sdm_stack_drop_copies(SdmStack *s);
/* Three dates that differ make a trend; SDM_ERR_DATA: there are fewer. */
SdmStatus sdm_stack_check_dates(const SdmStack *s);

/* ---- stack_trend.c ---- */

/* After sdm_stack_align(): find stable ground, whose heights have no trend, and lay the layers' planes on it;
 * the error that the heights of a layer share. */
SdmStatus sdm_stack_trend(SdmStack *s);
void sdm_stack_trend_close(SdmStack *s);

/* ---- stack_grid.c ---- */

/* Diagonal of a layer on the ground. */
double sdm_layer_diagonal_m(const SdmStack *s, const SdmLayer *l);

/* Choose the common grid, and find the cells that each layer covers. */
SdmStatus sdm_stack_choose_grid(SdmStack *s);

/* ---- stack_samples.c ---- */

typedef struct SdmCellWindow { /* cells (col0 + i stride, row0 + j stride) of the grid, i < w, j < h */
    int64_t col0, row0, w, h, stride;
} SdmCellWindow;
/* The cells of a layer that are its samples. */
SdmCellWindow sdm_layer_samples(const SdmStack *s, const SdmLayer *l);
/* Heights of a layer at the cells of a window, above its own datum, shifted east and north by -shift_m.
 * height_m: h x w, NaN where it has none; filled: h x w, 1 where the height is interpolated, or NULL.
 * Thread-safe.  The height of a cell does not depend on the window. */
SdmStatus sdm_layer_read(const SdmStack *s, const SdmLayer *l, SdmCellWindow window, float *height_m,
                         uint8_t *filled);
/* Predicted errors of a layer that has an error_band, likewise. */
SdmStatus sdm_layer_read_errors(const SdmStack *s, const SdmLayer *l, SdmCellWindow window, float *error_m);
/* Median of those at the layer's samples; NaN: none. */
SdmStatus sdm_layer_median_error(const SdmStack *s, const SdmLayer *l, double *median_m);
/* Smooth error or tilt of a layer at a cell, metres; 0 when it has none. */
double sdm_layer_bias(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row);

/* Number of a layer's sample at a column and row of samples of the whole grid; -1: outside of the layer. */
int64_t sdm_layer_sample_at(const SdmLayer *l, int64_t col, int64_t row);
/* That sample, shift and smooth error or tilt taken out; NaN outside of the layer. */
float sdm_layer_level(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row);

/* Sample every layer, above the ellipsoid where its datum is known; the first time the steps are chosen. */
SdmStatus sdm_stack_sample(SdmStack *s);
/* Sort the layers by content, so that results do not depend on the order of the arguments. */
void sdm_stack_sort(SdmStack *s);
/* A step for all layers, on all threads; of those that fail, the first one's status. */
SdmStatus sdm_stack_each(SdmStack *s, SdmStatus (*step)(SdmStack *s, SdmLayer *l));
/* Residuals of the samples, and which are unstable, with the shifts and smooth errors so far. */
SdmStatus sdm_stack_residuals(SdmStack *s);

/* ---- stack_align.c ---- */

enum { SDM_STACK_MIN_SAMPLES = 30 }; /* that a pair must share */

/* Shifts of the layers from observations of pairs, adjusted together, as --align asks; residuals; figures. */
SdmStatus sdm_stack_align(SdmStack *s);

/* ---- stack_bias.c ---- */

/* Smooth errors of three or more layers from their residuals -> bias_m, bias_nmad_m.
 * The bias of a layer at a node (some 16 cells or 6 samples apart) is the median of its stable residuals
 * there, less the weighted mean of all layers.  So where errors are waves, not noise, the mean of the layers
 * takes the place of their median, whose variance is five times larger for many sines.  Weights are Huber's,
 * for the root mean square distance of a layer's nodes to the means: beyond 2.5 times the median layer's a
 * layer weighs less.  Nothing is done where the NMAD of the nodes is less than a third of that of the
 * residuals (median layer). */
SdmStatus sdm_stack_bias(SdmStack *s);

/* ---- stack_fuse.c: DEMs of pairs of common views ---- */

enum {
    SDM_FUSED_BANDS = 5,                      /* score, ray error, spread, count, mask */
    SDM_FUSED_BYTES = 2 * SDM_FUSED_BANDS + 4 /* memory of a cell */
};
/* The layers that overlap a block. */
typedef struct SdmBlockLayers {
    int *index, count;  /* index: into SdmStack.layer */
    int64_t col0, row0; /* first cell of the block, in the grid */
    float **height_m;   /* each h x w, above the ellipsoid, shift taken out */
    uint8_t **filled;   /* each h x w */
    float **error_m;    /* of a trend or fusion: predicted, h x w; NULL: none */
    uint16_t **qa;      /* of a fusion, h x w x SDM_FUSED_BANDS: the QA raster; 65535: none */
    float **ortho;      /* of a fusion, h x w, NaN: none; NULL: not wanted */
    double qa_step_m;   /* unit of the QA rasters' metres */
    SdmUndulation undulation[SDM_EGM2008 + 1];
    float *geoid_m[SDM_EGM2008 + 1]; /* undulation of each datum, h x w; NULL where no layer needs it */
} SdmBlockLayers;
/* Read the nearest cells of a layer's QA raster or orthoimage; *out is the caller's to free. */
SdmStatus sdm_fused_read_qa(const SdmStack *s, const SdmLayer *l, const SdmBlock *b, uint16_t **out);
SdmStatus sdm_fused_read_ortho(const SdmStack *s, const SdmLayer *l, const SdmBlock *b, float **out);

/* Fuse cell i of the block.  Each height, measured or filled, has a vote (score x trust); the surface is
 * the height below which two fifths of the votes lie.  The cell gets the mean of the heights within four
 * NMAD of it (NMAD of the differences of the two pairs), weighted by their precision; measured ones
 * alone where there is one.  A height that is filled in all of them is dropped where their scores are
 * below 0.3: it is more often wrong than right.  Its predicted error is the mean of those of these heights x
 * error_scale x (pairs that see the cell / those that agree).  docs/views.md has the experiment. */
void sdm_fuse_cell(const SdmStack *s, const SdmBlockLayers *layers, int64_t i, SdmBlock *b);
/* Bring the layers to the reference's place, and set what heights may differ by and error_scale; after
 * sdm_stack_align(). */
SdmStatus sdm_fusion_refer(SdmStack *s, const SdmObservation *pair, int count);

/* ---- stack_combine.c ---- */

/* Give every cell of the stack to the product, block by block; *blocks: how many. */
SdmStatus sdm_stack_combine(SdmStack *s, SdmProduct *product, int *blocks);

/* ---- ortho_shift.c: two orthoimages on one grid -> the horizontal shift between them ---- */

typedef struct SdmOrthoShift {
    double cells[2]; /* column, row: what is at x in b is at x + cells in a */
    double nmad;     /* cells, of the patches */
    int64_t patches; /* that agree on it; 0: the images show no shift */
} SdmOrthoShift;

/* Find the shift by zero-mean normalised cross-correlation: of the whole images at an eighth of the size,
 * within 64 cells, then of patches of 41 x 41 cells, each to a fraction of a cell; the median of the patches
 * with a clear maximum. a, b: rows x cols, NaN where there is nothing.  The result does not depend on the
 * number of threads.
 * @return SDM_OK, SDM_ERR_MEMORY, _STOPPED */
SdmStatus sdm_ortho_shift(SdmContext *ctx, const float *a, const float *b, int64_t cols, int64_t rows,
                          SdmOrthoShift *out);
