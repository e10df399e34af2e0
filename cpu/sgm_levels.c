/* Which copy of the kernels of semi-global matching runs here. */
// SPDX-License-Identifier: Apache-2.0
#include "sgm_kernels.h"
#include <string.h>

#if SDM_X86
extern const SdmSgmKernels sdm_sgm_kernels_sse42, sdm_sgm_kernels_avx2, sdm_sgm_kernels_avx512;
#endif

const SdmSgmKernels *sdm_sgm_kernels_at(const char *level)
{
    if (!sdm_kernels_at(level))
        return NULL;
#if SDM_X86
    const bool any = strcmp(level, "auto") == 0;
    if (strcmp(any ? sdm_kernels_name(level) : level, "avx512") == 0)
        return &sdm_sgm_kernels_avx512;
    if (strcmp(any ? sdm_kernels_name(level) : level, "avx2") == 0)
        return &sdm_sgm_kernels_avx2;
    if (strcmp(any ? sdm_kernels_name(level) : level, "sse4.2") == 0)
        return &sdm_sgm_kernels_sse42;
#endif
    return &sdm_sgm_kernels_reference;
}
