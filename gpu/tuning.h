/* Sizes of the devices' launches: a row per device, found by its name; the first is for all others.  Results
 * do not depend on them.  `stereodem-lab bench --tune --device NAME` measures a row.  Internal. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_TUNING_H
#define SDM_GPU_TUNING_H

#include <stdbool.h>

typedef struct SdmTuning {
    const char *name; /* part of a device's name; "" = every device */
    int strip_rows;   /* h: rows that a group of a match_* kernel walks down */
    int sum_rows, sum_items; /* window sums (window_texture, volume_*): rows of a strip, items of a group */
    int column_rows, column_items; /* column sums (fill_columns, ray_error_columns): the same */
    int pixel_w, pixel_h; /* items of a group where each has a pixel: warp, median, filling, winners ... */
    int pair_rows, pair_items; /* rectified pairs, their window sums: rows of a strip, items of a group */
} SdmTuning;

enum { SDM_TUNING_MOST_ROWS = 1024, SDM_TUNING_MOST_GROUP = 256 };

/* The last row whose name is part of the device's. */
const SdmTuning *sdm_tuning_find(const char *device_name);
/* Are all sizes such as the kernels can run with? */
bool sdm_tuning_good(const SdmTuning *t);

#endif
