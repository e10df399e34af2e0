/* Headers of finished units -> accounts, their sums, CSV and JSON. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job_commands.h"
#include "core/path.h"
#include "core/stats.h"
#include "product/report.h"

#include <cJSON.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

const char *const sdm_account_kinds[SDM_ACCOUNT_KINDS] = {"preparation", "block", "merge"};

/* ---- units ---- */

static void add_sum(SdmAccountSum *to, const SdmUsage *u)
{
    to->count++;
    to->used.wall_s += u->wall_s;
    to->used.user_s += u->user_s;
    to->used.system_s += u->system_s;
    for (int i = 0; i < SDM_USAGE_STAGES; i++)
        to->used.stage_s[i] += u->stage_s[i];
    to->used.peak_bytes = fmax(to->used.peak_bytes, u->peak_bytes);
}

/* Add a unit, unless its file does not say on which host it was made. */
static void add_account(SdmAccounting *a, const SdmPlanScene *s, int64_t unit, SdmAccountKind kind,
                        const SdmUsage *used)
{
    if (!*used->host)
        return;
    a->item[a->count++] = (SdmAccount){.scene = s, .unit = unit, .kind = kind, .used = *used};
    add_sum(&a->all, used);
    add_sum(&a->kind[kind], used);
}

/* The units of a scene by their files, or, once it is merged, by the record of its products. */
static void add_scene(SdmAccounting *a, const SdmPlanScene *s)
{
    SdmUnitName name;
    SDM_CLOSED_BY(sdm_product_record_free) SdmProductRecord record = {0};
    SdmUsage used;
    const int64_t prepared = s->tiled ? s->first_unit : -1;
    const bool merged = sdm_job_unit(NULL, a->job, s, SDM_UNIT_RECORD, 0, &name) == SDM_OK &&
                        sdm_unit_read(NULL, &name, &record, &used) == SDM_OK;
    for (int64_t i = 0; i <= s->tile_count; i++) {
        SdmUsage own;
        const int64_t unit = i ? s->first_unit + s->tiled + i - 1 : prepared;
        const SdmUnitKind kind = i ? SDM_UNIT_BLOCK : SDM_UNIT_PREPARED;
        const SdmUsage *const from = !merged ? &own : i < record.units ? &record.unit[i] : NULL;
        if (merged ? from != NULL
                   : sdm_job_unit(NULL, a->job, s, kind, unit, &name) == SDM_OK && sdm_unit_peek(&name, &own))
            add_account(a, s, unit, i ? SDM_ACCOUNT_BLOCK : SDM_ACCOUNT_PREPARATION, from);
    }
    if (merged)
        add_account(a, s, -1, SDM_ACCOUNT_MERGE, &used);
}

/* A unit is slow if its wall time is more than SLOW_TIMES the median of its kind, and SLOW_S above it; hungry
 * if its peak is more than HUNGRY_TIMES the median, and HUNGRY_MIB above it. */
enum { SLOW_TIMES = 3, SLOW_S = 1, HUNGRY_TIMES = 2, HUNGRY_MIB = 32 };

/* Mark the slow and hungry units of a kind that has at least three. */
static SdmStatus judge_kind(SdmContext *ctx, SdmAccounting *a, SdmAccountKind kind)
{
    int64_t n = 0;
    SDM_OWNED double *walls = NULL, *peaks = NULL;
    const size_t most = (size_t)a->count + 1;
    PASS(SDM_ALLOC(ctx, "the accounts", SDM_ARRAY(walls, most), SDM_ARRAY(peaks, most)));
    for (int64_t i = 0; i < a->count; i++)
        if (a->item[i].kind == kind) {
            walls[n] = a->item[i].used.wall_s;
            peaks[n++] = a->item[i].used.peak_bytes;
        }
    if (n < 3)
        return SDM_OK;
    const double wall_s = sdm_median_f64(walls, n), bytes = sdm_median_f64(peaks, n);
    for (int64_t i = 0; i < a->count; i++) {
        SdmAccount *const u = &a->item[i];
        u->is_slow |= u->kind == kind && u->used.wall_s > fmax(SLOW_TIMES * wall_s, wall_s + SLOW_S);
        u->is_hungry |= u->kind == kind &&
                        u->used.peak_bytes > fmax(HUNGRY_TIMES * bytes, bytes + HUNGRY_MIB * 1048576.0);
    }
    return SDM_OK;
}

SdmStatus sdm_accounting_open(SdmContext *ctx, const SdmJob *job, SdmAccounting **out)
{
    SDM_CLOSED_BY(sdm_accounting_close) SdmAccounting *a = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &a, 1, sizeof *a, "the accounts"));
    const SdmPlan *const plan = job->plan;
    a->job = job;
    PASS(sdm_alloc(ctx, &a->item, (size_t)(plan->units + 2 * plan->count), sizeof *a->item, "the accounts"));
    for (int s = 0; s < plan->count; s++)
        if (!plan->scene[s].error)
            add_scene(a, &plan->scene[s]);
    for (int kind = 0; kind < SDM_ACCOUNT_KINDS; kind++)
        PASS(judge_kind(ctx, a, (SdmAccountKind)kind));
    *out = a;
    a = NULL;
    return SDM_OK;
}

void sdm_accounting_close(SdmAccounting **accounting)
{
    if (*accounting)
        sdm_free(&(*accounting)->item);
    sdm_free(accounting);
}

/* ---- CSV and JSON ---- */

/* A text as a field: in quotes where it needs them. */
static void put_field(SdmText *t, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        sdm_text_add(t, "%s", text);
        return;
    }
    sdm_text_add(t, "\"");
    for (; *text; text++)
        sdm_text_add(t, *text == '"' ? "\"\"" : "%c", *text);
    sdm_text_add(t, "\"");
}

