/* stereodem plan, tile, merge, status: a job in pieces, for any scheduler. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "job/job_commands.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(SdmJobOptions, field)
enum { MOST_LISTED = 1 << 20 };

const SdmOptionSpec sdm_job_options_table[] = {
    {"--output", "JOB", SDM_OPT_TEXT, AT(output), 0.0, 0.0, NULL, "none, must be given", SDM_CMD_PLAN,
     "Folder of the job to make."},
    {"--list", "FILE", SDM_OPT_TEXT, AT(list), 0.0, 0.0, NULL, "none", SDM_CMD_PLAN,
     "Scenes to plan, one per line: a scene, or a left and a right image; names are relative to the list, "
     "in quotes where they hold blanks; # begins a comment."},
    {"--count", "K", SDM_OPT_INT, AT(count), 1.0, 1e6, NULL, "1", SDM_CMD_TILE,
     "Units per task: task I computes units I x K to I x K + K - 1."},
    {"--index-env", "NAME", SDM_OPT_TEXT, AT(index_env), 0.0, 0.0, NULL, "none", SDM_CMD_TILE,
     "Environment variable that holds I, such as SLURM_ARRAY_TASK_ID, SGE_TASK_ID, PBS_ARRAY_INDEX or "
     "JOB_COMPLETION_INDEX."},
    {"--index-base", "BASE", SDM_OPT_INT, AT(index_base), 0.0, 1.0, NULL,
     "1 for SGE_TASK_ID and LSB_JOBINDEX, else 0", SDM_CMD_TILE, "I of the first task."},
    {"--wait", "SECONDS", SDM_OPT_REAL, AT(wait_s), 0.0, 1e6, NULL, "3600", SDM_CMD_TILE,
     "Longest wait for another task that prepares the scene of a tile. After it, or where no task prepares "
     "the scene, the tile's task does so itself."},
    {"--output", "FOLDER", SDM_OPT_TEXT, AT(output), 0.0, 0.0, NULL, "JOB/dem", SDM_CMD_MERGE,
     "Folder of the DEMs; each is called after its scene. For one scene, also the name of its DEM, which "
     "ends in .tif."},
    {"--failed", NULL, SDM_OPT_BOOL, AT(failed), 0.0, 0.0, NULL, NULL, SDM_CMD_STATUS,
     "Print only scenes that failed or are not planned, each with its reason."},
    {"--accounting", "FILE", SDM_OPT_TEXT, AT(accounting), 0.0, 0.0, NULL, "none", SDM_CMD_STATUS,
     "Write what each finished unit and merge has used: wall, user and system time, peak resident memory, "
     "host; one row per unit in a .csv file, with sums in a .json file. Prints the sums, and the units that "
     "took far more time or memory than others."},
    {.name = NULL},
};

void sdm_job_defaults(SdmCall *call)
{
    call->own.job = (SdmJobOptions){.count = 1, .index_base = -1, .wait_s = 3600.0};
}

SdmStatus sdm_command_plan(SdmCall *call)
{
    SdmPlanSummary s;
    const SdmJobOptions *const o = &call->own.job;
    const char *const *const name = call->line.positional;
    PASS(sdm_screen_refuse_views(call));
    PASS(sdm_plan(call->ctx, o->output, o->list, name[0], name[1], &s));
    char numbers[48] = "number 0";
    if (s.units != 1)
        snprintf(numbers, sizeof numbers, "0 to %lld", (long long)s.units - 1);
    sdm_screen_print(&call->screen,
                     "%s: %lld unit%s, %s, of %d scene%s (%d in tiles, %d not planned), %.0f s of processor "
                     "time expected",
                     o->output, (long long)s.units, s.units == 1 ? "" : "s", numbers, s.scenes,
                     s.scenes == 1 ? "" : "s", s.tiled, s.failed, s.cpu_s);
    /* to request of the scheduler for a task of one unit: a tenth more memory and five times the processor
     * time than expected, full minutes */
    const long long mib = (long long)(1.1 * (double)s.most_bytes / 1048576.0) + 64;
    const int minutes = (int)(5.0 * s.most_cpu_s / 60.0) + 5;
    sdm_screen_print(
        &call->screen,
        "ask for %lld MiB and %d:%02d:00 a task of one unit (Slurm: --mem=%lldM --time=%d:%02d:00)", mib,
        minutes / 60, minutes % 60, mib, minutes / 60, minutes % 60);
    call->exit_code = s.failed ? SDM_EXIT_PERMANENT_FAILURES : 0;
    SDM_JSON(call->summary, SDM_FIELD("task_memory_mib", (double)mib), SDM_FIELD("task_minutes", minutes),
             SDM_FIELD("job", o->output), SDM_FIELD("unit_count", s.units), SDM_FIELD("scenes", s.scenes),
             SDM_FIELD("scenes_tiled", s.tiled), SDM_FIELD("scenes_not_planned", s.failed),
             SDM_FIELD("expected_cpu_seconds", s.cpu_s));
    return SDM_OK;
}

