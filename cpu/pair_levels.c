/* Which kernels of rectified matching run here, and which suit a chunk of disparities. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_kernels.h"

#include <string.h>

extern const SdmPairKernels sdm_pair_kernels_c;
#if SDM_X86
extern const SdmPairKernels sdm_pair_kernels_sse42, sdm_pair_kernels_avx2, sdm_pair_kernels_avx2_wide,
    sdm_pair_kernels_avx512;
#endif

/* Kernels of the levels up to `level`, narrowest first; their number.  `wide`: also those whose vectors are
 * made of two. */
static int kernels_up_to(const char *level, bool wide, const SdmPairKernels *out[4])
{
#if SDM_X86
    const bool any = strcmp(level, "auto") == 0 || strcmp(level, "avx512") == 0;
    int n = 0;
    if (strcmp(level, "c") != 0 && sdm_kernels_at("sse4.2"))
        out[n++] = &sdm_pair_kernels_sse42;
    if ((any || strcmp(level, "avx2") == 0) && n == 1 && sdm_kernels_at("avx2"))
        out[n++] = &sdm_pair_kernels_avx2;
    if (any && n == 2 && sdm_kernels_at("avx512"))
        out[n++] = &sdm_pair_kernels_avx512;
    else if (wide && n == 2)
        out[n++] = &sdm_pair_kernels_avx2_wide;
    if (n > 0)
        return n;
#else
    (void)level, (void)wide;
#endif
    out[0] = &sdm_pair_kernels_c;
    return 1;
}

static const SdmPairKernels *narrowest(const char *level, bool wide, int lanes)
{
    const SdmPairKernels *some[4];
    if (!sdm_kernels_at(level) || strcmp(level, "reference") == 0)
        return NULL;
    const int n = kernels_up_to(level, wide, some);
    for (int i = 0; i < n; i++)
        if (some[i]->lanes >= lanes)
            return some[i];
    return some[n - 1];
}

const SdmPairKernels *sdm_pair_kernels_at(const char *level, int left)
{
    return narrowest(level, true, left);
}

const SdmPairKernels *sdm_bp_kernels_at(const char *level, int labels)
{
    return narrowest(level, false, 2 * labels);
}
