/* Elements 0..n-1, joined two by two -> disjoint sets (union-find with path halving, Tarjan & van Leeuwen
 * 1984). */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

/* parent: an entry for each element, owned by the caller; parent[i] = i makes i a set of its own.  The root
 * of a set is its smallest element, and parent[i] <= i. */

/* Root of the set that holds element i. */
static inline int32_t sdm_sets_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* Make one set of the sets that hold a and b. */
static inline void sdm_sets_join(int32_t *parent, int32_t a, int32_t b)
{
    a = sdm_sets_root(parent, a);
    b = sdm_sets_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}
