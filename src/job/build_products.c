/* Read the blocks, judge the DEM, write the products. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "input/source.h"
#include "product/dem_report.h"

struct SdmBuild {
    const SdmBuildInput *in;
    const SdmOptions *options;
    SdmGdalConfig config; /* the reference is read again */
    SdmSceneReport report;
    SdmInputFile *files;
    SdmQualitySums sums;
    SdmQuality quality;
    SdmProduct *product;
};

/* ---- what the report says before any block is read ---- */

static SdmStatus list_inputs(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *s, SdmInputFile **out)
{
    PASS(sdm_alloc(ctx, out, (size_t)s->file_count + 1, sizeof **out, "list of inputs"));
    for (int i = 0; i < s->file_count; i++) {
        const SdmPlanFile *const f = &s->file[i];
        SdmInputFile *const to = &(*out)[i];
        PASS(sdm_job_find(ctx, job, &f->at, to->path));
        to->size_bytes = f->has_stamp ? f->size_bytes : 0;
        to->mtime_s = f->has_stamp ? f->mtime_us / 1000000 : 0;
    }
    return SDM_OK;
}

SdmStatus sdm_build_check_output(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene,
                                 const SdmOptions *options)
{
    SDM_OWNED SdmInputFile *files = NULL;
    const char *paths[64];
    int n = 0;
    PASS(list_inputs(ctx, job, scene, &files));
    for (; n < scene->file_count && n < 64; n++)
        paths[n] = files[n].path;
    return sdm_product_check(ctx, options, paths, n);
}

static SdmStatus begin_report(SdmContext *ctx, const SdmBuildInput *in, SdmSceneReport *out)
{
    const SdmPlanScene *const s = in->scene;
    const SdmPrepared *const p = in->prepared;
    *out = (SdmSceneReport){.scene_id = s->id,
                            .time_utc = s->time_utc,
                            .scene_kind = s->kind,
                            .prepared = p,
                            .work = {.blocks = (int)s->tile_count,
                                     .frame_cols = p->frame.width,
                                     .frame_rows = p->frame.height,
                                     .lattice_error_px = p->lattice_error_px,
                                     .device = in->device,
                                     .device_why = in->device_why},
                            .file_count = s->file_count,
                            .keep = in->keep,
                            .job = s->product_fingerprint};
    PASS(sdm_job_find(ctx, in->job, &s->left, out->left));
    if (s->right.path)
        PASS(sdm_job_find(ctx, in->job, &s->right, out->right));
    return SDM_OK;
}

/* ---- blocks ---- */

static bool is_made_here(const SdmBuildInput *in, int64_t unit)
{
    return in->made && in->made[unit];
}

/* The work of other processes counts for the report, too.  unit: of the plan; n: preparation 0, blocks
 * from 1. */
static void add_usage(SdmContext *ctx, SdmBuild *m, int64_t unit, int64_t n, const SdmUsage *used)
{
    if (m->in->used)
        m->in->used[n] = *used;
    for (int i = 0; i < SDM_USAGE_STAGES && !is_made_here(m->in, unit); i++) {
        sdm_stage_add(ctx, i, used->stage_s[i]);
        m->report.work.wall_s += used->stage_s[i];
    }
}

SdmStatus sdm_build_add(SdmContext *ctx, SdmBuild *m, const SdmBlock *b)
{
    sdm_quality_add(&m->sums, b, m->in->prepared, sdm_threads(ctx));
    return b->w > 0 && b->h > 0 ? sdm_product_write(ctx, m->product, b) : SDM_OK;
}

static SdmStatus add_blocks(SdmContext *ctx, SdmBuild *m)
{
    SDM_CLOSED_BY(sdm_block_free) SdmBlock b = {0};
    SdmUnitName name;
    SdmUsage used;
    const SdmPlanScene *const s = m->in->scene;
    const int64_t end = s->first_unit + s->unit_count;
    for (int64_t unit = s->first_unit + s->tiled; unit < end; unit++) {
        const SdmBlock *const kept = unit == end - 1 ? m->in->last : NULL;
        PASS(sdm_check_stop(ctx));
        if (!kept) {
            PASS(sdm_job_unit(ctx, m->in->job, s, SDM_UNIT_BLOCK, unit, &name));
            PASS(sdm_unit_read(ctx, &name, &b, &used));
            add_usage(ctx, m, unit, unit - s->first_unit - s->tiled + 1, &used);
        }
        m->report.work.blocks_resumed += !is_made_here(m->in, unit);
        PASS(sdm_build_add(ctx, m, kept ? kept : &b));
        sdm_block_free(&b);
    }
    return SDM_OK;
}

SdmStatus sdm_build_open(SdmContext *ctx, const SdmBuildInput *in, const SdmOptions *options, SdmBuild **out)
{
    PASS(sdm_alloc(ctx, out, 1, sizeof **out, "products"));
    SdmBuild *const m = *out;
    m->in = in;
    m->options = options;
    PASS(sdm_gdal_config_begin(ctx, &in->job->options, &m->config));
    PASS(begin_report(ctx, in, &m->report));
    PASS(list_inputs(ctx, in->job, in->scene, &m->files));
    m->report.files = m->files;
    if (in->prepared_used)
        add_usage(ctx, m, in->scene->first_unit, 0, in->prepared_used);
    PASS(sdm_lease_check(ctx, in->lease)); /* opening removes temporary files of earlier runs */
    return sdm_scene_product_open(ctx, options, &in->prepared->part, &m->report, &m->product);
}

SdmStatus sdm_build_finish(SdmContext *ctx, SdmBuild *m, SdmDemResult *result, bool *no_dem)
{
    char text[SDM_MAX_WARNINGS * sizeof m->quality.text[0]];
    int n = 0;
    const SdmStatus st = sdm_quality_assess(ctx, &m->in->job->options, &m->sums, m->in->prepared,
                                            m->report.left, m->report.right, &m->quality);
    *no_dem = st != SDM_OK; /* it is no DEM */
    PASS(st);
    m->report.quality = &m->quality;
    m->report.work.wall_s += sdm_now_s() - m->in->started_s;
    PASS(sdm_scene_product_finish(ctx, m->product, &m->report, m->in->lease, result));
    for (int i = 0; i < m->quality.count; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i ? "; " : "", m->quality.text[i]);
    if (n && !sdm_options(ctx)->rasters_alone) /* else the caller says it */
        sdm_log(ctx, SDM_LOG_WARNING, 9, "%s is doubtful: %s",
                m->options->output ? m->options->output : "the DEM", text);
    return SDM_OK;
}

void sdm_build_close(SdmBuild **build)
{
    if (!*build)
        return;
    sdm_gdal_config_end(&(*build)->config);
    sdm_product_close(&(*build)->product);
    sdm_free(&(*build)->files);
    sdm_free(build);
}

SdmStatus sdm_build_products(SdmContext *ctx, const SdmBuildInput *in, const SdmOptions *options,
                             SdmProduct **out, SdmDemResult *result, bool *no_dem)
{
    SDM_CLOSED_BY(sdm_build_close) SdmBuild *m = NULL;
    *out = NULL;
    *no_dem = false;
    sdm_progress(ctx, 9, 0.0, "writing");
    PASS(sdm_build_open(ctx, in, options, &m));
    PASS(add_blocks(ctx, m));
    PASS(sdm_build_finish(ctx, m, result, no_dem));
    *out = m->product;
    m->product = NULL;
    return SDM_OK;
}
