/* The definition of rectified matching, a row at a time.  Internal; not installed. */
#ifndef SDM_PAIR_REFERENCE_H
#define SDM_PAIR_REFERENCE_H

#include "kernels.h"
#include "rectified/pair.h"

/* Bytes of scratch for sdm_pair_reference_row: the volume of one row. */
size_t sdm_pair_reference_scratch(int width, const SdmPairSettings *set);
/* One row of disparities: `width` floats, px, NaN where there is no match.  scratch: aligned to 64. */
void sdm_pair_reference_row(const SdmPairImage *left, const SdmPairImage *right, const SdmPairSettings *set,
                            int y, void *scratch, float *disparity);

#endif
