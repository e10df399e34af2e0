/* Stage 5 with an optimizer: rows of scores -> volume of costs -> a label for each pixel -> the row of scores
 * clamped to the neighbourhood of the label.  Without an optimizer one band of all rows, and scores as they
 * are. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_LEVEL_LABELS_H
#define SDM_LEVEL_LABELS_H

#include "matching/cpu_match_pass.h"

enum {
    SDM_LABELS_BAND = 256, /* rows whose labels are found at once; SDM_OVERLAP more on each side */
    SDM_LABELS_MAX_COST = 100, /* cost of a score of 0 and less */
    SDM_LABELS_EDGE = 256      /* an edge of the left view: 16 levels of 8 bits */
};

/* The labels of a pass over a window, band after band of its rows. */
typedef struct SdmLevelLabels {
    const SdmOptimizer *how; /* NULL: none; what follows up to `begin` is not set */
    int range;               /* labels 0..2 range are residuals -range..range */
    SdmVolume volume;
    uint16_t *label;         /* (y1 - y0) x width */
    int width, height;       /* of the window */
    int begin, end;          /* the band: rows begin..end - 1 of the window are wanted */
    int y0, y1;              /* rows whose costs it needs */
} SdmLevelLabels;

/* No band yet. */
SdmStatus sdm_level_labels_open(SdmContext *ctx, const SdmLevelTask *task, const SdmPass *pass,
                                SdmLevelLabels *out);
void sdm_level_labels_close(SdmLevelLabels *l);
/* Go on to the next band; false: there is none. */
bool sdm_level_labels_next(SdmLevelLabels *l);
/* Consumer of the cost rows y0..y1 - 1: scores become costs, 100 (1 - score), 0..100. */
void sdm_level_labels_cost(void *user, const SdmCostRow *row);
/* Choose the labels of the band, whose costs are there. */
SdmStatus sdm_level_labels_choose(SdmContext *ctx, const SdmLevelTask *task, SdmLevelLabels *l);

/* Scores clamped to the labels.  Of a pixel with label l and scores s[k]: s[k] for |k - l| <= 1;
 * min(s[k], max(s[l - 1], s[l], s[l + 1])) for |k - l| = 2, so that a parabola ends there; no score beyond.
 * out: (2 range + 1) x pitch.  Without an optimizer the row itself. */
SdmCostRow sdm_level_labels_clamp(const SdmLevelLabels *l, const SdmCostRow *row, float *out);
/* Bytes of `out` for a window of that width. */
size_t sdm_level_labels_clamp_bytes(const SdmPass *pass, int width);

/* Bytes that the passes of level 0 take at most for labels, in a window of w x h pixels. */
int64_t sdm_match_label_bytes(const SdmMatchSettings *set, int64_t w, int64_t h);

#endif
