/* What makes a DEM doubtful: sentences, and the figures behind them. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_QUALITY_WARNINGS_H
#define SDM_QUALITY_WARNINGS_H

enum { SDM_MAX_WARNINGS = 4 };
typedef struct SdmQuality {
    int count;
    char text[SDM_MAX_WARNINGS][320]; /* one clause each */
    double matched_share;             /* matched cells of those with texture, 0..1 */
    double ray_error_median_px; /* median ray intersection error of the matched cells, px of the frame */
} SdmQuality;
/* Add a warning; more than SDM_MAX_WARNINGS are dropped. */
void sdm_quality_warn(SdmQuality *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
