/* Contract between the chain and its kernels.  Internal. */
#ifndef SDM_KERNELS_H
#define SDM_KERNELS_H
#define SDM_CAT_(a, b) a##_##b
#define SDM_CAT(a, b) SDM_CAT_(a, b)
#define SDM_NAME(f) SDM_CAT(f, SDM_ISA) /* zncc -> zncc_avx2 */
typedef struct SdmKernels { int unused; } SdmKernels;
#endif
