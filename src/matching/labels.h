/* Stage 5 with an optimizer: rows of scores -> volume of costs -> labels -> rows of scores again, of which
 * only those near a pixel's label count. */
#ifndef SDM_LABELS_H
#define SDM_LABELS_H

#include "matching/level.h"

enum {
    SDM_LABELS_BAND = 256, /* rows whose labels are found at once; SDM_OVERLAP more on each side */
    SDM_LABELS_MOST = 100, /* cost of a score of 0 and less */
    SDM_LABELS_EDGE = 256  /* a step of the left view: 16 levels of 8 bits */
};

/* A pass's labels of the rows y0..y1 - 1 of a window. */
typedef struct SdmLevelLabels {
    int width, height, y0, y1, begin, end; /* rows begin..end - 1 of the window are wanted */
    int range;       /* labels 0..2 range are residuals -range..range */
    SdmVolume volume;
    uint16_t *label; /* (y1 - y0) x width */
} SdmLevelLabels;

/* Rows 0..height - 1 (at most a band and its overlap) of the left view; its rows' stride is the width. */
SdmStatus sdm_level_labels_open(SdmContext *ctx, const SdmLevelTask *task, const SdmPass *pass,
                                SdmLevelLabels *out);
void sdm_level_labels_close(SdmLevelLabels *l);
/* Bytes that a pass by labels takes beside what every pass does, in a window of w x h pixels. */
int64_t sdm_level_labels_bytes(const SdmOptimizer *how, int range, int64_t w, int64_t h);
/* Consumer of cost rows y0..y1 - 1: scores become costs, 100 (1 - score), 0..100. */
void sdm_level_labels_cost(void *user, const SdmCostRow *row);
/* Choose the labels of the rows whose costs are there. */
SdmStatus sdm_level_labels_choose(SdmContext *ctx, const SdmLevelTask *task, const SdmOptimizer *how,
                                  SdmLevelLabels *l);

/* Scores of the row near its labels: at the label and one beside it as they are, two beside it no better than
 * the best of those, so that a curve through them ends there, further off none.  out: (2 range + 1) x pitch.
 */
void sdm_level_labels_keep(const SdmLevelLabels *l, const SdmCostRow *row, float *out);
/* Bytes of `out` for a window of that width. */
size_t sdm_level_labels_keep_bytes(int width, int range);

#endif
