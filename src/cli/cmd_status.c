/* stereodem status: progress of a job, scene by scene. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "job/accounting.h"

#include <math.h>
#include <string.h>

static void print_scene(SdmCall *call, const SdmSceneProgress *s)
{
    sdm_screen_print(&call->screen, "%6d %-14s %5lld %5lld %5lld %5lld  %s", s->number, s->state,
                     (long long)s->done, (long long)s->running, (long long)s->failed, (long long)s->missing,
                     s->name);
    if (*s->error && s->error_unit >= 0)
        sdm_screen_print(&call->screen, "       unit %lld: %s", (long long)s->error_unit, s->error);
    else if (*s->error)
        sdm_screen_print(&call->screen, "       %s", s->error);
}

static cJSON *scene_json(const SdmSceneProgress *s)
{
    cJSON *const o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "scene", s->number);
    cJSON_AddStringToObject(o, "name", s->name);
    cJSON_AddStringToObject(o, "state", s->state);
    cJSON_AddNumberToObject(o, "first_unit", (double)s->first_unit);
    cJSON_AddNumberToObject(o, "units", (double)s->units);
    cJSON_AddNumberToObject(o, "done", (double)s->done);
    cJSON_AddNumberToObject(o, "running", (double)s->running);
    cJSON_AddNumberToObject(o, "failed", (double)s->failed);
    cJSON_AddNumberToObject(o, "missing", (double)s->missing);
    if (*s->error)
        cJSON_AddStringToObject(o, "error", s->error);
    cJSON_AddBoolToObject(o, "hopeless", s->is_permanent);
    if (s->error_unit >= 0)
        cJSON_AddNumberToObject(o, "error_unit", (double)s->error_unit);
    return o;
}

static void print_time_left(SdmCall *call, const SdmJobProgress *r, const SdmSceneProgress *all)
{
    const double left = sdm_job_progress_left_s(r), work = sdm_job_progress_work_s(r);
    char text[64] = "";
    if (!isnan(left) && left > 0.0)
        snprintf(text, sizeof text, ", about %d:%02d:%02d left", (int)(left / 3600.0),
                 (int)(left / 60.0) % 60, (int)left % 60);
    sdm_screen_print(&call->screen,
                     "%lld unit%s: %lld done, %lld running, %lld failed, %lld missing; %.0f s of work%s",
                     (long long)all->units, all->units == 1 ? "" : "s", (long long)all->done,
                     (long long)all->running,
                     (long long)all->failed, (long long)all->missing, work, text);
}

static void add_totals(cJSON *to, const SdmJobProgress *r, const SdmSceneProgress *all, int merged)
{
    cJSON_AddNumberToObject(to, "units", (double)all->units);
    cJSON_AddNumberToObject(to, "done", (double)all->done);
    cJSON_AddNumberToObject(to, "running", (double)all->running);
    cJSON_AddNumberToObject(to, "failed", (double)all->failed);
    cJSON_AddNumberToObject(to, "missing", (double)all->missing);
    cJSON_AddNumberToObject(to, "scenes_merged", merged);
    cJSON_AddNumberToObject(to, "work_seconds_left", sdm_job_progress_work_s(r));
    sdm_json_number(to, "seconds_left", sdm_job_progress_left_s(r));
}

/* ---- accounting ---- */

static void print_account(SdmCall *call, const char *name, const SdmAccount *a)
{
    sdm_screen_print(&call->screen, "%-12s %6lld %6lld %6lld %6lld %11.1f %11.1f %9.1f %9.1f %8.0f", name,
                     (long long)a->units, (long long)a->tries, (long long)a->failed, (long long)a->killed,
                     (double)a->wall_ms / 1e3, (double)a->user_ms / 1e3, (double)a->system_ms / 1e3,
                     (double)a->waited_ms / 1e3, (double)a->peak_bytes / 1048576.0);
}

/* The units that are slow, or hungry: the first few by name. */
static void print_named(SdmCall *call, const SdmAccounting *a, bool hungry)
{
    enum { MOST = 20 };
    int64_t count = 0;
    for (int64_t i = 0; i < a->units; i++) {
        const SdmUnitAccount *const u = &a->unit[i];
        if (!(hungry ? u->is_hungry : u->is_slow) || ++count > MOST)
            continue;
        char unit[40] = "";
        if (u->unit >= 0)
            snprintf(unit, sizeof unit, ", unit %lld", (long long)u->unit);
        sdm_screen_print(&call->screen, "%s: %s of %s%s: %.1f s, %.0f MiB, on %s", hungry ? "hungry" : "slow",
                         sdm_try_kind_name(u->first->kind), u->first->name, unit, (double)u->longest_ms / 1e3,
                         (double)u->sum.peak_bytes / 1048576.0, u->first[u->sum.tries - 1].host);
    }
    if (count > MOST)
        sdm_screen_print(&call->screen, "and %lld more that are %s", (long long)(count - MOST),
                         hungry ? "hungry" : "slow");
}

