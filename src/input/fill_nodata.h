/* Samples of an image -> values that stand for nodata although the file does not declare them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Find undeclared nodata among the samples sorted[*from .. *to - 1], which are ascending and finite.  It is a
 * value at an end of the range that many samples have (one in 2,000, at least 32) and that is farther from
 * the other samples than these spread; or 0, where many samples are 0 and all others positive. top_alone: at
 * the upper end alone, as where the file says what its nodata is, or 0 is. fill: up to two values; unchanged
 * without any.  from, to: narrowed to the other samples.
 * @return number of values found */
int sdm_fill_find(const float *sorted, int64_t *from, int64_t *to, bool top_alone, float fill[2]);

/* The shortest text that is read back as v. */
void sdm_fill_text(float v, char out[24]);
