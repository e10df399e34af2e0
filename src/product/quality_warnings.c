/* What makes a DEM doubtful: sentences, and the figures behind them. */
// SPDX-License-Identifier: Apache-2.0
#include "product/quality_warnings.h"

#include <stdarg.h>
#include <stdio.h>

void sdm_quality_warn(SdmQuality *q, const char *fmt, ...)
{
    va_list args;
    if (q->count >= SDM_MAX_WARNINGS)
        return;
    va_start(args, fmt);
    vsnprintf(q->text[q->count++], sizeof q->text[0], fmt, args);
    va_end(args);
}
