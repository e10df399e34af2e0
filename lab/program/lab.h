/* The commands of stereodem-lab, for those who develop and measure. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_LAB_H
#define SDM_LAB_H

#include "cli/cli.h"

SdmStatus sdm_command_simulate(SdmCall *call);
SdmStatus sdm_command_bench(SdmCall *call);

/* The curve of belief propagation on Tsukuba, whose images lie in the folder; check: are they there? */
SdmStatus sdm_bench_curve_check(SdmContext *ctx, const char *folder);
SdmStatus sdm_bench_curve_of(SdmContext *ctx, const char *folder, const char *cpu_level, FILE *to);

#endif