static void add_account(SdmCall *call, const SdmAccounting *a)
{
    cJSON *const o = call->summary ? cJSON_AddObjectToObject(call->summary, "accounting") : NULL;
    int64_t slow = 0, hungry = 0;
    for (int64_t i = 0; i < a->units; i++) {
        slow += a->unit[i].is_slow;
        hungry += a->unit[i].is_hungry;
    }
    const struct {
        const char *name;
        double value;
    } field[] = {{"units", (double)a->all.units},
                 {"tries", (double)a->all.tries},
                 {"failed", (double)a->all.failed},
                 {"killed", (double)a->all.killed},
                 {"wall_s", (double)a->all.wall_ms / 1e3},
                 {"user_s", (double)a->all.user_ms / 1e3},
                 {"system_s", (double)a->all.system_ms / 1e3},
                 {"waited_s", (double)a->all.waited_ms / 1e3},
                 {"peak_bytes", (double)a->all.peak_bytes},
                 {"slow", (double)slow},
                 {"hungry", (double)hungry}};
    for (size_t i = 0; o && i < sizeof field / sizeof *field; i++)
        cJSON_AddNumberToObject(o, field[i].name, field[i].value);
}

/* done: units of the plan that are done, by their files. */
static SdmStatus account(SdmCall *call, int64_t done)
{
    SdmStatus st = SDM_OK;
    SdmAccounting *a = NULL;
    const char *const path = call->own.job.accounting;
    TRY(sdm_accounting_open(call->ctx, call->line.positional[0], &a));
    TRY(sdm_accounting_write(call->ctx, a, path));
    sdm_screen_print(&call->screen, "%-12s %6s %6s %6s %6s %11s %11s %9s %9s %8s", "kind", "units", "tries",
                     "failed", "killed", "wall s", "user s", "system s", "waited s", "peak MiB");
    for (int kind = 0; kind < SDM_TRY_KINDS; kind++)
        if (a->kind[kind].units)
            print_account(call, sdm_try_kind_name(kind), &a->kind[kind]);
    print_account(call, "all", &a->all);
    print_named(call, a, false);
    print_named(call, a, true);
    if (a->all.killed)
        sdm_log(call->ctx, SDM_LOG_WARNING, 0,
                "tries that were killed: %lld; what they used is not known, and not in the sums",
                (long long)a->all.killed);
    if (done > a->recorded)
        sdm_log(call->ctx, SDM_LOG_WARNING, 0, "units that are done without a record of what they used: %lld",
                (long long)(done - a->recorded));
    if (a->tries.damaged)
        sdm_log(call->ctx, SDM_LOG_WARNING, 0,
                "records of tries that cannot be read, and are not in the sums: %lld",
                (long long)a->tries.damaged);
    sdm_screen_print(&call->screen, "%s: a row a unit", path);
    add_account(call, a);
done:
    sdm_accounting_close(&a);
    return st;
}

SdmStatus sdm_command_status(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    SdmJobProgress *report = NULL;
    SdmSceneProgress s, all = {.number = 0};
    int merged = 0, permanent = 0;
    if (call->own.job.accounting)
        TRY(sdm_accounting_check(call->ctx, call->line.positional[0], call->own.job.accounting,
                                 call->options.overwrite));
    TRY(sdm_job_progress_open(call->ctx, call->line.positional[0], &report));
    cJSON *const scenes = call->summary ? cJSON_AddArrayToObject(call->summary, "scenes") : NULL;
    sdm_screen_print(&call->screen, " scene state           done   run  fail  miss  name");
    for (int i = 0; i < sdm_job_progress_scenes(report); i++) {
        TRY(sdm_job_progress_scene(call->ctx, report, i, &s));
        const bool failed = s.failed || *s.error;
        if (failed || !call->own.job.failed)
            print_scene(call, &s);
        if (scenes && (failed || !call->own.job.failed))
            cJSON_AddItemToArray(scenes, scene_json(&s));
        all.units += s.units;
        all.done += s.done;
        all.running += s.running;
        all.failed += s.failed;
        all.missing += s.missing;
        merged += strcmp(s.state, "merged") == 0;
        permanent += s.is_permanent;
    }
    if (permanent && merged + permanent == sdm_job_progress_scenes(report))
        call->exit_code = SDM_EXIT_PERMANENT_FAILURES;
    print_time_left(call, report, &all);
    if (call->summary)
        add_totals(call->summary, report, &all, merged);
    if (call->own.job.accounting)
        TRY(account(call, all.done));
done:
    sdm_job_progress_close(&report);
    return st;
}
