/* Which copy of the kernels of semi-global matching runs here. */
// SPDX-License-Identifier: Apache-2.0
#include "sgm_kernels.h"
#include <stdlib.h>
#include <string.h>
#include <math.h>

float sdm_sgm_offset(int before, int at, int after)
{
    const char *m = getenv("SGMSUB");
    const int mode = m ? atoi(m) : 0;
    const float a = (float)(before - at), b = (float)(after - at);
    const float hi = a > b ? a : b;
    if (hi <= 0.0f)
        return 0.0f;
    if (mode == 0) /* V */
        return (a - b) / (2.0f * hi);
    if (mode == 1) /* parabola */
        return (a - b) / (2.0f * (a + b));
    const float lo = a > b ? b : a, t = lo / hi;
    float f = t; /* share: offset = 0.5 (1 - f(t)) */
    if (mode == 2) f = 0.5f * (t + t * t); /* between */
    if (mode == 3) f = t*t;
    if (mode == 4) f = sinf(1.5707963f * t - 1.5707963f) + 1.0f;
    const float o = 0.5f * (1.0f - f);
    return a > b ? o : -o;
}

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
