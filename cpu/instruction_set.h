/* Name of an instruction set, as --cpu-level gives it -> the kernels for it.  Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_INSTRUCTION_SET_H
#define SDM_INSTRUCTION_SET_H

#include "pair_kernels.h"
#include "sgm_kernels.h"

/* An instruction set and its tables of kernels.  All of them give the same bits. */
typedef struct SdmCpuLevel {
    const char *name;
    bool (*here)(void);            /* does this processor have it? */
    const SdmKernels *kernels;     /* of the chain */
    const SdmPairKernels *pair[2]; /* of rectified matching and belief propagation: narrow and wide chunks;
                                      NULL: none of its own */
    const SdmSgmKernels *sgm;      /* of semi-global matching */
} SdmCpuLevel;

/* All levels, from slow to fast; the first one is the definition of every kernel, "reference". */
enum { SDM_CPU_LEVELS = 7 };
extern const SdmCpuLevel sdm_cpu_levels[SDM_CPU_LEVELS];

/* The level of that name; "auto": the fastest one that this processor has, never the definition.  NULL: no
 * such level, or not on this processor. */
const SdmCpuLevel *sdm_cpu_level(const char *name);

/* Kernels for a chunk of so many disparities: the narrowest of the level and those below it that holds them,
 * else the widest.  NULL for the definition, which has no chunks. */
const SdmPairKernels *sdm_pair_kernels(const SdmCpuLevel *level, int disparities);
/* Kernels of belief propagation for vectors of so many labels (lanes / 2 to a vector), chosen alike. */
const SdmPairKernels *sdm_bp_kernels(const SdmCpuLevel *level, int labels);

#endif
