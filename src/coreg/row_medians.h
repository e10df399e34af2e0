/* Values of some cells of a row -> values of a rank, medians of each cell. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

enum { SDM_TREND_CELLS = 16 /* that are worked on together */ };
typedef float SdmTrendRow[SDM_TREND_CELLS];

/* The least value of each cell at or below which lie `rank` of its n values, of which those that are none are
 * INFINITY; found between halves of their range. */
void sdm_select_rows(int n, SdmTrendRow *value, const SdmTrendRow rank, SdmTrendRow out);
/* As sdm_median_f32() of each cell: the mean of the two middle ones of an even count.  Values stay. */
void sdm_median_rows(int n, SdmTrendRow *value, const SdmTrendRow count, double out[SDM_TREND_CELLS]);
