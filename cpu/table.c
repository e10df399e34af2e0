#include "kernels.h"
void SDM_NAME(sdm_kernels)(SdmKernels *k);
void SDM_NAME(sdm_kernels)(SdmKernels *k)
{
    k->unused = 0;
}
