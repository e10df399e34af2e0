/* Stages 1 to 4: how a view's pixels reach the pyramids. */
#ifndef SDM_VIEW_READER_H
#define SDM_VIEW_READER_H

#include "input/scene_open.h"

/* Reads windows of an image.  Inside saturated areas there is nothing to match, but detectors brought to one
 * level still differ by column, which would look like texture: what lies 3 px or more inside such an area
 * becomes nodata. */
typedef struct SdmViewReader {
    SdmImage *image;
    bool keep;      /* remember the mask of the last window in `core` */
    uint8_t *core;  /* h x w of that window, 1 = inside a saturated area; NULL where there is none; owned */
} SdmViewReader;

/* An sdm_read_fn; user: an SdmViewReader.  A pixel does not depend on the window. */
SdmStatus sdm_view_read(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                        int16_t *out);

#endif
