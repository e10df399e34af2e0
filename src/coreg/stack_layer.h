/* What the files of src/stack share: the DEMs of a stack, as layers of the common grid. */
#ifndef SDM_LAYER_H
#define SDM_LAYER_H

#include "coreg/stack_adjust.h"
#include "coreg/stack.h"
#include "geo/geoid.h"

#include <ogr_srs_api.h>

typedef struct SdmLayer {
    char *path, *qa;                /* owned (sdm_alloc); qa: NAME_qa.tif that marks filled cells, or NULL */
    int qa_band;                    /* its mask */
    int crs;                        /* index into SdmStack.crs */
    int vertical;                   /* SdmVertical, or SDM_VERTICAL_UNKNOWN */
    int64_t width, height;          /* pixels of the file */
    double geo[6], to_pixel[6];     /* geotransform (corners), and its inverse */
    double cell;                    /* edge of a pixel, units of its CRS */
    double ratio;                   /* edge of the grid's cell / edge of a pixel */
    int64_t col0, row0, cols, rows; /* where it lies on the grid */
    double shift_m[3];              /* how far it lies off: east, north, up */
    /* every sample_step-th cell of the grid, in both axes, that falls into it */
    int64_t sample_col0, sample_row0, sample_cols, sample_rows; /* in samples */
    float *sample;                                              /* height, metres; NaN: none, or filled */
    float *rest;       /* sample, shift taken out, minus the median of all there; NaN: no other there */
    uint8_t *unstable; /* sample that stands out among three or more */
    double rest_nmad_m;   /* NMAD of rest; NaN: none */
    int64_t rest_samples; /* of them */
    uint64_t hash;        /* of the samples */
    /* its smooth part, to be taken out like shift_m[2]: metres at bias_rows x bias_cols nodes; NULL: none */
    float *bias_m;
    int64_t bias_col0, bias_row0, bias_cols, bias_rows; /* in nodes */
    SdmStackedDem found;
} SdmLayer;

typedef struct SdmLayerCrs {
    OGRSpatialReferenceH srs;                /* horizontal */
    char *wkt;                               /* CPLFree */
    int64_t cells;                           /* of all its layers */
    bool same;                               /* as the grid's */
    OGRCoordinateTransformationH *from_grid; /* one for each thread; NULL when same */
    OGRCoordinateTransformationH to_grid;
} SdmLayerCrs;

typedef struct SdmStack {
    SdmContext *ctx;
    const SdmStackOptions *opt;
    SdmLayer *layer;
    int count;
    SdmLayerCrs *crs;
    int crs_count;
    SdmGrid grid;
    double dx_m, dy_m;   /* size of a cell on the ground, at the centre of the grid */
    int node_step;       /* cells between positions that are transformed; linear between */
    int64_t sample_step; /* cells */
    int64_t tie_step;    /* samples: every tie_step-th, in both axes, is compared pair by pair */
    int64_t bias_step;   /* samples between nodes of bias_m */
    int threads;
    bool datum_unknown;
} SdmStack;

/* ---- inputs.c: arguments and list -> layers, opened once and described ---- */
SdmStatus sdm_stack_open(SdmStack *s, const char *const *dems, int count);
void sdm_stack_close(SdmStack *s);
/* ---- list.c ---- */
typedef struct SdmPaths {
    char **path; /* owned */
    int count, room;
} SdmPaths;
/* Add folder (its first `length` letters) and name, or the name alone when it starts with '/'. */
SdmStatus sdm_paths_add(SdmContext *ctx, SdmPaths *paths, const char *folder, int length, const char *name);
void sdm_paths_free(SdmPaths *paths);
/* Add the DEMs of --list. */
SdmStatus sdm_stack_list(SdmContext *ctx, const char *list, SdmPaths *paths);

/* ---- place.c: layers -> the common grid, and where each lies on it ---- */
SdmStatus sdm_stack_place(SdmStack *s);

/* ---- layer_read.c ---- */
typedef struct SdmWindow { /* cells (col0 + i stride, row0 + j stride), i < w, j < h */
    int64_t col0, row0, w, h, stride;
} SdmWindow;
/* Heights of a layer, as its file has them, at the cells of a window, its shift east and north taken out.
 * height_m: h x w, NaN where it has none; filled: h x w, 1 where it is interpolated, or NULL.
 * Thread-safe over different layers.  A cell's height does not depend on the window. */
SdmStatus sdm_layer_read(const SdmStack *s, const SdmLayer *l, SdmWindow window, float *height_m,
                         uint8_t *filled);

/* ---- sampling.c ---- */
/* Samples of every layer, above the ellipsoid where its datum is known; again after a shift in place. */
SdmStatus sdm_stack_sample(SdmStack *s);
/* Put the layers into the order of their content. */
void sdm_stack_sort(SdmStack *s);
/* samples, less their shifts and smooth parts, minus the median of all layers there -> rest, unstable. */
SdmStatus sdm_stack_rest(SdmStack *s);

/* ---- align.c, align_place.c ---- */
/* Ties of all pairs that share enough stable samples: median difference of heights (freed by the caller). */
SdmStatus sdm_stack_ties(SdmStack *s, SdmTie **ties, int *count);
SdmStatus sdm_stack_align(SdmStack *s, SdmStackReport *report);
SdmStatus sdm_stack_align_place(SdmStack *s); /* east and north, by Nuth & Kaab */

/* ---- bias.c ---- */
/* Smooth parts of the layers from their rests (as sdm_stack_rest left them) -> bias_m, found.smooth_m.
 * At nodes some 16 cells or 6 samples apart the median of a layer's stable rests is its level; what it has
 * more than the weighted mean of all layers there is its bias, bilinear between nodes.  So the mean of the
 * layers takes the place of their median in what is smooth, where errors are no noise but waves: the median
 * of a few waves is a poor estimate (of many sines it has five times the variance of the mean).  Weights are
 * Huber's for the distances between a layer's levels and the means (root mean square over its nodes; beyond
 * 2.5 times the median layer's a layer weighs less).  Nothing is done for two layers, nor where the levels'
 * NMAD is less than a third of the rests' (median layer). */
SdmStatus sdm_stack_bias(SdmStack *s);
/* Smooth part of a layer at a cell, metres; 0 when it has none. */
double sdm_layer_bias(const SdmStack *s, const SdmLayer *l, int64_t col, int64_t row);

/* ---- combine.c ---- */
SdmStatus sdm_stack_combine(SdmStack *s, const SdmStackReport *report, SdmProduct *product, int *blocks);

#endif
