/* Robust statistics: order statistics, medians, quantiles, figures of a set of height errors.
 * Every function takes a plain array without NaN, may reorder or overwrite it, and does not allocate. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* The value of rank k (0 = smallest) among a[0..n-1], n >= 1, 0 <= k < n; quickselect (Floyd & Rivest 1975),
 * expected O(n).  Afterwards a[i] <= a[k] for i < k and a[i] >= a[k] for i > k. */
float sdm_select_f32(float *a, int64_t n, int64_t k);
double sdm_select_f64(double *a, int64_t n, int64_t k);

/* Quantile q (0..1), linear between neighbours in rank; its rank is q (n - 1).  NaN when n == 0. */
double sdm_quantile_f32(float *a, int64_t n, double q);
double sdm_quantile_f64(double *a, int64_t n, double q);

/* Median: the mean of the two middle values when n is even.  NaN when n == 0. */
double sdm_median_f32(float *a, int64_t n);
double sdm_median_f64(double *a, int64_t n);

/* 1.4826 x median |a - median(a)|; *median (may be NULL) gets the median.  Overwrites a with |a - median|. */
double sdm_nmad_f32(float *a, int64_t n, double *median);
double sdm_nmad_f64(double *a, int64_t n, double *median);

/* Sort a[0..n-1], smallest first.  spare: room for n values. */
void sdm_sort_f32(float *a, int64_t n, float *spare);

/* Move values other than NaN to the front, in order.  @return their number */
int64_t sdm_drop_nan_f32(float *a, int64_t n);
int64_t sdm_drop_nan_f64(double *a, int64_t n);

/* All figures of n errors in metres; n == 0 gives count 0 and zeros.
 * error_m: n values, overwritten.  spare: room for n values. */
void sdm_error_stats(float *error_m, int64_t n, float *spare, SdmErrorStats *out);