/* Seconds of no stage: opening, checksums, storing. */
static double other_s(const SdmUsage *u)
{
    return u->wall_s - sdm_usage_stages_s(u);
}

static void put_unit(SdmText *t, const SdmAccount *u)
{
    char when[40];
    sdm_plan_print_time((int64_t)u->used.ended_s * 1000000, when);
    put_field(t, u->scene->name);
    sdm_text_add(t, ",%d,", u->scene->number);
    if (u->unit >= 0)
        sdm_text_add(t, "%lld", (long long)u->unit);
    sdm_text_add(t, ",%s,%.3f,%.3f,%.3f,%.3f,%.0f,", sdm_account_kinds[u->kind], u->used.wall_s,
                 u->used.user_s, u->used.system_s, u->used.user_s + u->used.system_s, u->used.peak_bytes);
    put_field(t, u->used.host);
    sdm_text_add(t, ",%s", when);
    for (int i = 1; i < SDM_USAGE_STAGES; i++)
        sdm_text_add(t, ",%.3f", u->used.stage_s[i]);
    sdm_text_add(t, ",%.3f,%d,%d\n", other_s(&u->used), u->is_slow, u->is_hungry);
}

static void add_usage(cJSON *o, const SdmUsage *u)
{
    SDM_JSON(o, SDM_FIELD("wall_s", u->wall_s), SDM_FIELD("user_s", u->user_s),
             SDM_FIELD("system_s", u->system_s), SDM_FIELD("cpu_s", u->user_s + u->system_s),
             SDM_FIELD("peak_bytes", u->peak_bytes));
    cJSON *const stages = cJSON_AddObjectToObject(o, "stages_s");
    for (int i = 1; i < SDM_USAGE_STAGES; i++)
        cJSON_AddNumberToObject(stages, sdm_stage_names[i], u->stage_s[i]);
    cJSON_AddNumberToObject(stages, "other", other_s(u));
}

static void add_sum_json(cJSON *to, const char *name, const SdmAccountSum *sum)
{
    cJSON *const o = cJSON_AddObjectToObject(to, name);
    cJSON_AddNumberToObject(o, "units", (double)sum->count);
    add_usage(o, &sum->used);
}

static cJSON *unit_json(const SdmAccount *u)
{
    char when[40];
    cJSON *const o = cJSON_CreateObject();
    sdm_plan_print_time((int64_t)u->used.ended_s * 1000000, when);
    SDM_JSON(o, SDM_FIELD("name", u->scene->name), SDM_FIELD("scene", u->scene->number));
    if (u->unit >= 0)
        cJSON_AddNumberToObject(o, "unit", (double)u->unit);
    cJSON_AddStringToObject(o, "kind", sdm_account_kinds[u->kind]);
    add_usage(o, &u->used);
    SDM_JSON(o, SDM_FIELD("host", u->used.host), SDM_FIELD("ended_utc", when), SDM_FIELD("slow", u->is_slow),
             SDM_FIELD("hungry", u->is_hungry));
    return o;
}

static void print_json(const SdmAccounting *a, SdmText *t)
{
    cJSON *const o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "job", a->job->folder);
    add_sum_json(o, "totals", &a->all);
    cJSON *const kinds = cJSON_AddObjectToObject(o, "kinds"), *const units =
                                                                  cJSON_AddArrayToObject(o, "units");
    for (int k = 0; k < SDM_ACCOUNT_KINDS; k++)
        add_sum_json(kinds, sdm_account_kinds[k], &a->kind[k]);
    for (int64_t i = 0; i < a->count; i++)
        cJSON_AddItemToArray(units, unit_json(&a->item[i]));
    sdm_text_json(t, o, false);
    cJSON_Delete(o);
}

/* ---- the file ---- */

SdmStatus sdm_accounting_check(SdmContext *ctx, const char *job, const char *path, bool overwrite)
{
    char rel[SDM_PATH_SIZE], absolute[SDM_PATH_SIZE];
    PASS(sdm_file_check_output(ctx, "--accounting", path));
    if (!sdm_path_ends_in(path, ".csv") && !sdm_path_ends_in(path, ".json"))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--accounting: found '%.300s', expected a name that ends in .csv or .json", path);
    if (sdm_path_ends_in(path, ".json") && sdm_path_split(NULL, job, path, rel, absolute) == SDM_OK &&
        *absolute && strncmp(rel, "../", 3) != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--accounting: %.300s lies in the job's folder, whose .json files are the job's own; "
                        "give another folder, or a name that ends in .csv",
                        path);
    if (!overwrite && access(path, F_OK) == 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--accounting: %.300s exists; give --overwrite to replace it, or another name", path);
    return SDM_OK;
}

SdmStatus sdm_accounting_write(SdmContext *ctx, const SdmAccounting *a, const char *path)
{
    SDM_CLOSED_BY(sdm_text_close) SdmText t = {.ctx = ctx};
    if (sdm_path_ends_in(path, ".csv")) {
        sdm_text_add(&t, "name,scene,unit,kind,wall_s,user_s,system_s,cpu_s,peak_bytes,host,ended_utc");
        for (int i = 1; i < SDM_USAGE_STAGES; i++)
            sdm_text_add(&t, ",%s_s", sdm_stage_names[i]);
        sdm_text_add(&t, ",other_s,slow,hungry\n");
        for (int64_t i = 0; i < a->count; i++)
            put_unit(&t, &a->item[i]);
    } else {
        print_json(a, &t);
    }
    PASS(t.st);
    return sdm_file_write(ctx, path, t.data, t.size);
}
