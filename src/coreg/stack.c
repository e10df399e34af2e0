/* The order of a stack's work: open, place, sample, align, combine, write. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "coreg/stack_layer.h"

#include <cpl_error.h>
#include <gdal.h>
#include <string.h>

/* Paths and figures of the layers -> the result, in their order. */
static SdmStatus give_out(SdmStack *s, SdmStackReport *report, SdmStackResult *out)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_alloc(s->ctx, &out->dems, (size_t)s->count, sizeof *out->dems, "result"));
    TRY(sdm_alloc(s->ctx, &out->paths, (size_t)s->count, sizeof *out->paths, "result"));
    report->dems = out->dems;
    report->count = s->count;
    for (int i = 0; i < s->count; i++) {
        const size_t size = strlen(s->layer[i].path) + 1;
        TRY(sdm_alloc(s->ctx, &out->paths[i], size, 1, "result"));
        memcpy(out->paths[i], s->layer[i].path, size);
        out->dems[i] = s->layer[i].found;
        out->dems[i].path = out->paths[i];
    }
    out->report = *report;
    out->grid = s->grid;
done:
    return st;
}

static SdmStatus align(SdmStack *s, SdmStackReport *report, SdmStackResult *out)
{
    SdmStatus st = SDM_OK;
    const int around = sdm_stage_enter(s->ctx, 1);
    TRY(sdm_stack_place(s));
    TRY(sdm_stack_sample(s));
    sdm_stack_sort(s);
    TRY(sdm_stack_align(s, report));
    TRY(give_out(s, report, out));
done:
    sdm_stage_leave(s->ctx, around);
    return st;
}

static SdmStatus make_products(SdmStack *s, const SdmStackReport *stack, double started_s)
{
    SdmStatus st = SDM_OK;
    SdmProduct *product = NULL;
    SdmReportWork work = {0};
    const int around = sdm_stage_enter(s->ctx, 8);
    TRY(sdm_stack_product_open(s->ctx, sdm_options(s->ctx), &s->grid, stack, &product));
    TRY(sdm_stack_combine(s, stack, product, &work.blocks));
    sdm_progress(s->ctx, 9, 0.9, "write");
    work.wall_s = sdm_now_s() - started_s;
    TRY(sdm_stack_product_finish(s->ctx, product, stack, &work));
done:
    sdm_product_close(&product);
    sdm_stage_leave(s->ctx, around);
    return st;
}

SdmStatus sdm_stack(SdmContext *ctx, const char *const *dems, int count, const SdmStackOptions *opt,
                    SdmStackResult *out)
{
    SdmStatus st = SDM_OK;
    SdmStack s = {.ctx = ctx, .opt = opt, .threads = sdm_threads(ctx)};
    SdmStackReport report = {.align = opt->align};
    SdmLease *lease = NULL;
    const double start = sdm_now_s();
    *out = (SdmStackResult){.dems = NULL};
    GDALAllRegister();
    CPLPushErrorHandler(CPLQuietErrorHandler);
    TRY(sdm_stack_open(&s, dems, count));
    TRY(sdm_lease_take_output(ctx, sdm_options(ctx)->output, &lease));
    report.datum_unknown = s.datum_unknown;
    TRY(align(&s, &report, out));
    TRY(make_products(&s, &report, start));
    sdm_product_tidy(ctx, sdm_options(ctx)->output);
done:
    if (st == SDM_ERR_STOPPED)
        (void)sdm_fail(ctx, st,
                       "stopped on request; nothing was written, give the same command to start over");
    sdm_lease_release(&lease);
    sdm_stack_close(&s);
    CPLPopErrorHandler();
    return st;
}

void sdm_stack_free(SdmStackResult *r)
{
    for (int i = 0; r->paths && i < r->report.count; i++)
        sdm_free(&r->paths[i]);
    sdm_free(&r->paths);
    sdm_free(&r->dems);
}
