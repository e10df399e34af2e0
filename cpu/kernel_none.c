#include "kernels.h"
void SDM_NAME(sdm_none)(SdmKernels *k);
void SDM_NAME(sdm_none)(SdmKernels *k)
{
    k->unused = 0;
}
