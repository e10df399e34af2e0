/* Sorted samples of an image -> values that stand for no data though the file does not say so. */
// SPDX-License-Identifier: Apache-2.0
#include "input/fill_nodata.h"

#include <stdio.h>
#include <stdlib.h>

enum { FILL_LEAST = 32, FILL_SHARE = 2000 /* one in so many samples */ };

/* Number of the sorted samples [from, to) that equal the one at their upper or lower end. */
static int64_t run_of(const float *sorted, int64_t from, int64_t to, bool top)
{
    const float v = sorted[top ? to - 1 : from];
    int64_t n = 0;
    while (n < to - from && sorted[top ? to - 1 - n : from + n] == v)
        ++n;
    return n;
}

int sdm_fill_find(const float *sorted, int64_t *from, int64_t *to, bool top_alone, float fill[2])
{
    const int64_t count = *to - *from;
    int found = 0;
    for (int top = top_alone; top < 2; ++top) {
        const int64_t n = *from < *to ? run_of(sorted, *from, *to, top) : 0;
        const int64_t a = top ? *from : *from + n, b = top ? *to - n : *to; /* the others */
        if (n < FILL_LEAST || n * FILL_SHARE < count || a >= b)
            continue;
        const float v = sorted[top ? *to - 1 : *from];
        const double spread = (double)sorted[b - 1] - (double)sorted[a];
        const double away = top ? (double)v - (double)sorted[b - 1] : (double)sorted[a] - (double)v;
        if (!(spread > 0.0) || !(away > spread || (!top && v == 0.0f)))
            continue;
        fill[found++] = v;
        *from = a;
        *to = b;
    }
    return found;
}

void sdm_fill_text(float v, char out[24])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, 24, "%.*g", digits, (double)v);
        if (strtof(out, NULL) == v)
            return;
    }
}
