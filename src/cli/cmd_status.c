/* stereodem status: progress of a job, scene by scene. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

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
    cJSON_AddBoolToObject(o, "hopeless", s->is_hopeless);
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
                     "%lld units: %lld done, %lld running, %lld failed, %lld missing; %.0f s of work%s",
                     (long long)all->units, (long long)all->done, (long long)all->running,
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

SdmStatus sdm_command_status(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    SdmJobProgress *report = NULL;
    SdmSceneProgress s, all = {.number = 0};
    int merged = 0, hopeless = 0;
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
        hopeless += s.is_hopeless;
    }
    if (hopeless && merged + hopeless == sdm_job_progress_scenes(report))
        call->exit_code = SDM_EXIT_BUT_HOPELESS;
    print_time_left(call, report, &all);
    if (call->summary)
        add_totals(call->summary, report, &all, merged);
done:
    sdm_job_progress_close(&report);
    return st;
}
