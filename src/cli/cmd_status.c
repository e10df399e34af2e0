/* stereodem status: progress of a job, scene by scene. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "job/job_commands.h"

#include <string.h>

static void print_scene(SdmCall *call, const SdmSceneProgress *s)
{
    sdm_screen_print(&call->screen, "%6d %-14s %5lld %5lld %5lld  %s", s->number, s->state,
                     (long long)s->done, (long long)s->failed, (long long)s->missing, s->name);
    if (*s->error && s->error_unit >= 0)
        sdm_screen_print(&call->screen, "       unit %lld: %s", (long long)s->error_unit, s->error);
    else if (*s->error)
        sdm_screen_print(&call->screen, "       %s", s->error);
}

static cJSON *scene_json(const SdmSceneProgress *s)
{
    cJSON *const o = cJSON_CreateObject();
    SDM_JSON(o, SDM_FIELD("scene", s->number), SDM_FIELD("name", s->name), SDM_FIELD("state", s->state),
             SDM_FIELD("first_unit", s->first_unit), SDM_FIELD("units", s->units), SDM_FIELD("done", s->done),
             SDM_FIELD("failed", s->failed), SDM_FIELD("missing", s->missing));
    SDM_JSON(o, SDM_FIELD("error", *s->error ? s->error : NULL), SDM_FIELD("hopeless", s->is_permanent));
    if (s->error_unit >= 0)
        cJSON_AddNumberToObject(o, "error_unit", (double)s->error_unit);
    return o;
}

/* ---- accounting ---- */

static void print_sum(SdmCall *call, const char *name, const SdmAccountSum *sum)
{
    sdm_screen_print(&call->screen, "%-12s %6lld %11.1f %11.1f %9.1f %8.0f", name, (long long)sum->count,
                     sum->used.wall_s, sum->used.user_s, sum->used.system_s,
                     sum->used.peak_bytes / 1048576.0);
}

/* The units that are slow, or hungry: the first few by name.  Returns how many there are. */
static int64_t print_named(SdmCall *call, const SdmAccounting *a, bool hungry)
{
    enum { MOST = 20 };
    int64_t count = 0;
    for (int64_t i = 0; i < a->count; i++) {
        const SdmAccount *const u = &a->item[i];
        if (!(hungry ? u->is_hungry : u->is_slow) || ++count > MOST)
            continue;
        char unit[40] = "";
        if (u->unit >= 0)
            snprintf(unit, sizeof unit, ", unit %lld", (long long)u->unit);
        sdm_screen_print(&call->screen, "%s: %s of %s%s: %.1f s, %.0f MiB, on %s", hungry ? "hungry" : "slow",
                         sdm_account_kinds[u->kind], u->scene->name, unit, u->used.wall_s,
                         u->used.peak_bytes / 1048576.0, u->used.host);
    }
    if (count > MOST)
        sdm_screen_print(&call->screen, "and %lld more that are %s", (long long)(count - MOST),
                         hungry ? "hungry" : "slow");
    return count;
}

static SdmStatus account(SdmCall *call, const SdmJob *job)
{
    SDM_CLOSED_BY(sdm_accounting_close) SdmAccounting *a = NULL;
    const char *const path = call->own.job.accounting;
    PASS(sdm_accounting_open(call->ctx, job, &a));
    PASS(sdm_accounting_write(call->ctx, a, path));
    sdm_screen_print(&call->screen, "%-12s %6s %11s %11s %9s %8s", "kind", "units", "wall s", "user s",
                     "system s", "peak MiB");
    for (int kind = 0; kind < SDM_ACCOUNT_KINDS; kind++)
        if (a->kind[kind].count)
            print_sum(call, sdm_account_kinds[kind], &a->kind[kind]);
    print_sum(call, "all", &a->all);
    const int64_t slow = print_named(call, a, false), hungry = print_named(call, a, true);
    sdm_screen_print(&call->screen, "%s: a row a unit", path);
    cJSON *const o = cJSON_AddObjectToObject(call->summary, "accounting");
    SDM_JSON(o, SDM_FIELD("units", a->all.count), SDM_FIELD("wall_s", a->all.used.wall_s),
             SDM_FIELD("user_s", a->all.used.user_s), SDM_FIELD("system_s", a->all.used.system_s),
             SDM_FIELD("peak_bytes", a->all.used.peak_bytes), SDM_FIELD("slow", slow),
             SDM_FIELD("hungry", hungry));
    return SDM_OK;
}

SdmStatus sdm_command_status(SdmCall *call)
{
    SDM_CLOSED_BY(sdm_job_close) SdmJob job = {0};
    SdmJobWork work = {.done_cpu_s = 0.0};
    SdmSceneProgress s, all = {.number = 0};
    int merged = 0, permanent = 0;
    if (call->own.job.accounting)
        PASS(sdm_accounting_check(call->ctx, call->line.positional[0], call->own.job.accounting,
                                  call->options.overwrite));
    PASS(sdm_job_open(call->ctx, call->line.positional[0], sdm_options(call->ctx), &job));
    cJSON *const scenes = cJSON_AddArrayToObject(call->summary, "scenes");
    sdm_screen_print(&call->screen, " scene state           done  fail  miss  name");
    for (int i = 0; i < job.plan->count; i++) {
        sdm_job_progress_scene(&job, i, &work, &s);
        const bool failed = s.failed || *s.error;
        if (failed || !call->own.job.failed)
            print_scene(call, &s);
        if (scenes && (failed || !call->own.job.failed))
            cJSON_AddItemToArray(scenes, scene_json(&s));
        all.units += s.units;
        all.done += s.done;
        all.failed += s.failed;
        all.missing += s.missing;
        merged += strcmp(s.state, "merged") == 0;
        permanent += s.is_permanent;
    }
    if (permanent && merged + permanent == job.plan->count)
        call->exit_code = SDM_EXIT_PERMANENT_FAILURES;
    sdm_screen_print(&call->screen, "%lld unit%s: %lld done, %lld failed, %lld missing; %.0f s of work",
                     (long long)all.units, all.units == 1 ? "" : "s", (long long)all.done,
                     (long long)all.failed, (long long)all.missing, sdm_job_work_left_s(&work));
    SDM_JSON(call->summary, SDM_FIELD("units", all.units), SDM_FIELD("done", all.done),
             SDM_FIELD("failed", all.failed), SDM_FIELD("missing", all.missing),
             SDM_FIELD("scenes_merged", merged), SDM_FIELD("work_seconds_left", sdm_job_work_left_s(&work)));
    if (call->own.job.accounting)
        PASS(account(call, &job));
    return SDM_OK;
}
