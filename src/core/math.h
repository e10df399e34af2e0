/* Small integer arithmetic that every layer uses, kernels included. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_MATH_H
#define SDM_MATH_H

#include <stdint.h>

/* v, but at least lo and at most hi. */
static inline int sdm_clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

/* a / b rounded down; b > 0. */
static inline int64_t sdm_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

#endif
