/* Which copy of the kernels of semi-global matching runs here. */
// SPDX-License-Identifier: Apache-2.0
#include "sgm_kernels.h"

const SdmSgmKernels *sdm_sgm_kernels_at(const char *level)
{
    return sdm_kernels_at(level) ? &sdm_sgm_kernels_reference : NULL;
}
