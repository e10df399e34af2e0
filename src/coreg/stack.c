/* The steps of a stack in their order: open, choose the grid, sample, align, combine, write. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "core/run_log.h"
#include "coreg/stack.h"
#include "coreg/stack_trend.h"
#include "geo/gdal_scope.h"

#include <string.h>

#define FIELD(name) offsetof(SdmStackOptions, name)

const SdmOptionSpec sdm_stack_options[] = {
    {"--list", "FILE", SDM_OPT_TEXT, FIELD(list), SDM_NO_RANGE, NULL, SDM_CMD_STACK,
     "Text file with one DEM per line, relative to that file; empty lines and lines with # are skipped."},
    {"--align", "AXES", SDM_OPT_CHOICE, FIELD(align), 0.0, 0.0, "z|xyz|none", "z", SDM_CMD_STACK,
     "Shift each DEM to the others over stable cells: z in height; xyz horizontally, too, by Nuth & Kaab "
     "(2011); none takes them as they are."},
    {"--bias", "MODE", SDM_OPT_CHOICE, FIELD(bias), 0.0, 0.0, "auto|keep", "auto", SDM_CMD_STACK,
     "auto: with three or more DEMs, the smooth error of each (jitter, tilt), seen in its differences from "
     "the others, is reduced to the mean of all before the median is taken, where it is a third of the NMAD "
     "or more; keep: it is left in. Needs --align z or xyz."},
    {"--dem-vertical", "DATUM", SDM_OPT_CHOICE, FIELD(dem_vertical), 0.0, 0.0, "auto|" SDM_VERTICAL_WORDS,
     "auto", SDM_CMD_STACK, "Vertical datum of DEMs that declare none; auto assumes nothing."},
    {"--trend", NULL, SDM_OPT_BOOL, FIELD(trend), SDM_NO_RANGE, NULL, SDM_CMD_STACK,
     "Fit a robust line to the heights of each cell by date: NAME_trend.tif has its rate (m a year), "
     "standard error, dates, span and residual NMAD. Takes DEMs of three dates or more."},
    {"--dates", "FILE", SDM_OPT_TEXT, FIELD(dates), SDM_NO_RANGE, NULL, SDM_CMD_STACK,
     "Text file for --trend with a DEM and its date per line (dem.tif 2003-05-06), which go before those of "
     "metadata, NAME.json and names."},
    {"--no-filled", NULL, SDM_OPT_BOOL, FIELD(no_filled), SDM_NO_RANGE, NULL, SDM_CMD_STACK,
     "Leave out cells that NAME_qa.tif beside a DEM marks as filled; otherwise they are used where no DEM "
     "has a measured height."},
    {.name = NULL},
};

void sdm_stack_default(SdmStackOptions *opt)
{
    *opt = (SdmStackOptions){.align = "z", .bias = "auto", .dem_vertical = "auto"};
}

/* Layers -> result, for the report and the caller. */
static SdmStatus make_result(SdmStack *s, SdmStackResult *out)
{
    const size_t n = (size_t)s->count;
    PASS(SDM_ALLOC(s->ctx, "result", SDM_ARRAY(out->dems, n), SDM_ARRAY(out->paths, n),
                   SDM_ARRAY(out->doubt, n)));
    out->grid = s->part;
    out->report = (SdmStackReport){.dems = out->dems,
                                   .count = s->count,
                                   .groups = s->groups,
                                   .pairs = s->pairs,
                                   .align = s->opt->align,
                                   .disagree_m = s->disagree_m,
                                   .trend = s->trend ? s : NULL,
                                   .datum_unknown = s->datum_unknown,
                                   .doubt = out->doubt};
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const l = &s->layer[i];
        const size_t size = strlen(l->path) + 1;
        PASS(sdm_alloc(s->ctx, &out->paths[i], size, 1, "result"));
        memcpy(out->paths[i], l->path, size);
        out->dems[i] = (SdmStackedDem){.path = out->paths[i],
                                       .nmad_m = l->nmad_m,
                                       .samples = l->compared,
                                       .smooth_m = l->bias_nmad_m,
                                       .group = l->group,
                                       .partners = l->partners};
        memcpy(out->dems[i].date, l->date, sizeof l->date);
        for (int k = 0; k < 3; k++)
            out->dems[i].move_m[k] = 0.0 - l->shift_m[k]; /* no -0 */
        if (*l->doubt)
            snprintf(out->doubt[out->report.doubts++].text, sizeof out->doubt->text, "%s %s", l->path,
                     l->doubt);
    }
    return SDM_OK;
}

