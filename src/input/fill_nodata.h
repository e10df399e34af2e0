/* Fill that a file does not declare as nodata.  For src/input and src/rectified. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_FILL_H
#define SDM_FILL_H

#include <stdint.h>

/* sorted: samples *from..*to - 1, ascending, finite.  Fill is one value at an end that many of them have (one
 * in 2,000, 32 at least), farther from all others than these spread; or many zeros where all others are
 * positive. fill: gets up to two values, else unchanged; from, to: narrowed to the others.  Returns how many
 * values. */
int sdm_fill_find(const float *sorted, int64_t *from, int64_t *to, float fill[2]);

/* The shortest text that is read back as v. */
void sdm_fill_text(float v, char out[24]);

#endif
