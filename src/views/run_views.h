/* The command run with three views or more. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coreg/stack.h"
#include "product/dem_report.h"
#include "product/fields.h"

/* As sdm_run_scene(), from three views or more, at most SDM_MAX_VIEWS: images with RPC, or folders of
 * products. They are paired, each pair is matched on one grid, and the DEMs are fused; see docs/views.md.
 * DEMs of finished pairs are kept in `<output>.views` until all is written, and taken up by the next call.
 * keep: NULL for files; else the product stays in memory, the option output is not looked at, and DEMs of
 * pairs lie in a folder of the system's temporary files until the call ends. */
SdmStatus sdm_run_several(SdmContext *ctx, const char *const *views, int count, SdmKeptProduct *keep,
                          SdmDemResult *result);

/* Figures of a pair for the report and the result: those before its moves, then the others. */
enum { SDM_PAIR_FIGURES = 12, SDM_PAIR_FIGURES_FIRST = 7 };
void sdm_pair_figures(const SdmPairResult *p, SdmField out[SDM_PAIR_FIGURES]);
