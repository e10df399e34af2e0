/* A fuzz target: takes any bytes, must neither crash nor leak nor hang; aborts on a wrong answer, too.
 * With clang it is libFuzzer's entry, with other compilers driver.c calls it. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_FUZZ_H
#define SDM_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
