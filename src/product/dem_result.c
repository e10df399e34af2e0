/* A product -> the figures for the caller of the run. */
// SPDX-License-Identifier: Apache-2.0
#include "product/dem_result.h"
#include "product/product.h"

#include <math.h>

void sdm_dem_result_take(const SdmProduct *p, SdmDemResult *out)
{
    const SdmGrid *const grid = p->request.grid;
    const SdmDemStats *const stats = &p->stats;
    out->known = true;
    out->cols = grid->cols;
    out->rows = grid->rows;
    out->spacing = grid->spacing;
    out->coverage = fmin((double)stats->valid / fmax((double)(stats->cells - stats->unseen), 1.0), 1.0);
}

void sdm_dem_result_free(SdmDemResult *result)
{
    sdm_free(&result->doubt);
    sdm_free(&result->file);
    sdm_free(&result->pair);
    *result = (SdmDemResult){.known = false};
}
