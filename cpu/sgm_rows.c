/* Semi-global matching, the kernels of src/matching/optimize.c: costs of a row -> path costs, sums and
 * labels, labels along the lanes.  See sgm_kernels.h. */
// SPDX-License-Identifier: Apache-2.0
#include "sgm_kernels.h"
#include "simd.h"

#include <string.h>

extern sdm_pair_words_fn SDM_NAME(pair_words);
extern sdm_sgm_costs_fn SDM_NAME(sgm_costs);
extern sdm_sgm_offsets_fn SDM_NAME(sgm_offsets);
extern sdm_sgm_penalties_fn SDM_NAME(sgm_penalties);
extern const SdmSgmKernels SDM_NAME(sgm_kernels);

/* ---- paths ---- */

VEC void put_sum(uint16_t *sum, v16 value, bool add)
{
    v16_store(sum, add ? v16_adds(value, v16_load(sum)) : value); /* padding stays at the largest value */
}

#define E 8
#include "sgm_row_body.h"
#define E 16
#include "sgm_row_body.h"

/* ---- labels: the best of each pixel; those of right pixels lie in the lanes of the labels that they meet
 * at pixel x, and move a lane down from pixel to pixel ---- */

VEC int best_of(const uint16_t *sum, int n)
{
    v16 least = v16_load(sum);
    for (int i = 1; i < n; i++)
        least = v16_min(least, v16_load(sum + i * VL));
    const v16 all = v16_least_all(least);
    int i = 0, at = v16_first_equal(v16_load(sum), all);
    while (at == VL && ++i < n)
        at = v16_first_equal(v16_load(sum + i * VL), all);
    return i * VL + at;
}

/* Shift the right pixels down by one lane; the one in lane 0 is finished. */
VEC void slide(v16 *best, v16 *label, int n)
{
    const v16 none = v16_set(-1);
    for (int i = 0; i < n; i++) {
        best[i] = v16_down(best[i], i + 1 < n ? best[i + 1] : none, 1);
        label[i] = v16_down(label[i], i + 1 < n ? label[i + 1] : none, 1);
    }
}

VEC void leave(const SdmSgmPick *p, ptrdiff_t right, unsigned label)
{
    if (right >= 0 && right < p->width)
        p->right[right] = label < (unsigned)p->labels ? (uint16_t)label : UINT16_MAX;
}

/* best, label: n vectors each; mine: numbers of the labels */
VEC void rights(const SdmSgmPick *p, int n, v16 *best, v16 *label, const v16 *mine)
{
    for (int i = 0; i < n; i++)
        best[i] = label[i] = v16_set(-1);
    for (ptrdiff_t x = 0; x < p->width; x++) {
        for (int i = 0; i < n; i++)
            v16_take_less(v16_load(p->sum + x * p->pitch + i * VL), mine[i], &best[i], &label[i]);
        leave(p, x + p->first, v16_first(label[0]));
        slide(best, label, n);
    }
    for (ptrdiff_t x = p->width; x < p->width + p->labels; x++) {
        leave(p, x + p->first, v16_first(label[0]));
        slide(best, label, n);
    }
}

static void pick_row(const SdmSgmPick *p)
{
    enum { FEW = 4 };
    const int n = p->pitch / VL;
    v16 few[3][FEW], *const room = (v16 *)(void *)p->room;
    v16 *const mine = n <= FEW ? few[2] : room + 2 * (ptrdiff_t)n;
    for (ptrdiff_t x = 0; x < p->width; x++) {
        const uint16_t *const sum = p->sum + x * p->pitch;
        p->left[x] = (uint16_t)(n == 2 ? best_of(sum, 2) : best_of(sum, n));
    }
    if (!p->right)
        return;
    for (ptrdiff_t x = 0; x < p->width; x++)
        p->right[x] = UINT16_MAX;
    for (int i = 0; i < p->pitch; i++)
        ((uint16_t *)mine)[i] = (uint16_t)i;
    if (n == 1)
        rights(p, 1, few[0], few[1], mine);
    else if (n == 2)
        rights(p, 2, few[0], few[1], mine);
    else if (n == 4)
        rights(p, 4, few[0], few[1], mine);
    else
        rights(p, n, room, room + n, mine);
}

/* ---- the kernels; a row with too few labels to fill a vector is passed to the next narrower instruction set
 * ---- */

#ifdef SDM_ISA_NARROWER
#define NARROWER SDM_CAT(sgm_kernels, SDM_ISA_NARROWER)
extern const SdmSgmKernels NARROWER;
#endif

/* Paths begin as if from pixels of cost 0. */
static void clear(const SdmSgmRow *r)
{
    for (int k = 1; k < SDM_SGM_PATHS && r->begins; k++) {
        memset(r->path[k], 0, (size_t)r->width * (size_t)r->pitch * (r->wide ? 2 : 1));
        memset(r->least[k], 0, (size_t)r->width * sizeof *r->least[k]);
    }
}

static void sgm_row(const SdmSgmRow *r)
{
#ifdef SDM_ISA_NARROWER
    if (r->pitch * (r->wide ? 2 : 1) % LANES) {
        NARROWER.row(r);
        return;
    }
#endif
    clear(r);
    if (r->wide)
        v16_row(r);
    else
        v8_row(r);
}

static void sgm_pick(const SdmSgmPick *p)
{
#ifdef SDM_ISA_NARROWER
    if (p->pitch % VL) {
        NARROWER.pick(p);
        return;
    }
#endif
    pick_row(p);
}

const SdmSgmKernels SDM_NAME(sgm_kernels) = {sgm_row,
                                             sgm_pick,
                                             SDM_NAME(pair_words),
                                             SDM_NAME(sgm_costs),
                                             SDM_NAME(sgm_offsets),
                                             SDM_NAME(sgm_penalties)};