/* A whole number at *at, which is moved on; -1 when there is none. */
static int64_t take_number(const char **at)
{
    char *end = NULL;
    if (!isdigit((unsigned char)**at))
        return -1;
    const long long v = strtoll(*at, &end, 10);
    *at = end;
    return v >= 0 && v < INT64_C(1) << 40 ? v : -1;
}

/* "4,7-9" -> numbers; freed by the caller. */
static SdmStatus read_list(SdmContext *ctx, const char *text, int64_t **out, int64_t *count)
{
    const char *at = text;
    *count = 0;
    PASS(sdm_alloc(ctx, out, MOST_LISTED, sizeof **out, "the units"));
    for (;;) {
        const int64_t first = take_number(&at);
        int64_t last = first;
        if (*at == '-') {
            at++;
            last = take_number(&at);
        }
        if (first < 0 || last < first || last - first >= MOST_LISTED - *count || (*at && *at != ','))
            return sdm_fail(
                ctx, SDM_ERR_USAGE,
                "found '%.200s', expected the number of a unit such as 4, or several such as 4,7-9", text);
        for (int64_t i = first; i <= last; i++)
            (*out)[(*count)++] = i;
        if (!*at++)
            break;
    }
    return SDM_OK;
}

/* The task's number from the environment, base 0. */
static SdmStatus read_environment(SdmContext *ctx, const SdmJobOptions *o, int64_t *task)
{
    static const char *const from_one[] = {"SGE_TASK_ID", "LSB_JOBINDEX"};
    const char *const text = getenv(o->index_env), *at = text;
    int base = o->index_base;
    if (base < 0)
        base = strcmp(o->index_env, from_one[0]) == 0 || strcmp(o->index_env, from_one[1]) == 0;
    *task = text ? take_number(&at) : -1;
    if (*task >= base && !*at) {
        *task -= base;
        return SDM_OK;
    }
    if (!text)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--index-env %s: the variable is not set; is this a task of an array job?",
                        o->index_env);
    return sdm_fail(ctx, SDM_ERR_USAGE,
                    "--index-env %s: found '%.100s', expected a whole number from %d up; is this a task of "
                    "an array job?",
                    o->index_env, text, base);
}

SdmStatus sdm_command_tile(SdmCall *call)
{
    SdmTileSummary s;
    SDM_OWNED int64_t *unit = NULL;
    int64_t count = 0, task = 0;
    const SdmJobOptions *const o = &call->own.job;
    const char *const text = call->line.positional[1];
    if ((text != NULL) == (o->index_env != NULL))
        return sdm_fail(call->ctx, SDM_ERR_USAGE,
                        "found %s, expected a number behind the job folder, or --index-env NAME",
                        text ? "both a number and --index-env" : "no number of a unit");
    if (o->index_env) {
        PASS(read_environment(call->ctx, o, &task));
    } else {
        PASS(read_list(call->ctx, text, &unit, &count));
        task = unit[0];
        if (o->count > 1 && count > 1)
            return sdm_fail(call->ctx, SDM_ERR_USAGE, "--count goes with one number, found '%.100s'", text);
    }
    sdm_set_progress(call->ctx, NULL, NULL); /* a line a unit is enough in a cluster's logs */
    const SdmStatus st = sdm_tile(call->ctx, call->line.positional[0], count > 1 ? unit : NULL,
                                  task * o->count, count > 1 ? count : o->count, o->wait_s, &s);
    SDM_JSON(call->summary, SDM_FIELD("units_done", s.done), SDM_FIELD("units_done_before", s.skipped),
             SDM_FIELD("units_failed", s.failed),
             SDM_FIELD("memory_peak_bytes", (double)sdm_memory_resident(call->ctx)));
    return st;
}

SdmStatus sdm_command_merge(SdmCall *call)
{
    SdmMergeSummary s;
    const char *const job = call->line.positional[0], *const text = call->line.positional[1], *at = text;
    const int64_t scene = text ? take_number(&at) : -1;
    if (text && (scene < 0 || *at || scene > INT32_MAX))
        return sdm_fail(call->ctx, SDM_ERR_USAGE, "found '%.200s', expected the number of a scene", text);
    const SdmStatus st = sdm_merge(call->ctx, job, call->own.job.output, (int)scene, &s);
    if (s.merged && !s.incomplete && s.failed && s.failed == s.permanent)
        call->exit_code = SDM_EXIT_PERMANENT_FAILURES;
    if (s.scenes)
        sdm_screen_print(&call->screen, "%s: %d of %d scenes merged (%d of them before)", job, s.merged,
                         s.scenes, s.already);
    SDM_JSON(call->summary, SDM_FIELD("scenes", s.scenes), SDM_FIELD("scenes_merged", s.merged),
             SDM_FIELD("scenes_merged_before", s.already), SDM_FIELD("scenes_incomplete", s.incomplete),
             SDM_FIELD("scenes_failed", s.failed), SDM_FIELD("scenes_doubtful", s.doubtful),
             SDM_FIELD("units_missing", s.missing));
    return st;
}

/* ---- status: progress of a job, scene by scene ---- */

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
