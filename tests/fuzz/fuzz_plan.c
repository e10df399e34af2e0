/* Fuzz the two texts that a job is made from.  Input that begins with '{' is plan.json, where '@' stands for
 * the program's version; anything else is a list of scenes.  A plan that is accepted numbers its units
 * through, and every scene of it can be asked for its tiles and its state. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "job/job_commands.h"
#include "fuzz.h"

#include <string.h>

enum { MOST_TRIED = 64 };

static void write_input(const uint8_t *data, size_t size)
{
    FILE *const f = fopen(fuzz_file("plan.json"), "wb");
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
    const SdmStatus st = sdm_plan_list(ctx, fuzz_path, &input, &count);
    if (st == SDM_OK ? count < 1 : !*sdm_error(ctx))
        abort();
    for (int i = 0; i < count && st == SDM_OK; i++)
        if (!*input[i].left)
            abort();
    sdm_free(&input);
}

/* Every unit belongs to one scene, and its tile can be told. */
static void look_at_units(const SdmPlan *plan)
{
    for (int64_t unit = 0; unit < plan->units && unit < MOST_TRIED; unit++) {
        const int of = sdm_plan_scene_of(plan, unit);
        if (of < 0 || of >= plan->count)
            abort();
        const SdmPlanScene *const s = &plan->scene[of];
        const SdmPlanTile *const tile = sdm_plan_tile_of(s, unit);
        if (unit < s->first_unit || unit >= s->first_unit + s->unit_count)
            abort();
        if (!tile != (s->tiled && unit == s->first_unit) || (tile && tile->cells[3] < 0))
            abort();
        (void)sdm_plan_unit_fingerprint(s, unit);
    }
}

/* What was read is written, read and written again: the text must stay. */
static void print_again(SdmContext *ctx, const SdmPlan *plan)
{
    SdmPlan *again = NULL;
    char *text = NULL, *text_again = NULL;
    if (sdm_plan_print(ctx, plan, &text) != SDM_OK ||
        sdm_plan_parse(ctx, "again", text, strlen(text), &again) != SDM_OK ||
        sdm_plan_print(ctx, again, &text_again) != SDM_OK || strcmp(text, text_again) != 0)
        abort();
    sdm_free(&text);
    sdm_free(&text_again);
    sdm_plan_close(&again);
}

static void read_plan(SdmContext *ctx)
{
    SdmPlan *plan = NULL;
    static SdmJob job;
    SdmJobWork work = {.done_cpu_s = 0.0};
    SdmSceneProgress state;
    if (sdm_plan_read(ctx, fuzz_folder, &plan) != SDM_OK) {
        if (!*sdm_error(ctx))
            abort();
        return;
    }
    const SdmPlanScene *const last = &plan->scene[plan->count - 1];
    if (plan->count < 1 || last->first_unit + last->unit_count != plan->units)
        abort();
    look_at_units(plan);
    print_again(ctx, plan);
    sdm_plan_close(&plan);
    if (sdm_job_open(ctx, fuzz_folder, sdm_options(ctx), &job) != SDM_OK) { /* a name that is too long */
        if (!*sdm_error(ctx))
            abort();
        return;
    }
    for (int i = 0; i < job.plan->count && i < MOST_TRIED; i++) {
        sdm_job_progress_scene(&job, i, &work, &state);
        if (state.done + state.failed + state.missing != state.units)
            abort();
    }
    sdm_job_close(&job);
}

FUZZ_IN(ctx)
{
    write_input(data, size);
    if (size && data[0] == '{')
        read_plan(ctx);
    else
        read_list(ctx);
}