SdmStatus sdm_stack_prepare(SdmStack *s)
{
    SDM_STAGE(s->ctx, 1);
    PASS(sdm_stack_choose_grid(s));
    PASS(sdm_stack_sample(s));
    if (!s->opt->fusion)
        PASS(sdm_stack_drop_copies(s));
    if (s->opt->trend)
        PASS(sdm_stack_check_dates(s));
    sdm_stack_sort(s);
    PASS(sdm_stack_align(s));
    if (s->opt->trend)
        return sdm_stack_trend(s);
    return strcmp(s->opt->align, "none") != 0 && strcmp(s->opt->bias, "auto") == 0 ? sdm_stack_bias(s)
                                                                                   : SDM_OK;
}

static SdmStatus make_products(SdmStack *s, const SdmStackReport *stack, double started_s, SdmLease *lease)
{
    SDM_STAGE(s->ctx, 8);
    SDM_CLOSED_BY(sdm_product_close) SdmProduct *product = NULL;
    SdmReportWork work = {0};
    PASS(sdm_lease_check(s->ctx, lease)); /* opening removes temporary files of earlier runs */
    PASS(sdm_stack_product_open(s->ctx, s->options, &s->part, stack, s->keep, &product));
    PASS(sdm_stack_combine(s, product, &work.blocks));
    if (s->trend)
        PASS(sdm_mean_map_draw(s->ctx, &s->trend->mean, -s->trend->limit / SDM_TREND_STEP,
                               s->trend->limit / SDM_TREND_STEP, sdm_change_ramp, &s->trend->map));
    sdm_progress(s->ctx, 9, 0.9, "write");
    work.wall_s = sdm_now_s() - started_s;
    SDM_PROGRESS(s->ctx, 0.9, 1.0);
    return sdm_stack_product_finish(s->ctx, product, stack, &work, lease);
}

SdmStatus sdm_stack_dems(SdmContext *ctx, const SdmOptions *options, const SdmStackOptions *opt,
                         const char *const *dems, int count, SdmKeptProduct *keep, SdmStackResult *out)
{
    SdmStatus st = SDM_OK;
    sdm_gdal_register();
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_lease_release) SdmLease *lease = NULL;
    bool has_log = false;
    SDM_CLOSED_BY(sdm_stack_close)
    SdmStack s = {.ctx = ctx, .options = options, .opt = opt, .threads = sdm_threads(ctx), .keep = keep};
    const double started_s = sdm_now_s();
    *out = (SdmStackResult){.dems = NULL};
    TRY(sdm_stack_open(&s, dems, count));
    if (!keep) {
        TRY(sdm_lease_take_output(ctx, options->output, &lease));
        has_log = sdm_run_log_begin(ctx, options->output, "stack");
    }
    TRY(sdm_stack_prepare(&s));
    TRY(make_result(&s, out));
    TRY(make_products(&s, &out->report, started_s, lease));
    out->report.trend = NULL;
done:
    if (st == SDM_ERR_STOPPED)
        (void)sdm_fail(ctx, st,
                       "stopped on request; nothing was written, give the same command to start over");
    if (has_log)
        sdm_run_log_end(ctx, st);
    return st;
}

void sdm_stack_free(SdmStackResult *r)
{
    for (int i = 0; r->paths && i < r->report.count; i++)
        sdm_free(&r->paths[i]);
    SDM_FREE(&r->paths, &r->dems, &r->doubt);
}
