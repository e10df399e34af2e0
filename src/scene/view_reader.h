/* Windows of a view's pixels, ready to be matched: small holes filled, saturated areas without data. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/scene_open.h"

/* turned: windows and their places are those of SdmPyramid.turned. */
typedef struct SdmViewReader {
    SdmImage *image;
    bool turned;
    bool saturated;  /* saturated areas keep their pixels: their outlines tell their place (plain_areas.h) */
    bool keep;       /* remember the defects of the last window */
    uint8_t *defect; /* h x w of that window, SdmDefect; NULL: there are none; owned */
} SdmViewReader;

/* Width and height; of a turned image the other way round. */
void sdm_view_size(const SdmViewReader *r, int64_t size[2]);

/* An sdm_read_fn; user: an SdmViewReader.  A pixel does not depend on the window.
 *
 * A pixel without data is predicted from the 12 nearest with data within 5 px (kriging with the variogram
 * (1 + r^2)^0.75); where there are none it stays nodata, as beyond the image.  So windows are whole
 * around lost lines, dead columns and the specks of a mask.
 *
 * Pixels 3 px or more inside a saturated area become nodata: there is nothing to match, but detectors that
 * were brought to one level still differ by column, which would look like texture.  With `saturated` they
 * stay, as do white roofs of towns. */
SdmStatus sdm_view_read(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                        int16_t *out);
