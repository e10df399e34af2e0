/* The log of a run as a file beside its output. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* Write later log lines, details too, to NAME.log beside the output NAME.tif; for the holder of
 * the output.  An earlier log is replaced, any other file of that name is left, and so is the log of a run
 * around this one.  true: begun, to be ended by the caller.  A log that cannot be written fails no run. */
bool sdm_run_log_begin(SdmContext *ctx, const char *output, const char *command);
/* The last line: how the run ended, with the sentence of a failure. */
void sdm_run_log_end(SdmContext *ctx, SdmStatus st);

/* Is there a log of the output?  Then its name. */
bool sdm_run_log_find(const char *output, char *out, size_t size);
