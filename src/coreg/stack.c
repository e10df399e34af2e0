/* The steps of a stack in their order: open, choose the grid, sample, align, combine, write. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "coreg/stack_layer.h"
#include "geo/own_data.h"

#include <cpl_error.h>
#include <gdal.h>
#include <string.h>

/* Layers -> result, for the report and the caller. */
static SdmStatus make_result(SdmStack *s, SdmStackResult *out)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_alloc(s->ctx, &out->dems, (size_t)s->count, sizeof *out->dems, "result"));
    TRY(sdm_alloc(s->ctx, &out->paths, (size_t)s->count, sizeof *out->paths, "result"));
    out->grid = s->grid;
    out->report = (SdmStackReport){.dems = out->dems,
                                   .count = s->count,
                                   .groups = s->groups,
                                   .pairs = s->pairs,
                                   .align = s->opt->align,
                                   .disagree_m = s->disagree_m,
                                   .datum_unknown = s->datum_unknown};
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const l = &s->layer[i];
        const size_t size = strlen(l->path) + 1;
        TRY(sdm_alloc(s->ctx, &out->paths[i], size, 1, "result"));
        memcpy(out->paths[i], l->path, size);
        out->dems[i] = (SdmStackedDem){.path = out->paths[i],
                                       .nmad_m = l->nmad_m,
                                       .samples = l->compared,
                                       .smooth_m = l->bias_nmad_m,
                                       .group = l->group,
                                       .partners = l->partners};
        for (int k = 0; k < 3; k++)
            out->dems[i].move_m[k] = 0.0 - l->shift_m[k]; /* no -0 */
    }
done:
    return st;
}

SdmStatus sdm_stack_prepare(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    const int around = sdm_stage_enter(s->ctx, 1);
    TRY(sdm_stack_choose_grid(s));
    TRY(sdm_stack_sample(s));
    if (!s->opt->fusion)
        TRY(sdm_stack_drop_copies(s));
    sdm_stack_sort(s);
    TRY(sdm_stack_align(s));
    if (strcmp(s->opt->align, "none") != 0 && strcmp(s->opt->bias, "auto") == 0)
        TRY(sdm_stack_bias(s));
done:
    sdm_stage_leave(s->ctx, around);
    return st;
}

static SdmStatus write_block(SdmContext *ctx, void *product, SdmBlock *block)
{
    return sdm_product_write(ctx, product, block);
}

SdmStackSink sdm_stack_to_product(SdmProduct *product)
{
    return (SdmStackSink){.data = product, .write = write_block};
}

static SdmStatus make_products(SdmStack *s, const SdmStackReport *stack, double started_s, SdmLease *lease)
{
    SdmStatus st = SDM_OK;
    SdmProduct *product = NULL;
    SdmReportWork work = {0};
    const int around = sdm_stage_enter(s->ctx, 8);
    TRY(sdm_lease_check(s->ctx, lease)); /* opening removes temporary files of earlier runs */
    TRY(sdm_stack_product_open(s->ctx, s->options, &s->grid, stack, &product));
    const SdmStackSink to = sdm_stack_to_product(product);
    TRY(sdm_stack_combine(s, &to, &work.blocks));
    sdm_progress(s->ctx, 9, 0.9, "write");
    work.wall_s = sdm_now_s() - started_s;
    TRY(sdm_stack_product_finish(s->ctx, product, stack, &work, lease));
done:
    sdm_product_close(&product);
    sdm_stage_leave(s->ctx, around);
    return st;
}

static SdmStatus give_cells(SdmStack *s, const SdmStackSink *to)
{
    SdmStatus st = SDM_OK;
    int blocks;
    const int around = sdm_stage_enter(s->ctx, 8);
    TRY(to->begin(s->ctx, to->data, &s->grid, s->datum_unknown));
    TRY(sdm_stack_combine(s, to, &blocks));
done:
    sdm_stage_leave(s->ctx, around);
    return st;
}

/* to: NULL for files. */
static SdmStatus stack(SdmStack *s, const char *const *dems, int count, const SdmStackSink *to,
                       SdmStackResult *out)
{
    SdmStatus st = SDM_OK;
    SdmLease *lease = NULL;
    const double started_s = sdm_now_s();
    s->threads = sdm_threads(s->ctx);
    s->in_memory = to != NULL;
    *out = (SdmStackResult){.dems = NULL};
    sdm_gdal_register();
    CPLPushErrorHandler(CPLQuietErrorHandler);
    TRY(sdm_stack_open(s, dems, count));
    if (!to)
        TRY(sdm_lease_take_output(s->ctx, s->options->output, &lease));
    TRY(sdm_stack_prepare(s));
    TRY(make_result(s, out));
    if (to)
        TRY(give_cells(s, to));
    else
        TRY(make_products(s, &out->report, started_s, lease));
done:
    if (st == SDM_ERR_STOPPED)
        (void)sdm_fail(s->ctx, st,
                       "stopped on request; nothing was written, give the same command to start over");
    sdm_lease_release(&lease);
    sdm_stack_close(s);
    CPLPopErrorHandler();
    return st;
}

SdmStatus sdm_stack_dems(SdmContext *ctx, const SdmOptions *options, const SdmStackOptions *opt,
                    const char *const *dems, int count, SdmStackResult *out)
{
    return stack(&(SdmStack){.ctx = ctx, .options = options, .opt = opt}, dems, count, NULL, out);
}

SdmStatus sdm_stack_cells(SdmContext *ctx, const SdmOptions *options, const SdmStackOptions *opt,
                          const char *const *dems, int count, const SdmStackSink *to, SdmStackResult *out)
{
    return stack(&(SdmStack){.ctx = ctx, .options = options, .opt = opt}, dems, count, to, out);
}

void sdm_stack_free(SdmStackResult *r)
{
    for (int i = 0; r->paths && i < r->report.count; i++)
        sdm_free(&r->paths[i]);
    sdm_free(&r->paths);
    sdm_free(&r->dems);
}
