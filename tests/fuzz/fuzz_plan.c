/* Fuzz the two texts that a job is made from.  Input that begins with '{' is plan.json, where '@' stands for
 * the program's version; anything else is a list of scenes.  A plan that is accepted numbers its units
 * through, and every scene of it can be asked for its tiles and its state. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TRIED = 64 };
static char folder[] = "/tmp/stereodem_fuzz_plan_XXXXXX", path[64];

static void leave(void)
{
    remove(path);
    rmdir(folder);
}

static void write_input(const uint8_t *data, size_t size)
{
    static bool made;
    if (!made) {
        if (!mkdtemp(folder))
            abort();
        snprintf(path, sizeof path, "%s/plan.json", folder);
        atexit(leave);
        made = true;
    }
    FILE *const f = fopen(path, "wb");
    bool bad = !f;
    for (size_t i = 0; i < size && !bad; i++)
        bad = data[i] == '@' ? fputs(SDM_VERSION, f) < 0 : fputc(data[i], f) == EOF;
    if (bad || fclose(f) != 0)
        abort();
}

static void read_list(SdmContext *ctx)
{
    SdmPlanInput *input = NULL;
    int count = 0;
    const SdmStatus st = sdm_plan_list(ctx, path, &input, &count);
    if (st == SDM_OK ? count < 1 : !*sdm_error(ctx))
        abort();
    for (int i = 0; i < count && st == SDM_OK; i++)
        if (!*input[i].left)
            abort();
    sdm_free(&input);
}

/* Every unit belongs to one scene, and its tile can be told. */
static void look_at_units(SdmContext *ctx, const SdmJob *job)
{
    SdmPlanScene s;
    int64_t cells[4];
    uint64_t fingerprint;
    for (int64_t unit = 0; unit < job->plan->units && unit < MOST_TRIED; unit++) {
        const int of = sdm_plan_scene_of(job->plan, unit);
        if (of < 0 || of >= job->plan->count)
            abort();
        if (sdm_plan_scene(ctx, job->plan, sdm_options(ctx), of, &s) != SDM_OK)
            continue;
        if (unit < s.first_unit || unit >= s.first_unit + s.unit_count)
            abort();
        if (!(s.tiled && unit == s.first_unit) && sdm_job_tile(ctx, &s, unit, cells, &fingerprint) != SDM_OK)
            abort();
    }
}

static void read_plan(SdmContext *ctx)
{
    SdmJob job;
    SdmStatusReport *report = NULL;
    SdmSceneStatus state;
    if (sdm_job_open(ctx, folder, &job) != SDM_OK) {
        if (!*sdm_error(ctx))
            abort();
        return;
    }
    if (job.plan->count < 1 || job.plan->first_unit[job.plan->count] != job.plan->units)
        abort();
    look_at_units(ctx, &job);
    sdm_job_close(ctx, &job);
    if (sdm_status_open(ctx, folder, &report) != SDM_OK)
        abort();
    for (int i = 0; i < sdm_status_scenes(report) && i < MOST_TRIED; i++)
        if (sdm_status_scene(ctx, report, i, &state) == SDM_OK &&
            state.done + state.running + state.failed + state.missing != state.units)
            abort();
    sdm_status_close(ctx, &report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SdmContext *ctx = NULL;
    write_input(data, size);
    if (sdm_open(&ctx, NULL) != SDM_OK)
        abort();
    if (size && data[0] == '{')
        read_plan(ctx);
    else
        read_list(ctx);
    sdm_close(&ctx);
    return 0;
}
