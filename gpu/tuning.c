/* Name of a device -> sizes of its launches. */
// SPDX-License-Identifier: Apache-2.0
#include "tuning.h"

#include <stddef.h>
#include <string.h>

/* Rows are what `stereodem-lab bench --tune --device NAME` printed on that device. */
static const SdmTuning table[] = {
    {"", 32, 32, 64, 64, 64, 32, 8, 32, 64},
    /* zncc 10.0 ms, by the first row 11.0; census 18.5, 18.9; a pair 0.71, 0.91 */
    {"H100", 8, 32, 32, 16, 64, 32, 4, 16, 32},
    {"H200", 8, 32, 32, 16, 64, 32, 4, 16, 32}, /* the same chip */
};

const SdmTuning *sdm_tuning_find(const char *device_name)
{
    const SdmTuning *found = table;
    for (size_t i = 1; i < sizeof table / sizeof *table; i++)
        if (strstr(device_name, table[i].name))
            found = &table[i];
    return found;
}

static bool is_rows(int n)
{
    return n >= 1 && n <= SDM_TUNING_MOST_ROWS;
}

static bool is_group(int w, int h)
{
    return w >= 1 && h >= 1 && w <= SDM_TUNING_MOST_GROUP && h <= SDM_TUNING_MOST_GROUP / w;
}

bool sdm_tuning_good(const SdmTuning *t)
{
    return is_rows(t->strip_rows) && is_rows(t->sum_rows) && is_rows(t->column_rows) &&
           is_group(t->sum_items, 1) && is_group(t->column_items, 1) && is_group(t->pixel_w, t->pixel_h) &&
           is_rows(t->pair_rows) && is_group(t->pair_items, 1);
}
