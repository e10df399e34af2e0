/* Semi-global matching a row at a time, labels along the lanes.  See sgm_kernels.h; cpu/sgm_reference.c
 * defines it. */
// SPDX-License-Identifier: Apache-2.0
#include "sgm_kernels.h"

#include <string.h>

extern sdm_pair_words_fn SDM_NAME(pair_words);
extern sdm_sgm_costs_fn SDM_NAME(sgm_costs);
extern const SdmSgmKernels SDM_NAME(sgm_kernels);

#include "sgm_vec.h"

#define W 16
#define E 8
#include "sgm_row_body.h"
#define E 16
#include "sgm_row_body.h"
#if !defined(__AVX2__)
#include "sgm_pick_body.h"
#endif
#undef W
#if defined(__AVX2__)
#define W 32
#define E 8
#include "sgm_row_body.h"
#define E 16
#include "sgm_row_body.h"
#include "sgm_pick_body.h"
#undef W
#endif
#if defined(__AVX512BW__)
#define W 64
#define E 8
#include "sgm_row_body.h"
#define E 16
#include "sgm_row_body.h"
#include "sgm_pick_body.h"
#undef W
#endif

/* Where a path begins, costs alone count: as if from zeros. */
static void clear(const SdmSgmRow *r)
{
    for (int k = 1; k < SDM_SGM_PATHS && r->begins; k++) {
        memset(r->path[k], 0, (size_t)r->width * (size_t)r->pitch * (r->wide ? 2 : 1));
        memset(r->least[k], 0, (size_t)r->width * sizeof *r->least[k]);
    }
}

static void sgm_row(const SdmSgmRow *r)
{
    const int bytes = r->pitch * (r->wide ? 2 : 1);
    clear(r);
#if defined(__AVX512BW__)
    if (bytes % 64 == 0) {
        if (r->wide)
            row_16_64(r);
        else
            row_8_64(r);
        return;
    }
#endif
#if defined(__AVX2__)
    if (bytes % 32 == 0) {
        if (r->wide)
            row_16_32(r);
        else
            row_8_32(r);
        return;
    }
#endif
    (void)bytes;
    if (r->wide)
        row_16_16(r);
    else
        row_8_16(r);
}

static void sgm_pick(const SdmSgmPick *p)
{
#if defined(__AVX512BW__)
    if (p->pitch % 32 == 0) {
        pick_row_64(p);
        return;
    }
#endif
#if defined(__AVX2__)
    pick_row_32(p); /* pitch is a multiple of 16 */
#else
    pick_row_16(p);
#endif
}

const SdmSgmKernels SDM_NAME(sgm_kernels) = {sgm_row, sgm_pick, SDM_NAME(pair_words), SDM_NAME(sgm_costs)};
