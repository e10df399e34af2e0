/* The commands of stereodem-lab, for those who develop and measure. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_LAB_H
#define SDM_LAB_H

#include "cli/cli.h"

SdmStatus sdm_command_simulate(SdmCall *call);
SdmStatus sdm_command_bench(SdmCall *call);

#endif
