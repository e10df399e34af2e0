/* Sums over the cells of two DEMs -> the step of their 3-D shift, after Nuth and Kaab (2011). */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_NUTH_KAAB_H
#define SDM_NUTH_KAAB_H

/* Sums of the normal equations of  residual = east slope x dx + north slope x dy + dz :
 * ee en e nn n 1 | ed nd d. */
enum {
    SDM_NUTH_KAAB_SUMS = 9,
    SDM_NUTH_KAAB_CORRELATED = 25 /* errors of neighbouring cells are correlated: so many cells count as
                                   * one */
};

/* Solve the normal equations about the means, along the principal axes of the slopes.  Along an axis where
 * the standard error of the shift, noise / standard deviation of the slope / sqrt(independent cells), is half
 * a cell or more (a plane, flat ground), the step is 0.
 * @return number of such axes */
int sdm_nuth_kaab_step(const double sums[SDM_NUTH_KAAB_SUMS], double noise_m, double cell_m,
                       double step_m[3]);

#endif
