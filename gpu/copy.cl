/* Memory -> memory: the bandwidth that the other kernels are measured by. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

KERNEL ANY_GROUP copy_words(GLOBAL const float4 *from, GLOBAL float4 *to, long count)
{
    const long at = (long)GROUP(0) * ITEMS(0) + ITEM(0);
    if (at < count)
        to[at] = from[at];
}
