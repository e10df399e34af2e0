/* Loops of plain C for wider vectors. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h> /* __GLIBC__ */

/* Before a function: its loops are compiled for AVX2, too, and the processor's copy is chosen when the
 * program is loaded.  Both copies do the same single operations, so results are equal.  For loops that the
 * compiler makes vectors by itself; what takes much of the time is a kernel (cpu/kernels.h).  For gcc, and
 * clang in scripts/portable, with glibc on x86-64; elsewhere, and with sanitizers, which are not ready at
 * that time, empty. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) &&                                        \
    (!defined(__clang__) || defined(SDM_CPU_MODEL)) && !defined(__SANITIZE_ADDRESS__) &&                     \
    !defined(__SANITIZE_THREAD__)
#define SDM_VECTOR_LOOPS __attribute__((target_clones("avx2", "default")))
#else
#define SDM_VECTOR_LOOPS
#endif
